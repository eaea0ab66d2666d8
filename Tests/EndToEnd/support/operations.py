# SPDX-License-Identifier: Apache-2.0
"""A client of the operations API over its Unix socket."""

import http.client
import json
import socket

from .gateway import run


class SocketConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""
    def __init__(self, path):
        super().__init__("localhost", timeout=20)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self.path))


def call(path, method, resource, body=None, headers=None):
    """One request over the socket at `path`; returns status and JSON."""
    connection = SocketConnection(path)
    text = None if body is None else json.dumps(body)
    fields = {"Content-Type": "application/json"} if body is not None else {}
    connection.request(method, resource, text, {**fields, **(headers or {})})
    response = connection.getresponse()
    return response.status, json.loads(response.read())


def command(gateway, *arguments):
    """A command of the program for a gateway; it must succeed."""
    result = run(*arguments, "--config", gateway.path, cwd=gateway.folder)
    assert result.returncode == 0, result
    return result.stdout
