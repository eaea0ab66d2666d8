# SPDX-License-Identifier: Apache-2.0
"""`gatehouse import`: configurations of other gateways, imported, run and signed in through."""

import json
import re

import pytest
import yaml

from support.browser import Browser
from support.gateway import ENVIRONMENT, Gateway, run
from support.processes import REPOSITORY, free_port
from support.simulator import Simulator
from support.upstream import Upstream

NAMES = ["User", "Email", "Preferred-Username", "Groups", "Access-Token"]


class Migration:
    """A simulated provider, a recording app, and the gateway with what an import of `texts` has written."""
    def __init__(self, folder, type_, *options):
        self.folder, self.type = folder, type_
        self.port, self.operations = free_port(), free_port()
        self.origin = f"http://gate.localhost:{self.port}"
        self.app = Upstream()
        redirect = f"{self.origin}/oauth2/callback/{type_}"
        self.simulator = Simulator(folder, type_, "--redirect-uri", redirect, *options)
        self.values = self.simulator.values
        self.gateway = None

    def run(self, files, secret, changes=lambda file: None):
        """Imports files (option, name, text); runs the result with the address of the simulator and a state folder."""
        arguments = []
        for option, name, text in files:
            (self.folder / name).write_text(text)
            arguments += [option, self.folder / name] if option else [self.folder / name]
        output = self.folder / "imported.yaml"
        result = run("import", *arguments, "--output", output, "--json")
        assert result.returncode == 0, result.stderr
        self.notes = json.loads(result.stdout)["notes"]
        assert self.values["client_secret"] not in output.read_text() + result.stdout
        file = yaml.safe_load(output.read_text())
        changes(file)
        file["gateway"] |= {"state": str(self.folder / "state"), "secret": "${env:TEST_GATEWAY_SECRET}"}
        self.gateway = Gateway(
            self.folder / "gateway", {}, {}, port=self.port, operations=self.operations, public_url=self.origin
        )
        self.gateway.configuration = file
        self.gateway.start(env={**ENVIRONMENT, secret: self.values["client_secret"]})

    def sign_in(self, path, button=0):
        """Signs a user in at the simulator; the page at the end, and the request that the app got."""
        browser = Browser(self.gateway)
        page = browser.submit(browser.visit(f"/oauth2/start/{self.type}?rd={path}"), button=button)
        seen = self.app.seen(path)
        return page, seen[-1] if seen else None

    def noted(self, text):
        return any(text in note["message"] for note in self.notes)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.gateway:
            self.gateway.stop()
        self.simulator.__exit__()
        self.app.close()


def sent(request):
    """The identity headers of a request by name."""
    return {name: request.get(f"x-forwarded-{name.lower()}") for name in NAMES}


def check(migration, request, expected, differing):
    """The app gets what oauth2-proxy sends, but for the headers of `differing`: (value, note) by name."""
    headers = sent(request)
    for name, value in expected.items():
        ours, note = differing.get(name, (value, ""))
        assert headers[name] == ours, (name, headers)
        assert migration.noted(note)


def test_a_cfg_for_google(tmp_path):
    """In the shape of oauth2-proxy's contrib/oauth2-proxy.cfg.example; Google has no key for another server."""
    with Migration(tmp_path, "google") as migration:
        values = migration.values
        text = f"""
            provider = "google"
            http_address = "127.0.0.1:{migration.port}"
            metrics_address = "127.0.0.1:{migration.operations}"
            redirect_url = "{migration.origin}/oauth2/callback"
            upstreams = [ "{migration.app.address}/" ]
            email_domains = [ "example.org" ]
            client_id = "{values['client_id']}"
            client_secret = "{values['client_secret']}"
            cookie_secret = "OQINaROshtE9TcZkNAm-5Zs2Pv3xaWytBmc5W7sPX7w="
            pass_access_token = true
            provider_ca_files = [ "{values['ca_file']}" ]
            skip_auth_routes = [ "GET=^/healthz$" ]
            """
        migration.run(
            [(None, "oauth2-proxy.cfg", text)], "GOOGLE_CLIENT_SECRET",
            lambda file: file["providers"]["google"].update(base_url=values["base_url"])
        )
        page, request = migration.sign_in("/wiki-page")
        assert page.status == 200, page.text
        subject = "104729384756102938475"
        check(
            migration,
            request,
            {"User": subject, "Email": "ada@example.org", "Groups": None, "Access-Token": "…"},
            {
                "User": (f"google:{subject}", "X-Forwarded-User is the user key"),
                "Access-Token": (None, "apps get the access token as 'Authorization: Bearer', not as X-Forwarded-Access-Token"),
            },
        )
        assert Browser(migration.gateway).send("GET", "/healthz").status == 200
        assert Browser(migration.gateway).send("GET", "/healthz/x", navigates=False).status == 401


