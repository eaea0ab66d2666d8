# SPDX-License-Identifier: Apache-2.0
"""After a sign-in and a sign-out the browser stays on this site (A-01 to A-05, A-53)."""

import random
import string
from urllib.parse import quote, urlencode, urlsplit

import pytest

from support.browser import Browser, links

MUST_FAIL = [
    "//e", "///e", "////e/%2e%2e", "/\\e", "\\/\\/e", "/\t/e", "/%5ce", "/%2f%2fe", "/ /e", "/\t\\e", "/\v/e", "/\n/e",
    "/\r\\e", "/./\\e", "/./../../\\e", "http:e", "http:0xd8.0x3a.0xd6.0xce", "https:/\\e", "https:///e/%2e%2e",
    "https://good@e", "https://good.evil.tld", "http://e%2f%2f.good/", "http://e%23.good", "http://e\tgood/",
    "http://3627734734", "http://00330.3856078", "http://[::ffff:1.2.3.4]", "javascript:alert(1)",
    "javascript:%0dalert(1)", "data:text/html,x", "\u3031e", "\u3035e", "\u3002e", "@e", ".e", "<>//e", "?url=//e",
    "https://evil", "/%09/evil.com", "/%0a/evil.com", "/%0b\\evil", "/\\evil.com", "/../\\evil.com", "/..//evil.com",
    "/%2e%2e//evil", "/%2f/evil", "/a/..//evil", "/%5cevil", "https://badgate.localhost", "http://gate.localhost.evil",
    "/%00", "/a%0d%0aLocation:%20http://evil", "/a#b", "", " /x", "x", "/%", "/%zz", "%2f%2fevil",
]
WELL_FORMED = ["/", "/a", "/a/b?c=d", "/a?b=//c", "/caf%C3%A9", "/a?next=http://x"]


def same_site(location, browser):
    """Whether a `Location` leads nowhere else, as any browser would read it."""
    parts = urlsplit(location)
    own = urlsplit(browser.gateway.origin)
    clean = not any(ord(character) < 0x21 or ord(character) > 0x7E for character in location) and "\\" not in location
    return clean and (parts.scheme, parts.netloc) == (own.scheme, own.netloc) and not parts.path.startswith("//")


@pytest.mark.parametrize("target", MUST_FAIL, ids=lambda text: ascii(text[:40]))
def test_an_off_site_target_becomes_the_front_page_after_sign_in(target, gateway, realm):
    """A-01 A-02 A-03 A-04 A-05: whatever `rd` is, the last redirect leads to this site."""
    browser = Browser(gateway)
    address = browser.begin("mock", target)
    response = browser.send("GET", browser.authorize(address))
    assert response.status == 303
    location = response.get("location")
    assert same_site(location, browser), location
    assert urlsplit(location).path in ("/", "/a") and "evil" not in location, location


@pytest.mark.parametrize("target", WELL_FORMED)
def test_a_target_on_this_site_is_reached_after_sign_in(target, gateway, realm):
    """A-01: the requested target is reached."""
    browser = Browser(gateway)
    response = browser.send("GET", browser.authorize(browser.begin("mock", target)))
    assert response.get("location") == gateway.origin + target


@pytest.mark.parametrize("target", MUST_FAIL, ids=lambda text: ascii(text[:40]))
def test_an_off_site_target_is_ignored_at_sign_out_and_on_the_page(target, gateway):
    """A-53: sign-out and the sign-in page do not lead away either."""
    browser = Browser(gateway)
    response = browser.send("POST", "/oauth2/sign_out?" + urlencode({"rd": target}), body={})
    assert response.status == 303 and same_site(response.get("location"), browser), response.get("location")
    page = browser.send("GET", "/oauth2/sign_in?" + urlencode({"rd": target}))
    assert page.status == 200 and "evil" not in page.text
    assert f"rd={quote(target, safe='')}" not in page.text or target in ("/a", "")


@pytest.mark.parametrize(
    "query", ["rd=/a&rd=//evil", "rd=//evil&rd=/a", "rd", "rd=&rd=", "url=//evil", "rd=/%252f%252fevil"]
)
def test_a_malformed_query_leads_to_this_site(query, gateway, realm):
    """A-01: repeated, empty and doubly escaped parameters."""
    browser = Browser(gateway)
    response = browser.send("GET", f"/oauth2/start/mock?{query}")
    if response.status == 303 and response.get("location").startswith(realm.issuer):
        response = browser.send("GET", browser.authorize(response.get("location")))
        assert same_site(response.get("location"), browser) and "//evil" not in response.get("location")
    else:
        assert response.status == 400


@pytest.mark.parametrize("host", ["evil.example", "gate.localhost.evil", "127.0.0.1", "localhost"])
def test_the_host_of_a_request_is_in_no_redirect(host, gateway, realm):
    """K-04 K-08: an unknown host gets no sign-in at all."""
    browser = Browser(gateway)
    for path in ("/", "/oauth2/start/mock", "/oauth2/sign_in", "/oauth2/callback/mock?state=x&code=y"):
        response = browser.send("GET", path, fields={"Host": host})
        assert response.status == 404 and not response.all("location") and not response.all("set-cookie"), response


