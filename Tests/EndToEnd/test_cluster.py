# SPDX-License-Identifier: Apache-2.0
"""Several gateways on one store behave as one, also while gateways and Redis servers are killed and restarted."""

import json
import os
import signal
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from support.broken_link import Link
from support.browser import Browser
from support.fleet import Fleet, Paced
from support.gateway import Gateway, oidc
from support.operations import command
from support.processes import eventually
from support.raw import request
from support.redis import DURABLE, Cluster, Redis, Sentinels
from support.upstream import Upstream
from test_sign_out import back_channel, logout_token

#: What a signed-in user may get while a part of the whole is gone: docs/sessions.md, docs/errors.md.
OUTAGE = "503 session.store_unavailable"


class Chaos:
    """A fleet under load, and what its users got."""
    def __init__(self, fleet, users, pause):
        began = time.monotonic()
        browsers = fleet.sign_in_all(users)
        self.took = time.monotonic() - began
        self.fleet, self.load, self.gaps = fleet, Paced(fleet.port, browsers, pause), {}

    def during(self, name, act, allowed=(OUTAGE, ), seconds=15):
        """Does something to the fleet; errors must be of these kinds, and end for each user in time."""
        self.load.gap()
        with self.load.phase(name):
            act()
        self.gaps[name] = self.load.gap()
        assert set(self.load.errors.get(name, ())) <= set(allowed), (name, self.load.errors[name])
        assert self.gaps[name] < seconds, self.gaps

    def end(self, what):
        """Ends the load, and prints what the users got."""
        self.load.end()
        print(f"\n{what}: {len(self.load.users)} users signed in in {self.took:.1f} s, {self.load.count} requests")
        for name, gap in self.gaps.items():
            errors = ", ".join(f"{count} times {kind}" for kind, count in self.load.errors.get(name, {}).items())
            print(f"  {name}: {errors or 'no errors'}; longest time without success of a user {gap:.2f} s")
        assert self.load.wrong == []


@pytest.fixture
def make_fleet(tmp_path, realm):
    made = []

    def make(store, count, **sessions):
        made.append(Fleet(tmp_path, realm, store, count, **sessions))
        return made[-1].start()

    yield make
    for fleet in made:
        fleet.end()


@pytest.fixture
def cluster(tmp_path):
    servers = Cluster(tmp_path / "redis")
    try:
        yield servers.start()
    finally:
        servers.end()


@pytest.fixture
def sentinels(tmp_path, request):
    servers = Sentinels(tmp_path / "redis", **getattr(request, "param", {}))
    try:
        yield servers.start()
    finally:
        servers.end()


def restart_in_turn(gateways):
    """Restarts each gateway when nginx uses the one before again and will not drop it, as docs/running.md recommends."""
    for gateway in gateways:
        gateway.stop()
        gateway.start()
        # A connection that began as the old process ended may fail a second later, and `fail_timeout` is a second.
        usable = time.monotonic() + 2
        eventually(
            lambda: time.monotonic() > usable and gateway.metric("gatehouse_requests_total") > 10, "nginx uses it again"
        )


def crash_gateway(chaos, gateway):
    """Kills a gateway, waits until the others serve each user, and starts it again."""
    def act():
        gateway.kill()
        chaos.load.all_served("the other gateways are left")
        gateway.start()

    chaos.during("a gateway is killed and started again", act, (OUTAGE, "502 nginx"))


def crash_master(chaos, gateway, master, is_replaced):
    """Kills a Redis master just after a gateway has started that has no session cached.

    The outage ends two seconds after a replica has taken over (docs/sessions.md), plus the pauses of the users and what a
    busy machine adds.
    """
    took = []

    def act():
        gateway.kill()
        gateway.start()
        began = time.monotonic()
        master.kill()
        eventually(is_replaced, "a replica takes over", 40)
        took.append(time.monotonic() - began)

    chaos.during("a master of Redis is killed", act, (OUTAGE, "502 nginx"), 60)
    print(f"\na replica has taken over after {took[0]:.1f} s")
    assert chaos.gaps["a master of Redis is killed"] < took[0] + 2 + 2 * chaos.load.pause + 4


