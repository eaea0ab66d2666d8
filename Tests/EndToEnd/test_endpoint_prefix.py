# SPDX-License-Identifier: Apache-2.0
"""`gateway.endpoint_prefix`: all endpoints elsewhere, for apps that have `/oauth2/authorize` or `/oauth2/userinfo` themselves."""

import json
import re
from urllib.parse import urlsplit

import pytest

from support.accounts import users
from support.browser import Browser, forms, links, trusting_context
from support.chromium import CHROMIUM, Chromium
from support.fronts import Front
from support.gateway import Gateway, oidc, run
from support.oauth_client import Client, claims
from support.processes import certificate, eventually
from support.raw import request
from support.upstream import Upstream, responds

PREFIX = "/own-gate/~in"
REDIRECT = "http://127.0.0.1:3030/callback"
#: Names that pgAdmin and LemonLDAP::NG have below `/oauth2`, and those of the gateway that no app could have there.
OWN = [
    "/oauth2", "/oauth2/", "/oauth2/authorize?x=1", "/oauth2/userinfo", "/oauth2/token", "/oauth2/callback/mock?code=1&state=2",
    "/oauth2/sign_in?rd=/x", "/oauth2/start/mock", "/oauth2/auth", "/oauth2/jwks.json", "/oauth2/style.css",
]


@pytest.fixture(scope="module")
def moved(tmp_path_factory, provider_server):
    """A gateway with all endpoints below the prefix, an app on its own host and two on others."""
    with Upstream() as app:
        allow = {"path": "/", "upstream": app.address, "allow": "signed_in"}
        apps = {
            "front": allow,
            "pgadmin": {**allow, "host": "pgadmin.localhost"},
            "lemon": {**allow, "host": "lemon.localhost"},
            "open": {**allow, "host": "open.localhost", "public": ["/"]},
            "tools": {**allow, "host": "tools.localhost", "path": "/tools", "strip_prefix": True},
        }
        gateway = Gateway(
            tmp_path_factory.mktemp("moved"), {"mock": oidc(provider_server.realm("mock").issuer), "staff": {"type": "local"}},
            apps, gateway={"endpoint_prefix": PREFIX}
        )
        for name in ("front", "pgadmin", "lemon", "tools"):
            apps[name]["providers"] = ["mock"]
        gateway.configuration["clients"] = {
            "desk": {"type": "native", "redirect_uris": [REDIRECT], "providers": ["mock"], "allow": "signed_in"}
        }
        gateway.app = app
        with gateway:
            yield gateway


@pytest.fixture(autouse=True)
def fresh(realm, moved):
    moved.app.requests.clear()


def address(gateway, host, path="/"):
    return f"http://{host}:{gateway.port}{path}"


def signed_in(gateway, host, path="/"):
    """A browser that came to a page and signed in on the way; each step at the gateway is below the prefix."""
    browser = Browser(gateway)
    page = browser.visit(address(gateway, host, path))
    assert page.status == 200 and page.url == address(gateway, host, path), browser.history
    return browser


def steps(browser, gateway, page):
    """The paths at our hosts before the page."""
    asked = [urlsplit(url) for _, url, _ in browser.history]
    return [one.path for one in asked if one.port == gateway.port and one.path != urlsplit(page).path]


@pytest.mark.parametrize("path", OWN)
def test_n_03_an_app_has_every_path_below_oauth2(path, moved):
    """As it was sent, on its own host and on that of `public_url`."""
    assert request(moved.port, path, host="open.localhost").status == 200
    assert moved.app.requests[-1].target == path
    browser = signed_in(moved, "gate.localhost", "/")
    cookie = [("Cookie", f"gatehouse={browser.ticket('gate.localhost')}")]
    assert request(moved.port, path, host="gate.localhost", fields=cookie).status == 200
    assert moved.app.requests[-1].target == path


@pytest.mark.parametrize("host", ["gate.localhost", "pgadmin.localhost"])
def test_n_03_a_sign_in_returns_to_such_a_path(host, moved, realm):
    """By way of endpoints below the prefix, the callback and the session transfer included."""
    browser = signed_in(moved, host, "/oauth2/authorize?x=1")
    passed = steps(browser, moved, "/oauth2/authorize")
    assert passed and all(path.startswith(f"{PREFIX}/") for path in passed), browser.history
    assert f"{PREFIX}/callback/mock" in passed
    assert (f"{PREFIX}/handover" in passed) == (host != "gate.localhost")
    assert moved.app.seen("/oauth2/authorize?x=1")


def test_n_03_a_path_that_is_too_long_for_a_url_comes_back_too(moved):
    """It is in a cookie meanwhile, and `return` leads on to it."""
    path = "/oauth2/authorize?x=" + "y" * 3000
    browser = signed_in(moved, "pgadmin.localhost", path)
    assert f"{PREFIX}/return" in steps(browser, moved, path)


