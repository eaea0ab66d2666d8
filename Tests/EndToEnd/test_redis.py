# SPDX-License-Identifier: Apache-2.0
"""Sessions in Redis: several gateways share them, and a Redis that is gone signs no user out."""

import json
import re
import signal
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from support.browser import Browser
from support.chains import CLIENT_AUTH, Authority
from support.gateway import Gateway, oidc, run
from support.operations import command
from support.processes import eventually
from support.raw import request
from support.redis import Redis
from support.upstream import Upstream


@pytest.fixture
def redis(tmp_path):
    server = Redis(tmp_path, "--appendonly", "yes", "--appendfsync", "always").start()
    yield server
    server.signal(signal.SIGCONT)
    server.stop()


@pytest.fixture
def gateways(tmp_path, provider_server, realm, redis):
    """Makes gateways on one Redis, not started."""
    app = Upstream()
    apps = {"echo": {"path": "/", "upstream": app.address, "allow": "signed_in", "public": ["/public/"]}}
    made = []

    def make(store=None, **more):
        name = f"gateway-{len(made)}"
        sessions = {"store": store or f"redis://127.0.0.1:{redis.port}/2", **more}
        one = Gateway(tmp_path / f"g{len(made)}", {"mock": oidc(realm.issuer)}, apps, name=name, sessions=sessions)
        one.app = app
        made.append(one)
        return one

    yield make
    for one in made:
        one.leave()
    app.close()


def get(gateway, ticket, path="/x"):
    return request(gateway.port, path, host="gate.localhost", fields=[("Cookie", f"gatehouse={ticket}")])


def test_gateways_share_sessions(gateways):
    """A user who signed in at one gateway is the same user at the other, also after the first is gone."""
    one, two = gateways().start(), gateways().start()
    browser = Browser(one)
    assert browser.sign_in("mock", "/x").status == 200
    assert get(two, browser.ticket(), "/at-two").status == 200
    assert two.app.seen("/at-two")[-1].get("X-Forwarded-User") == "mock:ada"
    one.stop()
    assert get(two, browser.ticket()).status == 200


def test_a_callback_works_once_at_all_gateways(gateways):
    """T-02: the attempt that one gateway has used is used at the others."""
    one, two = gateways().start(), gateways().start()
    browser = Browser(one)
    landing = browser.authorize(browser.begin("mock"))
    copy = Browser(one)
    copy.cookies = {host: dict(jar) for host, jar in browser.cookies.items()}
    assert browser.send("GET", landing).status == 303
    copy.gateway = two
    replayed = copy.send("GET", landing.replace(str(one.port), str(two.port)))
    assert replayed.status == 400 and copy.ticket() is None


def test_a_sign_out_ends_the_session_at_all_gateways_within_a_second(gateways):
    """Also where it is cached; publish/subscribe passes it on."""
    one, two = gateways().start(), gateways().start()
    browser = Browser(one)
    browser.sign_in("mock", "/x")
    ticket = browser.ticket()
    assert get(two, ticket).status == 200
    assert browser.sign_out().status in (200, 303)
    began = time.monotonic()
    eventually(lambda: get(two, ticket).status == 401, "the other gateway knows it")
    assert time.monotonic() - began < 5, "a cached session lasts for 30 s"


def test_r_50_redis_that_is_gone_signs_no_user_out(gateways, redis):
    """Cached sessions go on; others get 503 and keep their cookie; no user gets a session that is not stored."""
    one, two = gateways().start(), gateways().start()
    browser = Browser(one)
    browser.sign_in("mock", "/x")
    ticket = browser.ticket()
    # Each event loop has a cache of its own; connections go to the loops in turn.
    for _ in range(20):
        assert get(one, ticket).status == 200
    redis.stop()
    assert get(one, ticket).status == 200
    rejected = get(two, ticket)
    assert rejected.status == 503 and rejected.get("retry-after") and rejected.get("set-cookie") is None
    assert rejected.json["error"] == "session.store_unavailable"
    assert request(two.port, "/public/x", host="gate.localhost").status == 200
    newcomer = Browser(two)
    assert newcomer.sign_in("mock", "/x").status == 503 and newcomer.ticket() is None
    redis.start()
    eventually(lambda: get(two, ticket).status == 200, "the session is there again")
    assert Browser(two).sign_in("mock", "/x").status == 200


def test_r_50_redis_that_does_not_reply_is_an_outage_within_seconds(gateways, redis):
    one, two = gateways().start(), gateways().start()
    browser = Browser(one)
    browser.sign_in("mock", "/x")
    redis.signal(signal.SIGSTOP)
    began = time.monotonic()
    assert get(two, browser.ticket()).status == 503
    assert time.monotonic() - began < 3
    redis.signal(signal.SIGCONT)
    eventually(lambda: get(two, browser.ticket()).status == 200, "it replies again")


def test_r_53_a_restart_of_redis_signs_no_user_out(gateways, redis):
    one = gateways().start()
    browsers = [Browser(one) for _ in range(5)]
    for browser in browsers:
        assert browser.sign_in("mock", "/x").status == 200
    redis.stop()
    redis.start()
    one.stop()
    one.start()
    for browser in browsers:
        eventually(lambda: browser.send("GET", "/x").status == 200, "the session is there")


