# SPDX-License-Identifier: Apache-2.0
"""The streams of the log: JSON and text, files and sockets, rotation, and that no secret is in any of them."""

import json
import os
import re
import secrets
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from support.browser import Browser
from support.gateway import SECRET, Gateway, oidc, public_echo
from support.marks import Marks
from support.processes import REPOSITORY, Process, eventually
from support.raw import Wire, request
from support.upstream import Upstream

STREAMS = ("access", "audit", "security", "process")
COMMON = {"time", "level", "stream", "message"}
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
CLIENT_SECRET = "client secret+/%"
#: A shell that becomes the gateway, with standard error in a file of its folder.
ERRORS_APART = ["sh", "-c", 'exec "$0" "$@" 2>errors']
DOCUMENT = (REPOSITORY / "docs/logs.md").read_text()


class LoggedGateway(Gateway):
    """A gateway with a section `logs`."""
    def __init__(self, folder, providers, apps, logs, **more):
        super().__init__(folder, providers, apps, **more)
        self.configuration["logs"] = logs

    def lines(self, stream):
        """The JSON lines of a stream so far."""
        self.log
        return [json.loads(line) for line in (self.folder / f"{stream}.log").read_text().splitlines()]

    def access(self, path):
        """The access line of a path, once it is written."""
        found = []

        def is_written():
            found[:] = [line for line in self.lines("access") if line.get("path") == path]
            return found

        eventually(is_written, f"the access line of {path}")
        return found[-1]


def files(folder, **more):
    return {"format": "json", **{stream: str(folder / f"{stream}.log") for stream in STREAMS}, **more}


@pytest.fixture
def start(tmp_path, realm):
    app = Upstream()
    made = []

    def begin(wrapper=(), **logs):
        apps = public_echo(app)
        apps["closed"] = {"path": "/closed", "upstream": app.address, "allow": [{"user": "mock:eve"}], "deny": [{"user": "mock:ada"}]}
        apps["api"] = {"path": "/api", "upstream": app.address, "allow": "signed_in", "identity": {"authorization": "access_token"}}
        apps["tools"] = {"path": "/tools", "upstream": app.address, "mcp": True, "allow": "signed_in", "deny": [{"mcp_tool": "rm"}]}
        one = LoggedGateway(tmp_path, {"mock": oidc(realm.issuer)}, apps, {**files(tmp_path), **logs})
        made.append(one)
        return one.start(wrapper=wrapper)

    yield begin
    for one in made:
        one.leave()
    app.close()


