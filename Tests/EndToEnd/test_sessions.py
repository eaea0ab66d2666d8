# SPDX-License-Identifier: Apache-2.0
"""Sessions: restart, theft of the database, revocation, session transfer to apps on their own hosts."""

import base64
import os
import shutil
import signal
import sqlite3
import subprocess
import threading
import time
from urllib.parse import parse_qs, urlsplit

import pytest

from support.browser import Browser
from support.gateway import Gateway, oidc
from support.oauth_client import Client
from support.processes import eventually
from support.raw import Wire, request
from support.upstream import Upstream


@pytest.fixture
def own_gateway(tmp_path, provider_server, realm):
    """A gateway for one test, not started."""
    app = Upstream()
    apps = {
        "echo": {"path": "/", "upstream": app.address, "allow": "signed_in", "public": ["/public/"]}, "own":
            {"host": "own.localhost", "path": "/", "upstream": app.address, "allow": "signed_in"},
    }
    gateway = Gateway(tmp_path / "one", {"mock": oidc(realm.issuer)}, apps)
    gateway.app = app
    yield gateway
    gateway.leave()
    app.close()


def status(gateway, ticket, path="/x", host="gate.localhost"):
    return request(gateway.port, path, host=host, fields=[("Cookie", f"gatehouse={ticket}")]).status


def test_a_session_survives_a_restart(own_gateway):
    """Sessions, keys and attempts survive SIGTERM and a new start."""
    own_gateway.start()
    browser = Browser(own_gateway)
    assert browser.sign_in("mock", "/before").status == 200
    keys = browser.send("GET", "/oauth2/jwks.json").json
    landing = browser.authorize(browser.begin("mock", "/half-way"))
    own_gateway.stop()
    own_gateway.start()
    assert browser.send("GET", "/after").status == 200
    assert own_gateway.app.seen("/after")[-1].get("X-Forwarded-User") == "mock:ada"
    assert browser.send("GET", "/oauth2/jwks.json").json == keys
    assert browser.send("GET", landing).get("location") == own_gateway.origin + "/half-way"


def test_a_used_state_stays_used_after_a_restart(own_gateway):
    """T-02: a used state stays used after a restart."""
    own_gateway.start()
    browser = Browser(own_gateway)
    landing = browser.authorize(browser.begin("mock"))
    copy = Browser(own_gateway)
    copy.cookies = {host: dict(jar) for host, jar in browser.cookies.items()}
    assert browser.send("GET", landing).status == 303
    own_gateway.stop()
    own_gateway.start()
    assert copy.send("GET", landing).status == 400 and copy.ticket() is None


def test_a_copied_database_is_useless_without_the_secret(own_gateway, tmp_path, provider_server):
    """Database and cookie together are useless under another secret; neither holds the ticket."""
    own_gateway.start()
    browser = Browser(own_gateway)
    browser.sign_in("mock", "/stolen")
    ticket = browser.ticket()
    own_gateway.stop()
    copied = tmp_path / "two"
    shutil.copytree(own_gateway.folder / "state", copied / "state")
    for file in copied.rglob("*"):
        if file.is_file():
            content = file.read_bytes()
            assert ticket.encode() not in content and b"ada@example.com" not in content, file
    thief = Gateway(copied, own_gateway.configuration["providers"], own_gateway.configuration["apps"])
    thief.start({"TEST_GATEWAY_SECRET": "another secret that is long enough, but another one"})
    assert status(thief, ticket) == 401
    thief.stop()
    thief.start()
    assert status(thief, ticket) == 200
    thief.stop()


def test_a_secret_can_be_rotated(own_gateway):
    """The first of a list seals, all open."""
    own_gateway.start()
    browser = Browser(own_gateway)
    browser.sign_in("mock", "/x")
    own_gateway.stop()
    own_gateway.configuration["gateway"]["secret"] = ["${env:TEST_NEW_SECRET}", "${env:TEST_GATEWAY_SECRET}"]
    own_gateway.start({"TEST_NEW_SECRET": "the new secret is also longer than 32 bytes"})
    assert status(own_gateway, browser.ticket()) == 200


