# SPDX-License-Identifier: Apache-2.0
"""JupyterLab: its API, a kernel over a WebSocket, and its pages in Chromium."""

import json
import uuid

import pytest
import websocket

from harness.apps import jupyterlab
from harness.clients import browses, session as signed_in


@pytest.fixture(scope="module")
def app(started):
    return started(jupyterlab)


def cell(url, fields):
    """What a cell prints that runs in a kernel over its WebSocket."""
    with signed_in(fields) as session:
        token = session.get(f"{url}/lab").cookies.get("_xsrf")
        session.headers["X-XSRFToken"] = token
        kernel = session.post(f"{url}/api/kernels", json={"name": "python3"}).json()["id"]
        cookies = "; ".join(one for one in (fields.get("Cookie"), f"_xsrf={token}") if one)
        channel = websocket.create_connection(
            f"{url.replace('http', 'ws', 1)}/api/kernels/{kernel}/channels?session_id=one",
            cookie=cookies,
            origin=url,
            timeout=60,
        )
        header = {
            "msg_id": uuid.uuid4().hex, "msg_type": "execute_request", "username": "", "session": "one", "version":
            "5.3", "date": ""
        }
        code = "print('x' * 200000)\nprint(6 * 7)"
        channel.send(
            json.dumps({
                "header": header, "parent_header": {}, "metadata": {}, "channel": "shell", "buffers": [], "content":
                {"code": code, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False}
            })
        )
        printed = ""
        while True:
            message = json.loads(channel.recv())
            if message["parent_header"].get("msg_id") != header["msg_id"]:
                continue
            if message["msg_type"] == "stream":
                printed += message["content"]["text"]
            if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                break
        channel.close()
        deleted = session.delete(f"{url}/api/kernels/{kernel}").status_code
        return {"printed": printed, "deleted": deleted}


def test_a_kernel_runs_a_cell(front):
    """A WebSocket with large frames, both ways."""
    seen = front.both(cell)
    assert seen["printed"].endswith("x\n42\n") and seen["deleted"] == 204


def contents(url, fields):
    """Files with names that need escapes: each status and body."""
    seen = []
    with signed_in(fields) as session:
        session.headers["X-XSRFToken"] = session.get(f"{url}/lab").cookies.get("_xsrf")

        def ask(method, path, **more):
            response = session.request(method, url + path, **more)
            seen.append((method, path, response.status_code, response.content if "/files/" in path else None))

        ask("PUT", "/api/contents/a%20b%23.txt", json={"type": "file", "format": "text", "content": "text\n"})
        ask("GET", "/api/contents/a%20b%23.txt")
        ask("GET", "/files/a%20b%23.txt")
        ask("PATCH", "/api/contents/a%20b%23.txt", json={"path": "ünï+.txt"})
        ask("GET", "/files/%C3%BCn%C3%AF%2B.txt", headers={"Range": "bytes=0-1"})
        ask("DELETE", "/api/contents/%C3%BCn%C3%AF+.txt")
        ask("GET", "/api/contents/missing.txt")
    return seen


def test_files_with_names_that_need_escapes(front):
    """The contents API and downloads."""
    seen = front.both(contents)
    assert [status for _, _, status, _ in seen] == [201, 200, 200, 200, 206, 204, 404]


def test_the_pages_in_chromium(front, tmp_path):
    """JupyterLab opens a notebook, whose kernel gets ready over a WebSocket."""
    def act(browser):
        browser.until("!!document.querySelector('.jp-LauncherCard')", "the launcher")
        browser.click(".jp-LauncherCard[data-category=Notebook]")
        ready = "[...document.querySelectorAll('.jp-Notebook-ExecutionIndicator')].some(one => one.dataset.status === 'idle')"
        browser.until(ready, "the kernel is idle")

    front.both(browses(tmp_path, "/lab?reset", act))
