# SPDX-License-Identifier: Apache-2.0
"""Limits and overload: R-20 to R-24, S-55 to S-57."""

import contextlib
import json
import os
import resource
import signal
import socket
import threading
import time

import pytest

from support.browser import Browser
from support.gateway import ENVIRONMENT, NO_LIMITS, PROGRAM, Gateway, oidc, public_echo, run
from support.load import Load, closed, descriptors, processor_seconds
from support.processes import Process, certificate, eventually, free_port
from support.raw import Wire, request, tls_context
from support.upstream import Upstream

GET = b"GET /public/x HTTP/1.1\r\nHost: gate.localhost\r\n\r\n"
FAILURES = "gatehouse_accept_failures_total"


@pytest.fixture
def make(tmp_path, provider_server, realm):
    """Starts a gateway with settings; everything below /public/ is public."""
    app = Upstream()
    made = []

    def start(limits=None, timeouts=None, descriptors=None, listeners=(), **gateway):
        apps = public_echo(app)
        settings = {**gateway, "limits": limits or {}, "timeouts": timeouts or {}}
        one = Gateway(tmp_path, {"mock": oidc(realm.issuer)}, apps, gateway=settings, listeners=listeners)
        one.app = app
        made.append(one)
        if descriptors is None:
            return one.start()
        one.write()
        command = ["prlimit", f"--nofile={descriptors}:{descriptors}", PROGRAM, "serve", "--config", one.path]
        one.process = Process([*command, "--drain-delay", "0"], one.folder, one.name, ENVIRONMENT, cwd=one.folder)
        one.wait_ready()
        return one

    yield start
    for one in made:
        one.leave()
    app.close()


def wires(gateway, count, source=None):
    """This many connections, each after one response."""
    opened = []
    for _ in range(count):
        wire = connect(gateway.port, source)
        wire.send(GET)
        assert wire.response().status == 200
        opened.append(wire)
    return opened


def connect(port, source=None):
    if source is None:
        return Wire(port)
    wire = Wire.__new__(Wire)
    wire.socket = socket.create_connection(("127.0.0.1", port), timeout=15, source_address=(source, 0))
    wire.buffer = b""
    return wire


def served(port, source=None):
    """Whether a new connection gets a response."""
    try:
        with connect(port, source) as wire:
            wire.send(GET)
            return wire.response() is not None
    except OSError:
        return False


@pytest.fixture
def hold():
    """Lets the app of a gateway respond below /public/held once the test ends or sets `go`."""
    def held(gateway, count, source=None):
        """This many connections with a request in progress each."""
        held.go = held.go or gateway.app.hold("/public/held")
        before = len(gateway.app.seen("/public/held"))
        opened = [connect(gateway.port, source) for _ in range(count)]
        for wire in opened:
            wire.send(b"GET /public/held HTTP/1.1\r\nHost: gate.localhost\r\n\r\n")
        gateway.app.wait_for("/public/held", before + count)
        return opened

    held.go = None
    yield held
    if held.go:
        held.go.set()


def test_connections_have_a_limit(make, hold):
    """Requests in progress are never cancelled for a new connection; that one is closed; capacity comes back."""
    gateway = make({"connections": 5})
    opened = hold(gateway, 5)
    before = gateway.metric(f'{FAILURES}{{reason="connections"}}')
    assert not served(gateway.port)
    assert gateway.metric(f'{FAILURES}{{reason="connections"}}') == before + 1
    assert gateway.metric("gatehouse_connection_limit") == 5
    assert gateway.operation("/readyz").status_code == 200
    hold.go.set()
    assert [wire.response().status for wire in opened] == [200] * 5
    assert served(gateway.port)
    for wire in opened:
        wire.close()


