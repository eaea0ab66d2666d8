# SPDX-License-Identifier: Apache-2.0
"""WebSockets through the gateway: the handshake both ways (S-53, S-54, S-62, H-17), the tunnel, and its end."""

import os
import signal
import socket
import struct
import threading
import time
from contextlib import ExitStack

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from support.browser import Browser
from support.chromium import CHROMIUM, Chromium
from support.gateway import Gateway, oidc
from support.http2 import Client, DATA, frame as h2_frame, get
from support.processes import eventually, free_port
from support.raw import Wire, tls_context
from support.upstream import Upstream
from support.websockets import agrees, frame, handshake, opened, unmasked


@pytest.fixture(scope="module")
def scripted_app():
    app = Upstream()
    yield app
    app.close()


def apps(echo, scripted):
    return {
        "chat": {"path": "/", "upstream": echo, "allow": "signed_in", "websocket": True, "public": ["/public/"],
                 "websocket_origins": ["https://portal.example.com"]},
        "raw": {"path": "/raw/", "upstream": scripted, "allow": "signed_in", "websocket": True, "public": ["/raw/"]},
        "private": {"path": "/private/", "upstream": scripted, "allow": "signed_in", "websocket": True},
        "any": {"path": "/any/", "upstream": echo, "allow": "signed_in", "websocket": True, "public": ["/any/"],
                "websocket_origins": ["*"]},
        "short": {"path": "/short/", "allow": "signed_in", "websocket": True, "public": ["/short/"],
                  "upstream": {"targets": [echo], "timeouts": {"tunnel": "500ms"}}},
        "none": {"path": "/none/", "upstream": scripted, "allow": "signed_in", "websocket": False, "public": ["/none/"]},
        "events": {"path": "/events/", "allow": "signed_in", "public": ["/events/"],
                   "upstream": {"targets": [scripted], "timeouts": {"idle": "500ms", "response": "500ms"}}},
        "polls": {"path": "/polls/", "allow": "signed_in", "public": ["/polls/"], "streaming": True,
                  "upstream": {"targets": [scripted], "timeouts": {"idle": "500ms", "response": "500ms"}}},
    }


def make(folder, provider_server, certificates, echo, scripted, sessions=None, **more):
    tls_port = free_port()
    cert, key = certificates["gate"]
    gateway = Gateway(
        folder, {"mock": oidc(provider_server.realm("mock").issuer)}, apps(echo.address, scripted.address),
        listeners=[{"address": f"127.0.0.1:{tls_port}", "tls": [{"certificate": cert, "private_key": key}]}],
        gateway=more, sessions=sessions,
    )
    gateway.tls_port = tls_port
    return gateway


@pytest.fixture(scope="module")
def own_gateway(tmp_path_factory, provider_server, certificates, echo, scripted_app):
    with make(tmp_path_factory.mktemp("ws"), provider_server, certificates, echo, scripted_app) as gateway:
        yield gateway


@pytest.fixture
def own(tmp_path, provider_server, certificates, echo, scripted_app):
    """A gateway for one test."""
    gateway = make(tmp_path, provider_server, certificates, echo, scripted_app,
                   drain={"delay": "0s", "timeout": "6s"}).start()
    yield gateway
    gateway.kill()


def signed_in(gateway, realm):
    browser = Browser(gateway)
    assert browser.visit("/oauth2/start/mock?rd=/oauth2/userinfo").status == 200
    browser.cookie = "; ".join(f"{name}={value}" for name, value in browser.cookies[gateway.host].items())
    return browser


@pytest.fixture
def ada(own_gateway, realm):
    return signed_in(own_gateway, realm)


def test_messages_go_both_ways_and_the_app_gets_the_identity(own_gateway, ada, echo):
    """The tunnel; the app gets identity and handshake, and not the session cookie."""
    with opened(own_gateway, "/messages", ada.cookie, own_gateway.origin, subprotocols=["other", "chat"]) as client:
        assert client.subprotocol == "chat"
        for size in (0, 1, 125, 126, 65535, 65536, 300_000):
            client.send(b"m" * size)
            assert client.recv() == b"m" * size
        client.send("text")
        assert client.recv() == "text"
        assert own_gateway.metric("gatehouse_tunnels") == 1
    seen = echo.requests[-1].headers
    assert seen["X-Forwarded-User"] == "mock:ada" and seen["X-Forwarded-Proto"] == "http"
    assert seen["Connection"] == "Upgrade" and seen.get_all("Upgrade") == ["websocket"]
    assert "gatehouse" not in seen.get("Cookie", "")
    eventually(lambda: own_gateway.metric("gatehouse_tunnels") == 0, "the tunnel is gone")
    assert own_gateway.metric('gatehouse_requests_total{app="chat",class="1xx"}') >= 1