@pytest.mark.parametrize("column, seconds", [("seen", 13 * 3600), ("expires", 8 * 86400)])
def test_a_session_expires(column, seconds, own_gateway):
    """Idle timeout and lifetime; the times in the database are moved instead of the clock."""
    own_gateway.start()
    browser = Browser(own_gateway)
    assert browser.sign_in("mock", "/x").status == 200
    own_gateway.stop()
    with sqlite3.connect(next((own_gateway.folder / "state").glob("*.db"))) as database:
        assert database.execute(f"UPDATE session SET {column} = {column} - {seconds}").rowcount == 1
    own_gateway.start()
    assert status(own_gateway, browser.ticket()) == 401


def test_the_idle_time_out_of_an_app_holds_for_access_tokens_too(own_gateway):
    """Once idle for longer, the client has to ask the user to sign in again; the browser is led to a sign-in when it does."""
    token = {"allow": "signed_in", "accept": ["session", "token"]}
    own_gateway.configuration["apps"]["brief"] = {**own_gateway.configuration["apps"]["echo"], **token, "path": "/brief", "idle_timeout": "15m"}
    own_gateway.configuration["apps"]["echo"] |= token
    uri = "com.example.notes:/signed-in"
    own_gateway.configuration["clients"] = {
        "notes": {"type": "native", "redirect_uris": [uri], "allow": "signed_in", "audiences": ["echo", "brief"], "access_token_lifetime": "1h"}
    }
    own_gateway.start()
    browser = Browser(own_gateway)
    assert browser.sign_in("mock", "/x").status == 200
    client = Client(own_gateway, "notes", uri)
    found = client.sign_in(browser)
    assert client.call(found["access_token"], "/brief/x").status == client.call(found["access_token"]).status == 200
    own_gateway.stop()
    with sqlite3.connect(next((own_gateway.folder / "state").glob("*.db"))) as database:
        assert database.execute("UPDATE session SET seen = seen - 960").rowcount == 2
    own_gateway.start()
    for token in (found["access_token"], client.refresh(found["refresh_token"]).json["access_token"]):
        response = client.call(token, "/brief/x")
        assert response.status == 401 and 'error="invalid_token"' in response.get("www-authenticate")
        assert client.call(token).status == 200
    narrow = client.refresh(client.refresh(found["refresh_token"]).json["refresh_token"], resource=f"{own_gateway.origin}/brief")
    assert (narrow.status, narrow.json["error"]) == (400, "invalid_grant")
    silent = client.authorize(browser, prompt="none")
    assert silent["error"] == "login_required"
    # Without `prompt`, as clients ask.
    again = client.sign_in(browser)
    assert client.call(again["access_token"], "/brief/x").status == 200


def test_sessions_in_memory_end_with_the_program(own_gateway):
    """`memory:`."""
    own_gateway.configuration["sessions"] = {"store": "memory:"}
    own_gateway.start()
    browser = Browser(own_gateway)
    assert browser.sign_in("mock", "/x").status == 200 and status(own_gateway, browser.ticket()) == 200
    old = browser.ticket()
    browser.sign_out()
    assert status(own_gateway, old) == 401
    browser.sign_in("mock", "/x")
    own_gateway.stop()
    own_gateway.start()
    assert status(own_gateway, browser.ticket()) == 401


def test_files_that_the_gateway_makes_belong_to_its_owner_alone(own_gateway):
    """Keys, secret and database are not for others."""
    own_gateway.start()
    Browser(own_gateway).sign_in("mock", "/x")
    files = [file for file in (own_gateway.folder / "state").rglob("*") if file.is_file()]
    assert files
    for file in files:
        assert file.stat().st_mode & 0o077 == 0, file


