# SPDX-License-Identifier: Apache-2.0
"""Node on both sides: its HTTP/1.1 and HTTP/2 clients through the gateway to apps on its servers."""

import json
import subprocess
from pathlib import Path

import pytest

from support.browser import Browser
from support.gateway import Gateway, oidc
from support.processes import Process, eventually, free_port

SUPPORT = Path(__file__).parent / "support"


@pytest.fixture(scope="module")
def node_app(tmp_path_factory):
    """The ports of an app on Node, for HTTP/1.1 and for HTTP/2 without TLS."""
    process = Process(["node", SUPPORT / "node_app.mjs"], tmp_path_factory.mktemp("node"), "app")
    yield json.loads(eventually(lambda: process.log if process.log.endswith("\n") else None, "the app prints its ports"))
    process.stop()


@pytest.fixture(scope="module")
def own_gateway(tmp_path_factory, provider_server, certificates, node_app):
    tls_port = free_port()
    cert, key = certificates["gate"]
    plain, multiplexed = f"http://127.0.0.1:{node_app['http']}", f"h2c://127.0.0.1:{node_app['h2c']}"
    apps = {
        "plain": {"path": "/", "upstream": plain, "allow": "signed_in", "public": ["/public/"], "websocket": True,
                  "early_hints": True},
        "multiplexed": {"path": "/h2c/", "upstream": multiplexed, "allow": "signed_in", "public": ["/h2c/public/"]},
    }
    gateway = Gateway(
        tmp_path_factory.mktemp("gateway"), {"mock": oidc(provider_server.realm("mock").issuer)}, apps,
        listeners=[{"address": f"127.0.0.1:{tls_port}", "tls": [{"certificate": cert, "private_key": key}]}],
    )
    gateway.tls_port = tls_port
    with gateway:
        yield gateway


def node(task, gateway, path, port=None, **more):
    """The result of a task of Node's client."""
    setting = {"host": gateway.host, "port": port or gateway.port, "path": path, **more}
    done = subprocess.run(["node", str(SUPPORT / "node_client.mjs"), task, json.dumps(setting)], capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.fixture
def cookie(own_gateway, realm):
    browser = Browser(own_gateway)
    assert browser.visit("/oauth2/start/mock?rd=/oauth2/userinfo").status == 200
    return "; ".join(f"{name}={value}" for name, value in browser.cookies[own_gateway.host].items())


@pytest.mark.parametrize("app", ["/", "/h2c/"])
def test_bodies_over_kept_connections(app, own_gateway, cookie):
    """Each body comes back whole, over few connections, and the app gets the user."""
    seen = node("http1", own_gateway, app, cookie=cookie)
    assert seen["responses"] == ["mock:ada"] * 200
    assert seen["connections"] <= 8


@pytest.mark.parametrize("app", ["/public/", "/h2c/public/"])
def test_many_streams_of_one_connection(app, own_gateway):
    """Bodies larger than the windows, fifty at once; trailers arrive from an app that speaks HTTP/2."""
    responses = node("http2", own_gateway, app, port=own_gateway.tls_port)["responses"]
    assert responses == [["-", app == "/h2c/public/"]] * 150


@pytest.mark.parametrize("app", ["/public/", "/h2c/public/"])
def test_an_event_arrives_before_the_next_is_sent(app, own_gateway):
    seen = node("events", own_gateway, app)
    assert seen == {"type": "text/event-stream", "seen": ["data: first\n\n", "data: second\n\n"]}


def test_a_websocket_inside_http2(own_gateway):
    """S-54, RFC 8441: the app on Node sees the handshake of HTTP/1.1."""
    seen = node("websocket", own_gateway, "/public/", port=own_gateway.tls_port, origin=own_gateway.origin)
    assert seen == {"isOffered": True, "status": 200, "message": "from Node"}


def test_early_hints(own_gateway):
    seen = node("hints", own_gateway, "/public/")
    assert seen == {"hints": [[103, "</style.css>; rel=preload; as=style"]], "body": "page"}
