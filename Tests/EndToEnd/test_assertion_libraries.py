# SPDX-License-Identifier: Apache-2.0
"""The gateway's assertion and its keys, read and verified by other libraries."""

import base64
import json
import time

import jwt
import pytest
from cryptojwt import KeyJar
from joserfc import jwk, jws
from jwcrypto import jwk as jwcrypto_jwk

from support.browser import Browser
from support.tokens import b64
from support.verifiers import READERS, with_each_bit

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


@pytest.mark.parametrize("reader", ["PyJWT", "joserfc", "jwcrypto"])
@pytest.mark.parametrize("part", ["header", "payload", "signature"])
def test_each_changed_bit_of_an_assertion_is_noticed(part, reader, user, gateway):
    text, keys = user
    read, origin = READERS[reader], gateway.origin
    parts, index = text.split("."), ["header", "payload", "signature"].index(part)
    plain = base64.urlsafe_b64decode(parts[index] + "==")
    accepted = []
    for bit, changed in enumerate(with_each_bit(plain)):
        parts[index] = b64(changed)
        try:
            read(".".join(parts), keys, origin, origin, None)
        except Exception:  # each library has errors of its own; the text without a change is the control
            continue
        accepted.append(bit)
    assert accepted == []
    assert read(text, keys, origin, origin, None)["sub"] == "mock:ada"


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