def test_u_06_at_the_limit_an_idle_connection_is_closed_for_a_new_one(make, hold):
    """One after the other, and never one with a request in progress; the unit tests cover the order."""
    gateway = make({"connections": 6})
    busy = hold(gateway, 2)
    idle = wires(gateway, 3)
    silent = connect(gateway.port)
    eventually(lambda: gateway.metric("gatehouse_connections") == 6, "all are there")
    idle.append(silent)
    for count in range(1, 5):
        new = wires(gateway, 1)[0]
        eventually(lambda: sum(map(closed, idle)) == count, "one more is closed")
        assert not any(closed(wire) for wire in [*busy, new])
        new.send(b"GET /public/held HTTP/1.1\r\nHost: gate.localhost\r\n\r\n")
        busy.append(new)
        gateway.app.wait_for("/public/held", len(busy))
    assert not served(gateway.port), "all six have a request in progress"
    hold.go.set()
    assert [wire.response().status for wire in busy] == [200] * 6
    for wire in busy:
        wire.close()


def test_u_06_an_idle_connection_is_found_on_any_event_loop(make):
    """With a limit of one, the connection to close is on the other loop every other time."""
    gateway = make({"connections": 1})
    last = None
    for _ in range(8):
        wire = wires(gateway, 1)[0]
        if last:
            eventually(lambda: closed(last), "the one before is closed")
            last.close()
        last = wire
    last.close()
    assert gateway.metric(f'{FAILURES}{{reason="connections"}}') == 0


def test_u_06_slow_heads_and_handshakes_do_not_lock_others_out(make, tmp_path):
    """A head in progress for a second, and a stalled TLS handshake, count as idle."""
    cert, key = certificate(tmp_path, "gate", "gate.localhost")
    port = free_port()
    listener = {"address": f"127.0.0.1:{port}", "tls": [{"certificate": cert, "private_key": key}]}
    gateway = make({"connections": 4}, {"request_head": "5m", "handshake": "5m"}, listeners=[listener])
    slow = [connect(gateway.port) for _ in range(2)] + [connect(port) for _ in range(2)]
    for wire in slow[:2]:
        wire.send(b"GET /public/x HTTP/1.1\r\nHost: ga")
    for wire in slow[2:]:
        wire.send(client_hello()[:40])
    eventually(lambda: gateway.metric("gatehouse_connections") == 4, "all are there")
    others = []

    def served_again():
        others.extend(wires(gateway, 1))
        return all(closed(wire) for wire in slow)

    eventually(served_again, "each of them is closed for a new one")
    for wire in slow + others:
        wire.close()


def test_u_06_a_tls_connection_is_closed_at_once(make, tmp_path):
    """The gateway does not wait for the client's close_notify."""
    cert, key = certificate(tmp_path, "gate", "gate.localhost")
    port = free_port()
    listener = {"address": f"127.0.0.1:{port}", "tls": [{"certificate": cert, "private_key": key}]}
    gateway = make({"connections": 2}, listeners=[listener])
    idle = []
    for _ in range(2):
        wire = Wire(port, tls=tls_context(), server_name="gate.localhost")
        wire.send(GET)
        assert wire.response().status == 200
        idle.append(wire)
    new = wires(gateway, 2)
    for wire in idle:
        assert wire.is_closed()
    for wire in new:
        wire.close()


def gone(wire):
    """Whether the gateway has closed a connection on which nothing was sent."""
    try:
        return wire.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


@pytest.mark.parametrize("limit", [256, 44])
def test_u_06_idle_clients_do_not_lock_new_clients_out(make, limit, realm):
    """400 idle clients with few descriptors; a user without an open connection signs in and is served."""
    gateway = make({"connections_per_client_ip": 0}, {"request_head": "5m"}, descriptors=limit)
    ada = Browser(gateway)
    assert ada.sign_in("mock", "/x").status == 200
    idle = []
    for _ in range(400):
        wire = socket.socket()
        wire.connect(("127.0.0.1", gateway.port))
        wire.setblocking(False)
        idle.append(wire)
    limit = gateway.metric("gatehouse_connection_limit")
    freed = "the longest idle ones are closed for the others"
    eventually(lambda: sum(map(gone, idle)) >= len(idle) - limit, freed, 20)
    for _ in range(20):
        assert ada.send("GET", "/x").status == 200
    # 400 connections at once use up 44 descriptors for a moment; new sign-ins are rejected until that is over.
    eventually(lambda: gateway.metric("gatehouse_overload_stage") == 0, "the burst is over")
    assert Browser(gateway).sign_in("mock", "/x").status == 200
    assert gateway.metric("gatehouse_connections") <= gateway.metric("gatehouse_connection_limit")
    for wire in idle:
        wire.close()


