# SPDX-License-Identifier: Apache-2.0
"""Chromium with every character that the WHATWG URL standard leaves as it is, and forms of other sites."""

import json
import re

import pytest

from harness.clients import AppBrowser, browses
from support.upstream import Upstream, responds

PRINTABLE = [chr(code) for code in range(0x21, 0x7F) if not chr(code).isalnum()] + ["a"]
#: `#` begins a fragment, `?` a query; `/` and `\\` separate segments; a `%` that begins no escape is as it is.
IN_PATH = [one
           for one in PRINTABLE if one not in "#?/\\%"] + ["%25", "%20", " ", "é", "€", "%E2%82%AC", "%2e%2E", "%7e"]
IN_QUERY = [one for one in PRINTABLE if one not in "#"] + [" ", "é", "%", "%zz", "%2f", "??"]


class App(Upstream):
    """Pages at every path; the title of a page is its target."""
    def __init__(self):
        super().__init__()
        self.script("", self.page)

    @staticmethod
    def page(connection, request):
        connection.body(request)
        body = f"<!doctype html><title>page</title><p>{request.method}<pre>{request.length}</pre>".encode()
        connection.send(
            b"HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\nContent-Type: text/html\r\n"
            b"Cache-Control: no-store\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
        )
        return True


@pytest.fixture(scope="module")
def app():
    made = App()
    yield made
    made.close()


def fetches(app, urls, folder):
    """A client that fetches URLs from a page in Chromium; gives the statuses and the targets that arrived."""
    def client(url, fields):
        def act(browser):
            browser.until("document.title === 'page'", "the page")
            before = len(app.requests)
            # `until` asks until there is a true value; a fetch is a promise.
            browser.evaluate(
                "window.done = null; (async () => { const out = []; for (const url of " + json.dumps(urls) + ") {"
                " try { out.push((await fetch(url)).status) } catch (error) { out.push(String(error)) } }"
                " window.done = out })(); 0"
            )
            statuses = browser.until("window.done", "all are fetched")
            return {
                "statuses": statuses, "targets":
                [one.target for one in app.requests[before:] if "favicon" not in one.target]
            }

        return browses(folder, "/start", act)(url, fields)

    return client


def expected(target):
    """The gateway's spelling of a target: what RFC 3986 does not admit is escaped, and unreserved escapes are not."""
    escape = lambda text: "".join("%%%02X" % ord(one) if one in '"<>\\^`{|}' else one for one in text)
    path, mark, query = target.partition("?")
    plain = re.sub(
        "%(2[dD]|2[eE]|3[0-9]|4[1-9a-fA-F]|5[0-9aA]|5[fF]|6[1-9a-fA-F]|7[0-9aA]|7[eE])",
        lambda found: chr(int(found[1], 16)), escape(path)
    )
    return plain + mark + escape(query)


@pytest.mark.parametrize("place", ["path", "query"])
def test_y_01_every_character_that_chromium_leaves_raw(front, app, place, tmp_path):
    """One spelling arrives at the app, the same for what Chromium escapes and what it leaves."""
    urls = [f"/x{one}y" for one in IN_PATH] if place == "path" else [f"/q?a={one}b" for one in IN_QUERY]
    seen = {}

    def client(url, fields):
        found = fetches(app, urls, tmp_path)(url, fields)
        seen["through" if fields else "direct"] = found["value"].pop("targets")
        return found

    front.both(client)
    assert seen["through"] == [expected(target) for target in seen["direct"]]


def test_y_01_a_link_with_raw_characters_before_the_sign_in(fronts, app, tmp_path):
    """A user opens a link of Grafana without a session, signs in, and ends at that link, fragment included."""
    front = fronts("chromium-link", app.port, http2=True)
    with AppBrowser(tmp_path, front.url) as browser:
        browser.go("/d/abc?var-host=a|b&left={\"expr\":\"`up`^2\"}#panel-{1}|2")
        browser.until("document.title === 'page'", "the page")
        there = browser.evaluate("location.pathname + location.search + location.hash")
    canonical = "/d/abc?var-host=a%7Cb&left=%7B%22expr%22:%22%60up%60%5E2%22%7D"
    assert there == f"{canonical}#panel-{{1}}|2"
    assert app.requests[-1].target in (canonical, "/favicon.ico")


def form(action):
    """A page that posts a form to another origin when it loads, as an identity provider of SAML does."""
    return (
        f"<form method=post action='{action}'><input name=SAMLResponse value='PHNhbWw+'><input name=RelayState value='a|b'>"
        "</form><script>document.forms[0].submit()</script>"
    )


@pytest.fixture
def sister():
    """A site on a sister host of the gateway."""
    upstream = Upstream()
    yield upstream
    upstream.close()


def posts(front, sister, folder):
    """Chromium opens a page of a sister host, which posts to the app; gives the text of the page at the end."""
    page = form(f"{front.origin}/acs").encode()
    sister.script(
        "", responds(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s" % (len(page), page))
    )
    with AppBrowser(folder, front.origin) as browser:
        browser.sign_in("/")
        browser.until("document.title === 'page'", "the app")
        browser.open(f"http://idp.corp.localhost:{sister.port}/")
        browser.until("location.href.includes('/acs') && document.readyState === 'complete'", "the form is posted")
        return browser.evaluate("document.body.innerText")


def test_y_08_a_form_of_a_sister_host_is_rejected(fronts, app, sister, tmp_path):
    """Without a switch a POST of a page on another origin does not reach the app, though its cookies come along."""
    front = fronts("chromium-form", app.port, host="gate.corp.localhost")
    before = len(app.seen("POST /acs"))
    posts(front, sister, tmp_path)
    assert len(app.seen("POST /acs")) == before


def test_y_08_a_form_of_a_listed_origin_arrives(fronts, app, sister, tmp_path):
    """The response of an identity provider on a sister host, `RelayState` included."""
    front = fronts("chromium-saml", app.port, {"origins": [f"http://idp.corp.localhost:{sister.port}"]}, host="gate.corp.localhost")
    before = len(app.seen("POST /acs"))
    assert "POST" in posts(front, sister, tmp_path)
    arrived = app.seen("POST /acs")[before]
    assert arrived.body == b"SAMLResponse=PHNhbWw%2B&RelayState=a%7Cb" and arrived.get("x-forwarded-user") == "mock:ada"
