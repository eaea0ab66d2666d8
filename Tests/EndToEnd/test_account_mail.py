# SPDX-License-Identifier: Apache-2.0
"""Links for local accounts by email: invitations, forgotten passwords, registration; through a real SMTP server."""

import json
import sqlite3
import time
from urllib.parse import parse_qs, urlsplit

import pytest

from support.accounts import OTHER, PASSWORD, add, attempt, choose, failed, fill, follow, local_gateway, remark, signed_in, users
from support.browser import Browser, links
from support.gateway import run
from support.mail import MailServer, link
from support.processes import certificate, eventually, free_port
from support.upstream import Upstream


@pytest.fixture(scope="module")
def recorder():
    upstream = Upstream()
    yield upstream
    upstream.close()


@pytest.fixture(scope="module")
def mail():
    server = MailServer()
    yield server
    server.close()


def mailing(folder, recorder, port, provider=None, **more):
    settings = {"registration": {"domains": ["example.com"], "groups": ["guests"]}} if provider is None else provider
    gateway = local_gateway(folder, recorder, provider=settings, gateway={"trusted_proxies": ["127.0.0.1/32"]}, **more)
    gateway.configuration["mail"] = {"server": f"smtp://127.0.0.1:{port}", "plain": True, "from": "gate@example.com", "name": "Acmé"}
    gateway.configuration["pages"] = {"organization": "Acme"}
    return gateway


@pytest.fixture(scope="module")
def shared(tmp_path_factory, recorder, mail):
    with mailing(tmp_path_factory.mktemp("mail"), recorder, mail.port) as gateway:
        yield gateway
        assert "token=" not in gateway.log


@pytest.fixture
def gateway(shared):
    yield shared
    assert shared.process.child.poll() is None, shared.process.log[-4000:]


def ask(gateway, page, client, **values):
    """Fills in the form for a link, from a client of its own; the page that follows."""
    browser = Browser(gateway)
    shown = browser.visit(f"/oauth2/{page}/staff")
    assert shown.status == 200, shown
    return fill(browser, shown, values, fields={"X-Forwarded-For": client})


def test_an_operator_sends_an_invitation_and_a_reset(gateway, mail):
    added = users(gateway, "add", "--email", "ann@example.com", "--mail")
    assert added["mailed"] is True and "link" not in added
    message = mail.message("ann@example.com")
    assert message["defects"] == [] and message["subject"] == "Your account at Acme"
    assert (message["from_address"], message["from_name"]) == ("gate@example.com", "Acmé")
    assert {"Auto-Submitted", "Message-ID", "Date"} <= {name for name, _ in message["headers"]}
    assert "7 days" in message["text"] and link(message).startswith(f"{gateway.origin}/oauth2/link/staff?token=")
    assert choose(gateway, link(message)).status == 200
    assert signed_in(gateway, "ann@example.com").ticket()
    assert users(gateway, "show", "ann@example.com")["email_verified"]
    assert users(gateway, "reset", "ann@example.com", "--mail")["mailed"] is True
    message = mail.message("ann@example.com", 1)
    assert "has reset your password" in message["text"]
    assert attempt(Browser(gateway), "ann@example.com").status == 403
    assert choose(gateway, link(message), OTHER).status == 200
    assert "exclude each other" in run("users", "reset", "a", "--mail", "--link-elsewhere").stderr
    users(gateway, "add", "--username", "nomail")
    assert "no email address" in failed(gateway, "reset", "nomail", "--mail")


def test_a_forgotten_password_is_replaced_by_a_link_and_the_old_one_works_until_then(gateway, mail):
    add(gateway, "bob@example.com")
    page = Browser(gateway).visit("/oauth2/start/staff?rd=/x")
    assert any(urlsplit(one).path == "/oauth2/recover/staff" for one in links(page))
    page = ask(gateway, "recover", "192.0.2.1", email="Bob@Example.com")
    assert page.status == 200 and "Check your mailbox" in page.text
    message = mail.message("bob@example.com")
    assert "one hour" in message["text"] and message["subject"] == "Choose another password at Acme"
    assert signed_in(gateway, "bob@example.com").ticket(), "nothing has changed yet"
    session = signed_in(gateway, "bob@example.com")
    assert choose(gateway, link(message), OTHER).status == 200
    assert attempt(Browser(gateway), "bob@example.com").status == 403
    assert signed_in(gateway, "bob@example.com", OTHER).ticket()
    assert session.send("GET", "/x", navigates=False).status == 401, "sessions of before have ended"
    assert Browser(gateway).visit(link(message)).status == 400, "it works once"


