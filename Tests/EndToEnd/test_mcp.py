# SPDX-License-Identifier: Apache-2.0
"""Rules about the messages to MCP servers, on the wire, and the metadata by which clients find the gateway."""

import json
import re
import select

import pytest

from support.browser import Browser
from support.gateway import Gateway, oidc, run
from support.oauth_client import Client
from support.processes import eventually
from support.raw import Wire, request
from support.upstream import Upstream

URI = "com.example.notes:/signed-in"
JSON = ("Content-Type", "application/json")


@pytest.fixture(scope="module")
def app():
    with Upstream() as app:
        yield app


@pytest.fixture(scope="module")
def gateway(tmp_path_factory, provider_server, app):
    providers = {"mock": oidc(provider_server.realm("mock").issuer)}
    common = {"upstream": app.address, "mcp": True}
    apps = {
        "notes": {**common, "path": "/notes", "allow": "signed_in", "deny": [{"mcp_tool": ["rm", "dd"]}]},
        "read": {**common, "host": "read.localhost", "mcp_max_body": "1KiB",
                 "allow": [{"mcp_method": ["initialize", "tools/list"]}, {"path": "/free"}]},
        "plain": {**common, "host": "plain.localhost", "allow": "signed_in", "mcp_max_body": "1KiB"},
        "wiki": {"path": "/", "upstream": app.address, "allow": "signed_in", "accept": ["session", "token"]},
    }
    gateway = Gateway(tmp_path_factory.mktemp("mcp"), providers, apps)
    gateway.configuration["clients"] = {
        "notes": {"type": "native", "redirect_uris": [URI], "allow": "signed_in",
                  "audiences": ["notes", "read", "plain", "wiki"]},
    }
    with gateway:
        yield gateway


@pytest.fixture(scope="module")
def token(gateway):
    browser = Browser(gateway)
    assert browser.sign_in("mock", "/x").status == 200
    return Client(gateway, "notes", URI).sign_in(browser)["access_token"]


@pytest.fixture
def post(gateway, token):
    def send(body, path="/notes/mcp", host=None, fields=(JSON,), method="POST"):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        lines = [("Authorization", f"Bearer {token}"), *fields]
        return request(gateway.port, path, host=host or gateway.host, method=method, fields=lines, body=data)

    return send


def call(tool, number=1):
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": tool, "arguments": {}}}


def message(method, **more):
    return {"jsonrpc": "2.0", "method": method, **more}


@pytest.mark.parametrize("number", ["seven", 7, 0])
def test_n_06_a_tool_that_a_rule_denies_is_denied_and_the_app_gets_nothing(post, app, number):
    """As a response of JSON-RPC: an error of HTTP would end the transport of clients."""
    before = len(app.requests)
    response = post(call("rm", number))
    assert response.status == 200 and response.get("content-type") == "application/json"
    assert response.json["jsonrpc"] == "2.0" and response.json["id"] == number
    error = response.json["error"]
    assert error["code"] == -32043 and error["data"]["error"] == "policy.denied"
    assert error["data"]["incident"] and error["message"].endswith(error["data"]["incident"])
    assert len(app.requests) == before


def test_n_06_a_notification_that_a_rule_denies_does_not_end_the_transport(post, app):
    before = len(app.requests)
    for body in (message("tools/call", params={"name": "rm"}), [message("tools/call", params={"name": "dd"})]):
        response = post(body)
        assert response.status == 200 and response.json["id"] is None and response.json["error"]["data"]["incident"]
    assert len(app.requests) == before


def test_what_is_admitted_reaches_the_app_byte_for_byte(gateway, post, app, token):
    body = b' {"method" : "tools/call","jsonrpc":"2.0",\r\n"params":{"name":"l\\u0073","a":1.0e0},"id":9007199254740993}\n'
    assert post(body, "/notes/exact").status == 200
    assert app.seen("/notes/exact")[0].body == body
    with Wire(gateway.port) as wire:
        # In chunks that end within a word, after the head was decided about.
        wire.send(
            f"POST /notes/chunks HTTP/1.1\r\nHost: {gateway.host}\r\nAuthorization: Bearer {token}\r\n"
            "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n".encode()
        )
        assert wire.until(b"\r\n\r\n").startswith(b"HTTP/1.1 100")
        for start in range(0, len(body), 7):
            part = body[start:start + 7]
            wire.send(f"{len(part):x}\r\n".encode() + part + b"\r\n")
        wire.send(b"0\r\n\r\n")
        assert wire.response("POST").status == 200
    assert app.seen("/notes/chunks")[0].body == body


