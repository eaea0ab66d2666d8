# SPDX-License-Identifier: Apache-2.0
"""ID tokens as text, made by hand so that each rule can be broken by itself."""

import base64
import hashlib
import json
import secrets
import time

from cryptography.hazmat.primitives import hashes, hmac, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa, utils

#: The event of a logout token, OpenID Connect Back-Channel Logout 1.0 §2.4.
EVENT = "http://schemas.openid.net/event/backchannel-logout"


def b64(data):
    data = data.encode() if isinstance(data, str) else data
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def number(value, length=None):
    return b64(value.to_bytes(length or (value.bit_length() + 7) // 8, "big"))


class Key:
    """A signing key and its public JWK."""
    def __init__(self, kid, kind="RS256", private=None, **jwk):
        self.kid, self.kind = kid, kind
        self.private = (
            private or {
                "RS256": lambda: rsa.generate_private_key(65537, 2048),
                "ES256": lambda: ec.generate_private_key(ec.SECP256R1()), "EdDSA": ed25519.Ed25519PrivateKey.generate,
            }[kind]()
        )
        self.extra = jwk

    @property
    def public_pem(self):
        return self.private.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )

    @property
    def jwk(self):
        public = self.private.public_key()
        if self.kind == "RS256":
            numbers = public.public_numbers()
            parts = {"kty": "RSA", "n": number(numbers.n), "e": number(numbers.e)}
        elif self.kind == "ES256":
            numbers = public.public_numbers()
            parts = {"kty": "EC", "crv": "P-256", "x": number(numbers.x, 32), "y": number(numbers.y, 32)}
        else:
            raw = public.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
            parts = {"kty": "OKP", "crv": "Ed25519", "x": b64(raw)}
        return {**parts, "kid": self.kid, "use": "sig", "alg": self.kind, **self.extra}

    def sign(self, data, algorithm=None):
        algorithm = algorithm or self.kind
        if algorithm == "HS256":
            mac = hmac.HMAC(self.public_pem, hashes.SHA256())
            mac.update(data)
            return mac.finalize()
        if self.kind == "RS256":
            return self.private.sign(data, padding.PKCS1v15(), hashes.SHA256())
        if self.kind == "ES256":
            r, s = utils.decode_dss_signature(self.private.sign(data, ec.ECDSA(hashes.SHA256())))
            return r.to_bytes(32, "big") + s.to_bytes(32, "big")
        return self.private.sign(data)

    def sign_der(self, data):
        return self.private.sign(data, ec.ECDSA(hashes.SHA256()))


def token(key, claims, header=None, signature=None, algorithm=None):
    """A compact JWS; `claims` and `header` may be text that is invalid JSON."""
    if not isinstance(header, (str, bytes)):
        header = json.dumps({"alg": algorithm or key.kind, "kid": key.kid, "typ": "JWT", **(header or {})})
    if not isinstance(claims, (str, bytes)):
        claims = json.dumps(claims)
    text = f"{b64(header)}.{b64(claims)}"
    if signature is None:
        signature = key.sign(text.encode(), algorithm)
    return f"{text}.{signature if isinstance(signature, str) else b64(signature)}"


def at_hash(access_token, kind="RS256"):
    """The left half of the hash that belongs to the algorithm. OpenID Connect Core §3.1.3.6."""
    digest = (hashlib.sha512 if kind == "EdDSA" else hashlib.sha256)(access_token.encode()).digest()
    return b64(digest[:len(digest) // 2])


def now():
    return int(time.time())


def logout_claims(realm, **changes):
    """The claims of a valid logout token; None removes one."""
    claims = {
        "iss": realm.issuer, "aud": "gatehouse", "iat": now(), "exp": now() + 120, "jti": secrets.token_urlsafe(12),
        "events": {EVENT: {}}, "sub": "ada", **changes,
    }
    return {name: value for name, value in claims.items() if value is not None}


def logout_token(realm, header=None, key=None, **changes):
    return token(key or realm.key, logout_claims(realm, **changes), {"typ": "logout+jwt", **(header or {})})