@pytest.mark.loading
@pytest.mark.timeout(180)
def test_three_gateways_on_a_redis_cluster_are_one(make_fleet, cluster):
    """R-50 R-52 R-53: crashes and restarts of gateways and of Redis servers sign no user out and mix none up."""
    fleet = make_fleet(cluster.url, 3)
    chaos = Chaos(fleet, 200, 0.8)
    master, replica = cluster.nodes[0], cluster.nodes[3]
    crash_gateway(chaos, fleet.gateways[0])
    crash_master(chaos, fleet.gateways[1], master, replica.is_master)
    chaos.during("it is back as a replica", lambda: (master.start(), cluster.wait_healthy()))
    chaos.during("each gateway is restarted", lambda: restart_in_turn(fleet.gateways))

    def restart_nodes():
        for node in cluster.nodes:
            node.stop()
            node.start()
            cluster.wait_healthy()

    chaos.during("each node of Redis is restarted", restart_nodes)
    print(f"\nrequests of the gateways: {[gateway.metric('gatehouse_requests_total') for gateway in fleet.gateways]}")
    fleet.sign_in()
    chaos.end("three gateways, Redis Cluster")


@pytest.mark.loading
def test_two_gateways_with_redis_sentinel_are_one(make_fleet, sentinels):
    """R-50 R-52 R-53: the same with a fail-over by Sentinel."""
    fleet = make_fleet(sentinels.url, 2)
    chaos = Chaos(fleet, 40, 0.5)
    master = sentinels.master()
    crash_master(chaos, fleet.gateways[1], master, lambda: sentinels.master() not in (master, None))
    chaos.during("it is back as a replica", lambda: (master.start(), sentinels.wait_healthy()))
    chaos.during("each gateway is restarted", lambda: restart_in_turn(fleet.gateways))
    fleet.sign_in()
    chaos.end("two gateways, Redis Sentinel")


#: How many planned fail-overs the test runs; 20 before a release.
FAILOVERS = int(os.environ.get("GATEHOUSE_FAILOVERS", "2"))


@pytest.mark.loading
@pytest.mark.timeout(60 + 30 * FAILOVERS)
@pytest.mark.parametrize("sentinels", [{"publish_period": 700, "failover_timeout": 8000}], indirect=True, ids=["planned"])
def test_b_17_planned_fail_overs_by_sentinel_lose_no_session(make_fleet, sentinels, realm):
    """B-17: with `min-replicas-to-write 1`; tokens that rotate every second and users who sign in meanwhile."""
    realm.issues_refresh = True
    fleet = make_fleet(sentinels.url, 2, recheck="1s", max_stale="1h")
    chaos = Chaos(fleet, 40, 0.4)
    newcomers, is_over = [], threading.Event()

    def sign_in_all_the_time():
        while not is_over.is_set():
            try:
                newcomers.append(fleet.sign_in())
            except AssertionError:
                # An outage: this one has no session.
                pass

    with ThreadPoolExecutor(2) as pool:
        signing = [pool.submit(sign_in_all_the_time) for _ in range(2)]
        try:
            for number in range(FAILOVERS):
                master = sentinels.master()

                def act():
                    sentinel = sentinels.sentinels[number % 3]
                    eventually(lambda: sentinel.run("SENTINEL", "FAILOVER", "main") == ["OK"], "a fail-over begins")
                    eventually(lambda: sentinels.master() not in (master, None), "a replica takes over", 20)
                    sentinels.wait_healthy()

                chaos.during(f"fail-over {number + 1}", act)
        finally:
            is_over.set()
    for one in signing:
        one.result()
    chaos.end(f"two gateways, {FAILOVERS} planned fail-overs")
    assert len(newcomers) > 5 * FAILOVERS
    pages = [browser.send("GET", fleet.origin.replace("gate.", "notes.")) for browser in newcomers]
    lost = [(number, page.status, page.get("location")) for number, page in enumerate(pages) if page.status != 200]
    print(f"  {len(newcomers)} users signed in meanwhile, not served: {lost}")
    assert not lost


# The store is there, but broken


def kill(redis, link):
    redis.kill()
    return redis.start


