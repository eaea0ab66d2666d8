# SPDX-License-Identifier: Apache-2.0
"""What operators copy from deploy/: the systemd unit and nginx in front."""

import os
import re
import shutil
import socket
import subprocess
import threading
from pathlib import Path

import pytest
from websockets.sync.client import connect

from support.browser import Browser
from support.gateway import PROGRAM, Gateway, oidc
from support.processes import REPOSITORY, certificate, free_port, nginx
from support.raw import Wire, tls_context
from support.upstream import Upstream
from support.websockets import Echo

DEPLOY = REPOSITORY / "deploy"


@pytest.fixture(params=["gatehouse", "gatehouse-activated"])
def unit(request, tmp_path):
    """A unit with the program of this build in it, and the sockets beside it."""
    text = (DEPLOY / f"{request.param}.service").read_text()
    path = tmp_path / f"{request.param}.service"
    path.write_text(text.replace("/usr/local/bin/gatehouse", str(PROGRAM)))
    shutil.copy(DEPLOY / "gatehouse.socket", tmp_path)
    return path


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
def test_systemd_accepts_the_sockets(unit):
    """Every line is known, and the service that they start is there."""
    sockets = unit.parent / "gatehouse.socket"
    result = subprocess.run(["systemd-analyze", "verify", "--man=no", sockets, unit], capture_output=True, text=True)
    warnings = [line for line in (result.stdout + result.stderr).splitlines() if "gatehouse" in line]
    if unit.name == "gatehouse-activated.service":
        assert result.returncode == 0 and not warnings, result.stderr


def test_x_16_the_units_write_no_core_dumps(unit):
    """A core dump would hold keys, sessions and secrets."""
    assert "LimitCORE=0" in unit.read_text().splitlines()


def test_the_two_units_differ_in_nothing_but_the_sockets():
    """What hardens one hardens the other."""
    def settings(name):
        lines = (DEPLOY / name).read_text().splitlines()
        return {line for line in lines if "=" in line and not line.startswith("#")}

    plain, activated = settings("gatehouse.service"), settings("gatehouse-activated.service")
    names = {line.split("=")[0] for line in plain ^ activated}
    # KillMode: the activated gateway drains while the next one serves.
    sockets = {"ExecStart", "After", "Requires", "CapabilityBoundingSet", "AmbientCapabilities", "PrivateUsers", "KillMode"}
    assert names <= sockets, names


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
def test_systemd_accepts_the_unit(unit):
    """Every line is known and in its section."""
    result = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True)
    warnings = [line for line in (result.stdout + result.stderr).splitlines() if "gatehouse" in line]
    assert result.returncode == 0 and not warnings, result.stderr


#: systemd's measure of exposure, from 0 to 10; docs/install.md names both.
EXPOSURE = {"gatehouse.service": 1.4, "gatehouse-activated.service": 1.1}


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
def test_the_unit_is_hardened(unit):
    """No change of a unit, and none of deploy/, exposes more of the machine."""
    result = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", unit], capture_output=True, text=True
    )
    level = re.search(r"Overall exposure level for \S+: ([0-9.]+)", result.stdout + result.stderr)
    assert level, result.stdout + result.stderr
    assert float(level.group(1)) <= EXPOSURE[unit.name], result.stdout
    assert str(EXPOSURE[unit.name]) in (REPOSITORY / "docs/install.md").read_text()