def test_the_language_of_the_browser_is_that_of_the_message(gateway, mail):
    add(gateway, "hans@example.com")
    browser = Browser(gateway)
    german = {"Accept-Language": "de", "X-Forwarded-For": "192.0.2.2"}
    shown = browser.send("GET", "/oauth2/recover/staff", fields=german)
    fill(browser, shown, {"email": "hans@example.com"}, fields=german)
    message = mail.message("hans@example.com")
    assert message["subject"] == "Neues Passwort bei Acme wählen" and "eine Stunde" in message["text"]


def test_nothing_shows_whether_there_is_an_account(gateway, mail):
    """Neither text nor status; and no address but a proven one gets a link."""
    add(gateway, "known@example.com")
    users(gateway, "add", "--email", "invited@example.com")
    add(gateway, "off@example.com")
    users(gateway, "disable", "off@example.com")
    pages = {}
    for index, name in enumerate(["known", "unknown", "invited", "off"]):
        page = ask(gateway, "recover", f"192.0.2.{10 + index}", email=f"{name}@example.com")
        pages[name] = (page.status, page.text)
    assert len(set(pages.values())) == 1
    mail.message("known@example.com")
    # A message of later shows that the others had their turn.
    ask(gateway, "recover", "192.0.2.20", email="known@example.com")
    mail.message("known@example.com", 1)
    for name in ("unknown", "invited", "off"):
        assert mail.messages(f"{name}@example.com") == []


@pytest.mark.one_gateway("each has limits of its own")
def test_the_response_does_not_wait_for_what_is_done_for_an_address(gateway, mail):
    """So its time shows nothing of it: with the store held, the link cannot be made, and the response is there all the same."""
    add(gateway, "slow@example.com")
    held = sqlite3.connect(next((gateway.folder / "state").glob("*.db")), isolation_level=None)
    held.execute("BEGIN EXCLUSIVE")
    try:
        began = time.monotonic()
        assert ask(gateway, "recover", "192.0.2.60", email="slow@example.com").status == 200
        # The store waits two seconds for a lock.
        assert time.monotonic() - began < 1
        assert mail.messages("slow@example.com") == []
    finally:
        held.execute("ROLLBACK")
        held.close()
    mail.message("slow@example.com")


def test_a_user_registers_by_the_link_that_proves_the_address(gateway, mail, recorder):
    page = Browser(gateway).visit("/oauth2/start/staff?rd=/x")
    assert any(urlsplit(one).path == "/oauth2/join/staff" for one in links(page))
    page = ask(gateway, "join", "192.0.2.30", email="Carla@example.com", name="Chosen By Eve")
    assert page.status == 200 and "Check your mailbox" in page.text
    message = mail.message("Carla@example.com")
    assert "carla@example.com" not in json.dumps(users(gateway, "list", "--local")), "nothing is kept before"
    opened = Browser(gateway).visit(link(message))
    assert opened.status == 200 and opened.get("referrer-policy") == "no-referrer"
    short = choose(gateway, link(message), "short")
    assert short.status == 400 and "12" in remark(short)
    # F-09: the owner of the address types the name; the request for the link chooses nothing.
    assert "Chosen By Eve" not in opened.text
    values = {"name": "Carla  Example", "new_password": PASSWORD, "repeat_password": PASSWORD}
    assert fill(Browser(gateway), opened, values).status == 200
    browser = signed_in(gateway, "carla@example.com")
    browser.send("GET", "/x")
    received = recorder.requests[-1]
    assert received.get("x-forwarded-email") == "carla@example.com" and received.get("x-forwarded-name") == "Carla Example"
    assert received.get("x-forwarded-groups") == "guests"
    # The link works once, and a registration of the same address gets another message.
    assert Browser(gateway).visit(link(message)).status == 400
    page = ask(gateway, "join", "192.0.2.31", email="carla@example.com")
    assert page.status == 200
    again = mail.message("carla@example.com")
    assert again["subject"] == "You have an account at Acme" and "token" not in again["text"]
    assert "registered" in gateway.log


