# SPDX-License-Identifier: Apache-2.0
"""Sessions in cookies only, `store: cookie:` (C-01 to C-08): several gateways, tampering, renewal, limits."""

import base64
import json
from urllib.parse import urlencode

import pytest

from support.browser import Browser, forms
from support.chromium import CHROMIUM, Chromium
from support.gateway import Gateway, oidc, run
from support.processes import eventually
from support.raw import request
from support.sealed import field, opened, pieces, sealed, value
from support.tokens import now, token
from support.upstream import Upstream

HOST = "gate.localhost"


@pytest.fixture
def own_app():
    with Upstream() as app:
        yield app


@pytest.fixture
def start(tmp_path, realm, own_app):
    """Starts a gateway without a store; all have the same secret."""
    made = []

    def make(host=HOST, provider=None, **sessions):
        apps = {"echo": {"path": "/", "upstream": own_app.address, "allow": "signed_in"}}
        settings = {"store": "cookie:", **sessions}
        folder = tmp_path / f"g{len(made)}"
        providers = {"mock": oidc(realm.issuer, **(provider or {}))}
        made.append(Gateway(folder, providers, apps, host=host, sessions=settings))
        return made[-1].start()

    yield make
    for one in made:
        one.leave()


def signed_in(gateway, rd="/x"):
    browser = Browser(gateway)
    assert browser.sign_in("mock", rd).status == 200
    return browser


def get(gateway, cookie, path="/x", host=HOST, fields=()):
    return request(gateway.port, path, host=host, fields=[("Cookie", cookie), *fields])


def with_groups(realm, count):
    groups = [f"organization/department-of-work-{number}" for number in range(count)]
    realm.user = {**realm.user, "groups": groups}
    return groups


def test_gateways_share_sessions_by_the_secret_alone(start, own_app):
    """A session of one gateway works at another and after a restart; no database exists."""
    one, other = start(), start()
    browser = signed_in(one)
    cookie = field(value(browser.cookies[HOST]))
    assert get(other, cookie, "/other").status == 200
    one.stop()
    one.start()
    assert get(one, cookie, "/restarted").status == 200
    for path in ("/other", "/restarted"):
        assert own_app.seen(path)[-1].get("X-Forwarded-User") == "mock:ada"
    assert not list(one.folder.rglob("sessions.db*")) and not list(other.folder.rglob("sessions.db*"))


def test_the_cookie_is_sealed_for_the_host_and_holds_no_tokens(start, realm):
    """C-01 C-05: exact attributes; the same cookie opens at no other host, with the same secret."""
    realm.issues_refresh = True
    gateway, foreign = start(), start(host="other.localhost")
    browser = signed_in(gateway)
    line = next(line for _, line in browser.set_cookies if line.startswith("gatehouse="))
    assert line.partition("; ")[2] == "Path=/; HttpOnly; SameSite=Lax"
    text = value(browser.cookies[HOST])
    assert opened(text, "other.localhost") is None
    seen, session = opened(text)
    # Of four bytes, unlike of three letters, no random value has any.
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    assert "ada@" in json.dumps(session) and b"ada@" not in data
    assert abs(seen - now()) < 60 and session["host"] == HOST and "grant" not in session
    assert session["id_token"].count(".") == 2
    assert get(foreign, field(text), host="other.localhost").status == 401
    moved = {**session, "host": "other.localhost"}
    assert get(foreign, field(sealed(seen, moved, "other.localhost")), host="other.localhost").status == 200
    assert get(foreign, field(sealed(seen, session, "other.localhost")), host="other.localhost").status == 401


def test_a_session_with_many_groups_is_split_and_reaches_the_app_without_its_pieces(start, realm, own_app):
    """C-03: two pieces below 4,000 bytes; the app gets the groups and no cookie of ours, stale pieces included."""
    groups = with_groups(realm, 90)
    gateway = start()
    browser = signed_in(gateway)
    lines = [line for _, line in browser.set_cookies if line.startswith(("gatehouse=", "gatehouse_"))]
    assert [line.partition("=")[0] for line in lines] == ["gatehouse", "gatehouse_1"]
    assert all(len(line) < 4000 for line in lines)
    text = value(browser.cookies[HOST])
    assert len(text) <= 7000 and "id_token" not in opened(text)[1]
    assert get(gateway, f"a=1; {field(text)}; b=2", "/many").status == 200
    seen = own_app.seen("/many")[-1]
    assert seen.get("Cookie") == "a=1; b=2"
    assert sorted(seen.get("X-Forwarded-Groups").split(",")) == sorted(groups)
    assert get(gateway, f"gatehouse_7=x; {field(text)}; a=1").status == 401


