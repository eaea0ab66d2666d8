# SPDX-License-Identifier: Apache-2.0
"""`gatehouse probe` against apps that others' libraries serve: what they accept of a client that bypasses the gateway."""

import json
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from wsgiref.simple_server import WSGIRequestHandler, make_server

import jwt
import pytest
from flask import Flask, request as flask_request
from http_message_signatures import HTTPMessageVerifier, algorithms
from http_message_signatures.exceptions import HTTPMessageSignaturesException
from requests.structures import CaseInsensitiveDict

from support.gateway import Gateway, oidc, run
from support.processes import certificate, free_port
from support.raw import request


class Quiet(WSGIRequestHandler):
    def log_message(self, *_):
        pass


class App:
    """A Flask app behind wsgiref, which reads `X_Forwarded_User` as `X-Forwarded-User`."""
    def __init__(self, user):
        flask = Flask("app")
        flask.add_url_rule("/", "page", lambda: self.page(user))
        self.server = make_server("127.0.0.1", 0, flask, handler_class=Quiet)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @staticmethod
    def page(user):
        found = user(flask_request)
        return (f"Hello {found}", 200) if found else ("Sign in first", 401)


class Plain:
    """An app that accepts a header, and closes the connection of each request that has a name with `.`; perhaps over TLS."""
    def __init__(self, pair=None):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                if any("." in name for name in self.headers):
                    self.close_connection = True
                    return
                self.send_response(200 if self.headers.get("X-Forwarded-User") else 401)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if pair:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*pair)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.address = f"{'https://localhost' if pair else 'http://127.0.0.1'}:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def careless(sent):
    """Accepts every assertion: it decodes without verifying."""
    token = sent.headers.get("X-Gatehouse-Assertion")
    return token and jwt.decode(token, options={"verify_signature": False})["sub"]


class Verifying:
    """Verifies the assertion as docs/start.md has it, but for what a test leaves out."""
    def __init__(self, **options):
        self.options = options
        self.gateway = None
        self.keys = None

    def __call__(self, sent):
        token = sent.headers.get("X-Gatehouse-Assertion")
        if not token:
            return None
        self.keys = self.keys or jwt.PyJWKSet.from_dict(request(self.gateway.port, "/oauth2/jwks.json").json)
        try:
            key = self.keys[jwt.get_unverified_header(token)["kid"]]
            audience = f"{self.gateway.origin}/strict"
            return jwt.decode(token, key, ["ES256"], audience=audience, issuer=self.gateway.origin, options=self.options)["sub"]
        except (jwt.PyJWTError, KeyError):
            return None


class Signed:
    """Verifies the signature over the headers with another library, but for what a test leaves out."""
    def __init__(self, covers=('"x-forwarded-user"',), checks_time=True):
        self.covers, self.checks_time = covers, checks_time
        self.gateway = None

    def resolve_public_key(self, key_id):
        return jwt.PyJWKSet.from_dict(request(self.gateway.port, "/oauth2/jwks.json").json)[key_id].key

    def __call__(self, sent):
        message = SimpleNamespace(headers=CaseInsensitiveDict(sent.headers), method=sent.method, url=sent.url)
        verifier = HTTPMessageVerifier(signature_algorithm=algorithms.ECDSA_P256_SHA256, key_resolver=self)
        if not self.checks_time:
            verifier.validate_created_and_expires = lambda *_, **__: None
        try:
            verifier.verify(message, expect_tag="gatehouse", require_components=self.covers)
        except HTTPMessageSignaturesException:
            return None
        return sent.headers.get("X-Forwarded-User")


USERS = {
    "open": lambda sent: "all",
    "header": lambda sent: sent.headers.get("X-Forwarded-User"),
    "careless": careless,
    "strict": Verifying(),
    "timeless": Verifying(verify_exp=False, verify_aud=False),
    "anywhere": Verifying(verify_aud=False),
    "trusting": lambda sent: "Signature-Input" in sent.headers and sent.headers.get("X-Forwarded-User"),
    "many": lambda sent: "Signature-Input" in sent.headers and sent.headers.get("X-Forwarded-User"),
    "signed": Signed(),
    "uncovered": Signed(covers=()),
    "aged": Signed(checks_time=False),
    "echo": lambda sent: " ".join(f"{name}={value}" for name, value in sent.headers),
}


@pytest.fixture(scope="module")
def probed(tmp_path_factory, provider_server):
    folder = tmp_path_factory.mktemp("probe")
    apps = {name: App(user) for name, user in USERS.items()}
    settings = {
        name: {"path": f"/{name}", "upstream": app.address, "allow": "signed_in", "strip_prefix": True}
        for name, app in apps.items()
    }
    for name in ("trusting", "many", "signed", "uncovered", "aged"):
        settings[name]["identity"] = {"signature": "headers"}
    # In four spellings each, more than one app is asked with.
    settings["many"]["headers"] = {f"X-Own-Email-{number}": "email" for number in range(60)}
    settings["gone"] = {"path": "/gone", "upstream": f"http://127.0.0.1:{free_port()}", "allow": "signed_in"}
    untrusted = Plain(certificate(folder, "self", "localhost"))
    fragile = Plain()
    settings["untrusted"] = {"path": "/untrusted", "upstream": untrusted.address, "allow": "signed_in"}
    settings["fragile"] = {"path": "/fragile", "upstream": fragile.address, "allow": "signed_in"}
    settings["http2"] = {"path": "/http2", "upstream": "h2c://127.0.0.1:9", "allow": "signed_in"}
    settings["asked"] = {"path": "/asked", "redirect": {"to": "https://new.example.com"}, "allow": "signed_in"}
    settings["socket"] = {"path": "/socket", "upstream": "unix:/run/app.sock", "allow": "signed_in"}
    with Gateway(folder, {"mock": oidc(provider_server.realm("mock").issuer)}, settings) as gateway:
        for user in USERS.values():
            if isinstance(user, (Verifying, Signed)):
                user.gateway = gateway
        yield gateway
    for app in [*apps.values(), untrusted, fragile]:
        app.server.shutdown()
        app.server.server_close()


