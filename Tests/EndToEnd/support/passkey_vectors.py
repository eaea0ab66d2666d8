#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints Tests/GatePasskeysTests/Vectors.swift: responses of `authenticator.py` that py_webauthn of PyPI has verified.

The keys are new each time, so it is run only to add a vector.
"""
import json

import webauthn
from authenticator import AAGUID, Authenticator
from webauthn.helpers import bytes_to_base64url
from webauthn.helpers.cose import COSEAlgorithmIdentifier

CHALLENGE = bytes(range(32))
USER = b"user-handle-0001"
ORIGIN = "https://login.example.com"
RP_ID = "example.com"
OTHER = bytes(16)
VECTORS = [
    ("es256", -7, {}), ("edDSA", -8, {}), ("rs256", -257, {}),
    ("es256Packed", -7, {"attestation": "packed"}), ("edDSAPacked", -8, {"attestation": "packed"}),
    ("rs256Packed", -257, {"attestation": "packed"}), ("es256Certified", -7, {"attestation": "x5c"}),
    ("rs256Certified", -257, {"attestation": "x5c"}), ("synced", -7, {"synced": True}),
    ("extended", -7, {"extensions": {"credProtect": 2, "hmac-secret": True}}),
]
INVALID = [
    ("otherModel", {"aaguid": OTHER}), ("otherUnit", {"unit": "Web Server"}), ("authority", {"is_authority": True}),
    ("criticalModel", {"is_critical": True}), ("withoutCountry", {"country": None}),
]


def options(algorithm):
    return {
        "rp": {"id": RP_ID, "name": "Example"}, "user": {"id": bytes_to_base64url(USER), "name": "a", "displayName": "A"},
        "challenge": bytes_to_base64url(CHALLENGE), "pubKeyCredParams": [{"type": "public-key", "alg": algorithm}],
    }


def literal(name, value):
    text = json.dumps(value, separators=(",", ":"))
    lines = [text[start : start + 108] for start in range(0, len(text), 108)]
    return f'    static let {name} = """\n' + "\\\n".join(f"        {line}" for line in lines) + '\n        """\n'


def main():
    expected = {"expected_challenge": CHALLENGE, "expected_rp_id": RP_ID, "expected_origin": ORIGIN}
    print("// SPDX-License-Identifier: Apache-2.0\n\nimport Testing\n")
    print("/// Responses for the challenge 0, 1, … 31 that Tests/EndToEnd/support/passkey_vectors.py made and an independent implementation verified.")
    print("enum Vectors {")
    for name, algorithm, settings in VECTORS:
        authenticator = Authenticator()
        registration = authenticator.create(options(algorithm), ORIGIN, **settings)
        request = {"challenge": bytes_to_base64url(CHALLENGE), "rpId": RP_ID}
        assertion = authenticator.get(request, ORIGIN)
        made = webauthn.verify_registration_response(
            credential=registration, require_user_verification=True,
            supported_pub_key_algs=[COSEAlgorithmIdentifier(algorithm)], **expected,
        )
        assert made.aaguid.replace("-", "") == AAGUID.hex()
        webauthn.verify_authentication_response(
            credential=assertion, credential_public_key=made.credential_public_key, require_user_verification=True,
            credential_current_sign_count=made.sign_count, **expected,
        )
        print(literal(f"{name}Registration", registration))
        print(literal(f"{name}Assertion", assertion))
    for name, certificate in INVALID:
        print(literal(name, Authenticator().create(options(-7), ORIGIN, attestation="x5c", **certificate)))
    pairs = ",\n".join(
        f'        Vector(name: "{name}", registration: {name}Registration, assertion: {name}Assertion)' for name, *_ in VECTORS
    )
    print(f"    static let all = [\n{pairs},\n    ]\n}}\n")
    print("/// A registration and the use of its passkey.\nstruct Vector: Sendable, CustomTestStringConvertible {")
    print("    let name: String\n    let registration: String\n    let assertion: String\n")
    print("    var testDescription: String { self.name }\n}")


if __name__ == "__main__":
    main()
