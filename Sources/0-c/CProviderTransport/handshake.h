// SPDX-License-Identifier: Apache-2.0
// What one TLS handshake has to prove, and what it showed.
#ifndef GATEHOUSE_HANDSHAKE_H
#define GATEHOUSE_HANDSHAKE_H

#include <curl/curl.h>

#include "chain.h"
#include "provider_transport.h"
#include "trust.h"

// Shared by the call that opens a connection and by the connection, which may live longer.
typedef struct handshake {
    size_t owners;
    // NULL without pins; belongs to the transport, which outlives every connection.
    const pin_set *pins;
    int enforced;
    // Whether OpenSSL's verification, the name included, succeeded.
    int verified;
    // Whether the peer asked for a certificate of the client.
    int asked;
    gate_pin_verdict verdict;
    size_t pin;
    size_t position;
    // The built chain, for those with pins.
    chain *chain;
} handshake;

// Initializes OpenSSL, with an index for handshakes in its contexts; 0 when that is impossible. To be called once, before
// libcurl or other code uses OpenSSL.
int handshake_initialise(void);

// Makes a context of libcurl verify a peer as it always does, its name strictly, and then the pins.
//
// - `host` is a name or an address without brackets.
// - NULL when the context does not verify peers at all, or memory ran out: no connection may be made then.
handshake *handshake_begin(SSL_CTX *context, const char *host, const pin_set *pins, int enforced);

// Releases a reference; NULL is permitted.
void handshake_release(handshake *self);

// Whether the connection of a transfer, new or used before, was verified in a full handshake of its own, and matched
// these pins if they are enforced. To be asked before anything is sent.
int handshake_holds(CURL *easy, const pin_set *pins, int enforced);

// A copy of the chain that the connection of a transfer was verified with; NULL if it cannot be had.
chain *handshake_chain(CURL *easy);

// Whether the peer ended the connection over the client's certificate; `text` are libcurl's words.
int is_client_refused(const char *text);

// Why TLS failed; `text` are libcurl's words.
gate_tls_failure tls_failure(CURL *easy, CURLcode code, const char *text);

#endif
