# SPDX-License-Identifier: Apache-2.0
"""Users connect accounts at several providers by signing in with each; the operator chooses which key apps get."""

import json
import re
from html import unescape
from urllib.parse import urljoin, urlsplit

import pytest

from support.accounts import PASSWORD, add, attempt, fill, follow, users
from support.authenticator import Authenticator
from support.browser import Browser, forms, links
from support.gateway import Gateway, oidc, run
from support.oauth_client import Client
from support.operations import command
from support.processes import eventually
from support.raw import request
from support.upstream import Upstream


@pytest.fixture(scope="module")
def recorder():
    upstream = Upstream()
    yield upstream
    upstream.close()


APP_URI = "com.example.notes:/done"


def connecting(folder, provider_server, recorder, key, **more):
    providers = {name: oidc(provider_server.realm(name).issuer, name=name.title()) for name in ("work", "home", "other")}
    apps = {"echo": {"path": "/", "upstream": recorder.address, "allow": "signed_in"},
            "office": {"path": "/office", "upstream": recorder.address, "allow": "signed_in", "providers": ["work"]},
            "vault": {"path": "/vault", "upstream": recorder.address, "allow": [{"authenticated": "passkey", "provider": "work"},
                                                                               {"authenticated": "passkey", "provider": "home"}]},
            "barred": {"path": "/barred", "upstream": recorder.address, "allow": "signed_in", "deny": [{"user": "work:barred"}]}}
    gateway = Gateway(folder, providers, apps, gateway={"trusted_proxies": ["127.0.0.1/32"]}, **more)
    gateway.configuration["connected_accounts"] = {"user_key": key}
    gateway.configuration["passkeys"] = {"name": "Acme"}
    gateway.configuration["providers"]["staff"] = {"type": "local"}
    gateway.configuration["clients"] = {
        "notes": {"type": "native", "name": "Notes", "redirect_uris": [APP_URI], "allow": "signed_in",
                  "audiences": ["echo"]}}
    return gateway


@pytest.fixture(scope="module")
def shared(tmp_path_factory, provider_server, recorder):
    with connecting(tmp_path_factory.mktemp("connected"), provider_server, recorder, "first") as gateway:
        yield gateway


@pytest.fixture
def gateway(shared):
    yield shared
    assert shared.process.child.poll() is None, shared.process.log[-4000:]


@pytest.fixture
def realms(provider_server):
    names = ("work", "home", "other")
    with provider_server.realm("work").fresh() as work, provider_server.realm("home").fresh() as home, \
            provider_server.realm("other").fresh() as other:
        yield dict(zip(names, (work, home, other)))


def become(realms, provider, subject):
    """Who signs in at a provider from now on."""
    realm = realms[provider]
    realm.user = {**realm.user, "sub": subject, "email": f"{subject}@{provider}.example", "email_verified": True}


def signed_in(gateway, realms, provider, subject, path="/x"):
    become(realms, provider, subject)
    browser = Browser(gateway)
    browser.who = (provider, subject)
    assert browser.sign_in(provider, path).status == 200
    return browser


def list_page(realms, browser):
    """The page with the accounts, after a confirmation."""
    page = browser.visit("/oauth2/connected")
    assert "Connect another account" not in page.text
    become(realms, *browser.who)
    page = browser.visit(next(link for link in links(page) if "/oauth2/start/" in link))
    assert "Connect another account" in page.text, page.text
    return page


def question(gateway, realms, browser, provider, subject):
    """Signs in with another account on the page; what follows."""
    page = list_page(realms, browser)
    become(realms, provider, subject)
    return browser.visit(next(link for link in links(page) if f"/oauth2/start/{provider}?" in link))


def connect(gateway, realms, browser, provider, subject):
    page = question(gateway, realms, browser, provider, subject)
    assert page.status == 200 and "Connect this account?" in page.text, page.text
    return browser.submit(page)


def key_at_app(recorder, browser, path="/x"):
    assert browser.send("GET", path).status == 200
    return recorder.requests[-1].get("x-forwarded-user")


