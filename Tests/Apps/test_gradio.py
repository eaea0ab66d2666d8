# SPDX-License-Identifier: Apache-2.0
"""Gradio: its queue over server-sent events, an upload, and its page in Chromium."""

import json

import pytest

from harness.apps import gradio
from harness.clients import browses, session as signed_in

#: Browsers fetch the manifest of a web app without cookies.
ENTRY = {"public": ["GET /manifest.json"]}


@pytest.fixture(scope="module")
def app(started):
    return started(gradio)


def calls(url, fields):
    """A call, a stream of results, and an upload: the events of each."""
    with signed_in(fields) as session:

        def call(name, *data):
            made = session.post(f"{url}/gradio_api/call/{name}", json={"data": data}).json()["event_id"]
            with session.get(f"{url}/gradio_api/call/{name}/{made}", stream=True, timeout=30) as stream:
                return stream.headers["Content-Type"], [line for line in stream.iter_lines() if line]

        upload = session.post(f"{url}/gradio_api/upload", files={"files": ("a b.txt", b"x" * 1_000_000)})
        path = upload.json()[0]
        back = session.get(f"{url}/gradio_api/file={path}", headers={"Range": "bytes=10-19"})
        return {
            "greet": call("greet", "Ada"),
            "count": call("count", 20),
            "upload": upload.status_code,
            "back": (back.status_code, back.content),
            "missing": session.get(f"{url}/gradio_api/file=/etc/passwd").status_code,
        }


def test_calls_and_events(front):
    """Server-sent events one by one; `=` and `/` in a path."""
    seen = front.both(calls)
    assert json.loads(seen["greet"][1][-1].removeprefix("data: ")) == ["Hello Ada"] and len(seen["count"][1]) >= 40


def test_v_08_the_page_in_chromium(front, tmp_path):
    """The page loads whole, its manifest too, which browsers ask for without cookies; a click brings the result."""
    def act(browser):
        browser.until("!!document.querySelector('#greet')", "the button")
        browser.evaluate(
            "(box => { Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, 'value').set.call(box, 'Zoë');"
            " box.dispatchEvent(new Event('input', {bubbles: true})) })(document.querySelector('textarea, input'))"
        )
        browser.click("#greet")
        found = "[...document.querySelectorAll('textarea, input')].some(one => one.value.startsWith('Hello'))"
        return browser.until(found, "the greeting")

    front.both(browses(tmp_path, "/", act))
