// SPDX-License-Identifier: Apache-2.0
#include "client.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_SECONDS = 20 };

const char *folder;

static char place[64];

void check_at(const char *what, long number) { snprintf(place, sizeof place, " at %s %ld", what, number); }

void check_begin(void) { place[0] = '\0'; }

void check_equal(const char *file, int line, const char *text, long left, long right) {
    if (left == right) {
        return;
    }
    fflush(stdout);
    fprintf(stderr, "FAILED%s\n%s:%d: %s: %ld, not %ld\n", place, file, line, text, left, right);
    // Not exit: what is still there is no leak.
    _exit(1);
}

int64_t milliseconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

void pause_milliseconds(int64_t count) {
    struct timespec time = {.tv_sec = count / 1000, .tv_nsec = count % 1000 * 1000000};
    nanosleep(&time, NULL);
}

// MARK: what the script and nginx wrote

static FILE *open_file(const char *name, const char *suffix) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s%s", folder, name, suffix);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fprintf(stderr, "%s: ", path);
    }
    CHECK(file != NULL);
    return file;
}

int port_of(const char *server) {
    FILE *file = open_file(server, ".port");
    int port = 0;
    CHECK_EQUAL(fscanf(file, "%d", &port), 1);
    fclose(file);
    return port;
}

void read_pin(uint8_t *pin, const char *name, size_t length) {
    char file_name[64];
    snprintf(file_name, sizeof file_name, "%.*s", (int)length, name);
    if (strcmp(file_name, "spare") == 0) {
        memset(pin, 0x5A, GATE_PIN_LENGTH);
        return;
    }
    FILE *file = open_file(file_name, ".pin");
    CHECK_EQUAL(fread(pin, 1, GATE_PIN_LENGTH, file), GATE_PIN_LENGTH);
    fclose(file);
}

static long logged(const char *path) {
    FILE *file = open_file("requests", "");
    char line[512];
    size_t length = strlen(path);
    long count = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        count += strncmp(line, path, length) == 0 && line[length] == ' ';
    }
    fclose(file);
    return count;
}

// The one worker writes in the order in which it has read, so that a request of our own comes behind all others.
long requests_of(const char *path) {
    static int number;
    char last[64];
    number += 1;
    snprintf(last, sizeof last, "/last-%d-%d", (int)getpid(), number);
    client *asking = client_open(1);
    client_start(asking);
    CHECK_EQUAL(client_ask(asking, get("fresh", last)).outcome, GATE_COMPLETED);
    client_close(asking);
    int64_t deadline = milliseconds() + PATIENCE_SECONDS * 1000;
    while (logged(last) == 0) {
        CHECK(milliseconds() < deadline);
        pause_milliseconds(5);
    }
    return logged(path);
}

static long count_entries(const char *path) {
    DIR *entries = opendir(path);
    CHECK(entries != NULL);
    long count = 0;
    while (readdir(entries) != NULL) {
        count += 1;
    }
    closedir(entries);
    return count;
}

long count_descriptors(void) { return count_entries("/proc/self/fd"); }

long count_threads(void) { return count_entries("/proc/self/task"); }

// MARK: requests

request get_from(const char *host, const char *server, const char *path) {
    const char *scheme = strcmp(server, "plain") == 0 ? "http" : "https";
    request made = {.host = host, .method = "GET", .head = "Accept: text/plain\nX-Test: 1", .body_length = -1};
    made.body = (const uint8_t *)"";
    made.terms = (gate_terms){.limit = 65536, .timeout_milliseconds = 10000, .pin_set = -1};
    snprintf(made.address, sizeof made.address, "%s://%s:%d%s", scheme, host, port_of(server), path);
    return made;
}

request get(const char *server, const char *path) { return get_from("127.0.0.1", server, path); }

request get_pinned(const char *server, const char *path, int64_t pin_set, int enforced) {
    request made = get(server, path);
    made.terms.pin_set = pin_set;
    made.terms.enforces_pins = enforced;
    return made;
}

// MARK: endings

// Reads every byte that was lent.
static void take_certificates(ending *to, const gate_result *result) {
    to->certificate_count = result->certificate_count;
    size_t length = 0;
    for (size_t index = 0; index < result->certificate_count; index += 1) {
        const gate_certificate *lent = &result->certificates[index];
        static const uint8_t nothing[GATE_PIN_LENGTH];
        CHECK(memcmp(lent->key_hash, nothing, GATE_PIN_LENGTH) != 0);
        CHECK(memcmp(lent->certificate_hash, nothing, GATE_PIN_LENGTH) != 0);
        CHECK(memcmp(lent->key_hash, lent->certificate_hash, GATE_PIN_LENGTH) != 0);
        CHECK(lent->not_before < lent->not_after && strlen(lent->issuer) > 0);
        length += (size_t)snprintf(to->subjects + length, sizeof to->subjects - length, "%s;", lent->subject);
        CHECK(length < sizeof to->subjects);
    }
}

