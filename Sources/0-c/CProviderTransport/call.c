// SPDX-License-Identifier: Apache-2.0
#include "call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "destination.h"
#include "resolver.h"

static int append_field(call *self, const char *line) {
    struct curl_slist *fields = curl_slist_append(self->fields, line);
    if (fields == NULL) {
        return 0;
    }
    self->fields = fields;
    return 1;
}

// Splits lines parted by LF, and takes away what libcurl would add by itself.
static int append_head(call *self, const char *head) {
    char *copy = strdup(head);
    if (copy == NULL) {
        return 0;
    }
    int complete = append_field(self, "Expect:");
    char *rest = copy;
    for (char *line = strsep(&rest, "\n"); line != NULL && complete; line = strsep(&rest, "\n")) {
        complete = *line == '\0' || append_field(self, line);
    }
    explicit_bzero(copy, strlen(head));
    free(copy);
    return complete;
}

call *call_create(uint64_t id, const char *method, const char *address, const char *host, const char *head,
                  const uint8_t *body, int64_t body_length) {
    call *self = calloc(1, sizeof *self);
    if (self == NULL) {
        return NULL;
    }
    self->id = id;
    self->method = strdup(method);
    self->address = strdup(address);
    self->host = strdup(host);
    self->is_secure = strncmp(address, "https:", 6) == 0;
    self->head.limit = CALL_HEAD_LIMIT;
    self->has_body = body_length >= 0;
    self->body.limit = self->has_body ? (size_t)body_length : 0;
    if (self->method == NULL || self->address == NULL || self->host == NULL || !append_head(self, head) ||
        !buffer_append(&self->body, body, self->body.limit)) {
        call_free(self);
        return NULL;
    }
    return self;
}

void call_bind(call *self, const gate_terms *terms, const pin_set *pins) {
    self->response.limit = (size_t)terms->limit;
    self->wants_chain = terms->wants_chain;
    self->wants_handshake = terms->wants_handshake;
    self->enforces_pins = terms->enforces_pins;
    self->pins = pins;
}

static size_t receive_body(char *bytes, size_t size, size_t count, void *context) {
    call *self = context;
    size_t length = size * count;
    if (!buffer_append(&self->response, bytes, length)) {
        self->stopped = length > self->response.limit - self->response.length ? GATE_BODY_TOO_LARGE : GATE_OUT_OF_MEMORY;
        return CURL_WRITEFUNC_ERROR;
    }
    return length;
}

// One field line at a time: interim responses are dropped, trailers only counted.
static size_t receive_head(char *bytes, size_t size, size_t count, void *context) {
    call *self = context;
    size_t length = size * count;
    self->head_seen += length;
    if (self->head_seen > CALL_HEAD_LIMIT) {
        self->stopped = GATE_HEAD_TOO_LARGE;
        return CURL_WRITEFUNC_ERROR;
    }
    if (length >= 5 && memcmp(bytes, "HTTP/", 5) == 0) {
        self->head.length = 0;
        self->head_complete = 0;
        return length;
    }
    if (self->head_complete) {
        return length;
    }
    self->head_complete = length > 0 && (bytes[0] == '\r' || bytes[0] == '\n');
    if (!self->head_complete && !buffer_append(&self->head, bytes, length)) {
        self->stopped = GATE_HEAD_TOO_LARGE;
        return CURL_WRITEFUNC_ERROR;
    }
    return length;
}

static int set_number(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value) == CURLE_OK;
}

static int set_text(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value) == CURLE_OK;
}

// libcurl has made a context for a new connection, whose handshake comes next.
static CURLcode open_handshake(CURL *easy, void *context, void *caller) {
    (void)easy;
    call *self = caller;
    handshake_release(self->handshake);
    chain_free(self->chain);
    self->chain = NULL;
    self->handshake = handshake_begin(context, self->host, self->pins, self->enforces_pins);
    if (self->handshake == NULL) {
        self->stopped = GATE_TLS_FAILED;
        self->failure = GATE_TLS_UNPROVEN;
        return CURLE_ABORTED_BY_CALLBACK;
    }
    return CURLE_OK;
}

// The chain of this call's own handshake is there already.
static int look_at_chain(call *self) {
    if (self->chain == NULL && (self->handshake == NULL || self->handshake->chain == NULL)) {
        self->chain = handshake_chain(self->easy);
        return self->chain != NULL;
    }
    return 1;
}

static int hold_back(call *self, gate_tls_failure failure) {
    self->stopped = GATE_TLS_FAILED;
    self->failure = failure;
    return CURL_PREREQFUNC_ABORT;
}

