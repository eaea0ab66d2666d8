# SPDX-License-Identifier: Apache-2.0
"""Forward-auth: nginx, Caddy and Envoy with the files of deploy/forward-auth forward to an app and ask the gateway before."""

import ipaddress
import json
import re
from pathlib import Path

import grpc
import jwt
import pytest
import requests

from support.browser import Browser, trusting_context
from support.documents import blocks
from support.fronts import Front
from support.gateway import Gateway, oidc, run
from support.processes import certificate, eventually, free_port
from support.raw import Wire, request
from support.sealed import opened, sealed
from support.tokens import now
from support.websockets import agrees, frame, handshake, unmasked

DIALECTS = ["nginx", "caddy", "envoy", "envoy_grpc"]

#: Names by which apps take a user, a client or a path: the gateway's own, and one of each family that it removes.
MANAGED = [
    "X-Forwarded-User", "X-Forwarded-Email", "X-Forwarded-Name", "X-Forwarded-Preferred-Username", "X-Forwarded-Groups",
    "X-Forwarded-Provider", "X-Gatehouse-Assertion", "X-Auth-Request-User", "X-Auth-Request-Groups", "X-WEBAUTH-USER",
    "X-Webauth-Role", "Remote-User", "X-Remote-User", "X-Authentik-Username", "X-Pomerium-Claim-Email", "X-User",
    "X-Goog-Authenticated-User-Email", "X-Ms-Client-Principal", "Cf-Access-Authenticated-User-Email", "X-Client-Cert",
    "X-Original-URL", "X-Original-Method", "X-Original-Uri", "X-Rewrite-Url", "X-Forwarded-Uri", "X-Forwarded-Method",
    "X-Forwarded-Prefix", "X-Forwarded-Port", "X-Forwarded-Server", "X-Forwarded-Host", "X-Real-IP", "Forwarded",
    "X-Gatehouse-Else", "x_forwarded_user", "X.Forwarded.User", "X_WEBAUTH_USER", "X-Envoy-Original-Path",
]


@pytest.fixture(scope="module")
def fronts(tmp_path_factory, provider_server):
    """The proxies, each begun when it is first needed."""
    begun = {}
    folder = tmp_path_factory.mktemp("fronts")
    files = certificate(folder, "front", Front.gate, Front.wiki)

    def get(dialect):
        if dialect not in begun:
            issuer = provider_server.realm("mock").issuer
            begun[dialect] = Front(dialect, tmp_path_factory.mktemp(dialect), issuer, files).start()
        return begun[dialect]

    yield get
    for front in begun.values():
        front.stop()


@pytest.fixture(params=DIALECTS)
def front(request, fronts, realm):
    front = fronts(request.param)
    front.app.requests.clear()
    yield front
    assert front.process.child.poll() is None and front.gateway.process.child.poll() is None


def signed_in(front):
    """A browser that came to a page of the app and signed in on the way."""
    browser = Browser(front.gateway)
    page = browser.visit(f"{front.origin}/deep?x=1&y=%2F")
    assert page.status == 200 and page.url == f"{front.origin}/deep?x=1&y=%2F", browser.history
    return browser


@pytest.fixture
def ada(front):
    """The same, shared by the tests of a proxy."""
    if not hasattr(front, "ada"):
        front.ada = signed_in(front)
    return front.ada


def ask(front, target="/page", method="GET", fields=(), host=None, body=b""):
    """One request to the proxy, as bytes."""
    host = host or f"{front.wiki}:{front.port}"
    return request(front.port, target, host, method, fields, body, tls=trusting_context(), server_name=front.wiki)


def cookie(front, browser):
    return ("Cookie", f"__Host-gatehouse={browser.ticket(front.wiki)}; theme=dark")


def test_a_sign_in_ends_at_the_page_with_an_identity_that_the_app_can_verify(front):
    signed_in(front)
    seen = front.app.seen("/deep")[-1]
    assert seen.target == "/deep?x=1&y=%2F"
    user = seen.get("x-forwarded-user")
    assert user.startswith("mock:") and seen.all("x-webauth-user") in ([], [user])
    assert not seen.get("cookie")
    keys = requests.get(f"http://127.0.0.1:{front.gateway.port}/oauth2/jwks.json", headers={"Host": front.gate}).json()
    key = jwt.PyJWKSet.from_dict(keys).keys[0].key
    claims = jwt.decode(seen.get("x-gatehouse-assertion"), key, ["ES256"], audience=front.origin)
    assert claims["sub"] == user and claims["iss"] == front.gateway.origin
    assert seen.get("x-forwarded-host", "").partition(":")[0] == front.wiki
    # Envoy writes its own IP for a client on the same machine.
    assert seen.all("x-forwarded-proto") == ["https"] and ipaddress.ip_address(*seen.all("x-forwarded-for"))


