// SPDX-License-Identifier: Apache-2.0
//
// One thread drives one libcurl multi handle. Each provider has a transport to itself, so that neither connections,
// DNS answers, trust nor time of one provider can serve or hold up another.

#include "provider_transport.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "call.h"
#include "resolver.h"

enum {
    CONNECTIONS = 16,
    CONNECTIONS_KEPT = 4,
    CALLS_QUEUED = 1024,
    EVENTS = 32,
};

struct gate_transport {
    trust trust;
    gate_completion completion;
    void *context;
    resolver *resolver;
    CURLM *multi;
    // How many there may be, and so how many calls are active.
    size_t connections;
    int events;
    int wake;
    // When libcurl wants to be called, in milliseconds; negative for never.
    int64_t alarm;
    pthread_t thread;
    size_t active;
    // Those of the active calls that wait for the addresses of their hosts.
    size_t resolving;
    // Whether libcurl left off in the middle.
    int failed;

    pthread_mutex_t lock;
    // Guarded by the lock, like the count of queued calls.
    call *calls;
    size_t queued;
    int running;
    int stopping;
    int changed;
};

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

// MARK: Callbacks of libcurl

static int watch(CURL *easy, curl_socket_t socket, int what, void *context, void *known) {
    (void)easy;
    gate_transport *self = context;
    if (what == CURL_POLL_REMOVE) {
        epoll_ctl(self->events, EPOLL_CTL_DEL, socket, NULL);
        return 0;
    }
    struct epoll_event event = {.data.fd = socket};
    event.events = ((what & CURL_POLL_IN) ? EPOLLIN : 0) | ((what & CURL_POLL_OUT) ? EPOLLOUT : 0);
    int failed = epoll_ctl(self->events, known == NULL ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, socket, &event);
    if (failed && errno == EEXIST) {
        failed = epoll_ctl(self->events, EPOLL_CTL_MOD, socket, &event);
    } else if (failed && errno == ENOENT) {
        failed = epoll_ctl(self->events, EPOLL_CTL_ADD, socket, &event);
    }
    curl_multi_assign(self->multi, socket, self);
    return failed ? -1 : 0;
}

static int set_alarm(CURLM *multi, long milliseconds, void *context) {
    (void)multi;
    gate_transport *self = context;
    self->alarm = milliseconds < 0 ? -1 : now() + milliseconds;
    return 0;
}

// MARK: life

static pthread_once_t initialised = PTHREAD_ONCE_INIT;
static int usable;

static void initialise(void) { usable = handshake_initialise() && curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK; }

const char *gate_transport_unusable_reason(void) {
    pthread_once(&initialised, initialise);
    const curl_version_info_data *version = curl_version_info(CURLVERSION_NOW);
    if (!usable) {
        return "libcurl and OpenSSL could not be initialised";
    }
    if (version->ssl_version == NULL || strncmp(version->ssl_version, "OpenSSL/", 8) != 0) {
        return "libcurl was not built with OpenSSL";
    }
    if ((version->features & CURL_VERSION_ASYNCHDNS) == 0) {
        return "libcurl was built with a resolver that blocks";
    }
    return version->version_num < 0x075500 ? "libcurl is older than 7.85.0" : NULL;
}

static int open_events(gate_transport *self) {
    self->events = epoll_create1(EPOLL_CLOEXEC);
    self->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = self->wake};
    return self->events >= 0 && self->wake >= 0 && epoll_ctl(self->events, EPOLL_CTL_ADD, self->wake, &event) == 0;
}

static int open_multi(gate_transport *self) {
    self->alarm = -1;
    self->multi = curl_multi_init();
    return self->multi != NULL && curl_multi_setopt(self->multi, CURLMOPT_SOCKETFUNCTION, watch) == CURLM_OK &&
           curl_multi_setopt(self->multi, CURLMOPT_SOCKETDATA, self) == CURLM_OK &&
           curl_multi_setopt(self->multi, CURLMOPT_TIMERFUNCTION, set_alarm) == CURLM_OK &&
           curl_multi_setopt(self->multi, CURLMOPT_TIMERDATA, self) == CURLM_OK &&
           curl_multi_setopt(self->multi, CURLMOPT_MAX_HOST_CONNECTIONS, (long)self->connections) == CURLM_OK &&
           curl_multi_setopt(self->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, (long)self->connections) == CURLM_OK &&
           curl_multi_setopt(self->multi, CURLMOPT_MAXCONNECTS, (long)CONNECTIONS_KEPT) == CURLM_OK;
}

