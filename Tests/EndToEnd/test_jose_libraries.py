# SPDX-License-Identifier: Apache-2.0
"""Keys and ID tokens of other libraries: unusual but valid ones sign in, invalid ones do not."""

import base64
import datetime
import hmac
import json
import random
import re

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils
from joserfc import jwe, jwk, jws
from jwcrypto import jwk as jwcrypto_jwk

from support.browser import Browser
from support.gateway import ENVIRONMENT, Gateway, oidc
from support.libraries import ALGORITHMS, LIBRARIES, Authlib, Joserfc, Jwcrypto, PyJWT, half_hash, registry
from support.tokens import b64
from support.upstream import Upstream

CLIENT_SECRET = ENVIRONMENT["TEST_CLIENT_SECRET"]


def self_signed(maker):
    """A certificate for a joserfc key, as DER."""
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "keys.example")])
    began = datetime.datetime(2026, 1, 1)
    builder = x509.CertificateBuilder(name, name, maker.key.public_key, 1, began, began + datetime.timedelta(3650))
    return builder.sign(maker.key.private_key, hashes.SHA256()).public_bytes(serialization.Encoding.DER)


def with_certificate(maker):
    der = self_signed(maker)
    digest = hashes.Hash(hashes.SHA256())
    digest.update(der)
    return {"x5c": [base64.b64encode(der).decode()], "x5t#S256": b64(digest.finalize()), "use": "sig"}


def shuffled(members):
    names = list(members)
    random.Random(7).shuffle(names)
    return {name: members[name] for name in names}


# Parameters of a key in a key set beside the key itself. RFC 7517 §4.
JWK_FORMS = {
    "nothing but the key": lambda maker: {},
    "use": lambda maker: {"use": "sig"},
    "alg": lambda maker: {"alg": maker.algorithm},
    "use and alg": lambda maker: {"use": "sig", "alg": maker.algorithm},
    "key_ops": lambda maker: {"key_ops": ["verify"]},
    "exported by a browser": lambda maker: {"ext": True, "key_ops": ["verify"], "alg": maker.algorithm},
    "a certificate": with_certificate,
    "unknown members": lambda maker: {"exp": 2, "revoked": None, "äö": [{}], "x5u": "http://127.0.0.1:1"},
    "a kid that is an address": lambda maker: {"kid": f"https://id.example/keys?{maker.algorithm}#1"},
    "a kid with spaces": lambda maker: {"kid": f"key of {maker.algorithm}"},
    "a kid beyond ASCII": lambda maker: {"kid": f"schlüssel-🔑-{maker.algorithm}"},
    "a kid of 256 bytes": lambda maker: {"kid": maker.algorithm.ljust(256, "k")},
}
BAD_JWK_FORMS = {
    "for signing only": {"key_ops": ["sign"]}, "no operation": {"key_ops": []}, "for encryption": {"use": "enc"},
    "of another algorithm": {"alg": "RS512"}, "for RSA-OAEP": {"alg": "RSA-OAEP"}, "use in capitals": {"use": "SIG"},
    "kid a number": {"kid": 7},
}


@pytest.fixture(scope="module")
def makers():
    """One key of each library for each algorithm."""
    return {
        (library.name, algorithm): library(algorithm, f"{library.name}-{algorithm}")
        for library in LIBRARIES for algorithm in ALGORITHMS
    }


@pytest.fixture(scope="module")
def forms():
    """A key for each form of JWK, RSA and EC."""
    found = {}
    for name, more in JWK_FORMS.items():
        for algorithm in ("PS256", "ES384"):
            maker = Joserfc(algorithm)
            maker.jwk = shuffled({**maker.jwk, **more(maker)})
            found[name, algorithm] = maker
    return found


@pytest.fixture(scope="module")
def bad_forms():
    found = {name: Joserfc("RS256") for name in BAD_JWK_FORMS}
    for name, more in BAD_JWK_FORMS.items():
        found[name].jwk |= more
    return found


@pytest.fixture(scope="module")
def foreign():
    """Keys of kinds and sizes that the gateway does not support."""
    return {
        "P-521": Joserfc("ES512"), "secp256k1": Joserfc("ES256K"),
        "Ed448": jwcrypto_jwk.JWK.generate(kty="OKP", crv="Ed448", kid="Ed448"),
    }


