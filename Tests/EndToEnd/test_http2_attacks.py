# SPDX-License-Identifier: Apache-2.0
"""Frames that attack: the H rows, and the S rows that HTTP/2 can carry."""

import struct

import pytest

from support import http2
from support.http2 import Client, block, frame, get, literal
from support.processes import eventually
from support.raw import request

HOST = ("host", "gate.localhost")


@pytest.fixture
def client(gateway):
    with Client(gateway.tls_port) as client:
        yield client


@pytest.fixture
def others(gateway):
    """Whatever happens on one connection, another is served before and after."""
    with Client(gateway.tls_port) as other:
        assert other.exchange(1, get()).status == 200
        yield other
        assert other.exchange(3, get()).status == 200
    assert request(gateway.port, "/public/x").status == 200


# Streams that are not requests

MALFORMED = [
    ("H-05 CRLF in a value", get("/public/x", ("foo", "b\r\ntransfer-encoding: chunked"))),
    ("H-05 LF in a value", get("/public/x", ("foo", "b\nc"))),
    ("H-05 CR in a value", get("/public/x", ("foo", "b\rc"))),
    ("H-05 NUL in a value", get("/public/x", ("foo", "b\x00c"))),
    ("H-05 DEL in a value", get("/public/x", ("foo", "b\x7fc"))),
    ("H-05 CRLF in a cookie", get("/public/x", ("cookie", "a=b\r\nc: d"))),
    ("H-06 a colon in a name", get("/public/x", ("a:b", "c"))),
    ("H-06 a space in a name", get("/public/x", ("a b", "c"))),
    ("H-06 upper case in a name", get("/public/x", ("Foo", "c"))),
    ("H-06 CRLF in a name", get("/public/x", ("transfer-encoding: chunked\r\nx", "c"))),
    ("H-06 an empty name", get("/public/x", ("", "c"))),
    ("H-06 an unknown pseudo-field", get("/public/x", (":foo", "c"))),
    ("H-06 a pseudo-field after a field", [*get("/public/x")[:3], ("a", "b"), (":path", "/public/x")]),
    ("H-06 a pseudo-field of responses", get("/public/x", (":status", "200"))),
    ("H-07 CRLF in the path", get("/public/x HTTP/1.1\r\nA: b")),
    ("H-07 CRLF in the method", get(method="GET /admin HTTP/1.1\r\n")),
    ("H-07 CRLF in the authority", get(authority="gate.localhost\r\nA: b")),
    ("H-07 no path", get(None)),
    ("H-07 an empty path", get("")),
    ("H-07 no method", get(method=None)),
    ("H-07 no scheme", get(scheme=None)),
    ("H-07 two paths", get("/public/x", (":path", "/public/y"))),
    ("H-07 two methods", [(":method", "GET"), *get()]),
    ("H-07 two authorities", [(":authority", "gate.localhost"), *get()]),
    ("H-09 a space before a value", get("/public/x", ("foo", " b"))),
    ("H-09 a space behind a value", get("/public/x", ("foo", "b "))),
    ("H-09 a tab before a value", get("/public/x", ("foo", "\tb"))),
    ("H-04 connection", get("/public/x", ("connection", "close"))),
    ("H-04 keep-alive", get("/public/x", ("keep-alive", "timeout=5"))),
    ("H-04 proxy-connection", get("/public/x", ("proxy-connection", "keep-alive"))),
    ("H-04 upgrade", get("/public/x", ("upgrade", "h2c"))),
    ("H-04 http2-settings", get("/public/x", ("http2-settings", "AAMAAABk"))),
    ("H-04 te", get("/public/x", ("te", "gzip"))),
    ("H-03 transfer-encoding", get("/public/x", ("transfer-encoding", "chunked"), method="POST")),
    ("H-17 protocol", get("/public/x", (":protocol", "connect-udp"), method="CONNECT")),
]


