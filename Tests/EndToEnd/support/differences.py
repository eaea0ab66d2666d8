# SPDX-License-Identifier: Apache-2.0
"""What the gateway may change between a client and an app; whatever is not listed here must arrive as it was sent."""

import re
from collections import Counter, defaultdict

HOP = "it holds for one connection, RFC 9110 §7.6.1"
FRAMING = "each connection has its own framing, RFC 9112 §6; the body is compared instead"
IDENTITY = "the gateway sets it, so it removes what the client sent"

#: Fields of requests that are not compared, with the reason.
REQUEST = {
    "connection": HOP,
    "keep-alive": HOP,
    "proxy-connection": HOP,
    "te": HOP,
    "upgrade": HOP,
    "http2-settings": HOP,
    "transfer-encoding": FRAMING,
    "content-length": FRAMING,
    "trailer": FRAMING,
    "expect": "the gateway reads the body and sends 100 (Continue) itself",
    "forwarded": IDENTITY,
    "x-request-id": IDENTITY,
    "cdn-loop": "the gateway adds itself, RFC 8586, so that it knows a request that comes back",
    "x-gatehouse-assertion": IDENTITY,
    "via": "a proxy adds itself, RFC 9110 §7.6.3",
}
#: Beginnings of names of fields of requests that are not compared.
REQUEST_PREFIXES = {"x-forwarded-": IDENTITY, "x-gatehouse-": IDENTITY}

#: Fields of responses that are not compared, with the reason.
RESPONSE = {
    "connection": HOP,
    "keep-alive": HOP,
    "proxy-connection": HOP,
    "upgrade": HOP,
    "transfer-encoding": FRAMING,
    "trailer": FRAMING,
    "x-request-id": "the gateway returns it, for reports of users",
    "strict-transport-security": "the gateway adds it where it terminates TLS",
    "via": "a proxy adds itself, RFC 9110 §7.6.3",
}
#: Beginnings of names of fields of responses that are not compared.
RESPONSE_PREFIXES = {"x-gatehouse-": "only the gateway sends them; an app that echoes its request does not leak them"}
#: Fields that the gateway adds to a response without one of that name.
RESPONSE_ADDED = {
    "date": "a response without one gets one, RFC 9110 §6.6.1",
    "cache-control": "pages of protected apps without one are not reused after the session has ended",
    "content-length": FRAMING,
}
#: The gateway's own cookies: they never reach an app.
OWN_COOKIE = re.compile(r"^(__Host-)?gatehouse(-[\w-]+)?$")

UNRESERVED = set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
SUB_DELIMITERS = set("!$&'()*+,;=:@")


def canonical(target):
    """The spelling by which two targets are compared: what RFC 3986 §6.2.2 calls the same is the same."""
    path, mark, query = target.partition("?")
    path = re.sub(r"%([0-9A-Fa-f]{2})", _escape, _encoded(path))
    path = re.sub(r"/{2,}", "/", path)
    return path + mark + re.sub(r"%[0-9A-Fa-f]{2}", lambda found: found[0].upper(), _encoded(query))


def _escape(found):
    character = chr(int(found[1], 16))
    return character if character in UNRESERVED | SUB_DELIMITERS else "%" + found[1].upper()


def _encoded(text):
    """With percent-encoding for what RFC 3986 does not admit but the WHATWG URL standard leaves as it is."""
    return "".join(one if "!" <= one <= "~" and one not in '"<>\\^`{|}' else "%%%02X" % ord(one) for one in text)


def cookies(values):
    """The cookies of a request without the gateway's, in order."""
    pairs = [pair.strip() for value in values for pair in value.split(";") if pair.strip()]
    return [pair for pair in pairs if not OWN_COOKIE.match(pair.split("=")[0])]


def request_fields(message):
    """What of a request's fields must arrive."""
    kept = [(name.lower(), value) for name, value in message.fields if name.lower() not in REQUEST
            and name.lower() != "cookie" and not name.lower().startswith(tuple(REQUEST_PREFIXES)) and "_" not in name]
    return Counter(kept + [("cookie", pair) for pair in cookies(message.all("cookie"))])