def pause(redis, link):
    redis.signal(signal.SIGSTOP)
    return lambda: redis.signal(signal.SIGCONT)


def link_that_is(mode):
    def act(redis, link):
        link.set(mode)
        return lambda: link.set("open")

    return act


FAILURES = {
    "killed": kill, "paused": pause, "slow": link_that_is("slow"), "half open": link_that_is("half_open"), "reset":
        link_that_is("reset"),
}


@pytest.mark.loading
def test_r_50_a_broken_redis_signs_no_user_out_under_load(make_fleet, redis):
    """R-50: cached sessions go on, others get 503 in bounded time, a gateway starts, and all is well two seconds later."""
    link = Link(redis.port)
    fleet = make_fleet(f"redis://127.0.0.1:{link.port}", 2)
    chaos = Chaos(fleet, 30, 0.3)
    for name, cause in FAILURES.items():
        cached = fleet.gateways[0].metric('gatehouse_requests_total{app="notes",class="2xx"}')

        def act():
            repair = cause(redis, link)
            # Without a session in its cache.
            fleet.gateways[1].kill()
            fleet.gateways[1].start()
            eventually(lambda: chaos.load.errors.get(f"Redis is {name}", {}).get(OUTAGE, 0) >= 20, "it is an outage")
            served = fleet.gateways[0].metric('gatehouse_requests_total{app="notes",class="2xx"}')
            assert served > cached, "the other gateway has served cached sessions"
            repair()

        chaos.during(f"Redis is {name}", act, (OUTAGE, "502 nginx"), 10)
    # Two attempts of 300 ms for each of a few commands.
    assert chaos.load.slowest < 6
    chaos.end("two gateways, broken Redis")
    print(f"  the slowest response took {chaos.load.slowest:.2f} s")
    link.close()


# Gateways that share one Redis, reached directly


@pytest.fixture
def redis(tmp_path):
    server = Redis(tmp_path / "redis", *DURABLE).start()
    yield server
    server.end()


@pytest.fixture
def gateways(tmp_path_factory, realm):
    """Starts gateways on one store; all have the same name."""
    # The path of a Unix socket has 107 bytes at most, and the folder of a test has its name.
    folder = tmp_path_factory.mktemp("g")
    app = Upstream()
    apps = {"echo": {"path": "/", "upstream": app.address, "allow": "signed_in"}}
    made = []

    def make(count, store, apps=apps, **sessions):
        realm.issues_refresh = True
        for number in range(count):
            one = Gateway(
                folder / f"gateway-{len(made)}", {"mock": oidc(realm.issuer)}, apps, name=f"gateway-{number}",
                sessions={"store": store, **sessions}
            )
            one.app = app
            made.append(one.start())
        return made[-count:]

    make.app = app
    yield make
    for one in made:
        one.leave()
    app.close()


def url(redis):
    return f"redis://127.0.0.1:{redis.port}"


def get(gateway, ticket, host="gate.localhost"):
    return request(gateway.port, "/x", host=host, fields=[("Cookie", f"gatehouse={ticket}")])


def statuses(gateway, ticket):
    """What several connections get, so each event loop with its own cache."""
    return {get(gateway, ticket).status for _ in range(10)}


def sign_in(gateway, realm, sub="ada"):
    realm.user = {**realm.user, "sub": sub, "email": f"{sub}@example.com"}
    browser = Browser(gateway)
    assert browser.sign_in("mock", "/x").status == 200
    return browser


def redeemed(realm):
    """The refresh tokens that the provider was given."""
    return [one["form"]["refresh_token"] for one in realm.requests if "refresh_token" in one["form"]]


def is_over(began, seconds):
    """Waits until the provider's word is older than this; times are in whole seconds."""
    eventually(lambda: time.monotonic() > began + seconds + 1, "the provider's word is old", seconds + 5)