@pytest.mark.parametrize("fields", [fields for _, fields in MALFORMED], ids=[name for name, _ in MALFORMED])
def test_an_invalid_request_is_reset(fields, client, app, others):
    """H-03 to H-09: the stream is reset, the app gets nothing, the connection stays."""
    before = len(app.requests)
    client.request(1, fields)
    stream = client.over(1)
    assert stream.reset == http2.PROTOCOL_ERROR and stream.response is None, stream
    assert client.exchange(3, get()).status == 200
    assert len(app.requests) == before + 1


# Requests that HTTP/1.1 rejects as well


def rejected():
    for method in ("get", "put", "F" * 33):
        yield "S-39", f"method {method}", get(method=method), 501
    for method in ("TRACE", "TRACK"):
        yield "S-28 S-39", method, get(method=method), 405
    yield "S-28", "CONNECT", [(":method", "CONNECT"), (":authority", "gate.localhost:443")], 405
    yield "S-29", "GET *", get("*"), 400
    yield "H-07", "a path without a slash", get("admin"), 400
    yield "H-07 S-27", "a whole URL as the path", get("https://gate.localhost/public/x"), 400
    yield "H-07", "another scheme", get(scheme="http"), 400
    yield "H-07", "a URL as the scheme", get(scheme="https://evil/"), 400
    for path in ("/public/x#b", "/public/a\\b", "/public/..;/x",
                 "/public/a%00b", "/public/a%0d%0ab", "/public/%zz", "/public/%c0%af", "/public/%"):
        yield "S-30 to S-35", f"path {path}", get(path), 400
    for authority in ("u@gate.localhost", "a, b", "foo/bar", "a:b:c", "gate.localhost:99999", "[::1", "x" * 300):
        yield "H-07 S-26", f"authority {authority[:20]!r}", get(authority=authority), 400
    yield "H-08 S-24", "another host", get("/public/x", ("host", "other.localhost")), 400
    yield "H-08 S-24", "two hosts", get("/public/x", HOST, HOST), 400
    for name in ("x_forwarded_email", "x.webauth.user", "remote_groups", "content_length", "x-a%2d"):
        yield "S-15 S-23 A-08", name, get("/public/x", (name, "evil")), 400
    for name in ("authorization", "content-type"):
        yield "S-21", f"0x80 in {name}", get("/public/x", (name, "a\x80b")), 400
    for name in ("authorization", "origin", "sec-fetch-site"):
        yield "A-38 A-41", f"two {name}", get("/public/x", (name, "a"), (name, "b")), 400
    yield "S-52", "Expect", get("/public/x", ("expect", "x"), method="POST"), 417
    yield "S-55", "a long path", get("/public/" + "a" * 9000), 414
    yield "S-55", "a long field", get("/public/x", ("x-a", "a" * 16_400)), 431
    large = [(":path", "/public/x"), (":authority", "a" * 16_300), (":scheme", "a" * 16_330), (":method", "HEAD")]
    for at in range(4):
        yield "S-55 Y-11", f"large pseudo-fields {at}", large[at:] + large[:at], 431
    yield "S-55", "many fields", get("/public/x", *[("x-a", "b")] * 101), 431
    yield "S-55 H-15", "a large head", get("/public/x", *[("x-a", "b" * 1000)] * 40), 431
    yield "S-55 H-10", "a large cookie", get("/public/x", *[("cookie", f"a{at}=" + "b" * 100) for at in range(170)]), 431


REJECTED = list(rejected())


