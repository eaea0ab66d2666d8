# SPDX-License-Identifier: Apache-2.0
"""Re-checks: the provider is asked again whether a user may still sign in, once for all requests and gateways."""

import itertools
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from websockets.exceptions import ConnectionClosed

from support.browser import Browser
from support.gateway import Gateway, oidc
from support.processes import eventually
from support.raw import request
from support.upstream import Upstream
from support.websockets import Echo, opened

CONFIRMED = 'gatehouse_session_rechecks_total{provider="mock",result="confirmed"}'


@pytest.fixture
def app():
    server = Upstream()
    yield server
    server.close()


NUMBERS = itertools.count()


@pytest.fixture
def realm(provider_server):
    """A realm for one test: the gateway of the test before, which drains meanwhile, asks about its users at another one."""
    with provider_server.realm(f"recheck-{next(NUMBERS)}").fresh() as realm:
        yield realm


@pytest.fixture
def start(tmp_path, realm, app):
    """Starts a gateway whose sessions hold for a second, unless a test sets something else."""
    made = []

    def make(apps=None, others=None, limits=None, **sessions):
        apps = apps or {"echo": {"path": "/", "upstream": app.address, "allow": "signed_in"}}
        settings = {"store": "memory:", "recheck": "1s", "max_stale": "1h", **sessions}
        providers = {"mock": oidc(realm.issuer), **(others or {})}
        gateway = {"limits": limits} if limits else None
        one = Gateway(tmp_path / f"g{len(made)}", providers, apps, sessions=settings, gateway=gateway)
        made.append(one)
        return one.start()

    yield make
    for one in made:
        one.leave()


def get(gateway, ticket, path="/x", *fields):
    cookie = ("Cookie", f"gatehouse={ticket}")
    return request(gateway.port, path, host="gate.localhost", fields=[cookie, *fields])


def signed_in(gateway):
    browser = Browser(gateway)
    assert browser.sign_in("mock", "/x").status == 200
    return browser


def until_status(gateway, ticket, status):
    """Each event loop has a cache of its own, and may serve a session for a second more."""
    eventually(
        lambda: all(get(gateway, ticket).status == status for _ in range(10)), f"the response is {status}", 15
    )


def test_new_claims_reach_the_app_and_the_rules(start, realm, app):
    """The refresh token is redeemed, and the next response has the provider's new word."""
    realm.issues_refresh = True
    apps = {
        "echo": {"path": "/", "upstream": app.address, "allow": "signed_in"},
        "staff": {"path": "/staff", "upstream": app.address, "allow": [{"email": "ada@example.com"}]},
    }
    gateway = start(apps)
    ticket = signed_in(gateway).ticket()
    assert get(gateway, ticket, "/staff").status == 200
    realm.user = {**realm.user, "email": "ada@new.example", "name": "Ada Byron"}
    eventually(lambda: get(gateway, ticket, "/staff").status == 403, "the rule reads the new email address")
    assert get(gateway, ticket, "/named").status == 200
    assert app.seen("/named")[-1].get("X-Forwarded-Email") == "ada@new.example"
    forms = [one["form"] for one in realm.requests if one["path"] == "token"]
    assert forms[1]["grant_type"] == "refresh_token" and "code" not in forms[1]


@pytest.mark.parametrize("refresh", [True, False])
def test_a_user_who_is_disabled_is_out_at_the_next_recheck(start, realm, refresh):
    """A-14: by `invalid_grant`, or else by 401 for the access token; both end the session, not only one response."""
    realm.issues_refresh = refresh
    gateway = start()
    browser = signed_in(gateway)
    realm.disabled.add("ada")
    until_status(gateway, browser.ticket(), 401)
    realm.disabled.clear()
    assert get(gateway, browser.ticket()).status == 401, "the session has ended"
    assert "session ended by provider" in gateway.log and "mock:ada" in gateway.log
    assert browser.sign_in("mock", "/x").status == 200


