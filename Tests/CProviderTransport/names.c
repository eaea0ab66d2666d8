// SPDX-License-Identifier: Apache-2.0
#include "names.h"

#include <dlfcn.h>
#include <netdb.h>
#include <pthread.h>
#include <string.h>

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

typedef int resolver(const char *, const char *, const struct addrinfo *, struct addrinfo **);

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    if (name != NULL && strcmp(name, "stuck.test") == 0) {
        look();
    }
    if (name == NULL || strcmp(name, "provider.test") != 0) {
        return EAI_NONAME;
    }
    resolver *real = (resolver *)dlsym(RTLD_NEXT, "getaddrinfo");
    return real == NULL ? EAI_SYSTEM : real("127.0.0.1", service, hints, found);
}
