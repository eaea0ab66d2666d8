# SPDX-License-Identifier: Apache-2.0
"""The gateway as the OpenID provider of clients: codes, tokens, refreshes, sign-outs, and tokens at apps."""

import base64
import hashlib
import re
import threading
import time
from collections import Counter
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlencode, urlsplit

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from support.browser import Browser
from support.gateway import Gateway, oidc, run
from support.oauth_client import Client, claims
from support.processes import eventually
from support.raw import Wire, request
from support.upstream import Upstream

FORUM_SECRET = "a secret of the forum: 100% + more"
FINGERPRINT = ":".join(["A5"] * 32)
APP_URI, FORUM_URI, TOOL_URI = "com.example.notes:/signed-in", "https://forum.example.com/callback?x=1", "http://127.0.0.1/cb"


@pytest.fixture(scope="module")
def app():
    with Upstream() as app:
        yield app


def configuration(gateway, app):
    gateway.configuration["apps"] = {
        "wiki": {"path": "/", "upstream": app.address, "allow": "signed_in", "accept": ["session", "token"],
                 "deny": [{"path": "/denied/**"}]},
        "own": {"host": "own.localhost", "upstream": app.address, "allow": "signed_in", "accept": ["token"]},
        "closed": {"host": "closed.localhost", "upstream": app.address, "allow": "signed_in"},
        "staff": {"host": "staff.localhost", "upstream": app.address, "accept": ["session", "token"],
                  "allow": [{"user": "mock:absent"}]},
    }
    gateway.configuration["clients"] = {
        "notes": {"type": "native", "name": "Notes <for> you", "redirect_uris": [APP_URI], "allow": "signed_in",
                  "audiences": ["wiki", "own"]},
        "tool": {"type": "native", "redirect_uris": [TOOL_URI], "allow": "signed_in", "providers": ["other"],
                 "audiences": ["wiki", "staff"]},
        "forum": {"type": "confidential", "secret": FORUM_SECRET, "redirect_uris": [FORUM_URI], "allow": "signed_in",
                  "post_logout_redirect_uris": ["https://forum.example.com/bye"]},
        "links": {"type": "native", "redirect_uris": ["https://own.localhost/open"], "allow": "signed_in",
                  "apple_apps": ["ABCDE12345.com.example.links"],
                  "android_apps": [{"package": "com.example.links", "fingerprints": [FINGERPRINT]}]},
        "strict": {"type": "confidential", "secret": FORUM_SECRET, "redirect_uris": [FORUM_URI],
                   "allow": [{"user": "mock:absent"}]},
    }


@pytest.fixture(scope="module")
def gateway(tmp_path_factory, provider_server, app):
    providers = {name: oidc(provider_server.realm(name).issuer) for name in ("mock", "other")}
    gateway = Gateway(tmp_path_factory.mktemp("clients"), providers, {})
    configuration(gateway, app)
    with gateway:
        yield gateway


@pytest.fixture
def notes(gateway):
    return Client(gateway, "notes", APP_URI)


@pytest.fixture
def forum(gateway):
    return Client(gateway, "forum", FORUM_URI, FORUM_SECRET)


@pytest.fixture
def browser(gateway):
    """A browser that is signed in with the provider `mock`."""
    browser = Browser(gateway)
    assert browser.sign_in("mock", "/x").status == 200
    return browser


def error(response):
    """The error of a redirect."""
    return dict(parse_qsl(urlsplit(response.get("location")).query))


# Metadata


def test_oidc_discovery_3_and_rfc_8414_2_the_metadata_names_endpoints_that_exist(gateway, notes):
    metadata = notes.metadata
    assert metadata == notes.ask("GET", "/.well-known/oauth-authorization-server").json
    assert metadata["issuer"] == gateway.origin and metadata["code_challenge_methods_supported"] == ["S256"]
    for name, url in metadata.items():
        if name.endswith("_endpoint") or name == "jwks_uri":
            assert url.startswith(f"{gateway.origin}/oauth2/")
            for_browsers = name in ("authorization_endpoint", "end_session_endpoint")
            assert notes.ask("OPTIONS", urlsplit(url).path).status == (405 if for_browsers else 204), name


def test_the_metadata_is_on_the_host_of_the_gateway_only(gateway, notes, app):
    response = notes.ask("GET", "/.well-known/openid-configuration", host="closed.localhost")
    assert response.status == 401


def test_pages_of_any_origin_may_read_metadata_keys_and_tokens(gateway, notes):
    for path in ("/.well-known/openid-configuration", "/oauth2/token-keys.json"):
        assert notes.ask("GET", path).get("access-control-allow-origin") == "*"
    assert notes.token(grant_type="x").get("access-control-allow-origin") == "*"
    preflight = notes.ask("OPTIONS", "/oauth2/token", fields=[("Origin", "https://spa.example.com"),
                                                              ("Access-Control-Request-Method", "POST")])
    assert preflight.status == 204 and "POST" in preflight.get("access-control-allow-methods")


def test_tokens_have_other_keys_than_assertions(gateway, notes, browser):
    """A-27: an app takes no token for an assertion."""
    tokens = notes.sign_in(browser)
    assertions = {key["kid"] for key in notes.ask("GET", "/oauth2/jwks.json").json["keys"]}
    for name in ("access_token", "id_token"):
        assert jwt.get_unverified_header(tokens[name])["kid"] not in assertions


# The code flow


