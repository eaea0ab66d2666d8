# SPDX-License-Identifier: Apache-2.0
"""Keys and tokens as other JOSE libraries write them."""

import hashlib
import json
import warnings

import authlib.deprecate
import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from joserfc import jwk as joserfc_jwk
from joserfc import jws as joserfc_jws
from joserfc.errors import SecurityWarning
from jwcrypto import jwk as jwcrypto_jwk
from jwcrypto import jws as jwcrypto_jws
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from .tokens import b64

with warnings.catch_warnings():
    # Authlib deprecates this part in favour of joserfc; providers still issue tokens with it.
    warnings.simplefilter("ignore", authlib.deprecate.AuthlibDeprecationWarning)
    from authlib.jose import JsonWebKey, JsonWebSignature, JsonWebToken

ALGORITHMS = ["RS256", "PS256", "ES256", "ES384", "EdDSA"]
CURVES = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521", "ES256K": "secp256k1"}
HASHES = {"256": hashlib.sha256, "384": hashlib.sha384, "512": hashlib.sha512, "DSA": hashlib.sha512}


class PyJWT:
    """Keys come from `cryptography` and are exported by PyJWT."""
    name = "PyJWT"

    def __init__(self, algorithm, kid):
        self.algorithm = algorithm
        if algorithm[:2] in ("RS", "PS"):
            self.key, kind = rsa.generate_private_key(65537, 2048), RSAAlgorithm
        elif algorithm[:2] == "ES":
            curve = {"ES256": ec.SECP256R1, "ES384": ec.SECP384R1, "ES512": ec.SECP521R1}[algorithm]
            self.key, kind = ec.generate_private_key(curve()), ECAlgorithm
        else:
            self.key, kind = ed25519.Ed25519PrivateKey.generate(), OKPAlgorithm
        self.jwk = {**kind.to_jwk(self.key.public_key(), as_dict=True), "kid": kid}

    def sign(self, header, payload):
        header = {name: value for name, value in header.items() if name != "alg"}
        return jwt.PyJWS().encode(payload, self.key, self.algorithm, header)


class Joserfc:
    """The key is named by its thumbprint (RFC 7638)."""
    name = "joserfc"

    def __init__(self, algorithm, kid=None):
        self.algorithm = algorithm
        if algorithm[:2] in ("RS", "PS"):
            self.key = joserfc_jwk.RSAKey.generate_key(2048)
        elif algorithm[:2] == "ES":
            self.key = joserfc_jwk.ECKey.generate_key(CURVES[algorithm])
        else:
            self.key = joserfc_jwk.OKPKey.generate_key("Ed25519")
        self.jwk = {**self.key.as_dict(private=False), "kid": kid or self.key.thumbprint()}

    def sign(self, header, payload):
        with warnings.catch_warnings():
            # RFC 9864 prefers the name Ed25519; providers use EdDSA.
            warnings.simplefilter("ignore", SecurityWarning)
            return joserfc_jws.serialize_compact(header, payload, self.key, registry=registry(header["alg"]))


def registry(algorithm):
    """Lets joserfc sign headers that it would not have thought of."""
    found = joserfc_jws.JWSRegistry(algorithms=[algorithm], strict_check_header=False)
    found.max_header_length = 16_384
    return found


class Authlib:
    name = "Authlib"

    def __init__(self, algorithm, kid):
        self.algorithm = algorithm
        kind, option = (
            ("RSA", 2048) if algorithm[:2] in ("RS", "PS") else ("EC", CURVES[algorithm])
            if algorithm[:2] == "ES" else ("OKP", "Ed25519")
        )
        self.key = JsonWebKey.generate_key(kind, option, {"kid": kid, "use": "sig"}, is_private=True)
        self.jwk = self.key.as_dict(is_private=False)

    def sign(self, header, payload):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", authlib.deprecate.AuthlibDeprecationWarning)
            return JsonWebSignature([header["alg"]]).serialize_compact(header, payload, self.key).decode()


class Jwcrypto:
    """Exports with `alg` and `use`, and in another order."""
    name = "jwcrypto"

    def __init__(self, algorithm, kid):
        self.algorithm = algorithm
        kind = (
            {"kty": "RSA", "size": 2048} if algorithm[:2] in ("RS", "PS") else {"kty": "EC", "crv": CURVES[algorithm]}
            if algorithm[:2] == "ES" else {"kty": "OKP", "crv": "Ed25519"}
        )
        self.key = jwcrypto_jwk.JWK.generate(**kind, kid=kid, use="sig", alg=algorithm)
        self.jwk = self.key.export_public(as_dict=True)

    def sign(self, header, payload):
        token = jwcrypto_jws.JWS(payload)
        token.add_signature(self.key, None, json.dumps(header), None)
        return token.serialize(compact=True)


LIBRARIES = [PyJWT, Joserfc, Authlib, Jwcrypto]


def half_hash(text, algorithm):
    """`at_hash` for an algorithm. OpenID Connect Core §3.1.3.6."""
    digest = HASHES[algorithm.rstrip("K")[-3:]](text.encode()).digest()
    return b64(digest[:len(digest) // 2])


def authlib_jwt(text, keys, rules, now=None):
    """The claims of a token after Authlib has verified it and looked at these rules."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", authlib.deprecate.AuthlibDeprecationWarning)
        claims = JsonWebToken(["ES256"]).decode(text, JsonWebKey.import_key_set(keys), claims_options=rules)
        claims.validate(now=now)
    return dict(claims)
