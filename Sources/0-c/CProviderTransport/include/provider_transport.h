// SPDX-License-Identifier: Apache-2.0
// Calls to one identity provider over libcurl, all on one thread. The caller sees no libcurl type.
#ifndef GATEHOUSE_PROVIDER_TRANSPORT_H
#define GATEHOUSE_PROVIDER_TRANSPORT_H

#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

typedef struct gate_transport gate_transport;

// How a call ended.
typedef enum gate_outcome {
    GATE_COMPLETED = 0,
    GATE_TIMED_OUT,
    GATE_UNREACHABLE,
    GATE_TLS_FAILED,
    GATE_CONNECTION_LOST,
    GATE_BODY_TOO_LARGE,
    GATE_HEAD_TOO_LARGE,
    GATE_MALFORMED,
    GATE_CANCELLED,
    GATE_SHUT_DOWN,
    GATE_QUEUE_FULL,
    GATE_OUT_OF_MEMORY,
    // The proxy opened no tunnel; the status is that of its response.
    GATE_PROXY_REFUSED,
    // The call waited for a connection as long as it may take, and was never sent.
    GATE_QUEUE_TIMED_OUT,
} gate_outcome;

// Why TLS failed.
typedef enum gate_tls_failure {
    GATE_TLS_OTHER = 0,
    GATE_TLS_EXPIRED,
    GATE_TLS_NOT_YET_VALID,
    GATE_TLS_UNKNOWN_ISSUER,
    GATE_TLS_SELF_SIGNED,
    GATE_TLS_WRONG_HOST,
    GATE_TLS_WEAK,
    GATE_TLS_OLD_PROTOCOL,
    GATE_TLS_NOT_SPOKEN,
    GATE_TLS_TRUST_FILE,
    GATE_TLS_CHAIN_TOO_LARGE,
    GATE_TLS_WRONG_PURPOSE,
    // The peer was verified and showed no pinned key.
    GATE_TLS_PIN,
    // A connection whose verification could not be shown; nothing was sent over it.
    GATE_TLS_UNPROVEN,
    // The peer ended the connection over the client's certificate, or over not having one.
    GATE_TLS_CLIENT_CERTIFICATE,
} gate_tls_failure;

enum { GATE_PIN_LENGTH = 32 };

// What is compared with pins.
typedef enum gate_pin_match {
    // SHA-256 over the SubjectPublicKeyInfo of the peer's own certificate.
    GATE_PIN_PUBLIC_KEY = 0,
    // SHA-256 over the peer's own certificate.
    GATE_PIN_CERTIFICATE,
    // SHA-256 over the SubjectPublicKeyInfo of any certificate of the chain that was built and verified.
    GATE_PIN_CHAIN,
} gate_pin_match;

// The result of the pin check in the handshake of a call.
typedef enum gate_pin_verdict {
    // There were no pins, or the call used a connection that was there already, or TLS failed before.
    GATE_PIN_UNASKED = 0,
    GATE_PIN_MATCHED,
    GATE_PIN_MISMATCHED,
} gate_pin_verdict;

// The bounds of a call, and what it wants of its connection.
typedef struct gate_terms {
    // The maximum size of the response body in bytes.
    uint64_t limit;
    // How long it may take from when it is sent, resolving and connecting included. It may wait as long before.
    int64_t timeout_milliseconds;
    // The number of the host's pin set, in the order in which they were added; negative for none.
    int64_t pin_set;
    // Whether a mismatch ends the call before anything is sent.
    int enforces_pins;
    // Whether the certificates are wanted even from a connection that was there already.
    int wants_chain;
    // Whether a new connection has to be made, to see what the peer shows now.
    int wants_handshake;
} gate_terms;

// One certificate of a verified chain; names as RFC 2253 writes them, times in seconds since 1970.
typedef struct gate_certificate {
    const char *subject;
    const char *issuer;
    int64_t not_before;
    int64_t not_after;
    // 32 bytes: SHA-256 over the SubjectPublicKeyInfo.
    const uint8_t *key_hash;
    // 32 bytes: SHA-256 over the certificate.
    const uint8_t *certificate_hash;
} gate_certificate;

