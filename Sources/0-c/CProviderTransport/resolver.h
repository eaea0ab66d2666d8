// SPDX-License-Identifier: Apache-2.0
// Resolves host names for one transport, and caches their addresses.
//
// libcurl is never asked to resolve a name: version 7.88.1 either waits for the thread of a look-up that is no longer
// needed, and all calls with it, or (CURLOPT_QUICK_EXIT) reads that thread's handle after it was freed. Here each look-up
// is a detached thread that shares nothing with a call: it outlives calls and transport, and frees the resolver if it is
// the last to use it.
#ifndef GATEHOUSE_RESOLVER_H
#define GATEHOUSE_RESOLVER_H

#include <stdint.h>

enum {
    // How many names are cached, and so the most look-ups at a time.
    RESOLVER_NAMES = 32,
    // How many addresses of a name are used.
    RESOLVER_ADDRESSES = 16,
    // For so long addresses are used without a look-up.
    RESOLVER_FRESH_MILLISECONDS = 60 * 1000,
    // For so long they are used while a look-up for newer ones runs.
    RESOLVER_STALE_MILLISECONDS = 600 * 1000,
};

typedef struct resolver resolver;

// What is known of a name.
typedef enum resolution { RESOLVED, RESOLVING, UNRESOLVED } resolution;

// A resolver that writes to the eventfd `wake` when a look-up has ended; NULL when memory ran out.
resolver *resolver_create(int wake);

// No look-up writes to the eventfd any more, and the resolver is freed when the last has ended.
void resolver_release(resolver *self);

// Starts a look-up unless the addresses are fresh or one is running; `time` is monotonic, in milliseconds.
resolution resolver_start(resolver *self, const char *host, int64_t time);

// What came of it, without starting another.
resolution resolver_state(resolver *self, const char *host, int64_t time);

// The addresses in the form of CURLOPT_RESOLVE, for the caller to free; NULL without addresses or memory.
char *resolver_addresses(resolver *self, const char *host);

// Why the last look-up failed.
const char *resolver_failure(resolver *self, const char *host);

// Whether a host is an IP address of version 4 or 6, without brackets.
int is_ip_address(const char *host, int version);

#endif
