# SPDX-License-Identifier: Apache-2.0
"""The documents match the program: their examples run as they are."""

import gzip
import http.server
import json
import os
import re
import subprocess
import threading
import time
from pathlib import Path

import jwt
import pytest
import yaml
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from jwt.algorithms import ECAlgorithm

from support.browser import Browser
from support.gateway import ENVIRONMENT, PROGRAM, Gateway, oidc, public_echo
from support.processes import REPOSITORY, certificate

TOP = Path(__file__).resolve().parents[2]
DOCUMENTS = [*sorted(TOP.glob("*.md")), *sorted((TOP / "docs").glob("**/*.md")), TOP / "Tests/README.md"]
APPS = [f"docs/apps/{page.name}" for page in sorted((TOP / "docs/apps").glob("[a-z]*.md"))]
PAGES = [f"docs/providers/{page.name}" for page in sorted((TOP / "docs/providers").glob("[a-z]*.md"))]
APP = "https://wiki.example.com"


def blocks(name, language):
    return re.findall(rf"^```{language}\n(.*?)^```", (TOP / name).read_text(), re.S | re.M)


# The files


@pytest.mark.parametrize(
    "name", [
        "README.md", "docs/start.md", "docs/profile.md", "docs/pinning.md", "docs/headers.md", "docs/policy.md", "docs/machines.md", *PAGES,
        *(page for page in APPS if page not in {"docs/apps/node.md", "docs/apps/go.md"})
    ]
)
def test_the_files_in_the_documents_pass_the_check(name, tmp_path):
    files = [block for block in blocks(name, "yaml") if "apps:" in block]
    assert files
    key = ec.generate_private_key(ec.SECP256R1())
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    for text in files:
        (tmp_path / "google").write_text("a secret of the provider")
        (tmp_path / "google").chmod(0o600)
        file = tmp_path / "providers.yaml"
        file.write_text(text.replace("/etc/gatehouse/secrets/", f"{tmp_path}/").replace("state: /var/lib/gatehouse", ""))
        names = re.findall(r"\$\{env:(\w+)\}", text)
        environment = {name: pem if name.endswith("_KEY") else "a secret" for name in names}
        result = subprocess.run([PROGRAM, "check", "--config", file], env=environment, capture_output=True, text=True)
        assert (result.returncode, result.stderr) == (0, "")


def merged(base, changes):
    """A mapping with the changes of another, at any depth."""
    if not isinstance(base, dict) or not isinstance(changes, dict):
        return changes
    return {**base, **{name: merged(base.get(name), value) for name, value in changes.items()}}


def completed(block):
    """A part of a file as a whole one: with a gateway, a provider and an app, and what the apps of the part leave out."""
    schema = json.loads((TOP / "docs/providers.schema.json").read_text())
    part = yaml.safe_load(block)
    if not set(part) <= set(schema["properties"]):
        part = {"apps": {"wiki": part}}
    google = {"type": "google", "client_id": "1.apps.googleusercontent.com", "client_secret": "${env:GOOGLE_SECRET}", "hosted_domains": ["example.com"]}
    app = {"upstream": "http://10.0.0.5:8080", "allow": "signed_in"}
    whole = merged(
        {
            "gateway": {"public_url": "https://gate.example.com"}, "providers": {"google": google},
            "apps": {} if "apps" in part else {"wiki": {"path": "/", **app}}
        }, part
    )
    for name, entry in whole["apps"].items():
        given = {key: value for key, value in app.items() if key != "upstream" or "forward_auth" not in entry}
        whole["apps"][name] = {**given, **entry}
    return whole


PARTS = ["forward-auth", "sessions", "compatibility", "hosts", "websockets", "logs", "administration"]


def test_each_page_with_a_part_of_a_file_is_checked():
    """A page about the gateway whose blocks no test reads is not forgotten."""
    pages = {page.stem for page in (TOP / "docs").glob("*.md") if blocks(f"docs/{page.name}", "yaml")}
    assert pages - {"alerts", "start", "profile", "pinning", "headers", "policy", "machines"} == set(PARTS)


