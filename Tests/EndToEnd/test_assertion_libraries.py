# SPDX-License-Identifier: Apache-2.0
"""The gateway's assertion and its keys, read and verified by other libraries."""

import json
import time

import jwt
import pytest
from cryptojwt import JWT as CryptoJWT
from cryptojwt import KeyJar
from joserfc import jwk, jws
from joserfc import jwt as joserfc_jwt
from jwcrypto import jwk as jwcrypto_jwk
from jwcrypto import jwt as jwcrypto_jwt

from support.browser import Browser
from support.libraries import authlib_jwt
from support.tokens import b64

REQUIRED = ["iss", "aud", "sub", "iat", "nbf", "exp", "jti", "sid", "provider", "groups"]


def by_pyjwt(text, keys, issuer, audience, now):
    key = jwt.PyJWKSet.from_dict(keys)[jwt.get_unverified_header(text)["kid"]]
    options = {"require": REQUIRED, "verify_exp": now is None, "verify_iat": now is None, "verify_nbf": now is None}
    claims = jwt.decode(text, key, ["ES256"], audience=audience, issuer=issuer, options=options)
    if now is not None:
        assert claims["nbf"] <= now < claims["exp"]
    return claims


def by_joserfc(text, keys, issuer, audience, now):
    token = joserfc_jwt.decode(text, jwk.KeySet.import_key_set(keys), algorithms=["ES256"])
    rules = {"iss": {"essential": True, "value": issuer}, "aud": {"essential": True, "value": audience}}
    rules |= {name: {"essential": True} for name in REQUIRED if name not in rules and name != "groups"}
    joserfc_jwt.JWTClaimsRegistry(now=now, **rules).validate(token.claims)
    return token.claims


def by_authlib(text, keys, issuer, audience, now):
    rules = {"iss": {"essential": True, "value": issuer}, "aud": {"essential": True, "value": audience}}
    return authlib_jwt(text, keys, rules, now)


def by_jwcrypto(text, keys, issuer, audience, now):
    keyset = jwcrypto_jwk.JWKSet.from_json(json.dumps(keys))
    expected = {"iss": issuer, "aud": audience, "sub": None, "jti": None, "exp": None, "nbf": None}
    if now is not None:
        expected |= {"exp": now, "nbf": now}
    token = jwcrypto_jwt.JWT(check_claims=expected, algs=["ES256"])
    token.leeway = 0
    token.deserialize(text, keyset)
    return json.loads(token.claims)


def by_cryptojwt(text, keys, issuer, audience, now):
    jar = KeyJar()
    jar.import_jwks(keys, issuer)
    token = CryptoJWT(jar, iss=audience, allowed_sign_algs=["ES256"])
    claims = token.unpack(text, timestamp=now)
    assert audience in ([claims["aud"]] if isinstance(claims["aud"], str) else claims["aud"])
    assert claims["iss"] == issuer
    return dict(claims.items())


READERS = {
    "PyJWT": by_pyjwt, "joserfc": by_joserfc, "Authlib": by_authlib, "jwcrypto": by_jwcrypto, "cryptojwt": by_cryptojwt,
}


@pytest.fixture
def user(gateway, realm, app):
    """An assertion about a user with every field, and the keys, as an app gets them."""
    realm.user = {**realm.user, "name": "Zoë 🦊 李", "groups": ["a", "b,c"], "preferred_username": "zoë"}
    browser = Browser(gateway)
    assert browser.sign_in("mock", "/libraries").status == 200
    keys = browser.send("GET", "/oauth2/jwks.json").json
    return app.seen("/libraries")[-1].get("X-Gatehouse-Assertion"), keys


@pytest.mark.parametrize("reader", READERS)
def test_each_library_verifies_the_assertion_and_reads_the_same(reader, user, gateway):
    """The key set as a whole, the key by its name, issuer, audience, times, text in all scripts."""
    text, keys = user
    claims = READERS[reader](text, keys, gateway.origin, gateway.origin, None)
    plain = jwt.decode(text, options={"verify_signature": False})
    assert {**claims, "aud": plain["aud"]} == plain, "cryptojwt makes a list of one audience"
    assert (plain["sub"], plain["name"], plain["groups"]) == ("mock:ada", "Zoë 🦊 李", ["a", "b,c"])
    assert abs(plain["iat"] - time.time()) < 90


def altered(text, **changes):
    header, payload, signature = text.split(".")
    claims = {**jwt.decode(text, options={"verify_signature": False}), **changes}
    return f"{header}.{b64(json.dumps(claims, separators=(',', ':'), ensure_ascii=False))}.{signature}"


@pytest.mark.parametrize("reader", READERS)
def test_each_library_rejects_other_issuers_and_audiences(reader, user, gateway):
    """The control of the test above: each library does check."""
    text, keys = user
    read, origin = READERS[reader], gateway.origin
    another = json.loads(jwcrypto_jwk.JWK.generate(kty="EC", crv="P-256", kid=keys["keys"][0]["kid"]).export_public())
    later = jwt.decode(text, options={"verify_signature": False})["exp"] + 3600
    good = (text, keys, origin, origin, None)
    for index, wrong in (
        (0, altered(text, sub="mock:root")), (0, text[:-8] + "AAAAAAAA"), (1, {"keys": [another]}),
        (2, "https://evil.example"), (3, origin + "/other"), (4, later),
    ):
        with pytest.raises(Exception):
            read(*good[:index], wrong, *good[index + 1:])
    assert read(*good)["sub"] == "mock:ada"


def test_the_header_matches_the_key_set(user):
    """RFC 7515 §4.1, RFC 7517 §4: one key by that name, public, for signatures of this algorithm."""
    text, keys = user
    header = jws.extract_compact(text.encode()).headers()
    assert set(header) == {"typ", "alg", "kid"} and header["typ"] == "JWT" and header["alg"] == "ES256"
    named = [key for key in keys["keys"] if key["kid"] == header["kid"]]
    assert len(text.rsplit(".", 1)[1]) == 86, "r and s at full length, not DER, RFC 7518 §3.4"
    assert len(named) == 1 and len({key["kid"] for key in keys["keys"]}) == len(keys["keys"])
    for key in keys["keys"]:
        assert (key["kty"], key["crv"], key["use"], key["alg"]) == ("EC", "P-256", "sig", "ES256")
        assert "d" not in key and set(key) <= {"kty", "crv", "x", "y", "use", "alg", "kid", "key_ops"}
        assert len(key["x"]) == len(key["y"]) == 43, "both coordinates at full length, RFC 7518 §6.2.1.2"


def test_the_key_set_is_one_that_each_library_can_import(gateway, ada):
    """RFC 7638: each library computes the name that the key has; also the media type and how long to keep it."""
    response = ada.send("GET", "/oauth2/jwks.json")
    assert response.get("content-type") in ("application/jwk-set+json", "application/json")
    assert "max-age" in response.get("cache-control")
    names = [key["kid"] for key in response.json["keys"]]
    assert [key.thumbprint() for key in jwk.KeySet.import_key_set(response.json).keys] == names
    assert [key.key_id for key in jwt.PyJWKSet.from_dict(response.json).keys] == names
    assert {key.thumbprint() for key in jwcrypto_jwk.JWKSet.from_json(response.text)["keys"]} == set(names)
    jar = KeyJar()
    jar.import_jwks(response.json, gateway.origin)
    assert {key.kid for key in jar.get_issuer_keys(gateway.origin)} == set(names)
