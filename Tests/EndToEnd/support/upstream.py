# SPDX-License-Identifier: Apache-2.0
"""An app that records the bytes it receives and responds as a test scripts."""

import json
import os
import socket
import threading

from .processes import accept, eventually
from .raw import Closing, Fields


class Received(Fields):
    """One request as the app received it."""
    def __init__(self, head, connection):
        self.head = head
        self.connection = connection
        self.body = b""
        self.length = 0
        lines = head.decode("latin-1").split("\r\n")
        self.line = lines[0]
        self.method, self.target, self.version = (self.line.split(" ") + ["", ""])[:3]
        self.fields = [tuple(part.strip() for part in line.split(":", 1)) for line in lines[1:] if line]

    @property
    def names(self):
        return [name.lower() for name, _ in self.fields]

    def __repr__(self):
        return f"<{self.head!r} +{self.length}>"


class Connection:
    """A connection that the gateway opened."""
    def __init__(self, sock, number):
        self.socket, self.number, self.buffer = sock, number, b""

    def more(self):
        data = self.socket.recv(262144)
        self.buffer += data
        return bool(data)

    def head(self):
        while b"\r\n\r\n" not in self.buffer:
            if not self.more():
                return None
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        return Received(head, self.number)

    def body(self, request, keep=True):
        """Reads the body; with `keep` false only its length is kept."""
        if request.get("transfer-encoding", "").lower() == "chunked":
            while True:
                while b"\r\n" not in self.buffer:
                    if not self.more():
                        return False
                size, self.buffer = self.buffer.split(b"\r\n", 1)
                if not self._take(request, int(size, 16), keep) or not self._skip_line():
                    return False
                if int(size, 16) == 0:
                    return True
        return self._take(request, int(request.get("content-length", "0")), keep)

    def _take(self, request, count, keep):
        request.length += count
        while count:
            if not self.buffer and not self.more():
                return False
            part, self.buffer = self.buffer[:count], self.buffer[count:]
            count -= len(part)
            if keep:
                request.body += part
        return True

    def _skip_line(self):
        while len(self.buffer) < 2:
            if not self.more():
                return False
        self.buffer = self.buffer[2:]
        return True

    def send(self, data):
        self.socket.sendall(data)

    def reset(self):
        """Ends the connection with a reset."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.socket.close()


class Upstream(Closing):
    """Listens on a port, or on a path, and returns the head it received as JSON.

    `script(path, act)` lets `act(connection, request)` respond to requests whose path starts so, before their body is
    read; when it returns true the connection goes on.
    """
    def __init__(self, path=None):
        if path:
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.bind(str(path))
            self.address = f"unix:{path}"
        else:
            self.socket = socket.socket()
            self.socket.bind(("127.0.0.1", 0))
            self.port = self.socket.getsockname()[1]
            self.address = f"http://127.0.0.1:{self.port}"
        self.socket.listen(512)
        self.requests = []
        self.bytes = {}
        self.connections = 0
        self.scripts = {}
        self.lock = threading.Lock()
        accept(self.socket, self._serve)

    def script(self, path, act):
        self.scripts[path] = act

    def hold(self, path):
        """Lets the app respond below a path, with `done`, once the event that this returns is set."""
        go = threading.Event()

        def act(connection, request):
            connection.body(request)
            go.wait(60)
            connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone")
            return True

        self.script(path, act)
        return go

    def seen(self, marker):
        """The requests whose head holds the marker."""
        return [request for request in list(self.requests) if marker.encode() in request.head]

    def wait_for(self, marker, count=1):
        return eventually(lambda: len(self.seen(marker)) >= count and self.seen(marker), f"{marker} reaches the app")

    def close(self):
        self.socket.close()

    def _serve(self, sock):
        with self.lock:
            self.connections += 1
            connection = Connection(sock, self.connections)
        try:
            while request := connection.head():
                with self.lock:
                    self.requests.append(request)
                act = next((act for path, act in self.scripts.items() if request.target.startswith(path)), None)
                if act:
                    if not act(connection, request):
                        break
                    continue
                if not connection.body(request):
                    break
                connection.send(echo(request))
        except (OSError, ValueError):
            pass
        finally:
            try:
                connection.socket.close()
            except OSError:
                pass


def echo(request):
    body = json.dumps(
        {"line": request.line, "fields": request.fields, "length": request.length, "connection": request.connection}
    ).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    return head if request.method == "HEAD" else head + body


def responds(data, close=True):
    """A script that reads the request's body and responds with these bytes."""
    def act(connection, request):
        connection.body(request)
        connection.send(data)
        return not close

    return act


def socket_folder():
    """A folder whose name is short enough for the path of a socket."""
    path = f"/tmp/gate-{os.getpid()}"
    os.makedirs(path, exist_ok=True)
    return path
