# SPDX-License-Identifier: Apache-2.0
"""Honest traffic of real apps and clients passes; what could reach another app does not (X, Y and V rows)."""

import re

import pytest

from support.browser import Browser
from support.gateway import Gateway, oidc
from support.h2_server import H2Server
from support.http2 import Client
from support.processes import eventually, certificate, free_port
from support.raw import Wire, exchange
from support.upstream import responds

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"


@pytest.fixture(scope="module")
def h2_app():
    server = H2Server()
    yield server
    server.close()


def entries(recorder, h2_app):
    base = {"upstream": recorder.address, "allow": "signed_in"}
    admins = [{"group": "admins"}]
    own = {**base, "host": "own.localhost"}
    return {
        "plain": {**base, "path": "/", "public": ["/public/", "GET /open"]},
        "ops": {**base, "path": "/ops:admin", "allow": admins},
        "admin": {**base, "path": "/admin", "allow": admins, "public": ["/admin/assets/"]},
        "team": {**base, "path": "/public/@team", "allow": admins},
        "exact": {**base, "path": "/exact", "allow": admins, "path_spelling": "exact"},
        "elsewhere": {**base, "path": "/elsewhere", "allow": admins, "upstream": "http://127.0.0.1:9"},
        "stripped": {
            **base, "path": "/sub", "strip_prefix": True, "upstream_host": "app.internal:81", "upstream_origin": "rewrite",
        },
        "grpc": {**base, "path": "/grpc.Service", "upstream": h2_app.address},
        "own": {**own, "path": "/", "headers": {"X-WEBAUTH-USER": "email", "Acme-Login": "user"}},
        "strict": {
            **own, "path": "/strict", "encoded_slash": "reject", "methods": ["GET", "POST"], "underscore_headers": "reject",
        },
        "loose": {
            **own, "path": "/loose", "underscore_headers": "forward", "rewrite": False, "cache_control": "pass",
            "origins": ["https://portal.example.com", "https://idp.example.com /loose/saml/"], "websocket": False,
            "request_headers": {"keep": ["X-User-Id"], "set": {"X-Forwarded-Port": "443", "X-Forwarded-Ssl": "on"}},
        },
    }


@pytest.fixture(scope="module")
def own_gateway(tmp_path_factory, provider_server, recorder, h2_app):
    folder = tmp_path_factory.mktemp("compatibility")
    cert, key = certificate(folder, "gate", "gate.localhost", "own.localhost")
    tls_port = free_port()
    gateway = Gateway(
        folder, {"mock": oidc(provider_server.realm("mock").issuer)}, entries(recorder, h2_app),
        listeners=[{"address": f"127.0.0.1:{tls_port}", "tls": [{"certificate": cert, "private_key": key}]}],
        gateway={"trusted_proxies": ["127.0.0.2"]},
    )
    gateway.tls_port = tls_port
    with gateway:
        yield gateway


@pytest.fixture(scope="module")
def user(own_gateway, provider_server):
    """A browser in which Ada, who is in no group, is signed in on both hosts."""
    provider_server.realm("mock").reset()
    browser = Browser(own_gateway)
    assert browser.sign_in("mock", "/welcome").status == 200
    assert browser.visit(f"http://own.localhost:{own_gateway.port}/welcome").status == 200
    return browser


@pytest.fixture
def script(recorder):
    yield recorder.script
    recorder.scripts.clear()


