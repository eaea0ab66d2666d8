# SPDX-License-Identifier: Apache-2.0
"""Apps that leave request bodies unread: no user gets another's response, and no body becomes a request (X-01)."""

import http.server
import threading

import pytest

from support.browser import Browser
from support.gateway import Gateway, oidc
from support.h2_server import H2Server
from support.http2 import Client, get
from support.processes import Process, certificate, eventually, free_port
from support.raw import Wire
from support.upstream import Upstream, echo

SMUGGLED = b"GET /report-as-root HTTP/1.1\r\nHost: x\r\nX-Forwarded-User: google:root\r\n\r\n"
#: The beginning of a request whose last field swallows what follows on the connection.
PREFIX = b"GET /report-as-root HTTP/1.1\r\nHost: x\r\nX-Forwarded-User: google:root\r\nX-Rest: "

NODE_APP = """
const http = require('http');
const seen = [];
http.createServer((request, response) => {
  if (request.url === '/seen') return response.end(JSON.stringify(seen));
  seen.push([request.url, request.headers['x-forwarded-user'] || null]);
  if (request.method === 'POST') { response.writeHead(303, {location: '/', 'content-length': 0}); return response.end(); }
  response.end(`${request.url} for ${request.headers['x-forwarded-user']}`);
}).listen(0, '127.0.0.1', function () { console.log(this.address().port); });
"""


class Unread(http.server.BaseHTTPRequestHandler):
    """Python's own server with an app that responds to a form without reading it."""
    protocol_version = "HTTP/1.1"
    seen = []

    def do_POST(self):
        self.seen.append((self.path, self.headers.get("X-Forwarded-User")))
        self.send_response(303)
        self.send_header("Location", "/")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self):
        self.seen.append((self.path, self.headers.get("X-Forwarded-User")))
        body = f"{self.path} for {self.headers.get('X-Forwarded-User')}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="module")
def python_app():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Unread)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()


@pytest.fixture(scope="module")
def node_app(tmp_path_factory):
    folder = tmp_path_factory.mktemp("node")
    (folder / "app.js").write_text(NODE_APP)
    process = Process(["node", folder / "app.js"], folder, "app")
    port = eventually(lambda: process.log.strip() if process.log.endswith("\n") else None, "the app prints its port")
    yield f"http://127.0.0.1:{port}"
    process.stop()


@pytest.fixture(scope="module")
def hostile_app():
    """Reads every unread body as requests, whatever `Connection` is, and never closes a connection."""
    upstream = Upstream()

    def unread(connection, request):
        body = f"{request.target} for {request.get('x-forwarded-user')}".encode()
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        return True

    upstream.script("/", unread)
    yield upstream.address
    upstream.close()


@pytest.fixture(scope="module")
def multiplexed_app():
    """Responds to a stream by its head, over HTTP/2, and ignores its body."""
    def act(connection, stream):
        connection.response(stream, body=f"{stream.get(':path')} for {stream.get('x-forwarded-user')}".encode())

    server = H2Server(act, is_early=True)
    yield server.address
    server.close()


@pytest.fixture(scope="module")
def reader():
    """An app that reads bodies and records the connection of each request."""
    upstream = Upstream()
    yield upstream
    upstream.close()


@pytest.fixture(scope="module")
def own_gateway(tmp_path_factory, provider_server, python_app, node_app, hostile_app, multiplexed_app, reader):
    folder = tmp_path_factory.mktemp("desync")
    cert, key = certificate(folder, "gate", "gate.localhost")
    upstreams = {
        "python": python_app, "node": node_app, "hostile": hostile_app, "h2c": multiplexed_app,
        "reader": reader.address, "always": {"targets": [reader.address], "reuse": "always"},
        "never": {"targets": [reader.address], "reuse": "never"},
    }
    apps = {
        name: {"path": f"/{name}", "strip_prefix": True, "upstream": upstream, "allow": "signed_in", "public": [f"/{name}/public/"]}
        for name, upstream in upstreams.items()
    }
    tls_port = free_port()
    gateway = Gateway(
        folder, {"mock": oidc(provider_server.realm("mock").issuer)}, apps,
        listeners=[{"address": f"127.0.0.1:{tls_port}", "tls": [{"certificate": cert, "private_key": key}]}],
    )
    gateway.tls_port = tls_port
    with gateway:
        yield gateway


@pytest.fixture(scope="module")
def users(own_gateway, provider_server):
    """The session cookies of two users."""
    realm = provider_server.realm("mock")
    realm.reset()
    cookies = {}
    for name in ("ada", "bob"):
        realm.user = {**realm.user, "sub": name}
        browser = Browser(own_gateway)
        assert browser.visit("/oauth2/start/mock?rd=/oauth2/userinfo").status == 200
        cookies[name] = f"gatehouse={browser.ticket()}"
    realm.reset()
    return cookies


def head(method, path, cookie, *lines):
    fields = ["Host: gate.localhost", *([f"Cookie: {cookie}"] if cookie else []), *lines]
    return f"{method} {path} HTTP/1.1\r\n".encode() + "\r\n".join(fields).encode() + b"\r\n\r\n"


def chunked(body):
    return b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)


def at_once(wire, app, cookie, body, path):
    wire.send(head("POST", path, cookie, f"Content-Length: {len(body)}") + body)
    return wire.response()


def in_chunks(wire, app, cookie, body, path):
    wire.send(head("POST", path, cookie, "Transfer-Encoding: chunked") + chunked(body))
    return wire.response()


