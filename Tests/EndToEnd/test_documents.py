# SPDX-License-Identifier: Apache-2.0
"""The documents match the program: their examples run as they are."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from support.documents import blocks
from support.gateway import PROGRAM
from support.processes import REPOSITORY

TOP = Path(__file__).resolve().parents[2]
DOCUMENTS = [*sorted(TOP.glob("*.md")), *sorted((TOP / "docs").glob("**/*.md")), TOP / "Tests/README.md"]
APPS = [f"docs/apps/{page.name}" for page in sorted((TOP / "docs/apps").glob("[a-z]*.md"))]
PAGES = [f"docs/providers/{page.name}" for page in sorted((TOP / "docs/providers").glob("[a-z]*.md"))]


# The files


@pytest.mark.parametrize(
    "name", [
        "README.md", "docs/start.md", "docs/profile.md", "docs/pinning.md", "docs/headers.md", "docs/policy.md", "docs/machines.md",
        "docs/forward-auth.md", *PAGES,
        *(page for page in APPS if page not in {"docs/apps/node.md", "docs/apps/go.md", "docs/apps/python.md"})
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