def test_connections_of_one_client_ip_have_a_limit(make, hold):
    """256 by default; another client IP is not affected, and a trusted proxy has no limit."""
    gateway = make({"connections_per_client_ip": 3}, trusted_proxies=["127.0.0.9"])
    opened = hold(gateway, 3) + wires(gateway, 6, "127.0.0.9")
    assert not served(gateway.port)
    assert served(gateway.port, "127.0.0.2")
    assert gateway.metric(f'{FAILURES}{{reason="per_address"}}') == 1
    hold.go.set()
    eventually(lambda: served(gateway.port), "connections are accepted again")
    for wire in opened:
        wire.close()


def test_u_06_a_client_at_its_limit_loses_its_longest_idle_connection(make):
    gateway = make({"connections_per_client_ip": 3})
    others = wires(gateway, 3, "127.0.0.2")
    own = wires(gateway, 3)
    new = wires(gateway, 1)
    eventually(lambda: any(map(closed, own)), "one of its connections is closed")
    assert sum(map(closed, own)) == 1 and not any(map(closed, others + new))
    for wire in others + own + new:
        wire.close()


def test_requests_in_flight_have_a_limit(make, hold):
    """503 with Retry-After and jitter; those in flight go on."""
    loops = len(os.sched_getaffinity(0))
    gateway = make({"requests_in_flight": loops})
    held = hold(gateway, loops)
    waits = set()
    for _ in range(12):
        response = request(gateway.port, "/public/x")
        assert response.status == 503 and response.json["error"] == "gateway.too_many_requests"
        waits.add(int(response.get("retry-after")))
    assert waits <= set(range(1, 11)) and len(waits) > 1
    hold.go.set()
    assert [wire.response().status for wire in held] == [200] * loops
    assert request(gateway.port, "/public/x").status == 200
    for wire in held:
        wire.close()


def test_a_connection_has_so_many_requests(make):
    gateway = make({"requests_per_connection": 3})
    with Wire(gateway.port) as wire:
        for last in (False, False, True):
            wire.send(GET)
            assert (wire.response().get("connection", "").lower() == "close") is last
        assert wire.is_closed()


@pytest.mark.parametrize(
    "limits,head,status",
    [
        ({"url_bytes": "1KiB"}, b"GET /public/" + b"x" * 1100 + b" HTTP/1.1\r\nHost: gate.localhost\r\n\r\n", 414),
        ({"header_fields": 5}, GET[:-2] + b"".join(b"X-%d: 1\r\n" % n for n in range(6)) + b"\r\n", 431),
        ({"header_field_bytes": "1KiB"}, GET[:-2] + b"X-A: " + b"x" * 1100 + b"\r\n\r\n", 431),
        ({"header_bytes": "2KiB", "header_field_bytes": "1KiB", "url_bytes": "1KiB"},
         GET[:-2] + b"".join(b"X-%d: %s\r\n" % (n, b"x" * 900) for n in range(3)) + b"\r\n", 431),
    ],
    ids=["url", "fields", "field", "head"],
)
def test_heads_have_the_limits_of_the_file(limits, head, status, make):
    """S-55."""
    gateway = make(limits)
    with Wire(gateway.port) as wire:
        wire.send(head)
        assert wire.response().status == status
    assert request(gateway.port, "/public/x").status == 200


# S-56, S-57: slow clients


def ends_within(wire, least, most):
    began = time.monotonic()
    wire.socket.settimeout(most + 2)
    wire.rest()
    assert least <= time.monotonic() - began <= most


