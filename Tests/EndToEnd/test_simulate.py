# SPDX-License-Identifier: Apache-2.0
"""`gatehouse simulate`: one provider simulator alone, for the test suites of other programs."""

import json
import re
import shutil
import stat
from pathlib import Path

import pytest
import requests
import yaml
from cryptojwt.key_jar import KeyJar
from idpyoidc.client.rp_handler import RPHandler
from idpyoidc.exception import NotForMe

from support.browser import Browser
from support.gateway import PROGRAM, Gateway, run
from support.processes import Process, eventually, free_port, listens
from support.simulator import Simulator, simulate
from support.upstream import Upstream

TYPES = [
    "google", "github", "microsoft", "apple", "gitlab", "okta", "auth0", "keycloak", "facebook", "linkedin", "discord",
    "slack", "oidc", "oauth2",
]
CALLBACK = "https://client.example/callback"


@pytest.fixture(autouse=True)
def folder_for_keys(tmp_path, monkeypatch):
    """idpyoidc writes keys to the current folder."""
    monkeypatch.chdir(tmp_path)


def client(simulator):
    """A client of idpyoidc, which knows nothing of the project."""
    values = simulator.values
    entry = {
        "issuer": values["issuer"], "client_id": values["client_id"], "client_secret": values["client_secret"],
        "redirect_uris": [values["redirect_uri"]], "client_type": "oidc",
        "preference": {"scopes_supported": ["openid", "profile", "email"], "response_types_supported": ["code"]},
        "add_ons": {
            "pkce": {
                "function": "idpyoidc.client.oauth2.add_on.pkce.add_support",
                "kwargs": {"code_challenge_length": 64, "code_challenge_method": "S256"}
            }
        },
    }
    verify = {"verify": values["ca_file"]}
    return RPHandler(
        base_url="https://client.example",
        client_configs={"it": entry},
        httpc_params=verify,
        keyjar=KeyJar(httpc_params=verify)
    )


def sign_in(simulator, user="ada"):
    """A code flow by that client; returns its result."""
    handler = client(simulator)
    began = handler.begin("it")
    callback = simulator.sign_in(began if isinstance(began, str) else began["url"], user)
    return handler.finalize(simulator.values["issuer"], callback)


@pytest.mark.parametrize("type_", TYPES)
def test_each_type_serves_discovery_or_its_endpoints(type_, tmp_path):
    """TLS by its own authority, which the system does not trust; an HTTP port for browsers."""
    with Simulator(tmp_path, type_) as simulator:
        values = simulator.values
        assert values["type"] == type_ and "ada" in values["users"] and values["quirks"] == []
        assert requests.get(values["pages_url"] + "/nothing", timeout=10).status_code == 404
        with pytest.raises(requests.exceptions.SSLError):
            requests.get(values["base_url"], timeout=10)
        if "discovery" in values:
            document = simulator.get(values["discovery"]).json()
            for name in ("issuer", "authorization_endpoint", "token_endpoint", "jwks_uri", "userinfo_endpoint"):
                assert document.get(name) == values.get(name), name
        assert simulator.get(values["token_endpoint"]).status_code in (404, 405)


# cryptojwt does not pass the option for its fetch of the key set; all other requests of the client verify TLS.
@pytest.mark.filterwarnings("ignore::urllib3.exceptions.InsecureRequestWarning")
@pytest.mark.parametrize("type_", ["oidc", "google", "microsoft", "keycloak", "gitlab"])
def test_an_independent_client_signs_in(type_, tmp_path):
    """The whole code flow: discovery, PKCE, client secret, ID token and userinfo, verified by idpyoidc."""
    with Simulator(tmp_path, type_, "--redirect-uri", CALLBACK) as simulator:
        result = sign_in(simulator)
        assert result["id_token"]["aud"] == [simulator.values["client_id"]]
        assert result["id_token"]["sub"] == result["userinfo"]["sub"]
        assert result["userinfo"]["name"] == "Ada Example"


@pytest.mark.filterwarnings("ignore::urllib3.exceptions.InsecureRequestWarning")
def test_a_quirk_changes_the_provider(tmp_path):
    """The same client rejects the token of another audience, and reads that of another algorithm."""
    with Simulator(tmp_path, "oidc", "--quirk", "token-wrong-audience") as simulator:
        with pytest.raises(NotForMe):
            sign_in(simulator)
    with Simulator(tmp_path, "oidc", "--quirk", "oidc-es256") as simulator:
        assert simulator.values["quirks"] == ["oidc-es256"]
        keys = simulator.get(simulator.values["jwks_uri"]).json()["keys"]
        assert [key["alg"] for key in keys] == ["ES256"]
        assert simulator.get(simulator.values["discovery"]).json()["id_token_signing_alg_values_supported"] == ["ES256"]


