// SPDX-License-Identifier: Apache-2.0
// What pins let through and what they stop.
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "tests.h"

// A client with one set of pins, started.
static client *pinned(gate_pin_match match, const char *names) {
    client *self = client_open(16);
    CHECK_EQUAL(client_pin(self, match, names), 0);
    client_start(self);
    return self;
}

static void check_completed(ending found) {
    CHECK_EQUAL(found.outcome, GATE_COMPLETED);
    CHECK_EQUAL(found.status, 200);
    CHECK_EQUAL(found.body_length, 6);
    CHECK(found.head_length > 0);
}

static void check_match(gate_pin_match match, const char *names, const char *server, size_t pin, size_t position) {
    client *self = pinned(match, names);
    for (int enforced = 0; enforced <= 1; enforced += 1) {
        client *asking = enforced ? self : pinned(match, names);
        ending found = client_ask(asking, get_pinned(server, "/match", 0, enforced));
        check_completed(found);
        CHECK_EQUAL(found.pins, GATE_PIN_MATCHED);
        CHECK_EQUAL(found.pin, pin);
        CHECK_EQUAL(found.pin_position, position);
        CHECK_EQUAL(found.certificate_count, 3);
        CHECK(strstr(found.subjects, ";CN=middle;CN=root;") != NULL);
        if (asking != self) {
            client_close(asking);
        }
    }
    client_close(self);
}

static void check_mismatch(gate_pin_match match, const char *names, const char *server) {
    long before = requests_of("/mismatch");
    client *self = pinned(match, names);
    for (int round = 0; round < 3; round += 1) {
        ending found = client_ask(self, get_pinned(server, "/mismatch", 0, 1));
        CHECK_EQUAL(found.outcome, GATE_TLS_FAILED);
        CHECK_EQUAL(found.failure, GATE_TLS_PIN);
        CHECK_EQUAL(found.pins, GATE_PIN_MISMATCHED);
        CHECK_EQUAL(found.certificate_count, 3);
        CHECK_EQUAL(found.status, 0);
    }
    client_close(self);
    CHECK_EQUAL(requests_of("/mismatch"), before);
}

static void check_report(gate_pin_match match, const char *names) {
    client *self = pinned(match, names);
    ending found = client_ask(self, get_pinned("kept", "/report", 0, 0));
    check_completed(found);
    CHECK_EQUAL(found.pins, GATE_PIN_MISMATCHED);
    CHECK_EQUAL(found.certificate_count, 3);
    client_close(self);
}

static void test_public_key(void) {
    check_match(GATE_PIN_PUBLIC_KEY, "ec.key", "fresh", 0, 0);
    check_match(GATE_PIN_PUBLIC_KEY, "spare rsa.key", "rsa", 1, 0);
}

static void test_certificate(void) {
    check_match(GATE_PIN_CERTIFICATE, "ec.pem spare", "fresh", 0, 0);
    check_match(GATE_PIN_CERTIFICATE, "rsa.pem", "rsa", 0, 0);
}

static void test_chain(void) {
    check_match(GATE_PIN_CHAIN, "spare ec.key", "fresh", 1, 0);
    check_match(GATE_PIN_CHAIN, "middle.key", "fresh", 0, 1);
    check_match(GATE_PIN_CHAIN, "spare root.key", "rsa", 1, 2);
    // The first pin of the set that matches is reported, wherever its certificate is in the chain.
    check_match(GATE_PIN_CHAIN, "root.key middle.key ec.key", "fresh", 0, 2);
}

static void test_mismatch(void) {
    check_mismatch(GATE_PIN_PUBLIC_KEY, "spare", "fresh");
    check_mismatch(GATE_PIN_PUBLIC_KEY, "spare rsa.key", "kept");
    check_mismatch(GATE_PIN_CERTIFICATE, "spare", "rsa");
    check_mismatch(GATE_PIN_CHAIN, "spare stray.key", "fresh");
}

static void test_other_kind(void) {
    check_mismatch(GATE_PIN_PUBLIC_KEY, "middle.key root.key ec.pem", "fresh");
    check_mismatch(GATE_PIN_CERTIFICATE, "ec.key middle.pem root.pem", "fresh");
    check_mismatch(GATE_PIN_CHAIN, "ec.pem middle.pem root.pem", "rsa");
}

static void test_padded(void) { check_mismatch(GATE_PIN_CHAIN, "stray.key", "padded"); }

static void test_report(void) {
    check_report(GATE_PIN_PUBLIC_KEY, "spare");
    check_report(GATE_PIN_CERTIFICATE, "spare");
    check_report(GATE_PIN_CHAIN, "spare");
}

static void test_no_pins(void) {
    for (int match = GATE_PIN_PUBLIC_KEY; match <= GATE_PIN_CHAIN; match += 1) {
        check_mismatch((gate_pin_match)match, "", "fresh");
        check_report((gate_pin_match)match, "");
    }
}