def test_a_tunnel_behind_tls(own_gateway, ada):
    """`wss:` over HTTP/1.1: bytes, and the close frame at the end of the session."""
    sock = socket.create_connection(("127.0.0.1", own_gateway.tls_port), timeout=15)
    with connect(f"wss://{own_gateway.host}:{own_gateway.tls_port}/messages", sock=sock, ssl=tls_context(), origin=own_gateway.origin,
                 additional_headers={"Cookie": ada.cookie}, max_size=None) as client:
        client.send(b"t" * 3_000_000)
        assert client.recv() == b"t" * 3_000_000
        ada.sign_out()
        with pytest.raises(ConnectionClosed) as closed:
            client.recv(timeout=5)
        assert closed.value.rcvd.code == 1008


def test_a_client_without_a_session_gets_no_tunnel(own_gateway, echo):
    """Session and policy come first: 401 for an API client, and the app gets nothing."""
    before = len(echo.requests)
    with pytest.raises(InvalidStatus) as refused:
        opened(own_gateway, "/messages", origin=own_gateway.origin)
    assert refused.value.response.status_code == 401
    assert len(echo.requests) == before


@pytest.mark.parametrize(
    "path, origin, more, status", [
        ("/public/x", "own", {}, 101), ("/public/x", "https://portal.example.com", {}, 101),
        ("/public/x", None, {}, 101), ("/any/x", "https://evil.example", {}, 101),
        ("/public/x", "https://evil.example", {}, 403), ("/public/x", "null", {}, 403),
        ("/public/x", None, {"Sec-Fetch-Site": "cross-site"}, 403), ("/public/x", None, {"Sec-Fetch-Mode": "websocket"}, 403),
        ("/public/x", "https://portal.example.com.evil.example", {}, 403),
        ("/public/x", "http://portal.example.com", {}, 403),
    ],
)
def test_websockets_are_limited_to_allowed_origins(path, origin, more, status, own_gateway):
    """S-54: the app's own origin, those of the file, and clients other than browsers."""
    lines = {"Origin": own_gateway.origin if origin == "own" else origin, **more}
    with Wire(own_gateway.port) as wire:
        wire.send(handshake(path, lines=lines))
        head = wire._until(b"\r\n\r\n").decode()
        assert head.startswith(f"HTTP/1.1 {status} "), head
        if status == 403:
            assert b"request.cross_site_websocket" in wire.rest()


@pytest.mark.parametrize(
    "lines, more, status, code", [
        ({"Sec-WebSocket-Version": "1337"}, {}, 426, "request.websocket_version"),
        ({"Sec-WebSocket-Version": "8"}, {}, 426, "request.websocket_version"),
        ({"Sec-WebSocket-Version": None}, {}, 400, "request.websocket"),
        ({"Sec-WebSocket-Key": None}, {}, 400, "request.websocket"),
        ({"Sec-WebSocket-Key": "dGhlIA=="}, {}, 400, "request.websocket"),
        ({"Connection": "keep-alive"}, {}, 400, "request.websocket"),
        ({"Upgrade": "websocket, h2c"}, {}, 400, "request.websocket"),
        ({"Upgrade": "websocket\r\nUpgrade: websocket"}, {}, 400, "request.websocket"),
        ({"Content-Length": "5"}, {}, 400, "request.websocket"),
        ({}, {"method": "POST"}, 400, "request.websocket"),
        ({}, {"version": "1.0"}, 400, "request.websocket"),
    ],
)
def test_an_invalid_handshake_is_rejected(lines, more, status, code, own_gateway, scripted_app):
    """S-54: rejected before the app gets it, and what follows is not read as a request."""
    before = len(scripted_app.requests)
    with Wire(own_gateway.port) as wire:
        wire.send(handshake("/raw/x", lines=lines, **more) + b"GET /raw/smuggled HTTP/1.1\r\nHost: gate.localhost\r\n\r\n")
        response = wire.response()
        assert response.status == status and code in response.text, response
        assert response.get("sec-websocket-version") == ("13" if status == 426 else None)
        assert wire.rest() == b""
    assert len(scripted_app.requests) == before