def test_n_03_one_sign_in_is_enough_for_all_hosts_and_a_sign_out_ends_it_on_all(moved):
    browser = signed_in(moved, "pgadmin.localhost")
    assert browser.visit(address(moved, "lemon.localhost", "/oauth2/userinfo")).status == 200
    assert "/start/" not in json.dumps(browser.history[-4:])
    other = [("Cookie", f"gatehouse={browser.ticket('lemon.localhost')}")]
    page = browser.visit(address(moved, "pgadmin.localhost", f"{PREFIX}/sign_out"))
    (method, action, _, _), *_ = forms(page)
    assert method == "POST" and urlsplit(action).path == f"{PREFIX}/sign_out"
    page = browser.submit(page)
    assert page.status == 200 and urlsplit(page.url).path == f"{PREFIX}/sign_out", browser.history
    assert request(moved.port, "/x", host="lemon.localhost", fields=other).status == 401


@pytest.mark.parametrize(
    "path", [
        f"{PREFIX}/auth", "//own-gate//~in//userinfo", "/own-gate/%7Ein/userinfo", f"{PREFIX}/./auth", f"{PREFIX}/x/../auth",
        "/%6Fwn-gate/~in/sign_out", f"{PREFIX}/start/mock", f"{PREFIX}/handover?code=x", f"{PREFIX}/style.css",
    ]
)
def test_n_03_no_spelling_of_an_endpoint_reaches_the_app(path, moved):
    before = len(moved.app.requests)
    request(moved.port, path, host="open.localhost")
    assert len(moved.app.requests) == before


@pytest.mark.parametrize("path", [PREFIX, f"{PREFIX}/", f"{PREFIX}/authorize", f"{PREFIX}/signin", f"{PREFIX}x/auth", "/own-gate"])
def test_n_03_other_paths_below_the_prefix_are_the_apps_on_its_host(path, moved):
    assert request(moved.port, path, host="open.localhost").status == 200
    assert moved.app.requests[-1].target == path


def test_n_03_pages_and_scripts_are_led_to_the_prefix(moved):
    """Links, forms, the style sheet and its picture; and what a script gets instead of a page."""
    browser = signed_in(moved, "gate.localhost")
    page = browser.visit(f"{PREFIX}/account")
    found = links(page) + [form[1] for form in forms(page)] + re.findall(r'<link [^>]*href="([^"]*)"', page.text)
    assert len(found) >= 3 and "/oauth2" not in page.text
    assert all(urlsplit(link).path.startswith(f"{PREFIX}/") for link in found), found
    for link in re.findall(r'<link [^>]*href="([^"]*)"', page.text):
        assert Browser(moved).send("GET", link).status == 200, link
    refused = Browser(moved).send("GET", address(moved, "pgadmin.localhost", "/api"), navigates=False)
    assert refused.status == 401 and urlsplit(refused.json["sign_in"]).path == f"{PREFIX}/sign_in"


@pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed")
def test_n_03_the_pages_in_a_browser(moved, tmp_path):
    """The content security policy admits what the page loads; a click leads through the sign-in."""
    browser = Chromium(tmp_path)
    try:
        browser.go(f"{moved.origin}{PREFIX}/sign_out")
        browser.until("document.styleSheets.length == 1 && document.styleSheets[0].cssRules.length > 0", "the style sheet is applied")
        browser.click(f"main a[href*='{PREFIX}/sign_in']")
        browser.until(f"location.href == '{moved.origin}/'", "the front page of the app")
        browser.go(f"{moved.origin}/oauth2/authorize")
        browser.until(f"location.href == '{moved.origin}/oauth2/authorize'", "the page of the app")
        assert moved.app.seen("/oauth2/authorize")[-1].get("x-forwarded-user") == "mock:ada"
        browser.errors.clear()
        browser.go(f"{moved.origin}{PREFIX}/account")
        browser.until("document.styleSheets.length == 1 && document.readyState == 'complete'", "the account")
        assert not browser.errors, browser.errors
    finally:
        browser.close()


class MovedClient(Client):
    """A client that takes its endpoints from the metadata."""
    def url(self, **changes):
        return f"{self.metadata['authorization_endpoint']}?{urlsplit(super().url(**changes)).query}"


def test_n_03_clients_find_the_endpoints_in_the_metadata(moved):
    """Documents stay below `/.well-known/`, where the standards want them."""
    client = MovedClient(moved, "desk", REDIRECT, scope="openid email")
    metadata = client.metadata
    endpoints = {name: value for name, value in metadata.items() if name.endswith("_endpoint") or name == "jwks_uri"}
    assert len(endpoints) >= 6
    assert all(value.startswith(f"{moved.origin}{PREFIX}/") for value in endpoints.values()), endpoints
    assert metadata["issuer"] == moved.origin
    code = client.authorize(Browser(moved))["code"]
    form = {
        "grant_type": "authorization_code", "code": code, "redirect_uri": REDIRECT, "client_id": "desk", "code_verifier": client.verifier
    }
    token = client.ask("POST", urlsplit(endpoints["token_endpoint"]).path, form).json["access_token"]
    assert endpoints["userinfo_endpoint"] in claims(token)["aud"]
    fields = [("Authorization", f"Bearer {token}")]
    profile = client.ask("GET", urlsplit(endpoints["userinfo_endpoint"]).path, fields=fields)
    assert profile.status == 200 and profile.json["sub"] == "mock:ada"


