# SPDX-License-Identifier: Apache-2.0
"""How the gateway stops: R-10 to R-14."""

import os
import select
import signal
import socket
import threading
import time

import pytest

from support.browser import Browser
from support.gateway import NO_LIMITS, Gateway, oidc, public_echo
from support.load import Load
from support.processes import eventually
from support.raw import Wire, request
from support.upstream import Upstream

GET = b"GET /public/x HTTP/1.1\r\nHost: gate.localhost\r\n\r\n"


@pytest.fixture
def own_gateway(tmp_path, provider_server, realm):
    """A gateway for one test; everything below /public/ is public."""
    app = Upstream()
    gateway = Gateway(tmp_path, {"mock": oidc(realm.issuer)}, public_echo(app))
    gateway.app = app
    yield gateway
    gateway.kill()
    app.close()


def terminate(gateway, number=signal.SIGTERM):
    os.kill(gateway.process.pid, number)
    return time.monotonic()


@pytest.mark.parametrize("pause", [0, 0.01])
def test_sigterm_under_load_fails_no_request(pause, own_gateway):
    """R-10: keep-alive clients that honour `Connection: close` get a response to every request."""
    own_gateway.start(drain_delay=1)
    load = Load(own_gateway.port, clients=16, pause=pause, until_refused=True)
    fresh = Load(own_gateway.port, clients=8, until_refused=True, each=1)
    eventually(lambda: load.count > 400 and fresh.count > 100, "the load runs", 30)
    terminate(own_gateway)
    assert own_gateway.process.child.wait(25) == 0, own_gateway.process.log[-3000:]
    load.end()
    fresh.end()
    assert load.failed == [] and fresh.failed == []
    assert load.refused and fresh.refused


def test_slow_upload_and_slow_download_cross_the_signal(own_gateway):
    """R-11: both go on to their end and the exit code is 0."""
    own_gateway.start()
    go = threading.Event()

    def slow_down(connection, request):
        connection.body(request)
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n01234")
        go.wait(60)
        connection.send(b"56789")
        return True

    own_gateway.app.script("/public/down", slow_down)
    with Wire(own_gateway.port, timeout=30) as up, Wire(own_gateway.port, timeout=30) as down:
        up.send(b"POST /public/up HTTP/1.1\r\nHost: gate.localhost\r\nContent-Length: 10\r\n\r\n01234")
        down.send(b"GET /public/down HTTP/1.1\r\nHost: gate.localhost\r\n\r\n")
        own_gateway.app.wait_for("/public/up")
        assert down._until(b"01234") is not None
        terminate(own_gateway)
        eventually(lambda: refused(own_gateway.port), "no more connections are taken")
        up.send(b"56789")
        response = up.response()
        assert response.status == 200 and response.json["length"] == 10
        assert response.get("connection", "").lower() == "close"
        go.set()
        assert down.rest() == b"56789"
    assert own_gateway.process.child.wait(20) == 0, own_gateway.process.log[-3000:]


def test_a_hung_upstream_does_not_delay_the_exit(own_gateway):
    """R-12: the exit comes at `drain.timeout` at the latest, and the log reports that requests were cancelled."""
    own_gateway.configuration["gateway"]["drain"] = {"delay": "0s", "timeout": "2s"}
    own_gateway.start(drain_delay=None)
    own_gateway.app.hold("/public/hung")
    with Wire(own_gateway.port, timeout=30) as wire:
        wire.send(b"GET /public/hung HTTP/1.1\r\nHost: gate.localhost\r\n\r\n")
        own_gateway.app.wait_for("/public/hung")
        began = terminate(own_gateway)
        assert own_gateway.process.child.wait(20) == 1
        assert 1.5 < time.monotonic() - began < 3.5
        assert "cut off" in own_gateway.log


def test_readiness_is_gone_before_the_listener_closes(own_gateway):
    """R-13: in this order, with the delay between them, during which requests are served."""
    own_gateway.start(drain_delay=2)
    began = terminate(own_gateway)
    eventually(lambda: own_gateway.operation("/readyz").status_code == 503, "not ready any more")
    flipped = time.monotonic() - began
    response = request(own_gateway.port, "/public/during")
    assert response.status == 200 and own_gateway.operation("/livez").status_code == 200
    with Wire(own_gateway.port) as wire:
        wire.send(GET)
        assert wire.response().get("connection") is None, "no client is sent away while new connections are still accepted"
    eventually(lambda: refused(own_gateway.port), "no more connections are taken", 10)
    assert flipped < 1 < 1.9 < time.monotonic() - began
    assert own_gateway.process.child.wait(20) == 0


