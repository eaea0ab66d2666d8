# SPDX-License-Identifier: Apache-2.0
"""ID tokens, userinfo, keys and discovery of a hostile provider: no session (T-06, T-30 to T-44, A-45)."""

import json
import threading
import time

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from support.browser import Browser
from support.gateway import Gateway, oidc
from support.processes import eventually
from support.provider import SHARED_KEYS, silent_port
from support.raw import Wire, request
from support.tokens import Key, b64, now, token
from support.upstream import Upstream

RSA, EC, ED = SHARED_KEYS


def attempt(gateway, provider="mock"):
    """One sign-in; returns the browser and the response to its callback."""
    browser = Browser(gateway)
    landing = browser.authorize(browser.begin(provider))
    return browser, browser.send("GET", landing)


def assert_rejected(gateway, realm, provider="mock"):
    """There is no session, and userinfo was not called."""
    browser, response = attempt(gateway, provider)
    assert response.status == 502, response
    assert browser.ticket() is None, browser.set_cookies
    assert realm.count("userinfo") == 0
    return response


def changed(**more):
    """The valid claims with some changed; None removes one."""
    return lambda claims, realm: token(
        realm.key, {name: value
                    for name, value in {**claims, **more}.items() if value is not None}
    )


def text(change):
    """The valid claims as text, changed as text."""
    return lambda claims, realm: token(realm.key, change(json.dumps(claims)))


def head(header, **more):
    return lambda claims, realm: token(realm.key, claims, header, **more)


def unsigned(algorithm, signature=b""):
    return lambda claims, realm: token(realm.key, claims, {"alg": algorithm}, signature=signature)


def ec(signature):
    return lambda claims, realm: token(EC, claims, signature=signature)


CLAIMS = {
    "issuer of another": dict(iss="https://evil.example"), "issuer with a slash": "slash",
    "no issuer": dict(iss=None), "issuer as a list": "list", "audience of another": dict(aud="another"), "no audience":
        dict(aud=None), "empty audience": dict(aud=[]), "audience as a number": dict(aud=1), "audience with a stranger":
            dict(aud=["gatehouse", "x"]), "audience list of numbers": dict(aud=[1, 2]), "audience object":
                dict(aud={"gatehouse": 1}), "audience case": dict(aud="Gatehouse"), "azp of another":
                    dict(azp="another"), "azp number": dict(azp=1), "expired": dict(exp=1_000_000), "expired a little":
                        "late", "exp text": dict(exp="9999999999"), "exp huge": dict(exp=1e300), "exp negative":
                            dict(exp=-1), "no exp": dict(exp=None), "exp null text": dict(exp=True), "exp list":
                                dict(exp=[9999999999]), "nbf future": dict(nbf=99_999_999_999), "nbf text":
                                    dict(nbf="1"), "iat future": dict(iat=99_999_999_999), "iat old": "old", "no iat":
                                        dict(iat=None),
    "iat text": dict(iat="1"), "no nonce": dict(nonce=None), "nonce of another": dict(nonce="x"), "nonce number":
        dict(nonce=1), "nonce empty": dict(nonce=""), "no sub": dict(sub=None), "sub empty": dict(sub=""), "sub number":
            dict(sub=1), "sub too long": dict(sub="x" * 256), "sub with a line end": dict(sub="a\r\nb"), "sub with NUL":
                dict(sub="a\x00b"), "sub object": dict(sub={}), "at_hash of another":
                    dict(at_hash="AAAAAAAAAAAAAAAAAAAAAA"), "at_hash number": dict(at_hash=1),
}


def make(name, row):
    if row == "slash":
        return lambda claims, realm: token(realm.key, {**claims, "iss": claims["iss"] + "/"})
    if row == "list":
        return lambda claims, realm: token(realm.key, {**claims, "iss": [claims["iss"]]})
    if row == "late":
        return lambda claims, realm: token(realm.key, {**claims, "exp": now() - 120})
    if row == "old":
        return lambda claims, realm: token(realm.key, {**claims, "iat": now() - 7200, "exp": now() + 300})
    return changed(**row)


