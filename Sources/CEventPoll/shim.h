// SPDX-License-Identifier: Apache-2.0
// What the toolchain's Glibc module leaves out of the C library: epoll(7), eventfd(2), accept4(2), mallopt(3).
#include <malloc.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

extern int accept4(int socket, struct sockaddr *address, socklen_t *size, int flags);

// The next connection, non-blocking and closed on exec.
static inline int accept_next(int socket) { return accept4(socket, 0, 0, SOCK_NONBLOCK | SOCK_CLOEXEC); }
