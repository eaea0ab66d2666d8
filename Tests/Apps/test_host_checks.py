# SPDX-License-Identifier: Apache-2.0
"""Apps that check the host of a request, behind a gateway under another name: what they need, and that they need it."""

import re
import struct

import pytest
import requests
import tornado
import websocket

from harness.apps import cups, panel, transmission
from harness.clients import AppBrowser, session as signed_in
from support.chromium import CHROMIUM

#: Not a name that apps take for their own, as `localhost`.
HOST = "app.localhost"


@pytest.fixture
def behind(fronts):
    """A gateway at the host, in front of an app; its entry has these keys."""
    def make(name, app, **entry):
        return fronts(name, app.port, entry, host=HOST)

    return make


def ask(front, method, path, **more):
    """A request of a page of the app."""
    url = f"http://127.0.0.1:{front.client_tap.port}{path}"
    fields = {"Host": front.origin.partition("://")[2], **front.fields, **more.pop("headers", {})}
    return requests.request(method, url, headers=fields, timeout=20, allow_redirects=False, **more)


# Panel and Bokeh


@pytest.fixture(scope="module")
def panels(started):
    return started(panel)


def channel(front):
    """Opens the WebSocket of a page as Bokeh's script does; gives the status, and the type of the first message."""
    page = ask(front, "GET", "/panel_app")
    assert page.status_code == 200, page.status_code
    token = re.search(r'"token":"([^"]+)"', page.text)[1]
    authority = front.origin.partition("://")[2]
    try:
        opened = websocket.create_connection(
            f"ws://127.0.0.1:{front.client_tap.port}/panel_app/ws", host=authority, origin=front.origin, cookie=front.cookie,
            subprotocols=["bokeh", token], timeout=20
        )
    except websocket.WebSocketBadStatusException as error:
        return error.status_code, None
    first = opened.recv()
    opened.close()
    return 101, re.search(r'"msgtype":"(\w+)"', first.replace(" ", ""))[1]


def test_n_10_bokeh_behind_another_host(behind, panels):
    """With Tornado 6.6 and newer a page opens WebSockets of its own host, with older ones of hosts that Bokeh knows."""
    opens = tornado.version_info >= (6, 6)
    assert channel(behind("panel-alone", panels)) == ((101, "ACK") if opens else (403, None))


def test_n_10_bokeh_rejects_an_origin_that_is_not_its_host(behind, panels):
    """With `upstream_host` alone it sees the page's origin and another host."""
    assert channel(behind("panel-host", panels, upstream_host=f"localhost:{panels.port}")) == (403, None)


def test_n_10_bokeh_with_its_own_host_and_origin(behind, panels):
    entry = {"upstream_host": f"localhost:{panels.port}", "upstream_origin": "rewrite"}
    assert channel(behind("panel-rewritten", panels, **entry)) == (101, "ACK")


def test_n_10_bokeh_that_knows_the_host(behind, started):
    """Its own setting makes the keys needless."""
    app = started(panel, "--allow-websocket-origin=*")
    assert channel(behind("panel-knows", app)) == (101, "ACK")


@pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed")
def test_n_10_a_click_on_a_panel_page(behind, panels, tmp_path):
    """The page works in a browser: the server counts the click over the WebSocket."""
    entry = {"upstream_host": f"localhost:{panels.port}", "upstream_origin": "rewrite"}
    front = behind("panel-browser", panels, **entry)
    # Bokeh's widgets are in shadow roots.
    deep = (
        "(all => all(document))(function all(root) { return [...root.querySelectorAll('*')]"
        ".flatMap(node => [node, ...(node.shadowRoot ? all(node.shadowRoot) : [])]) })"
    )
    with AppBrowser(tmp_path, front.url) as browser:
        browser.sign_in("/panel_app")
        browser.until(f"{deep}.some(node => node.tagName == 'BUTTON' && node.textContent.includes('click'))", "the button")
        browser.evaluate(f"{deep}.find(node => node.tagName == 'BUTTON' && node.textContent.includes('click')).click()")
        browser.until(f"{deep}.some(node => node.textContent.includes('clicked 1'))", "the count")


# Transmission


@pytest.fixture(scope="module")
def torrents(started):
    return started(transmission)


def call(front):
    """A call of the web client, with the session id that the first response has; gives the statuses, and the result."""
    page = {"Origin": front.origin, "Sec-Fetch-Site": "same-origin"}
    first = ask(front, "POST", "/transmission/rpc", json={"method": "session-get"}, headers=page)
    known = first.headers.get("X-Transmission-Session-Id")
    if not known:
        return first.status_code, None, None
    page["X-Transmission-Session-Id"] = known
    second = ask(front, "POST", "/transmission/rpc", json={"method": "session-get"}, headers=page)
    return first.status_code, second.status_code, second.json()["result"]


def test_n_10_transmission_knows_no_other_host(behind, torrents):
    assert call(behind("transmission-alone", torrents)) == (421, None, None)


def test_n_10_transmission_with_its_own_host(behind, torrents):
    """It does not look at the origin: `upstream_origin` is not needed."""
    assert call(behind("transmission-host", torrents, upstream_host="localhost:9091")) == (409, 200, "success")


# CUPS


def printers(front):
    """What IPP's CUPS-Get-Printers (0x4002) returns: the statuses of HTTP and of IPP."""
    attribute = lambda tag, name, value: bytes([tag]) + b"".join(struct.pack(">H", len(one)) + one for one in (name, value))
    attributes = attribute(0x47, b"attributes-charset", b"utf-8") + attribute(0x48, b"attributes-natural-language", b"en")
    body = struct.pack(">BBHI", 1, 1, 0x4002, 1) + b"\x01" + attributes + b"\x03"
    response = ask(front, "POST", "/", data=body, headers={"Content-Type": "application/ipp"})
    ipp = struct.unpack(">H", response.content[2:4])[0] if response.status_code == 200 else None
    return response.status_code, ipp


#: client-error-not-found: there is no printer.
NO_PRINTERS = (200, 0x0406)


def test_n_10_cups_knows_no_other_host(behind, started):
    app = started(cups)
    assert printers(behind("cups-alone", app)) == (400, None)
    assert printers(behind("cups-host", app, upstream_host="localhost:631")) == NO_PRINTERS


def test_n_10_cups_on_this_machine_has_no_other_name(behind, started):
    """Over loopback it accepts `localhost` alone, whatever `ServerAlias` has."""
    assert printers(behind("cups-alias", started(cups, HOST))) == (400, None)
