# SPDX-License-Identifier: Apache-2.0
"""Each page that a user can see, in a real browser: accessibility, HTML, width, keyboard, languages, the brand of the operator."""

import hashlib
import re
import secrets
import subprocess
from urllib.parse import urlsplit

import pytest

from support.accounts import PASSWORD, add, follow
from support.browser import Browser, forms
from support.chromium import CHROMIUM
from support.gallery import Gallery, axe, html_errors, violations
from support.gateway import Gateway, oidc, run
from support.processes import eventually, free_port
from support.raw import request

PNG = b"\x89PNG\r\n\x1a\n"
pytestmark = pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed")


@pytest.fixture(scope="module")
def gallery(tmp_path_factory):
    with Gallery(tmp_path_factory.mktemp("gallery")) as gallery:
        yield gallery


@pytest.fixture(scope="module")
def source():
    return axe()


@pytest.fixture
def gateway(gallery):
    return gallery.gateway


@pytest.fixture
def user(gateway):
    browser = Browser(gateway)
    assert browser.sign_in("staff", "/wiki/").status == 200
    return browser


# The words of buttons that are on several lines.
BROKEN_WORDS = """[...document.querySelectorAll('.button')].flatMap(button => {
    const texts = document.createTreeWalker(button, NodeFilter.SHOW_TEXT), broken = [];
    for (let text = texts.nextNode(); text; text = texts.nextNode()) {
        for (const word of text.data.matchAll(/\\S+/g)) {
            const range = new Range();
            range.setStart(text, word.index);
            range.setEnd(text, word.index + word[0].length);
            if (new Set([...range.getClientRects()].map(line => line.top)).size > 1) broken.push(word[0]);
        }
    }
    return broken;
})"""

LOOKS = [("light", 1000, "en"), ("dark", 390, "en"), ("light", 360, "de"), ("dark", 1000, "fr"), ("light", 360, "ar"), ("light", 360, "es")]


@pytest.mark.parametrize("look", LOOKS, ids=lambda look: "-".join(map(str, look)))
def test_each_page_is_accessible_valid_and_fits(gallery, source, look):
    """WCAG 2.2 AA by axe-core, the HTML standard by html5lib, no error of the console, nothing wider than the screen or too low for a thumb."""
    scheme, width, language = look
    seen = []
    with gallery.looks(scheme, width, language):
        gallery.browser.errors.clear()
        for name in gallery.pages():
            page = gallery.browser.evaluate("document.documentElement.outerHTML")
            assert html_errors("<!DOCTYPE html>" + page) == [], name
            assert violations(gallery.browser, source) == [], name
            assert gallery.browser.evaluate("document.documentElement.scrollWidth") <= width, name
            assert gallery.browser.evaluate("document.documentElement.lang") == language, name
            low = gallery.browser.evaluate("Math.min(...[...document.querySelectorAll('.button, .app')].map(b => b.offsetHeight))")
            assert (low or 44) >= 44, name
            assert gallery.browser.evaluate(BROKEN_WORDS) == [], name
            direction = gallery.browser.evaluate("getComputedStyle(document.body).direction")
            assert direction == ("rtl" if language == "ar" else "ltr"), name
            seen.append(name)
    assert len(seen) == len(set(seen)) == 36
    errors = [error for error in gallery.browser.errors if "status of" not in error.get("text", "")]
    assert errors == []


def test_a_user_with_a_keyboard_only_and_without_scripts_signs_in_and_out(gallery):
    browser = gallery.browser

    def press(key, text=""):
        for kind in ("keyDown", "keyUp"):
            browser.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode={"Tab": 9, "Enter": 13}[key],
                         **({"text": text} if text and kind == "keyDown" else {}))

    browser.call("Network.clearBrowserCookies")
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        gallery.go("/oauth2/sign_in?rd=/oauth2/account")
        press("Tab")
        assert browser.evaluate("document.activeElement.innerText") == "Staff directory"
        outline = browser.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid"
        loads = browser.loads
        press("Enter", "\r")
        browser.until_loaded(loads)
        assert browser.evaluate("document.querySelector('h1').innerText") == "Your account"
        for _ in range(10):
            press("Tab")
            if browser.evaluate("document.activeElement.innerText") == "Sign out":
                break
        loads = browser.loads
        press("Enter", "\r")
        browser.until_loaded(loads)
        assert browser.evaluate("document.querySelector('h1').innerText") == "You are signed out"
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)


# The sign-in page


