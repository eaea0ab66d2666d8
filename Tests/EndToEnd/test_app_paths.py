# SPDX-License-Identifier: Apache-2.0
"""Apps below a path of their server, and paths that are replaced: what the app gets, and the way back."""

import pytest
import yaml

from support.browser import Browser
from support.gateway import Gateway, oidc, run
from support.http2 import Client, get
from support.processes import free_port
from support.raw import request
from support.websockets import opened


@pytest.fixture(scope="module")
def app(recorder):
    return recorder


@pytest.fixture(scope="module")
def gateway(tmp_path_factory, provider_server, certificates, app, echo):
    apps = {
        "based": {"path": "/", "upstream": f"{app.address}/base", "allow": "signed_in", "public": ["/open/"]},
        "wiki": {"path": "/wiki", "upstream": f"{app.address}/docs/", "strip_prefix": True, "allow": "signed_in"},
        "shop":
            {
                "path": "/shop", "upstream": app.address, "strip_prefix": True, "allow": "signed_in",
                "rewrite": [{"from": "/shop/old", "to": "/new"}, {"from": "/shop/old/api", "to": "/v2"}],
                "deny": [{"path": "/shop/old/admin/**"}],
            },
        "chat": {"path": "/chat", "upstream": f"{echo.address}/ws", "strip_prefix": True, "allow": "signed_in"},
    }
    tls_port = free_port()
    cert, key = certificates["gate"]
    listeners = [{"address": f"127.0.0.1:{tls_port}", "tls": [{"certificate": cert, "private_key": key}]}]
    folder = tmp_path_factory.mktemp("paths")
    with Gateway(folder, {"mock": oidc(provider_server.realm("mock").issuer)}, apps, listeners=listeners) as gateway:
        gateway.tls_port = tls_port
        yield gateway


@pytest.fixture(scope="module")
def ada(gateway):
    browser = Browser(gateway)
    assert browser.sign_in("mock", "/x").status == 200
    return browser


def sent(gateway, ada, target):
    return request(gateway.port, target, f"gate.localhost:{gateway.port}", fields=[("Cookie", f"gatehouse={ada.ticket()}")])


PATHS = [
    ("/", "/base/"), ("/page?q=%2e%2E/&a=//b", "/base/page?q=%2e%2E/&a=//b"), ("/a//b/./c/../d", "/base/a/b/d"), ("/a%20b", "/base/a%20b"),
    ("/a%3Ab", "/base/a%3Ab"), ("/base/x", "/base/base/x"), ("/wiki", "/docs"), ("/wiki/", "/docs/"), ("/wiki/a;v=1", "/docs/a;v=1"),
    ("/wiki?", "/docs?"), ("/shop", "/"), ("/shop/x", "/x"), ("/shop/old", "/new"), ("/shop/old/", "/new/"), ("/shop/old//x", "/new/x"),
    ("/shop/oldish", "/oldish"), ("/shop/%6fld/x", "/new/x"), ("/shop/old/api/y?z", "/v2/y?z"), ("/shop/old/apis", "/new/apis"),
    ("/shop/old/%2e%2e/x", "/x"), ("/shop/old/../../x", "/base/x"),
]


@pytest.mark.parametrize("target, expected", PATHS)
def test_the_app_gets_the_path_below_its_own(gateway, ada, app, target, expected):
    response = sent(gateway, ada, target)
    assert response.status == 200, response
    seen = app.requests[-1]
    assert seen.target == expected
    prefix = "/shop" if target.startswith("/shop") and "../../" not in target else None
    assert seen.get("X-Forwarded-Prefix") == prefix


def test_http2_gets_the_same_paths(gateway, ada, app):
    with Client(gateway.tls_port) as client:
        for number, (target, expected) in enumerate(PATHS):
            fields = get(target, ("cookie", f"gatehouse={ada.ticket()}"))
            assert client.exchange(2 * number + 1, fields).status == 200, target
            assert app.requests[-1].target == expected


@pytest.mark.parametrize(
    "target",
    [
        "/..%2Fother/x", "/%2e%2e%2fother", "/a/..%5C..%5Cother", "/..;/other/x", "/%252e%252e/x", "/wiki/..%2f..%2fother", "/wiki%2F..%2Fx",
        "/shop/old%2Fx", "/shop/OLD/x", "/shop/old%2Fadmin/x", "/shop/old;v=1/admin", "/shop/old/ADMIN/x", "/shop/old/admin/x",
        "/shop/old/%61dmin", "/shop/x/..%2Fold/x",
    ],
)
def test_no_spelling_leaves_the_path_of_the_app(gateway, ada, app, target):
    before = len(app.requests)
    assert sent(gateway, ada, target).status in (400, 403)
    assert len(app.requests) == before


def respond(app, path, *lines):
    def act(connection, request):
        connection.body(request)
        head = "HTTP/1.1 302 Found\r\nContent-Length: 0\r\n" + "".join(f"{line}\r\n" for line in lines)
        connection.send(head.encode() + b"\r\n")
        return True

    app.script(path, act)