def test_the_app_gets_the_cookies_of_others_only(front, ada):
    assert ask(front, fields=[cookie(front, ada)]).status == 200
    assert front.app.seen("/page")[-1].get("cookie") == "theme=dark"
    assert ask(front, "/public/x", fields=[cookie(front, ada)]).status == 200
    assert front.app.seen("/public/x")[-1].get("cookie") == "theme=dark"


def test_a_post_reaches_the_app_with_its_body_and_one_of_another_site_does_not(front, ada):
    page = ada.send("POST", f"{front.origin}/form", {"a": "b" * 5000})
    assert page.status == 200 and page.json["length"] == 5002
    forged = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    assert ada.send("POST", f"{front.origin}/forged", {"a": "b"}, forged).status == 403
    assert not front.app.seen("/forged")


def test_a_websocket_is_opened_by_pages_of_the_app_only(front, ada):
    def act(connection, seen):
        connection.send(agrees(seen))
        while len(connection.buffer) < 7:
            connection.more()
        connection.send(frame(unmasked(connection.buffer)[1], mask=False))

    front.app.script("/ws", act)
    for origin, status in ((front.origin, b"101"), ("https://evil.example", b"403")):
        lines = {"Origin": origin, "Cookie": cookie(front, ada)[1]}
        with Wire(front.port, tls=trusting_context(), server_name=front.wiki) as wire:
            wire.send(handshake("/ws", f"{front.wiki}:{front.port}", lines))
            head = wire.until(b"\r\n\r\n")
            assert head.split()[1] == status, head
            if status == b"101":
                wire.send(frame(b"hello"))
                assert unmasked(wire.until(b"o") + b"o")[1] == b"hello"
    assert len(front.app.seen("/ws")) == 1


def test_after_a_sign_out_the_next_page_leads_to_the_sign_in(front):
    ada = signed_in(front)
    assert ada.sign_out(origin=front.origin).status in (200, 303)
    response = ada.send("GET", f"{front.origin}/after")
    assert response.status == 303 and response.get("location").startswith(f"{front.gateway.origin}/oauth2/")
    assert not front.app.seen("/after")


def test_a_user_who_may_not_enter_sees_why_and_a_script_gets_json(front, ada):
    page = ada.send("GET", f"{front.origin}/staff/x")
    assert page.status == 403 and "You may not open staff" in page.text and "policy.refused" in page.text
    script = ada.send("GET", f"{front.origin}/staff/x", navigates=False)
    assert script.status == 403 and script.json["error"] == "policy.refused"
    stranger = ask(front, "/page")
    assert stranger.status == 401 and stranger.json["sign_in"].startswith(front.origin)
    assert stranger.get("cache-control") == "no-store" and not front.app.seen("/page") and not front.app.seen("/staff")


def test_a_95_no_field_that_a_client_sends_is_an_identity_for_the_app(front, ada):
    """A-08 A-95 K-01: also where the user has no value for the field, and on public paths."""
    ours = {"x-forwarded-host", "x-forwarded-for", "x-forwarded-proto"}
    for target, fields in (("/page", [cookie(front, ada)]), ("/public/x", [])):
        for name in MANAGED:
            front.app.requests.clear()
            response = ask(front, target, fields=[*fields, (name, "evil")])
            assert response.status in (200, 400, 403), (name, response)
            assert bool(front.app.requests) == (response.status == 200), (name, response)
            for seen in front.app.requests:
                values = {key.lower(): value for key, value in seen.fields}
                assert not any("evil" in value for value in values.values()), (name, seen)
                assert not values.get("x-forwarded-groups"), seen
                known = {key for key, value in values.items() if key.startswith("x-forwarded-") and value} - ours
                user = {f"x-forwarded-{name}" for name in ("user", "email", "name", "preferred-username", "provider")}
                assert known <= (user if target == "/page" else set()), (name, seen)


