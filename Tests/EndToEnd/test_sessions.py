# SPDX-License-Identifier: Apache-2.0
"""Sessions: restart, theft of the database, revocation, hand-over to apps on hosts of their own."""

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
from support.processes import eventually
from support.raw import Wire, request
from support.upstream import Upstream


@pytest.fixture
def stand(tmp_path, provider_server, realm):
    """A gateway of the test's own, not started."""
    app = Upstream()
    apps = {
        "echo": {"path": "/", "upstream": app.address, "allow": "signed_in", "public": ["/public/"]}, "own":
            {"host": "own.localhost", "path": "/", "upstream": app.address, "allow": "signed_in"},
    }
    gateway = Gateway(tmp_path / "one", {"mock": oidc(realm.issuer)}, apps)
    gateway.app = app
    yield gateway
    gateway.stop()
    app.close()


def status(gateway, ticket, path="/x", host="gate.localhost"):
    return request(gateway.port, path, host=host, fields=[("Cookie", f"gatehouse={ticket}")]).status


def test_a_session_survives_a_restart(stand):
    """Done when: sessions, keys and attempts are there after SIGTERM and a new start."""
    stand.start()
    browser = Browser(stand)
    assert browser.sign_in("mock", "/before").status == 200
    keys = browser.send("GET", "/oauth2/jwks.json").json
    landing = browser.authorize(browser.begin("mock", "/half-way"))
    stand.stop()
    stand.start()
    assert browser.send("GET", "/after").status == 200
    assert stand.app.seen("/after")[-1].get("X-Forwarded-User") == "mock:ada"
    assert browser.send("GET", "/oauth2/jwks.json").json == keys
    assert browser.send("GET", landing).get("location") == stand.origin + "/half-way"


def test_a_restart_does_not_forget_what_was_spent(stand):
    """T-02 design §6: a used state stays used after a restart."""
    stand.start()
    browser = Browser(stand)
    landing = browser.authorize(browser.begin("mock"))
    copy = Browser(stand)
    copy.cookies = {host: dict(jar) for host, jar in browser.cookies.items()}
    assert browser.send("GET", landing).status == 303
    stand.stop()
    stand.start()
    assert copy.send("GET", landing).status >= 400 and copy.ticket() is None


def test_a_copied_database_opens_nothing_without_the_secret(stand, tmp_path, provider_server):
    """Done when: database and cookie together are worth nothing under another secret; neither holds the ticket."""
    stand.start()
    browser = Browser(stand)
    browser.sign_in("mock", "/stolen")
    ticket = browser.ticket()
    stand.stop()
    copied = tmp_path / "two"
    shutil.copytree(stand.folder / "state", copied / "state")
    for file in copied.rglob("*"):
        if file.is_file():
            content = file.read_bytes()
            assert ticket.encode() not in content and b"ada@example.com" not in content, file
    thief = Gateway(copied, stand.configuration["providers"], stand.configuration["apps"])
    thief.start({"TEST_GATEWAY_SECRET": "another secret that is long enough, but another one"})
    assert status(thief, ticket) == 401
    thief.stop()
    thief.start()
    assert status(thief, ticket) == 200
    thief.stop()


def test_a_secret_can_be_rotated(stand):
    """Design §2.2: the first of a list seals, all open."""
    stand.start()
    browser = Browser(stand)
    browser.sign_in("mock", "/x")
    stand.stop()
    stand.configuration["gateway"]["secret"] = ["${env:TEST_NEW_SECRET}", "${env:TEST_GATEWAY_SECRET}"]
    stand.start({"TEST_NEW_SECRET": "the new secret is also longer than 32 bytes"})
    assert status(stand, browser.ticket()) == 200


@pytest.mark.parametrize("column, seconds", [("seen", 13 * 3600), ("expires", 8 * 86400)])
def test_a_session_ends_by_itself(column, seconds, stand):
    """Scope 9: idle and absolute lifetime; here the clock is moved in the database instead."""
    stand.start()
    browser = Browser(stand)
    assert browser.sign_in("mock", "/x").status == 200
    stand.stop()
    with sqlite3.connect(next((stand.folder / "state").glob("*.db"))) as database:
        assert database.execute(f"UPDATE session SET {column} = {column} - {seconds}").rowcount == 1
    stand.start()
    assert status(stand, browser.ticket()) == 401


