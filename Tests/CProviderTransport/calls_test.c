// SPDX-License-Identifier: Apache-2.0
// How calls end, at every phase of their life.
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "client.h"
#include "names.h"
#include "tests.h"

// The limits of calls that the transport has in progress, and of calls that wait.
enum { ACTIVE = 16, QUEUED = 1024 };

// MARK: phases

// A call that will not end by itself, and how long it takes until it is where it should be.
typedef struct phase {
    const char *name;
    const char *host;
    const char *server;
    const char *path;
} phase;

static const phase phases[] = {
    {"connecting", "127.0.0.1", "full", "/"},    {"shaking hands", "127.0.0.1", "silent", "/"},
    {"waiting", "127.0.0.1", "kept", "/silence"}, {"receiving", "127.0.0.1", "kept", "/drip"},
    {"looking up", "stuck.test", "kept", "/"},
};

enum { PHASES = sizeof phases / sizeof *phases, REACHED = 60, PROMPT = 2000 };

static request at_phase(int index) {
    request what = get_from(phases[index].host, phases[index].server, phases[index].path);
    what.terms.pin_set = 0;
    what.terms.enforces_pins = 1;
    what.terms.limit = 1 << 20;
    return what;
}

static client *open_held(void) {
    client *self = client_open(4096);
    client_pin(self, GATE_PIN_CHAIN, "root.key");
    client_start(self);
    names_hold();
    return self;
}

static void test_cancel(void) {
    for (int index = 0; index < PHASES; index += 1) {
        check_at(phases[index].name, index);
        client *self = open_held();
        uint64_t id = client_begin(self, at_phase(index));
        pause_milliseconds(REACHED);
        int64_t before = milliseconds();
        gate_transport_cancel(self->transport, id);
        ending found = client_wait(self, id);
        CHECK_EQUAL(found.outcome, GATE_CANCELLED);
        CHECK(found.when - before < PROMPT);
        CHECK_EQUAL(found.body_length, 0);
        // Neither a call that has ended nor one that never was.
        gate_transport_cancel(self->transport, id);
        gate_transport_cancel(self->transport, 4711);
        CHECK_EQUAL(client_ask(self, get_pinned("fresh", "/", 0, 1)).outcome, GATE_COMPLETED);
        client_close(self);
        names_release();
    }
}

static void test_cancel_queued(void) {
    client *self = open_held();
    for (int index = 0; index < ACTIVE; index += 1) {
        client_begin(self, at_phase(1));
    }
    uint64_t second_last = client_begin(self, get("fresh", "/never"));
    uint64_t last = client_begin(self, get("fresh", "/never"));
    pause_milliseconds(REACHED);
    // The first from here, the second from within the completion of the first.
    self->victim = last;
    gate_transport_cancel(self->transport, second_last);
    CHECK_EQUAL(client_wait(self, second_last).outcome, GATE_CANCELLED);
    CHECK_EQUAL(client_wait(self, last).outcome, GATE_CANCELLED);
    CHECK_EQUAL(self->ended, 2);
    client_close(self);
    names_release();
    CHECK_EQUAL(requests_of("/never"), 0);
}

static void test_time_out(void) {
    for (int index = 0; index < PHASES; index += 1) {
        check_at(phases[index].name, index);
        client *self = open_held();
        request what = at_phase(index);
        what.terms.timeout_milliseconds = 150;
        int64_t before = milliseconds();
        ending found = client_ask(self, what);
        CHECK_EQUAL(found.outcome, GATE_TIMED_OUT);
        CHECK(found.when - before >= 100 && found.when - before < PROMPT);
        client_close(self);
        names_release();
    }
}

static void test_time_out_queued(void) {
    client *self = open_held();
    for (int index = 0; index < ACTIVE; index += 1) {
        client_begin(self, at_phase(1 + index % 3));
    }
    request what = get("fresh", "/never");
    for (int64_t timeout = -1; timeout <= 150; timeout += 151) {
        what.terms.timeout_milliseconds = timeout;
        int64_t before = milliseconds();
        ending found = client_ask(self, what);
        CHECK_EQUAL(found.outcome, GATE_QUEUE_TIMED_OUT);
        CHECK(found.when - before < PROMPT);
    }
    client_close(self);
    names_release();
    CHECK_EQUAL(requests_of("/never"), 0);
}

// The time of a call begins when it is sent: one that has waited for longer than half of it still has all of it.
static void test_time_begins_when_sent(void) {
    client *self = client_open(8);
    gate_transport_connections(self->transport, 1);
    client_start(self);
    request slow = get("kept", "/silence");
    slow.terms.timeout_milliseconds = 300;
    request waiting = slow;
    waiting.terms.timeout_milliseconds = 400;
    int64_t before = milliseconds();
    uint64_t first = client_begin(self, slow);
    ending second = client_ask(self, waiting);
    CHECK_EQUAL(client_wait(self, first).outcome, GATE_TIMED_OUT);
    CHECK_EQUAL(second.outcome, GATE_TIMED_OUT);
    CHECK(second.when - before >= 600 && second.when - before < 600 + PROMPT);
    client_close(self);
}

