# SPDX-License-Identifier: Apache-2.0
"""The session cookie: attributes, grammar and tampering (C-01 to C-07, A-35, A-36, A-55, A-56, A-86)."""

import json

import pytest

from support.browser import Browser
from support.gateway import Gateway, oidc
from support.raw import request


def attributes(line):
    pair, *rest = [part.strip() for part in line.split(";")]
    return pair.split("=", 1), sorted(rest)


def test_the_session_cookie_has_exactly_these_attributes(ada, gateway):
    """C-01 over plain http: HttpOnly, SameSite=Lax, Path=/, no Domain, no lifetime."""
    (name, value), rest = attributes(
        next(line for _, line in ada.set_cookies if line.startswith("gatehouse=") and "Max-Age=0" not in line)
    )
    assert name == "gatehouse" and len(value) == 56
    assert rest == ["HttpOnly", "Path=/", "SameSite=Lax"]


def test_a_cookie_that_browsers_keep_lasts_as_long_as_the_session(tmp_path, provider_server, app):
    """C-01: `cookie: persistent`, on every host; the deletion is the same as without."""
    apps = {name: {"host": f"{name}.localhost", "upstream": app.address, "allow": "signed_in"} for name in ("a", "b")}
    providers = {"mock": oidc(provider_server.realm("mock").issuer)}
    sessions = {"cookie": "persistent", "lifetime": "8h"}
    gateway = Gateway(tmp_path, providers, apps, sessions=sessions).start()
    browser = Browser(gateway)
    for host in ("a.localhost", "b.localhost"):
        assert browser.visit(f"http://{host}:{gateway.port}/").status == 200
        lines = [line for at, line in browser.set_cookies if at == host and line.startswith("gatehouse=")]
        assert len(lines) == 1
        parts = [part.strip() for part in lines[0].split(";")]
        assert sorted(part for part in parts[1:] if "Max-Age" not in part) == ["HttpOnly", "Path=/", "SameSite=Lax"]
        age = next(int(part.partition("=")[2]) for part in parts if part.startswith("Max-Age="))
        assert 8 * 3600 - 60 <= age <= 8 * 3600
    gate = next(line for at, line in browser.set_cookies if at == gateway.host and line.startswith("gatehouse="))
    assert "; Max-Age=" in gate
    response = browser.sign_out(origin=f"http://b.localhost:{gateway.port}")
    assert response.all("set-cookie")[0] == "gatehouse=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax"
    assert browser.ticket("b.localhost") is None
    gateway.leave()


def test_the_deletion_differs_by_value_and_age_only(ada, gateway):
    """A-35 C-01: a browser applies the deletion to the same cookie."""
    created = next(line for _, line in ada.set_cookies if line.startswith("gatehouse=") and "Max-Age=0" not in line)
    response = ada.sign_out()
    deleted = next(line for line in response.all("set-cookie") if line.startswith("gatehouse="))
    assert set(attributes(deleted)[1]) == {*attributes(created)[1], "Max-Age=0"} and attributes(deleted)[0][1] == ""
    attempt = next(line for _, line in ada.set_cookies if "attempt" in line and "Max-Age=3600" in line)
    gone = next(line for _, line in ada.set_cookies if "attempt" in line and "Max-Age=0" in line)
    assert set(attributes(gone)[1]) == {"Max-Age=0" if one == "Max-Age=3600" else one for one in attributes(attempt)[1]}


@pytest.mark.parametrize(
    "make", [
        lambda t: f"gatehouse={t}; gatehouse=x", lambda t: f"gatehouse=x; gatehouse={t}",
        lambda t: f"gatehouse={t}; gatehouse={t}", lambda t: f"\u2000gatehouse={t}".encode("utf-8").decode("latin-1"),
        lambda t: f"$Version=1; gatehouse={t}; $Path=/; gatehouse=x", lambda t: f'gatehouse="{t}"', lambda t: f"={t}",
        lambda t: f"gatehouse%3D{t}", lambda t: f"Gatehouse={t}", lambda t: f"gatehouse ={t}",
        lambda t: f"=gatehouse={t}", lambda t: f"__Host-gatehouse={t}", lambda t: f"gatehouse={t[:-1]}",
        lambda t: f"gatehouse={t}A", lambda t: f"gatehouse=={t}", lambda t: f"gatehouse, gatehouse={t}",
        lambda t: f"x=\x80; gatehouse\x80={t}", lambda t: f"gatehouse_0={t}", lambda t: f"gatehouse={t.swapcase()}",
        lambda t: f"a=1, gatehouse={t}", lambda t: f"gatehouse={t[:20]} {t[20:]}",
    ],
)
def test_a_malformed_session_cookie_is_ignored(make, ada, gateway, app):
    """C-02 C-06: doubled, quoted, nameless, escaped, with other letters: the client has no session."""
    before = len(app.requests)
    response = request(gateway.port, "/c02", fields=[("Cookie", make(ada.ticket()))])
    assert response.status == 401, response
    assert len(app.requests) == before


