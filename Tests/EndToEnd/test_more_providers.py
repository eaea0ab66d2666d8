# SPDX-License-Identifier: Apache-2.0
"""The simulated providers of the demo beside Google, GitHub and Microsoft: every account and every quirk.

The expected profiles come from the providers' documentation and from the claims of OpenID Connect Core §5.1; the
expected codes are those of docs/errors.md.
"""

import re
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest

from support.browser import Browser
from support.demo import Demo, demo, requests_at

ADDRESS = r"https://localhost:\d+"
ADA = {"email": "ada@example.org", "email_verified": True, "email_authoritative": False}
UNVERIFIED = {"email_verified": False, "email_authoritative": False}
NO_EMAIL = {"email": None} | UNVERIFIED

# Provider, account, and its profile; None means that access is denied.
ACCOUNTS = [
    (
        "apple", "ada", {
            "subject": "001234.0123456789abcdef0123456789abcdef.0905", "name": "Ada Example", "given_name": "Ada",
            "family_name": "Example", "email": "x7q9k2@privaterelay.appleid.com", "email_verified": True,
            "email_authoritative": False, "username": None, "issuer": re.compile(ADDRESS)
        }
    ),
    (
        "apple", "grace", {
            "subject": "000871.fedcba9876543210fedcba9876543210.1141", "name": "Grace Sample",
            "email": "grace@example.org", "email_verified": True
        }
    ),
    ("apple", "margaret", {"name": "Margaret Test", "email": "margaret@school.example"} | UNVERIFIED),
    (
        "gitlab", "ada", ADA | {
            "subject": "4711", "name": "Ada Example", "username": "ada", "groups":
                ["example", "example/platform", "example/platform/edge"], "groups_complete": True,
            "picture": "https://gitlab.com/uploads/-/system/user/avatar/4711/avatar.png"
        }
    ),
    ("gitlab", "grace", {"subject": "4712", "email": "grace@example.org", "groups": []} | UNVERIFIED),
    (
        "okta", "ada", ADA | {
            "subject": "00u1demoADAexample02", "name": "Ada Example", "given_name": "Ada", "family_name": "Example",
            "username": "ada@example.org", "groups": ["Everyone", "Payroll Administrators"],
            "issuer": re.compile(ADDRESS + "/oauth2/default")
        }
    ),
    ("okta", "grace", {"subject": "00u1demoGRACEsample7", "groups": ["Everyone"], "email_verified": True}),
    (
        "auth0", "ada", ADA | {
            "subject": "google-oauth2|104729384756102938475", "name": "Ada Example", "username": "ada",
            "roles": ["editor", "viewer"], "issuer": re.compile(ADDRESS + "/")
        }
    ),
    ("auth0", "grace", {"subject": "auth0|64f0c0ffee0123456789abcd", "roles": []} | UNVERIFIED),
    (
        "keycloak", "ada", ADA | {
            "subject": "2f6d1f0a-8f3b-4a53-9d1c-5a1e7c0b9a10", "name": "Ada Example", "username": "ada",
            "groups": ["/staff", "/staff/platform"], "roles": ["auditor", "default-roles-demo", "offline_access"],
            "issuer": re.compile(ADDRESS + "/realms/demo")
        }
    ),
    ("keycloak", "grace", {"email": "grace@example.org", "groups": []} | UNVERIFIED),
    (
        "facebook", "ada", {
            "subject": "10229876543210987", "name": "Ada Example", "given_name": "Ada", "family_name": "Example",
            "email": "ada@example.org", "picture": re.compile(r"https://platform-lookaside\.fbsbx\.com/.*")
        } | UNVERIFIED
    ),
    ("facebook", "grace", {"subject": "122098765432109876", "name": "Grace Sample"} | NO_EMAIL),
    (
        "linkedin", "ada", ADA | {
            "subject": "782bbtaQ_x", "name": "Ada Example", "locale": "en-US",
            "picture": "https://media.licdn.com/dms/image/demo/ada", "issuer": re.compile(ADDRESS + "/oauth")
        }
    ),
    ("linkedin", "grace", {"subject": "9Qk-2_demoZ", "locale": "de-DE", "picture": None} | NO_EMAIL),
    (
        "discord", "ada", ADA | {
            "subject": "80351110224678912", "username": "ada", "name": "Ada", "locale": "en-US", "picture":
                "https://cdn.discordapp.com/avatars/80351110224678912/8342729096ea3675442027381ff50dfe.png"
        }
    ),
    (
        "discord", "grace",
        {"subject": "1148203417790742538", "name": "grace.sample", "picture": None} | NO_EMAIL
    ),
    ("discord", "margaret", {"name": "Margaret", "email": "margaret@example.com"} | UNVERIFIED),
    (
        "slack", "ada", ADA | {
            "subject": "T0DEM0WORK1:U0ADA000001", "tenant": "T0DEM0WORK1", "name": "Ada Example", "locale": "en-US",
            "picture": "https://avatars.slack-edge.com/demo/U0ADA000001_512.png"
        }
    ),
    ("slack", "grace", {"subject": "T0DEM0WORK1:U0GRACE0002", "email": "grace@example.org"} | UNVERIFIED),
    # Ada's email address and id, in another workspace.
    ("slack", "margaret", (403, "provider.workspace")),
    (
        "oidc", "ada", ADA | {
            "subject": "248289761001", "name": "Ada Example", "username": "ada", "groups": ["platform", "staff"],
            "locale": "en-GB", "picture": "https://provider.example/pictures/ada.png"
        }
    ),
    ("oidc", "grace", {"subject": "x" * 255, "name": "Γκρέις", "username": "grace"} | NO_EMAIL),
    (
        "oidc", "margaret",
        {"subject": "Margaret|Test 1", "name": "Margaret Test", "email": "margaret@example.com"} | UNVERIFIED
    ),
    (
        "oauth2", "ada", ADA | {
            "subject": "9007199254740993", "username": "aexample", "name": "Ada Example", "locale": "en",
            # The response of an API may continue on another page, so these may not be all.
            "groups": ["analytics", "engine"], "groups_complete": False
        }
    ),
    (
        "oauth2", "grace", {
            "subject": "1906", "name": "gsample", "email": "grace@example.org", "groups": [], "groups_complete": True
        } | UNVERIFIED
    ),
]
PROVIDERS = list(dict.fromkeys(provider for provider, _, _ in ACCOUNTS))

