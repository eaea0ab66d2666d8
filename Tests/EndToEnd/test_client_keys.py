# SPDX-License-Identifier: Apache-2.0
"""Signed client assertions and pushed requests, checked by idpyoidc: RFC 7523, RFC 9126, RFC 9207."""

import subprocess
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
import requests
from cryptography.hazmat.primitives import serialization
from joserfc import jwk
from joserfc import jwt as joserfc_jwt

from support.browser import Browser
from support.gateway import Gateway, oidc
from support.processes import free_port
from support.real import SECRET, Idpy, Toolkit, running
from support.upstream import Upstream

ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
# A key in each format of OpenSSL, and its algorithm.
KEYS = {
    "key-rsa": (["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"], "RS256"),
    "key-pkcs1": (["genrsa", "-traditional", "3072"], "RS256"),
    "key-p256": (["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"], "ES256"),
    "key-sec1": (["ecparam", "-name", "prime256v1", "-genkey", "-noout"], "ES256"),
    "key-p384": (["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"], "ES384"),
}
PUSHED = ["pushed-secret", "pushed-key"]


class Fixture:
    """The providers, with a client for each method of client authentication; the gateway; its app."""
    def __init__(self, folder):
        self.folder, self.app = folder, Upstream()
        port = free_port()
        self.origin = f"http://gate.localhost:{port}"
        self.public = {name: self.make_key(name, *command) for name, (command, _) in KEYS.items()}
        stolen = self.make_key("key-stranger", *KEYS["key-p256"][0])
        self.public |= {"pushed-key": self.public["key-p256"], "pushed-stranger": stolen}
        (folder / "secret").write_text(SECRET)
        clients = {
            **{name: self.client(name, ["private_key_jwt"], keys=[self.public[name]]) for name in KEYS},
            "key-stranger": self.client("key-stranger", ["private_key_jwt"], keys=[self.public["key-p256"]]),
            "key-refused": self.client("key-refused", ["client_secret_basic"], keys=[self.public["key-p256"]]),
            "pushed-secret": self.client("pushed-secret", ["client_secret_post"], client_secret=SECRET),
            "pushed-wrong": self.client("pushed-wrong", ["client_secret_basic"], client_secret="another" + SECRET),
            "pushed-key": self.client("pushed-key", ["private_key_jwt"], keys=[self.public["key-p256"]]),
            "iss": self.client("iss", ["client_secret_basic"], client_secret=SECRET),
        }
        self.idpy = Idpy(folder, clients)
        toolkit = {
            "client_secret": SECRET, "redirect_uris": f"{self.origin}/oauth2/callback/iss-toolkit",
            "post_logout_redirect_uris": self.origin,
        }
        self.toolkit = Toolkit(folder, {"iss-toolkit": toolkit})
        secret = {"client_secret": f"${{file:{folder / 'secret'}}}"}
        pushed = {"pushed_authorization": True}
        entries = {
            **{name: self.entry(**self.by_key(name)) for name in KEYS},
            "key-stranger": self.entry(**self.by_key("key-stranger")),
            "key-refused": self.entry(**self.by_key("key-p256")),
            "pushed-secret": self.entry(**secret, **pushed, client_authentication="client_secret_post"),
            "pushed-wrong": self.entry(**secret, **pushed),
            "pushed-key": self.entry(**self.by_key("key-p256"), **pushed),
            "iss": self.entry(**secret, require_iss=True),
            "iss-toolkit": {**self.entry(**secret, require_iss=True), "issuer": self.toolkit.issuer},
            "pushed-nowhere": {**self.entry(**secret, **pushed), "issuer": self.toolkit.issuer},
        }
        entries = {name: {**entry, "client_id": name} for name, entry in entries.items()}
        apps = {"echo": {"path": "/", "upstream": self.app.address, "allow": "signed_in"}}
        self.gateway = Gateway(folder, entries, apps, port=port)

    def make_key(self, name, *command):
        """A private key in a file; gives the public one as a JWK of its name."""
        path = self.folder / f"{name}.pem"
        path.write_bytes(subprocess.run(["openssl", *command], check=True, capture_output=True).stdout)
        key = serialization.load_pem_private_key(path.read_bytes(), None)
        kind = jwk.RSAKey if command[-1].startswith("rsa") or "genrsa" in command else jwk.ECKey
        return {**kind.import_key(key).as_dict(private=False), "kid": f"{name}/1"}

    def client(self, name, methods, **more):
        return {
            "token_endpoint_client_authn_method": methods,
            "pushed_authorization_request_endpoint_client_authn_method": methods,
            "redirect_uris": [f"{self.origin}/oauth2/callback/{name}"],
            "post_logout_redirect_uri": [f"{self.origin}/oauth2/sign_out"], "response_types_supported": ["code"],
            "allowed_scopes": ["openid", "email", "profile"], **more,
        }

    def by_key(self, name):
        path = self.folder / f"{name}.pem"
        kid = "key-p256/1" if name == "key-stranger" else f"{name}/1"
        return {"client_authentication": "private_key_jwt", "private_key": f"${{file:{path}}}", "key_id": kid}

    def entry(self, **more):
        entry = oidc(self.idpy.issuer, **more)
        if "client_secret" not in more:
            del entry["client_secret"]
        return entry

    def sign_in(self, name, choice="yes"):
        browser = Browser(self.gateway)
        page = browser.visit(f"/oauth2/start/{name}?" + urlencode({"rd": f"/{name}"}))
        if not page.url.startswith(self.idpy.origin):
            return browser, page
        return browser, self.idpy.agree(browser, page, choice=choice)

    def last(self, path):
        return self.idpy.journal(path)[-1]