def after_the_response(wire, app, cookie, body, path):
    """The app's response comes before the first byte of the body has been sent."""
    wire.send(head("POST", path, cookie, f"Content-Length: {len(body)}"))
    response = wire.response()
    try:
        wire.send(body)
    except OSError:
        pass
    return response


def in_a_get(wire, app, cookie, body, path):
    wire.send(head("GET", path, cookie, f"Content-Length: {len(body)}") + body)
    return wire.response()


FORMS = [at_once, in_chunks, after_the_response, in_a_get]


@pytest.mark.parametrize("app", ["python", "node", "hostile", "h2c"])
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
@pytest.mark.parametrize("body", [SMUGGLED, PREFIX], ids=["a request", "the start of one"])
@pytest.mark.parametrize("who", ["ada", None], ids=["signed in", "public"])
def test_x_01_an_unread_body_is_never_taken_for_a_request(app, form, body, who, own_gateway, users):
    """X-01: Bob's next requests get their own responses after unread bodies of Ada and of anonymous clients."""
    path = f"/{app}/form" if who else f"/{app}/public/form"
    with Wire(own_gateway.port) as wire:
        response = form(wire, app, users.get(who), body, path)
        redirects = app in ("python", "node") and form is not in_a_get
        assert response is not None and response.status == (303 if redirects else 200), response
    with Wire(own_gateway.port) as wire:
        for index in range(4):
            wire.send(head("GET", f"/{app}/page{index}", users["bob"]))
            assert wire.response().text == f"/page{index} for mock:bob"


@pytest.mark.parametrize("app", ["python", "h2c"])
def test_x_01_over_http_2(app, own_gateway, users):
    """X-01: the same for clients that speak HTTP/2, several streams at a time."""
    with Client(own_gateway.tls_port) as client:
        for index in range(5):
            client.request(4 * index + 1, get(f"/{app}/public/form", method="POST"), end=False)
            client.data(4 * index + 1, SMUGGLED, end=True)
            assert client.response(4 * index + 1).status == (303 if app == "python" else 200)
            page = client.exchange(4 * index + 3, get(f"/{app}/public/page{index}"))
            assert page.text == f"/public/page{index} for None"


def test_x_01_python_and_node_never_take_the_body_for_a_request(own_gateway, users, node_app):
    """X-01: an app that gets `Connection: close` reads nothing after the request as another one."""
    with Wire(own_gateway.port) as wire:
        for app in ("python", "node"):
            wire.send(head("POST", f"/{app}/form", users["ada"], f"Content-Length: {len(SMUGGLED)}") + SMUGGLED)
            assert wire.response().status == 303
            wire.send(head("GET", f"/{app}/after", users["ada"]))
            assert wire.response().text == "/after for mock:ada"
        wire.send(head("GET", "/node/seen", users["ada"]))
        node_seen = wire.response().json
    assert all(path != "/report-as-root" for path, _ in Unread.seen + [tuple(one) for one in node_seen])
    assert all(user != "google:root" for _, user in Unread.seen + [tuple(one) for one in node_seen])


def connections(wire, app, users, *methods):
    """On which connection of the app each request arrived."""
    numbers = []
    for method in methods:
        fields = ["Content-Length: 2"] if method == "POST" else []
        wire.send(head(method, f"/{app}/x", users["ada"], *fields) + (b"ab" if fields else b""))
        numbers.append(wire.response().json["connection"])
    return numbers


def test_x_01_only_requests_without_a_body_share_a_connection(own_gateway, users, reader):
    """X-01: framing decides, and the app gets `Connection` before it responds."""
    with Wire(own_gateway.port) as wire:
        first, second, post, third, fourth = connections(wire, "reader", users, "GET", "GET", "POST", "GET", "GET")
    assert first == second == post and third == fourth != post
    sent = [request for request in reader.requests if request.connection in (first, third)]
    assert [request.all("connection") for request in sent] == [[], [], ["close"], [], []]


def test_x_01_no_response_follows_that_to_a_head(own_gateway, users, reader):
    """X-01: a body after a response to HEAD would become the next response."""
    with Wire(own_gateway.port) as wire:
        for method in ("GET", "HEAD", "GET"):
            wire.send(head(method, "/reader/x", users["ada"]))
            assert wire.response(method).status == 200
    first, second, third = reader.requests[-3:]
    assert first.connection == second.connection != third.connection
    assert [request.all("connection") for request in (first, second, third)] == [[], ["close"], []]


@pytest.mark.parametrize("app, is_shared", [("always", True), ("never", False)])
def test_x_01_reuse_can_be_set_for_an_app(app, is_shared, own_gateway, users):
    """X-01: `always` for apps that read bodies, `never` for those that tie an identity to the connection."""
    with Wire(own_gateway.port) as wire:
        numbers = connections(wire, app, users, "GET", "POST", "POST", "GET")
    assert len(set(numbers)) == (1 if is_shared else 4)


def test_x_01_a_retried_request_is_not_mixed_up(own_gateway, users, reader):
    """X-01: a kept connection that closes under a request leads to a new one for that request alone."""
    deaths = []

    def dies(connection, request):
        deaths.append(connection.number)
        connection.reset()
        return False

    with Wire(own_gateway.port) as wire:
        wire.send(head("GET", "/reader/warm", users["bob"]))
        kept = wire.response().json["connection"]
        reader.script("/once", lambda connection, request: dies(connection, request) if not deaths else connection.send(echo(request)) or True)
        wire.send(head("GET", "/reader/once", users["bob"]))
        response = wire.response()
        reader.scripts.clear()
    assert response.status == 200 and response.json["connection"] != kept
    assert ["X-Forwarded-User", "mock:bob"] in response.json["fields"]