enum { MANY = 1000 };

// The pin that matches is the last of many, or none is.
static void check_many(gate_pin_match match, const char *name, int is_there) {
    uint8_t *pins = malloc(MANY * GATE_PIN_LENGTH);
    CHECK(pins != NULL && RAND_bytes(pins, MANY * GATE_PIN_LENGTH) == 1);
    if (is_there) {
        read_pin(pins + (MANY - 1) * GATE_PIN_LENGTH, name, strlen(name));
    }
    client *self = client_open(1);
    CHECK(gate_transport_pin(self->transport, match, pins, MANY));
    // It is a copy that counts.
    memset(pins, 0, MANY * GATE_PIN_LENGTH);
    free(pins);
    client_start(self);
    ending found = client_ask(self, get_pinned("fresh", "/many", 0, 1));
    CHECK_EQUAL(found.outcome, is_there ? GATE_COMPLETED : GATE_TLS_FAILED);
    CHECK_EQUAL(found.pins, is_there ? GATE_PIN_MATCHED : GATE_PIN_MISMATCHED);
    CHECK_EQUAL(found.pin, is_there ? MANY - 1 : 0);
    client_close(self);
}

static void test_many(void) {
    for (int is_there = 0; is_there <= 1; is_there += 1) {
        check_many(GATE_PIN_PUBLIC_KEY, "ec.key", is_there);
        check_many(GATE_PIN_CERTIFICATE, "ec.pem", is_there);
        check_many(GATE_PIN_CHAIN, "root.key", is_there);
    }
}

// Each server has the key that is pinned.
static void check_distrust(const char *host, const char *server, gate_tls_failure failure) {
    long before = requests_of("/distrust");
    for (int enforced = 0; enforced <= 1; enforced += 1) {
        client *self = pinned(GATE_PIN_PUBLIC_KEY, "ec.key");
        request what = get_from(host, server, "/distrust");
        what.terms.pin_set = enforced - 1;
        what.terms.enforces_pins = enforced;
        what.terms.wants_chain = 1;
        ending found = client_ask(self, what);
        CHECK_EQUAL(found.outcome, GATE_TLS_FAILED);
        CHECK_EQUAL(found.failure, failure);
        CHECK_EQUAL(found.pins, GATE_PIN_UNASKED);
        CHECK_EQUAL(found.certificate_count, 0);
        client_close(self);
    }
    CHECK_EQUAL(requests_of("/distrust"), before);
}

static void test_distrust(void) {
    check_distrust("127.0.0.1", "foreign", GATE_TLS_UNKNOWN_ISSUER);
    check_distrust("127.0.0.1", "alone", GATE_TLS_SELF_SIGNED);
    check_distrust("127.0.0.1", "expired", GATE_TLS_EXPIRED);
}

static void test_names(void) {
    check_distrust("127.0.0.1", "elsewhere", GATE_TLS_WRONG_HOST);
    check_distrust("provider.test", "elsewhere", GATE_TLS_WRONG_HOST);
    check_distrust("127.0.0.1", "nameless", GATE_TLS_WRONG_HOST);
    client *self = pinned(GATE_PIN_PUBLIC_KEY, "ec.key");
    request what = get_from("provider.test", "fresh", "/name");
    what.terms.pin_set = 0;
    what.terms.enforces_pins = 1;
    check_completed(client_ask(self, what));
    client_close(self);
}

static void test_kept(void) {
    client *self = pinned(GATE_PIN_PUBLIC_KEY, "ec.key");
    CHECK_EQUAL(client_ask(self, get_pinned("kept", "/kept", 0, 1)).pins, GATE_PIN_MATCHED);
    for (int round = 0; round < 5; round += 1) {
        request what = get_pinned("kept", "/kept", 0, 1);
        what.terms.wants_chain = round & 1;
        ending found = client_ask(self, what);
        check_completed(found);
        CHECK_EQUAL(found.pins, GATE_PIN_UNASKED);
        CHECK_EQUAL(found.certificate_count, round & 1 ? 3 : 0);
    }
    client_close(self);
}

static void test_new_handshake(void) {
    client *self = pinned(GATE_PIN_CHAIN, "spare middle.key");
    for (int round = 0; round < 4; round += 1) {
        request what = get_pinned("kept", "/new", 0, 1);
        what.terms.wants_handshake = 1;
        ending found = client_ask(self, what);
        check_completed(found);
        CHECK_EQUAL(found.pins, GATE_PIN_MATCHED);
        CHECK_EQUAL(found.certificate_count, 3);
    }
    client_close(self);
}

