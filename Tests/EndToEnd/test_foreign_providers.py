# SPDX-License-Identifier: Apache-2.0
"""Glewlwyd of Debian and Canaille of PyPI, configured as docs/providers/oidc.md describes."""

import re

import jwt
import pytest
import yaml

from support.browser import Browser
from support.gateway import Gateway, run
from support.glewlwyd import Glewlwyd
from support.processes import REPOSITORY, free_port
from support.real import USERS, SECRET, Canaille
from support.upstream import Upstream

DOCUMENT = REPOSITORY / "docs/providers/oidc.md"
# What changes in the entry of the documentation besides URLs, client and secret.
ENTRIES = {
    "glewlwyd": {"scopes": ["openid"]},
    "glewlwyd-wrong": {"scopes": ["openid"]},
    "glewlwyd-512": {"scopes": ["openid"]},
    "glewlwyd-listed": {"scopes": ["openid"], "id_token_algorithms": ["RS512"]},
    # RS512 is what Canaille signs with unless a client chooses otherwise.
    "canaille": {"scopes": ["openid", "email", "profile", "groups"], "id_token_algorithms": ["RS512"]},
    "canaille-wrong": {},
    "canaille-512": {},
    "canaille-listed": {"id_token_algorithms": ["RS512", "PS384"]},
    "canaille-signed": {},
}
CANAILLE = {
    "canaille-listed": {"id_token_signed_response_alg": "PS384"},
    "canaille-signed": {"id_token_signed_response_alg": "RS256", "userinfo_signed_response_alg": "RS256"},
}


def documented():
    """The provider of the first file in the documentation."""
    block = re.search(r"```yaml\n(.*?)```", DOCUMENT.read_text(), re.DOTALL).group(1)
    return yaml.safe_load(block)["providers"]["staff"]


class Fixture:
    """Both providers, the gateway, and the app behind it."""

    def __init__(self, folder):
        self.app = Upstream()
        port = free_port()
        self.origin = f"http://gate.localhost:{port}"
        callbacks = {name: [f"{self.origin}/oauth2/callback/{name}"] for name in ENTRIES}
        at_glewlwyd = {
            name: {"client_secret": SECRET, "redirect_uri": callbacks[name]}
            for name in ENTRIES if name.startswith("glewlwyd")
        }
        at_canaille = {
            name: {
                "client_secret": SECRET, "redirect_uris": callbacks[name],
                "post_logout_redirect_uris": [f"{self.origin}/oauth2/sign_out"],
                "token_endpoint_auth_method": "client_secret_basic", **CANAILLE.get(name, {})
            }
            for name in ENTRIES if name.startswith("canaille")
        }
        self.glewlwyd = Glewlwyd(folder, at_glewlwyd, USERS, sizes=("256", "512"))
        self.canaille = Canaille(folder, at_canaille)
        headers = {"X-Place": "claims.place"}
        apps = {
            "echo":
                {
                    "path": "/", "upstream": self.app.address, "allow": "signed_in", "headers": headers,
                    "deny": [{"claim": {"place": "desk of mallory"}}],
                }
        }
        self.gateway = Gateway(folder, {name: self.entry(name) for name in ENTRIES}, apps, port=port)
        self.env = {"STAFF_CLIENT_SECRET": SECRET, "WRONG_SECRET": SECRET[::-1]}

    def entry(self, name):
        is_512 = name in ("glewlwyd-512", "glewlwyd-listed")
        issuer = self.canaille.issuer if name.startswith("canaille") else self.glewlwyd.issuer("512" if is_512 else "256")
        place = "id_token:/website" if name.startswith("canaille") else "id_token:/desk"
        entry = {**documented(), "issuer": issuer, "client_id": name, "claims": {"place": place}, **ENTRIES[name]}
        return {**entry, "client_secret": "${env:WRONG_SECRET}"} if name.endswith("-wrong") else entry

    def provider(self, name):
        return getattr(self, name.split("-")[0])

    def sign_in(self, name, rd="/", user="ada"):
        browser = Browser(self.gateway)
        page = browser.visit(f"/oauth2/start/{name}?rd={rd}")
        assert page.url.startswith(self.provider(name).origin), browser.history
        return browser, self.provider(name).agree(browser, page, user)

    def rejected(self):
        """The last line of the log about a rejection."""
        return [line for line in self.gateway.log.splitlines() if "refused" in line][-1]


@pytest.fixture(scope="module")
def fixture(tmp_path_factory):
    fixture = Fixture(tmp_path_factory.mktemp("foreign"))
    try:
        with fixture.glewlwyd, fixture.canaille:
            fixture.gateway.start(env=fixture.env)
            try:
                yield fixture
            finally:
                fixture.gateway.stop()
    finally:
        fixture.app.close()