@pytest.mark.parametrize("name", CLAIMS)
def test_an_id_token_with_an_invalid_claim_is_rejected(name, gateway, realm):
    """T-06 T-38 T-39, OIDC Core §3.1.3.7, conformance rp-id_token-*: no session, no userinfo request."""
    realm.make = make(name, CLAIMS[name])
    if name in ("sub with a line end", "sub with NUL"):
        # Subjects are checked with the whole profile, after userinfo has been called.
        browser, response = attempt(gateway)
        assert response.status == 502 and browser.ticket() is None, response
    else:
        assert_rejected(gateway, realm)


FORMS = {
    "T-30 none":
        unsigned("none"), "T-30 None":
            unsigned("None"), "T-30 nOnE":
                unsigned("nOnE"), "T-30 NONE":
                    unsigned("NONE"), "T-30 none with a signature":
                        unsigned("none", b"x"), "T-30 empty signature":
                            head({}, signature=b""), "T-30 no alg":
                                lambda c, r: token(r.key, c, json.dumps({"kid": "rsa"})), "T-30 alg null":
                                    head({"alg": None}), "T-30 alg number":
                                        head({"alg": 256}), "T-30 alg list":
                                            head({"alg": ["RS256"]}), "T-30 alg in small letters":
                                                head({"alg": "rs256"}), "T-31 HS256 with the public key":
                                                    head({"alg": "HS256"}, algorithm="HS256"),
    "T-31 HS256 by the right kid":
        lambda c, r: token(r.key, c, {"alg": "HS256"}, signature=r.key.sign(b"x", "HS256")), "T-31 ES256 by an RSA key":
            head({"alg": "ES256"}), "T-31 RS256 by an EC key":
                lambda c, r: token(EC, c, {"alg": "RS256"}), "T-31 RS512":
                    head({"alg": "RS512"}), "T-31 PS256 header over RS256":
                        head({"alg": "PS256"}), "T-31 kid of another type":
                            head({"kid": "ec"}), "T-31 EdDSA by EC":
                                lambda c, r: token(EC, c, {"alg": "EdDSA"}), "T-32 zero r and s":
                                    ec(b"\0" * 64), "T-32 short":
                                        ec(b"\0" * 63), "T-32 long":
                                            ec(b"\1" * 65), "T-32 empty":
                                                ec(b""),
    "T-32 DER":
        lambda c, r: (lambda t: t.rsplit(".", 1)[0] + "." + b64(EC.sign_der(t.rsplit(".", 1)[0].encode())))
        (token(EC, c)), "T-32 r = order":
            ec(bytes.fromhex("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551") * 2),
    "T-34 kid unknown":
        head({"kid": "unknown"}), "T-34 kid path":
            head({"kid": "../../etc/passwd"}), "T-34 kid SQL":
                head({"kid": "' OR 1=1 --"}), "T-34 kid of 10 kB":
                    head({"kid": "k" * 10_000}), "T-34 kid number":
                        head({"kid": 1}), "T-34 kid address":
                            head({"kid": "http://127.0.0.1:1/key"}), "T-36 crit":
                                head({"crit": ["exp"]}), "T-36 crit empty":
                                    head({"crit": []}), "T-36 b64":
                                        head({"crit": ["b64"], "b64": False}), "T-36 b64 alone":
                                            head({"b64": False}), "T-37 iss twice":
                                                text(lambda t: t[:-1] + ', "iss": "https://evil.example"}'),
    "T-37 sub twice":
        text(lambda t: '{"sub": "root", ' + t[1:]), "T-37 header twice":
            lambda c, r: token(r.key, c, '{"alg":"RS256","alg":"none","kid":"rsa"}'), "T-37 escaped twice":
                text(lambda t: '{"\\u0073ub": "root", ' + t[1:]), "T-38 exp NaN":
                    text(lambda t: t.replace('"exp": ', '"exp": NaN, "x": ')), "T-38 exp 1e400":
                        text(lambda t: t.replace('"exp": ', '"exp": 1e400, "x": ')), "T-40 over 64 KiB":
                            changed(padding="x" * 70_000), "T-40 four dots":
                                lambda c, r: token(r.key, c) + "..", "T-40 many dots":
                                    lambda c, r: "." * 10_000, "T-40 two parts":
                                        lambda c, r: token(r.key, c).rsplit(".", 1)[0], "T-40 padding":
                                            lambda c, r: token(r.key, c) + "=", "T-40 white space":
                                                lambda c, r: token(r.key, c) + "\n", "T-40 space first":
                                                    lambda c, r: " " + token(r.key, c),
    "T-40 plus for minus":
        lambda c, r: token(r.key, c).replace("-", "+").replace("_", "/") + "+", "T-40 empty":
            lambda c, r: "", "T-40 words":
                lambda c, r: "a.b.c", "T-40 last bits":
                    lambda c, r: last_bits(token(r.key, c)), "T-41 JWE":
                        lambda c, r: token(r.key, c) + ".AAAA.AAAA", "T-41 enc":
                            head({"enc": "A256GCM", "alg": "RSA1_5"}), "T-41 zip":
                                head({"zip": "DEF"}), "T-41 PBES2":
                                    head({"alg": "PBES2-HS256+A128KW", "p2c": 2_000_000_000}), "T-41 nested":
                                        head({"cty": "JWT", "alg": "dir", "enc": "A256GCM"}), "T-44 list":
                                            lambda c, r: token(r.key, json.dumps([c])), "T-44 text":
                                                lambda c, r: token(r.key, json.dumps("ada")), "T-44 number":
                                                    lambda c, r: token(r.key, "1"), "T-44 null":
                                                        lambda c, r: token(r.key, "null"), "T-44 empty":
                                                            lambda c, r: token(r.key, ""), "T-44 not JSON":
                                                                lambda c, r: token(r.key, "{'sub': 'ada'}"),
    "T-44 two objects":
        text(lambda t: t + t), "T-44 trailing comma":
            text(lambda t: t[:-1] + ",}"), "T-44 deep":
                text(lambda t: t[:-1] + ', "x": ' + "[" * 5000 + "]" * 5000 + "}"), "T-44 header list":
                    lambda c, r: token(r.key, c, "[]"), "T-44 not UTF-8":
                        lambda c, r: token(r.key,
                                           json.dumps(c).encode()[:-1] + b', "x": "\xff"}'), "bad signature":
                                               lambda c, r: flip(token(r.key, c)), "claims changed after signing":
                                                   lambda c, r: swapped(r.key, c), "signed by a stranger":
                                                       lambda c, r: token(Key("rsa"), c),
    "signed by a stranger without kid":
        lambda c, r: token(Key("rsa"), c, '{"alg":"RS256"}'),
}