// Two rules for one host, of which only the first matches: its connection is kept, but not used for the second.
static void check_strangers(gate_pin_match match, const char *right, int first_enforced) {
    long before = requests_of("/stranger");
    client *self = client_open(16);
    client_pin(self, match, first_enforced ? right : "spare");
    client_pin(self, match, "spare");
    client_start(self);
    check_completed(client_ask(self, get_pinned("kept", "/first", 0, first_enforced)));
    for (int round = 0; round < 3; round += 1) {
        ending found = client_ask(self, get_pinned("kept", "/stranger", 1, 1));
        CHECK_EQUAL(found.outcome, GATE_TLS_FAILED);
        CHECK(found.failure == GATE_TLS_PIN || found.failure == GATE_TLS_UNPROVEN);
        check_completed(client_ask(self, get_pinned("kept", "/first", 0, first_enforced)));
    }
    // The same rule, enforced now where it was not before.
    ending found = client_ask(self, get_pinned("kept", "/stranger", 0, 1));
    CHECK_EQUAL(found.outcome, first_enforced ? GATE_COMPLETED : GATE_TLS_FAILED);
    client_close(self);
    CHECK_EQUAL(requests_of("/stranger"), before + first_enforced);
}

static void test_strangers(void) {
    for (int first_enforced = 0; first_enforced <= 1; first_enforced += 1) {
        check_strangers(GATE_PIN_PUBLIC_KEY, "ec.key", first_enforced);
        check_strangers(GATE_PIN_CERTIFICATE, "ec.pem", first_enforced);
        check_strangers(GATE_PIN_CHAIN, "root.key", first_enforced);
    }
}

static void check_unproven(request what, const char *path) {
    long before = requests_of(path);
    client *self = pinned(GATE_PIN_PUBLIC_KEY, "ec.key");
    ending found = client_ask(self, what);
    CHECK_EQUAL(found.outcome, GATE_TLS_FAILED);
    CHECK_EQUAL(found.failure, GATE_TLS_UNPROVEN);
    client_close(self);
    CHECK_EQUAL(requests_of(path), before);
}

static void test_unproven(void) {
    check_unproven(get_pinned("fresh", "/unproven", -1, 1), "/unproven");
    check_unproven(get_pinned("plain", "/unproven", 0, 1), "/unproven");
    check_unproven(get_pinned("plain", "/unproven", -1, 1), "/unproven");
}

static void test_chain_wanted(void) {
    client *self = client_open(8);
    client_start(self);
    for (int round = 0; round < 4; round += 1) {
        request what = get(round == 3 ? "plain" : "kept", "/");
        what.terms.wants_chain = round > 0;
        ending found = client_ask(self, what);
        check_completed(found);
        CHECK_EQUAL(found.pins, GATE_PIN_UNASKED);
        CHECK_EQUAL(found.certificate_count, round == 1 || round == 2 ? 3 : 0);
    }
    request what = get("fresh", "/");
    what.terms.wants_chain = 1;
    CHECK_EQUAL(client_ask(self, what).certificate_count, 3);
    client_close(self);
}

static void test_no_authorities(void) {
    static const char *const texts[] = {"", "\n", "no PEM", "-----BEGIN CERTIFICATE-----\nAAAA\n"};
    for (size_t index = 0; index < sizeof texts / sizeof *texts; index += 1) {
        check_at("text", (long)index);
        client *self = client_open_trusting(2, texts[index]);
        client_start(self);
        ending found = client_ask(self, get("fresh", "/"));
        CHECK_EQUAL(found.outcome, GATE_TLS_FAILED);
        CHECK_EQUAL(found.failure, GATE_TLS_TRUST_FILE);
        client_close(self);
    }
}

const test pins_tests[] = {
    {"pins: a public key matches, of an EC and of an RSA leaf", test_public_key},
    {"pins: a certificate matches", test_certificate},
    {"pins: leaf, intermediate and root of the chain match", test_chain},
    {"pins: a mismatch ends the call before a request is sent", test_mismatch},
    {"pins: a pin of another kind does not match", test_other_kind},
    {"pins: a certificate that was only sent along does not match", test_padded},
    {"pins: with a mismatch that is only reported, the call completes", test_report},
    {"pins: a set without pins matches nothing", test_no_pins},
    {"pins: the last of a thousand pins", test_many},
    {"pins: the right key does not make up for an untrusted or expired certificate", test_distrust},
    {"pins: the right key does not make up for a wrong name", test_names},
    {"pins: a kept connection is not asked again", test_kept},
    {"pins: a kept connection is left alone if a handshake is wanted", test_new_handshake},
    {"pins: a connection kept under other pins is never used", test_strangers},
    {"pins: enforced without TLS or without pins, nothing is sent", test_unproven},
    {"pins: the chain of new and of kept connections is reported on request", test_chain_wanted},
    {"pins: a trust file without certificates trusts no server", test_no_authorities},
    {0},
};