def test_rfc_6749_4_1_a_whole_sign_in_through_the_providers(gateway, notes):
    """The user is not signed in before, so the user signs in with a provider, consents, and the client gets tokens."""
    browser = Browser(gateway)
    page = browser.visit(notes.url(provider="mock"), stop=notes.arrives)
    assert page.status == 200 and "Continue to Notes &lt;for&gt; you?" in page.text
    for text in ("<code>com.example.notes</code>", "<li>wiki</li>", "<li>own</li>"):
        assert text in page.text
    page = browser.submit(page, stop=notes.arrives)
    found = dict(parse_qsl(urlsplit(page.next).query))
    tokens = notes.redeem(found["code"])
    assert tokens.status == 200 and tokens.get("cache-control") == "no-store"
    assert set(tokens.json) == {"access_token", "token_type", "expires_in", "refresh_token", "id_token", "scope"}
    assert tokens.json["token_type"] == "Bearer" and tokens.json["expires_in"] == 600


def test_oidc_core_2_the_id_token_is_about_the_user_for_the_client(gateway, notes, browser, provider_server):
    tokens = notes.sign_in(browser)
    found = notes.verified(tokens["id_token"], "notes")
    user = browser.send("GET", "/oauth2/userinfo").json
    assert found["sub"] == user["user"] and found["nonce"] == notes.nonce and found["provider"] == "mock"
    assert found["email"] == user["email"] and found["email_verified"] is user["email_verified"]
    assert found["groups"] == user["groups"] and found["exp"] - found["iat"] == 600


def test_rfc_9068_2_2_the_access_token_has_these_claims(gateway, notes, browser):
    tokens = notes.sign_in(browser)
    audience = [gateway.origin, f"http://own.localhost:{gateway.port}", f"{gateway.origin}/oauth2/userinfo"]
    found = notes.verified(tokens["access_token"], audience[0], typ="at+jwt")
    assert found["aud"] == audience and found["client_id"] == "notes" and found["jti"]
    assert found["scope"] == "openid profile email groups" and found["sub"].startswith("mock:")
    assert "email" not in found and "name" not in found


def test_oidc_core_3_1_3_6_at_hash_is_of_the_access_token(notes, browser):
    tokens = notes.sign_in(browser)
    digest = hashlib.sha256(tokens["access_token"].encode()).digest()[:16]
    assert claims(tokens["id_token"])["at_hash"] == base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def test_a_client_with_a_secret_and_https_needs_no_consent(forum, browser):
    tokens = forum.sign_in(browser)
    assert set(tokens) == {"access_token", "token_type", "expires_in", "refresh_token", "id_token", "scope"}


def test_rfc_8252_8_6_a_native_client_needs_the_user_each_time(notes, browser):
    for _ in range(2):
        page = browser.visit(notes.url(), stop=notes.arrives)
        assert page.status == 200 and "Continue to" in page.text


def test_rfc_6749_4_1_2_1_the_user_may_decline(notes, browser):
    page = browser.visit(notes.url())
    response = browser.submit(page, button=1, stop=notes.arrives)
    found = dict(parse_qsl(urlsplit(response.next).query))
    assert found["error"] == "access_denied" and found["state"] == notes.state and "code" not in found


def test_rfc_6749_10_12_another_site_cannot_consent(gateway, notes, browser):
    page = browser.visit(notes.url())
    text = page.text.split('name="consent" value="')[1].split('"')[0]
    response = browser.send("POST", "/oauth2/authorize", {"consent": text, "choice": "allow"},
                            fields={"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"})
    assert response.status == 403 and not response.all("location")


def test_consent_of_one_user_is_not_that_of_another(gateway, notes, browser):
    text = browser.visit(notes.url()).text.split('name="consent" value="')[1].split('"')[0]
    other = Browser(gateway)
    other.sign_in("other", "/x")
    response = other.send("POST", "/oauth2/authorize", {"consent": text, "choice": "allow"})
    assert response.status == 303 and response.get("location").startswith(f"{gateway.origin}/oauth2/authorize?")


def test_rfc_8252_7_3_a_loopback_uri_may_have_any_port(gateway):
    tool = Client(gateway, "tool", "http://127.0.0.1:54321/cb")
    browser = Browser(gateway)
    browser.sign_in("other", "/x")
    assert tool.sign_in(browser)["access_token"]


def test_a_client_takes_users_of_its_providers_only(gateway, browser):
    """The session of `mock` leads to a sign-in with `other`."""
    tool = Client(gateway, "tool", "http://127.0.0.1:54321/cb")
    page = browser.visit(tool.url(), stop=lambda url: "/oauth2/start/" in url)
    assert urlsplit(page.next).path == "/oauth2/start/other"
    assert claims(tool.sign_in(browser)["id_token"])["sub"].startswith("other:")


def test_a_user_whom_the_rules_of_the_client_deny_gets_access_denied(gateway, browser):
    strict = Client(gateway, "strict", FORUM_URI, FORUM_SECRET)
    found = strict.authorize(browser)
    assert found["error"] == "access_denied" and "code" not in found


def test_rfc_8707_2_a_user_who_may_not_enter_the_resource_gets_access_denied(gateway):
    tool = Client(gateway, "tool", "http://127.0.0.1:54321/cb")
    browser = Browser(gateway)
    browser.sign_in("other", "/x")
    found = tool.authorize(browser, resource=f"http://staff.localhost:{gateway.port}")
    assert found["error"] == "access_denied"


def test_audiences_that_the_user_may_not_enter_are_left_out(gateway):
    tool = Client(gateway, "tool", "http://127.0.0.1:54321/cb")
    browser = Browser(gateway)
    browser.sign_in("other", "/x")
    assert claims(tool.sign_in(browser)["access_token"])["aud"] == [gateway.origin, f"{gateway.origin}/oauth2/userinfo"]


