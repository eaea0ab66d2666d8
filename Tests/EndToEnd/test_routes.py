# SPDX-License-Identifier: Apache-2.0
"""Settings of an app's traffic, over HTTP/1.1 and HTTP/2: paths, hosts, fields, bodies, fixed responses."""

import gzip
import os
import re
import threading
from pathlib import Path

import httpx
import pytest

from support.browser import Browser
from support.gateway import Gateway, oidc
from support.h2_server import H2Server
from support.http2 import WINDOW_UPDATE, Client, get
from support.processes import certificate, eventually, free_port, nginx
from support.raw import Wire, tls_context
from support.upstream import responds

MIB = 1 << 20
BIG = 300 * MIB
EDITS = {
    "request_headers": {"set": {"X-Team": "blue"}, "remove": ["X-Debug", "Authorization"]},
    "response_headers": {"set": {"X-Frame-Options": "DENY"}, "remove": ["Server"]},
}


@pytest.fixture(scope="module")
def h2_app():
    server = H2Server(lambda connection, stream: hinted(connection, stream))
    yield server
    server.close()


def hinted(connection, stream):
    if stream.get(":path").startswith("/hints"):
        connection.h2.send_headers(stream.number, [(":status", "103"), ("link", "</h2.css>"), ("x-secret", "1")])
    connection.response(stream, fields=[("x-path", stream.get(":path"))], body=b"ok")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """An nginx with files, compression and a path that accepts uploads."""
    folder = tmp_path_factory.mktemp("nginx")
    (folder / "www").mkdir()
    (folder / "www/text.txt").write_bytes(b"0123456789" * 1000)
    (folder / "www/blob.bin").write_bytes(os.urandom(MIB) * 3)
    with open(folder / "www/big.bin", "wb") as big:
        big.truncate(BIG)
    port = free_port()
    http = (
        f"types {{ text/plain txt; }} default_type application/octet-stream; gzip on; gzip_min_length 100; gzip_proxied any; gzip_vary on;\n"
        f"gzip_types text/plain; client_max_body_size 0; proxy_max_temp_file_size 0;\n"
        f"server {{ listen 127.0.0.1:{port}; root {folder}/www;\n"
        f"location /put/ {{ dav_methods PUT DELETE; create_full_put_path on; dav_access all:rw; }} }}\n"
    )
    process = nginx(folder, "files", http)
    process.wait_listening(port)
    yield f"http://127.0.0.1:{port}"
    process.stop()


def entries(recorder, h2_app, files):
    address = recorder.address
    base = {"upstream": address, "allow": "signed_in"}
    slow = {"targets": [address], "timeouts": {"response": "1s", "idle": "1s"}}
    old = "https://new.example.com/old/"
    return {
        "plain": {**base, "path": "/", "public": ["/"]},
        "wiki": {**base, **EDITS, "path": "/wiki", "strip_prefix": True, "upstream_host": "wiki.internal:81", "public": ["/wiki/"]},
        "h2": {
            **base, **EDITS, "upstream": h2_app.address, "path": "/h2", "strip_prefix": True, "upstream_host": "h2.internal",
            "public": ["/h2/"], "early_hints": True
        },
        "small": {**base, "path": "/small", "max_body": "64KiB", "public": ["/small/"]},
        "free": {**base, "path": "/free", "max_body": 0, "public": ["/free/"]},
        "moved": {"redirect": {"to": old}, "path": "/moved", "allow": "signed_in", "public": ["/moved/open/"]},
        "shifted": {
            "redirect": {"to": old, "status": 307}, "path": "/shifted", "strip_prefix": True, "allow": "signed_in", "public": ["/shifted/"],
            "response_headers": EDITS["response_headers"],
        },
        "one": {
            "redirect": {"to": "https://new.example.com/?a=b", "keep_path": False, "status": 303}, "path": "/one", "allow": "signed_in",
            "public": ["/one/"],
        },
        "fixed": {
            "response": {"status": 410, "body": "<p>Gone fishing", "content_type": "text/html; charset=utf-8"}, "path": "/fixed",
            "allow": "signed_in", "public": ["/fixed/open/"], "response_headers": EDITS["response_headers"],
        },
        "down": {**base, "path": "/down", "maintenance": True, "public": ["/down/open/"]},
        "hints": {**base, "path": "/hints", "early_hints": True, "public": ["/hints/"]},
        "slow": {**base, "upstream": slow, "path": "/slow", "public": ["/slow/"]},
        "patient": {**base, "upstream": slow, "path": "/patient", "streaming": True, "public": ["/patient/"]},
        "files": {**base, "upstream": files, "path": "/files", "strip_prefix": True, "max_body": "1GiB", "public": ["/files/"]},
    }


