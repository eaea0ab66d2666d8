# SPDX-License-Identifier: Apache-2.0
"""Providers that demand one kind of client and refuse all others: no secret, a signed JWT, a JWT in a file that rotates (M-03).

Certificates are in test_provider_certificates.py.
"""

import shutil
import time

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from support.browser import Browser
from support.gateway import Gateway, oidc
from support.processes import eventually

ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
SUBJECT = "system:serviceaccount:web:gatehouse"
CLUSTER, OWN, STRANGER = [ec.generate_private_key(ec.SECP256R1()) for _ in range(3)]


def pem(key):
    form, nothing = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, form, nothing).decode()


def federated(realm, key=CLUSTER, lifetime=600, **changes):
    """What a cluster puts into the file: a token of its own for the provider."""
    now = int(time.time())
    claims = {
        "iss": "https://cluster.example.com", "sub": SUBJECT, "aud": realm.issuer, "iat": now - 3600, "exp": now + lifetime,
    }
    return jwt.encode({**claims, **changes}, key, algorithm="ES256")


def proofs(form, fields):
    """Every proof that a token request has."""
    found = {name for name in ("client_secret", "client_assertion") if name in form}
    return found | ({"basic"} if "Authorization" in fields else set())


def verified(form, key, audience):
    """Whether the assertion of a request is by this key and for this audience; a text that describes the error."""
    if form.get("client_assertion_type") != ASSERTION:
        return "no assertion of a known type"
    try:
        return jwt.decode(form["client_assertion"], key.public_key(), algorithms=["ES256"], audience=audience)
    except jwt.PyJWTError as error:
        return repr(error)


def demands_none(realm):
    """A public client: the id, the verifier of PKCE and no proof; RFC 6749 §2.3, RFC 7636."""
    def rejection(form, fields):
        if proofs(form, fields) or form.get("client_id") != "gatehouse" or not form.get("code_verifier"):
            return "this client has no secret"
        return None

    return rejection


def demands_signature(realm):
    """private_key_jwt: RFC 7523 §3, each assertion once."""
    used = set()

    def rejection(form, fields):
        if proofs(form, fields) != {"client_assertion"}:
            return "only a signature counts"
        claims = verified(form, OWN, f"{realm.issuer}/token")
        if isinstance(claims, str):
            return claims
        if claims["iss"] != "gatehouse" or claims["sub"] != "gatehouse" or claims["jti"] in used:
            return "not of this client, or used before"
        used.add(claims["jti"])
        return None

    return rejection


def demands_federation(realm):
    """A token of the cluster, for the provider: RFC 7523 §2.2."""
    def rejection(form, fields):
        if proofs(form, fields) != {"client_assertion"} or form.get("client_id") != "gatehouse":
            return "only a token of the cluster counts"
        claims = verified(form, CLUSTER, realm.issuer)
        return claims if isinstance(claims, str) else None if claims["sub"] == SUBJECT else "another workload"

    return rejection


DEMANDS = {"none": demands_none, "private_key": demands_signature, "assertion": demands_federation}


def entry(kind, realm, folder, key=OWN):
    """A provider with a client of this kind."""
    made = oidc(realm.issuer)
    realm.metadata["token_endpoint_auth_methods_supported"] = ["private_key_jwt", "client_secret_basic", "none"]
    if kind != "secret":
        del made["client_secret"]
    if kind == "none":
        made["client_secret"] = "none"
    if kind == "private_key":
        path = folder / "own.pem"
        path.touch(0o600)
        path.write_text(pem(key))
        made |= {"private_key": str(path), "client_authentication": "private_key_jwt"}
    if kind == "assertion":
        (folder / "token").write_text(federated(realm))
        made["client_assertion_file"] = str(folder / "token")
    return made


@pytest.fixture
def realm(provider_server):
    with provider_server.realm("kinds").fresh() as realm:
        yield realm


@pytest.fixture
def running(tmp_path, realm, app):
    """Starts a gateway with a client of a kind."""
    gateways = []

    def start(kind, **more):
        apps = {"app": {"upstream": app.address, "allow": "signed_in"}}
        gateways.append(Gateway(tmp_path / "gateway", {"staff": entry(kind, realm, tmp_path, **more)}, apps).start())
        return gateways[0]

    yield start
    for gateway in gateways:
        gateway.stop()


def status(gateway):
    return Browser(gateway).sign_in("staff", "/").status


@pytest.mark.parametrize("kind", ["secret", *DEMANDS])
def test_m_03_a_provider_takes_the_kind_of_client_that_it_demands_and_no_other(kind, realm, running):
    gateway = running(kind)
    for demanded, demand in DEMANDS.items():
        realm.rejection = demand(realm)
        assert status(gateway) == (200 if demanded == kind else 502), demanded


def test_m_03_a_key_that_the_provider_does_not_know_is_refused(realm, running):
    realm.rejection = demands_signature(realm)
    gateway = running("private_key", key=STRANGER)
    assert status(gateway) == 502 and "the public half of private_key" in gateway.log


@pytest.mark.parametrize(
    "changes", [{"lifetime": -60}, {"key": STRANGER}, {"aud": "https://elsewhere.example"}, {"sub": "system:serviceaccount:web:other"}],
    ids=["expired", "of-another-cluster", "for-another-provider", "of-another-workload"]
)
def test_m_03_a_token_in_the_file_that_the_provider_refuses_and_the_next_that_it_takes(changes, realm, running, tmp_path):
    """It rotates while the gateway runs; no reload is needed."""
    realm.rejection = demands_federation(realm)
    gateway = running("assertion")
    (tmp_path / "token").write_text(federated(realm, **changes))
    assert status(gateway) == 502 and "the JWT in client_assertion_file" in gateway.log
    (tmp_path / "next").write_text(federated(realm))
    shutil.move(tmp_path / "next", tmp_path / "token")
    assert status(gateway) == 200


def test_m_03_a_file_that_is_missing_ends_sign_ins_until_it_is_there(realm, running, tmp_path):
    realm.rejection = demands_federation(realm)
    gateway = running("assertion")
    (tmp_path / "token").unlink()
    assert status(gateway) == 500 and not [request for request in realm.requests if request["path"] == "token"]
    eventually(lambda: str(tmp_path / "token") in gateway.log, "the log names the file")
    (tmp_path / "token").write_text(federated(realm))
    assert status(gateway) == 200