@pytest.mark.parametrize("changes", [
    {"redirect_uri": APP_URI + "/"}, {"redirect_uri": "https://evil.example/"}, {"client_id": "absent"},
    {"client_id": None}, {"redirect_uri": "com.example.notes:/Signed-in"},
])
def test_rfc_6749_4_1_2_1_no_redirect_without_a_registered_client_and_uri(changes, gateway, notes, browser):
    response = browser.send("GET", notes.url(**changes))
    assert response.status == 400 and not response.all("location") and "client.request" in response.text
    assert "evil" not in response.text


@pytest.mark.parametrize("changes, code", [
    ({"code_challenge": None}, "invalid_request"), ({"code_challenge_method": "plain"}, "invalid_request"),
    ({"response_type": "token"}, "unsupported_response_type"), ({"resource": "https://evil.example"}, "invalid_target"),
    ({"response_type": None}, "invalid_request"), ({"prompt": "none"}, "consent_required"), ({"request": "x.y.z"}, "request_not_supported"),
])
def test_errors_go_to_the_client(changes, code, notes, browser):
    response = browser.send("GET", notes.url(**changes))
    assert response.status == 303 and response.get("location").startswith(APP_URI)
    found = error(response)
    assert found["error"] == code and found["state"] == notes.state and found["iss"] == notes.gateway.origin


@pytest.mark.one_gateway("each knows its own incidents")
@pytest.mark.parametrize("by", ["redirect", "token"])
def test_n_09_the_log_names_the_client_and_what_to_set(gateway, forum, browser, by):
    if by == "redirect":
        browser.send("GET", forum.url(code_challenge=None, code_challenge_method=None))
        wanted = "clients.forum got invalid_request: PKCE is required: switch on PKCE with the method S256 in the client"
    else:
        forum.redeem("x", code_verifier=None)
        wanted = "clients.forum got invalid_grant: 'code_verifier' is missing: PKCE is required"
    eventually(lambda: wanted in gateway.log, "the client is named")
    line = next(line for line in gateway.log.splitlines() if wanted in line)
    incident = re.search(r"incident=(\S+)", line)[1]
    text = run("explain", incident, "--config", gateway.path, cwd=gateway.folder).stdout
    assert "clients.forum" in text and "under 'clients'" in text and "no browser sends" not in text


# prompt, max_age, hints


def test_oidc_core_3_1_2_1_prompt_none_without_a_session(gateway, forum):
    response = Browser(gateway).send("GET", forum.url(prompt="none"))
    assert error(response)["error"] == "login_required"


def test_oidc_core_3_1_2_1_prompt_none_with_a_session(forum, browser):
    assert "code" in error(browser.send("GET", forum.url(prompt="none")))


def test_oidc_core_3_1_2_1_prompt_login_needs_a_new_sign_in(forum, browser, provider_server):
    before = claims(forum.sign_in(browser)["id_token"])["sid"]
    realm = provider_server.realm("mock")
    with realm.fresh():
        realm.claims = lambda claims: {**claims, "auth_time": int(time.time())}
        response = browser.send("GET", forum.url(prompt="login"))
        assert "/oauth2/sign_in" in response.get("location")
        address = response.get("location").replace("/oauth2/sign_in", "/oauth2/start/mock")
        page = browser.visit(address, stop=forum.arrives)
    found = dict(parse_qsl(urlsplit(page.next).query))
    after = forum.redeem(found["code"]).json
    assert claims(after["id_token"])["sid"] != before


@pytest.mark.parametrize("name, since", [("since", -600), ("since", 0), ("sign_in", -600)])
def test_e_02_a_sign_in_that_a_browser_makes_up_does_not_count(name, since, forum, browser):
    """What the gateway adds to the URL is sealed, so nothing makes a session of before a new one."""
    for asked in ({"prompt": "login"}, {"max_age": 1}):
        response = browser.send("GET", f"{forum.url(**asked)}&gatehouse_{name}={int(time.time()) + since}")
        assert response.status == 303 and "/oauth2/sign_in" in response.get("location")


@pytest.mark.parametrize("age, reported", [("0", None), ("3600", None), ("0", 1), ("3600", 1800)])
def test_e_09_oidc_core_3_1_2_1_max_age_needs_the_time_that_the_provider_reports(age, reported, forum, browser, provider_server):
    """One more sign-in is due, which asks the provider for it; without that time the client gets an error, and no made-up one."""
    realm = provider_server.realm("mock")
    with realm.fresh():
        if reported is not None:
            realm.claims = lambda claims: {**claims, "auth_time": int(time.time()) - reported}
        response = browser.send("GET", forum.url(max_age=age))
        assert "/oauth2/sign_in" in response.get("location")
        address = response.get("location").replace("/oauth2/sign_in", "/oauth2/start/mock")
        page = browser.visit(address, stop=forum.arrives)
        asked = [one["query"] for one in realm.requests if one["path"] == "authorize"][-1]
    assert asked["max_age"] == age
    result = dict(parse_qsl(urlsplit(page.next).query))
    if reported is None:
        assert result["error"] == "login_required" and result["state"] == forum.state
        return
    found = claims(forum.redeem(result["code"]).json["id_token"])
    assert reported <= found["iat"] - found["auth_time"] <= reported + 60


def test_e_09_prompt_login_goes_on_to_the_provider(forum, browser, provider_server):
    """Its user could have taken it out of the URL, so without a time from the provider it proves nothing."""
    realm = provider_server.realm("mock")
    with realm.fresh():
        response = browser.send("GET", forum.url(prompt="login"))
        address = response.get("location").replace("/oauth2/sign_in", "/oauth2/start/mock")
        page = browser.visit(address, stop=forum.arrives)
        asked = [one["query"] for one in realm.requests if one["path"] == "authorize"][-1]
    assert asked["prompt"] == "login"
    assert dict(parse_qsl(urlsplit(page.next).query))["error"] == "login_required"
    tokens = forum.sign_in(browser)
    for text in (tokens["id_token"], tokens["access_token"], forum.refresh(tokens["refresh_token"]).json["id_token"]):
        assert "auth_time" not in claims(text), "the provider reports none"


