// SPDX-License-Identifier: Apache-2.0
#include "client_certificates.h"

#include <limits.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct gate_authority {
    X509_STORE *store;
    STACK_OF(X509) *certificates;
    STACK_OF(X509_CRL) *lists;
};

gate_authority *gate_authority_create(void) {
    gate_authority *self = calloc(1, sizeof *self);
    if (self == NULL) {
        return NULL;
    }
    self->store = X509_STORE_new();
    self->certificates = sk_X509_new_null();
    self->lists = sk_X509_CRL_new_null();
    if (self->store == NULL || self->certificates == NULL || self->lists == NULL) {
        gate_authority_destroy(self);
        return NULL;
    }
    return self;
}

void gate_authority_destroy(gate_authority *self) {
    sk_X509_CRL_pop_free(self->lists, X509_CRL_free);
    sk_X509_pop_free(self->certificates, X509_free);
    X509_STORE_free(self->store);
    free(self);
}

// The password for encrypted PEM, so that OpenSSL does not ask for one at the terminal.
static char no_password[] = "";

// Whether what stopped the reading of PEM is that there is no further object.
static int is_at_end(void) {
    unsigned long error = ERR_peek_last_error();
    int is_end = ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
    ERR_clear_error();
    return is_end;
}

int gate_authority_trust(gate_authority *self, const uint8_t *pem, size_t size) {
    ERR_clear_error();
    BIO *input = size <= INT_MAX ? BIO_new_mem_buf(pem, (int)size) : NULL;
    if (input == NULL) {
        return -1;
    }
    int count = 0;
    for (;;) {
        X509 *certificate = PEM_read_bio_X509(input, NULL, NULL, no_password);
        if (certificate == NULL) {
            break;
        }
        // 1 is an authority by its basic constraints; the other values are guesses about certificates without them.
        if (X509_check_ca(certificate) != 1) {
            X509_free(certificate);
            BIO_free(input);
            ERR_clear_error();
            return -2;
        }
        if (!X509_STORE_add_cert(self->store, certificate) || !sk_X509_push(self->certificates, certificate)) {
            X509_free(certificate);
            BIO_free(input);
            ERR_clear_error();
            return -1;
        }
        count += 1;
    }
    BIO_free(input);
    return is_at_end() ? count : -1;
}

// A delta list has only what changed: taken for a whole list, it would hide whatever the one before it revokes.
static int is_delta(const X509_CRL *list) { return X509_CRL_get_ext_by_NID(list, NID_delta_crl, -1) >= 0; }

// Takes the list; the number of lists, or a negative one as `gate_authority_add_lists` returns it.
static int keep(gate_authority *self, X509_CRL *list) {
    if (is_delta(list)) {
        X509_CRL_free(list);
        return -2;
    }
    if (X509_STORE_add_crl(self->store, list) && sk_X509_CRL_push(self->lists, list)) {
        return 1;
    }
    X509_CRL_free(list);
    return -1;
}

int gate_authority_add_lists(gate_authority *self, const uint8_t *bytes, size_t size) {
    ERR_clear_error();
    if (size > LONG_MAX || size > INT_MAX) {
        return -1;
    }
    // A sequence is DER; PEM begins with a letter, a dash or white space.
    if (size > 0 && bytes[0] == 0x30) {
        const unsigned char *rest = bytes;
        X509_CRL *list = d2i_X509_CRL(NULL, &rest, (long)size);
        int is_whole = list != NULL && rest == bytes + size;
        if (list != NULL && !is_whole) {
            X509_CRL_free(list);
        }
        ERR_clear_error();
        return is_whole ? keep(self, list) : -1;
    }
    BIO *input = BIO_new_mem_buf(bytes, (int)size);
    if (input == NULL) {
        return -1;
    }
    int count = 0;
    X509_CRL *list = NULL;
    while ((list = PEM_read_bio_X509_CRL(input, NULL, NULL, no_password)) != NULL) {
        int kept = keep(self, list);
        if (kept < 0) {
            BIO_free(input);
            ERR_clear_error();
            return kept;
        }
        count += 1;
    }
    BIO_free(input);
    return is_at_end() ? count : -1;
}