@pytest.fixture(scope="module")
def own_gateway(tmp_path_factory, provider_server, makers, forms, bad_forms, foreign):
    """A gateway with realms that have keys of other libraries."""
    app = Upstream()
    every = [maker.jwk for maker in makers.values()] + [foreign["P-521"].jwk, foreign["secp256k1"].jwk]
    every.append(foreign["Ed448"].export_public(as_dict=True))
    sets = {
        "jose": every, "jose-forms": [maker.jwk for maker in forms.values()],
        "jose-bad": [*(maker.jwk for maker in bad_forms.values()), makers["PyJWT", "EdDSA"].jwk],
        "jose-several": [makers["joserfc", "RS256"].jwk, makers["joserfc", "ES256"].jwk, makers["joserfc", "EdDSA"].jwk],
        **{f"jose-single-{name.lower()}": [makers["joserfc", name].jwk] for name in ("RS256", "ES256", "EdDSA")},
        "jose-written": every,
    }
    for name, keys in sets.items():
        realm = provider_server.realm(name)
        realm.reset()
        realm.keys = keys
    text = json.dumps({"@context": "keys", "keys": every, "a": 1.5e3}, indent="\t", ensure_ascii=False)
    provider_server.realm("jose-written").documents["jwks"] = (
        200, {"Content-Type": "Application/JWK-Set+JSON; charset=utf-8"}, f"\r\n {text}\n".encode(),
    )
    providers = {name: oidc(provider_server.realm(name).issuer) for name in sets}
    apps = {"echo": {"path": "/", "upstream": app.address, "allow": "signed_in"}}
    with Gateway(tmp_path_factory.mktemp("jose"), providers, apps) as gateway:
        yield gateway
    app.close()


class Attempt:
    """One sign-in whose token is made by `sign(header, claims as text, claims)`."""
    def __init__(self, own_gateway, server, realm, algorithm, header, sign, change=None, write=json.dumps):
        self.realm = server.realm(realm)
        documents = self.realm.documents
        self.realm.reset()
        self.realm.documents = documents
        self.made, kept = None, {}

        def response(given):
            claims = {**kept["claims"], "at_hash": half_hash(given["access_token"], algorithm)}
            claims = change(claims) if change else claims
            text = claims if isinstance(claims, bytes) else write(claims).encode()
            self.made = sign({"alg": algorithm, **header}, text)
            return {**given, "id_token": self.made}

        self.realm.make = lambda claims, realm: kept.update(claims=claims) or ""
        self.realm.token_response = response
        self.browser = Browser(own_gateway)
        self.response = self.browser.send("GET", self.browser.authorize(self.browser.begin(realm)))

    def assert_signed_in(self):
        assert self.response.status == 303 and self.browser.ticket(), self.response
        profile = self.browser.send("GET", "/oauth2/userinfo").json
        assert profile["user"] == f"{self.realm.name}:ada"
        return profile

    def assert_rejected(self, code):
        """Rejected for this reason, with a token that was really made."""
        assert self.made and self.response.status == 502, self.response
        assert self.browser.ticket() is None and self.realm.count("userinfo") == 0
        shown = re.search("<code>([a-z_.]+)</code>", self.response.text)
        assert (shown and shown.group(1)) == code


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.name)
def test_a_token_of_each_library_and_algorithm_signs_in(library, algorithm, own_gateway, makers, provider_server):
    """Keys as the library exports them, `at_hash` by the hash of the algorithm."""
    maker = makers[library.name, algorithm]
    Attempt(own_gateway, provider_server, "jose", algorithm, {"kid": maker.jwk["kid"]}, maker.sign).assert_signed_in()


@pytest.mark.parametrize("algorithm", ["RS256", "ES384", "EdDSA"])
def test_half_a_hash_of_another_length_is_rejected(algorithm, own_gateway, makers, provider_server):
    """OpenID Connect Core §3.1.3.6: SHA-384 for ES384; what fits another algorithm does not fit this one."""
    maker, other = makers["PyJWT", algorithm], "ES384" if algorithm != "ES384" else "RS256"
    Attempt(
        own_gateway, provider_server, "jose", algorithm, {"kid": maker.jwk["kid"]}, maker.sign,
        lambda claims: {**claims, "at_hash": half_hash("anything", other)},
    ).assert_rejected("id_token.access_token_hash")


