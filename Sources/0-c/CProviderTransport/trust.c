// SPDX-License-Identifier: Apache-2.0
#include "trust.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

#include "chain.h"

static const char label[] = "sha256//";

enum { BASE64_LENGTH = (GATE_PIN_LENGTH + 2) / 3 * 4, ENTRY_LENGTH = sizeof label + BASE64_LENGTH };

// `sha256//…;sha256//…`: a space behind the semicolon would make libcurl refuse the entry.
static char *text_of(const pin_set *self) {
    char *text = malloc(self->count * ENTRY_LENGTH + 1);
    if (text == NULL) {
        return NULL;
    }
    char *end = text;
    for (size_t index = 0; index < self->count; index += 1) {
        if (index > 0) {
            *end++ = ';';
        }
        memcpy(end, label, sizeof label - 1);
        end += sizeof label - 1;
        end += EVP_EncodeBlock((uint8_t *)end, self->pins + index * GATE_PIN_LENGTH, GATE_PIN_LENGTH);
    }
    *end = '\0';
    return text;
}

static void set_free(pin_set *self) {
    free(self->pins);
    free(self->text);
}

int trust_pin(trust *self, gate_pin_match match, const uint8_t *pins, size_t count) {
    pin_set *sets = realloc(self->sets, (self->set_count + 1) * sizeof *sets);
    if (sets == NULL) {
        return 0;
    }
    self->sets = sets;
    pin_set made = {.match = match, .count = count, .pins = malloc(count * GATE_PIN_LENGTH + 1)};
    if (made.pins != NULL) {
        memcpy(made.pins, pins, count * GATE_PIN_LENGTH);
    }
    int has_text = match == GATE_PIN_PUBLIC_KEY && count > 0;
    if (made.pins != NULL && has_text) {
        made.text = text_of(&made);
    }
    if (made.pins == NULL || (has_text && made.text == NULL)) {
        set_free(&made);
        return 0;
    }
    sets[self->set_count] = made;
    self->set_count += 1;
    return 1;
}

int trust_authorities(trust *self, const uint8_t *pem, size_t length) {
    free(self->authorities);
    self->authorities = malloc(length + 1);
    if (self->authorities == NULL) {
        return 0;
    }
    memcpy(self->authorities, pem, length);
    self->authorities_length = length;
    return 1;
}

static void key_free(trust *self) {
    if (self->key != NULL) {
        explicit_bzero(self->key, self->key_length);
    }
    free(self->key);
    self->key = NULL;
}

int trust_present(trust *self, const uint8_t *chain, size_t chain_length, const uint8_t *key, size_t key_length) {
    free(self->chain);
    key_free(self);
    self->chain = malloc(chain_length + 1);
    self->key = malloc(key_length + 1);
    self->chain_length = chain_length;
    self->key_length = key_length;
    if (self->chain == NULL || self->key == NULL) {
        return 0;
    }
    memcpy(self->chain, chain, chain_length);
    memcpy(self->key, key, key_length);
    return 1;
}

int trust_tunnel(trust *self, const char *proxy) {
    free(self->proxy);
    self->proxy = strdup(proxy);
    return self->proxy != NULL;
}

void trust_free(trust *self) {
    for (size_t index = 0; index < self->set_count; index += 1) {
        set_free(&self->sets[index]);
    }
    free(self->sets);
    free(self->authorities);
    free(self->chain);
    key_free(self);
    free(self->proxy);
}

// Every certificate above the leaf has to be an authority, whatever its key.
static int counts(X509 *certificate, int position) { return position == 0 || X509_check_ca(certificate) > 0; }

int pin_set_find(const pin_set *self, STACK_OF(X509) *built, size_t *pin, size_t *position) {
    int whole = self->match == GATE_PIN_CHAIN ? sk_X509_num(built) : 1;
    int found = 0;
    for (int index = 0; index < whole && index < sk_X509_num(built); index += 1) {
        X509 *certificate = sk_X509_value(built, index);
        uint8_t hash[GATE_PIN_LENGTH];
        int made = self->match == GATE_PIN_CERTIFICATE ? hash_certificate(hash, certificate)
                                                       : hash_key(hash, certificate);
        if (!made || !counts(certificate, index)) {
            continue;
        }
        for (size_t number = 0; number < (found ? *pin : self->count); number += 1) {
            if (CRYPTO_memcmp(hash, self->pins + number * GATE_PIN_LENGTH, GATE_PIN_LENGTH) == 0) {
                *pin = number;
                *position = (size_t)index;
                found = 1;
                break;
            }
        }
    }
    return found;
}
