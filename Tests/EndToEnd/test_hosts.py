# SPDX-License-Identifier: Apache-2.0
"""Apps with several hosts, and with a wildcard."""

import jwt
import pytest

from support.browser import Browser
from support.gateway import Gateway, oidc
from support.raw import request
from support.upstream import Upstream, responds


@pytest.fixture(scope="module")
def hosts(tmp_path_factory, provider_server):
    """`tenants` has a host and a wildcard; one of its labels is an app of its own."""
    app = Upstream()
    apps = {
        "tenants": {"host": ["tenants.localhost", "*.apps.localhost"], "upstream": app.address, "allow": "signed_in"},
        "own": {"host": "own.apps.localhost", "path": "/own", "upstream": app.address, "allow": "signed_in"},
        "wild": {"host": "*.wild.localhost", "upstream": app.address, "allow": "signed_in"},
        "open": {"host": "open.localhost", "upstream": app.address, "allow": "signed_in", "public": ["/oauth2/"]},
    }
    provider = {"mock": oidc(provider_server.realm("mock").issuer)}
    gateway = Gateway(tmp_path_factory.mktemp("hosts"), provider, apps)
    gateway.app = app
    gateway.start()
    yield gateway
    gateway.leave()
    app.close()


def address(gateway, host, path="/"):
    return f"http://{host}:{gateway.port}{path}"


def signed_in(gateway, host, path="/"):
    browser = Browser(gateway)
    response = browser.visit(address(gateway, host, path))
    assert response.status == 200 and response.url == address(gateway, host, path), browser.history
    return browser


def audience(seen):
    return jwt.decode(seen.get("X-Gatehouse-Assertion"), options={"verify_signature": False})["aud"]


def test_each_host_of_an_app_has_its_own_cookie_and_one_audience(hosts, realm):
    """One sign-in for all; the app sees which host it was, and `aud` is the same on all."""
    browser = signed_in(hosts, "one.apps.localhost", "/deep?x=1")
    tokens = realm.count("token")
    for host in ("two.apps.localhost", "tenants.localhost"):
        assert browser.visit(address(hosts, host, f"/{host}")).status == 200
        seen = hosts.app.seen(f"/{host}")[-1]
        assert seen.get("host") == seen.get("x-forwarded-host") == f"{host}:{hosts.port}"
        assert audience(seen) == f"http://tenants.localhost:{hosts.port}"
    assert realm.count("token") == tokens
    tickets = {browser.ticket(host) for host in ("one.apps.localhost", "two.apps.localhost", "tenants.localhost")}
    assert len(tickets) == 3 and None not in tickets
    assert not any("domain" in line.lower() for _, line in browser.set_cookies)


def test_the_audience_of_a_wildcard_is_the_wildcard(hosts, realm):
    signed_in(hosts, "x.wild.localhost", "/wild")
    seen = hosts.app.seen("/wild")[-1]
    assert audience(seen) == f"http://*.wild.localhost:{hosts.port}"


def test_a_83_a_cookie_of_one_host_does_not_exist_on_another(hosts, realm):
    """A-83 C-05: hosts of one wildcard may be those of different tenants."""
    browser = signed_in(hosts, "one.apps.localhost")
    cookie = [("Cookie", f"gatehouse={browser.ticket('one.apps.localhost')}")]
    assert request(hosts.port, "/x", host="one.apps.localhost", fields=cookie).status == 200
    for host in ("two.apps.localhost", "tenants.localhost", "x.wild.localhost", "gate.localhost"):
        response = request(hosts.port, "/oauth2/userinfo", host=host, fields=cookie)
        assert response.status == 401, host


