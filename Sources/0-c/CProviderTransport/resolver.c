// SPDX-License-Identifier: Apache-2.0
#include "resolver.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { ADDRESS_LENGTH = INET6_ADDRSTRLEN + 3 };

typedef struct name {
    struct name *next;
    char *host;
    int is_pending;
    // EAI_… of the last look-up.
    int failure;
    // When the addresses were looked up; without meaning if no address is kept.
    int64_t since;
    char *addresses;
} name;

struct resolver {
    pthread_mutex_t lock;
    // The transport, and each look-up.
    int owners;
    // Negative after the transport has released the resolver.
    int wake;
    name *names;
    size_t count;
};

typedef struct look_up {
    resolver *resolver;
    char *host;
    int64_t since;
} look_up;

// MARK: names, all under the lock

static name *find(const resolver *self, const char *host) {
    name *found = self->names;
    while (found != NULL && strcasecmp(found->host, host) != 0) {
        found = found->next;
    }
    return found;
}

static void name_free(name *self) {
    free(self->host);
    free(self->addresses);
    free(self);
}

// Removes a name without addresses, or the one whose addresses are the oldest. A pending one stays for its look-up.
static int grow(resolver *self) {
    name **oldest = NULL;
    for (name **link = &self->names; *link != NULL; link = &(*link)->next) {
        if (!(*link)->is_pending && (oldest == NULL || (*link)->since < (*oldest)->since)) {
            oldest = link;
        }
    }
    if (oldest == NULL) {
        return 0;
    }
    name *removed = *oldest;
    *oldest = removed->next;
    name_free(removed);
    self->count -= 1;
    return 1;
}

static name *add(resolver *self, const char *host) {
    if (self->count >= RESOLVER_NAMES && !grow(self)) {
        return NULL;
    }
    name *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    made->host = strdup(host);
    if (made->host == NULL) {
        name_free(made);
        return NULL;
    }
    made->next = self->names;
    self->names = made;
    self->count += 1;
    return made;
}

static int is_younger(const name *known, int64_t age, int64_t time) {
    return known->addresses != NULL && time - known->since < age;
}

static resolution state(const name *known, int64_t time) {
    if (known == NULL) {
        return UNRESOLVED;
    }
    if (is_younger(known, RESOLVER_STALE_MILLISECONDS, time)) {
        return RESOLVED;
    }
    return known->is_pending ? RESOLVING : UNRESOLVED;
}

// MARK: a look-up, on its own thread

static int append_address(char *text, size_t size, const struct addrinfo *info) {
    char address[INET6_ADDRSTRLEN];
    const char *comma = *text == '\0' ? "" : ",";
    size_t length = strlen(text);
    if (info->ai_family == AF_INET) {
        const struct sockaddr_in *internet = (const struct sockaddr_in *)(const void *)info->ai_addr;
        return inet_ntop(AF_INET, &internet->sin_addr, address, sizeof address) != NULL &&
               snprintf(text + length, size - length, "%s%s", comma, address) > 0;
    }
    const struct sockaddr_in6 *internet = (const struct sockaddr_in6 *)(const void *)info->ai_addr;
    // A scope cannot be written in this form, so an address that needs one is left out.
    return info->ai_family == AF_INET6 && internet->sin6_scope_id == 0 &&
           inet_ntop(AF_INET6, &internet->sin6_addr, address, sizeof address) != NULL &&
           snprintf(text + length, size - length, "%s[%s]", comma, address) > 0;
}

// In the order in which the system wants them to be tried. RFC 6724.
static char *text_of(const struct addrinfo *found) {
    size_t size = RESOLVER_ADDRESSES * ADDRESS_LENGTH + 1;
    char *text = calloc(1, size);
    int count = 0;
    for (const struct addrinfo *info = found; text != NULL && info != NULL && count < RESOLVER_ADDRESSES;
         info = info->ai_next) {
        count += append_address(text, size, info);
    }
    if (count == 0) {
        free(text);
        return NULL;
    }
    return text;
}