def test_a_replayed_cookie_is_rejected_after_sign_out(ada, gateway):
    """A-13 K-09: the record is removed first, the cookie second."""
    ticket = ada.ticket()
    assert status(gateway, ticket) == 200
    assert ada.sign_out().status == 303
    assert ada.ticket() is None
    for _ in range(5):
        assert status(gateway, ticket) == 401
    assert request(gateway.port, "/oauth2/userinfo", fields=[("Cookie", f"gatehouse={ticket}")]).status == 401


def test_a_link_does_not_sign_out(ada, gateway):
    """K-09: GET shows a page with a button; a POST of another site is rejected."""
    page = ada.send("GET", "/oauth2/sign_out")
    assert page.status == 200 and 'method="post"' in page.text and status(gateway, ada.ticket()) == 200
    foreign = ada.send(
        "POST", "/oauth2/sign_out", body={}, fields={"Sec-Fetch-Site": "cross-site", "Origin": "http://evil.example"}
    )
    assert foreign.status == 403 and status(gateway, ada.ticket()) == 200


def test_a_sign_out_reaches_every_loop_at_once(ada, gateway):
    """On many open connections, on all loops, no request is accepted after the response to the sign-out."""
    ticket = ada.ticket()
    head = f"GET /loops HTTP/1.1\r\nHost: gate.localhost\r\nCookie: gatehouse={ticket}\r\n\r\n".encode()
    wires = [Wire(gateway.port) for _ in range(64)]
    for wire in wires:
        wire.send(head)
    assert [wire.response().status for wire in wires] == [200] * 64
    ada.sign_out()
    for wire in wires:
        wire.send(head)
    assert [wire.response().status for wire in wires] == [401] * 64
    for wire in wires:
        wire.close()


def test_under_load_no_request_is_accepted_after_a_sign_out(gateway, realm):
    """A-13: requests race with the sign-out; each that begins after its response is rejected."""
    browser = Browser(gateway)
    browser.sign_in("mock", "/x")
    ticket = browser.ticket()
    ended = threading.Event()
    wrong, stop = [], threading.Event()

    def hammer():
        with Wire(gateway.port) as wire:
            while not stop.is_set():
                late = ended.is_set()
                wire.send(f"GET /race HTTP/1.1\r\nHost: gate.localhost\r\nCookie: gatehouse={ticket}\r\n\r\n".encode())
                if wire.response().status == 200 and late:
                    wrong.append(1)

    threads = [threading.Thread(target=hammer) for _ in range(8)]
    for thread in threads:
        thread.start()
    browser.sign_out()
    ended.set()
    for _ in range(30):
        assert status(gateway, ticket) == 401
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong


# Apps on their own hosts: session transfer


def handed_over(gateway, path="/deep?x=1"):
    """A browser that has gone to the app on its own host and signed in on the way."""
    browser = Browser(gateway)
    response = browser.visit(f"http://own.localhost:{gateway.port}{path}", stop=lambda url: "/oauth2/sign_in" in url)
    if response.status == 303:
        response = browser.sign_in("mock", urlsplit_query(response.next)["rd"])
    return browser, response


def urlsplit_query(url):
    return {key: values[0] for key, values in parse_qs(urlsplit(url).query).items()}


def test_an_app_on_its_own_host_gets_its_own_cookie(gateway, realm, app):
    """The user reaches the requested page, with a host-only cookie of another value."""
    browser, response = handed_over(gateway)
    assert response.status == 200 and response.url == f"http://own.localhost:{gateway.port}/deep?x=1", browser.history
    seen = app.seen("/deep?x=1")[-1]
    assert seen.get("X-Forwarded-User") == "mock:ada" and seen.get("host").startswith("own.localhost")
    assert browser.ticket() and browser.ticket("own.localhost") and browser.ticket() != browser.ticket("own.localhost")
    assert not any("domain" in line.lower() for _, line in browser.set_cookies)
    assert list(browser.cookies["own.localhost"]) == ["gatehouse"]