def test_every_message_of_a_batch_has_to_be_admitted(post):
    assert post([call("ls"), call("cat", 2), message("ping", id=3)]).status == 200
    for batch in ([call("rm"), call("ls", 2)], [call("ls"), call("rm", 2)], [message("notifications/x"), call("dd")]):
        response = post(batch)
        # N-06: an error for each request of the batch, which waits for it.
        assert response.status == 200 and {one["error"]["data"]["error"] for one in response.json} == {"policy.denied"}
        assert [one["id"] for one in response.json] == [one["id"] for one in batch if "id" in one], batch


@pytest.mark.parametrize("body, fields", [
    (b"", (JSON,)), (b"{", (JSON,)), (b"[]", (JSON,)), (b"\xff", (JSON,)), (b'"x"', (JSON,)),
    (json.dumps(call("ls")).encode() + b"x", (JSON,)), (json.dumps(call("ls")).encode("utf-16"), (JSON,)),
    (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call"}', (JSON,)),
    (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ls","Name":"rm"}}', (JSON,)),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b"[" * 70 + b"]" * 70 + b"}", (JSON,)),
    (json.dumps(call("ls")).encode(), ()), (json.dumps(call("ls")).encode(), (("Content-Type", "text/plain"),)),
    (json.dumps(call("ls")).encode(), (JSON, ("Content-Encoding", "gzip"))),
    (json.dumps(call("ls")).encode(), (JSON, ("Mcp-Method", "tools/list"))),
    (json.dumps(call("ls")).encode(), (JSON, ("Mcp-Name", "cat"))),
])
def test_what_cannot_be_read_in_one_way_is_denied(post, app, body, fields):
    before = len(app.requests)
    response = post(body, fields=fields)
    assert response.status == 403 and response.json["error"]["data"]["error"] == "policy.fact_unknown"
    assert len(app.requests) == before


def test_a_body_over_the_limit_is_denied_where_a_rule_needs_it_only(gateway, post, token):
    def padded(size):
        text = json.dumps(message("tools/list", id=1))
        return (text + " " * (size - len(text))).encode()

    assert post(padded(1024), "/x", "read.localhost").status == 200
    response = post(padded(1025), "/x", "read.localhost")
    assert response.status == 403 and response.json["error"]["data"]["error"] == "policy.fact_unknown"
    assert "over 1024 bytes ('mcp_max_body')" in gateway.log
    # No rule of this app is about messages, and an entry about the path decides here without one.
    assert post(b"x" * 5000, "/x", "plain.localhost").status == 200
    assert post(b"x" * 5000, "/free", "read.localhost").status == 200
    chunk = b"400\r\n" + b" " * 1024 + b"\r\n"
    with Wire(gateway.port) as wire:
        wire.send(
            f"POST /x HTTP/1.1\r\nHost: read.localhost\r\nAuthorization: Bearer {token}\r\n"
            "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n".encode() + chunk + chunk
        )
        assert wire.response("POST").status == 403


def test_a_list_of_methods_leaves_the_session_alone_that_initialize_begins(post):
    here = {"path": "/mcp", "host": "read.localhost"}
    for body in (
        message("initialize", id=1), message("tools/list", id=2), message("notifications/initialized"),
        message("notifications/cancelled", params={"requestId": 1}), {"jsonrpc": "2.0", "id": 1, "result": {}},
    ):
        assert post(body, **here).status == 200, body
    for method in ("GET", "HEAD", "DELETE"):
        assert post(b"", method=method, fields=(), **here).status == 200, method
    for body in (call("ls"), message("ping", id=1), message("resources/list", id=1)):
        response = post(body, **here)
        assert response.status == 200 and response.json["error"]["code"] == -32043, body
    for method in ("PUT", "PATCH", "OPTIONS"):
        assert post(b"", method=method, fields=(), **here).status == 403, method
    assert post(b"{}", method="GET", **here).status == 403
    assert post(b"", method="GET", fields=(("Upgrade", "websocket"), ("Connection", "Upgrade")), **here).status == 403


def test_a_request_without_a_token_is_led_to_the_metadata(gateway):
    for host, path, app_path in ((gateway.host, "/notes/mcp", "/notes"), ("read.localhost", "/mcp", "")):
        response = request(gateway.port, path, host=host, method="POST", fields=[JSON], body=b"{}")
        assert response.status == 401
        challenge = next(value for value in response.all("www-authenticate") if value.startswith("Bearer"))
        url = re.search(r'resource_metadata="([^"]+)"', challenge)[1]
        assert 'scope="openid"' in challenge, "E-11: what the client is to ask for first"
        resource = f"http://{host}:{gateway.port}"
        assert url == f"{resource}/.well-known/oauth-protected-resource{app_path}"
        assert response.json["resource_metadata"] == url and response.json["error"] == "sign_in_required"
        found = request(gateway.port, url.removeprefix(resource), host=host)
        assert found.status == 200 and found.get("content-type") == "application/json"
        assert found.get("access-control-allow-origin") == "*"
        assert found.json["resource"] == resource + app_path
        assert found.json["authorization_servers"] == [gateway.origin]
        assert found.json["bearer_methods_supported"] == ["header"] and found.json["scopes_supported"] == ["openid"]


def test_a_rejected_token_has_the_metadata_too_and_other_apps_have_none(gateway):
    response = request(gateway.port, "/notes/mcp", fields=[("Authorization", "Bearer x.y.z")])
    challenge = next(value for value in response.all("www-authenticate") if value.startswith("Bearer"))
    assert response.status == 401 and 'error="invalid_token"' in challenge and "resource_metadata=" in challenge
    assert request(gateway.port, "/.well-known/oauth-protected-resource/other").status == 401
    # Only on the host of the app.
    assert request(gateway.port, "/.well-known/oauth-protected-resource/notes", host="read.localhost").status == 401


def test_the_rules_are_explained_without_a_gateway(gateway, tmp_path):
    profile = tmp_path / "ann.json"
    profile.write_text(json.dumps({"user": "mock:ann"}))
    for tool, decision in (("rm", "denied"), ("ls", "allowed")):
        options = ("--config", gateway.path, "--as", profile, "--path", "/notes", "--mcp-tool", tool, "--json")
        result = run("policy", "explain", "notes", *options)
        assert result.returncode == 0, result.stderr
        assert json.loads(result.stdout)["decision"] == decision and json.loads(result.stdout)["method"] == "POST"
    cases = tmp_path / "cases.yaml"
    cases.write_text(json.dumps({
        "users": {"ann": {"user": "mock:ann"}},
        "cases": [
            {"app": "notes", "as": "ann", "path": "/notes", "mcp_tool": "rm", "expect": "denied"},
            {"app": "read", "as": "ann", "path": "/", "mcp_method": "tools/list", "expect": "allowed"},
            {"app": "read", "as": "ann", "path": "/", "mcp_method": "ping", "expect": "denied"},
            {"app": "read", "as": "ann", "path": "/", "expect": "allowed"},
            {"app": "read", "as": "ann", "path": "/", "method": "POST", "expect": "denied"},
        ],
    }))
    result = run("policy", "test", cases, "--config", gateway.path)
    assert result.returncode == 0 and "5 cases, 0 failed" in result.stdout, result.stdout + result.stderr


def test_bodies_that_wait_for_their_rest_are_bounded_for_a_sign_in(gateway, token):
    """K10: eight MiB for each event loop; others get 503, and all of it is free when the connections close."""
    size = (1 << 20) - 1
    head = (
        f"POST /notes/mcp HTTP/1.1\r\nHost: gate.localhost\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {size}\r\n\r\n"
    )
    wires = []
    try:
        for _ in range(40):
            wire = Wire(gateway.port)
            wires.append(wire)
            try:
                wire.send(head.encode() + b" " * (size - 1))
            except OSError:
                # It was rejected before its end.
                pass
        rejected = []

        def are_rejected():
            for wire in [wire for wire in wires if wire not in rejected]:
                if select.select([wire.socket], [], [], 0)[0]:
                    assert b" 503 " in wire.socket.recv(64)
                    rejected.append(wire)
            return len(rejected) >= 20

        eventually(are_rejected, "those over the bound are rejected")
        assert len(rejected) <= 40 - 8
    finally:
        for wire in wires:
            wire.socket.close()
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()
    fields = [("Authorization", f"Bearer {token}"), JSON]
    eventually(
        lambda: request(gateway.port, "/notes/mcp", host=gateway.host, method="POST", fields=fields, body=body).status == 200,
        "others are accepted"
    )
