// SPDX-License-Identifier: Apache-2.0
// What the toolchain's Glibc module leaves out of the C library: epoll(7), eventfd(2), accept4(2), mallopt(3), mallinfo2(3), socket filters,
// O_PATH of open(2) and SO_PEERCRED of unix(7).
#include <linux/filter.h>
#include <malloc.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

extern int accept4(int socket, struct sockaddr *address, socklen_t *size, int flags);

// The next connection, non-blocking and closed on exec.
static inline int accept_next(int socket) { return accept4(socket, 0, 0, SOCK_NONBLOCK | SOCK_CLOEXEC); }

// recv(2) and send(2) without flags but MSG_NOSIGNAL. The C library's own are places where a thread can be cancelled, which costs
// several atomic steps at each call in a program with more than one thread; no thread of ours is ever cancelled.
static inline long receive_some(int socket, void *bytes, long size) {
  return syscall(SYS_recvfrom, socket, bytes, size, 0L, (void *)0, (void *)0);
}

static inline long send_some(int socket, const void *bytes, long size) {
  return syscall(SYS_sendto, socket, bytes, size, (long)MSG_NOSIGNAL, (void *)0, 0L);
}

// Drops packets that begin a handshake, as if they were lost on the way: SO_ATTACH_FILTER, socket(7). A filter of a TCP socket
// sees the packet from the TCP header on, whose byte 13 has the flags (RFC 9293 section 3.1); SYN is 2. Connections whose
// handshake ends afterwards inherit the filter, which concerns them only if a client uses the same ports for another.
static inline int drop_new_handshakes(int socket) {
  struct sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 13),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 2, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, 0),
      BPF_STMT(BPF_RET | BPF_K, 0xffffffff),
  };
  struct sock_fprog program = {sizeof steps / sizeof *steps, steps};
  return setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

// O_PATH: a folder may be opened without permission to list it.
static const int open_path_only = 010000000;

// The user id of the process that connected to a Unix socket, or -1 if the kernel reports none: SO_PEERCRED. Other sockets
// report the user id -1. The process id decides nothing: it is 0 for a process of another PID namespace, whose user is known.
static inline long peer_user(int socket) {
  const unsigned int unknown = -1;
  struct { int process; unsigned int user, group; } peer = {0, unknown, unknown};
  socklen_t size = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || size != sizeof peer || peer.user == unknown) return -1;
  return peer.user;
}