def test_an_app_without_websockets_gets_an_ordinary_request(own_gateway, scripted_app):
    """S-53: `Upgrade` is removed where the route does not allow it."""
    with Wire(own_gateway.port) as wire:
        wire.send(handshake("/none/x"))
        assert wire.response().status == 200
        wire.send(b"GET /none/next HTTP/1.1\r\nHost: gate.localhost\r\n\r\n")
        assert wire.response().status == 200
    assert not {"upgrade", "connection"} & set(scripted_app.seen("/none/x")[-1].names)


@pytest.mark.parametrize("upgrade", ["h2c", "foo", "TLS/1.0"])
def test_other_upgrades_are_removed(upgrade, own_gateway, scripted_app):
    """S-53: also where WebSockets are allowed."""
    with Wire(own_gateway.port) as wire:
        wire.send(handshake("/raw/other", lines={"Upgrade": upgrade, "HTTP2-Settings": "AAMAAABkAAQAAP__"}))
        assert wire.response().status == 200
    assert not {"upgrade", "connection", "http2-settings"} & set(scripted_app.seen("/raw/other")[-1].names)


WRONG = {
    "accept": lambda head: head.replace(b"Sec-WebSocket-Accept: ", b"Sec-WebSocket-Accept: A"),
    "upgrade": lambda head: head.replace(b"Upgrade: websocket", b"Upgrade: h2c"),
    "connection": lambda head: head.replace(b"Connection: Upgrade", b"Connection: keep-alive"),
    "protocol": lambda head: head.replace(b"\r\n\r\n", b"\r\nSec-WebSocket-Protocol: other\r\n\r\n"),
    "extension": lambda head: head.replace(b"\r\n\r\n", b"\r\nSec-WebSocket-Extensions: other\r\n\r\n"),
}


@pytest.mark.parametrize("what", WRONG)
def test_an_app_with_an_invalid_handshake_response_gets_no_tunnel(what, own_gateway, scripted_app):
    """S-54: 502, and both connections are closed."""
    ended = threading.Event()

    def act(connection, request):
        connection.send(WRONG[what](agrees(request)))
        if not connection.more():
            ended.set()

    scripted_app.script("/raw/wrong", act)
    with Wire(own_gateway.port) as wire:
        wire.send(handshake("/raw/wrong"))
        response = wire.response()
        assert response.status == 502 and "upstream.websocket" in response.text
        assert wire.rest() == b""
    assert ended.wait(10)


@pytest.mark.parametrize("status", [200, 400, 426])
def test_a_final_response_to_a_handshake_closes_both_connections(status, own_gateway, scripted_app):
    """S-54: the response is passed on, then both connections close, so that frames are never read as requests."""
    ended = threading.Event()

    def act(connection, request):
        connection.send(f"HTTP/1.1 {status} No\r\nContent-Length: 2\r\n\r\nno".encode())
        if not connection.more():
            ended.set()

    scripted_app.script("/raw/no", act)
    with Wire(own_gateway.port) as wire:
        wire.send(handshake("/raw/no") + b"GET /raw/smuggled HTTP/1.1\r\nHost: gate.localhost\r\n\r\n")
        response = wire.response()
        assert response.status == status and response.body == b"no" and response.get("connection") == "close"
        assert wire.rest() == b""
    assert ended.wait(2), "the connection was kept"
    assert not scripted_app.seen("/raw/smuggled")


def test_the_hop_by_hop_fields_of_a_101_stay_behind(own_gateway, scripted_app):
    """S-62: the gateway's cookie cannot be set; frames that come with the 101 pass."""
    more = ["Keep-Alive: timeout=5", "Proxy-Authenticate: x", "X-Kept: yes", "Set-Cookie: gatehouse=evil", "X-Named: x"]

    def act(connection, request):
        head = agrees(request, *more).replace(b"Connection: Upgrade", b"Connection: Upgrade, X-Named")
        connection.send(head + frame(b"hello", mask=False))
        connection.more()

    scripted_app.script("/raw/hop", act)
    with Wire(own_gateway.port) as wire:
        wire.send(handshake("/raw/hop") + frame(b"early"))
        head = wire._until(b"\r\n\r\n").decode()
        assert head.startswith("HTTP/1.1 101 Sure\r\n") and "X-Kept: yes" in head
        for gone in ("keep-alive", "proxy-auth", "set-cookie", "x-named", "content-length", "transfer-encoding"):
            assert gone not in head.lower()
        assert wire.rest() == frame(b"hello", mask=False)


