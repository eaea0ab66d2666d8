# SPDX-License-Identifier: Apache-2.0
"""`gatehouse simulate` with a provider that demands one kind of client: the printed lines are for that kind, and no other passes (M-03)."""

import time
from pathlib import Path

import jwt
import pytest
import requests
import yaml
from cryptography.hazmat.primitives import serialization

from support.browser import Browser
from support.chains import CLIENT_AUTH, EXPIRED, Authority, new_key
from support.gateway import Gateway
from support.processes import free_port
from support.simulator import Simulator
from support.upstream import Upstream

ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
METHODS = {
    "oidc-secret-in-body": "client_secret_post", "oidc-private-key-jwt": "private_key_jwt", "oidc-public-client": "none",
    "oidc-assertion-file": "private_key_jwt", "oidc-tls-client-auth": "tls_client_auth",
    "oidc-self-signed-tls-client-auth": "self_signed_tls_client_auth",
}
CERTIFICATES = ["oidc-tls-client-auth", "oidc-self-signed-tls-client-auth"]
CREDENTIALS = {"client_secret", "private_key", "key_id", "client_authentication", "client_assertion_file"}


@pytest.fixture(scope="module")
def app():
    app = Upstream()
    yield app
    app.close()


def simulator(folder, quirk, port):
    callback = f"http://gate.localhost:{port}/oauth2/callback/oidc"
    return Simulator(folder, "oidc", "--quirk", quirk, "--redirect-uri", callback)


def printed(simulator):
    """The entry of the provider that the simulator prints."""
    return yaml.safe_load(simulator.values["configuration"])["providers"]["oidc"]


def sign_in(folder, entry, app, port):
    """The page after a sign-in through a gateway with this provider, and the gateway's log."""
    apps = {"app": {"host": "gate.localhost", "upstream": app.address, "allow": "signed_in"}}
    with Gateway(folder, {"oidc": entry}, apps, port=port) as gateway:
        browser = Browser(gateway)
        page = browser.visit("/oauth2/start/oidc?rd=/")
        if not page.url.startswith(gateway.origin):
            page = browser.submit(page, button=0)
        return page, gateway.log


def kinds(folder, entry, certificate):
    """The provider's entry with the credentials of each kind of client; the certificate is of an authority that it does not know."""
    plain = {key: value for key, value in entry.items() if key not in CREDENTIALS}
    tls = {key: value for key, value in entry["tls"].items() if key not in ("certificate", "private_key")}
    key = folder / "other.key"
    form, nothing = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    key.touch(0o600)
    key.write_bytes(new_key().private_bytes(serialization.Encoding.PEM, form, nothing))
    (folder / "other.token").write_text(platform_token(entry["issuer"], new_key()))
    own = {"certificate": certificate[0], "private_key": certificate[1]}
    return {
        "secret": {**plain, "tls": tls, "client_secret": "a secret that is long enough"},
        "public": {**plain, "tls": tls, "client_secret": "none"},
        "key": {**plain, "tls": tls, "private_key": f"${{file:{key}}}", "key_id": "k", "client_authentication": "private_key_jwt"},
        "assertion": {**plain, "tls": tls, "client_assertion_file": str(folder / "other.token")},
        "certificate": {**plain, "tls": tls | own, "client_authentication": "tls_client_auth"},
    }


def platform_token(audience, key, **changes):
    """A token as the simulator's platform makes it."""
    now = int(time.time())
    claims = {
        "iss": "https://cluster.example", "sub": "system:serviceaccount:gatehouse:gatehouse", "aud": audience, "iat": now, "exp": now + 300,
    }
    return jwt.encode({**claims, **changes}, key, algorithm="ES256")


@pytest.mark.parametrize("quirk", METHODS)
def test_m_03_the_printed_lines_are_those_of_the_client(quirk, tmp_path, app):
    port = free_port()
    with simulator(tmp_path, quirk, port) as running:
        published = running.get(running.values["discovery"]).json()["token_endpoint_auth_methods_supported"]
        assert published == [METHODS[quirk]]
        assert ("client_secret" in running.values) == (quirk == "oidc-secret-in-body")
        page, log = sign_in(tmp_path / "gateway", printed(running), app, port)
        assert page.status == 200, log
        asked = requests.get(f"{running.values['pages_url']}/-/requests", timeout=10).json()
        # With a certificate of an authority, only the endpoint of mtls_endpoint_aliases is used.
        paths = {"POST /mtls/token"} if quirk == "oidc-tls-client-auth" else {"POST /token"}
        assert {path: count for path, count in asked.items() if path.endswith("/token")} == dict.fromkeys(paths, 1)