@pytest.mark.parametrize("row", REJECTED, ids=[f"{row[0]} {row[1]}" for row in REJECTED])
def test_what_http_1_rejects_is_rejected(row, client, app, others):
    """S rows on HTTP/2: the status of HTTP/1.1, or a reset; the app gets nothing, the connection stays."""
    before = len(app.requests)
    data = block(row[2])
    parts = [data[at:at + 16_000] for at in range(0, len(data), 16_000)]
    for at, part in enumerate(parts):
        last = http2.END_HEADERS if at == len(parts) - 1 else 0
        client.send(frame(http2.HEADERS if at == 0 else http2.CONTINUATION, last | (at == 0), 1, part))
    stream = client.over(1)
    if stream.response is None:
        assert stream.reset == http2.PROTOCOL_ERROR and row[3] in (400, 405), stream
    else:
        assert stream.response.status == row[3]
    assert client.exchange(3, get()).status == 200
    assert len(app.requests) == before + 1


def test_y_05_a_body_of_a_safe_method_is_a_body(client, app):
    """Y-05 S-08: Elasticsearch's searches have one; it is never read as a request."""
    client.request(1, get("/public/y05"), end=False)
    client.data(1, b"GET /public/smuggled HTTP/1.1\r\n\r\n", end=True)
    assert client.over(1).response.status == 200
    assert app.seen("/public/y05")[-1].body == b"GET /public/smuggled HTTP/1.1\r\n\r\n"
    assert not app.seen("/public/smuggled ")


@pytest.mark.parametrize("length, body", [("0", b"x" * 10), ("5", b"x" * 10), ("10", b"x" * 5)])
def test_a_wrong_length_resets_the_stream(length, body, client, app, others):
    """H-02: the app never sees a complete request."""
    client.request(1, get("/public/h02", ("content-length", length), method="POST"), end=False)
    client.data(1, body, end=True)
    stream = client.over(1)
    # Where no body was announced, the response may come before the data.
    assert stream.reset == http2.PROTOCOL_ERROR or (length == "0" and stream.response.status == 200), stream
    assert not any(b"x" in one.body and len(one.body) > int(length) for one in app.seen("/public/h02"))
    assert client.exchange(3, get()).status == 200


def test_a_length_with_an_end_of_stream_is_rejected(client, app):
    """H-02: five bytes announced, none sent."""
    before = len(app.requests)
    client.request(1, get("/public/x", ("content-length", "5"), method="POST"))
    assert client.over(1).reset == http2.PROTOCOL_ERROR
    assert len(app.requests) == before


def test_a_host_equal_to_the_authority_is_dropped(client, gateway, app):
    """H-08: one Host reaches the app."""
    assert client.exchange(1, get("/public/h08", ("host", "GATE.localhost"))).status == 200
    assert app.seen("/public/h08")[-1].all("host") == [gateway.authority]


def test_cookie_fields_are_joined(client, app):
    """H-10."""
    crumbs = [("cookie", f"a{at}=b") for at in range(300)]
    assert client.exchange(1, get("/public/h10", *crumbs)).status == 200
    assert app.seen("/public/h10")[-1].all("cookie") == ["; ".join(value for _, value in crumbs)]


def test_trailers_of_requests_are_dropped(client, app):
    """H-18 S-47: managed names and others alike; pseudo-fields reset the stream."""
    client.request(1, get("/public/h18", method="POST"), end=False)
    client.data(1, b"abc")
    trailer = block([("x-auth-request-user", "evil"), ("x-a", "b")])
    client.send(frame(http2.HEADERS, http2.END_HEADERS | http2.END_STREAM, 1, trailer))
    assert client.response(1).status == 200
    seen = app.seen("/public/h18")[-1]
    assert seen.body == b"abc" and b"evil" not in seen.head and b"x-a" not in seen.head
    client.request(3, get("/public/x", method="POST"), end=False)
    client.send(frame(http2.HEADERS, http2.END_HEADERS | http2.END_STREAM, 3, block([(":path", "/admin")])))
    assert client.over(3).reset == http2.PROTOCOL_ERROR


def test_managed_names_are_removed(client, app):
    """S-40 A-08 A-39: names that only the gateway may set are not passed on."""
    names = ["x-auth-request-email", "x-forwarded-user", "remote-user", "x-webauth-user", "grafana-login", "x-real-ip"]
    assert client.exchange(1, get("/public/managed", *[(name, "evil") for name in names])).status == 200
    assert b"evil" not in app.seen("/public/managed")[-1].head


