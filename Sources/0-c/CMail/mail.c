// SPDX-License-Identifier: Apache-2.0
#include "mail.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TEXT_SIZE = 512, ADDRESS_SIZE = 320, QUIT_SECONDS = 2 };

struct gate_mail {
    CURL *easy;
    int64_t limit_milliseconds;
    int64_t deadline_milliseconds;
    // What remains to be sent.
    const uint8_t *bytes;
    size_t length;
    int has_login;
    int is_logged_in;
    int lacks_login;
    // The last reply but that to QUIT, its lines joined by spaces.
    long code;
    int is_complete;
    int is_data_accepted;
    size_t reply_length;
    char reply[TEXT_SIZE];
    // libcurl's message.
    char error[CURL_ERROR_SIZE];
    char text[TEXT_SIZE];
};

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void start_library(void) { curl_global_init(CURL_GLOBAL_DEFAULT); }

static int set_number(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value) == CURLE_OK;
}

static int set_text(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value) == CURLE_OK;
}

static size_t read_message(char *target, size_t size, size_t count, void *context) {
    gate_mail *self = context;
    size_t length = size * count < self->length ? size * count : self->length;
    memcpy(target, self->bytes, length);
    self->bytes += length;
    self->length -= length;
    return length;
}

// libcurl would print it otherwise.
static size_t discard(char *bytes, size_t size, size_t count, void *context) {
    (void)bytes, (void)context;
    return size * count;
}

static int is_digit(char byte) { return byte >= '0' && byte <= '9'; }

static void append_reply(gate_mail *self, const char *text, size_t length) {
    if (self->reply_length > 0 && self->reply_length < TEXT_SIZE - 1) {
        self->reply[self->reply_length++] = ' ';
    }
    for (size_t index = 0; index < length && self->reply_length < TEXT_SIZE - 1; index += 1) {
        char byte = text[index];
        if (byte == '\r' || byte == '\n') {
            break;
        }
        self->reply[self->reply_length++] = byte >= 0x20 && byte < 0x7F ? byte : '?';
    }
    self->reply[self->reply_length] = '\0';
}

// One line of a reply, `250-text` or `250 text`. RFC 5321 §4.2.1.
static size_t receive_line(char *bytes, size_t size, size_t count, void *context) {
    gate_mail *self = context;
    size_t length = size * count;
    if (length < 3 || !is_digit(bytes[0]) || !is_digit(bytes[1]) || !is_digit(bytes[2])) {
        return length;
    }
    long code = (bytes[0] - '0') * 100 + (bytes[1] - '0') * 10 + (bytes[2] - '0');
    // The reply to QUIT, which libcurl also sends after a rejection.
    if (code == 221) {
        return length;
    }
    if (self->is_complete) {
        self->reply_length = 0;
    }
    self->code = code;
    self->is_complete = length == 3 || bytes[3] != '-';
    append_reply(self, bytes + (length > 4 ? 4 : length), length > 4 ? length - 4 : 0);
    self->is_logged_in = self->is_logged_in || code == 235;
    int is_sent = self->is_data_accepted && code == 250;
    self->is_data_accepted = self->is_data_accepted || code == 354;
    // What comes next is QUIT, or a second try of the same command. libcurl waits for its reply as for any other, and not
    // within the limit of the whole transfer.
    if (is_sent || code >= 400) {
        set_number(self->easy, CURLOPT_SERVER_RESPONSE_TIMEOUT, QUIT_SECONDS);
    }
    return length;
}

static int64_t now_milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

// After a time-out libcurl would send QUIT and wait as long once more.
static int check_deadline(void *caller, curl_off_t total, curl_off_t now, curl_off_t upload_total, curl_off_t upload_now) {
    (void)total, (void)now, (void)upload_total, (void)upload_now;
    const gate_mail *self = caller;
    return now_milliseconds() >= self->deadline_milliseconds;
}

