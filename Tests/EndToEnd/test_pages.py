# SPDX-License-Identifier: Apache-2.0
"""What users see when something is rejected, and where the buttons lead (Z-03, Z-04, Z-05, V-01, V-03, W-03)."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest

from support.browser import Browser, links
from support.gateway import Gateway, oidc
from support.processes import eventually
from support.raw import exchange, request
from support.upstream import Upstream

HTML = ("Accept", "text/html,*/*;q=0.8")


def incident(response):
    """The incident that a page or JSON shows."""
    if response.get("content-type").startswith("application/json"):
        return response.json["incident"]
    return re.search(r"<code>[a-z_.0-9]+</code> and <code>([A-Za-z0-9_-]{12})</code>", response.text)[1]


@pytest.fixture(scope="module")
def bare(tmp_path_factory, provider_server):
    """A gateway without an app at `/` of its host, and one provider with a sign-out endpoint."""
    realm = provider_server.realm("mock")
    realm.reset()
    realm.metadata = {"end_session_endpoint": f"{realm.issuer}/logout"}
    app = Upstream()
    apps = {
        "wiki": {"path": "/wiki/", "upstream": app.address, "allow": "signed_in"},
        "staff": {"path": "/staff/", "upstream": app.address, "allow": [{"email_domain": "example.org"}]},
        "own": {"host": "own.localhost", "upstream": app.address, "allow": "signed_in"},
        "closed": {"path": "/closed/", "upstream": app.address, "allow": "signed_in", "maintenance": True},
    }
    with Gateway(tmp_path_factory.mktemp("bare"), {"mock": oidc(realm.issuer, name="Acme Login")}, apps) as gateway:
        yield gateway
    app.close()
    realm.reset()


@pytest.mark.parametrize(
    "path, fields, status, code",
    [
        ("/nothing", [HTML], 404, "route.none"), ("/nothing", [], 404, "route.none"),
        ("/wiki/api", [], 401, "sign_in_required"), ("/oauth2/userinfo", [HTML], 401, "session.none"),
        ("/closed/", [HTML], 503, "route.maintenance"), ("/oauth2/nothing", [HTML], 404, "endpoint.none"),
        ("/wiki/%zz", [HTML], 400, "path.bad_escape"), ("/wiki/%zz", [], 400, "path.bad_escape"),
        ("/wiki/", [HTML, ("Host", "x")], 400, "request.repeated_host"), ("/wiki/", [HTML, ("A b", "x")], 400, "wire.field_name"),
        ("/" + "a" * 9000, [HTML], 414, "wire.target_too_long"), ("/", [HTML, ("X", "a" * 20000)], 431, "wire.field_too_large"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_z_05_each_rejection_is_in_the_log_with_its_incident(path, fields, status, code, bare):
    """Z-05: at info, with the reason; browsers get a page, scripts JSON."""
    response = request(bare.port, path, fields=fields)
    assert response.status == status
    assert response.get("content-type").startswith("text/html" if HTML in fields else "application/json")
    mark = f"incident={incident(response)}"
    line = eventually(lambda: next((line for line in bare.log.splitlines() if mark in line), None), mark)
    assert f"code={code}" in line and (" info " in line or " warning " in line), line


@pytest.mark.parametrize("data", [b"GET / HTTP/9\r\n", b"GET  / HTTP/1.1\r\nHost: gate.localhost\r\n", b"nonsense\r\n"])
def test_z_05_a_browser_never_sees_raw_json(data, bare):
    """Z-05: a head that accepts HTML gets a page, whatever is wrong with it."""
    response = exchange(bare.port, data + b"Accept: text/html\r\n\r\n")
    assert b"\r\ncontent-type: text/html" in response and b"<h1>The request was not understood</h1>" in response
    assert b"\r\ncontent-type: application/json" in exchange(bare.port, data + b"Accept: */*\r\n\r\n")


def test_z_04_the_page_of_a_rejection_names_user_and_app_and_offers_a_way_on(bare):
    """Z-04: it names the session if there is one, and none where a sign-in was rejected."""
    browser = Browser(bare)
    assert browser.sign_in("mock", "/wiki/").status == 200
    page = browser.send("GET", "/staff/report?x=1")
    assert page.status == 403 and "You may not open staff" in page.text
    assert "You are signed in as" in page.text and "(ada@example.com, Acme Login)" in page.text
    assert [urlsplit(link).path for link in links(page)] == ["/oauth2/sign_in", "/oauth2/sign_out", "/oauth2/apps"]
    other = Browser(bare)
    page = other.sign_in("mock", "/staff/report?x=1")
    assert page.status == 403 and "You are signed in" not in page.text and "You used the account of" in page.text
    assert other.send("GET", "/oauth2/userinfo", navigates=False).status == 401


def test_z_03_another_account_is_asked_for_and_leads_to_the_app(bare, provider_server):
    """Z-03: through the provider's own choice, and back to where the user was going."""
    realm = provider_server.realm("mock")
    browser = Browser(bare)
    page = browser.sign_in("mock", "/staff/report?x=1")
    realm.user = {**realm.user, "sub": "bob", "email": "bob@example.org"}
    try:
        response = browser.visit(links(page)[0])
    finally:
        realm.user = {**realm.user, "sub": "ada", "email": "ada@example.com"}
    asked = [query for query in realm.requests if query["path"] == "authorize"][-1]["query"]
    assert asked["prompt"] == "login" and response.status == 200
    assert response.url == bare.origin + "/staff/report?x=1"


