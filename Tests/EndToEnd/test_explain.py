# SPDX-License-Identifier: Apache-2.0
"""`gatehouse explain`: one identifier joins page, log, decision, failure and what to do."""

import gzip
import json
import re
import subprocess

import pytest
import yaml

from support.browser import Browser
from support.gateway import PROGRAM, SECRET, Gateway, oidc, run
from support.raw import request as send
from support.upstream import Upstream

STREAMS = ("access", "audit", "security", "process")
HTML = ("Accept", "text/html")
#: The gateway is not running at this socket.
NOWHERE = "/nowhere/operations.sock"


class ExplainedGateway(Gateway):
    """A gateway whose file is YAML as operators write it, and whose log is in files."""
    def __init__(self, folder, providers, apps, form):
        super().__init__(folder, providers, apps)
        self.configuration["logs"] = {
            "format": form, **{stream: str(self.folder / f"{stream}.log") for stream in STREAMS}
        }
        self.files = [self.folder / f"{stream}.log" for stream in STREAMS]

    def write(self, configuration=None):
        self.path.write_text(yaml.safe_dump(configuration or self.configuration, sort_keys=False))

    def explain(self, *arguments, code=0):
        result = run("explain", *arguments, "--config", self.path, cwd=self.folder)
        assert result.returncode == code, result
        return result.stdout


def incident(response):
    """The incident that a page or JSON shows."""
    if response.get("content-type").startswith("application/json"):
        return response.json["incident"]
    return re.search(r"<code>[a-z_.0-9]+</code> and <code>([A-Za-z0-9_-]{12})</code>", response.text)[1]


@pytest.fixture(scope="module", params=["json", "text"])
def explained(request, tmp_path_factory, provider_server):
    """A gateway at which something fails in each way; `failures` has the response of each."""
    app = Upstream()
    apps = {
        "wiki": {"path": "/", "upstream": app.address, "allow": "signed_in"},
        "staff": {"path": "/staff", "upstream": app.address, "deny": [{"user": "mock:ada"}], "allow": "signed_in"},
        "dead": {"path": "/dead", "upstream": "http://127.0.0.1:9", "allow": "signed_in"},
        "locked": {"path": "/locked", "upstream": app.address, "allow": [{"email_domain": "example.org"}]},
    }
    folder = tmp_path_factory.mktemp("explained")
    realm = provider_server.realm("mock")
    with realm.fresh():
        with ExplainedGateway(folder, {"mock": oidc(realm.issuer)}, apps, request.param) as gateway:
            browser = Browser(gateway)
            assert browser.sign_in("mock", "/").status == 200
            gateway.ticket = browser.ticket()
            gateway.failures = {
                "upstream.unreachable": browser.send("GET", "/dead/page?secret=x"),
                "policy.denied": browser.send("GET", "/staff/report"),
                "policy.refused": Browser(gateway).sign_in("mock", "/locked/"),
                "sign_in_required": send(gateway.port, "/api"),
                "path.bad_escape": send(gateway.port, "/%zz", fields=[HTML]),
            }
            realm.make = lambda claims, realm: "x"
            gateway.failures["id_token.malformed"] = Browser(gateway).sign_in("mock", "/")
            gateway.log
            yield gateway
    app.close()


#: For each failure what the report has to name.
NAMED = {
    "upstream.unreachable":
        ["status 502", "GET gate.localhost/dead/page", "127.0.0.1:9", "mock:ada", "GatehouseUpstreamFailing"],
    "policy.denied": ["status 403", "mock:ada", "app       staff", "decision  denied"],
    "policy.refused": ["status 403", "mock:ada may not enter locked", "no entry of 'allow' of locked"],
    "sign_in_required": ["status 401", "GET gate.localhost/api", "from 127.0.0.1"],
    "path.bad_escape": ["status 400"],
    "id_token.malformed": ["status 502", "provider  mock", "GatehouseSignInFailures"],
}


@pytest.mark.parametrize("source", ["gateway", "files"])
@pytest.mark.parametrize("code", NAMED)
def test_what_a_page_shows_leads_to_the_whole_story(code, source, explained):
    """From the memory of the running gateway alone, and from its log files alone."""
    word = incident(explained.failures[code])
    if source == "gateway":
        text = run("explain", word, "--socket", explained.folder / "state" / "operations.sock", cwd="/").stdout
    else:
        text = explained.explain(word, "--socket", NOWHERE)
    assert text.startswith(f"Incident {word}, 20") and f"failure   {code}" in text
    for words in NAMED[code]:
        assert words in text, (words, text)
    assert "\n  means     " in text and "\n  do        " in text and "docs/errors.md, section" in text
    for secret in (SECRET, "client secret", explained.ticket, "secret=x"):
        assert secret not in text