def test_sessions_in_memory_end_with_the_program(stand):
    """Scope 9: `memory:`."""
    stand.configuration["sessions"] = {"store": "memory:"}
    stand.start()
    browser = Browser(stand)
    assert browser.sign_in("mock", "/x").status == 200 and status(stand, browser.ticket()) == 200
    old = browser.ticket()
    browser.sign_out()
    assert status(stand, old) == 401
    browser.sign_in("mock", "/x")
    stand.stop()
    stand.start()
    assert status(stand, browser.ticket()) == 401


def test_files_that_the_gateway_makes_belong_to_its_owner_alone(stand):
    """Scope 10: keys, secret and database are not for others."""
    stand.start()
    Browser(stand).sign_in("mock", "/x")
    files = [file for file in (stand.folder / "state").rglob("*") if file.is_file()]
    assert files
    for file in files:
        assert file.stat().st_mode & 0o077 == 0, file


def test_a_replayed_cookie_is_refused_after_sign_out(ada, gateway):
    """A-13 K9: the record goes first, the cookie second."""
    ticket = ada.ticket()
    assert status(gateway, ticket) == 200
    assert ada.sign_out().status == 303
    assert ada.ticket() is None
    for _ in range(5):
        assert status(gateway, ticket) == 401
    assert request(gateway.port, "/oauth2/userinfo", fields=[("Cookie", f"gatehouse={ticket}")]).status == 401


def test_a_link_signs_nobody_out(ada, gateway):
    """K9: GET shows a page with a button; a POST of another site is refused."""
    page = ada.send("GET", "/oauth2/sign_out")
    assert page.status == 200 and 'method="post"' in page.text and status(gateway, ada.ticket()) == 200
    foreign = ada.send(
        "POST", "/oauth2/sign_out", body={}, fields={"Sec-Fetch-Site": "cross-site", "Origin": "http://evil.example"}
    )
    assert foreign.status == 403 and status(gateway, ada.ticket()) == 200


def test_a_sign_out_reaches_every_loop_at_once(ada, gateway):
    """Scope 9: of many open connections, on all loops, none is let in after the answer to the sign-out."""
    ticket = ada.ticket()
    head = f"GET /loops HTTP/1.1\r\nHost: gate.localhost\r\nCookie: gatehouse={ticket}\r\n\r\n".encode()
    wires = [Wire(gateway.port) for _ in range(64)]
    for wire in wires:
        wire.send(head)
    assert [wire.answer().status for wire in wires] == [200] * 64
    ada.sign_out()
    for wire in wires:
        wire.send(head)
    assert [wire.answer().status for wire in wires] == [401] * 64
    for wire in wires:
        wire.close()


def test_under_load_nobody_is_let_in_after_a_sign_out(gateway, realm):
    """A-13: requests race with the sign-out; whatever begins after its answer is refused."""
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
                if wire.answer().status == 200 and late:
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


# Apps on hosts of their own: the hand-over of design §6.


def handed_over(gateway, path="/deep?x=1"):
    """A browser that has gone to the app on its own host and signed in on the way."""
    browser = Browser(gateway)
    answer = browser.visit(f"http://own.localhost:{gateway.port}{path}", stop=lambda url: "/oauth2/sign_in" in url)
    if answer.status == 303:
        answer = browser.sign_in("mock", urlsplit_query(answer.next)["rd"])
    return browser, answer


def urlsplit_query(url):
    return {key: values[0] for key, values in parse_qs(urlsplit(url).query).items()}


def test_an_app_on_its_own_host_gets_its_own_cookie(gateway, realm, app):
    """Design §6: the person lands where they wanted, with a host-only cookie of another value."""
    browser, answer = handed_over(gateway)
    assert answer.status == 200 and answer.url == f"http://own.localhost:{gateway.port}/deep?x=1", browser.history
    seen = app.seen("/deep?x=1")[-1]
    assert seen.get("X-Forwarded-User") == "mock:ada" and seen.get("host").startswith("own.localhost")
    assert browser.ticket() and browser.ticket("own.localhost") and browser.ticket() != browser.ticket("own.localhost")
    assert not any("domain" in line.lower() for _, line in browser.set_cookies)
    assert list(browser.cookies["own.localhost"]) == ["gatehouse"]