// Whether a request may be sent twice. RFC 9110 §9.2.2.
static int is_idempotent(const call *self) {
    return strcmp(self->method, "GET") == 0 || strcmp(self->method, "HEAD") == 0;
}

// The last moment before the request leaves, on new and on kept connections.
//
// libcurl comes here again when a kept connection breaks before the first byte of a response, and sends any request over a
// new one. What has left before may have arrived, and nothing else than this prevents that.
static int release_request(void *caller, char *remote, char *local, int remote_port, int local_port) {
    (void)remote, (void)local, (void)remote_port, (void)local_port;
    call *self = caller;
    if (self->has_left && !is_idempotent(self)) {
        self->stopped = GATE_CONNECTION_LOST;
        return CURL_PREREQFUNC_ABORT;
    }
    if (!self->is_secure) {
        self->has_left = 1;
        return self->enforces_pins ? hold_back(self, GATE_TLS_UNPROVEN) : CURL_PREREQFUNC_OK;
    }
    if (!handshake_holds(self->easy, self->pins, self->enforces_pins)) {
        return hold_back(self, GATE_TLS_UNPROVEN);
    }
    if (self->wants_chain && !look_at_chain(self)) {
        return hold_back(self, GATE_TLS_CHAIN_TOO_LARGE);
    }
    self->has_left = 1;
    return CURL_PREREQFUNC_OK;
}

// The chain and the key of the transport; without a pass phrase, so that libcurl never asks for one at a terminal.
static int present(call *self, const trust *trust) {
    CURL *easy = self->easy;
    if (trust->chain == NULL) {
        return 1;
    }
    struct curl_blob chain = {.data = trust->chain, .len = trust->chain_length, .flags = CURL_BLOB_NOCOPY};
    struct curl_blob key = {.data = trust->key, .len = trust->key_length, .flags = CURL_BLOB_NOCOPY};
    return set_text(easy, CURLOPT_SSLCERTTYPE, "PEM") && set_text(easy, CURLOPT_SSLKEYTYPE, "PEM") &&
           set_text(easy, CURLOPT_KEYPASSWD, "") &&
           curl_easy_setopt(easy, CURLOPT_SSLCERT_BLOB, &chain) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_SSLKEY_BLOB, &key) == CURLE_OK;
}

// The peer must prove its name by a certificate that is trusted for this provider.
//
// Authorities of the file are those that were read with it, whatever has become of their file. Of the system's the parsed
// certificates stay for ten minutes in the transport's own multi handle, where no other trust can meet them; without that
// each new connection parses the whole bundle, 18 ms during which other calls wait.
static int secure(call *self, const trust *trust) {
    CURL *easy = self->easy;
    int set = set_number(easy, CURLOPT_SSL_VERIFYPEER, 1) && set_number(easy, CURLOPT_SSL_VERIFYHOST, 2) &&
              set_number(easy, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2) &&
              set_number(easy, CURLOPT_SSL_OPTIONS, 0) && set_number(easy, CURLOPT_SSL_SESSIONID_CACHE, 0) &&
              curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, open_handshake) == CURLE_OK &&
              curl_easy_setopt(easy, CURLOPT_SSL_CTX_DATA, self) == CURLE_OK &&
              set_number(easy, CURLOPT_FRESH_CONNECT, self->wants_handshake) &&
              curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, release_request) == CURLE_OK &&
              curl_easy_setopt(easy, CURLOPT_PREREQDATA, self) == CURLE_OK;
    if (self->enforces_pins && self->pins != NULL && self->pins->text != NULL) {
        // The same question once more, put to libcurl.
        set = set && set_text(easy, CURLOPT_PINNEDPUBLICKEY, self->pins->text);
    }
#if LIBCURL_VERSION_NUM >= 0x075700
    set = set && set_number(easy, CURLOPT_CA_CACHE_TIMEOUT, CALL_TRUST_SECONDS);
#endif
    struct curl_blob authorities = {
        .data = trust->authorities,
        .len = trust->authorities_length,
        .flags = CURL_BLOB_NOCOPY,
    };
    const char *bundle = curl_version_info(CURLVERSION_NOW)->cainfo;
    if (trust->authorities != NULL) {
        set = set && set_text(easy, CURLOPT_CAINFO, NULL) &&
              curl_easy_setopt(easy, CURLOPT_CAINFO_BLOB, &authorities) == CURLE_OK;
    } else if (bundle != NULL) {
        set = set && set_text(easy, CURLOPT_CAINFO, bundle);
    } else {
        return set;
    }
    // The directory of the distribution is a default of its own and would be trusted beside either.
    return set && set_text(easy, CURLOPT_CAPATH, NULL);
}

