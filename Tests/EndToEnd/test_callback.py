# SPDX-License-Identifier: Apache-2.0
"""The callback: which browser may end an attempt, and how (A-33, A-36, A-50, T-01 to T-17)."""

import threading
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from support.browser import Browser
from support.provider import basic
from support.raw import Wire, request


def query(url):
    return {key: values[0] for key, values in parse_qs(urlsplit(url).query).items()}


def callback(browser, parameters, provider="mock", **more):
    return browser.send("GET", f"/oauth2/callback/{provider}?{urlencode(parameters, doseq=True)}", **more)


def assert_rejected(response, browser, status=400):
    """There is no session, and the response is an error page of the gateway."""
    assert response.status == status, response
    assert browser.ticket() is None
    assert "default-src 'none'" in response.get("content-security-policy", "")


def test_the_code_flow_sends_what_it_must(browser, gateway, realm):
    """T-04 T-05: response_type code, S256, fresh state, nonce and challenge, our own callback, the secret in Basic."""
    first, second = query(browser.begin("mock")), query(browser.begin("mock"))
    assert first["response_type"] == "code" and first["code_challenge_method"] == "S256"
    assert (
        first["redirect_uri"] == f"{gateway.origin}/oauth2/callback/mock" and first["scope"] == "openid email profile"
    )
    for name in ("state", "nonce", "code_challenge"):
        assert len(first[name]) >= 22 and first[name] != second[name]
    browser.sign_in("mock")
    sent = next(one for one in realm.requests if one["path"] == "token")
    assert basic(sent["fields"]["Authorization"]) == ("gatehouse", "client secret+/%")
    assert 43 <= len(sent["form"]["code_verifier"]) <= 128 and "client_secret" not in sent["form"]
    assert sent["form"]["redirect_uri"] == first["redirect_uri"]


def test_a_callback_without_the_browsers_cookie_is_rejected(gateway, realm, browser):
    """T-01: the attempt belongs to the browser that began it."""
    landing = browser.authorize(browser.begin("mock"))
    stranger = Browser(gateway)
    assert_rejected(stranger.send("GET", landing), stranger)
    assert realm.count("token") == 0


def test_a_state_cannot_be_used_twice(gateway, realm, browser):
    """T-02: the second callback finds the attempt used, also with the cookie restored."""
    landing = browser.authorize(browser.begin("mock"))
    kept = {host: dict(jar) for host, jar in browser.cookies.items()}
    assert browser.send("GET", landing).status == 303
    again = Browser(gateway)
    again.cookies = kept
    assert_rejected(again.send("GET", landing), again)
    assert realm.count("token") == 1


def test_a_state_of_one_browser_is_rejected_in_another(gateway, realm):
    """T-03."""
    one, two = Browser(gateway), Browser(gateway)
    landing = one.authorize(one.begin("mock"))
    two.begin("mock")
    assert_rejected(two.send("GET", landing), two)
    assert realm.count("token") == 0


def test_a_used_state_with_a_session_continues(ada, gateway, realm):
    """The back button after a sign-in leads on."""
    landing = ada.authorize(ada.begin("mock", "/back"))
    assert ada.send("GET", landing).status == 303
    response = ada.send("GET", landing)
    assert response.status == 303 and response.get("location").startswith(gateway.origin)


def test_an_error_uses_the_state_up(gateway, realm, browser):
    """T-02: an error response ends the attempt too."""
    realm.callback = lambda parameters: {"error": "access_denied", "state": parameters["state"]}
    address = browser.begin("mock")
    jar = {host: dict(jar) for host, jar in browser.cookies.items()}
    assert_rejected(browser.send("GET", browser.authorize(address)), browser, 403)
    realm.callback = lambda parameters: parameters
    browser.cookies = jar
    assert_rejected(browser.send("GET", browser.authorize(address)), browser)