# Floods


def calmed(client, code=http2.ENHANCE_YOUR_CALM):
    """The connection ends with a GOAWAY that has an error code."""
    assert client.end() == code, (client.goaways, client.frames[-5:])
    assert client.is_closed


def test_rapid_reset_ends_the_connection(client, app, others):
    """H-11 CVE-2023-44487: requests that are reset at once; a limited number reaches the app."""
    before = len(app.requests)
    fields = block(get("/public/h11"))
    for start in range(0, 2000, 50):
        data = b""
        for number in range(2 * start + 1, 2 * start + 101, 2):
            data += frame(http2.HEADERS, http2.END_HEADERS | http2.END_STREAM, number, fields)
            data += frame(http2.RST_STREAM, 0, number, struct.pack(">I", http2.CANCEL))
        client.send(data)
        if client.is_closed:
            break
    calmed(client)
    assert len(app.requests) - before <= 260


def test_h_11_resets_of_streams_that_have_ended_are_not_a_flood(client, app):
    """The client of Go resets a stream now and then whose response has just ended; no work ends with that."""
    for number in range(1, 5001, 2):
        assert client.exchange(number, get()).status == 200
        client.send(frame(http2.RST_STREAM, 0, number, struct.pack(">I", http2.CANCEL)))
    assert client.exchange(5001, get()).status == 200
    assert not client.goaways


def test_h_11_resets_of_one_stream_that_has_ended_again_and_again_end_the_connection(client, others):
    client.exchange(1, get())
    client.send(frame(http2.RST_STREAM, 0, 1, struct.pack(">I", http2.CANCEL)) * 3000)
    calmed(client)


@pytest.mark.parametrize("trigger", ["window", "length", "value", "refused"])
def test_made_you_reset_ends_the_connection(trigger, client, app, others):
    """H-12 CVE-2025-8671: streams that the gateway resets count like those that the client resets."""
    before = len(app.requests)
    for number in range(1, 4001, 2):
        if trigger == "window":
            client.request(number, get("/public/h12", method="POST"), end=False)
            client.send(frame(http2.WINDOW_UPDATE, 0, number, struct.pack(">I", 0x7FFFFFFF)))
        elif trigger == "length":
            client.request(number, get("/public/h12", ("content-length", "1"), method="POST"), end=False)
            client.data(number, b"xx", end=True)
        elif trigger == "value":
            client.request(number, get("/public/h12", ("a", "b\nc")))
        else:
            client.request(number, get("/public/h12", ("connection", "close")))
        if client.is_closed:
            break
    calmed(client)
    assert len(app.requests) - before <= 260


@pytest.mark.parametrize(
    "attack, codes", [
        (lambda number: frame(http2.WINDOW_UPDATE, 0, number, struct.pack(">I", 0)), {http2.PROTOCOL_ERROR}),
        (lambda number: frame(http2.PRIORITY, 0, number, b"123"), {http2.FRAME_SIZE_ERROR}),
        (lambda number: frame(http2.WINDOW_UPDATE, 0, 0, struct.pack(">I", 0x7FFFFFFF)), {http2.FLOW_CONTROL_ERROR}),
    ], ids=["window of 0", "short priority", "window of the connection"],
)
def test_made_you_reset_frames_that_end_the_connection_at_once(attack, codes, client, scripted, others):
    """H-12: these frames cannot make the gateway reset stream after stream."""
    scripted("/public/wait", lambda wire, request: wire.more())
    client.request(1, get("/public/wait"))
    client.send(attack(1))
    client.wait(lambda: client.goaways or client.stream(1).reset is not None)
    assert client.goaways and client.goaways[0][1] in codes or client.stream(1).reset in codes


