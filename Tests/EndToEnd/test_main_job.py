# SPDX-License-Identifier: Apache-2.0
"""The main flow with other projects' parts: nginx as the app, oidc-provider-mock as the provider, PyJWT, curl."""

import json
import subprocess
import sys
import time
from pathlib import Path

import jwt
import pytest
from jwt import PyJWKClient

from support.browser import Browser, forms
from support.gateway import Gateway, oidc
from support.processes import Process, free_port, nginx
from support.raw import request

CLAIMS = {"sub": "ada", "email": "ada@example.com", "email_verified": True, "name": "Ada Example", "groups": ["a", "b"]}


@pytest.fixture(scope="module")
def own_gateway(tmp_path_factory):
    """nginx, which returns what it received; the provider; the gateway between them."""
    folder = tmp_path_factory.mktemp("main")
    behind, provider_port = free_port(), free_port()
    received = "$http_x_forwarded_user|$http_x_forwarded_email|$http_x_gatehouse_assertion|$request_uri|$http_cookie"
    app = nginx(
        folder, "app", f"""
        server {{ listen 127.0.0.1:{behind}; large_client_header_buffers 4 32k;
          location / {{ default_type text/plain; return 200 "{received}"; }} }}""",
    )
    program = Path(sys.executable).parent / "oidc-provider-mock"
    provider = Process([program, "-p", provider_port, "--user-claims", json.dumps(CLAIMS)], folder, "provider")
    app.wait_listening(behind)
    provider.wait_listening(provider_port, 40)
    apps = {
        "wiki": {"path": "/", "upstream": f"http://127.0.0.1:{behind}", "allow": [{"email_domain": "example.com"}]},
        "board": {"path": "/board", "upstream": f"http://127.0.0.1:{behind}", "allow": "signed_in"},
    }
    entry = oidc(f"http://127.0.0.1:{provider_port}", profile={"groups": "id_token:/groups"})
    try:
        with Gateway(folder, {"mock": entry}, apps, host="127.0.0.1") as gateway:
            yield gateway
    finally:
        provider.stop()
        app.stop()


def sign_in(browser, path):
    """Opens a page, agrees at the provider as Ada, and returns."""
    at_provider = browser.visit(path)
    assert "/oauth2/authorize" in at_provider.url, browser.history
    return browser.visit(at_provider.url, "POST", {"sub": "ada"})


def test_a_user_signs_in_and_nginx_gets_the_identity(own_gateway):
    """A user signs in, signs out, replays the cookie and signs in again (A-13)."""
    browser = Browser(own_gateway)
    page = sign_in(browser, "/page?x=1")
    user, email, assertion, target, cookie = page.text.split("|")
    assert page.status == 200 and page.url == own_gateway.origin + "/page?x=1"
    assert (user, email, target, cookie) == ("mock:ada", "ada@example.com", "/page?x=1", "")

    old = browser.ticket()
    assert browser.sign_out().status == 303 and browser.ticket() is None
    assert request(own_gateway.port, "/page", host="127.0.0.1", fields=[("Cookie", f"gatehouse={old}")]).status == 401
    assert browser.send("GET", "/page").status == 303

    again = sign_in(browser, "/again")
    assert again.text.startswith("mock:ada|") and browser.ticket() not in (None, old)


def test_pyjwt_verifies_the_assertion_by_the_key_set_url(own_gateway):
    """ES256, header typ, alg and kid; issuer, audience, times, and the user."""
    browser = Browser(own_gateway)
    assertion = sign_in(browser, "/verify").text.split("|")[2]
    key = PyJWKClient(own_gateway.origin + "/oauth2/jwks.json").get_signing_key_from_jwt(assertion)
    required = ["iss", "aud", "sub", "iat", "nbf", "exp", "jti", "sid", "provider", "groups"]
    claims = jwt.decode(
        assertion, key.key, ["ES256"], audience=own_gateway.origin, issuer=own_gateway.origin, options={"require": required}
    )
    header = jwt.get_unverified_header(assertion)
    assert set(header) == {"typ", "alg", "kid"} and header["alg"] == "ES256"
    assert claims["exp"] - claims["iat"] <= 120 and abs(claims["iat"] - time.time()) < 90
    assert claims["sub"] == "mock:ada" and claims["provider"] == "mock" and claims["name"] == "Ada Example"
    assert claims["email"] == "ada@example.com" and claims["email_verified"] is True and claims["groups"] == ["a", "b"]
    board = browser.send("GET", "/board/x").text.split("|")[2]
    with pytest.raises(jwt.InvalidAudienceError):
        jwt.decode(board, key.key, ["ES256"], audience=own_gateway.origin, issuer=own_gateway.origin)
    other = jwt.decode(board, key.key, ["ES256"], audience=own_gateway.origin + "/board", issuer=own_gateway.origin)
    assert other["sub"] == "mock:ada" and other["sid"] == claims["sid"] and other["jti"] != claims["jti"]


def test_curl_does_the_same(own_gateway, tmp_path):
    """Curl with a cookie jar, as a script would be written."""
    def curl(*arguments):
        command = ["curl", "-sS", "-L", "-b", tmp_path / "jar", "-c", tmp_path / "jar", "--max-time", "10", *arguments]
        return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=True).stdout

    address = curl("-o", "/dev/null", "-w", "%{url_effective}", "-H", "Accept: text/html", f"{own_gateway.origin}/curl")
    assert "/oauth2/authorize" in address
    assert curl("-d", "sub=ada", address).startswith("mock:ada|ada@example.com|")
    assert curl("-o", "/dev/null", "-w", "%{http_code}", f"{own_gateway.origin}/curl") == "200"
    profile = json.loads(curl(f"{own_gateway.origin}/oauth2/userinfo"))
    assert profile["user"] == "mock:ada" and profile["groups"] == ["a", "b"]
    stranger = subprocess.run(
        ["curl", "-sS", f"{own_gateway.origin}/curl"], capture_output=True, text=True, check=True
    ).stdout
    assert json.loads(stranger)["error"] == "sign_in_required"


def test_a_denial_at_the_provider_is_a_page_with_a_way_back(own_gateway):
    """The provider's denial is an error page with a way back; this provider even omits `state`."""
    browser = Browser(own_gateway)
    page = browser.visit("/denied")
    response = browser.visit(page.url, "POST", {"action": "deny"})
    assert response.status == 400 and browser.ticket() is None
    assert "/oauth2/sign_in" in response.text and "default-src 'none'" in response.get("content-security-policy")


def test_the_pages_work_without_scripts(own_gateway):
    """Plain forms and links, a language, a title, no script."""
    browser = Browser(own_gateway)
    sign_in(browser, "/pages")
    page = browser.send("GET", "/oauth2/sign_out")
    assert '<html lang="en" dir="ltr">' in page.text and "<title>" in page.text and "<script" not in page.text
    assert len(forms(page)) == 1
    assert browser.submit(page).status == 200 and browser.ticket() is None
