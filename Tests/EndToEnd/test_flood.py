# SPDX-License-Identifier: Apache-2.0
"""Concurrent sign-ins over real sockets: the provider's documents are fetched once."""

import re
import threading

import pytest

from support.browser import Browser
from support.gateway import Gateway, oidc
from support.processes import eventually
from support.provider import ProviderServer
from support.tokens import Key, token
from support.upstream import Upstream

DISCOVERY = ".well-known/openid-configuration"


@pytest.fixture(scope="module")
def provider():
    """A separate provider, so that no other requests are counted."""
    server = ProviderServer()
    yield server
    server.shutdown()


@pytest.fixture
def fresh(tmp_path, provider):
    """A gateway that has not called its provider yet, and the realm."""
    app = Upstream()
    realm = provider.realm("flood")
    realm.reset()
    apps = {"echo": {"path": "/", "upstream": app.address, "allow": "signed_in"}}
    with Gateway(tmp_path, {"flood": oidc(realm.issuer)}, apps) as gateway:
        assert realm.count(DISCOVERY) == realm.count("jwks") == 0, "nothing is fetched before it is needed"
        yield gateway, realm
    app.close()


def at_once(count, act):
    """Runs `act(number)` in this many threads that start together; returns their results."""
    results, start = [], threading.Barrier(count)

    def run(number):
        start.wait(30)
        results.append(act(number))

    threads = [threading.Thread(target=run, args=(number, )) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(results) == count, "every sign-in got a response"
    return results


def sign_in(gateway):
    browser = Browser(gateway)
    response = browser.send("GET", browser.authorize(browser.begin("flood")))
    return browser, response


def code(response):
    """The code of an error page; None for any other response."""
    found = re.search("<code>([a-z_.]+)</code>", response.text)
    return found and found.group(1)


@pytest.mark.parametrize("users", [100, 200])
def test_first_sign_ins_at_once_fetch_each_document_once(users, fresh):
    """One discovery and one key set for all concurrent sign-ins, also when the responses are slow; all sign in."""
    gateway, realm = fresh
    realm.holds = {DISCOVERY: threading.Event(), "jwks": threading.Event()}
    begun = threading.Barrier(users + 1)

    def act(number):
        browser = Browser(gateway)
        landing = browser.authorize(browser.begin("flood"))
        begun.wait(60)
        return browser.send("GET", landing), browser

    def let_go():
        eventually(lambda: gateway.metric("gatehouse_requests_in_flight") >= users // 2, "they wait", 30)
        realm.holds[DISCOVERY].set()
        begun.wait(60)
        eventually(lambda: gateway.metric("gatehouse_requests_in_flight") >= users // 2, "they wait for keys", 30)
        realm.holds["jwks"].set()

    opener = threading.Thread(target=let_go)
    opener.start()
    results = at_once(users, act)
    opener.join(60)
    responses = [(response.status, code(response)) for response, _ in results]
    assert set(responses) == {(303, None)}, responses
    assert all((response.status == 303) == bool(browser.ticket()) for response, browser in results)
    assert realm.count(DISCOVERY) == 1 and realm.count("jwks") == 1


def test_unknown_key_ids_at_once_fetch_the_keys_once_more(fresh):
    """T-50: after the first key set at most one more; valid tokens sign in meanwhile."""
    gateway, realm = fresh
    assert sign_in(gateway)[1].status == 303 and realm.count("jwks") == 1
    stranger = Key("stranger", "ES256")
    begun = [(browser, browser.authorize(browser.begin("flood"))) for browser in (Browser(gateway) for _ in range(120))]
    numbers = iter(range(1000))
    realm.make = lambda claims, realm: token(stranger, claims, {"kid": f"unknown-{next(numbers)}"})
    responses = at_once(120, lambda number: begun[number][0].send("GET", begun[number][1]))
    assert {(response.status, code(response)) for response in responses} == {(502, "id_token.key_unknown")}
    assert realm.count("jwks") <= 2
    realm.make = lambda claims, realm: token(realm.key, claims)
    assert sign_in(gateway)[1].status == 303 and realm.count("jwks") <= 2
