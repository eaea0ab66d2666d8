# SPDX-License-Identifier: Apache-2.0
"""A listener on a Unix socket, with nginx in front of it."""

import json
import os
import shutil
import socket
import stat
import tempfile
import threading
from pathlib import Path

import pytest

from support.browser import Browser
from support.gateway import Gateway, oidc, public_echo, run
from support.operations import SocketConnection
from support.processes import eventually, free_port, nginx
from support.raw import request


@pytest.fixture
def folder():
    """A folder whose path is short enough for the path of a socket."""
    path = Path(tempfile.mkdtemp(prefix="gate-"))
    yield path
    shutil.rmtree(path)


@pytest.fixture
def start(folder, provider_server, recorder):
    made = []

    def begin(started=True, **listener):
        public = f"http://gate.localhost:{free_port()}"
        listeners = [{"address": f"unix:{folder}/http.sock", **listener}]
        gateway = Gateway(
            folder, {"mock": oidc(provider_server.realm("mock").issuer)}, public_echo(recorder), public_url=public,
            gateway={"listeners": listeners}
        )
        gateway.configuration["logs"] = {"format": "json", "access": str(folder / "access.log")}
        gateway.socket = folder / "http.sock"
        if not started:
            gateway.write()
            return gateway
        made.append(gateway)
        return gateway.start()

    yield begin
    for gateway in made:
        gateway.stop()


def ask(gateway, path, **fields):
    """One request over the socket; the status and what the app received."""
    connection = SocketConnection(gateway.socket)
    connection.request("GET", path, headers={"Host": gateway.authority, **fields})
    response = connection.getresponse()
    return response.status, response.read()


def forwarded(body):
    """`X-Forwarded-For` and `X-Forwarded-Proto` as the app got them."""
    fields = {name.lower(): value for name, value in json.loads(body)["fields"]}
    return fields["x-forwarded-for"], fields["x-forwarded-proto"]


def client(gateway, path):
    """The client IP in the access line of a path."""
    def line():
        text = (gateway.folder / "access.log").read_text()
        return [found for found in map(json.loads, text.splitlines()) if found.get("path") == path]

    return eventually(line, f"the access line of {path}")[-1]["client"]


def test_a_browser_signs_in_through_nginx_and_the_app_gets_its_ip(start, folder):
    gateway = start(trusted=True)
    port = int(gateway.origin.rpartition(":")[2])
    block = f"""upstream gate {{ server unix:{gateway.socket}; }}
        server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://gate; proxy_http_version 1.1;
        proxy_set_header Host $http_host; proxy_set_header Connection "";
        proxy_set_header X-Forwarded-For $remote_addr; proxy_set_header X-Forwarded-Proto $scheme; }} }}"""
    front = nginx(folder, "front", block)
    try:
        front.wait_listening(port)
        page = Browser(gateway).sign_in("mock", "/page")
        assert page.status == 200 and forwarded(page.body) == ("127.0.0.1", "http")
        assert client(gateway, "/page") == "127.0.0.1"
        gateway.stop()
        assert request(port, "/public/x").status == 502
        gateway.start()
        eventually(lambda: request(port, "/public/x").status == 200, "nginx reaches the new process")
    finally:
        front.stop()


def test_a_client_of_a_socket_is_trusted_only_where_the_file_allows_it(start):
    gateway = start()
    claim = {"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "https"}
    status, body = ask(gateway, "/public/forged", **claim)
    assert (status, forwarded(body)) == (200, ("unknown", "http"))
    assert client(gateway, "/public/forged") == "unknown"
    gateway.configuration["gateway"]["listeners"][0]["trusted"] = True
    gateway.write()
    gateway.reload()
    eventually(lambda: forwarded(ask(gateway, "/public/real", **claim)[1]) == ("203.0.113.9", "https"), "the reload")
    ask(gateway, "/public/later", **claim)
    assert client(gateway, "/public/later") == "203.0.113.9"
    assert forwarded(ask(gateway, "/public/none")[1]) == ("unknown", "http")
    assert gateway.metric('gatehouse_requests_total{app="echo",class="2xx"}') >= 2


@pytest.mark.parametrize("more, mode", [({}, 0o600), ({"mode": "0660"}, 0o660), ({"mode": "666"}, 0o666)])
def test_the_file_has_the_mode_of_the_configuration_and_goes_with_the_process(start, more, mode):
    gateway = start(**more)
    found = gateway.socket.stat().st_mode
    assert stat.S_ISSOCK(found) and stat.S_IMODE(found) == mode
    assert f"unix:{gateway.socket}" in gateway.log
    gateway.stop()
    assert not gateway.socket.exists()


def test_what_a_killed_process_has_left_is_replaced(start):
    gateway = start()
    gateway.kill()
    assert gateway.socket.exists()
    gateway.start()
    assert ask(gateway, "/public/again")[0] == 200


def failed_start(gateway):
    result = run("serve", "--config", gateway.path, cwd=gateway.folder)
    assert result.returncode == 1 and "listener.bind" in result.stderr, result
    return result.stderr


def test_nothing_but_a_stale_socket_is_removed(start, folder):
    gateway = start(started=False)
    gateway.socket.write_text("precious")
    assert "not a socket" in failed_start(gateway) and gateway.socket.read_text() == "precious"
    gateway.socket.unlink()
    target = folder / "target"
    target.write_text("precious")
    gateway.socket.symlink_to(target)
    assert "not a socket" in failed_start(gateway) and gateway.socket.is_symlink() and target.read_text() == "precious"
    gateway.socket.unlink()
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(gateway.socket))
        other.listen()
        number = gateway.socket.stat().st_ino
        assert "another process listens there" in failed_start(gateway)
        assert gateway.socket.stat().st_ino == number
    folder = str(folder / "missing")
    gateway.configuration["gateway"]["listeners"][0]["address"] = f"unix:{folder}/http.sock"
    gateway.write()
    assert f"{folder} cannot be opened" in failed_start(gateway) and not os.path.exists(folder)


def test_a_drain_ends_what_is_in_progress_and_removes_the_file_at_once(start, recorder):
    gateway = start()
    go = recorder.hold("/public/held")
    found = []
    thread = threading.Thread(target=lambda: found.append(ask(gateway, "/public/held")))
    thread.start()
    recorder.wait_for("/public/held")
    gateway.process.child.terminate()
    eventually(lambda: not gateway.socket.exists(), "the file is removed")
    # The next process may listen while this one still works.
    with socket.socket(socket.AF_UNIX) as successor:
        successor.bind(str(gateway.socket))
        go.set()
        thread.join(20)
        assert found == [(200, b"done")]
        assert gateway.process.child.wait(20) == 0
        assert gateway.socket.exists()
    gateway.process = None