@pytest.mark.parametrize("algorithm", ["PS256", "ES384"])
@pytest.mark.parametrize("form", JWK_FORMS)
def test_a_key_in_each_form_that_is_legal_verifies(form, algorithm, own_gateway, forms, provider_server):
    """RFC 7517 §4: with and without `use`, `alg`, `key_ops`, certificates; any order, any name."""
    maker = forms[form, algorithm]
    Attempt(own_gateway, provider_server, "jose-forms", algorithm, {"kid": maker.jwk["kid"]}, maker.sign).assert_signed_in()


@pytest.mark.parametrize("form", BAD_JWK_FORMS)
def test_a_key_for_another_use_verifies_nothing(form, own_gateway, bad_forms, provider_server):
    """RFC 7517 §4.2 to §4.4: neither by its id nor as the only one that could fit."""
    maker = bad_forms[form]
    for header in ({"kid": str(maker.jwk["kid"])}, {}):
        Attempt(own_gateway, provider_server, "jose-bad", "RS256", header, maker.sign).assert_rejected("id_token.key_unknown")


def test_a_key_set_may_be_written_in_any_way(own_gateway, makers, provider_server):
    """RFC 7517 §5 and §8.5.2: its own media type, white space, unknown members."""
    maker = makers["Authlib", "ES256"]
    Attempt(own_gateway, provider_server, "jose-written", "ES256", {"kid": maker.jwk["kid"]}, maker.sign).assert_signed_in()


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
def test_e_11_a_token_without_a_key_name_is_verified_by_the_one_key_of_the_set(algorithm, own_gateway, makers, provider_server):
    """OpenID Connect Core §10.1: a key id is needed if the set has several keys, of whatever kinds."""
    maker = makers["joserfc", algorithm]
    Attempt(own_gateway, provider_server, f"jose-single-{algorithm.lower()}", algorithm, {}, maker.sign).assert_signed_in()
    Attempt(own_gateway, provider_server, "jose-several", algorithm, {}, maker.sign).assert_rejected("id_token.key_unknown")
    Attempt(own_gateway, provider_server, "jose", algorithm, {}, maker.sign).assert_rejected("id_token.key_unknown")


HEADERS = {
    "no typ": {}, "typ JWT": {"typ": "JWT"}, "typ in small letters": {"typ": "jwt"},
    "unknown members": {"nonce": "x", "äö": {"a": [None]}, "ver": 1.0, "x5t": "AAAA", "x5t#S256": "AAAA"},
    "a header of 8 kB": {"note": "n" * 8000},
}


@pytest.mark.parametrize("name", HEADERS)
@pytest.mark.parametrize("library", [PyJWT, Joserfc, Authlib, Jwcrypto], ids=lambda library: library.name)
def test_unknown_header_parameters_are_ignored(library, name, own_gateway, makers, provider_server):
    """RFC 7515 §4: what is not understood and not critical is ignored."""
    if library is Jwcrypto and "äö" in HEADERS[name]:
        return
    maker = makers[library.name, "ES256"]
    header = {**HEADERS[name], "kid": maker.jwk["kid"]}
    Attempt(own_gateway, provider_server, "jose", "ES256", header, maker.sign).assert_signed_in()


def exactly(name, spelling):
    """The claims as text, with one number spelled in another way."""
    def change(claims):
        value = claims.get(name, 1)
        text = json.dumps({**claims, name: "@"}).replace('"@"', spelling(value))
        assert float(spelling(value)) == float(value)
        return text.encode()

    return change


def pretty(claims):
    return json.dumps(claims, indent="\t", separators=(" ,\r\n", " :\n"), ensure_ascii=False)