def accounts(gateway, user):
    listed = json.loads(command(gateway, "users", "connected", "--user", user, "--json"))["connections"]
    return {one["user"]: one["first"] for one in listed}


def test_a_connected_account_is_known_to_apps_by_the_first_one(gateway, realms, recorder):
    browser = signed_in(gateway, realms, "work", "ann")
    assert key_at_app(recorder, browser) == "work:ann"
    account = browser.visit("/oauth2/account")
    assert any(urlsplit(link).path == "/oauth2/connected" for link in links(account))
    page = question(gateway, realms, browser, "home", "annie")
    assert "annie@home.example" in page.text and "Home" in page.text
    # Nothing has happened yet, and the session is the one of before.
    assert accounts(gateway, "work:ann") == {} and key_at_app(recorder, browser) == "work:ann"
    page = browser.submit(page)
    assert "Your connected accounts have changed." in page.text and "annie@home.example" in page.text
    assert accounts(gateway, "home:annie") == {"work:ann": "work:ann", "home:annie": "work:ann"}
    other = signed_in(gateway, realms, "home", "annie")
    assert key_at_app(recorder, other) == "work:ann"
    # All else is of the account of the sign-in, which rules look at.
    assert recorder.requests[-1].get("x-forwarded-email") == "annie@home.example"
    claims = json.loads(other.send("GET", "/oauth2/userinfo", navigates=False).text)
    assert (claims["user"], claims["provider"]) == ("home:annie", "home")
    page = other.visit("/office/", stop=lambda url: url.startswith(realms["work"].issuer))
    assert page.status == 303, "the app accepts only the other provider"
    assert "account connected: home:annie" in gateway.log


def test_sessions_of_an_account_end_when_it_is_connected_and_disconnected(gateway, realms, recorder):
    other = signed_in(gateway, realms, "home", "bob-home")
    browser = signed_in(gateway, realms, "work", "bob")
    connect(gateway, realms, browser, "home", "bob-home")
    fields = [("Cookie", f"gatehouse={other.ticket()}")]
    assert request(gateway.port, "/x", host=gateway.host, fields=fields).status == 401
    other = signed_in(gateway, realms, "home", "bob-home")
    assert key_at_app(recorder, other) == "work:bob"
    page = list_page(realms, browser)
    body = dict(forms(page)[0][2])
    page = browser.submit(page)
    assert "have changed" in page.text and "bob-home" not in page.text and body
    fields = [("Cookie", f"gatehouse={other.ticket()}")]
    assert request(gateway.port, "/x", host=gateway.host, fields=fields).status == 401
    assert key_at_app(recorder, signed_in(gateway, realms, "home", "bob-home")) == "home:bob-home"
    assert accounts(gateway, "work:bob") == {}


def test_three_accounts_have_one_key_and_the_page_is_the_same_from_each(gateway, realms, recorder):
    browser = signed_in(gateway, realms, "work", "eve")
    connect(gateway, realms, browser, "home", "eve-home")
    second = signed_in(gateway, realms, "home", "eve-home")
    connect(gateway, realms, second, "other", "eve-other")
    third = signed_in(gateway, realms, "other", "eve-other")
    assert key_at_app(recorder, third) == "work:eve"
    assert set(accounts(gateway, "other:eve-other")) == {"work:eve", "home:eve-home", "other:eve-other"}
    page = list_page(realms, third)
    assert page.text.count("Disconnect</button>") == 2, "the first account stays"


@pytest.mark.parametrize("again", ["the same account", "an account of another user"])
def test_an_account_that_cannot_be_connected_is_rejected(gateway, realms, again):
    name = again.split()[1]
    browser = signed_in(gateway, realms, "work", f"carl-{name}")
    if again == "the same account":
        page = question(gateway, realms, browser, "work", f"carl-{name}")
    else:
        connect(gateway, realms, signed_in(gateway, realms, "work", "dora"), "home", "dora-home")
        page = connect(gateway, realms, browser, "home", "dora-home")
    assert page.status == 409 and accounts(gateway, f"work:carl-{name}") == {}
    assert "account.connected" in gateway.log


