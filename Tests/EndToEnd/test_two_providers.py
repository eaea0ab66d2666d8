# SPDX-License-Identifier: Apache-2.0
"""Two providers with the same email address and the same subject: two users everywhere."""

import jwt
import pytest

from support.browser import Browser
from support.gateway import Gateway, oidc
from support.raw import request
from support.upstream import Upstream

FIRST = {
    "sub": "ada", "email": "ada@example.com", "email_verified": True, "name": "Ada of the first",
    "preferred_username": "ada.first", "groups": ["admins", "caf\u00e9"],
}
SECOND = {"sub": "ada", "email": "ada@example.com", "email_verified": True, "name": "Ada of the second"}
USERS = {"first": FIRST, "second": SECOND, "again": FIRST}

# The rule of an app, and which of `first`, `second` and `again` have access.
RULES = {
    "user-first": ([{"user": "first:ada"}], {"first"}),
    "user-second": ([{"user": "second:ada"}], {"second"}),
    "email": ([{"email": "ada@example.com"}], {"first", "second", "again"}),
    "email-first": ([{"email": "ada@example.com", "provider": "first"}], {"first"}),
    "email-second": ([{"provider": "second", "email": "ada@example.com"}], {"second"}),
    "domain-second": ([{"email_domain": "example.com", "provider": "second"}], {"second"}),
    "provider-first": ([{"provider": "first"}], {"first"}),
    "provider-again": ([{"provider": "again"}], {"again"}),
    "group": ([{"group": "admins"}], {"first", "again"}),
    "group-second": ([{"group": "admins", "provider": "second"}], set()),
    "either": ([{"user": "second:ada"}, {"group": "admins", "provider": "first"}], {"first", "second"}),
    "kelvin": ([{"user": "first:Karl"}], set()),
    "group-kelvin": ([{"group": "Keys"}], set()),
    "composed": ([{"user": "first:zo\u00eb"}], set()),
    "group-composed": ([{"group": "caf\u00e9", "provider": "first"}], {"first"}),
}


@pytest.fixture(scope="module")
def own_gateway(tmp_path_factory, provider_server):
    app = Upstream()
    profile = {"groups": ["id_token:/groups"]}
    realms = {"first": "two-first", "second": "two-second", "again": "two-first"}
    providers = {
        name: oidc(provider_server.realm(realm).issuer, profile=profile) for name, realm in realms.items()
    }
    apps = {
        name: {"path": f"/{name}/", "upstream": app.address, "allow": allow} for name, (allow, _) in RULES.items()
    }
    apps["only-second"] = {
        "path": "/only-second/", "upstream": app.address, "providers": ["second"], "allow": "signed_in",
    }
    apps["echo"] = {"path": "/", "upstream": app.address, "allow": "signed_in"}
    with Gateway(tmp_path_factory.mktemp("two"), providers, apps) as gateway:
        gateway.app, gateway.realms = app, realms
        yield gateway
    app.close()


@pytest.fixture
def enter(own_gateway, provider_server):
    """Signs a user in and opens a page; returns the browser."""
    def sign_in(name, path="/", browser=None, **changes):
        realm = provider_server.realm(own_gateway.realms[name])
        realm.reset()
        realm.user = {**USERS[name], **changes}
        browser = browser or Browser(own_gateway)
        assert browser.sign_in(name, path).status == 200, browser.history
        assert browser.ticket()
        return browser

    return sign_in


def seen(own_gateway, marker):
    return own_gateway.app.seen(marker)[-1]


def test_the_app_gets_two_users(own_gateway, enter):
    """T-18: user key, provider, session and every claim of the assertion but the email address differ."""
    assertions = []
    for name in ("first", "second", "again"):
        enter(name, f"/user-{name}")
        fields = seen(own_gateway, f"/user-{name}")
        claims = jwt.decode(fields.get("X-Gatehouse-Assertion"), options={"verify_signature": False})
        assert fields.get("X-Forwarded-User") == claims["sub"] == f"{name}:ada"
        assert fields.get("X-Forwarded-Provider") == claims["provider"] == name
        assert fields.get("X-Forwarded-Email") == claims["email"] == "ada@example.com"
        assert fields.get("X-Forwarded-Name") == claims["name"] == USERS[name]["name"]
        assertions.append(claims)
    assert len({claims["sub"] for claims in assertions}) == len({claims["sid"] for claims in assertions}) == 3


def test_userinfo_describes_the_user_who_signed_in(own_gateway, enter):
    first, second = enter("first"), enter("second")
    profiles = [browser.send("GET", "/oauth2/userinfo").json for browser in (first, second)]
    assert [profile["user"] for profile in profiles] == ["first:ada", "second:ada"]
    assert [profile["name"] for profile in profiles] == [FIRST["name"], SECOND["name"]]
    assert profiles[0]["groups"] == FIRST["groups"] and profiles[1]["groups"] == []


