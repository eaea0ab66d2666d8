// SPDX-License-Identifier: Apache-2.0
// One allocation fails, the first, the second and so on, of each who allocates, until none is left to fail.
#include "memory.h"

#include <stdio.h>

#include "client.h"
#include "tests.h"

enum { MATCHING, MISMATCHING };

// Libcurl's own look at pins, which it takes for those of public keys, comes to grief when OpenSSL has no memory for a
// hash (EVP_DigestUpdate behind a failed EVP_DigestInit, 7.88.1); that of the sources does not.
static gate_pin_match match_for(owner who) { return who == OPENSSL ? GATE_PIN_CHAIN : GATE_PIN_PUBLIC_KEY; }

// Not client_pin, since memory may run out.
static int add_pins(client *self, owner who) {
    uint8_t pins[3 * GATE_PIN_LENGTH];
    read_pin(pins, "spare", 5);
    read_pin(pins + GATE_PIN_LENGTH, "ec.key", 6);
    read_pin(pins + 2 * GATE_PIN_LENGTH, "spare", 5);
    return gate_transport_pin(self->transport, match_for(who), pins, 2) &&
           gate_transport_pin(self->transport, GATE_PIN_CHAIN, pins + 2 * GATE_PIN_LENGTH, 1);
}

// Whether the call has completed; one that is refused ends at once.
static int has_completed(client *self, const char *path, int64_t pin_set, ending *found) {
    request what = get_pinned("kept", path, pin_set, 1);
    what.method = "POST";
    what.body = (const uint8_t *)"grant_type=none";
    what.body_length = 15;
    what.terms.wants_chain = 1;
    uint64_t id = 0;
    if (client_submit(self, &what, &id) != GATE_COMPLETED) {
        return 0;
    }
    *found = client_wait(self, id);
    return found->outcome == GATE_COMPLETED;
}

// A new connection, the same once more, and one that must fail; how many calls have completed.
static int attempt(owner who) {
    int completed = 0;
    client *self = client_open(3);
    if (self->transport != NULL && add_pins(self, who) && gate_transport_start(self->transport)) {
        ending found;
        if (has_completed(self, "/scarce", MATCHING, &found)) {
            CHECK_EQUAL(found.pins, GATE_PIN_MATCHED);
            completed += 1;
        }
        if (has_completed(self, "/scarce", MATCHING, &found)) {
            CHECK(found.pins != GATE_PIN_MISMATCHED);
            completed += 1;
        }
        CHECK(!has_completed(self, "/scarce-and-mismatched", MISMATCHING, &found));
    }
    client_close(self);
    return completed;
}

// What OpenSSL keeps for later differs with what has failed, so that only the leak check at the end knows of it.
static void check_nothing_is_left(long ours, long libcurl) {
    CHECK_EQUAL(memory_live(OURS), ours);
    CHECK_EQUAL(memory_live(LIBCURL), libcurl);
}

static void fail_each(owner who, long step) {
    CHECK_EQUAL(attempt(who), 2);
    long ours = memory_live(OURS);
    long libcurl = memory_live(LIBCURL);
    long descriptors = count_descriptors();
    int has_failed = 1;
    for (long which = 1; has_failed; which += step) {
        check_at("allocation", which);
        memory_fail(who, which);
        int completed = attempt(who);
        has_failed = memory_has_failed();
        memory_fail(who, 0);
        CHECK(has_failed || completed == 2);
        check_nothing_is_left(ours, libcurl);
    }
    CHECK_EQUAL(count_descriptors(), descriptors);
    CHECK_EQUAL(requests_of("/scarce-and-mismatched"), 0);
}

static void test_ours(void) { fail_each(OURS, 1); }

static void test_libcurl(void) { fail_each(LIBCURL, 1); }

// There are thousands.
static void test_openssl(void) { fail_each(OPENSSL, 17); }

const test memory_tests[] = {
    {"memory: each allocation of ours fails once", test_ours},
    {"memory: each allocation of libcurl fails once", test_libcurl},
    {"memory: every 17th allocation of OpenSSL fails once", test_openssl},
    {0},
};