def response_fields(message, other):
    """What of a response's fields must arrive; `other` is the response it is compared with."""
    there = {name.lower() for name, _ in other.fields}
    unlisted = lambda name: name not in RESPONSE and not name.startswith(tuple(RESPONSE_PREFIXES))
    pairs = [(name.lower(), value) for name, value in message.fields if unlisted(name.lower())]
    pairs = [pair for pair in pairs if pair[0] in there or pair[0] not in RESPONSE_ADDED]
    # Equal lengths are merged into one, RFC 9112 §6.3.
    lengths = {pair for pair in pairs if pair[0] == "content-length"}
    return Counter([pair for pair in pairs if pair not in lengths] + list(lengths))


def request_differences(sent, arrived):
    """How a request that arrived differs from the one that was sent, as lines; none if it may differ so."""
    if sent.method != arrived.method:
        yield f"method {sent.method} arrived as {arrived.method}"
    if canonical(sent.target) != canonical(arrived.target):
        yield f"target {sent.target} arrived as {arrived.target}"
    yield from _counted("request field", request_fields(sent), request_fields(arrived))
    # An app may respond without reading the whole body.
    early = not arrived.is_complete and sent.body.startswith(arrived.body)
    if sent.body != arrived.body and not early:
        yield f"request body of {len(sent.body)} bytes arrived as {len(arrived.body)} bytes"


def response_differences(sent, arrived):
    """How a response that arrived differs from the one that was sent, as lines; none if it may differ so."""
    if sent is None or arrived is None:
        if sent is not arrived:
            yield f"the response {sent} arrived as {arrived}"
        return
    if sent.status != arrived.status:
        yield f"status {sent.status} arrived as {arrived.status}"
    yield from _counted("response field", response_fields(sent, arrived), response_fields(arrived, sent))
    if sent.body != arrived.body:
        yield f"response body of {len(sent.body)} bytes ({sent.body[:60]!r}) arrived as {len(arrived.body)} bytes"
    if sent.is_complete != arrived.is_complete:
        yield f"a response that is {'' if sent.is_complete else 'not '}complete arrived as the opposite"


def _counted(what, sent, arrived):
    for name, value in (sent - arrived).elements():
        yield f"{what} {name}: {value[:200]} did not arrive"
    for name, value in (arrived - sent).elements():
        yield f"{what} {name}: {value[:200]} arrived without being sent"


def differences(client_side, app_side):
    """All differences between the exchanges that clients had and those that the app had, as lines."""
    waiting = defaultdict(list)
    for one in app_side:
        waiting[key(one)].append(one)
    for one in client_side:
        if one.request.target.startswith("/oauth2/"):
            continue
        candidates = waiting[key(one)]
        if not candidates:
            yield f"{one.name}: not forwarded; the client got {one.response}"
            continue
        found = [(list(exchange_differences(one, other)), other) for other in candidates]
        best, other = min(found, key=lambda pair: len(pair[0]))
        candidates.remove(other)
        yield from (f"{one.name}: {line}" for line in best)
    for left in waiting.values():
        yield from (f"{one.name}: the app got a request that no client sent" for one in left)


def key(exchange):
    return exchange.request.method, canonical(exchange.request.target)


def exchange_differences(client, app):
    yield from request_differences(client.request, app.request)
    yield from response_differences(app.response, client.response)
    # A browser that has closed a WebSocket waits neither for the close frame of the app nor for what was sent before.
    late = app.received.removeprefix(client.received)
    has_left = client.sent[-8:-7] == b"\x88"
    if client.sent != app.sent or late and not (has_left and len(late) < len(app.received) or late.startswith(b"\x88")):
        yield f"tunnel: {len(client.sent)} and {len(client.received)} bytes became {len(app.sent)} and {len(app.received)}"
