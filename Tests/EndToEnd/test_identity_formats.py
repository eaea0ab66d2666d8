# SPDX-License-Identifier: Apache-2.0
"""The identity as other apps expect it: presets, encodings, Authorization, and the signature over the headers."""

import base64
import quopri
import re
from email.header import decode_header
from urllib.parse import unquote

import jwt
import pytest
import requests
from cryptography.hazmat.primitives.asymmetric import ec
from http_message_signatures import HTTPMessageVerifier, HTTPSignatureKeyResolver, InvalidSignature, algorithms
from http_message_signatures.exceptions import HTTPMessageSignaturesException

from support.browser import Browser
from support.gateway import Gateway, oidc
from support.raw import request
from support.upstream import Upstream

NAME = "Zoë 🦊 李"
#: In the order in which profiles have them.
GROUPS = ["a,b|c", "ops", "Ärzte"]

#: What apps of each preset read, and the field of the profile that it is.
PRESETS = {
    "grafana":
        {
            "X-WEBAUTH-USER": "user", "X-WEBAUTH-EMAIL": "email", "X-WEBAUTH-NAME": "name", "X-WEBAUTH-GROUPS": "groups"
        },
    "jenkins": {"X-Forwarded-Mail": "email", "X-Forwarded-DisplayName": "name"},
    "kibana": {"X-Proxy-User": "user", "X-Proxy-Roles": "groups"},
    "pomerium":
        {
            "X-Pomerium-Jwt-Assertion": "assertion", "X-Pomerium-Claim-Email": "email", "X-Pomerium-Claim-User": "user",
            "X-Pomerium-Claim-Groups": "groups", "X-Pomerium-Claim-Name": "name",
        },
    "iap":
        {
            "X-Goog-Authenticated-User-Email": "google:email", "X-Goog-Authenticated-User-Id": "google:user",
            "X-Goog-IAP-JWT-Assertion": "assertion",
        },
    "cloudflare": {"Cf-Access-Authenticated-User-Email": "email", "Cf-Access-Jwt-Assertion": "assertion"},
    "remote-user": {"Remote-User": "user", "Remote-Email": "email", "Remote-Name": "name", "Remote-Groups": "groups"},
}
#: By other programs' decoders.
DECODERS = {
    "percent": lambda value: unquote(value, errors="strict"),
    "plain": lambda value: value,
    "base64url": lambda value: base64.urlsafe_b64decode(value + "=" * (-len(value) % 4)).decode(),
    "quoted_printable": lambda value: quopri.decodestring(value.encode("latin-1")).decode(),
    "rfc2047": lambda value: "".join(
        part.decode(charset or "ascii") if isinstance(part, bytes) else part for part, charset in decode_header(value)
    ),
    "rfc8187": lambda value: unquote(value.removeprefix("UTF-8''"), errors="strict"),
}


def app(address, name, **more):
    return {"path": f"/{name}", "upstream": address, "allow": "signed_in", "public": [f"/{name}/public/"], **more}


class Formats(Gateway):
    """An app for each preset and each encoding, and some with Authorization or a signature."""
    def __init__(self, folder, provider):
        self.app = Upstream()
        address = self.app.address
        apps = {name: app(address, name, identity={"preset": name}) for name in PRESETS}
        for name in DECODERS:
            apps[f"in-{name.replace('_', '-')}"] = app(
                address, f"in-{name}", identity={"encoding": name}, headers={"X-App-Name": "name"}
            )
        basic = {"username": "gate", "password": "${env:TEST_GATEWAY_SECRET}"}
        apps |= {
            "few": app(address, "few", identity={"fields": ["user"]}),
            "bearer": app(address, "bearer", identity={"authorization": "assertion"}),
            "basic": app(address, "basic", identity={"basic": basic}),
            "plain": app(address, "plain"),
            "small": app(address, "small", identity={"max_bytes": "1KiB"}),
            "signed": app(address, "signed", identity={"signature": "headers"}),
            "each":
                app(
                    address, "each", identity={"signature": "request", "authorization": "assertion"}, strip_prefix=True
                ),
        }
        super().__init__(folder, {"mock": oidc(provider.realm("mock").issuer)}, apps)
        self.configuration["providers"]["mock"]["profile"] = {"groups": ["id_token:/groups"]}


@pytest.fixture(scope="module")
def formats(tmp_path_factory, provider_server):
    with Formats(tmp_path_factory.mktemp("formats"), provider_server) as gateway:
        yield gateway
    gateway.app.close()