def test_101_without_a_handshake_is_rejected(own_gateway, scripted_app):
    """S-62: no tunnel was requested."""
    def act(connection, request):
        connection.send(agrees(request))

    scripted_app.script("/raw/unasked", act)
    with Wire(own_gateway.port) as wire:
        wire.send(b"GET /raw/unasked HTTP/1.1\r\nHost: gate.localhost\r\n\r\n")
        assert wire.response().status == 502


def test_sign_out_ends_the_tunnel(own_gateway, realm, echo):
    """The tunnel is closed with 1008 within a second, the app's side as well; others stay open."""
    ada, again = signed_in(own_gateway, realm), signed_in(own_gateway, realm)
    with (opened(own_gateway, "/messages", ada.cookie, own_gateway.origin) as client,
          opened(own_gateway, "/messages", again.cookie, own_gateway.origin) as other):
        client.send("x")
        assert client.recv() == "x"
        began = time.monotonic()
        ada.sign_out()
        with pytest.raises(ConnectionClosed) as closed:
            client.recv(timeout=5)
        assert time.monotonic() - began < 1
        assert closed.value.rcvd.code == 1008
        eventually(lambda: 1008 in echo.closes, "the app hears of it")
        other.send("y")
        assert other.recv() == "y"


def test_a_session_has_at_most_64_tunnels_per_loop(own_gateway, realm):
    """64 on each event loop; the next is rejected, and another user still gets one."""
    ada, bob = signed_in(own_gateway, realm), signed_in(own_gateway, realm)
    most = 64 * len(os.sched_getaffinity(0))
    with ExitStack() as stack:
        with pytest.raises(InvalidStatus) as refused:
            for _ in range(most + 1):
                stack.enter_context(opened(own_gateway, "/messages", ada.cookie, own_gateway.origin))
        assert refused.value.response.status_code == 429
        assert b"request.too_many_websockets" in refused.value.response.body
        stack.enter_context(opened(own_gateway, "/messages", bob.cookie, own_gateway.origin))


@pytest.mark.parametrize("completes", [True, False])
def test_a_sign_out_in_the_middle_of_a_frame(completes, own_gateway, realm, scripted_app):
    """The client gets the rest of the frame at hand, then the close frame, and nothing between; the app gets nothing."""
    ada, whole = signed_in(own_gateway, realm), frame(b"a" * 1000, mask=False)
    half_sent, going, received = threading.Event(), threading.Event(), []

    def act(connection, request):
        connection.send(agrees(request) + whole[:500])
        connection.more()
        half_sent.set()
        going.wait(10)
        if completes:
            connection.send(whole[500:] + frame(b"late", mask=False))
        while connection.more():
            pass
        received.append(connection.buffer)

    scripted_app.script("/private/middle", act)
    with Wire(own_gateway.port) as wire:
        wire.send(handshake("/private/middle", lines={"Cookie": ada.cookie}))
        assert b" 101 " in wire._until(b"\r\n\r\n")
        while len(wire.buffer) < 500:
            assert wire._more()
        ada.sign_out()
        assert half_sent.wait(5)
        wire.send(frame(b"still here"))
        threading.Timer(0.2, going.set).start()
        rest = wire.rest()
    if completes:
        assert rest == whole + frame(struct.pack(">H", 1008) + b"the session has ended", 8, mask=False)
    else:
        assert rest == whole[:500]
    eventually(lambda: received, "the app's side ends")
    opcode, payload, more = unmasked(received[0])
    assert (opcode, payload[:2], more) == (8, struct.pack(">H", 1008), b"")