static void close_multi(gate_transport *self) {
    if (self->multi != NULL) {
        curl_multi_cleanup(self->multi);
    }
    self->multi = NULL;
}

gate_transport *gate_transport_create(gate_completion completion, void *context) {
    gate_transport *self = gate_transport_unusable_reason() == NULL ? calloc(1, sizeof *self) : NULL;
    if (self == NULL) {
        return NULL;
    }
    pthread_mutex_init(&self->lock, NULL);
    self->events = -1;
    self->wake = -1;
    self->completion = completion;
    self->context = context;
    self->connections = CONNECTIONS;
    if (!open_events(self) || !open_multi(self) || (self->resolver = resolver_create(self->wake)) == NULL) {
        gate_transport_destroy(self);
        return NULL;
    }
    return self;
}

void gate_transport_connections(gate_transport *self, size_t count) {
    self->connections = count;
    curl_multi_setopt(self->multi, CURLMOPT_MAX_HOST_CONNECTIONS, (long)count);
    curl_multi_setopt(self->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, (long)count);
}

int gate_transport_trust(gate_transport *self, const uint8_t *pem, size_t length) {
    return trust_authorities(&self->trust, pem, length);
}

int gate_transport_present(gate_transport *self, const uint8_t *chain, size_t chain_length, const uint8_t *key,
                           size_t key_length) {
    return trust_present(&self->trust, chain, chain_length, key, key_length);
}

int gate_transport_tunnel(gate_transport *self, const char *proxy) { return trust_tunnel(&self->trust, proxy); }

void gate_transport_public_only(gate_transport *self) { self->trust.public_only = 1; }

int gate_transport_pin(gate_transport *self, gate_pin_match match, const uint8_t *pins, size_t count) {
    return trust_pin(&self->trust, match, pins, count);
}

void gate_transport_destroy(gate_transport *self) {
    // Connections look at pins while they end, so they go first.
    close_multi(self);
    trust_free(&self->trust);
    if (self->resolver != NULL) {
        resolver_release(self->resolver);
    }
    if (self->wake >= 0) {
        close(self->wake);
    }
    if (self->events >= 0) {
        close(self->events);
    }
    pthread_mutex_destroy(&self->lock);
    free(self);
}

// MARK: from any thread

static void wake(gate_transport *self) {
    uint64_t one = 1;
    // A counter that is full wakes as well.
    ssize_t written = write(self->wake, &one, sizeof one);
    (void)written;
}

// Under the lock: the list keeps the order of arrival.
static gate_outcome enqueue(gate_transport *self, call *call) {
    if (!self->running || self->stopping) {
        return GATE_SHUT_DOWN;
    }
    if (self->queued >= CALLS_QUEUED) {
        return GATE_QUEUE_FULL;
    }
    struct call **end = &self->calls;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = call;
    self->queued += 1;
    self->changed = 1;
    return GATE_COMPLETED;
}

gate_outcome gate_transport_submit(gate_transport *self, uint64_t id, const char *method, const char *address,
                                   const char *host, const char *head, const uint8_t *body, int64_t body_length,
                                   gate_terms terms) {
    if (terms.pin_set >= (int64_t)self->trust.set_count) {
        return GATE_MALFORMED;
    }
    call *call = call_create(id, method, address, host, head, body, body_length);
    if (call == NULL) {
        return GATE_OUT_OF_MEMORY;
    }
    call_bind(call, &terms, terms.pin_set < 0 ? NULL : &self->trust.sets[terms.pin_set]);
    call->timeout = terms.timeout_milliseconds;
    call->deadline = now() + call->timeout;
    pthread_mutex_lock(&self->lock);
    gate_outcome outcome = enqueue(self, call);
    pthread_mutex_unlock(&self->lock);
    if (outcome != GATE_COMPLETED) {
        call_free(call);
        return outcome;
    }
    wake(self);
    return GATE_COMPLETED;
}

void gate_transport_cancel(gate_transport *self, uint64_t id) {
    pthread_mutex_lock(&self->lock);
    int found = 0;
    for (call *call = self->calls; call != NULL && !found; call = call->next) {
        if (call->id == id) {
            call->cancelled = 1;
            self->changed = 1;
            found = 1;
        }
    }
    pthread_mutex_unlock(&self->lock);
    if (found) {
        wake(self);
    }
}

