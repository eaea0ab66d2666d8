# SPDX-License-Identifier: Apache-2.0
"""Passkeys: to sign in with local accounts, and as `authenticated: passkey` for the users of every provider.

The authenticator is one of PyPI's `fido2`, and that of Chromium.
"""

import json
import re
import time
from html import unescape
from urllib.parse import urlencode, urljoin, urlsplit

import pytest

from support.accounts import OTHER, PASSWORD, add, attempt, fill, follow, form, remark, signed_in, users
from support.authenticator import Authenticator
from support.browser import Browser, forms, links
from support.chromium import CHROMIUM, Chromium
from support.gateway import Gateway, oidc, run
from support.operations import command
from support.processes import eventually
from support.raw import request
from support.upstream import Upstream

LATE = "The page was open for too long. Try once more."
COPIED = "This passkey seems to have been copied. Remove it and use another one."
REJECTED = "The passkey was not accepted. Use another one or try once more."


@pytest.fixture(scope="module")
def recorder():
    upstream = Upstream()
    yield upstream
    upstream.close()


def passkey_gateway(folder, recorder, providers, **more):
    """A gateway with passkeys; `/vault` and the host `vault.localhost` ask for one."""
    vault = {"upstream": recorder.address, "allow": [{"email_domain": "example.com", "authenticated": "passkey"}]}
    apps = {
        "wiki": {"path": "/", "upstream": recorder.address, "allow": "signed_in"},
        "vault": {"path": "/vault", **vault},
        "remote": {"host": "vault.localhost", **vault},
        "fresh": {
            "path": "/fresh", "upstream": recorder.address, "allow": "signed_in",
            "deny": [{"path": "/fresh/keys/**", "not": {"authenticated": "passkey within 1m"}}],
        },
    }
    gateway = Gateway(folder, providers, apps, **more)
    gateway.configuration["passkeys"] = {"name": "Acme"}
    return gateway


@pytest.fixture(scope="module")
def shared(tmp_path_factory, provider_server, recorder):
    providers = {"mock": oidc(provider_server.realm("mock").issuer), "staff": {"type": "local"}}
    settings = {"trusted_proxies": ["127.0.0.1/32"]}
    with passkey_gateway(tmp_path_factory.mktemp("passkeys"), recorder, providers, gateway=settings) as gateway:
        yield gateway


@pytest.fixture
def gateway(shared):
    yield shared
    assert shared.process.child.poll() is None, shared.process.log[-4000:]


@pytest.fixture
def realm(provider_server):
    with provider_server.realm("mock").fresh() as realm:
        yield realm


def user(gateway, realm, subject, path="/x"):
    """A browser in which a user of the OpenID provider has just signed in."""
    realm.user = {**realm.user, "sub": subject, "email": f"{subject}@example.com", "email_verified": True}
    browser = Browser(gateway)
    assert browser.sign_in("mock", path).status == 200
    return browser


def options(page):
    """What the page asks the browser for."""
    return json.loads(unescape(re.search(r'data-options="([^"]*)"', page.text).group(1)))


def asking(page):
    """The number of the form that asks for a passkey."""
    tags = re.findall(r"<form([^>]*)>", page.text)
    return next(number for number, tag in enumerate(tags) if "data-passkey" in tag)


def send(browser, page, response, **values):
    """Sends what an authenticator has returned; redirects are not followed."""
    return fill(browser, page, {"credential": json.dumps(response), **values}, form=asking(page))


def passkeys_page(gateway, browser, owner=None, rd=None):
    """The page on which passkeys are added, once the session is confirmed: by a passkey of `owner`, or else by a sign-in."""
    page = browser.visit("/oauth2/passkeys" + (f"?{urlencode({'rd': rd})}" if rd else ""))
    assert page.status == 200 and 'data-passkey="create"' not in page.text, page.text
    if owner:
        page = prove(gateway, browser, owner, page)
    else:
        page = browser.visit(next(link for link in links(page) if "/oauth2/start/" in link))
        if "password" in page.text and ended(page) == "/oauth2/start/staff":
            page = follow(browser, fill(browser, page, {"username": browser.name, "password": PASSWORD}))
    assert page.status == 200 and 'data-passkey="create"' in page.text, page.text
    return page


