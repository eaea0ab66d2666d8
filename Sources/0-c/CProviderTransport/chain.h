// SPDX-License-Identifier: Apache-2.0
// The certificates that a peer was verified with, copied from OpenSSL.
#ifndef GATEHOUSE_CHAIN_H
#define GATEHOUSE_CHAIN_H

#include <openssl/x509.h>

#include "provider_transport.h"

enum { CHAIN_LENGTH = 10, CHAIN_NAME = 512 };

typedef struct chain_link {
    char subject[CHAIN_NAME];
    char issuer[CHAIN_NAME];
    uint8_t key_hash[GATE_PIN_LENGTH];
    uint8_t certificate_hash[GATE_PIN_LENGTH];
} chain_link;

// A verified chain, leaf first; `certificates` point into `links`.
typedef struct chain {
    size_t count;
    chain_link links[CHAIN_LENGTH];
    gate_certificate certificates[CHAIN_LENGTH];
} chain;

// A copy of a built chain; NULL when it has too many certificates or memory ran out.
chain *chain_copy(STACK_OF(X509) *certificates);

// Frees a copy.
void chain_free(chain *self);

// SHA-256 over the SubjectPublicKeyInfo, 32 bytes to `hash`. RFC 7469 section 2.4. 0 when it cannot be had.
int hash_key(uint8_t *hash, X509 *certificate);

// SHA-256 over the whole certificate, 32 bytes to `hash`. 0 when it cannot be had.
int hash_certificate(uint8_t *hash, X509 *certificate);

#endif
