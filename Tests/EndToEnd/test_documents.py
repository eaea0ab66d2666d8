# SPDX-License-Identifier: Apache-2.0
"""The documents match the program: their examples run as they are."""

import gzip
import json
import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from support.browser import Browser
from support.chains import CLIENT_AUTH, Authority
from support.documents import blocks
from support.gateway import ENVIRONMENT, PROGRAM, Gateway, oidc, public_echo
from support.processes import REPOSITORY, certificate

TOP = Path(__file__).resolve().parents[2]
DOCUMENTS = [*sorted(TOP.glob("*.md")), *sorted((TOP / "docs").glob("**/*.md")), TOP / "Tests/README.md"]
APPS = [f"docs/apps/{page.name}" for page in sorted((TOP / "docs/apps").glob("[a-z]*.md"))]
PAGES = [f"docs/providers/{page.name}" for page in sorted((TOP / "docs/providers").glob("[a-z]*.md"))]


# The files


def remarks(result):
    """What `check` prints about a sample file, but for its hosts and the proxy before it (N-04, N-08)."""
    usual = ("for examples, which browsers cannot open", "no listener has TLS and 'trusted_proxies' is empty")
    return [line for line in result.stderr.splitlines() if not any(text in line for text in usual)]


@pytest.mark.parametrize(
    "name", [
        "README.md", "docs/start.md", "docs/profile.md", "docs/pinning.md", "docs/headers.md", "docs/policy.md", "docs/machines.md",
        "docs/clients.md", "docs/native.md", "docs/forward-auth.md", "docs/upstreams.md", *PAGES,
        *(page for page in APPS if page not in {"docs/apps/node.md", "docs/apps/go.md", "docs/apps/python.md"})
    ]
)
def test_the_files_in_the_documents_pass_the_check(name, tmp_path):
    files = [block for block in blocks(name, "yaml") if "apps:" in block]
    assert files
    key = ec.generate_private_key(ec.SECP256R1())
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    (tmp_path / "tls").mkdir()
    Authority("clients").issue(common_name="gatehouse", usages=(CLIENT_AUTH, )).files(tmp_path / "tls", "client")
    for text in files:
        (tmp_path / "google").write_text("a secret of the provider")
        (tmp_path / "google").chmod(0o600)
        file = tmp_path / "providers.yaml"
        file.write_text(text.replace("/etc/gatehouse/secrets/", f"{tmp_path}/").replace("state: /var/lib/gatehouse", ""))
        names = re.findall(r"\$\{env:(\w+)\}", text)
        environment = {name: pem if name.endswith("_KEY") else "a secret of at least 32 bytes in all" for name in names}
        result = subprocess.run([PROGRAM, "check", "--config", file], env=environment, capture_output=True, text=True)
        assert (result.returncode, remarks(result)) == (0, [])


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


PARTS = [
    "forward-auth", "sessions", "compatibility", "hosts", "websockets", "logs", "administration", "credentials", "mcp",
    "accounts", "pages", "passkeys", "connected-accounts", "client-certificates",
]


def test_each_page_with_a_part_of_a_file_is_checked():
    """A page about the gateway whose blocks no test reads is not forgotten."""
    pages = {page.stem for page in (TOP / "docs").glob("*.md") if blocks(f"docs/{page.name}", "yaml")}
    assert pages - {"alerts", "start", "profile", "pinning", "headers", "policy", "upstreams", "machines", "clients", "native"} == set(PARTS)


@pytest.mark.parametrize("name", PARTS)
def test_the_parts_of_files_in_the_documents_pass_the_check(name, tmp_path):
    """As the keys of a file that has the rest."""
    pem, key = certificate(tmp_path, "any", "gate.example.com", "wiki.example.com")
    for block in blocks(f"docs/{name}.md", "yaml"):
        file = tmp_path / "providers.yaml"
        block = re.sub(r"tls/[\w-]+\.pem", str(pem), block).replace("tls/client.key", str(key)).replace("tls/gate.key", str(key))
        for picture in re.findall(r"pages/[\w-]+\.svg", block):
            (tmp_path / "pages").mkdir(exist_ok=True)
            (tmp_path / picture).write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
        text = json.dumps(completed(block), indent=1)
        file.write_text(text)
        environment = {variable: "a secret of at least 32 bytes in all" for variable in re.findall(r"\$\{env:(\w+)\}", text)}
        stores = re.findall(r"# (rediss://\S+)", block)
        environment |= {"SESSION_STORE": store for store in stores}
        result = subprocess.run([PROGRAM, "check", "--config", file], env=environment, capture_output=True, text=True)
        assert (result.returncode, remarks(result)) == (0, []), block


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
    rules, *_, cases = blocks("docs/policy.md", "yaml")
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
    # That of type local is docs/accounts.md: it has no registration and no callback.
    assert sorted(f"docs/providers/{name}.md" for name in types if name != "local") == PAGES


@pytest.mark.parametrize("name", PAGES)
def test_each_page_explains_registration_and_failures(name):
    page = (TOP / name).read_text()
    assert re.search(r"^https://gate\.example\.com/oauth2/callback/\w+$", page, re.M)
    assert re.search(r"\b[Ss]copes?\b", page)
    wrong = page.partition("## What can go wrong")[2]
    codes = (TOP / "docs/errors.md").read_text()
    named = re.findall(r"`((?:openid|provider|id_token|policy)\.[a-z_]+)`", wrong)
    assert named and all(f"`{code}`" in codes for code in named)


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


@pytest.mark.parametrize("page, least", [("architecture", 200), ("internals", 5)])
def test_every_path_that_the_pages_of_the_architecture_name_exists(page, least):
    named = re.findall(r"`([A-Za-z][\w.+-]*(?:/[\w.+-]+)+)`", (REPOSITORY / f"docs/{page}.md").read_text())
    assert len(named) > least
    bases = [REPOSITORY, REPOSITORY / "Sources", *(REPOSITORY / "Sources").iterdir()]
    places = [base / path for path in named for base in bases]
    # An empty folder does not count: git does not keep it, so only some working trees have it.
    existing = {place for place in places if place.is_file() or (place.is_dir() and any(place.iterdir()))}
    missing = [path for path in named if not {base / path for base in bases} & existing]
    assert missing == []


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
