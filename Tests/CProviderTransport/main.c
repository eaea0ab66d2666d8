// SPDX-License-Identifier: Apache-2.0
//
//     transport_test FOLDER [PREFIX…]
//
// Runs the tests whose names begin with one of the prefixes, or all; ends at the first that fails. FOLDER has what the
// script `run` makes.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client.h"
#include "memory.h"
#include "tests.h"

enum { SECONDS = 240 };

static int is_wanted(const char *name, int count, char **prefixes) {
    for (int index = 0; index < count; index += 1) {
        if (strncmp(name, prefixes[index], strlen(prefixes[index])) == 0) {
            return 1;
        }
    }
    return count == 0;
}

static void run(const test *one) {
    printf("%-76s ", one->name);
    fflush(stdout);
    int64_t started = milliseconds();
    // For what hangs where no test can see it, such as the join of a thread.
    alarm(SECONDS);
    check_begin();
    one->run();
    alarm(0);
    printf("%5.2f s\n", (double)(milliseconds() - started) / 1000);
    fflush(stdout);
}

int main(int count, char **words) {
    CHECK(count >= 2);
    folder = words[1];
    memory_install();
    CHECK(gate_transport_unusable_reason() == NULL);
    const test *all[] = {pins_tests, calls_tests, threads_tests, memory_tests, handshakes_tests, look_ups_tests,
                         destinations_tests};
    for (size_t index = 0; index < sizeof all / sizeof *all; index += 1) {
        for (const test *one = all[index]; one->name != NULL; one += 1) {
            if (is_wanted(one->name, count - 2, words + 2)) {
                run(one);
            }
        }
    }
    return 0;
}