@pytest.fixture(scope="module")
def own_gateway(tmp_path_factory, provider_server, recorder, h2_app, files):
    folder = tmp_path_factory.mktemp("routes")
    cert, key = certificate(folder, "gate", "gate.localhost")
    tls_port = free_port()
    gateway = Gateway(
        folder, {"mock": oidc(provider_server.realm("mock").issuer)}, entries(recorder, h2_app, files),
        listeners=[{"address": f"127.0.0.1:{tls_port}", "tls": [{"certificate": cert, "private_key": key}]}],
    )
    gateway.tls_port = tls_port
    with gateway:
        yield gateway


@pytest.fixture(params=["HTTP/1.1", "HTTP/2"])
def client(request, own_gateway):
    """A real client of one protocol, over TLS."""
    with httpx.Client(
        http2=request.param == "HTTP/2", verify=False, base_url=f"https://localhost:{own_gateway.tls_port}", timeout=60,
        headers={"Host": "gate.localhost"},
    ) as client:
        client.protocol = request.param

        def ask(method, path, **more):
            response = client.request(method, path, extensions={"sni_hostname": "gate.localhost"}, **more)
            assert response.http_version == request.param
            return response

        client.ask = ask
        yield client


@pytest.fixture
def script(recorder):
    """Lets the app respond below a path."""
    yield recorder.script
    recorder.scripts.clear()


# Paths, hosts and fields


@pytest.mark.parametrize(
    "sent, seen", [
        ("/wiki/strip-a", "/strip-a"), ("/wiki/", "/"), ("/wiki/%73trip-b/../c?q=/wiki/x", "/c?q=/wiki/x"),
        ("/wiki//wiki//strip-d/", "/wiki/strip-d/"), ("/x/../wiki/strip-e", "/strip-e"),
    ]
)
def test_the_prefix_is_taken_off_the_canonical_path(sent, seen, own_gateway, recorder):
    """K-03: routes and public rules use the canonical path, the app gets the rest of it; nothing is decoded twice."""
    before = len(recorder.requests)
    fields = ("x-forwarded-prefix", "/evil")
    with Client(own_gateway.tls_port) as client:
        assert client.exchange(1, get(sent, fields)).status == 200
    with Wire(own_gateway.port) as wire:
        wire.send(f"GET {sent} HTTP/1.1\r\nHost: gate.localhost\r\nX-Forwarded-Prefix: /evil\r\n\r\n".encode())
        assert wire.response().status == 200
    two = recorder.requests[before:]
    assert [request.target for request in two] == [seen, seen]
    assert [request.all("x-forwarded-prefix") for request in two] == [["/wiki"], ["/wiki"]]


def test_a_stripped_path_cannot_leave_the_app(own_gateway):
    """K-03: the stripped path plays no part in the decision; a path that leads elsewhere is another app's or rejected."""
    with Wire(own_gateway.port) as wire:
        for path, status in (("/wiki", 401), ("/wiki/../files", 401), ("/wiki/%2e%2e/moved/x", 401), ("/wikis", 200)):
            wire.send(f"GET {path} HTTP/1.1\r\nHost: gate.localhost\r\n\r\n".encode())
            assert wire.response().status == status, path
    for path in ("/wiki/..;/x", "/wiki/..%2fmoved/x", "/wiki/%2e%2e%5cmoved"):
        with Wire(own_gateway.port) as wire:
            wire.send(f"GET {path} HTTP/1.1\r\nHost: gate.localhost\r\n\r\n".encode())
            assert wire.response().status == 400, path


def test_without_strip_prefix_nothing_is_added(client, recorder):
    client.ask("GET", "/free/whole")
    seen = recorder.seen("/free/whole")[-1]
    assert seen.target == "/free/whole" and "x-forwarded-prefix" not in seen.names