def test_a_gateway_starts_without_redis(gateways, redis):
    """Public paths are served at once, users sign in as soon as Redis is there."""
    redis.stop()
    one = gateways().start()
    assert request(one.port, "/public/x", host="gate.localhost").status == 200
    assert Browser(one).sign_in("mock", "/x").status == 503
    redis.start()
    eventually(lambda: Browser(one).sign_in("mock", "/x").status == 200, "users sign in")


# A Redis that rejects writes


def is_signed_out(gateway, ticket):
    """On every event loop, each of which has a cache of its own; connections go to the loops in turn."""
    return {get(gateway, ticket).status for _ in range(10)} == {401}


def session_keys(redis):
    return redis.run("SELECT", 2, then=("KEYS", "gatehouse:s:*"))[1:]


def setting(name, value, usual):
    """Changes a setting of Redis; returns what changes it back."""
    def begin(redis):
        redis.run("CONFIG", "SET", name, value)
        return lambda: redis.run("CONFIG", "SET", name, usual)

    return begin


def stall(redis):
    redis.signal(signal.SIGSTOP)
    return lambda: redis.signal(signal.SIGCONT)


def demote(redis):
    redis.run("REPLICAOF", "127.0.0.1", 1)
    return lambda: redis.run("REPLICAOF", "NO", "ONE")


@pytest.mark.parametrize("state", ["full", "without replicas", "without replicas, restarted"])
def test_b_03_a_sign_out_that_redis_rejects_is_in_force_everywhere_and_stays(state, gateways, redis, realm):
    """B-03 B-19: reads go on, writes are rejected; the browser goes on to the provider, and the session never comes back."""
    realm.metadata = {"end_session_endpoint": f"{realm.issuer}/logout"}
    one, two = gateways().start(), gateways().start()
    browser, other = Browser(one), Browser(one)
    assert browser.sign_in("mock", "/x").status == other.sign_in("mock", "/x").status == 200
    ticket = browser.ticket()
    assert get(two, ticket).status == 200
    repair = (
        setting("maxmemory", 1, 0) if state == "full" else setting("min-replicas-to-write", 1, 0)
    )(redis)
    signed_out = browser.sign_out()
    assert signed_out.status == 303
    assert urlsplit(signed_out.get("location")).path == f"/{realm.name}/logout"
    eventually(lambda: is_signed_out(one, ticket) and is_signed_out(two, ticket), "both gateways know it", 2)
    if state == "without replicas, restarted":
        assert len(session_keys(redis)) == 2
        one.kill()
        one.start()
        assert is_signed_out(one, ticket)
    repair()
    eventually(lambda: len(session_keys(redis)) == 1, "the sign-out is written")
    assert is_signed_out(one, ticket) and is_signed_out(two, ticket)
    assert get(two, other.ticket()).status == get(one, other.ticket()).status == 200
    if state != "full":
        eventually(lambda: one.metric("gatehouse_revocations_pending") == 0, "nothing is pending")


@pytest.mark.parametrize("break_redis", [stall, demote])
def test_b_19_a_sign_out_that_fails_changes_nothing_and_works_afterwards(break_redis, gateways, redis, realm):
    """B-02 B-19: without Redis a gateway knows no session, so the cookie stays and the next attempt does all of it."""
    realm.metadata = {"end_session_endpoint": f"{realm.issuer}/logout"}
    one, two = gateways().start(), gateways().start()
    browser = Browser(one)
    assert browser.sign_in("mock", "/x").status == 200
    ticket = browser.ticket()
    repair = break_redis(redis)
    for gateway in (one, two):
        eventually(lambda: not gateway.operation("/status").json()["store_available"], "nothing is read from it")
    assert get(two, ticket).status == 503
    rejected = browser.sign_out()
    assert rejected.status == 503 and rejected.get("retry-after") and browser.ticket() == ticket
    if break_redis is demote:
        eventually(lambda: two.operation("/status").json()["store_fault"] == "read_only", "the status names it")
        assert "not a master" in two.log
    repair()
    for gateway in (one, two):
        eventually(lambda: gateway.operation("/status").json()["store_available"], "it is there again")
    assert get(two, ticket).status == 200
    done = browser.sign_out()
    assert done.status == 303 and urlsplit(done.get("location")).path == f"/{realm.name}/logout"
    eventually(lambda: is_signed_out(one, ticket) and is_signed_out(two, ticket), "both gateways know it", 2)


