# SPDX-License-Identifier: Apache-2.0
"""Apps that take their user, or whether there is one, from the gateway: as docs/apps and the presets have it."""

import re
import shlex

import pytest
import requests
import websocket

from harness.apps import jupyterlab, rabbitmq, radicale
from harness.clients import AppBrowser, session as signed_in
from support.documents import blocks
from support.gateway import SECRET
from test_jupyterlab import cell

PRINCIPAL = '<?xml version="1.0"?><propfind xmlns="DAV:"><prop><current-user-principal/></prop></propfind>'


def principal(url, session, **headers):
    """The path of the user that Radicale sees; None for no user."""
    fields = {"Depth": "0", **{name.replace("__", "-"): value for name, value in headers.items()}}
    response = session.request("PROPFIND", f"{url}/", data=PRINCIPAL, headers=fields, timeout=20)
    assert response.status_code == 207, response.text
    found = re.search(r"<current-user-principal>\s*<href>([^<]*)</href>", response.text)
    return found and found[1]


def test_radicale_takes_the_user_from_the_preset(started, fronts):
    """`auth type = http_remote_user` trusts every client that reaches it; through the gateway it gets the user only."""
    app = started(radicale, "http_remote_user", "owner_only")
    assert principal(app.origin, requests, Remote__User="bob") == "/bob/", "the control: it reads this header"
    # It accepts no user name with a colon, which each user key has.
    entry = {"identity": {"preset": "remote-user"}, "headers": {"Remote-User": "email"}}
    front = fronts("radicale-identity", app.port, entry)
    with signed_in(front.fields) as session:
        for forged in ({}, {"Remote__User": "bob"}, {"REMOTE__USER": "bob"}, {"X__Remote__User": "bob"}):
            assert principal(front.url, session, **forged) == "/ada%40example.com/", forged

        # WSGI reads this one as `Remote-User`.
        assert session.get(f"{front.url}/", headers={"Remote_User": "bob"}, timeout=20).status_code == 400

        def made(path, **headers):
            return session.request("MKCALENDAR", front.url + path, headers=headers, timeout=20).status_code

        assert made("/ada@example.com/notes/") == 201
        assert made("/bob/notes/") == made("/bob/notes/", **{"Remote-User": "bob"}) == 403
    assert requests.request("PROPFIND", f"{front.url}/", timeout=20).status_code == 401


def test_rabbitmq_gets_a_user_and_password_of_the_gateway(started, fronts, tmp_path):
    """Its management UI knows Basic only: `identity.basic`, whatever the client sends."""
    app = started(rabbitmq)
    guest = ("guest", "guest")
    user = {"password": SECRET, "tags": "administrator"}
    requests.put(f"{app.origin}/api/users/gate", json=user, auth=guest, timeout=10).raise_for_status()
    requests.put(
        f"{app.origin}/api/permissions/%2F/gate", json={"configure": ".*", "write": ".*", "read": ".*"}, auth=guest, timeout=10
    ).raise_for_status()
    assert requests.get(f"{app.origin}/api/whoami", timeout=10).status_code == 401
    basic = {"username": "gate", "password": "${env:TEST_GATEWAY_SECRET}"}
    front = fronts("rabbitmq-identity", app.port, {"identity": {"basic": basic}})
    with signed_in(front.fields) as session:
        for auth in (None, guest, ("gate", "wrong")):
            assert session.get(f"{front.url}/api/whoami", auth=auth, timeout=20).json()["name"] == "gate", auth
        assert session.put(f"{front.url}/api/queues/%2F/made", json={}, timeout=20).status_code == 201
    assert requests.get(f"{front.url}/api/whoami", auth=guest, timeout=20).status_code == 401
    with AppBrowser(tmp_path / "browser", front.url) as browser:
        browser.sign_in("/")
        # Its pages ask for a user name before their first call, and send it with each; the gateway replaces it.
        browser.until("!!document.querySelector('input[name=username]')", "the form of RabbitMQ")
        browser.evaluate(
            "document.querySelector('input[name=username]').value = document.querySelector('input[name=password]').value"
            " = 'any'; document.querySelector('input[type=submit]').click()"
        )
        browser.until("document.body.innerText.includes('Overview')", "the overview")
        assert browser.evaluate("document.body.innerText.includes('User gate')")
        browser.evaluate("location.hash = '#/queues'")
        browser.until("document.body.innerText.includes('made')", "the queue that the API has made")


@pytest.mark.parametrize("place", [None, "lab.sock"], ids=["port", "socket"])
def test_jupyterlab_starts_as_on_its_page(place, started, fronts):
    """Its token is off; without a session nothing reaches it, with one a cell runs."""
    command, = blocks("docs/apps/jupyterlab.md", "sh")
    app = started(jupyterlab, "/", shlex.split(command)[2:], place)
    entry = {"upstream": f"unix:{app.socket}"} if place else {}
    front = fronts(f"jupyterlab-{place or 'port'}".replace(".", "-"), app.port, entry)
    assert cell(front.url, front.fields)["printed"].endswith("x\n42\n")
    for path in ("/api/status", "/api/kernels", "/lab"):
        assert requests.get(front.url + path, timeout=20).status_code == 401, path
    with pytest.raises(websocket.WebSocketBadStatusException) as rejected:
        websocket.create_connection(f"{front.url.replace('http', 'ws', 1)}/api/events/subscribe", origin=front.url, timeout=20)
    assert rejected.value.status_code == 401