def test_oidc_core_3_1_2_1_an_id_token_hint_of_another_user(gateway, forum, browser):
    other = Browser(gateway)
    other.sign_in("other", "/x")
    hint = forum.sign_in(other)["id_token"]
    assert error(browser.send("GET", forum.url(prompt="none", id_token_hint=hint)))["error"] == "login_required"
    assert "code" in error(other.send("GET", forum.url(prompt="none", id_token_hint=hint)))


def test_oidc_core_3_1_2_1_the_login_hint_goes_to_the_provider(gateway, forum):
    page = Browser(gateway).visit(forum.url(provider="mock", login_hint="ada@example.com"), stop=lambda url: "/mock/" in url
                                  and not url.startswith(gateway.origin))
    assert dict(parse_qsl(urlsplit(page.next).query))["login_hint"] == "ada@example.com"


def test_a_post_to_the_authorization_endpoint_is_the_same_request(gateway, forum, browser):
    """OpenID Connect Core §3.1.2.1 requires it; our cookie does not come along from another site."""
    query = dict(parse_qsl(urlsplit(forum.url()).query))
    response = browser.send("POST", "/oauth2/authorize", query, fields={"Origin": "https://forum.example.com"})
    assert response.status == 303
    assert "code" in error(browser.send("GET", response.get("location")))


# The token endpoint


@pytest.mark.parametrize("changes, code", [
    ({"code_verifier": None}, "invalid_grant"), ({"code_verifier": "x" * 43}, "invalid_grant"),
    ({"code_verifier": "short"}, "invalid_grant"), ({"redirect_uri": FORUM_URI + "2"}, "invalid_grant"),
    ({"code": "x"}, "invalid_grant"), ({"code": None}, "invalid_request"), ({"grant_type": None}, "invalid_request"),
    ({"grant_type": "password"}, "unsupported_grant_type"), ({"grant_type": "client_credentials"}, "unsupported_grant_type"),
    ({"resource": "https://evil.example"}, "invalid_target"),
])
def test_rfc_6749_5_2_wrong_token_requests(changes, code, forum, browser):
    found = forum.authorize(browser)
    response = forum.redeem(found["code"], **changes)
    assert response.status == 400 and response.json["error"] == code and response.json["incident"]


@pytest.mark.parametrize("position", [0, 10, 60, -1])
def test_a_changed_code_is_rejected(position, forum, browser):
    code = forum.authorize(browser)["code"]
    letter = "A" if code[position] != "A" else "B"
    changed = code[:position] + letter + (code[position + 1:] if position != -1 else "")
    assert forum.redeem(changed).json["error"] == "invalid_grant"
    assert forum.redeem(code).status == 200


def test_rfc_6749_4_1_2_a_code_used_twice_ends_the_tokens_of_the_first_use(gateway, notes, browser):
    code = notes.authorize(browser)["code"]
    tokens = notes.redeem(code).json
    assert notes.call(tokens["access_token"]).status == 200
    assert notes.redeem(code).json["error"] == "invalid_grant"
    assert notes.refresh(tokens["refresh_token"]).json["error"] == "invalid_grant"
    assert notes.call(tokens["access_token"]).status == 401


def test_a_code_that_is_tried_with_a_wrong_verifier_stays_valid(forum, browser):
    """A thief without the verifier cannot spend a code."""
    code = forum.authorize(browser)["code"]
    assert forum.redeem(code, code_verifier="x" * 43).status == 400
    assert forum.redeem(code).status == 200


def test_rfc_6749_4_1_3_a_code_of_another_client(gateway, notes, forum, browser):
    code = notes.authorize(browser)["code"]
    response = forum.redeem(code, redirect_uri=APP_URI, code_verifier=notes.verifier)
    assert response.json["error"] == "invalid_grant"


@pytest.mark.parametrize("secret, fields", [(None, []), ("wrong", []), ("", [])])
def test_rfc_6749_2_3_1_a_client_without_its_secret(secret, fields, forum, browser):
    code = forum.authorize(browser)["code"]
    form = {"grant_type": "authorization_code", "code": code, "code_verifier": forum.verifier, "client_id": "forum"}
    if secret is not None:
        form["client_secret"] = secret
    response = forum.ask("POST", "/oauth2/token", form)
    assert response.status == 401 and response.json["error"] == "invalid_client"


def test_rfc_6749_2_3_1_the_secret_may_be_in_the_body(forum, browser):
    code = forum.authorize(browser)["code"]
    form = {"grant_type": "authorization_code", "code": code, "code_verifier": forum.verifier, "client_id": "forum",
            "client_secret": FORUM_SECRET}
    assert forum.ask("POST", "/oauth2/token", form).status == 200


def test_rfc_6749_5_2_a_wrong_basic_secret_gets_a_challenge(gateway, browser):
    wrong = Client(gateway, "forum", FORUM_URI, "wrong")
    response = wrong.redeem("x")
    assert response.status == 401 and response.get("www-authenticate") == 'Basic realm="gatehouse"'