// Whether an error is about a list that is missing or cannot be used, and not about what a list has.
static int is_about_list(int error) {
    switch (error) {
    case X509_V_ERR_UNABLE_TO_GET_CRL:
    case X509_V_ERR_CRL_HAS_EXPIRED:
    case X509_V_ERR_CRL_NOT_YET_VALID:
    case X509_V_ERR_UNABLE_TO_GET_CRL_ISSUER:
    case X509_V_ERR_CRL_SIGNATURE_FAILURE:
    case X509_V_ERR_UNABLE_TO_DECRYPT_CRL_SIGNATURE:
    case X509_V_ERR_KEYUSAGE_NO_CRL_SIGN:
    case X509_V_ERR_DIFFERENT_CRL_SCOPE:
    case X509_V_ERR_CRL_PATH_VALIDATION_ERROR:
        return 1;
    default:
        return 0;
    }
}

// A trusted certificate ends each chain, and no list of its own issuer is needed for it: it is trusted by the file, and taken back by
// removing it there.
static int accept_trusted_end(int is_valid, X509_STORE_CTX *context) {
    if (is_valid || !is_about_list(X509_STORE_CTX_get_error(context))) {
        return is_valid;
    }
    STACK_OF(X509) *chain = X509_STORE_CTX_get0_chain(context);
    int depth = X509_STORE_CTX_get_error_depth(context);
    if (chain == NULL || depth == 0 || depth != sk_X509_num(chain) - 1) {
        return 0;
    }
    X509_STORE_CTX_set_error(context, X509_V_OK);
    return 1;
}

int gate_authority_finish(gate_authority *self) {
    X509_VERIFY_PARAM *rules = X509_VERIFY_PARAM_new();
    if (rules == NULL) {
        return 0;
    }
    unsigned long flags = X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_TRUSTED_FIRST;
    if (sk_X509_CRL_num(self->lists) > 0) {
        flags |= X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL;
    }
    X509_VERIFY_PARAM_set_flags(rules, flags);
    X509_VERIFY_PARAM_set_depth(rules, GATE_MAX_INTERMEDIATES);
    // 112 bits: RSA with 2048 bits, no SHA-1.
    X509_VERIFY_PARAM_set_auth_level(rules, 2);
    int is_ready = X509_VERIFY_PARAM_set_purpose(rules, X509_PURPOSE_SSL_CLIENT) == 1 &&
                   X509_STORE_set1_param(self->store, rules) == 1;
    X509_VERIFY_PARAM_free(rules);
    X509_STORE_set_verify_cb(self->store, accept_trusted_end);
    ERR_clear_error();
    return is_ready;
}

static int64_t seconds(const ASN1_TIME *time) {
    struct tm parts = {0};
    return ASN1_TIME_to_tm(time, &parts) == 1 ? (int64_t)timegm(&parts) : 0;
}

// A name as RFC 2253 has it: whatever is not visible ASCII is escaped. 0 if it does not fit.
static int copy_name(char *text, const X509_NAME *name) {
    BIO *words = BIO_new(BIO_s_mem());
    if (words == NULL) {
        return 0;
    }
    const char *bytes = NULL;
    int is_whole = X509_NAME_print_ex(words, name, 0, XN_FLAG_RFC2253) >= 0;
    long length = BIO_get_mem_data(words, (char **)&bytes);
    is_whole = is_whole && length >= 0 && length < GATE_NAME_SIZE;
    for (long index = 0; is_whole && index < length; index += 1) {
        is_whole = bytes[index] >= 0x20 && bytes[index] < 0x7f;
    }
    if (is_whole && length > 0) {
        memcpy(text, bytes, (size_t)length);
    }
    text[is_whole ? length : 0] = '\0';
    BIO_free(words);
    return is_whole;
}

size_t gate_authority_certificates(const gate_authority *self) { return (size_t)sk_X509_num(self->certificates); }

size_t gate_authority_lists(const gate_authority *self) { return (size_t)sk_X509_CRL_num(self->lists); }

int gate_authority_certificate(const gate_authority *self, size_t index, gate_authority_entry *entry) {
    X509 *certificate = sk_X509_value(self->certificates, (int)index);
    entry->from = seconds(X509_get0_notBefore(certificate));
    entry->until = seconds(X509_get0_notAfter(certificate));
    entry->is_signed = 1;
    int is_named = copy_name(entry->name, X509_get_subject_name(certificate));
    ERR_clear_error();
    return is_named;
}