@pytest.mark.parametrize(
    "change", [
        lambda p: {"state": p["state"]}, lambda p: {"code": p["code"]}, lambda p: {}, lambda p: {**p, "state": ""},
        lambda p: {**p, "code": ""}, lambda p: {**p, "code": [p["code"], p["code"]]},
        lambda p: {**p, "state": [p["state"], "x"]}, lambda p: {**p, "code": "x" * 100_000},
        lambda p: {**p, "state": "x" * 7000}, lambda p: {**p, "state": p["state"] + "x"},
        lambda p: {**p, "state": p["state"][:-1]}, lambda p: {**p, "state": p["state"].swapcase()},
        lambda p: {**p, "code": "a\r\nb"}, lambda p: {**p, "code": "a\x00b"}, lambda p: {**p, "error": "server_error"},
        lambda p: {**p, "iss": ""}, lambda p: {**p, "code": "\udcff".encode("utf-8", "surrogateescape")},
        lambda p: {**p, "access_token": "x"}, lambda p: {**p, "id_token": "e30.e30.e30"},
        lambda p: {**p, "error": ["a", "b"]},
    ],
)
def test_a_callback_with_invalid_parameters_is_rejected(change, gateway, realm, browser):
    """A-33 T-07: each parameter missing, empty, doubled, huge, broken; tokens in a callback are an error."""
    landing = browser.authorize(browser.begin("mock"))
    response = callback(browser, change(query(landing)))
    # A URL of over 100 kB does not reach the callback.
    assert response.status == (414 if len(response.url) > 100_000 else 400)
    assert browser.ticket() is None


@pytest.mark.parametrize(
    "text", ["", "?", "?&&&", "?=", "?%", "?code=%zz&state=%", "?" + "a=b&" * 1500, "?state=" + "%00" * 200]
)
def test_a_callback_with_a_malformed_query_is_rejected(text, browser):
    """A-33."""
    browser.begin("mock")
    response = browser.send("GET", "/oauth2/callback/mock" + text)
    assert response.status == 400 and browser.ticket() is None


@pytest.mark.parametrize(
    "error, status", [
        ("access_denied", 403), ("<script>alert(1)</script>", 502), ("x" * 3000, 400), ("a b\"'><img src=x>", 502),
        ("\u202eevil", 400),
    ]
)
def test_no_page_shows_text_of_the_provider(error, status, gateway, realm, browser):
    """A-50 A-52: neither `error` nor its description is rendered."""
    realm.callback = lambda p: {
        "error": error, "error_description": "<b>words of others</b>", "error_uri": "https://evil", "state": p["state"],
    }
    response = browser.send("GET", browser.authorize(browser.begin("mock")))
    assert_rejected(response, browser, status)
    assert "<script>" not in response.text and "words of others" not in response.text and "evil" not in response.text
    assert "<img" not in response.text and "xxxx" not in response.text


def test_no_page_shows_bytes_of_the_request(gateway, browser):
    """A-52: a name in path, query or header is not echoed."""
    for path in (
        "/oauth2/%3Cscript%3E", "/oauth2/start/%3Cscript%3E", "/oauth2/sign_in?rd=%3Cscript%3E",
        "/oauth2/callback/x?error=%3Cscript%3E",
    ):
        response = browser.send("GET", path, fields={"Referer": "http://<script>"})
        assert "<script" not in response.text.lower(), path


def test_a_code_of_one_provider_is_rejected_at_another(gateway, realm, other_realm):
    """T-08: mix-up: one callback per provider, and the attempt names its provider."""
    browser = Browser(gateway)
    landing = browser.authorize(browser.begin("mock"))
    response = browser.send("GET", landing.replace("/callback/mock", "/callback/other"))
    assert response.status == 400 and browser.ticket() is None
    assert other_realm.count("token") == 0 and realm.count("token") == 0
    landing = browser.authorize(browser.begin("other"))
    response = callback(browser, {**query(landing), "code": "of-mock"}, "other")
    assert response.status == 400 and browser.ticket() is None


@pytest.mark.parametrize("issuer", ["another", "slash", "case", "port", "twice"])
def test_another_issuer_in_the_callback_is_rejected(issuer, gateway, realm, other_realm, browser):
    """T-09 T-16 RFC 9207: `iss` is compared byte for byte, before the code is used."""
    spoken = {
        "another": other_realm.issuer, "slash": realm.issuer + "/", "case": realm.issuer.upper(), "port":
            realm.issuer.replace("127.0.0.1:", "127.0.0.1:0"), "twice": [realm.issuer, other_realm.issuer],
    }[issuer]
    realm.callback = lambda p: {**p, "iss": spoken}
    assert_rejected(browser.send("GET", browser.authorize(browser.begin("mock"))), browser)
    assert realm.count("token") == 0


def test_the_right_issuer_in_the_callback_is_accepted(realm, browser):
    """T-09."""
    realm.callback = lambda p: {**p, "iss": realm.issuer}
    assert browser.sign_in("mock").status == 200