@pytest.mark.parametrize("name", PARTS)
def test_the_parts_of_files_in_the_documents_pass_the_check(name, tmp_path):
    """As the keys of a file that has the rest."""
    pem, key = certificate(tmp_path, "any", "gate.example.com")
    for block in blocks(f"docs/{name}.md", "yaml"):
        file = tmp_path / "providers.yaml"
        block = re.sub(r"tls/[\w-]+\.pem", str(pem), block).replace("tls/client.key", str(key))
        text = json.dumps(completed(block), indent=1)
        file.write_text(text)
        environment = {variable: "a secret of at least 32 bytes in all" for variable in re.findall(r"\$\{env:(\w+)\}", text)}
        stores = re.findall(r"# (rediss://\S+)", block)
        environment |= {"SESSION_STORE": store for store in stores}
        result = subprocess.run([PROGRAM, "check", "--config", file], env=environment, capture_output=True, text=True)
        assert (result.returncode, result.stderr) == (0, ""), block


def test_prometheus_accepts_the_block_about_alerts(tmp_path):
    (tmp_path / "prometheus.yml").write_text(blocks("docs/alerts.md", "yaml")[0])
    (tmp_path / "gatehouse.rules.yml").write_text((TOP / "deploy/prometheus/gatehouse.rules.yml").read_text())
    result = subprocess.run(
        ["promtool", "check", "config", "prometheus.yml"], cwd=tmp_path, capture_output=True, text=True
    )
    assert result.returncode == 0 and "SUCCESS: 1 rule files found" in result.stdout, result


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_the_shell_blocks_can_be_parsed(document):
    for block in blocks(document, "(?:sh|bash)"):
        result = subprocess.run(["bash", "-n"], input=block, capture_output=True, text=True)
        assert (result.returncode, result.stderr) == (0, ""), block


#: What the commands of the documents find on a server.
SERVER = """
sudo() { [ "$1" = -u ] && shift 2; "$@"; }
gatehouse() { "$GATEHOUSE" "$@"; }
journalctl() { cat "$LOGS/audit.log"; }
"""


@pytest.mark.parametrize("name", ["administration", "keys", "backup"])
def test_the_commands_of_the_documents_run(name, tmp_path, provider_server, app):
    """Each block as it is, against a gateway; only the places of files and the names of users and incidents are others."""
    realm = provider_server.realm("mock")
    logs = tmp_path / "logs"
    logs.mkdir()
    gateway = Gateway(
        tmp_path, {"mock": oidc(realm.issuer)}, public_echo(app, deny=[{"path": "/closed/**"}]),
        gateway={"operations_token": "${env:OPERATIONS_TOKEN}"}
    )
    gateway.configuration["logs"] = {"access": f"{logs}/access.log", "audit": f"{logs}/audit.log"}
    # The gateway makes its own secret, which a command of a page rotates.
    del gateway.configuration["gateway"]["secret"]
    environment = {
        **os.environ, **ENVIRONMENT, "OPERATIONS_TOKEN": "a token of at least 32 bytes in all", "GATEHOUSE": str(PROGRAM),
        "LOGS": str(logs)
    }
    gateway.start(env=environment)
    try:
        browser = Browser(gateway)
        browser.sign_in("mock", "/x")
        incident = browser.send("GET", "/closed/x", navigates=False).json["incident"]
        gateway.log
        (logs / "access.log.1").write_text("")
        with gzip.open(logs / "access.log.2.gz", "wt") as packed:
            packed.write((logs / "audit.log").read_text())
        found = blocks(f"docs/{name}.md", "sh")
        assert found
        for block in found:
            for old, new in {
                "/etc/gatehouse/providers.yaml": gateway.path, "/var/lib/gatehouse": gateway.folder / "state",
                "/var/log/gatehouse": logs, "/var/backups": tmp_path, "kD3pZ0qLxV7w": incident, "google:1047": "mock:ada",
                "127.0.0.1:9901": f"127.0.0.1:{gateway.operations}"
            }.items():
                block = block.replace(old, str(new))
            script = f"{SERVER}set -euo pipefail\n{block}"
            result = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
            assert result.returncode == 0, (block, result)
            assert '{"error"' not in result.stdout and result.stdout.count("policy.denied") >= block.count("gatehouse explain")
    finally:
        gateway.leave()