def test_z_03_signing_in_again_never_ends_on_a_404(bare):
    """Z-03: after a lost attempt the user ends on the list of apps."""
    browser = Browser(bare)
    page = browser.send("GET", "/oauth2/callback/mock?code=x&state=y")
    assert page.status == 400
    response = browser.visit(links(page)[0])
    assert response.status == 200 and response.url == bare.origin + "/" and "<h1>Your apps</h1>" in response.text
    assert [urlsplit(link).path for link in links(response)] == ["/wiki", "/", "/closed", "/oauth2/account", "/oauth2/sign_out"]
    for link in links(response)[:2]:
        assert browser.visit(link).status == 200


def test_w_03_the_provider_and_the_page_after_it_know_of_the_sign_out(bare, provider_server):
    """W-03: client_id, a registered URL and a state that comes back."""
    browser = Browser(bare)
    browser.sign_in("mock", "/wiki/")
    response = browser.sign_out()
    sent = {key: values[0] for key, values in parse_qs(urlsplit(response.get("location")).query).items()}
    assert response.get("location").startswith(provider_server.realm("mock").issuer + "/logout?")
    assert sent["client_id"] == "gatehouse" and sent["post_logout_redirect_uri"] == bare.origin + "/oauth2/sign_out"
    assert sent["id_token_hint"].count(".") == 2
    page = browser.send("GET", "/oauth2/sign_out?state=" + sent["state"])
    assert page.status == 200 and "You are signed out at Acme Login as well." in page.text
    assert "You may still be signed in" in browser.send("GET", "/oauth2/sign_out").text


def test_w_03_a_sign_out_on_an_apps_host_carries_the_id_token(bare):
    """W-03 X-07: although the session of that host has no copy of it."""
    browser = Browser(bare)
    origin = f"http://own.localhost:{bare.port}"
    assert browser.visit(origin + "/x").status == 200
    response = browser.sign_out(origin=origin)
    assert "id_token_hint=" in response.get("location") and response.get("clear-site-data") == '"cache"'


def test_v_03_the_sign_out_page_of_an_app_without_a_cookie_asks_the_gateway(bare):
    """V-03: the session is active, so the page has the button, and using it ends the session."""
    browser = Browser(bare)
    browser.sign_in("mock", "/wiki/")
    page = browser.visit(f"http://own.localhost:{bare.port}/oauth2/sign_out")
    assert page.url == bare.origin + "/oauth2/sign_out" and "You are signed in as" in page.text
    ticket = browser.ticket()
    assert browser.submit(page, stop=lambda url: "/logout?" in url).status == 303
    assert request(bare.port, "/wiki/", fields=[("Cookie", f"gatehouse={ticket}")]).status == 401


@pytest.mark.parametrize("fields", [{"If-None-Match": '"a"'}, {"If-Modified-Since": "Wed, 21 Oct 2015 07:28:00 GMT"},
                                    {"Cache-Control": "max-age=0", "If-None-Match": "*"}])
def test_v_01_a_navigation_that_revalidates_is_sent_to_sign_in(fields, bare):
    """V-01: a cached page is not a session."""
    response = Browser(bare).send("GET", "/wiki/page", fields=fields)
    assert response.status == 303 and "/authorize?response_type=code" in response.get("location")
    assert response.get("cache-control") == "no-store"
