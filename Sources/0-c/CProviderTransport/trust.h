// SPDX-License-Identifier: Apache-2.0
// The certificates that a transport trusts.
#ifndef GATEHOUSE_TRUST_H
#define GATEHOUSE_TRUST_H

#include <openssl/x509.h>

#include "provider_transport.h"

typedef struct pin_set {
    gate_pin_match match;
    uint8_t *pins;
    size_t count;
    // The pins in the form of CURLOPT_PINNEDPUBLICKEY; NULL unless they are of public keys.
    char *text;
} pin_set;

typedef struct trust {
    // PEM; NULL for the system's.
    uint8_t *authorities;
    size_t authorities_length;
    // The chain and the key that are shown, as PEM; NULL for none.
    uint8_t *chain;
    size_t chain_length;
    uint8_t *key;
    size_t key_length;
    char *proxy;
    pin_set *sets;
    size_t set_count;
    // Whether only addresses of the internet are connected to.
    int public_only;
} trust;

// Each keeps a copy, in place of the one before; 0 when memory ran out.
int trust_authorities(trust *self, const uint8_t *pem, size_t length);
int trust_tunnel(trust *self, const char *proxy);
int trust_present(trust *self, const uint8_t *chain, size_t chain_length, const uint8_t *key, size_t key_length);

// Adds a copy of a set; 0 when memory ran out.
int trust_pin(trust *self, gate_pin_match match, const uint8_t *pins, size_t count);

// Frees what it holds.
void trust_free(trust *self);

// Looks for the first pin of the set that a built chain has: its number, and its position in the chain. 0 for none.
int pin_set_find(const pin_set *self, STACK_OF(X509) *built, size_t *pin, size_t *position);

#endif