def probe(gateway, app, *options):
    done = run("probe", app, "--config", gateway.folder / "providers.yaml", "--path", "/", *options)
    return done.returncode, done.stdout, done.stderr


def accepted(gateway, app):
    code, output, _ = probe(gateway, app, "--json")
    report = json.loads(output)
    assert report["good"] == (code == 0)
    return [attempt for target in report["targets"] for attempt in target["attempts"] if attempt["result"] == "accepted"]


def test_an_app_without_a_sign_in_is_found(probed):
    assert [attempt["kind"] for attempt in accepted(probed, "open")] == ["none"]
    code, output, _ = probe(probed, "open")
    assert code == 1 and "FAIL  without an identity it responds with status 200" in output and "remedy: let only" in output


def test_an_app_that_accepts_a_header_is_found_in_every_spelling(probed):
    names = {attempt["name"] for attempt in accepted(probed, "header")}
    assert {"X-Forwarded-User", "X_Forwarded_User", "X_FORWARDED_USER"} <= names
    assert all(name.replace("_", "-").replace(".", "-").lower() == "x-forwarded-user" for name in names), names


def test_d_01_the_app_is_asked_with_identity_fields_of_other_products_too(probed):
    report = json.loads(probe(probed, "strict", "--json")[1])
    names = {attempt["name"] for target in report["targets"] for attempt in target["attempts"]}
    assert {"OIDC-CLAIM-email", "OIDC_CLAIM_EMAIL", "X-Consumer-Username", "X-Proxy-User", "EPPN", "SM_USER", "IV_USER", "X-SSL-Client-S-DN"} <= names


def test_an_app_that_does_not_verify_is_found(probed):
    names = {attempt["name"].partition(": ")[2] for attempt in accepted(probed, "careless")}
    assert names == {"without a signature", "signed by another key", "expired", "for another app"}


@pytest.mark.parametrize("app, missing", [("timeless", {"expired", "for another app"}), ("anywhere", {"for another app"})])
def test_a_check_that_is_missing_is_found(app, missing, probed):
    assert {attempt["name"].partition(": ")[2] for attempt in accepted(probed, app)} == missing


def test_an_app_that_verifies_passes(probed):
    assert accepted(probed, "strict") == []
    code, output, _ = probe(probed, "strict")
    assert code == 0 and "FAIL" not in output and "invalid assertions made no difference" in output


def test_an_app_that_shows_its_headers_is_not_taken_for_one_that_accepts_them(probed):
    assert [attempt["kind"] for attempt in accepted(probed, "echo")] == ["none"]
    assert "cannot be seen from outside" in probe(probed, "echo")[1]


def test_a_request_without_a_response_hides_no_other(probed):
    assert [attempt["name"] for attempt in accepted(probed, "fragile")] == ["X-Forwarded-User"]


@pytest.mark.parametrize(
    "app, names", [
        ("trusting", {"missing", "of 64 zeros", "by another key", "expired", "not over the identity"}),
        ("many", {"missing", "of 64 zeros", "by another key", "expired", "not over the identity"}),
        ("uncovered", {"not over the identity"}),
        ("aged", {"expired"}),
        ("signed", set()),
    ]
)
def test_an_app_that_does_not_verify_the_signature_over_the_headers_is_found(app, names, probed):
    """RFC 9421, by an app for which the gateway signs the headers; the others are not tried with signatures."""
    assert {attempt["name"].partition(": ")[2] for attempt in accepted(probed, app)} == names
    assert f"{'it accepts' if names else '5 invalid signatures'}" in probe(probed, app)[1]
    assert "signatures" not in probe(probed, "strict")[1]


@pytest.mark.parametrize("app, why", [("untrusted", "certificate"), ("http2", "HTTP/2 only")])
def test_what_was_not_asked_counts_as_a_failure(app, why, probed):
    code, output, _ = probe(probed, app)
    assert code == 1 and why in output and "good" not in output, output
    assert json.loads(probe(probed, app, "--json")[1])["good"] is False


def test_what_cannot_be_asked_is_named(probed):
    code, output, _ = probe(probed, "gone")
    assert code == 0 and "good  cannot be reached from this machine without the gateway" in output
    code, output, _ = probe(probed, "socket")
    assert code == 0 and "skip  not asked: a Unix socket" in output
    code, output, _ = probe(probed, "asked")
    assert code == 0 and "skip  not asked: the gateway responds itself" in output and "good" not in output
    assert json.loads(probe(probed, "asked", "--json")[1])["good"] is True
    code, _, error = probe(probed, "nowhere")
    assert code == 1 and "has no app 'nowhere'" in error