def enrol(gateway, browser, authenticator, owner=None, rd=None, name="Laptop", **more):
    """Adds a passkey; the response, redirects not followed."""
    page = passkeys_page(gateway, browser, owner, rd)
    return send(browser, page, authenticator.create(options(page), gateway.origin, **more), name=name)


def prove(gateway, browser, authenticator, page, origin=None, **more):
    """Uses a passkey on a page that asks for one; redirects are not followed."""
    return send(browser, page, authenticator.get(options(page), origin or gateway.origin, **more))


def get(gateway, browser, path):
    """A request of a script, which is not redirected."""
    fields = [("Cookie", f"gatehouse={browser.ticket()}")]
    return request(gateway.port, path, host=gateway.host, fields=fields)


def ended(page):
    """The path where a browser is."""
    return urlsplit(page.url).path


# Step-up


def test_a_user_without_a_passkey_adds_one_and_reaches_the_app(gateway, realm, recorder):
    browser, authenticator = user(gateway, realm, "first"), Authenticator()
    assert get(gateway, browser, "/vault/x").status == 401
    page = browser.visit("/vault/x?y=1")
    assert page.status == 200 and ended(page) == "/oauth2/passkey" and "data-passkey" not in page.text
    link = next(link for link in links(page) if "/oauth2/start/mock" in link)
    assert "confirm first that it is you" in browser.visit("/oauth2/passkeys").text
    # A new sign-in is asked for, and leads back.
    page = browser.visit(link)
    assert ended(page) == "/oauth2/passkeys"
    assert [one["query"] for one in realm.requests if one["path"] == "authorize"][-1]["max_age"] == "60"
    asked = options(page)
    assert asked["rp"] == {"id": "gate.localhost", "name": "Acme"} and asked["excludeCredentials"] == []
    assert asked["authenticatorSelection"]["userVerification"] == "required"
    response = send(browser, page, authenticator.create(asked, gateway.origin), name="Laptop")
    assert response.status == 303, response.text
    page = follow(browser, response)
    assert page.status == 200 and recorder.requests[-1].target == "/vault/x?y=1"
    assert get(gateway, browser, "/vault/x").status == 200
    listed = json.loads(command(gateway, "passkeys", "list", "--user", "mock:first", "--json"))["passkeys"]
    assert [(one["user"], one["name"]) for one in listed] == [("mock:first", "Laptop")]
    assert "passkey added: Laptop" in gateway.log


def test_a_passkey_is_asked_for_once_in_a_sign_in_and_again_in_the_next(gateway, realm):
    authenticator = Authenticator()
    enrol(gateway, user(gateway, realm, "again"), authenticator)
    browser = user(gateway, realm, "again")
    assert get(gateway, browser, "/vault/x").status == 401
    page = browser.visit("/vault/x")
    assert ended(page) == "/oauth2/passkey"
    response = prove(gateway, browser, authenticator, page)
    assert response.status == 303 and response.get("location") == f"{gateway.origin}/vault/x"
    assert follow(browser, response).status == 200
    assert browser.visit("/vault/other").status == 200 and ended(browser) == "/vault/other"
    assert get(gateway, user(gateway, realm, "again"), "/vault/x").status == 401


def test_an_app_on_its_own_host_asks_for_a_passkey_too(gateway, realm, recorder):
    authenticator = Authenticator()
    browser = user(gateway, realm, "remote")
    enrol(gateway, browser, authenticator)
    browser = user(gateway, realm, "remote")
    page = browser.visit(f"http://vault.localhost:{gateway.port}/page?a=1")
    assert ended(page) == "/oauth2/passkey" and "vault.localhost" in page.get("content-security-policy")
    page = follow(browser, prove(gateway, browser, authenticator, page))
    assert page.status == 200 and page.url == f"http://vault.localhost:{gateway.port}/page?a=1"
    assert recorder.requests[-1].get("host") == f"vault.localhost:{gateway.port}"
    # On the other host of the same sign-in, too.
    assert get(gateway, browser, "/vault/x").status == 200


def explained(gateway, app, path, *more):
    result = run("policy", "explain", app, "--path", path, *more, "--config", gateway.path, cwd=gateway.folder)
    assert result.returncode == 0, result
    return result.stdout