LEGAL = {
    "exp with a fraction of nothing": exactly("exp", lambda value: f"{value}.0"),
    "exp with an exponent": exactly("exp", lambda value: f"{value / 1e9!r}e9"),
    "exp with a great exponent": exactly("exp", lambda value: f"{value}00E-2"),
    "iat with an exponent": exactly("iat", lambda value: f"{value}.000e+0"),
    "auth_time with a fraction": lambda claims: {**claims, "auth_time": claims["iat"] - 0.125},
    "numbers of every size": lambda claims: json.dumps(claims)[:-1] + ', "n": [9007199254740993, 1e308, -0, 1e-400]}',
    "a number of sixty digits": lambda claims: {**claims, "n": 10**59},
    "a name beyond the first plane": lambda claims: {**claims, "name": "Zoë 🦊 李"},
    "names of claims in other scripts": lambda claims: {**claims, "имя": "x", "": 1, "a.b/c~d": {"$": "$"}},
    "forty kilobytes of groups": lambda claims: {**claims, "groups": [f"group-{n:04}" for n in range(2600)]},
    "deep": lambda claims: {**claims, "x": json.loads("[" * 25 + "]" * 25)},
    "escapes everywhere": lambda claims: spelled(claims),
    "claims of other tokens": lambda claims: {**claims, "events": {}, "sid": "s" * 255, "amr": ["pwd"], "acr": "0"},
}


def spelled(claims):
    """The claims with each letter of their names as an escape."""
    names = {name: "".join(f"\\u{ord(letter):04x}" for letter in name) for name in claims}
    return "{" + ", ".join(f'"{names[name]}": {json.dumps(value)}' for name, value in claims.items()) + "}"


@pytest.mark.parametrize("library", [Joserfc, Authlib], ids=lambda library: library.name)
@pytest.mark.parametrize("name", LEGAL)
def test_unusual_but_valid_claims_sign_in(name, library, own_gateway, makers, provider_server):
    """RFC 7519 §2, RFC 8259: NumericDate is any JSON number, text any Unicode, and what is unknown is ignored."""
    maker, change = makers[library.name, "PS256"], LEGAL[name]

    def bytes_or_claims(claims):
        changed = change(claims)
        return changed.encode() if isinstance(changed, str) else changed

    profile = Attempt(
        own_gateway, provider_server, "jose", "PS256", {"kid": maker.jwk["kid"]}, maker.sign, bytes_or_claims
    ).assert_signed_in()
    assert profile["name"] == ("Zoë 🦊 李" if name == "a name beyond the first plane" else "Ada Example")


@pytest.mark.parametrize("write", [pretty, lambda claims: json.dumps(claims, ensure_ascii=False)], ids=["wide", "raw"])
def test_white_space_and_raw_letters_in_json_are_accepted(write, own_gateway, makers, provider_server):
    maker = makers["joserfc", "ES256"]
    profile = Attempt(
        own_gateway, provider_server, "jose", "ES256", {"kid": maker.jwk["kid"]}, maker.sign,
        lambda claims: {**claims, "name": "Zoë Müller"}, write,
    ).assert_signed_in()
    assert profile["name"] == "Zoë Müller"


ILLEGAL_TEXT = {
    "a byte order mark": lambda text: b"\xef\xbb\xbf" + text, "UTF-16": lambda text: text.decode().encode("utf-16"),
    "UTF-32": lambda text: text.decode().encode("utf-32-be"), "latin-1": lambda text: text[:-1] + b', "x": "\xe4"}',
    "half a pair": lambda text: text.replace(b'"sub": "ada"', b'"sub": "ada\\ud83e"'),
    "half a surrogate pair in an unknown member": lambda text: text[:-1] + b', "x": "\\udc00"}',
    "a comment": lambda text: b"/* */" + text, "an octal exp": lambda text: text.replace(b'"exp": ', b'"exp": 0'),
    "a plus before exp": lambda text: text.replace(b'"exp": ', b'"exp": +'),
    "an unfinished fraction": lambda text: text[:-1] + b', "x": 1.}',
    "a claim twice in a claim": lambda text: text[:-1] + b', "x": {"a": 1, "\\u0061": 2}}',
    "a NUL behind it": lambda text: text + b"\0", "a form feed before it": lambda text: b"\x0c" + text,
}


@pytest.mark.parametrize("name", ILLEGAL_TEXT)
def test_claims_in_invalid_json_are_rejected(name, own_gateway, makers, provider_server):
    """RFC 8259, RFC 7519 §4 and §7.2: UTF-8 without a byte order mark, each name once; validly signed by PyJWT."""
    maker = makers["PyJWT", "RS256"]
    Attempt(
        own_gateway, provider_server, "jose", "RS256", {"kid": maker.jwk["kid"]},
        lambda header, text: maker.sign(header, ILLEGAL_TEXT[name](text)),
    ).assert_rejected("id_token.malformed")


