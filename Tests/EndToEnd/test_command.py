# SPDX-License-Identifier: Apache-2.0
"""The command line: check, schema, help, exit codes."""

import json
import re
import subprocess

import pytest

from support.gateway import Gateway, run
from support.processes import REPOSITORY, free_port

SECRETS = {
    name: "a secret of at least 32 characters, made for tests"
    for name in (
        "GATEHOUSE_SECRET", "GOOGLE_CLIENT_SECRET", "GITHUB_CLIENT_SECRET", "MICROSOFT_CLIENT_SECRET",
        "STAFF_CLIENT_SECRET",
    )
}
COMMANDS = ["serve", "check", "demo", "try", "pins", "profile", "schema", "import", "explain", "policy", "probe", "tokens"]


def test_the_documented_example_passes_check():
    """The committed providers.yaml is complete and usable."""
    result = run("check", env=SECRETS)
    assert result.returncode == 0, result.stderr
    assert "error" not in result.stderr


def test_a_missing_secret_is_reported_with_its_position():
    result = run("check", env={**SECRETS, "GOOGLE_CLIENT_SECRET": ""})
    assert result.returncode == 1
    assert "providers.yaml:" in result.stderr and "GOOGLE_CLIENT_SECRET" in result.stderr and "^" in result.stderr


def test_the_committed_schema_is_what_the_program_prints():
    """Schema and reference cannot drift."""
    result = run("schema")
    committed = (REPOSITORY / "docs/providers.schema.json").read_text()
    assert result.returncode == 0 and result.stdout == committed
    assert json.loads(committed)["type"] == "object"


def test_the_committed_reference_is_what_the_program_prints():
    """Docs/configuration.md holds the table of the same description."""
    result = run("schema", "--reference")
    committed = (REPOSITORY / "docs/configuration.md").read_text()
    assert result.returncode == 0
    for line in result.stdout.splitlines():
        assert line in committed, line


def test_all_mistakes_are_reported_at_once(tmp_path):
    """File, line, column, the source line, a caret, a hint."""
    path = tmp_path / "providers.yaml"
    path.write_text("gateway:\n  public_urll: http://localhost:1\nproviders:\n  x: {type: oicd}\napps: 7\n")
    result = run("check", "--config", path)
    assert result.returncode == 1
    assert f"{path}:2:3: error:" in result.stderr and "did you mean 'public_url'?" in result.stderr
    assert result.stderr.count("error:") >= 3 and result.stderr.count("^") >= 3
    assert run("serve", "--config", path).returncode == 1


def test_check_prints_its_diagnostics_as_json(tmp_path):
    """With file, line and column as in the text, and what to do by itself; errors make the file unusable, warnings do not."""
    file = tmp_path / "providers.yaml"
    good = """gateway:
  public_url: http://localhost:8080
providers:
  google: {type: google, client_id: 1.apps.googleusercontent.com, client_secret: "${env:GOOGLE_CLIENT_SECRET}", hosted_domains: [example.com]}
apps:
  wiki:
    path: /
    upstream: http://127.0.0.1:8000
    allow: [{email_domain: example.com}]
"""
    file.write_text(good)
    report = json.loads(run("check", "--config", file, "--json", env=SECRETS).stdout)
    assert report == {
        "version": 1, "file": str(file), "usable": True, "providers": 1, "apps": 1, "diagnostics": [], "online": None
    }
    file.write_text(good.replace("    allow", "    alow") + "    deny: [{email: it's}]\n")
    result = run("check", "--config", file, "--json", env=SECRETS)
    report = json.loads(result.stdout)
    assert (result.returncode, result.stderr, report["usable"], report["apps"]) == (1, "", False, None)
    text = run("check", "--config", file, env=SECRETS).stderr
    found = report["diagnostics"]
    for one in found:
        assert f"{one['file']}:{one['line']}:{one['column']}: {one['severity']}: {one['message']}\n" in text
    assert text.count(": error: ") == sum(one["severity"] == "error" for one in found) > 1
    key = next(one for one in found if one["line"] == 9 and one["column"] == 5)
    assert key["suggestion"].startswith("did you mean") and key["message"].endswith(f"; {key['suggestion']}")


def test_the_quirks_are_listed_as_json():
    listed = run("demo", "--quirk", "list").stdout
    quirks = json.loads(run("demo", "--quirk", "list", "--json").stdout)
    assert sorted(re.findall(r"^\w+$", listed, re.M)) == sorted(quirks)
    assert sorted(re.findall(r"^  (\S+)$", listed, re.M)) == sorted(name for group in quirks.values() for name in group)
    assert run("demo", "--json").returncode == 2


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_help(command):
    result = run(command, "--help")
    assert result.returncode == 0 and "USAGE" in result.stdout