static int64_t list_end(const X509_CRL *list) {
    const ASN1_TIME *time = X509_CRL_get0_nextUpdate(list);
    return time == NULL ? INT64_MAX : seconds(time);
}

int gate_authority_list(const gate_authority *self, size_t index, gate_authority_entry *entry) {
    X509_CRL *list = sk_X509_CRL_value(self->lists, (int)index);
    const X509_NAME *issuer = X509_CRL_get_issuer(list);
    entry->from = seconds(X509_CRL_get0_lastUpdate(list));
    entry->until = list_end(list);
    entry->is_signed = 0;
    for (int place = 0; place < sk_X509_num(self->certificates); place += 1) {
        X509 *certificate = sk_X509_value(self->certificates, place);
        if (X509_NAME_cmp(X509_get_subject_name(certificate), issuer) != 0 || entry->is_signed == 1) {
            continue;
        }
        EVP_PKEY *key = X509_get0_pubkey(certificate);
        entry->is_signed = key != NULL && X509_CRL_verify(list, key) == 1 ? 1 : -1;
    }
    int is_named = copy_name(entry->name, issuer);
    ERR_clear_error();
    return is_named;
}

static gate_verdict verdict(int error) {
    switch (error) {
    case X509_V_OK:
        return GATE_CERTIFICATE_VALID;
    case X509_V_ERR_CERT_HAS_EXPIRED:
        return GATE_CERTIFICATE_EXPIRED;
    case X509_V_ERR_CERT_NOT_YET_VALID:
        return GATE_CERTIFICATE_NOT_YET_VALID;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_UNTRUSTED:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
        return GATE_CERTIFICATE_UNKNOWN_ISSUER;
    case X509_V_ERR_CERT_REVOKED:
        return GATE_CERTIFICATE_REVOKED;
    case X509_V_ERR_UNABLE_TO_GET_CRL:
        return GATE_CERTIFICATE_NO_LIST;
    case X509_V_ERR_CRL_HAS_EXPIRED:
    case X509_V_ERR_CRL_NOT_YET_VALID:
        return GATE_CERTIFICATE_OLD_LIST;
    case X509_V_ERR_UNABLE_TO_GET_CRL_ISSUER:
    case X509_V_ERR_CRL_SIGNATURE_FAILURE:
    case X509_V_ERR_UNABLE_TO_DECRYPT_CRL_SIGNATURE:
    case X509_V_ERR_ERROR_IN_CRL_LAST_UPDATE_FIELD:
    case X509_V_ERR_ERROR_IN_CRL_NEXT_UPDATE_FIELD:
    case X509_V_ERR_KEYUSAGE_NO_CRL_SIGN:
    case X509_V_ERR_UNHANDLED_CRITICAL_CRL_EXTENSION:
    case X509_V_ERR_DIFFERENT_CRL_SCOPE:
    case X509_V_ERR_CRL_PATH_VALIDATION_ERROR:
        return GATE_CERTIFICATE_BAD_LIST;
    case X509_V_ERR_INVALID_PURPOSE:
    case X509_V_ERR_INVALID_CA:
    case X509_V_ERR_CERT_REJECTED:
    case X509_V_ERR_KEYUSAGE_NO_CERTSIGN:
        return GATE_CERTIFICATE_WRONG_PURPOSE;
    case X509_V_ERR_EE_KEY_TOO_SMALL:
    case X509_V_ERR_CA_KEY_TOO_SMALL:
    case X509_V_ERR_CA_MD_TOO_WEAK:
        return GATE_CERTIFICATE_WEAK;
    case X509_V_ERR_CERT_CHAIN_TOO_LONG:
    case X509_V_ERR_PATH_LENGTH_EXCEEDED:
        return GATE_CERTIFICATE_CHAIN_TOO_LONG;
    default:
        return GATE_CERTIFICATE_OTHER;
    }
}

// Until when the revocation lists for a chain hold: up to the first time at which one of its issuers begins or ends, since several lists
// of one issuer can be about different certificates.
static int64_t lists_end(const gate_authority *self, STACK_OF(X509) *chain, int64_t now) {
    int64_t end = INT64_MAX;
    for (int place = 0; place < sk_X509_num(chain); place += 1) {
        const X509_NAME *issuer = X509_get_issuer_name(sk_X509_value(chain, place));
        for (int index = 0; index < sk_X509_CRL_num(self->lists); index += 1) {
            const X509_CRL *list = sk_X509_CRL_value(self->lists, index);
            if (X509_NAME_cmp(X509_CRL_get_issuer(list), issuer) != 0) {
                continue;
            }
            int64_t from = seconds(X509_CRL_get0_lastUpdate(list));
            int64_t until = list_end(list);
            end = from > now && from < end ? from : end;
            end = until > now && until < end ? until : end;
        }
    }
    return end;
}