@pytest.fixture(scope="module")
def cookie(formats, provider_server):
    with provider_server.realm("mock").fresh() as realm:
        realm.user = {**realm.user, "name": NAME, "groups": GROUPS}
        browser = Browser(formats)
        assert browser.sign_in("mock", "/plain/").status == 200
    return f"gatehouse={browser.ticket()}"


@pytest.fixture
def seen(formats, cookie):
    """What the app gets of a request."""
    def ask(path, *fields, method="GET", signed_in=True):
        fields = [*fields, *([("Cookie", cookie)] if signed_in else [])]
        response = request(formats.port, path, method=method, fields=fields)
        assert response.status == 200, response
        return formats.app.seen(path.removeprefix("/each"))[-1]

    return ask


def profile(seen):
    """What the headers of a preset have to hold."""
    return {"user": "mock:ada", "email": "ada@example.com", "name": NAME, "assertion": seen.get("X-Gatehouse-Assertion")}


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_has_the_headers_of_its_app(preset, seen):
    found = seen(f"/{preset}/page", *((name, "evil") for name in PRESETS[preset]))
    decode = DECODERS["quoted_printable" if preset == "grafana" else "percent"]
    for name, field in PRESETS[preset].items():
        values = found.all(name)
        assert len(values) == 1 and "evil" not in values[0]
        if field.startswith("google:"):
            assert values == ["accounts.google.com:" + profile(found)[field.removeprefix("google:")]]
        elif field != "groups":
            assert decode(values[0]) == profile(found)[field]
        elif preset == "grafana":
            assert decode(values[0]).split(",") == ["ops", "Ärzte"], "Grafana decodes the list before it splits it"
        else:
            assert [decode(group) for group in values[0].split(",")] == GROUPS
    if preset == "jenkins":
        assert [decode(group) for group in found.get("X-Forwarded-Groups").split("|")] == GROUPS


@pytest.mark.parametrize("encoding", DECODERS)
def test_other_programs_decode_each_encoding(encoding, seen):
    found = seen(f"/in-{encoding}/page")
    decode = DECODERS[encoding]
    assert decode(found.get("X-Forwarded-User")) == "mock:ada"
    assert decode(found.get("X-Forwarded-Email")) == "ada@example.com"
    for name in ("X-Forwarded-Name", "X-App-Name"):
        assert decode(found.get(name)) == ("Zoë" if encoding == "plain" else NAME)
    groups = found.get("X-Forwarded-Groups")
    if encoding in ("percent", "base64url"):
        assert [decode(group) for group in groups.split(",")] == GROUPS
    else:
        assert decode(groups).split(",") == ["ops", "Ärzte"]


def test_only_the_chosen_fields_are_sent(seen):
    found = seen("/few/page")
    assert found.get("X-Forwarded-User") == "mock:ada" and found.get("X-Gatehouse-Assertion")
    for name in ("Email", "Name", "Preferred-Username", "Groups", "Provider"):
        assert not found.all(f"X-Forwarded-{name}")


def test_the_assertion_can_be_a_bearer_token(seen):
    found = seen("/bearer/page", ("authorization", "Basic evil"))
    assert found.all("Authorization") == [f"Bearer {found.get('X-Gatehouse-Assertion')}"]
    assert not seen("/bearer/public/page", ("Authorization", "Bearer evil"), signed_in=False).all("Authorization")
    assert seen("/plain/own", ("Authorization", "Basic own")).all("Authorization") == ["Basic own"], "of the app itself"


def test_an_app_can_get_a_fixed_credential(seen, formats):
    found = seen("/basic/page", ("Authorization", "Basic evil"))
    kind, _, credential = found.get("Authorization").partition(" ")
    name, _, password = base64.b64decode(credential).decode().partition(":")
    assert (kind, name, len(found.all("Authorization"))) == ("Basic", "gate", 1) and len(password) >= 32
    assert not seen("/basic/public/page", signed_in=False).all("Authorization")


def test_headers_over_the_budget_are_not_sent_in_part(formats, provider_server):
    with provider_server.realm("mock").fresh() as realm:
        realm.user = {**realm.user, "sub": "many", "groups": [f"group-{number:04}" for number in range(200)]}
        browser = Browser(formats)
        assert browser.sign_in("mock", "/plain/").status == 200
        response = browser.send("GET", "/small/many")
    assert response.status == 500 and not formats.app.seen("/small/many")
    assert "identity.too_large" in formats.log and "identity.max_bytes" in formats.log