def test_an_alpha_configuration_for_keycloak(tmp_path):
    """In the shape of oauth2-proxy's documentation of the alpha configuration: groups, several upstreams."""
    with Migration(tmp_path, "keycloak") as migration:
        values = migration.values
        alpha = f"""
            upstreamConfig:
              upstreams:
                - {{ id: api, path: "^/api/(.*)$", rewriteTarget: "/$1", uri: "{migration.app.address}" }}
                - {{ id: wiki, path: /, uri: "{migration.app.address}" }}
            injectRequestHeaders:
              - {{ name: X-Forwarded-Groups, values: [{{ claim: groups }}] }}
              - {{ name: X-Forwarded-Email, values: [{{ claim: email }}] }}
              - {{ name: X-Forwarded-Preferred-Username, values: [{{ claim: preferred_username }}] }}
              - {{ name: X-Wiki-Login, values: [{{ claim: preferred_username }}] }}
            server: {{ BindAddress: "127.0.0.1:{migration.port}" }}
            metricsServer: {{ BindAddress: "127.0.0.1:{migration.operations}" }}
            providers:
              - id: keycloak
                provider: keycloak-oidc
                clientID: {values['client_id']}
                clientSecret: "{values['client_secret']}"
                caFiles: ["{values['ca_file']}"]
                allowedGroups: [/staff/platform]
                oidcConfig: {{ issuerURL: "{values['issuer']}", audienceClaims: [aud] }}
            """
        text = f'email_domains = "example.org"\nredirect_url = "{migration.origin}/oauth2/callback"\n'
        migration.run([(None, "oauth2-proxy.cfg", text), ("--alpha", "alpha.yaml", alpha)], "KEYCLOAK_CLIENT_SECRET")
        page, request = migration.sign_in("/wiki-page")
        assert page.status == 200, page.text
        expected = {"Email": "ada@example.org", "Preferred-Username": "ada", "Groups": "/staff,/staff/platform"}
        check(migration, request, expected, {})
        assert request.get("x-wiki-login") == "ada"
        page, request = migration.sign_in("/api/items-1")
        assert page.status == 200 and migration.app.seen("/items-1")[-1].target == "/items-1"
        page, request = migration.sign_in("/denied-page", button=1)
        assert page.status == 403 and request is None


def test_flags_and_environment_for_github(tmp_path):
    """In the shape of a unit of systemd with an environment file, for a GitHub Enterprise Server."""
    with Migration(tmp_path, "github") as migration:
        values = migration.values
        unit = f"""
            [Service]
            EnvironmentFile=/etc/oauth2-proxy.env
            ExecStart=/usr/bin/oauth2-proxy --provider=github --http-address=127.0.0.1:{migration.port} \\
              --metrics-address=127.0.0.1:{migration.operations} --email-domain=* \\
              --github-org=example-org --github-team=platform-eng,other \\
              --upstream={migration.app.address} --redirect-url={migration.origin}/oauth2/callback \\
              --login-url={values['base_url']}/login/oauth/authorize \\
              --redeem-url={values['base_url']}/login/oauth/access_token \\
              --provider-ca-file={values['ca_file']}
            """
        environment = (
            f"OAUTH2_PROXY_CLIENT_ID={values['client_id']}\nOAUTH2_PROXY_CLIENT_SECRET={values['client_secret']}\n"
            "OAUTH2_PROXY_COOKIE_SECRET=OQINaROshtE9TcZkNAm-5Zs2Pv3xaWytBmc5W7sPX7w=\n"
        )
        migration.run(
            [("--flags", "oauth2-proxy.service", unit), ("--env", "oauth2-proxy.env", environment)],
            "OAUTH2_PROXY_CLIENT_SECRET"
        )
        page, request = migration.sign_in("/wiki-page")
        assert page.status == 200, page.text
        check(
            migration,
            request,
            {
                "User": "ada-example", "Email": "ada@example.org", "Groups":
                    "example-org,example-org:on-call,example-org:platform-eng"
            },
            {
                "User": ("github:73205511", "X-Forwarded-User is the user key"), "Groups":
                    (
                        "example-org,example-org/on-call,example-org/platform-eng",
                        "teams in X-Forwarded-Groups are 'org/team'"
                    )
            },
        )
        assert request.get("x-forwarded-preferred-username") == "ada-example"
        page, request = migration.sign_in("/denied-page", button=1)
        assert page.status == 403 and request is None