def test_the_port_of_a_request_is_in_no_redirect(gateway):
    """A-34 K-04: the URL comes from the configuration."""
    response = Browser(gateway).send("GET", "/protected", fields={"Host": "gate.localhost:1"})
    assert response.status == 303 and response.get("location").startswith(gateway.origin + "/")


@pytest.mark.parametrize(
    "path", [
        "/%2Fx", "/%5Cx", "/a%2F%2Fevil.example", "/graph?g0.expr=sum(%0A%20%20rate(x%5B5m%5D)%0A)",
        "/note?description=line1%0D%0Aline2", "/settings/clusters/https%3A%2F%2Fkubernetes.default.svc", "/x?y=%zz&z=%00",
    ]
)
def test_g_01_what_routing_accepts_is_reached_byte_for_byte_after_the_sign_in(path, gateway, realm, app):
    """G-01: on a host of an app, and with a query on the gateway's; with a session the same URL goes to the app at once."""
    origins = [f"http://third.localhost:{gateway.port}"] + ([gateway.origin] if "?" in path else [])
    for origin in origins:
        browser = Browser(gateway)
        response = browser.visit(origin + path, stop=lambda url: "/oauth2/sign_in" in url)
        if response.status == 303:
            response = browser.visit(next(link for link in links(browser.send("GET", response.next)) if "/start/mock" in link))
        assert response.status == 200 and response.url == origin + path, browser.history
        assert app.seen(path)[-1].get("X-Forwarded-User") == "mock:ada"
        assert browser.send("GET", origin + path).status == 200


def test_g_01_b_01_a_dropped_link_is_named_on_the_page_and_in_the_log(gateway, realm):
    """A cookie that is gone: the page names it, and leads to the app."""
    browser = Browser(gateway)
    host = "third.localhost"
    path = "/dashboard?state=" + "".join(chr(97 + number * number % 26) for number in range(3000))
    response = browser.visit(f"http://{host}:{gateway.port}{path}", stop=lambda url: "/oauth2/handover?code=" in url)
    for name in [name for name in browser.cookies[host] if name.startswith("gatehouse-return-")]:
        del browser.cookies[host][name]
    page = browser.visit(response.next)
    assert page.status == 400 and "signin.return_lost" in page.text
    assert f"http://{host}:{gateway.port}/" in links(page)
    assert "signin.return_lost" in gateway.log


@pytest.mark.parametrize("length", [600, 1500, 3000, 5000])
def test_b_01_a_long_url_without_any_order_is_reached_through_either_gateway(length, gateway, realm, app):
    """B-01: the browser has it, not one process; `--fleet` runs this with two gateways that an nginx picks at random."""
    letters = random.Random(length)
    for origin in (gateway.origin, f"http://third.localhost:{gateway.port}"):
        path = "/b01?q=" + "".join(letters.choices(string.ascii_letters + string.digits, k=length))
        browser = Browser(gateway)
        response = browser.visit(origin + path, stop=lambda url: "/oauth2/sign_in" in url)
        if response.status == 303:
            response = browser.visit(next(link for link in links(browser.send("GET", response.next)) if "/start/mock" in link))
        assert response.status == 200 and response.url == origin + path, browser.history
        assert not any("gatehouse-return-" in name for jar in browser.cookies.values() for name in jar)


@pytest.mark.parametrize("length", [512, 1280, 1281, 4000, 8000])
def test_w_06_a_long_url_is_reached_after_the_sign_in(length, gateway, realm, app):
    """W-06: links of Kibana and Grafana; characters that percent-encoding triples, on both kinds of host."""
    for origin in (gateway.origin, f"http://own.localhost:{gateway.port}"):
        path = "/w06?q=" + ("(a:'b',c:!t)%22|" * 600).replace("|", "!")[:length - 7].rstrip("%2")
        browser = Browser(gateway)
        response = browser.visit(origin + path, stop=lambda url: "/oauth2/sign_in" in url)
        if response.status == 303:
            query = dict(part.split("=", 1) for part in urlsplit(response.next).query.split("&"))
            response = browser.visit(f"/oauth2/start/mock?rd={query['rd']}")
        assert response.status == 200 and response.url == origin + path, browser.history
        assert app.seen(path)[-1].get("X-Forwarded-User") == "mock:ada"


def test_g_03_a_form_without_a_session_ends_on_a_page_that_leads_back_to_it(gateway, realm, app):
    """G-03: the app gets nothing, and the button of the page leads to the sign-in and to the page with the form."""
    browser = Browser(gateway)
    origin = f"http://third.localhost:{gateway.port}"
    page = browser.send("POST", f"{origin}/save", body={"text": "x"}, fields={"Referer": f"{origin}/edit%2F1?tab=a"})
    assert page.status == 401 and "signin.form_not_sent" in page.text and not page.all("set-cookie")
    assert page.get("www-authenticate") and not app.seen("POST /save")
    assert browser.visit(links(page)[0]).url == f"{origin}/edit%2F1?tab=a"
    assert app.seen("/edit%2F1?tab=a")[-1].get("X-Forwarded-User") == "mock:ada"