def section(name):
    """The keys of each message in a section of the document."""
    text = DOCUMENT.split(f"\n## {name} lines\n")[1].split("\n## ")[0]
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| `")]
    return {
        message: set(re.findall(r"`(\w+)`", re.sub(r"\(.*?\)|:.*", "", row[1])))
        for row in rows for message in re.findall(r"`([^`]+)`", row[0])
    }


def documented_access_keys():
    text = DOCUMENT.split("\n## Access lines\n")[1].split("\n## ")[0]
    return {re.match(r"\| `(\w+)`", line).group(1) for line in text.splitlines() if line.startswith("| `")}


def test_requests_of_one_connection_have_their_own_hosts_and_clients(start):
    """What a connection's lines have in common is kept between them."""
    gateway = start()

    def ask(wire, path, host, *fields):
        lines = "".join(f"{line}\r\n" for line in (f"GET {path} HTTP/1.1", f"Host: {host}", *fields, ""))
        wire.send(lines.encode())
        return wire.response("GET").status

    with Wire(gateway.port) as wire:
        hosts = ["a.localhost", "b.localhost", "A.localhost:80", gateway.host, "a.localhost"]
        for number, host in enumerate(hosts):
            ask(wire, f"/kept/{number}", host)
        # A proxy that is not trusted names no client.
        ask(wire, "/kept/named", "a.localhost", "X-Forwarded-For: 192.0.2.7")
        gateway.configuration["logs"]["users"] = "hash"
        gateway.write()
        gateway.reload()
        audit = lambda: [line["message"] for line in gateway.lines("audit")]
        eventually(lambda: any("reloaded" in message for message in audit()), "the new file is in force")
        ask(wire, "/kept/after", "b.localhost")
    shown = [gateway.access(f"/kept/{number}")["host"] for number in range(len(hosts))]
    assert shown == ["a.localhost", "b.localhost", "a.localhost", "gate.localhost", "a.localhost"]
    assert {gateway.access(f"/kept/{name}")["client"] for name in (0, 1, "named", "after")} == {"127.0.0.1"}
    assert gateway.access("/kept/after")["host"] == "b.localhost"


def test_a_log_that_is_switched_off_and_on_names_no_other_user(start):
    """The line of a request that began while the log was off has nothing of the request before on its connection."""
    gateway = start()
    browser = Browser(gateway)
    assert browser.sign_in("mock", "/x").status == 200

    def reload(destination):
        before = len(gateway.lines("audit"))
        gateway.configuration["logs"]["access"] = destination
        gateway.write()
        gateway.reload()
        eventually(lambda: any("reloaded" in line["message"] for line in gateway.lines("audit")[before:]), "reloaded")

    access = gateway.configuration["logs"]["access"]
    with Wire(gateway.port) as wire:
        wire.send(f"GET /mine HTTP/1.1\r\nHost: {gateway.host}\r\nCookie: gatehouse={browser.ticket()}\r\n\r\n".encode())
        assert wire.response("GET").status == 200
        assert gateway.access("/mine")["user"].startswith("mock:")
        reload("off")
        # A body that is still to come keeps the request open.
        head = f"POST /public/open HTTP/1.1\r\nHost: {gateway.host}\r\nContent-Length: 2\r\n\r\na"
        wire.send(head.encode())
        eventually(lambda: gateway.metric("gatehouse_requests_in_flight") >= 1, "the request is in progress")
        reload(access)
        wire.send(b"b")
        assert wire.response("POST").status == 200
    line = gateway.access("/public/open")
    assert "user" not in line and "rule" not in line and line["status"] == 200


def test_every_stream_is_json_with_the_documented_keys(start):
    gateway = start(query="mask")
    browser = Browser(gateway)
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    assert browser.sign_in("mock", "/page?a=1").status == 200
    fields = {"traceparent": f"00-{trace}-00f067aa0ba902b7-01"}
    page = browser.send("POST", "/page?secret=x&flag", body=b"12345", fields=fields)
    line = gateway.access("/page")
    assert line | {
        "request": page.get("x-request-id"), "trace": trace, "client": "127.0.0.1", "method": "POST", "path": "/page",
        "query": "secret=*&*", "protocol": "HTTP/1.1", "status": 200, "bytes_in": 5, "bytes_out": len(page.body), "app": "echo",
        "route": "/", "user": "mock:ada", "provider": "mock", "decision": "allowed", "stream": "access",
    } == line
    assert 0 <= line["gateway_ms"] + line["upstream_ms"] <= line["duration_ms"]
    denied = browser.send("GET", "/closed/x")
    assert denied.status == 403
    line = gateway.access("/closed/x")
    assert line | {"decision": "denied", "app": "closed", "user": "mock:ada", "code": "policy.denied"} == line
    rule = gateway.path.read_text().splitlines()[line["rule"] - 1]
    assert "user" in rule or "{" in rule
    assert line["incident"] in denied.text
    public = request(gateway.port, "/public/x")
    assert gateway.access("/public/x") | {"decision": "public", "request": public.get("x-request-id")} == gateway.access("/public/x")
    assert request(gateway.port, "/page").status == 401
    browser.sign_out()
    gateway.reload()
    eventually(lambda: gateway.metric('gatehouse_reloads_total{result="ok"}') >= 2, "it reloads")
    audit = {line["message"]: line for line in gateway.lines("audit")}
    assert audit["signed in"]["user"] == audit["signed out"]["user"] == "mock:ada"
    assert audit["refused"]["incident"] == line["incident"] and audit["refused"]["request"] == line["request"]
    assert audit["refused"]["user"] == "mock:ada"
    assert audit["configuration reloaded"]["by"] == "signal"
    assert audit["configuration reloaded"]["apps"] == "4"
    for stream in ("audit", "security", "process"):
        known = section(stream.capitalize())
        for line in gateway.lines(stream):
            assert line["stream"] == stream and TIME.fullmatch(line["time"]), line
            assert set(line) - COMMON <= known[line["message"]], line
    seen = set().union(*(line for line in gateway.lines("access")))
    # Rules of included files are in test_rules.py.
    assert seen - COMMON == documented_access_keys() - {"rule_file"}
    assert gateway.process.log.strip() == "", "nothing is left for standard error"


def test_the_document_lists_every_message_of_the_program():
    """A message is the first text of a call of a logger, or what the router is given."""
    call = re.compile(r"\b(?:logger|audit|security|of\(\.\w+\)|ServerLog)\.(?:info|notice|warning|error|critical|log)\(([^\n]*\n[^\n]*\n[^\n]*)")
    for path in (REPOSITORY / "Sources").rglob("*.swift"):
        for found in call.findall(path.read_text()):
            texts = [text for text in re.findall(r'"([^"\\]+)', found) if text not in STREAMS]
            if texts:
                assert f"`{texts[0].strip()}" in DOCUMENT, f"{path.name}: {texts[0]}"


def test_the_examples_of_the_document_are_as_the_program_has_them(start):
    example = json.loads(re.search(r"```json\n(.*)\n```", DOCUMENT).group(1))
    assert set(example) - COMMON <= documented_access_keys()
    assert TIME.fullmatch(example["time"])
    assert list(example)[:4] == ["time", "level", "stream", "message"]
    gateway = start()
    request(gateway.port, "/public/order")
    assert list(gateway.access("/public/order"))[:6] == [*list(example)[:4], "request", "client"]


def test_no_secret_is_in_any_output(start, realm, tmp_path):
    """Tokens, codes, cookies, secrets, queries, header fields and bodies, through whole flows that succeed and fail."""
    marks = Marks([SECRET, CLIENT_SECRET, "client+secret%2B%2F%25"])
    mark = marks.new
    marks.watch(realm)
    gateway = start(query="mask")
    browser = Browser(gateway)
    callback = browser.authorize(browser.begin("mock", "/page"))
    marks.append(re.search(r"code=([^&]+)", callback).group(1))
    marks.append(re.search(r"state=([^&]+)", callback).group(1))
    shown = [browser.visit(callback).text]
    marks.extend(value for jar in browser.cookies.values() for value in jar.values())
    shown.append(browser.visit(callback).text)
    assert browser.send("GET", "/api/x").status == 200
    fields = {"Authorization": f"Bearer {mark('bearer')}", "X-Api-Key": mark("key"), "Referer": f"http://x/{mark('referer')}"}
    browser.send("POST", f"/page?token={mark('query')}&{mark('bare')}", body={"password": mark("form")}, fields=fields)
    browser.send("GET", f"/oauth2/callback/mock?code={mark('code')}&state={mark('state')}&error={mark('error')}")
    browser.send("GET", f"/oauth2/sign_in?rd=/{mark('return')}")
    broken = f"GET /x?{mark('malformed')} HTTP/1.1\r\nHost: {gateway.host}\r\nCookie: gatehouse={mark('cookie')}\r\n{mark('line')}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", gateway.port)) as raw:
        raw.sendall(broken.encode())
        raw.recv(65536)
    gateway.path.write_text(gateway.path.read_text().replace("${env:TEST_CLIENT_SECRET}", mark("clear")).replace('"closed"', '"Closed!"'))
    gateway.reload()
    eventually(lambda: gateway.metric('gatehouse_reloads_total{result="failed"}') >= 1, "the reload is rejected")
    realm.token_response = lambda response: {**response, "id_token": mark("forged")}
    shown.append(Browser(gateway).sign_in("mock", "/page").text)
    browser.sign_out()
    outputs = {stream: json.dumps(gateway.lines(stream)) for stream in STREAMS}
    outputs |= {path: gateway.operation(path).text for path in ("/metrics", "/status", "/readyz")}
    outputs |= {"stderr": gateway.process.log, "pages": "\n".join(shown)}
    assert "signed in" in outputs["audit"] and "refused" in outputs["audit"] and "signed out" in outputs["audit"]
    for name, text in outputs.items():
        for secret in marks:
            assert secret not in text, f"{secret} is in {name}"