@pytest.fixture
def ask(own_gateway, user):
    """One signed-in request as raw bytes; gives the response."""
    def ask(target, method="GET", host="gate.localhost", fields=(), body=b"", port=None):
        lines = [f"{method} {target} HTTP/1.1", f"Host: {port or host + ':' + str(own_gateway.port)}"]
        lines += [f"Cookie: gatehouse={user.ticket(host)}", "Connection: close", *fields]
        if body:
            lines.append(f"Content-Length: {len(body)}")
        with Wire(own_gateway.port) as wire:
            wire.send("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)
            return wire.response(method)

    return ask


@pytest.fixture
def over_http2(own_gateway, user):
    """The same over HTTP/2, for targets that clients leave as they are."""
    numbers = [-1]
    with Client(own_gateway.tls_port) as client:
        def ask(path, method="GET", fields=(), body=None, host="gate.localhost"):
            head = [
                (":method", method), (":scheme", "https"), (":authority", f"{host}:{own_gateway.port}"), (":path", path),
                ("cookie", f"gatehouse={user.ticket(host)}"), *fields,
            ]
            numbers.append(numbers[-1] + 2)
            return client.exchange(numbers[-1], head, body)

        yield ask


# Targets

RAW = [
    ("/d/abc?var-host=a|b", "/d/abc?var-host=a%7Cb"), ('/explore?left={"q":["a"]}', "/explore?left=%7B%22q%22:[%22a%22]%7D"),
    ("/x?a=^`\\<>", "/x?a=%5E%60%5C%3C%3E"), ("/a|b{c}^`", "/a%7Cb%7Bc%7D%5E%60"), ("/caf\xc3\xa9?q=\xc3\xa9", "/caf%C3%A9?q=%C3%A9"),
    ("/api/v4/projects/group%2Fproject", "/api/v4/projects/group%2Fproject"), ("/api/queues/%2f/q", "/api/queues/%2F/q"),
    ("/@scope%2fname", "/@scope%2Fname"), ("/%40scope%2Fname", "/%40scope%2Fname"), ("/a%5cb", "/a%5Cb"),
    ("//api/v1/info", "/api/v1/info"), ("///a//b", "/a/b"), ("//evil.example/x", "/evil.example/x"),
]


@pytest.mark.parametrize("sent, seen", RAW)
def test_y_01_y_02_v_02_v_05_what_browsers_and_apps_send_reaches_the_app(sent, seen, ask, recorder):
    """Y-01 Y-02 V-02 V-05: in one canonical spelling."""
    assert ask(sent).status == 200
    assert recorder.requests[-1].target == seen


@pytest.mark.parametrize("sent, seen", RAW)
def test_y_01_y_02_v_02_v_05_over_http_2(sent, seen, over_http2, recorder):
    """Y-01 Y-02 V-02 V-05: the same over HTTP/2."""
    assert over_http2(sent.encode("latin-1")).status == 200
    assert recorder.requests[-1].target == seen


def test_v_02_a_link_with_two_slashes_never_leads_to_another_site(own_gateway):
    """V-02: the path that comes back after the sign-in is a path of this site."""
    page = Browser(own_gateway).visit(f"{own_gateway.origin}//evil.example/x")
    assert page.status == 200 and page.url == f"{own_gateway.origin}/evil.example/x"


@pytest.mark.parametrize("target", [
    "/ops%3Aadmin", "/ops%3aadmin/x", "/OPS:admin/x", "/Ops%3AAdmin", "/Admin", "/ADMIN/users", "/admin%2Fusers",
    "/%2Fadmin", "/x/..%2fadmin", "/x/%2e%2e%2Fadmin", "/x/..%5Cadmin", "/%2561dmin", "/admin;x=1/y", "/x/..%3B/admin",
    "/adm%C4%B1n/x", "/public/%40team", "/public/%40TEAM/x", "/public/%2540team", "/Elsewhere/x",
])
def test_x_02_no_spelling_of_a_nested_path_reaches_its_app(target, ask, recorder):
    """X-02: 403 as for the path itself, or 400 where only some servers read it as that path."""
    before = len(recorder.requests)
    response = ask(target)
    is_same = re.match(r"/ops%3aadmin|/public/%40team$", target, re.I) and "Ops" not in target
    assert response.status == (403 if is_same else 400), response
    assert response.json["error"] in (("policy.refused",) if is_same else ("path.ambiguous", "path.parameter"))
    assert len(recorder.requests) == before


@pytest.mark.parametrize("target", ["/EXACT/x", "/administrator", "/Public/x", "/a%2Fadmin", "/admins"])
def test_x_02_a_path_of_no_other_app_passes(target, ask):
    """X-02: the path of an app that distinguishes spellings, and longer names."""
    assert ask(target).status == 200


@pytest.mark.parametrize("target", ["/elsewhere%2Fx", "/x/..%2Felsewhere"])
def test_x_02_a_path_never_leaves_its_app_by_an_escape(target, ask):
    """X-02: a path that leads out of its app once it is decoded is rejected."""
    assert ask(target).json["error"] == "path.ambiguous"


@pytest.mark.parametrize("target", [
    "/public/%252e%252e/secret", "/public/..%3B/secret", "/public/..%2fsecret", "/public/%2e%2e%5csecret",
    "/public/x/..%252f..%252fsecret", "/admin/assets/..%2Fusers",
])
def test_x_11_a_public_path_is_public_in_every_reading(target, own_gateway, recorder):
    """X-11: without a session, 400 and not a byte to the app."""
    before = len(recorder.requests)
    received = exchange(own_gateway.port, f"GET {target} HTTP/1.1\r\nHost: gate.localhost\r\nConnection: close\r\n\r\n".encode())
    assert received.startswith(b"HTTP/1.1 400 ") and b"path.ambiguous" in received
    assert len(recorder.requests) == before


@pytest.mark.parametrize("target", ["/public/a%2Fb", "/public/100%25", "/public/x;v=1", "/public/a%20b%3B", "/public/%2520"])
def test_x_11_a_public_path_with_escapes_stays_public(target, own_gateway):
    """X-11: only readings that lead out of what is public count."""
    received = exchange(own_gateway.port, f"GET {target} HTTP/1.1\r\nHost: gate.localhost\r\nConnection: close\r\n\r\n".encode())
    assert received.startswith(b"HTTP/1.1 200 ")


def test_y_02_an_app_may_reject_escaped_slashes(ask):
    """Y-02: `encoded_slash: reject`."""
    assert ask("/strict/a%2Fb", host="own.localhost").json["error"] == "path.encoded_slash"
    assert ask("/strict/a%20b", host="own.localhost").status == 200


# Methods and bodies


@pytest.mark.parametrize("method", ["PROPFIND", "REPORT", "MKCOL", "MOVE", "LOCK", "LIST", "PURGE", "M-SEARCH", "BASELINE-CONTROL"])
def test_y_04_any_method_is_forwarded(method, ask, over_http2, recorder):
    """Y-04: WebDAV, CalDAV, Subversion, Vault."""
    assert ask("/dav", method, body=b"<x/>").status == 200
    assert (recorder.requests[-1].method, recorder.requests[-1].body) == (method, b"<x/>")
    assert over_http2("/dav", method).status == 200
    assert recorder.requests[-1].method == method


def test_y_04_an_app_may_restrict_methods(ask):
    """Y-04: `methods`, with the list in `Allow`."""
    response = ask("/strict/x", "PUT", host="own.localhost", body=b"a")
    assert response.status == 405 and response.get("allow") == "GET, POST"
    assert ask("/strict/x", "POST", host="own.localhost", body=b"a").status == 200


@pytest.mark.parametrize("method", ["GET", "OPTIONS", "DELETE"])
@pytest.mark.parametrize("framing", ["length", "chunks", "no chunk"])
def test_y_05_a_body_of_any_method_is_forwarded_with_exact_framing(method, framing, own_gateway, user, recorder):
    """Y-05: Elasticsearch's `GET` with a body; the next request on the connection is read after it."""
    body = b'{"query":{}}'
    sent = {
        "length": (f"Content-Length: {len(body)}", body), "chunks": ("Transfer-Encoding: chunked", b"c\r\n%s\r\n0\r\n\r\n" % body),
        "no chunk": ("Transfer-Encoding: chunked", b"0\r\n\r\n"),
    }[framing]
    head = f"{method} /_search HTTP/1.1\r\nHost: gate.localhost\r\nCookie: gatehouse={user.ticket()}\r\n"
    with Wire(own_gateway.port) as wire:
        wire.send(f"{head}{sent[0]}\r\n\r\n".encode() + sent[1])
        assert wire.response().status == 200
        seen = recorder.requests[-1]
        assert (seen.method, seen.body) == (method, b"" if framing == "no chunk" else body)
        assert len(seen.all("content-length") + seen.all("transfer-encoding")) == 1
        wire.send(f"{head}\r\n".encode())
        assert wire.response().status == 200
        assert recorder.requests[-1].body == b""


def test_y_05_an_empty_data_frame_ends_a_request_without_a_body(over_http2, recorder):
    """Y-05: clients that end a GET with an empty DATA frame; an app gets no chunked body for it."""
    assert over_http2("/empty-data", body=b"").status == 200
    seen = recorder.requests[-1]
    assert seen.target == "/empty-data" and not seen.all("transfer-encoding") and not seen.all("content-length")
    assert over_http2("/_search", body=b"{}").status == 200
    assert recorder.requests[-1].body == b"{}"


# Header fields


def test_y_06_names_with_underscores_and_dots_are_dropped_and_counted(ask, own_gateway, recorder):
    """Y-06: as nginx does; the request goes on."""
    before = own_gateway.metric("gatehouse_irregular_header_names_total")
    assert ask("/x", fields=["X_Trace: 1", "a.b: 2", "Content_Type: text/evil", "X-Fine: 3"]).status == 200
    seen = recorder.requests[-1]
    assert seen.get("x-fine") == "3" and not {"x_trace", "a.b", "content_type"} & set(seen.names)
    assert own_gateway.metric("gatehouse_irregular_header_names_total") == before + 1


def test_y_06_an_app_may_reject_or_keep_underscores(ask, recorder):
    """Y-06: `underscore_headers`; a name that reads as a managed one is never forwarded."""
    response = ask("/strict/x", host="own.localhost", fields=["X_Trace: 1"])
    assert response.status == 400 and response.json["error"] == "request.header_name"
    assert ask("/loose/x", host="own.localhost", fields=["X_Trace: 1", "Content_Type: text/evil"]).status == 200
    assert recorder.requests[-1].get("x_trace") == "1" and not recorder.requests[-1].all("content_type")


@pytest.mark.parametrize("name", ["X_Forwarded_User", "Remote.User", "Transfer_Encoding", "X_WEBAUTH_ROLE", "Acme_Role"])
def test_y_06_a_forged_name_is_rejected_as_before(name, ask):
    """Y-06 A-08: no honest client sends these."""
    assert ask("/loose/x", host="own.localhost", fields=[f"{name}: evil"]).status == 400


def test_v_09_a_grpc_call_with_an_underscore_goes_on_and_rejections_are_grpc(over_http2, h2_app):
    """V-09 X-14: metadata names may have `_`; a rejection of a call has `grpc-status`, on apps over HTTP/2 only."""
    call = [("content-type", "application/grpc"), ("te", "trailers")]
    assert over_http2("/grpc.Service/Call", "POST", [*call, ("my_key", "1")], b"\0\0\0\0\0").status == 200
    assert not any(name == "my_key" for name, _ in h2_app.requests[-1].fields)
    rejected = over_http2("/grpc.Service/Call", "POST", [*call, ("x_forwarded_user", "evil")], b"\0\0\0\0\0")
    assert rejected.status == 400


def test_x_14_a_content_type_does_not_turn_rejections_into_200(ask, own_gateway):
    """X-14: `application/grpc` has no meaning for an app over HTTP/1.1 or for the gateway's endpoints."""
    call = ["Content-Type: application/grpc"]
    assert ask("/admin/x", "POST", fields=call, body=b"a").status == 403
    assert ask("/oauth2/nothing", "POST", fields=call, body=b"a").status == 404
    without = exchange(own_gateway.port, b"POST /x HTTP/1.1\r\nHost: gate.localhost\r\nContent-Type: application/grpc\r\nContent-Length: 0\r\n"
                       b"Connection: close\r\n\r\n")
    assert without.startswith(b"HTTP/1.1 401 ")


def test_y_07_two_cookie_fields_are_one(own_gateway, user, recorder):
    """Y-07: joined, and the gateway's cookie removed wherever it is; two tickets make no session."""
    ticket = f"gatehouse={user.ticket()}"
    head = "GET /cookies HTTP/1.1\r\nHost: gate.localhost\r\nConnection: close\r\n"
    assert exchange(own_gateway.port, f"{head}Cookie: a=1\r\nCookie: {ticket}; b=2\r\n\r\n".encode()).startswith(b"HTTP/1.1 200")
    assert recorder.requests[-1].all("cookie") == ["a=1; b=2"]
    twice = exchange(own_gateway.port, f"{head}Cookie: {ticket}\r\nCookie: {ticket}x\r\n\r\n".encode())
    assert twice.startswith(b"HTTP/1.1 401")


IDENTITIES = [
    "X-WEBAUTH-ROLE", "X-Webauth-Name", "Acme-Role", "X-Remote-Groups", "X-Auth-Username", "X-Authenticated-User", "X-Goog-Iap-Jwt-Assertion",
    "X-Amzn-Oidc-Data", "X-Ms-Client-Principal-Id", "X-Pomerium-Jwt-Assertion", "Cf-Access-Jwt-Assertion",
    "X-Authentik-Groups", "X-Vouch-User", "Tailscale-User-Login", "X-SSL-Client-Verify", "SSL-Client-S-DN", "X-Client-Cert",
    "Remote-Name", "Proxy", "X-Forwarded", "X-Host", "X-Username", "X-User-Id",
]


@pytest.mark.parametrize("path", ["/own-x", "/strict/x"])
def test_x_03_no_identity_header_of_another_system_reaches_an_app(path, ask, recorder):
    """X-03: whole families, and relatives of the names in `headers`, on every route."""
    fields = [f"{name}: evil" for name in IDENTITIES] + ["X-Auth-Token: mine"]
    assert ask(path, host="own.localhost", fields=fields).status == 200
    seen = recorder.requests[-1]
    assert b"evil" not in seen.head and seen.get("x-auth-token") == "mine"
    if path == "/own-x":
        assert seen.all("x-webauth-user") == ["ada@example.com"]


def test_x_03_an_app_may_keep_a_name_that_carries_no_identity(ask, recorder):
    """X-03: `request_headers: {keep: […]}`, for that app alone."""
    assert ask("/loose/x", host="own.localhost", fields=["X-User-Id: 42", "X-Username: evil"]).status == 200
    assert recorder.requests[-1].get("x-user-id") == "42" and b"evil" not in recorder.requests[-1].head


@pytest.mark.parametrize("sent, seen", [
    (["X-Forwarded-For: x, 203.0.113.9"], "203.0.113.9"), (["X-Forwarded-For: unknown, 203.0.113.9"], "203.0.113.9"),
    (["X-Forwarded-For: 203.0.113.9:4711"], "203.0.113.9"), (["X-Forwarded-For: [2001:db8::1]:4711"], "2001:db8::1"),
    (["X-Forwarded-For: " + ", ".join(["192.0.2.1"] * 40) + ", 203.0.113.9"], "203.0.113.9"),
    (["X-Forwarded-For: ,", "X-Forwarded-For: 203.0.113.9"], "203.0.113.9"),
    (['Forwarded: for="evil;x", for=203.0.113.9;proto=https'], "203.0.113.9"),
    (["X-Forwarded-For: 192.0.2.7, 203.0.113.9"], "203.0.113.9"),
])
def test_x_06_what_a_client_writes_hides_no_client_ip(sent, seen, own_gateway, user, recorder):
    """X-06: read from the right, up to the first entry that is not an IP address."""
    head = f"GET /xff HTTP/1.1\r\nHost: gate.localhost\r\nCookie: gatehouse={user.ticket()}\r\nConnection: close\r\n"
    with Wire(own_gateway.port, source="127.0.0.2") as wire:
        wire.send((head + "\r\n".join(sent) + "\r\n\r\n").encode())
        assert wire.response().status == 200
    chain = recorder.requests[-1].get("x-forwarded-for").split(", ")
    assert chain[-2:] == [seen, "127.0.0.2"] and len(chain) <= 33
    assert "unknown" not in chain and "x" not in chain


def test_x_10_the_app_gets_its_own_authority(ask, own_gateway, recorder):
    """X-10: the client chooses the port in `Host`; the forwarded authority is the route's."""
    assert ask("/x", port="gate.localhost:1").status == 200
    seen = recorder.requests[-1]
    assert seen.get("x-forwarded-host") == seen.get("host") == f"gate.localhost:{own_gateway.port}"


def test_v_07_v_11_forwarded_names_that_the_gateway_does_not_set_can_be_set(ask, recorder):
    """V-07 V-11: `X-Forwarded-Port` and `X-Forwarded-Ssl` per app; a client's own are removed."""
    assert ask("/loose/x", host="own.localhost", fields=["X-Forwarded-Port: 1", "X-Forwarded-Ssl: evil"]).status == 200
    seen = recorder.requests[-1]
    assert seen.all("x-forwarded-port") == ["443"] and seen.all("x-forwarded-ssl") == ["on"]
    assert ask("/sub/x", fields=["X-Forwarded-Port: 1"]).status == 200
    assert not recorder.requests[-1].all("x-forwarded-port") and recorder.requests[-1].get("x-forwarded-prefix") == "/sub"


# Cross-origin writes


@pytest.mark.parametrize("path, origin, status", [
    ("/loose/x", "https://portal.example.com", 200), ("/loose/saml/acs", "https://idp.example.com", 200),
    ("/loose/x", "https://idp.example.com", 403), ("/loose/x", "https://evil.example.com", 403),
    ("/own-x", "https://portal.example.com", 403), ("/loose/x", "null", 403),
    ("/loose/x", "http://portal.example.com", 403), ("/loose/x", "https://portal.example.com.evil.com", 403),
])
def test_y_08_pages_of_other_origins_write_where_configured(path, origin, status, ask):
    """Y-08: `origins`, per app and path."""
    fields = [f"Origin: {origin}", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Content-Type: application/x-www-form-urlencoded"]
    assert ask(path, "POST", host="own.localhost", fields=fields, body=b"a=b").status == status


# Responses


CHUNKS = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("sent", [
    CHUNKS + b"2;a=b\r\nok\r\n0;c\r\n\r\n", CHUNKS + b"2 \r\nok\r\n0\r\n\r\n", CHUNKS + b"2\r\nok\r\n0\r\nContent-Length: 9\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\nX-A: b\r\n c\r\nContent-Length: 2\r\n\r\nok",
], ids=["chunk extensions", "white space after a size", "a length as a trailer", "two equal lengths", "a folded line"])
def test_y_09_what_rfc_9112_lets_an_app_send_is_passed_on(sent, ask, script):
    """Y-09."""
    script("/lenient", responds(sent))
    response = ask("/lenient")
    assert (response.status, response.body) == (200, b"ok")
    assert len(response.all("content-length")) <= 1


@pytest.mark.parametrize("status", [299, 418, 600, 799, 999])
def test_y_09_a_status_that_no_registry_knows_is_passed_on(status, ask, script):
    """Y-09: 100 to 999."""
    script("/status", responds(b"HTTP/1.1 %d Odd\r\nContent-Length: 2\r\n\r\nok" % status))
    assert ask("/status").status == status


def test_y_10_a_response_that_breaks_off_later_is_passed_on_so_far(own_gateway, user, script):
    """Y-10: truncated, but not empty, also if all of it came at once."""
    script("/later", responds(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8000\r\n" + b"a" * 0x8000 + b"\r\nzz\r\n"))
    lines = ["GET /later HTTP/1.1", f"Host: gate.localhost:{own_gateway.port}", f"Cookie: gatehouse={user.ticket('gate.localhost')}", "", ""]
    received = exchange(own_gateway.port, "\r\n".join(lines).encode())
    assert received.startswith(b"HTTP/1.1 200 ") and b"a" * 1000 in received and not received.endswith(b"0\r\n\r\n")


def test_y_10_a_response_that_breaks_off_at_once_is_a_502(ask, over_http2, script):
    """Y-10: over HTTP/1.1 and HTTP/2, instead of an empty reply."""
    script("/broken", responds(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabXX"))
    assert ask("/broken").status == 502
    assert over_http2("/broken").status == 502


def test_y_11_a_rejection_of_head_has_no_content(own_gateway, over_http2):
    """Y-11: whatever is wrong with the request, over HTTP/1.1 and HTTP/2."""
    bad = exchange(own_gateway.port, b"HEAD /a%zz HTTP/1.1\r\nHost: gate.localhost\r\n\r\n")
    assert bad.startswith(b"HTTP/1.1 400 ") and bad.endswith(b"\r\n\r\n")
    unauthorized = exchange(own_gateway.port, b"HEAD / HTTP/1.1\r\nHost: gate.localhost\r\nConnection: close\r\n\r\n")
    assert unauthorized.startswith(b"HTTP/1.1 401 ") and unauthorized.endswith(b"\r\n\r\n")
    response = over_http2("/a%zz", "HEAD")
    assert response.status == 400 and response.body == b""


def test_y_12_every_response_has_a_date(ask, script):
    """Y-12: our own, an app's that has none, and never two."""
    form = r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} 20\d\d \d\d:\d\d:\d\d GMT"
    assert re.fullmatch(form, ask("/oauth2/nothing").get("date"))
    script("/undated", responds(OK + b"ok"))
    assert re.fullmatch(form, ask("/undated").get("date"))
    script("/dated", responds(b"HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 2\r\n\r\nok"))
    assert ask("/dated").all("date") == ["Sun, 06 Nov 1994 08:49:37 GMT"]


def test_y_12_upgrade_required_names_the_protocol(ask):
    """Y-12: RFC 9110 §15.5.22."""
    response = ask("/socket", fields=[
        "Connection: upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 8", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ])
    assert response.status == 426 and response.get("upgrade") == "websocket"


@pytest.mark.parametrize("version, status", [("HTTP/1.2", 401), ("HTTP/2.0", 505), ("HTTP/1.x", 400)])
def test_y_12_versions(version, status, own_gateway):
    """Y-12: a later minor version is accepted, another major one is not."""
    received = exchange(own_gateway.port, f"GET / {version}\r\nHost: gate.localhost\r\nConnection: close\r\n\r\n".encode())
    assert received.startswith(f"HTTP/1.1 {status} ".encode())


def test_y_12_a_method_of_any_length_is_a_method(own_gateway):
    """Y-12: 501, not 414."""
    assert exchange(own_gateway.port, b"A" * 100_000).startswith(b"HTTP/1.1 501 ")


PAGE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nETag: \"1\"\r\nContent-Length: 2\r\n"


def test_v_01_html_of_protected_pages_is_revalidated(ask, own_gateway, script):
    """V-01: added where the app sends no `Cache-Control`, for signed-in users only; a setting per app."""
    script("/page", responds(PAGE + b"\r\nok"))
    assert ask("/page").all("cache-control") == ["private, no-cache"]
    script("/public/page", responds(PAGE + b"\r\nok"))
    public = exchange(own_gateway.port, b"GET /public/page HTTP/1.1\r\nHost: gate.localhost\r\nConnection: close\r\n\r\n")
    assert b"cache-control" not in public.lower()
    script("/settled", responds(PAGE + b"Expires: 0\r\n\r\nok"))
    assert not ask("/settled").all("cache-control")
    script("/loose/page", responds(PAGE + b"\r\nok"))
    assert not ask("/loose/page", host="own.localhost").all("cache-control")
    script("/data", responds(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"))
    assert not ask("/data").all("cache-control")


def test_v_04_websockets_need_no_setting_and_can_be_disabled(ask, user, own_gateway, script, recorder):
    """V-04: enabled unless the app has `websocket: false`, for its own pages."""
    accept = b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n" \
        b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"
    script("/socket", responds(accept))
    handshake = ["Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="]
    both = ["Connection: upgrade", *handshake]
    lines = ["GET /socket HTTP/1.1", f"Host: gate.localhost:{own_gateway.port}", f"Cookie: gatehouse={user.ticket('gate.localhost')}"]
    lines += [*both, f"Origin: {own_gateway.origin}", "", ""]
    switched = exchange(own_gateway.port, "\r\n".join(lines).encode())
    assert switched.startswith(b"HTTP/1.1 101 ")
    assert ask("/socket", fields=[*both, "Origin: https://evil.example.com"]).status == 403
    assert ask("/loose/socket", host="own.localhost", fields=both).status == 200
    assert not recorder.requests[-1].all("upgrade")
    eventually(lambda: "'websocket: false'" in own_gateway.log, "the unforwarded handshake is logged")


LOCATIONS = [
    ("/login", "{own}/sub/login", True), ("/sub/login?a=/b", "/sub/login?a=/b", False), ("login", "login", False),
    ("http://app.internal:81/x", "{own}/sub/x", True), ("http://gate.localhost:{port}/x#f", "{own}/sub/x#f", True),
    ("//app.internal:81/x", "{own}/sub/x", True), ("https://elsewhere.example/x", "https://elsewhere.example/x", False),
    ("/oauth2/sign_out", "/oauth2/sign_out", False), ("http://app.internal.evil.com:81/x", "http://app.internal.evil.com:81/x", False),
    ("http://user@app.internal:81/x", "http://user@app.internal:81/x", False),
]


@pytest.mark.parametrize("sent, seen, mapped", LOCATIONS)
def test_v_06_v_07_redirects_of_an_app_below_a_path_lead_back_to_it(sent, seen, mapped, ask, own_gateway, script):
    """V-06 V-07: `Location` of an app with `strip_prefix` and `upstream_host`; other URLs stay."""
    sent = sent.replace("{port}", str(own_gateway.port))
    script("/moved", responds(b"HTTP/1.1 302 Found\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n" % sent.encode()))
    location = ask("/sub/moved").all("location")
    expected = seen.replace("{own}", own_gateway.origin)
    assert location == [expected if "://" in sent or sent.startswith("//") or not mapped else expected.removeprefix(own_gateway.origin)]


def test_v_06_v_07_refresh_content_location_and_cookies_are_mapped(ask, script):
    """V-06 V-07: the path of a cookie below the prefix, no domain that only the app's side knows, `__Host-` untouched."""
    script("/all", responds(
        b"HTTP/1.1 200 OK\r\nContent-Location: /x\r\nRefresh: 5; url='/y'\r\nContent-Length: 0\r\nSet-Cookie: a=1; Path=/; Domain=app.internal; "
        b"HttpOnly\r\nSet-Cookie: b=2; path=/deep\r\nSet-Cookie: __Host-c=3; Path=/; Secure\r\nSet-Cookie: d=4\r\n"
        b"Set-Cookie: gatehouse=evil; Path=/\r\n\r\n"
    ))
    response = ask("/sub/all")
    assert response.get("content-location") == "/sub/x" and response.get("refresh") == "5; url='/sub/y'"
    # In the order of the app: of two with the same name, the last one counts.
    assert response.all("set-cookie") == [
        "a=1; Path=/sub; HttpOnly", "b=2; Path=/sub/deep", "__Host-c=3; Path=/; Secure", "d=4",
    ]


@pytest.mark.parametrize("path, expected", [("/", "{own}/x"), ("/loose/", "http://own.localhost/x")])
def test_v_06_a_redirect_to_the_apps_own_host_by_another_scheme_is_mapped(path, expected, ask, own_gateway, script):
    """V-06: apps that build http URLs; `rewrite: false` changes nothing."""
    own = f"http://own.localhost:{own_gateway.port}"
    script(path + "moved", responds(b"HTTP/1.1 302 Found\r\nLocation: http://own.localhost/x\r\nContent-Length: 0\r\n\r\n"))
    assert ask(path + "moved", host="own.localhost").get("location") == expected.replace("{own}", own)


def test_v_12_an_app_that_compares_origin_with_host_sees_one_host(ask, own_gateway, recorder):
    """V-12: `upstream_origin: rewrite`, after the gateway has checked the origin."""
    fields = [f"Origin: {own_gateway.origin}", f"Referer: {own_gateway.origin}/sub/form?a=b", "Sec-Fetch-Site: same-origin"]
    assert ask("/sub/x", "POST", fields=fields, body=b"a").status == 200
    seen = recorder.requests[-1]
    assert seen.get("host") == "app.internal:81" and seen.all("origin") == ["http://app.internal:81"]
    assert seen.all("referer") == ["http://app.internal:81/sub/form?a=b"]
    assert seen.get("x-forwarded-host") == f"gate.localhost:{own_gateway.port}"
    assert ask("/sub/x", fields=[f"Origin: {own_gateway.origin}.evil.com"]).status == 200
    assert recorder.requests[-1].get("origin") == f"{own_gateway.origin}.evil.com"
