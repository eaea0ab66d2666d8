# SPDX-License-Identifier: Apache-2.0
"""Apps that misbehave, and the reuse of their connections (S-59 to S-66, R-30, R-31)."""

import threading

import pytest

from support.gateway import Gateway, oidc
from support.raw import Wire, request
from support.upstream import Upstream, echo, responds, socket_folder

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

REJECTED = {
    "S-60 length and coding":
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "S-60 two lengths":
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok", "S-60 a list of lengths":
                b"HTTP/1.1 200 OK\r\nContent-Length: 2, 3\r\n\r\nok", "S-60 a length with a sign":
                    b"HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok", "S-60 a fold before all fields":
                        b"HTTP/1.1 200 OK\r\n A: b\r\nContent-Length: 2\r\n\r\nok", "S-60 bare LF":
                            b"HTTP/1.1 200 OK\nContent-Length: 2\r\n\r\nok", "S-60 bare LF in a field":
                                b"HTTP/1.1 200 OK\r\nA: b\nC: d\r\n\r\n", "S-60 NUL":
                                    b"HTTP/1.1 200 OK\r\nA: b\x00c\r\nContent-Length: 2\r\n\r\nok",
    "S-60 space before the colon": b"HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok", "S-60 no colon":
        b"HTTP/1.1 200 OK\r\nContent-Length\r\n\r\n", "S-61 unknown coding":
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: cow\r\n\r\nx", "S-61 chunked, gzip":
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\nx", "S-61 gzip, chunked":
                    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "S-62 101 unasked":
                        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: foo\r\nConnection: upgrade\r\n\r\nraw bytes",
    "S-62 nine interim responses": b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 9 + OK, "S-63 status 1000":
        b"HTTP/1.1 1000 What\r\nContent-Length: 2\r\n\r\nok", "S-63 status 20":
            b"HTTP/1.1 20 OK\r\n\r\n", "S-63 control byte in the reason":
                b"HTTP/1.1 200 a\x01b\r\nContent-Length: 2\r\n\r\nok", "no HTTP": b"hello\r\n\r\n", "HTTP/2":
                    b"HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\nok", "HTTP/0.9":
                        b"<html>hello</html>", "a head without an end": b"HTTP/1.1 200 OK\r\nA: " + b"b" * 70_000,
    "1001 fields": b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 1001 + b"\r\n", "closed at once": b"", "closed in the head":
        b"HTTP/1.1 200 OK\r\nContent-",
}


@pytest.mark.parametrize("name", REJECTED)
def test_an_invalid_response_is_a_502(name, scripted, gateway, app):
    """S-60 S-61 S-62 S-63: 502 with an error page, nothing of the response passed on, the connection not reused."""
    scripted("/public/bad", responds(REJECTED[name]))
    response = request(gateway.port, "/public/bad", fields=[("Accept", "text/html")])
    assert response.status == 502 and response.get("content-type").startswith("text/html"), response
    assert request(gateway.port, "/public/good").status == 200


CUT = {
    "length not met": b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort", "chunk not met":
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nshort", "no last chunk":
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n", "bad chunk size":
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n+1\r\n", "chunk extension":
                    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n0;\x01\r\n\r\n",
}


@pytest.mark.parametrize("name", CUT)
def test_a_truncated_response_is_visibly_truncated(name, scripted, gateway):
    """S-60 A-48: the client sees that the body is not complete."""
    scripted("/public/cut", responds(CUT[name]))
    with Wire(gateway.port) as wire:
        wire.send(b"GET /public/cut HTTP/1.1\r\nHost: gate.localhost\r\nConnection: close\r\n\r\n")
        received = wire.rest()
    if received == b"" or received.startswith(b"HTTP/1.1 502"):
        return
    assert received.startswith(b"HTTP/1.1 200")
    assert not received.endswith(b"0\r\n\r\n") and b"short" in received
    head = received.split(b"\r\n\r\n")[0].lower()
    assert b"content-length: 10" in head or b"chunked" in head