def flip(text):
    return text[:-5] + ("A" if text[-5] != "A" else "B") + text[-4:]


def last_bits(text):
    """Another spelling of the same signature: bits that base64url does not use are set."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return text[:-1] + alphabet[alphabet.index(text[-1]) ^ 1]


def swapped(key, claims):
    header, _, signature = token(key, claims).split(".")
    return f"{header}.{b64(json.dumps({**claims, 'sub': 'root'}))}.{signature}"


@pytest.mark.parametrize("name", FORMS)
def test_a_malformed_token_is_rejected(name, gateway, realm):
    """T-30 to T-44: the form is checked before any claim."""
    realm.make = FORMS[name]
    assert_rejected(gateway, realm)


@pytest.mark.parametrize("header", ["jku", "x5u", "jwk", "x5c"])
def test_a_key_from_the_token_is_neither_used_nor_fetched(header, gateway, realm, provider_server):
    """T-35: keys and URLs in the header are ignored."""
    thief = Key("thief")
    strays = len(provider_server.strays)
    value = {
        "jku": f"{provider_server.origin}/stray/jwks", "x5u": f"{provider_server.origin}/stray/cert", "jwk": thief.jwk,
        "x5c": ["AAAA"],
    }[header]
    realm.make = lambda claims, realm: token(thief, claims, {"kid": "rsa", header: value})
    assert_rejected(gateway, realm)
    realm.make = lambda claims, realm: token(realm.key, claims, {header: value})
    browser, response = attempt(gateway)
    assert response.status == 303
    assert len(provider_server.strays) == strays


@pytest.mark.parametrize("key", SHARED_KEYS, ids=lambda key: key.kind)
def test_a_valid_token_signs_in(key, gateway, realm):
    """Conformance rp-id_token-sig-*: RS256, ES256, EdDSA."""
    realm.key = key
    browser, response = attempt(gateway)
    assert response.status == 303 and browser.ticket()


@pytest.mark.parametrize(
    "change", [
        dict(aud=["gatehouse"]),
        dict(azp="gatehouse", aud=["gatehouse"]),
        dict(nbf=0),
        dict(extra={"a": [1, 2, {"b": None}]}),
        dict(exp=now() + 299.5),
        dict(at_hash=None),
        dict(iat=now() - 30.25),
        dict(_claim_sources={"src1": {"endpoint": "http://127.0.0.1:1/"}}),
    ],
)
def test_what_the_standard_allows_is_accepted(change, gateway, realm):
    """OIDC Core §3.1.3.7, RFC 7519: audience as a list of one, fractions, unknown claims, no at_hash."""
    realm.make = changed(**change)
    browser, response = attempt(gateway)
    assert response.status == 303 and browser.ticket(), response


@pytest.mark.parametrize(
    "userinfo", [{"sub": "eve"}, {"sub": "ada "}, {"sub": "ADA"}, {"sub": ""}], ids=lambda value: repr(value)[:40]
)
def test_userinfo_about_another_user_is_rejected(userinfo, gateway, realm):
    """OIDC Core §5.3.2: the subject must be the same."""
    realm.user = {"sub": "ada"}
    realm.userinfo = lambda user: userinfo
    browser, response = attempt(gateway)
    assert response.status == 502 and browser.ticket() is None
    assert realm.count("userinfo") == 1


@pytest.mark.parametrize(
    "userinfo", [
        {"name": "Eve"}, {"sub": None, "name": "Eve"}, {"sub": ["ada"], "name": "Eve"}, [{"sub": "ada", "name": "Eve"}],
        b"not json", b"", b'{"sub":"ada","sub":"eve"}', b'{"sub":"ada","name":"Eve","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"sub":"ada","name":"Eve","x":"' + b"x" * 300_000 + b'"}',
    ],
    ids=lambda value: repr(value)[:40],
)
def test_g_10_userinfo_about_no_user_gives_no_claims(userinfo, gateway, realm):
    """A-45 A-47: size, depth and form are bounded; the ID token has named the user, so the sign-in goes on."""
    realm.user = {"sub": "ada"}
    realm.userinfo = lambda user: userinfo
    browser, response = attempt(gateway)
    assert response.status == 303 and browser.ticket()
    assert realm.count("userinfo") == 1
    profile = browser.send("GET", "/oauth2/userinfo").json
    assert profile["user"] == "mock:ada" and "name" not in profile


def test_claims_of_the_id_token_win(gateway, realm, app):
    """OIDC Core §5.3: userinfo fills gaps; it does not overrule what is signed."""
    realm.userinfo = lambda user: {
        "sub": "ada", "email": "root@example.com", "email_verified": True, "preferred_username": "ada.l",
    }
    browser = Browser(gateway)
    browser.sign_in("mock", "/signed-wins")
    assert app.seen("/signed-wins")[-1].get("X-Forwarded-Email") == "ada@example.com"


TOKEN_RESPONSES = {
    "no id_token": lambda a: {k: v
                              for k, v in a.items()
                              if k != "id_token"}, "id_token null": lambda a: {**a, "id_token": None},
    "id_token number": lambda a: {**a, "id_token": 1}, "id_token list": lambda a: {**a, "id_token": [a["id_token"]]},
    "no access_token": lambda a: {k: v
                                  for k, v in a.items()
                                  if k != "access_token"}, "token type mac": lambda a: {**a, "token_type": "mac"},
    "list": lambda a: [a], "not JSON": lambda a: b"<html>", "empty": lambda a: b"",
    "doubled": lambda a: json.dumps(a).encode()[:-1] + b',"id_token":"x"}', "huge": lambda a: {**a, "x": "y" * 300_000},
    "deep": lambda a: json.dumps(a).encode()[:-1] + b',"x":' + b"[" * 50_000 + b"]" * 50_000 + b"}",
    "access_token with a line end": lambda a: {**a, "access_token": "a\r\nX-Evil: 1"},
    "error in 200": lambda a: {"error": "invalid_grant"},
}


@pytest.mark.parametrize("name", TOKEN_RESPONSES)
def test_a_malformed_token_response_is_rejected(name, gateway, realm):
    """A-45 A-47 K-10: form, size and depth of the token response."""
    realm.token_response = TOKEN_RESPONSES[name]
    browser, response = attempt(gateway)
    # An OAuth error in a response with status 200 is still the provider's denial of the code.
    assert response.status == (400 if name == "error in 200" else 502), response
    assert browser.ticket() is None


CANNED = {
    "500": (500, {}, b"oops"), "html": (200, {"Content-Type": "text/html"}, b"<html>"), "429":
        (429, {"Retry-After": "9"}, b""), "invalid_grant":
            (400, {"Content-Type": "application/json"}, b'{"error":"invalid_grant","error_description":"<b>x"}',
            ), "gzip": (200, {"Content-Type": "application/json", "Content-Encoding": "gzip"}, b"\x1f\x8b" + b"x" * 50),
    "204": (204, {}, b""),
}


@pytest.mark.parametrize("path", ["token", "userinfo"])
@pytest.mark.parametrize("name", CANNED)
def test_a_failing_endpoint_is_a_502_page(name, path, gateway, realm):
    """The page names the provider's failure; there is no session."""
    realm.user = {"sub": "ada"}
    realm.documents[path] = CANNED[name]
    browser, response = attempt(gateway)
    if path == "userinfo":
        # W-11, G-10: it has no claims, so they are unknown.
        assert response.status == 303 and browser.ticket()
        return
    assert response.status == (400 if (path, name) == ("token", "invalid_grant") else 502), response
    assert browser.ticket() is None
    assert "oops" not in response.text and "<b>" not in response.text


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("path", ["token", "userinfo"])
def test_redirects_of_an_endpoint_are_not_followed(path, status, gateway, realm, provider_server):
    """P-03 T-53 PyJWT CVE-2026-102267: nothing is sent to the place a redirect names."""
    realm.user = {"sub": "ada"}
    strays = len(provider_server.strays)
    realm.documents[path] = (status, {"Location": f"{provider_server.origin}/stray/{path}"}, b"")
    browser, response = attempt(gateway)
    if path == "userinfo":
        # G-10: without claims the sign-in goes on.
        assert response.status == 303 and browser.ticket()
    else:
        assert response.status == 502 and browser.ticket() is None
    assert len(provider_server.strays) == strays


