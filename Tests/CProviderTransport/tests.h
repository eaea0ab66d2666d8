// SPDX-License-Identifier: Apache-2.0
#ifndef GATEHOUSE_TESTS_H
#define GATEHOUSE_TESTS_H

typedef struct test {
    // What it is about, a colon, and what is claimed.
    const char *name;
    void (*run)(void);
} test;

// Each ends with a test without a name.
extern const test pins_tests[];
extern const test calls_tests[];
extern const test threads_tests[];
extern const test memory_tests[];
extern const test handshakes_tests[];
extern const test look_ups_tests[];
extern const test destinations_tests[];

#endif
