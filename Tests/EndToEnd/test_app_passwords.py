# SPDX-License-Identifier: Apache-2.0
"""`password_provider` of a client: users of local accounts type their passwords into a native app."""

import json
import re
from urllib.parse import urlsplit

import pytest

from support.accounts import PASSWORD, add, choose, code, earlier_code, fill, local_gateway, secret_of, signed_in, users
from support.mail import MailServer, link
from support.oauth_client import Client, claims
from support.operations import command
from support.processes import eventually
from support.proofs import EC, OTHER as OTHER_KEY, proof, thumbprint
from support.raw import request
from support.session_api import api, api_error
from support.upstream import Upstream

WRONG = "name or password is wrong"


@pytest.fixture(scope="module")
def app():
    with Upstream() as app:
        yield app


@pytest.fixture(scope="module")
def mail():
    server = MailServer()
    yield server
    server.close()


def configured(folder, app, port, **more):
    gateway = local_gateway(
        folder,
        app,
        provider={"registration": {"domains": ["example.com"]}},
        gateway={"session_api": "/auth", "trusted_proxies": ["127.0.0.1/32"]},
        **more,
    )
    apps = gateway.configuration["apps"]
    apps["echo"]["accept"] = ["session", "token"]
    apps["staff"] = {**apps["echo"], "host": "staff.localhost", "allow": [{"group": "admins"}]}
    apps["vault"] = {**apps["echo"], "host": "vault.localhost", "allow": [{"authenticated": "passkey"}]}
    common = {"type": "native", "grants": ["refresh_token"], "providers": ["staff"], "password_provider": "staff"}
    browsing = {"redirect_uris": ["com.example.notes:/in"], "password_provider": None, "grants": None}
    clients = {
        "notes": {"audiences": ["echo"], "allow": "signed_in"},
        "admin": {"audiences": ["echo", "staff"], "allow": [{"group": "admins"}]},
        "only-staff": {"audiences": ["staff"], "allow": "signed_in"},
        "careful": {"audiences": ["echo"], "allow": [{"authenticated": "passkey"}]},
        "vault": {"audiences": ["echo", "vault"], "allow": "signed_in"},
        "bound": {"audiences": ["echo"], "allow": "signed_in", "dpop": True},
        "both": {"audiences": ["echo"], "allow": "signed_in", "redirect_uris": ["com.example.notes:/in"], "grants": None},
        "plain": {"audiences": ["echo"], "allow": "signed_in", **browsing},
    }
    gateway.configuration["clients"] = {
        name: {key: value for key, value in {**common, **client}.items() if value is not None} for name, client in clients.items()
    }
    gateway.configuration["passkeys"] = {"rp_id": "gate.localhost"}
    gateway.configuration["mail"] = {"server": f"smtp://127.0.0.1:{port}", "plain": True, "from": "gate@example.com"}
    return gateway


@pytest.fixture(scope="module")
def gateway(tmp_path_factory, app, mail):
    with configured(tmp_path_factory.mktemp("passwords"), app, mail.port) as gateway:
        yield gateway
        assert not [text for text in (PASSWORD, "wrong horse", "ghr_", "token=") if text in gateway.log]


def log_in(gateway, username, password=PASSWORD, client="notes", address=None, fields=(), **more):
    body = {"client_id": client, "username": username, "password": password, **more}
    lines = [*fields, ("X-Forwarded-For", address)] if address else list(fields)
    return api(gateway, "POST", "login", {name: value for name, value in body.items() if value is not None}, fields=lines)


def tokens(gateway, *arguments, **more):
    response = log_in(gateway, *arguments, **more)
    assert response.status == 200, response
    return response.json


def sign_ins(gateway, user):
    """The sign-ins of a user, each by its session at the gateway's own host, which no browser has."""
    found = json.loads(command(gateway, "sessions", "list", "--user", user, "--json"))["sessions"]
    return [one for one in found if one["host"] == gateway.host]


# Login