// MARK: on the thread

// Takes a call off the list and off libcurl.
static void detach(gate_transport *self, call *call) {
    pthread_mutex_lock(&self->lock);
    struct call **link = &self->calls;
    while (*link != NULL && *link != call) {
        link = &(*link)->next;
    }
    if (*link == call) {
        *link = call->next;
    }
    if (!call->active) {
        self->queued -= 1;
    }
    self->changed = 1;
    pthread_mutex_unlock(&self->lock);
    if (call->is_attached) {
        curl_multi_remove_handle(self->multi, call->easy);
    }
    self->resolving -= call->is_resolving ? 1 : 0;
    self->active -= call->active ? 1 : 0;
}

// The words for a failure; only classes whose text libcurl makes from host names and certificates keep libcurl's own.
static const char *words(const call *call, gate_outcome outcome, CURLcode code) {
    int own = outcome == GATE_TIMED_OUT || outcome == GATE_UNREACHABLE || outcome == GATE_TLS_FAILED;
    // libcurl reports a call that the transport stopped as aborted.
    own = own && call->stopped == GATE_COMPLETED;
    if (own && call->text[0] != '\0') {
        return call->text;
    }
    return code == CURLE_OK || call->stopped != GATE_COMPLETED ? "" : curl_easy_strerror(code);
}

static void finish(gate_transport *self, call *call, gate_outcome outcome, CURLcode code) {
    detach(self, call);
    static const uint8_t nothing[1];
    gate_result result = {.id = call->id, .outcome = outcome, .failure = call->failure, .head = nothing, .body = nothing};
    if (call->easy != NULL) {
        int is_of_proxy = outcome == GATE_PROXY_REFUSED;
        curl_easy_getinfo(call->easy, is_of_proxy ? CURLINFO_HTTP_CONNECTCODE : CURLINFO_RESPONSE_CODE, &result.status);
    }
    if (outcome == GATE_COMPLETED && call->head.length > 0) {
        result.head = call->head.bytes;
        result.head_length = call->head.length;
    }
    if (outcome == GATE_COMPLETED && call->response.length > 0) {
        result.body = call->response.bytes;
        result.body_length = call->response.length;
    }
    const handshake *handshake = call->handshake;
    if (handshake != NULL) {
        result.pins = handshake->verdict;
        result.pin = handshake->pin;
        result.pin_position = handshake->position;
    }
    const chain *chain = handshake != NULL && handshake->chain != NULL ? handshake->chain : call->chain;
    if (chain != NULL) {
        result.certificates = chain->certificates;
        result.certificate_count = chain->count;
    }
    result.text = words(call, outcome, code);
    self->completion(self->context, &result);
    call_free(call);
}

typedef enum decision { KEEP, START, LAUNCH, CANCEL, EXPIRE, UNRESOLVABLE, SHUT_DOWN } decision;

// Hands a call whose host is resolved over to libcurl.
static void launch(gate_transport *self, call *call) {
    int64_t time = now();
    int64_t connect = call->resolving_until - time;
    int64_t left = call->deadline - time;
    int ready = call_prepare(call, &self->trust, connect > 1 ? connect : 1, left > 1 ? left : 1);
    if (!ready || self->multi == NULL || curl_multi_add_handle(self->multi, call->easy) != CURLM_OK) {
        finish(self, call, GATE_OUT_OF_MEMORY, CURLE_OUT_OF_MEMORY);
        return;
    }
    call->is_attached = 1;
}

// `localhost` and what is below it is this machine, whatever the resolver returns. RFC 6761 §6.3.
static int is_local(const char *host) {
    static const char local[] = ".localhost";
    size_t length = strlen(host);
    return strcasecmp(host, local + 1) == 0 ||
           (length >= sizeof local && strcasecmp(host + length - (sizeof local - 1), local) == 0);
}

static void launch_at(gate_transport *self, call *call, const char *addresses) {
    if (addresses == NULL || !call_set_addresses(call, addresses)) {
        finish(self, call, GATE_OUT_OF_MEMORY, CURLE_OUT_OF_MEMORY);
        return;
    }
    launch(self, call);
}