IN = {}
TOKEN = {
    "okta": "POST /oauth2/default/v1/token", "auth0": "POST /oauth/token", "facebook": "POST /v23.0/oauth/access_token",
    "keycloak": "POST /realms/demo/protocol/openid-connect/token", "slack": "POST /api/openid.connect.token",
}

# Quirk, what becomes of Ada, and what the provider was asked for.
QUIRKS = [
    ("apple-returning", {"name": "x7q9k2@privaterelay.appleid.com", "given_name": None, "family_name": None}, {}),
    ("apple-forged-user", {"name": "Ada Example", "email": "x7q9k2@privaterelay.appleid.com"}, {}),
    ("apple-no-nonce", (502, "id_token.nonce"), {}),
    (
        "gitlab-userinfo-down", {
            "subject": "4711", "email": "ada@example.org", "email_verified": True, "name": None, "username": None,
            "groups": [], "groups_complete": False
        }, {"GET /oauth/userinfo": 1}
    ),
    (
        "okta-org-server", {"subject": "00u1demoADAexample02", "issuer": re.compile(ADDRESS)},
        {"POST /oauth2/v1/token": 1}
    ),
    ("okta-login-subject", {"subject": "00u1demoADAexample02"}, {}),
    ("okta-rate-limit", (502, "provider.unavailable"), {TOKEN["okta"]: 1}),
    ("auth0-bare-issuer", {"issuer": re.compile(ADDRESS + "/")}, {}),
    ("auth0-code-refused", (400, "openid.code_refused"), {TOKEN["auth0"]: 1}),
    ("auth0-secret-refused", (502, "openid.client_refused"), {TOKEN["auth0"]: 1}),
    ("keycloak-excluded-issuer", (400, "openid.issuer_missing"), {TOKEN["keycloak"]: None}),
    ("keycloak-unmapped-roles", {"roles": [], "groups": [], "name": "Ada Example"}, {}),
    ("keycloak-pkce-required", IN, {}),
    ("facebook-code-refused", (400, "openid.code_refused"), {TOKEN["facebook"]: 1, "GET /v23.0/me": None}),
    ("facebook-graph-error", (502, "provider.unavailable"), {"GET /v23.0/me": 1}),
    ("linkedin-short-issuer", {"issuer": re.compile(ADDRESS + "/oauth")}, {}),
    ("linkedin-text-claims", {"locale": "en-US", "email_verified": True}, {}),
    ("discord-rate-limit", (502, "provider.unavailable"), {"GET /api/v10/users/@me": 1}),
    ("slack-code-refused", (400, "openid.code_refused"), {TOKEN["slack"]: 1}),
    ("slack-token-rotation", {"subject": "T0DEM0WORK1:U0ADA000001"}, {}),
    ("oidc-private-key-jwt", IN, {"POST /token": 1}),
    ("oidc-secret-in-body", IN, {"POST /token": 1}),
    ("oidc-public-client", IN, {"POST /token": 1}),
    ("oidc-assertion-file", IN, {"POST /token": 1}),
    ("oidc-tls-client-auth", IN, {"POST /mtls/token": 1, "POST /token": None}),
    ("oidc-self-signed-tls-client-auth", IN, {"POST /token": 1}),
    ("oidc-pushed-requests", IN, {"POST /par": 1}),
    ("oidc-pushed-requests-only", IN, {"POST /par": 1}),
    ("oidc-pkce-required", IN, {}),
    ("oidc-pkce-unwanted", IN, {}),
    ("oidc-form-post", IN, {}),
    ("oidc-issuer-in-callback", IN, {}),
    ("oidc-issuer-promised", (400, "openid.issuer_missing"), {"POST /token": None}),
    ("oidc-issuer-demanded", (400, "openid.issuer_missing"), {"POST /token": None}),
    ("oidc-es256", IN, {}),
    ("oidc-es384", IN, {}),
    ("oidc-ps256", IN, {}),
    ("oidc-eddsa", IN, {}),
    ("oidc-bare-key", IN, {}),
    ("oidc-code-refused", (400, "openid.code_refused"), {"POST /token": 1}),
    ("oidc-text-lifetime", IN, {}),
    ("oidc-no-lifetime", IN, {}),
    ("oidc-form-response", (502, "openid.token_response"), {"GET /userinfo": None}),
    ("oidc-comma-scopes", IN, {}),
    ("oidc-thin-token", {"name": "Ada Example", "groups": ["platform", "staff"]}, {"GET /userinfo": 1}),
    ("oauth2-groups-refused", {"groups": [], "groups_complete": False, "name": "Ada Example"}, {}),
    ("oauth2-groups-down", (502, "provider.unavailable"), {"GET /api/me/groups": 1}),
    ("oauth2-no-profile", (502, "provider.subject"), {}),
]

