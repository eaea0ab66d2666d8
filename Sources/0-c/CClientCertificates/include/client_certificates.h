// SPDX-License-Identifier: Apache-2.0
// Verifies certificates of clients with OpenSSL. The caller sees no type of OpenSSL.
#ifndef GATEHOUSE_CLIENT_CERTIFICATES_H
#define GATEHOUSE_CLIENT_CERTIFICATES_H

#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

enum {
    // How many certificates a client may present, and a built chain may have.
    GATE_MAX_PRESENTED = 8,
    // How many certificates may be between that of the client and the trusted one.
    GATE_MAX_INTERMEDIATES = 4,
    // The longest distinguished name as text, with its end.
    GATE_NAME_SIZE = 2048,
    // SHA-256 over a certificate.
    GATE_FINGERPRINT_SIZE = 32,
};

// How the verification of a certificate ended.
typedef enum gate_verdict {
    GATE_CERTIFICATE_VALID = 0,
    GATE_CERTIFICATE_MALFORMED,
    GATE_CERTIFICATE_EXPIRED,
    GATE_CERTIFICATE_NOT_YET_VALID,
    GATE_CERTIFICATE_UNKNOWN_ISSUER,
    GATE_CERTIFICATE_REVOKED,
    // There is no revocation list of an authority in the chain.
    GATE_CERTIFICATE_NO_LIST,
    // The revocation list of an authority in the chain is too old, or from the future.
    GATE_CERTIFICATE_OLD_LIST,
    // The revocation list of an authority in the chain cannot be used.
    GATE_CERTIFICATE_BAD_LIST,
    GATE_CERTIFICATE_WRONG_PURPOSE,
    GATE_CERTIFICATE_WEAK,
    GATE_CERTIFICATE_CHAIN_TOO_LONG,
    GATE_CERTIFICATE_OTHER,
} gate_verdict;

// What a verification found.
typedef struct gate_verification {
    gate_verdict verdict;
    // Why, in words of OpenSSL; static.
    const char *_Nullable reason;
    // When the result begins and ends to hold: the validity of the chain and of the revocation lists for it.
    int64_t from;
    int64_t until;
    // The names in the certificate of the client, RFC 2253, visible ASCII.
    char subject[GATE_NAME_SIZE];
    char issuer[GATE_NAME_SIZE];
    uint8_t fingerprint[GATE_FINGERPRINT_SIZE];
    // The certificates between that of the client and the trusted one: their places among those presented, or -1.
    size_t intermediates;
    int places[GATE_MAX_PRESENTED];
} gate_verification;

// A trusted certificate, or a revocation list.
typedef struct gate_authority_entry {
    // The subject of a certificate, the issuer of a list.
    char name[GATE_NAME_SIZE];
    int64_t from;
    // INT64_MAX for a list without an end.
    int64_t until;
    // Of a list: 1 if a trusted certificate has signed it, 0 if none is of its issuer, -1 if none of its issuer has signed it.
    int is_signed;
} gate_authority_entry;

typedef struct gate_authority gate_authority;

// An authority that trusts no certificate; NULL without memory.
gate_authority *_Nullable gate_authority_create(void);

// Frees an authority.
void gate_authority_destroy(gate_authority *authority);

// Trusts the certificates of a PEM file. Returns how many; -1 if one cannot be read, -2 if one is not that of an authority.
int gate_authority_trust(gate_authority *authority, const uint8_t *pem, size_t size);

// Adds the revocation lists of a PEM file, or the one of a DER file. Returns how many; -1 if one cannot be read, -2 if one is
// a delta list.
int gate_authority_add_lists(gate_authority *authority, const uint8_t *bytes, size_t size);

// Ends the set-up: from here on, the authority is only read, by any thread. 0 without memory.
int gate_authority_finish(gate_authority *authority);

// The number of trusted certificates and of revocation lists.
size_t gate_authority_certificates(const gate_authority *authority);
size_t gate_authority_lists(const gate_authority *authority);

// One of them; 0 if its name is too long.
int gate_authority_certificate(const gate_authority *authority, size_t index, gate_authority_entry *entry);
int gate_authority_list(const gate_authority *authority, size_t index, gate_authority_entry *entry);

// Verifies the certificate of a client: its chain to a trusted certificate, times, purpose, strength and revocation.
//
// `bytes` has the DER of all certificates that the client presented one after the other, its own first; `sizes` their lengths.
void gate_authority_verify(const gate_authority *authority, const uint8_t *bytes, const size_t *sizes, size_t count,
                           int64_t now, gate_verification *verification);

#pragma clang assume_nonnull end

#endif
