# SPDX-License-Identifier: Apache-2.0
"""What real app servers read: Python's wsgiref and Node, as the models of the unit tests do, and behind the gateway."""

import json
import re
import threading
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest

from support.browser import Browser
from support.gateway import Gateway, oidc
from support.processes import REPOSITORY, Process, eventually
from support.raw import Wire, request

#: What `AppServer` in Tests/GateIngressTests, too, is compared with.
HEADS = json.loads((REPOSITORY / "Tests/Fixtures/app-servers/heads.json").read_text())

NODE = """
const server = require('node:http').createServer((request, response) => {
  request.resume().on('end', () => response.end(JSON.stringify(request.headers)));
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
"""


class Quiet(WSGIRequestHandler):
    def log_message(self, *arguments):
        pass


def environment(environ, start_response):
    """Responds with the fields of the request as the app gets them."""
    start_response("200 OK", [("Content-Type", "application/json")])
    fields = {key: value for key, value in environ.items() if key.startswith("HTTP_")}
    # Without the field wsgiref writes `text/plain`.
    if environ.get("CONTENT_TYPE", "text/plain") != "text/plain":
        fields["CONTENT_TYPE"] = environ["CONTENT_TYPE"]
    return [json.dumps(fields).encode()]


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    """The ports of apps on both servers."""
    wsgi = make_server("127.0.0.1", 0, environment, handler_class=Quiet)
    threading.Thread(target=wsgi.serve_forever, daemon=True).start()
    node = Process(["node", "-e", NODE], tmp_path_factory.mktemp("node"), "node")
    port = eventually(lambda: node.log if node.log.endswith("\n") else None, "the app prints its port")
    yield {"wsgi": wsgi.server_port, "node": int(port)}
    wsgi.shutdown()
    node.stop()


@pytest.fixture(scope="module")
def gateway(tmp_path_factory, provider_server, servers):
    apps = {
        server: {
            "path": f"/{server}/", "upstream": f"http://127.0.0.1:{port}", "allow": "signed_in",
            "public": [f"/{server}/public/"], "identity": {"preset": "remote-user"}, "underscore_headers": "forward",
        }
        for server, port in servers.items()
    }
    provider = {"mock": oidc(provider_server.realm("mock").issuer)}
    with Gateway(tmp_path_factory.mktemp("gateway"), provider, apps) as gateway:
        yield gateway


@pytest.fixture
def cookie(gateway, realm):
    browser = Browser(gateway)
    assert browser.visit("/oauth2/start/mock?rd=/oauth2/userinfo").status == 200
    return ("Cookie", f"gatehouse={browser.ticket()}")


@pytest.mark.parametrize("server", ["wsgi", "node"])
@pytest.mark.parametrize("head", HEADS, ids=lambda head: head["lines"][0][:20])
def test_a_server_reads_names_as_its_model_does(head, server, servers):
    with Wire(servers[server]) as wire:
        wire.send("".join(f"{line}\r\n" for line in ["GET / HTTP/1.1", "Host: a", *head["lines"], ""]).encode("latin-1"))
        response = wire.response()
    if server not in head:
        assert response.status == 400
        return
    fields = response.json
    for name in ("HTTP_HOST", "host"):
        fields.pop(name, None)
    assert fields == head[server]


def folded(fields):
    """What an app reads, by the name in lower case with `-`, without what differs from request to request."""
    found = {re.sub("[^a-z0-9]", "-", name.removeprefix("HTTP_").lower()): value for name, value in fields.items()}
    assert len(found) == len(fields)
    assert found.pop("x-request-id") and "evil" not in found.get("x-gatehouse-assertion", "")
    found["x-gatehouse-assertion"] = found.get("x-gatehouse-assertion", "").count(".")
    return found


NAMES = ["X-Forwarded-User", "X-Forwarded-Groups", "X-Gatehouse-Assertion", "Remote-User", "Proxy", "X-Original-URL"]
SPELLINGS = [
    str, str.lower, str.upper, lambda name: name.replace("-", "_"), lambda name: name.replace("-", "."),
    lambda name: f"HTTP_{name.replace('-', '_')}", lambda name: f"{name} ", lambda name: f"X-A: b\r{name}",
    lambda name: f"X-A: b\r\n {name}", lambda name: f"{name}\u00a0", lambda name: name.replace("-", "\u00ad"),
]


@pytest.mark.parametrize("server", ["wsgi", "node"])
def test_a_08_an_app_reads_the_identity_of_the_session_and_no_other(server, gateway, cookie):
    """A-08 A-51 K-01 K-02: neither a spelling, nor `Connection`, nor a trailer adds or removes anything."""
    for path, mine in ((f"/{server}/x", [cookie]), (f"/{server}/public/x", [])):
        expected = folded(request(gateway.port, path, fields=mine).json)
        assert expected.get("x-forwarded-user") == expected.get("remote-user") == ("mock:ada" if mine else None)
        for name in NAMES:
            for spelling in SPELLINGS:
                response = request(gateway.port, path, fields=[*mine, (spelling(name), "evil"), (spelling(name), "evil")])
                if response.status == 400:
                    continue
                found = folded(response.json)
                # A name that every server reads as another one stays: no app takes an identity from it.
                found.pop(f"http-{name.lower()}", None)
                assert response.status == 200 and found == expected, (name, spelling(name))
            named = [*mine, ("Connection", f"close, {name}, {name.lower()}")]
            assert folded(request(gateway.port, path, fields=named).json) == expected
        chunked = [*mine, ("Transfer-Encoding", "chunked"), ("Trailer", ", ".join(NAMES)), ("Connection", "close")]
        trailers = "".join(f"{name}: evil\r\n" for name in NAMES)
        head = "".join(f"{name}: {value}\r\n" for name, value in chunked)
        with Wire(gateway.port) as wire:
            wire.send(f"POST {path} HTTP/1.1\r\nHost: {gateway.authority}\r\n{head}\r\n1\r\na\r\n0\r\n{trailers}\r\n".encode())
            found = folded(wire.response("POST").json)
        for name in ("transfer-encoding", "content-type", "connection"):
            found.pop(name, None)
        assert found == expected
