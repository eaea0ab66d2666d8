# SPDX-License-Identifier: Apache-2.0
"""Many tabs, late returns and the back button: each ends where the user wanted to go, or on a page with one way on."""

import pytest

from support.browser import Browser, links
from support.chromium import CHROMIUM, Chromium
from support.demo import Demo

LATE_PAGE = "document.readyState == 'complete' && document.querySelectorAll('a.button').length == 1"


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    with Demo(tmp_path_factory.mktemp("demo")) as demo:
        yield demo


@pytest.fixture
def chromium(tmp_path):
    browser = Chromium(tmp_path)
    yield browser
    browser.close()


def way_on(page):
    """The one link of a page, apart from those to documents."""
    assert page.status == 400 and len(links(page)) == 1, page.text
    return links(page)[0]


def test_c_07_ten_tabs_sign_in_at_the_same_time(gateway, realm, browser):
    """C-07: each ends where it wanted to go; without a session the page of one whose cookie was dropped leads there."""
    landings = [browser.authorize(browser.begin("mock", f"/tab{index}")) for index in range(10)]
    early = way_on(browser.send("GET", landings[0]))
    for index in range(5, 10):
        response = browser.visit(landings[index])
        assert response.status == 200 and response.url == f"{gateway.origin}/tab{index}"
    for index in range(5):
        response = browser.visit(landings[index])
        assert response.status == 200 and response.url == f"{gateway.origin}/tab{index}"
    assert early.endswith("/oauth2/sign_in?rd=%2Ftab0")
    assert browser.visit(early).status == 200
    assert list(browser.cookies[gateway.host]) == ["gatehouse", "gatehouse-provider"]


def test_a_callback_that_is_sent_twice_leads_on(gateway, realm, browser):
    """With a session, where the user wanted to go if the browser still has the attempt, else to the front page.

    Without one, to a page that leads to a new sign-in for the same place.
    """
    landing = browser.authorize(browser.begin("mock", "/twice"))
    before = {name: dict(jar) for name, jar in browser.cookies.items()}
    assert browser.visit(landing).url == f"{gateway.origin}/twice"
    late = Browser(gateway)
    late.cookies = {gateway.host: {**before[gateway.host], **browser.cookies[gateway.host]}}
    assert late.send("GET", landing).get("location") == f"{gateway.origin}/twice"
    assert browser.send("GET", landing).get("location") == f"{gateway.origin}/"
    lost = Browser(gateway)
    lost.cookies = before
    page = lost.send("GET", landing)
    assert lost.visit(way_on(page)).url == f"{gateway.origin}/oauth2/sign_in?rd=%2Ftwice"


def test_a_sign_in_page_left_open_works_with_any_cookies(gateway, realm, browser):
    """Overnight: the page of the providers keeps nothing, so the sign-in begins when one is chosen."""
    page = browser.visit(f"{gateway.origin}/morning?x=1")
    link = next(link for link in links(page) if "/oauth2/start/mock" in link)
    browser.cookies = {}
    response = browser.visit(link)
    assert response.status == 200 and response.url == f"{gateway.origin}/morning?x=1"


def test_a_browser_that_keeps_no_cookies_is_not_redirected_in_circles(gateway, realm):
    """The provider agrees at once each time; the sign-in stops at a page."""
    class Forgetful(Browser):
        def _store(self, host, line):
            pass

    browser = Forgetful(gateway)
    assert way_on(browser.visit(f"{gateway.origin}/oauth2/start/mock?rd=/x"))
    response = browser.visit(f"http://third.localhost:{gateway.port}/x")
    assert way_on(response)


@pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed")
def test_the_back_button_leads_to_the_provider_and_signing_in_there_again_leads_on(demo, chromium):
    """Chromium: back to the provider's page after the sign-in, and once more through it."""
    there = (
        f"location.href == '{demo.origin}/reports/2026' && document.readyState == 'complete' && "
        "document.body.innerText.includes('Assertion verified')"
    )
    chromium.go(f"{demo.origin}/reports/2026")
    chromium.click("a[href*='/oauth2/start/google']")
    chromium.until(f"!location.href.startsWith('{demo.origin}') && !!document.querySelector('form button')", "the provider")
    chromium.click("form button")
    chromium.until(there, "the app")
    chromium.evaluate("history.back()")
    chromium.until(f"!location.href.startsWith('{demo.origin}') && !!document.querySelector('form button')", "back")
    chromium.click("form button")
    chromium.until(f"location.href.startsWith('{demo.origin}') && document.readyState == 'complete'", "the gateway")
    chromium.until("document.body.innerText.includes('Assertion verified')", "the app, without another question")


@pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed")
def test_a_lost_cookie_ends_on_a_page_with_one_button(demo, chromium):
    """Chromium: the cookies are deleted while the user is at the provider; the button of the page leads to a sign-in."""
    chromium.go(f"{demo.origin}/reports/2027")
    chromium.click("a[href*='/oauth2/start/google']")
    chromium.until(f"!location.href.startsWith('{demo.origin}') && !!document.querySelector('form button')", "the provider")
    chromium.call("Network.clearBrowserCookies")
    chromium.click("form button")
    chromium.until(f"location.pathname.startsWith('/oauth2/callback/') && {LATE_PAGE}", "the page with one button")
    chromium.click("a.button")
    chromium.click("a[href*='/oauth2/start/google']")
    chromium.until(f"!location.href.startsWith('{demo.origin}') && !!document.querySelector('form button')", "the provider")
    chromium.click("form button")
    chromium.until("document.body.innerText.includes('Assertion verified')", "the app")
