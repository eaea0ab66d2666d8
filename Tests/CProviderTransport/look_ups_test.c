// SPDX-License-Identifier: Apache-2.0
// How the hosts of calls are resolved.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "names.h"
#include "resolver.h"
#include "tests.h"

enum { ROUNDS = 400, SHORT = 1500 };

// libcurl 7.88.1 reads the handle of its look-up's thread after that was freed, if the thread ends as the call does.
static void test_none_of_libcurl(void) {
    long before = names_count();
    client *self = client_open(8);
    client_start(self);
    names_hold();
    request what = get_from("stuck.test", "kept", "/");
    what.terms.timeout_milliseconds = 100;
    CHECK_EQUAL(client_ask(self, what).outcome, GATE_TIMED_OUT);
    uint64_t id = client_begin(self, what);
    gate_transport_cancel(self->transport, id);
    CHECK_EQUAL(client_wait(self, id).outcome, GATE_CANCELLED);
    names_release();
    CHECK_EQUAL(client_ask(self, get_from("provider.test", "kept", "/")).outcome, GATE_COMPLETED);
    CHECK_EQUAL(client_ask(self, get_from("missing.test", "kept", "/")).outcome, GATE_UNREACHABLE);
    client_close(self);
    CHECK(names_count() > before);
    CHECK_EQUAL(names_count_of_libcurl(), 0);
}

static void test_local_names(void) {
    long before = names_count();
    client *self = client_open(8);
    client_start(self);
    CHECK_EQUAL(client_ask(self, get_from("localhost", "plain", "/")).outcome, GATE_COMPLETED);
    CHECK_EQUAL(client_ask(self, get_from("id.localhost", "plain", "/")).outcome, GATE_COMPLETED);
    client_close(self);
    CHECK_EQUAL(names_count(), before);
}

// Behind a proxy only its name is resolved.
static void test_proxy(void) {
    client *self = client_open(4);
    char proxy[64];
    snprintf(proxy, sizeof proxy, "http://provider.test:%d", port_of("proxy"));
    CHECK(gate_transport_tunnel(self->transport, proxy));
    client_start(self);
    long before = names_count();
    CHECK_EQUAL(client_ask(self, get("fresh", "/")).outcome, GATE_COMPLETED);
    CHECK_EQUAL(client_ask(self, get("fresh", "/")).outcome, GATE_COMPLETED);
    CHECK_EQUAL(names_count(), before + 1);
    client_close(self);
    self = client_open(4);
    snprintf(proxy, sizeof proxy, "http://missing.test:%d", port_of("proxy"));
    CHECK(gate_transport_tunnel(self->transport, proxy));
    client_start(self);
    CHECK_EQUAL(client_ask(self, get("fresh", "/")).outcome, GATE_UNREACHABLE);
    CHECK_EQUAL(client_ask(self, get("plain", "/")).outcome, GATE_COMPLETED);
    client_close(self);
    CHECK_EQUAL(names_count_of_libcurl(), 0);
}

// Look-ups end in the very moment in which their calls are cancelled, are out of time, or the transport is freed.
static void test_ends_with_its_call(void) {
    unsigned int seed = 19;
    for (int round = 0; round < ROUNDS; round += 1) {
        check_at("round", round);
        client *self = client_open(4);
        client_start(self);
        names_delay(SHORT);
        request what = get_from("late.test", "plain", "/");
        what.terms.timeout_milliseconds = round % 3 == 0 ? 1 + rand_r(&seed) % 3 : 1000;
        uint64_t first = client_begin(self, what);
        client_begin(self, what);
        pause_milliseconds(rand_r(&seed) % 3);
        if (round % 3 == 1) {
            gate_transport_cancel(self->transport, first);
        }
        if (round % 3 != 2) {
            client_wait(self, first);
        }
        client_close(self);
    }
    CHECK_EQUAL(names_count_of_libcurl(), 0);
}