@pytest.fixture(scope="module")
def fixture(tmp_path_factory):
    with running(Fixture(tmp_path_factory.mktemp("keys"))) as fixture:
        yield fixture


def assert_signed_in(browser, page, name):
    assert page.status == 200 and page.url.endswith(f"/{name}"), browser.history
    assert browser.send("GET", "/oauth2/userinfo").json["email"] == "ada@example.com"


def assert_rejected(browser, response, fixture, status):
    assert response.status == status and response.url.startswith(fixture.origin), response
    assert browser.ticket() is None and "default-src 'none'" in response.get("content-security-policy")


def verified(assertion, fixture, name, algorithm):
    """The claims of an assertion after joserfc has verified it with the registered key."""
    public = jwk.import_key(fixture.public[name])
    token = joserfc_jwt.decode(assertion, public, algorithms=[algorithm])
    assert token.header["kid"] == fixture.public[name]["kid"] and token.header["alg"] == algorithm
    return token.claims


@pytest.mark.parametrize("name", KEYS)
def test_a_key_instead_of_a_secret_signs_in(name, fixture):
    """RFC 7523 §2.2 and §3, OpenID Connect Core §9: the provider accepts nothing else from this client."""
    assert_signed_in(*fixture.sign_in(name), name)
    first = fixture.last("token")
    assert_signed_in(*fixture.sign_in(name), name)
    second = fixture.last("token")
    seen = []
    for entry in (first, second):
        assert entry["authorization"] is None and "client_secret" not in entry["form"] and entry["status"] == 200
        assert entry["form"]["client_assertion_type"] == ASSERTION_TYPE
        claims = verified(entry["form"]["client_assertion"], fixture, name, KEYS[name][1])
        assert claims["iss"] == claims["sub"] == name
        audience = claims["aud"] if isinstance(claims["aud"], list) else [claims["aud"]]
        assert len(audience) == 1 and audience[0] in (fixture.idpy.issuer, f"{fixture.idpy.issuer}/token")
        assert 0 < claims["exp"] - claims["iat"] <= 300
        seen.append(claims["jti"])
    assert len(set(seen)) == 2 and all(len(one) >= 16 for one in seen)


def test_an_assertion_is_accepted_once(fixture):
    """RFC 7523 §3, rule 7: by `jti` this provider rejects it the second time."""
    assert_signed_in(*fixture.sign_in("key-p256"), "key-p256")
    form = fixture.last("token")["form"]
    again = requests.post(f"{fixture.idpy.issuer}/token", data=form, timeout=10)
    assert again.status_code == 401 and "access_token" not in again.text


@pytest.mark.parametrize("name", ["key-stranger", "key-refused"])
def test_the_wrong_key_or_the_wrong_method_is_rejected(name, fixture):
    """A key that the provider does not know by this id, and a client that may not use keys."""
    browser, response = fixture.sign_in(name)
    assert_rejected(browser, response, fixture, 502)
    assert fixture.last("token")["status"] == 401 and "client_assertion" in fixture.last("token")["form"]
    assert "eyJ" not in response.text


