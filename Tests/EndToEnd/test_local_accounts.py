# SPDX-License-Identifier: Apache-2.0
"""Providers of type `local`: accounts with passwords in the gateway itself."""

import hashlib
import json
import re
import statistics
import threading
import time
from urllib.parse import urlencode, urlsplit

import pytest

from support.accounts import (
    OTHER, PASSWORD, add, attempt, choose, code, earlier_code, failed, fill, follow, form, local_gateway, remark, secret_of, signed_in,
    users,
)
from support.browser import Browser, forms
from support.chromium import CHROMIUM, CONTRAST, Chromium
from support.gateway import Gateway, oidc, run
from support.operations import call
from support.processes import eventually
from support.raw import request
from support.redis import Redis
from support.upstream import Upstream

WRONG = "The name or the password is wrong."


@pytest.fixture(scope="module")
def recorder():
    upstream = Upstream()
    yield upstream
    upstream.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory, recorder):
    """The gateway of most tests; each test has accounts of its own."""
    settings = {"trusted_proxies": ["127.0.0.1/32"]}
    with local_gateway(tmp_path_factory.mktemp("local"), recorder, hosts=["own.localhost"], gateway=settings) as gateway:
        yield gateway
        log = gateway.log
        assert not [text for text in (PASSWORD, OTHER, "CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc", "token=", "secret=") if text in log]


@pytest.fixture
def gateway(shared):
    yield shared
    assert shared.process.child.poll() is None, shared.process.log[-4000:]


@pytest.fixture
def start(tmp_path, recorder):
    """Starts gateways of one test."""
    made = []

    def make(name="gateway", **more):
        made.append(local_gateway(tmp_path / name, recorder, name=name, **more))
        return made[-1].start()

    yield make
    for one in made:
        one.leave()


def status(gateway, browser, path="/x"):
    """The status of the app for the session of a browser."""
    fields = [("Cookie", f"gatehouse={browser.ticket()}")]
    return request(gateway.port, path, host="gate.localhost", fields=fields).status


# Attempts


def test_q_10_an_attempt_that_began_with_one_provider_takes_no_password_for_another(tmp_path, recorder):
    gateway = local_gateway(tmp_path, recorder)
    gateway.configuration["providers"]["guests"] = {"type": "local"}
    gateway.configuration["passkeys"] = {"name": "Acme"}
    with gateway:
        names = {provider: f"ada@{provider}.example" for provider in ("staff", "guests")}
        for provider, name in names.items():
            choose(gateway, users(gateway, "add", "--provider", provider, "--email", name)["link"])
        for first, second in (("staff", "guests"), ("guests", "staff")):
            browser = Browser(gateway)
            page = browser.visit(f"/oauth2/start/{first}?rd=/x")
            hidden = forms(page)[0][2]
            for body in ({"username": names[second], "password": PASSWORD}, {"proof": "x", "code": "123456"}, {"credential": "{}"}):
                response = browser.send("POST", f"/oauth2/password/{second}", {**hidden, **body})
                assert response.status == 400 and "openid.provider_mismatch" in response.text, response.text
            assert not browser.ticket()
            assert follow(browser, fill(browser, page, {"username": names[first], "password": PASSWORD})).status == 200
            # Nor does an attempt with one provider take the account of the other.
            wrong = fill(browser, browser.visit(f"/oauth2/start/{first}"), {"username": names[second], "password": PASSWORD})
            assert wrong.status == 403


@pytest.mark.one_gateway("each has limits of its own")
def test_f_05_the_limits_of_guessing_show_no_account(tmp_path, recorder):
    """A name that an account has, its other name, one that none has and one that none can have wait in the same way."""
    with local_gateway(tmp_path, recorder, gateway={"trusted_proxies": ["127.0.0.1/32"]}) as gateway:
        add(gateway, "ada@example.com", "--username", "ada")
        names = ["ada@example.com", "ada", "eve@example.com", "eve", "no name!", "another name!", "x" * 400]
        for number, name in enumerate(names):
            # Each network is limited too, by failed_sign_ins_per_minute.
            fields = {"X-Forwarded-For": f"192.0.2.{number // 3}"}
            # The sixth waits, whatever was tried before for other names.
            pages = [attempt(Browser(gateway), name, "wrong horse battery", fields=fields) for _ in range(6)]
            assert [page.status for page in pages] == [403] * 5 + [429], name


def test_f_10_users_see_no_name_of_the_file_and_are_signed_out_for_good(gateway):
    """There is no provider at which the user of a local account could still be signed in."""
    add(gateway, "named@example.com")
    browser = signed_in(gateway, "named@example.com")
    for path in ("/oauth2/account", "/oauth2/sign_out", "/oauth2/credentials", "/oauth2/apps"):
        page = browser.visit(path)
        texts = re.sub(r"<[^>]*>|staff:[0-9a-f-]{36}", " ", page.text)
        assert page.status == 200 and not re.search(r"\bstaff\b", texts), texts
    page = browser.sign_out()
    page = follow(browser, page) if page.get("location") else page
    assert "Your session in this browser has ended." in page.text and "still be signed in" not in page.text
    assert "still be signed in" not in Browser(gateway).visit("/oauth2/sign_out").text


# Invitations