def test_interim_responses_are_not_passed_on(scripted, gateway):
    """S-62: up to eight are read and dropped."""
    interim = b"HTTP/1.1 100 Continue\r\n\r\n" + b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 3
    scripted("/public/interim", responds(interim + OK))
    with Wire(gateway.port) as wire:
        wire.send(b"GET /public/interim HTTP/1.1\r\nHost: gate.localhost\r\n\r\n")
        seen = []
        assert wire.response(interim=seen).body == b"ok" and seen == []


@pytest.mark.parametrize("status", [204, 304])
def test_a_response_without_a_body_stays_without(status, scripted, gateway):
    """S-63: bytes after a 204 or 304 are discarded."""
    evil = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
    scripted("/public/empty", responds(f"HTTP/1.1 {status} x\r\nContent-Length: 9\r\n\r\n".encode() + evil))
    with Wire(gateway.port) as wire:
        for _ in range(3):
            wire.send(b"GET /public/empty HTTP/1.1\r\nHost: gate.localhost\r\n\r\n")
            assert wire.response().status == status
        wire.send(b"GET /public/next HTTP/1.1\r\nHost: gate.localhost\r\n\r\n")
        assert "/public/next" in wire.response().text
        assert b"evil" not in wire.buffer


def test_head_gets_the_length_and_no_body(scripted, gateway):
    """RFC 9110 §9.3.2: `HEAD` is passed on as `HEAD`; what the app sends after it is discarded."""
    scripted("/public/head", responds(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"))
    with Wire(gateway.port) as wire:
        wire.send(b"HEAD /public/head HTTP/1.1\r\nHost: gate.localhost\r\n\r\n")
        response = wire.response("HEAD")
        assert response.get("content-length") == "4"
        wire.send(b"GET /public/next HTTP/1.1\r\nHost: gate.localhost\r\n\r\n")
        assert "/public/next" in wire.response().text


def test_a_second_response_is_discarded(scripted, gateway, app):
    """S-64: response queue poisoning: a connection with surplus bytes is closed, never reused."""
    poison = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
    scripted("/public/poison", responds(OK + poison, close=False))
    for index in range(10):
        assert request(gateway.port, "/public/poison").body == b"ok"
        response = request(gateway.port, f"/public/after-{index}")
        assert f"/public/after-{index}" in response.text


def test_bytes_on_an_idle_connection_close_it(scripted, gateway, app):
    """S-64: bytes before the next request close the connection."""
    done = threading.Event()
    held = []

    def act(connection, request):
        connection.body(request)
        held.append(connection)
        connection.send(OK)
        done.wait(10)
        return False

    scripted("/public/idle", act)
    assert request(gateway.port, "/public/idle").body == b"ok"
    held[0].send(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
    held[0].socket.settimeout(5)
    assert held[0].socket.recv(1000) == b"", "the gateway closes the connection without another request"
    done.set()
    for _ in range(5):
        assert "evil" not in request(gateway.port, "/public/next").text


def test_an_early_response_ends_the_connection_to_the_app(scripted, gateway, app):
    """S-59: the app responds before the body is read: the rest of the body is never read as a request."""
    scripted("/public/early", lambda connection, request: connection.send(OK) or True)
    body = b"GET /public/early-smuggled HTTP/1.1\r\nHost: gate.localhost\r\n\r\n"
    for _ in range(5):
        head = f"POST /public/early HTTP/1.1\r\nHost: gate.localhost\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        with Wire(gateway.port) as wire:
            wire.send(head)
            response = wire.response()
            assert response.status == 200
            try:
                wire.send(body)
                wire.rest()
            except OSError:
                pass
        assert "/public/next" in request(gateway.port, "/public/next").text
    assert not app.seen("early-smuggled")


def test_a_response_until_close_is_passed_on_whole(scripted, gateway):
    """RFC 9112 §6.3: without a length the close ends the body; the client gets chunks."""
    scripted("/public/close", responds(b"HTTP/1.0 200 OK\r\n\r\n" + b"x" * 100_000))
    response = request(gateway.port, "/public/close")
    assert response.body == b"x" * 100_000
    with Wire(gateway.port) as wire:
        wire.send(b"GET /public/close HTTP/1.0\r\nHost: gate.localhost\r\n\r\n")
        received = wire.rest()
    assert b"chunked" not in received.split(b"\r\n\r\n")[0].lower() and received.endswith(b"x" * 1000)


def test_n_07_the_reason_phrase_is_passed_on_and_hop_by_hop_fields_are_removed(scripted, gateway):
    """S-62 RFC 9110 §7.6.1, RFC 9112 §4."""
    fields = "Connection: X-Hop, close\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\n"
    fields += "Proxy-Authenticate: Basic\r\nUpgrade: h2c\r\nX-Kept: 1\r\n"
    scripted("/public/hop", responds(f"HTTP/1.1 200 Sneaky Words\r\n{fields}Content-Length: 0\r\n\r\n".encode()))
    with Wire(gateway.port) as wire:
        wire.send(b"GET /public/hop HTTP/1.1\r\nHost: gate.localhost\r\n\r\n")
        response = wire.response()
        names = [name.lower() for name, _ in response.fields]
        assert response.reason == "Sneaky Words" and "x-kept" in names
        assert not {"x-hop", "keep-alive", "proxy-authenticate", "upgrade"} & set(names)
        wire.send(b"GET /public/next HTTP/1.1\r\nHost: gate.localhost\r\n\r\n")
        assert wire.response().status == 200, "the app's close is not the client's"


@pytest.mark.parametrize(
    "framing, body", [
        (b"Content-Length: 7\n", b"a\nb\r\nc\n"), (b"Transfer-Encoding: chunked\n", b"7\na\nb\r\nc\n\n0\n\n"), (b"", b"a\nb\r\nc\n"),
    ]
)
def test_g_08_a_response_whose_lines_all_end_with_lf_is_written_with_crlf(framing, body, scripted, gateway):
    head = b"HTTP/1.1 200 OK\nServer: device\nX-Kept: 1\n" + framing + b"\n"
    scripted("/public/device", responds(head + body))
    with Wire(gateway.port) as wire:
        wire.send(b"GET /public/device HTTP/1.1\r\nHost: gate.localhost\r\nConnection: close\r\n\r\n")
        received = wire.rest()
    lines, _, sent = received.partition(b"\r\n\r\n")
    assert lines.startswith(b"HTTP/1.1 200 OK\r\n") and b"\r\nX-Kept: 1\r\n" in lines
    assert b"\n" not in lines.replace(b"\r\n", b"") and b"a\nb\r\nc\n" in sent
    assert request(gateway.port, "/public/next").status == 200


def test_urls_in_responses_stay_as_they_are(scripted, gateway):
    """S-66: the gateway rewrites nothing that is not configured."""
    head = "HTTP/1.1 302 x\r\nLocation: http://internal:8080/a\r\nContent-Location: /b\r\n"
    head += "Refresh: 0;url=/c\r\nContent-Length: 0\r\n\r\n"
    scripted("/public/moved", responds(head.encode()))
    response = request(gateway.port, "/public/moved")
    assert response.status == 302 and response.get("location") == "http://internal:8080/a"
    assert response.get("content-location") == "/b" and response.get("refresh") == "0;url=/c"


def test_an_app_that_is_down_is_a_502(gateway):
    """Refused connections are reported at once."""
    assert request(gateway.port, "/dead/x").status == 502


def test_chunks_pass_both_ways(scripted, gateway):
    """RFC 9112 §7.1: chunked in, chunked out, with the gateway's chunk sizes."""
    def act(connection, request):
        connection.body(request)
        connection.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for index in range(0, len(request.body), 7):
            part = request.body[index:index + 7]
            connection.send(b"%x\r\n%s\r\n" % (len(part), part))
        connection.send(b"0\r\nX-Trailer: evil\r\n\r\n")
        return True

    scripted("/public/chunks", act)
    with Wire(gateway.port) as wire:
        wire.send(b"POST /public/chunks HTTP/1.1\r\nHost: gate.localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        for part in (b"hello ", b"big ", b"world"):
            wire.send(b"%x\r\n%s\r\n" % (len(part), part))
        wire.send(b"0\r\n\r\n")
        assert wire.response().body == b"hello big world"
        assert b"evil" not in wire.buffer


def test_connections_to_the_app_are_kept(gateway, app):
    """Requests in a row use few connections."""
    before = app.connections
    with Wire(gateway.port) as wire:
        for index in range(100):
            wire.send(b"GET /public/kept HTTP/1.1\r\nHost: gate.localhost\r\n\r\n")
            assert wire.response().status == 200
    assert app.connections - before <= 3


@pytest.fixture(scope="module")
def single(tmp_path_factory, provider_server):
    """A gateway whose app can be made to close connections, and one behind a Unix socket."""
    app = Upstream()
    local = Upstream(f"{socket_folder()}/app.sock")
    apps = {
        "single": {"path": "/", "upstream": {"targets": [app.address], "reuse": "always"}, "allow": "signed_in", "public": ["/"]}, "local":
            {"path": "/local/", "upstream": local.address, "allow": "signed_in", "public": ["/local/"]},
    }
    with Gateway(
        tmp_path_factory.mktemp("single"), {"mock": oidc(provider_server.realm("mock").issuer)}, apps
    ) as gateway:
        gateway.app, gateway.local = app, local
        yield gateway


def test_an_app_behind_a_socket_file_is_reached(single):
    """`unix:` upstreams."""
    response = request(single.port, "/local/x", method="POST", body=b"abc")
    assert response.status == 200 and response.json["length"] == 3
    assert single.local.requests[-1].get("host") == single.authority


def reused_then_closed(single, marker):
    """Makes the app keep a connection and close it when the next request arrives on it."""
    ended = []

    def act(connection, request):
        seen = [one for one in single.app.requests if one.connection == connection.number]
        connection.body(request)
        if len(seen) >= 2 and not ended:
            ended.append(request)
            connection.reset()
            return False
        connection.send(echo(request))
        return True

    single.app.script(f"/{marker}", act)
    return ended


def test_a_get_on_a_kept_connection_that_closed_is_retried_once(single):
    """R-31: a kept connection closes under a safe request."""
    ended = reused_then_closed(single, "r31")
    with Wire(single.port) as wire:
        for index in range(4):
            wire.send(f"GET /r31/{index} HTTP/1.1\r\nHost: gate.localhost\r\n\r\n".encode())
            assert wire.response().status == 200
    assert len(ended) == 1
    assert len(single.app.seen(ended[0].target + " ")) == 2


def test_a_post_on_a_kept_connection_that_closed_is_not_retried(single):
    """R-30: whether the app has acted is unknown."""
    ended = reused_then_closed(single, "r30")
    statuses = []
    with Wire(single.port) as wire:
        for index in range(4):
            wire.send(f"POST /r30/{index} HTTP/1.1\r\nHost: gate.localhost\r\nContent-Length: 1\r\n\r\nx".encode())
            statuses.append(wire.response().status)
    assert statuses.count(502) == 1 and statuses.count(200) == 3
    assert len(single.app.seen(ended[0].target + " ")) == 1


def test_a_get_on_a_new_connection_that_closed_is_not_retried(single):
    """R-30: only a kept connection may have raced."""
    single.app.script("/fresh", lambda connection, request: connection.reset() or False)
    kept = single.app.connections
    assert {request(single.port, "/fresh").status for _ in range(kept + 10)} == {502}
    assert len(single.app.seen("/fresh")) <= 2 * kept + 10, "each kept connection may race once, a fresh one never"


def test_a_client_that_disconnects_ends_the_request_at_the_app(single):
    """K-11: the app sees that the request is cancelled."""
    gone = threading.Event()

    def act(connection, request):
        connection.socket.settimeout(10)
        if connection.socket.recv(10) == b"":
            gone.set()
        return False

    single.app.script("/leave", act)
    with Wire(single.port) as wire:
        wire.send(b"GET /leave HTTP/1.1\r\nHost: gate.localhost\r\n\r\n")
        single.app.wait_for("/leave")
    assert gone.wait(10)
