# SPDX-License-Identifier: Apache-2.0
"""WebSockets: an app on a library, and one that sends what a test scripts, byte by byte."""

import base64
import hashlib
import os
import socket
import struct
import threading
import time

from websockets.sync.client import connect
from websockets.sync.server import serve

KEY = "dGhlIHNhbXBsZSBub25jZQ=="
HANDSHAKE = {
    "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": KEY,
}


def accept(key):
    """The `Sec-WebSocket-Accept` of a key, RFC 6455 §1.3."""
    digest = hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
    return base64.b64encode(digest).decode()


def handshake(path="/public/ws", host="gate.localhost", lines=None, method="GET", version="1.1"):
    """The bytes of a handshake; `lines` with the value None are omitted."""
    fields = {"Host": host, **HANDSHAKE, **(lines or {})}
    head = f"{method} {path} HTTP/{version}\r\n"
    return (head + "".join(f"{name}: {value}\r\n" for name, value in fields.items() if value is not None)
            + "\r\n").encode("latin-1")


def agrees(request, *more):
    """The head with which an app agrees."""
    lines = ["HTTP/1.1 101 Sure", "Upgrade: websocket", "Connection: Upgrade",
             f"Sec-WebSocket-Accept: {accept(request.get('sec-websocket-key', ''))}", *more]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def frame(payload, opcode=2, mask=True):
    """One frame, masked as those of clients are."""
    count = len(payload)
    flag = 0x80 if mask else 0
    head = bytes([0x80 | opcode])
    if count < 126:
        head += bytes([flag | count])
    elif count < 65536:
        head += bytes([flag | 126]) + struct.pack(">H", count)
    else:
        head += bytes([flag | 127]) + struct.pack(">Q", count)
    if not mask:
        return head + payload
    key = os.urandom(4)
    return head + key + bytes(byte ^ key[index % 4] for index, byte in enumerate(payload))


def unmasked(data):
    """Opcode and payload of the first frame of some bytes, and what is behind it."""
    count, at = data[1] & 0x7F, 2
    if count == 126:
        count, at = struct.unpack(">H", data[2:4])[0], 4
    elif count == 127:
        count, at = struct.unpack(">Q", data[2:10])[0], 10
    key = b"\0\0\0\0"
    if data[1] & 0x80:
        key, at = data[at:at + 4], at + 4
    payload = bytes(byte ^ key[index % 4] for index, byte in enumerate(data[at:at + count]))
    return data[0] & 0x0F, payload, data[at + count:]


class Echo:
    """An app that echoes every message; `flood` sends, `sink` reads slowly, counts and returns the count."""
    def __init__(self):
        self.closes, self.requests, self.connections = [], [], []
        choose = lambda connection, offered: "chat" if "chat" in offered else None
        self.server = serve(self.handle, "127.0.0.1", 0, select_subprotocol=choose, max_size=None)
        self.address = "http://127.0.0.1:%d" % self.server.socket.getsockname()[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def handle(self, connection):
        self.requests.append(connection.request)
        self.connections.append(connection)
        path = connection.request.path
        try:
            if path.endswith("/flood"):
                for _ in range(int(connection.recv())):
                    connection.send(b"x" * 65536)
            elif path.endswith("/sink"):
                count = int(connection.recv())
                time.sleep(1)
                connection.send(str(sum(len(connection.recv()) for _ in range(count))))
            for message in connection:
                connection.send(message)
        except Exception:  # noqa: BLE001 the close is what is recorded
            pass
        self.closes.append(connection.close_code)

    def close(self):
        self.server.shutdown()


def opened(gateway, path, cookie=None, origin=None, **more):
    """A client of a library, connected through the gateway."""
    sock = socket.create_connection(("127.0.0.1", gateway.port), timeout=15)
    fields = {"Cookie": cookie} if cookie else {}
    return connect(f"ws://{gateway.host}:{gateway.port}{path}", sock=sock, additional_headers=fields, origin=origin,
                   max_size=None, **more)
