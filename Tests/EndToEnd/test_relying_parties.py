# SPDX-License-Identifier: Apache-2.0
"""Relying parties of other projects sign users in at the gateway, which signs them in at Glewlwyd; sign-outs reach all of them."""

from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from authlib.integrations.requests_client import OAuth2Session as AuthlibSession
from joserfc import jwt
from joserfc.jwk import KeySet
from oauthlib.oauth2 import InvalidGrantError
from requests_oauthlib import OAuth2Session

from support.browser import Browser
from support.gateway import Gateway, oidc
from support.glewlwyd import Glewlwyd
from support.processes import eventually, free_port
from support.real import SECRET as PROVIDER_SECRET
from support.real import USERS
from support.relying_parties import SECRET, Apache, FlaskParty
from support.upstream import Upstream

TOOL_URI = "http://127.0.0.1:8085/callback"
SCOPE = ["openid", "profile", "email", "groups"]


class Fixture:
    """The provider, the gateway, the parties, and the app behind gateway and Apache."""
    def __init__(self, folder):
        self.folder, self.app, port = folder, Upstream(), free_port()
        origin = f"http://127.0.0.1:{port}"
        client = {
            "client_secret": PROVIDER_SECRET, "redirect_uri": [f"{origin}/oauth2/callback/staff"],
            "backchannel_logout_uri": f"{origin}/oauth2/backchannel-logout/staff",
            "post_logout_redirect_uris": [f"{origin}/oauth2/sign_out"],
        }
        self.provider = Glewlwyd(folder, {"gatehouse": client}, USERS)
        staff = oidc(self.provider.issuer("256"), scopes=["openid"], client_secret=PROVIDER_SECRET)
        self.gateway = Gateway(folder, {"staff": staff}, {}, host="127.0.0.1", port=port)
        self.parties = []
        for party in (Apache(folder, self.app), FlaskParty(folder)):
            party.issuer = origin
            self.parties.append(party)
        self.apache, self.flask = self.parties
        self.gateway.configuration["apps"] = {
            "notes": {"path": "/", "upstream": self.app.address, "allow": "signed_in", "accept": ["session", "token"]}
        }
        self.gateway.configuration["clients"] = {
            "tool": {"type": "native", "redirect_uris": ["http://127.0.0.1/callback"], "audiences": ["notes"],
                     "allow": "signed_in"},
            "server": {"type": "confidential", "secret": SECRET, "redirect_uris": ["https://server.example.com/callback"],
                       "audiences": ["notes"], "allow": "signed_in"},
            **{party.id: party.entry for party in self.parties},
        }

    def walk(self, browser, page, stop=None):
        """Goes on as a user does: signs in at the provider, and consents at the gateway."""
        if page.url.startswith(self.provider.origin):
            page = self.provider.agree(browser, page)
        return browser.submit(page, stop=stop) if "Continue to" in page.text else page

    def everywhere(self):
        """A browser that is signed in at the gateway, at Apache and at Flask, of one sign-in at the provider."""
        browser = Browser(self.gateway)
        page = self.walk(browser, browser.visit(f"{self.apache.origin}/a"))
        assert page.status == 200 and page.url == f"{self.apache.origin}/a", browser.history
        page = self.walk(browser, browser.visit(f"{self.flask.origin}/login"))
        assert page.status == 200 and page.url == f"{self.flask.origin}/", (page.text, browser.history)
        assert self.where(browser) == {"gateway", "apache", "flask"}
        return browser

    def where(self, browser):
        """Where the browser has a session."""
        found = {
            "gateway": browser.send("GET", "/oauth2/userinfo", navigates=False),
            "apache": browser.send("GET", f"{self.apache.origin}/where"),
            "flask": browser.send("GET", f"{self.flask.origin}/"),
        }
        return {name for name, response in found.items() if response.status == 200}

    def assert_ended(self, browser):
        eventually(lambda: not self.where(browser), "all three sessions have ended")
        assert not self.flask.rejected


@pytest.fixture(scope="module")
def fixture(tmp_path_factory):
    fixture = Fixture(tmp_path_factory.mktemp("parties"))
    try:
        with fixture.provider, fixture.gateway, fixture.apache, fixture.flask:
            yield fixture
    finally:
        fixture.app.close()


