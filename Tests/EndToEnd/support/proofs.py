# SPDX-License-Identifier: Apache-2.0
"""Proofs of keys (DPoP, RFC 9449), written with PyJWT."""

import base64
import hashlib
import json
import secrets
import time

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from jwt.algorithms import ECAlgorithm, OKPAlgorithm

EC = ec.generate_private_key(ec.SECP256R1())
OTHER = ec.generate_private_key(ec.SECP256R1())
ED = ed25519.Ed25519PrivateKey.generate()


def jwk_of(key):
    text = (ECAlgorithm if isinstance(key, ec.EllipticCurvePrivateKey) else OKPAlgorithm).to_jwk(key.public_key())
    return {name: value for name, value in json.loads(text).items() if name in ("kty", "crv", "x", "y")}


def thumbprint(key):
    text = json.dumps(jwk_of(key), sort_keys=True, separators=(",", ":"))
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


def proof(key, method, url, token=None, header=None, ahead=0, **changes):
    """A proof for a request; None leaves a claim out."""
    values = {"htm": method, "htu": url, "iat": int(time.time()) + ahead, "jti": secrets.token_urlsafe(12)}
    if token is not None:
        values["ath"] = base64.urlsafe_b64encode(hashlib.sha256(token.encode()).digest()).rstrip(b"=").decode()
    values = {name: value for name, value in (values | changes).items() if value is not None}
    algorithm = "ES256" if isinstance(key, ec.EllipticCurvePrivateKey) else "EdDSA"
    return jwt.encode(values, key, algorithm, headers={"typ": "dpop+jwt", "jwk": jwk_of(key)} | (header or {}))
