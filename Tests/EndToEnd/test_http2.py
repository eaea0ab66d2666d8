# SPDX-License-Identifier: Apache-2.0
"""HTTP/2 with clients: what browsers and tools do, and what the protocol requires (H rows).

h2spec is a Go program and not at hand; H-01 are its cases that concern a server, as frames.
"""

import shutil
import socket
import struct
import subprocess
import tempfile
import threading
from pathlib import Path

import httpx
import pytest

from support import http2
from support.chromium import Chromium
from support.http2 import Client, frame, get
from support.gateway import Gateway, oidc, public_echo
from support.processes import eventually, free_port, nginx
from support.raw import Wire, tls_context
from support.upstream import responds


@pytest.fixture
def client(gateway):
    with Client(gateway.tls_port) as client:
        yield client
        assert not client.is_closed or client.goaways, "closed without a word"


def test_http2_is_agreed_by_alpn(gateway):
    """H-20: HTTP/2 for clients that offer it, HTTP/1.1 for all others."""
    for offered, agreed in ((["h2", "http/1.1"], "h2"), (["http/1.1", "h2"], "h2"), (["http/1.1"], "http/1.1")):
        context = tls_context()
        context.set_alpn_protocols(offered)
        with socket.create_connection(("127.0.0.1", gateway.tls_port), timeout=10) as plain:
            with context.wrap_socket(plain, server_hostname="gate.localhost") as wire:
                assert wire.selected_alpn_protocol() == agreed
    with Wire(gateway.tls_port, tls=tls_context(), server_name="gate.localhost") as wire:
        wire.send(b"GET /public/x HTTP/1.1\r\nHost: gate.localhost\r\n\r\n")
        assert wire.response().status == 200


@pytest.mark.parametrize("tls", [False, True])
def test_http2_without_alpn_is_rejected(tls, gateway):
    """H-20: a preface on the plain port, or after TLS without ALPN, is an unsupported version of HTTP/1."""
    port = gateway.tls_port if tls else gateway.port
    with Wire(port, tls=tls_context() if tls else None, server_name="gate.localhost" if tls else None) as wire:
        wire.send(http2.PREFACE + http2.settings())
        assert wire.rest().startswith(b"HTTP/1.1 505 ")


def test_an_upgrade_to_http2_is_ignored(gateway, app):
    """H-20 S-53: the response comes over HTTP/1.1 and the app does not see the offer."""
    with Wire(gateway.port) as wire:
        wire.send(
            b"GET /public/h2c HTTP/1.1\r\nHost: gate.localhost\r\nConnection: Upgrade, HTTP2-Settings\r\n"
            b"Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n"
        )
        assert wire.response().status == 200
    assert not {"upgrade", "http2-settings"} & set(app.seen("/public/h2c")[-1].names)


def test_a_request_reaches_the_app_as_over_http_1(client, gateway, app):
    """The app sees the same head; managed names are gone."""
    fields = get("/public/same?a=b", ("accept", "*/*"), ("x-auth-request-user", "evil"), ("cookie", "a=1"),
                 ("x-forwarded-for", "1.2.3.4"), ("cookie", "b=2"))
    response = client.exchange(1, fields)
    assert response.status == 200
    seen = app.seen("/public/same")[-1]
    assert seen.line == "GET /public/same?a=b HTTP/1.1"
    assert seen.get("host") == gateway.authority and seen.get("cookie") == "a=1; b=2"
    assert seen.get("x-forwarded-proto") == "https" and seen.get("x-forwarded-for") == "127.0.0.1"
    assert "x-auth-request-user" not in seen.names and seen.all("x-forwarded-for") == ["127.0.0.1"]


def test_httpx_is_served(gateway, app):
    """A real client, with a large body and a large response."""
    with httpx.Client(http2=True, verify=False) as client:
        for size in (0, 1, 100_000):
            response = client.post(
                f"https://localhost:{gateway.tls_port}/public/httpx", content=b"x" * size,
                headers={"Host": "gate.localhost"}, extensions={"sni_hostname": "gate.localhost"},
            )
            assert (response.http_version, response.status_code) == ("HTTP/2", 200)
            assert app.seen("/public/httpx")[-1].length == size


def test_chromium_is_served(gateway, scripted, tmp_path):
    """A browser chooses HTTP/2 and loads a page with twenty parts over one connection."""
    parts = "".join(f'<img src="/public/part/{number}">' for number in range(20)).encode()
    page = b"<!doctype html><title>x</title>" + parts
    image = b'<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'
    whole = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s"
    scripted("/public/page", responds(whole % (b"text/html", len(page), page), close=False))
    scripted("/public/part/", responds(whole % (b"image/svg+xml", len(image), image), close=False))
    browser = Chromium(tmp_path, "--ignore-certificate-errors")
    try:
        browser.go(f"https://gate.localhost:{gateway.tls_port}/public/page")
        entries = "performance.getEntriesByType('resource')"
        browser.until(f"document.title === 'x' && {entries}.length >= 20", "the page is loaded")
        protocols = browser.evaluate(f"[...new Set({entries}.map(e => e.nextHopProtocol))].join()")
        assert protocols == "h2"
        assert browser.evaluate("[...document.images].every(image => image.complete && image.naturalWidth)")
    finally:
        browser.close()