def test_priorities_are_ignored(client, others):
    """H-12: a stream that depends on itself is not an error, because RFC 7540's priorities are ignored."""
    client.request(1, get("/public/x", method="POST"), end=False)
    client.send(frame(http2.PRIORITY, 0, 1, struct.pack(">IB", 1, 16)))
    client.data(1, b"", end=True)
    assert client.response(1).status == 200


def test_data_after_the_end_of_a_stream_is_counted(client, others):
    """H-12: DATA on a stream that the client has ended."""
    for number in range(1, 2001, 2):
        client.request(number, get())
        client.data(number, b"x")
        if client.is_closed:
            break
    client.end()
    assert client.is_closed and client.goaways[-1][1] in (http2.STREAM_CLOSED, http2.ENHANCE_YOUR_CALM,
                                                          http2.PROTOCOL_ERROR)


@pytest.mark.parametrize("size", [0, 1, 1000])
def test_a_flood_of_continuation_ends_the_connection(size, client, others):
    """H-13 CVE-2024-27919: a field section that does not end."""
    client.send(frame(http2.HEADERS, http2.END_STREAM, 1, block(get())))
    part = literal("x-a", "b" * size) if size else b""
    for _ in range(10_000):
        client.send(frame(http2.CONTINUATION, 0, 1, part))
        if client.is_closed:
            break
    client.end()
    assert client.is_closed


FLOODS = {
    "PING": frame(http2.PING, 0, 0, b"12345678"),
    "SETTINGS": http2.settings(),
    "SETTINGS with a table size": http2.settings(_1=0) + http2.settings(_1=65536),
    "PRIORITY": frame(http2.PRIORITY, 0, 1, struct.pack(">IB", 0, 16)),
    "empty DATA": frame(http2.DATA, 0, 1),
    "X-12 DATA that is only padding": frame(http2.DATA, http2.PADDED, 1, bytes([9]) + b"\0" * 9),
    "WINDOW_UPDATE": frame(http2.WINDOW_UPDATE, 0, 0, struct.pack(">I", 1)),
    "DATA of one byte": frame(http2.DATA, 0, 1, b"x"),
}


@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_of_frames_ends_the_connection(name, client, scripted, others):
    """H-14 CVE-2019-9511 to 9518: frames that cost more than they carry."""
    def swallow(wire, request):
        wire.body(request, keep=False)
        wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        return True

    scripted("/public/h14", swallow)
    client.request(1, get("/public/h14", method="POST"), end=False)
    client.exchange(3, get())
    client.socket.settimeout(1)
    for _ in range(400):
        client.send(FLOODS[name] * 50)
        if client.is_closed:
            break
    client.socket.settimeout(15)
    calmed(client)


def test_streams_of_short_messages_do_not_count_as_a_flood(client, app):
    """H-14: twenty thousand messages of twenty bytes each way, as gRPC and server-sent events have them."""
    client.request(1, get("/public/short", method="POST"), end=False)
    window = [65535, 65535]
    take = client.take

    def grants(kind, flags, number, payload):
        if kind == http2.WINDOW_UPDATE:
            window[bool(number)] += int.from_bytes(payload, "big")
        take(kind, flags, number, payload)

    client.take = grants
    message = frame(http2.DATA, 0, 1, b"m" * 20)
    for _ in range(200):
        while min(window) < 2000:
            client.step()
        window[:] = [one - 2000 for one in window]
        client.send(message * 100)
    client.data(1, b"", end=True)
    assert client.response(1).json["length"] == 400_000 and not client.goaways


def test_a_flood_of_unknown_frames_ends_the_connection(client, others):
    """H-14: unknown frames are ignored up to a limit."""
    client.socket.settimeout(1)
    for _ in range(400):
        client.send(frame(0x42, 0, 0, b"x" * 16_000))
        if client.is_closed:
            break
    client.socket.settimeout(15)
    calmed(client)


