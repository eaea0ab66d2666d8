# SPDX-License-Identifier: Apache-2.0
"""The operations API and the commands that use it: sessions and users of a running gateway."""

import fcntl
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import requests

from support.browser import Browser
from support.gateway import Gateway, oidc, public_echo, run
from support.operations import call, command
from support.processes import eventually
from support.raw import request
from support.upstream import Upstream

TOKEN = "a token of the operations API with more than 32 bytes"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


@pytest.fixture(scope="module")
def app():
    upstream = Upstream()
    yield upstream
    upstream.close()


@pytest.fixture
def administered(tmp_path, provider_server, app):
    """A gateway whose operations API has a token too, with an app on another host."""
    realms = [provider_server.realm("mock"), provider_server.realm("other")]
    apps = {
        **public_echo(app), "own": {"host": "own.localhost", "path": "/", "upstream": app.address, "allow": "signed_in"}
    }
    gateway = Gateway(
        tmp_path / "gateway", {"mock": oidc(realms[0].issuer), "other": oidc(realms[1].issuer)},
        apps,
        sessions={"store": "memory:"},
        gateway={"operations_token": "${env:TEST_OPERATIONS_TOKEN}"}
    )
    gateway.socket = gateway.folder / "state" / "operations.sock"
    with realms[0].fresh(), realms[1].fresh():
        gateway.start({"TEST_OPERATIONS_TOKEN": TOKEN})
        yield gateway
    gateway.leave()


def signed_in(gateway, provider="mock"):
    browser = Browser(gateway)
    assert browser.sign_in(provider, "/x").status == 200
    return browser


def sessions(gateway, *arguments):
    text = command(gateway, "sessions", "list", "--json", *arguments)
    return json.loads(text)["sessions"]


def is_live(browser, url="/x"):
    """A script gets 401 without a session."""
    return browser.send("GET", url, navigates=False).status == 200


@pytest.fixture(autouse=True)
def operations_token(monkeypatch):
    monkeypatch.setenv("TEST_OPERATIONS_TOKEN", TOKEN)


def test_sessions_are_listed_with_user_host_and_times(administered):
    signed_in(administered)
    listed = sessions(administered)
    assert len(listed) == 1
    session = listed[0]
    assert session["user"] == "mock:ada" and session["provider"] == "mock" and session["host"] == "gate.localhost"
    assert session["email"] == "ada@example.com" and session["last_seen"] >= session["created"]
    assert session["expires"] == session["last_seen"] + 12 * 3600
    assert session["id"] in administered.log
    text = command(administered, "sessions", "list")
    assert re.search(r"^ID +USER +EMAIL", text) and session["id"] in text and "mock:ada" in text
    assert json.loads(command(administered, "sessions", "show", session["id"])) == session


def test_an_id_of_an_earlier_version_that_begins_with_a_hyphen_is_passed_after_two(administered):
    result = run("sessions", "show", "--config", administered.path, "--", "-old-id", cwd=administered.folder)
    assert result.returncode == 1 and "there is no live session -old-id" in result.stderr
    assert command(administered, "sessions", "revoke", "--", "-old-id") == "revoked 0 sign-ins (0 selected sessions)\n"


def test_a_session_is_revoked_by_id(administered):
    first, second = signed_in(administered), signed_in(administered)
    before = sessions(administered)
    victim = before[0]["id"]
    assert command(administered, "sessions", "revoke", victim).startswith("revoked 1 sign-in (")
    assert sorted([is_live(first), is_live(second)]) == [False, True]
    assert [one["id"] for one in sessions(administered)] == [before[1]["id"]]
    result = run("sessions", "show", victim, "--config", administered.path, cwd=administered.folder)
    assert result.returncode == 1 and "operations.rejected" in result.stderr


def test_revoking_a_user_ends_the_sessions_on_all_hosts_at_once_and_no_other(administered):
    """K-09: on the gateway's host and the app's; a new sign-in works."""
    ada, other = signed_in(administered), signed_in(administered, "other")
    assert ada.visit(f"http://own.localhost:{administered.port}/y").status == 200
    own = f"http://own.localhost:{administered.port}/y"
    assert is_live(ada) and is_live(ada, own)
    assert command(administered, "sessions", "revoke", "--user", "mock:ada").startswith("revoked 1 sign-in (")
    assert not is_live(ada) and not is_live(ada, own) and is_live(other)
    # The time has steps of a second.
    eventually(lambda: signed_in(administered) and is_live(signed_in(administered)), "a new sign-in works")