static void describe(const gate_authority *self, X509_STORE_CTX *context, STACK_OF(X509) *presented,
                     int64_t now, gate_verification *verification) {
    STACK_OF(X509) *chain = X509_STORE_CTX_get0_chain(context);
    int length = chain == NULL ? 0 : sk_X509_num(chain);
    if (length < 2 || length > GATE_MAX_PRESENTED) {
        verification->verdict = GATE_CERTIFICATE_OTHER;
        verification->reason = "a chain of another length than expected";
        return;
    }
    verification->from = INT64_MIN;
    verification->until = lists_end(self, chain, now);
    for (int place = 0; place < length; place += 1) {
        X509 *certificate = sk_X509_value(chain, place);
        int64_t from = seconds(X509_get0_notBefore(certificate));
        int64_t until = seconds(X509_get0_notAfter(certificate));
        verification->from = from > verification->from ? from : verification->from;
        verification->until = until < verification->until ? until : verification->until;
        if (place == 0 || place == length - 1) {
            continue;
        }
        int found = -1;
        for (int index = 1; index < sk_X509_num(presented) && found < 0; index += 1) {
            found = X509_cmp(sk_X509_value(presented, index), certificate) == 0 ? index : -1;
        }
        verification->places[verification->intermediates] = found;
        verification->intermediates += 1;
    }
    X509 *leaf = sk_X509_value(chain, 0);
    unsigned int size = 0;
    int is_hashed = X509_digest(leaf, EVP_sha256(), verification->fingerprint, &size) == 1;
    if (!copy_name(verification->subject, X509_get_subject_name(leaf)) ||
        !copy_name(verification->issuer, X509_get_issuer_name(leaf))) {
        verification->verdict = GATE_CERTIFICATE_MALFORMED;
        verification->reason = "a name that is too long";
    } else if (!is_hashed || size != GATE_FINGERPRINT_SIZE) {
        verification->verdict = GATE_CERTIFICATE_OTHER;
        verification->reason = "no fingerprint can be made";
    }
}

void gate_authority_verify(const gate_authority *self, const uint8_t *bytes, const size_t *sizes, size_t count,
                           int64_t now, gate_verification *verification) {
    memset(verification, 0, sizeof *verification);
    verification->verdict = GATE_CERTIFICATE_MALFORMED;
    verification->reason = "not a certificate";
    if (count == 0 || count > GATE_MAX_PRESENTED) {
        verification->reason = "too many certificates";
        return;
    }
    ERR_clear_error();
    STACK_OF(X509) *presented = sk_X509_new_null();
    X509_STORE_CTX *context = X509_STORE_CTX_new();
    size_t read = 0;
    while (presented != NULL && context != NULL && read < count && sizes[read] <= LONG_MAX) {
        const unsigned char *rest = bytes;
        X509 *certificate = d2i_X509(NULL, &rest, (long)sizes[read]);
        if (certificate == NULL) {
            break;
        }
        if (rest != bytes + sizes[read] || !sk_X509_push(presented, certificate)) {
            X509_free(certificate);
            break;
        }
        bytes += sizes[read];
        read += 1;
    }
    if (read == count && X509_STORE_CTX_init(context, self->store, sk_X509_value(presented, 0), presented) == 1) {
        X509_STORE_CTX_set_time(context, 0, (time_t)now);
        int is_valid = X509_verify_cert(context) == 1;
        int error = X509_STORE_CTX_get_error(context);
        verification->verdict = is_valid ? GATE_CERTIFICATE_VALID : verdict(error);
        verification->reason = X509_verify_cert_error_string(error);
        if (!is_valid && verification->verdict == GATE_CERTIFICATE_VALID) {
            verification->verdict = GATE_CERTIFICATE_OTHER;
        }
        if (is_valid) {
            describe(self, context, presented, now, verification);
        }
    }
    X509_STORE_CTX_free(context);
    sk_X509_pop_free(presented, X509_free);
    ERR_clear_error();
}