def test_a_flood_that_is_not_read_is_bounded(gateway, others):
    """H-14 CVE-2019-9512: acknowledgements for a client that does not read are limited."""
    before = gateway.memory_kib()
    with Client(gateway.tls_port) as client:
        client.socket.settimeout(1)
        try:
            for _ in range(2000):
                client.send(FLOODS["PING"] * 100)
                if client.is_closed:
                    break
        except TimeoutError:
            pass
    assert gateway.memory_kib() - before < 30_000


def test_a_window_of_one_byte_ends_the_connection(client, others):
    """H-14 CVE-2019-9511: a window of one byte, opened again and again."""
    client.send(http2.settings(_4=1))
    client.grants = False
    client.wait(lambda: any(kind == http2.SETTINGS and flags & http2.ACK for kind, flags, *_ in client.frames))
    client.request(1, get("/public/" + "x" * 4000))
    for _ in range(3000):
        client.send(frame(http2.WINDOW_UPDATE, 0, 1, struct.pack(">I", 1)) * 3)
        if client.is_closed:
            break
    client.end()
    assert client.is_closed or len(client.stream(1).body) < 5000


def test_an_hpack_bomb_is_stopped(client, gateway, others):
    """H-15: one large field in the table, referred to with one byte each."""
    before = gateway.memory_kib()
    bomb = b"\x40" + http2.integer(3) + b"x-a" + http2.integer(4000) + b"a" * 4000
    first = frame(http2.HEADERS, http2.END_HEADERS | http2.END_STREAM, 1, block(get()) + bomb)
    client.send(first)
    assert client.response(1).status == 200
    for number in range(3, 4001, 2):
        client.send(frame(http2.HEADERS, http2.END_HEADERS | http2.END_STREAM, number, block(get()) + b"\xbe" * 16_000))
        if client.is_closed:
            break
    calmed(client)
    assert gateway.memory_kib() - before < 20_000


def test_many_small_fields_are_counted(client, others):
    """H-15 CVE-2026-49975: fields of no size still cost 32 bytes each."""
    client.request(1, get("/public/x", ("x", "")))
    assert client.response(1).status == 200
    tiny = b"\x40\x01x\x00"
    client.send(frame(http2.HEADERS, http2.END_HEADERS | http2.END_STREAM, 3, block(get()) + tiny + b"\xbe" * 2000))
    assert client.over(3).response.status == 431
    assert client.exchange(5, get()).status == 200


def test_an_hpack_table_size_above_the_limit_is_rejected(client, others):
    """H-15: the decoder's table stays within the announced size."""
    client.send(frame(http2.HEADERS, http2.END_HEADERS | http2.END_STREAM, 1, b"\x3f\xff\xff\x7f" + block(get())))
    assert client.end() == http2.COMPRESSION_ERROR


def test_more_streams_than_allowed_are_rejected(client, scripted, others):
    """RFC 9113 §5.1.2: 100 at a time; libnghttp2 ends the connection of a client that ignores the limit."""
    scripted("/public/hang", lambda wire, request: wire.more())
    client.wait(lambda: any(kind == http2.SETTINGS for kind, *_ in client.frames))
    client.exchange(1, get())
    for number in range(3, 203, 2):
        client.request(number, get("/public/hang"))
    client.request(203, get())
    assert client.end() == http2.PROTOCOL_ERROR


def test_zero_windows_use_bounded_memory(gateway, scripted, others):
    """H-16: 100 large responses that are not read use bounded memory; deadlines are tested in Swift."""
    size = 3_000_000
    scripted("/public/h16", lambda wire, request: wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size + b"x" * size))
    before = gateway.memory_kib()
    with Client(gateway.tls_port, preface=http2.PREFACE + http2.settings(_4=0)) as client:
        client.grants = False
        for number in range(1, 201, 2):
            client.request(number, get("/public/h16"))
        client.wait(lambda: sum(bool(stream.heads) for stream in client.streams.values()) == 100)
        assert not any(kind == http2.DATA for kind, *_ in client.frames)
        eventually(lambda: True, "")
        assert gateway.memory_kib() - before < 60_000