@pytest.mark.parametrize(
    "filters, revoked", [
        (["--provider", "other"], ["other"]),
        (["--host", "gate.localhost"], ["mock", "other"]),
        (["--app", "echo", "--provider", "mock"], ["mock"]),
        (["--app", "own"], []),
        (["--before", "2026-01-01", "--all"], []),
        (["--all"], ["mock", "other"]),
    ]
)
def test_a_filter_selects_what_is_revoked(filters, revoked, administered):
    browsers = {name: signed_in(administered, name) for name in ("mock", "other")}
    text = command(administered, "sessions", "revoke", "--dry-run", *filters)
    assert text.startswith(f"would revoke {len(revoked)} sign-in")
    report = json.loads(command(administered, "sessions", "revoke", "--dry-run", "--json", *filters))
    assert report["dry_run"] is True and len(set(report["sign_ins"])) == report["sessions"] == len(revoked)
    assert all(is_live(browser) for browser in browsers.values())
    assert command(administered, "sessions", "revoke", *filters).startswith(f"revoked {len(revoked)} sign-in")
    assert [name for name, browser in browsers.items() if not is_live(browser)] == revoked


@pytest.mark.parametrize(
    "arguments", [[], ["--before", "2026-01-01"], ["--before", "soon", "--all"], ["--all", "--user", "mock:ada"],
                  ["--host", "a", "--app", "echo"]]
)
def test_a_revocation_without_a_clear_selection_is_wrong_usage(arguments, administered):
    result = run("sessions", "revoke", *arguments, "--config", administered.path, cwd=administered.folder)
    assert result.returncode == 2, result


def test_a_session_transfer_that_began_before_a_revocation_gives_no_session(administered):
    """K-09: the code of the transfer opens nothing afterwards."""
    browser = signed_in(administered)
    landing = browser.visit(f"http://own.localhost:{administered.port}/y", stop=lambda url: "own.localhost" in url and "/oauth2/handover" in url)
    code = landing.next
    command(administered, "sessions", "revoke", "--user", "mock:ada")
    browser.send("GET", code)
    assert not is_live(browser, f"http://own.localhost:{administered.port}/y")


def test_each_revocation_is_in_the_audit_log(administered):
    """A line before it begins, and one with its result."""
    signed_in(administered)
    command(administered, "sessions", "revoke", "--user", "mock:ada\nforged")
    command(administered, "sessions", "revoke", "--provider", "mock")
    log = administered.log
    begin = re.search(r'revoking sessions by="uid (\d+)" filter="?provider=mock"? operation=(\S+)', log)
    assert begin and int(begin[1]) == os.getuid(), log
    end = re.search(rf"sessions revoked .*operation={re.escape(begin[2])} sign_ins=1", log[begin.end():])
    assert end and "\nforged" not in log, log


def test_each_id_of_a_revocation_is_in_the_audit_log(administered):
    ids = [f"id-{number}-abcdefghijklmnop" for number in range(100)]
    command(administered, "sessions", "revoke", *ids)
    log = administered.log
    assert [one for one in ids if f"id={one}" not in log] == []


def test_rejected_clients_are_logged_and_counted(administered):
    """A wrong token on TCP, another user at the socket; the mode of its file may have been changed."""
    assert tcp(administered, headers={"Authorization": "Bearer a-guess"}).status_code == 401
    line = re.search(r"operations request rejected .*", administered.log)
    assert line and "from=127.0.0.1" in line[0] and "reason=token" in line[0] and "a-guess" not in administered.log
    assert administered.metric('gatehouse_operations_rejections_total{reason="token"}') == 1
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    administered.socket.chmod(0o666)
    administered.socket.parent.chmod(0o711)
    script = """
import os, socket, sys
os.setuid(65534)
client = socket.socket(socket.AF_UNIX)
client.connect("operations.sock")
client.sendall(b"GET /v1/sessions HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n")
sys.stdout.write(client.recv(65536).decode())
"""
    result = subprocess.run(
        [sys.executable, "-c", script], cwd=administered.socket.parent, capture_output=True, text=True, timeout=30
    )
    assert result.stdout.startswith("HTTP/1.1 403 "), result
    assert re.search(r'operations request rejected .*from="uid 65534" reason=user', administered.log)
    assert administered.metric('gatehouse_operations_rejections_total{reason="user"}') == 1


def test_the_user_of_a_process_of_another_pid_namespace_is_known(administered):
    """Such a process, as the host is for a container, has the process id 0."""
    wrapper = ["unshare", "--pid", "--fork", "--kill-child=SIGTERM"]
    if os.getuid() != 0 or subprocess.run([*wrapper, "true"], timeout=30).returncode != 0:
        pytest.skip("no PID namespace can be created")
    administered.stop()
    administered.start({"TEST_OPERATIONS_TOKEN": TOKEN}, wrapper=wrapper)
    status, _ = call(administered.socket, "POST", "/v1/sessions/revoke", {"all": True})
    # `unshare` ignores the signal.
    process, administered.process = administered.process, None
    inner = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    os.kill(int(inner[0]), signal.SIGTERM)
    assert process.child.wait(20) == 0
    assert status == 200 and re.search(r'sessions revoked by="uid 0"', process.log)


