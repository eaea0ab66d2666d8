# SPDX-License-Identifier: Apache-2.0
"""A small HTTP/1.1 client on a plain or TLS socket, and a browser that signs in."""

import socket
import ssl
import struct
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

from processes import Trouble

NAVIGATES = {"Accept": "text/html,*/*;q=0.8", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
LINGER_NOT = struct.pack("ii", 1, 0)


def tls_context(*protocols):
    """A client that accepts any certificate; every handshake is a full one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if protocols:
        context.set_alpn_protocols(protocols)
    return context


def offers_http2(port):
    """Whether a TLS listener chooses HTTP/2 when it is asked for."""
    with socket.create_connection(("127.0.0.1", port), 5) as plain:
        with tls_context("h2", "http/1.1").wrap_socket(plain) as secured:
            return secured.selected_alpn_protocol() == "h2"


@dataclass
class Response:
    """The response to a request; `size` counts all its bytes."""

    status: int
    fields: list
    body: bytes
    size: int

    def first(self, name):
        return next((value for key, value in self.fields if key == name), None)

    def all(self, name):
        return [value for key, value in self.fields if key == name]


class Wire:
    """One connection that is kept."""

    def __init__(self, port, tls=None, timeout=20):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls:
            self.socket = tls.wrap_socket(self.socket)
        self.port, self.waiting = port, b""

    def ask(self, method, target, fields=(), body=None):
        """One request and its response."""
        lines = [f"{method} {target} HTTP/1.1", f"Host: 127.0.0.1:{self.port}"]
        lines += [f"{name}: {value}" for name, value in dict(fields).items()]
        if body is not None:
            lines.append(f"Content-Length: {len(body)}")
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode() + (body or b""))
        return self.response()

    def more(self):
        data = self.socket.recv(65536)
        if not data:
            raise ConnectionError("the connection ended in the middle of a response")
        self.waiting += data

    def head(self):
        """Status and fields of a response, and the length of its head."""
        while b"\r\n\r\n" not in self.waiting:
            self.more()
        head, _, self.waiting = self.waiting.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        pairs = [line.partition(":") for line in lines]
        return int(first.split()[1]), [(name.lower(), value.strip()) for name, _, value in pairs], len(head) + 4

    def response(self):
        status, fields, size = self.head()
        response = Response(status, fields, b"", size)
        if (response.first("transfer-encoding") or "") == "chunked":
            response.body = self.chunks()
        else:
            length = int(response.first("content-length") or 0)
            while len(self.waiting) < length:
                self.more()
            response.body, self.waiting = self.waiting[:length], self.waiting[length:]
        response.size += len(response.body)
        return response

    def chunks(self):
        body = b""
        while True:
            while b"\r\n" not in self.waiting:
                self.more()
            line, _, self.waiting = self.waiting.partition(b"\r\n")
            length = int(line.split(b";")[0], 16)
            while len(self.waiting) < length + 2:
                self.more()
            body, self.waiting = body + self.waiting[:length], self.waiting[length + 2:]
            if length == 0:
                return body

    def close(self):
        """Ends the connection at once, so that no port is left waiting."""
        try:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_NOT)
        finally:
            self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


class Browser:
    """One browser without a screen: cookies for one origin, a connection to each."""

    def __init__(self, port, user="ada"):
        self.port, self.user = port, user
        self.cookies, self.wires = {}, {}

    @property
    def cookie(self):
        return "; ".join(f"{name}={value}" for name, value in self.cookies.items())

    def send(self, method, url, body=None, fields=None):
        """One request; redirects are not followed."""
        parts = urlsplit(url)
        own = parts.port == self.port
        lines = {**NAVIGATES, **({"Cookie": self.cookie} if own and self.cookies else {}), **(fields or {})}
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        if parts.port not in self.wires:
            self.wires[parts.port] = Wire(parts.port)
        response = self.wires[parts.port].ask(method, target, lines, body)
        if (response.first("connection") or "").lower() == "close":
            self.wires.pop(parts.port).close()
        if own:
            self.keep(response.all("set-cookie"))
        return response

    def keep(self, lines):
        for line in lines:
            name, _, value = line.partition(";")[0].partition("=")
            if value in ("", '""', "deleted") or "max-age=0" in line.lower():
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = value

    def sign_in(self, page="/page"):
        """Asks for a page, signs in at the provider on the way, and gives the page."""
        url = f"http://127.0.0.1:{self.port}{page}"
        for _ in range(12):
            parts = urlsplit(url)
            if parts.path.endswith("/authorize"):
                url += f"&user={self.user}"
            response = self.send("GET", url)
            if response.status not in (301, 302, 303, 307, 308):
                break
            url = urljoin(url, response.first("location"))
        if response.status != 200 or urlsplit(url).path != page:
            raise Trouble(f"the sign-in ended at {url} with {response.status}: {response.body[:300]}")
        return response

    def sign_out(self):
        """Ends the session."""
        origin = f"http://127.0.0.1:{self.port}"
        fields = {
            "Origin": origin, "Sec-Fetch-Site": "same-origin", "Content-Type": "application/x-www-form-urlencoded"
        }
        return self.send("POST", f"{origin}/oauth2/sign_out?rd=/", b"", fields)

    def close(self):
        for wire in self.wires.values():
            wire.close()
        self.wires.clear()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()