@pytest.mark.parametrize("path", ["/admin/page?" + "x=1&" * 300, "/admin/page"])
def test_what_asks_for_a_passkey_on_an_app_host_is_what_the_app_was_asked_for(tmp_path, provider_server, realm, recorder, path):
    """Long paths and writes lead to the passkey as well: the app's decision counts, not one of the gateway's host."""
    gateway = passkey_gateway(tmp_path, recorder, {"mock": oidc(realm.issuer)})
    gateway.configuration["apps"]["remote"] = {
        "host": "vault.localhost", "upstream": recorder.address, "allow": "signed_in",
        "deny": [{"path": "/admin/**", "not": {"authenticated": "passkey"}}],
    }
    with gateway:
        authenticator = Authenticator()
        enrol(gateway, user(gateway, realm, "long"), authenticator)
        browser = user(gateway, realm, "long")
        origin = f"http://vault.localhost:{gateway.port}"
        page = browser.visit(origin + path)
        assert ended(page) == "/oauth2/passkey"
        page = follow(browser, prove(gateway, browser, authenticator, page))
        assert page.status == 200 and page.url == origin + path
        # A write that needs one: the URL for the user leads to the passkey, though the front page needs none.
        browser = user(gateway, realm, "long")
        assert browser.visit(origin + "/").status == 200
        fields = {"Sec-Fetch-Site": "same-origin", "Origin": origin}
        refused = browser.send("DELETE", origin + "/admin/1", fields=fields, navigates=False)
        assert refused.status == 401
        assert ended(browser.visit(json.loads(refused.text)["sign_in"])) == "/oauth2/passkey"


def test_a_passkey_that_was_used_too_long_ago_is_asked_for_again(gateway, realm, tmp_path):
    browser, authenticator = user(gateway, realm, "late"), Authenticator()
    assert browser.send("GET", "/fresh/page").status == 200
    assert get(gateway, browser, "/fresh/keys/x").status == 401
    assert ended(browser.visit("/fresh/keys/x")) == "/oauth2/passkey"
    enrol(gateway, browser, authenticator)
    # Another gateway hears of it within milliseconds.
    eventually(lambda: browser.send("GET", "/fresh/keys/x").status == 200, "the passkey counts", 2)
    profile = tmp_path / "late.json"
    profile.write_text(browser.send("GET", "/oauth2/userinfo", navigates=False).text)
    at = ("--as", profile, "--time", "2026-11-25T10:00:00Z", "--passkey")
    assert explained(gateway, "fresh", "/fresh/keys/x", *at, "2026-11-25T09:59:30Z").startswith("fresh: allowed")
    assert explained(gateway, "fresh", "/fresh/keys/x", *at, "2026-11-25T09:58:00Z").startswith("fresh: sign_in")
    assert explained(gateway, "vault", "/vault/", *at, "2026-11-01T00:00:00Z").startswith("vault: allowed")


def thief_of(gateway, browser):
    """A browser with a copy of all cookies."""
    thief = Browser(gateway)
    thief.cookies = {host: dict(jar) for host, jar in browser.cookies.items()}
    return thief


def test_a_copy_of_the_cookies_adds_no_passkey(gateway, realm):
    """The permission is in the response to the proof, not in the session."""
    browser, authenticator = user(gateway, realm, "robbed"), Authenticator()
    assert "data-passkey" not in thief_of(gateway, browser).visit("/oauth2/passkeys").text
    # A sign-in for this confirms once.
    page = passkeys_page(gateway, browser)
    assert "data-passkey" not in thief_of(gateway, browser).visit("/oauth2/passkeys").text
    assert send(browser, page, authenticator.create(options(page), gateway.origin), name="Own").status == 303
    # The session has just used a passkey, and a copy of it can do nothing with that.
    for _ in range(2):
        page = thief_of(gateway, browser).visit("/oauth2/passkeys")
        assert 'data-passkey="create"' not in page.text and 'name="remove"' not in page.text
        page = browser.visit("/oauth2/passkeys")
        assert 'data-passkey="get"' in page.text
        confirmed = prove(gateway, browser, authenticator, page)
        assert 'data-passkey="create"' in confirmed.text and 'name="remove"' in confirmed.text
        # The same response again is of no use.
        again = fill(thief_of(gateway, browser), page, {"credential": "{}"}, form=asking(page))
        assert again.status == 403 and 'data-passkey="create"' not in again.text
    # A new sign-in does not suffice where there is a passkey, which rules take for more than a sign-in.
    second = user(gateway, realm, "robbed", path="/oauth2/passkeys?confirm=1")
    assert 'data-passkey="create"' not in second.visit("/oauth2/passkeys?confirm=1").text


