# SPDX-License-Identifier: Apache-2.0
"""Apps over HTTP/2: in the clear and over TLS, correct ones and hostile ones (S-59 to S-66, H-19, R-30)."""

import struct
import threading
import time

import pytest

from support.chains import Authority
from support.h2_server import H2Server, echo
from support.processes import Process, eventually, free_port, nginx
from support.raw import Wire, request


@pytest.fixture
def server():
    made = []

    def make(*arguments, **more):
        made.append(H2Server(*arguments, **more))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_many_requests_share_a_connection(start_gateway, server):
    """`h2c://`: streams of one connection; the request is complete and in HTTP/2's form."""
    app = server()
    gateway = start_gateway(app.address)
    with Wire(gateway.port) as wire:
        for index in range(20):
            wire.send(f"GET /a?b={index} HTTP/1.1\r\nHost: gate.localhost\r\nX-Kept: 1\r\nTE: gzip\r\n\r\n".encode())
            response = wire.response()
            assert response.status == 200 and response.get("x-path") == f"/a?b={index}" and response.body == b"ok"
    assert len(app.connections) == 1
    fields = dict(app.requests[-1].fields)
    assert fields[":method"] == "GET" and fields[":scheme"] == "http" and fields[":authority"] == gateway.authority
    assert fields["x-kept"] == "1" and fields["x-forwarded-proto"] == "http"
    assert not {"host", "connection", "transfer-encoding", "te"} & set(fields)


def test_requests_at_the_same_time(start_gateway, server):
    """One stream that waits delays no other."""
    held = []
    app = server(lambda connection, stream: held.append((connection, stream)) if stream.get(":path") == "/slow"
                 else echo(connection, stream))
    gateway = start_gateway(app.address)
    with Wire(gateway.port) as slow:
        slow.send(b"GET /slow HTTP/1.1\r\nHost: gate.localhost\r\n\r\n")
        eventually(lambda: held, "the slow one is there")
        for _ in range(5):
            assert request(gateway.port, "/fast").status == 200
        held[0][0].response(held[0][1], body=b"late")
        assert slow.response().body == b"late"