@pytest.mark.parametrize("navigates", [True, False])
def test_a_denial_names_its_user_and_a_failed_sign_in_has_none(navigates, start, realm):
    """The actor of an audit line, for pages and for scripts."""
    gateway = start()
    browser = Browser(gateway)
    browser.sign_in("mock", "/page")
    assert browser.send("GET", "/closed/x", navigates=navigates).status == 403
    realm.token_response = lambda response: {**response, "id_token": "forged"}
    Browser(gateway).sign_in("mock", "/page")
    denied, failed = [line for line in gateway.lines("audit") if line["message"] == "refused"]
    assert denied["user"] == "mock:ada" and denied["code"] == "policy.denied"
    assert "user" not in failed and failed["provider"] == "mock"
    by_request = lambda: [line["client"] for line in gateway.lines("access") if line["request"] == failed["request"]]
    assert eventually(by_request, "the access line is written") == ["127.0.0.1"]


def test_the_rule_that_decides_about_a_message_in_the_body_is_in_the_access_line(start):
    gateway = start()
    browser = Browser(gateway)
    assert browser.sign_in("mock", "/page").status == 200
    for tool, decision in (("ls", "allowed"), ("rm", "denied"), ("ls", "allowed")):
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool}}).encode()
        fields = {"Content-Type": "application/json", "Accept": "application/json"}
        browser.send("POST", f"/tools/{tool}", body=body, fields=fields, navigates=False)
        line = gateway.access(f"/tools/{tool}")
        assert line | {"app": "tools", "user": "mock:ada", "decision": decision} == line
        assert ("rule" in line) == (tool == "rm"), "no entry admits by 'signed_in'"
        rule = gateway.path.read_text().splitlines()[line.get("rule", 1) - 1:][:2]
        assert any("mcp_tool" in text for text in rule) == (tool == "rm")