def test_changed_pieces_are_rejected_and_all_look_alike(start, realm, own_app):
    """C-02 C-06 C-08 A-56 A-86: one response for every change, also while the session is cached."""
    with_groups(realm, 90)
    gateway = start()
    first, second = pieces(value(signed_in(gateway).cookies[HOST]))
    foreign = pieces(value(signed_in(gateway).cookies[HOST]))
    assert get(gateway, f"gatehouse={first}; gatehouse_1={second}").status == 200
    before = len(own_app.requests)
    changes = [
        f"gatehouse={first}", f"gatehouse_1={second}", f"gatehouse={second}; gatehouse_1={first}",
        f"gatehouse={first}; gatehouse_1={second}; gatehouse_1={second}", f"gatehouse={first}; gatehouse={first}",
        f"gatehouse={first}; gatehouse_1={foreign[1]}", f"gatehouse={foreign[0]}; gatehouse_1={second}",
        f"gatehouse={first}; gatehouse_1={second}; gatehouse_2={second}", f"gatehouse={first}; gatehouse_2={second}",
        f"gatehouse={first}; gatehouse_1={second}; gatehouse_99999999=x", "gatehouse_99999999=x",
        f"gatehouse={first}; gatehouse_01={second}", f"gatehouse_0={first}; gatehouse_1={second}",
        f"gatehouse={first[:-1]}; gatehouse_1={first[-1]}{second}", f"gatehouse={first}; gatehouse_1={second}=",
        f"gatehouse={first}; gatehouse_1={second[:-9]}", f'gatehouse="{first}"; gatehouse_1={second}',
        f"gatehouse={first}; gatehouse_1={second[:50]}{'B' if second[50] == 'A' else 'A'}{second[51:]}",
        f"gatehouse={'A' * 3900}; gatehouse_1={'A' * 3100}", f"gatehouse={'A' * 56}", "gatehouse=",
    ]
    responses = {(response.status, response.json["error"]) for response in (get(gateway, change) for change in changes)}
    assert responses == {(401, "sign_in_required")}
    assert len(own_app.requests) == before
    assert get(gateway, f"gatehouse_1={second}; x=y; gatehouse={first}").status == 200


def test_a_session_that_does_not_fit_is_explained_at_the_sign_in(start, realm):
    realm.user = {**realm.user, "roles": [f"department-of-work-{number}" for number in range(400)]}
    gateway = start(provider={"profile": {"roles": ["id_token:/roles"]}})
    browser = Browser(gateway)
    page = browser.sign_in("mock", "/x")
    assert page.status == 500 and "session.too_large" in page.text and "groups and roles" in page.text
    assert value(browser.cookies[HOST]) is None
    assert "400 roles" in gateway.log and "sessions.store" in gateway.log


def test_a_cookie_is_renewed_once_a_minute_with_the_response_of_the_app(start, own_app):
    """The idle time counts from the last minute of use; a response that shared caches may store renews nothing."""
    def act(connection, received):
        connection.body(received)
        connection.send(b"HTTP/1.1 200 OK\r\nCache-Control: public, max-age=60\r\nContent-Length: 2\r\n\r\nok")
        return True

    own_app.script("/shared", act)
    gateway = start(idle_timeout="1h")
    browser = signed_in(gateway)
    seen, session = opened(value(browser.cookies[HOST]))
    assert get(gateway, field(value(browser.cookies[HOST]))).all("set-cookie") == []
    old = {**session, "created": seen - 3000}
    assert get(gateway, field(sealed(seen - 3000, old)), "/shared").all("set-cookie") == []
    response = get(gateway, field(sealed(seen - 3000, old)))
    assert response.status == 200 and "private" in response.all("cache-control")
    lines = response.all("set-cookie")
    assert len(lines) == 1 and lines[0].endswith("; Path=/; HttpOnly; SameSite=Lax")
    fresh = lines[0].partition("=")[2].partition(";")[0]
    renewed, same = opened(fresh)
    assert same == old and seen - 60 <= renewed <= now() and renewed % 60 == 0
    assert get(gateway, field(sealed(seen - 3601, {**session, "created": seen - 4000}))).status == 401
    userinfo = get(gateway, field(sealed(seen - 3000, old)), "/oauth2/userinfo")
    assert userinfo.json["user"] == "mock:ada" and userinfo.all("set-cookie") == []


