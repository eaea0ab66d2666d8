// SPDX-License-Identifier: Apache-2.0
// One call: its request, its libcurl handle, and what has arrived of the response.
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
    int64_t timeout;
    // Until when the call may wait for a connection; once it has been started, until when it may take.
    int64_t deadline;
    // Until when the host has to be resolved, if it is not.
    int64_t resolving_until;
    // Guarded by the transport's lock: set by any thread, read by its own.
    int cancelled;
    int active;
    // Whether it waits for the addresses of its host.
    int is_resolving;
    // Whether its handle is on the multi handle.
    int is_attached;

    CURL *easy;
    char *method;
    char *address;
    char *host;
    // NULL without pins.
    const pin_set *pins;
    int enforces_pins;
    int is_secure;
    struct curl_slist *fields;
    // The host that the connection is made to, its own or the proxy's, without brackets; NULL if that is unknown.
    char *target;
    uint16_t target_port;
    // The addresses of that host, for libcurl.
    struct curl_slist *addresses;
    buffer body;
    int has_body;

    buffer head;
    buffer response;
    size_t head_seen;
    int head_complete;
    gate_outcome stopped;
    gate_tls_failure failure;
    // Of the connection that this call opened; NULL if it has opened none.
    handshake *handshake;
    int wants_chain;
    int wants_handshake;
    // Whether the request was released to a connection.
    int has_left;
    // The chain of a connection that was there already, if it is wanted.
    chain *chain;
    char text[CURL_ERROR_SIZE];
} call;

// A call with copies of everything, or NULL when memory ran out.
call *call_create(uint64_t id, const char *method, const char *address, const char *host, const char *head,
                  const uint8_t *body, int64_t body_length);

// Binds the call to its bounds, and to pins that outlive it; NULL without pins.
void call_bind(call *self, const gate_terms *terms, const pin_set *pins);

// Finds out which host the connection is made to; 0 when memory ran out.
int call_find_target(call *self, const trust *trust);

// Sets the addresses, in the form of CURLOPT_RESOLVE; 0 when memory ran out.
int call_set_addresses(call *self, const char *addresses);

// Makes the libcurl handle; 0 if an option was refused, since a call without all of them must not leave. The two times
// are what is left for the connection and for all of it.
int call_prepare(call *self, const trust *trust, int64_t connect_milliseconds, int64_t timeout_milliseconds);

// The outcome of an ended transfer; sets the failure if TLS failed.
gate_outcome call_outcome(call *self, CURLcode code);

// Wipes and frees the call; its handle must be off its multi handle.
void call_free(call *self);

#endif
