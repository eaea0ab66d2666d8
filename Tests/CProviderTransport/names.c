// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "names.h"

#include <dlfcn.h>
#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int held;
static int looking;

static void set_held(int value) {
    pthread_mutex_lock(&lock);
    held = value;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

void names_hold(void) { set_held(1); }

void names_release(void) { set_held(0); }

void names_wait(void) {
    pthread_mutex_lock(&lock);
    while (looking == 0) {
        pthread_cond_wait(&changed, &lock);
    }
    pthread_mutex_unlock(&lock);
}

static void look(void) {
    pthread_mutex_lock(&lock);
    looking += 1;
    pthread_cond_broadcast(&changed);
    while (held) {
        pthread_cond_wait(&changed, &lock);
    }
    looking -= 1;
    pthread_mutex_unlock(&lock);
}

static atomic_long delay;
static atomic_int failing;
static atomic_long all;
static atomic_long of_libcurl;

void names_delay(long microseconds) { atomic_store(&delay, microseconds); }

void names_fail(int fails) { atomic_store(&failing, fails); }

long names_count(void) { return atomic_load(&all); }

long names_count_of_libcurl(void) { return atomic_load(&of_libcurl); }

static void count(const void *caller) {
    Dl_info from;
    atomic_fetch_add(&all, 1);
    if (dladdr(caller, &from) != 0 && strstr(from.dli_fname, "libcurl") != NULL) {
        atomic_fetch_add(&of_libcurl, 1);
    }
}

typedef int resolver(const char *, const char *, const struct addrinfo *, struct addrinfo **);

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    count(__builtin_return_address(0));
    if (name != NULL && strcmp(name, "stuck.test") == 0) {
        look();
    }
    if (name != NULL && strcmp(name, "late.test") == 0) {
        usleep((useconds_t)atomic_load(&delay));
    } else if (name == NULL || strcmp(name, "provider.test") != 0) {
        return EAI_NONAME;
    }
    if (atomic_load(&failing)) {
        return EAI_AGAIN;
    }
    resolver *real = (resolver *)dlsym(RTLD_NEXT, "getaddrinfo");
    return real == NULL ? EAI_SYSTEM : real("127.0.0.1", service, hints, found);
}