@pytest.mark.parametrize("address", ["", "x", "a@b@example.com", "eve@other.example", "eve@sub.example.com", "eve@example.com.evil.example"])
def test_another_address_does_not_register(gateway, mail, address):
    page = ask(gateway, "join", "192.0.2.40", email=address)
    assert page.status == 400 and "not an email address that can be used" in remark(page)
    assert mail.messages(address) == []


def test_a_changed_token_or_another_site_registers_no_user(gateway, mail):
    ask(gateway, "join", "192.0.2.50", email="dave@example.com")
    token = parse_qs(urlsplit(link(mail.message("dave@example.com"))).query)["token"][0]
    for changed in (token[:-2] + "AA", token[4:], "x", "A" * 2000):
        assert Browser(gateway).visit(f"/oauth2/join/staff?token={changed}").status == 400
    body = {"token": token, "new_password": PASSWORD, "repeat_password": PASSWORD}
    for page in ("join", "recover"):
        cross = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
        assert Browser(gateway).send("POST", f"/oauth2/{page}/staff", body, cross).status == 403
    assert "dave" not in json.dumps(users(gateway, "list", "--local"))


def test_f_09_a_registration_keeps_what_was_typed_and_takes_no_common_password(gateway, mail):
    ask(gateway, "join", "192.0.2.70", email="gina@example.com")
    page = Browser(gateway).visit(link(mail.message("gina@example.com")))
    for password in ("password1234", "P4ssw0rd-2024", "qwertyuiop12"):
        values = {"name": "Gina <b>", "new_password": password, "repeat_password": password}
        page = fill(Browser(gateway), page, values)
        assert page.status == 400 and "Many users have this password" in remark(page)
        assert 'value="Gina &lt;b&gt;"' in page.text, "the name stays in the form"


def test_f_09_no_link_of_before_outlives_the_removal_of_an_account(gateway, mail):
    """Neither the link that was used nor another one that was asked for."""
    for number in range(2):
        ask(gateway, "join", f"192.0.2.{80 + number}", email="hugo@example.com")
    links = [link(mail.message("hugo@example.com", number)) for number in range(2)]
    assert choose(gateway, links[0]).status == 200
    users(gateway, "remove", "hugo@example.com")
    for one in links:
        assert Browser(gateway).visit(one).status == 400
        body = {"token": parse_qs(urlsplit(one).query)["token"][0], "new_password": PASSWORD, "repeat_password": PASSWORD}
        posted = Browser(gateway).send("POST", "/oauth2/join/staff", body, {"Sec-Fetch-Site": "same-origin", "Origin": gateway.origin})
        assert posted.status == 400 and "account.link" in posted.text
    assert "hugo@example.com" not in json.dumps(users(gateway, "list", "--local"))


@pytest.mark.one_gateway("each has limits of its own")
def test_neither_a_mailbox_nor_the_gateway_is_flooded(gateway, mail):
    add(gateway, "flooded@example.com")
    for number in range(7):
        assert ask(gateway, "recover", f"203.0.113.{number}", email="flooded@example.com").status == 200
    eventually(lambda: "over five messages an hour" in gateway.log, "the limit is logged")
    eventually(lambda: len(mail.messages("flooded@example.com")) >= 5, "five messages")
    assert len(mail.messages("flooded@example.com")) == 5
    statuses = [ask(gateway, "recover", "198.51.100.7", email=f"n{number}@example.com").status for number in range(21)]
    assert statuses == [200] * 20 + [429]


