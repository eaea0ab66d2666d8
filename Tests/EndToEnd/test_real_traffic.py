# SPDX-License-Identifier: Apache-2.0
"""Requests that real clients sent to real apps, replayed: both sides get what was sent.

`make test-apps` records them (`--record=FOLDER`), see Tests/Apps. Tests/Fixtures/traffic has one file for each app.
"""

import json
import re

import pytest

from support.browser import Browser
from support.differences import request_differences, response_differences
from support.gateway import Gateway, oidc
from support.http2 import Client, get
from support.processes import REPOSITORY, certificate, free_port
from support.raw import Wire
from support.upstream import Upstream
from support.wirelog import Message, exchanges

HOST = "app.localhost"
#: Fields of HTTP/1.1 that HTTP/2 does not have.
HOP_BY_HOP = {"host", "connection", "keep-alive", "proxy-connection", "upgrade", "te", "expect", "http2-settings"}
APPS = sorted(path.stem for path in (REPOSITORY / "Tests/Fixtures/traffic").glob("*.json"))
SAMPLES = {app: json.loads((REPOSITORY / f"Tests/Fixtures/traffic/{app}.json").read_text()) for app in APPS}


def samples():
    for app in APPS:
        for number, one in enumerate(SAMPLES[app]):
            method, target = one["request"][0].split(" ")[:2]
            yield pytest.param(app, number, id=f"{app}-{number}-{method}-{re.sub(r'[^!-~]', '?', target)[:60]}")


class Playback(Upstream):
    """An app that responds with `next`, recorded bytes; requests are recorded as messages."""
    def __init__(self):
        super().__init__()
        self.next = b""
        self.script("", self.play)

    def play(self, connection, request):
        connection.body(request)
        connection.send(self.next)
        return b"\r\nContent-Length:" in self.next or b"chunked" in self.next or b" 204 " in self.next[:14]


@pytest.fixture(scope="module")
def playback(tmp_path_factory, provider_server):
    folder = tmp_path_factory.mktemp("traffic")
    cert, key = certificate(folder, "tls", HOST)
    app, port = Playback(), free_port()
    gateway = Gateway(
        folder,
        {"mock": oidc(provider_server.realm("mock").issuer)},
        {"app": {"path": "/", "upstream": app.address, "allow": "signed_in"}},
        host=HOST,
        listeners=[{"address": f"127.0.0.1:{port}", "tls": [{"certificate": cert, "private_key": key}]}],
    )
    gateway.tls_port, gateway.app, gateway.authority = port, app, f"{HOST}:{gateway.port}"
    with gateway:
        browser = Browser(gateway)
        assert browser.sign_in("mock", "/oauth2/userinfo").status == 200
        gateway.cookie = f"gatehouse={browser.ticket()}"
        gateway.http2, gateway.stream = None, 0
        yield gateway
        if gateway.http2:
            gateway.http2.close()
    app.close()


def written(start, fields, framing, body):
    """The bytes of a message."""
    data, lines = body.encode("latin-1"), [start, *(f"{name}: {value}" for name, value in fields)]
    if framing == "length":
        lines.append(f"Content-Length: {len(data)}")
    if framing == "chunked":
        lines.append("Transfer-Encoding: chunked")
        data = (b"%x\r\n%s\r\n" % (len(data), data) if data else b"") + b"0\r\n\r\n"
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + data


def prepared(playback, app, number):
    """A recorded request and response with the authority of this gateway, and the request with a session."""
    text = json.dumps(SAMPLES[app][number]).replace(HOST, playback.authority)
    one = json.loads(text)
    start, fields, framing, body = one["request"]
    others = [value for name, value in fields if name.lower() == "cookie"]
    cookie = ("Cookie", "; ".join([playback.cookie, *others]))
    request = [start, [*(pair for pair in fields if pair[0].lower() != "cookie"), cookie], framing, body]
    playback.app.next, playback.app.before = written(*one["response"]), len(playback.app.requests)
    return request, one["response"]


