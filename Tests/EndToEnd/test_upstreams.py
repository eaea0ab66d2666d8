# SPDX-License-Identifier: Apache-2.0
"""Apps with several targets: balancing, ejection, health, circuit limits, retries, names (R-30 to R-33)."""

import os
import threading
import time
from collections import Counter

import pytest

from support.browser import Browser
from support.processes import eventually, free_port
from support.raw import Wire, request
from support.upstream import Upstream, echo, responds

BUSY = b"HTTP/1.1 503 x\r\nContent-Length: 0\r\n\r\n"


@pytest.fixture
def apps():
    """Makes recording apps."""
    made = []

    def make(count=1):
        made.extend(Upstream() for _ in range(count))
        return made[-count:]

    yield make
    for app in made:
        app.close()


def distribution(gateway, apps, count, path="/x", **more):
    """How many of some requests each app got."""
    before = [len(app.requests) for app in apps]
    statuses = [request(gateway.port, path, **more).status for _ in range(count)]
    return statuses, [len(app.requests) - seen for app, seen in zip(apps, before)]


def test_requests_are_balanced_in_turn(start_gateway, apps):
    """`round_robin`: each target of a loop gets the same number; over all loops each gets some."""
    three = apps(3)
    gateway = start_gateway([app.address for app in three])
    with Wire(gateway.port) as wire:
        for _ in range(30):
            wire.send(b"GET /x HTTP/1.1\r\nHost: gate.localhost\r\n\r\n")
            assert wire.response().status == 200
    assert [len(app.requests) for app in three] == [10, 10, 10]


def test_the_target_with_the_fewest_requests_is_chosen(start_gateway, apps):
    """`least_requests`: a slow target gets no more while it has requests in progress."""
    slow, fast = apps(2)
    going = threading.Event()
    slow.script("/", lambda connection, request: going.wait(10) and connection.send(echo(request)) is None)
    gateway = start_gateway({"targets": [slow.address, fast.address], "balance": "least_requests"})
    waiting = []
    for index in range(12):
        sender = Wire(gateway.port)
        sender.send(f"GET /{index} HTTP/1.1\r\nHost: gate.localhost\r\n\r\n".encode())
        eventually(lambda: len(slow.requests) + len(fast.requests) > index, "an app is asked")
        if len(slow.requests) > len(waiting):
            waiting.append(sender)
            continue
        assert sender.response().status == 200
        sender.close()
    # Each event loop decides for itself.
    assert len(slow.requests) <= len(os.sched_getaffinity(0))
    going.set()
    for sender in waiting:
        assert sender.response().status == 200
        sender.close()


def test_a_sticky_session_stays_at_its_target(start_gateway, apps, realm):
    """`sticky`: the same target for all requests of a session, on every loop, and no further cookie."""
    five = apps(5)
    gateway = start_gateway({"targets": [app.address for app in five], "balance": "sticky"}, public=["/open"])
    browser = Browser(gateway)
    assert browser.sign_in("mock", "/welcome").status == 200
    before = [len(app.requests) for app in five]
    cookie = ("Cookie", f"gatehouse={browser.ticket()}")
    for index in range(20):
        response = request(gateway.port, f"/{index}", fields=[cookie])
        assert response.status == 200 and not response.get("set-cookie")
    assert sorted(len(app.requests) - seen for app, seen in zip(five, before)) == [0, 0, 0, 0, 20]


def test_a_target_that_is_down_fails_no_request(start_gateway, apps):
    """No connection was made, so another target gets the request, whatever its method."""
    (app, ) = apps(1)
    gateway = start_gateway({"targets": [f"http://127.0.0.1:{free_port()}", app.address], "retry": {"budget": 100}})
    for method in ("GET", "POST", "DELETE") * 3:
        assert request(gateway.port, "/x", method=method).status == 200
    assert len(app.requests) == 9


def test_r_33_a_flapping_target_is_ejected_and_comes_back(start_gateway, apps):
    """R-33: after five failures in a row a target is ejected for a while and returns."""
    good, bad = apps(2)
    bad.script("/", responds(BUSY, close=False))
    gateway = start_gateway({"targets": [good.address, bad.address], "eject": {"failures": 5, "time": "1s", "max_time": "2s"}})
    with Wire(gateway.port) as wire:

        def get():
            wire.send(b"GET /x HTTP/1.1\r\nHost: gate.localhost\r\n\r\n")
            return wire.response().status

        statuses = [get() for _ in range(20)]
        assert statuses.count(503) == 5 and statuses[10:] == [200] * 10
        targets = {one["target"]: one for one in gateway.operation("/status").json()["upstreams"]}
        assert targets[bad.address]["ejected_by_loops"] == 1 and targets[good.address]["healthy"]
        assert "upstream left out" in gateway.log
        bad.scripts.clear()
        seen = len(bad.requests)
        eventually(lambda: get() == 200 and len(bad.requests) > seen, "the target is used again")
    assert gateway.metric("gatehouse_upstream_ejections_total") >= 1