// One connection serves one call after the other; the number is that of calls, too.
static void test_connections(void) {
    client *self = client_open(64);
    gate_transport_connections(self->transport, 1);
    client_start(self);
    for (int index = 0; index < 32; index += 1) {
        client_begin(self, get("kept", "/one-after-the-other"));
    }
    client_wait_for_pending(self, 0);
    uint64_t stuck = client_begin(self, get("silent", "/"));
    request what = get("kept", "/never");
    what.terms.timeout_milliseconds = 150;
    CHECK_EQUAL(client_ask(self, what).outcome, GATE_QUEUE_TIMED_OUT);
    gate_transport_cancel(self->transport, stuck);
    CHECK_EQUAL(client_wait(self, stuck).outcome, GATE_CANCELLED);
    client_close(self);
    CHECK_EQUAL(requests_of("/never"), 0);
}

static void test_stop(void) {
    client *self = open_held();
    uint64_t ids[2 * ACTIVE];
    for (int index = 0; index < 2 * ACTIVE; index += 1) {
        ids[index] = client_begin(self, at_phase(index % PHASES));
    }
    names_wait();
    pause_milliseconds(REACHED);
    int64_t before = milliseconds();
    client_stop(self);
    CHECK(milliseconds() - before < PROMPT);
    for (int index = 0; index < 2 * ACTIVE; index += 1) {
        CHECK_EQUAL(client_wait(self, ids[index]).outcome, GATE_SHUT_DOWN);
    }
    uint64_t id = 0;
    request what = get("fresh", "/never");
    CHECK_EQUAL(client_submit(self, &what, &id), GATE_SHUT_DOWN);
    gate_transport_cancel(self->transport, id);
    client_close(self);
    names_release();
}

static void test_not_started(void) {
    client *self = client_open(1);
    uint64_t id = 0;
    request what = get("fresh", "/never");
    CHECK_EQUAL(client_submit(self, &what, &id), GATE_SHUT_DOWN);
    client_close(self);
    self = client_open(1);
    client_pin(self, GATE_PIN_PUBLIC_KEY, "ec.key spare");
    gate_transport_destroy(self->transport);
    self->transport = NULL;
    client_close(self);
}

// Submits until so many calls are there and the next is refused; the thread may still have to start the first ones.
static void fill(client *self, size_t count) {
    uint64_t id = 0;
    request what = at_phase(1);
    int64_t deadline = milliseconds() + PROMPT;
    while (self->accepted < count) {
        gate_outcome outcome = client_submit(self, &what, &id);
        CHECK(outcome == GATE_COMPLETED || (outcome == GATE_QUEUE_FULL && milliseconds() < deadline));
    }
    pause_milliseconds(REACHED);
    CHECK_EQUAL(client_submit(self, &what, &id), GATE_QUEUE_FULL);
}

static void test_queue_full(void) {
    client *self = open_held();
    fill(self, ACTIVE + QUEUED);
    gate_transport_cancel(self->transport, 1);
    CHECK_EQUAL(client_wait(self, 1).outcome, GATE_CANCELLED);
    fill(self, ACTIVE + QUEUED + 1);
    client_close(self);
    names_release();
}

// MARK: other endings

static void check_outcome(request what, gate_outcome outcome) {
    client *self = client_open(1);
    client_start(self);
    ending found = client_ask(self, what);
    CHECK_EQUAL(found.outcome, outcome);
    client_close(self);
}

static void test_failures(void) {
    check_outcome(get("closed", "/"), GATE_UNREACHABLE);
    check_outcome(get_from("missing.test", "kept", "/"), GATE_UNREACHABLE);
    check_outcome(get("kept", "/gone"), GATE_CONNECTION_LOST);
    check_outcome(get("kept", "/head"), GATE_HEAD_TOO_LARGE);
    check_outcome(get("kept", "/body"), GATE_BODY_TOO_LARGE);
    check_outcome(get("kept", "/drip"), GATE_BODY_TOO_LARGE);
    request what = get("kept", "/");
    what.terms.limit = 5;
    check_outcome(what, GATE_BODY_TOO_LARGE);
    what.terms.limit = 6;
    check_outcome(what, GATE_COMPLETED);
    what.terms.limit = 0;
    check_outcome(what, GATE_BODY_TOO_LARGE);
    snprintf(what.address, sizeof what.address, "https://127.0.0.1:%d/", port_of("plain"));
    check_outcome(what, GATE_TLS_FAILED);
    snprintf(what.address, sizeof what.address, "https://user@127.0.0.1:%d/", port_of("kept"));
    check_outcome(what, GATE_MALFORMED);
    snprintf(what.address, sizeof what.address, "ftp://127.0.0.1:%d/", port_of("kept"));
    check_outcome(what, GATE_MALFORMED);
}