// What came of a call; the pointers are valid until the completion returns.
typedef struct gate_result {
    uint64_t id;
    gate_outcome outcome;
    // Of meaning with GATE_TLS_FAILED only.
    gate_tls_failure failure;
    long status;
    // Field lines of the final response, each with its line end, without the status line.
    const uint8_t *head;
    size_t head_length;
    const uint8_t *body;
    size_t body_length;
    // libcurl's message for a failure; never holds an address' query, a field value or a body.
    const char *text;
    gate_pin_verdict pins;
    // Of meaning with a match: the number of the pin in its set, and the position in the chain, 0 for the leaf.
    size_t pin;
    size_t pin_position;
    // The chain as built and verified, leaf first, if it was wanted or pins were looked at; at most 10
    // certificates.
    const gate_certificate *_Nullable certificates;
    size_t certificate_count;
} gate_result;

// Called on the transport's thread, once for each accepted call.
typedef void (*gate_completion)(void *context, const gate_result *result);

// Why the libcurl at hand cannot be used, or NULL if it can: OpenSSL flavour with a resolver that does not block.
const char *_Nullable gate_transport_unusable_reason(void);

// A transport with connections, DNS answers and trust of its own; NULL when memory or descriptors ran out.
gate_transport *_Nullable gate_transport_create(gate_completion completion, void *context);

// The only certificates to trust, as PEM; without them, the system's. Like the next three, to be called before the start; 0
// when memory ran out.
int gate_transport_trust(gate_transport *transport, const uint8_t *pem, size_t length);

// The certificate chain and private key to show to peers that ask for one, as PEM without a pass phrase; without them, none. Both
// must have been found to belong together. 0 when memory ran out.
int gate_transport_present(gate_transport *transport, const uint8_t *chain, size_t chain_length, const uint8_t *key,
                           size_t key_length);

// The http proxy to tunnel through; without it, none, whatever the environment.
int gate_transport_tunnel(gate_transport *transport, const char *proxy);

// Adds a set of `count` pins of 32 bytes each, one behind the other. The first set has the number 0.
int gate_transport_pin(gate_transport *transport, gate_pin_match match, const uint8_t *pins, size_t count);

// Connects to addresses of the internet only: none that is private, link-local, loopback or reserved. For calls to hosts that
// others name; to be called before the start.
void gate_transport_public_only(gate_transport *transport);

// How many connections there may be, and so how many calls at a time; 16 without it. To be called before the start.
void gate_transport_connections(gate_transport *transport, size_t count);

// Starts the thread; 0 when the system refused it.
int gate_transport_start(gate_transport *transport);

// Queues a call; everything is copied. GATE_COMPLETED means accepted: the completion will be called. Anything else means
// rejected: it will not.
//
// - `host` is that of the address, without brackets and port.
// - `head` holds header lines parted by LF.
// - A negative `body_length` means no body.
gate_outcome gate_transport_submit(gate_transport *transport, uint64_t id, const char *method, const char *address,
                                   const char *host, const char *head, const uint8_t *body, int64_t body_length,
                                   gate_terms terms);

// Ends a call early; its completion reports GATE_CANCELLED. No effect on a call that has ended.
void gate_transport_cancel(gate_transport *transport, uint64_t id);

// Ends every call and the thread; returns after the last completion. May be called again, one caller at a time.
void gate_transport_stop(gate_transport *transport);

// Frees a transport that was stopped or never started.
void gate_transport_destroy(gate_transport *transport);

// The versions of libcurl and of its TLS library, such as "libcurl/8.14.1 OpenSSL/3.0.17 ..."; lives as long as the process.
const char *gate_transport_library_versions(void);

#pragma clang assume_nonnull end

#endif