def test_the_cases_of_the_page_about_rules_pass(tmp_path):
    rules, cases = blocks("docs/policy.md", "yaml")
    (tmp_path / "providers.yaml").write_text(rules)
    (tmp_path / "cases.yaml").write_text(cases)
    environment = {name: "a secret of at least 32 bytes in all" for name in re.findall(r"\$\{env:(\w+)\}", rules)}
    command = [PROGRAM, "policy", "test", "cases.yaml", "--config", "providers.yaml"]
    result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (result.returncode, result.stdout, result.stderr) == (0, f"{cases.count('expect')} cases, 0 failed\n", "")
    # The explanation on the page is that of the first file.
    (tmp_path / "ann.json").write_text('{"user": "google:1047", "email": "ann@example.com", "email_verified": true, '
                                       '"email_authoritative": true, "groups_complete": true}')
    shown = blocks("docs/policy.md", "text")[0].splitlines()
    command = [PROGRAM, *shown[0].removeprefix("$ gatehouse ").split(), "--time", "2026-11-23T10:00:00Z"]
    result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert result.stdout.splitlines() == shown[1:]


def test_each_type_of_provider_has_a_page():
    schema = json.loads((TOP / "docs/providers.schema.json").read_text())
    provider = next(iter(schema["properties"]["providers"]["patternProperties"].values()))
    types = next(one["enum"] for one in provider["properties"]["type"]["anyOf"] if "enum" in one)
    assert sorted(f"docs/providers/{name}.md" for name in types) == PAGES


@pytest.mark.parametrize("name", PAGES)
def test_each_page_explains_registration_and_failures(name):
    page = (TOP / name).read_text()
    assert re.search(r"^https://gate\.example\.com/oauth2/callback/\w+$", page, re.M)
    assert re.search(r"\b[Ss]copes?\b", page)
    wrong = page.partition("## What can go wrong")[2]
    codes = (TOP / "docs/errors.md").read_text()
    named = re.findall(r"`((?:openid|provider|id_token|policy)\.[a-z_]+)`", wrong)
    assert named and all(f"`{code}`" in codes for code in named)


# The example of an app that verifies assertions


@pytest.fixture(scope="module")
def key():
    return ec.generate_private_key(ec.SECP256R1())


@pytest.fixture(scope="module")
def gateway(key):
    """A server that publishes a key as the gateway does."""
    jwk = {**json.loads(ECAlgorithm.to_jwk(key.public_key())), "kid": "one", "alg": "ES256", "use": "sig"}
    responses = {"/oauth2/jwks.json": json.dumps({"keys": [jwk]}).encode()}

    class Publisher(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = responses.get(self.path)
            self.send_response(200 if body else 404)
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Publisher)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def example(gateway):
    """The function of the example."""
    source = next(block for block in blocks("docs/start.md", "python") if "def user" in block)
    names = {}
    exec(source.replace("https://gate.example.com", gateway), names)
    return names["user"]


def headers(gateway, key, kid="one", **changes):
    now = int(time.time())
    claims = {"iss": gateway, "aud": APP, "sub": "google:1", "iat": now, "nbf": now, "exp": now + 120, **changes}
    known = {name: value for name, value in claims.items() if value is not None}
    return {"X-Gatehouse-Assertion": jwt.encode(known, key, "ES256", headers={"kid": kid})}


def test_the_example_returns_the_user(gateway, key, example):
    assert example(headers(gateway, key))["sub"] == "google:1"


@pytest.mark.parametrize(
    "changes",
    [
        {"aud": "https://other.example.com"},
        {"iss": "https://other.example.com"},
        {"exp": 1_700_000_000},
        {"exp": None},
        {"sub": None},
        {"kid": "two"},
    ],
    ids=str,
)
def test_the_example_rejects_another_audience(gateway, key, example, changes):
    with pytest.raises(jwt.PyJWTError):
        example(headers(gateway, key, **changes))


def test_the_example_rejects_another_key_and_no_assertion(gateway, example):
    with pytest.raises(jwt.PyJWTError):
        example(headers(gateway, ec.generate_private_key(ec.SECP256R1())))
    with pytest.raises(jwt.PyJWTError):
        example({})


# The pages of apps


@pytest.mark.parametrize("page, preset", [("grafana", "grafana"), ("jenkins", "jenkins"), ("opensearch", "kibana")])
def test_a_page_of_an_app_names_headers_that_the_app_gets(page, preset):
    table = re.search(rf"^\| `{preset}` \|(.*)", (TOP / "docs/headers.md").read_text(), re.M)[1]
    sent = {name.lower() for name in re.findall(r"`(X-[\w-]+)`", table)}
    sent |= {"x-forwarded-user", "x-forwarded-groups", "x-gatehouse-assertion", "x-forwarded-for"}
    named = {name.lower() for name in re.findall(r"\bX-[\w-]+", (TOP / f"docs/apps/{page}.md").read_text(), re.I)}
    assert len(named) > 1 and named <= sent


