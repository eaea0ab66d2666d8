// SPDX-License-Identifier: Apache-2.0
// One call: its request, its libcurl handle, and what has arrived of the answer.
#ifndef GATEHOUSE_CALL_H
#define GATEHOUSE_CALL_H

#include <curl/curl.h>

#include "buffer.h"
#include "provider_transport.h"
#include "tls.h"

enum { CALL_HEAD_LIMIT = 64 * 1024, CALL_CONNECT_MILLISECONDS = 3000, CALL_TRUST_SECONDS = 600 };

typedef struct call {
    struct call *next;
    uint64_t id;
    size_t pool;
    int64_t deadline;
    // Guarded by the transport's lock: set by any thread, read by its own.
    int cancelled;
    int active;

    CURL *easy;
    char *method;
    char *address;
    struct curl_slist *fields;
    buffer body;
    int has_body;

    buffer head;
    buffer answer;
    size_t head_seen;
    int head_complete;
    gate_outcome stopped;
    gate_tls_fault fault;
    // NULL unless the chain is wanted.
    chain *chain;
    char text[CURL_ERROR_SIZE];
} call;

// A call with copies of everything, or NULL when memory ran out.
call *call_create(const char *method, const char *address, const char *head, const uint8_t *body, int64_t body_length,
                  size_t limit);

// Has the peer's chain collected with the answer; 0 when memory ran out.
int call_collect_chain(call *self);

// Makes the libcurl handle; 0 if an option was refused, since a call without all of them must not leave.
int call_prepare(call *self, const char *ca_file, int64_t timeout_milliseconds);

// What an ended transfer means; fills in the fault if TLS failed.
gate_outcome call_outcome(call *self, CURLcode code);

// Wipes and frees the call; its handle must be off its multi handle.
void call_free(call *self);

#endif