def test_an_old_session_connects_nothing_before_it_is_confirmed(gateway, realms):
    browser = signed_in(gateway, realms, "work", "old")
    page = browser.visit("/oauth2/connected")
    assert "Connect another account" not in page.text and "confirm first that it is you" in page.text
    confirm = next(link for link in links(page) if "/oauth2/start/work" in link)
    page = browser.visit(confirm)
    asked = [one["query"] for one in realms["work"].requests if one["path"] == "authorize"]
    assert asked[-1]["max_age"] == "60" and "Connect another account" in page.text


def test_another_user_or_site_connects_nothing(gateway, realms):
    """The start belongs to one sign-in, the consent to one page."""
    browser = signed_in(gateway, realms, "work", "frank")
    page = list_page(realms, browser)
    start = next(link for link in links(page) if "/oauth2/start/home?" in link)
    mallory = signed_in(gateway, realms, "work", "mallory")
    become(realms, "home", "mallory-home")
    asked = mallory.visit(start)
    assert asked.status == 409 and "Connect this account?" not in asked.text
    assert mallory.ticket(), "the session goes on"
    assert Browser(gateway).visit(start).status == 409
    become(realms, "home", "frank-home")
    question_page = browser.visit(start)
    method, action, fields, _ = forms(question_page)[0]
    url = urljoin(question_page.url, action)
    cross = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    assert browser.send(method, url, fields, cross).status == 403
    assert mallory.send(method, url, fields).status == 403
    script = {"Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}
    assert browser.send(method, url, fields, script).status == 403
    changed = {name: value[:-2] + "AA" for name, value in fields.items()}
    assert browser.send(method, url, changed).status == 403
    assert accounts(gateway, "work:frank") == {}
    assert browser.send(method, url, fields).status == 303
    assert set(accounts(gateway, "work:frank")) == {"work:frank", "home:frank-home"}


@pytest.mark.parametrize("wanted", ["connect", "disconnect"])
def test_consent_to_a_client_never_is_one_to_a_connection(gateway, realms, wanted):
    """The parameters of the client's request are whatever the author of a link wants."""
    subject = f"victim-{wanted}"
    browser = signed_in(gateway, realms, "work", subject)
    connect(gateway, realms, browser, "home", f"{subject}-home")
    before = accounts(gateway, f"work:{subject}")
    more = {"connected": "change"}
    if wanted == "connect":
        more = {"provider": "work", "issuer": realms["work"].issuer, "subject": "mallory", "name": "Mallory"}
    page = browser.visit(Client(gateway, "notes", APP_URI).url(**more))
    consent = forms(page)[0][2]["consent"]
    values = {"consent": consent, "disconnect": f"home:{subject}-home"}
    assert browser.send("POST", "/oauth2/connected", values).status == 403
    assert accounts(gateway, f"work:{subject}") == before and len(before) == 2


def test_consent_to_a_connection_never_is_one_to_a_client(gateway, realms):
    browser = signed_in(gateway, realms, "work", "quinn")
    consent = forms(question(gateway, realms, browser, "home", "quinn-home"))[0][2]["consent"]
    response = browser.send("POST", "/oauth2/authorize", {"consent": consent, "choice": "allow"})
    assert response.status == 400 and not response.all("location")


@pytest.mark.parametrize("operation", ["reset", "remove"])
def test_a_reset_or_removed_account_has_no_connections(gateway, realms, recorder, operation):
    """Who has got into the account may have added one of their own, and would stay in by it."""
    name = f"{operation}@example.com"
    key = add(gateway, name)
    browser = Browser(gateway)
    assert attempt(browser, name).status == 303
    page = browser.visit("/oauth2/connected")
    page = browser.visit(next(link for link in links(page) if "/oauth2/start/staff" in link))
    page = follow(browser, fill(browser, page, {"username": name, "password": PASSWORD}))
    assert "Connect another account" in page.text, page.text
    become(realms, "work", f"mallory-{operation}")
    page = browser.visit(next(link for link in links(page) if "/oauth2/start/work?" in link))
    browser.submit(page)
    mallory = signed_in(gateway, realms, "work", f"mallory-{operation}")
    assert key_at_app(recorder, mallory) == key
    users(gateway, operation, name)
    assert accounts(gateway, key) == {}
    assert mallory.send("GET", "/x").status == 303
    again = signed_in(gateway, realms, "work", f"mallory-{operation}")
    assert key_at_app(recorder, again) == f"work:mallory-{operation}"


def test_an_operator_disconnects_an_account(gateway, realms, recorder):
    browser = signed_in(gateway, realms, "work", "gina")
    connect(gateway, realms, browser, "home", "gina-home")
    other = signed_in(gateway, realms, "home", "gina-home")
    assert key_at_app(recorder, other) == "work:gina"
    result = run("users", "disconnect", "work:gina", "--config", gateway.path, cwd=gateway.folder)
    assert result.returncode == 1 and "is not connected to the first account" in result.stderr
    assert json.loads(command(gateway, "users", "disconnect", "home:gina-home", "--json"))["sign_ins_ended"] == 1
    assert accounts(gateway, "work:gina") == {}
    assert key_at_app(recorder, signed_in(gateway, realms, "home", "gina-home")) == "home:gina-home"
    assert "FIRST ACCOUNT" in command(gateway, "users", "connected")


def test_with_user_key_used_apps_get_the_account_of_the_sign_in(tmp_path, provider_server, recorder, realms):
    with connecting(tmp_path, provider_server, recorder, "used") as gateway:
        browser = signed_in(gateway, realms, "work", "hal")
        page = question(gateway, realms, browser, "home", "hal-home")
        assert "by your first account" not in page.text
        browser.submit(page)
        assert key_at_app(recorder, signed_in(gateway, realms, "home", "hal-home")) == "home:hal-home"
        assert len(accounts(gateway, "home:hal-home")) == 2
        # The operator decides otherwise: from the next sign-in on.
        gateway.configuration["connected_accounts"]["user_key"] = "first"
        gateway.write()
        gateway.reload()
        eventually(lambda: key_at_app(recorder, signed_in(gateway, realms, "home", "hal-home")) == "work:hal", "the file is loaded")


def test_without_the_section_there_is_no_page(tmp_path, provider_server, recorder, realms):
    gateway = connecting(tmp_path, provider_server, recorder, "used")
    del gateway.configuration["connected_accounts"]
    with gateway:
        browser = signed_in(gateway, realms, "work", "ida")
        assert browser.visit("/oauth2/connected").status == 404
        assert not re.search("connected", browser.visit("/oauth2/account").text)


# Passkeys and rules of connected accounts


def passkey_options(page):
    return json.loads(unescape(re.search(r'data-options="([^"]*)"', page.text).group(1)))


def respond(browser, page, response, **values):
    """Sends what an authenticator has returned; redirects are not followed."""
    tags = re.findall(r"<form([^>]*)>", page.text)
    number = next(number for number, tag in enumerate(tags) if "data-passkey" in tag)
    return fill(browser, page, {"credential": json.dumps(response), **values}, form=number)


def first_passkey(gateway, realms, browser, authenticator):
    """Adds the first passkey, after a confirmation by a sign-in."""
    page = browser.visit("/oauth2/passkeys")
    become(realms, *browser.who)
    page = browser.visit(next(link for link in links(page) if "/oauth2/start/" in link))
    assert respond(browser, page, authenticator.create(passkey_options(page), gateway.origin), name="Own").status == 303


@pytest.mark.parametrize("owner,weaker", [("work", "home"), ("home", "work")])
def test_f_01_the_passkeys_of_all_connected_accounts_count(gateway, realms, recorder, owner, weaker):
    """With an account that has none one neither adds one nor gets in without those of the others."""
    names = {"work": f"gus-{owner}", "home": f"gus-{owner}-home"}
    connect(gateway, realms, signed_in(gateway, realms, "work", names["work"]), "home", names["home"])
    own, theirs = Authenticator(), Authenticator()
    first_passkey(gateway, realms, signed_in(gateway, realms, owner, names[owner]), own)
    thief = signed_in(gateway, realms, weaker, names[weaker])
    assert key_at_app(recorder, thief) == f"work:{names['work']}"
    # A sign-in with the weaker account does not confirm.
    for path in ("/oauth2/passkeys", "/oauth2/passkeys?confirm=1"):
        page = thief.visit(path)
        assert 'data-passkey="get"' in page.text and "/oauth2/start/" not in "".join(links(page))
        assert [one["id"] for one in passkey_options(page)["allowCredentials"]] != []
    become(realms, weaker, names[weaker])
    page = thief.visit(f"/oauth2/start/{weaker}?rd=%2Foauth2%2Fpasskeys%3Fconfirm%3D1")
    assert 'data-passkey="get"' in page.text and 'data-passkey="create"' not in page.text
    # Nor is it a step up, and connecting another account needs the passkey as well.
    page = thief.visit("/vault/x")
    assert urlsplit(page.url).path == "/oauth2/passkey" and 'data-passkey="get"' in page.text
    assert 'data-passkey="get"' in thief.visit("/oauth2/connected").text
    # Who has it adds another one, and gets in.
    page = thief.visit("/oauth2/passkeys")
    page = respond(thief, page, own.get(passkey_options(page), gateway.origin))
    assert page.status == 200 and [one["id"] for one in passkey_options(page)["excludeCredentials"]] != []
    assert respond(thief, page, theirs.create(passkey_options(page), gateway.origin), name="Second").status == 303
    browser = signed_in(gateway, realms, owner, names[owner])
    page = browser.visit("/vault/x")
    response = respond(browser, page, theirs.get(passkey_options(page), gateway.origin))
    assert response.status == 303 and follow(browser, response).status == 200


def test_f_07_who_uses_a_disabled_first_account_by_another_one_is_out(gateway, realms, recorder):
    user = add(gateway, "first@example.com")
    browser = Browser(gateway)
    assert follow(browser, attempt(browser, "first@example.com", rd="/x")).status == 200
    page = browser.visit("/oauth2/connected")
    page = browser.visit(next(link for link in links(page) if "/oauth2/start/staff" in link))
    page = follow(browser, fill(browser, page, {"username": "first@example.com", "password": PASSWORD}))
    become(realms, "home", "first-home")
    page = browser.visit(next(link for link in links(page) if "/oauth2/start/home?" in link))
    assert "have changed" in browser.submit(page).text
    other = signed_in(gateway, realms, "home", "first-home")
    assert key_at_app(recorder, other) == user
    fields = [("Cookie", f"gatehouse={other.ticket()}")]
    users(gateway, "disable", "first@example.com")
    assert request(gateway.port, "/x", host=gateway.host, fields=fields).status == 401
    again = Browser(gateway)
    become(realms, "home", "first-home")
    page = again.sign_in("home", "/x")
    assert page.status == 403 and "account.disabled" in page.text and not again.ticket()
    users(gateway, "enable", "first@example.com")
    assert key_at_app(recorder, signed_in(gateway, realms, "home", "first-home")) == user


def test_f_07_a_deny_by_the_key_that_apps_see_denies(gateway, realms, recorder):
    browser = signed_in(gateway, realms, "work", "barred")
    connect(gateway, realms, browser, "home", "barred-home")
    other = signed_in(gateway, realms, "home", "barred-home")
    assert key_at_app(recorder, other) == "work:barred"
    for one in (browser, other):
        assert one.visit("/barred/x").status == 403
    assert signed_in(gateway, realms, "home", "free").visit("/barred/x").status == 200
