# SPDX-License-Identifier: Apache-2.0
"""`gatehouse check --online` against providers that are right, wrong, late or silent."""

import json
import subprocess
import time
from email.utils import formatdate

import pytest

from support.gateway import PROGRAM, ENVIRONMENT, Gateway, oidc, run
from support.processes import Process, certificate, eventually, free_port, nginx
from support.provider import SHARED_KEYS, silent_port
from support.tokens import b64

APPS = {"app": {"upstream": "http://127.0.0.1:1", "allow": "signed_in"}}
TOPICS = ["discovery", "keys", "clock", "redirect", "scopes", "pkce", "iss", "client_auth", "tls"]
#: What is asked besides providers.
OTHERS = ["app"]


class Report:
    """What the command printed: `rows[provider][topic]` is a list of (verdict, text)."""
    def __init__(self, result):
        self.code, self.out, self.err, self.rows = result.returncode, result.stdout, result.stderr, {}
        for line in result.stdout.splitlines()[1:-1]:
            provider, topic, verdict, text = line.split(None, 3)
            assert verdict in ("ok", "warn", "FAIL", "-") and topic in TOPICS + OTHERS, line
            self.rows.setdefault(provider, {}).setdefault(topic, []).append((verdict, text))

    def verdicts(self, provider="staff"):
        return {topic: [verdict for verdict, _ in found] for topic, found in self.rows[provider].items()}

    def the(self, topic, provider="staff"):
        (found, ) = self.rows[provider][topic]
        return found

    def failures(self):
        return [(p, t) for p, rows in self.rows.items() for t, found in rows.items() if "FAIL" in dict(found)]


def check(folder, providers, *arguments):
    gateway = Gateway(folder, providers, APPS)
    gateway.write()
    return Report(run("check", "--online", "--config", gateway.path, *arguments))


@pytest.fixture
def realm(provider_server):
    realm = provider_server.realm("checked")
    realm.keys = list(SHARED_KEYS)
    realm.reset()
    return realm


def test_a_correct_provider_has_no_failure(realm, tmp_path):
    """One line each, exit 0."""
    report = check(tmp_path, {"staff": oidc(realm.issuer)})
    assert report.code == 0 and report.failures() == [], report.out
    assert list(report.rows["staff"]) == TOPICS
    assert report.the("keys") == ("ok", "3 usable: ES256, Ed25519, EdDSA, RS256")
    assert report.the("clock")[0] == "ok"
    assert report.the("redirect")[1].startswith("register http://gate.localhost:")
    assert report.the("redirect")[1].endswith("/oauth2/callback/staff")
    assert report.the("tls") == ("ok", f"{realm.server.origin}: plain http, which only this machine may use")
    assert report.out.splitlines()[-1] == "online: no failures, no warnings"


@pytest.mark.parametrize("metadata, verdict", [({}, "ok"), ({"code_challenge_methods_supported": ["plain"]}, "failure")])
def test_the_findings_are_printed_as_json(metadata, verdict, realm, tmp_path):
    """All of them, with the exit code of the text."""
    realm.metadata = metadata
    gateway = Gateway(tmp_path, {"staff": oidc(realm.issuer)}, APPS)
    gateway.write()
    result = run("check", "--online", "--json", "--config", gateway.path)
    report = json.loads(result.stdout)
    assert (result.returncode, result.stderr, report["usable"]) == ((0, "", True) if verdict == "ok" else (1, "", False))
    found = {finding["topic"]: finding for finding in report["online"] if finding["topic"] not in OTHERS}
    assert list(found) == TOPICS and {finding["provider"] for finding in found.values()} == {"staff"}
    assert found["pkce"]["verdict"] == verdict and found["keys"]["detail"] == "3 usable: ES256, Ed25519, EdDSA, RS256"


def test_no_secret_is_sent_and_no_session_is_made(realm, tmp_path):
    """It reads public documents only."""
    strays = len(realm.server.strays)
    check(tmp_path, {"staff": oidc(realm.issuer)})
    assert [(r["method"], r["path"]) for r in realm.requests] == [
        ("GET", ".well-known/openid-configuration"), ("GET", "jwks")
    ]
    assert realm.server.strays[strays:] == ["/"]
    for request in realm.requests:
        assert "authorization" not in {name.lower() for name in request["fields"]}
        assert ENVIRONMENT["TEST_CLIENT_SECRET"] not in json.dumps(request)