def check(playback, sent, recorded, response):
    """What arrived at the app is what was sent, and what arrived at the client is what the app sent."""
    found = playback.app.requests[playback.app.before:]
    assert len(found) == 1, f"{len(found)} requests arrived; the client got {response}"
    there = Message(found[0].line, found[0].fields, found[0].body)
    played = exchanges(
        b"GET / HTTP/1.1\r\n\r\n" if sent.method != "HEAD" else b"HEAD / HTTP/1.1\r\n\r\n", playback.app.next
    )
    got = Message(f"HTTP/1.1 {response.status} ", response.fields, response.body)
    lines = [*request_differences(sent, there), *response_differences(played[0].response, got)]
    assert not lines, "\n".join(lines)


@pytest.mark.parametrize("app, number", list(samples()))
def test_y_01_y_02_y_04_y_05_y_06_v_02_a_recorded_request_over_http1(playback, app, number):
    """Sent as the client sent it, with a session."""
    (start, fields, framing, body), recorded = prepared(playback, app, number)
    with Wire(playback.port) as wire:
        wire.send(written(start, fields, framing, body))
        response = wire.response(start.split(" ")[0])
    assert response is not None
    check(playback, Message(start, fields, body.encode("latin-1")), recorded, response)


@pytest.mark.parametrize("app, number", list(samples()))
def test_y_01_y_02_y_04_y_05_y_06_v_02_a_recorded_request_over_http2(playback, app, number):
    """The same request as a stream of HTTP/2."""
    (start, fields, framing, body), recorded = prepared(playback, app, number)
    method, target = start.split(" ")[:2]
    data = body.encode("latin-1")
    lower = [(name.lower(), value) for name, value in fields if name.lower() not in HOP_BY_HOP]
    if framing == "length":
        lower.append(("content-length", str(len(data))))
    client, playback.http2 = playback.http2 or Client(playback.tls_port, HOST), None
    playback.stream = playback.stream + 2 if playback.stream and client.streams else 1
    response = client.exchange(
        playback.stream, get(target, *lower, method=method, authority=playback.authority), None if framing == "none" else data
    )
    if not client.is_closed and not client.goaways:
        playback.http2 = client
    check(playback, Message(start, fields, data), recorded, response)


# Load balancers.


@pytest.fixture(scope="module")
def balanced(tmp_path_factory, provider_server):
    app = Upstream()
    gateway = Gateway(
        tmp_path_factory.mktemp("balanced"),
        {"mock": oidc(provider_server.realm("mock").issuer)},
        {"app": {"host": HOST, "path": "/", "upstream": app.address, "allow": "signed_in", "public": ["/alive"]}},
        gateway={"health_path": "/alive"},
    )
    gateway.app = app
    with gateway:
        yield gateway
    app.close()


CHECKS = {
    "HAProxy": "OPTIONS /alive HTTP/1.0\r\n", "HAProxy with GET": "GET /alive HTTP/1.0\r\n", "by IP": "GET /alive HTTP/1.1\r\nHost: 10.0.0.11:8080\r\n",
    "by IPv6": "HEAD /alive HTTP/1.1\r\nHost: [2001:db8::1]\r\n", "by another name": "GET /alive HTTP/1.1\r\nHost: backend\r\n",
    "a path in another spelling": "GET /%61live HTTP/1.0\r\n",
}


def status(port, head):
    with Wire(port) as wire:
        wire.send(f"{head}Connection: close\r\n\r\n".encode())
        return int(wire.rest().split(b" ")[1])


@pytest.mark.parametrize("check", CHECKS)
def test_g_07_a_health_check_needs_no_host(check, balanced):
    assert status(balanced.port, CHECKS[check]) == 200
    assert not balanced.app.seen("/alive")


@pytest.mark.parametrize(
    "head, expected", [
        ("GET /alive HTTP/1.1\r\n", 400), ("POST /alive HTTP/1.0\r\n", 400), ("GET /alive/x HTTP/1.0\r\n", 400), ("GET / HTTP/1.0\r\n", 400),
        ("GET /alive?x HTTP/1.1\r\nHost: backend\r\n", 200), ("DELETE /alive HTTP/1.1\r\nHost: backend\r\n", 404),
        ("GET /other HTTP/1.1\r\nHost: backend\r\n", 404),
    ]
)
def test_g_07_other_requests_are_decided_as_without_a_health_path(head, expected, balanced):
    assert status(balanced.port, head) == expected


def test_g_07_on_the_host_of_an_app_the_path_is_the_apps(balanced):
    assert status(balanced.port, f"GET /alive HTTP/1.1\r\nHost: {HOST}\r\n") == 200
    assert balanced.app.seen("/alive")