@pytest.mark.parametrize("name", USERS)
@pytest.mark.parametrize("rule", RULES)
def test_a_rule_admits_the_user_it_names(rule, name, own_gateway, enter):
    """`user`, `email` and `provider` together; an email address alone matches any provider that verified it."""
    browser = enter(name)
    before = len(own_gateway.app.requests)
    response = browser.send("GET", f"/{rule}/x")
    assert response.status == (200 if name in RULES[rule][1] else 403), response
    assert len(own_gateway.app.requests) == before + (response.status == 200)


@pytest.mark.parametrize(
    "subject", ["second:ada", "Ada", "ada ", "ADA", "a%64a", "ad\u0430", "second%3Aada", ":ada", "ada:"]
)
def test_no_subject_of_one_provider_makes_the_user_of_another(subject, own_gateway, enter):
    """The key is the provider's name in the file, a colon, and the subject byte for byte."""
    browser = enter("first", sub=subject)
    assert browser.send("GET", "/user-first/x").status == 403
    assert browser.send("GET", "/user-second/x").status == 403
    assert browser.send("GET", "/oauth2/userinfo").json["user"] == f"first:{subject}"


@pytest.mark.parametrize("subject", ["ada\u200b", "\u200eada", "a\u0000da", "ada\n"])
def test_a_subject_with_an_invisible_character_is_rejected(subject, own_gateway, provider_server):
    """No two users may look the same in a log or a rule."""
    realm = provider_server.realm(own_gateway.realms["first"])
    realm.reset()
    realm.user = {**USERS["first"], "sub": subject}
    page = Browser(own_gateway).sign_in("first", "/")
    realm.reset()
    assert page.status == 502 and "provider.subject" in page.text


def test_letters_that_look_the_same_are_two_users_and_two_groups(own_gateway, enter):
    """Unicode's canonical equivalence is not equality: composed and decomposed letters are different bytes."""
    composed = enter("first", sub="zo\u00eb")
    assert composed.send("GET", "/composed/x").status == 200
    decomposed = enter("first", sub="zoe\u0308", groups=["cafe\u0301"])
    assert decomposed.send("GET", "/composed/x").status == 403
    assert decomposed.send("GET", "/group-composed/x").status == 403
    kelvin = enter("first", sub="\u212aarl", groups=["\u212aeys"])
    assert kelvin.send("GET", "/kelvin/x").status == 403 and kelvin.send("GET", "/group-kelvin/x").status == 403


def test_the_second_sign_in_of_a_browser_inherits_nothing(own_gateway, enter):
    """No group, name, session or access of the first."""
    browser = enter("first")
    old = browser.ticket()
    assert browser.send("GET", "/group/x").status == 200
    enter("second", browser=browser)
    assert browser.ticket() not in (None, old)
    profile = browser.send("GET", "/oauth2/userinfo").json
    assert profile["user"] == "second:ada" and profile["groups"] == [] and profile["name"] == SECOND["name"]
    assert "ada.first" not in str(profile)
    assert browser.send("GET", "/group/x").status == 403 and browser.send("GET", "/user-first/x").status == 403
    browser.send("GET", "/inherits-nothing")
    fields = seen(own_gateway, "/inherits-nothing")
    assert not fields.all("X-Forwarded-Groups") and b"first" not in fields.head
    # The earlier ticket is the first user's or invalid, but never the second's.
    stale = request(own_gateway.port, "/stale", fields=[("Cookie", f"gatehouse={old}")])
    assert stale.status == 401 or seen(own_gateway, "/stale").get("X-Forwarded-User") == "first:ada"


def test_signing_in_at_another_provider_makes_another_user(own_gateway, enter, provider_server):
    """An app of the second provider only: the first user's session does not count; the redirect leads to the second."""
    browser = enter("first")
    realm = provider_server.realm("two-second")
    realm.reset()
    realm.user = SECOND
    assert browser.send("GET", "/only-second/x", navigates=False).status == 401
    assert browser.visit("/only-second/step").status == 200
    assert seen(own_gateway, "/only-second/step").get("X-Forwarded-User") == "second:ada"
    assert browser.send("GET", "/provider-first/x").status == 403


@pytest.mark.parametrize("leaver, stayer", [("first", "second"), ("second", "first"), ("first", "again")])
def test_signing_out_as_one_leaves_the_other_signed_in(leaver, stayer, own_gateway, enter):
    """Sessions end by their sign-in, not by email address or subject."""
    leaving, staying = enter(leaver), enter(stayer)
    assert leaving.sign_out().status == 303 and leaving.ticket() is None
    assert staying.send("GET", "/oauth2/userinfo").json["user"] == f"{stayer}:ada"
    assert staying.send("GET", f"/provider-{'first' if stayer == 'second' else stayer}/x").status == (
        403 if stayer == "second" else 200
    )


def test_an_unverified_email_address_matches_no_rule(own_gateway, enter):
    """nOAuth: the second provider lets any user enter any email address."""
    browser = enter("second", email_verified=False)
    for rule in ("email", "email-second", "domain-second"):
        assert browser.send("GET", f"/{rule}/x").status == 403, rule
    assert browser.send("GET", "/user-second/x").status == 200