def test_the_sign_in_page_names_app_and_organization_and_is_small(gateway):
    page = Browser(gateway).send("GET", "/oauth2/sign_in?rd=/wiki/page")
    assert page.status == 200 and "to continue to <strong>Team wiki</strong>" in page.text and len(page.text) < 12 << 10
    assert "<title>Sign in · Acme</title>" in page.text and "mailto:help@example.com" in page.text
    for path in re.findall(r'(?:src|href)="(/oauth2/(?:pictures|style)[^"]*)"', page.text):
        asset = request(gateway.port, path, host=gateway.host)
        assert asset.status == 200 and asset.get("cache-control") == "public, max-age=31536000, immutable"
        assert asset.get("x-content-type-options") == "nosniff" and "sandbox" in asset.get("content-security-policy")


def test_the_provider_that_was_used_last_comes_first(gateway):
    browser = Browser(gateway)

    def names():
        return re.findall(r"<span>(Staff directory|Partners)</span>", browser.send("GET", "/oauth2/sign_in?rd=/wiki/").text)

    assert names() == ["Staff directory", "Partners"]
    browser.sign_in("partner", "/wiki/")
    assert names() == ["Partners", "Staff directory"]
    cookie = next(line for _, line in browser.set_cookies if line.startswith("gatehouse-provider="))
    assert cookie == "gatehouse-provider=cGFydG5lcg; Max-Age=34560000; Path=/; HttpOnly; SameSite=Lax"
    browser.cookies[gateway.host]["gatehouse-provider"] = "<script>"
    assert names() == ["Staff directory", "Partners"]


def test_a_local_account_links_its_password_from_the_account_page(gateway, user):
    assert "/oauth2/credentials" not in user.send("GET", "/oauth2/account").text
    add(gateway, "mary@example.com")
    browser = Browser(gateway)
    page = browser.visit("/oauth2/start/local?rd=/oauth2/account")
    method, action, hidden, _ = forms(page)[0]
    assert method == "POST"
    page = follow(browser, browser.send("POST", action, {**hidden, "username": "mary@example.com", "password": PASSWORD}))
    assert "<h1>Your account</h1>" in page.text and 'href="' + gateway.origin + '/oauth2/credentials"' in page.text


def test_an_email_address_leads_to_the_provider_of_its_domain(gallery, gateway):
    browser = Browser(gateway)
    response = browser.send("GET", "/oauth2/sign_in?rd=/wiki/&email=Bob%40Example.com")
    assert response.status == 303
    start = urlsplit(response.get("location"))
    assert start.path == "/oauth2/start/staff" and "login_hint=Bob%40example.com" in start.query
    browser.send("GET", response.get("location"))
    assert browser.set_cookies
    page = browser.visit(response.get("location"))
    asked = [query for query in gallery.provider.realm("staff").requests if query["path"] == "authorize"][-1]["query"]
    assert page.status == 200 and asked["login_hint"] == "Bob@example.com" and page.url == gateway.origin + "/wiki/"


@pytest.mark.parametrize("email", ["a@other.example", "example.com", "a@b@example.com", "a@example.com.evil.example", "%3Cscript%3E@x"])
def test_an_email_address_without_a_provider_stays_on_the_page(gateway, email):
    page = Browser(gateway).send("GET", f"/oauth2/sign_in?rd=/wiki/&email={email}")
    assert page.status == 200 and "No sign-in service is set up for this email address" in page.text
    assert "<script" not in page.text


def test_a_typed_email_address_does_not_replace_the_hint_of_the_file(gallery, gateway):
    """The provider `partner` has `login_hint` among its parameters."""
    for name, hint in (("partner", "all@partner.example"), ("staff", "bob@example.com")):
        Browser(gateway).visit(f"/oauth2/start/{name}?rd=/wiki/&login_hint=bob%40example.com")
        asked = [query for query in gallery.provider.realm(name).requests if query["path"] == "authorize"][-1]["query"]
        assert asked["login_hint"] == hint


def test_a_hint_in_a_link_must_be_an_email_address(gallery, gateway):
    Browser(gateway).visit("/oauth2/start/staff?rd=/wiki/&login_hint=%0d%0aset-cookie:x")
    asked = [query for query in gallery.provider.realm("staff").requests if query["path"] == "authorize"][-1]["query"]
    assert "login_hint" not in asked


# Pictures and styles


def served(tmp_path, provider_server, certificates, picture, style=b""):
    """A gateway over TLS with one picture and a style sheet of the operator."""
    (tmp_path / "logo.png").write_bytes(picture)
    (tmp_path / "own.css").write_bytes(style)
    certificate, key = certificates["gate"]
    port = free_port()
    tls = [{"certificate": certificate, "private_key": key}]
    gateway = Gateway(
        tmp_path, {"mock": oidc(provider_server.realm("mock").issuer)}, {"a": {"upstream": "http://127.0.0.1:9", "allow": "signed_in"}},
        listeners=[{"address": f"127.0.0.1:{port}", "tls": tls}],
    )
    gateway.configuration["pages"] = {"logo": "logo.png", "style": "own.css"}
    return gateway, port