@pytest.mark.parametrize(
    "metadata, topic, words", [
        ({"issuer": "https://other.example.com"}, "discovery", ["https://other.example.com", "providers.staff.issuer"]),
        ({"token_endpoint": None}, "discovery", ["token_endpoint"]),
        ({"code_challenge_methods_supported": ["plain"]}, "pkce", ["S256", "plain"]),
        ({"id_token_signing_alg_values_supported": ["HS256"]}, "keys", ["HS256"]),
        (
            {"token_endpoint_auth_methods_supported": ["tls_client_auth"]}, "client_auth",
            ["tls_client_auth", "providers.staff.client_authentication"],
        ),
    ]
)
def test_metadata_that_would_break_sign_ins_fails_on_one_line(metadata, topic, words, realm, tmp_path):
    """Discovery and PKCE; exit 1, with what to change."""
    realm.metadata = metadata
    report = check(tmp_path, {"staff": oidc(realm.issuer)})
    assert report.code == 1 and report.failures() == [("staff", topic)], report.out
    assert all(word in report.the(topic)[1] for word in words), report.out
    assert report.the("redirect")[0] == "ok"


def test_what_may_cause_trouble_is_a_warning(realm, tmp_path):
    """Scopes offered; a warning exits with 0."""
    realm.metadata = {"scopes_supported": ["openid", "email"]}
    report = check(tmp_path, {"staff": oidc(realm.issuer)})
    assert report.code == 0 and report.the("scopes")[0] == "warn" and "profile" in report.the("scopes")[1]
    assert report.out.splitlines()[-1] == "online: no failures, 1 warning"


def test_a_key_set_with_weak_keys_only_fails(realm, tmp_path):
    """RSA under 2048 bits is rejected and reported."""
    weak = {"kty": "RSA", "kid": "small", "use": "sig", "n": b64(b"\xff" * 128), "e": "AQAB"}
    realm.keys = [weak]
    report = check(tmp_path, {"staff": oidc(realm.issuer)})
    assert report.code == 1 and report.failures() == [("staff", "keys")], report.out
    assert '"small": RSA of 1024 bits' in report.the("keys")[1]
    realm.keys = [weak, SHARED_KEYS[0]]
    report = check(tmp_path, {"staff": oidc(realm.issuer)})
    assert report.code == 0 and report.the("keys")[0] == "warn", report.out


@pytest.mark.parametrize("offset, verdict", [(-600, "FAIL"), (600, "FAIL"), (45, "warn"), (5, "ok")])
def test_the_clock_of_the_provider_is_compared(offset, verdict, tmp_path):
    """Clock difference, a warning over 30 s, a failure over 60 s."""
    port = free_port()
    issuer = f"http://127.0.0.1:{port}/id"
    date = formatdate(time.time() + offset, usegmt=True)
    documents = {
        "/id/.well-known/openid-configuration":
            {
                "issuer": issuer, "authorization_endpoint": f"{issuer}/a", "token_endpoint": f"{issuer}/t", "jwks_uri":
                    f"{issuer}/jwks",
            }, "/id/jwks": {"keys": [SHARED_KEYS[0].jwk]},
    }
    server = Process(["python3", "-c", DATED, str(port), date, json.dumps(documents)], tmp_path, "dated")
    try:
        server.wait_listening(port)
        report = check(tmp_path, {"staff": oidc(issuer)})
    finally:
        server.stop()
    assert report.the("clock")[0] == verdict, report.out
    assert report.code == (1 if verdict == "FAIL" else 0)
    if verdict == "FAIL":
        assert ("ahead of" if offset > 0 else "behind") in report.the("clock")[1] and "NTP" in report.the("clock")[1]