def test_a_10_what_the_request_is_comes_from_the_proxy_only(front):
    """A-10 A-39 A-43 K-04: no field of a client, of this or another dialect, leads to a decision about another request."""
    url = f"{front.origin}/public/x"
    lies = [
        ("X-Original-URL", url), ("X-Original-Method", "OPTIONS"), ("X-Forwarded-Uri", "/public/x"),
        ("X-Forwarded-Method", "OPTIONS"), ("X-Forwarded-Host", "open.localhost"), ("X-Forwarded-Proto", "https"),
        ("X-Original-Uri", "/public/x"), ("X-Rewrite-Url", "/public/x"), ("X-Envoy-Original-Path", "/public/x"),
        ("X-Forwarded-Prefix", "/public/"), ("X-Forwarded-For", "127.0.0.1"), ("User-Agent", "GoogleHC/1.0"),
    ]
    for fields in [[one] for one in lies] + [lies]:
        response = ask(front, "/secret", fields=fields)
        assert response.status in (400, 401, 403), (fields, response)
    # nginx chooses the server by the host of the request line.
    for target, host in (("/secret", "open.localhost"), (f"{front.origin}/secret", f"open.localhost:{front.port}")):
        ask(front, target, host=host)
        assert not front.app.requests, target


def test_a_42_no_spelling_of_a_path_passes_for_a_public_one(front):
    """A-07 A-11 A-42: the path that is decided about is the one that the app gets."""
    for target in (
        "/public/../secret", "/public/%2e%2e/secret", "/public/..%2fsecret", "/public//../secret", "//public/../secret",
        "/public/x/..;/../../secret", "/secret#/public/", "/secret%23/public/", "/secret?/public/", "/PUBLIC/secret",
        "/public\\..\\secret", "/%70ublic/../secret", "/secret;/public/",
    ):
        front.app.requests.clear()
        status = ask(front, target).status
        assert status == 200 if front.app.requests else status in (400, 401, 403, 404), target
        # Envoy forwards what it has made of a path before it asked.
        assert all(seen.target.startswith("/public/") and ".." not in seen.target for seen in front.app.requests), target


def test_no_client_gets_a_decision_through_the_proxy(front, ada):
    lies = {
        "nginx": [("X-Original-URL", f"{front.origin}/page"), ("X-Original-Method", "GET")],
        "caddy": [("X-Forwarded-Uri", "/page"), ("X-Forwarded-Method", "GET")], "envoy": [], "envoy_grpc": [],
    }[front.dialect]
    for host in (front.wiki, front.gate):
        for path in ("auth", "auth/", "auth/response", "auth/page", "%61uth", "./auth", "x/../auth", "/auth", "auth?x"):
            fields = [cookie(front, ada), *lies]
            response = ask(front, f"/oauth2/{path}", fields=fields, host=f"{host}:{front.port}")
            assert response.status in (400, 403, 404), (path, response)
            assert not response.get("x-forwarded-user") and not response.get("x-gatehouse-assertion")


PREFLIGHT = [("Access-Control-Request-Method", "PUT"), ("Access-Control-Request-Headers", "authorization")]


def test_a_preflight_of_a_listed_page_reaches_the_app_and_no_other(front, ada):
    """Browsers send it without cookies; the app decides."""
    def sent(target, origin, fields=()):
        front.app.requests.clear()
        response = ask(front, target, "OPTIONS", [("Origin", origin), *PREFLIGHT, *fields])
        assert bool(front.app.requests) == (response.status == 200), (target, origin, response)
        return response.status

    for target, origin in (("/api/x", front.page), ("/api/hooks/x", front.page), ("/api/hooks/x", front.hook)):
        assert sent(target, origin) == 200, (target, origin)
        seen, = front.app.requests
        assert seen.method == "OPTIONS" and seen.get("origin") == origin and not seen.get("x-forwarded-user")
    for target, origin in (
        ("/api/x", front.hook), ("/api/hooks", front.hook), ("/api/x", "https://evil.example"), ("/page", front.page),
        ("/staff/x", front.page), ("/apis/x", front.page),
    ):
        assert sent(target, origin) == 401, (target, origin)
    front.app.requests.clear()
    assert ask(front, "/api/x", "OPTIONS", [("Origin", front.page)]).status == 401 and not front.app.requests