@pytest.mark.parametrize("quirk", METHODS)
def test_m_03_no_other_kind_of_client_signs_in(quirk, tmp_path, app):
    """A gateway with the credentials of each kind, right in form and unknown to the provider."""
    port = free_port()
    leaf = Authority("Gatehouse demo clients").issue(common_name="gatehouse-demo", usages=(CLIENT_AUTH, ))
    with simulator(tmp_path, quirk, port) as running:
        entries = kinds(tmp_path, printed(running), leaf.files(tmp_path, "stranger"))
        if quirk == "oidc-public-client":
            # A certificate for which nothing asks is not shown.
            del entries["public"], entries["certificate"]
        for kind, entry in entries.items():
            page, log = sign_in(tmp_path / kind, entry, app, port)
            assert page.status == 502, (kind, log)


def redeem(running, certificate=None, **form):
    """The error of a token request with this proof and a code that does not exist."""
    url = running.values["token_endpoint"]
    if running.values["quirks"] == ["oidc-tls-client-auth"]:
        url = url.replace("/token", "/mtls/token")
    form = {"grant_type": "authorization_code", "code": "none", "code_verifier": "v" * 43, "client_id": "gatehouse-demo", **form}
    form = {name: value for name, value in form.items() if value is not None}
    response = requests.post(url, data=form, cert=certificate, verify=running.values["ca_file"], timeout=10)
    return response.json()["error"]


def test_m_03_a_public_client_has_a_verifier_and_no_proof(tmp_path):
    with simulator(tmp_path, "oidc-public-client", free_port()) as running:
        # The client is accepted, so the code is looked at.
        assert redeem(running) == "invalid_grant"
        assert redeem(running, code_verifier=None) == "invalid_client"
        assert redeem(running, client_secret="anything") == "invalid_client"
        assert redeem(running, client_id="another") == "invalid_client"


def test_m_03_the_token_of_the_platform_has_to_be_the_workloads(tmp_path):
    with simulator(tmp_path, "oidc-assertion-file", free_port()) as running:
        path = Path(running.values["client_assertion_file"])
        assert path.stat().st_mode & 0o777 == 0o600
        own = path.read_text()
        claims = jwt.decode(own, options={"verify_signature": False})
        assert claims["aud"] == [running.values["issuer"]] and claims["exp"] - claims["iat"] == 600
        sent = {"client_assertion_type": ASSERTION}
        assert redeem(running, **sent, client_assertion=own) == "invalid_grant"
        # As often as the client wants, but for this client, and not beside a secret.
        assert redeem(running, **sent, client_assertion=own) == "invalid_grant"
        assert redeem(running, **sent, client_assertion=own, client_id="another") == "invalid_client"
        assert redeem(running, **sent, client_assertion=own, client_secret="x") == "invalid_client"
        assert redeem(running, client_assertion=own) == "invalid_client"
        head, _, signature = own.split(".")
        other = platform_token(running.values["issuer"], new_key(), sub="system:serviceaccount:gatehouse:other").split(".")[1]
        for changed in (f"{head}.{other}.{signature}", platform_token(running.values["issuer"], new_key())):
            assert redeem(running, **sent, client_assertion=changed) == "invalid_client"
        assert redeem(running) == "invalid_client"


@pytest.mark.parametrize("quirk", CERTIFICATES)
def test_m_03_a_certificate_has_to_be_the_registered_one(quirk, tmp_path):
    with simulator(tmp_path, quirk, free_port()) as running:
        own = (running.values["client_certificate_file"], running.values["client_certificate_key_file"])
        assert redeem(running, own) == "invalid_grant"
        assert redeem(running, own, client_id="another") == "invalid_client"
        assert redeem(running, own, client_secret="anything") == "invalid_client"
        assert redeem(running) == "invalid_client"
        # The same subject by an authority of the same name, and one that has expired.
        authority = Authority("Gatehouse demo clients")
        for name, valid in (("same-name", (-1, 30)), ("expired", EXPIRED)):
            leaf = authority.issue(common_name="gatehouse-demo", usages=(CLIENT_AUTH, ), valid=valid)
            assert redeem(running, leaf.files(tmp_path, name)) == "invalid_client"
