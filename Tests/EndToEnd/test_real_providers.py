# SPDX-License-Identifier: Apache-2.0
"""Providers of other projects that behave differently: idpyoidc and django-oauth-toolkit."""

from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import jwt
import pytest
import requests

from support.browser import Browser
from support.gateway import Gateway, oidc
from support.processes import free_port
from support.raw import request
from support.real import SECRET, Idpy, Toolkit, press, running
from support.upstream import Upstream

ALGORITHMS = ["RS256", "PS256", "ES256", "ES384"]
BOTH = ["idpy", "toolkit"]
ODD_SECRET = "client secret+/%"


class Fixture:
    """Both providers, the gateway, and the app behind it."""
    def __init__(self, folder):
        self.app = Upstream()
        port = free_port()
        self.origin = f"http://gate.localhost:{port}"
        signed = [f"idpy-{name.lower()}" for name in ALGORITHMS]
        self.idpy = Idpy(
            folder, {
                **{name: self.at_idpy(name) for name in ("idpy", "idpy-wrong")},
                **{name: self.at_idpy(name, id_token_signed_response_alg=name[5:].upper()) for name in signed},
            },
        )
        self.toolkit = Toolkit(folder, {name: self.at_toolkit(name) for name in ("toolkit", "toolkit-wrong")})
        (folder / "secret").write_text(SECRET)
        plain = {"client_secret": f"${{file:{folder / 'secret'}}}"}
        wrong = {"client_secret": "${env:TEST_GATEWAY_SECRET}"}
        entries = {
            "idpy": oidc(self.idpy.issuer, **plain), "idpy-wrong": oidc(self.idpy.issuer, **wrong),
            **{name: oidc(self.idpy.issuer, **plain) for name in signed}, "toolkit": oidc(self.toolkit.issuer),
            "toolkit-wrong": oidc(self.toolkit.issuer, **wrong),
        }
        entries = {name: {**entry, "client_id": name} for name, entry in entries.items()}
        apps = {"echo": {"path": "/", "upstream": self.app.address, "allow": "signed_in"}}
        self.gateway = Gateway(folder, entries, apps, port=port)

    def at_idpy(self, name, **more):
        return {
            "client_secret": SECRET, "redirect_uris": [f"{self.origin}/oauth2/callback/{name}"],
            "post_logout_redirect_uri": [f"{self.origin}/oauth2/sign_out"], "response_types_supported": ["code"],
            "allowed_scopes": ["openid", "email", "profile"], **more,
        }

    def at_toolkit(self, name):
        return {
            "client_secret": ODD_SECRET, "redirect_uris": f"{self.origin}/oauth2/callback/{name}",
            "post_logout_redirect_uris": f"{self.origin}/oauth2/sign_out",
        }

    def provider(self, name):
        return getattr(self, name.split("-")[0])

    def at_the_provider(self, name, browser=None, rd="/"):
        """A browser at the provider's first page."""
        browser = browser or Browser(self.gateway)
        page = browser.visit(f"/oauth2/start/{name}?" + urlencode({"rd": rd}))
        assert page.status == 200 and page.url.startswith(self.provider(name).origin), browser.history
        return browser, page

    def sign_in(self, name, rd="/", user="ada"):
        browser, page = self.at_the_provider(name, rd=rd)
        return browser, self.provider(name).agree(browser, page, user)

    def caught(self, name, browser=None):
        """A browser whose callback, with a valid code, has not been sent."""
        browser, page = self.at_the_provider(name, browser)
        here = f"{self.origin}/oauth2/callback/"
        visit = browser.visit
        browser.visit = lambda *args, **more: visit(*args, **{**more, "stop": lambda url: url.startswith(here)})
        response = self.provider(name).agree(browser, page)
        browser.visit = visit
        assert getattr(response, "next", None), response
        return browser, response.next


@pytest.fixture(scope="module")
def fixture(tmp_path_factory):
    with running(Fixture(tmp_path_factory.mktemp("real"))) as fixture:
        yield fixture


def assert_rejected(response, browser, fixture, status=400):
    """An error page of the gateway, with a code and without text of the provider; no session."""
    assert response.status == status, response
    assert response.url.startswith(f"{fixture.origin}/oauth2/"), response
    assert "default-src 'none'" in response.get("content-security-policy")
    assert browser.ticket() is None
    assert "PKCE" not in response.text and "Traceback" not in response.text


SUBJECTS = {"idpy": None, "toolkit": "1"}