def test_b_08_a_redis_that_evicts_is_reported_and_no_revocation_is_lost(gateways, redis):
    """B-08: /status and `check --online` name it; what has lost its index is found, or has ended."""
    redis.run("CONFIG", "SET", "maxmemory", "100mb")
    redis.run("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    one = gateways().start()
    browsers = [Browser(one) for _ in range(3)]
    for browser in browsers:
        assert browser.sign_in("mock", "/x").status == 200
    checked = run("check", "--online", "--config", one.path, cwd=one.folder)
    assert re.search(r"sessions +store +warn .*allkeys-lru", checked.stdout), checked.stdout
    redis.run("SELECT", 2, then=("DEL", "gatehouse:expires"))
    [first, *rest] = json.loads(command(one, "sessions", "list", "--json"))["sessions"]
    assert len(rest) == 2
    redis.run("SELECT", 2, then=("DEL", "gatehouse:expires"))
    assert "revoked 1 sign-in" in command(one, "sessions", "revoke", first["id"])
    assert "revoked 2 sign-ins" in command(one, "sessions", "revoke", "--provider", "mock")
    assert all(is_signed_out(one, browser.ticket()) for browser in browsers)
    eventually(lambda: one.operation("/status").json()["store_fault"] == "evicting", "the status names it", 10)


def test_b_04_the_user_of_the_documents_may_do_what_the_gateway_needs(gateways, redis):
    """B-04: the rules in docs/sessions.md, and what is missing without one of them."""
    text = (Path(__file__).parents[2] / "docs/sessions.md").read_text()
    rules = re.search(r"`ACL SETUSER gatehouse on >PASSWORD ([^`]+)`", text).group(1).split()
    redis.run("ACL", "SETUSER", "gatehouse", "on", ">secret", *rules)
    one = gateways(f"redis://gatehouse:secret@127.0.0.1:{redis.port}").start()
    browser = Browser(one)
    assert browser.sign_in("mock", "/x").status == 200
    assert "revoked 1 sign-in" in command(one, "sessions", "revoke", "--all")
    checked = run("check", "--online", "--config", one.path, cwd=one.folder)
    assert re.search(r"sessions +store +ok", checked.stdout), checked.stdout
    redis.run("ACL", "SETUSER", "gatehouse", "-info")
    assert "add '+info' to its ACL" in run("check", "--online", "--config", one.path, cwd=one.folder).stdout


@pytest.fixture
def tls(tmp_path):
    """An authority, and a Redis over TLS that admits clients with a certificate of it."""
    root = Authority("redis root")
    folder = tmp_path / "tls"
    folder.mkdir()
    cert, key = root.issue("localhost").files(folder, "redis")
    server = Redis(folder, "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", root.file(folder))
    server.options += ("--port", "0", "--tls-port", server.port)
    server.start()
    server.root = root
    yield server
    server.stop()


def client_keys(server, authority, name):
    """The keys of a client with a certificate of an authority."""
    cert, key = authority.issue("gateway", usages=(CLIENT_AUTH, )).files(server.folder, name)
    return {"ca_file": str(server.root.file(server.folder)), "certificate": str(cert), "private_key": str(key)}


def test_redis_over_tls_with_a_client_certificate(gateways, tls):
    """`rediss://` with a private CA; both sides are checked."""
    one = gateways(f"rediss://localhost:{tls.port}", redis={"tls": client_keys(tls, tls.root, "client")}).start()
    browser = Browser(one)
    assert browser.sign_in("mock", "/x").status == 200
    assert get(one, browser.ticket()).status == 200


def test_redis_over_tls_with_a_wrong_certificate_is_an_outage(gateways, tls):
    """Of another authority, for another name, without a client certificate: no user signs in, none is signed out."""
    good = client_keys(tls, tls.root, "client")
    other = Authority("another")
    wrong = {
        "another client authority": client_keys(tls, other, "stranger"),
        "no client certificate": {"ca_file": good["ca_file"]},
        "the authorities of the system": {"certificate": good["certificate"], "private_key": good["private_key"]},
        "another name": {**good, "server_name": "other.internal"},
    }
    for name, keys in wrong.items():
        one = gateways(f"rediss://localhost:{tls.port}", redis={"tls": keys}).start()
        assert Browser(one).sign_in("mock", "/x").status == 503, name
        one.stop()


def test_a_renewed_client_certificate_is_used_after_a_reload(gateways, tls):
    """The content of the files counts, not their names: the store is opened again, and no user is signed out."""
    keys = client_keys(tls, Authority("another"), "client")
    one = gateways(f"rediss://localhost:{tls.port}", redis={"tls": keys}).start()
    assert Browser(one).sign_in("mock", "/x").status == 503
    assert client_keys(tls, tls.root, "client") == keys
    eventually(lambda: Browser(one).sign_in("mock", "/x").status == 200, "the changed files are read")


def test_no_password_and_no_user_is_shown(gateways, redis, tmp_path):
    """Neither in the log nor in Redis."""
    wrong = gateways(f"redis://gate:very-secret@127.0.0.1:{redis.port}")
    wrong.start()
    assert Browser(wrong).sign_in("mock", "/x").status == 503
    assert "very-secret" not in wrong.log and "WRONGPASS" in wrong.log
    one = gateways().start()
    browser = Browser(one)
    browser.sign_in("mock", "/x")
    redis.stop()
    files = [file for file in tmp_path.rglob("*.aof") if file.stat().st_size]
    assert files
    for file in files:
        content = file.read_bytes()
        for text in (b"mock:ada", b"ada@example.com", browser.ticket().encode()):
            assert text not in content, file
    redis.start()