def test_one_refresh_for_a_hundred_requests_at_three_gateways(gateways, redis, realm):
    """All of them wait for one redemption, at whichever gateway it is."""
    # The last of them is through before the next re-check is due, also on a machine that is busy.
    trio = gateways(3, url(redis), recheck="4s", max_stale="1h")
    began = time.monotonic()
    ticket = sign_in(trio[0], realm).ticket()
    realm.holds["token"] = threading.Event()
    is_over(began, 4)
    with ThreadPoolExecutor(100) as pool:
        calls = [pool.submit(get, trio[number % 3], ticket) for number in range(100)]
        eventually(
            lambda: any(call.done() for call in calls) or sum(
                one.metric("gatehouse_requests_in_flight") for one in trio
            ) >= 100, "all requests are there"
        )
        assert not any(call.done() for call in calls), "they wait for the provider"
        realm.holds.pop("token").set()
        assert {call.result().status for call in calls} == {200}
    assert len(redeemed(realm)) == 1


@pytest.mark.loading
def test_a_user_who_is_disabled_is_out_at_three_gateways_within_recheck(gateways, redis, realm):
    """`invalid_grant` at one gateway ends the session at all, also where it is cached and where nothing was asked."""
    trio = gateways(3, url(redis), recheck="3s", max_stale="1h")
    ticket = sign_in(trio[0], realm).ticket()
    for gateway in trio:
        assert statuses(gateway, ticket) == {200}
    realm.disabled.add("ada")
    began = time.monotonic()
    eventually(lambda: get(trio[0], ticket).status == 401, "one gateway has asked the provider", 8)
    noticed = time.monotonic()
    eventually(lambda: all(statuses(one, ticket) == {401} for one in trio), "the session is over", 5)
    assert noticed - began < 3 + 1 and time.monotonic() - noticed < 1.5
    assert len(redeemed(realm)) == 1
    realm.disabled.clear()
    assert all(get(one, ticket).status == 401 for one in trio), "the session has ended"


@pytest.mark.parametrize("failure", ["invalid_client", "time-out"])
def test_a_provider_that_fails_ends_no_session_at_three_gateways(failure, gateways, redis, realm):
    """R-40: with a hundred requests that find the session overdue at the same time."""
    trio = gateways(3, url(redis), recheck="1s", max_stale="1h")
    ticket = sign_in(trio[0], realm).ticket()
    if failure == "time-out":
        realm.holds["token"] = threading.Event()
    else:
        realm.documents["token"] = 401, {}, b'{"error": "invalid_client"}'
    asked = len(redeemed(realm))
    is_over(time.monotonic(), 1)

    def hundred_requests():
        with ThreadPoolExecutor(100) as pool:
            responses = list(pool.map(lambda number: get(trio[number % 3], ticket), range(100)))
        assert {one.status for one in responses} == {200} and all(one.get("set-cookie") is None for one in responses)

    hundred_requests()
    # A call that hangs fails after ten seconds.
    result = "openid.client_refused" if failure == "invalid_client" else "provider.timeout"
    name = f'gatehouse_session_rechecks_total{{provider="mock",result="{result}"}}'
    eventually(lambda: any(one.metric(name) for one in trio), "a call has failed", 15)
    hundred_requests()
    # A gateway asks again ten seconds after its own failure.
    assert asked < len(redeemed(realm)) <= asked + 3
    realm.holds.pop("token", threading.Event()).set()


def sign_out_everywhere(gateway, realm, browser):
    assert browser.send("POST", "/oauth2/sign_out", body={"sessions": "all"}).status == 303


def provider_logout(gateway, realm, browser):
    assert back_channel(gateway, logout_token(realm), "mock").status == 200


def operator_revokes(gateway, realm, browser):
    assert "revoked 2 sign-ins" in command(gateway, "sessions", "revoke", "--user", "mock:ada")


@pytest.mark.loading
@pytest.mark.parametrize("end", [sign_out_everywhere, provider_logout, operator_revokes])
def test_the_end_of_all_sessions_of_a_user_reaches_the_other_gateway_in_a_second(end, gateways, redis, realm):
    """Also where they are cached; another user stays signed in."""
    one, two = gateways(2, url(redis))
    eve = sign_in(one, realm, "eve").ticket()
    browser, other = sign_in(one, realm), sign_in(two, realm)
    tickets = [browser.ticket(), other.ticket()]
    assert all(statuses(two, ticket) == {200} for ticket in [*tickets, eve])
    end(one, realm, browser)
    ended = time.monotonic()
    eventually(lambda: all(statuses(two, ticket) == {401} for ticket in tickets), "the other gateway ends them", 5)
    assert time.monotonic() - ended < 1
    assert statuses(one, eve) == statuses(two, eve) == {200}