@pytest.fixture(scope="module")
def front(tmp_path_factory, provider_server):
    """deploy/nginx/gatehouse.conf with names and ports of this machine, and the gateway behind it."""
    folder = tmp_path_factory.mktemp("front")
    tls_port, plain_port = free_port(), free_port()
    app, chat = Upstream(), Echo()
    apps = {
        "wiki":
            {
                "host": "wiki.localhost", "path": "/", "upstream": app.address, "allow": "signed_in", "public":
                    ["/public/"],
            }, "echo": {"path": "/", "upstream": app.address, "allow": "signed_in", "public": ["/public/"]}, "chat":
                {
                    "path": "/chat/", "upstream": chat.address, "allow": "signed_in", "public": ["/chat/"], "websocket":
                        True,
                },
    }
    realm = provider_server.realm("front")
    gateway = Gateway(
        folder, {"mock": oidc(realm.issuer)},
        apps,
        public_url=f"https://gate.localhost:{tls_port}",
        gateway={"trusted_proxies": ["127.0.0.1", "::1"]},
    )
    cert, key = certificate(folder, "front", "gate.localhost", "wiki.localhost")
    text = (DEPLOY / "nginx/gatehouse.conf").read_text()
    for old, new in [
        ("server 127.0.0.1:8080", f"server 127.0.0.1:{gateway.port}"),
        ("listen 80;", f"listen 127.0.0.1:{plain_port};"), ("listen 443 ", f"listen 127.0.0.1:{tls_port} "),
        ("/etc/ssl/gatehouse/fullchain.pem", cert), ("/etc/ssl/gatehouse/privkey.pem", key),
        ("gate.example.com wiki.example.com", "gate.localhost wiki.localhost"),
    ]:
        assert old in text, old
        text = text.replace(old, new)
    gateway.app, gateway.tls_port, gateway.plain_port, gateway.realm = app, tls_port, plain_port, realm
    with gateway:
        proxy = nginx(folder, "front", text)
        try:
            proxy.wait_listening(tls_port)
            yield gateway
        finally:
            proxy.stop()
            app.close()
            chat.close()


def test_a_sign_in_works_through_nginx(front):
    """TLS in front; cookies with the __Host- prefix; the app gets https and the client IP (C-01)."""
    browser = Browser(front)
    page = browser.sign_in("mock", "/through")
    assert page.status == 200 and page.url == f"{front.origin}/through", browser.history
    seen = front.app.seen("/through")[-1]
    assert seen.get("x-forwarded-proto") == "https" and seen.get("x-forwarded-user") == "mock:ada"
    assert seen.get("x-forwarded-for") == "127.0.0.1, 127.0.0.1"
    line = next(
        line for _, line in browser.set_cookies if line.startswith("__Host-gatehouse=") and "Max-Age=0" not in line
    )
    assert sorted(part.strip() for part in line.split(";")[1:]) == ["HttpOnly", "Path=/", "SameSite=Lax", "Secure"]
    gone = browser.sign_out()
    deletion = next(line for line in gone.all("set-cookie") if line.startswith("__Host-gatehouse="))
    assert sorted(part.strip() for part in deletion.split(";")[1:]) == [
        "HttpOnly", "Max-Age=0", "Path=/", "SameSite=Lax", "Secure",
    ]


def test_an_app_on_its_own_host_works_through_nginx(front):
    """Session transfer over https."""
    browser = Browser(front)
    browser.sign_in("mock", "/x")
    page = browser.visit(f"https://wiki.localhost:{front.tls_port}/own")
    assert page.status == 200, browser.history
    assert browser.ticket("wiki.localhost") and front.app.seen("/own")[-1].get("host").startswith("wiki.localhost")


def test_fields_that_a_client_of_nginx_forges_are_ignored(front):
    """K-04: forwarding and identity fields of the client do not arrive."""
    browser = Browser(front)
    browser.send(
        "GET",
        "/public/spoof",
        fields={
            "X-Forwarded-For": "6.6.6.6", "X-Forwarded-Proto": "ftp", "X-Forwarded-User": "root", "Forwarded":
                "for=6.6.6.6", "X-Forwarded-Host": "evil", "X_Forwarded_User": "root",
        },
    )
    seen = front.app.seen("/public/spoof")[-1]
    assert "6.6.6.6" not in seen.head.decode() and "root" not in seen.head.decode() and "evil" not in seen.head.decode()


