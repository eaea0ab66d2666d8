# SPDX-License-Identifier: Apache-2.0
"""What takes a minute or more: it begins with the first test and is checked by the last."""

import struct
import threading
import time

from websockets.exceptions import ConnectionClosed

from support.browser import Browser
from support.gateway import Gateway, oidc
from support.http2 import WINDOW_UPDATE, Client, frame, get
from support.processes import eventually
from support.raw import Wire
from support.websockets import Echo, opened

SIZE = 64 << 20


class SlowReader:
    """Reads a response as slowly as possible without stopping.

    Begins at once; `seconds` is set when the app's write fails; the response is longer than all buffers on the way.
    """
    def __init__(self, gateway, app, protocol):
        self.protocol, self.seconds = protocol, None
        self.stopped = threading.Event()
        self.path = f"/public/slow-{protocol[-3:]}"
        app.script(self.path, self._respond)
        read = self._http1 if protocol == "HTTP/1.1" else self._http2
        self.thread = threading.Thread(target=read, args=(gateway, ), daemon=True)
        self.thread.start()

    def _respond(self, connection, request):
        began = time.monotonic()
        connection.socket.settimeout(600)
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % SIZE)
        try:
            for _ in range(SIZE >> 16):
                connection.socket.sendall(b"x" * 65536)
        except OSError:
            self.seconds = time.monotonic() - began
        return False

    def _http1(self, gateway):
        """64 bytes every second."""
        with Wire(gateway.port) as wire:
            wire.send(f"GET {self.path} HTTP/1.1\r\nHost: gate.localhost\r\n\r\n".encode())
            try:
                while wire.socket.recv(64) and not self.stopped.wait(1):
                    pass
            except ConnectionResetError:
                pass

    def _http2(self, gateway):
        """One byte of window every second."""
        with Client(gateway.tls_port) as client:
            client.grants = 0
            client.request(1, get(self.path))
            client.socket.settimeout(1)
            while not (self.stopped.is_set() or client.is_closed):
                try:
                    client.step()
                except TimeoutError:
                    client.send(frame(WINDOW_UPDATE, 0, 1, struct.pack(">I", 1)))

    def wait(self, seconds):
        """How long the app was held."""
        return eventually(lambda: self.seconds, f"the write of the app fails over {self.protocol}", seconds)

    def stop(self):
        self.stopped.set()
        self.thread.join(5)


class BriefTunnel:
    """A WebSocket whose session has a lifetime of a minute, or has it on this app only; the clock starts with the sign-in."""
    def __init__(self, folder, issuer, sessions=None, limits=None, apps=None):
        self.app, self.error, self.seconds = Echo(), None, None
        app = {"path": "/messages", "upstream": self.app.address, "allow": "signed_in", **(limits or {})}
        self.gateway = Gateway(
            folder, {"mock": oidc(issuer)}, {"echo": app, **(apps or {})}, name="brief", sessions=sessions
        ).start()
        self.browser, began = Browser(self.gateway), time.monotonic()
        browser = self.browser
        assert browser.visit("/oauth2/start/mock?rd=/oauth2/userinfo").status == 200
        cookie = "; ".join(f"{name}={value}" for name, value in browser.cookies[self.gateway.host].items())
        self.client = opened(self.gateway, "/messages", cookie, self.gateway.origin)
        self.thread = threading.Thread(target=self._watch, args=(began, ), daemon=True)
        self.thread.start()

    def _watch(self, began):
        with self.client:
            try:
                self.client.recv(timeout=100)
            except (ConnectionClosed, TimeoutError) as error:
                self.error, self.seconds = error, time.monotonic() - began

    def end(self):
        """How the gateway closed the tunnel, and after how many seconds."""
        self.thread.join(100)
        return self.error, self.seconds

    def stop(self):
        self.client.close()
        self.gateway.leave()
        self.app.close()