def test_the_second_app_needs_no_second_sign_in(gateway, realm):
    """With a session at the gateway a session transfer is enough."""
    browser, _ = handed_over(gateway)
    tokens = realm.count("token")
    response = browser.visit(f"http://third.localhost:{gateway.port}/x")
    assert response.status == 200 and realm.count("token") == tokens


def code_of(gateway, browser=None):
    """Stops before the URL with the one-time code."""
    browser = browser or Browser(gateway)
    if not browser.ticket():
        browser.sign_in("mock", "/x")
    response = browser.visit(f"http://own.localhost:{gateway.port}/coded", stop=lambda url: "code=" in url)
    return browser, response.next


def test_a_transfer_code_works_once(gateway, realm):
    """A replayed code is rejected, also in its own browser."""
    browser, address = code_of(gateway)
    kept = dict(browser.cookies["own.localhost"])
    assert browser.send("GET", address).status == 303 and browser.ticket("own.localhost")
    again = Browser(gateway)
    again.cookies = {"own.localhost": kept}
    response = again.send("GET", address)
    assert response.status == 400 and again.ticket("own.localhost") is None, response


def test_a_transfer_code_in_another_browser_is_rejected(gateway, realm):
    """The code is bound to a cookie that the app's host set before."""
    browser, address = code_of(gateway)
    stranger = Browser(gateway)
    response = stranger.send("GET", address)
    assert response.status == 400 and stranger.ticket("own.localhost") is None
    victim = Browser(gateway)
    victim.send("GET", f"http://own.localhost:{gateway.port}/coded")
    assert victim.send("GET", address).status == 400 and victim.ticket("own.localhost") is None
    name = next(name for name in browser.cookies["own.localhost"] if "handover" in name)
    value = next(iter(victim.cookies["own.localhost"].values()))
    victim.cookies["own.localhost"] = {name: value}
    assert victim.send("GET", address).status == 400 and victim.ticket("own.localhost") is None


def test_a_transfer_code_for_one_host_is_rejected_on_another(gateway, realm):
    """A-83: the code names the origin that asked."""
    browser, address = code_of(gateway)
    browser.cookies["third.localhost"] = dict(browser.cookies["own.localhost"])
    response = browser.send("GET", address.replace("own.localhost", "third.localhost"))
    assert response.status == 400 and browser.ticket("third.localhost") is None


@pytest.mark.parametrize("part", ["code", "request"])
def test_a_changed_session_transfer_is_rejected(part, gateway, realm):
    """A-21 A-36: what passes through the browser is sealed; every flipped byte gives the same response."""
    browser = Browser(gateway)
    browser.sign_in("mock", "/x")
    stop = (lambda url: "code=" in url) if part == "code" else (lambda url: "request=" in url)
    response = browser.visit(f"http://own.localhost:{gateway.port}/coded", stop=stop)
    address = response.next
    value = urlsplit_query(address)[part]
    seen = set()
    for index in range(0, len(value), 3):
        changed = value[:index] + ("A" if value[index] != "A" else "B") + value[index + 1:]
        response = browser.send("GET", address.replace(value, changed), navigates=False)
        seen.add((response.status, response.json["error"]))
        assert browser.ticket("own.localhost") is None
    assert len(seen) == 1 and next(iter(seen))[0] == 400, seen


def test_a_session_transfer_to_an_unknown_host_is_rejected(gateway, realm):
    """K-08: sessions are transferred to configured origins only."""
    browser = Browser(gateway)
    browser.sign_in("mock", "/x")
    for query in ("request=http://evil.example/", "request=x", "request=", "code=x", "", "request=x&code=y"):
        response = browser.send("GET", f"/oauth2/handover?{query}")
        assert response.status == 400 and not response.all("location")