def drip(wire, data, seconds):
    """Sends a byte each quarter of a second from another thread, as long as it can."""
    def run():
        end = time.monotonic() + seconds
        for byte in data:
            if time.monotonic() > end:
                return
            try:
                wire.send(bytes([byte]))
            except OSError:
                return
            stop.wait(0.25)

    stop = threading.Event()
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return stop


SLOW = {"handshake": "1s", "request_head": "1s", "body": "1s", "idle": "1s", "write": "2s"}


def test_a_slow_head_is_disconnected(make):
    """S-56: the time counts from the first byte, whatever comes later."""
    gateway = make(timeouts=SLOW)
    with Wire(gateway.port) as wire:
        stop = drip(wire, GET[:-2] + b"X: " + b"x" * 100, 8)
        began = time.monotonic()
        response = wire.response()
        assert response.status == 408 and 0.8 < time.monotonic() - began < 3
        stop.set()


def test_a_client_that_sends_nothing_is_disconnected(make):
    """S-56: the first byte of a new connection, and the next request of an old one."""
    gateway = make(timeouts=SLOW)
    with Wire(gateway.port) as new, Wire(gateway.port) as old:
        old.send(GET)
        assert old.response().status == 200
        ends_within(new, 0.3, 3)
        ends_within(old, 0, 3)


def test_a_silent_upload_is_disconnected(make):
    gateway = make(timeouts=SLOW)
    with Wire(gateway.port) as wire:
        wire.send(b"POST /public/slow HTTP/1.1\r\nHost: gate.localhost\r\nContent-Length: 100\r\n\r\nx")
        began = time.monotonic()
        assert wire.response().status == 408 and 0.8 < time.monotonic() - began < 3
    eventually(lambda: gateway.metric("gatehouse_requests_in_flight") == 0, "nothing is left")


def test_a_client_that_does_not_read_is_disconnected(make):
    """S-56: slow read; a response larger than all buffers, of which nothing is read."""
    gateway = make(timeouts=SLOW)

    def act(connection, received):
        connection.body(received)
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 67108864\r\n\r\n")
        for _ in range(64):
            connection.send(b"x" * 1048576)
        return True

    gateway.app.script("/public/large", act)
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.connect(("127.0.0.1", gateway.port))
    with sock:
        sock.sendall(b"GET /public/large HTTP/1.1\r\nHost: gate.localhost\r\n\r\n")
        gateway.app.wait_for("/public/large")
        eventually(lambda: gateway.metric("gatehouse_connections") == 0, "it is disconnected", 12)
    eventually(lambda: gateway.metric("gatehouse_requests_in_flight") == 0, "nothing is left")


def test_a_slow_handshake_is_disconnected(make, tmp_path):
    """S-57: no hello, half of one, and one without what follows."""
    cert, key = certificate(tmp_path, "gate", "gate.localhost")
    port = free_port()
    listener = {"address": f"127.0.0.1:{port}", "tls": [{"certificate": cert, "private_key": key}]}
    gateway = make(timeouts=SLOW, listeners=[listener])
    hello = client_hello()
    for start in (b"", hello[:40], hello):
        with Wire(port) as wire:
            wire.send(start)
            ends_within(wire, 0.3, 3)
    eventually(lambda: gateway.metric("gatehouse_connections") == 0, "nothing is left")


def client_hello():
    import ssl

    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = tls_context().wrap_bio(incoming, outgoing, server_hostname="gate.localhost")
    with pytest.raises(ssl.SSLWantReadError):
        tls.do_handshake()
    return outgoing.read()


def test_a_thousand_slow_clients_do_not_keep_others_out(make):
    """S-56 both ways: quick clients are served all the time."""
    gateway = make({"connections_per_client_ip": 0}, SLOW)
    slow = [Wire(gateway.port) for _ in range(1000)]
    for wire in slow:
        wire.send(b"GET /public/slow HTTP/1.1\r\nHost: gate.loc")
    load = Load(gateway.port, clients=2)
    eventually(lambda: gateway.metric("gatehouse_connections") <= 2, "the slow ones are disconnected", 15)
    load.end()
    assert load.failed == [] and load.count > 10
    for wire in slow:
        wire.close()