def test_nginx_behind_and_large_bodies_both_ways(tmp_path, provider_server, certificates):
    """A real app server: what it stored from an upload is what it serves."""
    behind, port = free_port(), free_port()
    # nginx runs as another user, who cannot enter pytest's own folder.
    folder = Path(tempfile.mkdtemp(prefix="gate-h2-"))
    (folder / "files").mkdir()
    for path in (folder, folder / "files"):
        path.chmod(0o777)
    server = nginx(
        folder, "app", f"""
        server {{ listen 127.0.0.1:{behind}; client_max_body_size 50m;
          location / {{ root {folder}/files; dav_methods PUT; create_full_put_path on; }} }}""",
    )
    server.wait_listening(behind)
    cert, key = certificates["gate"]
    apps = {
        "files": {
            "path": "/", "upstream": f"http://127.0.0.1:{behind}", "allow": "signed_in", "public": ["/public/"],
        },
    }
    listener = {"address": f"127.0.0.1:{port}", "tls": [{"certificate": cert, "private_key": key}]}
    body = bytes(range(256)) * 40_000
    try:
        with Gateway(tmp_path, {"mock": oidc(provider_server.realm("mock").issuer)}, apps, listeners=[listener]):
            with httpx.Client(http2=True, verify=False, timeout=30, headers={"Host": "gate.localhost"}) as client:
                address = f"https://localhost:{port}/public/file"
                extensions = {"sni_hostname": "gate.localhost"}
                assert client.put(address, content=body, extensions=extensions).status_code == 201
                response = client.get(address, extensions=extensions)
                assert response.http_version == "HTTP/2" and response.content == body
                part = client.get(address, headers={"Range": "bytes=1000-1999"}, extensions=extensions)
                assert part.status_code == 206 and part.content == body[1000:2000]
                again = client.get(address, headers={"If-None-Match": response.headers["etag"]}, extensions=extensions)
                assert again.status_code == 304
    finally:
        server.stop()
        shutil.rmtree(folder)


def curl(gateway, path, *arguments):
    command = [
        "curl", "-sk", "--http2", "--resolve", f"gate.localhost:{gateway.tls_port}:127.0.0.1", "-m", "20", *arguments,
        f"https://gate.localhost:{gateway.tls_port}{path}",
    ]
    return subprocess.run(command, capture_output=True, timeout=30)


def test_curl_is_served(gateway, app, tmp_path):
    """A real client: versions, a long upload with `Expect`, HEAD."""
    output = curl(gateway, "/public/curl", "-o", "/dev/null", "-w", "%{http_version} %{http_code}")
    assert output.stdout == b"2 200"
    body = tmp_path / "body"
    body.write_bytes(b"y" * 3_000_000)
    output = curl(gateway, "/public/upload", "-T", str(body), "-H", "Expect: 100-continue", "-o", "/dev/null", "-w",
                "%{http_code}")
    assert output.stdout == b"200", output
    assert app.seen("/public/upload")[-1].length == 3_000_000
    assert b"HTTP/2 200" in curl(gateway, "/public/head", "-I").stdout


def test_h2load_is_served(gateway):
    """Many concurrent streams on several connections: each gets a response."""
    output = subprocess.run(
        [
            "h2load", "-n", "2000", "-c", "4", "-m", "10", f"--connect-to=127.0.0.1:{gateway.tls_port}",
            f"https://gate.localhost:{gateway.tls_port}/public/load",
        ],
        capture_output=True, text=True, timeout=60,
    ).stdout
    assert "2000 succeeded, 0 failed, 0 errored" in output, output
    assert "Application protocol: h2" in output


def test_a_session_works_over_http_2(ada, gateway, app):
    """Ada's cookie works; the app gets her identity."""
    with Client(gateway.tls_port) as client:
        assert client.exchange(1, get("/private/h2")).status == 401
        assert client.exchange(3, get("/private/h2", ("accept", "text/html"))).status == 303
        crumbs = [("cookie", f"{name}={value}") for name, value in ada.cookies[gateway.host].items()]
        assert client.exchange(5, get("/private/h2", ("cookie", "x=y"), *crumbs)).status == 200
    seen = app.seen("/private/h2")[-1]
    assert seen.get("x-webauth-user") == "ada@example.com" and seen.get("cookie") == "x=y"