def test_the_tokens_of_a_login_are_those_of_any_other_sign_in(gateway, app):
    user = add(gateway, "ada@example.com", "--name", "Ada")
    response = log_in(gateway, "Ada@Example.com", scope="openid profile email")
    assert response.status == 200 and response.get("cache-control") == "no-store" and response.get("set-cookie") is None
    found = response.json
    assert set(found) == {"access_token", "refresh_token", "token_type", "expires_in", "scope", "user", "device"}
    assert (found["token_type"], found["expires_in"], found["scope"]) == ("Bearer", 600, "openid profile email")
    assert found["user"]["sub"] == user and found["user"]["email"] == "ada@example.com" and found["user"]["name"] == "Ada"
    assert api(gateway, "GET", "me", token=found["access_token"]).json == {"user": found["user"]}
    sent = request(gateway.port, "/x", host=gateway.host, fields=[("Authorization", f"Bearer {found['access_token']}")])
    assert sent.status == 200
    assert app.requests[-1].get("x-forwarded-user") == user and app.requests[-1].get("authorization") is None
    refreshed = api(gateway, "POST", "refresh", {"refresh_token": found["refresh_token"]})
    assert refreshed.status == 200 and refreshed.json["user"] == found["user"]
    shown = sign_ins(gateway, user)
    assert len(shown) == 1, "one sign-in, with the session of the client in it"
    eventually(lambda: "signed in" in gateway.log and f"user={user}" in gateway.log, "the log names the sign-in")


def test_without_a_scope_the_app_learns_the_key_of_the_user_only(gateway):
    user = add(gateway, "scope@example.com")
    assert tokens(gateway, "scope@example.com")["user"] == {"sub": user}


@pytest.mark.parametrize("by", ["logout", "revoke", "reuse", "operator"])
def test_the_sign_in_ends_with_the_app(gateway, by):
    """It began there, and no browser has it: what ends the one ends the other."""
    user = add(gateway, f"{by}@example.com")
    first = tokens(gateway, f"{by}@example.com")
    mine = sign_ins(gateway, user)[0]["id"]
    other = tokens(gateway, f"{by}@example.com")
    assert len(sign_ins(gateway, user)) == 2
    if by == "logout":
        assert api(gateway, "POST", "logout", token=first["access_token"]).json == {}
    elif by == "revoke":
        body = f"client_id=notes&token={first['refresh_token']}".encode()
        fields = [("Content-Type", "application/x-www-form-urlencoded")]
        assert request(gateway.port, "/oauth2/revoke", method="POST", host=gateway.host, fields=fields, body=body).status == 200
    elif by == "reuse":
        second = api(gateway, "POST", "refresh", {"refresh_token": first["refresh_token"]}).json
        assert api(gateway, "POST", "refresh", {"refresh_token": second["refresh_token"]}).status == 200
        reused = api(gateway, "POST", "refresh", {"refresh_token": first["refresh_token"]})
        assert api_error(reused) == (401, "session_ended", "sign_in")
    else:
        command(gateway, "sessions", "revoke", mine)
    assert api_error(api(gateway, "GET", "me", token=first["access_token"])) == (401, "invalid_token", "sign_in")
    assert api(gateway, "GET", "me", token=other["access_token"]).status == 200
    assert len(sign_ins(gateway, user)) == 1
    if by in ("logout", "revoke"):
        lines = [line for line in gateway.log.splitlines() if "signed out" in line and f"user={user}" in line]
        assert len(lines) == 1 and "by=client" in lines[0], lines


def test_a_user_sees_and_ends_the_sign_in_of_the_app_in_the_browser(gateway):
    add(gateway, "seen@example.com")
    found = tokens(gateway, "seen@example.com")
    browser = signed_in(gateway, "seen@example.com")
    page = browser.send("GET", "/oauth2/account").text
    shown = re.findall(r'name="session" value="([^"]+)"', page)
    assert len(shown) == 1, "the other sign-in is that of the app"
    assert browser.send("POST", "/oauth2/account", {"session": shown[0]}).status == 303
    assert api_error(api(gateway, "GET", "me", token=found["access_token"])) == (401, "invalid_token", "sign_in")


@pytest.mark.parametrize("change", ["disable", "reset", "remove"])
def test_what_an_operator_does_to_an_account_ends_its_tokens(gateway, change):
    add(gateway, f"{change}@example.com")
    found = tokens(gateway, f"{change}@example.com")
    users(gateway, change, f"{change}@example.com")
    assert api(gateway, "GET", "me", token=found["access_token"]).status == 401
    assert api_error(log_in(gateway, f"{change}@example.com")) == (403, "wrong_credentials", "sign_in")


