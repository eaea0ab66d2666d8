// SPDX-License-Identifier: Apache-2.0
// Many threads at one transport.
#include <pthread.h>
#include <stdlib.h>

#include "client.h"
#include "tests.h"

enum { THREADS = 8, CALLS = 200 };

static client *open_pinned(size_t capacity) {
    client *self = client_open(capacity);
    client_pin(self, GATE_PIN_PUBLIC_KEY, "spare ec.key");
    client_pin(self, GATE_PIN_CHAIN, "spare");
    client_start(self);
    return self;
}

static void in_threads(void *(*work)(void *), client *self) {
    pthread_t threads[THREADS];
    for (int index = 0; index < THREADS; index += 1) {
        CHECK_EQUAL(pthread_create(&threads[index], NULL, work, self), 0);
    }
    for (int index = 0; index < THREADS; index += 1) {
        pthread_join(threads[index], NULL);
    }
}

// All at once, so that the queue fills: a refused call is submitted again when others have ended.
static void *submit_all(void *context) {
    client *self = context;
    request what = get_pinned("kept", "/threads", 0, 1);
    // The last one waits for all others, on whatever machine.
    what.terms.timeout_milliseconds = 60000;
    for (int index = 0; index < CALLS; index += 1) {
        uint64_t id = 0;
        gate_outcome outcome;
        while ((outcome = client_submit(self, &what, &id)) == GATE_QUEUE_FULL) {
            client_wait_for_pending(self, THREADS);
        }
        CHECK_EQUAL(outcome, GATE_COMPLETED);
    }
    return NULL;
}

static void test_submit(void) {
    client *self = open_pinned(3 * THREADS * CALLS);
    in_threads(submit_all, self);
    client_wait_for_pending(self, 0);
    CHECK_EQUAL(self->ended, THREADS * CALLS);
    // A number that was refused looks like one that has completed, but is not among those that have ended.
    for (size_t index = 0; index < self->given; index += 1) {
        CHECK_EQUAL(self->endings[index].outcome, GATE_COMPLETED);
    }
    client_close(self);
}

// Each call is cancelled somewhere between its queueing and its end.
static void *submit_and_cancel(void *context) {
    client *self = context;
    unsigned int seed = (unsigned int)(uintptr_t)&seed;
    for (int index = 0; index < CALLS / 2; index += 1) {
        int mismatches = index % 4 == 0;
        request what = get_pinned(index % 2 ? "kept" : "fresh", "/cancelled", mismatches, 1);
        uint64_t id = client_begin(self, what);
        pause_milliseconds(rand_r(&seed) % 4);
        gate_transport_cancel(self->transport, id);
        ending found = client_wait(self, id);
        CHECK(found.outcome == GATE_CANCELLED || found.outcome == (mismatches ? GATE_TLS_FAILED : GATE_COMPLETED));
    }
    return NULL;
}

static void test_cancel(void) {
    client *self = open_pinned(THREADS * CALLS);
    in_threads(submit_and_cancel, self);
    client_close(self);
}

static void *submit_until_stopped(void *context) {
    client *self = context;
    request what = get_pinned("fresh", "/stopped", 0, 1);
    for (;;) {
        uint64_t id = 0;
        gate_outcome outcome = client_submit(self, &what, &id);
        if (outcome == GATE_SHUT_DOWN) {
            return NULL;
        }
        CHECK_EQUAL(outcome, GATE_COMPLETED);
        client_wait_for_pending(self, 4 * THREADS);
    }
}

static void test_stop(void) {
    for (int round = 0; round < 10; round += 1) {
        client *self = open_pinned(65536);
        pthread_t threads[THREADS];
        for (int index = 0; index < THREADS; index += 1) {
            CHECK_EQUAL(pthread_create(&threads[index], NULL, submit_until_stopped, self), 0);
        }
        pause_milliseconds(5 * round);
        client_stop(self);
        for (int index = 0; index < THREADS; index += 1) {
            pthread_join(threads[index], NULL);
        }
        CHECK_EQUAL(self->ended, self->accepted);
        client_close(self);
    }
}

// Transports come and go beside each other.
static void *own_transport(void *unused) {
    for (int round = 0; round < 10; round += 1) {
        client *self = client_open(4);
        int64_t right = client_pin(self, GATE_PIN_CERTIFICATE, "ec.pem");
        int64_t wrong = client_pin(self, GATE_PIN_CHAIN, "spare");
        client_start(self);
        CHECK_EQUAL(client_ask(self, get_pinned("fresh", "/own", right, 1)).pins, GATE_PIN_MATCHED);
        CHECK_EQUAL(client_ask(self, get_pinned("fresh", "/own", wrong, 1)).failure, GATE_TLS_PIN);
        client_close(self);
    }
    return unused;
}

static void test_transports(void) { in_threads(own_transport, NULL); }

const test threads_tests[] = {
    {"threads: 8 submit 200 calls each", test_submit},
    {"threads: 8 cancel what they submit, at any moment", test_cancel},
    {"threads: 8 submit while the transport is stopped", test_stop},
    {"threads: 8 with transports of their own", test_transports},
    {0},
};