# What an app sees, for a verifier that knows nothing of the gateway.


class Message:
    """A request as the app received it."""
    def __init__(self, seen, authority):
        line, *lines = seen.head.decode("latin-1").split("\r\n")
        self.method, target, _ = line.split(" ")
        self.url = f"http://{authority}{target}"
        self.headers = requests.structures.CaseInsensitiveDict(line.split(": ", 1) for line in lines if line)


class Keys(HTTPSignatureKeyResolver):
    """The published keys."""
    def __init__(self, port):
        self.keys = jwt.PyJWKSet.from_dict(request(port, "/oauth2/jwks.json").json)

    def resolve_public_key(self, key_id):
        return self.keys[key_id].key

    def resolve_private_key(self, key_id):
        raise KeyError(key_id)


@pytest.fixture(scope="module")
def verify(formats):
    verifier = HTTPMessageVerifier(
        signature_algorithm=algorithms.ECDSA_P256_SHA256, key_resolver=Keys(formats.port)
    )
    return lambda message: verifier.verify(message)


def covered(message):
    return re.findall(r'"([^" ]+)"', message.headers["Signature-Input"].partition(")")[0])


@pytest.mark.parametrize("path", ["/signed/page?a=b", "/each/page?a=b", "/each/page"])
def test_another_library_verifies_the_signature(path, seen, verify, formats):
    found = seen(path, ("Signature", "gatehouse=:ZXZpbA==:"), ("Signature-Input", 'gatehouse=("host");created=1'))
    message = Message(found, formats.authority)
    assert len(found.all("Signature")) == len(found.all("Signature-Input")) == 1
    verify(message)
    names = [name.lower() for name in message.headers if re.match(r"x-forwarded-(user|email|name|preferred|groups|provider)", name.lower())]
    assert set(names) | {"x-gatehouse-assertion"} <= set(covered(message))
    if path.startswith("/each"):
        assert covered(message)[:4] == ["@method", "@authority", "@path", "@query"]
        assert "authorization" in covered(message)


@pytest.mark.parametrize("path", ["/signed/page", "/each/page?a=b"])
def test_each_change_of_what_is_signed_is_noticed(path, seen, verify, formats):
    found = seen(path)
    message = Message(found, formats.authority)
    verify(message)
    for name in [name for name in covered(message) if not name.startswith("@")]:
        value = message.headers[name]
        for position in range(len(value)):
            message.headers[name] = value[:position] + chr(ord(value[position]) ^ 1) + value[position + 1:]
            with pytest.raises((InvalidSignature, HTTPMessageSignaturesException)):
                verify(message)
        message.headers[name] = value
    signature = message.headers["Signature"]
    raw = bytearray(base64.b64decode(signature.partition(":")[2][:-1]))
    for bit in range(len(raw) * 8):
        raw[bit // 8] ^= 1 << bit % 8
        message.headers["Signature"] = f"gatehouse=:{base64.b64encode(raw).decode()}:"
        with pytest.raises((InvalidSignature, HTTPMessageSignaturesException)):
            verify(message)
        raw[bit // 8] ^= 1 << bit % 8
    message.headers["Signature"] = signature
    verify(message)


@pytest.mark.parametrize("change", ["method", "path", "query", "authority"])
def test_the_signature_of_a_request_fits_no_other(change, seen, verify, formats):
    message = Message(seen("/each/page?a=b"), formats.authority)
    if change == "method":
        message.method = "DELETE"
    elif change == "authority":
        message.url = message.url.replace("gate.localhost", "other.localhost")
    else:
        message.url = message.url.replace(*{"path": ("/page", "/admin"), "query": ("a=b", "a=c")}[change])
    with pytest.raises((InvalidSignature, HTTPMessageSignaturesException)):
        verify(message)


def test_a_signature_has_an_end_and_another_key_does_not_fit(seen, formats):
    message = Message(seen("/signed/page"), formats.authority)
    parameters = dict(part.split("=", 1) for part in message.headers["Signature-Input"].split(";")[1:])
    assert 0 < int(parameters["expires"]) - int(parameters["created"]) <= 120
    keys = Keys(formats.port)
    keys.resolve_public_key = lambda key_id: ec.generate_private_key(ec.SECP256R1()).public_key()
    verifier = HTTPMessageVerifier(signature_algorithm=algorithms.ECDSA_P256_SHA256, key_resolver=keys)
    with pytest.raises(InvalidSignature):
        verifier.verify(message)