// Under the lock, which it unlocks.
static void drop(resolver *self) {
    self->owners -= 1;
    int is_last = self->owners == 0;
    pthread_mutex_unlock(&self->lock);
    if (!is_last) {
        return;
    }
    while (self->names != NULL) {
        name *removed = self->names;
        self->names = removed->next;
        name_free(removed);
    }
    pthread_mutex_destroy(&self->lock);
    free(self);
}

static void *run(void *context) {
    look_up *self = context;
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    int failure = getaddrinfo(self->host, NULL, &hints, &found);
    char *addresses = failure == 0 ? text_of(found) : NULL;
    if (failure == 0) {
        freeaddrinfo(found);
        failure = addresses == NULL ? EAI_NONAME : 0;
    }
    resolver *resolver = self->resolver;
    pthread_mutex_lock(&resolver->lock);
    name *known = find(resolver, self->host);
    if (known != NULL) {
        known->is_pending = 0;
        known->failure = failure;
        if (addresses != NULL) {
            free(known->addresses);
            known->addresses = addresses;
            known->since = self->since;
            addresses = NULL;
        }
    }
    if (resolver->wake >= 0) {
        uint64_t one = 1;
        ssize_t written = write(resolver->wake, &one, sizeof one);
        (void)written;
    }
    drop(resolver);
    free(addresses);
    free(self->host);
    free(self);
    return NULL;
}

// Under the lock.
static int begin(resolver *self, name *known, int64_t time) {
    look_up *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return 0;
    }
    *made = (look_up){.resolver = self, .host = strdup(known->host), .since = time};
    pthread_attr_t attributes;
    int is_started = 0;
    if (made->host != NULL && pthread_attr_init(&attributes) == 0) {
        pthread_t thread;
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        self->owners += 1;
        known->is_pending = 1;
        is_started = pthread_create(&thread, &attributes, run, made) == 0;
        pthread_attr_destroy(&attributes);
        if (!is_started) {
            self->owners -= 1;
            known->is_pending = 0;
            known->failure = EAI_AGAIN;
        }
    }
    if (!is_started) {
        free(made->host);
        free(made);
    }
    return is_started;
}

// MARK: for the transport

resolver *resolver_create(int wake) {
    resolver *self = calloc(1, sizeof *self);
    if (self == NULL) {
        return NULL;
    }
    pthread_mutex_init(&self->lock, NULL);
    self->owners = 1;
    self->wake = wake;
    return self;
}

void resolver_release(resolver *self) {
    pthread_mutex_lock(&self->lock);
    self->wake = -1;
    drop(self);
}

resolution resolver_start(resolver *self, const char *host, int64_t time) {
    pthread_mutex_lock(&self->lock);
    name *known = find(self, host);
    if (known == NULL) {
        known = add(self, host);
    }
    if (known != NULL && !known->is_pending && !is_younger(known, RESOLVER_FRESH_MILLISECONDS, time)) {
        begin(self, known, time);
    }
    resolution found = state(known, time);
    pthread_mutex_unlock(&self->lock);
    return found;
}

resolution resolver_state(resolver *self, const char *host, int64_t time) {
    pthread_mutex_lock(&self->lock);
    resolution found = state(find(self, host), time);
    pthread_mutex_unlock(&self->lock);
    return found;
}

char *resolver_addresses(resolver *self, const char *host) {
    pthread_mutex_lock(&self->lock);
    const name *known = find(self, host);
    char *addresses = known == NULL || known->addresses == NULL ? NULL : strdup(known->addresses);
    pthread_mutex_unlock(&self->lock);
    return addresses;
}

const char *resolver_failure(resolver *self, const char *host) {
    pthread_mutex_lock(&self->lock);
    const name *known = find(self, host);
    int failure = known == NULL ? EAI_AGAIN : known->failure;
    pthread_mutex_unlock(&self->lock);
    return gai_strerror(failure == 0 ? EAI_AGAIN : failure);
}

int is_ip_address(const char *host, int version) {
    unsigned char address[sizeof(struct in6_addr)];
    return inet_pton(version == 4 ? AF_INET : AF_INET6, host, address) == 1;
}