@pytest.mark.parametrize("path, fields, challenge", [
    ("token", [], 'Basic realm="gatehouse"'), ("introspect", [], 'Basic realm="gatehouse"'),
    ("par", [("Authorization", "Basic Zm9ydW06eA==")], 'Basic realm="gatehouse"'), ("userinfo", [], 'Bearer realm="gatehouse"'),
    ("userinfo", [("Authorization", "Bearer x")], 'Bearer realm="gatehouse", error="invalid_token"'),
    ("userinfo", [("Authorization", "DPoP x")], 'Bearer realm="gatehouse", error="invalid_token"'),
])
def test_e_11_rfc_9110_15_5_2_each_401_has_a_challenge(path, fields, challenge, forum):
    response = forum.ask("POST", f"/oauth2/{path}", {"client_id": "forum"}, fields)
    assert response.status == 401 and response.get("www-authenticate").startswith(challenge)


def test_rfc_6749_3_2_the_token_endpoint_takes_posts_only(forum):
    response = forum.ask("GET", "/oauth2/token")
    assert response.status == 405 and response.get("allow") == "POST, OPTIONS"


def test_rfc_6749_3_1_a_repeated_parameter(forum):
    fields, _ = forum.credentials()
    response = forum.ask("POST", "/oauth2/token", [("grant_type", "refresh_token"), ("grant_type", "refresh_token")], fields)
    assert response.status == 400 and response.json["error"] == "invalid_request"


@pytest.mark.one_gateway("two do not know of each other what they redeem in one moment")
def test_e_11_a_code_that_is_sent_several_times_at_once_has_one_use(forum, browser):
    """All are there before the first response, so none is a theft."""
    fields, _ = forum.credentials()
    code = forum.authorize(browser)["code"]
    body = urlencode({
        "grant_type": "authorization_code", "code": code, "redirect_uri": FORUM_URI, "code_verifier": forum.verifier,
    }).encode()
    head = f"POST /oauth2/token HTTP/1.1\r\nHost: {forum.gateway.host}\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in fields) + f"Content-Length: {len(body)}\r\n\r\n"
    with ExitStack() as stack:
        wires = [stack.enter_context(Wire(forum.gateway.port)) for _ in range(6)]
        for wire in wires:
            wire.send(head.encode() + body[:-1])
        for wire in wires:
            wire.send(body[-1:])
        responses = [wire.response("POST") for wire in wires]
    assert sorted(response.status for response in responses) == [200] + 5 * [400]
    tokens = next(response.json for response in responses if response.status == 200)
    assert forum.userinfo(tokens["access_token"]).status == 200
    assert forum.redeem(code).json["error"] == "invalid_grant"
    assert forum.userinfo(tokens["access_token"]).status == 401, "a later use is one"


# Refresh tokens


def test_rfc_6749_6_a_refresh_gives_new_tokens(notes, browser):
    first = notes.sign_in(browser)
    second = notes.refresh(first["refresh_token"]).json
    assert second["refresh_token"] != first["refresh_token"] and second["access_token"] != first["access_token"]
    assert "nonce" not in claims(second["id_token"]) and claims(second["id_token"])["sub"] == claims(first["id_token"])["sub"]
    assert notes.call(second["access_token"]).status == 200


def test_e_11_rfc_6749_6_a_refresh_may_ask_for_fewer_scopes(notes, browser):
    first = notes.sign_in(browser)
    narrow = notes.refresh(first["refresh_token"], scope="email openid").json
    assert narrow["scope"] == "openid email" == claims(narrow["access_token"])["scope"] and "name" not in claims(narrow["id_token"])
    assert set(notes.userinfo(narrow["access_token"]).json) == {"sub", "email", "email_verified"}
    assert "id_token" not in notes.refresh(narrow["refresh_token"], scope="email").json
    # The grant and its refresh tokens keep all, and what is rejected spends no token.
    latest = notes.refresh(narrow["refresh_token"]).json["refresh_token"]
    assert notes.refresh(latest, scope="openid offline_access").json["error"] == "invalid_scope"
    assert notes.refresh(latest).json["scope"] == first["scope"]


def test_a_refresh_whose_response_was_lost_can_be_repeated(notes, browser):
    first = notes.sign_in(browser)["refresh_token"]
    successors = [notes.refresh(first).json["refresh_token"] for _ in range(3)]
    assert len(set(successors)) == 1 and notes.refresh(successors[0]).status == 200


def test_rfc_9700_4_14_2_a_refresh_token_of_before_ends_the_sign_in_of_the_client(gateway, notes, browser):
    first = notes.sign_in(browser)
    second = notes.refresh(first["refresh_token"]).json
    third = notes.refresh(second["refresh_token"]).json
    assert notes.refresh(first["refresh_token"]).json["error"] == "invalid_grant"
    assert notes.refresh(third["refresh_token"]).json["error"] == "invalid_grant"
    assert notes.call(third["access_token"]).status == 401
    assert "refresh token reused" in gateway.log
    assert browser.send("GET", "/oauth2/userinfo").status == 200


def test_rfc_6749_10_4_a_refresh_token_of_another_client(gateway, notes, forum, browser):
    token = notes.sign_in(browser)["refresh_token"]
    assert forum.refresh(token).json["error"] == "invalid_grant"
    assert notes.refresh(token).status == 200