def test_sign_out_on_the_apps_host_ends_both(gateway, realm):
    """One family of sessions ends together."""
    browser, _ = handed_over(gateway)
    gate, own = browser.ticket(), browser.ticket("own.localhost")
    response = browser.sign_out(origin=f"http://own.localhost:{gateway.port}")
    assert response.status == 303
    assert status(gateway, gate) == 401 and status(gateway, own, host="own.localhost") == 401


def test_sign_out_at_the_gateway_ends_the_apps_session(gateway, realm):
    browser, _ = handed_over(gateway)
    own = browser.ticket("own.localhost")
    browser.sign_out()
    assert status(gateway, own, host="own.localhost") == 401


def test_the_cookie_of_the_apps_host_is_not_one_of_the_gate(gateway, realm):
    """C-05."""
    browser, _ = handed_over(gateway)
    assert status(gateway, browser.ticket("own.localhost")) == 401
    assert status(gateway, browser.ticket("own.localhost"), host="third.localhost") == 401


def test_api_clients_get_401_with_a_url_and_no_redirect(gateway):
    """An API client gets the URL of the sign-in."""
    for host in ("gate.localhost", "own.localhost"):
        for fields in (
            [], [("Accept", "application/json")], [("X-Requested-With", "XMLHttpRequest"), ("Accept", "text/html")], [
                ("Sec-Fetch-Mode", "cors"), ("Accept", "text/html")
            ],
        ):
            response = request(gateway.port, "/api", host=host, fields=fields)
            assert response.status == 401 and response.json["error"] == "sign_in_required"
            assert (
                response.json["sign_in"].startswith("http://") and not response.all("location") and
                not response.all("set-cookie")
            )


# Other processes and the database


