# SPDX-License-Identifier: Apache-2.0
"""Access that ends by itself: `until` of a rule, with all that is open at that second."""

import json
import threading
import time
from datetime import datetime, timedelta, timezone

import pytest
from websockets.exceptions import ConnectionClosed

from support.browser import Browser
from support.gateway import Gateway, oidc, run
from support.http2 import Client, get
from support.processes import free_port
from support.raw import Wire
from support.upstream import Upstream
from support.websockets import Echo, opened

#: Seconds in which the test signs in and opens everything.
SPAN = 12
#: How late an end may be noticed.
LATE = 2.0


def stamp(seconds, zone=timezone.utc):
    return datetime.fromtimestamp(seconds, zone).isoformat().replace("+00:00", "Z")


@pytest.fixture
def echo():
    app = Echo()
    yield app
    app.close()


@pytest.fixture
def scripted():
    app = Upstream()
    yield app
    app.close()


@pytest.fixture
def ending(tmp_path, provider_server, certificates, echo, scripted):
    """A gateway with apps to which the access of Ada ends at `end`, and her browser."""
    end = int(time.time()) + SPAN
    ada = {"user": "mock:ada", "until": stamp(end, timezone(timedelta(hours=5, minutes=30)))}
    later = {"user": "mock:ada", "from": stamp(end + 3600)}
    apps = {
        "audit": {"path": "/audit", "upstream": scripted.address, "allow": [ada, later], "display": {"name": "Audit"}},
        "chat": {"path": "/chat", "upstream": echo.address, "allow": [ada]},
        "later": {"path": "/later", "upstream": scripted.address, "allow": [later]},
        "always": {"path": "/always", "upstream": scripted.address, "allow": "signed_in"},
    }
    tls_port = free_port()
    cert, key = certificates["gate"]
    listeners = [{"address": f"127.0.0.1:{tls_port}", "tls": [{"certificate": cert, "private_key": key}]}]
    with provider_server.realm("mock").fresh() as realm:
        realm.user = {**realm.user, "sub": "ada"}
        with Gateway(tmp_path, {"mock": oidc(realm.issuer)}, apps, listeners=listeners) as gateway:
            gateway.tls_port, gateway.end = tls_port, end
            browser = Browser(gateway)
            assert browser.sign_in("mock", "/always").status == 200
            gateway.cookie = f"gatehouse={browser.ticket()}"
            yield gateway, browser


def apps_of(browser):
    return browser.send("GET", "/oauth2/apps", navigates=False).json["apps"]


def until_ended(read):
    """When `read` fails or has no more."""
    while True:
        try:
            if not read():
                return time.time()
        except (ConnectionClosed, ConnectionError):
            return time.time()


def test_all_that_is_open_ends_at_the_second_of_until(ending, scripted):
    gateway, browser = ending
    ended, release = {}, threading.Event()

    def act(connection, request):
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        connection.send(b"9\r\ndata: 1\n\n\r\n")
        release.wait(SPAN + 10)

    scripted.script("/audit/events", act)
    scripted.script("/always/events", act)
    assert browser.send("GET", "/audit/x").status == 200

    listed = {app["name"]: app.get("until") for app in apps_of(browser)}
    assert listed == {"audit": stamp(gateway.end), "chat": stamp(gateway.end), "always": None}
    shown = datetime.fromtimestamp(gateway.end, timezone.utc).strftime("Until %Y-%m-%d %H:%M UTC")
    for page in ("/oauth2/apps", "/oauth2/account"):
        assert shown in browser.visit(page).text

    fields = f"Host: gate.localhost\r\nCookie: {gateway.cookie}\r\n\r\n"
    with Wire(gateway.port) as wire, Wire(gateway.port) as lasting, Client(gateway.tls_port) as client, \
            opened(gateway, "/chat/x", gateway.cookie, gateway.origin) as socket:
        for one, path in ((wire, "/audit/events"), (lasting, "/always/events")):
            one.send(f"GET {path} HTTP/1.1\r\n{fields}".encode())
            while b"data: 1" not in one.buffer:
                assert one._more()
        client.request(1, get("/audit/events", ("cookie", gateway.cookie)))
        client.wait(lambda: b"data: 1" in client.stream(1).body)
        socket.send("here")
        assert socket.recv() == "here"
        assert time.time() < gateway.end - 1, "the test was too slow"

        wire.socket.settimeout(SPAN + 10)
        readers = {
            "events": lambda: wire._more(),
            "socket": lambda: socket.recv(timeout=SPAN + 10),
        }
        threads = [
            threading.Thread(target=lambda name=name, read=read: ended.__setitem__(name, until_ended(read)))
            for name, read in readers.items()
        ]
        for thread in threads:
            thread.start()
        client.socket.settimeout(SPAN + 10)
        assert client.over(1).reset is not None
        ended["stream"] = time.time()
        for thread in threads:
            thread.join(SPAN + 10)
        assert set(ended) == {"events", "socket", "stream"}
        for name, when in ended.items():
            assert gateway.end <= when <= gateway.end + LATE, (name, when - gateway.end)
        assert socket.close_code == 1008
        # What no date ends goes on.
        lasting.socket.settimeout(0.5)
        with pytest.raises(TimeoutError):
            lasting.socket.recv(1)
        release.set()

    assert browser.send("GET", "/audit/x").status == 403
    assert browser.send("GET", "/always/x").status == 200
    assert [app["name"] for app in apps_of(browser)] == ["always"]


def test_the_commands_ask_about_other_times(ending):
    gateway, _ = ending

    def policy(*arguments):
        result = run("policy", *arguments, "--config", str(gateway.path), "--json")
        return result.returncode, json.loads(result.stdout)

    (gateway.folder / "ada.json").write_text('{"user": "mock:ada"}')
    ask = ("explain", "audit", "--as", str(gateway.folder / "ada.json"), "--path", "/audit", "--time")
    for seconds, decision, until in ((-1, "allowed", stamp(gateway.end)), (0, "denied", None), (3600, "allowed", None)):
        _, found = policy(*ask, stamp(gateway.end + seconds))
        assert (found["decision"], found.get("until")) == (decision, until), seconds

    cases = [
        f"- {{ app: audit, as: ada, path: /audit, time: {stamp(gateway.end + seconds, timezone(timedelta(hours=-8)))}, expect: {word} }}"
        for seconds, word in ((-1, "allowed"), (0, "denied"), (3599, "denied"), (3600, "allowed"))
    ]
    file = gateway.folder / "cases.yaml"
    file.write_text('users: { ada: { user: "mock:ada" } }\ncases:\n' + "\n".join(f"  {case}" for case in cases) + "\n")
    code, found = policy("test", str(file))
    assert code == 0 and found["cases"] == 4, found

    (gateway.folder / "users.jsonl").write_text('{"user": "mock:ada"}\n')
    new = gateway.folder / "new.yaml"
    new.write_text(gateway.path.read_text().replace(stamp(gateway.end + 3600), stamp(gateway.end)))
    users = ("diff", str(new), "--users", str(gateway.folder / "users.jsonl"))
    code, found = policy(*users)
    assert code == 1
    rows = {(app["app"], row["change"], row["request"]["time"]) for app in found["apps"] for row in app["changes"]}
    assert rows == {(app, "gain", stamp(gateway.end)) for app in ("audit", "later")}
    assert policy(*users, "--time", stamp(gateway.end + 3600))[0] == 0