static void test_shared(void) {
    client *self = client_open(32);
    client_start(self);
    names_delay(50000);
    long before = names_count();
    for (int index = 0; index < 12; index += 1) {
        client_begin(self, get_from("late.test", "plain", "/"));
    }
    client_wait_for_pending(self, 0);
    CHECK_EQUAL(client_ask(self, get_from("late.test", "plain", "/")).outcome, GATE_COMPLETED);
    CHECK_EQUAL(names_count(), before + 1);
    for (size_t index = 0; index < self->given; index += 1) {
        CHECK_EQUAL(self->endings[index].outcome, GATE_COMPLETED);
    }
    client_close(self);
}

static resolution settled(resolver *self, const char *host, int64_t time) {
    int64_t deadline = milliseconds() + 5000;
    resolution found = resolver_start(self, host, time);
    while (found == RESOLVING) {
        CHECK(milliseconds() < deadline);
        pause_milliseconds(1);
        found = resolver_state(self, host, time);
    }
    return found;
}

// As long as it takes until a look-up has started, or not.
static long count_after(long before) {
    for (int turn = 0; turn < 40 && names_count() == before; turn += 1) {
        pause_milliseconds(1);
    }
    return names_count() - before;
}

static void test_cache(void) {
    resolver *self = resolver_create(-1);
    CHECK(self != NULL);
    CHECK_EQUAL(settled(self, "provider.test", 0), RESOLVED);
    char *addresses = resolver_addresses(self, "PROVIDER.test");
    CHECK(addresses != NULL && strcmp(addresses, "127.0.0.1") == 0);
    free(addresses);
    long before = names_count();
    CHECK_EQUAL(resolver_start(self, "provider.test", RESOLVER_FRESH_MILLISECONDS - 1), RESOLVED);
    CHECK_EQUAL(count_after(before), 0);
    // No call waits for newer addresses, not even where the resolver has failed.
    names_fail(1);
    CHECK_EQUAL(resolver_start(self, "provider.test", RESOLVER_FRESH_MILLISECONDS), RESOLVED);
    CHECK_EQUAL(count_after(before), 1);
    CHECK_EQUAL(resolver_state(self, "provider.test", RESOLVER_STALE_MILLISECONDS - 1), RESOLVED);
    CHECK_EQUAL(settled(self, "provider.test", RESOLVER_STALE_MILLISECONDS), UNRESOLVED);
    CHECK(strlen(resolver_failure(self, "provider.test")) > 0);
    names_fail(0);
    CHECK_EQUAL(settled(self, "provider.test", RESOLVER_STALE_MILLISECONDS), RESOLVED);
    resolver_release(self);
}

static void test_bound(void) {
    resolver *self = resolver_create(-1);
    CHECK(self != NULL);
    CHECK_EQUAL(settled(self, "provider.test", 1), RESOLVED);
    char host[32];
    for (int number = 0; number < 3 * RESOLVER_NAMES; number += 1) {
        snprintf(host, sizeof host, "host%d.test", number);
        CHECK_EQUAL(settled(self, host, number), UNRESOLVED);
    }
    // Names that do not exist displace each other first.
    CHECK_EQUAL(resolver_state(self, "provider.test", 2), RESOLVED);
    CHECK_EQUAL(resolver_state(self, "host0.test", 2), UNRESOLVED);
    // A name with a look-up that runs is never removed; when all are such, no name can be added.
    names_hold();
    CHECK_EQUAL(resolver_start(self, "stuck.test", 1000), RESOLVING);
    names_wait();
    for (int number = 0; number < 3 * RESOLVER_NAMES; number += 1) {
        snprintf(host, sizeof host, "host%d.test", number);
        settled(self, host, 1000 + number);
    }
    CHECK_EQUAL(resolver_state(self, "stuck.test", 2000), RESOLVING);
    // The look-up frees what the transport has released.
    resolver_release(self);
    names_release();
}

const test look_ups_tests[] = {
    {"look-ups: X-19, none of libcurl's own", test_none_of_libcurl},
    {"look-ups: X-19, end in the moment in which their calls do", test_ends_with_its_call},
    {"look-ups: none for names of this machine", test_local_names},
    {"look-ups: behind a proxy for its name only", test_proxy},
    {"look-ups: one for many calls", test_shared},
    {"look-ups: addresses are cached, and used a while longer", test_cache},
    {"look-ups: the cache is bounded", test_bound},
    {0},
};