def hold(gateway):
    """Another process that holds the database."""
    connection = sqlite3.connect(next((gateway.folder / "state").glob("*.db")), isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    return connection


def make_due(gateway, seconds=7200):
    """Makes the last use of all sessions so old that it has to be written; the gateway must not run."""
    with sqlite3.connect(next((gateway.folder / "state").glob("*.db"))) as database:
        database.execute(f"UPDATE session SET seen = seen - {seconds}")


def test_u_01_a_locked_database_stalls_no_signed_in_user(own_gateway):
    """U-01: look-ups whose last use is due are served at once; sign-ins get 503."""
    own_gateway.start()
    tickets = []
    for _ in range(20):
        browser = Browser(own_gateway)
        assert browser.sign_in("mock", "/x").status == 200
        tickets.append(browser.ticket())
    own_gateway.stop()
    make_due(own_gateway)
    own_gateway.start()
    held = hold(own_gateway)
    began = time.monotonic()
    assert [status(own_gateway, ticket) for ticket in tickets] == [200] * 20
    assert time.monotonic() - began < 2
    late = Browser(own_gateway)
    assert late.send("GET", late.authorize(late.begin("mock"))).status == 503
    held.execute("ROLLBACK")
    rows = "SELECT COUNT(*) FROM session WHERE seen > strftime('%s', 'now') - 600"
    eventually(lambda: held.execute(rows).fetchone()[0] == 20, "the last uses are written")
    held.close()


def test_u_02_a_sign_out_holds_while_the_database_cannot_be_written(own_gateway):
    """U-02: at once, also after a kill before it was written, and reported."""
    own_gateway.start()
    browser = Browser(own_gateway)
    browser.sign_in("mock", "/x")
    ticket = browser.ticket()
    held = hold(own_gateway)
    assert browser.sign_out().status == 303
    assert status(own_gateway, ticket) == 401
    eventually(lambda: "sign-out not written yet" in own_gateway.log, "the line in the log")
    assert own_gateway.metric("gatehouse_revocations_pending") == 1
    os.kill(own_gateway.process.pid, signal.SIGKILL)
    own_gateway.process.child.wait()
    own_gateway.process = None
    held.execute("ROLLBACK")
    assert held.execute("SELECT COUNT(*) FROM session").fetchone()[0] == 1
    own_gateway.start()
    assert status(own_gateway, ticket) == 401
    eventually(lambda: held.execute("SELECT COUNT(*) FROM session").fetchone()[0] == 0, "the session is removed")
    held.close()


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 2 MiB."""
    place = tmp_path / "disk"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", place], capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


def test_u_02_a_sign_out_on_a_full_disk_holds_and_is_written_when_there_is_space(small_disk, own_gateway):
    """U-02 R-54: users stay signed in, sign-ins get 503, and a kill and a start on the full disk undo no sign-out."""
    own_gateway.configuration["gateway"]["state"] = str(small_disk / "state")
    own_gateway.start()
    leaves, stays = Browser(own_gateway), Browser(own_gateway)
    tickets = []
    for browser in (leaves, stays):
        browser.sign_in("mock", "/x")
        tickets.append(browser.ticket())
    filler = small_disk / "filler"
    with pytest.raises(OSError), open(filler, "wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    late = Browser(own_gateway)
    assert late.send("GET", late.authorize(late.begin("mock"))).status == 503
    assert leaves.sign_out().status == 303
    assert [status(own_gateway, ticket) for ticket in tickets] == [401, 200]
    os.kill(own_gateway.process.pid, signal.SIGKILL)
    own_gateway.process.child.wait()
    own_gateway.process = None
    own_gateway.start()
    assert [status(own_gateway, ticket) for ticket in tickets] == [401, 200]
    filler.unlink()
    eventually(lambda: "sign-outs written" in own_gateway.log, "the sign-out is written", 20)
    with sqlite3.connect(small_disk / "state/sessions.db") as database:
        assert database.execute("SELECT COUNT(*) FROM session").fetchone()[0] == 1
    assert [status(own_gateway, ticket) for ticket in tickets] == [401, 200]


@pytest.mark.parametrize("change", ["deleted", "replaced", "truncated"])
def test_u_03_a_database_that_is_changed_under_the_gateway_is_reported(change, own_gateway):
    """U-03: log, metric and status report it."""
    own_gateway.start()
    browser = Browser(own_gateway)
    browser.sign_in("mock", "/x")
    path = next((own_gateway.folder / "state").glob("*.db"))
    assert own_gateway.metric("gatehouse_session_store_fault") == 0 and own_gateway.operation("/status").json()["store_fault"] is None
    if change == "deleted":
        path.unlink()
    elif change == "replaced":
        copy = path.with_suffix(".copy")
        shutil.copy(path, copy)
        copy.replace(path)
    else:
        os.truncate(path, 0)
    assert own_gateway.metric("gatehouse_session_store_fault") == 1
    assert own_gateway.operation("/status").json()["store_fault"] == change
    eventually(lambda: f"session store {change}" in own_gateway.log and "session.store_fault" in own_gateway.log, "the line in the log")
    if change != "truncated":
        assert status(own_gateway, browser.ticket()) == 200


def test_u_03_a_reader_that_closes_the_database_leaves_the_log_of_the_gateway(own_gateway):
    """U-03: the last connection that closes a database deletes its write-ahead log, so the gateway must hold its locks.

    https://www.sqlite.org/howtocorrupt.html §2.2
    """
    own_gateway.start()
    first, second = Browser(own_gateway), Browser(own_gateway)
    assert first.sign_in("mock", "/x").status == 200
    assert own_gateway.operation("/status").json()["store_fault"] is None
    path = next((own_gateway.folder / "state").glob("*.db"))
    log = path.with_name(f"{path.name}-wal")
    before = log.stat().st_ino
    count = ["sqlite3", path, "SELECT COUNT(*) FROM session"]
    assert subprocess.run(count, check=True, capture_output=True).stdout == b"1\n"
    assert log.stat().st_ino == before
    assert second.sign_in("mock", "/x").status == 200
    own_gateway.kill()
    own_gateway.start()
    assert [status(own_gateway, browser.ticket()) for browser in (first, second)] == [200, 200]


def test_z_02_sessions_that_are_over_are_not_counted(own_gateway):
    """Z-02: the gauge goes by the idle time-out of the configuration."""
    own_gateway.configuration["sessions"] = {"idle_timeout": "2h", "lifetime": "60d"}
    own_gateway.start()
    browsers = [Browser(own_gateway) for _ in range(2)]
    for browser in browsers:
        browser.sign_in("mock", "/x")
    assert own_gateway.metric("gatehouse_sessions") == 2
    own_gateway.stop()
    make_due(own_gateway, 7201)
    own_gateway.start()
    browsers[0].sign_in("mock", "/x")
    assert own_gateway.metric("gatehouse_sessions") == 1


def test_x_04_a_reload_that_tightens_a_provider_ends_its_sessions(own_gateway, provider_server):
    """X-04: the next request of a session that other settings accepted leads to a new sign-in."""
    other = provider_server.realm("other")
    other.reset()
    own_gateway.configuration["providers"]["other"] = oidc(other.issuer)
    own_gateway.start()
    browser, third = Browser(own_gateway), Browser(own_gateway)
    browser.sign_in("mock", "/x")
    third.sign_in("other", "/x")
    assert status(own_gateway, browser.ticket()) == 200 and status(own_gateway, third.ticket()) == 200
    own_gateway.configuration["providers"]["mock"]["client_id"] = "another"
    own_gateway.write()
    own_gateway.reload()
    eventually(lambda: status(own_gateway, browser.ticket()) == 401, "the session does not count any more")
    assert request(own_gateway.port, "/oauth2/userinfo", fields=[("Cookie", f"gatehouse={browser.ticket()}")]).status == 401
    assert status(own_gateway, third.ticket()) == 200
    own_gateway.stop()
    own_gateway.start()
    assert status(own_gateway, browser.ticket()) == 401 and status(own_gateway, third.ticket()) == 200


def test_x_17_forged_tickets_never_reach_the_store(ada, gateway):
    """X-17: the store is asked for authenticated tickets only."""
    forged = base64.urlsafe_b64encode(os.urandom(42)).decode()
    assert len(forged) == len(ada.ticket()) and status(gateway, forged) == 401
    bare = base64.urlsafe_b64encode(base64.urlsafe_b64decode(ada.ticket())[:32]).decode().rstrip("=")
    assert len(bare) == 43 and status(gateway, bare) == 401
    codes = {status(gateway, base64.urlsafe_b64encode(os.urandom(32)).decode().rstrip("=")) for _ in range(5)}
    assert codes == {401} and status(gateway, ada.ticket()) == 200


def test_x_07_many_transfers_make_one_session(gateway, realm):
    """X-07: in one browser, one after the other and with the cookie of the host lost in between."""
    browser, _ = handed_over(gateway)
    first = browser.ticket("own.localhost")
    count = gateway.metric("gatehouse_sessions")
    for _ in range(10):
        browser.cookies["own.localhost"] = {}
        assert browser.visit(f"http://own.localhost:{gateway.port}/x").status == 200
        assert browser.ticket("own.localhost") == first
    assert gateway.metric("gatehouse_sessions") == count


def test_x_08_a_code_shown_in_another_browser_is_used_up(gateway, realm):
    """X-08: shown in another browser it is rejected, and then in its own as well."""
    browser, address = code_of(gateway)
    assert Browser(gateway).send("GET", address).status == 400
    response = browser.send("GET", address)
    assert response.status == 400 and browser.ticket("own.localhost") is None and "handover.spent" in response.text


def test_x_15_transfer_cookies_are_limited(gateway):
    """X-15: forty unfinished navigations leave five cookies."""
    browser = Browser(gateway)
    for number in range(40):
        assert browser.send("GET", f"http://own.localhost:{gateway.port}/x{number}").status == 303
    assert len(browser.cookies["own.localhost"]) == 5