@pytest.mark.parametrize(
    "host, status", [
        ("ONE.Apps.LocalHost", 401), ("one.apps.localhost.", 401), ("one.apps.localhost:81", 401),
        ("a_b-1.apps.localhost", 401), ("own.apps.localhost", 404), ("apps.localhost", 404),
        ("a.one.apps.localhost", 404), ("oneapps.localhost", 404), ("one.apps.localhost.attacker.net", 404),
        ("attacker.net", 404), ("*.apps.localhost", 400), ("one..apps.localhost", 400), (".apps.localhost", 400),
        ("one.apps.localhost..", 400), ("one%2eapps.localhost", 400), ("one\x00.apps.localhost", 400),
        ("one .apps.localhost", 400), ("one@x.apps.localhost", 400), ("one/x.apps.localhost", 400),
        ("one,two.apps.localhost", 400), ("\xf6ne.apps.localhost", 400), ("x" * 64 + ".apps.localhost", 400),
    ]
)
def test_k_12_a_wildcard_is_one_label_of_a_host_name(host, status, hosts):
    """K-12 S-26: whatever the spelling of `Host`; every other host has no app."""
    response = request(hosts.port, "/x", host=host)
    assert response.status == status
    assert request(hosts.port, "/oauth2/userinfo", host=host).status == (401 if host.startswith("own") else status)


def test_k_12_the_host_of_a_redirect_is_the_normal_form(hosts, realm):
    """K-12: upper case and a trailing dot are gone, and the port is that of `public_url`."""
    browser = Browser(hosts)
    response = browser.send("GET", address(hosts, "one.apps.localhost", "/x"), fields={"Host": "ONE.Apps.localhost.:81"})
    assert response.status == 303
    back = browser.visit(response.get("location"), stop=lambda url: "/oauth2/handover?code=" in url).next
    assert back.startswith(address(hosts, "one.apps.localhost", "/oauth2/handover?code="))
    assert browser.send("GET", back).get("location") == address(hosts, "one.apps.localhost", "/x")


@pytest.mark.parametrize(
    "target", [
        "http://evil.apps.localhost.attacker.net/", "//evil.apps.localhost.attacker.net", "http://two.apps.localhost/x",
        "https:one.apps.localhost", "/\\evil.apps.localhost",
    ]
)
def test_a_01_no_return_path_leaves_the_host(target, hosts, realm):
    """A-01 K-08: a return path is a path, so a wildcard admits no URL."""
    browser = Browser(hosts)
    response = browser.visit(address(hosts, "one.apps.localhost", "/oauth2/sign_in?rd=" + target.replace("/", "%2F")))
    assert response.status == 200 and response.url == address(hosts, "one.apps.localhost", "/")


def test_k_08_a_transfer_code_is_for_one_host_of_the_wildcard(hosts, realm):
    """K-08: the code of one host is rejected on another, and is used up."""
    browser = Browser(hosts)
    response = browser.visit(address(hosts, "one.apps.localhost", "/x"), stop=lambda url: "/oauth2/handover?code=" in url)
    moved = response.next.replace("one.apps.localhost", "two.apps.localhost")
    browser.cookies["two.apps.localhost"] = dict(browser.cookies["one.apps.localhost"])
    assert browser.send("GET", moved).status == 400 and browser.ticket("two.apps.localhost") is None
    assert browser.send("GET", response.next).status == 400


def test_sign_out_on_one_host_ends_all(hosts, realm):
    browser = signed_in(hosts, "one.apps.localhost")
    browser.visit(address(hosts, "two.apps.localhost"))
    two = [("Cookie", f"gatehouse={browser.ticket('two.apps.localhost')}")]
    assert request(hosts.port, "/x", host="two.apps.localhost", fields=two).status == 200
    assert browser.sign_out(origin=address(hosts, "one.apps.localhost", "")).status == 303
    assert request(hosts.port, "/x", host="two.apps.localhost", fields=two).status == 401


def test_a_page_on_another_host_of_the_app_may_not_write(hosts, realm):
    """`SameSite=Lax` sends the cookie between hosts of one site; the origin decides."""
    host = "one.apps.localhost"
    cookie = ("Cookie", f"gatehouse={signed_in(hosts, host).ticket(host)}")
    for origin, status in ((host, 200), ("two.apps.localhost", 403), ("tenants.localhost", 403)):
        fields = [cookie, ("Origin", address(hosts, origin, "")), ("Sec-Fetch-Site", "same-site")]
        assert request(hosts.port, "/write", host=host, method="POST", fields=fields).status == status, origin