@pytest.mark.parametrize(
    "path, target, location, expected",
    [
        ("/base/login", "/login", "/base/home?a=/base/b#c", "/home?a=/base/b#c"), ("/base/login", "/login", "/base", "/"),
        ("/base/login", "/login", "../x", "../x"), ("/base/login", "/login", "/other", "/other"),
        ("/base/login", "/login", "https://elsewhere.example/base/x", "https://elsewhere.example/base/x"),
        ("/base/login", "/login", "{upstream}/base/x", "{gate}/x"), ("/base/login", "/login", "{gate}/base/x", "{gate}/x"),
        ("/docs/login", "/wiki/login", "/docs/home", "/wiki/home"), ("/docs/login", "/wiki/login", "/docs", "/wiki"),
        ("/docs/login", "/wiki/login", "/docsish", "/docsish"), ("/docs/login", "/wiki/login", "{upstream}/docs/a", "{gate}/wiki/a"),
        ("/new/login", "/shop/old/login", "/new/home", "/shop/old/home"), ("/login", "/shop/login", "/home", "/shop/home"),
        ("/login", "/shop/login", "/shop/home", "/shop/home"), ("/login", "/shop/login", "/new/x", "/shop/new/x"),
        ("/v2/login", "/shop/old/api/login", "/v2/x", "/shop/old/api/x"),
    ],
)
def test_a_redirect_leads_to_what_clients_send(gateway, ada, app, path, target, location, expected):
    names = {"upstream": app.address, "gate": gateway.origin}
    respond(app, path, f"Location: {location.format(**names)}", f"Content-Location: {location.format(**names)}",
            f"Refresh: 5; url={location.format(**names)}")
    response = sent(gateway, ada, target)
    assert response.get("Location") == expected.format(**names)
    assert response.get("Content-Location") == expected.format(**names)
    assert response.get("Refresh") == f"5; url={expected.format(**names)}"


@pytest.mark.parametrize(
    "path, target, cookie, expected",
    [
        ("/base/c", "/c", "/base", "/"), ("/base/c", "/c", "/base/", "/"), ("/base/c", "/c", "/base/x", "/x"), ("/base/c", "/c", "/", "/"),
        ("/docs/c", "/wiki/c", "/docs", "/wiki"), ("/docs/c", "/wiki/c", "/docs/", "/wiki/"), ("/docs/c", "/wiki/c", "/", "/wiki"),
        ("/docs/c", "/wiki/c", "/else", "/else"), ("/c", "/shop/c", "/", "/shop"), ("/new/c", "/shop/old/c", "/new", "/shop/old"),
        ("/new/c", "/shop/old/c", "/", "/shop"),
    ],
)
def test_a_cookie_is_sent_back_to_the_app(gateway, ada, app, path, target, cookie, expected):
    respond(app, path, f"Set-Cookie: id=1; Path={cookie}; HttpOnly")
    line, = [line for line in sent(gateway, ada, target).all("Set-Cookie") if line.startswith("id=")]
    assert [part.strip() for part in line.split(";")] == ["id=1", f"Path={expected}", "HttpOnly"]


def test_a_browser_follows_redirect_and_cookie_through_the_base(gateway, app, provider_server):
    browser = Browser(gateway)
    assert browser.sign_in("mock", "/wiki/x").status == 200
    respond(app, "/docs/enter", "Location: /docs/inside", "Set-Cookie: app=7; Path=/docs")
    page = browser.visit("/wiki/enter")
    assert page.status == 200 and browser.url.endswith("/wiki/inside")
    assert "app=7" in app.requests[-1].get("Cookie", "") and app.requests[-1].target == "/docs/inside"


def test_a_websocket_opens_below_the_base(gateway, ada, echo):
    with opened(gateway, "/chat/talk?x=1", f"gatehouse={ada.ticket()}", gateway.origin) as client:
        client.send("hello")
        assert client.recv() == "hello"
    assert echo.requests[-1].path == "/ws/talk?x=1"


def test_a_public_path_is_that_of_clients(gateway, app):
    response = request(gateway.port, "/open/x", f"gate.localhost:{gateway.port}")
    assert response.status == 200 and app.requests[-1].target == "/base/open/x"
    assert request(gateway.port, "/base/open/x", f"gate.localhost:{gateway.port}").status != 200


def test_check_reports_where_no_path_can_be_replaced(tmp_path, gateway):
    file = tmp_path / "providers.yaml"
    other = {"path": "/other", "forward_auth": "enforce", "allow": "signed_in", "rewrite": {"from": "/other/a", "to": "/b"}}
    configuration = {**gateway.configuration, "apps": {**gateway.configuration["apps"], "other": other}}
    file.write_text(yaml.safe_dump(configuration, sort_keys=False))
    found = run("check", "--config", file)
    assert "'rewrite' has no effect without 'upstream'; the proxy in front forwards the requests" in found.stdout + found.stderr


@pytest.mark.parametrize("location", ["/base//evil.example/", "/base/\\evil.example/", "/base/\t/evil.example/"])
def test_a_path_that_browsers_take_for_a_host_stays_on_the_own(gateway, ada, app, location):
    """What follows the base begins with a slash, so that without it the path would name another host (open redirect)."""
    respond(app, "/base/away", f"Location: {location}")
    response = sent(gateway, ada, "/away")
    assert response.get("Location") == f"{gateway.origin}{location.removeprefix('/base')}"


@pytest.mark.parametrize("destination", ["/base/../x", "/finance/x", "/shop/new", "https://gate.localhost/base/x"])
def test_a_second_path_of_an_app_below_a_base_is_rejected(gateway, ada, app, destination):
    """COPY and MOVE name a path as clients see it, and the server would take it for one of its own (RFC 4918 §10.3)."""
    fields = {"Destination": destination, "Origin": gateway.origin}
    before = len(app.requests)
    assert ada.send("MOVE", "/a.txt", fields=fields).status == 400
    assert ada.send("GET", "/a.txt", fields=fields).status == 400
    assert len(app.requests) == before