DATED = """
import http.server, json, sys
documents = json.loads(sys.argv[3])
class Handler(http.server.BaseHTTPRequestHandler):
    def date_time_string(self, timestamp=None):
        return sys.argv[2]
    def do_GET(self):
        body = json.dumps(documents.get(self.path, {})).encode()
        self.send_response(200 if self.path in documents else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def test_a_failing_provider_is_reported_with_the_url(realm, tmp_path):
    """500s; nothing is guessed without the document."""
    realm.documents[".well-known/openid-configuration"] = (500, {}, b"trouble")
    report = check(tmp_path, {"staff": oidc(realm.issuer)})
    assert report.code == 1 and report.failures() == [("staff", "discovery")], report.out
    assert "responded 500" in report.the("discovery")[1]
    assert f"{realm.issuer}/.well-known/openid-configuration" in report.the("discovery")[1]
    assert [report.the(topic)[0] for topic in ("keys", "pkce", "iss", "client_auth")] == ["-"] * 4
    realm.documents = {"jwks": (500, {}, b"trouble")}
    report = check(tmp_path, {"staff": oidc(realm.issuer)})
    assert report.code == 1 and report.failures() == [("staff", "keys")], report.out


def test_an_invalid_discovery_document_fails(realm, tmp_path):
    """HTML, broken JSON, a redirect and too many bytes are distinguished."""
    path = ".well-known/openid-configuration"
    for response, words in [
        ((200, {"Content-Type": "text/html"}, b"<html>\x1b[2J"), "did not respond with JSON"),
        ((200, {"Content-Type": "application/json"}, b'{"a":1,"a":2}'), "malformed JSON"),
        ((302, {"Location": "/elsewhere"}, b""), "redirect"),
        ((200, {"Content-Type": "application/json"}, b" " * 300_000), "body"),
    ]:
        realm.documents[path] = response
        report = check(tmp_path, {"staff": oidc(realm.issuer)})
        assert report.code == 1 and words in report.the("discovery")[1], report.out
        assert "\x1b" not in report.out


def test_silent_providers_time_out_independently(realm, tmp_path):
    """Ten seconds for each provider, several at once."""
    sockets = [silent_port() for _ in range(4)]
    providers = {f"silent{index}": oidc(f"http://127.0.0.1:{port}") for index, (_, port) in enumerate(sockets)}
    began = time.monotonic()
    report = check(tmp_path, {**providers, "staff": oidc(realm.issuer)})
    seconds = time.monotonic() - began
    for sock, _ in sockets:
        sock.close()
    assert seconds < 14, seconds
    assert report.code == 1 and list(report.rows) == [*providers, "staff", "app"]
    for name in providers:
        assert report.the("discovery", name)[0] == "FAIL" and report.the("tls", name)[0] == "FAIL", report.out
        assert f"providers.{name}.issuer" in report.the("discovery", name)[1]
    assert report.verdicts()["discovery"] == ["ok"]


def test_a_closed_port_is_reported(tmp_path):
    report = check(tmp_path, {"staff": oidc(f"http://127.0.0.1:{free_port()}")})
    assert report.code == 1 and "whether this machine may connect" in report.the("discovery")[1], report.out


class Authority:
    """A certificate authority, and servers with certificates of it, right and wrong."""
    def __init__(self, folder):
        self.folder = folder
        self.openssl(
            "req", "-x509", *EC, "-days", "30", "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=Test authority",
            "-addext", "keyUsage=critical,keyCertSign"
        )
        self.openssl("req", "-x509", *EC, "-days", "30", "-keyout", "o.key", "-out", "other.pem", "-subj", "/CN=Other")

    def openssl(self, *words):
        subprocess.run(["openssl", *words], cwd=self.folder, check=True, capture_output=True)

    def leaf(self, name, host, days):
        self.openssl("req", *EC, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/O=Acme/CN={host}")
        (self.folder / f"{name}.ext").write_text(f"subjectAltName=DNS:{host}")
        self.openssl(
            "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days",
            str(days), "-extfile", f"{name}.ext", "-out", f"{name}.pem"
        )


EC = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
SERVERS = {"good": ("localhost", 90), "expired": ("localhost", -1), "named": ("elsewhere.test", 90)}


@pytest.fixture(scope="module")
def tls(tmp_path_factory):
    """nginx with a correct provider behind each certificate; yields the authority and the ports."""
    folder = tmp_path_factory.mktemp("authority")
    authority = Authority(folder)
    authority.ports, blocks = {}, []
    for name, (host, days) in SERVERS.items():
        authority.leaf(name, host, days)
    for name in [*SERVERS, "old"]:
        port = authority.ports[name] = free_port()
        issuer = f"https://localhost:{port}"
        document = {
            "issuer": issuer, "authorization_endpoint": f"{issuer}/a", "token_endpoint": f"{issuer}/t", "jwks_uri":
                f"{issuer}/jwks",
        }
        file = "good" if name == "old" else name
        versions = "ssl_protocols TLSv1.1; ssl_ciphers DEFAULT:@SECLEVEL=0;" if name == "old" else ""
        blocks.append(
            f"server {{ listen 127.0.0.1:{port} ssl; {versions} ssl_certificate {folder}/{file}.pem; "
            f"ssl_certificate_key {folder}/{file}.key; default_type application/json; "
            f"location = /.well-known/openid-configuration {{ return 200 '{json.dumps(document)}'; }} "
            f"location = /jwks {{ return 200 '{json.dumps({'keys': [SHARED_KEYS[0].jwk]})}'; }} }}"
        )
    server = nginx(folder, "tls", "\n".join(blocks))
    for port in authority.ports.values():
        server.wait_listening(port)
    yield authority
    server.stop()


def secure(tls, name, ca="ca.pem", **more):
    return oidc(f"https://localhost:{tls.ports[name]}", tls={"ca_file": str(tls.folder / ca)}, **more)


def test_the_chain_of_a_good_certificate_is_shown_to_its_root(tls, tmp_path):
    """The TLS chain, with the days until the first expiry."""
    report = check(tmp_path, {"staff": secure(tls, "good")})
    assert report.code == 0 and report.failures() == [], report.out
    origin = f"https://localhost:{tls.ports['good']}"
    verdict, text = report.the("tls")
    assert verdict == "ok" and text.startswith(f"{origin}: CN=localhost,O=Acme below CN=Test authority, "), text
    assert text.endswith(("29 days left", "30 days left")), text


@pytest.mark.parametrize(
    "name, ca, words", [
        ("expired", "ca.pem", "has expired; it has to be renewed there"),
        ("named", "ca.pem", "is for another host name"),
        ("good", "other.pem", "unknown issuer; name the PEM file of a private authority as tls.ca_file"),
        ("old", "ca.pem", "no TLS newer than 1.1"),
    ]
)
def test_an_invalid_certificate_fails_with_the_reason(name, ca, words, tls, tmp_path):
    """A failed verification is never overruled, and the reason is reported."""
    report = check(tmp_path, {"staff": secure(tls, name, ca)})
    assert report.code == 1, report.out
    for topic in ("discovery", "tls"):
        verdict, text = report.the(topic)
        assert verdict == "FAIL" and words in text, report.out


def test_the_systems_authorities_do_not_cover_a_private_one(tls, tmp_path):
    report = check(tmp_path, {"staff": oidc(f"https://localhost:{tls.ports['good']}")})
    assert report.code == 1 and "unknown issuer" in report.the("tls")[1], report.out


def test_openssl_s_server_is_checked_too(tls, tmp_path):
    """`openssl s_server`, with a self-signed certificate."""
    cert, key = certificate(tmp_path, "own", "localhost")
    port = free_port()
    command = ["openssl", "s_server", "-accept", port, "-cert", cert, "-key", key, "-www", "-quiet"]
    server = Process(command, tmp_path, "s_server")
    try:
        server.wait_listening(port)
        issuer = f"https://localhost:{port}"
        report = check(tmp_path, {"staff": oidc(issuer, tls={"ca_file": str(tls.folder / "ca.pem")})})
        assert report.code == 1 and "signed by itself" in report.the("tls")[1], report.out
        report = check(tmp_path, {"staff": oidc(issuer, tls={"ca_file": cert})})
        assert report.the("tls")[0] == "ok" and "CN=localhost below CN=localhost" in report.the("tls")[1], report.out
        assert report.the("discovery")[0] == "FAIL", report.out
    finally:
        server.stop()


def test_one_provider_can_be_checked_alone(realm, tmp_path):
    """--provider."""
    providers = {"staff": oidc(realm.issuer), "gone": oidc(f"http://127.0.0.1:{free_port()}")}
    report = check(tmp_path, providers, "--provider", "staff")
    assert report.code == 0 and list(report.rows) == ["staff"]
    assert check(tmp_path, providers, "--provider", "gone").code == 1
    result = run("check", "--online", "--provider", "unknown", "--config", tmp_path / "providers.yaml")
    assert result.returncode == 1 and "staff, gone" in result.stderr
    assert run("check", "--provider", "staff", "--config", tmp_path / "providers.yaml").returncode == 2


def test_an_unusable_file_is_reported_before_any_provider_is_called(realm, tmp_path):
    """--online first does all of the plain check."""
    gateway = Gateway(tmp_path, {"staff": oidc(realm.issuer, scopess=["openid"])}, APPS)
    gateway.write()
    result = run("check", "--online", "--config", gateway.path)
    assert result.returncode == 1 and "did you mean" in result.stderr and realm.requests == []


def test_the_demos_providers_pass_the_check(tmp_path):
    """The simulators of the demo pass."""
    process = Process([PROGRAM, "demo", "--provider", "all", "--port", free_port()], tmp_path, "demo")
    try:
        eventually(lambda: "providers.yaml" in process.log, "the demo prints its file", 20)
        path = next(word for word in process.log.split() if word.endswith("/providers.yaml"))
        report = Report(run("check", "--online", "--config", path))
        assert report.code == 0 and report.failures() == [], report.out
        assert len(report.rows) >= 13, "every type that has a simulator"
        assert report.out.splitlines()[-1] == "online: no failures, no warnings", report.out
    finally:
        process.stop()


def test_n_02_an_app_that_can_be_opened_without_a_sign_in_is_a_failure(realm, tmp_path, app):
    """A server block of nginx that still leads to the app itself, beside those of the gateway."""
    front, gateway_port = free_port(), free_port()
    hosts = ["old.localhost", "new.localhost", "open.localhost", "down.localhost", "moved.localhost"]
    apps = {
        host.partition(".")[0]: {"host": host, "upstream": app.address, "allow": "signed_in"}
        for host in hosts
    } | {"tenants": {"host": "*.tenants.localhost", "upstream": app.address, "allow": "signed_in"}}
    apps["open"]["public"] = ["/"]
    gateway = Gateway(
        tmp_path, {"staff": oidc(realm.issuer)}, apps, port=gateway_port, public_url=f"http://gate.localhost:{front}",
        gateway={"trusted_proxies": ["127.0.0.1"]},
    )
    header = "proxy_set_header Host $http_host; proxy_set_header X-Forwarded-For $remote_addr;"
    blocks = (
        f"server {{ listen {front}; server_name old.localhost; location / {{ proxy_pass {app.address}; }} }}\n"
        f"server {{ listen {front}; server_name down.localhost; return 503; }}\n"
        f"server {{ listen {front}; server_name moved.localhost; return 302 /login; }}\n"
        f"server {{ listen {front}; server_name old.localhost new.localhost open.localhost;"
        f" location / {{ {header} proxy_pass http://127.0.0.1:{gateway_port}; }} }}\n"
    )
    with gateway:
        server = nginx(tmp_path, "front", blocks)
        server.wait_listening(front)
        report = Report(run("check", "--online", "--config", gateway.path))
        server.stop()
        verdicts = {name: [verdict for verdict, _ in rows["app"]] for name, rows in report.rows.items() if "app" in rows}
        assert verdicts == {
            "old": ["FAIL"], "moved": ["FAIL"], "new": ["ok"], "open": ["-"], "down": ["warn"], "tenants": ["-"]
        }, report.out
        assert report.code == 1 and "responds 200 without a sign-in" in report.the("app", "old")[1]
        assert app.seen("/")[-1].get("cookie") is None
        # Nothing of this is a failure where the front is not running yet.
        report = Report(run("check", "--online", "--config", gateway.path))
        assert report.code == 0 and report.the("app", "old")[0] == "-"