# Failures of discovery and keys: each with its own provider, since documents are cached.

weak = rsa.generate_private_key(65537, 1024)
odd_exponent = {**RSA.jwk, "e": "Aw"}
off_curve = {**EC.jwk, "y": EC.jwk["x"]}


def jwks(*keys):
    return lambda realm: setattr(realm, "keys", list(keys))


def metadata(**more):
    return lambda realm: realm.metadata.update(more)


def canned(path, *response):
    return lambda realm: realm.documents.update({path: response})


DISCOVERY = ".well-known/openid-configuration"
JSON_TYPE = {"Content-Type": "application/json"}
WORLD = {
    "t33-rsa-1024": jwks(Key("rsa", private=weak)), "t33-exponent-3": jwks(odd_exponent), "t33-off-curve":
        jwks(off_curve), "t34-two-keys-one-kid": jwks(Key("rsa"), Key("rsa")), "t31-alg-of-the-key":
            jwks({**RSA.jwk, "alg": "PS256"}), "use-enc": jwks({**RSA.jwk, "use": "enc"}), "oct":
                jwks({"kty": "oct", "k": "AAAA", "kid": "rsa", "alg": "HS256"}), "no-keys": jwks(), "jwks-not-json":
                    canned("jwks", 200, JSON_TYPE,
                           b"x"), "jwks-list": canned("jwks", 200, JSON_TYPE, b"[]"), "jwks-deep":
                               canned("jwks", 200, JSON_TYPE, b'{"keys":' + b"[" * 100_000), "jwks-500":
                                   canned("jwks", 500, {}, b""), "jwks-huge":
                                       canned("jwks", 200, JSON_TYPE, b'{"keys":[],"x":"' + b"y" * 600_000 + b'"}'),
    "jwks-redirect": canned("jwks", 302, {"Location": "/stray/jwks"}, b""), "discovery-redirect":
        canned(DISCOVERY, 302, {"Location": "/stray/discovery"}, b""), "discovery-404": canned(DISCOVERY, 404, {}, b""),
    "discovery-not-json": canned(DISCOVERY, 200, JSON_TYPE, b"<html>"), "discovery-huge":
        canned(DISCOVERY, 200, JSON_TYPE, b'{"x":"' + b"y" * 300_000 + b'"}'), "discovery-deep":
            canned(DISCOVERY, 200, JSON_TYPE, b"[" * 100_000), "issuer-of-another":
                metadata(issuer="https://evil.example"
                        ), "issuer-slash": lambda realm: realm.metadata.update(issuer=realm.issuer + "/"), "no-issuer":
                            metadata(issuer=None), "plain-token-endpoint":
                                metadata(token_endpoint="http://evil.example/token"), "no-token-endpoint":
                                    metadata(token_endpoint=None), "token-endpoint-file":
                                        metadata(token_endpoint="file:///etc/passwd"), "no-jwks-uri":
                                            metadata(jwks_uri=None), "only-plain-pkce":
                                                metadata(code_challenge_methods_supported=["plain"]), "iss-missing":
                                                    metadata(authorization_response_iss_parameter_supported=True),
}
GOOD = {
    "kid-absent":
        lambda realm: (jwks(RSA)(realm), setattr(realm, "make", lambda c, r: token(RSA, c, '{"alg":"RS256"}')),
                      ), "more-keys":
                          jwks(
                              {"kty": "oct", "k": "AAAA", "kid": "x"}, {"kty": "future"}, off_curve,
                              Key("rsa", private=weak), {**RSA.jwk, "kid": "rsa"},
                          ), "secret-post":
                              metadata(token_endpoint_auth_methods_supported=["client_secret_post"]),
    "end-session":
        lambda realm: realm.metadata.update(end_session_endpoint=f"{realm.issuer}/logout?x=1"), "pkce-s256":
            metadata(code_challenge_methods_supported=["S256", "plain"]),
}