@pytest.mark.parametrize("name", BOTH)
def test_a_user_signs_in_and_the_app_gets_the_identity(name, fixture):
    """The main flow with another provider: page, headers, assertion, userinfo, replay, again."""
    browser, page = fixture.sign_in(name, f"/page-{name}?x=1")
    assert page.status == 200 and page.url == f"{fixture.origin}/page-{name}?x=1", browser.history
    seen = fixture.app.seen(f"/page-{name}")[-1]
    user = seen.get("X-Forwarded-User")
    subject = user.removeprefix(f"{name}:")
    assert user.startswith(f"{name}:") and subject and SUBJECTS[name] in (None, subject)
    assert seen.get("X-Forwarded-Email") == "ada@example.com" and not seen.get("Cookie")
    claims = jwt.decode(seen.get("X-Gatehouse-Assertion"), options={"verify_signature": False})
    assert (claims["sub"], claims["provider"], claims["email"]) == (user, name, "ada@example.com")
    profile = browser.send("GET", "/oauth2/userinfo").json
    assert profile["user"] == user and profile["email"] == "ada@example.com"
    assert (profile["name"] if name == "idpy" else profile["username"]) in ("Ada Example", "ada")
    again, _ = fixture.sign_in(name)
    assert again.send("GET", "/oauth2/userinfo").json["user"] == user


@pytest.mark.parametrize("name", BOTH)
def test_another_subject_is_another_user(name, fixture):
    """The subject of this provider distinguishes users, also where names have letters beyond ASCII."""
    ada, zoe = (fixture.sign_in(name, user=user)[0].send("GET", "/oauth2/userinfo").json for user in ("ada", "zoe"))
    assert ada["user"] != zoe["user"] and zoe["email"] == "zoe@example.com"
    assert name != "idpy" or zoe["name"] == "Zoë Müller"


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_id_tokens_that_cryptojwt_signed_are_verified(algorithm, fixture):
    """Each algorithm as another library signs it, and its keys without `alg`."""
    name = f"idpy-{algorithm.lower()}"
    browser, page = fixture.sign_in(name)
    assert page.status == 200, page
    hint = sign_out_parameters(browser)["id_token_hint"]
    assert jwt.get_unverified_header(hint)["alg"] == algorithm


@pytest.mark.parametrize("name", BOTH)
def test_a_user_who_denies_at_the_provider_is_not_signed_in(name, fixture):
    """RFC 6749 §4.1.2.1: the denial is a page with a link to try again; no token request."""
    browser, page = fixture.at_the_provider(name)
    asked = len(fixture.idpy.journal("token"))
    response = fixture.provider(name).agree(browser, page, choice="no")
    assert_rejected(response, browser, fixture, 403)
    assert "error=access_denied" in browser.url and "/oauth2/sign_in" in response.text
    assert len(fixture.idpy.journal("token")) == asked


@pytest.mark.parametrize("name", BOTH)
def test_a_wrong_client_secret_is_the_gateways_error_page(name, fixture):
    """The provider returns `invalid_client`: no session, and the secret is not shown."""
    browser, response = fixture.sign_in(f"{name}-wrong")
    assert_rejected(response, browser, fixture, 502)
    assert fixture.gateway.configuration["gateway"]["secret"] not in response.text
    if name == "idpy":
        assert fixture.idpy.journal("token")[-1]["status"] == 401
    assert fixture.sign_in(name)[1].status == 200


@pytest.mark.parametrize("name", BOTH)
def test_a_callback_works_once(name, fixture):
    """RFC 6749 §4.1.2, T-02: neither the same callback nor its code in another attempt works again."""
    browser, callback = fixture.caught(name)
    attempts = dict(browser.cookies["gate.localhost"])
    assert browser.send("GET", callback).status == 303 and browser.ticket()
    thief = Browser(fixture.gateway)
    thief.cookies["gate.localhost"] = attempts
    assert_rejected(thief.send("GET", callback), thief, fixture)
    other, second = fixture.caught(name)
    assert_rejected(other.send("GET", with_code(second, code_of(callback))), other, fixture)


@pytest.mark.parametrize("name", BOTH)
def test_a_code_of_another_attempt_fails_pkce(name, fixture):
    """RFC 7636 §4.6, RFC 9700 §4.5.3: a good code that was never used, injected into another browser's attempt."""
    victim, stolen = fixture.caught(name)
    thief, callback = fixture.caught(name)
    response = thief.send("GET", with_code(callback, code_of(stolen)))
    assert_rejected(response, thief, fixture)
    if name == "idpy":
        assert "PKCE check failed" in fixture.idpy.journal("token")[-1]["error"]
    assert victim.ticket() is None


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("verifier", [None, "x" * 43])
def test_these_providers_do_check_the_verifier(verifier, name, fixture):
    """The control of the test above: the provider rejects the same code without the right verifier."""
    _, callback = fixture.caught(name)
    form = {
        "grant_type": "authorization_code", "code": code_of(callback), "client_id": name,
        "redirect_uri": f"{fixture.origin}/oauth2/callback/{name}",
        "client_secret": SECRET if name == "idpy" else ODD_SECRET,
    }
    endpoint = {"idpy": f"{fixture.idpy.issuer}/token", "toolkit": f"{fixture.toolkit.issuer}/token/"}[name]
    response = requests.post(endpoint, data={**form, **({"code_verifier": verifier} if verifier else {})}, timeout=10)
    assert response.status_code == 400 and "access_token" not in response.text


