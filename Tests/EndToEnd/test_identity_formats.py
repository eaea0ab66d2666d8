# SPDX-License-Identifier: Apache-2.0
"""The identity as other apps expect it: presets, encodings, Authorization, and the signature over the headers."""

import base64
import datetime
import quopri
import re
import types
from email.header import decode_header
from urllib.parse import unquote

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from http_message_signatures import InvalidSignature, signatures
from http_message_signatures.exceptions import HTTPMessageSignaturesException

from support.browser import Browser
from support.gateway import Gateway, oidc
from support.presets import PRESETS
from support.raw import request
from support.upstream import Upstream
from support.verifiers import PublishedKeys, SignedMessage, signature_verifier, with_each_bit

NAME = "Zoë 🦊 李"
#: In the order in which profiles have them.
GROUPS = ["a,b|c", "ops", "Ärzte"]

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
            "inner": app(address, "inner", identity={"signature": "request"}, upstream_host="inner.internal:8443"),
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


@pytest.fixture(scope="module")
def verify(formats):
    return signature_verifier(PublishedKeys(formats.port)).verify


@pytest.mark.parametrize("path", ["/signed/page?a=b", "/each/page?a=b", "/each/page"])
def test_another_library_verifies_the_signature(path, seen, verify, formats):
    found = seen(path, ("Signature", "gatehouse=:ZXZpbA==:"), ("Signature-Input", 'gatehouse=("host");created=1'))
    message = SignedMessage(found, formats.authority)
    assert len(found.all("Signature")) == len(found.all("Signature-Input")) == 1
    verify(message)
    names = [name.lower() for name in message.headers if re.match(r"x-forwarded-(user|email|name|preferred|groups|provider)", name.lower())]
    assert set(names) | {"x-gatehouse-assertion"} <= set(message.covered)
    if path.startswith("/each"):
        assert message.covered[:4] == ["@method", "@authority", "@path", "@query"]
        assert "authorization" in message.covered


def test_q_18_an_app_verifies_the_signature_with_the_host_that_it_sees(seen, verify, formats):
    found = seen("/inner/page?a=b")
    assert found.get("Host") == "inner.internal:8443" and found.get("X-Forwarded-Host") == formats.authority
    verify(SignedMessage(found, found.get("Host")))
    with pytest.raises((InvalidSignature, HTTPMessageSignaturesException)):
        verify(SignedMessage(found, formats.authority))


def accepted_changes(message, name, values, verify):
    """The values of a field with which the signature is valid nevertheless."""
    value, accepted = message.headers[name], []
    for changed in values:
        message.headers[name] = changed
        try:
            verify(message)
        except (InvalidSignature, HTTPMessageSignaturesException):
            continue
        accepted.append(changed)
    message.headers[name] = value
    return accepted


@pytest.mark.parametrize("path", ["/signed/page", "/each/page?a=b"])
def test_each_changed_bit_of_what_is_signed_is_noticed(path, seen, verify, formats):
    """Of all values that are covered, of the parameters of the signature, and of the signature itself."""
    message = SignedMessage(seen(path), formats.authority)
    verify(message)
    fields = [name for name in message.covered if not name.startswith("@")]
    assert "x-gatehouse-assertion" in fields and "x-forwarded-user" in fields
    for name in [*fields, "signature-input"]:
        plain = message.headers[name].encode("latin-1")
        assert accepted_changes(message, name, (one.decode("latin-1") for one in with_each_bit(plain)), verify) == []
    raw = base64.b64decode(message.headers["Signature"].partition(":")[2][:-1])
    signatures = (f"gatehouse=:{base64.b64encode(one).decode()}:" for one in with_each_bit(raw))
    assert accepted_changes(message, "signature", signatures, verify) == []
    verify(message)


@pytest.mark.parametrize("change", ["method", "path", "query", "authority"])
def test_the_signature_of_a_request_fits_no_other(change, seen, verify, formats):
    message = SignedMessage(seen("/each/page?a=b"), formats.authority)
    if change == "method":
        message.method = "DELETE"
    elif change == "authority":
        message.url = message.url.replace("gate.localhost", "other.localhost")
    else:
        message.url = message.url.replace(*{"path": ("/page", "/admin"), "query": ("a=b", "a=c")}[change])
    with pytest.raises((InvalidSignature, HTTPMessageSignaturesException)):
        verify(message)


def test_a_signature_expires(seen, verify, formats, monkeypatch):
    """By the verifier's clock, for which it allows five seconds."""
    message = SignedMessage(seen("/signed/page"), formats.authority)
    parameters = dict(part.split("=", 1) for part in message.headers["Signature-Input"].split(";")[1:])
    created, expires = int(parameters["created"]), int(parameters["expires"])
    assert 0 < expires - created <= 120

    def at(seconds):
        class Clock(datetime.datetime):
            @classmethod
            def now(cls, tz=None):
                return datetime.datetime.fromtimestamp(seconds, tz)

        kept = {"datetime": Clock, "timedelta": datetime.timedelta, "timezone": datetime.timezone}
        monkeypatch.setattr(signatures, "datetime", types.SimpleNamespace(**kept))

    at(expires - 1)
    verify(message)
    at(expires + 6)
    with pytest.raises(InvalidSignature, match='"expires" parameter is set to a time in the past'):
        verify(message)


def test_another_key_does_not_fit(seen, formats):
    message = SignedMessage(seen("/signed/page"), formats.authority)
    keys = PublishedKeys(formats.port)
    keys.resolve_public_key = lambda key_id: ec.generate_private_key(ec.SECP256R1()).public_key()
    with pytest.raises(InvalidSignature):
        signature_verifier(keys).verify(message)