def test_a_share_of_the_access_lines_is_written_and_every_failure(start):
    """Each line by chance: of 400 with `sample: 0.5`, 140 to 260 are six standard deviations around the mean."""
    gateway = start(sample=0.5)
    with Wire(gateway.port) as wire:
        for number in range(400):
            wire.send(f"GET /public/{number} HTTP/1.1\r\nHost: {gateway.host}\r\n\r\n".encode())
            assert wire.response().status == 200
    for number in range(20):
        assert request(gateway.port, f"/closed/{number}").status == 401
    gateway.access("/closed/19")
    paths = [line["path"] for line in gateway.lines("access")]
    assert 140 <= sum(path.startswith("/public/") for path in paths) <= 260
    assert sum(path.startswith("/closed/") for path in paths) == 20


def test_lines_go_to_standard_output_and_errors_to_standard_error(start, tmp_path):
    gateway = start(access="stdout", audit="stdout", security="stderr", process="stderr", wrapper=ERRORS_APART)
    assert Browser(gateway).sign_in("mock", "/public/x").status == 200
    eventually(lambda: "/public/x" in gateway.log, "the access line is written")
    read = [json.loads(line)["stream"] for line in gateway.process.log.splitlines()]
    assert set(read) == {"access", "audit"}
    errors = [json.loads(line) for line in (tmp_path / "errors").read_text().splitlines()]
    assert {line["stream"] for line in errors} == {"process"} and errors[0]["message"] == "serving"


def test_logrotate_works_with_the_file_of_the_document(start, tmp_path):
    """The block as it is; only the files and the command that reloads are of this machine."""
    gateway = start()
    request(gateway.port, "/public/first")
    gateway.access("/public/first")
    block = re.search(r"^```\n(/var/log.*?)^```", DOCUMENT, re.S | re.M).group(1)
    for old, new in {
        "/var/log/gatehouse/*.log": f"{tmp_path}/access.log {tmp_path}/audit.log", "systemctl reload gatehouse": f"kill -HUP {gateway.process.pid}",
        "    daily\n": "    daily\n    su root root\n"
    }.items():
        assert old in block
        block = block.replace(old, str(new))
    (tmp_path / "rotate.conf").write_text(block)
    tmp_path.chmod(0o755)
    subprocess.run(
        ["/usr/sbin/logrotate", "--force", "--state", str(tmp_path / "state.rotate"), str(tmp_path / "rotate.conf")], check=True
    )
    eventually((tmp_path / "access.log").exists, "the gateway opens the file again")
    request(gateway.port, "/public/second")
    gateway.access("/public/second")
    assert "/public/first" in (tmp_path / "access.log.1").read_text()
    assert "/public/second" not in (tmp_path / "access.log.1").read_text()


def test_a_renamed_file_is_opened_again(start, tmp_path):
    gateway = start()
    path = tmp_path / "access.log"
    request(gateway.port, "/public/first")
    gateway.access("/public/first")
    (tmp_path / "rotate.conf").write_text(f"{path} {{\n rotate 2\n nocreate\n missingok\n su root root\n}}\n")
    path.parent.chmod(0o755)
    subprocess.run(
        ["/usr/sbin/logrotate", "--force", "--state", str(tmp_path / "state.rotate"), str(tmp_path / "rotate.conf")], check=True
    )
    assert not path.exists()
    gateway.reload()
    eventually(path.exists, "SIGHUP opens the file again")
    request(gateway.port, "/public/second")
    gateway.access("/public/second")
    assert "/public/second" not in (tmp_path / "access.log.1").read_text()
    path.rename(tmp_path / "moved.log")
    numbers = iter(range(1000))

    def is_opened():
        request(gateway.port, f"/public/later{next(numbers)}")
        return path.exists()

    eventually(is_opened, "a file that has moved is opened again without a signal")