def test_a_policy_reload_ends_the_tunnel(own, realm):
    """The policy in force decides, not the one at the start of the tunnel."""
    ada = signed_in(own, realm)
    with opened(own, "/messages", ada.cookie, own.origin) as client:
        client.send("x")
        assert client.recv() == "x"
        own.configuration["apps"]["chat"]["max_body"] = "1MiB"
        own.write()
        own.reload()
        eventually(lambda: own.metric('gatehouse_reloads_total{result="ok"}') >= 2, "read again")
        time.sleep(0.6)
        client.send("y")
        assert client.recv(timeout=5) == "y"
        own.configuration["apps"]["chat"]["allow"] = [{"email": "bob@else.example"}]
        own.write()
        own.reload()
        with pytest.raises(ConnectionClosed) as closed:
            client.recv(timeout=10)
        assert closed.value.rcvd.code == 1008


def test_a_drain_closes_tunnels_five_seconds_before_its_timeout(own, realm):
    """1001 five seconds before `drain.timeout`; the exit code is 0."""
    ada = signed_in(own, realm)
    with opened(own, "/messages", ada.cookie, own.origin) as client:
        began = time.monotonic()
        os.kill(own.process.pid, signal.SIGTERM)
        with pytest.raises(ConnectionClosed) as closed:
            client.recv(timeout=10)
    assert closed.value.rcvd.code == 1001 and 0.7 < time.monotonic() - began < 3
    assert own.process.child.wait(10) == 0, own.process.log[-3000:]


def test_a_silent_tunnel_ends(own_gateway):
    """`timeouts.tunnel`: both directions idle; occasional frames keep the tunnel open."""
    with opened(own_gateway, "/short/x", origin=own_gateway.origin) as client:
        for _ in range(5):
            time.sleep(0.2)
            client.send("x")
            assert client.recv(timeout=5) == "x"
        with pytest.raises(ConnectionClosed) as closed:
            client.recv(timeout=5)
        assert closed.value.rcvd.code == 1001


def test_the_end_of_one_side_ends_the_other(own_gateway, scripted_app, echo):
    """Either side's close reaches the other, after all that was sent before."""
    def act(connection, request):
        connection.send(agrees(request) + b"".join(frame(b"z" * 100_000, mask=False) for _ in range(20)))

    scripted_app.script("/raw/leaves", act)
    with Wire(own_gateway.port) as wire:
        wire.send(handshake("/raw/leaves"))
        assert b" 101 " in wire._until(b"\r\n\r\n")
        assert len(wire.rest()) == 20 * len(frame(b"z" * 100_000, mask=False))
    before = len(echo.closes)
    wire = Wire(own_gateway.port)
    wire.send(handshake("/public/gone"))
    assert b" 101 " in wire._until(b"\r\n\r\n")
    wire.socket.close()
    eventually(lambda: len(echo.closes) > before, "the app hears that the client is gone")


@pytest.mark.parametrize("way", ["flood", "sink"])
def test_large_messages_pass_with_flat_memory(way, own_gateway, ada):
    """100 MiB each way, to a client that reads slowly at first: back-pressure."""
    count = 1600
    with opened(own_gateway, f"/{way}", ada.cookie, own_gateway.origin, compression=None) as client:
        before = own_gateway.memory_kib()
        client.send(str(count))
        if way == "flood":
            time.sleep(1)
            assert own_gateway.memory_kib() - before < 24_000
            assert sum(len(client.recv()) for _ in range(count)) == count * 65536
        else:
            for _ in range(count):
                client.send(b"y" * 65536)
            assert client.recv(timeout=60) == str(count * 65536)
        assert own_gateway.memory_kib() - before < 24_000


# HTTP/2


def extended(path, *fields, version="13", protocol="websocket"):
    return get(path, (":protocol", protocol), ("sec-websocket-version", version), *fields, method="CONNECT")


def test_an_extended_connect_carries_a_websocket(own_gateway, ada, echo):
    """RFC 8441: 200, then frames in DATA frames both ways; the app sees a handshake of HTTP/1.1."""
    with Client(own_gateway.tls_port) as client:
        fields = [("origin", own_gateway.origin), ("cookie", ada.cookie), ("sec-websocket-protocol", "chat")]
        client.request(1, extended("/messages", *fields), end=False)
        client.wait(lambda: client.stream(1).heads)
        head = client.stream(1).response
        assert head.status == 200 and head.get("sec-websocket-protocol") == "chat", client.stream(1)
        assert not {"connection", "upgrade"} & {name for name, _ in head.fields}
        for size in (5, 20_000):
            client.stream(1).body = b""
            data = frame(b"q" * size)
            for start in range(0, len(data), 16_000):
                client.data(1, data[start:start + 16_000])
            expected = frame(b"q" * size, mask=False)
            client.wait(lambda: len(client.stream(1).body) >= len(expected))
            assert client.stream(1).body == expected
        assert echo.requests[-1].headers["X-Forwarded-User"] == "mock:ada"
        client.stream(1).body = b""
        ada.sign_out()
        stream = client.over(1)
        assert unmasked(stream.body)[:2] == (8, struct.pack(">H", 1008) + b"the session has ended")
        assert client.exchange(3, get("/oauth2/userinfo")).status == 401