def test_an_invited_user_chooses_a_password_and_reaches_the_app(gateway, recorder):
    added = users(gateway, "add", "--email", "Ada@Example.com", "--name", "Ada Lovelace", "--group", "admins")
    account = added["account"]
    assert account["email"] == "ada@example.com" and not account["has_password"] and not account["email_verified"]
    assert re.fullmatch(r"staff:[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", account["user"])
    page = choose(gateway, added["link"])
    assert page.status == 200 and "Your password is set" in page.text
    browser = Browser(gateway)
    page = browser.visit("/x?y=1")
    assert 'autocomplete="username"' in page.text and 'autocomplete="current-password"' in page.text
    response = fill(browser, page, {"username": "ada@example.com", "password": PASSWORD})
    assert response.status == 303, response
    assert follow(browser, response).status == 200
    received = recorder.requests[-1]
    assert received.target == "/x?y=1"
    assert received.get("x-forwarded-user") == account["user"]
    assert received.get("x-forwarded-email") == "ada@example.com"
    assert received.get("x-forwarded-name") == "Ada Lovelace"
    assert "gatehouse-device" in browser.cookies[gateway.host]
    assert b"gatehouse" not in received.head.partition(b"Cookie")[2], "no cookie of the gateway reaches the app"
    shown = users(gateway, "show", "ada@example.com")
    assert shown["has_password"] and shown["email_verified"] and "link_expires" not in shown


def test_a_link_works_once_and_looking_at_it_does_not_use_it_up(gateway):
    link = users(gateway, "add", "--email", "once@example.com")["link"]
    for _ in range(3):
        assert Browser(gateway).visit(link).status == 200
    assert choose(gateway, link).status == 200
    page = Browser(gateway).visit(link)
    assert page.status == 400 and "account.link" in page.text
    assert "not valid any more" in page.text


def test_a_link_is_rejected_if_it_is_another_text(gateway):
    link = users(gateway, "add", "--email", "other-text@example.com")["link"]
    head, _, token = link.partition("token=")
    changed = token[:-1] + ("A" if token[-1] != "A" else "B")
    for text in ("", "x", changed, token[:36] + "." + "A" * 43, "A" * 100_00):
        page = Browser(gateway).visit(head + "token=" + text)
        assert page.status in (400, 414, 431), page
    assert Browser(gateway).visit(link).status == 200


def test_the_page_of_a_link_leaks_it_nowhere(gateway):
    link = users(gateway, "add", "--email", "leak@example.com")["link"]
    page = Browser(gateway).visit(link)
    assert page.get("referrer-policy") == "no-referrer" and page.get("cache-control") == "no-store"
    assert "frame-ancestors 'none'" in page.get("content-security-policy")
    choose(gateway, link)
    assert link.partition("token=")[2] not in gateway.log


def test_a_password_that_a_rule_does_not_accept_leaves_the_link_as_it_was(gateway):
    link = users(gateway, "add", "--email", "rules@example.com")["link"]
    for password, text in [
        ("short", "at least 12 characters"),
        ("aaaaaaaaaaaaaaaa", "different characters"),
        ("rules@example.com 1", "contains your name"),
        ("gate.localhost 123", "contains your name"),
        ("x" * 1025, "at most 1024 bytes"),
    ]:
        page = choose(gateway, link, password)
        assert page.status == 400 and text in remark(page)
    assert choose(gateway, link).status == 200


def test_two_passwords_that_differ_are_not_set(gateway):
    link = users(gateway, "add", "--email", "differ@example.com")["link"]
    browser = Browser(gateway)
    page = fill(browser, browser.visit(link), {"new_password": PASSWORD, "repeat_password": PASSWORD + "x"})
    assert page.status == 400 and "differ" in remark(page)
    assert choose(gateway, link).status == 200


def test_a_breached_password_is_rejected(start, tmp_path):
    known = ["correct horse battery staple", *(f"known password {number}" for number in range(1000))]
    lines = sorted(f"{hashlib.sha1(text.encode()).hexdigest().upper()}:{len(text)}" for text in known)
    path = tmp_path / "pwned.txt"
    path.write_text("\r\n".join(lines) + "\r\n")
    gateway = start(provider={"breached_passwords": str(path)})
    link = users(gateway, "add", "--email", "ada@example.com")["link"]
    for password in ("correct horse battery staple", "known password 7", "known password 999"):
        page = choose(gateway, link, password)
        assert page.status == 400 and "data breach" in remark(page)
    assert choose(gateway, link, "known password 1000").status == 200


# Sign-in


def test_wrong_passwords_and_unknown_names_look_the_same(gateway):
    add(gateway, "same@example.com")
    disabled = add(gateway, "disabled@example.com")
    users(gateway, "disable", disabled)
    users(gateway, "add", "--email", "invited@example.com")
    pages = []
    for name, password in [
        ("same@example.com", OTHER), ("unknown@example.com", PASSWORD), ("unknown", PASSWORD),
        ("disabled@example.com", PASSWORD), ("invited@example.com", PASSWORD), ("not@an@address", PASSWORD),
    ]:
        browser = Browser(gateway)
        page = attempt(browser, name, password)
        assert page.status == 403 and remark(page) == WRONG and not browser.ticket()
        state = forms(page)[0][2]["state"]
        pages.append((page.text.replace(state, "STATE").replace(name, "NAME"), sorted(name for name, _ in page.fields)))
    assert len({(text, tuple(names)) for text, names in pages}) == 1
    lines = [line for line in gateway.log.splitlines() if "account.credentials" in line]
    assert any(f"{disabled} is disabled" in line for line in lines)
    assert all(PASSWORD not in line and OTHER not in line and "unknown@" not in line for line in lines)


