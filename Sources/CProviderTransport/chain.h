// SPDX-License-Identifier: Apache-2.0
// What TLS said of a peer: the certificates that it was verified with, or why it was refused.
#ifndef GATEHOUSE_TLS_H
#define GATEHOUSE_TLS_H

#include <curl/curl.h>

#include "provider_transport.h"

enum { CHAIN_LENGTH = 10, CHAIN_BYTES = 64 * 1024, CHAIN_NAME = 512, CHAIN_HASH = 32 };

typedef struct chain_link {
    uint8_t *der;
    char subject[CHAIN_NAME];
    char issuer[CHAIN_NAME];
    uint8_t key_hash[CHAIN_HASH];
} chain_link;

// A verified chain, leaf first; `certificates` point into `links`.
typedef struct chain {
    size_t count;
    chain_link links[CHAIN_LENGTH];
    gate_certificate certificates[CHAIN_LENGTH];
} chain;

// Copies the chain that the connection of a transfer under way was verified with, nothing if it is a plain one.
// 0 when a bound would be passed or memory ran out, with the chain empty.
int chain_collect(chain *self, CURL *easy);

// Frees what the links hold, not the chain itself.
void chain_empty(chain *self);

// Why TLS failed; `text` are libcurl's words.
gate_tls_fault tls_fault(CURL *easy, CURLcode code, const char *text);

#endif
