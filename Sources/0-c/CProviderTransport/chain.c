// SPDX-License-Identifier: Apache-2.0
#include "chain.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <time.h>

// RFC 2253 escapes whatever is not visible ASCII; a longer name is cut off.
static int copy_name(char *text, X509_NAME *name) {
    BIO *words = BIO_new(BIO_s_mem());
    if (words == NULL) {
        return 0;
    }
    int written = X509_NAME_print_ex(words, name, 0, XN_FLAG_RFC2253);
    int length = written > 0 ? BIO_read(words, text, CHAIN_NAME - 1) : 0;
    text[length > 0 ? length : 0] = '\0';
    BIO_free(words);
    return written >= 0;
}

static int64_t seconds(const ASN1_TIME *time) {
    struct tm parts = {0};
    return ASN1_TIME_to_tm(time, &parts) == 1 ? (int64_t)timegm(&parts) : 0;
}

int hash_key(uint8_t *hash, X509 *certificate) {
    uint8_t *key = NULL;
    int length = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &key);
    if (length <= 0) {
        return 0;
    }
    unsigned int size = 0;
    int made = EVP_Digest(key, (size_t)length, hash, &size, EVP_sha256(), NULL);
    OPENSSL_free(key);
    return made == 1 && size == GATE_PIN_LENGTH;
}

int hash_certificate(uint8_t *hash, X509 *certificate) {
    unsigned int size = 0;
    return X509_digest(certificate, EVP_sha256(), hash, &size) == 1 && size == GATE_PIN_LENGTH;
}

static int append(chain *self, X509 *certificate) {
    if (self->count >= CHAIN_LENGTH) {
        return 0;
    }
    chain_link *link = &self->links[self->count];
    self->certificates[self->count] = (gate_certificate){
        .subject = link->subject,
        .issuer = link->issuer,
        .not_before = seconds(X509_get0_notBefore(certificate)),
        .not_after = seconds(X509_get0_notAfter(certificate)),
        .key_hash = link->key_hash,
        .certificate_hash = link->certificate_hash,
    };
    self->count += 1;
    return copy_name(link->subject, X509_get_subject_name(certificate)) &&
           copy_name(link->issuer, X509_get_issuer_name(certificate)) && hash_key(link->key_hash, certificate) &&
           hash_certificate(link->certificate_hash, certificate);
}

chain *chain_copy(STACK_OF(X509) *certificates) {
    chain *self = malloc(sizeof *self);
    if (self == NULL) {
        return NULL;
    }
    self->count = 0;
    for (int index = 0; index < sk_X509_num(certificates); index += 1) {
        if (!append(self, sk_X509_value(certificates, index))) {
            chain_free(self);
            return NULL;
        }
    }
    return self;
}

void chain_free(chain *self) { free(self); }