def test_n_03_the_link_for_a_local_account_leads_below_the_prefix(moved):
    link = users(moved, "add", "--email", "grace@example.com")["link"]
    assert link.startswith(f"{moved.origin}{PREFIX}/link/staff?token=")
    assert Browser(moved).visit(link).status == 200


def test_n_03_redirects_of_an_app_to_an_endpoint_keep_their_path(moved):
    """With `strip_prefix` every other path gets the prefix of the app."""
    browser = signed_in(moved, "tools.localhost", "/tools/x")
    cookie = [("Cookie", f"gatehouse={browser.ticket('tools.localhost')}")]
    for path, mapped in ((f"{PREFIX}/sign_out", f"{PREFIX}/sign_out"), ("/oauth2/sign_out", "/tools/oauth2/sign_out")):
        head = f"HTTP/1.1 302 Found\r\nLocation: {path}\r\nContent-Length: 0\r\n\r\n"
        moved.app.script("/moved", responds(head.encode()))
        response = request(moved.port, "/tools/moved", host="tools.localhost", fields=cookie)
        assert response.get("location") == mapped


def test_n_03_a_reload_moves_all_endpoints_at_once(tmp_path, provider_server, realm, app):
    """Sessions stay, and a sign-in at the new paths works; what was at the old ones is the app's."""
    echo = {"echo": {"path": "/", "upstream": app.address, "allow": "signed_in"}}
    with Gateway(tmp_path, {"mock": oidc(realm.issuer)}, echo) as gateway:
        old = Browser(gateway)
        assert old.sign_in("mock", "/x").status == 200
        gateway.configuration["gateway"]["endpoint_prefix"] = PREFIX
        gateway.write()
        gateway.reload()
        eventually(lambda: '"keys"' in old.send("GET", f"{PREFIX}/jwks.json").text, "the endpoints have moved")
        assert old.send("GET", f"{PREFIX}/userinfo").json["user"] == "mock:ada"
        assert old.visit("/oauth2/userinfo").status == 200 and app.seen("/oauth2/userinfo")
        browser = Browser(gateway)
        page = browser.visit("/y")
        assert page.status == 200 and all("/oauth2/" not in url for _, url, _ in browser.history if str(gateway.port) in url)


@pytest.mark.parametrize("dialect", ["nginx", "caddy", "envoy", "envoy_grpc"])
def test_n_03_a_proxy_asks_below_the_prefix(dialect, tmp_path_factory, provider_server, realm):
    """The delivered file with each `/oauth2/` replaced; the app behind the proxy has `/oauth2/authorize` itself."""
    folder = tmp_path_factory.mktemp(dialect)
    front = Front(dialect, folder, realm.issuer, certificate(folder, "front", Front.gate, Front.wiki), prefix=PREFIX).start()
    try:
        browser = Browser(front.gateway)
        page = browser.visit(f"{front.origin}/oauth2/authorize?x=1")
        assert page.status == 200 and page.url == f"{front.origin}/oauth2/authorize?x=1", browser.history
        assert front.app.seen("/oauth2/authorize?x=1")[-1].get("x-forwarded-user") == "mock:ada"
        for path in (f"{PREFIX}/auth", f"{PREFIX}/auth/response", f"{PREFIX}/auth/x"):
            asked = request(front.port, path, f"{front.wiki}:{front.port}", tls=trusting_context(), server_name=front.wiki)
            assert asked.status == 404, path
        assert browser.send("POST", f"{front.origin}{PREFIX}/sign_out", body={}).status == 303
        denied = Browser(front.gateway).send("GET", f"{front.origin}/staff", navigates=False)
        assert denied.status == 401 and f"{PREFIX}/" in denied.json["sign_in"]
    finally:
        front.stop()


@pytest.mark.parametrize(
    "changes, line", [
        ({"gateway": {"endpoint_prefix": "/oauth2/"}}, "is not a prefix of endpoints"),
        ({"apps": {"x": {"path": f"{PREFIX}/x"}}}, f"is reserved for the gateway; choose a path outside of {PREFIX}"),
        ({"apps": {"x": {"path": "/own-gate", "host": "x.localhost"}}}, f"'{PREFIX}' is the gateway's own on this host"),
        ({"apps": {"x": {"public": [f"{PREFIX}/userinfo"], "host": "x.localhost"}}}, "is the gateway's own on this host"),
    ]
)
def test_n_03_check_names_what_collides(changes, line, tmp_path, realm, app):
    allow = {"upstream": app.address, "allow": "signed_in"}
    gateway = Gateway(tmp_path, {"mock": oidc(realm.issuer)}, {"echo": {**allow, "host": "echo.localhost"}})
    gateway.configuration["gateway"] |= {"endpoint_prefix": PREFIX, **changes.get("gateway", {})}
    gateway.configuration["apps"] |= {name: {**allow, **entry} for name, entry in changes.get("apps", {}).items()}
    gateway.write()
    result = run("check", "--config", gateway.path)
    assert line in result.stdout + result.stderr, result