# The command


CFG = (
    'client_id = "a"\nclient_secret = "b"\nemail_domains = ["example.com"]\nbanner = "x"\n'
    'upstreams = ["http://127.0.0.1:8080/"]\n'
)


def test_the_file_goes_to_standard_output_and_the_notes_to_standard_error(tmp_path):
    (tmp_path / "proxy.cfg").write_text(CFG)
    result = run("import", "proxy.cfg", cwd=tmp_path)
    assert result.returncode == 0
    assert yaml.safe_load(result.stdout)["providers"]["google"]["client_id"] == "a"
    assert re.search(r"^proxy\.cfg:4: warning: 'banner' is not carried over: ", result.stderr, re.M)
    assert re.search(r"^proxy\.cfg:2: note: the secret 'client_secret' is not copied", result.stderr, re.M)


def test_an_existing_file_is_kept_without_force(tmp_path):
    (tmp_path / "proxy.cfg").write_text(CFG)
    output = tmp_path / "providers.yaml"
    output.write_text("mine")
    result = run("import", tmp_path / "proxy.cfg", "--output", output)
    assert result.returncode == 1 and "--force" in result.stderr and output.read_text() == "mine"
    result = run("import", tmp_path / "proxy.cfg", "--output", output, "--force")
    assert result.returncode == 0 and "gatehouse check" in result.stderr and "google" in output.read_text()


@pytest.mark.parametrize("more, code", [("", 0), ("brand_new = true\n", 3), ("github_repo = \"a/b\"\n", 3)])
def test_i_01_the_exit_code_shows_that_an_app_is_denied(more, code, tmp_path):
    """The file is written all the same."""
    (tmp_path / "proxy.cfg").write_text(CFG + more)
    output = tmp_path / "providers.yaml"
    result = run("import", tmp_path / "proxy.cfg", "--output", output)
    assert result.returncode == code and ("denied to all users until you write the rules" in result.stderr) == (code == 3)
    apps = yaml.safe_load(output.read_text())["apps"]
    assert any("gatehouse.invalid" in json.dumps(app.get("deny", "")) for app in apps.values()) == (code == 3)


@pytest.mark.parametrize(
    "text, message",
    [
        ("hello", "gatehouse: error: the format of the file is not known; name it with --from"),
        ("client_id = a", "proxy.cfg:1: error: the value of 'client_id' is not a text"),
        ("client_id = 'a'\nx = '\x1b[0m'", "proxy.cfg:2: error: control characters are not allowed"),
    ],
)
def test_a_file_that_cannot_be_read_ends_with_its_line(tmp_path, text, message):
    (tmp_path / "proxy.cfg").write_text(text)
    result = run("import", "proxy.cfg", cwd=tmp_path)
    assert result.returncode == 1 and result.stderr.startswith(message) and result.stdout == ""


@pytest.mark.parametrize(
    "arguments", [[], ["x", "--json"], ["x", "--force"], ["x", "--from", "nginx"], ["x", "--alpha", "y", "--from", "authelia"]]
)
def test_wrong_usage_ends_with_2(arguments):
    assert run("import", *arguments).returncode == 2