def receiver(path):
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listener.bind(str(path))
    listener.settimeout(10)
    return listener


@pytest.fixture
def sockets():
    """A folder whose path is short enough for sockets."""
    folder = Path("/tmp") / f"gh-{secrets.token_hex(4)}"
    folder.mkdir()
    yield folder
    shutil.rmtree(folder)


def test_journald_gets_one_datagram_for_each_line(start, sockets):
    with receiver(sockets / "journal") as journal:
        gateway = start(audit=f"journald:{sockets}/journal")
        assert Browser(gateway).sign_in("mock", "/public/x").status == 200
        entry = dict(part.split("=", 1) for part in journal.recv(65536).decode().splitlines())
    assert entry["PRIORITY"] == "6" and entry["SYSLOG_IDENTIFIER"] == "gatehouse"
    assert entry["GATEHOUSE_STREAM"] == "audit"
    assert json.loads(entry["MESSAGE"])["user"] == "mock:ada"


RSYSLOG = """global(workDirectory="{0}")
module(load="imuxsock" SysSock.Use="off")
input(type="imuxsock" Socket="{0}/syslog")
template(name="shown" type="string" string="%programname% %procid% %syslogfacility-text%.%syslogpriority-text%%msg%\\n")
action(type="omfile" file="{0}/out" template="shown")
"""


def test_rsyslog_reads_each_line(start, sockets, tmp_path):
    (sockets / "rsyslog.conf").write_text(RSYSLOG.format(sockets))
    daemon = Process(
        ["/usr/sbin/rsyslogd", "-n", "-f", sockets / "rsyslog.conf", "-i", sockets / "pid"], tmp_path, "rsyslogd"
    )

    def lines():
        text = (sockets / "out").read_text() if (sockets / "out").exists() else ""
        return [line.partition(" {") for line in text.splitlines()]

    try:
        eventually((sockets / "syslog").exists, "rsyslog opens its socket")
        gateway = start(access=f"syslog:{sockets}/syslog", audit=f"syslog:{sockets}/syslog")
        assert Browser(gateway).sign_in("mock", "/public/x").status == 200
        eventually(lambda: any('"/public/x"' in line for _, _, line in lines()), "rsyslog writes the access line")
    finally:
        daemon.stop()
    read = {(head, json.loads("{" + line)["stream"]) for head, _, line in lines()}
    own = f"gatehouse {gateway.process.pid}"
    assert read == {(f"{own} daemon.info", "access"), (f"{own} authpriv.info", "audit")}


def test_a_reload_changes_format_sample_and_users(start):
    gateway = start(sample=0, users="hash")
    browser = Browser(gateway)
    browser.sign_in("mock", "/page")
    assert browser.send("GET", "/closed/x").status == 403
    line = gateway.access("/closed/x")
    assert line["user"] != "mock:ada" and len(line["user"]) == 16
    assert [one["status"] for one in gateway.lines("access")] == [403], "what is neither an error nor a denial is left out"
    gateway.configuration["logs"] |= {"sample": 1, "format": "text", "users": "key"}
    gateway.write()
    gateway.reload()
    eventually(lambda: gateway.metric('gatehouse_reloads_total{result="ok"}') >= 2, "it reloads")
    browser.send("GET", "/later")
    text = (gateway.folder / "access.log").read_text
    eventually(lambda: "path=/later" in text(), "the line is written")
    line = text().splitlines()[-1]
    assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z info request request=[0-9a-f]{32} client=127.0.0.1 ", line), line
    assert line.endswith(" user=mock:ada provider=mock decision=allowed")


def test_a_log_file_that_cannot_be_opened_stops_the_reload(start, tmp_path):
    gateway = start()
    gateway.configuration["logs"]["audit"] = str(tmp_path / "missing" / "audit.log")
    gateway.write()
    gateway.reload()
    eventually(lambda: gateway.metric('gatehouse_reloads_total{result="failed"}') >= 1, "the reload is rejected")
    line = [line for line in gateway.lines("audit") if line["message"].startswith("reload failed")][-1]
    assert str(tmp_path / "missing" / "audit.log") in line["detail"]
    assert os.stat(tmp_path / "audit.log").st_mode & 0o777 == 0o640