def test_a_host_of_another_certificate_is_misdirected(gateway, app):
    """S-58: on each stream."""
    before = len(app.requests)
    with Client(gateway.tls_port, server_name="gate.localhost") as client:
        assert client.exchange(1, get(authority="own.localhost")).status == 421
        assert client.exchange(3, get(authority="gate.localhost")).status == 200
        assert client.exchange(5, get(authority="own.localhost")).status == 421
    assert len(app.requests) == before + 1


# Responses


def test_head_and_empty_responses_have_no_body(client, scripted):
    """HEAD keeps the length, 204 and 304 end with their head."""
    scripted("/public/204", responds(b"HTTP/1.1 204 No Content\r\n\r\n"))
    scripted("/public/304", responds(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n"))
    response = client.exchange(1, get(method="HEAD"))
    assert response.status == 200 and response.body == b"" and int(response.get("content-length")) > 0
    assert client.exchange(3, get("/public/204")).status == 204
    assert client.exchange(5, get("/public/304")).status == 304
    assert not any(kind == http2.DATA for kind, *_ in client.frames)


def test_responses_have_no_fields_of_http_1(client, scripted):
    """RFC 9113 §8.2.2: framing and connection belong to HTTP/1.1; names are in lower case."""
    scripted(
        "/public/h1", responds(
            b"HTTP/1.1 200 OK\r\nConnection: keep-alive, X-Gone\r\nX-Gone: 1\r\nKeep-Alive: timeout=5\r\n"
            b"Transfer-Encoding: chunked\r\nX-Stays: Yes\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
        ),
    )
    response = client.exchange(1, get("/public/h1"))
    assert response.body == b"abc" and response.get("x-stays") == "Yes"
    names = [name for name, _ in response.fields]
    assert names == [name.lower() for name in names]
    assert not {"connection", "keep-alive", "transfer-encoding", "x-gone"} & set(names)


def test_a_truncated_response_is_reset(client, scripted):
    """The client must see that it is not complete."""
    def act(wire, request):
        wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
        began.wait(10)

    began = threading.Event()
    scripted("/public/cut", act)
    client.request(1, get("/public/cut"))
    client.wait(lambda: client.stream(1).body)
    began.set()
    stream = client.over(1)
    assert not stream.is_ended and stream.reset == http2.INTERNAL_ERROR
    assert client.exchange(3, get()).status == 200


def test_an_early_response_stops_the_upload(client):
    """RFC 9113 §8.1: the response is complete, then the stream is reset without an error."""
    client.request(1, get("/private/x", method="POST"), end=False)
    client.data(1, b"x" * 1000)
    client.wait(lambda: client.stream(1).reset is not None)
    stream = client.stream(1)
    assert stream.response.status == 401 and stream.is_ended and stream.reset == http2.NO_ERROR
    assert client.exchange(3, get()).status == 200


def test_a_client_that_expects_100_gets_it(client, app):
    """S-52: 100 Continue, and `Expect` does not reach the app."""
    client.request(1, get("/public/expect", ("expect", "100-continue"), ("content-length", "3"), method="PUT"), end=False)
    client.wait(lambda: client.stream(1).heads)
    assert client.stream(1).heads[0] == [(":status", "100")]
    client.data(1, b"abc", end=True)
    assert client.response(1).status == 200
    seen = app.seen("/public/expect")[-1]
    assert seen.body == b"abc" and "expect" not in seen.names and seen.get("content-length") == "3"


def test_streams_are_served_concurrently_and_in_turns(client, scripted):
    """Two large responses share the connection; a small one does not wait for them."""
    size = 4_000_000
    big = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size + b"x" * size
    scripted("/public/big1", responds(big))
    scripted("/public/big2", responds(big))
    client.send(frame(http2.SETTINGS, payload=struct.pack(">HI", http2.SETTINGS_INITIAL_WINDOW_SIZE, 1 << 24)))
    client.send(frame(http2.WINDOW_UPDATE, 0, 0, struct.pack(">I", 1 << 24)))
    client.grants = False
    client.request(1, get("/public/big1"))
    client.request(3, get("/public/big2"))
    client.request(5, get("/public/small"))
    for number in (1, 3, 5):
        client.over(number)
    assert len(client.stream(1).body) == len(client.stream(3).body) == size
    data = [number for kind, _, number, length in client.frames if kind == http2.DATA and length]
    first_end = min(len(data) - 1 - data[::-1].index(1), len(data) - 1 - data[::-1].index(3))
    assert data[:first_end].count(1) > 30 and data[:first_end].count(3) > 30
    assert data.index(5) < first_end


# Flow control


def test_a_client_that_does_not_read_delays_its_own_app_only(gateway, app, scripted):
    """Back-pressure: the app waits, and others are served."""
    sent = []
    stop = threading.Event()

    def act(wire, request):
        wire.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        chunk = b"8000\r\n" + b"x" * 0x8000 + b"\r\n"
        wire.socket.settimeout(0.5)
        while not stop.is_set() and len(sent) < 4000:
            try:
                wire.send(chunk)
                sent.append(len(chunk))
            except (TimeoutError, OSError):
                break

    scripted("/public/endless", act)
    with Client(gateway.tls_port) as client:
        client.grants = False
        client.request(1, get("/public/endless"))
        client.wait(lambda: len(client.stream(1).body) >= 65535)
        assert len(client.stream(1).body) == 65535
        assert client.exchange(3, get(method="HEAD")).status == 200
    stop.set()
    assert sum(sent) < 16_000_000


def test_the_window_opens_as_the_app_reads_the_body(client, app, scripted):
    """Back-pressure: an app that does not read stops the upload at the window; once it reads, all arrives."""
    go = threading.Event()

    def act(wire, request):
        go.wait(20)
        wire.body(request, keep=False)
        wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    scripted("/public/slowapp", act)
    total = 30_000_000
    client.request(1, get("/public/slowapp", ("content-length", str(total)), method="PUT"), end=False)
    window, sent = {0: 65535, 1: 65535}, 0
    original = client.take

    def take(kind, flags, number, payload):
        if kind == http2.WINDOW_UPDATE:
            window[number] = window.get(number, 0) + int.from_bytes(payload, "big")
        elif kind == http2.SETTINGS and not flags & http2.ACK:
            for at in range(0, len(payload), 6):
                key, value = struct.unpack(">HI", payload[at:at + 6])
                if key == http2.SETTINGS_INITIAL_WINDOW_SIZE:
                    window[1] += value - 65535
        original(kind, flags, number, payload)

    client.take = take
    client.socket.settimeout(2)
    stuck = False
    while sent < total:
        count = min(window[0], window[1], 16384, total - sent)
        if count <= 0:
            try:
                client.step()
            except TimeoutError:
                stuck = True
                assert sent < 20_000_000, "all that was sent must be somewhere"
                go.set()
            continue
        client.data(1, b"z" * count, end=sent + count == total)
        sent, window[0], window[1] = sent + count, window[0] - count, window[1] - count
    assert stuck, "the window was given whatever the app did"
    client.socket.settimeout(20)
    assert client.response(1).status == 200
    assert app.seen("/public/slowapp")[-1].length == total


def test_a_body_of_any_size_passes(client, scripted):
    """A response of 50 MB arrives whole."""
    size = 50_000_000
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size

    def act(wire, request):
        wire.send(head)
        for _ in range(50):
            wire.send(b"x" * 1_000_000)

    scripted("/public/huge", act)
    client.request(1, get("/public/huge"))
    assert len(client.over(1).body) == size and client.stream(1).is_ended


def test_a_stream_that_is_reset_ends_the_request_at_the_app(client, scripted):
    """H-11: a reset stream ends its request at the app."""
    closed = threading.Event()

    def act(wire, request):
        if not wire.more():
            closed.set()

    scripted("/public/leave", act)
    client.request(1, get("/public/leave"))
    client.exchange(3, get())
    client.send(frame(http2.RST_STREAM, 0, 1, struct.pack(">I", http2.CANCEL)))
    assert closed.wait(10)
    assert client.exchange(5, get()).status == 200


def test_drain_sends_goaway_in_two_steps(tmp_path, provider_server, certificates, app):
    """RFC 9113 §6.8: GOAWAY with the highest id, then with the last stream; the one in progress ends."""
    port = free_port()
    cert, key = certificates["gate"]
    apps = public_echo(app)
    go = threading.Event()

    def act(wire, request):
        go.wait(20)
        wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlast")

    app.script("/public/last", act)
    listener = {"address": f"127.0.0.1:{port}", "tls": [{"certificate": cert, "private_key": key}]}
    providers = {"mock": oidc(provider_server.realm("mock").issuer)}
    with Gateway(tmp_path, providers, apps, listeners=[listener]) as gateway:
        with Client(port, timeout=30) as client:
            client.exchange(1, get())
            client.request(3, get("/public/last"))
            client.exchange(5, get())
            gateway.process.child.terminate()
            client.wait(lambda: len(client.goaways) == 2)
            assert client.goaways == [((1 << 31) - 1, 0), (5, 0)]
            go.set()
            assert client.response(3).body == b"last"
            assert client.end() == 0 and client.is_closed
        eventually(lambda: gateway.process.child.poll() == 0, "the gateway ends")
        gateway.process = None
    app.scripts.pop("/public/last", None)