def test_the_list_of_apps_has_the_first_host(hosts, realm):
    """An app with a wildcard only has no URL to list."""
    browser = Browser(hosts)
    browser.sign_in("mock", "/oauth2/apps")
    listed = browser.send("GET", "/oauth2/apps", navigates=False).json["apps"]
    assert listed == [
        {"name": "tenants", "title": "tenants", "url": address(hosts, "tenants.localhost")},
        {"name": "own", "title": "own", "url": address(hosts, "own.apps.localhost", "/own")},
        {"name": "open", "title": "open", "url": address(hosts, "open.localhost")},
    ]


@pytest.mark.parametrize(
    "location, mapped", [
        ("http://127.0.0.1:{app}/x", "http://one.apps.localhost:{port}/x"),
        ("http://one.apps.localhost/x", "http://one.apps.localhost:{port}/x"),
        ("http://two.apps.localhost:{app}/x", "http://two.apps.localhost:{port}/x"),
        ("http://a.two.apps.localhost/x", "http://a.two.apps.localhost/x"),
        ("http://own.localhost/x", "http://own.localhost/x"), ("/x", "/x"),
    ]
)
def test_a_redirect_of_the_app_leads_to_the_host_of_the_request(location, mapped, hosts, realm):
    """The URLs of the app's servers mean the host that was asked; other hosts of the app get the port of `public_url`."""
    ports = {"app": hosts.app.address.rpartition(":")[2], "port": hosts.port}
    head = f"HTTP/1.1 302 Found\r\nLocation: {location.format(**ports)}\r\nContent-Length: 0\r\n\r\n"
    hosts.app.script("/moved", responds(head.encode()))
    host = "one.apps.localhost"
    fields = [("Cookie", f"gatehouse={signed_in(hosts, host).ticket(host)}")]
    response = request(hosts.port, "/moved", host=host, fields=fields)
    assert response.get("location") == mapped.format(**ports)


def test_a_page_on_another_host_of_the_app_may_not_open_a_websocket(hosts, realm):
    """With a wildcard, it may be the page of another tenant."""
    host = "one.apps.localhost"
    cookie = ("Cookie", f"gatehouse={signed_in(hosts, host).ticket(host)}")
    upgrade = [
        ("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ]
    for origin, status in ((host, 200), ("two.apps.localhost", 403), ("tenants.localhost", 403)):
        fields = [cookie, ("Origin", address(hosts, origin, "")), *upgrade]
        assert request(hosts.port, "/socket", host=host, fields=fields).status == status, origin


@pytest.mark.parametrize(
    "path", [
        "/oauth2/authorize", "/oauth2/callback?code=1&state=2", "/oauth2/token", "/oauth2/", "/oauth2/signin",
        "/oauth2/auth.html", "/oauth2/authorize/auth", "/oauth2/introspect", "/oauth2/passkeys",
    ]
)
def test_n_03_a_path_below_oauth2_other_than_endpoints_is_that_of_the_app(path, hosts):
    """On the app's host; on that of public_url all of them are the gateway's."""
    assert request(hosts.port, path, host="open.localhost").status == 200
    assert hosts.app.requests[-1].target == path
    before = len(hosts.app.requests)
    assert request(hosts.port, path, host="gate.localhost").status != 200
    assert len(hosts.app.requests) == before


@pytest.mark.parametrize(
    "path", [
        "/oauth2/auth", "//oauth2//auth", "/oauth2/%61uth", "/oauth2/./auth", "/oauth2/x/../auth", "/oauth2/auth/", "/oauth2/auth/x",
        "/%6fauth2/userinfo", "/oauth2/sign_out", "/oauth2/start/mock", "/oauth2/handover?code=x", "/oauth2/style.css",
        "/oauth2/sign%5Fin", "/oauth2/jwks.json", "/oauth2/account", "/oauth2/return?rd=x", "/oauth2/icon.svg",
    ]
)
def test_n_03_no_spelling_of_an_endpoint_reaches_the_app(path, hosts):
    before = len(hosts.app.requests)
    request(hosts.port, path, host="open.localhost")
    assert len(hosts.app.requests) == before


def test_n_03_a_sign_in_returns_to_such_a_path(hosts, realm):
    """Its rules are those of the app: here a sign-in is needed, and the link is kept."""
    signed_in(hosts, "own.apps.localhost", "/own")
    browser = signed_in(hosts, "one.apps.localhost", "/oauth2/authorize?x=1")
    assert hosts.app.seen("/oauth2/authorize?x=1") and browser