# What rejects


def test_nothing_shows_whether_there_is_an_account(gateway):
    add(gateway, "known@example.com")
    add(gateway, "off@example.com")
    users(gateway, "disable", "off@example.com")
    users(gateway, "add", "--email", "invited@example.com")
    found = set()
    for name, password in (("known", "wrong horse battery"), ("unknown", PASSWORD), ("off", PASSWORD), ("invited", PASSWORD)):
        response = log_in(gateway, f"{name}@example.com", password)
        assert api_error(response) == (403, "wrong_credentials", "sign_in")
        found.add(response.json["error"]["message"])
    assert found == {WRONG}


def test_a_second_factor_is_asked_for_and_each_code_works_once(gateway):
    add(gateway, "factor@example.com")
    browser = signed_in(gateway, "factor@example.com")
    page = browser.visit("/oauth2/credentials")
    secret = secret_of(page)
    assert fill(browser, page, {"password": PASSWORD, "code": earlier_code(secret)}, form=1).status == 200
    assert api_error(log_in(gateway, "factor@example.com")) == (403, "code_required", "enter_code")
    assert api_error(log_in(gateway, "factor@example.com", "wrong horse battery")) == (403, "wrong_credentials", "sign_in")
    assert api_error(log_in(gateway, "factor@example.com", code="000000")) == (403, "wrong_code", "enter_code")
    right = code(secret)
    assert tokens(gateway, "factor@example.com", code=right)["access_token"]
    assert api_error(log_in(gateway, "factor@example.com", code=right)) == (403, "wrong_code", "enter_code")


def test_guessing_is_slowed_down_and_the_device_of_the_user_goes_on(gateway):
    add(gateway, "guessed@example.com")
    device = tokens(gateway, "guessed@example.com", address="192.0.2.1")["device"]
    # Before, since the first wait is a second only.
    other = add(gateway, "other@example.com") and tokens(gateway, "other@example.com", address="192.0.2.2")["device"]
    for _ in range(5):
        wrong = log_in(gateway, "guessed@example.com", "wrong horse battery", address="192.0.2.1")
        assert api_error(wrong) == (403, "wrong_credentials", "sign_in")
    held = log_in(gateway, "guessed@example.com", address="192.0.2.1")
    assert api_error(held) == (429, "too_many_attempts", "retry_later") and int(held.get("retry-after")) >= 1
    held = log_in(gateway, "guessed@example.com", address="192.0.2.1", device=other)
    assert api_error(held) == (429, "too_many_attempts", "retry_later"), "the device of another user counts for nothing"
    assert tokens(gateway, "guessed@example.com", address="192.0.2.1", device=device)["access_token"]


def test_the_rules_of_the_client_decide_before_anything_is_issued(gateway):
    user = add(gateway, "ruled@example.com")
    for client, error in (
        ("admin", (403, "access_denied", "sign_in")),
        ("only-staff", (403, "access_denied", "sign_in")),
        ("careful", (403, "passkey_required", "sign_in")),
    ):
        assert api_error(log_in(gateway, "ruled@example.com", client=client)) == error
    assert sign_ins(gateway, user) == []
    users(gateway, "set", "ruled@example.com", "--group", "admins")
    audiences = claims(tokens(gateway, "ruled@example.com", client="admin")["access_token"])["aud"]
    assert len(audiences) == 2


def test_an_app_that_asks_for_a_passkey_is_named_in_vain(gateway):
    user = add(gateway, "vault@example.com")
    app = f"http://vault.localhost:{gateway.port}"
    response = log_in(gateway, "vault@example.com", client="vault", resource=app)
    assert api_error(response) == (403, "passkey_required", "sign_in") and sign_ins(gateway, user) == []
    found = tokens(gateway, "vault@example.com", client="vault")["access_token"]
    response = request(gateway.port, "/x", host="vault.localhost", fields=[("Authorization", f"Bearer {found}")])
    assert response.status == 401, "and the token of the client is not a passkey"