@pytest.mark.parametrize("name", PUSHED)
def test_a_pushed_request_shows_the_browser_its_reference_only(name, fixture):
    """RFC 9126 §2 and §4: the URL has the client's id and the reference; the rest went to the provider directly."""
    browser = Browser(fixture.gateway)
    location = browser.begin(name, f"/{name}")
    query = dict(parse_qsl(urlsplit(location).query))
    assert set(query) == {"client_id", "request_uri"} and query["client_id"] == name
    assert query["request_uri"].startswith("urn:uuid:")
    sent = fixture.last("pushed")
    assert sent["status"] == 201 and sent["method"] == "POST" and not sent["query"]
    form = sent["form"]
    assert form["response_type"] == "code" and form["redirect_uri"].endswith(f"/oauth2/callback/{name}")
    assert form["code_challenge_method"] == "S256" and form["state"] and form["nonce"] and form["scope"]
    assert "request_uri" not in form, "RFC 9126 §2.1"
    if name == "pushed-key":
        assert "client_secret" not in form and sent["authorization"] is None
        claims = verified(form["client_assertion"], fixture, "pushed-key", "ES256")
        assert claims["aud"] in (fixture.idpy.issuer, [fixture.idpy.issuer]), "RFC 9126 §2 asks for the issuer"
    page = browser.visit(location)
    assert_signed_in(browser, fixture.idpy.agree(browser, page), name)
    if name == "pushed-key":
        used = fixture.last("token")["form"]["client_assertion"]
        assert used != form["client_assertion"], "each request has an assertion of its own"


def test_a_pushed_request_works_once(fixture):
    """RFC 9126 §7.3: the reference that the browser saw works once."""
    browser = Browser(fixture.gateway)
    location = browser.begin("pushed-secret", "/pushed-secret")
    assert browser.visit(location).status == 200
    assert Browser().visit(location).status == 400


def test_a_rejected_push_is_an_error_page_and_no_redirect(fixture):
    """RFC 9126 §2.3: without a reference no browser is sent to the provider."""
    authorized = len(fixture.idpy.journal("authorization"))
    browser, response = fixture.sign_in("pushed-wrong")
    assert_rejected(browser, response, fixture, 502)
    assert fixture.last("pushed")["status"] == 401
    assert len(fixture.idpy.journal("authorization")) == authorized


def test_a_provider_without_pushed_requests_gets_no_plain_request_instead(fixture):
    """No fall-back to a plain request: django-oauth-toolkit has no such endpoint."""
    browser = Browser(fixture.gateway)
    response = browser.send("GET", "/oauth2/start/pushed-nowhere")
    assert_rejected(browser, response, fixture, 502)
    assert "openid.pushed_authorization" in response.text


def test_with_iss_required_a_callback_that_names_the_issuer_signs_in(fixture):
    """RFC 9207 §2.4: idpyoidc sends it, although its metadata does not announce it."""
    browser, page = fixture.sign_in("iss")
    assert_signed_in(browser, page, "iss")
    assert "iss=" in next(url for _, url, _ in browser.history if "/oauth2/callback/iss?" in url)


def test_with_iss_required_a_callback_without_it_is_rejected(fixture):
    """RFC 9207 §2.4: no token request for it."""
    browser = Browser(fixture.gateway)
    page = browser.visit("/oauth2/start/iss")
    send, asked = browser.send, len(fixture.idpy.journal("token"))

    def without_iss(method, url, *rest, **more):
        parts = urlsplit(url)
        if parts.path == "/oauth2/callback/iss":
            kept = [(name, value) for name, value in parse_qsl(parts.query) if name != "iss"]
            assert len(kept) + 1 == len(parse_qsl(parts.query)), "idpyoidc did send it"
            url = parts._replace(query=urlencode(kept)).geturl()
        return send(method, url, *rest, **more)

    browser.send = without_iss
    response = fixture.idpy.agree(browser, page)
    assert_rejected(browser, response, fixture, 400)
    assert "openid.issuer_missing" in response.text and len(fixture.idpy.journal("token")) == asked


def test_with_iss_required_an_error_response_without_it_is_rejected(fixture):
    """RFC 9207 §2: error responses name the issuer as well; idpyoidc's do not."""
    browser, response = fixture.sign_in("iss", choice="no")
    assert_rejected(browser, response, fixture, 400)
    assert "openid.issuer_missing" in response.text


def test_with_iss_required_a_provider_that_never_sends_it_is_rejected(fixture):
    """django-oauth-toolkit omits it by default."""
    browser = Browser(fixture.gateway)
    page = browser.visit("/oauth2/start/iss-toolkit")
    response = fixture.toolkit.agree(browser, page)
    assert_rejected(browser, response, fixture, 400)
    assert "openid.issuer_missing" in response.text


def test_no_key_and_no_assertion_is_in_the_log(fixture):
    for name in KEYS:
        fixture.sign_in(name)
    assert "PRIVATE KEY" not in fixture.gateway.log and "eyJ" not in fixture.gateway.log
    for entry in fixture.idpy.journal("pushed"):
        assert entry["form"]["state"] not in fixture.gateway.log