@pytest.fixture(scope="module")
def world(tmp_path_factory, provider_server):
    """A gateway with a provider for each failure, a silent one and one that rotates keys."""
    app = Upstream()
    sock, port = silent_port()
    names = [*WORLD, *GOOD, "rotating", "counting"]
    providers = {name: oidc(provider_server.realm(name).issuer) for name in names}
    providers["silent"] = oidc(f"http://127.0.0.1:{port}")
    providers["refusing"] = oidc("http://127.0.0.1:9")
    apps = {"echo": {"path": "/", "upstream": app.address, "allow": "signed_in"}}
    with Gateway(tmp_path_factory.mktemp("world"), providers, apps) as gateway:
        yield gateway
    app.close()
    sock.close()


@pytest.mark.parametrize("name", WORLD)
def test_a_sign_in_with_a_faulty_provider_fails(name, world, provider_server):
    """T-11 T-15 T-33 T-34 T-53 T-54 A-45 A-47, conformance rp-discovery-*: keys and metadata are checked strictly."""
    realm = provider_server.realm(name)
    realm.reset()
    WORLD[name](realm)
    strays = len(provider_server.strays)
    browser = Browser(world)
    response = browser.visit(f"/oauth2/start/{name}", stop=lambda url: url.startswith(realm.issuer))
    if response.status == 303:
        response = browser.send("GET", browser.authorize(response.next))
    assert response.status == (400 if name == "iss-missing" else 502), response
    assert browser.ticket() is None
    assert len(provider_server.strays) == strays, "a redirect was followed"
    assert realm.count("userinfo") == 0