BOTH = ["glewlwyd", "canaille"]


def test_w_03_canaille_signs_out_and_sends_the_browser_back(fixture):
    """W-03: with `client_id` and the registered URL Canaille redirects back, and the page confirms the sign-out."""
    browser, _ = fixture.sign_in("canaille", "/w03")
    assert browser.visit("/oauth2/start/canaille").url.startswith(fixture.origin), "Canaille knows the browser"
    end = browser.visit("/oauth2/sign_out", "POST", {})
    assert end.status == 200 and end.url.startswith(f"{fixture.origin}/oauth2/sign_out?state="), browser.history
    assert "You are signed out at" in end.text and "as well." in end.text
    assert browser.visit("/oauth2/start/canaille").url.startswith(fixture.canaille.origin), "Canaille asks again"


@pytest.mark.parametrize("name", BOTH)
def test_a_user_signs_in_and_the_app_gets_the_identity(name, fixture):
    """Page, headers and assertion; another account is another user."""
    browser, page = fixture.sign_in(name, f"/page-{name}")
    assert page.status == 200 and page.url == f"{fixture.origin}/page-{name}", browser.history
    seen = fixture.app.seen(f"/page-{name}")[-1]
    user = seen.get("X-Forwarded-User")
    assert re.fullmatch(rf"{name}:.+", user) and (name != "canaille" or user == "canaille:ada")
    claims = jwt.decode(seen.get("X-Gatehouse-Assertion"), options={"verify_signature": False})
    assert (claims["sub"], claims["provider"], claims["name"]) == (user, name, "Ada Example")
    # M-02: a claim of the operator's own from each.
    place = "https://staff.example.com/ada" if name == "canaille" else "desk of ada"
    assert seen.all("X-Place") == [place] and claims["claims"] == {"place": place}
    profile = browser.send("GET", "/oauth2/userinfo").json
    assert profile["email"] == "ada@example.com"
    assert profile["groups"] == (["platform"] if name == "canaille" else [])
    other = fixture.sign_in(name, user="zoe")[0].send("GET", "/oauth2/userinfo").json
    assert other["user"] != user and other["name"] == "Zoë Müller"


@pytest.mark.parametrize("name", BOTH)
def test_w_01_rs512_is_rejected_with_the_line_to_change_and_accepted_when_listed(name, fixture):
    """The algorithm of Glewlwyd and Canaille when their operators choose more than RS256."""
    browser, page = fixture.sign_in(f"{name}-512")
    assert page.status == 502 and "id_token.algorithm" in page.text and browser.ticket() is None
    line = fixture.rejected()
    for words in ("alg is 'RS512'", "admitted are", f"providers.{name}-512.id_token_algorithms: [RS512]"):
        assert words in line, line
    assert f" provider={name}-512 " in line, "W-02: the line names the provider"
    browser, page = fixture.sign_in(f"{name}-listed")
    assert page.status == 200 and browser.ticket(), fixture.rejected()


def test_w_07_userinfo_that_canaille_signs_is_verified_and_read(fixture):
    """OpenID Connect Core §5.3.2: `application/jwt`."""
    browser, page = fixture.sign_in("canaille-signed")
    assert page.status == 200, fixture.rejected()
    assert browser.send("GET", "/oauth2/userinfo").json["name"] == "Ada Example"


@pytest.mark.parametrize("name", BOTH)
def test_w_10_a_wrong_client_secret_hints_at_the_secret(name, fixture):
    """Glewlwyd returns `unauthorized_client`, Canaille `invalid_client`."""
    browser, page = fixture.sign_in(f"{name}-wrong")
    assert page.status == 502 and "openid.client_refused" in page.text and browser.ticket() is None
    line = fixture.rejected()
    assert "check client_id and client_secret" in line and SECRET[::-1] not in line, line


def test_w_01_check_online_names_what_is_not_admitted_and_the_line_to_change(fixture):
    """Glewlwyd's second plugin signs with RS512 only; Canaille offers more than the file accepts."""
    response = run("check", "--online", "--config", fixture.gateway.path, env=fixture.env)
    lines = {tuple(line.split()[:2]): line for line in response.stdout.splitlines() if re.match("glewlwyd|canaille", line)}
    failures = [key for key, line in lines.items() if " FAIL " in line]
    assert response.returncode == 1 and failures == [("glewlwyd-512", "keys")], response.stdout
    failure = lines["glewlwyd-512", "keys"]
    assert "RS512" in failure and "providers.glewlwyd-512.id_token_algorithms" in failure, failure
    offered = lines["canaille-wrong", "keys"]
    assert "also offers" in offered and "providers.canaille-wrong.id_token_algorithms" in offered, offered
