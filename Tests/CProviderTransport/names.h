// SPDX-License-Identifier: Apache-2.0
// The names of hosts, without a network: this getaddrinfo replaces the one of libc.
#ifndef GATEHOUSE_TEST_NAMES_H
#define GATEHOUSE_TEST_NAMES_H

// provider.test is this machine; stuck.test is looked for until it is let go; late.test is this machine, found after a
// while; there are no others.

// From now on stuck.test is not found for as long as it is held.
void names_hold(void);

// Waits until a look-up of stuck.test has started.
void names_wait(void);

// Lets all go who look for stuck.test; they find nothing.
void names_release(void);

// How long the look-up of late.test takes.
void names_delay(long microseconds);

// Whether names that exist are not found for now.
void names_fail(int fails);

// How many look-ups there were, and how many of them libcurl made itself.
long names_count(void);
long names_count_of_libcurl(void);

#endif