@pytest.mark.parametrize("name", GOOD)
def test_a_correct_but_unusual_provider_signs_in(name, world, provider_server):
    """Conformance rp-id_token-kid-absent-single-jwks, rp-token_endpoint-client_secret_post; odd keys are skipped."""
    realm = provider_server.realm(name)
    realm.reset()
    GOOD[name](realm)
    browser, response = attempt(world, name)
    assert response.status == 303 and browser.ticket(), response
    if name == "secret-post":
        sent = next(one for one in realm.requests if one["path"] == "token")
        assert sent["form"]["client_secret"] == "client secret+/%" and "Authorization" not in sent["fields"]


def test_a_rotated_key_is_fetched_once(world, provider_server):
    """T-50, conformance rp-key-rotation-op-sign-key: an unknown kid leads to one fetch; many of them to no more."""
    realm = provider_server.realm("rotating")
    realm.reset()
    assert attempt(world, "rotating")[1].status == 303
    fetched = realm.count("jwks")
    fresh = Key("fresh")
    realm.keys = [*SHARED_KEYS, fresh]
    realm.key = fresh
    browser, response = attempt(world, "rotating")
    assert response.status == 303 and browser.ticket(), response
    assert realm.count("jwks") == fetched + 1
    for index in range(20):
        realm.make = lambda claims, realm: token(fresh, claims, {"kid": f"random-{index}"})
        assert attempt(world, "rotating")[1].status == 502
    assert realm.count("jwks") == fetched + 1