# H-01: cases of h2spec that concern a server

VIOLATIONS = [
    ("3.4 no preface", b"GET / HTTP/1.1\r\n\r\n" + b"x" * 24, {http2.PROTOCOL_ERROR}),
    ("4.2 a frame that is too large", frame(http2.DATA, 0, 1, b"x" * 16_385), {http2.FRAME_SIZE_ERROR}),
    ("4.3 an invalid field section", frame(http2.HEADERS, 5, 1, b"\x82\xff\xff\xff\xff\xff\xff\xff"), {http2.COMPRESSION_ERROR}),
    ("4.3 another frame in a field section", frame(http2.HEADERS, 1, 1, block(get())) + frame(http2.PING, 0, 0, b"x" * 8),
     {http2.PROTOCOL_ERROR}),
    ("5.1 DATA on an idle stream", frame(http2.DATA, 1, 1, b"x"), {http2.PROTOCOL_ERROR}),
    ("5.1 RST_STREAM on an idle stream", frame(http2.RST_STREAM, 0, 1, b"\0\0\0\x08"), {http2.PROTOCOL_ERROR}),
    ("5.1 WINDOW_UPDATE on an idle stream", frame(http2.WINDOW_UPDATE, 0, 1, b"\0\0\0\x08"), {http2.PROTOCOL_ERROR}),
    ("5.1.1 an even stream", frame(http2.HEADERS, 5, 2, block(get())), {http2.PROTOCOL_ERROR}),
    ("6.1 DATA on stream 0", frame(http2.DATA, 1, 0, b"x"), {http2.PROTOCOL_ERROR}),
    ("6.1 padding that is too long", frame(http2.HEADERS, 4, 1, block(get(method="POST")))
     + frame(http2.DATA, 9, 1, b"\x10x"), {http2.PROTOCOL_ERROR}),
    ("6.2 HEADERS on stream 0", frame(http2.HEADERS, 5, 0, block(get())), {http2.PROTOCOL_ERROR}),
    ("6.4 RST_STREAM on stream 0", frame(http2.RST_STREAM, 0, 0, b"\0\0\0\x08"), {http2.PROTOCOL_ERROR}),
    ("6.4 a short RST_STREAM", frame(http2.HEADERS, 4, 1, block(get(method="POST"))) + frame(http2.RST_STREAM, 0, 1, b"\0"),
     {http2.FRAME_SIZE_ERROR}),
    ("6.5 SETTINGS on a stream", frame(http2.SETTINGS, 0, 1), {http2.PROTOCOL_ERROR}),
    ("6.5 an acknowledgement with values", frame(http2.SETTINGS, 1, 0, b"\0\4\0\0\0\1"), {http2.FRAME_SIZE_ERROR}),
    ("6.5 SETTINGS of five bytes", frame(http2.SETTINGS, 0, 0, b"12345"), {http2.FRAME_SIZE_ERROR}),
    ("6.5.2 push of 2", http2.settings(_2=2), {http2.PROTOCOL_ERROR}),
    ("6.5.2 a window that is too large", http2.settings(_4=1 << 31), {http2.FLOW_CONTROL_ERROR}),
    ("6.5.2 frames that are too small", http2.settings(_5=16_383), {http2.PROTOCOL_ERROR}),
    ("6.5.2 frames that are too large", http2.settings(_5=1 << 24), {http2.PROTOCOL_ERROR}),
    ("6.6 a push from a client", frame(http2.PUSH_PROMISE, 4, 1, b"\0\0\0\x02"), {http2.PROTOCOL_ERROR}),
    ("6.7 PING on a stream", frame(http2.PING, 0, 1, b"x" * 8), {http2.PROTOCOL_ERROR}),
    ("6.7 PING of six bytes", frame(http2.PING, 0, 0, b"x" * 6), {http2.FRAME_SIZE_ERROR}),
    ("6.8 GOAWAY on a stream", frame(http2.GOAWAY, 0, 1, b"\0" * 8), {http2.PROTOCOL_ERROR}),
    ("6.9 a window of 0", frame(http2.WINDOW_UPDATE, 0, 0, b"\0" * 4), {http2.PROTOCOL_ERROR}),
    ("6.9 WINDOW_UPDATE of three bytes", frame(http2.WINDOW_UPDATE, 0, 0, b"\0" * 3), {http2.FRAME_SIZE_ERROR}),
    ("6.9.1 a window beyond 2^31", frame(http2.WINDOW_UPDATE, 0, 0, b"\x7f\xff\xff\xff") * 2, {http2.FLOW_CONTROL_ERROR}),
    ("6.10 CONTINUATION alone", frame(http2.CONTINUATION, 4, 1, block(get())), {http2.PROTOCOL_ERROR}),
]