def test_a_large_picture_is_whole_over_http_1_and_http_2(tmp_path, provider_server, certificates):
    """Its bytes are shared between responses: each gets all of them, a HEAD request none."""
    picture = PNG + secrets.token_bytes((256 << 10) - len(PNG))
    style = b"/*" + b"x" * 60_000 + b"*/"
    gateway, port = served(tmp_path, provider_server, certificates, picture, style)
    path = f"/oauth2/pictures/{hashlib.sha256(picture).hexdigest()[:12]}.png"
    with gateway:
        for version in ("--http1.1", "--http2"):
            def curl(*arguments, version=version):
                command = ["curl", "-sk", version, "--resolve", f"gate.localhost:{port}:127.0.0.1", "-m", "20", *arguments]
                return subprocess.run(command, capture_output=True, timeout=30, check=True).stdout

            origin = f"https://gate.localhost:{port}"
            assert curl(origin + path, origin + path) == picture * 2
            assert curl(origin + "/oauth2/style.css").endswith(style)
            head = curl("-I", origin + path).decode().lower()
            assert " 200" in head and f"content-length: {len(picture)}" in head and "content-type: image/png" in head
        assert request(gateway.port, path[:-4] + ".svg", host=gateway.host).status == 404


@pytest.mark.parametrize("picture, style, message", [
    (PNG + b"x" * (256 << 10), b"", "logo.png' is larger than 256 KiB"), (b"GIF89a", b"", "logo.png' is not SVG, PNG, JPEG or WebP"),
    (PNG, b"x" * (64 << 10) + b"x", "own.css' is larger than 64 KiB"), (PNG, b"\xff", "own.css' is not UTF-8"),
], ids=["large picture", "other format", "large style", "no text"])
def test_check_rejects_what_serve_would(tmp_path, provider_server, certificates, picture, style, message):
    gateway, _ = served(tmp_path, provider_server, certificates, picture, style)
    gateway.write()
    result = run("check", "--config", gateway.path, cwd=tmp_path)
    assert result.returncode == 1 and message in result.stderr, result.stderr


def test_a_changed_picture_is_served_and_a_broken_one_is_not(tmp_path, provider_server, certificates):
    """Files that the configuration names are watched, and read again at a reload; a failed one changes nothing."""
    gateway, _ = served(tmp_path, provider_server, certificates, PNG + b"first")

    def logo():
        page = request(gateway.port, "/oauth2/nothing", host=gateway.host, fields=[("Accept", "text/html")])
        return re.search(r'<img src="([^"]+)"', page.text)[1]

    def address(picture):
        return f"/oauth2/pictures/{hashlib.sha256(picture).hexdigest()[:12]}.png"

    with gateway:
        assert logo() == address(PNG + b"first")
        (tmp_path / "logo.png").write_bytes(PNG + b"second")
        eventually(lambda: logo() == address(PNG + b"second"), "the new logo is served")
        (tmp_path / "logo.png").write_bytes(b"no picture")
        eventually(lambda: gateway.metric('gatehouse_reloads_total{result="failed"}') == 1, "the reload failed")
        assert logo() == address(PNG + b"second")
        (tmp_path / "logo.png").write_bytes(PNG + b"third")
        eventually(lambda: logo() == address(PNG + b"third"), "the corrected logo is served")


def test_a_corrected_template_is_used(tmp_path, provider_server, certificates):
    gateway, _ = served(tmp_path, provider_server, certificates, PNG)
    template = tmp_path / "templates" / "error.mustache"
    template.parent.mkdir()
    template.write_text("<p>one</p>")
    gateway.configuration["pages"]["templates"] = "templates"

    def shows(text):
        page = request(gateway.port, "/oauth2/nothing", host=gateway.host, fields=[("Accept", "text/html")])
        return f"<p>{text}</p>" in page.text

    with gateway:
        assert shows("one")
        template.write_text("<p>{{{text}}}</p>")
        eventually(lambda: gateway.metric('gatehouse_reloads_total{result="failed"}') == 1, "the reload failed")
        assert shows("one") and "error.mustache:1:4: '{{{text}}' would insert bytes unescaped" in gateway.log
        template.write_text("<p>two</p>")
        eventually(lambda: shows("two"), "the corrected template is used")


# The apps and the account


def test_the_list_of_apps_follows_the_policy(gateway, user):
    page = user.send("GET", "/oauth2/apps")
    names = re.findall(r"<strong>([^<]*)</strong>(?:<small|</span)", page.text)
    assert names == ["Tickets", "Hours", "Canteen", "Team wiki", "Handbook", "Grafana", "Builds", "Payroll"]
    assert "Needs Partners" in page.text and "Secret plans" not in page.text and "Closed shop" not in page.text
    found = user.send("GET", "/oauth2/apps", navigates=False).json["apps"]
    pay = next(app for app in found if app["name"] == "pay")
    assert pay == {
        "name": "pay", "title": "Payroll", "url": f"{gateway.origin}/pay", "description": "Your payslips", "needs": ["Partners"]
    }
    assert len(found) == 8 and all("needs" not in app for app in found if app["name"] != "pay")