#


def test_running_out_of_descriptors_does_not_spin(make):
    """R-22: with 256 descriptors and more clients than that; recovery by itself, and the failures are counted."""
    gateway = make({"connections": 10_000, "connections_per_client_ip": 0}, {"request_head": "5m"}, descriptors=256)
    clients, counts, done = [], [], threading.Event()

    def watch():
        while not done.wait(0.005):
            counts.append(descriptors(gateway))

    # Connections on which nothing was sent are closed for others within a second, so all are in use for a moment only.
    watcher = threading.Thread(target=watch)
    watcher.start()
    for _ in range(500):
        wire = socket.socket()
        wire.connect(("127.0.0.1", gateway.port))
        clients.append(wire)
    eventually(lambda: gateway.metric(f'{FAILURES}{{reason="descriptors"}}') > 0, "they were used up")
    done.set()
    watcher.join()
    assert max(counts) >= 220
    used = processor_seconds(gateway)
    began = time.monotonic()
    eventually(lambda: time.monotonic() > began + 3, "time passes")
    share = (processor_seconds(gateway) - used) / (time.monotonic() - began)
    assert share < 0.05, f"{share:.0%} of a processor while nothing can be done"
    for wire in clients:
        wire.close()
    eventually(lambda: served(gateway.port), "it recovers", 15)
    assert gateway.metric(f'{FAILURES}{{reason="descriptors"}}') > 0
    eventually(lambda: gateway.metric("gatehouse_overload_stage") == 0, "the overload ends", 15)


def overload_level(gateway):
    return gateway.operation("/status").json()["overload"]["stage"]


def unfinished_head(gateway, source):
    """A connection on which 30 KB of a head have arrived that is not complete."""
    sock = socket.socket()
    sock.bind((source, 0))
    sock.connect(("127.0.0.1", gateway.port))
    sock.sendall(GET[:-2] + b"".join(b"X-%d: %s\r\n" % (n, b"x" * 10_000) for n in range(3)))
    return sock


def grow(gateway, connections=900):
    """Lets the gateway hold memory for clients, below the limit of what all unfinished heads may hold."""
    opened = [unfinished_head(gateway, f"127.0.1.{1 + number // 200}") for number in range(connections)]
    eventually(lambda: gateway.metric("gatehouse_connections") >= connections, "all are there", 20)
    return opened