def test_one_refresh_for_a_hundred_requests(start, realm):
    """T-14: a provider that rotates refresh tokens sees each of them once, however many requests come at the same time."""
    realm.issues_refresh = True
    gateway = start(recheck="2s")
    ticket = signed_in(gateway).ticket()
    statuses = []
    with ThreadPoolExecutor(20) as pool:
        while realm.count("token") < 4:
            statuses += pool.map(lambda _: get(gateway, ticket).status, range(100))
    assert set(statuses) == {200} and len(statuses) >= 100
    tokens = [one["form"].get("refresh_token") for one in realm.requests if one["path"] == "token"][1:]
    assert len(tokens) == len(set(tokens)), "a refresh token was redeemed twice"


@pytest.mark.parametrize(
    "response",
    [(401, {}, b'{"error": "invalid_client"}'), (503, {}, b"down"), (429, {"Retry-After": "2"}, b"slow"),
     (200, {"Content-Type": "application/json"}, b'{"access_token": ')],
    ids=["invalid_client", "503", "429", "half a body"],
)
def test_r_40_an_error_of_the_provider_ends_no_session(start, realm, response):
    """The session is served until `max_stale`, then kept: 503, the cookie untouched, and served again afterwards."""
    realm.issues_refresh = True
    gateway = start(max_stale="2s")
    ticket = signed_in(gateway).ticket()
    realm.documents["token"] = response
    until_status(gateway, ticket, 503)
    rejected = get(gateway, ticket)
    assert rejected.json["error"] == "session.not_confirmed" and rejected.get("retry-after")
    assert rejected.get("set-cookie") is None and rejected.get("location") is None
    assert gateway.metric('gatehouse_stale_sessions_total{provider="mock",result="served"}') > 0
    del realm.documents["token"]
    eventually(lambda: get(gateway, ticket).status == 200, "the provider confirms the user", 60)


def test_a_provider_that_hangs_delays_a_request_for_three_seconds_at_most(start, realm):
    """R-43 A-14: the session is served although no response has come."""
    realm.issues_refresh = True
    gateway = start()
    ticket = signed_in(gateway).ticket()
    realm.holds["token"] = threading.Event()
    eventually(lambda: realm.count("token") == 2 or get(gateway, ticket).status != 200, "a re-check waits", 10)
    assert get(gateway, ticket).status == 200
    realm.holds.pop("token").set()


def test_without_a_refresh_token_userinfo_is_asked(start, realm):
    gateway = start()
    ticket = signed_in(gateway).ticket()
    asked = realm.count("userinfo")
    eventually(lambda: get(gateway, ticket).status == 200 and realm.count("userinfo") > asked, "userinfo is asked")
    assert realm.count("token") == 1


@pytest.mark.parametrize("has_session", [True, False])
def test_an_expired_grant_leads_over_the_provider(start, realm, has_session):
    """A navigation is redirected with `prompt=none`, and the session goes on; if the provider must show a page, the
    sign-in begins again."""
    realm.lifetime = 1
    realm.has_session = has_session
    gateway = start()
    browser = signed_in(gateway)
    old = browser.ticket()

    def prompts():
        return [one["query"].get("prompt") for one in realm.requests if one["path"] == "authorize"]

    # Each event loop has a cache of its own, and may serve the session for a second more.
    eventually(lambda: browser.visit("/y").status == 200 and "none" in prompts(), "the session is due")
    assert prompts()[-1] == ("none" if has_session else None)
    assert (browser.ticket() == old) == has_session, "C-04: a sign-in of the user has a new ticket"
    eventually(lambda: get(gateway, old).status == (200 if has_session else 401), "it is the same session or has ended")