def test_r_33_the_last_target_is_never_ejected(start_gateway, apps):
    """R-33: with one target left every request still goes there."""
    one, two = apps(2)
    for app in (one, two):
        app.script("/", responds(BUSY, close=False))
    gateway = start_gateway([one.address, two.address])
    statuses, seen = distribution(gateway, [one, two], 60)
    assert set(statuses) == {503} and sum(seen) == 60 and max(seen) > 30


def test_r_30_a_request_whose_connection_was_reset_is_not_sent_to_another_target(start_gateway, apps):
    """R-30: RST after the request line: whether the app has acted is unknown, so a POST is never retried."""
    pair = apps(2)
    for app in pair:
        app.script("/", lambda connection, request: connection.reset() or False)
    gateway = start_gateway([app.address for app in pair])
    for index in range(4):
        assert request(gateway.port, f"/r30-{index}", method="POST", body=b"x").status == 502
        assert sum(len(app.seen(f"/r30-{index} ")) for app in pair) == 1


def test_r_31_a_get_whose_kept_connection_closed_is_retried_once(start_gateway, apps):
    """R-31: a kept connection closes under a GET: it is retried; under a POST: 502."""
    pair = apps(2)
    ended = Counter()

    def act(connection, request):
        app = next(app for app in pair if request in app.requests)
        earlier = [one for one in app.requests if one.connection == connection.number]
        connection.body(request)
        if len(earlier) >= 2:
            ended[request.method] += 1
            connection.reset()
            return False
        connection.send(echo(request))
        return True

    for app in pair:
        app.script("/", act)
    gateway = start_gateway({"targets": [app.address for app in pair], "retry": {"budget": 100}})
    statuses = {"GET": [], "POST": []}
    with Wire(gateway.port) as wire:
        for index in range(12):
            method = "GET" if index % 3 else "POST"
            body = b"Content-Length: 1\r\n\r\nx" if method == "POST" else b"\r\n"
            wire.send(f"{method} /{index} HTTP/1.1\r\nHost: gate.localhost\r\n".encode() + body)
            statuses[method].append(wire.response().status)
    assert set(statuses["GET"]) == {200} and ended["GET"] > 0
    assert statuses["POST"].count(502) == ended["POST"]


def test_a_retried_request_gets_a_new_assertion(start_gateway, apps, realm):
    """The assertion of a retry has another `jti`."""
    (app, ) = apps(1)
    seen = []

    def act(connection, request):
        seen.append(request)
        connection.body(request)
        if len([one for one in seen if one.connection == connection.number]) == 2:
            connection.reset()
            return False
        connection.send(echo(request))
        return True

    app.script("/", act)
    gateway = start_gateway(app.address, public=["/open"])
    browser = Browser(gateway)
    assert browser.sign_in("mock", "/welcome").status == 200
    with Wire(gateway.port) as wire:
        for index in range(3):
            wire.send(
                f"GET /again-{index} HTTP/1.1\r\nHost: gate.localhost\r\n"
                f"Cookie: gatehouse={browser.ticket()}\r\n\r\n".encode()
            )
            assert wire.response().status == 200
    pairs = [app.seen(target + " ") for target in {one.target for one in seen}]
    pairs = [pair for pair in pairs if len(pair) == 2]
    assert pairs
    for first, second in pairs:
        assert first.get("x-gatehouse-assertion") and second.get("x-gatehouse-assertion")
        assert first.get("x-gatehouse-assertion") != second.get("x-gatehouse-assertion")
        assert first.get("x-forwarded-user") == second.get("x-forwarded-user") == "mock:ada"


def test_the_retry_budget_ends(start_gateway, apps):
    """Retries are limited to a tenth of the requests, and three."""
    gone = [f"http://127.0.0.1:{free_port()}" for _ in range(2)]
    gateway = start_gateway({"targets": gone, "eject": {"failures": 0}, "retry": {"budget": 0}})
    for _ in range(30):
        assert request(gateway.port, "/x").status == 502


def test_r_32_a_full_app_returns_503_at_once_and_others_work(start_gateway, apps):
    """R-32: connections and queue are full: 503 with Retry-After, quickly; the other app is not affected."""
    slow, other = apps(2)
    going = threading.Event()
    slow.script("/", lambda connection, request: going.wait(20) and connection.send(echo(request)) is None)
    gateway = start_gateway(
        {"targets": [slow.address], "limits": {"connections": 2, "pending": 2}}, other=other.address
    )
    waiting = [Wire(gateway.port) for _ in range(40)]
    for wire in waiting:
        wire.send(b"GET /x HTTP/1.1\r\nHost: gate.localhost\r\n\r\n")
    began = time.monotonic()
    turned_away = None

    def refused():
        nonlocal turned_away
        turned_away = request(gateway.port, "/x", timeout=2)
        return turned_away.status == 503

    eventually(refused, "a request is turned away", 4)
    assert time.monotonic() - began < 4
    assert turned_away.get("retry-after") == "1"
    for _ in range(5):
        began = time.monotonic()
        assert request(gateway.port, "/other/x").status == 200 and time.monotonic() - began < 1
    going.set()
    for wire in waiting:
        wire.close()


