// SPDX-License-Identifier: Apache-2.0
// Sends one message over SMTP with libcurl, on the caller's thread. The caller sees no libcurl type.
#ifndef GATEHOUSE_MAIL_H
#define GATEHOUSE_MAIL_H

#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

typedef struct gate_mail gate_mail;

// How a transfer ended.
typedef enum gate_mail_outcome {
    // The server accepted the message; of gate_mail_verify: the server accepted the connection and the login.
    GATE_MAIL_SENT = 0,
    // 5xx.
    GATE_MAIL_REJECTED,
    // 4xx.
    GATE_MAIL_REJECTED_FOR_NOW,
    // The server rejected the login, requires one, or offers no mechanism for the one that was set.
    GATE_MAIL_LOGIN_REJECTED,
    // The certificate was not trusted, or there was no TLS where it is required.
    GATE_MAIL_TLS_FAILED,
    // The host was not found, the connection was rejected or lost.
    GATE_MAIL_UNREACHABLE,
    GATE_MAIL_TIMED_OUT,
    GATE_MAIL_OTHER,
} gate_mail_outcome;

typedef struct gate_mail_result {
    gate_mail_outcome outcome;
    // The code of the last SMTP reply; 0 without one.
    long code;
    // The server's reply for a rejection, libcurl's message for any other failure; printable ASCII, empty after success.
    // Valid until the transfer is destroyed.
    const char *text;
} gate_mail_result;

// Whether a transfer uses TLS; with TLS the certificate and its host name are always verified.
typedef enum gate_mail_security {
    // smtps://, or smtp:// with STARTTLS before anything else.
    GATE_MAIL_TLS = 0,
    // smtp:// without TLS; the caller has checked that the server is on loopback.
    GATE_MAIL_PLAIN,
} gate_mail_security;

// A transfer to `url`, which is smtp[s]://HOST:PORT/HELLO-NAME; NULL when memory ran out.
//
// Neither the environment nor a netrc file changes where it goes.
gate_mail *_Nullable gate_mail_create(const char *url, gate_mail_security security);

// The login, sent by AUTH PLAIN or LOGIN. Like the next two, to be called before the transfer; 0 when memory ran out.
int gate_mail_login(gate_mail *mail, const char *username, const char *password);

// The file of the only certificates to trust, as PEM; without it, the system's.
int gate_mail_trust(gate_mail *mail, const char *path);

// How long connecting up to the login, and the whole transfer, may take; 20 and 60 seconds without it.
//
// A look-up of the host that has begun is waited for all the same.
int gate_mail_limits(gate_mail *mail, int64_t connect_milliseconds, int64_t total_milliseconds);

// Sends a message with CRLF line ends; the email addresses are without angle brackets. The bytes are not copied.
gate_mail_result gate_mail_send(gate_mail *mail, const char *from, const char *to, const uint8_t *bytes, size_t length);

// Connects, logs in, and quits, without a message.
gate_mail_result gate_mail_verify(gate_mail *mail);

void gate_mail_destroy(gate_mail *mail);

#pragma clang assume_nonnull end

#endif