def test_only_the_owner_may_connect(administered):
    mode = administered.socket.stat().st_mode
    assert stat.S_ISSOCK(mode) and stat.S_IMODE(mode) == 0o600


def test_the_socket_is_gone_after_the_end_and_replaced_after_a_crash(administered):
    administered.kill()
    assert administered.socket.exists()
    administered.start({"TEST_OPERATIONS_TOKEN": TOKEN})
    assert call(administered.socket, "GET", "/v1/sessions")[0] == 200
    administered.stop()
    assert not administered.socket.exists()
    result = run("sessions", "list", "--config", administered.path, cwd=administered.folder)
    assert result.returncode == 1 and "operations.unreachable" in result.stderr


def test_a_file_in_place_of_the_socket_is_kept_and_the_gateway_starts(administered):
    administered.stop()
    administered.socket.write_text("not a socket")
    administered.start({"TEST_OPERATIONS_TOKEN": TOKEN})
    assert "operations.socket" in administered.log and administered.socket.read_text() == "not a socket"


def test_a_configured_socket_that_cannot_be_opened_prevents_the_start(administered):
    administered.stop()
    path = administered.folder / "taken"
    path.write_text("not a socket")
    administered.configuration["gateway"]["operations_socket"] = str(path)
    administered.write()
    result = run("serve", "--config", administered.path, cwd=administered.folder)
    assert result.returncode == 1 and "operations.socket" in result.stderr and path.read_text() == "not a socket"


def test_a_folder_that_another_process_keeps_locked_does_not_stop_the_start(administered):
    administered.stop()
    folder = os.open(administered.socket.parent, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    administered.start({"TEST_OPERATIONS_TOKEN": TOKEN})
    line = eventually(lambda: re.search(r"operations API not available .*", administered.log), "it goes on")
    assert f"{administered.socket.parent} is locked by another process" in line[0] and "lslocks" in line[0]
    os.close(folder)


def test_without_a_socket_there_is_no_operations_api(administered):
    administered.stop()
    administered.configuration["gateway"]["operations_socket"] = "off"
    del administered.configuration["gateway"]["operations_token"]
    administered.start()
    assert not administered.socket.exists()
    assert administered.operation("/v1/sessions").status_code == 404
    result = run("sessions", "list", "--config", administered.path, cwd=administered.folder)
    assert result.returncode == 1 and "operations_socket" in result.stderr


def tcp(gateway, path="/v1/sessions", method="GET", **more):
    return requests.request(method, f"http://127.0.0.1:{gateway.operations}{path}", timeout=5, **more)


@pytest.mark.parametrize(
    "header", [None, "", "Bearer", "Bearer ", f"Basic {TOKEN}", f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN}x",
               f"Bearer  {TOKEN} "]
)
def test_tcp_needs_the_token(header, administered):
    """A-24: without the token nothing is read or changed."""
    browser = signed_in(administered)
    headers = {} if header is None else {"Authorization": header}
    for method, path in (("GET", "/v1/sessions"), ("POST", "/v1/sessions/revoke"), ("GET", "/v1/other")):
        response = tcp(administered, path, method, headers=headers)
        expected = 200 if header == f"Bearer  {TOKEN} " else 401
        if expected == 401:
            assert response.status_code == 401 and response.headers["www-authenticate"].startswith("Bearer ")
            assert "mock:ada" not in response.text
    assert is_live(browser)


def test_tcp_with_the_token_does_the_same(administered):
    browser = signed_in(administered)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    assert tcp(administered, headers=headers).json()["sessions"][0]["user"] == "mock:ada"
    response = tcp(administered, "/v1/sessions/revoke", "POST", headers=headers, json={"user": "mock:ada"})
    assert response.json()["not_before_set"] is True and len(response.json()["sign_ins"]) == 1
    assert not is_live(browser)
    assert re.search(r"sessions revoked.*by=token", administered.log)


def test_a_page_of_another_site_cannot_reach_the_api_by_dns_rebinding(administered):
    response = tcp(administered, headers={"Authorization": f"Bearer {TOKEN}", "Host": "attacker.example.com"})
    assert response.status_code == 421