def test_1000_refreshes_at_once_give_one_new_token(gateway, notes, browser):
    """None of them locks the client out."""
    first = notes.sign_in(browser)["refresh_token"]
    found, failures = [], Counter()

    def ask(count):
        for _ in range(count):
            response = notes.refresh(first)
            if response.status == 200:
                found.append(response.json["refresh_token"])
            else:
                failures[response.status, response.text] += 1

    threads = [threading.Thread(target=ask, args=(50,)) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and len(found) == 1000 and len(set(found)) == 1
    assert notes.refresh(found[0]).status == 200


@pytest.mark.parametrize("position", [5, 30, -1])
def test_a_changed_refresh_token_is_rejected(position, notes, browser):
    token = notes.sign_in(browser)["refresh_token"]
    letter = "A" if token[position] != "A" else "B"
    changed = token[:position] + letter + (token[position + 1:] if position != -1 else "")
    assert notes.refresh(changed).json["error"] == "invalid_grant"


# Tokens at apps


def test_rfc_6750_2_1_an_app_gets_the_same_identity_from_token_and_session(gateway, notes, browser, app):
    tokens = notes.sign_in(browser)
    names = ("x-forwarded-user", "x-forwarded-email", "x-forwarded-name", "x-forwarded-groups", "x-forwarded-provider")
    assert browser.send("GET", "/x").status == 200
    by_session = {name: app.requests[-1].get(name) for name in names}
    assert notes.call(tokens["access_token"]).status == 200
    assert {name: app.requests[-1].get(name) for name in names} == by_session and by_session["x-forwarded-user"]
    assert app.requests[-1].get("authorization") is None
    assertion = claims(app.requests[-1].get("x-gatehouse-assertion"))
    assert assertion["aud"] == gateway.origin and assertion["sub"] == by_session["x-forwarded-user"]


def test_a_token_for_another_app_is_rejected(gateway, notes, browser, app):
    only = notes.refresh(notes.sign_in(browser)["refresh_token"], resource=f"http://own.localhost:{gateway.port}").json
    assert notes.call(only["access_token"], host="own.localhost").status == 200
    response = notes.call(only["access_token"])
    assert response.status == 401 and response.json["error"] == "token.rejected"
    assert response.get("www-authenticate").startswith('Bearer realm="gatehouse", error="invalid_token", resource_metadata=')


def test_an_app_that_takes_no_tokens_neither_accepts_nor_gets_one(gateway, notes, browser, app):
    token = notes.sign_in(browser)["access_token"]
    assert notes.call(token, host="closed.localhost").status == 401
    closed = browser.visit(f"http://closed.localhost:{gateway.port}/y")
    assert closed.status == 200
    response = browser.send("GET", f"http://closed.localhost:{gateway.port}/y", fields={"Authorization": f"Bearer {token}"})
    assert response.status == 200 and app.requests[-1].get("authorization") is None


def test_an_app_that_takes_tokens_only_has_no_sign_in(gateway, browser, notes):
    response = browser.send("GET", f"http://own.localhost:{gateway.port}/x")
    assert response.status == 401 and not response.all("location")
    script = request(gateway.port, "/x", host="own.localhost")
    assert script.status == 401 and f"resource=http://own.localhost:{gateway.port}" in script.json["help"]
    assert script.get("www-authenticate").startswith('Bearer realm="gatehouse", resource_metadata=')


def test_the_rules_of_the_app_hold_for_tokens(gateway, notes, browser):
    token = notes.sign_in(browser)["access_token"]
    assert notes.call(token, "/denied/x").status == 403 and notes.call(token, "/x").status == 200


@pytest.mark.parametrize("change", ["payload", "signature", "none", "assertion", "id_token", "other_key", "hs256"])
def test_rfc_8725_forged_tokens_are_rejected(change, gateway, notes, browser, app):
    tokens = notes.sign_in(browser)
    head, payload, signature = tokens["access_token"].split(".")
    browser.send("GET", "/x")
    other = jwt.encode(claims(tokens["access_token"]), ec.generate_private_key(ec.SECP256R1()), algorithm="ES256",
                       headers={"typ": "at+jwt", "kid": jwt.get_unverified_header(tokens["access_token"])["kid"]})
    public = notes.ask("GET", "/oauth2/token-keys.json").text
    forged = {
        "payload": f"{head}.{payload[:-2]}{'AA' if payload[-2:] != 'AA' else 'BB'}.{signature}",
        "signature": f"{head}.{payload}.{'A' if signature[0] != 'A' else 'B'}{signature[1:]}",
        "none": jwt.encode(claims(tokens["access_token"]), None, algorithm="none", headers={"typ": "at+jwt"}),
        "assertion": app.requests[-1].get("x-gatehouse-assertion"), "id_token": tokens["id_token"], "other_key": other,
        "hs256": jwt.encode(claims(tokens["access_token"]), public[:64], algorithm="HS256", headers={"typ": "at+jwt"}),
    }[change]
    assert notes.call(forged).status == 401 and notes.userinfo(forged).status == 401


def test_a_sign_out_of_the_user_ends_the_tokens(gateway, notes, browser):
    tokens = notes.sign_in(browser)
    assert notes.call(tokens["access_token"]).status == 200
    assert browser.sign_out().status == 303
    assert notes.call(tokens["access_token"]).status == 401
    assert notes.userinfo(tokens["access_token"]).status == 401
    assert notes.refresh(tokens["refresh_token"]).json["error"] == "invalid_grant"


def test_a_token_for_no_app_opens_none(gateway, forum, browser):
    """The wiki has the URL of the issuer; a client without `audiences` gets nothing for it."""
    tokens = forum.sign_in(browser)
    assert claims(tokens["access_token"])["aud"] == f"{gateway.origin}/oauth2/userinfo"
    assert forum.call(tokens["access_token"]).status == 401 and forum.userinfo(tokens["access_token"]).status == 200


def test_rfc_7009_2_a_revoked_token_ends_the_grant_and_nothing_else(gateway, notes, browser):
    tokens = notes.sign_in(browser)
    assert notes.call(tokens["access_token"]).status == 200
    assert notes.revoke(tokens["refresh_token"]).status == 200
    assert notes.call(tokens["access_token"]).status == 401
    assert notes.refresh(tokens["refresh_token"]).json["error"] == "invalid_grant"
    assert browser.send("GET", "/oauth2/userinfo").status == 200
    assert notes.revoke(tokens["refresh_token"]).status == 200 and notes.revoke("x").status == 200


def test_rfc_7009_2_1_a_client_cannot_revoke_tokens_of_another(gateway, notes, forum, browser):
    tokens = notes.sign_in(browser)
    assert forum.revoke(tokens["refresh_token"]).status == 200 and forum.revoke(tokens["access_token"]).status == 200
    assert notes.refresh(tokens["refresh_token"]).status == 200


def test_rfc_7662_2_2_introspection(gateway, notes, forum, browser):
    tokens = forum.sign_in(browser)
    found = forum.introspect(tokens["access_token"]).json
    assert found["active"] is True and found["client_id"] == "forum" and found["sub"].startswith("mock:")
    assert forum.introspect(tokens["refresh_token"]).json["active"] is True
    assert forum.introspect("x").json == {"active": False}
    others = notes.sign_in(browser)
    assert [forum.introspect(others[name]).json for name in ("refresh_token", "access_token")] == 2 * [{"active": False}]
    forum.revoke(tokens["access_token"])
    assert forum.introspect(tokens["access_token"]).json == {"active": False}
    assert notes.introspect(tokens["access_token"]).json["error"] == "unauthorized_client"


def test_a_user_whom_the_client_does_not_admit_any_more_is_not_described(tmp_path, provider_server, app):
    """Userinfo and introspection follow the rules of the client at once."""
    gateway = Gateway(tmp_path, {name: oidc(provider_server.realm(name).issuer) for name in ("mock", "other")}, {})
    configuration(gateway, app)
    with gateway:
        browser = Browser(gateway)
        browser.sign_in("mock", "/x")
        client = Client(gateway, "forum", FORUM_URI, FORUM_SECRET)
        tokens = client.sign_in(browser)
        assert client.introspect(tokens["access_token"]).json["active"] and client.userinfo(tokens["access_token"]).status == 200
        gateway.configuration["clients"]["forum"]["allow"] = [{"user": "mock:absent"}]
        gateway.write()
        eventually(lambda: client.userinfo(tokens["access_token"]).status == 401, "the rules of the client count")
        # Another event loop may take the file over a moment later.
        for name in ("access_token", "refresh_token"):
            eventually(lambda name=name: client.introspect(tokens[name]).json == {"active": False}, f"nor is {name} active")


def test_oidc_core_5_3_userinfo_by_scope(gateway, notes, browser):
    whole = notes.userinfo(notes.sign_in(browser)["access_token"])
    assert whole.status == 200 and {"sub", "email", "name", "groups"} <= set(whole.json)
    little = Client(gateway, "notes", APP_URI, scope="openid")
    assert set(little.userinfo(little.sign_in(browser)["access_token"]).json) == {"sub"}
    none = Client(gateway, "notes", APP_URI, scope="email")
    response = none.userinfo(none.sign_in(browser)["access_token"])
    assert response.status == 403 and 'error="insufficient_scope"' in response.get("www-authenticate")


def test_e_10_a_token_for_an_app_alone_is_not_one_for_userinfo(gateway, notes, browser):
    """RFC 9068 §4: the app that receives it learns no more about the user than the gateway gives it."""
    own = f"http://own.localhost:{gateway.port}"
    tokens = notes.sign_in(browser, resource=own)
    assert claims(tokens["access_token"])["aud"] == own and notes.call(tokens["access_token"], host="own.localhost").status == 200
    response = notes.userinfo(tokens["access_token"])
    assert response.status == 401 and 'error="invalid_token"' in response.get("www-authenticate")
    whole = notes.sign_in(browser)
    assert notes.userinfo(whole["access_token"]).status == 200
    narrow = notes.refresh(whole["refresh_token"], resource=own).json
    assert notes.userinfo(narrow["access_token"]).status == 401
    assert notes.userinfo(notes.refresh(narrow["refresh_token"]).json["access_token"]).status == 200


# Sign-out by a client


def test_oidc_rp_initiated_logout_2_with_an_id_token_of_the_session(gateway, forum, browser):
    tokens = forum.sign_in(browser)
    query = urlencode({"id_token_hint": tokens["id_token"], "state": "s t",
                       "post_logout_redirect_uri": "https://forum.example.com/bye"})
    page = browser.visit(f"/oauth2/end_session?{query}", stop=lambda url: url.startswith("https://forum.example.com/"))
    assert page.next == "https://forum.example.com/bye?state=s%20t"
    assert browser.ticket() is None and forum.refresh(tokens["refresh_token"]).json["error"] == "invalid_grant"


@pytest.mark.parametrize("more", [{}, {"post_logout_redirect_uri": "https://forum.example.com/bye"}])
@pytest.mark.parametrize("client", ["notes", "absent", "forum "])
def test_e_11_oidc_rp_initiated_logout_2_another_client_than_that_of_the_hint(client, more, forum, browser):
    hint = forum.sign_in(browser)["id_token"]
    query = urlencode({"id_token_hint": hint, "client_id": client, **more})
    response = browser.send("GET", f"/oauth2/end_session?{query}")
    assert response.status == 400 and not response.all("location") and browser.ticket()


def test_oidc_rp_initiated_logout_2_without_one_the_user_has_to_confirm(gateway, forum, browser):
    query = urlencode({"client_id": "forum", "post_logout_redirect_uri": "https://forum.example.com/bye"})
    page = browser.visit(f"/oauth2/end_session?{query}")
    assert page.status == 200 and "Sign out" in page.text and browser.send("GET", "/oauth2/userinfo").status == 200
    end = browser.submit(page, stop=lambda url: url.startswith("https://forum.example.com/"))
    assert end.next == "https://forum.example.com/bye" and browser.ticket() is None


@pytest.mark.parametrize("uri", ["https://forum.example.com/bye/", "https://evil.example/", "//evil.example", "https://forum.example.com.evil/bye"])
def test_oidc_rp_initiated_logout_3_an_unknown_uri_is_not_followed(uri, gateway, forum, browser):
    query = urlencode({"client_id": "forum", "post_logout_redirect_uri": uri})
    response = browser.send("GET", f"/oauth2/end_session?{query}")
    assert response.status == 400 and not response.all("location")


# Links of native apps


@pytest.mark.parametrize("name, member", [("apple-app-site-association", "applinks"), ("assetlinks.json", None)])
def test_rfc_8252_7_2_the_hosts_of_links_name_their_apps(name, member, gateway, notes):
    """With the right type and without a redirect; other hosts have no such file."""
    found = notes.ask("GET", f"/.well-known/{name}", host="own.localhost")
    assert found.status == 200 and found.get("content-type") == "application/json"
    assert "ABCDE12345.com.example.links" in found.text if member else "com.example.links" in found.text
    assert notes.ask("GET", f"/.well-known/{name}", host="closed.localhost").status == 401


# Reload


@pytest.mark.one_gateway("two do not load the file in one moment")
def test_a_client_that_is_removed_loses_its_tokens(tmp_path, provider_server, app):
    gateway = Gateway(tmp_path, {name: oidc(provider_server.realm(name).issuer) for name in ("mock", "other")}, {})
    configuration(gateway, app)
    with gateway:
        browser = Browser(gateway)
        browser.sign_in("mock", "/x")
        notes = Client(gateway, "notes", APP_URI)
        tokens = notes.sign_in(browser)
        assert notes.call(tokens["access_token"]).status == 200
        gateway.configuration["clients"]["notes"]["allow"] = [{"user": "mock:absent"}]
        gateway.write()
        eventually(lambda: notes.call(tokens["access_token"]).status == 403, "the rules of the client count")
        assert notes.refresh(tokens["refresh_token"]).json["error"] == "invalid_grant"
        del gateway.configuration["clients"]["notes"]
        gateway.write()
        eventually(lambda: notes.call(tokens["access_token"]).status == 401, "the client is gone")
        assert notes.refresh(tokens["refresh_token"]).json["error"] == "invalid_client"
        gateway.stop()
        gateway.start()
        forum = Client(gateway, "forum", FORUM_URI, FORUM_SECRET)
        browser.sign_in("mock", "/x")
        assert forum.sign_in(browser)["id_token"]


def test_without_clients_there_is_no_issuer(tmp_path, provider_server, app):
    gateway = Gateway(tmp_path, {"mock": oidc(provider_server.realm("mock").issuer)},
                      {"wiki": {"path": "/", "upstream": app.address, "allow": "signed_in"}})
    with gateway:
        client = Client(gateway, "notes", APP_URI)
        assert client.ask("GET", "/.well-known/openid-configuration").status == 401
        assert client.ask("POST", "/oauth2/token", {}).status == 404
        assert not (gateway.folder / "state/keys/tokens").exists()


# Back-channel logout to clients


class Receiver(ThreadingHTTPServer):
    """The back-channel logout endpoint of a client: keeps what it gets, and fails as often as a test wants."""
    def __init__(self):
        super().__init__(("127.0.0.1", 0), ReceiverHandler)
        self.tokens, self.failures = [], 0
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/logout"


class ReceiverHandler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        server = self.server
        if server.failures > 0:
            server.failures -= 1
            self.send_response(500)
        else:
            server.tokens.append(dict(parse_qsl(body))["logout_token"])
            self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments):
        pass