def test_a_script_of_an_app_on_the_same_host_gets_no_form(gateway, realm):
    browser = user(gateway, realm, "scripted")
    page = browser.visit("/oauth2/passkeys")
    start = next(link for link in links(page) if "/oauth2/start/" in link)
    browser.visit(start, stop=lambda url: "/oauth2/passkeys" in url)
    script = {"Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty", "Sec-Fetch-Site": "same-origin"}
    page = browser.send("GET", "/oauth2/passkeys", fields=script)
    assert 'data-passkey="create"' not in page.text


def test_a_form_of_another_sign_in_or_page_is_rejected(gateway, realm):
    browser, authenticator = user(gateway, realm, "mallory"), Authenticator()
    page = passkeys_page(gateway, browser)
    response = authenticator.create(options(page), gateway.origin)
    other = user(gateway, realm, "victim", path="/oauth2/passkeys")
    stolen = send(other, page, response, name="Other")
    assert (stolen.status, remark(stolen)) == (403, LATE)
    number = asking(page)
    body = {"credential": json.dumps(response), "name": "Other"}
    for fields in (
        {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"},
    ):
        crossed = fill(browser, page, body, form=number, fields=fields)
        assert (crossed.status, "request.cross_site" in crossed.text) == (403, True)
    assert send(browser, page, response, name="Own").status == 303
    replayed = send(browser, page, response, name="Own")
    assert (replayed.status, remark(replayed)) == (403, LATE) and len(listed(gateway, "mock:mallory")) == 1
    assert listed(gateway, "mock:victim") == []


def test_q_08_the_form_for_the_first_passkey_is_late_when_there_is_one(gateway, realm):
    """A form that a thief has opened in time adds no passkey beside that of the user."""
    browser, thief = user(gateway, realm, "early"), user(gateway, realm, "early")
    page, stolen = passkeys_page(gateway, browser), passkeys_page(gateway, thief)
    theirs = Authenticator().create(options(stolen), gateway.origin)
    assert send(browser, page, Authenticator().create(options(page), gateway.origin), name="Own").status == 303
    late = send(thief, stolen, theirs, name="Theirs")
    assert (late.status, remark(late)) == (403, LATE) and "passkey.late" in gateway.log
    assert [one["name"] for one in listed(gateway, "mock:early")] == ["Own"]


@pytest.mark.parametrize("purpose", ["use", "confirm"])
@pytest.mark.parametrize("again", ["twice", "in another sign-in"])
def test_q_09_the_form_of_a_use_works_once_and_in_its_sign_in(gateway, realm, purpose, again):
    subject = f"once-{purpose}-{again.split()[-1]}"
    authenticator = Authenticator()
    enrol(gateway, user(gateway, realm, subject), authenticator)
    browser = user(gateway, realm, subject)
    page = browser.visit("/vault/x" if purpose == "use" else "/oauth2/passkeys")
    if again == "twice":
        first = prove(gateway, browser, authenticator, page)
        assert first.status == (303 if purpose == "use" else 200)
        # A sign-in of its own, so that no earlier use admits to the app.
        target = browser
    else:
        target = user(gateway, realm, subject)
    late = prove(gateway, target, authenticator, page)
    assert (late.status, remark(late)) == (403, LATE)
    assert 'data-passkey="create"' not in late.text
    if again != "twice":
        assert get(gateway, target, "/vault/x").status == 401
        # The right sign-in can still use it.
        assert prove(gateway, browser, authenticator, page).status == (303 if purpose == "use" else 200)


def listed(gateway, key):
    return json.loads(command(gateway, "passkeys", "list", "--user", key, "--json"))["passkeys"]


@pytest.mark.parametrize(
    ("more", "rule"),
    [
        ({"uv": False}, "did not verify the user"), ({"cross_origin": True}, "embedded"),
        ({"attestation": "packed"}, None), ({"attestation": "x5c"}, None), ({"synced": True}, None),
    ],
)
def test_a_registration_follows_the_rules_of_webauthn(gateway, realm, more, rule):
    name = "reg-" + "-".join(f"{key}-{value}".lower() for key, value in more.items())
    browser = user(gateway, realm, name)
    response = enrol(gateway, browser, Authenticator(), **more)
    if rule is None:
        assert response.status == 303, response.text
        assert len(listed(gateway, f"mock:{name}")) == 1
    else:
        assert (response.status, remark(response)) == (403, REJECTED)
        assert listed(gateway, f"mock:{name}") == [] and rule in gateway.log


def test_a_passkey_for_another_origin_is_rejected(gateway, realm):
    browser, authenticator = user(gateway, realm, "phished"), Authenticator()
    page = passkeys_page(gateway, browser)
    made = authenticator.create(options(page), "https://gate.localhost.evil.example")
    assert send(browser, page, made, name="Laptop").status == 403
    assert enrol(gateway, browser, authenticator).status == 303
    browser = user(gateway, realm, "phished")
    page = browser.visit("/vault/x")
    response = prove(gateway, browser, authenticator, page, origin="http://gate.localhost:1")
    assert (response.status, remark(response)) == (403, REJECTED)
    assert get(gateway, browser, "/vault/x").status == 401
    # The page has a new request, which works.
    assert prove(gateway, browser, authenticator, response).status == 303


def test_a_cloned_authenticator_is_rejected_and_reported(gateway, realm):
    browser, authenticator = user(gateway, realm, "cloned"), Authenticator()
    enrol(gateway, browser, authenticator)
    browser = user(gateway, realm, "cloned")
    copy = Authenticator([dict(passkey) for passkey in authenticator.passkeys])
    assert prove(gateway, browser, authenticator, browser.visit("/vault/x")).status == 303
    browser = user(gateway, realm, "cloned")
    response = prove(gateway, browser, copy, browser.visit("/vault/x"))
    # F-11: what helps here is not to try once more.
    assert (response.status, remark(response)) == (403, COPIED)
    assert "passkey.cloned" in gateway.log and get(gateway, browser, "/vault/x").status == 401


def test_a_removed_passkey_is_not_accepted_and_its_sessions_end(gateway, realm):
    browser, authenticator = user(gateway, realm, "removed"), Authenticator()
    enrol(gateway, browser, authenticator)
    other = Authenticator()
    assert enrol(gateway, browser, other, owner=authenticator, name="Phone").status == 303
    elsewhere = user(gateway, realm, "removed")
    assert prove(gateway, elsewhere, authenticator, elsewhere.visit("/vault/x")).status == 303
    page = prove(gateway, browser, other, browser.visit("/oauth2/passkeys"))
    assert page.text.index("Laptop") < page.text.index("Phone")
    page = follow(browser, fill(browser, page, {}, form=0))
    assert "Your passkeys have changed." in page.text and "Laptop" not in page.text and "Phone" in page.text
    assert get(gateway, browser, "/vault/x").status == 200
    # The lost device may have signed in with it.
    assert get(gateway, elsewhere, "/x").status == 401
    elsewhere = user(gateway, realm, "removed")
    asked = options(elsewhere.visit("/vault/x"))
    assert [one["id"] for one in asked["allowCredentials"]] == [other.passkeys[0]["id"]]
    response = authenticator.get({**asked, "allowCredentials": []}, gateway.origin)
    assert send(elsewhere, elsewhere.visit("/vault/x"), response).status == 403
    assert prove(gateway, elsewhere, other, elsewhere.visit("/vault/x")).status == 303


def test_an_operator_removes_the_passkeys_of_a_user_who_has_lost_the_device(gateway, realm):
    browser = user(gateway, realm, "lost")
    enrol(gateway, browser, Authenticator())
    one = listed(gateway, "mock:lost")[0]
    printed = run("passkeys", "remove", "mock:lost", "--id", "other", "--config", gateway.path, cwd=gateway.folder)
    assert printed.returncode == 1 and "has no passkey of this id" in printed.stderr
    assert json.loads(command(gateway, "passkeys", "remove", "mock:lost", "--id", one["id"], "--json")) == {"user": "mock:lost"}
    assert listed(gateway, "mock:lost") == []
    browser = user(gateway, realm, "lost")
    assert "you have none yet" in browser.visit("/vault/x").text
    assert enrol(gateway, browser, Authenticator()).status == 303
    assert "remove_passkeys" in gateway.log
    text = command(gateway, "passkeys", "list")
    assert text.splitlines()[0].split() == ["USER", "ID", "NAME", "ADDED", "LAST", "USED", "SYNCED"]
    assert json.loads(command(gateway, "passkeys", "remove", "mock:lost", "--json")) == {"user": "mock:lost"}
    printed = run("passkeys", "remove", "mock:lost", "--config", gateway.path, cwd=gateway.folder)
    assert printed.returncode == 1 and "mock:lost has no passkeys" in printed.stderr


def test_a_user_has_at_most_ten_passkeys_and_each_once(gateway, realm):
    browser, owner = user(gateway, realm, "many"), None
    for number in range(10):
        device = Authenticator()
        assert enrol(gateway, browser, device, owner=owner, name=f"Key {number}").status == 303
        owner = device
    response = enrol(gateway, browser, Authenticator(), owner=owner, name="One too many")
    assert response.status == 409 and "as many as are allowed" in remark(response)
    assert len(listed(gateway, "mock:many")) == 10


@pytest.mark.parametrize(
    "credential", ["", "{}", "[]", "null", "x" * 8000, "[" * 5000, '{"type":"public-key","rawId":"AA","id":"AA"}']
)
def test_what_is_not_a_response_is_rejected(gateway, realm, credential):
    browser = user(gateway, realm, "broken")
    page = passkeys_page(gateway, browser)
    response = fill(browser, page, {"credential": credential, "name": "x"}, form=asking(page))
    assert (response.status, remark(response)) == (403, REJECTED)
    browser.send("GET", "/x")


# Sign-ins with local accounts


def enrolled(gateway, email):
    """A local account with a passkey, and its authenticator."""
    add(gateway, email)
    browser, authenticator = local(gateway, email), Authenticator()
    assert enrol(gateway, browser, authenticator).status == 303
    return authenticator


def local(gateway, email):
    """A browser in which the user of a local account is signed in."""
    browser = signed_in(gateway, email)
    browser.name = email
    return browser


def test_the_user_of_a_local_account_signs_in_with_a_passkey_alone(gateway, recorder):
    authenticator = enrolled(gateway, "ann@example.com")
    browser = Browser(gateway)
    page = form(browser, "/vault/x")
    assert 'autocomplete="username webauthn"' in page.text
    asked = options(page)
    assert asked["allowCredentials"] == [] and asked["userVerification"] == "required"
    copy = thief_of(gateway, browser)
    response = prove(gateway, browser, authenticator, page)
    assert response.status == 303, response.text
    # The sign-in counts as the passkey that the app asks for.
    assert follow(browser, response).status == 200
    assert recorder.requests[-1].target == "/vault/x"
    # The form belongs to the browser that got it, and signs in once, whatever the authenticator signs.
    for other in (copy, Browser(gateway)):
        rejected = prove(gateway, other, authenticator, page)
        assert rejected.status == 400 and not other.ticket()


def test_a_passkey_replaces_password_and_code(gateway):
    from support.accounts import code, secret_of

    email = "both@example.com"
    add(gateway, email)
    browser, authenticator = local(gateway, email), Authenticator()
    assert enrol(gateway, browser, authenticator).status == 303
    page = browser.visit("/oauth2/credentials")
    added = fill(browser, page, {"password": PASSWORD, "code": code(secret_of(page))}, form=1)
    assert added.status == 200 and added.text.count("<li>") == 10
    fresh = Browser(gateway)
    assert "six digits" in attempt(fresh, email).text or 'autocomplete="one-time-code"' in attempt(fresh, email).text
    fresh = Browser(gateway)
    response = prove(gateway, fresh, authenticator, form(fresh, "/x"))
    assert response.status == 303 and follow(fresh, response).status == 200


def test_a_disabled_or_removed_account_is_not_entered_by_its_passkey(gateway):
    authenticator = enrolled(gateway, "gone@example.com")
    users(gateway, "disable", "gone@example.com")
    browser = Browser(gateway)
    response = prove(gateway, browser, authenticator, form(browser, "/x"))
    assert (response.status, remark(response)) == (403, REJECTED) and not browser.ticket()
    users(gateway, "enable", "gone@example.com")
    key = users(gateway, "show", "gone@example.com")["user"]
    users(gateway, "remove", "gone@example.com")
    browser = Browser(gateway)
    assert prove(gateway, browser, authenticator, form(browser, "/x")).status == 403
    assert listed(gateway, key) == []


def test_a_passkey_does_not_outlive_a_reset_and_a_new_password_names_it(gateway):
    """What a thief has added must not stay unnoticed."""
    email = "stolen@example.com"
    authenticator = enrolled(gateway, email)
    browser = signed_in(gateway, email)
    page = browser.visit("/oauth2/credentials")
    changed = fill(browser, page, {"password": PASSWORD, "new_password": OTHER, "repeat_password": OTHER})
    assert "Your passkeys and connected accounts still sign you in" in changed.text
    assert any("rd=%2Foauth2%2Faccount" in link for link in links(changed))
    fresh = Browser(gateway)
    assert prove(gateway, fresh, authenticator, form(fresh, "/x")).status == 303
    users(gateway, "reset", email)
    fresh = Browser(gateway)
    assert prove(gateway, fresh, authenticator, form(fresh, "/x")).status == 403 and not fresh.ticket()


def test_a_passkey_of_another_provider_signs_no_local_account_in(gateway, realm):
    browser, authenticator = user(gateway, realm, "federated"), Authenticator()
    enrol(gateway, browser, authenticator)
    browser = Browser(gateway)
    response = prove(gateway, browser, authenticator, form(browser, "/x"))
    assert (response.status, remark(response)) == (403, REJECTED) and not browser.ticket()


def test_a_passkey_belongs_to_the_user_whom_it_names(gateway):
    """A response of one user with the handle of another signs in neither."""
    mallory = enrolled(gateway, "mallory@example.com")
    victim = enrolled(gateway, "victim@example.com")
    mallory.passkeys[0]["userHandle"] = victim.passkeys[0]["userHandle"]
    browser = Browser(gateway)
    assert prove(gateway, browser, mallory, form(browser, "/x")).status == 403
    victim.passkeys[0]["id"] = mallory.passkeys[0]["id"]
    assert prove(gateway, browser, victim, form(browser, "/x")).status == 403 and not browser.ticket()


# The file


def checked(folder, **changes):
    configuration = {
        "gateway": {"public_url": "https://gate.example.com", "listeners": [{"address": "127.0.0.1:1"}], "state": str(folder)},
        "providers": {"staff": {"type": "local"}},
        "apps": {"wiki": {"path": "/", "upstream": "http://127.0.0.1:2", "allow": [{"authenticated": "passkey"}]}},
        "passkeys": {}, **changes,
    }
    path = folder / "providers.yaml"
    path.write_text(json.dumps(configuration))
    return run("check", "--config", path, cwd=folder)


def test_check_rejects_what_would_lock_users_out(tmp_path):
    assert checked(tmp_path).returncode == 0
    assert checked(tmp_path, passkeys={"rp_id": "example.com"}).returncode == 0
    for changes, text in [
        ({"passkeys": {"rp_id": "example.org"}}, "neither that nor below it"),
        ({"passkeys": {"rp_id": "ate.example.com"}}, "neither that nor below it"),
        ({"sessions": {"store": "cookie:"}}, "it keeps no passkeys"),
    ]:
        result = checked(tmp_path, **changes)
        assert result.returncode == 1 and text in result.stderr + result.stdout, result
    path = tmp_path / "providers.yaml"
    configuration = json.loads(path.read_text())
    del configuration["passkeys"], configuration["sessions"]
    path.write_text(json.dumps(configuration))
    result = run("check", "--config", path, cwd=tmp_path)
    assert result.returncode == 1 and "add 'passkeys: {}' to the file" in result.stderr + result.stdout


# Chromium


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    browser = Chromium(tmp_path_factory.mktemp("chromium"))
    yield browser
    browser.close()


@pytest.fixture
def device(chromium):
    """Chromium's own virtual authenticator: a platform authenticator that verifies its user."""
    chromium.call("WebAuthn.enable")
    made = chromium.call(
        "WebAuthn.addVirtualAuthenticator",
        options={
            "protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True,
            "isUserVerified": True, "automaticPresenceSimulation": True,
        },
    )
    chromium.errors.clear()
    yield made["authenticatorId"]
    chromium.call("WebAuthn.removeVirtualAuthenticator", authenticatorId=made["authenticatorId"])
    chromium.call("Network.clearBrowserCookies")


def at(chromium, path):
    chromium.until(f"location.pathname == {json.dumps(path)} && document.readyState == 'complete'", path)


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_chromium_adds_a_passkey_signs_in_with_it_and_steps_up(gateway, chromium, device):
    add(gateway, "chromium@example.com")
    chromium.go(f"{gateway.origin}/oauth2/start/staff?rd=/vault/page")
    chromium.until("!!document.querySelector('#password')", "the form")
    chromium.evaluate(
        f"document.querySelector('#username').value = 'chromium@example.com';"
        f"document.querySelector('#password').value = {json.dumps(PASSWORD)};"
        "document.querySelector('form button.primary').click()"
    )
    at(chromium, "/oauth2/passkey")
    chromium.click("a.primary")
    at(chromium, "/oauth2/start/staff")
    chromium.until("!!document.querySelector('#password')", "the form")
    chromium.evaluate(
        f"document.querySelector('#username').value = 'chromium@example.com';"
        f"document.querySelector('#password').value = {json.dumps(PASSWORD)};"
        "document.querySelector('form button.primary').click()"
    )
    at(chromium, "/oauth2/passkeys")
    chromium.click("form[data-passkey=create] button")
    at(chromium, "/vault/page")
    made = chromium.call("WebAuthn.getCredentials", authenticatorId=device)["credentials"]
    assert len(made) == 1 and made[0]["rpId"] == "gate.localhost"
    # The next sign-in, without a password.
    chromium.call("Network.clearBrowserCookies")
    chromium.call("WebAuthn.setUserVerified", authenticatorId=device, isUserVerified=True)
    chromium.go(f"{gateway.origin}/oauth2/start/staff?rd=/vault/other")
    at(chromium, "/vault/other")
    # The icon of an app is asked for at any time.
    assert [error for error in chromium.errors if "status of" not in error.get("text", "")] == []


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_chromium_shows_what_went_wrong_and_the_user_goes_on(gateway, chromium, device, realm):
    realm.user = {**realm.user, "sub": "clumsy", "email": "clumsy@example.com", "email_verified": True}
    chromium.go(f"{gateway.origin}/oauth2/start/mock?rd=/oauth2/passkeys")
    at(chromium, "/oauth2/passkeys")
    chromium.click("a.primary")
    shown = "[...document.querySelectorAll('[data-error]')].filter(e => !e.hidden).map(e => e.dataset.error).join()"
    # The device does not recognize the user.
    chromium.call("WebAuthn.setUserVerified", authenticatorId=device, isUserVerified=False)
    chromium.click("form[data-passkey=create] button")
    chromium.until(f"{shown} == 'cancelled'", "the error is shown")
    chromium.call("WebAuthn.setUserVerified", authenticatorId=device, isUserVerified=True)
    chromium.click("form[data-passkey=create] button")
    chromium.until("document.body.innerText.includes('Your passkeys have changed.')", "the passkey is added")
    # One per device.
    chromium.click("form[data-passkey=get] button")
    chromium.click("form[data-passkey=create] button")
    chromium.until(f"{shown} == 'registered'", "the error is shown")
    chromium.go(f"{gateway.origin}/vault/page")
    at(chromium, "/vault/page")
    assert [error for error in chromium.errors if "status of" not in error.get("text", "")] == []