def test_many_short_messages_over_http2_do_not_count_as_a_flood(own_gateway):
    """Tiny frames of a body are counted as a flood; those of a tunnel are not."""
    with Client(own_gateway.tls_port) as client:
        client.request(1, extended("/any/x"), end=False)
        client.wait(lambda: client.stream(1).heads)
        one, other = h2_frame(DATA, 0, 1, frame(b"k")), frame(b"k", mask=False)
        for round in range(1, 101):
            client.send(one * 100)
            client.wait(lambda: len(client.stream(1).body) >= round * 100 * len(other))
        assert client.stream(1).body == other * 10_000 and not client.goaways


@pytest.mark.parametrize(
    "fields, status", [
        (lambda gateway: extended("/messages", ("origin", gateway.origin)), 401),
        (lambda gateway: extended("/public/x", ("origin", "https://evil.example")), 403),
        (lambda gateway: extended("/public/x", version="8"), 426),
        (lambda gateway: extended("/public/x", ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")), 400),
        (lambda gateway: extended("/none/x"), 400), (lambda gateway: extended("/oauth2/userinfo"), 400),
    ],
)
def test_an_extended_connect_is_checked_as_any_handshake(fields, status, own_gateway, scripted_app):
    """H-17, S-54: the same rules as over HTTP/1.1, and only where the route allows WebSockets."""
    before = len(scripted_app.requests)
    with Client(own_gateway.tls_port) as client:
        client.request(1, fields(own_gateway), end=False)
        assert client.response(1).status == status
        assert client.exchange(3, get("/raw/after")).status == 200
    assert len(scripted_app.requests) == before + 1


def in_flight(gateway):
    return gateway.operation("/status").json()["requests_in_flight"]


def test_a_connect_that_ends_before_the_tunnel_leaks_nothing(own_gateway, scripted_app):
    """The stream ends before the app has responded: nothing of it stays in progress or mixes with later requests."""
    going = threading.Event()

    def slow(connection, request):
        going.wait(20)
        return True

    scripted_app.script("/raw/slow", slow)
    before = in_flight(own_gateway)
    with Client(own_gateway.tls_port) as client:
        client.request(1, extended("/raw/slow"), end=False)
        scripted_app.wait_for("/raw/slow")
        client.send(h2_frame(DATA, 1, 1, b""))
        assert client.over(1).reset is not None
        for number in range(3, 23, 2):
            assert client.exchange(number, get("/raw/next")).status == 200
        eventually(lambda: in_flight(own_gateway) == before, "nothing is in progress")
        going.set()
        assert client.exchange(23, get("/raw/next")).status == 200
        eventually(lambda: in_flight(own_gateway) == before, "nothing is in progress")


def test_success_without_a_switch_opens_no_tunnel(own_gateway, scripted_app):
    """RFC 8441 §5: 2xx would open the tunnel, so an app that ignores the handshake is a 502."""
    with Client(own_gateway.tls_port) as client:
        client.request(1, extended("/raw/plain"), end=False)
        assert client.response(1).status == 502
        assert client.exchange(3, get("/raw/after")).status == 200


@pytest.mark.parametrize("protocol", ["connect-udp", "connect-ip", "WebSocket", ""])
def test_other_protocols_are_reset(protocol, own_gateway):
    """H-17."""
    with Client(own_gateway.tls_port) as client:
        client.request(1, extended("/public/x", protocol=protocol), end=False)
        assert client.over(1).reset == 1
        assert client.exchange(3, get("/raw/after")).status == 200


@pytest.fixture
def without(tmp_path, provider_server, certificates, scripted_app):
    """A gateway whose apps allow no WebSockets."""
    gateway = make(tmp_path, provider_server, certificates, scripted_app, scripted_app)
    gateway.configuration["apps"] = {"none": gateway.configuration["apps"]["none"]}
    with gateway:
        yield gateway


def test_settings_announce_whether_websockets_are_allowed(own_gateway, without):
    """RFC 8441 §3: only if an app allows them."""
    for gateway, is_announced in ((own_gateway, True), (without, False)):
        seen = []

        class Listener(Client):
            def take(self, kind, flags, number, payload):
                if kind == 4 and not flags & 1:
                    seen.extend(struct.unpack(">HI", payload[at:at + 6]) for at in range(0, len(payload), 6))
                super().take(kind, flags, number, payload)

        with Listener(gateway.tls_port) as client:
            client.exchange(1, get("/oauth2/userinfo"))
        assert ((8, 1) in seen) == is_announced, seen


@pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed")
@pytest.mark.parametrize("protocol", ["http", "https"])
def test_a_real_browser_opens_a_websocket(protocol, own_gateway, ada, tmp_path, echo):
    """Chromium: over HTTP/1.1, and over HTTP/2 on the existing connection."""
    browser = Chromium(tmp_path, "--ignore-certificate-errors")
    try:
        port = own_gateway.port if protocol == "http" else own_gateway.tls_port
        origin = f"{protocol}://gate.localhost:{port}"
        browser.go(f"{origin}/none/page")
        browser.until(f"location.href.startsWith('{origin}') && document.readyState == 'complete'", "a page")
        # Behind TLS the page's origin is not the one of `public_url`; that app allows any.
        path = "/public/x" if protocol == "http" else "/any/x"
        browser.evaluate(
            f"window.got = ''; let s = new WebSocket('{origin.replace('http', 'ws')}{path}');"
            "s.onopen = () => s.send('hello'); s.onmessage = m => { window.got += m.data; s.close(1000) };"
            "s.onclose = c => { window.got += ' closed ' + c.code }; 0"
        )
        browser.until("window.got == 'hello closed 1000'", "the echo")
        # The gateway adds a missing key only, after all other fields.
        names = [name.lower() for name, _ in echo.requests[-1].headers.raw_items()]
        assert (names[-1] == "sec-websocket-key") == (protocol == "https"), names
    finally:
        browser.close()


# Slow responses


def test_events_come_one_by_one_and_may_be_silent_for_long(own_gateway, scripted_app):
    """Server-sent events are not held back, and outlive the idle time-out."""
    step = threading.Semaphore(0)

    def act(connection, request):
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        for index in range(5):
            step.acquire(timeout=20)
            event = f"data: {index}\n\n".encode()
            connection.send(f"{len(event):x}\r\n".encode() + event + b"\r\n")
        connection.send(b"0\r\n\r\n")
        return True

    scripted_app.script("/events/", act)
    for protocol in ("http1", "http2"):
        with Wire(own_gateway.port) if protocol == "http1" else Client(own_gateway.tls_port) as client:
            if protocol == "http1":
                client.send(b"GET /events/x HTTP/1.1\r\nHost: gate.localhost\r\n\r\n")
                assert b" 200 " in client._until(b"\r\n\r\n")
            else:
                client.request(1, get("/events/x"))
                client.wait(lambda: client.stream(1).heads)
            time.sleep(1.5)
            for index in range(5):
                mark = f"data: {index}\n\n".encode()
                step.release()
                if protocol == "http1":
                    while mark not in client.buffer:
                        assert client._more(), "cut off"
                else:
                    client.wait(lambda mark=mark: mark in client.stream(1).body)
                    assert mark in client.stream(1).body
                # No later event has been sent yet, so this one did not wait for another.


def test_a_long_poll_of_a_streaming_app_is_waited_for(own_gateway, scripted_app):
    """`streaming`: the response may begin later than the timeout; without it, it may not."""
    def act(connection, request):
        time.sleep(1.5)
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        return True

    for path, status in (("/polls/x", 200), ("/events/late", 504)):
        scripted_app.scripts.pop("/events/", None)
        scripted_app.script(path, act)
        with Wire(own_gateway.port) as wire:
            wire.send(f"GET {path} HTTP/1.1\r\nHost: gate.localhost\r\n\r\n".encode())
            assert wire.response().status == status