def test_rejections_are_logged_with_user_and_client(gateway):
    user = add(gateway, "logged@example.com")
    for client, reason in (("admin", "policy.refused"), ("careful", "policy.refused")):
        incident = log_in(gateway, "logged@example.com", client=client).json["error"]["incident"]
        line = next(line for line in gateway.log.splitlines() if incident in line)
        assert all(text in line for text in (reason, f"user={user}", "provider=staff", f"app={client}")), line
    incident = log_in(gateway, "logged@example.com", "wrong horse battery").json["error"]["incident"]
    line = next(line for line in gateway.log.splitlines() if incident in line)
    assert "account.credentials" in line and "provider=staff" in line, line


def test_an_app_replaces_its_earlier_sign_in(gateway):
    user = add(gateway, "again@example.com")
    first = tokens(gateway, "again@example.com")
    second = tokens(gateway, "again@example.com", refresh_token=first["refresh_token"])
    assert api(gateway, "GET", "me", token=first["access_token"]).status == 401
    assert api(gateway, "GET", "me", token=second["access_token"]).status == 200
    assert len(sign_ins(gateway, user)) == 1
    assert tokens(gateway, "again@example.com", refresh_token="ghr_nonsense")["access_token"]
    wrong = log_in(gateway, "again@example.com", "wrong horse battery", refresh_token=second["refresh_token"])
    assert wrong.status == 403 and api(gateway, "GET", "me", token=second["access_token"]).status == 200


def test_q_15_a_login_ends_no_sign_in_that_did_not_begin_in_the_app(gateway):
    """The refresh token of a grant that the user gave in the browser names nothing to replace."""
    user = add(gateway, "both@example.com")
    client = Client(gateway, "both", "com.example.notes:/in", scope="openid")
    granted = client.sign_in(signed_in(gateway, "both@example.com"))
    found = tokens(gateway, "both@example.com", client="both", refresh_token=granted["refresh_token"])
    assert len(sign_ins(gateway, user)) == 2
    assert api(gateway, "GET", "me", token=granted["access_token"]).status == 200
    assert client.refresh(granted["refresh_token"]).status == 200
    # What began in the app is replaced, by a login of the same client only.
    other = tokens(gateway, "both@example.com", client="notes", refresh_token=found["refresh_token"])
    assert api(gateway, "GET", "me", token=found["access_token"]).status == 200
    tokens(gateway, "both@example.com", client="both", refresh_token=found["refresh_token"])
    assert api(gateway, "GET", "me", token=found["access_token"]).status == 401
    assert api(gateway, "GET", "me", token=other["access_token"]).status == 200


def test_rfc_9449_5_a_login_binds_the_tokens_to_the_key_of_its_proof(gateway):
    add(gateway, "bound@example.com")
    assert api_error(log_in(gateway, "bound@example.com", client="bound")) == (400, "invalid_proof", "correct_request")

    def sent(key, name):
        return [("DPoP", proof(key, "POST", f"{gateway.origin}/auth/{name}"))]

    found = tokens(gateway, "bound@example.com", client="bound", fields=sent(EC, "login"))
    assert found["token_type"] == "DPoP" and claims(found["access_token"])["cnf"] == {"jkt": thumbprint(EC)}
    body = {"refresh_token": found["refresh_token"]}
    assert api(gateway, "POST", "refresh", body, fields=sent(OTHER_KEY, "refresh")).status == 401
    assert api(gateway, "POST", "refresh", body, fields=sent(EC, "refresh")).status == 200


@pytest.mark.parametrize("name", ["login", "register"])
def test_no_page_in_a_browser_may_send_passwords(gateway, name):
    preflight = api(gateway, "OPTIONS", name, fields=[("Origin", "https://evil.example"), ("Access-Control-Request-Method", "POST")])
    assert preflight.status == 405 and preflight.get("access-control-allow-methods") is None
    body = {"client_id": "notes", "username": "ada@example.com", "password": PASSWORD, "email": "ada@example.com"}
    for field in (("Origin", "https://evil.example"), ("Origin", gateway.origin), ("Origin", "null"), ("Sec-Fetch-Site", "same-origin")):
        assert api_error(api(gateway, "POST", name, body, fields=[field])) == (403, "page_rejected", "correct_request")


