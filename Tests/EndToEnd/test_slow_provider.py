# SPDX-License-Identifier: Apache-2.0
"""A provider that is slower than users sign in, and one whose endpoints are down (U-04, W-11, X-20)."""

import threading
import time

import pytest

from support.browser import Browser
from support.gateway import Gateway, oidc
from support.processes import eventually
from support.upstream import Upstream

HELD = 2.2


class Slow:
    """Makes an endpoint of a realm slow, until it is released."""

    def __init__(self):
        self.is_over = threading.Event()

    def wait(self, _):
        self.is_over.wait(HELD)


@pytest.fixture(scope="module")
def slow(tmp_path_factory, provider_server):
    """A gateway with one connection to its provider."""
    app = Upstream()
    apps = {
        "echo": {"path": "/", "upstream": app.address, "allow": "signed_in"},
        "guarded": {
            "path": "/guarded/", "upstream": app.address, "allow": "signed_in", "deny": [{"group": "banned"}]
        },
    }
    providers = {"slow": oidc(provider_server.realm("slow").issuer, max_connections=1)}
    with Gateway(tmp_path_factory.mktemp("slow"), providers, apps, name="slow") as gateway:
        yield gateway
    app.close()


@pytest.fixture
def realm(provider_server):
    with provider_server.realm("slow").fresh() as realm:
        yield realm


def callback(gateway):
    browser = Browser(gateway)
    return browser, browser.authorize(browser.begin("slow"))


def test_u_04_sign_ins_that_cannot_be_served_in_time_get_503_at_once(slow, realm):
    """Of nine at a provider that needs 2.2 s and has one connection, five can be served within ten seconds."""
    first, landing = callback(slow)
    others = [callback(slow) for _ in range(9)]
    realm.holds["token"] = held = Slow()
    assert first.send("GET", landing).status == 303
    results = {}

    def come_back(number):
        began = time.monotonic()
        response = others[number][0].send("GET", others[number][1])
        results[number] = response, time.monotonic() - began

    threads = [threading.Thread(target=come_back, args=(number,)) for number in range(len(others))]
    for thread in threads:
        thread.start()
    # Those that are rejected do not wait; then the provider is quick again, so that the test is.
    eventually(lambda: len(results) == 4, "four were rejected")
    assert slow.metric("gatehouse_provider_sign_ins_waiting") == 4
    rejected = dict(results)
    held.is_over.set()
    for thread in threads:
        thread.join(20)
    assert sorted(response.status for response, _ in results.values()) == [303] * 5 + [503] * 4
    for number, (response, took) in rejected.items():
        assert response.status == 503 and took < 1 and "provider.busy" in response.text
        assert 1 <= int(response.get("retry-after")) <= 60
    # The callback of one that was rejected is still good.
    browser, landing = others[next(iter(rejected))]
    assert browser.send("GET", landing).status == 303 and browser.ticket()
    assert realm.count("token") == 7


def test_w_11_claims_of_userinfo_that_is_down_are_unknown(slow, realm):
    """The user signs in by the ID token; a rule on unknown groups denies; the log and a metric report it."""
    realm.claims = lambda claims: {name: value for name, value in claims.items() if name not in ("email", "name")}
    realm.documents["userinfo"] = (503, {"Content-Type": "text/plain"}, b"down")
    before = slow.metric("gatehouse_userinfo_unavailable_total")
    browser, landing = callback(slow)
    assert browser.send("GET", landing).status == 303 and browser.ticket()
    profile = browser.send("GET", "/oauth2/userinfo").json
    assert profile["user"] == "slow:ada" and "name" not in profile
    assert profile["email_verified"] is False and profile["groups_complete"] is False
    denied = browser.send("GET", "/guarded/x")
    assert denied.status == 403 and "policy.groups_unknown" in denied.text
    assert slow.metric("gatehouse_userinfo_unavailable_total") == before + 1
    assert "provider.userinfo_unavailable" in slow.log
    del realm.documents["userinfo"]
    realm.userinfo = lambda user: {**user, "sub": "eve"}
    browser, landing = callback(slow)
    assert browser.send("GET", landing).status == 502 and browser.ticket() is None


def test_x_20_how_old_the_keys_are_is_a_metric(slow, realm):
    """The keys were fetched a moment ago and are fresh."""
    browser, landing = callback(slow)
    assert browser.send("GET", landing).status == 303
    metrics = slow.metrics()
    assert 0 <= metrics['gatehouse_provider_keys_age_seconds{provider="slow"}'] < 120
    assert metrics['gatehouse_provider_keys_stale{provider="slow"}'] == 0
