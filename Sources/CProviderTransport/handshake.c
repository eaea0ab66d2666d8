// SPDX-License-Identifier: Apache-2.0
#include "tls.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <string.h>
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

// SHA-256 over the SubjectPublicKeyInfo, as pins name it. RFC 7469 section 2.4.
static int hash_key(uint8_t *hash, X509 *certificate) {
    uint8_t *key = NULL;
    int length = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &key);
    if (length <= 0) {
        return 0;
    }
    unsigned int size = 0;
    int made = EVP_Digest(key, (size_t)length, hash, &size, EVP_sha256(), NULL);
    OPENSSL_free(key);
    return made == 1 && size == CHAIN_HASH;
}

static int append(chain *self, X509 *certificate, size_t *total) {
    int length = i2d_X509(certificate, NULL);
    if (self->count >= CHAIN_LENGTH || length <= 0 || *total + (size_t)length > CHAIN_BYTES) {
        return 0;
    }
    chain_link *link = &self->links[self->count];
    link->der = NULL;
    if (i2d_X509(certificate, &link->der) != length) {
        return 0;
    }
    *total += (size_t)length;
    self->certificates[self->count] = (gate_certificate){
        .der = link->der,
        .der_length = (size_t)length,
        .subject = link->subject,
        .issuer = link->issuer,
        .not_before = seconds(X509_get0_notBefore(certificate)),
        .not_after = seconds(X509_get0_notAfter(certificate)),
        .key_hash = link->key_hash,
    };
    self->count += 1;
    return copy_name(link->subject, X509_get_subject_name(certificate)) &&
           copy_name(link->issuer, X509_get_issuer_name(certificate)) && hash_key(link->key_hash, certificate);
}

int chain_collect(chain *self, CURL *easy) {
    struct curl_tlssessioninfo *session = NULL;
    CURLcode code = curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &session);
    if (code != CURLE_OK || session == NULL || session->backend != CURLSSLBACKEND_OPENSSL ||
        session->internals == NULL) {
        return 1;
    }
    STACK_OF(X509) *verified = SSL_get0_verified_chain(session->internals);
    int count = verified == NULL ? 0 : sk_X509_num(verified);
    size_t total = 0;
    for (int index = 0; index < count; index += 1) {
        if (!append(self, sk_X509_value(verified, index), &total)) {
            chain_empty(self);
            return 0;
        }
    }
    return count > 0;
}

void chain_empty(chain *self) {
    for (size_t index = 0; index < self->count; index += 1) {
        OPENSSL_free(self->links[index].der);
    }
    self->count = 0;
}

static gate_tls_fault verification_fault(long result) {
    switch (result) {
    case X509_V_ERR_CERT_HAS_EXPIRED: return GATE_TLS_EXPIRED;
    case X509_V_ERR_CERT_NOT_YET_VALID: return GATE_TLS_NOT_YET_VALID;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE: return GATE_TLS_UNKNOWN_ISSUER;
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT: return GATE_TLS_SELF_SIGNED;
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH: return GATE_TLS_WRONG_HOST;
    case X509_V_ERR_EE_KEY_TOO_SMALL:
    case X509_V_ERR_CA_KEY_TOO_SMALL:
    case X509_V_ERR_CA_MD_TOO_WEAK: return GATE_TLS_WEAK;
    default: return GATE_TLS_OTHER;
    }
}

// OpenSSL's reasons come only as words.
static gate_tls_fault handshake_fault(const char *text) {
    if (strstr(text, "unsupported protocol") != NULL || strstr(text, "alert protocol version") != NULL) {
        return GATE_TLS_OLD_PROTOCOL;
    }
    if (strstr(text, "wrong version number") != NULL) {
        return GATE_TLS_NOT_SPOKEN;
    }
    return strstr(text, "key too small") != NULL ? GATE_TLS_WEAK : GATE_TLS_OTHER;
}

gate_tls_fault tls_fault(CURL *easy, CURLcode code, const char *text) {
    if (code == CURLE_SSL_CACERT_BADFILE) {
        return GATE_TLS_TRUST_FILE;
    }
    long result = X509_V_OK;
    curl_easy_getinfo(easy, CURLINFO_SSL_VERIFYRESULT, &result);
    if (code != CURLE_PEER_FAILED_VERIFICATION) {
        return handshake_fault(text);
    }
    // OpenSSL has found no fault with the chain, so it is the name, which libcurl compares itself.
    int judged = result != X509_V_OK && result != X509_V_ERR_UNSPECIFIED;
    int name = !judged && strstr(text, "target host name") != NULL;
    return name ? GATE_TLS_WRONG_HOST : verification_fault(result);
}