@pytest.fixture(autouse=True)
def plain_http(monkeypatch):
    """oauthlib and Authlib reject http unless these are set; the tests are on loopback."""
    monkeypatch.setenv("OAUTHLIB_INSECURE_TRANSPORT", "1")
    monkeypatch.setenv("AUTHLIB_INSECURE_TRANSPORT", "1")


# Sign-in


def test_mod_auth_openidc_signs_a_user_in(fixture):
    """OpenID Connect Core §3.1: Apache verifies the ID token, asks userinfo, and passes the claims to its app."""
    browser = Browser(fixture.gateway)
    page = fixture.walk(browser, browser.visit(f"{fixture.apache.origin}/in-apache?x=1"))
    assert page.status == 200 and page.url == f"{fixture.apache.origin}/in-apache?x=1", browser.history
    seen = fixture.app.seen("/in-apache?x=1")[-1]
    user = browser.send("GET", "/oauth2/userinfo", navigates=False).json
    assert user["user"].startswith("staff:") and seen.get("OIDC_CLAIM_sub") == user["user"]
    assert (seen.get("OIDC_CLAIM_name"), seen.get("OIDC_CLAIM_email")) == ("Ada Example", "ada@example.com")


def test_authlib_in_flask_signs_a_user_in(fixture):
    browser = Browser(fixture.gateway)
    page = fixture.walk(browser, browser.visit(f"{fixture.flask.origin}/login"))
    assert page.status == 200 and page.url == f"{fixture.flask.origin}/", (page.text, browser.history)
    user = browser.send("GET", "/oauth2/userinfo", navigates=False).json
    assert (page.json["sub"], page.json["name"], page.json["provider"]) == (user["user"], "Ada Example", "staff")


# Single sign-out


def test_a_sign_out_at_the_gateway_ends_the_sessions_of_both_parties(fixture):
    """OpenID Connect Back-Channel Logout §2.6."""
    browser = fixture.everywhere()
    assert browser.sign_out().status == 303
    fixture.assert_ended(browser)


def test_a_sign_out_at_apache_ends_the_sessions_of_gateway_and_flask(fixture):
    """OpenID Connect RP-Initiated Logout §2, as mod_auth_openidc sends it."""
    browser = fixture.everywhere()
    bye = f"{fixture.apache.origin}/bye"
    page = browser.visit(f"{fixture.apache.origin}/oidc/callback?{urlencode({'logout': bye})}")
    page = fixture.provider.sign_out(browser, page, stop=lambda url: url.startswith(bye))
    assert page.next == bye, browser.history
    fixture.assert_ended(browser)


def test_a_sign_out_at_flask_ends_the_sessions_of_gateway_and_apache(fixture):
    browser = fixture.everywhere()
    page = fixture.provider.sign_out(browser, browser.visit(f"{fixture.flask.origin}/logout"))
    assert page.text == "Bye." and urlsplit(page.url).path == "/bye", browser.history
    fixture.assert_ended(browser)


def test_a_sign_out_at_the_provider_ends_all_three(fixture):
    """Glewlwyd notifies the gateway, which notifies its clients."""
    browser = fixture.everywhere()
    fixture.provider.end_session(browser)
    fixture.assert_ended(browser)


def test_a_sign_out_of_another_user_ends_none(fixture):
    browser, other = fixture.everywhere(), Browser(fixture.gateway)
    page = other.visit("/oauth2/start/staff?rd=/z")
    assert fixture.provider.agree(other, page, "zoe").status == 200
    assert other.sign_out().status == 303
    fixture.assert_ended(other)
    assert fixture.where(browser) == {"gateway", "apache", "flask"}


# Libraries