@pytest.mark.parametrize("name", ["login", "register"])
@pytest.mark.parametrize("client,error", [
    ("plain", (501, "not_enabled", "sign_in")), ("unknown", (400, "invalid_request", "correct_request")),
    (None, (400, "invalid_request", "correct_request")),
])
def test_only_a_client_with_a_password_provider_may_send_passwords(gateway, name, client, error):
    body = {"username": "ada@example.com", "password": PASSWORD, "email": "ada@example.com"} | ({"client_id": client} if client else {})
    assert api_error(api(gateway, "POST", name, body)) == error


@pytest.mark.parametrize("change", [
    {"username": None}, {"password": None}, {"scope": " ".join(f"s{number}" for number in range(200))},
    {"resource": "https://other.example"},
])
def test_a_login_with_a_mistake_is_rejected(gateway, change):
    """Before the password is looked at: the name is of no account."""
    response = log_in(gateway, **{"username": "mistake@example.com", **change})
    assert api_error(response) == (400, "invalid_request", "correct_request")


def test_results_are_counted_by_provider_and_client(gateway):
    add(gateway, "counted@example.com")
    names = [
        'gatehouse_client_requests_total{client="notes",endpoint="session_api",result="wrong_credentials"}',
        'gatehouse_client_requests_total{client="notes",endpoint="session_api",result="ok"}',
        'gatehouse_sign_ins_total{provider="staff",result="account.credentials"}',
        'gatehouse_sign_ins_total{provider="staff",result="ok"}',
    ]
    before = gateway.metrics()
    log_in(gateway, "counted@example.com", "wrong horse battery")
    tokens(gateway, "counted@example.com")
    after = gateway.metrics()
    assert [after[name] - before.get(name, 0) for name in names] == [1, 1, 1, 1]


# Registration


def register(gateway, address, client="notes", **more):
    fields = [("X-Forwarded-For", address)]
    return api(gateway, "POST", "register", {"client_id": client, **more}, fields=fields)


def test_a_user_registers_in_the_app_and_chooses_the_password_by_the_link(gateway, mail):
    response = register(gateway, "192.0.2.40", email="New@Example.com", name="New User", language="de-AT")
    assert (response.status, response.json) == (202, {})
    message = mail.message("New@example.com")
    assert "Registrierung" in message["text"] and urlsplit(link(message)).path == "/oauth2/join/staff"
    assert api_error(log_in(gateway, "new@example.com")) == (403, "wrong_credentials", "sign_in")
    assert choose(gateway, link(message)).status == 200
    assert tokens(gateway, "new@example.com", scope="profile email")["user"]["name"] == "New User"
    again = register(gateway, "192.0.2.41", email="new@example.com")
    assert (again.status, again.json) == (202, {}), "the same response for an account that exists"
    assert "token=" not in mail.message("new@example.com")["text"]


def test_no_password_is_taken_before_the_address_is_proven(gateway, mail):
    response = register(gateway, "192.0.2.42", email="victim@example.com", password=PASSWORD)
    assert api_error(response) == (400, "invalid_request", "correct_request")
    assert mail.messages("victim@example.com") == []


@pytest.mark.parametrize("email", ["x", "someone@other.example", "a@example.com\r\nBcc: b@example.com", None])
def test_an_address_that_may_not_register_is_rejected(gateway, email):
    response = register(gateway, "192.0.2.43", **({"email": email} if email else {}))
    assert api_error(response) == (400, "email_rejected", "correct_request")


def test_a_client_network_gets_twenty_links_an_hour(gateway):
    for number in range(20):
        assert register(gateway, "192.0.2.44", email=f"flood{number}@example.com").status == 202
    response = register(gateway, "192.0.2.44", email="flood@example.com")
    assert api_error(response) == (429, "too_many_attempts", "retry_later") and int(response.get("retry-after")) > 60


def test_without_registration_users_cannot_register(tmp_path, app, mail):
    gateway = configured(tmp_path, app, mail.port)
    gateway.configuration["providers"]["staff"] = {"type": "local"}
    with gateway:
        response = register(gateway, "192.0.2.45", email="a@example.com")
        assert api_error(response) == (501, "not_enabled", "sign_in")