def test_the_search_finds_names_descriptions_and_headings(user):
    def found(query):
        return re.findall(r"<strong>([^<]*)</strong>(?:<small|</span)", user.send("GET", f"/oauth2/apps?q={query}").text)

    assert found("WIKI") == ["Team wiki"] and found("knowledge+work") == ["Handbook"] and found("payslips") == ["Payroll"]
    page = user.send("GET", "/oauth2/apps?q=%22%3E%3Cscript%3E").text
    assert "<script" not in page and "No app matches this search." in page and 'value="&quot;&gt;&lt;script&gt;"' in page


def test_the_account_page_shows_what_apps_get(user):
    page = user.send("GET", "/oauth2/account").text
    for fact in ("Ada Example", "ada@example.com", "Staff directory", "<code>staff:ada</code>", "<li>on-call</li>"):
        assert fact in page
    assert page.count("This browser") == 1


def test_a_user_ends_a_session_in_another_browser(gateway, user):
    other = Browser(gateway)
    other.sign_in("staff", "/wiki/")
    page = user.send("GET", "/oauth2/account").text
    for session in re.findall(r'name="session" value="([^"]+)"', page):
        response = user.send("POST", "/oauth2/account", {"session": session})
        assert response.status == 303 and response.get("location") == f"{gateway.origin}/oauth2/account?ended=1"
    assert other.send("GET", "/oauth2/userinfo", navigates=False).status == 401
    assert user.send("GET", "/oauth2/userinfo", navigates=False).status == 200
    page = user.send("GET", "/oauth2/account?ended=1").text
    assert "The session has ended." in page and 'name="session"' not in page
    assert 'by="account page"' in gateway.log


def test_a_session_of_another_user_cannot_be_ended(gallery, gateway, user):
    realm = gallery.provider.realm("staff")
    ada = realm.user
    realm.user = {**ada, "sub": "eve", "name": "Eve"}
    try:
        eve = Browser(gateway)
        eve.sign_in("staff", "/wiki/")
    finally:
        realm.user = ada
    other = Browser(gateway)
    other.sign_in("staff", "/wiki/")
    session = re.search(r'name="session" value="([^"]+)"', user.send("GET", "/oauth2/account").text)[1]
    response = eve.send("POST", "/oauth2/account", {"session": session})
    assert response.status == 303 and response.get("location") == f"{gateway.origin}/oauth2/account"
    assert other.send("GET", "/oauth2/userinfo", navigates=False).status == 200
    assert "Eve" in eve.send("GET", "/oauth2/account").text


def test_another_site_cannot_end_a_session(gateway, user):
    response = user.send("POST", "/oauth2/account", {"session": "x"}, fields={"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"})
    assert response.status == 403


def test_the_account_asks_for_a_sign_in_and_comes_back(gateway):
    browser = Browser(gateway)
    response = browser.send("GET", "/oauth2/account")
    assert response.status == 303 and response.get("location") == f"{gateway.origin}/oauth2/sign_in?rd=%2Foauth2%2Faccount"
    assert request(gateway.port, "/oauth2/account", host=gateway.host).status == 401


# Failures


@pytest.mark.parametrize("path, title, buttons", [
    ("/secret/", "You may not open Secret plans", ["sign_in", "sign_out", "apps"]),
    ("/closed/", "This app is being worked on", ["closed/", "apps"]),
    ("/down/x?y=1", "The app does not respond", ["down/x?y=1", "apps"]),
    ("/oauth2/nothing", "Page not found", ["apps"]),
])
def test_a_page_about_a_failure_has_a_button_that_helps(gateway, user, path, title, buttons):
    page = user.send("GET", path).text
    assert f"<h1>{title}</h1>" in page and "Help: " in page
    links = re.findall(r'<a class="button" href="([^"]+)"', page)
    assert [link.split("?rd=")[0].rpartition("/oauth2/")[2].removeprefix(gateway.origin + "/") for link in links] == buttons


@pytest.mark.parametrize("language, title", [
    ("de", "Sie dürfen Secret plans nicht öffnen"), ("fr-CH, fr;q=0.9", "Vous ne pouvez pas ouvrir Secret plans"),
    ("es", "No puedes abrir Secret plans"), ("ar", "لا يمكنك فتح Secret plans"), ("ja", "You may not open Secret plans"),
])
def test_failures_speak_the_language_of_the_browser(user, language, title):
    page = user.send("GET", "/secret/", fields={"Accept-Language": language})
    assert f"<h1>{title}</h1>" in page.text and page.get("cache-control") == "no-store"