@pytest.mark.parametrize("chunked", [False, True])
def test_large_bodies_pass_both_ways(chunked, start_gateway, server):
    """Windows open as bodies are read: 3 MiB up, 3 MiB back, byte for byte."""
    app = server()
    gateway = start_gateway(app.address)
    body = bytes(range(256)) * 4096 * 3
    with Wire(gateway.port, timeout=30) as wire:
        if chunked:
            wire.send(b"POST /x HTTP/1.1\r\nHost: gate.localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
            for start in range(0, len(body), 50_000):
                part = body[start:start + 50_000]
                wire.send(b"%x\r\n%s\r\n" % (len(part), part))
            wire.send(b"0\r\n\r\n")
        else:
            wire.send(b"POST /x HTTP/1.1\r\nHost: gate.localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        assert wire.response().body == body


def test_an_app_that_does_not_read_stops_the_client(start_gateway, server):
    """Flow control: what the app does not read is not buffered in the gateway."""
    app = server()
    app.takes_bodies = False
    gateway = start_gateway(app.address)
    before = gateway.memory_kib()
    with Wire(gateway.port, timeout=1) as wire:
        wire.send(b"POST /x HTTP/1.1\r\nHost: gate.localhost\r\nContent-Length: 100000000\r\n\r\n")
        sent = 0
        with pytest.raises(OSError):
            while sent < 100_000_000:
                wire.send(b"x" * 100_000)
                sent += 100_000
    assert gateway.memory_kib() - before < 30_000


def test_a_client_that_does_not_read_stops_the_app(start_gateway, server):
    """Flow control: the window opens as the client reads the response."""
    done = threading.Event()

    def act(connection, stream):
        def send():
            try:
                connection.response(stream, fields=[("content-length", "20000000")], body=b"x" * 20_000_000)
            except Exception:
                pass
            done.set()

        send()

    app = server(act)
    gateway = start_gateway(app.address)
    before = gateway.memory_kib()
    with Wire(gateway.port) as wire:
        wire.send(b"GET /x HTTP/1.1\r\nHost: gate.localhost\r\n\r\n")
        eventually(lambda: app.requests, "the request is there")
        assert not done.wait(1)
        assert gateway.memory_kib() - before < 30_000
        assert len(wire.response().body) == 20_000_000


def test_the_app_limits_the_streams(start_gateway, server):
    """SETTINGS_MAX_CONCURRENT_STREAMS is kept; further requests go over another connection or wait."""
    held, most = [], []

    def act(connection, stream):
        held.append((connection, stream))
        most.append(sum(1 for one in connection.streams.values() if one.number not in finished))

    finished = set()
    app = server(act, streams=2)
    gateway = start_gateway(app.address)
    assert_first = Wire(gateway.port)
    assert_first.send(b"GET /0 HTTP/1.1\r\nHost: gate.localhost\r\n\r\n")
    eventually(lambda: held, "the first is there")
    wires = [Wire(gateway.port) for _ in range(7)]
    for wire in wires:
        wire.send(b"GET /x HTTP/1.1\r\nHost: gate.localhost\r\n\r\n")
    eventually(lambda: len(held) == 8, "all are there")
    assert max(most) <= 2 and len(app.connections) >= 4
    for connection, stream in held:
        connection.response(stream, body=b"ok")
    for wire in [assert_first, *wires]:
        assert wire.response().body == b"ok"
        wire.close()


def refuse(code):
    def act(connection, stream):
        if stream.get(":path") == "/again" and len([1 for one in connection.server.requests]) == 1:
            with connection.lock:
                connection.h2.reset_stream(stream.number, code)
            connection.flush()
        else:
            echo(connection, stream)

    return act


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_a_refused_stream_is_retried(method, start_gateway, server):
    """R-30: REFUSED_STREAM means that the app has not processed the request, so any method can be retried."""
    app = server(refuse(7))
    assert request(start_gateway(app.address).port, "/again", method=method).status == 200
    assert len(app.requests) == 2


def test_a_reset_stream_is_not_retried(start_gateway, server):
    """R-30: any other code may mean that the app has acted."""
    app = server(refuse(2))
    gateway = start_gateway(app.address)
    assert request(gateway.port, "/again", method="DELETE").status == 502
    assert len(app.requests) == 1
    assert request(gateway.port, "/x").status == 200
    assert app.requests[0].reset is None, "a reset causes no reset, RFC 9113 §5.4.2"


def test_streams_beyond_goaway_are_repeated_elsewhere(start_gateway, server):
    """RFC 9113 §6.8: streams beyond the last one have not been processed."""
    def act(connection, stream):
        if len(connection.server.connections) == 1:
            connection.send(b"\x00\x00\x08\x07\x00" + struct.pack(">III", 0, 0, 0))
        else:
            echo(connection, stream)

    app = server(act)
    assert request(start_gateway(app.address).port, "/x", method="DELETE").status == 200
    assert len(app.connections) == 2


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def literal(name, value):
    return b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value


def responds(*fields, flags=5):
    """Responds with a field section written by hand."""
    def act(connection, stream):
        block = b"".join(literal(name, value) for name, value in fields)
        connection.send(frame(1, flags, stream.number, block))

    return act


OK = (b":status", b"200")
REJECTED = {
    "no status": responds((b"x", b"y")), "S-63 status 1000": responds((b":status", b"1000")), "S-63 status 20":
        responds((b":status", b"20")), "S-62 101": responds((b":status", b"101")), "two statuses": responds(OK, OK),
    "a pseudo-field of requests": responds(OK, (b":path", b"/")), "a pseudo-field behind others":
        responds((b"x", b"y"), OK), "S-61 coding": responds(OK, (b"transfer-encoding", b"chunked")), "connection":
            responds(OK, (b"connection", b"close")), "upper case": responds(OK, (b"X-Up", b"y")), "S-60 CR LF in a value":
                responds(OK, (b"x", b"a\r\nb: c")), "S-60 NUL": responds(OK, (b"x", b"a\x00b")), "S-60 two lengths":
                    responds(OK, (b"content-length", b"1"), (b"content-length", b"2")), "a length without a body":
                        responds(OK, (b"content-length", b"5")), "interim that ends": responds((b":status", b"103")),
    "empty name": responds(OK, (b"", b"y")), "head on another stream": lambda connection, stream: connection.send(
        frame(1, 5, 99, literal(*OK))
    ), "data without a head": lambda connection, stream: connection.send(frame(0, 1, stream.number, b"x")),
    "a frame that is too long": lambda connection, stream: connection.send(b"\xff\xff\xff\x00\x00" + b"\x00" * 4),
    "no frames": lambda connection, stream: connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" * 3),
    "push": lambda connection, stream: connection.send(
        frame(5, 4, stream.number, struct.pack(">I", 2) + literal(b":path", b"/evil"))
    ),
}


@pytest.mark.parametrize("name", REJECTED)
def test_an_invalid_response_is_a_502(name, start_gateway, server):
    """S-60 to S-64 over HTTP/2: nothing of it reaches the client, and the next request works."""
    act = REJECTED[name]
    app = server(lambda connection, stream: act(connection, stream) if stream.get(":path") == "/bad"
                 else echo(connection, stream))
    gateway = start_gateway({"targets": [app.address], "timeouts": {"response": "2s"}})
    response = request(gateway.port, "/bad", fields=[("Accept", "text/html")])
    # A pushed response is refused, and the one to the request never comes.
    assert response.status == (504 if name == "push" else 502) and response.get("content-type").startswith("text/html")
    assert request(gateway.port, "/good").status == 200


def test_our_names_are_dropped(start_gateway, server):
    """S-65 S-66: the gateway's cookie and fields are dropped; URLs stay as they are."""
    app = server(responds(OK, (b"set-cookie", b"gatehouse=evil"), (b"set-cookie", b"theirs=1"), (b"x-gatehouse-x", b"1"),
                      (b"location", b"http://internal/")))
    response = request(start_gateway(app.address).port, "/x")
    assert [value for name, value in response.fields if name.lower() == "set-cookie"] == ["theirs=1"]
    assert not response.get("x-gatehouse-x") and response.get("location") == "http://internal/"


def test_interim_responses_are_not_passed_on(start_gateway, server):
    """S-62: up to eight."""
    def act(connection, stream):
        for _ in range(8 if stream.get(":path") == "/eight" else 9):
            connection.send(frame(1, 4, stream.number, literal(b":status", b"103")))
        connection.send(frame(1, 5, stream.number, literal(*OK)))

    gateway = start_gateway(server(act).address)
    assert request(gateway.port, "/eight").status == 200
    assert request(gateway.port, "/nine").status == 502


def test_an_early_response_stops_the_upload(start_gateway, server):
    """S-59: the rest of the body is not sent: the stream is reset, the connection stays."""
    app = server()
    app.requests = Early(app)
    gateway = start_gateway(app.address)
    with Wire(gateway.port) as wire:
        wire.send(b"POST /early HTTP/1.1\r\nHost: gate.localhost\r\nContent-Length: 100\r\n\r\nx")
        assert wire.response().status == 413
    eventually(lambda: app.requests[0].reset == 0, "the stream is reset without an error")
    assert request(gateway.port, "/x").status == 200


class Early(list):
    """Responds to `/early` as soon as its head is there."""
    def __init__(self, app):
        super().__init__()
        self.app = app

    def append(self, stream):
        super().append(stream)
        if stream.get(":path") == "/early":
            self.app.connections[-1].response(stream, 413)


FLOODS = {
    "PING": frame(6, payload=b"12345678"), "SETTINGS": frame(4), "PRIORITY": frame(2, stream=1, payload=b"\0\0\0\0\1"),
    "RST_STREAM": frame(3, stream=1, payload=b"\0\0\0\2"), "empty DATA": frame(0, stream=1), "unknown": frame(77),
    "WINDOW_UPDATE": frame(8, payload=b"\0\0\0\1"),
}


@pytest.mark.parametrize("name", FLOODS)
def test_h_19_a_flood_ends_the_connection(name, start_gateway, server):
    """H-19: an app that floods frames is disconnected; others work."""
    ended = threading.Event()

    def act(connection, stream):
        if stream.get(":path") != "/flood":
            return echo(connection, stream)
        connection.send(frame(1, 4, stream.number, literal(*OK)))
        connection.socket.settimeout(5)
        try:
            while True:
                connection.send(FLOODS[name] * 1000)
        except OSError:
            ended.set()

    gateway = start_gateway(server(act).address)
    with Wire(gateway.port) as wire:
        wire.send(b"GET /flood HTTP/1.1\r\nHost: gate.localhost\r\n\r\n")
        eventually(ended.is_set, "the flood is cut off", 20)
    assert request(gateway.port, "/x").status == 200


def test_h_19_endless_heads_end_the_connection(start_gateway, server):
    """H-19: CONTINUATION without end, and an HPACK bomb."""
    def act(connection, stream):
        if stream.get(":path") != "/bomb":
            return echo(connection, stream)
        connection.send(frame(1, 0, stream.number, literal(*OK)))
        try:
            for _ in range(10_000):
                connection.send(frame(9, 0, stream.number, literal(b"x", b"y" * 100) * 100))
        except OSError:
            pass

    gateway = start_gateway(server(act).address)
    assert request(gateway.port, "/bomb").status == 502
    assert request(gateway.port, "/x").status == 200


def test_hypercorn_over_h2c(start_gateway, tmp_path):
    """A real app server with prior knowledge."""
    (tmp_path / "hello.py").write_text(
        "async def app(scope, receive, send):\n"
        "    if scope['type'] != 'http': return\n"
        "    body = b''\n"
        "    while True:\n"
        "        part = await receive()\n"
        "        body += part.get('body', b'')\n"
        "        if not part.get('more_body'): break\n"
        "    await send({'type': 'http.response.start', 'status': 200, 'headers': []})\n"
        "    text = scope['http_version'] + ' ' + scope['path'] + ' ' + str(len(body))\n"
        "    await send({'type': 'http.response.body', 'body': text.encode()})\n"
    )
    import sys
    port = free_port()
    app = Process([sys.executable, "-m", "hypercorn", "-b", f"127.0.0.1:{port}", "hello:app"], tmp_path, "hypercorn",
                  cwd=tmp_path)
    app.wait_listening(port)
    gateway = start_gateway(f"h2c://127.0.0.1:{port}")
    assert request(gateway.port, "/x", method="POST", body=b"z" * 300_000).text == "2 /x 300000"
    app.stop()


def test_nginx_over_h2(start_gateway, tmp_path):
    """`h2://`: ALPN over TLS with nginx; a server with HTTP/1.1 only is rejected."""
    root = Authority("h2 root")
    cert, key = root.issue("localhost").files(tmp_path, "server")
    port, other = free_port(), free_port()
    servers = "".join(
        f"server {{ listen 127.0.0.1:{number} ssl{options}; ssl_certificate {cert}; ssl_certificate_key {key};"
        "location / { return 200 $server_protocol; } }\n" for number, options in ((port, " http2"), (other, ""))
    )
    app = nginx(tmp_path, "h2", servers)
    app.wait_listening(port)
    tls = {"ca_file": root.file(tmp_path)}
    gateway = start_gateway({"targets": [f"h2://localhost:{port}"], "tls": tls})
    for _ in range(5):
        assert request(gateway.port, "/x").text == "HTTP/2.0"
    assert request(start_gateway({"targets": [f"h2://localhost:{other}"], "tls": tls}).port, "/x").status == 502
    app.stop()


def test_a_late_response_is_cancelled(start_gateway, server):
    """`timeouts.response` applies to each stream; the app gets CANCEL."""
    app = server(lambda connection, stream: None)
    gateway = start_gateway({"targets": [app.address], "timeouts": {"response": "1s"}})
    began = time.monotonic()
    assert request(gateway.port, "/x").status == 504 and time.monotonic() - began < 4
    eventually(lambda: app.requests[0].reset == 8, "the stream is cancelled")


def test_a_client_that_disconnects_cancels_its_upstream_stream(start_gateway, server):
    """K-11: the app gets CANCEL."""
    app = server(lambda connection, stream: None)
    gateway = start_gateway(app.address)
    wire = Wire(gateway.port)
    wire.send(b"GET /x HTTP/1.1\r\nHost: gate.localhost\r\n\r\n")
    eventually(lambda: app.requests, "the request is there")
    wire.close()
    eventually(lambda: app.requests[0].reset == 8, "the stream is cancelled")
    assert len(app.connections) == 1
