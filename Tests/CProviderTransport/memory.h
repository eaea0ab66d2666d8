// SPDX-License-Identifier: Apache-2.0
// Allocations that are counted, and that fail on request.
#ifndef GATEHOUSE_TEST_MEMORY_H
#define GATEHOUSE_TEST_MEMORY_H

#include <stddef.h>

// Who allocates: the sources under test, libcurl, OpenSSL.
typedef enum owner { OURS, LIBCURL, OPENSSL, OWNERS } owner;

// Replaces the allocator of both libraries; to be called before their first use.
void memory_install(void);

// How many allocations are there now.
long memory_live(owner who);

// Makes the `which`-th allocation from now on fail, counted from 1, and none behind it; 0 for none at all.
void memory_fail(owner who, long which);

// Whether it has come to the allocation that was to fail.
int memory_has_failed(void);

// What the sources under test call instead, by -D on the command line.
void *counted_malloc(size_t size);
void *counted_calloc(size_t count, size_t size);
void *counted_realloc(void *old, size_t size);
char *counted_strdup(const char *text);
void counted_free(void *old);

#endif