def test_an_unknown_name_takes_as_long_as_a_wrong_password(gateway):
    known = [f"timing{number}@example.com" for number in range(4)]
    for name in known:
        add(gateway, name)
    times = {True: [], False: []}
    for number in range(16):
        for is_known in (True, False):
            name = known[number % 4] if is_known else f"unknown{number % 4}@example.com"
            browser = Browser(gateway)
            page = form(browser)
            began = time.perf_counter()
            response = fill(browser, page, {"username": name, "password": OTHER})
            times[is_known].append(time.perf_counter() - began)
            assert response.status == 403
    ratio = statistics.median(times[True]) / statistics.median(times[False])
    # Without the hash for unknown names the ratio is over 5.
    assert 0.5 < ratio < 2, times


def test_a_sign_in_is_counted_and_logged(gateway):
    user = add(gateway, "counted@example.com")
    before = gateway.metrics()
    signed_in(gateway, "counted@example.com")
    assert attempt(Browser(gateway), "counted@example.com", OTHER).status == 403
    after = gateway.metrics()

    def grown(name):
        return after.get(name, 0) - before.get(name, 0)

    steps = 'gatehouse_sign_in_steps_total{provider="staff",phase="callback",result='
    assert grown(steps + '"ok"}') == 1 and grown(steps + '"account.credentials"}') == 1
    lines = gateway.log.splitlines()
    assert any("signed in" in line and f"user={user}" in line for line in lines)
    assert any("refused" in line and "account.credentials" in line and f"another password than that of {user}" in line
               for line in lines)


def test_form_posts_of_other_sites_are_rejected(gateway):
    add(gateway, "csrf@example.com")
    browser = Browser(gateway)
    page = form(browser)
    values = {"username": "csrf@example.com", "password": PASSWORD}
    for fields in (
        {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "https://evil.example", "Sec-Fetch-Site": None},
        {"Origin": "http://own.localhost", "Sec-Fetch-Site": "same-site"},
        {"Origin": "null", "Sec-Fetch-Site": None},
    ):
        response = fill(browser, page, values, fields=fields)
        assert response.status == 403 and "request.cross_site" in response.text
    assert not browser.ticket()


def test_the_form_of_one_browser_is_of_no_use_in_another_one(gateway):
    """Login CSRF: an attacker cannot have a victim sign in to the attacker's account."""
    add(gateway, "attacker@example.com")
    page = form(Browser(gateway))
    victim = Browser(gateway)
    response = fill(victim, page, {"username": "attacker@example.com", "password": PASSWORD})
    assert response.status == 400 and not victim.ticket()
    form(victim)
    response = fill(victim, page, {"username": "attacker@example.com", "password": PASSWORD})
    assert response.status == 400 and not victim.ticket()


def test_a_changed_state_is_rejected(gateway):
    add(gateway, "state@example.com")
    browser = Browser(gateway)
    page = form(browser)
    state = forms(page)[0][2]["state"]
    values = {"username": "state@example.com", "password": PASSWORD}
    for changed in (state[:-1] + ("A" if state[-1] != "A" else "E"), state[:22], "", "x" * 66):
        response = fill(browser, page, {**values, "state": changed})
        assert response.status == 400 and not browser.ticket(), changed
    assert fill(browser, page, values).status == 303


def test_a_form_works_once(gateway):
    add(gateway, "spent@example.com")
    browser = Browser(gateway)
    page = form(browser)
    jar = dict(browser.cookies[gateway.host])
    values = {"username": "spent@example.com", "password": PASSWORD}
    assert fill(browser, page, values).status == 303
    thief = Browser(gateway)
    thief.cookies[gateway.host] = jar
    response = fill(thief, page, values)
    assert response.status == 400 and not thief.ticket()


def test_a_get_takes_no_password(gateway):
    response = Browser(gateway).send("GET", "/oauth2/password/staff?username=a&password=b")
    assert response.status == 405 and response.get("allow") == "POST"


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_provider_with_accounts_has_no_callback(gateway, method):
    for path in ("callback/staff", "backchannel-logout/staff", "password/other", "link/other"):
        response = Browser(gateway).send(method, f"/oauth2/{path}", body={} if method == "POST" else None)
        assert response.status in (400, 404, 405), (path, response)


def test_a_sign_in_never_leads_to_another_site(gateway):
    add(gateway, "redirect@example.com")
    for rd in (
        "https://evil.example/", "//evil.example/", "/\\evil.example", "/%5cevil.example", "javascript:alert(1)",
        "https:evil.example", "/\t/evil.example", "http://gate.localhost.evil.example/",
    ):
        response = attempt(Browser(gateway), "redirect@example.com", rd=rd)
        assert response.status == 303, response
        target = urlsplit(response.get("location"))
        assert f"{target.scheme}://{target.netloc}" == gateway.origin, rd