def test_an_unknown_command_is_wrong_usage():
    """Scope: never ignored."""
    result = run("accounts")
    assert result.returncode == 2 and "'accounts'" in result.stderr


def test_the_version_names_the_commit_and_the_libraries():
    """Issue 12."""
    result = run("--version")
    assert result.returncode == 0 and result.stdout.startswith("gatehouse ")
    rows = dict(line.split(maxsplit=1) for line in result.stdout.splitlines())
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=REPOSITORY, capture_output=True, text=True).stdout.strip()
    assert re.fullmatch("[0-9a-f]{40}|unknown", rows["commit"])
    assert not commit or rows["commit"] != "unknown"
    libraries = ["libcurl", "OpenSSL", "nghttp2", "libyaml", "SQLite", "swift-nio", "swift-nio-ssl"]
    for library in libraries:
        assert re.match(r"\d+\.\d+", rows[library]), library


def test_the_metrics_reference_is_the_committed_one():
    """Issue 12: docs/metrics.md is generated."""
    assert run("schema", "--metrics").stdout == (REPOSITORY / "docs/metrics.md").read_text()


@pytest.mark.parametrize(
    "arguments", [
        ["nonsense"], ["check", "--nonsense"], ["serve", "--drain-delay", "x"], ["demo", "--port", "0"],
        ["check", "--provider", "staff"],
    ],
)
def test_wrong_usage_ends_with_2(arguments):
    assert run(*arguments).returncode == 2


def test_a_missing_file_ends_with_1(tmp_path):
    result = run("check", "--config", "none.yaml", cwd=tmp_path)
    assert result.returncode == 1 and "none.yaml" in result.stderr


def test_an_address_in_use_is_reported(gateway, tmp_path):
    """A clear error, exit code 1."""
    other = Gateway(
        tmp_path, {"mock": gateway.configuration["providers"]["mock"]},
        gateway.configuration["apps"],
        port=gateway.port
    )
    other.configuration["apps"] = {"echo": {"upstream": "http://127.0.0.1:1", "allow": "signed_in"}}
    other.write()
    result = run("serve", "--config", other.path, cwd=tmp_path)
    assert result.returncode == 1 and str(gateway.port) in result.stderr, result.stderr


@pytest.mark.parametrize(
    "change",
    [{"gateway": {"public_url": "http://gate.example.com"}}, {"providers": {}}, {"apps": {}}, {"surprise": 1}]
)
def test_an_unusable_file_is_rejected(change, tmp_path):
    """Plain http off loopback, nothing to sign in with, nothing behind, unknown keys."""
    port = free_port()
    good = {
        "gateway": {"public_url": f"http://localhost:{port}"}, "providers":
            {
                "x":
                    {
                        "type": "oidc", "issuer": "https://id.example.com", "client_id": "a", "client_secret":
                            "${env:GATEHOUSE_SECRET}",
                    }
            }, "apps": {"a": {"upstream": "http://127.0.0.1:1", "allow": "signed_in"}},
    }
    path = tmp_path / "providers.yaml"
    path.write_text(json.dumps(good))
    assert run("check", "--config", path, env=SECRETS).returncode == 0
    path.write_text(json.dumps({**good, **change}))
    result = run("check", "--config", path, env=SECRETS)
    assert result.returncode == 1 and "error:" in result.stderr


@pytest.mark.parametrize(
    "arguments, command", [
        (["serv"], "serve"), (["chek", "--online"], "check"), (["sessions", "lst"], "list"), (["polcy"], "policy"),
        (["users", "dissable", "x"], "disable"),
    ]
)
def test_n_08_a_mistyped_command_has_a_suggestion(arguments, command):
    result = run(*arguments)
    assert result.returncode == 2 and f"did you mean '{command}'?" in result.stderr, result
    assert "did you mean" not in run("zzzzzzzz").stderr


def test_n_08_hosts_for_examples_are_a_warning(tmp_path):
    """RFC 2606: they are what a copied file has."""
    provider = {"type": "google", "client_id": "1", "client_secret": "a secret of at least 32 characters, for tests"}
    app = {"host": "wiki.example.org", "upstream": "http://127.0.0.1:1", "allow": "signed_in"}
    gateway = Gateway(tmp_path, {"google": provider}, {"wiki": app})
    gateway.configuration["gateway"] |= {"public_url": "https://gate.example.com", "trusted_proxies": ["127.0.0.1"]}
    gateway.write()
    result = run("check", "--config", gateway.path)
    assert result.returncode == 0 and "'gate.example.com' and 1 other host are names for examples" in result.stderr
    gateway.configuration["gateway"]["public_url"] = "https://gate.acme-examples.com"
    gateway.configuration["apps"]["wiki"]["host"] = "wiki.acme-examples.com"
    gateway.write()
    assert "for examples" not in run("check", "--config", gateway.path).stderr
