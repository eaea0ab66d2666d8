// SPDX-License-Identifier: Apache-2.0
// One call: its request, its libcurl handle, and what has arrived of the answer.
#ifndef GATEHOUSE_CALL_H
#define GATEHOUSE_CALL_H

#include <curl/curl.h>

#include "buffer.h"
#include "handshake.h"
#include "provider_transport.h"
#include "trust.h"

enum { CALL_HEAD_LIMIT = 64 * 1024, CALL_CONNECT_MILLISECONDS = 3300, CALL_TRUST_SECONDS = 600 };

typedef struct call {
    struct call *next;
    uint64_t id;
    int64_t deadline;
    // Guarded by the transport's lock: set by any thread, read by its own.
    int cancelled;
    int active;

    CURL *easy;
    char *method;
    char *address;
    char *host;
    // NULL without pins.
    const pin_set *pins;
    int enforces_pins;
    int is_secure;
    struct curl_slist *fields;
    buffer body;
    int has_body;

    buffer head;
    buffer answer;
    size_t head_seen;
    int head_complete;
    gate_outcome stopped;
    gate_tls_fault fault;
    // Of the connection that this call opened; NULL if it has opened none.
    handshake *handshake;
    int wants_chain;
    int wants_handshake;
    // The chain of a connection that was there already, if it is wanted.
    chain *chain;
    char text[CURL_ERROR_SIZE];
} call;

// A call with copies of everything, or NULL when memory ran out.
call *call_create(uint64_t id, const char *method, const char *address, const char *host, const char *head,
                  const uint8_t *body, int64_t body_length);

// Binds the call to its bounds, and to pins that outlive it; NULL without pins.
void call_bind(call *self, const gate_terms *terms, const pin_set *pins);

// Makes the libcurl handle; 0 if an option was refused, since a call without all of them must not leave.
int call_prepare(call *self, const trust *trust, int64_t timeout_milliseconds);

// What an ended transfer means; fills in the fault if TLS failed.
gate_outcome call_outcome(call *self, CURLcode code);

// Wipes and frees the call; its handle must be off its multi handle.
void call_free(call *self);

#endif