# The documents


def options():
    """The options of oauth2-proxy in the table of the program."""
    source = (REPOSITORY / "Sources/9-programs/GateImport/OAuth2Proxy/OAuth2ProxyOption.swift").read_text()
    return set(re.findall(r'(?:Self\(\s*|\()"(\w+)",\s*(?:Kind)?\.(?:flag|text|list|secret)\b', source))


def test_the_page_lists_every_option_of_oauth2_proxy():
    page = (REPOSITORY / "docs/migration/oauth2-proxy.md").read_text()
    assert len(options()) > 150
    assert [name for name in sorted(options()) if f"`{name}`" not in page] == []


def test_the_page_lists_every_directive_of_mod_auth_openidc():
    page = (REPOSITORY / "docs/migration/mod_auth_openidc.md").read_text().lower()
    source = (REPOSITORY / "Sources/9-programs/GateImport/Apache/ApacheDirective.swift").read_text()
    names = set(re.findall(r'"(oidc\w+)"', source))
    assert len(names) > 50
    assert [name for name in sorted(names) if f"`{name}" not in page] == []


AUTHELIA = """
session: { cookies: [{ domain: example.com, authelia_url: "https://auth.example.com" }] }
definitions: { network: { office: [192.0.2.0/24] } }
access_control:
  default_policy: deny
  rules:
    - { domain: wiki.example.com, policy: one_factor, networks: [office, 10.0.0.0/8], methods: [GET, HEAD] }
    - { domain: wiki.example.com, policy: deny, methods: [DELETE], subject: "group:interns" }
    - { domain: wiki.example.com, policy: two_factor, subject: [["group:a", "group:b"]] }
"""
POMERIUM = """
authenticate_service_url: https://gate.example.com
idp_provider: oidc
idp_provider_url: https://id.example.com
idp_client_id: gateway
idp_client_secret: hunter2
routes:
  - from: https://wiki.example.com
    to: http://127.0.0.1:8088
    policy:
      - allow: { and: [{ groups: { has: a } }, { groups: { has: b } }, { source_ip: 10.0.0.0/8 }, { http_method: { in: [GET, POST] } }] }
      - allow: { nor: [{ groups: { has: guests } }, { email: eve@example.net }] }
      - deny: { not: [{ domain: example.com }] }
"""
APACHE = """
OIDCProviderMetadataURL https://id.example.com/.well-known/openid-configuration
OIDCClientID gateway
OIDCClientSecret hunter2
OIDCRedirectURI https://gate.example.com/secure/redirect_uri
<VirtualHost *:443>
ServerName gate.example.com
ProxyPass / http://127.0.0.1:8088/
<Location />
AuthType openid-connect
<RequireAll>
Require claim groups:a
Require claim groups:b
Require ip 10.0.0.0/8 192.168
Require not method PUT
</RequireAll>
</Location>
</VirtualHost>
"""


@pytest.mark.parametrize("name, text", [("configuration.yml", AUTHELIA), ("config.yaml", POMERIUM), ("wiki.conf", APACHE)])
def test_rules_with_networks_methods_and_negations_pass_the_check(name, text, tmp_path):
    """As the program itself reads them; each note of a lost rule is a warning, none of which is about these."""
    (tmp_path / name).write_text(text)
    output = tmp_path / "providers.yaml"
    result = run("import", tmp_path / name, "--output", output, "--json", "--public-url", "https://gate.example.com")
    assert result.returncode == 0, result.stderr
    messages = [note["message"] for note in json.loads(result.stdout)["notes"]]
    assert not [message for message in messages if "denied" in message or "cannot be carried over" in message], messages
    secrets = {name: "a secret of at least 32 bytes in all" for name in re.findall(r"\$\{env:(\w+)\}", output.read_text())}
    checked = run("check", "--config", output, env=secrets)
    assert checked.returncode == 0 and "error" not in checked.stderr, checked.stderr
    entries = next(iter(yaml.safe_load(output.read_text())["apps"].values()))["allow"]
    assert any("network" in entry for entry in entries) and any("all" in entry for entry in entries)
