# SPDX-License-Identifier: Apache-2.0
"""Callbacks that the browser posts from the provider's site, over https and in a real browser."""

import pytest

from support.chromium import CHROMIUM, Chromium
from support.gateway import Gateway, oidc
from support.processes import certificate, free_port

pytestmark = pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed")


@pytest.fixture
def visit(tmp_path, provider_server, app):
    """Opens a page of the app in Chromium, at a gateway with https whose provider is on another site and posts."""
    realm = provider_server.realm("posting")
    realm.reset()
    realm.posts = True
    port = free_port()
    cert, key = certificate(tmp_path, "gate", "gate.localhost")
    opened = []

    def visit(**keys):
        gateway = Gateway(
            tmp_path,
            {"posting": oidc(realm.issuer, **keys)},
            {"echo": {"upstream": app.address, "allow": "signed_in"}},
            public_url=f"https://gate.localhost:{port}",
            listeners=[{"address": f"127.0.0.1:{port}", "tls": [{"certificate": cert, "private_key": key}]}],
        )
        gateway.__enter__()
        opened.append(lambda: gateway.__exit__(None, None, None))
        browser = Chromium(tmp_path, "--ignore-certificate-errors")
        opened.append(browser.close)
        browser.go(f"{gateway.origin}/hello?x=1")
        browser.until("location.protocol == 'https:' && document.readyState == 'complete'", "the gateway responds")
        browser.origin, browser.realm = gateway.origin, realm
        return browser

    yield visit
    for close in reversed(opened):
        close()


def test_a_posted_callback_from_another_site_signs_in(visit, app):
    """form_post: the attempt's cookie is SameSite=None, so the browser sends it with the provider's form."""
    browser = visit(response_mode="form_post")
    browser.until(f"location.href == '{browser.origin}/hello?x=1'", "the page that was asked for")
    seen = app.requests[-1]
    assert seen.all("x-forwarded-user") == ["posting:ada"]
    assert browser.realm.requests[-1]["path"] in ("token", "userinfo")


def test_a_posted_callback_without_samesite_none_is_rejected(visit):
    """SameSite=Lax: an attempt that expects a redirect cannot be ended by a form from another site."""
    browser = visit()
    browser.until("document.body.innerText.includes('openid.attempt_lost')", "the callback is rejected")
    assert browser.realm.count("token") == 0