# Quirks of the list for all providers, at those that use other code of the gateway.
FAILURES = [
    ("apple", "callback-wrong-issuer", (400, "openid.issuer_mismatch"), {"POST /auth/token": None}),
    ("apple", "callback-wrong-state", (400, "openid.attempt_lost"), {"POST /auth/token": None}),
    ("apple", "token-signed-with-public-key", (502, "id_token.algorithm"), {}),
    ("keycloak", "callback-wrong-issuer", (400, "openid.issuer_mismatch"), {TOKEN["keycloak"]: None}),
    # A nonce may be missing at LinkedIn, but it must not be another.
    ("linkedin", "token-wrong-nonce", (502, "id_token.nonce"), {}),
    ("linkedin", "token-no-nonce", IN, {}),
    ("slack", "token-long-life", (502, "id_token.lifetime"), {}),
    ("gitlab", "userinfo-other-subject", (502, "openid.userinfo_subject"), {"GET /oauth/userinfo": 1}),
    ("facebook", "verifier-mismatch", (400, "openid.code_refused"), {"GET /v23.0/me": None}),
    ("discord", "token-endpoint-redirects", (502, "provider.redirected"), {"POST /elsewhere": None}),
    ("oauth2", "verifier-mismatch", (400, "openid.code_refused"), {"GET /api/me": None}),
    ("oauth2", "callback-wrong-issuer", (400, "openid.issuer_mismatch"), {"POST /oauth/token": None}),
]


