# SPDX-License-Identifier: Apache-2.0
"""Apps that compare `Host` and `Origin`, behind a gateway that gives them another `Host`."""

import pytest
import websocket

from harness.apps import jupyterlab
from harness.clients import session as signed_in

#: A name that JupyterLab accepts as its own; by default it responds to no other host.
ELSEWHERE = {"upstream_host": "localhost:8888"}


@pytest.fixture(scope="module")
def app(started):
    return started(jupyterlab)


def kernel(front):
    """Starts a kernel and opens its WebSocket as a page of the app does; gives the statuses."""
    with signed_in(front.fields) as session:
        session.headers["X-XSRFToken"] = token = session.get(f"{front.url}/lab").cookies.get("_xsrf")
        session.headers["Origin"] = front.origin
        made = session.post(f"{front.url}/api/kernels", json={"name": "python3"})
        if made.status_code != 201:
            return made.status_code, None
        path = f"{front.url.replace('http', 'ws', 1)}/api/kernels/{made.json()['id']}/channels?session_id=one"
        try:
            opened = websocket.create_connection(path, cookie=f"{front.cookie}; _xsrf={token}", origin=front.origin)
            opened.close()
            return made.status_code, 101
        except websocket.WebSocketBadStatusException as error:
            return made.status_code, error.status_code


def test_v_12_jupyterlab_rejects_an_origin_that_is_not_its_host(fronts, app):
    """With `upstream_host` alone the app sees the page's origin and another host."""
    front = fronts("hosts-alone", app.port, ELSEWHERE)
    assert kernel(front) != (201, 101)


def test_v_12_jupyterlab_with_a_rewritten_origin(fronts, app):
    """`upstream_origin: rewrite` gives the app an origin that is its own host."""
    front = fronts("hosts-rewritten", app.port, {**ELSEWHERE, "upstream_origin": "rewrite"})
    assert kernel(front) == (201, 101)


def test_v_04_a_websocket_without_a_key(fronts, app):
    """An app with nothing but `upstream` and `allow` takes WebSockets of its own pages."""
    assert kernel(fronts("hosts-default", app.port)) == (201, 101)
