// SPDX-License-Identifier: Apache-2.0
// A transport under test, and how each of its calls ended.
#ifndef GATEHOUSE_TEST_CLIENT_H
#define GATEHOUSE_TEST_CLIENT_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "provider_transport.h"

// Ends the program, with the place and the two values, unless they are equal.
#define CHECK_EQUAL(left, right) check_equal(__FILE__, __LINE__, #left " == " #right, (long)(left), (long)(right))
#define CHECK(condition) check_equal(__FILE__, __LINE__, #condition, (condition) ? 1 : 0, 1)

void check_equal(const char *file, int line, const char *text, long left, long right);

// What the running test is at, printed if it fails.
void check_at(const char *what, long number);

// A new test begins.
void check_begin(void);

// The folder that the script has filled.
extern const char *folder;

int64_t milliseconds(void);

void pause_milliseconds(int64_t count);

// How often a path was asked for, as nginx has logged it. What was asked before this call is in the log.
long requests_of(const char *path);

// How many descriptors and threads this program has.
long count_descriptors(void);
long count_threads(void);

typedef struct request {
    char address[256];
    const char *host;
    const char *method;
    const char *head;
    const uint8_t *body;
    int64_t body_length;
    gate_terms terms;
} request;

// GET of a path from one of the script's servers at 127.0.0.1, by https but for the one named `plain`; no pins, 64 KiB,
// 10 s.
request get(const char *server, const char *path);

// The same from another name of the host.
request get_from(const char *host, const char *server, const char *path);

// The same, with a set of pins.
request get_pinned(const char *server, const char *path, int64_t pin_set, int enforced);

typedef struct ending {
    // How often the completion was called.
    int times;
    int64_t when;
    gate_outcome outcome;
    gate_tls_failure failure;
    long status;
    gate_pin_verdict pins;
    size_t pin;
    size_t pin_position;
    size_t head_length;
    size_t body_length;
    size_t certificate_count;
    char subjects[256];
} ending;

typedef struct client {
    gate_transport *transport;
    int64_t sets;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    // Guarded by the lock.
    size_t capacity;
    size_t given;
    size_t accepted;
    size_t ended;
    int is_stopped;
    ending *endings;
    // Cancelled from within the next completion; 0 for none.
    uint64_t victim;
} client;

// A transport that trusts the root of the script, for at most `capacity` calls; not started.
client *client_open(size_t capacity);

// The same trusting other certificates.
client *client_open_trusting(size_t capacity, const char *pem);

// Adds a set of pins from the files of those names, parted by spaces; gives its number. "spare" is in no certificate.
int64_t client_pin(client *self, gate_pin_match match, const char *names);

void client_start(client *self);

// Submits, accepted or not. Numbers of calls begin with 1.
gate_outcome client_submit(client *self, const request *what, uint64_t *id);

// Submits what must be accepted; its number.
uint64_t client_begin(client *self, request what);

// Waits until a call has ended.
ending client_wait(client *self, uint64_t id);

// Both.
ending client_ask(client *self, request what);

// Waits until at most so many calls are pending.
void client_wait_for_pending(client *self, size_t max);

void client_stop(client *self);

// Stops, checks that each accepted call has ended once and no other has, and frees.
void client_close(client *self);

// The 32 bytes of a pin.
void read_pin(uint8_t *pin, const char *name, size_t length);

// The number of the script's port of that name.
int port_of(const char *server);

#endif