def named(value):
    """Names a row by its texts."""
    return value if isinstance(value, str) else ""


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """One demo with all of them."""
    options = [option for provider in PROVIDERS for option in ("--provider", provider)]
    with Demo(tmp_path_factory.mktemp("world"), *options) as running:
        yield running


def compare(profile, expected):
    for name, value in expected.items():
        actual = profile.get(name)
        fits = bool(value.fullmatch(actual or "")) if isinstance(value, re.Pattern) else actual == value
        assert fits, (name, actual, profile)


def identity(browser):
    """The identity fields that the app got."""
    response = browser.send("GET", "/echo").json
    lines = {name.lower(): value for name, value in response["headers"]}
    return {name: unquote(value) for name, value in lines.items() if name.startswith("x-forwarded-")}


def outcome(browser, expected, running):
    """Compares the result of a sign-in with a profile, or with a status and a code."""
    page = browser.page
    if isinstance(expected, tuple):
        status, code = expected
        assert page.status == status, (page, page.text[-1500:], running.process.log)
        assert f"<code>{code}</code>" in page.text, re.findall(r"<code>(.*?)</code>", page.text)
        assert browser.ticket() is None
        return None
    assert page.status == 200 and "Assertion verified" in page.text, (page, page.text[-1500:], running.process.log)
    profile = browser.send("GET", "/oauth2/userinfo").json
    compare(profile, expected)
    return profile


@pytest.mark.parametrize("provider, account, expected", ACCOUNTS, ids=named)
def test_every_account_gets_its_profile(provider, account, expected, world):
    """The profile of each account at each provider, and the fields that an app gets."""
    browser = world.sign_in(provider, account)
    profile = outcome(browser, expected, world)
    if profile is None:
        return
    assert profile["provider"] == provider and profile["user"] == f"{provider}:{profile['subject']}"
    lines = identity(browser)
    assert lines["x-forwarded-user"] == profile["user"] and lines["x-forwarded-provider"] == provider
    assert lines.get("x-forwarded-name") == profile.get("name")
    verified = profile.get("email") if profile["email_verified"] else None
    assert lines.get("x-forwarded-email") == verified, lines


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_user_who_denies_gets_the_reason(provider, world):
    """RFC 6749 §4.1.2.1, with each provider's own error."""
    outcome(world.sign_in(provider, ""), (403, "provider.denied"), world)


def test_one_email_address_at_many_providers_is_many_users(world):
    """An email address does not identify a user."""
    providers = [
        provider for provider, account, expected in ACCOUNTS if account == "ada" and {**expected, **ADA} == expected
    ]
    profiles = [world.sign_in(provider, "ada").send("GET", "/oauth2/userinfo").json for provider in providers]
    assert len(providers) >= 8 and {profile["email"] for profile in profiles} == {"ada@example.org"}
    assert len({profile["user"] for profile in profiles}) == len(providers)