def test_two_gateways_renew_alike(start, realm):
    """Responses that a browser gets at once from two gateways have the same pieces within a minute."""
    with_groups(realm, 90)
    one, other = start(), start()
    seen, session = opened(value(signed_in(one).cookies[HOST]))

    def both():
        # Each gateway renews the same cookie only every five seconds.
        cookie = field(sealed(seen - 600, {**session, "created": seen - 600}))
        return [get(gateway, cookie).all("set-cookie") for gateway in (one, other)]

    # The minute may end between two requests.
    first, second = eventually(lambda: (pair := both())[0] == pair[1] and pair, "both give the same", 5)
    assert len(first) == 2 and first == second


def test_a_sign_out_deletes_all_pieces_in_this_browser(start, realm, own_app):
    """And nothing else: a copy of the cookie works until it expires, as the documents state."""
    with_groups(realm, 90)
    gateway = start()
    browser = signed_in(gateway)
    copy = field(value(browser.cookies[HOST]))
    page = browser.send("GET", "/oauth2/sign_out")
    assert [name for name, _ in forms(page)[0][3]] == [""]
    response = browser.sign_out()
    deleted = [f"gatehouse{piece}=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax" for piece in ("", "_1")]
    # The other one binds the return from the provider to this browser.
    assert [line for line in response.all("set-cookie") if not line.startswith("gatehouse-sign-out=")] == deleted
    assert browser.send("GET", "/x", navigates=False).status == 401
    assert get(start(), copy).status == 200


def test_a_copied_cookie_works_until_its_recheck(start):
    """The provider is asked by a page of the user; a script with a copy is rejected after `recheck` and `max_stale`."""
    gateway = start(recheck="1h", max_stale="15m")
    seen, session = opened(value(signed_in(gateway).cookies[HOST]))

    def confirmed(seconds):
        return field(sealed(seen, {**session, "created": seen - seconds, "confirmed": seen - seconds}))

    page = [("Accept", "text/html"), ("Sec-Fetch-Mode", "navigate")]
    assert get(gateway, confirmed(3000), fields=page).status == 200
    asked = get(gateway, confirmed(4000), fields=page)
    assert asked.status == 303 and "/oauth2/start/mock?" in asked.get("location") and "prompt=none" in asked.get("location")
    assert [get(gateway, confirmed(seconds)).status for seconds in (4000, 4600)] == [200, 401]


def test_what_needs_a_list_of_sessions_is_refused(start, realm):
    """Sign-out everywhere, back-channel logout and the operations API report that nothing has ended."""
    gateway = start()
    browser = signed_in(gateway)
    everywhere = browser.send("POST", "/oauth2/sign_out", body={"sessions": "all"})
    assert everywhere.status == 400 and "session.not_kept" in everywhere.text
    claims = {
        "iss": realm.issuer, "aud": "gatehouse", "iat": now(), "exp": now() + 120, "jti": "one", "sub": "ada",
        "events": {"http://schemas.openid.net/event/backchannel-logout": {}},
    }
    body = urlencode({"logout_token": token(realm.key, claims, {"typ": "logout+jwt"})}).encode()
    form = [("Content-Type", "application/x-www-form-urlencoded")]
    for _ in range(2):
        response = request(gateway.port, "/oauth2/backchannel-logout/mock", method="POST", fields=form, body=body)
        assert response.status == 400 and response.json["error"] == "session.not_kept"
    assert browser.send("GET", "/x").status == 200
    for command in (["sessions", "list"], ["sessions", "revoke", "--user", "mock:ada"], ["users", "list"]):
        result = run(*command, "--config", gateway.path, cwd=gateway.folder)
        assert result.returncode == 1 and "cookie:" in result.stderr, command
    status = gateway.operation("/status").json()
    assert status["sessions"] is None and status["store_available"] is True


