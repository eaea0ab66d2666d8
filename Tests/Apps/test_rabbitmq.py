# SPDX-License-Identifier: Apache-2.0
"""RabbitMQ's management API and UI, whose paths name the virtual host `/` as `%2F`."""

import re

import pytest
import requests

from harness.apps import rabbitmq
from harness.clients import browses, session as signed_in

GUEST = ("guest", "guest")


@pytest.fixture(scope="module")
def app(started):
    return started(rabbitmq)


def api_session(url, fields):
    """Queues, bindings and messages in the virtual host `/`: each status and body."""
    seen = []
    with signed_in(fields) as session:
        session.auth = GUEST

        def ask(method, path, body=None):
            response = session.request(method, f"{url}/api{path}", json=body)
            text = re.sub(
                r'"[\w.]*(rate|time|timestamp|ops|memory|reductions|stats|details)\w*":[^,}]*', "", response.text
            )
            seen.append((method, path, response.status_code, len(text) if method == "GET" else text))
            return response

        ask("GET", "/vhosts/%2F")
        ask("PUT", "/queues/%2F/q%2F1", {"durable": False})
        ask("PUT", "/exchanges/%2f/ex", {"type": "direct"})
        ask("POST", "/bindings/%2F/e/ex/q/q%2F1", {"routing_key": "a|b"})
        ask(
            "POST", "/exchanges/%2F/ex/publish",
            {"properties": {}, "routing_key": "a|b", "payload": "hi", "payload_encoding": "string"}
        )
        ask("POST", "/queues/%2F/q%2F1/get", {"count": 1, "ackmode": "ack_requeue_false", "encoding": "auto"})
        ask("GET", "/bindings/%2F/e/ex/q/q%2F1")
        ask("GET", "/queues/%2F/missing")
        ask("DELETE", "/queues/%2F/q%2F1/contents")
        ask("DELETE", "/exchanges/%2F/ex")
        ask("DELETE", "/queues/%2F/q%2F1")
        seen.append(ask("GET", "/definitions/%2F").json()["queues"])
    return seen


def test_y_02_the_api_with_the_virtual_host_of_a_slash(front):
    """`%2F` arrives as it was sent, in capitals; the app's `Authorization` passes."""
    seen = front.both(api_session)
    assert [status for method, _, status, _ in seen[:-1] if method == "PUT"] == [201, 201]


def test_y_02_the_pages_of_a_queue(front, app, tmp_path):
    """Chromium signs in at RabbitMQ and opens a queue, whose page asks for `/api/queues/%2F/shown`."""
    requests.put(f"{app.origin}/api/queues/%2F/shown", json={}, auth=GUEST, timeout=10).raise_for_status()

    def act(browser):
        browser.until("!!document.querySelector('input[name=username]')", "the form of RabbitMQ")
        browser.evaluate(
            "document.querySelector('input[name=username]').value = document.querySelector('input[name=password]').value"
            " = 'guest'; document.querySelector('input[type=submit]').click()"
        )
        browser.until("document.body.innerText.includes('Overview')", "the overview")
        browser.evaluate("location.hash = '#/queues/%2F/shown'")
        browser.until("document.body.innerText.includes('Queue shown')", "the page of the queue")

    front.both(browses(tmp_path, "/", act))