def test_host_and_fields_of_a_request_are_changed(client, own_gateway, recorder):
    """`upstream_host`, `request_headers`: what is set replaces all of its name, what is removed is gone."""
    fields = [
        ("X-Team", "red"), ("x-team", "green"), ("X-Debug", "1"), ("Authorization", "Basic eA=="), ("X-Kept", "1"),
        ("Accept-Encoding", "br;q=0.5"), ("Cookie", "mine=1"),
    ]
    assert client.ask("GET", "/wiki/fields", headers=fields).status_code == 200
    seen = recorder.seen("/fields")[-1]
    assert seen.all("host") == ["wiki.internal:81"] and seen.all("x-forwarded-host") == [own_gateway.authority]
    assert seen.all("x-team") == ["blue"] and seen.all("x-kept") == ["1"] and seen.all("cookie") == ["mine=1"]
    assert not {"x-debug", "authorization"} & set(seen.names) and seen.get("accept-encoding") == "br;q=0.5"


def test_host_and_fields_are_changed_for_an_app_over_http_2(client, own_gateway, h2_app):
    response = client.ask("GET", "/h2/fields?a", headers=[("X-Team", "red"), ("X-Debug", "1")])
    assert response.status_code == 200 and response.headers["x-path"] == "/fields?a" and response.headers["x-frame-options"] == "DENY"
    fields = h2_app.requests[-1].fields
    assert [value for name, value in fields if name in (":authority", "host")] == ["h2.internal"]
    assert dict(fields)["x-forwarded-host"] == own_gateway.authority and dict(fields)["x-forwarded-prefix"] == "/h2"
    assert [value for name, value in fields if name == "x-team"] == ["blue"] and "x-debug" not in dict(fields)


def test_fields_of_responses_are_changed(client, script):
    sent = b"HTTP/1.1 200 OK\r\nServer: secret/1\r\nX-Frame-Options: ALLOWALL\r\nx-frame-options: b\r\nX-A: 1\r\nContent-Length: 2\r\n\r\nok"
    script("/fields", responds(sent, close=False))
    response = client.ask("GET", "/wiki/fields")
    assert response.headers.get_list("x-frame-options") == ["DENY"] and response.headers["x-a"] == "1"
    assert "server" not in response.headers and response.text == "ok"
    script("/plain", responds(sent, close=False))
    assert client.ask("GET", "/plain").headers["server"] == "secret/1"


# Bodies


def test_a_body_that_is_too_long_does_not_reach_the_app(client, own_gateway, recorder):
    """`max_body`: rejected by its length at once."""
    assert client.ask("PUT", "/small/fits", content=b"x" * 65536).status_code == 200
    assert recorder.seen("/small/fits")[-1].length == 65536
    long = put(own_gateway, client.protocol, "/small/long", 65537)
    assert long.status == 413 and long.json["error"] == "route.body_too_large"
    assert not recorder.seen("/small/long")


def put(own_gateway, protocol, path, *length):
    """An upload of more than 64 KiB, as far as it is read, with a length or without."""
    if protocol == "HTTP/2":
        with Client(own_gateway.tls_port) as client:
            fields = [("content-length", str(size)) for size in length]
            client.request(1, get(path, *fields, method="PUT"), end=False)
            client.data(1, b"x" * 16000)
            client.data(1, b"x" * 16000)
            client.data(1, b"x" * 8000)
            client.wait(lambda: client.stream(1).is_over or (WINDOW_UPDATE, 1) in {one[::2] for one in client.frames})
            client.data(1, b"x" * 16000)
            client.data(1, b"x" * 16000)
            return client.response(1)
    with Wire(own_gateway.tls_port, tls=tls_context(), server_name="gate.localhost") as wire:
        framing = f"Content-Length: {length[0]}" if length else "Transfer-Encoding: chunked"
        wire.send(f"PUT {path} HTTP/1.1\r\nHost: gate.localhost\r\n{framing}\r\n\r\n".encode())
        for _ in range(5):
            wire.send((b"" if length else b"4000\r\n") + b"x" * 16384 + (b"" if length else b"\r\n"))
        return wire.response()


def test_a_client_that_expects_100_is_rejected_before_its_body(own_gateway, recorder):
    with Wire(own_gateway.port) as wire:
        wire.send(b"PUT /small/asks HTTP/1.1\r\nHost: gate.localhost\r\nContent-Length: 65537\r\nExpect: 100-continue\r\n\r\n")
        interim = []
        response = wire.response(interim=interim)
        assert response.status == 413 and interim == [] and response.get("connection") == "close"
    assert not recorder.seen("/small/asks")


def parts(count, size=8192):
    for _ in range(count):
        yield b"x" * size