static void test_refused_pin_set(void) {
    client *self = client_open(2);
    client_pin(self, GATE_PIN_PUBLIC_KEY, "ec.key");
    client_start(self);
    uint64_t id = 0;
    request what = get_pinned("fresh", "/", 1, 0);
    CHECK_EQUAL(client_submit(self, &what, &id), GATE_MALFORMED);
    client_close(self);
}

static void test_proxy(void) {
    client *self = client_open(2);
    char proxy[64];
    snprintf(proxy, sizeof proxy, "http://127.0.0.1:%d", port_of("closed"));
    CHECK(gate_transport_tunnel(self->transport, proxy));
    snprintf(proxy, sizeof proxy, "http://127.0.0.1:%d", port_of("plain"));
    CHECK(gate_transport_tunnel(self->transport, proxy));
    client_start(self);
    ending found = client_ask(self, get("fresh", "/"));
    CHECK_EQUAL(found.outcome, GATE_PROXY_REFUSED);
    CHECK_EQUAL(client_ask(self, get("plain", "/")).outcome, GATE_COMPLETED);
    client_close(self);
}

static void test_tunnel(void) {
    client *self = client_open(8);
    client_pin(self, GATE_PIN_CHAIN, "spare root.key");
    client_pin(self, GATE_PIN_PUBLIC_KEY, "spare");
    char proxy[64];
    snprintf(proxy, sizeof proxy, "http://127.0.0.1:%d", port_of("proxy"));
    CHECK(gate_transport_tunnel(self->transport, proxy));
    client_start(self);
    for (int round = 0; round < 2; round += 1) {
        ending found = client_ask(self, get_pinned("kept", "/tunnel", 0, 1));
        CHECK_EQUAL(found.outcome, GATE_COMPLETED);
        CHECK_EQUAL(found.pins, round == 0 ? GATE_PIN_MATCHED : GATE_PIN_UNASKED);
        CHECK_EQUAL(client_ask(self, get_pinned("kept", "/tunnel-mismatched", 1, 1)).failure, GATE_TLS_PIN);
    }
    uint64_t id = client_begin(self, get("silent", "/"));
    pause_milliseconds(REACHED);
    gate_transport_cancel(self->transport, id);
    CHECK_EQUAL(client_wait(self, id).outcome, GATE_CANCELLED);
    client_begin(self, get("silent", "/"));
    pause_milliseconds(REACHED);
    client_close(self);
    CHECK_EQUAL(requests_of("/tunnel-mismatched"), 0);
}

static void test_bodies(void) {
    enum { LENGTH = 200000 };
    uint8_t *body = malloc(LENGTH);
    CHECK(body != NULL);
    memset(body, 'y', LENGTH);
    client *self = client_open(64);
    client_start(self);
    request what = get("kept", "/");
    what.method = "POST";
    for (int64_t length = 0; length <= LENGTH; length = length * 9 + 1) {
        what.body = body;
        what.body_length = length;
        what.head = length % 2 ? "" : "\nContent-Type: text/plain\n\nX-Empty;\n";
        CHECK_EQUAL(client_ask(self, what).outcome, GATE_COMPLETED);
    }
    free(body);
    client_close(self);
}

// The other side closes kept connections while none is in use; what libcurl still sends to it must not end us.
static void test_broken_pipe(void) {
    client *self = client_open(2);
    client_start(self);
    CHECK_EQUAL(client_ask(self, get("kept", "/")).outcome, GATE_COMPLETED);
    client_stop(self);
    int cut = 0;
    for (int descriptor = 3; descriptor < 1024; descriptor += 1) {
        struct sockaddr_in peer;
        socklen_t length = sizeof peer;
        if (getpeername(descriptor, (struct sockaddr *)&peer, &length) == 0 && peer.sin_family == AF_INET) {
            cut += shutdown(descriptor, SHUT_WR) == 0;
        }
    }
    CHECK_EQUAL(cut, 1);
    client_close(self);
}

const test calls_tests[] = {
    {"calls: cancelled at every phase", test_cancel},
    {"calls: cancelled in the queue, and from within a completion", test_cancel_queued},
    {"calls: out of time at every phase", test_time_out},
    {"calls: out of time in the queue", test_time_out_queued},
    {"calls: U-04, the time begins when a call is sent", test_time_begins_when_sent},
    {"calls: U-04, no more at a time than there may be connections", test_connections},
    {"calls: shut down at every phase", test_stop},
    {"calls: refused before the start", test_not_started},
    {"calls: refused when the queue is full", test_queue_full},
    {"calls: fail as they should", test_failures},
    {"calls: refused without the set of pins that they name", test_refused_pin_set},
    {"calls: a proxy that makes no tunnel", test_proxy},
    {"calls: through the tunnel of a proxy", test_tunnel},
    {"calls: bodies and heads of all kinds", test_bodies},
    {"calls: a kept connection breaks under a stopped transport", test_broken_pipe},
    {0},
};