def limit_memory(gateway, share):
    """Sets the memory limit so that what is in use beyond the start is this many per cent of it."""
    metrics = gateway.metrics()
    start, used = (int(metrics[f"gatehouse_memory_{name}bytes"]) // 1024 for name in ("at_start_", ""))
    limit = start + (used - start) * 100 // share
    gateway.configuration["gateway"]["limits"] = {**NO_LIMITS, "memory": f"{limit}KiB"}
    gateway.write()
    gateway.reload()
    eventually(lambda: gateway.metric("gatehouse_memory_limit_bytes") == limit * 1024, "the limit is in force")


def press(gateway, share, level):
    """Limits the memory to what is in use, until the level of that share holds."""
    seen = []

    def is_level():
        state = gateway.operation("/status").json()["overload"]
        seen.append((overload_level(gateway), state["used_percent"], state["memory"]))
        return seen[-1][0] == level

    # The first is over when all has arrived; from 75 % on the gateway knows how much of it was freed and kept.
    for gentle in (50, 77):
        limit_memory(gateway, gentle)
    # What a reload itself needs is free again a moment later, so each try waits for that before the next one measures.
    for _ in range(8):
        limit_memory(gateway, share)
        with contextlib.suppress(AssertionError):
            return eventually(is_level, level, 4)
    pytest.fail(f"the overload level {level} did not begin: {seen[::20]}")


def test_when_memory_is_short_new_sign_ins_are_rejected_first(make, realm):
    """R-20 R-23: 85 %; signed-in users are served, and sign-ins work again once memory is free."""
    gateway = make(NO_LIMITS, {"request_head": "5m"})
    ada = Browser(gateway)
    assert ada.sign_in("mock", "/x").status == 200
    clients = grow(gateway)
    press(gateway, 87, "no_sign_ins")
    response = Browser(gateway).send("GET", "/oauth2/start/mock?rd=/")
    assert response.status == 503 and 1 <= int(response.get("retry-after")) <= 10
    assert "signin.overloaded" in response.text
    assert ada.send("GET", "/x").status == 200
    assert gateway.operation("/readyz").status_code == 200
    assert gateway.metric("gatehouse_overload_stage") == 2
    gateway.configuration["gateway"]["limits"] = {"memory": "16GiB"}
    gateway.write()
    gateway.reload()
    eventually(lambda: overload_level(gateway) == "normal", "the overload ends", 10)
    assert Browser(gateway).sign_in("mock", "/x").status == 200
    for sock in clients:
        sock.close()
    assert "overload" in gateway.log and "stage=no_sign_ins" in gateway.log


def test_when_hardly_any_memory_is_left_everything_but_operations_is_rejected(make):
    """R-20: at 98 % 503 on open connections, no new ones, not ready; all recovers."""
    gateway = make(NO_LIMITS, {"request_head": "5m"})
    clients = grow(gateway)
    with Wire(gateway.port) as wire:
        wire.send(GET)
        assert wire.response().get("connection") is None
        press(gateway, 105, "no_requests")
        wire.send(GET)
        response = wire.response()
        assert response.status == 503 and response.json["error"] == "gateway.overloaded"
        assert response.get("connection", "").lower() == "close"
        assert gateway.operation("/readyz").status_code == 503 and gateway.operation("/livez").status_code == 200
    with Wire(gateway.port, timeout=1) as waiting:
        waiting.send(GET)
        with pytest.raises(TimeoutError):
            waiting.response()
        gateway.configuration["gateway"]["limits"] = {}
        gateway.write()
        gateway.reload()
        waiting.socket.settimeout(15)
        assert waiting.response().status == 200, "who waited in the queue is served"
    eventually(lambda: gateway.operation("/readyz").status_code == 200, "ready again")
    for sock in clients:
        sock.close()


def test_b_16_a_peak_of_unfinished_heads_does_not_lock_the_gateway_out(make):
    """Connections of many clients, below all limits, each with a head that never ends; all are closed after a second."""
    gateway = make({"memory": "64MiB"})
    flood = []
    for number in range(1800):
        try:
            flood.append(unfinished_head(gateway, f"127.0.1.{1 + number // 200}"))
        except OSError:
            pass
    assert len(flood) > 1000 and request(gateway.port, "/public/x").status == 200, "the heads are bounded in sum"
    assert any('reason="wire.too_slow"' in name for name in gateway.metrics())
    for sock in flood:
        sock.close()
    eventually(lambda: gateway.metric("gatehouse_connections") == 0, "all are gone")
    eventually(lambda: overload_level(gateway) == "normal", "no level holds", 5)
    assert request(gateway.port, "/public/x").status == 200


def test_b_16_memory_that_was_in_use_is_free_again_without_a_restart(make):
    """Bytes behind requests in progress are bounded for each connection only; when they have ended, all are served again."""
    gateway = make({"memory": "64MiB"})
    go = gateway.app.hold("/public/held")
    held = GET.replace(b"/public/x", b"/public/held")
    clients = []
    for number in range(400):
        wire = connect(gateway.port, f"127.0.1.{1 + number // 200}")
        wire.send(held + b"y" * 60_000)
        clients.append(wire)
    eventually(lambda: overload_level(gateway) == "no_requests", "the memory is used up", 20)
    assert gateway.operation("/readyz").status_code == 503
    for wire in clients:
        wire.close()
    go.set()
    eventually(lambda: overload_level(gateway) == "normal", "the level has ended", 5)
    eventually(lambda: gateway.operation("/readyz").status_code == 200, "ready again")
    assert request(gateway.port, "/public/x").status == 200


def test_u_07_the_smallest_memory_limit_that_check_accepts_works(make, tmp_path):
    """The program itself may use nearly all of it; memory in use at its start does not count."""
    gateway = make({"memory": "64MiB"})
    for _ in range(3):
        assert request(gateway.port, "/public/x").status == 200
    eventually(lambda: gateway.metric("gatehouse_memory_at_start_bytes") > 10 << 20, "it is known")
    assert gateway.metric("gatehouse_overload_share") < 0.8 and overload_level(gateway) == "normal"
    configuration = {**gateway.configuration}
    configuration["gateway"] = {**configuration["gateway"], "limits": {"memory": "48MiB"}}
    path = tmp_path / "small.yaml"
    path.write_text(json.dumps(configuration))
    result = run("check", "--config", path)
    assert result.returncode == 1 and "it must be 64MiB to 1024GiB" in result.stderr


def test_a_blocked_event_loop_is_reported(make):
    """R-24: a line in the log and a metric; a stopped process has blocked all of its loops."""
    gateway = make()
    assert gateway.metric("gatehouse_loop_blocked") == 0
    os.kill(gateway.process.pid, signal.SIGSTOP)
    began = time.monotonic()
    eventually(lambda: time.monotonic() > began + 0.4, "time passes")
    os.kill(gateway.process.pid, signal.SIGCONT)
    eventually(lambda: "event loop was blocked" in gateway.log, "the line in the log")
    assert gateway.metric("gatehouse_loop_blocked") >= 1
    assert gateway.metric("gatehouse_overload_stage") == 0, "a single stop is not an overload"


def test_many_sign_ins_do_not_slow_down_signed_in_users(make, realm):
    """R-23: sign-ins as fast as they can be started, from one client IP and from many behind a proxy."""
    gateway = make({"connections_per_client_ip": 0}, trusted_proxies=["127.0.0.1"])
    ada = Browser(gateway)
    assert ada.sign_in("mock", "/x").status == 200
    cookie = "; ".join(f"{name}={value}" for name, value in ada.cookies[gateway.host].items())
    ended = threading.Event()
    statuses = []

    def flood(number):
        count = 0
        while not ended.is_set():
            count += 1
            fields = [
                ("X-Forwarded-For", f"10.{number}.{count // 250 % 250}.{count % 250}" if number % 2 else "10.9.9.9"),
                ("Accept", "text/html"),
            ]
            try:
                statuses.append(request(gateway.port, "/oauth2/start/mock", fields=fields).status)
            except (OSError, AssertionError):
                statuses.append(0)

    threads = [threading.Thread(target=flood, args=(number, ), daemon=True) for number in range(8)]
    for thread in threads:
        thread.start()
    eventually(lambda: len(statuses) > 100, "the flood runs", 20)
    times = []
    for _ in range(100):
        began = time.monotonic()
        assert request(gateway.port, "/x", fields=[("Cookie", cookie)]).status == 200
        times.append(time.monotonic() - began)
    ended.set()
    for thread in threads:
        thread.join(20)
    assert sorted(times)[98] < 1, f"{sorted(times)[98]:.3f} s"
    assert 429 in statuses and 303 in statuses and 0 not in statuses


def test_twenty_thousand_idle_connections(make):
    """R-21: they stay open, others are served, and each uses little memory.

    Fewer where the machine does not allow the descriptors for all of them.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    need = 30_000
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (need, max(need, hard)))
    except (ValueError, OSError):
        need = hard
        resource.setrlimit(resource.RLIMIT_NOFILE, (need, hard))
    count = min(20_000, need * 3 // 4)
    if count < 2000:
        pytest.skip(f"this machine allows {need} descriptors")
    try:
        gateway = make(
            {"connections": 25_000, "connections_per_client_ip": 0, "memory": "8GiB"},
            {"request_head": "5m", "idle": "5m"},
            descriptors=need,
        )
        assert request(gateway.port, "/public/warm").status == 200
        before = gateway.memory_kib()
        idle = []
        for number in range(count):
            sock = socket.socket()
            sock.bind((f"127.0.0.{2 + number // 5000}", 0))
            sock.connect(("127.0.0.1", gateway.port))
            sock.sendall(GET)
            idle.append(sock)
            if number % 500 == 499:
                for one in idle[-500:]:
                    one.settimeout(30)
                    assert one.recv(4096).startswith(b"HTTP/1.1 200")
        assert gateway.metric("gatehouse_connections") >= count and overload_level(gateway) == "normal"
        each = (gateway.memory_kib() - before) / count
        assert each < 16, f"{each:.1f} KiB for each"
        assert request(gateway.port, "/public/x").status == 200
        for sock in idle[::997]:
            sock.sendall(GET)
            assert sock.recv(4096).startswith(b"HTTP/1.1 200")
        for sock in idle:
            sock.close()
        eventually(lambda: gateway.metric("gatehouse_connections") == 0, "all are gone", 30)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, max(need, hard)))


# Sign-ins


def test_sign_ins_of_a_client_ip_are_rate_limited(make, realm):
    """Ten times what a browser may start: 429 with a page and Retry-After; another client IP is not affected."""
    gateway = make({"sign_ins_per_minute": 1}, trusted_proxies=["127.0.0.1"])

    def begin(address, listed=None):
        fields = {"X-Forwarded-For": listed or address}
        return Browser(gateway).send("GET", "/oauth2/start/mock?rd=/", fields=fields)

    assert [begin("192.0.2.1").status for _ in range(10)] == [303] * 10
    refused = begin("192.0.2.1")
    assert refused.status == 429 and refused.get("retry-after") and "signin.too_often" in refused.text
    assert begin("192.0.2.1", "203.0.113.9, 192.0.2.1").status == 429, "entries that the client adds do not matter"
    assert begin("192.0.2.2").status == 303
    assert begin("2001:db8::1").status == 303
    assert gateway.app.requests == []


def test_b_11_a_browser_in_a_loop_takes_no_place_of_the_others_behind_its_address(make, realm):
    """An office behind one IP signs in while one of its browsers is led to the provider again and again."""
    gateway = make({"sign_ins_per_minute": 4})
    loop = Browser(gateway)
    statuses = [loop.send("GET", "/oauth2/start/mock?rd=/").status for _ in range(12)]
    # The first has no cookie yet by which the gateway knows the browser.
    assert statuses == [303] * 5 + [429] * 7
    assert [Browser(gateway).sign_in("mock", "/x").status for _ in range(20)] == [200] * 20
    assert loop.send("GET", "/oauth2/start/mock?rd=/").status == 429


def test_failing_sign_ins_of_a_client_ip_are_rate_limited(make, realm):
    """Callbacks that belong to no attempt count; valid ones do not."""
    gateway = make({"failed_sign_ins_per_minute": 3})
    for _ in range(5):
        assert Browser(gateway).sign_in("mock", "/x").status == 200
    for _ in range(3):
        assert Browser(gateway).send("GET", "/oauth2/callback/mock?code=x&state=y").status == 400
    refused = Browser(gateway).send("GET", "/oauth2/callback/mock?code=x&state=y")
    assert refused.status == 429 and "signin.failing" in refused.text


def test_a_hundred_sign_ins_in_one_browser(make, realm):
    """C-07: the cookie jar does not overflow; the oldest attempts are removed and the newest works."""
    gateway = make({"sign_ins_per_minute": 0})
    browser = Browser(gateway)
    addresses = [browser.begin("mock", "/x") for _ in range(100)]
    names = list(browser.cookies[gateway.host])
    assert sum(name.startswith("gatehouse-attempt-") for name in names) <= 5
    # The paths of attempts that were dropped, so that their tabs end where the user wanted to go.
    assert sum(name.startswith("gatehouse-return-") for name in names) <= 8 and len(names) <= 14
    assert browser.send("GET", browser.authorize(addresses[-1])).status == 303
    assert browser.ticket()
    late = Browser(gateway)
    late.cookies = {gateway.host: dict(browser.cookies[gateway.host])}
    late.cookies[gateway.host].pop("gatehouse", None)
    assert late.send("GET", late.authorize(addresses[0])).status == 400
