// SPDX-License-Identifier: Apache-2.0
// What is left over after very many handshakes.
#include <stdio.h>
#include <stdlib.h>

#include "client.h"
#include "memory.h"
#include "tests.h"

// Two transports beside each other make use of two processors, with 16 calls in progress together.
enum { HANDSHAKES = 10000, WARM_UP = 400, ROUNDS = 2, TRANSPORTS = 2, PENDING = 8, KINDS = 4 };

// What there is of everything that might be left behind.
typedef struct counts {
    long descriptors;
    long threads;
    long live[OWNERS];
} counts;

static counts count_all(void) {
    counts made = {.descriptors = count_descriptors(), .threads = count_threads()};
    for (int who = 0; who < OWNERS; who += 1) {
        made.live[who] = memory_live((owner)who);
    }
    return made;
}

// Of four calls two match and are enforced, one mismatches and is enforced, one mismatches and is reported.
static request of_kind(size_t index) {
    static const char *const paths[KINDS] = {"/matched", "/mismatched", "/matched", "/reported"};
    int kind = (int)(index % KINDS);
    int64_t match = (int64_t)(index / KINDS % 3);
    return get_pinned("fresh", paths[kind], kind % 2 == 0 ? match : match + 3, kind < 3);
}

static void check_ending(const ending *found, size_t index) {
    int kind = (int)(index % KINDS);
    CHECK_EQUAL(found->times, 1);
    CHECK_EQUAL(found->certificate_count, 3);
    CHECK_EQUAL(found->outcome, kind == 1 ? GATE_TLS_FAILED : GATE_COMPLETED);
    CHECK_EQUAL(found->pins, kind % 2 == 0 ? GATE_PIN_MATCHED : GATE_PIN_MISMATCHED);
}

// Every verdict shows that there was a handshake.
static void *shake_hands(void *context) {
    size_t count = *(const size_t *)context;
    client *self = client_open(count);
    client_pin(self, GATE_PIN_PUBLIC_KEY, "spare ec.key");
    client_pin(self, GATE_PIN_CERTIFICATE, "spare ec.pem");
    client_pin(self, GATE_PIN_CHAIN, "spare root.key");
    client_pin(self, GATE_PIN_PUBLIC_KEY, "spare root.key");
    client_pin(self, GATE_PIN_CERTIFICATE, "spare ec.key");
    client_pin(self, GATE_PIN_CHAIN, "spare ec.pem");
    client_start(self);
    for (size_t index = 0; index < count; index += 1) {
        client_wait_for_pending(self, PENDING - 1);
        client_begin(self, of_kind(index));
    }
    client_wait_for_pending(self, 0);
    for (size_t index = 0; index < count; index += 1) {
        check_ending(&self->endings[index], index);
    }
    client_close(self);
    return NULL;
}

static void shake_all_hands(size_t count) {
    size_t share = count / TRANSPORTS;
    pthread_t threads[TRANSPORTS];
    for (int index = 0; index < TRANSPORTS; index += 1) {
        CHECK_EQUAL(pthread_create(&threads[index], NULL, shake_hands, &share), 0);
    }
    for (int index = 0; index < TRANSPORTS; index += 1) {
        pthread_join(threads[index], NULL);
    }
}

// A thread is joined a moment before the system has forgotten it.
static counts settled(long threads) {
    int64_t deadline = milliseconds() + 2000;
    counts found = count_all();
    while (found.threads > threads && milliseconds() < deadline) {
        pause_milliseconds(10);
        found = count_all();
    }
    return found;
}

static void test_handshakes(void) {
    long threads = count_threads();
    shake_all_hands(WARM_UP);
    long matched = requests_of("/matched");
    long reported = requests_of("/reported");
    counts before = settled(threads);
    for (int round = 0; round < ROUNDS; round += 1) {
        shake_all_hands(HANDSHAKES / ROUNDS);
    }
    counts after = settled(threads);
    CHECK_EQUAL(requests_of("/matched") - matched, HANDSHAKES / 2);
    CHECK_EQUAL(requests_of("/reported") - reported, HANDSHAKES / 4);
    CHECK_EQUAL(requests_of("/mismatched"), 0);
    printf("\n%d handshakes: %ld descriptors, %ld threads, %ld allocations of ours, %ld of libcurl, %ld of OpenSSL "
           "left over\n%76s ",
           HANDSHAKES, after.descriptors - before.descriptors, after.threads - before.threads,
           after.live[OURS] - before.live[OURS], after.live[LIBCURL] - before.live[LIBCURL],
           after.live[OPENSSL] - before.live[OPENSSL], "");
    CHECK_EQUAL(after.descriptors, before.descriptors);
    CHECK_EQUAL(after.threads, before.threads);
    for (int who = 0; who < OWNERS; who += 1) {
        CHECK_EQUAL(after.live[who], before.live[who]);
    }
}

const test handshakes_tests[] = {
    {"handshakes: nothing is left over", test_handshakes},
    {0},
};