def joserfc_signs(key, algorithm):
    return lambda header, text: jws.serialize_compact(
        {**header, "alg": algorithm}, text, key, registry=registry(algorithm)
    )


@pytest.mark.parametrize("algorithm", ["RS384", "RS512", "PS384", "PS512"])
def test_a_valid_signature_of_an_algorithm_that_is_not_allowed_is_rejected(
    algorithm, own_gateway, makers, provider_server
):
    """RFC 8725 §3.1: the key is the provider's, the signature right, the algorithm not on the list."""
    maker = makers["joserfc", "RS256"]
    Attempt(
        own_gateway, provider_server, "jose", algorithm, {"kid": maker.jwk["kid"]}, joserfc_signs(maker.key, algorithm)
    ).assert_rejected("id_token.algorithm")


@pytest.mark.parametrize(
    "name, algorithm, code", [
        ("P-521", "ES512", "id_token.algorithm"), ("secp256k1", "ES256K", "id_token.algorithm"),
        ("Ed448", "EdDSA", "id_token.key_unknown"),
    ],
)
def test_a_valid_signature_of_another_curve_is_rejected(name, algorithm, code, own_gateway, foreign, provider_server):
    """RFC 8725 §3.1: these curves are in the key set and are not used."""
    key = foreign[name]
    if name == "Ed448":
        maker = Jwcrypto("EdDSA", "Ed448")
        maker.key, kid = key, "Ed448"
        sign = maker.sign
    else:
        sign, kid = joserfc_signs(key.key, algorithm), key.jwk["kid"]
    Attempt(own_gateway, provider_server, "jose", algorithm, {"kid": kid}, sign).assert_rejected(code)


def hs256(secret):
    """HMAC by hand: the libraries do not accept a public key as a secret."""
    def sign(header, text):
        covered = f"{b64(json.dumps(header))}.{b64(text)}"
        return f"{covered}.{b64(hmac.digest(secret, covered.encode(), 'sha256'))}"

    return sign


@pytest.mark.parametrize("secret", ["client secret", "PEM", "PEM without a line end", "DER", "JWK"])
def test_hs256_is_rejected_even_with_the_right_secret(secret, own_gateway, makers, provider_server):
    """RFC 8725 §3.1, CVE-2015-9235: neither by the client secret, which is legal elsewhere, nor by a public key."""
    maker = makers["joserfc", "RS256"]
    pem = maker.key.as_pem(private=False)
    bytes_of = {
        "client secret": CLIENT_SECRET.encode(), "PEM": pem, "PEM without a line end": pem.strip(),
        "DER": maker.key.as_der(private=False), "JWK": json.dumps(maker.jwk).encode(),
    }
    for header in ({"kid": maker.jwk["kid"]}, {}):
        Attempt(own_gateway, provider_server, "jose", "HS256", header, hs256(bytes_of[secret])).assert_rejected(
            "id_token.algorithm"
        )


@pytest.mark.parametrize("header_algorithm, curve_of", [("ES384", "ES256"), ("ES256", "ES384")])
def test_a_curve_under_the_name_of_another_is_rejected(header_algorithm, curve_of, own_gateway, makers, provider_server):
    """RFC 7518 §3.4: ES384 is P-384 with SHA-384 and nothing else."""
    maker = makers["PyJWT", curve_of]
    digest = hashes.SHA384() if header_algorithm == "ES384" else hashes.SHA256()
    size = 32 if curve_of == "ES256" else 48

    def sign(header, text, wide=size):
        covered = f"{b64(json.dumps(header))}.{b64(text)}"
        r, s = utils.decode_dss_signature(maker.key.sign(covered.encode(), ec.ECDSA(digest)))
        return f"{covered}.{b64(r.to_bytes(wide, 'big') + s.to_bytes(wide, 'big'))}"

    for header in ({"kid": maker.jwk["kid"]}, {}):
        Attempt(own_gateway, provider_server, "jose", header_algorithm, header, sign).assert_rejected("id_token.key_unknown")
    wide = 48 if header_algorithm == "ES384" else size
    Attempt(
        own_gateway, provider_server, "jose", header_algorithm, {"kid": maker.jwk["kid"]},
        lambda header, text: sign(header, text, wide),
    ).assert_rejected("id_token.key_unknown")