def test_requests_oauthlib_gets_refreshes_and_uses_tokens(fixture):
    """RFC 6749 §4.1 and §6, RFC 7636, RFC 8252 §7.3 in the code of oauthlib."""
    origin, renewed = fixture.gateway.origin, []
    token_url = f"{origin}/oauth2/token"
    session = OAuth2Session(
        "tool", redirect_uri=TOOL_URI, scope=SCOPE, pkce="S256", auto_refresh_url=token_url,
        auto_refresh_kwargs={"client_id": "tool"}, token_updater=renewed.append
    )
    url, state = session.authorization_url(f"{origin}/oauth2/authorize")
    browser = Browser(fixture.gateway)

    def arrives(url):
        return url.startswith(TOOL_URI)

    response = fixture.walk(browser, browser.visit(url), arrives).next
    assert dict(parse_qsl(urlsplit(response).query))["state"] == state
    token = session.fetch_token(token_url, authorization_response=response, include_client_id=True)
    assert session.get(f"{origin}/lib").status_code == 200 and not renewed
    assert fixture.app.seen("/lib")[-1].get("X-Forwarded-User").startswith("staff:")
    session.token = {**token, "expires_in": -1, "expires_at": 1}
    assert session.get(f"{origin}/lib").status_code == 200
    assert len(renewed) == 1 and renewed[0]["refresh_token"] != token["refresh_token"]
    browser.sign_out()
    with pytest.raises(InvalidGrantError):
        session.refresh_token(token_url, client_id="tool")


def test_authlib_introspects_and_revokes_tokens(fixture):
    """RFC 7662 §2, RFC 7009 §2 in the code of Authlib, with the secret in either place."""
    origin = fixture.gateway.origin
    for method in ("client_secret_basic", "client_secret_post"):
        session = AuthlibSession(
            "server", SECRET, redirect_uri="https://server.example.com/callback", scope=" ".join(SCOPE),
            code_challenge_method="S256", token_endpoint_auth_method=method,
            introspection_endpoint_auth_method=method, revocation_endpoint_auth_method=method
        )
        verifier = "v" * 64
        url, state = session.create_authorization_url(f"{origin}/oauth2/authorize", code_verifier=verifier)
        browser = Browser(fixture.gateway)

        def arrives(url):
            return url.startswith("https://server.example.com/")

        page = browser.visit("/oauth2/start/staff?rd=/y")
        fixture.walk(browser, page)
        response = browser.visit(url, stop=arrives).next
        token = session.fetch_token(f"{origin}/oauth2/token", authorization_response=response, state=state,
                                    code_verifier=verifier)
        introspection = session.introspect_token(f"{origin}/oauth2/introspect", token["access_token"])
        assert introspection.json()["active"] is True and introspection.json()["client_id"] == "server"
        assert session.revoke_token(f"{origin}/oauth2/revoke", token["refresh_token"]).status_code == 200
        introspection = session.introspect_token(f"{origin}/oauth2/introspect", token["access_token"])
        assert introspection.json() == {"active": False}


def test_joserfc_verifies_id_tokens_and_access_tokens(fixture):
    """OpenID Connect Core §3.1.3.7 and RFC 9068 §4 with the keys of the metadata."""
    origin = fixture.gateway.origin
    session = OAuth2Session("tool", redirect_uri=TOOL_URI, scope=SCOPE, pkce="S256")
    metadata = session.get(f"{origin}/.well-known/openid-configuration", withhold_token=True).json()
    url, _ = session.authorization_url(metadata["authorization_endpoint"], nonce="n-1")
    browser = Browser(fixture.gateway)
    page = fixture.walk(browser, browser.visit(url), lambda url: url.startswith(TOOL_URI))
    token = session.fetch_token(metadata["token_endpoint"], authorization_response=page.next, include_client_id=True)
    keys = KeySet.import_key_set(session.get(metadata["jwks_uri"]).json())
    for text, kind, audience in ((token["id_token"], "JWT", "tool"), (token["access_token"], "at+jwt", origin)):
        verified = jwt.decode(text, keys, algorithms=["ES256"])
        assert verified.header["typ"] == kind
        required = {"essential": True}
        jwt.JWTClaimsRegistry(
            iss={"value": metadata["issuer"], **required}, aud={"value": audience, **required}, sub=required,
            exp=required, iat=required
        ).validate(verified.claims)
    assert jwt.decode(token["id_token"], keys, algorithms=["ES256"]).claims["nonce"] == "n-1"