// Through a tunnel only, so that the proxy sees neither requests nor fields; without one, directly,
// whatever the environment contains. A loopback URL never goes through a proxy.
static int route(call *self, const char *proxy) {
    CURL *easy = self->easy;
    if (proxy == NULL || !self->is_secure) {
        return set_text(easy, CURLOPT_PROXY, "") && set_text(easy, CURLOPT_NOPROXY, "*");
    }
    return set_text(easy, CURLOPT_PROXY, proxy) && set_text(easy, CURLOPT_NOPROXY, "") &&
           set_number(easy, CURLOPT_HTTPPROXYTUNNEL, 1) && set_number(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1) &&
           set_number(easy, CURLOPT_HEADEROPT, CURLHEADER_SEPARATE);
}

// Addresses come from the resolver of the transport. If libcurl misses one, the call fails: its own look-ups cannot be
// left before they end without a wait or a read of freed memory (resolver.h).
static int refuse_look_up(void *state, void *reserved, void *caller) {
    (void)state, (void)reserved;
    const call *self = caller;
    // libcurl asks for IP addresses of version 6 as well, which it reads without a look-up.
    return self->target == NULL || !is_ip_address(self->target, 6);
}

static int bring_addresses(call *self) {
    CURL *easy = self->easy;
    return curl_easy_setopt(easy, CURLOPT_RESOLVER_START_FUNCTION, refuse_look_up) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_RESOLVER_START_DATA, self) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_RESOLVE, self->addresses) == CURLE_OK;
}

// Neither the environment nor earlier calls nor the response changes where a call goes.
//
// HTTP/1.1, so that a call has its connection to itself: on a shared HTTP/2 connection of libcurl 7.88.1 the end of
// one call can break another ("Stream error in the HTTP/2 framing layer").
static int confine(call *self, const trust *trust) {
    CURL *easy = self->easy;
    if (trust->public_only &&
        curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_public_socket) != CURLE_OK) {
        return 0;
    }
    return set_text(easy, CURLOPT_PROTOCOLS_STR, self->is_secure ? "https" : "http") &&
           set_text(easy, CURLOPT_REDIR_PROTOCOLS_STR, "https") && set_number(easy, CURLOPT_FOLLOWLOCATION, 0) &&
           set_number(easy, CURLOPT_NETRC, CURL_NETRC_IGNORED) &&
           set_number(easy, CURLOPT_DISALLOW_USERNAME_IN_URL, 1) && set_number(easy, CURLOPT_PATH_AS_IS, 1) &&
           set_number(easy, CURLOPT_HTTP09_ALLOWED, 0) && set_number(easy, CURLOPT_NOSIGNAL, 1) &&
           set_number(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1) && bring_addresses(self) &&
           set_text(easy, CURLOPT_USERAGENT, "gatehouse");
}

static int describe(call *self) {
    CURL *easy = self->easy;
    int set = set_text(easy, CURLOPT_URL, self->address) &&
              set_number(easy, CURLOPT_NOBODY, strcmp(self->method, "HEAD") == 0) &&
              set_text(easy, CURLOPT_CUSTOMREQUEST, self->method) &&
              curl_easy_setopt(easy, CURLOPT_HTTPHEADER, self->fields) == CURLE_OK;
    if (!self->has_body || !set) {
        return set;
    }
    const char *bytes = self->body.length > 0 ? (const char *)self->body.bytes : "";
    return set_number(easy, CURLOPT_POST, 1) && set_text(easy, CURLOPT_CUSTOMREQUEST, self->method) &&
           curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)self->body.length) == CURLE_OK &&
           set_text(easy, CURLOPT_POSTFIELDS, bytes);
}

static int receive(call *self) {
    CURL *easy = self->easy;
    return curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, receive_body) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEDATA, self) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, receive_head) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_HEADERDATA, self) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, self->text) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PRIVATE, self) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)self->response.limit) == CURLE_OK;
}

static char *copy_of(const char *text, size_t length) {
    char *made = calloc(1, length + 1);
    if (made != NULL) {
        memcpy(made, text, length);
    }
    return made;
}