// After connecting, before MAIL FROM: libcurl goes on without the login if the server does not offer AUTH.
static int check_login(void *caller, char *remote, char *local, int remote_port, int local_port) {
    (void)remote, (void)local, (void)remote_port, (void)local_port;
    gate_mail *self = caller;
    self->lacks_login = self->has_login && !self->is_logged_in;
    return self->lacks_login ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

// Neither the environment nor a file changes where a message goes, or with which login.
static int confine(CURL *easy) {
    return set_text(easy, CURLOPT_PROTOCOLS_STR, "smtp,smtps") && set_text(easy, CURLOPT_PROXY, "") &&
           set_text(easy, CURLOPT_NOPROXY, "*") && set_number(easy, CURLOPT_NETRC, CURL_NETRC_IGNORED) &&
           set_number(easy, CURLOPT_DISALLOW_USERNAME_IN_URL, 1) && set_number(easy, CURLOPT_NOSIGNAL, 1) &&
           // Closes the connection within the transfer, whose limit for QUIT applies.
           set_number(easy, CURLOPT_FRESH_CONNECT, 1) && set_number(easy, CURLOPT_FORBID_REUSE, 1);
}

// The server proves its name by a certificate, and STARTTLS comes before anything that matters.
static int secure(CURL *easy, gate_mail_security security) {
    long level = security == GATE_MAIL_PLAIN ? CURLUSESSL_NONE : CURLUSESSL_ALL;
    return set_number(easy, CURLOPT_USE_SSL, level) && set_number(easy, CURLOPT_SSL_VERIFYPEER, 1) &&
           set_number(easy, CURLOPT_SSL_VERIFYHOST, 2) &&
           set_number(easy, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2) &&
           set_number(easy, CURLOPT_SSL_OPTIONS, 0) && set_number(easy, CURLOPT_SSL_SESSIONID_CACHE, 0);
}

static int receive(gate_mail *self) {
    CURL *easy = self->easy;
    return curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, receive_line) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_HEADERDATA, self) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, discard) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, check_login) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PREREQDATA, self) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, check_deadline) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_XFERINFODATA, self) == CURLE_OK && set_number(easy, CURLOPT_NOPROGRESS, 0) &&
           curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, self->error) == CURLE_OK;
}

gate_mail *gate_mail_create(const char *url, gate_mail_security security) {
    pthread_once(&once, start_library);
    gate_mail *self = calloc(1, sizeof *self);
    if (self == NULL) {
        return NULL;
    }
    self->easy = curl_easy_init();
    if (self->easy == NULL || !set_text(self->easy, CURLOPT_URL, url) || !confine(self->easy) ||
        !secure(self->easy, security) || !receive(self) || !gate_mail_limits(self, 20000, 60000)) {
        gate_mail_destroy(self);
        return NULL;
    }
    return self;
}

int gate_mail_login(gate_mail *self, const char *username, const char *password) {
    CURL *easy = self->easy;
    self->has_login = 1;
    // No mechanism that would use other credentials of this machine, and none that servers offer without supporting it.
    return set_text(easy, CURLOPT_LOGIN_OPTIONS, "AUTH=PLAIN;AUTH=LOGIN") &&
           set_text(easy, CURLOPT_USERNAME, username) && set_text(easy, CURLOPT_PASSWORD, password);
}

int gate_mail_trust(gate_mail *self, const char *path) {
    // The directory of the distribution is a default of its own and would be trusted beside the file.
    return set_text(self->easy, CURLOPT_CAINFO, path) && set_text(self->easy, CURLOPT_CAPATH, NULL);
}

int gate_mail_limits(gate_mail *self, int64_t connect_milliseconds, int64_t total_milliseconds) {
    self->limit_milliseconds = total_milliseconds;
    // The limit for one reply is that of all, since a server may scan a message for long before it accepts it.
    return set_number(self->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)connect_milliseconds) &&
           set_number(self->easy, CURLOPT_TIMEOUT_MS, (long)total_milliseconds) &&
           set_number(self->easy, CURLOPT_SERVER_RESPONSE_TIMEOUT, (long)(total_milliseconds / 1000 + 1));
}

// A server that closes the connection in the handshake, as while it restarts, is not one with a wrong certificate.
static int is_lost(const gate_mail *self) {
    return strstr(self->error, "SSL_ERROR_SYSCALL") != NULL || strstr(self->error, "Connection reset") != NULL ||
           strstr(self->error, "unexpected eof") != NULL;
}

static gate_mail_outcome outcome_of_reply(long code) {
    if (code / 100 == 4) {
        return GATE_MAIL_REJECTED_FOR_NOW;
    }
    // RFC 4954 §6: a login is required, too weak, wrong or needs encryption.
    if (code == 530 || code == 534 || code == 535 || code == 538) {
        return GATE_MAIL_LOGIN_REJECTED;
    }
    return GATE_MAIL_REJECTED;
}