def test_without_a_mail_server_nothing_is_offered(tmp_path, recorder):
    with local_gateway(tmp_path, recorder) as gateway:
        page = Browser(gateway).visit("/oauth2/start/staff")
        assert "ask the administrator" in page.text and "/oauth2/recover" not in page.text
        assert Browser(gateway).visit("/oauth2/recover/staff").status == 404
        assert Browser(gateway).visit("/oauth2/join/staff").status == 404
        assert "has no 'mail'" in failed(gateway, "add", "--email", "a@example.com", "--mail")


def test_without_registration_no_user_registers(tmp_path, recorder, mail):
    with mailing(tmp_path, recorder, mail.port, provider={}) as gateway:
        page = Browser(gateway).visit("/oauth2/start/staff")
        assert "/oauth2/recover/staff" in page.text and "/oauth2/join" not in page.text
        assert Browser(gateway).visit("/oauth2/join/staff").status == 404


def test_a_message_waits_for_a_mail_server_and_outlives_a_reload(tmp_path, recorder):
    port = free_port()
    with mailing(tmp_path, recorder, port) as gateway:
        assert users(gateway, "add", "--email", "late@example.com", "--mail")["mailed"] is True
        eventually(lambda: "mail is retried" in gateway.log, "the first try")
        line = next(line for line in gateway.log.splitlines() if "mail is retried" in line)
        assert "late" not in line and "domain=example.com" in line and "result=unreachable" in line
        assert gateway.metric('gatehouse_mails_total{result="retried"}') == 1
        # The operator names another server, to which the message goes with the reload.
        server = MailServer()
        try:
            gateway.configuration["mail"]["server"] = f"smtp://127.0.0.1:{server.port}"
            gateway.write()
            gateway.reload()
            assert choose(gateway, link(server.message("late@example.com"))).status == 200
        finally:
            server.close()


@pytest.mark.parametrize(
    ("arguments", "settings", "result", "text"),
    [
        ([], {"plain": True}, 0, "responds"),
        ([], {}, 1, "tls_failed"),
        (["--login", "gate:right"], {"plain": True, "username": "gate", "password": "wrong"}, 1, "check 'username' and 'password'"),
        (["--login", "gate:right"], {"plain": True, "username": "gate", "password": "right"}, 0, "accepts the login"),
    ],
)
def test_check_online_asks_the_mail_server(tmp_path, recorder, arguments, settings, result, text):
    server = MailServer(*arguments)
    try:
        gateway = mailing(tmp_path, recorder, server.port)
        plain = gateway.configuration["mail"].pop("plain")
        assert plain
        gateway.configuration["mail"].update(settings)
        gateway.write()
        checked = run("check", "--online", "--config", gateway.path, cwd=tmp_path)
        assert (checked.returncode, text in checked.stdout) == (result, True), checked
        assert server.messages() == []
    finally:
        server.close()


def test_mail_goes_by_tls_with_a_login(tmp_path, recorder):
    cert, key = certificate(tmp_path, "mail", "localhost")
    server = MailServer("--cert", cert, "--key", key, "--login", "gate:right")
    try:
        gateway = mailing(tmp_path / "gateway", recorder, server.port)
        gateway.configuration["mail"] = {
            "server": f"smtp://localhost:{server.port}", "from": "gate@example.com", "ca_file": str(cert), "username": "gate",
            "password": "right",
        }
        with gateway:
            assert users(gateway, "add", "--email", "tls@example.com", "--mail")["mailed"] is True
            message = server.message("tls@example.com")
            assert message["tls"] is True and message["username"] == "gate"
    finally:
        server.close()


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"server": "http://mail.example.com"}, "has to start with smtp://"), ({"server": "smtp://mail.example.com", "plain": True}, "loopback"),
        ({"username": "x"}, "'password' is missing"), ({"from": "gate"}, "is not an email address"), (None, "add 'mail' to the file"),
    ],
)
def test_check_names_what_is_wrong_with_the_mail_server(tmp_path, recorder, changes, text):
    gateway = mailing(tmp_path, recorder, 25)
    if changes is None:
        del gateway.configuration["mail"]
    else:
        gateway.configuration["mail"].update(changes)
    gateway.write()
    checked = run("check", "--config", gateway.path, cwd=tmp_path)
    assert checked.returncode == 1 and text in checked.stdout + checked.stderr, checked