@pytest.mark.parametrize("row", VIOLATIONS, ids=[row[0] for row in VIOLATIONS])
def test_breaking_the_protocol_ends_the_connection(row, gateway, others):
    """H-01."""
    preface = b"" if row[0].startswith("3.4") else http2.PREFACE + http2.settings()
    with Client(gateway.tls_port, preface=preface) as client:
        client.send(row[1])
        assert client.end() in row[2], client.goaways
        assert client.is_closed


def test_x_12_streams_go_up_only(client, app, others):
    """X-12 H-01: HEADERS on a stream that was skipped are a connection error; the app gets nothing."""
    client.exchange(5, get())
    before = len(app.requests)
    client.request(3, get())
    assert client.end() == http2.PROTOCOL_ERROR and client.is_closed, client.goaways
    assert len(app.requests) == before


def test_x_12_late_frames_on_a_reset_stream_are_ignored(client, others):
    """X-12 RFC 9113 §5.1: the client may have sent it before it received the reset."""
    client.request(1, get("/public/x", ("foo", "b\nc"), method="POST"), end=False)
    assert client.over(1).reset == http2.PROTOCOL_ERROR
    client.data(1, b"late", end=False)
    client.send(frame(http2.HEADERS, http2.END_HEADERS | http2.END_STREAM, 1, block([("x-a", "b")])))
    assert client.exchange(3, get()).status == 200


def test_what_is_unknown_is_ignored(client):
    """H-01 RFC 9113 §4.1, §5.5, §6.5.2: unknown frames and settings, PRIORITY on idle streams, padding, PING."""
    client.send(frame(0x42, 0xFF, 0, b"x" * 50) + http2.settings(_255=1))
    client.send(frame(http2.PRIORITY, 0, 7, struct.pack(">IB", 0, 16)))
    padded = bytes([5]) + block(get("/public/x", method="POST")) + b"\0" * 5
    client.send(frame(http2.HEADERS, http2.END_HEADERS | http2.PADDED, 9, padded))
    client.send(frame(http2.DATA, http2.END_STREAM | http2.PADDED, 9, bytes([200]) + b"abc" + b"\0" * 200))
    assert client.response(9).json["length"] == 3
    client.send(frame(http2.PING, 0, 0, b"abcdefgh"))
    assert client.wait(lambda: any(kind == http2.PING and flags & http2.ACK for kind, flags, *_ in client.frames))


def test_rejections_are_counted(gateway, client):
    """Metrics: by the same reasons as over HTTP/1.1."""
    before = gateway.metric("gatehouse_rejected_requests_total")
    client.request(1, get("/public/x", ("connection", "close")))
    client.over(1)
    client.request(3, get("admin"))
    client.over(3)
    assert gateway.metric("gatehouse_rejected_requests_total") == before + 2