static gate_mail_outcome outcome_of(const gate_mail *self, CURLcode code) {
    if (self->lacks_login) {
        return GATE_MAIL_LOGIN_REJECTED;
    }
    int is_rejected = self->is_complete && (self->code / 100 == 4 || self->code / 100 == 5);
    switch (code) {
    case CURLE_OK:
        return GATE_MAIL_SENT;
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_ABORTED_BY_CALLBACK:
        // A server that has got the message may have accepted it: a retry would send it twice. RFC 5321 §4.5.3.2.6.
        return self->is_data_accepted ? GATE_MAIL_OTHER : GATE_MAIL_TIMED_OUT;
    case CURLE_LOGIN_DENIED:
        return self->code / 100 == 4 ? GATE_MAIL_REJECTED_FOR_NOW : GATE_MAIL_LOGIN_REJECTED;
    case CURLE_USE_SSL_FAILED:
        return self->code / 100 == 4 ? GATE_MAIL_REJECTED_FOR_NOW : GATE_MAIL_TLS_FAILED;
    case CURLE_SSL_CONNECT_ERROR:
        return is_lost(self) ? GATE_MAIL_UNREACHABLE : GATE_MAIL_TLS_FAILED;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
        return GATE_MAIL_TLS_FAILED;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
        return GATE_MAIL_UNREACHABLE;
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
        return is_rejected ? outcome_of_reply(self->code) : GATE_MAIL_UNREACHABLE;
    default:
        return is_rejected ? outcome_of_reply(self->code) : GATE_MAIL_OTHER;
    }
}

// libcurl's message names hosts and certificates, never a login or a message.
static void describe(gate_mail *self, gate_mail_outcome outcome, CURLcode code) {
    int is_reply = outcome == GATE_MAIL_REJECTED || outcome == GATE_MAIL_REJECTED_FOR_NOW ||
                   (outcome == GATE_MAIL_LOGIN_REJECTED && self->code >= 400);
    const char *text = self->error[0] != '\0' ? self->error : curl_easy_strerror(code);
    if (outcome == GATE_MAIL_SENT) {
        text = "";
    } else if (self->lacks_login || (code == CURLE_LOGIN_DENIED && self->code < 400)) {
        text = "the server offers neither AUTH PLAIN nor AUTH LOGIN";
    } else if (code == CURLE_ABORTED_BY_CALLBACK) {
        text = "the transfer took too long";
    } else if (is_reply) {
        text = self->reply;
    }
    size_t length = 0;
    for (; text[length] != '\0' && length < TEXT_SIZE - 1; length += 1) {
        self->text[length] = text[length] >= 0x20 && text[length] < 0x7F ? text[length] : '?';
    }
    self->text[length] = '\0';
}

static gate_mail_result perform(gate_mail *self) {
    self->deadline_milliseconds = now_milliseconds() + self->limit_milliseconds;
    CURLcode code = curl_easy_perform(self->easy);
    gate_mail_outcome outcome = outcome_of(self, code);
    describe(self, outcome, code);
    return (gate_mail_result){.outcome = outcome, .code = self->code, .text = self->text};
}

static gate_mail_result without_memory(void) {
    return (gate_mail_result){.outcome = GATE_MAIL_OTHER, .code = 0, .text = "no memory for a transfer"};
}

gate_mail_result gate_mail_send(gate_mail *self, const char *from, const char *to, const uint8_t *bytes, size_t length) {
    CURL *easy = self->easy;
    char sender[ADDRESS_SIZE], recipient[ADDRESS_SIZE];
    snprintf(sender, sizeof sender, "<%s>", from);
    snprintf(recipient, sizeof recipient, "<%s>", to);
    struct curl_slist *recipients = curl_slist_append(NULL, recipient);
    self->bytes = bytes;
    self->length = length;
    if (recipients == NULL || !set_text(easy, CURLOPT_MAIL_FROM, sender) ||
        curl_easy_setopt(easy, CURLOPT_MAIL_RCPT, recipients) != CURLE_OK ||
        curl_easy_setopt(easy, CURLOPT_READFUNCTION, read_message) != CURLE_OK ||
        curl_easy_setopt(easy, CURLOPT_READDATA, self) != CURLE_OK ||
        curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)length) != CURLE_OK ||
        !set_number(easy, CURLOPT_UPLOAD, 1)) {
        curl_slist_free_all(recipients);
        return without_memory();
    }
    gate_mail_result result = perform(self);
    curl_easy_setopt(easy, CURLOPT_MAIL_RCPT, NULL);
    curl_slist_free_all(recipients);
    return result;
}

gate_mail_result gate_mail_verify(gate_mail *self) {
    if (!set_text(self->easy, CURLOPT_CUSTOMREQUEST, "NOOP")) {
        return without_memory();
    }
    return perform(self);
}

void gate_mail_destroy(gate_mail *self) {
    if (self->easy != NULL) {
        curl_easy_cleanup(self->easy);
    }
    free(self);
}