def test_the_second_app_needs_no_second_sign_in(gateway, realm):
    """Design §6: with a session at the gate the hand-over is all it takes."""
    browser, _ = handed_over(gateway)
    tokens = realm.count("token")
    answer = browser.visit(f"http://third.localhost:{gateway.port}/x")
    assert answer.status == 200 and realm.count("token") == tokens


def code_of(gateway, browser=None):
    """Goes up to, and not into, the address with the one-time code."""
    browser = browser or Browser(gateway)
    if not browser.ticket():
        browser.sign_in("mock", "/x")
    answer = browser.visit(f"http://own.localhost:{gateway.port}/coded", stop=lambda url: "code=" in url)
    return browser, answer.next


def test_a_code_works_once(gateway, realm):
    """Design §6: a replayed code is refused, also in the browser it was made for."""
    browser, address = code_of(gateway)
    kept = dict(browser.cookies["own.localhost"])
    assert browser.send("GET", address).status == 303 and browser.ticket("own.localhost")
    again = Browser(gateway)
    again.cookies = {"own.localhost": kept}
    answer = again.send("GET", address)
    assert answer.status >= 400 and again.ticket("own.localhost") is None, answer


def test_a_code_in_another_browser_is_refused(gateway, realm):
    """Design §6: bound to a cookie that the app's host set before."""
    browser, address = code_of(gateway)
    stranger = Browser(gateway)
    answer = stranger.send("GET", address)
    assert answer.status >= 400 and stranger.ticket("own.localhost") is None
    victim = Browser(gateway)
    victim.send("GET", f"http://own.localhost:{gateway.port}/coded")
    assert victim.send("GET", address).status >= 400 and victim.ticket("own.localhost") is None
    name = next(name for name in browser.cookies["own.localhost"] if "handover" in name)
    value = next(iter(victim.cookies["own.localhost"].values()))
    victim.cookies["own.localhost"] = {name: value}
    assert victim.send("GET", address).status >= 400 and victim.ticket("own.localhost") is None


def test_a_code_for_one_host_is_refused_on_another(gateway, realm):
    """A-83: the code names the origin that asked."""
    browser, address = code_of(gateway)
    browser.cookies["third.localhost"] = dict(browser.cookies["own.localhost"])
    answer = browser.send("GET", address.replace("own.localhost", "third.localhost"))
    assert answer.status >= 400 and browser.ticket("third.localhost") is None


@pytest.mark.parametrize("part", ["code", "request"])
def test_a_changed_hand_over_is_refused(part, gateway, realm):
    """A-21 A-36: what passes through the browser is sealed; every flipped byte gives the same answer."""
    browser = Browser(gateway)
    browser.sign_in("mock", "/x")
    stop = (lambda url: "code=" in url) if part == "code" else (lambda url: "request=" in url)
    answer = browser.visit(f"http://own.localhost:{gateway.port}/coded", stop=stop)
    address = answer.next
    value = urlsplit_query(address)[part]
    seen = set()
    for index in range(0, len(value), 3):
        changed = value[:index] + ("A" if value[index] != "A" else "B") + value[index + 1:]
        answer = browser.send("GET", address.replace(value, changed), navigates=False)
        seen.add((answer.status, answer.json["error"]))
        assert browser.ticket("own.localhost") is None
    assert len(seen) == 1 and next(iter(seen))[0] == 400, seen


def test_a_hand_over_to_a_foreign_host_does_not_exist(gateway, realm):
    """K8: the gate hands over to configured origins only."""
    browser = Browser(gateway)
    browser.sign_in("mock", "/x")
    for query in ("request=http://evil.example/", "request=x", "request=", "code=x", "", "request=x&code=y"):
        answer = browser.send("GET", f"/oauth2/handover?{query}")
        assert answer.status == 400 and not answer.all("location")


def test_sign_out_on_the_apps_host_ends_both(gateway, realm):
    """Scope 9: one family of sessions ends together."""
    browser, _ = handed_over(gateway)
    gate, own = browser.ticket(), browser.ticket("own.localhost")
    answer = browser.sign_out(origin=f"http://own.localhost:{gateway.port}")
    assert answer.status == 303
    assert status(gateway, gate) == 401 and status(gateway, own, host="own.localhost") == 401


def test_sign_out_at_the_gate_ends_the_apps_session(gateway, realm):
    """Scope 9."""
    browser, _ = handed_over(gateway)
    own = browser.ticket("own.localhost")
    browser.sign_out()
    assert status(gateway, own, host="own.localhost") == 401


