# SPDX-License-Identifier: Apache-2.0
"""Every field of the profile and any claim of a provider: at the app, in the assertion, in rules (M-01, M-02)."""

import jwt
import pytest
import requests

from support.browser import Browser
from support.gateway import Gateway, oidc
from support.oauth_client import Client

#: A text that no output of the gateway may have where nothing uses the claim.
MARKED = "marked-4711-unused"
CLAIMS = {
    "department": "id_token:/org/department", "level": "id_token:/level", "contractor": "id_token:/contractor",
    "projects": "id_token:/projects[active]/name", "cost_center": ["userinfo:/cost_center", "const:none"],
    "unused": "id_token:/unused",
}
CALLBACK = "com.example.hr:/signed-in"
FIELDS = {
    "X-Given": "given_name", "X-Family": "family_name", "X-Picture": "picture", "X-Locale": "locale", "X-Acr": "acr",
    "X-Amr": "amr", "X-Subject": "subject", "X-Issuer": "issuer", "X-Verified": "email_verified",
}
APPS = {
    "wiki":
        {
            "path": "/",
            "allow": "signed_in",
            "headers": {"X-Department": "claims.department", "X-Projects": "claims.projects", **FIELDS},
            "identity": {"claims": ["level", "contractor", "cost_center"], "fields": ["user", "roles"]},
        },
    "plain": {"path": "/plain", "allow": "signed_in"},
    "finance": {"path": "/finance", "allow": [{"claim": {"department": ["finance", "board"]}}]},
    "internal": {"path": "/internal", "allow": "signed_in", "deny": [{"claim": {"contractor": True}}]},
}
USER = {
    "sub": "ada", "email": "ada@example.com", "email_verified": True, "name": "Ada Example", "given_name": "Ada",
    "family_name": "Example", "picture": "https://id.example.com/ada.png", "locale": "en-GB", "acr": "2",
    "amr": ["pwd", "otp"], "roles": ["editor", "admin"], "org": {"department": "finance"}, "level": 7,
    "contractor": False, "unused": MARKED,
    "projects": [{"name": "z", "active": True}, {"name": "old", "active": False}, {"name": "a,b", "active": True}],
}


@pytest.fixture(scope="module")
def app(recorder):
    return recorder


@pytest.fixture(scope="module")
def gateway(tmp_path_factory, provider_server, app):
    provider = oidc(provider_server.realm("mock").issuer)
    provider["claims"] = CLAIMS
    provider["profile"] = {"roles": "id_token:/roles"}
    apps = {name: {"upstream": app.address, **settings} for name, settings in APPS.items()}
    gateway = Gateway(tmp_path_factory.mktemp("claims"), {"mock": provider}, apps)
    gateway.configuration["clients"] = {
        "hr": {
            "type": "native", "redirect_uris": [CALLBACK], "allow": "signed_in", "consent": True, "claims": ["level"],
            "scopes": {"hr": ["department", "cost_center"], "work": ["projects", "contractor"]},
        },
        "other": {"type": "native", "redirect_uris": [CALLBACK], "allow": "signed_in"},
    }
    with gateway:
        yield gateway


@pytest.fixture
def realm(provider_server):
    with provider_server.realm("mock").fresh() as realm:
        realm.userinfo = lambda user: {"sub": user["sub"], "cost_center": "4711"}
        yield realm


def entered(gateway, realm, path, **changes):
    """The page at a path after a sign-in of a user with other claims; None takes one away."""
    user = {**USER, **changes}
    realm.user = {name: value for name, value in user.items() if value is not None}
    browser = Browser(gateway)
    return browser, browser.sign_in("mock", path)


def assertion(gateway, seen):
    """The claims of the assertion that an app got, verified with the published key."""
    url = f"http://127.0.0.1:{gateway.port}/oauth2/jwks.json"
    keys = jwt.PyJWKSet.from_dict(requests.get(url, headers={"Host": gateway.authority}).json())
    token = seen.get("X-Gatehouse-Assertion")
    key = keys[jwt.get_unverified_header(token)["kid"]]
    return jwt.decode(token, key, algorithms=["ES256"], options={"verify_aud": False})


def test_m_02_claims_reach_an_app_with_their_types(gateway, realm, app):
    _, page = entered(gateway, realm, "/typed")
    assert page.status == 200
    seen = app.seen("/typed")[-1]
    assert seen.all("X-Department") == ["finance"] and seen.all("X-Projects") == ["z,a%2Cb"]
    assert assertion(gateway, seen)["claims"] == {
        "department": "finance", "projects": ["z", "a,b"], "level": 7, "contractor": False, "cost_center": "4711",
    }


def test_m_01_every_field_reaches_an_app(gateway, realm, app):
    _, page = entered(gateway, realm, "/fields")
    assert page.status == 200
    seen = app.seen("/fields")[-1]
    assert {name: seen.all(name) for name in FIELDS} == {
        "X-Given": ["Ada"], "X-Family": ["Example"], "X-Picture": ["https://id.example.com/ada.png"],
        "X-Locale": ["en-GB"], "X-Acr": ["2"], "X-Amr": ["pwd,otp"], "X-Subject": ["ada"], "X-Issuer": [realm.issuer],
        "X-Verified": ["true"],
    }
    assert seen.all("X-Forwarded-Roles") == ["admin,editor"] and not seen.all("X-Forwarded-Email")
    claims = assertion(gateway, seen)
    assert claims["roles"] == ["admin", "editor"] and claims["amr"] == ["pwd", "otp"] and claims["acr"] == "2"
    assert claims["given_name"] == "Ada" and claims["email_verified"] is True