def test_unhealthy_targets_are_found_by_health_checks(start_gateway, apps):
    """Health checks: `unhealthy` failures remove a target, `healthy` successes restore it; one checker each."""
    one, two = apps(2)
    gateway = start_gateway(
        {
            "targets": [one.address, two.address],
            "health": {"path": "/healthz?x=1", "interval": "1s", "host": "app.internal", "status": [200]},
        }
    )
    eventually(lambda: two.seen("/healthz?x=1 "), "the checks begin")
    check = two.seen("/healthz?x=1 ")[0]
    assert check.method == "GET" and check.get("host") == "app.internal"
    two.script("/healthz", responds(b"HTTP/1.1 302 x\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n"))

    def healthy():
        found = {one["target"]: one["healthy"] for one in gateway.operation("/status").json()["upstreams"]}
        return found[two.address]

    eventually(lambda: not healthy(), "the target is taken out", 15)
    assert not two.seen("/elsewhere"), "redirects are not followed"
    statuses, seen = distribution(gateway, [one], 20)
    assert set(statuses) == {200} and seen[0] >= 20
    assert gateway.metrics()[f'gatehouse_upstream_healthy{{app="app",target="{two.address}"}}'] == 0
    two.scripts.clear()
    eventually(healthy, "the target is back", 15)
    assert gateway.log.count("upstream unhealthy") == 1 and gateway.log.count("upstream healthy") == 1


def test_when_all_targets_are_unhealthy_all_are_used(start_gateway, apps):
    """The panic rule: health checks that fail everywhere must not be worse than none."""
    pair = apps(2)
    for app in pair:
        app.script("/healthz", responds(BUSY))
    gateway = start_gateway({"targets": [app.address for app in pair], "health": {"path": "/healthz", "interval": "1s"}})
    eventually(
        lambda: not any(one["healthy"] for one in gateway.operation("/status").json()["upstreams"]), "both are out", 15
    )
    statuses, _ = distribution(gateway, pair, 10)
    assert set(statuses) == {200}


def test_events_come_as_they_are_sent(start_gateway, apps):
    """Server-sent events: each is passed on at once, and pauses do not end them."""
    (app, ) = apps(1)
    step = threading.Semaphore(0)

    def act(connection, request):
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        for index in range(3):
            step.acquire(timeout=10)
            event = b"data: %d\n\n" % index
            connection.send(b"%x\r\n%s\r\n" % (len(event), event))
        connection.send(b"0\r\n\r\n")
        return True

    app.script("/", act)
    gateway = start_gateway({"targets": [app.address], "timeouts": {"idle": "1s", "response": "5s"}})
    with Wire(gateway.port, timeout=5) as wire:
        wire.send(b"GET /events HTTP/1.1\r\nHost: gate.localhost\r\n\r\n")
        for index in range(3):
            wire._until(b"\r\n\r\n") if index == 0 else None
            if index == 1:
                time.sleep(2)
            step.release()
            wire._until(b"data: %d\n\n" % index)


def test_other_responses_may_not_pause(start_gateway, apps):
    """`timeouts.idle` and `timeouts.response` cancel a response that stops, unless the app is `streaming`."""
    (app, ) = apps(1)
    held = threading.Event()
    app.script("/never", lambda connection, request: held.wait(20) and False)
    app.script(
        "/stops",
        lambda connection, request: connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
        or (held.wait(20) and False),
    )
    gateway = start_gateway({"targets": [app.address], "timeouts": {"idle": "1s", "response": "1s"}})
    began = time.monotonic()
    assert request(gateway.port, "/never").status == 504
    with Wire(gateway.port) as wire:
        wire.send(b"GET /stops HTTP/1.1\r\nHost: gate.localhost\r\n\r\n")
        assert wire.rest().endswith(b"hello")
    assert time.monotonic() - began < 8
    gateway.configuration["apps"]["app"]["streaming"] = True
    gateway.write()
    gateway.reload()
    eventually(lambda: "configuration reloaded" in gateway.log, "the file is read again")
    with Wire(gateway.port, timeout=2.5) as wire:
        wire.send(b"GET /never HTTP/1.1\r\nHost: gate.localhost\r\n\r\n")
        with pytest.raises(OSError):
            wire.response()
    held.set()


def test_a_name_is_resolved_and_all_its_addresses_are_tried(start_gateway, apps):
    """DNS: `localhost` may be ::1 first, where no app listens."""
    (app, ) = apps(1)
    port = app.address.rpartition(":")[2]
    gateway = start_gateway(f"http://localhost:{port}")
    for _ in range(3):
        assert request(gateway.port, "/x").status == 200
    assert app.requests[-1].get("host") == gateway.authority


def test_a_name_that_does_not_exist_is_a_502(start_gateway, apps):
    """A failed look-up is reported as such, and affects no other app."""
    (other, ) = apps(1)
    gateway = start_gateway("http://nowhere.invalid:80", other=other.address)
    assert request(gateway.port, "/x").status == 502
    assert request(gateway.port, "/other/x").status == 200
