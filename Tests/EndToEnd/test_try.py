# SPDX-License-Identifier: Apache-2.0
"""`gatehouse try` and `gatehouse profile`, as an operator runs them."""

import json
import os
import re
import subprocess
import threading

import pytest
import requests

from support.gateway import PROGRAM, oidc
from support.processes import free_port
from support.tokens import token

ENVIRONMENT = {**os.environ, "TEST_CLIENT_SECRET": "s3cret-of-the-test"}


class Folder:
    """A folder with a file that has the provider `mock`."""
    def __init__(self, path, issuer):
        self.path, self.issuer = path, issuer
        self.configuration = path / "providers.yaml"
        self.write()

    def write(self, **keys):
        """Rewrites the file, with more keys for the provider; JSON is YAML as well."""
        configuration = {
            "gateway": {"public_url": "http://localhost:8080", "state": str(self.path / "state")},
            "providers": {"mock": {**oidc(self.issuer), **keys}},
            "apps": {"wiki": {"upstream": "http://127.0.0.1:9", "allow": "signed_in"}},
        }  # yapf: disable
        self.configuration.write_text(json.dumps(configuration))


@pytest.fixture
def folder(tmp_path, provider_server):
    return Folder(tmp_path, provider_server.realm("mock").issuer)


class Try:
    """A running `gatehouse try`, with a browser that opens its URL."""
    def __init__(self, folder, *options):
        self.port = free_port()
        command = [PROGRAM, "try", "mock", "--config", folder.configuration, "--port", str(self.port), *options]
        self.child = subprocess.Popen(
            [str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=ENVIRONMENT
        )
        self.alarm = threading.Timer(60, self.child.kill)
        self.alarm.daemon = True
        self.alarm.start()
        self.begun = []
        while "registered" not in (self.begun or [""])[-1]:
            line = self.child.stdout.readline()
            assert line, self.child.stderr.read()
            self.begun.append(line)
        self.browser = requests.Session()
        self.browser.trust_env = False

    def visit(self):
        address = next(line.strip() for line in self.begun if line.strip().startswith("http://"))
        return self.browser.get(address, timeout=20)

    def end(self):
        out, err = self.child.communicate(timeout=30)
        self.alarm.cancel()
        return self.child.returncode, out, err


def rows(text):
    """The table of a profile: field → (value, source)."""
    found = re.findall(r"^([a-z_]+) {2,}(\S.*?) {2,}(\S.*)$", text, re.M)
    return {field: (value.strip(), source.strip()) for field, value, source in found}


def test_a_test_sign_in_prints_the_profile_with_the_source_of_each_field(folder, realm):
    attempt = Try(folder)
    assert f"http://localhost:{attempt.port}/oauth2/callback/mock" in "".join(attempt.begun)
    assert attempt.visit().status_code == 200
    code, out, err = attempt.end()
    assert code == 0, err
    table = rows(out)
    assert table["subject"] == ("ada", "id_token:/sub")
    assert table["email"] == ("ada@example.com", "id_token:/email")
    assert table["email_verified"] == ("true", "id_token:/email_verified")
    assert table["provider"] == ("mock", "the file")
    assert "mock:ada" in out and "openid email profile" in out and "lives 300 s" in out


def test_a_test_sign_in_shows_no_token(folder, realm):
    given = []
    realm.token_response = lambda response: given.append(response) or response
    attempt = Try(folder)
    attempt.visit()
    _, out, err = attempt.end()
    assert given and given[0]["access_token"] not in out + err and given[0]["id_token"] not in out + err
    assert ENVIRONMENT["TEST_CLIENT_SECRET"] not in out + err


def test_w_01_a_token_with_an_algorithm_that_is_not_admitted_names_the_line_to_change(folder, realm):
    """What came, what is admitted, and the key of the file."""
    realm.make = lambda claims, realm: token(realm.key, claims, {"alg": "RS512"})
    attempt = Try(folder)
    attempt.visit()
    status, _, err = attempt.end()
    assert status == 1 and 'alg is "RS512", admitted are ES256' in err, err
    assert "providers.mock.id_token_algorithms: [RS512]" in err, err


@pytest.mark.parametrize(
    "change, code, advice",
    [
        (lambda r: setattr(r, "claims", lambda c: {**c, "aud": "other"}), "id_token.audience", "trusted_audiences"),
        (lambda r: setattr(r, "claims", lambda c: {**c, "nonce": None}), "id_token.nonce", "nonce: if_present"),
        (lambda r: setattr(r, "callback", lambda p: {**p, "iss": "https://evil.example"}), "openid.issuer_mismatch",
         "providers.mock.issuer"),
        (lambda r: setattr(r, "callback", lambda p: {"error": "access_denied", "state": p["state"]}), "provider.denied",
         "administrator"),
        (lambda r: r.documents.update(
            token=(401, {"Content-Type": "application/json"}, b'{"error":"invalid_client"}')), "openid.client_refused",
         "client_secret"),
    ],
)  # yapf: disable
def test_a_failed_test_sign_in_reports_what_to_change(folder, realm, change, code, advice):
    change(realm)
    attempt = Try(folder)
    assert attempt.visit().status_code == 400
    status, out, err = attempt.end()
    assert status == 1
    assert code in err and advice in err, err


def test_only_the_response_to_its_own_attempt_ends_a_test_sign_in(folder, realm):
    attempt = Try(folder)
    stray = attempt.browser.get(f"http://localhost:{attempt.port}/oauth2/callback/mock?code=c&state=x", timeout=10)
    assert stray.status_code == 400 and attempt.child.poll() is None
    assert realm.count("token") == 0
    assert attempt.browser.get(f"http://localhost:{attempt.port}/", timeout=10).status_code == 404
    assert attempt.visit().status_code == 200
    assert attempt.end()[0] == 0


def test_a_test_sign_in_limits_bodies(folder, realm):
    """The server of a test sign-in is on this machine, where every local process can reach it."""
    attempt = Try(folder)
    address = f"http://localhost:{attempt.port}/oauth2/callback/mock"
    for size, status in [(16 * 1024, 400), (16 * 1024 + 1, 413), (2 << 20, 413)]:
        response = attempt.browser.post(address, data=b"a" * size, timeout=10)
        assert response.status_code == status, size
    assert attempt.visit().status_code == 200
    assert attempt.end()[0] == 0


def test_a_test_sign_in_times_out(folder):
    attempt = Try(folder, "--wait", "1")
    code, _, err = attempt.end()
    assert code == 1 and "did not come back" in err


def test_a_port_in_use_is_reported(folder):
    first = Try(folder, "--wait", "20")
    command = [str(PROGRAM), "try", "mock", "--config", str(folder.configuration), "--port", str(first.port)]
    second = subprocess.run(command, capture_output=True, text=True, timeout=20, env=ENVIRONMENT)
    first.child.terminate()
    assert second.returncode == 1 and "in use" in second.stderr and "--port" in second.stderr


def profile(folder, payload, name="mock"):
    (folder.path / "payload.json").write_text(payload if isinstance(payload, str) else json.dumps(payload))
    command = [
        str(PROGRAM), "profile", "--config",
        str(folder.configuration), name,
        str(folder.path / "payload.json")
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=20, env=ENVIRONMENT)


def test_a_saved_payload_becomes_a_profile(folder):
    folder.write(profile={"groups": ["userinfo:/teams[active]/name"], "tenant": ["const:acme"]})
    teams = [{"name": "a", "active": True}, {"name": "b", "active": False}, {"name": "c", "active": "true"}]
    claims = {"iss": folder.issuer, "sub": 9007199254740993, "email": "ada@EXAMPLE.com", "email_verified": "true"}
    result = profile(folder, {"id_token": claims, "userinfo": {"teams": teams}})
    assert result.returncode == 0, result.stderr
    table = rows(result.stdout)
    assert table["subject"] == ("9007199254740993", "id_token:/sub")
    assert table["email"] == ("ada@example.com", "id_token:/email")
    assert table["groups"] == ('["a","c"]', "userinfo:/teams[active]/name")
    assert table["tenant"] == ("acme", "const:acme")


@pytest.mark.parametrize(
    "payload, words", [
        ("{", "is not JSON"), ("[]", "it needs an object"), ({"sub": "x"}, "it needs an object"),
        ({"api": {"user": {}}}, "responses by path"), ({"id_token": "a.b"}, "compact form"),
        ({"groups": [1]}, "list of names"), ({"id_token": {}}, "provider.subject"),
        ('{\n"id_token": {\n"sub" 1}}', "see line 3"), ('{"api": {}, "api": {}}', "'api' twice"),
        ('{"id_token": ' + "[" * 40 + "]" * 40 + "}", "32 levels"), (" " * (1 << 20) + "{}", "larger than 1 MiB"),
        ({"id_token": {"sub": "a", "iss": "https://else.example"}}, "id_token.issuer"),
        ({"id_token": {"sub": "a"}, "userinfo": {"sub": "b"}}, "about two users"),
    ]
)
def test_an_invalid_payload_is_rejected_with_the_reason(folder, payload, words):
    result = profile(folder, payload)
    assert result.returncode == 1 and words in result.stderr, result.stderr


def test_an_unknown_provider_is_reported_with_the_known_ones(folder):
    result = profile(folder, {"id_token": {}}, name="goggle")
    assert result.returncode == 1 and "'goggle'" in result.stderr and "mock" in result.stderr


def test_a_provider_that_allows_no_loopback_callback_is_rejected(folder, tmp_path):
    folder.write(type="apple", team_id="T", key_id="K", private_key=str(tmp_path / "key.pem"), issuer=None)
    configuration = json.loads(folder.configuration.read_text())
    entry = configuration["providers"]["mock"]
    for key in ("issuer", "client_secret", "scopes"):
        del entry[key]
    key = ["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", str(tmp_path / "key.pem")]
    subprocess.run(key, check=True)
    configuration["gateway"]["public_url"] = "https://gate.example.com"
    folder.configuration.write_text(json.dumps(configuration))
    command = [str(PROGRAM), "try", "mock", "--config", str(folder.configuration), "--port", str(free_port())]
    result = subprocess.run(command, capture_output=True, text=True, timeout=20, env=ENVIRONMENT)
    assert result.returncode == 1 and "Apple cannot be tried" in result.stderr