def test_many_sign_ins_fetch_discovery_and_keys_once(world, provider_server):
    """K-06 T-50: single flight."""
    realm = provider_server.realm("counting")
    realm.reset()
    results = []
    threads = [threading.Thread(target=lambda: results.append(attempt(world, "counting")[1].status)) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [303] * 16
    assert realm.count(DISCOVERY) == 1 and realm.count("jwks") == 1


def test_a_silent_provider_does_not_disturb_others(world, provider_server):
    """R-40 R-42: calls to a provider that never responds time out, and the others work meanwhile."""
    began = time.monotonic()
    ended = []

    def wait():
        response = Browser(world).send("GET", "/oauth2/start/silent")
        ended.append((response.status, time.monotonic() - began))

    threads = [threading.Thread(target=wait) for _ in range(4)]
    for thread in threads:
        thread.start()
    realm = provider_server.realm("kid-absent")
    for _ in range(5):
        assert Browser(world).send("GET", "/oauth2/start/secret-post").status == 303
    assert not ended and realm is not None
    assert Browser(world).send("GET", "/oauth2/start/refusing").status == 502
    for thread in threads:
        thread.join()
    assert len(ended) == 4 and all(status == 502 and seconds < 13 for status, seconds in ended), ended


def test_a_client_that_disconnects_during_a_sign_in_does_no_harm(world, provider_server):
    """A-37 K-11: the browser disconnects before the provider responds."""
    wires = [Wire(world.port) for _ in range(20)]
    for wire in wires:
        wire.send(b"GET /oauth2/start/silent HTTP/1.1\r\nHost: gate.localhost\r\nAccept: text/html\r\n\r\n")
    for wire in wires:
        wire.close()
    eventually(lambda: world.metric("gatehouse_requests_in_flight") == 0, "the cancelled requests have ended", 15)
    assert Browser(world).send("GET", "/oauth2/sign_in").status == 200


@pytest.mark.parametrize("path", ["token", "userinfo"])
def test_a_client_that_disconnects_while_its_code_is_redeemed_does_no_harm(path, gateway, realm):
    """A-37 K-11: the provider responds after the browser has disconnected; nothing leaks."""
    realm.user = {"sub": "ada"}
    realm.holds[path] = threading.Event()
    browser = Browser(gateway)
    landing = browser.authorize(browser.begin("mock"))
    name, value = next((n, v) for n, v in browser.cookies[gateway.host].items() if "attempt" in n)
    parts = landing.split("/", 3)
    wire = Wire(gateway.port)
    wire.send(f"GET /{parts[3]} HTTP/1.1\r\nHost: {gateway.host}\r\nCookie: {name}={value}\r\n\r\n".encode())
    eventually(lambda: realm.count(path) == 1, f"the gateway asks for {path}")
    wire.close()
    realm.holds[path].set()
    eventually(lambda: gateway.metric("gatehouse_requests_in_flight") == 0, "the request is gone")
    assert Browser(gateway).sign_in("mock").status == 200


def test_a_sign_out_goes_on_to_the_provider(world, provider_server):
    """OpenID RP-Initiated Logout §2: the session here ends first, then the browser is sent on to the provider."""
    realm = provider_server.realm("end-session")
    realm.reset()
    GOOD["end-session"](realm)
    browser, response = attempt(world, "end-session")
    ticket = browser.ticket()
    assert response.status == 303 and ticket
    response = browser.sign_out()
    location = response.get("location")
    assert response.status == 303 and location.startswith(f"{realm.issuer}/logout?x=1&"), location
    assert "id_token_hint=" in location and "post_logout_redirect_uri=" in location and browser.ticket() is None
    assert request(world.port, "/x", fields=[("Cookie", f"gatehouse={ticket}")]).status == 401
