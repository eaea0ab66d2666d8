// SPDX-License-Identifier: Apache-2.0
//
//     pinned_call FOLDER
//
// What a call over a fresh connection costs with pins and without: CPU time of this process, in pairs of batches one
// after the other, the median of their ratios. FOLDER has what Tests/CProviderTransport/run makes.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "client.h"

enum { PAIRS = 41, CALLS = 60 };

static double processor_microseconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static double batch(client *self, request what, gate_pin_verdict expected) {
    double started = processor_microseconds();
    for (int number = 0; number < CALLS; number += 1) {
        ending one = client_ask(self, what);
        CHECK_EQUAL(one.outcome, GATE_COMPLETED);
        CHECK_EQUAL(one.pins, expected);
    }
    return (processor_microseconds() - started) / CALLS;
}

static int ascending(const void *left, const void *right) {
    double difference = *(const double *)left - *(const double *)right;
    return (difference > 0) - (difference < 0);
}

static double median(double *values) {
    qsort(values, PAIRS, sizeof *values, ascending);
    return values[PAIRS / 2];
}

static void compare(const char *name, gate_pin_match match, const char *pins) {
    client *self = client_open((size_t)2 * (PAIRS + 1) * CALLS);
    int64_t set = client_pin(self, match, pins);
    client_start(self);
    request plain = get("fresh", "/");
    request pinned = get_pinned("fresh", "/", set, 1);
    batch(self, plain, GATE_PIN_UNASKED);
    batch(self, pinned, GATE_PIN_MATCHED);
    double without[PAIRS], with[PAIRS], ratios[PAIRS];
    for (int pair = 0; pair < PAIRS; pair += 1) {
        // The order alternates, so that what drifts weighs on both.
        double first = pair % 2 == 0 ? batch(self, plain, GATE_PIN_UNASKED) : batch(self, pinned, GATE_PIN_MATCHED);
        double second = pair % 2 == 0 ? batch(self, pinned, GATE_PIN_MATCHED) : batch(self, plain, GATE_PIN_UNASKED);
        without[pair] = pair % 2 == 0 ? first : second;
        with[pair] = pair % 2 == 0 ? second : first;
        ratios[pair] = with[pair] / without[pair];
    }
    printf("%-12s %8.0f us %8.0f us %8.3f\n", name, median(without), median(with), median(ratios));
    fflush(stdout);
    client_close(self);
}

int main(int count, char **words) {
    CHECK(count == 2);
    folder = words[1];
    CHECK(gate_transport_unusable_reason() == NULL);
    printf("a call over a fresh connection, CPU time of the client, medians of %d pairs of %d calls\n", PAIRS, CALLS);
    printf("%-12s %11s %11s %8s\n", "match", "unpinned", "pinned", "ratio");
    compare("public_key", GATE_PIN_PUBLIC_KEY, "spare ec.key");
    compare("certificate", GATE_PIN_CERTIFICATE, "spare ec.pem");
    compare("chain", GATE_PIN_CHAIN, "spare root.key");
    return 0;
}