def test_plain_http_redirects_to_https(front):
    """deploy/nginx."""
    with Wire(front.plain_port) as wire:
        wire.send(b"GET /x HTTP/1.1\r\nHost: gate.localhost\r\nConnection: close\r\n\r\n")
        response = wire.response()
    assert response.status == 308 and response.get("location") == "https://gate.localhost/x"


def test_large_bodies_and_many_cookies_pass_nginx(front):
    """deploy/nginx: its buffers fit what the gateway sends."""
    browser = Browser(front)
    for index in range(8):
        response = browser.send("GET", f"/oauth2/start/mock?rd=/{'a' * 1000}{index}")
        assert response.status == 303, response
    body = b"x" * (3 << 20)
    with Wire(front.tls_port, tls=tls_context(), server_name="gate.localhost") as wire:
        head = "POST /public/large HTTP/1.1\r\n"
        head += f"Host: gate.localhost:{front.tls_port}\r\nContent-Length: {len(body)}\r\n\r\n"
        wire.send(head.encode() + body)
        assert wire.response().json["length"] == len(body)


def test_y_13_a_websocket_goes_through_nginx(front):
    """Both ways, and the close as well; other requests have no `Upgrade` at the gateway."""
    sock = socket.create_connection(("127.0.0.1", front.tls_port), timeout=15)
    url = f"wss://gate.localhost:{front.tls_port}/chat/messages"
    with connect(url, sock=sock, ssl=tls_context(), origin=front.origin) as chat:
        for message in ("hello", "x" * 100_000):
            chat.send(message)
            assert chat.recv(timeout=10) == message
    with Wire(front.tls_port, tls=tls_context(), server_name="gate.localhost") as wire:
        wire.send(
            f"GET /public/plain HTTP/1.1\r\nHost: gate.localhost:{front.tls_port}\r\nUpgrade: h2c\r\n"
            "Connection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n".encode()
        )
        assert wire.response().status == 200
    assert front.app.seen("/public/plain")[-1].get("upgrade") is None


def test_y_13_nginx_passes_events_on_at_once_and_waits_for_the_next(front):
    """Its timeout is longer than any of the gateway's, so that it never ends a quiet stream."""
    go = threading.Event()

    def act(connection, received):
        connection.body(received)
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        connection.send(b"9\r\ndata: 1\n\n\r\n")
        go.wait(15)
        connection.send(b"9\r\ndata: 2\n\n\r\n0\r\n\r\n")
        return True

    front.app.script("/public/events", act)
    with Wire(front.tls_port, tls=tls_context(), server_name="gate.localhost") as wire:
        wire.send(f"GET /public/events HTTP/1.1\r\nHost: gate.localhost:{front.tls_port}\r\n\r\n".encode())
        assert wire.until(b"data: 1\n\n") is not None
        go.set()
        assert wire.until(b"data: 2\n\n") is not None
    text = (DEPLOY / "nginx/gatehouse.conf").read_text()
    times = dict(re.findall(r"proxy_(read|send)_timeout (\d+)h;", text))
    assert {name: int(hours) >= 24 for name, hours in times.items()} == {"read": True, "send": True}


def test_it_needs_no_privilege_to_serve(tmp_path):
    """Under any account and without capabilities it accepts and opens connections."""
    upstream = Upstream()
    apps = {"page": {"path": "/", "upstream": upstream.address, "allow": "signed_in", "public": ["/"]}}
    gateway = Gateway(tmp_path, {"staff": oidc("http://127.0.0.1:9")}, apps)
    wrapper = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
    try:
        gateway.start(wrapper=wrapper)
        status = Path(f"/proc/{gateway.process.pid}/status").read_text()
        assert re.search(r"CapEff:\s+0+\n", status), status
        with Wire(gateway.port) as wire:
            wire.send(b"GET /x HTTP/1.1\r\nHost: gate.localhost\r\nConnection: close\r\n\r\n")
            assert wire.response().status == 200 and upstream.seen("/x")
    finally:
        gateway.stop()
        upstream.close()