def test_m_01_a_client_cannot_send_what_an_app_gets(gateway, realm, app):
    browser, _ = entered(gateway, realm, "/mine")
    sent = {name: "evil" for name in [*FIELDS, "X-Department", "X-Projects", "X-Forwarded-Roles", "X-Forwarded-Tenant"]}
    assert browser.send("GET", "/sent", fields=sent).status == 200
    assert "evil" not in app.seen("/sent")[-1].head.decode("latin-1")


def test_m_02_an_app_gets_no_claim_that_its_entry_does_not_name(gateway, realm, app):
    _, page = entered(gateway, realm, "/plain/x")
    assert page.status == 200
    seen = app.seen("/plain/x")[-1]
    assert not seen.all("X-Department")
    assert set(assertion(gateway, seen)) <= {
        "iss", "aud", "sub", "iat", "nbf", "exp", "jti", "sid", "provider", "email", "email_verified", "name", "groups",
        "roles", "acr", "amr", "auth_time", "preferred_username",
    }


def test_m_02_a_claim_that_nothing_uses_is_nowhere(gateway, realm, app):
    browser, _ = entered(gateway, realm, "/nowhere")
    assert browser.send("GET", "/plain/nowhere").status == 200
    shown = [browser.send("GET", path).text for path in ("/oauth2/userinfo", "/oauth2/account", "/oauth2/apps")]
    heads = [seen.head.decode("latin-1") for path in ("/nowhere", "/plain/nowhere") for seen in app.seen(path)]
    tokens = [str(assertion(gateway, app.seen(path)[-1])) for path in ("/nowhere", "/plain/nowhere")]
    metrics = gateway.operation("/metrics").text
    for text in [*shown, *heads, *tokens, metrics, gateway.log]:
        assert MARKED not in text


@pytest.mark.parametrize(
    "path, changes, status",
    [
        ("/finance", {}, 200), ("/finance", {"org": {"department": "board"}}, 200),
        ("/finance", {"org": {"department": ["sales", "finance"]}}, 200),
        ("/finance", {"org": {"department": "Finance"}}, 403), ("/finance", {"org": {"department": "sales"}}, 403),
        ("/finance", {"org": {}}, 403), ("/finance", {"org": "finance"}, 403), ("/finance", {"org": None}, 403),
        ("/internal", {}, 200), ("/internal", {"contractor": True}, 403), ("/internal", {"contractor": None}, 403),
        ("/internal", {"contractor": {"value": False}}, 403),
    ],
)
def test_m_02_rules_decide_by_claims(path, changes, status, gateway, realm):
    """A claim that is unknown admits no user, and lets none pass a deny."""
    _, page = entered(gateway, realm, path, **changes)
    assert page.status == status, page


def test_m_02_a_constant_is_the_last_source(gateway, realm, app):
    realm.userinfo = lambda user: {"sub": user["sub"]}
    entered(gateway, realm, "/constant")
    assert assertion(gateway, app.seen("/constant")[-1])["claims"]["cost_center"] == "none"


def of_scopes(found):
    """The claims of an ID token or of userinfo that only scopes of the client give."""
    return {name: value for name, value in found.items() if name in CLAIMS and name != "level"}


@pytest.mark.parametrize(
    "scope, expected", [
        ("openid", {}), ("openid hr", {"department": "finance", "cost_center": "4711"}),
        ("openid work hr", {"department": "finance", "cost_center": "4711", "projects": ["z", "a,b"], "contractor": False}),
        ("openid unused", {}),
    ]
)
def test_m_02_a_client_gets_claims_by_a_scope_that_was_granted(scope, expected, gateway, realm):
    realm.user = dict(USER)
    client = Client(gateway, "hr", CALLBACK, scope=scope)
    tokens = client.sign_in()
    identity = jwt.decode(tokens["id_token"], options={"verify_signature": False})
    assert of_scopes(identity) == expected and identity["level"] == 7
    assert of_scopes(client.userinfo(tokens["access_token"]).json) == expected
    assert set(tokens["scope"].split()) == set(scope.split()) - {"unused"}


def test_m_02_a_refresh_for_fewer_scopes_has_fewer_claims(gateway, realm):
    realm.user = dict(USER)
    client = Client(gateway, "hr", CALLBACK, scope="openid hr work offline_access")
    tokens = client.sign_in()
    fewer = client.refresh(tokens["refresh_token"], scope="openid work").json
    expected = {"projects": ["z", "a,b"], "contractor": False}
    assert of_scopes(client.userinfo(fewer["access_token"]).json) == expected


def test_m_02_a_scope_of_one_client_means_nothing_for_another(gateway, realm):
    realm.user = dict(USER)
    client = Client(gateway, "other", CALLBACK, scope="openid hr")
    tokens = client.sign_in()
    assert tokens["scope"] == "openid" and of_scopes(client.userinfo(tokens["access_token"]).json) == {}


def test_m_02_scopes_of_clients_are_in_the_metadata_and_on_the_consent_page(gateway, realm):
    realm.user = dict(USER)
    client = Client(gateway, "hr", CALLBACK, scope="openid hr")
    assert {"hr", "work"} <= set(client.metadata["scopes_supported"])
    assert {"department", "cost_center", "projects", "contractor", "level"} <= set(client.metadata["claims_supported"])
    page = Browser(gateway).visit(client.url())
    assert page.status == 200 and "hr: cost_center, department" in page.text and "projects" not in page.text