@pytest.mark.parametrize(
    "method, resource, body, status", [
        ("GET", "/v1/sessions?usr=mock:ada", None, 400),
        ("GET", "/v1/sessions?limit=0", None, 400),
        ("GET", "/v1/sessions?limit=1001", None, 400),
        ("GET", "/v1/sessions?limit=1&limit=2", None, 400),
        ("GET", "/v1/sessions?cursor=%21", None, 400),
        ("GET", "/v1/sessions?app=missing", None, 400),
        ("GET", "/v1/sessions?user=" + "x" * 1025, None, 400),
        ("DELETE", "/v1/sessions", None, 405),
        ("GET", "/v1/sessions/revoke", None, 405),
        ("POST", "/v1/sessions/revoke", {}, 400),
        ("POST", "/v1/sessions/revoke", {"before": 1}, 400),
        ("POST", "/v1/sessions/revoke", {"all": False, "before": 1}, 400),
        ("POST", "/v1/sessions/revoke", {"user": None, "provider": None, "host": None, "app": None, "id": None}, 400),
        ("POST", "/v1/sessions/revoke", {"all": None, "user": None, "before": None}, 400),
        ("POST", "/v1/sessions/revoke", {"user": ""}, 400),
        ("POST", "/v1/sessions/revoke", {"user": 1}, 400),
        ("POST", "/v1/sessions/revoke", {"id": []}, 400),
        ("POST", "/v1/sessions/revoke", {"id": ["x"] * 101}, 400),
        ("POST", "/v1/sessions/revoke", {"all": "yes"}, 400),
        ("POST", "/v1/sessions/revoke", {"all": True, "before": 99999999999}, 400),
        ("POST", "/v1/sessions/revoke", ["all"], 400),
        ("POST", "/v1/sessions/revoke", {"all": [[[[[1]]]]]}, 400),
        ("GET", "/v2/sessions", None, 404),
    ]
)
def test_a_request_that_is_not_understood_changes_nothing(method, resource, body, status, administered):
    """K-10: parameters are bounded; one that is not known is rejected, since it may be a misspelled filter."""
    browser = signed_in(administered)
    code, response = call(administered.socket, method, resource, body)
    assert code == status and response["error"], response
    assert is_live(browser)


def test_a_body_that_is_not_declared_as_json_is_rejected(administered):
    code, _ = call(administered.socket, "POST", "/v1/sessions/revoke", {"all": True}, {"Content-Type": "text/plain"})
    assert code == 415


def test_a_large_body_is_rejected(administered):
    """K-10: 16 KiB at most."""
    client = socket.socket(socket.AF_UNIX)
    client.connect(str(administered.socket))
    body = b'{"user":"' + b"x" * 20000 + b'"}'
    client.sendall(
        b"POST /v1/sessions/revoke HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(body) + body
    )
    assert client.recv(100).startswith(b"HTTP/1.1 413 ")
    client.close()


def test_pages_of_sessions_are_complete(administered):
    for _ in range(7):
        signed_in(administered)
    seen, cursor = [], None
    while True:
        query = "limit=3" + (f"&cursor={cursor}" if cursor else "")
        _, page = call(administered.socket, "GET", f"/v1/sessions?{query}")
        assert len(page["sessions"]) <= 3
        seen += [one["id"] for one in page["sessions"]]
        cursor = page["next"]
        if not cursor:
            break
    assert len(seen) == 7 == len(set(seen))
    result = run("sessions", "list", "--limit", "5", "--config", administered.path, cwd=administered.folder)
    assert result.stdout.count("mock:ada") == 5 and "there are more" in result.stderr


def test_users_are_registered_at_sign_in(administered):
    signed_in(administered)
    signed_in(administered, "other")

    def users():
        found = json.loads(command(administered, "users", "list", "--json"))["users"]
        return found if len(found) == 2 else None

    found = {one["user"]: one for one in eventually(users, "both users are registered")}
    assert set(found) == {"mock:ada", "other:ada"}
    assert found["mock:ada"]["email"] == "ada@example.com" and found["mock:ada"]["provider"] == "mock"
    assert found["mock:ada"]["last_sign_in"] >= found["mock:ada"]["first_sign_in"] > 1_700_000_000
    assert "mock:ada" in command(administered, "users", "list")


def test_the_device_of_a_sign_in_is_kept_in_a_few_words(administered):
    browser = Browser(administered)
    landing = browser.authorize(browser.begin("mock"))
    assert browser.send("GET", landing, fields={"User-Agent": FIREFOX}).status == 303
    assert sessions(administered)[0]["device"] == "Firefox on Linux"
    assert "rv:140" not in json.dumps(sessions(administered))


def test_the_public_listener_has_no_operations_api(administered):
    """A-24: the path belongs to the app there."""
    fields = [("Authorization", f"Bearer {TOKEN}")]
    assert request(administered.port, "/v1/sessions", host="gate.localhost", fields=fields).status == 401