// The host and port of an address; 0 when memory ran out. An address that libcurl cannot read has none, and the call
// fails later.
static int read_target(call *self, const char *address, const char *host) {
    CURLU *parts = curl_url();
    if (parts == NULL) {
        return 0;
    }
    char *found = NULL;
    char *port = NULL;
    CURLUcode code = curl_url_set(parts, CURLUPART_URL, address, 0);
    code = code == CURLUE_OK ? curl_url_get(parts, CURLUPART_HOST, &found, 0) : code;
    code = code == CURLUE_OK ? curl_url_get(parts, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) : code;
    if (code == CURLUE_OK) {
        size_t length = strlen(found);
        int is_bracketed = length > 2 && found[0] == '[';
        self->target = host != NULL ? strdup(host) : copy_of(found + is_bracketed, length - 2 * (size_t)is_bracketed);
        self->target_port = (uint16_t)strtoul(port, NULL, 10);
    }
    curl_free(found);
    curl_free(port);
    curl_url_cleanup(parts);
    return code == CURLUE_OK ? self->target != NULL : code != CURLUE_OUT_OF_MEMORY;
}

int call_find_target(call *self, const trust *trust) {
    int is_tunnelled = trust->proxy != NULL && self->is_secure;
    return is_tunnelled ? read_target(self, trust->proxy, NULL) : read_target(self, self->address, self->host);
}

int call_set_addresses(call *self, const char *addresses) {
    // With a plus, so that libcurl forgets them again.
    static const char form[] = "+%s:%u:%s";
    size_t size = sizeof form + strlen(self->target) + 5 + strlen(addresses);
    char *text = malloc(size);
    if (text == NULL) {
        return 0;
    }
    snprintf(text, size, form, self->target, (unsigned)self->target_port, addresses);
    self->addresses = curl_slist_append(NULL, text);
    free(text);
    return self->addresses != NULL;
}

int call_prepare(call *self, const trust *trust, int64_t connect_milliseconds, int64_t timeout_milliseconds) {
    self->easy = curl_easy_init();
    if (self->easy == NULL) {
        return 0;
    }
    return secure(self, trust) && present(self, trust) && route(self, trust->proxy) && confine(self, trust) && describe(self) &&
           receive(self) && set_number(self->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)connect_milliseconds) &&
           set_number(self->easy, CURLOPT_TIMEOUT_MS, (long)timeout_milliseconds);
}

static gate_outcome refused(call *self, CURLcode code) {
    self->failure = tls_failure(self->easy, code, self->text);
    return GATE_TLS_FAILED;
}

// With TLS 1.3 the peer looks at the client's certificate after the handshake has ended here. Its alert is lost when the connection
// breaks while the request is written.
static int was_turned_away(const call *self, CURLcode code) {
    int is_lost = code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR || code == CURLE_GOT_NOTHING;
    return is_lost && self->handshake != NULL && self->handshake->asked && self->head_seen == 0;
}

gate_outcome call_outcome(call *self, CURLcode code) {
    if (self->stopped != GATE_COMPLETED) {
        return self->stopped;
    }
    long tunnel = 0;
    curl_easy_getinfo(self->easy, CURLINFO_HTTP_CONNECTCODE, &tunnel);
    if (tunnel != 0 && tunnel / 100 != 2) {
        return GATE_PROXY_REFUSED;
    }
    if (code != CURLE_OK && (is_client_refused(self->text) || was_turned_away(self, code))) {
        self->failure = GATE_TLS_CLIENT_CERTIFICATE;
        return GATE_TLS_FAILED;
    }
    switch (code) {
    case CURLE_OK:
        return GATE_COMPLETED;
    case CURLE_OPERATION_TIMEDOUT:
        return GATE_TIMED_OUT;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
        return GATE_UNREACHABLE;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
    case CURLE_SSL_SHUTDOWN_FAILED:
    case CURLE_SSL_CLIENTCERT:
        return refused(self, code);
    case CURLE_FILESIZE_EXCEEDED:
        return GATE_BODY_TOO_LARGE;
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
        return GATE_CONNECTION_LOST;
    case CURLE_OUT_OF_MEMORY:
        return GATE_OUT_OF_MEMORY;
    default:
        return GATE_MALFORMED;
    }
}

void call_free(call *self) {
    if (self->easy != NULL) {
        curl_easy_cleanup(self->easy);
    }
    for (struct curl_slist *field = self->fields; field != NULL; field = field->next) {
        explicit_bzero(field->data, strlen(field->data));
    }
    curl_slist_free_all(self->fields);
    curl_slist_free_all(self->addresses);
    handshake_release(self->handshake);
    chain_free(self->chain);
    buffer_free(&self->body);
    buffer_free(&self->head);
    buffer_free(&self->response);
    free(self->method);
    free(self->address);
    free(self->host);
    free(self->target);
    free(self);
}