static void launch_resolved(gate_transport *self, call *call) {
    self->resolving -= call->is_resolving ? 1 : 0;
    call->is_resolving = 0;
    char *addresses = resolver_addresses(self->resolver, call->target);
    launch_at(self, call, addresses);
    free(addresses);
}

static void cancel_resolving(gate_transport *self, call *call, decision why) {
    if (why == EXPIRE) {
        const char *form = "Resolving timed out after %lld milliseconds";
        snprintf(call->text, sizeof call->text, form, (long long)(now() - (call->deadline - call->timeout)));
        finish(self, call, GATE_TIMED_OUT, CURLE_OPERATION_TIMEDOUT);
        return;
    }
    const char *failure = resolver_failure(self->resolver, call->target);
    snprintf(call->text, sizeof call->text, "Could not resolve host: %s (%s)", call->target, failure);
    finish(self, call, GATE_UNREACHABLE, CURLE_COULDNT_RESOLVE_HOST);
}

static void start(gate_transport *self, call *call) {
    pthread_mutex_lock(&self->lock);
    call->active = 1;
    self->queued -= 1;
    pthread_mutex_unlock(&self->lock);
    self->active += 1;
    int64_t time = now();
    int64_t connect = call->timeout < CALL_CONNECT_MILLISECONDS ? call->timeout : CALL_CONNECT_MILLISECONDS;
    call->deadline = time + call->timeout;
    call->resolving_until = time + connect;
    if (!call_find_target(call, &self->trust)) {
        finish(self, call, GATE_OUT_OF_MEMORY, CURLE_OUT_OF_MEMORY);
        return;
    }
    if (call->target == NULL || is_ip_address(call->target, 6)) {
        launch(self, call);
        return;
    }
    if (is_ip_address(call->target, 4) || is_local(call->target)) {
        launch_at(self, call, is_local(call->target) ? "[::1],127.0.0.1" : call->target);
        return;
    }
    switch (resolver_start(self->resolver, call->target, time)) {
    case RESOLVED: launch_resolved(self, call); break;
    case UNRESOLVED: cancel_resolving(self, call, UNRESOLVABLE); break;
    case RESOLVING:
        call->is_resolving = 1;
        self->resolving += 1;
    }
}

static call *first_active(gate_transport *self) {
    pthread_mutex_lock(&self->lock);
    call *call = self->calls;
    while (call != NULL && !call->active) {
        call = call->next;
    }
    pthread_mutex_unlock(&self->lock);
    return call;
}

// Without memory libcurl leaves off in the middle: it sets no alarm, and what it has taken up only half can bring it
// down later. So all calls in progress end, and it starts again; as long as that fails, calls end as they start.
static void recover(gate_transport *self) {
    while (self->active > 0) {
        finish(self, first_active(self), GATE_OUT_OF_MEMORY, CURLE_OUT_OF_MEMORY);
    }
    close_multi(self);
    self->failed = !open_multi(self);
    if (self->failed) {
        close_multi(self);
    }
}

static decision decide_resolving(const gate_transport *self, const call *call, int64_t time) {
    switch (resolver_state(self->resolver, call->target, time)) {
    case RESOLVED: return LAUNCH;
    case UNRESOLVED: return UNRESOLVABLE;
    case RESOLVING: break;
    }
    return call->resolving_until <= time ? EXPIRE : KEEP;
}

static decision decide(const gate_transport *self, const call *call, int64_t time) {
    if (self->stopping) {
        return SHUT_DOWN;
    }
    if (call->cancelled) {
        return CANCEL;
    }
    if (call->active) {
        return call->is_resolving ? decide_resolving(self, call, time) : KEEP;
    }
    if (call->deadline <= time) {
        return EXPIRE;
    }
    return self->active < self->connections ? START : KEEP;
}

// Under the lock: the first call that something has to be done with, or NULL.
static call *next_due(gate_transport *self, decision *what) {
    int64_t time = now();
    for (call *call = self->calls; call != NULL; call = call->next) {
        *what = decide(self, call, time);
        if (*what != KEEP) {
            return call;
        }
    }
    self->changed = 0;
    return NULL;
}

static void expire(gate_transport *self, call *call) {
    if (call->is_resolving) {
        cancel_resolving(self, call, EXPIRE);
    } else {
        finish(self, call, GATE_QUEUE_TIMED_OUT, CURLE_OPERATION_TIMEDOUT);
    }
}