def test_sessions_survive_a_restart_after_sigterm(own_gateway, realm):
    """R-14: a session from the last moment."""
    own_gateway.start()
    browser = Browser(own_gateway)
    assert browser.sign_in("mock", "/x").status == 200
    terminate(own_gateway)
    assert own_gateway.process.child.wait(20) == 0
    own_gateway.start()
    assert browser.send("GET", "/x").status == 200


def test_a_sign_in_in_progress_ends(own_gateway, realm, provider_server):
    """Logins in flight may finish."""
    own_gateway.start()
    browser = Browser(own_gateway)
    landing = browser.authorize(browser.begin("mock"))
    realm.holds = {"token": threading.Event()}
    responses = []
    thread = threading.Thread(target=lambda: responses.append(browser.send("GET", landing)))
    thread.start()
    eventually(lambda: own_gateway.metric("gatehouse_requests_in_flight") == 1, "the callback waits for the provider")
    terminate(own_gateway)
    eventually(lambda: refused(own_gateway.port), "no more connections are taken")
    realm.holds["token"].set()
    thread.join(20)
    assert responses[0].status == 303 and browser.ticket()
    assert own_gateway.process.child.wait(20) == 0


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_it_at_once(second, own_gateway):
    """Exit 1, because a request was cancelled."""
    own_gateway.start()
    own_gateway.app.hold("/public/hung")
    with Wire(own_gateway.port, timeout=30) as wire:
        wire.send(b"GET /public/hung HTTP/1.1\r\nHost: gate.localhost\r\n\r\n")
        own_gateway.app.wait_for("/public/hung")
        terminate(own_gateway)
        eventually(lambda: refused(own_gateway.port), "it drains")
        assert own_gateway.process.child.poll() is None
        began = terminate(own_gateway, second)
        assert own_gateway.process.child.wait(10) == 1
        assert time.monotonic() - began < 2


@pytest.mark.parametrize("busy", [False, True])
def test_sigint_ends_it_at_once(busy, own_gateway):
    """Exit 0 if no request was cancelled, else 1."""
    own_gateway.start(drain_delay=30)
    own_gateway.app.hold("/public/hung")
    with Wire(own_gateway.port, timeout=30) as wire:
        if busy:
            wire.send(b"GET /public/hung HTTP/1.1\r\nHost: gate.localhost\r\n\r\n")
            own_gateway.app.wait_for("/public/hung")
        began = terminate(own_gateway, signal.SIGINT)
        assert own_gateway.process.child.wait(10) == (1 if busy else 0)
        assert time.monotonic() - began < 2


def test_idle_connections_are_closed_gradually(own_gateway):
    """Closing is spread over time; a request that comes meanwhile gets `Connection: close`."""
    own_gateway.configuration["gateway"]["limits"] = NO_LIMITS
    own_gateway.configuration["gateway"]["drain"] = {"delay": "0s", "timeout": "8s"}
    own_gateway.start(drain_delay=None)
    wires = []
    for _ in range(1200):
        wire = Wire(own_gateway.port, timeout=20)
        wires.append(wire)
    wires[-1].send(GET)
    assert wires[-1].response().status == 200
    eventually(lambda: own_gateway.metric("gatehouse_connections") >= 1200, "all are open")
    began = terminate(own_gateway)
    eventually(lambda: refused(own_gateway.port), "it drains")
    for wire in wires:
        wire.socket.settimeout(20)
    last = next(wire for wire in reversed(wires) if not is_closed_now(wire))
    last.send(GET)
    response = last.response()
    assert response.status == 200 and response.get("connection", "").lower() == "close"
    ends = times_of_ends([wire for wire in wires if wire is not last])
    assert own_gateway.process.child.wait(20) == 0
    assert max(ends) - min(ends) > 0.7, "not all at once"
    assert max(ends) - began < 7, "not longer than half of the timeout, and what the machine takes"
    for wire in wires:
        wire.close()


def times_of_ends(wires):
    """When the other side closed each of the connections."""
    watch, ends = select.poll(), []
    for wire in wires:
        watch.register(wire.socket, select.POLLIN)
    while len(ends) < len(wires):
        ready = watch.poll(20_000)
        assert ready, f"{len(wires) - len(ends)} are still open"
        for number, _ in ready:
            watch.unregister(number)
            ends.append(time.monotonic())
    return ends


def is_closed_now(wire):
    wire.socket.setblocking(False)
    try:
        return wire.socket.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    finally:
        wire.socket.settimeout(20)


def refused(port):
    try:
        Wire(port, timeout=2).close()
        return False
    except (ConnectionRefusedError, ConnectionResetError):
        return True