def test_a_sign_in_gives_a_new_session_and_ends_the_one_before(gateway):
    """Session fixation: what a browser brings is never what it has afterwards."""
    add(gateway, "fixed@example.com")
    browser = signed_in(gateway, "fixed@example.com")
    first = browser.ticket()
    follow(browser, attempt(browser, "fixed@example.com"))
    second = browser.ticket()
    assert first != second
    assert request(gateway.port, "/x", host="gate.localhost", fields=[("Cookie", f"gatehouse={first}")]).status == 401
    planted = Browser(gateway)
    planted.cookies[gateway.host] = {"gatehouse": "A" * len(first)}
    follow(planted, attempt(planted, "fixed@example.com"))
    assert planted.ticket() not in (first, "A" * len(first))


def test_an_app_on_its_own_host_is_reached(gateway, recorder):
    user = add(gateway, "hosts@example.com")
    browser = Browser(gateway)
    origin = f"http://own.localhost:{gateway.port}"
    page = browser.visit(f"{origin}/there")
    assert f"form-action 'self' {origin}" in page.get("content-security-policy")
    page = follow(browser, fill(browser, page, {"username": "hosts@example.com", "password": PASSWORD}))
    assert page.status == 200 and recorder.requests[-1].get("x-forwarded-user") == user
    assert recorder.requests[-1].target == "/there"


def test_hostile_texts_are_escaped(gateway):
    text = '"><script>alert(1)</script>'
    page = attempt(Browser(gateway), text, text)
    assert page.status == 403 and "<script>" not in page.text and "&lt;script&gt;" in page.text


def test_long_and_repeated_fields_are_rejected(gateway):
    browser = Browser(gateway)
    page = form(browser)
    response = fill(browser, page, {"username": "a" * 10_000, "password": "b"})
    assert response.status == 403 and "aaaaaaaa" not in response.text
    assert fill(browser, page, {"username": "a", "password": "b" * 20_000}).status == 413
    state = forms(page)[0][2]["state"]
    body = urlencode([("state", state), ("username", "a"), ("password", "b"), ("password", PASSWORD)]).encode()
    assert browser.send("POST", "/oauth2/password/staff", body).status in (400, 403)


@pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed")
def test_a_real_browser_goes_the_whole_way(gateway, recorder, tmp_path):
    link = users(gateway, "add", "--email", "chromium@example.com")["link"]
    chromium = Chromium(tmp_path)

    def send(button="button", **values):
        for name, value in values.items():
            chromium.until(f"!!document.querySelector('#{name}')", name)
            chromium.evaluate(f"document.querySelector('#{name}').value = {json.dumps(value)}")
        chromium.click(button)

    def title(text):
        chromium.until(f"document.querySelector('h1')?.textContent == {json.dumps(text)}", text)
        assert chromium.evaluate(CONTRAST)[0][0] >= 4.5
        assert chromium.evaluate("document.documentElement.scrollWidth <= 390")

    try:
        chromium.call("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1, mobile=True)
        chromium.go(link)
        title("Choose a password")
        send(new_password=PASSWORD, repeat_password=PASSWORD)
        title("Your password is set")
        # The form-action of the form has to allow the redirect to an app on its own host.
        chromium.go(f"http://own.localhost:{gateway.port}/chromium")
        title("Sign in")
        send(username="chromium@example.com", password=PASSWORD)
        chromium.until("location.host.startsWith('own.localhost') && location.pathname == '/chromium'", "the app")
        chromium.go(f"{gateway.origin}/oauth2/credentials")
        title("Password and codes")
        secret = chromium.evaluate("document.querySelector('p code').textContent")
        send("button[value=enrol]", code=earlier_code(secret), password_enrol=PASSWORD)
        title("Keep these codes")
        assert chromium.evaluate("document.querySelectorAll('.codes li').length") == 10
        chromium.go(f"{gateway.origin}/oauth2/sign_out")
        chromium.click("button")
        chromium.until("document.querySelector('h1')?.textContent == 'You are signed out'", "signed out")
        chromium.go(f"http://own.localhost:{gateway.port}/codes")
        send(username="chromium@example.com", password=PASSWORD)
        title("Type a code")
        send(code=code(secret))
        chromium.until("location.host.startsWith('own.localhost') && location.pathname == '/codes'", "the app")
        blocked = [entry for entry in chromium.errors if "Content Security Policy" in json.dumps(entry)]
        assert not blocked, blocked
    finally:
        chromium.close()


# Guessing


@pytest.mark.one_gateway("each has limits of its own")
def test_guesses_are_slowed_down_without_a_lock_for_the_owner(gateway):
    user = add(gateway, "guessed@example.com")
    owner = signed_in(gateway, "guessed@example.com")
    responses = []
    for number in range(120):
        fields = {"X-Forwarded-For": f"198.51.100.{number % 100 + 1}"}
        responses.append(attempt(Browser(gateway), "guessed@example.com", f"wrong {number}", fields=fields))
    assert {page.status for page in responses} == {403, 429}
    assert sum(page.status == 403 for page in responses) <= 20
    last = responses[-1]
    assert last.status == 429 and int(last.get("retry-after")) >= 1 and "Too many attempts" in remark(last)
    # From elsewhere the right password has to wait too; so would a guess that happens to be right.
    assert attempt(Browser(gateway), "guessed@example.com").status == 429
    assert status(gateway, owner) == 200, "the session of the owner goes on"
    assert owner.sign_out().status in (200, 303)
    fields = {"X-Forwarded-For": "203.0.113.7"}
    response = attempt(owner, "guessed@example.com", fields=fields)
    assert response.status == 303, "a device from which the owner has signed in before has a limit of its own"
    assert any("signed in" in line and user in line for line in gateway.log.splitlines()[-40:])


@pytest.mark.one_gateway("each has limits of its own")
def test_unknown_names_are_slowed_down_in_the_same_way(gateway):
    responses = [attempt(Browser(gateway), "no-such-user@example.com", "wrong").status for _ in range(7)]
    assert responses[:5] == [403] * 5 and 429 in responses[5:]


def test_more_passwords_than_can_be_hashed_are_refused(start):
    gateway = start()
    page_of = []
    for number in range(120):
        browser = Browser(gateway)
        page_of.append((browser, form(browser), number))
    statuses = []

    def post(browser, page, number):
        response = fill(browser, page, {"username": f"flood{number}@example.com", "password": "x"})
        statuses.append((response.status, response.get("retry-after")))

    threads = [threading.Thread(target=post, args=one) for one in page_of]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {code for code, _ in statuses} <= {403, 503}
    assert all(wait for code, wait in statuses if code == 503)
    assert gateway.operation("/readyz").status_code == 200


# What operators do


def test_a_disabled_user_is_out_at_once_and_in_again_when_enabled(gateway):
    user = add(gateway, "disable@example.com")
    browser = signed_in(gateway, "disable@example.com")
    assert status(gateway, browser) == 200
    result = users(gateway, "disable", "disable@example.com")
    assert result["account"]["disabled"] and result["sign_ins_ended"] == 1
    assert status(gateway, browser) == 401
    assert attempt(Browser(gateway), "disable@example.com").status == 403
    users(gateway, "enable", user)
    signed_in(gateway, "disable@example.com")


def test_a_reset_ends_sessions_and_the_old_password(gateway):
    add(gateway, "reset@example.com")
    browser = signed_in(gateway, "reset@example.com")
    result = users(gateway, "reset", "reset@example.com")
    assert status(gateway, browser) == 401
    assert attempt(Browser(gateway), "reset@example.com").status == 403
    assert choose(gateway, result["link"], OTHER).status == 200
    assert attempt(Browser(gateway), "reset@example.com", PASSWORD).status == 403
    signed_in(gateway, "reset@example.com", OTHER)


def test_a_removed_user_is_out_and_a_later_one_is_another_user(gateway):
    first = add(gateway, "removed@example.com")
    browser = signed_in(gateway, "removed@example.com")
    assert users(gateway, "remove", first)["account"]["user"] == first
    assert status(gateway, browser) == 401
    assert attempt(Browser(gateway), "removed@example.com").status == 403
    assert "there is no account" in failed(gateway, "show", first)
    assert add(gateway, "removed@example.com") != first


def test_the_commands_report_what_is_wrong(gateway):
    add(gateway, "taken@example.com", "--username", "taken")
    for arguments, text in [
        (["add", "--email", "TAKEN@example.com"], "another account has taken@example.com"),
        (["add", "--username", "Taken"], "another account has taken"),
        (["add", "--email", "nonsense"], "'email' is not an email address"),
        (["add", "--username", "with space"], "'username' is not"),
        (["disable", "unknown@example.com"], "there is no account 'unknown@example.com'"),
        (["show", "unknown", "--provider", "other"], "there is no provider 'other' of type local"),
    ]:
        assert text in failed(gateway, *arguments)


def test_changes_are_in_the_audit_log(gateway):
    user = add(gateway, "audited@example.com")
    users(gateway, "set", user, "--group", "b", "--group", "a", "--name", "Ada")
    shown = users(gateway, "show", user)
    assert shown["groups"] == ["a", "b"] and shown["name"] == "Ada"
    users(gateway, "disable", user)
    lines = [line for line in gateway.log.splitlines() if user in line]
    for change in ("add", "set", "disable"):
        assert any("account changed" in line and f"change={change}" in line and 'by="uid' in line for line in lines)
    assert any("credentials changed" in line and "password chosen by link" in line for line in lines)


def test_accounts_are_imported_from_csv_and_json_lines(gateway, tmp_path):
    # A test vector of libargon2.
    password_hash = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
    csv = tmp_path / "accounts.csv"
    csv.write_text(
        "email,username,name,groups,password,email_verified\n"
        f'import1@example.com,import1,"Doe, ""Jane""",a;b,"{password_hash}",true\n'
        "import2@example.com,,,,,\n"
        "nonsense,,,,,\n"
        "import3@example.com,,,,$2b$12$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ01234,\n"
    )
    result = run("users", "import", csv, "--config", gateway.path, cwd=gateway.folder)
    assert result.returncode == 1 and "added 2 accounts, 2 rows failed" in result.stderr
    assert ":4: error: 'email' is not an email address" in result.stderr
    assert ":5: error: 'password' is not an Argon2id hash" in result.stderr
    account = users(gateway, "show", "import1")
    assert account["name"] == 'Doe, "Jane"' and account["groups"] == ["a", "b"] and account["email_verified"]
    # The password of the test vector is too short for a new one; it still admits its user.
    signed_in(gateway, "import1", "password")
    link = re.search(r"http\S+", result.stdout).group(0)
    assert choose(gateway, link).status == 200
    lines = tmp_path / "accounts.jsonl"
    rows = [{"email": "import4@example.com", "groups": ["x"]}, {"username": "import5"}]
    lines.write_text("\n".join(map(json.dumps, rows)) + "\nnot json\n")
    result = run("users", "import", lines, "--config", gateway.path, cwd=gateway.folder)
    assert "added 2 accounts, 1 rows failed" in result.stderr
    assert users(gateway, "show", "import4@example.com")["groups"] == ["x"]


def test_an_api_request_with_an_unknown_member_changes_nothing(gateway):
    socket = gateway.folder / "state" / "operations.sock"
    number, found = call(socket, "POST", "/v1/accounts/add", {"email": "member@example.com", "emial_verified": True})
    assert number == 400 and "emial_verified" in found["error"]
    assert call(socket, "GET", "/v1/accounts/add")[0] == 405
    assert "there is no account" in failed(gateway, "show", "member@example.com")


# What users change


def test_a_change_of_the_password_signs_out_everywhere(gateway):
    add(gateway, "change@example.com")
    browser, other = signed_in(gateway, "change@example.com"), signed_in(gateway, "change@example.com")
    page = browser.visit("/oauth2/credentials")
    values = {"new_password": OTHER, "repeat_password": OTHER}
    wrong = fill(browser, page, {"password": "wrong", **values})
    assert wrong.status == 403 and "current password is wrong" in remark(wrong)
    assert status(gateway, other) == 200
    done = fill(browser, page, {"password": PASSWORD, **values})
    assert done.status == 200 and "is changed" in done.text
    assert status(gateway, browser) == 401
    # Another gateway hears of it within milliseconds.
    eventually(lambda: status(gateway, other) == 401, "the other session has ended", 2)
    assert attempt(Browser(gateway), "change@example.com").status == 403
    signed_in(gateway, "change@example.com", OTHER)


def test_credentials_are_changed_by_our_page_and_its_user_only(gateway):
    add(gateway, "victim@example.com")
    add(gateway, "other@example.com")
    victim, other = signed_in(gateway, "victim@example.com"), signed_in(gateway, "other@example.com")
    page = victim.visit("/oauth2/credentials")
    values = {"password": PASSWORD, "new_password": OTHER, "repeat_password": OTHER}
    cross = fill(victim, page, values, fields={"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"})
    assert cross.status == 403
    assert fill(victim, page, {**values, "consent": ""}).status == 403
    foreign = forms(other.visit("/oauth2/credentials"))[0][2]["consent"]
    assert fill(victim, page, {**values, "consent": foreign}).status == 403
    signed_in(gateway, "victim@example.com")


def test_without_a_session_the_page_about_credentials_leads_to_the_sign_in(gateway):
    page = Browser(gateway).visit("/oauth2/credentials")
    assert page.status == 200 and 'name="password"' in page.text


# Codes


def enrol(gateway, name):
    """Adds an authenticator app; its secret and the recovery codes."""
    browser = signed_in(gateway, name)
    page = browser.visit("/oauth2/credentials")
    secret = secret_of(page)
    assert f"otpauth://totp/gate.localhost%3A{name.replace('@', '%40')}?secret={secret}" in page.text
    wrong = fill(browser, page, {"code": "000000", "password": PASSWORD}, form=1)
    assert wrong.status == 400 and "code is wrong" in remark(wrong)
    done = fill(browser, page, {"code": earlier_code(secret), "password": PASSWORD}, form=1)
    assert done.status == 200, remark(done)
    return secret, re.findall(r"<li>([A-Z2-7]{5}-[A-Z2-7]{5})</li>", done.text)


def test_with_codes_the_password_alone_is_not_enough(gateway):
    add(gateway, "codes@example.com")
    secret, recovery = enrol(gateway, "codes@example.com")
    assert len(set(recovery)) == 10
    browser = Browser(gateway)
    page = attempt(browser, "codes@example.com", rd="/after")
    assert page.status == 200 and not browser.ticket() and 'autocomplete="one-time-code"' in page.text
    wrong = fill(browser, page, {"code": "000000"})
    assert wrong.status == 403 and not browser.ticket()
    used = code(secret)
    response = fill(browser, wrong, {"code": used})
    assert response.status == 303 and response.get("location").endswith("/after")
    again = Browser(gateway)
    assert fill(again, attempt(again, "codes@example.com"), {"code": used}).status == 403, "a code works once"


def test_a_recovery_code_works_once(gateway):
    add(gateway, "recovery@example.com")
    _, recovery = enrol(gateway, "recovery@example.com")
    for expected in (303, 403):
        browser = Browser(gateway)
        page = attempt(browser, "recovery@example.com")
        assert fill(browser, page, {"code": recovery[0].lower()}).status == expected
    assert users(gateway, "show", "recovery@example.com")["recovery_codes_left"] == 9


def test_the_form_for_the_code_is_of_one_attempt_and_one_account(gateway):
    for name in ("one@example.com", "two@example.com"):
        add(gateway, name)
    secret, _ = enrol(gateway, "one@example.com")
    enrol(gateway, "two@example.com")
    first, second = Browser(gateway), Browser(gateway)
    page = attempt(first, "one@example.com")
    other = attempt(second, "two@example.com")
    proof = forms(page)[0][2]["proof"]
    # The proof of one attempt in the form of another one: the password is asked for again.
    mixed = fill(second, other, {"proof": proof, "code": code(secret)})
    assert not second.ticket() and 'name="password"' in mixed.text
    without = fill(second, other, {"proof": "", "code": code(secret)})
    assert not second.ticket() and 'name="password"' in without.text
    # A code that is not asked for does not replace the password.
    skipped = fill(Browser(gateway), form(second), {"username": "one@example.com", "code": code(secret)})
    assert skipped.status in (400, 403)


def test_codes_are_removed_with_password_and_code_or_by_the_operator(gateway):
    add(gateway, "remove-codes@example.com")
    secret, recovery = enrol(gateway, "remove-codes@example.com")
    browser = Browser(gateway)
    follow(browser, fill(browser, attempt(browser, "remove-codes@example.com"), {"code": code(secret)}))
    page = browser.visit("/oauth2/credentials")
    assert "10 recovery codes left" in page.text
    assert fill(browser, page, {"password": "wrong", "code": recovery[0]}, form=1).status == 403
    for wrong in ("", "000000", "AAAAA-AAAAA"):
        assert fill(browser, page, {"password": PASSWORD, "code": wrong}, form=1).status == 400
    assert fill(browser, page, {"password": PASSWORD, "code": recovery[0]}, form=1).status == 200
    signed_in(gateway, "remove-codes@example.com")
    enrol(gateway, "remove-codes@example.com")
    link = users(gateway, "reset", "remove-codes@example.com", "--remove-codes")["link"]
    assert choose(gateway, link).status == 200
    signed_in(gateway, "remove-codes@example.com")


# Stores


def test_accounts_outlive_a_restart(start):
    gateway = start(store="sqlite:accounts.db")
    user = add(gateway, "ada@example.com")
    browser = signed_in(gateway)
    gateway.stop()
    gateway.start()
    assert users(gateway, "show", "ada@example.com")["user"] == user
    assert status(gateway, browser) == 200
    signed_in(gateway)
    stored = b"".join(path.read_bytes() for path in gateway.folder.glob("accounts.db*"))
    assert b"ada@example.com" not in stored and b"argon2id" not in stored


def test_two_gateways_share_accounts_in_redis(start, tmp_path):
    redis = Redis(tmp_path / "redis").start()
    try:
        store = f"redis://127.0.0.1:{redis.port}"
        first, second = (start(name, store=store) for name in ("first", "second"))
        user = add(first, "ada@example.com")
        on_second = signed_in(second)
        assert status(second, on_second) == 200
        assert "another account has" in failed(second, "add", "--email", "ada@example.com")
        users(first, "disable", user)
        assert status(second, on_second) == 401
        assert attempt(Browser(second), "ada@example.com").status == 403
        users(second, "enable", user)
        signed_in(first)
        keys = [key for key in redis.run("KEYS", "gatehouse:*account*") if key]
        assert keys and all(redis.run("TTL", key) == ["-1"] for key in keys), "none expires"
        assert all("ada@example.com" not in "".join(redis.run("GET", key)) for key in keys if ":e:" in key)
        users(second, "remove", user)
        assert users(first, "list", "--local")["accounts"] == []
    finally:
        redis.end()


def test_a_link_is_used_at_one_of_two_gateways(start, tmp_path):
    redis = Redis(tmp_path / "redis").start()
    try:
        store = f"redis://127.0.0.1:{redis.port}"
        first, second = (start(name, store=store) for name in ("first", "second"))
        link = users(first, "add", "--email", "ada@example.com")["link"]
        there = link.replace(f":{first.port}/", f":{second.port}/")
        assert choose(second, there).status == 200
        assert Browser(first).visit(link).status == 400
    finally:
        redis.end()


def test_accounts_are_sealed_again_when_the_secret_is_rotated(start):
    old, new = "o" * 40, "n" * 40
    gateway = start(store="sqlite:accounts.db", gateway={"secret": [old]})
    add(gateway, "ada@example.com")
    gateway.stop()
    gateway.configuration["gateway"]["secret"] = [new, old]
    gateway.start()
    eventually(lambda: "accounts sealed with the present secret" in gateway.log, "accounts are sealed again", 20)
    gateway.stop()
    gateway.configuration["gateway"]["secret"] = [new]
    gateway.start()
    signed_in(gateway)


def test_a_session_has_changed_groups_after_its_recheck(start):
    gateway = start()
    gateway.configuration["sessions"] = {"recheck": "1s"}
    gateway.stop()
    gateway.start()
    user = add(gateway, "ada@example.com")
    browser = signed_in(gateway)
    users(gateway, "set", user, "--name", "Countess")
    def renamed():
        response = browser.send("GET", "/oauth2/userinfo")
        return response.status == 200 and json.loads(response.text).get("name") == "Countess"

    eventually(renamed, "the session has the new name", 20)


# Configuration


def check(tmp_path, providers, **more):
    path = tmp_path / "providers.yaml"
    apps = {"echo": {"path": "/", "upstream": "http://127.0.0.1:9", "allow": "signed_in"}}
    configuration = {
        "gateway": {"public_url": "http://gate.localhost", "secret": "${env:TEST_GATEWAY_SECRET}", **more.pop("gateway", {})},
        "providers": providers, "apps": apps, **more,
    }
    path.write_text(json.dumps(configuration, indent=1))
    return run("check", "--config", path, cwd=tmp_path)


def test_check_accepts_local_accounts(tmp_path):
    result = check(tmp_path, {"staff": {"type": "local", "name": "Staff", "link_lifetime": "24h"}})
    assert result.returncode == 0, result


@pytest.mark.parametrize(
    "more, text",
    [
        ({"client_id": "x"}, "'client_id' is about a server, and type local has none"),
        ({"issuer": "https://id.example.com"}, "'issuer' is about a server"),
        ({"tls": {"pins": "google-roots"}}, "'tls' is about a server"),
        ({"link_lifetime": "1m"}, "out of range"),
        ({"registration": {"domains": ["example.com"]}}, "add 'mail' to the file"),
        ({"mail": {"server": "smtp://127.0.0.1:25"}}, "unknown key 'mail'"),
        ({"breached_passwords": "/nonexistent"}, "cannot be read"),
    ],
)
def test_check_reports_what_local_accounts_do_not_have(tmp_path, more, text):
    result = check(tmp_path, {"staff": {"type": "local", **more}})
    assert result.returncode == 1 and text in result.stderr + result.stdout, result


def test_check_reports_keys_of_local_accounts_on_other_types(tmp_path):
    result = check(tmp_path, {"id": {"type": "google", "client_id": "a", "client_secret": "b", "link_lifetime": "1d"}})
    assert result.returncode == 1 and "'link_lifetime' is for type local only" in result.stderr


def test_check_reports_stores_that_keep_no_accounts(tmp_path):
    local = {"staff": {"type": "local"}}
    result = check(tmp_path, local, sessions={"store": "cookie:"})
    assert result.returncode == 1 and "type local needs another 'sessions.store' than 'cookie:'" in result.stderr
    result = check(tmp_path, local, sessions={"store": "memory:"})
    assert result.returncode == 0 and "the local accounts end with the process" in result.stderr


def test_local_accounts_are_a_provider_beside_others(tmp_path, recorder, provider_server):
    providers = {
        "mock": oidc(provider_server.realm("mock").issuer), "staff": {"type": "local", "name": "Staff account"},
        "guests": {"type": "local", "name": "Guest account"},
    }
    apps = {
        "echo": {"path": "/", "upstream": recorder.address, "allow": "signed_in"},
        "mine": {
            "path": "/mine/", "upstream": recorder.address, "providers": ["staff"], "allow": [{"group": "admins"}]
        },
        "theirs": {"path": "/theirs/", "upstream": recorder.address, "providers": ["mock"], "allow": "signed_in"},
    }
    with Gateway(tmp_path / "several", providers, apps) as gateway:
        assert "name one of the providers" in failed(gateway, "add", "--email", "ada@example.com")
        user = add(gateway, "ada@example.com", "--provider", "staff", "--group", "admins")
        eve = add(gateway, "eve@example.com", "--provider", "staff", password=OTHER)
        page = Browser(gateway).visit("/x")
        assert "Staff account" in page.text and "Guest account" in page.text
        browser = signed_in(gateway)
        assert browser.visit("/mine/x").status == 200
        assert recorder.requests[-1].get("x-forwarded-user") == user
        assert recorder.requests[-1].get("x-forwarded-groups") == "admins"
        # An app that does not accept the provider has the user sign in with the one that it accepts.
        browser.visit("/theirs/x")
        assert recorder.requests[-1].get("x-forwarded-provider") == "mock"
        other = signed_in(gateway, "eve@example.com", OTHER)
        denied = other.visit("/mine/x")
        assert denied.status == 403 and "policy.refused" in denied.text
        sessions = json.loads(run("sessions", "list", "--provider", "staff", "--json", "--config", gateway.path,
                                  cwd=gateway.folder).stdout)["sessions"]
        assert {session["user"] for session in sessions} == {eve}


def test_without_local_accounts_nothing_of_them_is_there(tmp_path, recorder, provider_server):
    apps = {"echo": {"path": "/", "upstream": recorder.address, "allow": "signed_in"}}
    with Gateway(tmp_path / "other", {"mock": oidc(provider_server.realm("mock").issuer)}, apps) as gateway:
        browser = Browser(gateway)
        assert browser.send("POST", "/oauth2/password/mock", body={"username": "a"}).status == 404
        assert browser.send("GET", "/oauth2/link/mock?token=x").status == 404
        assert "no provider of type local" in failed(gateway, "add", "--email", "ada@example.com")
        browser.sign_in("mock", "/x")
        assert browser.visit("/oauth2/credentials").status == 404