@pytest.mark.parametrize("kind", ["at+jwt", "application/at+jwt", "logout+jwt", "secevent+jwt", "dpop+jwt", "JOSE", ""])
def test_a_token_of_another_type_is_rejected(kind, own_gateway, makers, provider_server):
    """RFC 8725 §3.11: an access token (RFC 9068) or a logout token of the same provider is not an ID token."""
    maker = makers["joserfc", "RS256"]

    header = {"kid": maker.jwk["kid"], "typ": kind}
    Attempt(own_gateway, provider_server, "jose", "RS256", header, maker.sign).assert_rejected("id_token.type")


def other_forms(maker, own_gateway):
    """The same claims, signed well, in other forms than a compact JWS of claims."""
    keys = Browser(own_gateway).send("GET", "/oauth2/jwks.json").json["keys"]
    ours = jwk.ECKey.import_key({name: keys[0][name] for name in ("kty", "crv", "x", "y")})

    def encrypted(algorithm, key):
        header = {"alg": algorithm, "enc": "A256GCM", "cty": "JWT"}
        return lambda head, text: jwe.encrypt_compact(
            header, maker.sign(head, text), key, algorithms=[algorithm, "A256GCM"]
        )

    def in_json(head, text, flat=True):
        member = {"protected": head}
        return jws.serialize_json(member if flat else [member], text, maker.key, algorithms=[head["alg"]])

    def padded(head, text):
        return ".".join(part + "=" * (-len(part) % 4) for part in maker.sign(head, text).split("."))

    def unencoded(head, text):
        return jws.serialize_compact(
            {**head, "b64": False, "crit": ["b64"]}, text, maker.key, algorithms=[head["alg"]]
        )

    return {
        "encrypted to the gateway's key": encrypted("ECDH-ES", ours),
        "encrypted by the client secret": encrypted("dir", jwk.OctKey.import_key(CLIENT_SECRET.ljust(32)[:32])),
        "signed twice": lambda head, text: maker.sign({**head, "cty": "JWT"}, maker.sign(head, text).encode()),
        "flattened JSON": in_json,
        "flattened JSON as text": lambda head, text: json.dumps(in_json(head, text)),
        "general JSON": lambda head, text: in_json(head, text, flat=False),
        "general JSON as text": lambda head, text: json.dumps(in_json(head, text, flat=False)),
        "a detached payload": lambda head, text: jws.detach_content(maker.sign(head, text)),
        "an unencoded payload": unencoded,
        "padding in each part": padded,
        "a line end inside": lambda head, text: maker.sign(head, text).replace(".", ".\n", 1),
        "a word before it": lambda head, text: f"Bearer {maker.sign(head, text)}",
        "a list of one": lambda head, text: [maker.sign(head, text)],
    }


OTHER_FORMS = {
    "encrypted to the gateway's key": "id_token.encrypted", "encrypted by the client secret": "id_token.encrypted",
    "signed twice": "id_token.malformed", "flattened JSON": "openid.id_token_missing",
    "flattened JSON as text": "id_token.malformed", "general JSON": "openid.id_token_missing",
    "general JSON as text": "id_token.malformed", "a detached payload": "id_token.malformed",
    "an unencoded payload": "id_token.malformed", "padding in each part": "id_token.malformed",
    "a line end inside": "id_token.malformed", "a word before it": "id_token.malformed",
    "a list of one": "openid.id_token_missing",
}


@pytest.mark.parametrize("name", OTHER_FORMS)
def test_other_serializations_are_rejected(name, own_gateway, makers, provider_server):
    """OpenID Connect Core §3.1.3.3, RFC 7515 §7.1: real JWE, JSON serializations and RFC 7797, made by joserfc."""
    maker = makers["joserfc", "ES256"]
    made = other_forms(maker, own_gateway)
    assert list(made) == list(OTHER_FORMS)
    Attempt(own_gateway, provider_server, "jose", "ES256", {"kid": maker.jwk["kid"]}, made[name]).assert_rejected(
        OTHER_FORMS[name]
    )
    Attempt(own_gateway, provider_server, "jose", "ES256", {"kid": maker.jwk["kid"]}, maker.sign).assert_signed_in()