@pytest.mark.parametrize("name", BOTH)
def test_the_challenge_is_s256_and_never_plain(name, fixture):
    """RFC 7636 §4.2, although django-oauth-toolkit offers `plain` as well."""
    address = Browser(fixture.gateway).begin(name)
    query = parse_qs(urlsplit(address).query)
    assert query["code_challenge_method"] == ["S256"] and len(query["code_challenge"][0]) == 43
    assert query["nonce"] and query["state"] and query["response_type"] == ["code"]


def test_a_callback_that_names_another_issuer_is_rejected_before_the_token_request(fixture):
    """RFC 9207 §2.4: this provider sends `iss` although its metadata does not announce it; another one is rejected."""
    _, callback = fixture.caught("idpy")
    assert parse_qs(urlsplit(callback).query)["iss"] == [fixture.idpy.issuer]
    asked = len(fixture.idpy.journal("token"))
    for issuer in (fixture.toolkit.issuer, fixture.idpy.issuer + "/"):
        fresh, callback = fixture.caught("idpy")
        assert_rejected(fresh.send("GET", changed(callback, iss=issuer)), fresh, fixture)
    assert len(fixture.idpy.journal("token")) == asked


def test_a_callback_for_one_provider_is_rejected_at_the_other(fixture):
    """RFC 9700 §4.4: mix-up; the code of one provider is never sent to the other."""
    browser, callback = fixture.caught("idpy")
    asked = len(fixture.idpy.journal("token"))
    response = browser.send("GET", callback.replace("/callback/idpy?", "/callback/toolkit?"))
    assert_rejected(response, browser, fixture)
    assert len(fixture.idpy.journal("token")) == asked


def sign_out_parameters(browser):
    """The parameters of the redirect to the provider at sign-out."""
    response = browser.sign_out()
    assert response.status == 303
    return dict(parse_qsl(urlsplit(response.get("location")).query))


def test_sign_out_ends_the_session_at_idpyoidc_too(fixture):
    """OpenID RP-Initiated Logout §2: before, the provider remembers the user; afterwards it asks again."""
    browser, _ = fixture.sign_in("idpy")
    assert browser.visit("/oauth2/start/idpy").url.startswith(fixture.origin), "the provider knows the browser"
    ticket = browser.ticket()
    end = browser.visit("/oauth2/sign_out", "POST", {})
    assert end.status == 200 and end.url.startswith(f"{fixture.origin}/oauth2/sign_out?state="), browser.history
    assert "You are signed out at idpy as well." in end.text, "W-03: the page knows that it worked"
    assert [entry["path"] for entry in fixture.idpy.journal()[-2:]] == ["end", "confirm"]
    assert browser.ticket() is None
    assert request(fixture.gateway.port, "/x", fields=[("Cookie", f"gatehouse={ticket}")]).status == 401
    assert browser.visit("/oauth2/start/idpy").url.startswith(fixture.idpy.origin), "the provider asks again"


@pytest.mark.parametrize("button", ["Logout", None])
def test_sign_out_at_the_toolkit_asks_the_user_and_comes_back(button, fixture):
    """RP-Initiated Logout §2: this provider asks first; the gateway's session has ended in either case."""
    browser, _ = fixture.sign_in("toolkit")
    page = browser.visit("/oauth2/sign_out", "POST", {})
    assert page.status == 200 and page.url.startswith(f"{fixture.toolkit.issuer}/logout/"), browser.history
    assert browser.ticket() is None
    end = press(browser, page, allow=button)
    if button:
        assert end.status == 200 and end.url.startswith(f"{fixture.origin}/oauth2/sign_out?state="), browser.history
        assert "You are signed out at toolkit as well." in end.text, "W-03: the page knows that it worked"
    page = browser.visit("/oauth2/start/toolkit")
    assert ('name="password"' in page.text) == bool(button), "after logging out there the password is needed"


def code_of(callback):
    return parse_qs(urlsplit(callback).query)["code"][0]


def with_code(callback, code):
    return changed(callback, code=code)


def changed(callback, **more):
    parts = urlsplit(callback)
    return parts._replace(query=urlencode({**dict(parse_qsl(parts.query)), **more})).geturl()


def test_nothing_of_these_sign_ins_is_in_the_log(fixture):
    """Neither secrets nor codes nor tokens."""
    fixture.sign_in("idpy")
    fixture.sign_in("toolkit")
    codes = [entry["form"]["code"] for entry in fixture.idpy.journal("token")]
    assert codes and "toolkit" in fixture.gateway.log
    for text in (SECRET, ODD_SECRET, *codes, "eyJ"):
        assert text not in fixture.gateway.log
