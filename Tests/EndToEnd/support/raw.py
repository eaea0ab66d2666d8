# SPDX-License-Identifier: Apache-2.0
"""HTTP as bytes on a socket."""

import json
import socket
import ssl
import time


class Fields:
    """What has header fields, in `fields`."""
    fields = ()

    def all(self, name):
        return [value for key, value in self.fields if key.lower() == name.lower()]

    def get(self, name, default=None):
        values = self.all(name)
        return values[0] if values else default


class Closing:
    """What is closed at the end of a `with`."""
    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


class Response(Fields):
    """One response as it came."""
    def __init__(self, status, fields, body, version="HTTP/1.1", reason=""):
        self.status, self.fields, self.body, self.version, self.reason = status, fields, body, version, reason

    @property
    def text(self):
        return self.body.decode(errors="replace")

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"<{self.status} {self.fields} {self.body[:300]!r}>"


def tls_context(verify=None, **bounds):
    context = ssl.create_default_context(cafile=verify)
    if verify is None:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    for key, value in bounds.items():
        setattr(context, key, value)
    return context


class Wire(Closing):
    """A connection to a port of 127.0.0.1."""
    def __init__(self, port, timeout=15, tls=None, server_name=None, source=None):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout, source_address=(source, 0) if source else None)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_hostname=server_name)
        self.buffer = b""

    def send(self, data):
        self.socket.sendall(data)

    def finish(self):
        self.socket.shutdown(socket.SHUT_WR)

    def _more(self):
        try:
            data = self.socket.recv(65536)
        except (ConnectionResetError, ssl.SSLError, BrokenPipeError):
            data = b""
        self.buffer += data
        return bool(data)

    def rest(self):
        """All until the other side closes."""
        while self._more():
            pass
        taken, self.buffer = self.buffer, b""
        return taken

    def is_closed(self, seconds=5):
        """Whether the other side closes within a time without sending anything."""
        self.socket.settimeout(seconds)
        try:
            return not self.buffer and not self._more()
        except TimeoutError:
            return False

    def until(self, mark):
        """All before the mark, which is consumed as well; None if the other side closes first."""
        return self._until(mark)

    def _until(self, mark):
        while mark not in self.buffer:
            if not self._more():
                return None
        head, self.buffer = self.buffer.split(mark, 1)
        return head

    def response(self, method="GET", interim=None):
        """The next final response, or None if the connection closes first."""
        while True:
            head = self._until(b"\r\n\r\n")
            if head is None:
                return None
            lines = head.decode("latin-1").split("\r\n")
            version, status, reason = (lines[0] + "  ").split(" ", 2)
            fields = [tuple(part.strip() for part in line.split(":", 1)) for line in lines[1:]]
            response = Response(int(status), fields, b"", version, reason.strip())
            if response.status >= 200:
                break
            if interim is not None:
                interim.append(response.status)
        response.body = self._body(response, method)
        return response

    def _body(self, response, method):
        if method == "HEAD" or response.status in (204, 304):
            return b""
        if response.get("transfer-encoding", "").lower() == "chunked":
            body = b""
            while True:
                size = self._until(b"\r\n")
                if size is None:
                    raise AssertionError("truncated in the middle of a chunked response")
                count = int(size, 16)
                while len(self.buffer) < count + 2:
                    if not self._more():
                        raise AssertionError("truncated in the middle of a chunk")
                body += self.buffer[:count]
                self.buffer = self.buffer[count + 2:]
                if count == 0:
                    return body
        length = response.get("content-length")
        if length is None:
            return self.rest()
        while len(self.buffer) < int(length):
            if not self._more():
                raise AssertionError(f"truncated after {len(self.buffer)} of {length} bytes")
        body, self.buffer = self.buffer[:int(length)], self.buffer[int(length):]
        return body

    def close(self):
        self.socket.close()


def exchange(port, data, timeout=15, **tls):
    """Sends bytes; returns all that comes back until the other side closes."""
    with Wire(port, timeout, **tls) as wire:
        try:
            wire.send(data)
        except (BrokenPipeError, ConnectionResetError):
            pass
        return wire.rest()


def request(port, target="/", host="gate.localhost", method="GET", fields=(), body=b"", timeout=15, **tls):
    """One request on a new connection."""
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in fields]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    with Wire(port, timeout, **tls) as wire:
        wire.send("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)
        response = wire.response(method)
        assert response is not None, f"no response to {method} {target}"
        return response


def until(seconds):
    return time.monotonic() + seconds