@pytest.mark.parametrize(
    "make", [
        lambda t: f"gatehouse={t}", lambda t: f" gatehouse={t} ", lambda t: f"a=b;gatehouse={t};c",
        lambda t: f";;=;gatehouse={t};;", lambda t: f"a=\x80; gatehouse={t}",
        lambda t: "; ".join(f"c{i}=v" for i in range(500)) + f"; gatehouse={t}",
    ],
)
def test_other_cookies_do_not_disturb(make, ada, gateway):
    """C-02 A-55."""
    assert request(gateway.port, "/c02", fields=[("Cookie", make(ada.ticket()))]).status == 200


def test_every_flipped_byte_of_a_ticket_gives_the_same_response(ada, gateway, app):
    """A-36 C-06: no oracle."""
    ticket = ada.ticket()
    before = len(app.requests)
    seen = set()
    for index in range(len(ticket)):
        flipped = ticket[:index] + ("A" if ticket[index] != "A" else "B") + ticket[index + 1:]
        response = request(gateway.port, "/c06", fields=[("Cookie", f"gatehouse={flipped}")])
        body = {name: value for name, value in response.json.items() if name != "incident"}
        seen.add((response.status, json.dumps(body), tuple(sorted(name for name, _ in response.fields))))
    assert len(seen) == 1 and next(iter(seen))[0] == 401
    assert len(app.requests) == before


@pytest.mark.parametrize(
    "value", [
        "", ";", "=", ";;=", "; " * 4000, "=" * 8000, "gatehouse", "gatehouse=", "gatehouse=;gatehouse=", "a" * 16000,
        "gatehouse_chunks=99999999", "gatehouse_0=x; gatehouse_99999999=y", "\x80" * 100, "gatehouse=\x80",
        ",".join("a=b" for _ in range(3000)), "gatehouse=null", "\tgatehouse=x\t",
    ],
)
def test_no_malformed_cookie_field_is_accepted_or_does_harm(value, gateway, app):
    """A-55 A-56 A-86 K-07: no content of the field makes a session."""
    before = len(app.requests)
    response = request(gateway.port, "/a55", fields=[("Cookie", value)])
    assert response.status == 401, response
    assert len(app.requests) == before


def test_a_cookie_with_a_control_character_is_rejected(gateway):
    """A-55 S-20."""
    for value in ("a\x00b", "a=\x01", "gatehouse=\x7f"):
        assert request(gateway.port, "/a55", fields=[("Cookie", value)]).status == 400


def test_a_cookie_of_one_host_is_ignored_on_another(ada, gateway, app):
    """C-05 A-83: the ticket is bound to its host."""
    before = len(app.requests)
    for host in ("own.localhost", "third.localhost"):
        assert request(gateway.port, "/x", host=host, fields=[("Cookie", f"gatehouse={ada.ticket()}")]).status == 401
    assert len(app.requests) == before


def test_the_apps_own_cookies_of_our_names_are_dropped(scripted, gateway):
    """S-65: an app cannot set the gateway's cookies; its own pass."""
    from support.upstream import responds

    lines = [
        "gatehouse=x", "__Host-gatehouse=x; Secure; Path=/", "gatehouse-attempt-00000000=x", "gatehouse_0=x",
        "=gatehouse=x", "  gatehouse =x", "gatehouse-handover-00000000=y", "own=1; Path=/", "gatehousekeeper=1",
    ]
    head = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n" + "".join(f"Set-Cookie: {line}\r\n" for line in lines)
    scripted("/public/s65", responds((head + "X-Gatehouse-Assertion: x\r\nX-Forwarded-User: y\r\n\r\n").encode()))
    response = request(gateway.port, "/public/s65")
    assert response.all("set-cookie") == ["own=1; Path=/", "gatehousekeeper=1"]
    assert not response.all("x-gatehouse-assertion")


def test_a_signed_in_browser_keeps_the_session_and_the_provider(ada):
    """C-07: after a sign-in no attempt is left."""
    assert list(ada.cookies[ada.gateway.host]) == ["gatehouse", "gatehouse-provider"]


def test_a_client_without_a_session_gets_no_cookie(gateway):
    """Nothing is stored before a sign-in begins."""
    browser = Browser(gateway)
    response = browser.send("GET", "/protected")
    assert response.status == 303 and not response.all("set-cookie")
    assert not browser.send("GET", response.get("location")).all("set-cookie")