def test_a_page_of_another_origin_writes_where_it_is_listed(front, ada):
    """`origins` of an app, and for one path of it."""
    def written(target, origin):
        fields = [cookie(front, ada), ("Origin", origin), ("Sec-Fetch-Site", "cross-site")]
        front.app.requests.clear()
        status = ask(front, target, "POST", fields, body=b"ab").status
        assert [seen.body for seen in front.app.requests] == [b"ab"] * (status == 200), (target, origin)
        return status

    for target, origin in (("/api/x", front.page), ("/api/hooks/x", front.page), ("/api/hooks/x", front.hook)):
        assert written(target, origin) == 200, (target, origin)
        assert front.app.requests[0].get("x-forwarded-user") == "mock:ada"
    for target, origin in (
        ("/api/x", front.hook), ("/api/hooks", front.hook), ("/api/x", "https://evil.example"), ("/page", front.page),
    ):
        assert written(target, origin) == 403, (target, origin)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_renewed_session_in_a_cookie_reaches_the_browser(dialect, tmp_path, provider_server, realm):
    """Through Caddy none does, as docs/forward-auth.md states."""
    files = certificate(tmp_path, "front", Front.wiki, Front.unused)
    front = Front(dialect, tmp_path, realm.issuer, files, {"store": "cookie:", "idle_timeout": "1h"})
    name = "__Host-gatehouse"
    try:
        front.start()
        fresh = signed_in(front).cookies[front.wiki][name]
        assert ask(front, "/fresh", fields=[("Cookie", f"{name}={fresh}")]).all("set-cookie") == []
        seen, session = opened(fresh, front.wiki)
        before = seen - 3000
        old = sealed(before, {**session, "created": before}, front.wiki)
        response = ask(front, "/renewed", fields=[("Cookie", f"{name}={old}; theme=dark")])
        assert response.status == 200 and front.app.seen("/renewed")[-1].get("cookie") == "theme=dark"
        lines = response.all("set-cookie")
        if dialect == "caddy":
            assert lines == []
            return
        line, = lines
        assert line.startswith(f"{name}=") and line.endswith("; Path=/; Secure; HttpOnly; SameSite=Lax")
        time, renewed = opened(line.partition("=")[2].partition(";")[0], front.wiki)
        assert seen - 60 <= time <= now() and renewed["id"] == session["id"]
        # A session that is over is not renewed.
        late = seen - 3601
        over = sealed(late, {**session, "created": late - 400}, front.wiki)
        response = ask(front, "/over", fields=[("Cookie", f"{name}={over}")])
        assert response.status == 401 and not front.app.seen("/over")
    finally:
        front.stop()


def test_without_the_gateway_nothing_reaches_the_app(front, ada):
    """K-07."""
    front.gateway.kill()
    try:
        assert ask(front, fields=[cookie(front, ada)]).status in (500, 502, 503)
        assert ask(front, "/public/x").status in (500, 502, 503)
        assert not front.app.seen("/page") and not front.app.seen("/public/x")
    finally:
        front.gateway.start()
    eventually(lambda: ask(front, fields=[cookie(front, ada)]).status == 200, "the proxy asks again")


# Without a proxy


@pytest.fixture(scope="module")
def asked(tmp_path_factory, provider_server):
    """A gateway that 127.0.0.1 may ask, about an app in each mode."""
    apps = {
        "wiki": {"forward_auth": "enforce", "allow": "signed_in", "public": ["/public/"]},
        "old": {"host": "old.localhost", "forward_auth": "shadow", "allow": [{"path": "/page"}]},
    }
    settings = {"forward_auth": {"dialect": "nginx", "from": ["127.0.0.1/32"]}}
    provider = {"mock": oidc(provider_server.realm("mock").issuer)}
    made = Gateway(tmp_path_factory.mktemp("asked"), provider, apps, gateway=settings)
    made.configuration["logs"] = {"format": "json"}
    with made as gateway:
        yield gateway


def decision(gateway, target, host="gate.localhost", fields=()):
    fields = [*fields, ("X-Original-Method", "GET"), ("X-Original-URL", f"http://{host}{target}")]
    return request(gateway.port, "/oauth2/auth", "internal", fields=fields)


def test_a_43_only_a_listed_peer_gets_a_decision_and_no_client_an_app(asked):
    """A-43: addresses of the same machine are not trusted because they are private."""
    assert decision(asked, "/public/x").status == 200
    with Wire(asked.port, source="127.0.0.2") as wire:
        wire.send(
            b"GET /oauth2/auth HTTP/1.1\r\nHost: a\r\nX-Original-Method: GET\r\nX-Original-URL: "
            + f"{asked.origin}/public/x\r\n\r\n".encode()
        )
        response = wire.response()
        assert response.status == 403 and response.json["error"] == "forward_auth.peer"
    assert "127.0.0.2 asks for a decision; list it" in asked.log
    response = request(asked.port, "/public/x")
    assert response.status == 403 and response.json["error"] == "forward_auth.only"