def test_apple_sends_a_name_once(tmp_path):
    """Apple sends the name at the first sign-in only; the second uses the email address in its place."""
    with Demo(tmp_path, "--provider", "apple") as running:
        first, second = [
            running.sign_in("apple", "ada").send("GET", "/oauth2/userinfo").json for _ in range(2)
        ]
        assert first["name"] == "Ada Example" and second["name"] == "x7q9k2@privaterelay.appleid.com"
        assert first["user"] == second["user"]


# What the browser carries to each provider: parameters with their values, None for those that must not be there.
CARRIED = [
    ("apple", None, {"response_mode": "form_post", "scope": "openid name email"}),
    ("gitlab", None, {"code_challenge_method": "S256", "scope": "openid profile email", "response_mode": None}),
    ("keycloak", None, {"code_challenge_method": "S256"}),
    ("facebook", None, {"scope": "public_profile email", "nonce": None}),
    ("linkedin", None, {"code_challenge": None, "code_challenge_method": None}),
    ("discord", None, {"scope": "identify email", "nonce": None}),
    ("slack", None, {"team": "T0DEM0WORK1"}),
    ("oauth2", None, {"scope": "profile email teams", "nonce": None}),
    ("oidc", "oidc-pkce-unwanted", {"code_challenge": None}),
    ("oidc", "oidc-form-post", {"response_mode": "form_post"}),
]


@pytest.mark.parametrize("provider, quirk, expected", CARRIED, ids=named)
def test_the_request_is_what_the_provider_takes(provider, quirk, expected, tmp_path):
    """Response modes, PKCE, scopes and hints of each provider."""
    with Demo(tmp_path, "--provider", provider, *(["--quirk", quirk] if quirk else [])) as running:
        query = dict(parse_qsl(urlsplit(Browser(running).begin(provider)).query))
        assert {name: query.get(name) for name in expected} == expected, query


@pytest.mark.parametrize("provider, quirk", [("apple", "apple-returning"), ("oidc", "oidc-form-post")])
def test_a_callback_by_form_is_a_post(provider, quirk, tmp_path):
    """OAuth 2.0 Form Post Response Mode §2."""
    with Demo(tmp_path, "--provider", provider, "--quirk", quirk) as running:
        browser = running.sign_in(provider, "ada")
        path = f"/oauth2/callback/{provider}"
        assert [method for method, url, _ in browser.history if urlsplit(url).path == path] == ["POST"]


def test_a_pushed_request_shows_the_browser_its_reference_only(tmp_path):
    """RFC 9126 §4: the browser carries the client's id and a reference to the rest."""
    with Demo(tmp_path, "--provider", "oidc", "--quirk", "oidc-pushed-requests-only") as running:
        address = Browser(running).begin("oidc")
        names = re.findall(r"[?&](\w+)=", address)
        assert sorted(names) == ["client_id", "request_uri"], address


ODD = [(quirk.split("-")[0], quirk, expected, counts) for quirk, expected, counts in QUIRKS] + FAILURES


@pytest.mark.parametrize("provider, quirk, expected, counts", ODD, ids=named)
def test_the_gateway_knows_the_quirk(provider, quirk, expected, counts, tmp_path):
    with Demo(tmp_path, "--provider", provider, "--quirk", quirk) as running:
        browser = running.sign_in(provider, "ada")
        outcome(browser, expected, running)
        asked = requests_at(browser.pages)
        assert {name: asked.get(name) for name in counts} == counts, asked


def test_the_chooser_offers_all_of_them(world):
    page = Browser(world).visit("/")
    assert [provider for provider in PROVIDERS if f"/oauth2/start/{provider}" not in page.text] == []
    assert "Sign in with the Example Intranet" in page.text


def test_each_quirk_has_a_test():
    """Every quirk of the list has a row here."""
    listed = re.findall(r"^  (\S+)$", demo("--quirk", "list").stdout, re.MULTILINE)
    ours = [name for name in listed if name.split("-")[0] in PROVIDERS]
    assert sorted(ours) == sorted(quirk for quirk, _, _ in QUIRKS)
