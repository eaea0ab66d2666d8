// SPDX-License-Identifier: Apache-2.0
#include "handshake.h"

#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

static int slot = -1;

static void freed(void *parent, void *value, CRYPTO_EX_DATA *data, int index, long number, void *pointer) {
    (void)parent, (void)data, (void)index, (void)number, (void)pointer;
    handshake_release(value);
}

int handshake_initialise(void) {
    // A process that exits during a handshake would free OpenSSL's tables while they are in use.
    if (OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, NULL) != 1) {
        return 0;
    }
    slot = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, freed);
    return slot >= 0;
}

void handshake_release(handshake *self) {
    if (self == NULL) {
        return;
    }
    self->owners -= 1;
    if (self->owners == 0) {
        chain_free(self->chain);
        free(self);
    }
}

// OpenSSL's verification comes first and is never overruled. Only the chain that it has built counts: the one that
// was sent may hold whatever its sender likes. SSL_CTX_set_cert_verify_callback(3)
static int verify(X509_STORE_CTX *store, void *context) {
    handshake *self = context;
    int result = X509_verify_cert(store);
    if (result != 1) {
        return result;
    }
    self->verified = 1;
    if (self->pins == NULL) {
        return 1;
    }
    STACK_OF(X509) *built = X509_STORE_CTX_get0_chain(store);
    int found = pin_set_find(self->pins, built, &self->pin, &self->position);
    self->verdict = found ? GATE_PIN_MATCHED : GATE_PIN_MISMATCHED;
    chain_free(self->chain);
    self->chain = chain_copy(built);
    if (found || !self->enforced) {
        return 1;
    }
    X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION);
    return 0;
}

// Called when the peer asks for a certificate; what is shown stays what libcurl has set. SSL_CTX_set_cert_cb(3)
static int note_request(SSL *ssl, void *context) {
    (void)ssl;
    handshake *self = context;
    self->asked = 1;
    return 1;
}

// A certificate without names of hosts is for none; RFC 9525 section 2 leaves the common name out as well.
static int expect(X509_VERIFY_PARAM *parameters, const char *host) {
    X509_VERIFY_PARAM_set_hostflags(parameters,
                                    X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return X509_VERIFY_PARAM_set1_ip_asc(parameters, host) == 1 ||
           X509_VERIFY_PARAM_set1_host(parameters, host, strlen(host)) == 1;
}

handshake *handshake_begin(SSL_CTX *context, const char *host, const pin_set *pins, int enforced) {
    // Under SSL_VERIFY_NONE the result of the callback would be ignored.
    if ((SSL_CTX_get_verify_mode(context) & SSL_VERIFY_PEER) == 0 || SSL_CTX_get_ex_data(context, slot) != NULL ||
        SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1 || !expect(SSL_CTX_get0_param(context), host)) {
        return NULL;
    }
    handshake *self = calloc(1, sizeof *self);
    if (self == NULL) {
        return NULL;
    }
    self->owners = 2;
    self->pins = pins;
    self->enforced = enforced;
    if (SSL_CTX_set_ex_data(context, slot, self) != 1) {
        free(self);
        return NULL;
    }
    // A resumed session and a renegotiated one would show no certificate that is looked at here.
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
    SSL_CTX_set_cert_verify_callback(context, verify, self);
    SSL_CTX_set_cert_cb(context, note_request, self);
    return self;
}

static SSL *connection(CURL *easy) {
    struct curl_tlssessioninfo *session = NULL;
    CURLcode code = curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &session);
    int known = code == CURLE_OK && session != NULL && session->backend == CURLSSLBACKEND_OPENSSL;
    return known ? session->internals : NULL;
}

int handshake_holds(CURL *easy, const pin_set *pins, int enforced) {
    SSL *ssl = connection(easy);
    if (ssl == NULL || SSL_session_reused(ssl)) {
        return 0;
    }
    const handshake *known = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), slot);
    return known != NULL && known->verified && known->pins == pins &&
           (!enforced || known->verdict == GATE_PIN_MATCHED);
}

chain *handshake_chain(CURL *easy) {
    SSL *ssl = connection(easy);
    STACK_OF(X509) *verified = ssl == NULL ? NULL : SSL_get0_verified_chain(ssl);
    return verified == NULL || sk_X509_num(verified) == 0 ? NULL : chain_copy(verified);
}

static gate_tls_failure verification_failure(long result) {
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
    case X509_V_ERR_INVALID_PURPOSE: return GATE_TLS_WRONG_PURPOSE;
    case X509_V_ERR_APPLICATION_VERIFICATION: return GATE_TLS_PIN;
    default: return GATE_TLS_OTHER;
    }
}

// The alerts of RFC 8446 section 6.2 that a server sends about a client's certificate, and the one of RFC 5246 for its absence
// is not among them: a server sends it for other reasons too.
int is_client_refused(const char *text) {
    static const char *const alerts[] = {
        "alert certificate required", "alert bad certificate",     "alert unsupported certificate",
        "alert certificate revoked",  "alert certificate expired", "alert certificate unknown",
        "alert unknown ca",           "alert access denied",
    };
    for (size_t index = 0; index < sizeof alerts / sizeof *alerts; index += 1) {
        if (strstr(text, alerts[index]) != NULL) {
            return 1;
        }
    }
    return 0;
}

// OpenSSL's reasons come only as words.
static gate_tls_failure handshake_failure(const char *text) {
    if (strstr(text, "unsupported protocol") != NULL || strstr(text, "alert protocol version") != NULL) {
        return GATE_TLS_OLD_PROTOCOL;
    }
    if (strstr(text, "wrong version number") != NULL) {
        return GATE_TLS_NOT_SPOKEN;
    }
    return strstr(text, "key too small") != NULL ? GATE_TLS_WEAK : GATE_TLS_OTHER;
}

gate_tls_failure tls_failure(CURL *easy, CURLcode code, const char *text) {
    if (code == CURLE_SSL_CACERT_BADFILE) {
        return GATE_TLS_TRUST_FILE;
    }
    long result = X509_V_OK;
    curl_easy_getinfo(easy, CURLINFO_SSL_VERIFYRESULT, &result);
    if (code != CURLE_PEER_FAILED_VERIFICATION) {
        return handshake_failure(text);
    }
    // OpenSSL accepted the chain, so the name failed, which libcurl compares itself.
    int judged = result != X509_V_OK && result != X509_V_ERR_UNSPECIFIED;
    int name = !judged && strstr(text, "target host name") != NULL;
    return name ? GATE_TLS_WRONG_HOST : verification_failure(result);
}
