# SPDX-License-Identifier: Apache-2.0
"""Assertions and signatures of the gateway, verified by libraries that know nothing of it."""

import json
import re

import jwt
import requests
from cryptojwt import JWT as CryptoJWT
from cryptojwt import KeyJar
from http_message_signatures import HTTPMessageVerifier, HTTPSignatureKeyResolver, algorithms
from joserfc import jwk
from joserfc import jwt as joserfc_jwt
from jwcrypto import jwk as jwcrypto_jwk
from jwcrypto import jwt as jwcrypto_jwt

from .libraries import authlib_jwt
from .raw import request

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


#: Each takes an assertion, a key set, issuer, audience and a time (None for now), and returns the claims or raises.
READERS = {
    "PyJWT": by_pyjwt, "joserfc": by_joserfc, "Authlib": by_authlib, "jwcrypto": by_jwcrypto, "cryptojwt": by_cryptojwt,
}


class SignedMessage:
    """A request as the app received it, for a verifier of its signature."""
    def __init__(self, seen, authority):
        line, *lines = seen.head.decode("latin-1").split("\r\n")
        self.method, target, _ = line.split(" ")
        self.url = f"http://{authority}{target}"
        self.headers = requests.structures.CaseInsensitiveDict(line.split(": ", 1) for line in lines if line)

    @property
    def covered(self):
        """The names of the components that the signature covers."""
        return re.findall(r'"([^" ]+)"', self.headers["Signature-Input"].partition(")")[0])


class PublishedKeys(HTTPSignatureKeyResolver):
    """The keys that the gateway at a port publishes now."""
    def __init__(self, port):
        self.keys = jwt.PyJWKSet.from_dict(request(port, "/oauth2/jwks.json").json)

    def resolve_public_key(self, key_id):
        return self.keys[key_id].key

    def resolve_private_key(self, key_id):
        raise KeyError(key_id)


def signature_verifier(keys):
    """RFC 9421 by `http-message-signatures`."""
    return HTTPMessageVerifier(signature_algorithm=algorithms.ECDSA_P256_SHA256, key_resolver=keys)


def with_each_bit(data):
    """The bytes with each single bit changed, one after the other."""
    changed = bytearray(data)
    for bit in range(len(changed) * 8):
        changed[bit // 8] ^= 1 << bit % 8
        yield bytes(changed)
        changed[bit // 8] ^= 1 << bit % 8