def test_a_gateway_signs_in_with_the_printed_lines(tmp_path):
    """The configuration that it prints is complete for a gateway, pins included."""
    port = free_port()
    callback = f"http://gate.localhost:{port}/oauth2/callback/google"
    app = Upstream()
    with Simulator(tmp_path, "google", "--redirect-uri", callback) as simulator:
        providers = yaml.safe_load(simulator.values["configuration"])["providers"]
        assert providers["google"]["tls"]["pins"]["match"] == "public_key"
        apps = {"app": {"host": "gate.localhost", "upstream": app.address, "allow": "signed_in"}}
        gateway = Gateway(tmp_path / "gateway", providers, apps, port=port).start()
        try:
            browser = Browser(gateway)
            page = browser.submit(browser.visit("/oauth2/start/google?rd=/"), button=0)
            assert page.status == 200, page.text
            assert browser.send("GET", "/oauth2/userinfo").json["email"] == "ada@example.org"
        finally:
            gateway.stop()


def test_ports_secret_and_files_can_be_chosen(tmp_path):
    port, pages = free_port(), free_port()
    options = ["--port", port, "--pages-port", pages, "--client-secret", "a secret for tests"]
    with Simulator(tmp_path, "github", *options) as simulator:
        values = simulator.values
        assert values["base_url"] == f"https://localhost:{port}" and values["pages_url"] == f"http://localhost:{pages}"
        assert values["client_secret"] == "a secret for tests"
        secret = tmp_path / "files/github.secret"
        assert secret.read_text() == "a secret for tests" and stat.S_IMODE(secret.stat().st_mode) == 0o600
        for option, taken in (("--port", port), ("--pages-port", pages)):
            result = simulate("oidc", option, taken)
            assert result.returncode == 1
            use = " for the pages of oidc" if option == "--pages-port" else ""
            assert f"port {taken}{use} is in use; choose another with {option}" in result.stderr
        assert listens(port) and listens(pages)


def test_without_json_it_prints_the_same_values_as_text(tmp_path):
    """Values, users, the quirks that are on and the lines for providers.yaml; a temporary folder without --folder."""
    process = Process([PROGRAM, "simulate", "apple", "--quirk", "apple-no-nonce"], tmp_path, "simulate")
    eventually(lambda: "sha256:" in process.log, "the values are printed")
    values = dict(re.findall(r"^    (\w+) +(\S+)$", process.log, re.MULTILINE))
    assert values["type"] == "apple" and "client_secret" not in values and values["client_key_id"]
    assert "\nUsers of its sign-in page: ada, grace, margaret\n" in process.log
    assert "\n    apple-no-nonce: " in process.log and "\nproviders:\n  apple:\n" in process.log
    folder = Path(values["ca_file"]).parent
    assert folder.is_dir()
    assert process.stop() == 0 and not folder.exists()


def test_the_quirks_of_one_type_are_listed():
    listed = simulate("apple", "--list").stdout
    assert "  apple-no-nonce\n" in listed and "  token-expired\n" in listed and "google" not in listed


def test_an_earlier_name_of_a_quirk_is_accepted(tmp_path):
    with Simulator(tmp_path, "github", "--quirk", "github-form-response") as simulator:
        assert simulator.values["quirks"] == ["github-form-response"]


def test_the_types_and_quirks_are_listed():
    listed = simulate("--list").stdout
    assert re.findall(r"^\w+$", listed, re.MULTILINE) == [*TYPES, "any"]
    quirks = json.loads(simulate("--list", "--json").stdout)
    assert sorted(quirks) == sorted([*TYPES, "any"]) and "discovery-down" in quirks["any"]
    assert len(re.findall(r"^  \S+$", listed, re.MULTILINE)) == sum(len(group) for group in quirks.values())


@pytest.mark.parametrize(
    "options, message", [
        (["gogle"], "did you mean 'google'?; the providers are google, github, "),
        (["google", "--quirk", "github-app"], "google has no quirk 'github-app'"),
        (["google", "--quirk", "google-short-isuer"], "did you mean 'google-short-issuer'?; the quirks of google are "),
        (["google", "--port", "70000"], "a port is a number from 1 to 65535"),
        (["google", "--port", "7000", "--pages-port", "7000"], "--port and --pages-port must differ"),
        ([], "--list prints them all"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else ""
)
def test_wrong_usage_ends_with_2_and_names_what_is_right(options, message):
    result = simulate(*options)
    assert result.returncode == 2 and message in result.stderr, result.stderr


@pytest.mark.parametrize("command", ["demo", "simulate"])
def test_a_missing_demo_program_is_named(command, tmp_path):
    """`gatehouse` may be installed without it."""
    alone = tmp_path / "gatehouse"
    shutil.copy(PROGRAM, alone)
    result = run(command, "--help")
    assert result.returncode == 0 and f"gatehouse-demo {command}" in result.stdout
    result = simulate("--list", program=alone)
    assert result.returncode == 1
    assert f"gatehouse: error: {tmp_path}/gatehouse-demo cannot be started: No such file or directory" in result.stderr