@pytest.fixture
def receiver():
    server = Receiver()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def notified(tmp_path, provider_server, app, receiver):
    """A gateway with a client that wants to know of sign-outs."""
    gateway = Gateway(tmp_path, {name: oidc(provider_server.realm(name).issuer) for name in ("mock", "other")}, {})
    configuration(gateway, app)
    gateway.configuration["clients"]["forum"]["backchannel_logout_uri"] = receiver.url
    with gateway:
        yield gateway


def signed_in_forum(gateway, provider="mock"):
    browser = Browser(gateway)
    assert browser.sign_in(provider, "/x").status == 200
    client = Client(gateway, "forum", FORUM_URI, FORUM_SECRET)
    return browser, client, client.sign_in(browser)


def test_oidc_back_channel_logout_2_4_a_client_learns_of_a_sign_out(notified, receiver):
    browser, client, tokens = signed_in_forum(notified)
    signed_in_forum(notified, "other")
    browser.sign_out()
    eventually(lambda: receiver.tokens, "the logout token arrives")
    found = client.verified(receiver.tokens[0], "forum", typ="logout+jwt")
    assert found["events"] == {"http://schemas.openid.net/event/backchannel-logout": {}}
    assert found["sid"] == claims(tokens["id_token"])["sid"] and "nonce" not in found and found["exp"] - found["iat"] == 120
    assert len(receiver.tokens) == 1


def test_oidc_back_channel_logout_2_5_a_client_that_fails_is_asked_again(notified, receiver):
    receiver.failures = 1
    browser, _, _ = signed_in_forum(notified)
    browser.sign_out()
    eventually(lambda: receiver.tokens, "the logout token arrives", 20)


def test_a_client_where_the_user_never_was_is_not_notified(notified, receiver):
    browser = Browser(notified)
    browser.sign_in("mock", "/x")
    browser.sign_out()
    other, _, tokens = signed_in_forum(notified)
    other.sign_out()
    eventually(lambda: receiver.tokens, "the logout token of the second sign-out arrives")
    assert [claims(token)["sid"] for token in receiver.tokens] == [claims(tokens["id_token"])["sid"]]
