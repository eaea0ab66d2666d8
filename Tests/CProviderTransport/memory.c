// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include <curl/curl.h>
#include <openssl/crypto.h>
#include <openssl/ssl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"

static atomic_long live[OWNERS];
static _Atomic(owner) victim;
// How many allocations of the victim are left before the one that fails; 0 and less: none fails.
static atomic_long left;
static atomic_int failed;

long memory_live(owner who) { return atomic_load(&live[who]); }

void memory_fail(owner who, long which) {
    atomic_store(&left, 0);
    atomic_store(&failed, 0);
    atomic_store(&victim, who);
    atomic_store(&left, which);
}

int memory_has_failed(void) { return atomic_load(&failed); }

static int is_due(owner who) {
    if (atomic_load(&left) <= 0 || atomic_load(&victim) != who || atomic_fetch_sub(&left, 1) != 1) {
        return 0;
    }
    atomic_store(&failed, 1);
    return 1;
}

static void *counted(owner who, void *made) {
    if (made != NULL) {
        atomic_fetch_add(&live[who], 1);
    }
    return made;
}

static void *allocate(owner who, size_t size) { return is_due(who) ? NULL : counted(who, malloc(size)); }

static void release(owner who, void *old) {
    if (old != NULL) {
        atomic_fetch_sub(&live[who], 1);
        free(old);
    }
}

static void *reallocate(owner who, void *old, size_t size) {
    if (old == NULL) {
        return allocate(who, size);
    }
    if (size == 0) {
        release(who, old);
        return NULL;
    }
    return is_due(who) ? NULL : realloc(old, size);
}

static void *allocate_zeros(owner who, size_t count, size_t size) {
    return is_due(who) ? NULL : counted(who, calloc(count, size));
}

static char *duplicate(owner who, const char *text) { return is_due(who) ? NULL : counted(who, strdup(text)); }

// MARK: as each of the three calls it

void *counted_malloc(size_t size) { return allocate(OURS, size); }
void *counted_calloc(size_t count, size_t size) { return allocate_zeros(OURS, count, size); }
void *counted_realloc(void *old, size_t size) { return reallocate(OURS, old, size); }
char *counted_strdup(const char *text) { return duplicate(OURS, text); }
void counted_free(void *old) { release(OURS, old); }

static void *curl_malloc(size_t size) { return allocate(LIBCURL, size); }
static void *curl_calloc(size_t count, size_t size) { return allocate_zeros(LIBCURL, count, size); }
static void *curl_realloc(void *old, size_t size) { return reallocate(LIBCURL, old, size); }
static char *curl_strdup(const char *text) { return duplicate(LIBCURL, text); }
static void curl_release(void *old) { release(LIBCURL, old); }

static void *openssl_malloc(size_t size, const char *file, int line) {
    (void)file, (void)line;
    return allocate(OPENSSL, size);
}

static void *openssl_realloc(void *old, size_t size, const char *file, int line) {
    (void)file, (void)line;
    return reallocate(OPENSSL, old, size);
}

static void openssl_release(void *old, const char *file, int line) {
    (void)file, (void)line;
    release(OPENSSL, old);
}

void memory_install(void) {
    CHECK(CRYPTO_set_mem_functions(openssl_malloc, openssl_realloc, openssl_release) == 1);
    // As the sources do it, which come too late for that here.
    CHECK(OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, NULL) == 1);
    CHECK(curl_global_init_mem(CURL_GLOBAL_DEFAULT, curl_malloc, curl_release, curl_realloc, curl_strdup,
                               curl_calloc) == CURLE_OK);
}