def test_in_shadow_mode_each_request_passes_and_what_would_not_is_explained(asked):
    response = decision(asked, "/old/page", "old.localhost")
    assert response.status == 200 and not response.get("x-gatehouse-assertion") and not response.body
    assert decision(asked, "/old//x", "old.localhost").status == 200
    counted = 'gatehouse_forward_auth_shadow_total{app="old",decision="%s",reason="%s"}'
    for values in (("sign_in", "sign_in_required"), ("rejected", "forward_auth.url")):
        eventually(lambda values=values: asked.metric(counted % values) == 1, f"{values} is counted")
    line = next(line for line in asked.log.splitlines() if "forward-auth would reject" in line)
    found = re.search(r"incident\W+([A-Za-z0-9_-]{12})", line)[1]
    explained = run("explain", found, "--config", asked.path, cwd=asked.folder)
    assert explained.returncode == 0 and "/old/page" in explained.stdout, explained


def test_the_line_on_the_page_is_one_that_shadow_mode_writes(asked, realm):
    """A user without access: the members of docs/forward-auth.md, of the same kinds, in their order."""
    browser = Browser()
    authority = f"old.localhost:{asked.port}"
    assert browser.visit(f"http://{authority}/oauth2/start/mock?rd=/page").status == 403
    session = [("Cookie", f"gatehouse={browser.ticket('old.localhost')}")]
    assert decision(asked, "/denied", authority, session).status == 200
    lines = [json.loads(line) for line in asked.log.splitlines() if "forward-auth would reject" in line]
    written, = [line for line in lines if line["decision"] == "denied"]
    shown = json.loads(blocks("docs/forward-auth.md", "text")[0].replace(",…}", "}"))
    same = ("level", "stream", "message", "code", "decision")
    assert {name: written[name] for name in same} == {name: shown[name] for name in same}
    assert [name for name in written if name in shown] == list(shown)
    assert written["app"] == "old" and written["user"] == "mock:ada" and len(written["incident"]) == len(shown["incident"])


# Envoy's calls, without Envoy


def test_k_07_a_malformed_call_gets_an_error_and_lets_nothing_pass(tmp_path, provider_server):
    """K-07: of gRPC, so that Envoy takes it for a failure; over HTTP there are no decisions beside the calls."""
    port, apps = free_port(), {"wiki": {"forward_auth": "enforce", "allow": "signed_in", "public": ["/public/"]}}
    pem, key = certificate(tmp_path, "calls", "gate.localhost")
    made = Gateway(
        tmp_path, {"mock": oidc(provider_server.realm("mock").issuer)}, apps,
        gateway={"forward_auth": {"dialect": "envoy_grpc", "from": ["127.0.0.1"]}},
        listeners=[{"address": f"127.0.0.1:{port}", "tls": [{"certificate": pem, "private_key": key}]}],
    )
    options = [("grpc.ssl_target_name_override", "gate.localhost"), ("grpc.default_authority", "gate.localhost")]
    credentials = grpc.ssl_channel_credentials(Path(pem).read_bytes())
    with made, grpc.secure_channel(f"127.0.0.1:{port}", credentials, options) as channel:
        call = channel.unary_unary("/envoy.service.auth.v3.Authorization/Check")
        for message in (
            b"", b"\x0a", b"\x0a\xff\xff\xff\xff\x0f", b"\x0b" * 50, b"\x0a\x02\x22\x00", b"a" * 60_000, b"\xff" * 200_000,
        ):
            with pytest.raises(grpc.RpcError) as error:
                call(message, timeout=10)
            assert error.value.code() in (grpc.StatusCode.INTERNAL, grpc.StatusCode.RESOURCE_EXHAUSTED), message[:9]
        assert call(checked("/public/x"), timeout=10).startswith(b"\x0a\x00\x1a")
        for target in ("/secret", "/secret?/public/", "/public/../secret", "public", "/public/x y"):
            assert call(checked(target), timeout=10).startswith(b"\x0a\x02\x08\x07\x12"), target
        fields = [("X-Original-Method", "GET"), ("X-Original-URL", f"{made.origin}/public/x")]
        for path in ("/oauth2/auth", "/oauth2/auth/public/x"):
            assert request(made.port, path, made.authority, fields=fields).status in (403, 404)


def field(number, data):
    """A field of protobuf with bytes, of at most 16 KiB."""
    size = bytes([len(data)]) if len(data) < 128 else bytes([len(data) & 127 | 128, len(data) >> 7])
    return bytes([number << 3 | 2]) + size + data


def checked(target, host=b"gate.localhost"):
    """A `CheckRequest` about a GET."""
    header = field(1, b":path") + field(3, target.encode())
    http = field(2, b"GET") + field(4, target.encode()) + field(5, host) + field(13, field(1, header))
    return field(1, field(4, field(2, http)))