@pytest.mark.one_gateway("each has limits of its own")
def test_b_11_confirmations_of_sessions_are_not_counted_as_sign_ins(start, realm):
    """The users of an office whose sessions are confirmed at the same time, again and again, get no 429."""
    realm.lifetime, realm.has_session = 1, True
    gateway = start(limits={"sign_ins_per_minute": 1})
    office = [signed_in(gateway) for _ in range(9)]

    def is_confirmed(browser):
        done = gateway.metric(CONFIRMED)
        assert browser.visit("/x").status == 200
        return gateway.metric(CONFIRMED) > done

    for browser in office:
        eventually(lambda: is_confirmed(browser), "the provider confirms the session")
    # The tenth of the network is the last that may begin.
    statuses = [Browser(gateway).send("GET", "/oauth2/start/mock?rd=/").status for _ in range(2)]
    assert statuses == [303, 429]


def test_an_expired_grant_ends_for_scripts_when_it_is_stale(start, realm):
    """A script cannot lead the user over the provider: it is served until `max_stale`, then it gets 401."""
    realm.lifetime = 1
    gateway = start(max_stale="2s")
    ticket = signed_in(gateway).ticket()
    assert get(gateway, ticket).status == 200
    until_status(gateway, ticket, 401)


def test_b_12_a_request_other_than_a_navigation_gets_a_code_of_its_own(start, realm):
    """A script gets the URL, a form a page that can be reloaded; afterwards both are served, in the same session."""
    realm.lifetime, realm.has_session = 1, True
    gateway = start(max_stale="1s")
    browser = signed_in(gateway)
    ticket = browser.ticket()
    until_status(gateway, ticket, 401)
    script = get(gateway, ticket).json
    assert script["error"] == "session.confirmation_needed"
    assert script["sign_in"].startswith(f"{gateway.origin}/oauth2/start/mock?") and "prompt=none" in script["sign_in"]
    fields = {"Sec-Fetch-Dest": "document", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Site": "same-origin"}
    form = browser.send("POST", "/y", {"a": "b"}, fields)
    assert form.status == 401 and "session.confirmation_needed" in form.text and "reload this page" in form.text
    assert browser.visit(script["sign_in"].removeprefix(gateway.origin)).status == 200
    assert browser.ticket() == ticket
    assert browser.send("POST", "/y", {"a": "b"}, fields).status == 200


@pytest.mark.parametrize(
    "method, fields",
    [("POST", {"Sec-Fetch-Dest": "document", "Sec-Fetch-Site": "same-origin"}), ("GET", {"Sec-Fetch-Dest": "iframe"}),
     ("GET", {"Sec-Fetch-Dest": "image", "Sec-Fetch-Mode": "no-cors"}), ("GET", {"Sec-Fetch-Mode": "cors"})],
    ids=["form", "frame", "picture", "fetch"],
)
def test_only_a_navigation_is_led_over_the_provider(start, realm, method, fields):
    """A form would be lost, and a part of a page cannot show the provider's; they are served until `max_stale`."""
    realm.lifetime = 1
    gateway = start()
    browser = signed_in(gateway)
    eventually(lambda: browser.send("GET", "/y").status == 303, "the session is due")
    body = {"a": "b"} if method == "POST" else None
    assert browser.send(method, "/y", body, fields).status == 200


def test_a_websocket_ends_when_its_session_can_no_longer_be_confirmed(start, realm, app):
    """Like the response to a request would be 503; the session itself is kept."""
    realm.issues_refresh = True
    echo = Echo()
    try:
        apps = {
            "echo": {"path": "/", "upstream": app.address, "allow": "signed_in"},
            "chat": {"path": "/chat", "upstream": echo.address, "allow": "signed_in"},
        }
        gateway = start(apps, max_stale="2s")
        ticket = signed_in(gateway).ticket()
        with opened(gateway, "/chat", f"gatehouse={ticket}") as socket:
            socket.send("hello")
            assert socket.recv(timeout=10) == "hello"
            realm.documents["token"] = (503, {}, b"down")
            with pytest.raises(ConnectionClosed):
                socket.recv(timeout=30)
        del realm.documents["token"]
        eventually(lambda: get(gateway, ticket).status == 200, "the provider confirms the user", 60)
    finally:
        echo.close()


def test_rechecks_can_be_off(start, realm):
    gateway = start(recheck="never")
    ticket = signed_in(gateway).ticket()
    realm.disabled.add("ada")
    assert get(gateway, ticket).status == 200 and gateway.metric(CONFIRMED) == 0


def test_an_app_has_rechecks_of_its_own(start, realm, app):
    """Others cause none; what it learns holds for all."""
    realm.issues_refresh = True
    entry = {"upstream": app.address, "allow": "signed_in"}
    apps = {"echo": {"path": "/", **entry}, "strict": {"path": "/strict", **entry, "recheck": "1s"}}
    gateway = start(apps, recheck="never")
    ticket = signed_in(gateway).ticket()

    def asks_again():
        asked = realm.count("token")
        eventually(
            lambda: get(gateway, ticket, "/strict").status == 200 and realm.count("token") > asked, "the app asks"
        )

    def has_new_name():
        assert get(gateway, ticket, "/named").status == 200
        return app.seen("/named")[-1].get("X-Forwarded-Name") == "Ada Byron"

    asks_again()
    realm.user = {**realm.user, "name": "Ada Byron"}
    asks_again()
    eventually(has_new_name, "the other app has the new name", 40)
    realm.disabled.add("ada")
    eventually(lambda: get(gateway, ticket, "/strict").status == 401, "the provider ends the session")
    until_status(gateway, ticket, 401)


def test_t_14_a_crash_between_the_response_and_the_write_signs_the_user_out(start, realm):
    """The provider has rotated the refresh token and the gateway has lost the new one: the user signs in again."""
    realm.issues_refresh = True
    gateway = start(store="sqlite:sessions.db")
    browser = signed_in(gateway)
    ticket = browser.ticket()
    hold = realm.holds["token"] = threading.Event()
    asked = realm.count("token")
    eventually(lambda: get(gateway, ticket).status == 200 and realm.count("token") > asked, "a re-check is in progress")
    gateway.kill()
    del realm.holds["token"]
    before = dict(realm.grants)
    hold.set()
    eventually(lambda: realm.grants and realm.grants.keys() != before.keys(), "the provider has rotated the token")
    # The reservation of the gateway that has crashed ends after 40 seconds.
    with sqlite3.connect(gateway.folder / "sessions.db") as database:
        assert database.execute("DELETE FROM lock").rowcount == 1
    gateway.start()
    until_status(gateway, ticket, 401)
    assert "session ended by provider" in gateway.log
    assert browser.sign_in("mock", "/x").status == 200


def test_r_42_rechecks_with_one_provider_do_not_wait_for_another(start, realm, provider_server):
    """One provider never responds and 40 of its users wait for it; users of the other one are confirmed meanwhile."""
    with provider_server.realm("r-42").fresh() as other:
        other.issues_refresh = realm.issues_refresh = True
        gateway = start(others={"other": oidc(other.issuer)})
        waiting = [signed_in(gateway).ticket() for _ in range(40)]
        browser = Browser(gateway)
        assert browser.sign_in("other", "/x").status == 200
        realm.holds["token"] = threading.Event()
        with ThreadPoolExecutor(40) as pool:
            stuck = [pool.submit(get, gateway, ticket) for ticket in waiting]
            eventually(lambda: realm.count("token") > len(waiting), "re-checks wait for the provider", 10)
            asked = other.count("token")
            while other.count("token") < asked + 2:
                assert get(gateway, browser.ticket()).status == 200
            assert all(one.result().status == 200 for one in stuck), "served while they are not stale"
        realm.holds.pop("token").set()
        assert gateway.metric('gatehouse_session_rechecks_total{provider="other",result="confirmed"}') >= 2
        # No request of this provider's user has waited in vain.
        assert gateway.metric('gatehouse_stale_sessions_total{provider="other"') == 0