def test_the_cookie_of_the_apps_host_is_not_one_of_the_gate(gateway, realm):
    """C-05."""
    browser, _ = handed_over(gateway)
    assert status(gateway, browser.ticket("own.localhost")) == 401
    assert status(gateway, browser.ticket("own.localhost"), host="third.localhost") == 401


def test_scripts_get_401_with_an_address_and_no_redirect(gateway):
    """Design §2.3: an API client is told where a person would sign in."""
    for host in ("gate.localhost", "own.localhost"):
        for fields in (
            [], [("Accept", "application/json")], [("X-Requested-With", "XMLHttpRequest"), ("Accept", "text/html")], [
                ("Sec-Fetch-Mode", "cors"), ("Accept", "text/html")
            ],
        ):
            answer = request(gateway.port, "/api", host=host, fields=fields)
            assert answer.status == 401 and answer.json["error"] == "sign_in_required"
            assert (
                answer.json["sign_in"].startswith("http://") and not answer.all("location") and
                not answer.all("set-cookie")
            )


# What other processes do to the database.


def hold(gateway):
    """Another process that holds the database."""
    connection = sqlite3.connect(next((gateway.folder / "state").glob("*.db")), isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    return connection


def make_due(gateway, seconds=7200):
    """Makes the last use of all sessions so old that it has to be written; the gateway must not run."""
    with sqlite3.connect(next((gateway.folder / "state").glob("*.db"))) as database:
        database.execute(f"UPDATE session SET seen = seen - {seconds}")


def test_u_01_a_database_that_another_process_holds_stalls_no_signed_in_user(stand):
    """U-01: look-ups whose last use is due are answered at once; sign-ins are told to come later."""
    stand.start()
    tickets = []
    for _ in range(20):
        browser = Browser(stand)
        assert browser.sign_in("mock", "/x").status == 200
        tickets.append(browser.ticket())
    stand.stop()
    make_due(stand)
    stand.start()
    held = hold(stand)
    began = time.monotonic()
    assert [status(stand, ticket) for ticket in tickets] == [200] * 20
    assert time.monotonic() - began < 2
    late = Browser(stand)
    assert late.send("GET", late.authorize(late.begin("mock"))).status == 503
    held.execute("ROLLBACK")
    rows = "SELECT COUNT(*) FROM session WHERE seen > strftime('%s', 'now') - 600"
    eventually(lambda: held.execute(rows).fetchone()[0] == 20, "the last uses are written")
    held.close()


def test_u_02_a_sign_out_holds_while_the_database_cannot_be_written(stand):
    """U-02: at once, also after a kill before there was room, and reported."""
    stand.start()
    browser = Browser(stand)
    browser.sign_in("mock", "/x")
    ticket = browser.ticket()
    held = hold(stand)
    assert browser.sign_out().status == 303
    assert status(stand, ticket) == 401
    eventually(lambda: "sign-out not written yet" in stand.log, "the log says so")
    assert stand.metric("gatehouse_revocations_pending") == 1
    os.kill(stand.process.pid, signal.SIGKILL)
    stand.process.child.wait()
    stand.process = None
    held.execute("ROLLBACK")
    assert held.execute("SELECT COUNT(*) FROM session").fetchone()[0] == 1
    stand.start()
    assert status(stand, ticket) == 401
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


def test_u_02_a_sign_out_on_a_full_disk_holds_and_is_written_when_there_is_room(small_disk, stand):
    """U-02: users stay signed in, sign-ins get 503, and a kill and a start on the full disk undo no sign-out."""
    stand.configuration["gateway"]["state"] = str(small_disk / "state")
    stand.start()
    leaves, stays = Browser(stand), Browser(stand)
    tickets = []
    for browser in (leaves, stays):
        browser.sign_in("mock", "/x")
        tickets.append(browser.ticket())
    filler = small_disk / "filler"
    with pytest.raises(OSError), open(filler, "wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    late = Browser(stand)
    assert late.send("GET", late.authorize(late.begin("mock"))).status == 503
    assert leaves.sign_out().status == 303
    assert [status(stand, ticket) for ticket in tickets] == [401, 200]
    os.kill(stand.process.pid, signal.SIGKILL)
    stand.process.child.wait()
    stand.process = None
    stand.start()
    assert [status(stand, ticket) for ticket in tickets] == [401, 200]
    filler.unlink()
    eventually(lambda: "sign-outs written" in stand.log, "the sign-out is written", 20)
    with sqlite3.connect(small_disk / "state/sessions.db") as database:
        assert database.execute("SELECT COUNT(*) FROM session").fetchone()[0] == 1
    assert [status(stand, ticket) for ticket in tickets] == [401, 200]


@pytest.mark.parametrize("fault", ["deleted", "replaced", "truncated"])
def test_u_03_a_database_that_is_changed_under_the_gateway_is_reported(fault, stand):
    """U-03: log, metric and status say so."""
    stand.start()
    browser = Browser(stand)
    browser.sign_in("mock", "/x")
    path = next((stand.folder / "state").glob("*.db"))
    assert stand.metric("gatehouse_session_store_fault") == 0 and stand.operation("/status").json()["store_fault"] is None
    if fault == "deleted":
        path.unlink()
    elif fault == "replaced":
        copy = path.with_suffix(".copy")
        shutil.copy(path, copy)
        copy.replace(path)
    else:
        os.truncate(path, 0)
    assert stand.metric("gatehouse_session_store_fault") == 1
    assert stand.operation("/status").json()["store_fault"] == fault
    eventually(lambda: f"session store {fault}" in stand.log and "session.store_fault" in stand.log, "the log says so")
    if fault != "truncated":
        assert status(stand, browser.ticket()) == 200


def test_z_02_sessions_that_are_over_are_not_counted(stand):
    """Z-02: the gauge goes by the idle time-out of the configuration."""
    stand.configuration["sessions"] = {"idle_timeout": "2h", "lifetime": "60d"}
    stand.start()
    browsers = [Browser(stand) for _ in range(2)]
    for browser in browsers:
        browser.sign_in("mock", "/x")
    assert stand.metric("gatehouse_sessions") == 2
    stand.stop()
    make_due(stand, 7201)
    stand.start()
    browsers[0].sign_in("mock", "/x")
    assert stand.metric("gatehouse_sessions") == 1


def test_x_04_a_reload_that_tightens_a_provider_ends_its_sessions(stand, provider_server):
    """X-04: the next request of a session that other settings admitted leads to a new sign-in."""
    other = provider_server.realm("other")
    other.reset()
    stand.configuration["providers"]["other"] = oidc(other.issuer)
    stand.start()
    browser, third = Browser(stand), Browser(stand)
    browser.sign_in("mock", "/x")
    third.sign_in("other", "/x")
    assert status(stand, browser.ticket()) == 200 and status(stand, third.ticket()) == 200
    stand.configuration["providers"]["mock"]["client_id"] = "another"
    stand.write()
    stand.reload()
    eventually(lambda: status(stand, browser.ticket()) == 401, "the session does not count any more")
    assert request(stand.port, "/oauth2/userinfo", fields=[("Cookie", f"gatehouse={browser.ticket()}")]).status == 401
    assert status(stand, third.ticket()) == 200
    stand.stop()
    stand.start()
    assert status(stand, browser.ticket()) == 401 and status(stand, third.ticket()) == 200


def test_x_17_forged_tickets_never_reach_the_store(ada, gateway):
    """X-17: the store is asked for tickets of ours only; those of the version before are still taken."""
    forged = base64.urlsafe_b64encode(os.urandom(42)).decode()
    assert len(forged) == len(ada.ticket()) and status(gateway, forged) == 401
    bare = base64.urlsafe_b64encode(base64.urlsafe_b64decode(ada.ticket())[:32]).decode().rstrip("=")
    assert len(bare) == 43 and status(gateway, bare) == 200
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


def test_x_08_a_code_that_went_astray_is_spent(gateway, realm):
    """X-08: shown in another browser it is rejected, and then worth nothing in its own."""
    browser, address = code_of(gateway)
    assert Browser(gateway).send("GET", address).status == 400
    answer = browser.send("GET", address)
    assert answer.status == 400 and browser.ticket("own.localhost") is None and "handover.spent" in answer.text


def test_x_15_transfer_cookies_are_bounded(gateway):
    """X-15: forty navigations that nobody follows leave five cookies."""
    browser = Browser(gateway)
    for number in range(40):
        assert browser.send("GET", f"http://own.localhost:{gateway.port}/x{number}").status == 303
    assert len(browser.cookies["own.localhost"]) == 5
