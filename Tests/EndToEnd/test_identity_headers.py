# SPDX-License-Identifier: Apache-2.0
"""The identity that the app gets comes from the gateway alone (K-01, K-02, K-04)."""

import jwt
import pytest

from support.browser import Browser
from support.raw import request

IDENTITY = [
    "X-Forwarded-User", "X-Forwarded-Email", "X-Forwarded-Preferred-Username", "X-Forwarded-Name", "X-Forwarded-Groups",
    "X-Forwarded-Provider", "X-Gatehouse-Assertion", "X-WEBAUTH-USER", "Grafana-Login",
]
KIN = [
    "X-Auth-Request-User", "X-Auth-Request-Email", "Remote-User", "Remote-Groups", "X-Remote-User", "X-User", "X-Email",
    "X-Original-Url", "X-Rewrite-Url", "X-Original-Uri", "X-Forwarded-Uri", "X-Forwarded-Prefix", "X-Forwarded-Port",
    "X-Forwarded-Server", "X-Forwarded-Access-Token", "X-Real-Ip", "True-Client-Ip", "X-Client-Ip",
    "X-Envoy-Original-Path", "X-Gatehouse-Anything", "Front-End-Https", "Cf-Connecting-Ip", "X-Auth-User",
    # D-01: of other products, which apps behind them read.
    "OIDC-CLAIM-email", "X-Consumer-Username", "Impersonate-User", "X-Scope-OrgID", "X-Proxy-User", "Eppn",
]
WAY = ["X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "Forwarded", "X-Request-Id"]


def odd(name):
    return "".join(letter.lower() if index % 2 else letter.upper() for index, letter in enumerate(name))


SPELLINGS = {"as is": str, "lower": str.lower, "upper": str.upper, "odd": odd}


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("name", IDENTITY + KIN + WAY)
@pytest.mark.parametrize("path", ["/public/x", "/open", "/protected"])
def test_a_managed_name_is_removed_in_every_spelling_on_every_route(path, name, spelling, signed_in, gateway, app):
    """A-08 A-10 A-39 A-51 K-01: a client's field of such a name never arrives, also twice, also on public paths."""
    spelled = SPELLINGS[spelling](name)
    marker = f"{path}-{name}-{spelling}".replace("/", "").replace(" ", "")
    fields = [(spelled, "evil-1"), ("X-Mark", marker), (spelled, "evil-2"), ("Cookie", signed_in)]
    assert request(gateway.port, path, fields=fields).status == 200
    seen = app.seen(marker)[-1]
    assert "evil" not in seen.head.decode("latin-1"), seen
    assert len(seen.all(name)) <= 1


@pytest.fixture(scope="module")
def signed_in(shared, provider_server):
    """A `Cookie` value of a user with every field."""
    realm = provider_server.realm("mock")
    realm.reset()
    realm.user = {**realm.user, "groups": ["a", "b,c%"], "preferred_username": "ada.l"}
    browser = Browser(shared)
    assert browser.sign_in("mock", "/welcome").status == 200
    realm.reset()
    return f"gatehouse={browser.ticket()}"


def test_a_user_is_described_exactly_once(signed_in, gateway, app):
    """Every field one line, lists in one line with commas and percent signs escaped."""
    request(gateway.port, "/described", fields=[("Cookie", signed_in)])
    seen = app.seen("/described")[-1]
    assert {name: seen.all(name)
            for name in IDENTITY if name != "X-Gatehouse-Assertion"} == {
                "X-Forwarded-User": ["mock:ada"], "X-Forwarded-Email": ["ada@example.com"], "X-Forwarded-Name":
                    ["Ada Example"], "X-Forwarded-Preferred-Username": ["ada.l"], "X-Forwarded-Groups": ["a,b%2Cc%25"],
                "X-Forwarded-Provider": ["mock"], "X-WEBAUTH-USER": ["ada@example.com"], "Grafana-Login": ["mock:ada"],
            }


def test_a_public_route_gets_no_identity(signed_in, gateway, app):
    """A-51: without a decision there is no identity."""
    request(gateway.port, "/public/anonymous", fields=[("Cookie", signed_in)])
    seen = app.seen("/public/anonymous")[-1]
    for name in IDENTITY:
        assert not seen.all(name)


def test_a_field_that_the_user_does_not_have_is_absent(gateway, realm, app):
    """A-95: no groups, no name, no user name: no such header, although the client sends one."""
    realm.user = {"sub": "bare"}
    browser = Browser(gateway)
    assert browser.sign_in("mock", "/bare").status == 200
    sent = {name: "evil" for name in IDENTITY}
    assert browser.send("GET", "/bare-again", fields=sent).status == 200
    seen = app.seen("/bare-again")[-1]
    assert seen.all("X-Forwarded-User") == ["mock:bare"] and seen.all("Grafana-Login") == ["mock:bare"]
    for name in (
        "X-Forwarded-Email", "X-Forwarded-Name", "X-Forwarded-Groups", "X-Forwarded-Preferred-Username",
        "X-WEBAUTH-USER",
    ):
        assert not seen.all(name)
    claims = jwt.decode(seen.get("X-Gatehouse-Assertion"), options={"verify_signature": False})
    assert claims["groups"] == [] and "email" not in claims


def test_an_unverified_email_address_is_not_forwarded(gateway, realm, app):
    """A-12: X-Forwarded-Email only if verified; the assertion has `email_verified`."""
    realm.user = {"sub": "eve", "email": "ada@example.com", "email_verified": False}
    browser = Browser(gateway)
    assert browser.sign_in("mock", "/unverified").status == 200
    seen = app.seen("/unverified")[-1]
    assert not seen.all("X-Forwarded-Email") and not seen.all("X-WEBAUTH-USER")
    claims = jwt.decode(seen.get("X-Gatehouse-Assertion"), options={"verify_signature": False})
    assert claims["email_verified"] is False


@pytest.mark.parametrize(
    "value", ["line\r\nX-Forwarded-User: root", "nul\x00", "tab\tbed", "Zoë Müller", "a" * 200, "\u202egnirts", "%41"]
)
def test_no_claim_can_inject_a_header_line(value, gateway, realm, app):
    """T-45 CVE-2022-3215: control characters and letters beyond ASCII are escaped or the field is dropped."""
    realm.user = {**realm.user, "name": value}
    browser = Browser(gateway)
    response = browser.sign_in("mock", "/broken-line")
    assert response.status == 200, response
    if response.status != 200:
        return
    seen = app.seen("/broken-line")[-1]
    assert seen.all("X-Forwarded-User") == ["mock:ada"]
    assert all(32 <= byte < 127 or byte in b"\r\n" for byte in seen.head)


def test_an_email_domain_rule_matches_the_whole_domain(gateway, realm):
    """A-05 A-12 K-12: an email rule needs the whole domain, one `@` and a verified email address."""
    admitted = {"ada@example.com", "ada@EXAMPLE.com"}
    for email in (
        *admitted, "a@badexample.com", "a@example.com.evil.org", "a@evil@example.com", "a@sub.example.com",
        "a@example.com ", "example.com", "@example.com", "a@example.comm", '"a@evil.com"@example.com',
    ):
        realm.user = {"sub": "x", "email": email, "email_verified": True}
        browser = Browser(gateway)
        browser.sign_in("mock", "/welcome")
        status = browser.send("GET", "/staff/x").status
        assert status == (200 if email in admitted else 403), email
    realm.user = {"sub": "x", "email": "ada@example.com", "email_verified": False}
    browser = Browser(gateway)
    browser.sign_in("mock", "/welcome")
    assert browser.send("GET", "/staff/x").status == 403


def test_groups_that_are_required_are_never_given(gateway, realm, app):
    """A-06: a rule for a group adds no user to it."""
    browser = Browser(gateway)
    browser.sign_in("mock", "/welcome")
    before = len(app.requests)
    assert browser.send("GET", "/admins/x").status == 403
    assert len(app.requests) == before
    assert browser.send("GET", "/oauth2/userinfo").json["groups"] == []
    realm.user = {**realm.user, "groups": ["admins"]}
    member = Browser(gateway)
    member.sign_in("mock", "/welcome")
    assert member.send("GET", "/admins/x").status == 200


def test_two_providers_with_one_email_are_two_users(gateway, realm, other_realm, app):
    """T-18: only provider and subject identify a user."""
    first, second = Browser(gateway), Browser(gateway)
    first.sign_in("mock", "/t18")
    second.sign_in("other", "/t18")
    users = {one.get("X-Forwarded-User") for one in app.seen("/t18")}
    assert users == {"mock:ada", "other:ada"}


def test_a_session_of_another_provider_leads_to_a_new_sign_in(gateway, realm, other_realm, app):
    """A-91: on a route of P2 a session of P1 does not count, and leads to P2, not to 403."""
    browser = Browser(gateway)
    browser.sign_in("mock", "/welcome")
    before = len(app.requests)
    response = browser.send("GET", "/other/x")
    assert response.status == 303 and response.get("location").startswith(f"{other_realm.issuer}/authorize?")
    assert browser.send("GET", "/other/x", navigates=False).status == 401
    assert len(app.requests) == before
    assert browser.visit("/other/x").status == 200
    assert app.requests[-1].get("X-Forwarded-User") == "other:ada"


@pytest.mark.parametrize(
    "fields", [
        {"User-Agent": "GoogleHC/1.0"}, {"User-Agent": "kube-probe/1.30"}, {"X-Forwarded-Uri": "/public/x"}, {
            "X-Original-Url": "/public/x"
        }, {"X-Rewrite-Url": "/public/x"}, {"X-Forwarded-Prefix": "/public"}, {"X-Forwarded-Method": "OPTIONS"},
        {"X-Http-Method-Override": "OPTIONS"}, {"Authorization": "Bearer x"}, {"Cookie": "BearerToken=x; OauthHMAC=y"},
        {"X-Forwarded-Host": "own.localhost"}, {"X-Gatehouse-Assertion": "e30.e30.e30"},
        {"X-Forwarded-User": "mock:ada"}, {"X-Envoy-Original-Path": "/public/x"}, {"Origin": "http://gate.localhost"},
        {"Access-Control-Request-Method": "GET"}, {"Upgrade": "websocket", "Connection": "Upgrade"},
    ],
)
def test_no_header_grants_access_to_a_protected_route(fields, gateway, app):
    """A-09 A-10 A-30 A-31 K-04 K-07: without a session there is no access."""
    before = len(app.requests)
    for method in ("GET", "HEAD", "POST", "OPTIONS", "DELETE"):
        response = request(gateway.port, "/protected", method=method, fields=list(fields.items()))
        assert response.status == 401, (method, response)
    assert len(app.requests) == before


def test_the_app_gets_client_ip_scheme_and_host(gateway, app):
    """K-04: client IP, scheme and host as the gateway sees them; a client's own fields are ignored."""
    fields = [
        ("X-Forwarded-For", "1.2.3.4"), ("X-Forwarded-Proto", "https"), ("X-Forwarded-Host", "evil"),
        ("Forwarded", "for=1.2.3.4;host=evil"), ("X-Request-Id", "mine"),
    ]
    request(gateway.port, "/public/way", fields=fields)
    seen = app.seen("/public/way")[-1]
    assert seen.all("x-forwarded-for") == ["127.0.0.1"] and seen.all("x-forwarded-proto") == ["http"]
    assert seen.all("x-forwarded-host") == [gateway.authority] and not seen.all("forwarded")
    assert len(seen.all("x-request-id")) == 1 and seen.get("x-request-id") != "mine"


def test_our_cookies_never_reach_the_app(ada, gateway, app):
    """C-03: session, attempt and session transfer cookies are removed; all others stay as they are."""
    cookies = (
        f"a=1; gatehouse={ada.ticket()};b=2; gatehouse-attempt-01234567=x; gatehouse_0=x; __Host-gatehouse=x; "
        "gatehouse-handover-01234567=y;c==; __Host-gatehouse_1=z; gatehousekeeper=me; d"
    )
    assert request(gateway.port, "/c03", fields=[("Cookie", cookies)]).status == 200
    assert app.seen("/c03")[-1].all("cookie") == ["a=1; b=2; c==; gatehousekeeper=me; d"]
    request(gateway.port, "/c03-only", fields=[("Cookie", f"gatehouse={ada.ticket()}")])
    assert not app.seen("/c03-only")[-1].all("cookie")


def test_an_access_token_in_the_query_is_ignored(gateway, app):
    """T-12."""
    assert request(gateway.port, "/protected?access_token=x&id_token=y").status == 401


@pytest.mark.parametrize(
    "fields, status", [
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site", "Origin": "http://evil.localhost"}, 403),
        ({"Origin": "http://evil.example"}, 403), ({"Origin": "null"}, 403), ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({}, 200),
    ],
)
def test_another_site_cannot_write_with_our_cookie(fields, status, ada, gateway, app):
    """T-22: a cross-site POST with the cookie is rejected before the app."""
    before = len(app.seen("/t22"))
    response = request(
        gateway.port,
        "/t22",
        method="POST",
        body=b"x",
        fields=[("Cookie", f"gatehouse={ada.ticket()}"), *fields.items()],
    )
    assert response.status == status, response
    assert len(app.seen("/t22")) - before == (1 if status == 200 else 0)


def test_own_pages_never_show_tokens(ada, realm):
    """A-26: /oauth2/userinfo shows an allow-list of facts."""
    response = ada.send("GET", "/oauth2/userinfo")
    assert response.status == 200 and "token" not in response.text.lower()
    assert response.json["user"] == "mock:ada" and response.json["email_verified"] is True
