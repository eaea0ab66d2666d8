# SPDX-License-Identifier: Apache-2.0
"""`gatehouse demo`: all three providers in turn, by hand and in a real browser."""

import re
import subprocess
import urllib.request

import pytest

from support.browser import Browser, forms, links
from support.chromium import CHROMIUM, CONTRAST, Chromium
from support.demo import Demo, demo as run_demo
from support.gateway import PROGRAM
from support.processes import consecutive_ports, listens

PROVIDERS = ["google", "github", "microsoft"]


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    with Demo(tmp_path_factory.mktemp("demo")) as demo:
        yield demo


def test_the_demo_starts_in_two_seconds_and_prints_one_address(demo):
    assert demo.seconds < 2, demo.seconds
    assert re.findall(r"https?://\S+", demo.process.log) == [demo.origin + "/"]


def choose(browser, provider, path):
    """Requests a page, chooses a provider and a user there; returns the last page."""
    chooser = browser.visit(path)
    assert chooser.status == 200
    link = next(link for link in links(chooser) if f"/oauth2/start/{provider}" in link)
    page = browser.visit(link)
    for _ in range(4):
        if page.url.startswith(browser.gateway.origin) and "/oauth2/" not in page.url:
            return page
        assert forms(page), (page.url, page.text[:500])
        page = browser.submit(page)
    raise AssertionError(browser.history)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_each_provider_signs_in_and_the_app_verifies_it(provider, demo):
    """The user reaches the requested page, sees the identity, signs out and signs in again (A-13)."""
    browser = Browser(demo)
    page = choose(browser, provider, "/reports/2026?month=11")
    assert page.url == demo.origin + "/reports/2026?month=11"
    assert "Assertion verified" in page.text and f"{provider}:" in page.text and "/reports/2026?month=11" in page.text
    profile = browser.send("GET", "/oauth2/userinfo").json
    assert profile["provider"] == provider and profile["user"].startswith(f"{provider}:")
    ticket = browser.ticket()
    out = browser.submit(page, form=len(forms(page)) - 1)
    assert out.status == 200 and browser.ticket() is None, browser.history
    stranger = Browser(demo)
    stranger.cookies = {"localhost": {"gatehouse": ticket}}
    assert stranger.send("GET", "/", navigates=False).status == 401
    again = choose(browser, provider, "/")
    assert "Assertion verified" in again.text and browser.ticket() != ticket


def test_the_chooser_offers_all_three(demo):
    """Known names, one link each."""
    page = Browser(demo).visit("/")
    assert [name in page.text for name in ("Google", "GitHub", "Microsoft")] == [True] * 3
    assert len([link for link in links(page) if "/oauth2/start/" in link]) == 3


def test_a_user_who_denies_is_not_signed_in(demo):
    """The last button of each simulated provider denies."""
    for provider in PROVIDERS:
        browser = Browser(demo)
        page = browser.visit(f"/oauth2/start/{provider}?rd=/")
        response = browser.submit(page, button=-1)
        for _ in range(2):
            if not response.url.startswith(demo.origin) and forms(response):
                response = browser.submit(response)
        assert response.url.startswith(demo.origin) and response.status == 403 and browser.ticket() is None, browser.history


def test_every_account_signs_in(demo):
    """Accounts without email address or name, and with other scripts, too."""
    for provider in PROVIDERS:
        page = Browser(demo).visit(f"{demo.origin}/oauth2/start/{provider}?rd=/")
        for index in range(len(forms(page)[0][3]) - 1):
            browser = Browser(demo)
            response = browser.submit(browser.visit(f"/oauth2/start/{provider}?rd=/"), button=index)
            for _ in range(2):
                if "/oauth2/" not in response.url and not response.url.startswith(demo.origin) and forms(response):
                    response = browser.submit(response)
            assert response.status == 200, (provider, index, response)
            assert "Assertion verified" in response.text, (provider, index)


def test_a_public_page_needs_no_sign_in(demo):
    assert Browser(demo).send("GET", "/public/about").status == 200


def test_the_demo_reports_its_health(demo):
    with urllib.request.urlopen(f"http://127.0.0.1:{demo.operations}/readyz", timeout=5) as response:
        assert response.status == 200


@pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed")
def test_a_real_browser_signs_in_with_each_provider_and_out_again(demo, tmp_path):
    """Chromium: three providers in turn, no console message, no violated content policy."""
    browser = Chromium(tmp_path)
    try:
        for provider in PROVIDERS:
            browser.go(f"{demo.origin}/reports/2026?month=11")
            browser.click(f"a[href*='/oauth2/start/{provider}']")
            browser.click("form button")
            browser.until(
                f"location.href == '{demo.origin}/reports/2026?month=11' && document.readyState == 'complete' && "
                "document.body.innerText.includes('Assertion verified')", f"the app greets a user of {provider}",
            )
            assert browser.evaluate("getComputedStyle(document.body).fontFamily.includes('system-ui')")
            browser.click("form[action='/oauth2/sign_out'] button")
            browser.until(
                "location.pathname == '/oauth2/sign_out' && document.body.innerText.includes('signed out')",
                "signed out",
            )
            assert browser.evaluate("getComputedStyle(document.querySelector('main')).borderRadius"
                                   ) != "0px", ("the style is applied")
        assert browser.errors == []
    finally:
        browser.close()


@pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed")
def test_the_chooser_can_be_used_by_keyboard_and_on_a_phone(demo, tmp_path):
    """Focus order, a visible focus, no sideways scrolling on a narrow screen."""
    browser = Chromium(tmp_path)
    try:
        browser.call("Emulation.setDeviceMetricsOverride", width=320, height=640, deviceScaleFactor=1, mobile=True)
        browser.go(demo.origin + "/")
        browser.until(
            "document.readyState == 'complete' && document.querySelectorAll('a.button').length == 3", "the chooser"
        )
        assert browser.evaluate("document.documentElement.scrollWidth <= 320")
        reached = []
        for _ in range(3):
            for kind in ("keyDown", "keyUp"):
                browser.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
            reached.append(browser.evaluate("document.activeElement.href.match(/start.([a-z]+)/)[1]"))
            assert browser.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
        assert sorted(reached) == sorted(PROVIDERS)
        assert browser.evaluate("document.documentElement.lang") == "en"
        assert browser.errors == []
    finally:
        browser.close()


def test_a_port_in_use_is_reported(demo):
    """A clear message and exit code 1."""
    result = subprocess.run([PROGRAM, "demo", "--port", str(demo.port)], capture_output=True, text=True, timeout=30)
    assert result.returncode == 1 and str(demo.port) in result.stderr, result.stderr
    assert listens(demo.port)


def test_z_10_an_unknown_provider_is_reported_with_the_known_ones():
    result = run_demo("--provider", "nope")
    assert result.returncode == 2
    assert "there is no simulated provider 'nope'" in result.stderr
    assert "the providers are google, github, microsoft, apple, " in result.stderr and "or all" in result.stderr


def test_z_10_the_providers_can_have_fixed_ports(tmp_path):
    """So one SSH connection can forward all that a browser needs."""
    port = consecutive_ports(2)
    with Demo(tmp_path, "--provider", "google", "--provider", "github", "--provider-port", port) as demo:
        pages = [Browser(demo).begin(provider) for provider in ("google", "github")]
        assert [page.split("/")[2] for page in pages] == [f"localhost:{port}", f"localhost:{port + 1}"]
        assert demo.sign_in("google", "ada").page.status == 200
        forwarded = " ".join(f"-L {number}:localhost:{number}" for number in (demo.port, port, port + 1))
        assert f"ssh {forwarded} " in demo.process.log
        result = run_demo("--port", str(consecutive_ports(1)), "--provider-port", str(port))
        assert result.returncode == 1 and f"port {port} for the pages of google" in result.stderr
    result = run_demo("--port", "9001", "--provider-port", "9000")
    assert result.returncode == 2 and "must not include --port" in result.stderr


@pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed")
def test_z_10_the_pages_are_readable_in_dark_mode_and_on_a_phone(demo, tmp_path):
    """WCAG 2.2: text has a contrast of 4.5 in either scheme; at 390 px a value has the whole line."""
    chromium = Chromium(tmp_path)
    try:
        chromium.call("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1, mobile=True)
        for scheme in ("dark", "light"):
            media = [{"name": "prefers-color-scheme", "value": scheme}]
            chromium.call("Emulation.setEmulatedMedia", features=media)
            for provider in PROVIDERS:
                chromium.go(f"{demo.origin}/oauth2/start/{provider}?rd=/")
                chromium.until("document.readyState == 'complete' && !!document.querySelector('form button')", provider)
                worst = chromium.evaluate(CONTRAST)
                assert len(worst) > 5 and worst[0][0] >= 4.5, (scheme, provider, worst[:3])
                assert chromium.evaluate("document.documentElement.scrollWidth <= 390")
            chromium.click("form button")
            chromium.until("document.body.innerText.includes('Assertion verified')", "the sample app")
            worst = chromium.evaluate(CONTRAST)
            assert len(worst) > 20 and worst[0][0] >= 4.5, (scheme, worst[:3])
            assert chromium.evaluate("document.documentElement.scrollWidth <= 390")
            widths = "[...document.querySelectorAll('td, th')].map(cell => cell.getBoundingClientRect().width)"
            assert min(chromium.evaluate(widths)) > 300
            chromium.click("form[action='/oauth2/sign_out'] button")
            chromium.until("document.body.innerText.includes('signed out')", "signed out")
    finally:
        chromium.close()