def test_a_new_sign_in_replaces_the_session(start, realm):
    """C-04: another id and family, and no piece of the longer session before."""
    with_groups(realm, 90)
    gateway = start()
    browser = signed_in(gateway)
    before = opened(value(browser.cookies[HOST]))[1]
    with_groups(realm, 1)
    assert browser.sign_in("mock", "/x").status == 200
    after = opened(value(browser.cookies[HOST]))[1]
    assert "gatehouse_1" not in browser.cookies[HOST]
    assert before["id"] != after["id"] and before["family"] != after["family"]


def test_a_recheck_is_a_silent_sign_in(start, realm):
    """The provider is asked by the next page, also where it issues refresh tokens; new groups come with it."""
    realm.issues_refresh = realm.has_session = True
    gateway = start(recheck="1s", max_stale="1h")
    browser = signed_in(gateway)
    first = opened(value(browser.cookies[HOST]))[1]
    with_groups(realm, 1)

    def renewed():
        assert browser.visit("/x").status == 200
        session = opened(value(browser.cookies[HOST]))[1]
        return "groups" in session["profile"] and session

    session = eventually(renewed, "the session is confirmed", 10)
    assert session["profile"]["groups"] == ["organization/department-of-work-0"]
    assert session["id"] == first["id"], "another session began"
    assert len(realm.grants) == realm.count("token") > 1, "no refresh token was redeemed"


def test_the_configuration_refuses_what_cookies_cannot_do(tmp_path, realm):
    """Apps on other hosts are errors; a secret that only this gateway has and `recheck: never` are warnings."""
    apps = {name: {"host": f"{name}.localhost", "upstream": "http://127.0.0.1:1", "allow": "signed_in"} for name in ("a", "gate")}
    gateway = Gateway(tmp_path, {"mock": oidc(realm.issuer)}, apps, sessions={"store": "cookie:"})
    gateway.write()
    result = run("check", "--config", gateway.path)
    assert result.returncode == 1 and result.stderr.count("error:") == 1
    assert "'a.localhost' needs another 'sessions.store' than 'cookie:'" in result.stderr
    del apps["a"]
    apps["gate"]["identity"] = {"authorization": "id_token"}
    gateway.write()
    result = run("check", "--config", gateway.path)
    assert result.returncode == 1 and "'authorization: id_token' needs another 'sessions.store' than 'cookie:'" in result.stderr
    del apps["gate"]["identity"]
    del gateway.configuration["gateway"]["secret"]
    gateway.write()
    result = run("check", "--config", gateway.path)
    assert result.returncode == 0 and result.stderr.count("warning:") == 1 and "gateway.secret" in result.stderr
    gateway.configuration["sessions"]["recheck"] = "never"
    gateway.write()
    result = run("check", "--config", gateway.path)
    assert result.returncode == 0 and result.stderr.count("warning:") == 2 and "recheck: never" in result.stderr


@pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed")
def test_a_browser_keeps_a_split_session_and_signs_out(start, realm, tmp_path):
    """C-01 C-08 in Chromium: sign-in, pages, sign-out with the button."""
    with_groups(realm, 90)
    gateway = start()
    chromium = Chromium(tmp_path)
    try:
        chromium.go(f"{gateway.origin}/oauth2/start/mock?rd=/oauth2/userinfo")
        chromium.until("document.body.innerText.includes('mock:ada')", "the user is signed in")
        cookies = chromium.call("Network.getCookies", urls=[gateway.origin])["cookies"]
        assert sorted(cookie["name"] for cookie in cookies) == ["gatehouse", "gatehouse_1"]
        assert all(cookie["httpOnly"] and cookie["sameSite"] == "Lax" for cookie in cookies)
        chromium.go(f"{gateway.origin}/oauth2/sign_out")
        chromium.click("form button")
        chromium.until("document.body.innerText.includes('signed out')", "the page after the sign-out")
        cookies = chromium.call("Network.getCookies", urls=[gateway.origin])["cookies"]
        assert not {"gatehouse", "gatehouse_1"} & {cookie["name"] for cookie in cookies}
    finally:
        chromium.close()