static void settle(gate_transport *self) {
    for (;;) {
        decision what = KEEP;
        pthread_mutex_lock(&self->lock);
        int due = self->changed || self->queued > 0 || self->resolving > 0;
        call *call = due ? next_due(self, &what) : NULL;
        pthread_mutex_unlock(&self->lock);
        if (call == NULL) {
            return;
        }
        switch (what) {
        case START: start(self, call); break;
        case CANCEL: finish(self, call, GATE_CANCELLED, CURLE_OK); break;
        case LAUNCH: launch_resolved(self, call); break;
        case UNRESOLVABLE: cancel_resolving(self, call, what); break;
        case EXPIRE: expire(self, call); break;
        case SHUT_DOWN: finish(self, call, GATE_SHUT_DOWN, CURLE_OK); break;
        case KEEP: return;
        }
    }
}

static void reap(gate_transport *self) {
    int left = 0;
    CURLMsg *message;
    while ((message = curl_multi_info_read(self->multi, &left)) != NULL) {
        call *call = NULL;
        CURLcode code = message->data.result;
        if (message->msg != CURLMSG_DONE) {
            continue;
        }
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&call);
        if (call != NULL) {
            finish(self, call, call_outcome(call, code), code);
        }
    }
}

static void act(gate_transport *self, curl_socket_t socket, int what) {
    int running = 0;
    if (!self->failed && curl_multi_socket_action(self->multi, socket, what, &running) != CURLM_OK) {
        self->failed = 1;
    }
}

static void serve_socket(gate_transport *self, int socket, uint32_t seen) {
    int what = ((seen & (EPOLLIN | EPOLLHUP)) ? CURL_CSELECT_IN : 0) | ((seen & EPOLLOUT) ? CURL_CSELECT_OUT : 0) |
               ((seen & EPOLLERR) ? CURL_CSELECT_ERR : 0);
    act(self, socket, what);
}

static void serve_alarm(gate_transport *self) {
    if (self->alarm >= 0 && self->alarm <= now()) {
        self->alarm = -1;
        act(self, CURL_SOCKET_TIMEOUT, 0);
    }
}

// How long the thread may sleep: until the next alarm, and no longer than 50 ms past the end of a call that is queued or
// whose host is not resolved.
static int patience(gate_transport *self) {
    pthread_mutex_lock(&self->lock);
    int64_t least = self->queued > 0 || self->resolving > 0 ? 50 : 60000;
    pthread_mutex_unlock(&self->lock);
    int64_t left = self->alarm < 0 ? least : self->alarm - now();
    if (left < least) {
        least = left;
    }
    return least < 0 ? 0 : (int)least;
}

static void turn(gate_transport *self) {
    struct epoll_event events[EVENTS];
    int count = epoll_wait(self->events, events, EVENTS, patience(self));
    for (int index = 0; index < count; index += 1) {
        uint64_t value;
        if (events[index].data.fd != self->wake) {
            serve_socket(self, events[index].data.fd, events[index].events);
        } else if (read(self->wake, &value, sizeof value) < 0) {
            continue;
        }
    }
    serve_alarm(self);
    if (self->active > 0) {
        reap(self);
    }
    if (self->failed) {
        recover(self);
    }
    settle(self);
}

static void *run(void *context) {
    gate_transport *self = context;
    int stopping = 0;
    while (!stopping) {
        turn(self);
        pthread_mutex_lock(&self->lock);
        stopping = self->stopping;
        pthread_mutex_unlock(&self->lock);
    }
    settle(self);
    return NULL;
}

int gate_transport_start(gate_transport *self) {
    // Signals are for the program's own threads; but a crash of this one has to be reported by this one.
    static const int own[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP};
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    for (size_t index = 0; index < sizeof own / sizeof *own; index += 1) {
        sigdelset(&all, own[index]);
    }
    pthread_sigmask(SIG_SETMASK, &all, &before);
    self->running = 1;
    int failed = pthread_create(&self->thread, NULL, run, self);
    self->running = !failed;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return !failed;
}

void gate_transport_stop(gate_transport *self) {
    pthread_mutex_lock(&self->lock);
    int running = self->running && !self->stopping;
    self->stopping = 1;
    self->changed = 1;
    pthread_mutex_unlock(&self->lock);
    if (running) {
        wake(self);
        pthread_join(self->thread, NULL);
    }
}

const char *gate_transport_library_versions(void) { return curl_version(); }
