# SPDX-License-Identifier: Apache-2.0
"""`identity.authorization` with a token of the provider: to the app that asks for it, as long as it is valid."""

import re
import time

import pytest

from support import fronts
from support.browser import Browser
from support.gateway import Gateway, oidc
from support.processes import certificate, eventually
from support.raw import request
from support.upstream import Upstream

OMITTED = 'gatehouse_identity_tokens_omitted_total{app="%s",token="%s",reason="%s"}'


@pytest.fixture
def app():
    server = Upstream()
    yield server
    server.close()


@pytest.fixture
def start(tmp_path, realm, app):
    """Starts a gateway with an app for each token, one without, and one on another host."""
    made = []

    def make(**sessions):
        common = {"upstream": app.address, "allow": "signed_in"}
        apps = {
            "plain": {"path": "/", **common},
            "api": {"path": "/api", **common, "public": ["/api/open/"], "identity": {"authorization": "access_token"}},
            "who": {"path": "/who", **common, "identity": {"authorization": "id_token"}},
            "far": {"host": "far.localhost", **common, "identity": {"authorization": "access_token"}},
        }
        gateway = Gateway(tmp_path, {"mock": oidc(realm.issuer)}, apps, sessions={"store": "memory:", **sessions})
        made.append(gateway)
        return gateway.start()

    yield make
    for one in made:
        one.leave()


@pytest.fixture
def issued(realm):
    """The token responses of the provider."""
    responses = []
    realm.token_response = lambda response: responses.append(response) or response
    return responses


def signed_in(gateway):
    browser = Browser(gateway)
    assert browser.sign_in("mock", "/").status == 200
    return browser


def sent(app, browser, target, **fields):
    """The values of `Authorization` that the app gets."""
    assert browser.send("GET", target, fields=fields).status == 200, target
    return app.seen(target)[-1].all("authorization")


def test_an_app_gets_the_token_that_it_asks_for_and_no_other_one(start, app, issued):
    """The client's own value is removed for these apps, on public paths as well, and forwarded to all others."""
    browser = signed_in(start())
    (response,) = issued
    forged = {"Authorization": "Bearer forged"}
    for fields in ({}, forged):
        assert sent(app, browser, "/api/x", **fields) == [f"Bearer {response['access_token']}"]
        assert sent(app, browser, "/who/x", **fields) == [f"Bearer {response['id_token']}"]
        assert sent(app, browser, "/api/open/x", **fields) == []
    assert sent(app, browser, "/x") == [] and sent(app, browser, "/y", **forged) == ["Bearer forged"]
    assert not any(response["access_token"].encode() in one.head for one in app.requests if not one.target.startswith("/api/"))


def test_an_app_on_another_host_gets_it_too(start, app, issued):
    gateway = start()
    browser = signed_in(gateway)
    assert browser.visit(f"http://far.localhost:{gateway.port}/page").status == 200
    assert app.seen("/page")[-1].all("authorization") == [f"Bearer {issued[0]['access_token']}"]


def test_an_expired_token_is_left_out_counted_and_logged_once(start, realm, app, issued):
    """Nothing refreshes it: the provider issued no refresh token. No token is in the log."""
    realm.lifetime = 2
    gateway = start()
    browser = signed_in(gateway)
    end = time.time() + realm.lifetime
    eventually(lambda: time.time() > end, "the token has expired")
    for _ in range(5):
        assert sent(app, browser, "/api/x") == []
    assert sent(app, browser, "/api/x", Authorization="Bearer forged") == []
    assert gateway.metric(OMITTED % ("api", "access_token", "expired")) >= 1
    log = gateway.log
    assert len(re.findall("token of the provider not sent", log)) == 1 and "mock:ada" in log
    assert issued[0]["access_token"] not in log and issued[0]["id_token"] not in log


def test_a_refreshed_token_takes_the_place_of_the_old_one(start, realm, app, issued):
    """With the re-check of the session; no request is without a token meanwhile."""
    realm.issues_refresh = True
    gateway = start(recheck="2s")
    browser = signed_in(gateway)
    seen = set()

    def third():
        values = sent(app, browser, "/api/x")
        assert len(values) == 1 and values[0].removeprefix("Bearer ") in [one["access_token"] for one in issued]
        seen.update(values)
        return len(seen) >= 3

    eventually(third, "three tokens were sent", 20)


def test_after_a_sign_out_the_app_gets_no_token(start, app, issued):
    gateway = start()
    browser = signed_in(gateway)
    ticket = browser.ticket()
    assert sent(app, browser, "/api/x")
    assert browser.sign_out().status == 303
    app.requests.clear()
    response = request(gateway.port, "/api/x", "gate.localhost", fields=[("Cookie", f"gatehouse={ticket}")])
    assert response.status == 401 and not app.requests


#: The lines of the delivered files that are comments, since only some apps need them.
COPIES = {
    "nginx.conf": {"# auth_request_set": "auth_request_set", "# proxy_set_header Authorization": "proxy_set_header Authorization"},
    "Caddyfile": {"# copy_headers Authorization": "copy_headers Authorization"},
    "envoy.yaml": {"# - exact: authorization": "- exact: authorization"},
}


@pytest.mark.parametrize("dialect", ["nginx", "caddy", "envoy", "envoy_grpc"])
def test_a_token_reaches_the_app_through_a_proxy_and_none_does_on_public_paths(dialect, tmp_path, realm, issued, monkeypatch):
    """Forward-auth with the delivered file and what the app needs beyond; the client's value never passes."""
    delivered = fronts.delivered
    monkeypatch.setattr(fronts, "delivered", lambda name, changes: delivered(name, {**COPIES.get(name, {}), **changes}))
    front = fronts.Front(dialect, tmp_path, realm.issuer, certificate(tmp_path, "front", fronts.Front.gate, fronts.Front.wiki))
    for name, token in (("wiki", "access_token"), ("staff", "id_token")):
        front.gateway.configuration["apps"][name] |= {"identity": {"authorization": token}, "allow": "signed_in"}
    try:
        front.start()
        browser = Browser(front.gateway)
        assert browser.visit(f"{front.origin}/page").status == 200
        for target, token in (("/page", "access_token"), ("/staff/x", "id_token"), ("/public/x", None)):
            # Some proxies forward an empty field.
            expected = [[f"Bearer {issued[0][token]}"]] if token else [[], [""]]
            for fields in ({}, {"Authorization": "Bearer forged"}):
                assert browser.send("GET", f"{front.origin}{target}", fields=fields).status == 200
                assert front.app.seen(target)[-1].all("authorization") in expected, (target, fields)
    finally:
        front.stop()