def test_errors_are_checked_for_their_issuer_too(realm, other_realm, browser):
    """T-17."""
    realm.callback = lambda p: {"error": "access_denied", "state": p["state"], "iss": other_realm.issuer}
    response = browser.send("GET", browser.authorize(browser.begin("mock")))
    assert response.status == 400 and "issuer" in response.text


def test_parallel_callbacks_redeem_one_code(gateway, realm, browser):
    """T-13: of two parallel callbacks exactly one reaches the token endpoint."""
    landing = browser.authorize(browser.begin("mock"))
    copies = []
    for _ in range(8):
        browser_copy = Browser(gateway)
        browser_copy.cookies = {host: dict(jar) for host, jar in browser.cookies.items()}
        copies.append(browser_copy)
    threads = [threading.Thread(target=browser_copy.send, args=("GET", landing)) for browser_copy in copies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert realm.count("token") == 1
    assert sum(1 for browser_copy in copies if browser_copy.ticket()) == 1


def test_a_callback_by_post_redirects_with_303(gateway, realm, browser):
    """RFC 9700 §4.12: a form_post callback works and never leads to a second POST."""
    landing = browser.authorize(browser.begin("mock", "/posted"))
    response = browser.send(
        "POST", "/oauth2/callback/mock", body=query(landing), fields={"Sec-Fetch-Site": "cross-site", "Origin": "null"}
    )
    assert response.status == 303 and response.get("location") == gateway.origin + "/posted"


def test_a_body_over_16_kib_is_rejected(gateway, browser):
    """K-10: endpoints accept small forms only."""
    response = browser.send("POST", "/oauth2/callback/mock", body=b"state=" + b"x" * 20_000)
    assert response.status == 413


def test_every_flipped_byte_of_an_attempt_gives_the_same_response(gateway, realm, browser):
    """A-36 C-06 K-05: the cookie is authenticated as a whole; no oracle."""
    landing = browser.authorize(browser.begin("mock"))
    jar = browser.cookies[gateway.host]
    name = next(key for key in jar if "attempt" in key)
    value = jar[name]
    seen = set()
    for index in range(0, len(value)):
        flipped = value[:index] + ("A" if value[index] != "A" else "B") + value[index + 1:]
        fields = [("Cookie", f"{name}={flipped}"), ("Accept", "application/json")]
        parts = urlsplit(landing)
        response = request(gateway.port, f"{parts.path}?{parts.query}", fields=fields)
        seen.add((response.status, response.json["error"], tuple(sorted(n for n, _ in response.fields))))
    assert len(seen) == 1, seen
    assert realm.count("token") == 0
    assert browser.send("GET", landing).status == 303


@pytest.mark.parametrize("value", ["", "x", "A" * 43, "A" * 4000, "e30", "%00", '"quoted"', "=", "AAAA" * 500])
def test_garbage_in_an_attempt_is_rejected(value, gateway, realm, browser):
    """A-86 K-07."""
    landing = browser.authorize(browser.begin("mock"))
    jar = browser.cookies[gateway.host]
    for name in list(jar):
        jar[name] = value
    assert_rejected(browser.send("GET", landing), browser)


def test_an_attempt_cookie_under_another_name_is_rejected(gateway, realm, browser):
    """K-05: the name is part of what is sealed."""
    landing = browser.authorize(browser.begin("mock"))
    jar = browser.cookies[gateway.host]
    name = next(key for key in jar if "attempt" in key)
    value = jar.pop(name)
    jar["gatehouse-attempt-00000000"] = value
    jar["gatehouse"] = value
    assert callback(browser, query(landing)).status == 400
    browser.send("GET", "/protected")
    assert realm.count("token") == 0


def test_a_hundred_tabs_do_not_fill_the_cookie_jar(gateway, realm, browser):
    """C-07: at most five attempts stay; the newest works, the oldest is removed."""
    landings = [browser.authorize(browser.begin("mock", f"/tab{index}")) for index in range(100)]
    attempts = [name for name in browser.cookies[gateway.host] if "attempt" in name]
    assert len(attempts) <= 5
    assert_rejected(browser.send("GET", landings[0]), browser)
    assert browser.send("GET", landings[-1]).get("location") == gateway.origin + "/tab99"


def test_a_user_without_access_gets_no_session(gateway, realm, browser):
    """The policy is asked before a ticket is made."""
    realm.user = {"sub": "eve", "email": "eve@elsewhere.org", "email_verified": True}
    response = browser.visit("/oauth2/start/mock?rd=/staff/x")
    assert response.status == 403 and browser.ticket() is None


def test_signing_in_again_makes_a_new_ticket(ada, gateway, realm):
    """C-04 K-09: the old ticket is revoked."""
    old = ada.ticket()
    ada.sign_in("mock")
    assert ada.ticket() != old
    assert request(gateway.port, "/protected", fields=[("Cookie", f"gatehouse={old}")]).status == 401


def test_a_ticket_chosen_by_an_attacker_is_not_accepted(gateway, realm, browser):
    """C-04: session fixation."""
    browser.cookies = {gateway.host: {"gatehouse": "A" * 43}}
    browser.sign_in("mock")
    assert browser.ticket() != "A" * 43
    assert request(gateway.port, "/protected", fields=[("Cookie", "gatehouse=" + "A" * 43)]).status == 401


@pytest.mark.parametrize(
    "path", ["/oauth2/sign_in", "/oauth2/start/mock", "/oauth2/sign_out", "/oauth2/nothing", "/oauth2/callback/mock"]
)
def test_responses_of_endpoints_have_security_headers(path, gateway, browser):
    """S-67, RFC 9700 §4.2.4 §4.16: no-store, no-referrer, no frames, no sniffing."""
    response = browser.send("GET", path)
    assert "no-store" in response.get("cache-control", ""), response
    assert response.get("referrer-policy") == "no-referrer"
    if response.get("content-type", "").startswith("text/html"):
        assert response.get("x-frame-options"
                         ) == "DENY" and "frame-ancestors 'none'" in response.get("content-security-policy")
        assert response.get("x-content-type-options") == "nosniff" and "<script" not in response.text


def test_a_redirect_to_sign_in_is_not_cached(gateway, browser):
    """S-67."""
    response = browser.send("GET", "/protected")
    assert response.status == 303 and "no-store" in response.get("cache-control", "")
    assert "no-store" in browser.send("GET", "/protected", navigates=False).get("cache-control", "")


@pytest.mark.parametrize(
    "path", ["/oauth2/sign_in", "/oauth2/sign_out", "/oauth2/jwks.json", "/oauth2/style.css", "/oauth2/nothing"]
)
def test_head_of_an_endpoint_has_no_body(path, gateway):
    """RFC 9110 §9.3.2: the next request on the connection is read where it begins."""
    with Wire(gateway.port) as wire:
        wire.send(f"HEAD {path} HTTP/1.1\r\nHost: {gateway.host}\r\nAccept: text/html\r\n\r\n".encode())
        head = wire.response("HEAD")
        wire.send(f"GET {path} HTTP/1.1\r\nHost: {gateway.host}\r\nAccept: text/html\r\n\r\n".encode())
        page = wire.response()
    assert head.status == page.status and len(page.body) == int(page.get("content-length"))


@pytest.mark.parametrize(
    "method, path", [
        ("POST", "/oauth2/sign_in"), ("DELETE", "/oauth2/sign_out"), ("PUT", "/oauth2/callback/mock"),
        ("POST", "/oauth2/jwks.json"), ("POST", "/oauth2/start/mock"), ("OPTIONS", "/oauth2/userinfo"),
    ],
)
def test_an_endpoint_accepts_its_own_methods_only(method, path, gateway, app):
    """K-12 A-92: nothing below /oauth2 ever reaches an app, whatever the method."""
    before = len(app.requests)
    assert request(gateway.port, path, method=method).status == 405
    assert len(app.requests) == before


@pytest.mark.parametrize(
    "path", [
        "/oauth2", "/oauth2/", "/oauth2/x", "/oauth2//sign_in", "/oauth2/sign_in/", "/OAUTH2/sign_in", "/oauth2x",
        "/a/../oauth2/sign_in", "/%6fauth2/sign_in",
    ],
)
def test_the_prefix_of_the_endpoints_belongs_to_the_gateway(path, ada, gateway, app):
    """K-03: the gateway serves /oauth2 and all below it; paths that only look alike belong to the app."""
    before = len(app.requests)
    response = ada.send("GET", path)
    mine = not (path.startswith("/OAUTH2") or path == "/oauth2x")
    assert len(app.requests) - before == (0 if mine else 1), (path, response)
