#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An authenticator and browser in software, independent of the gateway: over `fido2` and `cryptography` of PyPI.

    authenticator.py create --origin https://login.example.com --state FILE < creation-options.json > response.json
    authenticator.py get    --origin https://login.example.com --state FILE < request-options.json  > response.json

Reads `PublicKeyCredentialCreationOptionsJSON` or `PublicKeyCredentialRequestOptionsJSON` and prints `RegistrationResponseJSON` or
`AuthenticationResponseJSON`, as `navigator.credentials` does. The state file holds the passkeys with their private keys. As a
browser does, it checks that the origin may use the RP ID; an excluded or missing passkey is an error: exit code 1.

To be rejected by the gateway:
    --wrong-origin    the client data name another origin
    --cross-origin    the client data name an embedding page
    --no-uv           the user is not verified, whatever the options require
    --frozen-counter  the signature counter is that of the last use, as from a copy of the authenticator
"""
import argparse
import datetime
import hashlib
import json
import os
import sys
from pathlib import Path
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from fido2 import cose
from fido2.utils import websafe_decode, websafe_encode
from fido2.webauthn import AttestationObject, AttestedCredentialData, AuthenticatorData, CollectedClientData

FLAG = AuthenticatorData.FLAG
AAGUID = bytes.fromhex("00112233445566778899aabbccddeeff")
AAGUID_OID = x509.ObjectIdentifier("1.3.6.1.4.1.45724.1.1.4")
MAKERS = {
    -7: lambda: ec.generate_private_key(ec.SECP256R1()),
    -8: ed25519.Ed25519PrivateKey.generate,
    -257: lambda: rsa.generate_private_key(public_exponent=65537, key_size=2048),
}
COSE = {-7: cose.ES256, -8: cose.EdDSA, -257: cose.RS256}


def sign(key, message):
    if isinstance(key, ec.EllipticCurvePrivateKey):
        return key.sign(message, ec.ECDSA(hashes.SHA256()))
    if isinstance(key, rsa.RSAPrivateKey):
        return key.sign(message, padding.PKCS1v15(), hashes.SHA256())
    return key.sign(message)


def attestation_certificate(
    key, aaguid, country="DE", unit="Authenticator Attestation", is_authority=False, is_critical=False
):
    """A certificate by WebAuthn §8.2.1, signed by itself."""
    oid = x509.NameOID
    values = [
        (oid.COUNTRY_NAME, country), (oid.ORGANIZATION_NAME, "Test"), (oid.ORGANIZATIONAL_UNIT_NAME, unit),
        (oid.COMMON_NAME, "Test Model"),
    ]
    name = x509.Name([x509.NameAttribute(kind, value) for kind, value in values if value])
    start = datetime.datetime(2025, 1, 1, tzinfo=datetime.timezone.utc)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(start).not_valid_after(start + datetime.timedelta(days=9000))
    builder = builder.add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
    builder = builder.add_extension(x509.UnrecognizedExtension(AAGUID_OID, b"\x04\x10" + aaguid), critical=is_critical)
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.DER)


class Authenticator:
    """Passkeys with their keys and counters, as plain values that JSON can hold."""

    def __init__(self, passkeys=None):
        self.passkeys = passkeys if passkeys is not None else []

    def create(
        self, options, origin, *, attestation="none", extensions=None, uv=True, synced=False, cross_origin=False, **certificate
    ):
        rp_id = options["rp"]["id"]
        known = {passkey["id"] for passkey in self.passkeys}
        if any(descriptor["id"] in known for descriptor in options.get("excludeCredentials", [])):
            raise LookupError("InvalidStateError: the authenticator has an excluded passkey")
        algorithm = next((p["alg"] for p in options["pubKeyCredParams"] if p["alg"] in MAKERS), None)
        if algorithm is None:
            raise LookupError("NotSupportedError: no offered algorithm is supported")
        key = MAKERS[algorithm]()
        passkey_id = os.urandom(32)
        public = COSE[algorithm].from_cryptography_key(key.public_key())
        flags = self.flags(uv, synced) | FLAG.AT | (FLAG.ED if extensions else 0)
        data = AuthenticatorData.create(
            hashlib.sha256(rp_id.encode()).digest(), flags, 1,
            AttestedCredentialData.create(AAGUID, passkey_id, public), extensions,
        )
        client_data = CollectedClientData.create("webauthn.create", options["challenge"], origin, cross_origin)
        statement = self.statement(attestation, algorithm, key, data + client_data.hash, certificate)
        made = AttestationObject.create("none" if attestation == "none" else "packed", data, statement)
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        self.passkeys.append({
            "id": websafe_encode(passkey_id), "rpId": rp_id, "userHandle": options["user"]["id"], "counter": 1,
            "synced": synced, "key": private.decode(),
        })
        return self.response(passkey_id, {
            "clientDataJSON": websafe_encode(client_data), "attestationObject": websafe_encode(made),
            "authenticatorData": websafe_encode(data), "transports": ["internal", "hybrid"],
            "publicKeyAlgorithm": algorithm,
        })

    def get(self, options, origin, *, uv=True, frozen=False, cross_origin=False):
        allowed = [descriptor["id"] for descriptor in options.get("allowCredentials", [])]
        fitting = [p for p in self.passkeys if p["rpId"] == options["rpId"] and (not allowed or p["id"] in allowed)]
        if not fitting:
            raise LookupError("NotAllowedError: no passkey fits")
        passkey = fitting[-1]
        passkey["counter"] += 0 if frozen else 1
        hash_ = hashlib.sha256(options["rpId"].encode()).digest()
        data = AuthenticatorData.create(hash_, self.flags(uv, passkey["synced"]), passkey["counter"])
        client_data = CollectedClientData.create("webauthn.get", options["challenge"], origin, cross_origin)
        key = serialization.load_pem_private_key(passkey["key"].encode(), None)
        return self.response(websafe_decode(passkey["id"]), {
            "clientDataJSON": websafe_encode(client_data), "authenticatorData": websafe_encode(data),
            "signature": websafe_encode(sign(key, data + client_data.hash)), "userHandle": passkey["userHandle"],
        })

    @staticmethod
    def flags(uv, synced):
        return FLAG.UP | (FLAG.UV if uv else 0) | (FLAG.BE | FLAG.BS if synced else 0)

    @staticmethod
    def statement(attestation, algorithm, key, message, certificate):
        if attestation == "none":
            return {}
        if attestation == "packed":
            return {"alg": algorithm, "sig": sign(key, message)}
        other = ec.generate_private_key(ec.SECP256R1())
        x5c = [attestation_certificate(other, **{"aaguid": AAGUID, **certificate})]
        return {"alg": -7, "sig": sign(other, message), "x5c": x5c}

    @staticmethod
    def response(passkey_id, members):
        name = websafe_encode(passkey_id)
        return {
            "id": name, "rawId": name, "type": "public-key", "authenticatorAttachment": "platform",
            "clientExtensionResults": {}, "response": members,
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ceremony", choices=["create", "get"])
    parser.add_argument("--origin", required=True)
    parser.add_argument("--state", required=True, type=Path)
    parser.add_argument("--attestation", choices=["none", "packed", "x5c"], default="none")
    for switch in ("synced", "wrong-origin", "cross-origin", "no-uv", "frozen-counter"):
        parser.add_argument(f"--{switch}", action="store_true")
    given = parser.parse_args()
    authenticator = Authenticator(json.loads(given.state.read_text()) if given.state.exists() else None)
    options = json.load(sys.stdin)
    rp_id = options["rp"]["id"] if given.ceremony == "create" else options["rpId"]
    host = urlsplit(given.origin).hostname
    if host != rp_id and not host.endswith("." + rp_id):
        sys.exit(f"SecurityError: {given.origin} may not use the RP ID {rp_id}")
    origin = "https://evil.example" if given.wrong_origin else given.origin
    common = {"uv": not given.no_uv, "cross_origin": given.cross_origin}
    try:
        if given.ceremony == "create":
            response = authenticator.create(
                options, origin, attestation=given.attestation, synced=given.synced, **common
            )
        else:
            response = authenticator.get(options, origin, frozen=given.frozen_counter, **common)
    except LookupError as error:
        sys.exit(str(error))
    given.state.write_text(json.dumps(authenticator.passkeys))
    given.state.chmod(0o600)
    json.dump(response, sys.stdout)


if __name__ == "__main__":
    main()