static void completed(void *context, const gate_result *result) {
    client *self = context;
    ending took = {.times = 1, .when = milliseconds(), .outcome = result->outcome, .failure = result->failure};
    took.status = result->status;
    took.pins = result->pins;
    took.pin = result->pin;
    took.pin_position = result->pin_position;
    took.head_length = result->head_length;
    took.body_length = result->body_length;
    take_certificates(&took, result);
    CHECK(result->head_length == 0 || memchr(result->head, '\n', result->head_length) != NULL);
    CHECK(result->body_length == 0 || memchr(result->body, 0, result->body_length) == NULL);
    CHECK(strlen(result->text) < 1000);
    pthread_mutex_lock(&self->lock);
    CHECK(!self->is_stopped);
    CHECK(result->id >= 1 && result->id <= self->given);
    ending *to = &self->endings[result->id - 1];
    took.times += to->times;
    *to = took;
    self->ended += 1;
    uint64_t victim = self->victim;
    self->victim = 0;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
    if (victim != 0) {
        gate_transport_cancel(self->transport, victim);
    }
}

// MARK: life

client *client_open_trusting(size_t capacity, const char *pem) {
    client *self = calloc(1, sizeof *self);
    CHECK(self != NULL);
    self->capacity = capacity;
    self->endings = calloc(capacity, sizeof *self->endings);
    CHECK(self->endings != NULL);
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->changed, NULL);
    self->transport = gate_transport_create(completed, self);
    if (self->transport != NULL && !gate_transport_trust(self->transport, (const uint8_t *)pem, strlen(pem))) {
        gate_transport_destroy(self->transport);
        self->transport = NULL;
    }
    return self;
}

client *client_open(size_t capacity) {
    char pem[8192];
    FILE *file = open_file("root", ".pem");
    pem[fread(pem, 1, sizeof pem - 1, file)] = '\0';
    fclose(file);
    return client_open_trusting(capacity, pem);
}

int64_t client_pin(client *self, gate_pin_match match, const char *names) {
    CHECK(self->transport != NULL);
    uint8_t pins[8 * GATE_PIN_LENGTH];
    size_t count = 0;
    while (*names != '\0') {
        size_t length = strcspn(names, " ");
        CHECK(count < 8);
        read_pin(pins + count * GATE_PIN_LENGTH, names, length);
        count += 1;
        names += length + (names[length] == ' ');
    }
    CHECK(gate_transport_pin(self->transport, match, pins, count));
    self->sets += 1;
    return self->sets - 1;
}

void client_start(client *self) {
    CHECK(self->transport != NULL);
    CHECK(gate_transport_start(self->transport));
}

gate_outcome client_submit(client *self, const request *what, uint64_t *id) {
    pthread_mutex_lock(&self->lock);
    CHECK(self->given < self->capacity);
    self->given += 1;
    self->accepted += 1;
    *id = self->given;
    pthread_mutex_unlock(&self->lock);
    gate_outcome outcome = gate_transport_submit(self->transport, *id, what->method, what->address, what->host,
                                                 what->head, what->body, what->body_length, what->terms);
    if (outcome != GATE_COMPLETED) {
        pthread_mutex_lock(&self->lock);
        self->accepted -= 1;
        // The number is free again, unless another thread has taken the next one.
        self->given -= self->given == *id;
        pthread_mutex_unlock(&self->lock);
    }
    return outcome;
}

uint64_t client_begin(client *self, request what) {
    uint64_t id = 0;
    CHECK_EQUAL(client_submit(self, &what, &id), GATE_COMPLETED);
    return id;
}

// Under the lock.
static void wait_for_change(client *self) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_SECONDS;
    int has_changed = pthread_cond_timedwait(&self->changed, &self->lock, &until) == 0;
    CHECK(has_changed);
}

ending client_wait(client *self, uint64_t id) {
    pthread_mutex_lock(&self->lock);
    while (self->endings[id - 1].times == 0) {
        wait_for_change(self);
    }
    ending found = self->endings[id - 1];
    pthread_mutex_unlock(&self->lock);
    return found;
}

ending client_ask(client *self, request what) { return client_wait(self, client_begin(self, what)); }

void client_wait_for_pending(client *self, size_t max) {
    pthread_mutex_lock(&self->lock);
    while (self->accepted - self->ended > max) {
        wait_for_change(self);
    }
    pthread_mutex_unlock(&self->lock);
}

void client_stop(client *self) {
    gate_transport_stop(self->transport);
    pthread_mutex_lock(&self->lock);
    self->is_stopped = 1;
    pthread_mutex_unlock(&self->lock);
}

void client_close(client *self) {
    size_t ended = 0;
    if (self->transport != NULL) {
        client_stop(self);
        gate_transport_destroy(self->transport);
    }
    for (size_t index = 0; index < self->given; index += 1) {
        CHECK(self->endings[index].times <= 1);
        ended += (size_t)self->endings[index].times;
    }
    CHECK_EQUAL(ended, self->accepted);
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->lock);
    free(self->endings);
    free(self);
}