# Idle times


def as_if_idle(gateway, redis, seconds):
    """Lets all sessions of a store look as if they had not been used for longer; the gateway does not run."""
    if redis:
        for key in redis.run("KEYS", "gatehouse:s:*"):
            redis.run("HINCRBY", key, "u", -seconds)
    else:
        with sqlite3.connect(gateway.folder / "state" / "sessions.db") as database:
            database.execute("UPDATE session SET seen = seen - ?", [seconds])
        database.close()


@pytest.mark.parametrize("kind", ["sqlite", "redis"])
def test_the_idle_time_out_of_an_app_ends_its_sessions_only(kind, gateways, redis, realm):
    """Once idle for longer, over for this app, whatever another app is used for; not a minute before."""
    store = redis if kind == "redis" else None
    address = gateways.app.address
    apps = {
        "brief": {"path": "/", "upstream": address, "allow": "signed_in", "host": "brief.localhost", "idle_timeout": "15m"},
        "echo": {"path": "/", "upstream": address, "allow": "signed_in"},
    }
    path = "sqlite:state/sessions.db" if store is None else url(redis)
    [gateway] = gateways(1, path, apps, idle_timeout="30m")
    browser = sign_in(gateway, realm)
    assert browser.visit(f"http://brief.localhost:{gateway.port}/x").status == 200
    tickets = browser.ticket(), browser.ticket("brief.localhost")

    def after(minutes):
        """The statuses of both apps, the other one first."""
        gateway.stop()
        as_if_idle(gateway, store, 60 * minutes)
        gateway.start()
        found = get(gateway, tickets[0]).status, get(gateway, tickets[1], "brief.localhost").status
        # The other app has been used since.
        assert (get(gateway, tickets[0]).status, get(gateway, tickets[1], "brief.localhost").status) == found
        return found

    assert after(13) == (200, 200)
    assert after(16) == (200, 401)
    assert after(31) == (401, 401)


# What a store must not bring about


def session_keys(redis):
    return redis.run("KEYS", "gatehouse:s:*")


def test_r_51_a_record_of_another_user_is_rejected(gateways, redis, realm):
    """R-51: a store that mixes records up, or an intruder who swaps them, makes no user another one."""
    one, two = gateways(2, url(redis))
    tickets = {}
    for sub in ("ada", "eve"):
        tickets[sub] = sign_in(one, realm, sub).ticket()
    first, second = session_keys(redis)
    for key, new in ((first, "gatehouse:kept"), (second, first), ("gatehouse:kept", second)):
        redis.run("RENAME", key, new)
    for ticket in tickets.values():
        response = get(two, ticket)
        assert response.status == 401 and response.get("set-cookie") is None
    for key, new in ((first, "gatehouse:kept"), (second, first), ("gatehouse:kept", second)):
        redis.run("RENAME", key, new)
    for sub, ticket in tickets.items():
        response = get(two, ticket)
        assert dict(response.json["fields"])["X-Forwarded-User"] == f"mock:{sub}"


def test_r_06_a_record_of_a_newer_release_is_kept(gateways, redis, realm):
    """R-06: this release cannot read it, so it responds 503 and changes neither record nor cookie; others go on."""
    one, two = gateways(2, url(redis))
    ticket = sign_in(one, realm).ticket()
    [key] = session_keys(redis)
    redis.run("HSET", key, "v", 2)
    before = redis.run("HGETALL", key)
    response = get(two, ticket)
    assert response.status == 503 and response.json["error"] == "session.store_unavailable"
    assert response.get("set-cookie") is None and response.get("retry-after")
    assert "written by a newer Gatehouse" in two.log
    listed = json.loads(command(two, "sessions", "list", "--json"))["sessions"]
    assert listed == []
    assert get(two, sign_in(two, realm, "eve").ticket()).status == 200
    assert redis.run("HGETALL", key) == before
    redis.run("HSET", key, "v", 1)
    assert get(two, ticket).status == 200