NODE = """
import { user } from "./verifier.mjs";
for (const assertion of JSON.parse(process.argv[2])) {
  const headers = assertion ? { "x-gatehouse-assertion": assertion } : {};
  console.log(await user(headers).then((claims) => claims.sub, (error) => `Error ${error.message}`));
}
"""


def node(gateway, folder):
    source = next(block for block in blocks("docs/apps/node.md", "js") if "function user" in block)
    assert len(source.splitlines()) <= 30
    (folder / "verifier.mjs").write_text(source.replace("https://gate.example.com", gateway))
    (folder / "main.mjs").write_text(NODE)
    return ["node", folder / "main.mjs"]


GO = """package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
)

func main() {
	var assertions []string
	json.Unmarshal([]byte(os.Args[1]), &assertions)
	for _, assertion := range assertions {
		request := http.Request{Header: http.Header{"X-Gatehouse-Assertion": {assertion}}}
		if claims, err := User(&request); err == nil {
			fmt.Println(claims.Sub)
		} else {
			fmt.Println("Error", err)
		}
	}
}
"""


def go(gateway, folder):
    verifier, keys, _ = blocks("docs/apps/go.md", "go")
    code = verifier[verifier.index("const "):]
    assert len([line for line in code.splitlines() if line]) <= 30
    sources = {"verifier.go": verifier.replace("https://gate.example.com", gateway), "keys.go": keys, "main.go": GO}
    for name, text in sources.items():
        (folder / name).write_text(text)
    files = [folder / name for name in sources]
    assert subprocess.run(["gofmt", "-l", *files], capture_output=True, text=True, check=True).stdout == ""
    environment = {**os.environ, "GOCACHE": str(folder / "cache"), "HOME": str(folder)}
    subprocess.run(["go", "build", "-o", folder / "main", *files], env=environment, check=True, timeout=300)
    return [folder / "main"]


@pytest.mark.parametrize("program", [node, go])
def test_the_verifier_of_an_app_accepts_what_is_valid_only(gateway, key, tmp_path, program):
    command = program(gateway, tmp_path)
    good = headers(gateway, key)["X-Gatehouse-Assertion"]
    head, body, signature = good.split(".")
    none = jwt.encode({"iss": gateway, "aud": APP, "sub": "x"}, None, "none", headers={"kid": "one"})
    bad = [
        "", "x", "a.b.c", none, f"{none.split('.')[0]}.{body}.{signature}", f"{head}.{body}.", f"{head}.{body[:-4]}AAAA.{signature}",
        headers(gateway, ec.generate_private_key(ec.SECP256R1()))["X-Gatehouse-Assertion"],
        *(
            headers(gateway, key, **changes)["X-Gatehouse-Assertion"] for changes in [
                {"aud": "https://other.example.com"}, {"iss": "https://other.example.com"}, {"exp": 1_700_000_000}, {"exp": None},
                {"nbf": 4_000_000_000}, {"sub": None}, {"kid": "two"}
            ]
        ),
    ]
    done = subprocess.run(
        [*command, json.dumps([good, *bad, good])], capture_output=True, text=True, timeout=60, check=True
    )
    first, *others, last = done.stdout.splitlines()
    assert first == last == "google:1"
    assert len(others) == len(bad) and all(line.startswith("Error ") for line in others), others


# Links


def anchors(document):
    headings = re.findall(r"^#+ (.*)", document.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_links_lead_somewhere(document):
    for link in re.findall(r"\]\(([^)\s]+)\)", document.read_text()):
        if link.startswith("https://"):
            continue
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_z_09_the_readme_lists_as_missing_what_is_missing():
    text = (REPOSITORY / "README.md").read_text()
    missing = text.split("**Not built yet:**")[1].split("\n\n")[0]
    shown = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True).stdout
    commands = set(re.findall(r"\n  (\w+)", shown.split("SUBCOMMANDS:")[1]))
    planned = set(re.findall(r"`(\w+)`", missing)) - {"check"}
    assert "check" in commands and not planned & commands
    for built in ("HTTP/2", "WebSocket", "several targets", "gRPC"):
        assert built not in missing
    assert "revocation at once" not in text