def test_a_body_without_a_length_is_counted(client, recorder, own_gateway):
    """`max_body`: 413 while it passes; the connection to the app is not reused."""
    assert client.ask("PUT", "/small/chunks", content=parts(8)).status_code == 200
    recorder.requests.clear()
    response = put(own_gateway, client.protocol, "/small/more-chunks")
    assert response.status == 413 and response.json["error"] == "route.body_too_large"
    began = recorder.seen("/small/more-chunks")
    # The declared length is checked before the bytes that follow.
    assert all(len(request.body) <= 65536 for request in began)
    for _ in range(8):
        assert client.ask("GET", "/small/after").status_code == 200
    assert not {one.connection for one in began} & {one.connection for one in recorder.seen("/small/after")}


def test_a_chunked_body_that_is_too_long_gets_413(own_gateway, recorder):
    """HTTP/1.1: the client gets 413 and the end of the connection; what follows is not a request."""
    with Wire(own_gateway.port) as wire:
        wire.send(b"PUT /small/raw HTTP/1.1\r\nHost: gate.localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        wire.send(b"10000\r\n" + b"x" * 65536 + b"\r\n")
        eventually(lambda: recorder.seen("/small/raw"), "the app sees the request")
        wire.send(b"1\r\nx\r\n0\r\n\r\nGET /small/raw-smuggled HTTP/1.1\r\nHost: gate.localhost\r\n\r\n")
        response = wire.response()
        assert response.status == 413 and response.get("connection") == "close"
        assert wire.rest() == b""
    assert not recorder.seen("/small/raw-smuggled")


@pytest.mark.parametrize("over_http2", [False, True])
def test_a_response_in_progress_is_cancelled_when_the_body_is_too_long(over_http2, own_gateway, script):
    begun = threading.Event()

    def early(connection, request):
        connection.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nbegun\r\n")
        begun.set()
        while connection.more():
            connection.buffer = b""

    script("/small/begun", early)
    if over_http2:
        with Client(own_gateway.tls_port) as client:
            client.request(1, get("/small/begun", method="PUT"), end=False)
            client.data(1, b"x" * 1000)
            client.wait(lambda: client.stream(1).body == b"begun")
            for _ in range(8):
                client.data(1, b"x" * 8192)
            client.wait(lambda: client.stream(1).is_over)
            assert client.stream(1).reset not in (None, 0) and client.stream(1).response.status == 200
        return
    with Wire(own_gateway.port) as wire:
        wire.send(b"PUT /small/begun HTTP/1.1\r\nHost: gate.localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
        assert begun.wait(10)
        wire._until(b"begun")
        wire.send(b"10000\r\n" + b"x" * 65536 + b"\r\n")
        assert b"0\r\n" not in wire.rest(), "the response looks complete"


def test_zero_means_unlimited(client, recorder):
    assert client.ask("PUT", "/free/body", content=parts(200)).status_code == 200
    assert recorder.seen("/free/body")[-1].length == 200 * 8192


# Routes without an app


def test_redirects(client):
    response = client.ask("GET", "/moved/open/a%2Db?x=/y")
    assert response.status_code == 308 and response.headers["location"] == "https://new.example.com/old/moved/open/a-b?x=/y"
    assert response.headers["cache-control"] == "max-age=3600" and response.content == b""
    response = client.ask("POST", "/shifted/a", content=b"x")
    assert response.status_code == 307 and response.headers["location"] == "https://new.example.com/old/a"
    assert response.headers["cache-control"] == "no-store" and response.headers["x-frame-options"] == "DENY"
    assert client.ask("GET", "/shifted//evil.example/").headers["location"] == "https://new.example.com/old/evil.example/"
    response = client.ask("HEAD", "/one/a?c")
    assert response.status_code == 303 and response.headers["location"] == "https://new.example.com/?a=b"


def test_a_fixed_response(client):
    response = client.ask("GET", "/fixed/open/x")
    assert response.status_code == 410 and response.text == "<p>Gone fishing"
    assert response.headers["content-type"] == "text/html; charset=utf-8" and response.headers["cache-control"] == "no-store"
    assert response.headers["x-frame-options"] == "DENY"
    response = client.ask("HEAD", "/fixed/open/x")
    assert response.status_code == 410 and response.headers["content-length"] == "15" and response.content == b""
    assert client.ask("GET", "/small/next").status_code == 200


def test_redirects_and_fixed_responses_need_access(client, own_gateway, realm):
    for path in ("/moved/x", "/fixed/x"):
        response = client.ask("GET", path)
        assert response.status_code == 401 and "new.example.com" not in response.headers.get("location", "")
    browser = Browser(own_gateway)
    assert browser.sign_in("mock", "/fixed/x").status == 410
    response = browser.send("GET", "/moved/x?y")
    assert response.status == 308 and response.get("location") == "https://new.example.com/old/moved/x?y"
    assert response.get("cache-control") == "no-store"


def test_maintenance(client, own_gateway, realm):
    """Every request gets 503, also on public paths and with a session; endpoints and other apps work."""
    for path in ("/down/x", "/down/open/x"):
        response = client.ask("GET", path, headers={"Accept": "text/html"})
        assert response.status_code == 503 and int(response.headers["retry-after"]) > 0
        assert "being worked on" in response.text and "route.maintenance" in response.text
    assert client.ask("GET", "/down/x").json()["error"] == "route.maintenance"
    assert client.ask("GET", "/oauth2/sign_in?rd=/down/", headers={"Accept": "text/html"}).status_code != 503
    browser = Browser(own_gateway)
    assert browser.sign_in("mock", "/down/x").status == 503
    assert browser.send("GET", "/oauth2/userinfo").status == 200
    assert browser.send("GET", "/fixed/x").status == 410


# Early hints and silence

HINT = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\nX-Secret: 1\r\nSet-Cookie: a=b\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def raw_heads(own_gateway, path, version="1.1"):
    with Wire(own_gateway.port) as wire:
        wire.send(f"GET {path} HTTP/{version}\r\nHost: gate.localhost\r\nConnection: close\r\n\r\n".encode())
        return wire.rest()


def h2_heads(own_gateway, path):
    with Client(own_gateway.tls_port) as client:
        assert client.exchange(1, get(path)).status == 200
        return client.stream(1).heads


def test_early_hints_are_passed_on(own_gateway, script):
    """The links and nothing else, before the response; twice if the app does."""
    script("/hints/x", responds(HINT + HINT + OK, close=False))
    text = raw_heads(own_gateway, "/hints/x")
    hint = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n"
    assert text.startswith(hint + hint + b"HTTP/1.1 200 OK\r\n") and text.endswith(b"ok")
    heads = h2_heads(own_gateway, "/hints/x")
    assert [dict(head)[":status"] for head in heads] == ["103", "103", "200"]
    assert heads[0] == [(":status", "103"), ("link", "</a.css>; rel=preload")]


def test_early_hints_come_before_the_response(own_gateway, script):
    """A hint is sent when it comes, not with the response."""
    seen = threading.Event()

    def waits(connection, request):
        connection.send(HINT)
        assert seen.wait(10)
        connection.send(OK)
        return True

    script("/hints/early", waits)
    with Wire(own_gateway.port) as wire:
        wire.send(b"GET /hints/early HTTP/1.1\r\nHost: gate.localhost\r\n\r\n")
        assert wire._until(b"\r\n\r\n").startswith(b"HTTP/1.1 103 ")
        seen.set()
        assert wire.response().status == 200


def test_early_hints_of_an_app_over_http_2_are_passed_on(own_gateway):
    assert raw_heads(own_gateway, "/h2/hints").startswith(b"HTTP/1.1 103 Early Hints\r\nlink: </h2.css>\r\n\r\nHTTP/1.1 200 OK\r\n")
    assert h2_heads(own_gateway, "/h2/hints")[0] == [(":status", "103"), ("link", "</h2.css>")]


def test_early_hints_are_dropped_unless_asked_for(own_gateway, script):
    script("/plain-hints", responds(HINT + OK, close=False))
    script("/hints/old", responds(HINT + OK, close=False))
    assert raw_heads(own_gateway, "/plain-hints").startswith(b"HTTP/1.1 200 OK\r\n")
    assert len(h2_heads(own_gateway, "/plain-hints")) == 1
    assert raw_heads(own_gateway, "/hints/old", "1.0").startswith(b"HTTP/1.1 200 OK\r\n")


def test_more_than_eight_interim_responses_are_a_502(own_gateway, script):
    script("/hints/nine", responds(HINT * 9 + OK))
    text = raw_heads(own_gateway, "/hints/nine")
    assert text.count(b"HTTP/1.1 103 ") == 8 and b"HTTP/1.1 502 " in text


def test_a_response_may_pause_only_on_a_streaming_route(client, script):
    """`streaming`: longer than the timeouts of the app before and within the response."""
    def slowly(connection, request):
        threading.Event().wait(1.6)
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfirst")
        threading.Event().wait(1.6)
        connection.send(b"other")
        return True

    script("/patient/x", slowly)
    script("/slow/x", slowly)
    assert client.ask("GET", "/patient/x").text == "firstother"
    assert client.ask("GET", "/slow/x").status_code == 504


# Files: nginx as the app


def test_ranges_and_conditions_are_the_apps(client):
    whole = client.ask("GET", "/files/text.txt", headers={"Accept-Encoding": "identity"})
    assert whole.status_code == 200 and len(whole.content) == 10000 and whole.headers["accept-ranges"] == "bytes"
    tag, modified = whole.headers["etag"], whole.headers["last-modified"]
    part = client.ask("GET", "/files/text.txt", headers={"Range": "bytes=5-14", "Accept-Encoding": "identity"})
    assert part.status_code == 206 and part.content == b"5678901234"
    assert part.headers["content-range"] == "bytes 5-14/10000" and part.headers["content-length"] == "10"
    several = client.ask("GET", "/files/text.txt", headers={"Range": "bytes=0-1,5-6", "Accept-Encoding": "identity"})
    assert several.status_code == 206 and several.headers["content-type"].startswith("multipart/byteranges")
    assert client.ask("GET", "/files/text.txt", headers={"Range": "bytes=99999-", "Accept-Encoding": "identity"}).status_code == 416
    fresh = client.ask("GET", "/files/text.txt", headers={"If-None-Match": tag, "Accept-Encoding": "identity"})
    assert fresh.status_code == 304 and fresh.content == b"" and fresh.headers["etag"] == tag
    assert client.ask("GET", "/files/text.txt", headers={"If-Modified-Since": modified}).status_code == 304
    assert client.ask("GET", "/files/text.txt", headers={"If-Match": '"other"'}).status_code == 412
    stale = client.ask("GET", "/files/text.txt", headers={"Range": "bytes=0-0", "If-Range": '"other"', "Accept-Encoding": "identity"})
    assert stale.status_code == 200
    head = client.ask("HEAD", "/files/text.txt", headers={"Accept-Encoding": "identity"})
    assert head.status_code == 200 and head.headers["content-length"] == "10000" and head.content == b""


def test_compression_is_the_apps(client):
    """`Accept-Encoding` reaches the app, and its response is unchanged."""
    with client.stream(
        "GET", "/files/text.txt", headers={"Accept-Encoding": "gzip"}, extensions={"sni_hostname": "gate.localhost"}
    ) as response:
        raw = b"".join(response.iter_raw())
    assert response.headers["content-encoding"] == "gzip" and response.headers["vary"] == "Accept-Encoding"
    assert len(raw) < 1000 and gzip.decompress(raw) == b"0123456789" * 1000
    plain = client.ask("GET", "/files/text.txt", headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers and len(plain.content) == 10000


def test_files_are_served_and_stored_whole(client):
    blob = client.ask("GET", "/files/blob.bin").content
    assert len(blob) == 3 * MIB
    assert client.ask("PUT", "/files/put/blob", content=blob).status_code == 201
    assert client.ask("PUT", "/files/put/chunks", content=parts(300)).status_code == 201
    assert client.ask("GET", "/files/put/blob").content == blob
    assert len(client.ask("GET", "/files/put/chunks").content) == 300 * 8192
    for name in ("blob", "chunks"):
        assert client.ask("DELETE", f"/files/put/{name}").status_code == 204


def status_kib(pid, name):
    return int(re.search(rf"{name}:\s+(\d+)", Path(f"/proc/{pid}/status").read_text()).group(1))


def test_bodies_of_any_size_use_bounded_memory(client, own_gateway):
    """R-35: 300 MiB down and up, and at no time 32 MiB more than before."""
    pid = own_gateway.process.pid
    assert client.ask("GET", "/files/text.txt").status_code == 200
    before = status_kib(pid, "VmRSS")
    Path(f"/proc/{pid}/clear_refs").write_text("5")  # the peak counts from here
    sni = {"sni_hostname": "gate.localhost"}
    with client.stream("GET", "/files/big.bin", extensions=sni) as response:
        assert sum(len(part) for part in response.iter_raw(MIB)) == BIG
    size = str(BIG)
    response = client.ask("PUT", "/files/put/big", content=parts(300, MIB), headers={"Content-Length": size})
    assert response.status_code == 201
    assert client.ask("HEAD", "/files/put/big").headers["content-length"] == size
    grown = status_kib(pid, "VmHWM") - before
    assert grown < 32 * 1024, f"{grown} KiB"
    assert client.ask("DELETE", "/files/put/big").status_code == 204