def test_the_rule_is_shown_with_its_line_of_the_file(explained):
    number, line = next(
        (number, line) for number, line in enumerate(explained.path.read_text().splitlines(), 1) if "user: mock:ada" in line
    )
    text = explained.explain(incident(explained.failures["policy.denied"]))
    assert f"line {number} of {explained.path}: {line.strip()}" in text


def test_a_line_without_a_rule_is_not_shown(explained):
    """After a change of the file, a secret may be on it."""
    before = explained.path.read_text()
    number = next(n for n, line in enumerate(before.splitlines(), 1) if "user: mock:ada" in line)
    other = explained.folder / "changed.yaml"
    other.write_text(before.replace("    deny:\n    - user: mock:ada\n", "    # moved\n    # a secret: hidden\n"))
    word = incident(explained.failures["policy.denied"])
    result = run("explain", word, "--config", other, cwd=explained.folder)
    assert result.returncode == 0 and f"line {number} of {other}\n" in result.stdout, result
    assert "hidden" not in result.stdout


def test_the_id_of_the_request_leads_to_the_same(explained):
    response = explained.failures["upstream.unreachable"]
    found = json.loads(explained.explain(response.get("x-request-id"), "--json"))
    assert found["found"] is True and len(found["incidents"]) == 1
    only = found["incidents"][0]
    assert only["incident"] == incident(response) and only["request"] == response.get("x-request-id")
    assert {"refused", "request", "upstream failed", "incident"} == {one["message"] for one in only["sources"]}


def test_a_request_that_succeeded_is_found_in_the_access_log(explained):
    response = send(explained.port, "/oauth2/style.css")
    explained.log
    text = explained.explain(response.get("x-request-id"))
    assert text.startswith(f"Request {response.get('x-request-id')}, ") and "GET gate.localhost/oauth2/style.css" in text


def test_log_files_of_a_gateway_that_is_gone_are_read_without_its_configuration(explained, tmp_path):
    """Rotated ones too; compressed ones through standard input."""
    word = incident(explained.failures["policy.denied"])
    old = tmp_path / "audit.log.1"
    old.write_bytes((explained.folder / "audit.log").read_bytes())
    text = run("explain", word, "--log", old, explained.folder / "process.log", cwd=tmp_path)
    assert text.returncode == 0 and "failure   policy.denied" in text.stdout
    packed = tmp_path / "audit.log.2.gz"
    packed.write_bytes(gzip.compress(old.read_bytes()))
    result = run("explain", word, "--log", packed, cwd=tmp_path)
    assert result.returncode == 1 and "it is compressed" in result.stdout
    result = subprocess.run(
        ["sh", "-c", f"zcat {packed} | {PROGRAM} explain {word} --log -"], cwd=tmp_path, capture_output=True, text=True
    )
    assert result.returncode == 0 and "failure   policy.denied" in result.stdout


def test_nothing_found_names_where_it_was_looked_for_and_what_to_do(explained):
    text = explained.explain("AAAAAAAAAAAA", code=1)
    assert text.startswith("Nothing is known of AAAAAAAAAAAA.")
    assert "the running gateway at" in text and "all failures since 20" in text
    for file in explained.files:
        assert f"{file}: nothing in {file.stat().st_size} bytes" in text
    for words in ("run the command on each", "--log FILE", "logs.sample"):
        assert words in text
    found = json.loads(explained.explain("AAAAAAAAAAAA", "--json", code=1))
    assert found["found"] is False and len(found["searched"]) == 5 and found["next"]


def test_a_hostile_log_file_cannot_steer_the_terminal(tmp_path):
    file = tmp_path / "a.log"
    file.write_bytes(
        b"2026-11-23T12:00:00Z info refused code=route.none incident=AAAAAAAAAAAA detail=\x1b[2J\xe2\x80\xaex path=\x9b\n"
        b'{"time":"2026-11-23T12:00:00.000Z","message":"refused","incident":"AAAAAAAAAAAA","app":"\\u001b]0;x\\u0007"}\n'
        b"\0" * 10 + b"a" * 1_000_000
    )
    for arguments in ([], ["--json"]):
        result = run("explain", "AAAAAAAAAAAA", "--log", file, *arguments, cwd=tmp_path)
        assert result.returncode == 0
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", result.stdout)


def test_wrong_usage_is_reported(tmp_path):
    for arguments in ([], ["a b c d"], ["abc"], ["x" * 201]):
        assert run("explain", *arguments, cwd=tmp_path).returncode == 2
