# SPDX-License-Identifier: Apache-2.0
"""Records HTTP/1.1 connections as bytes and reads them back as exchanges of a request and a response."""

import hashlib
import socket
import threading
from dataclasses import dataclass, field

from .processes import eventually
from .raw import Fields


@dataclass
class Message(Fields):
    """One request or response as it was sent."""

    start: str
    fields: list
    body: bytes = b""
    trailers: list = field(default_factory=list)
    framing: str = "none"
    is_complete: bool = True

    @property
    def method(self):
        return self.start.split(" ", 1)[0]

    @property
    def target(self):
        return (self.start.split(" ") + [""])[1]

    @property
    def status(self):
        return int(self.start.split(" ", 2)[1])

    @property
    def digest(self):
        return hashlib.sha256(self.body).hexdigest()[:16]

    def __repr__(self):
        return f"<{self.start} {self.fields} {self.framing} {len(self.body)}: {self.body[:120]!r}>"


@dataclass
class Exchange:
    """A request, the interim responses, the response (or None) and the bytes of a tunnel after a 101."""

    request: Message
    interim: list
    response: Message
    sent: bytes = b""
    received: bytes = b""

    @property
    def name(self):
        return f"{self.request.method} {self.request.target}"

    def __repr__(self):
        return f"{self.request} -> {self.response}"


def _field(line):
    name, _, value = line.partition(":")
    return name.strip(), value.strip()


class Bytes:
    """Reads messages from a recorded stream; `is_whole` is false once a message was truncated."""
    def __init__(self, data):
        self.data, self.at, self.is_whole = data, 0, True

    @property
    def rest(self):
        return self.data[self.at:]

    def _until(self, mark):
        end = self.data.find(mark, self.at)
        if end < 0:
            self.is_whole = False
            return None
        taken, self.at = self.data[self.at:end], end + len(mark)
        return taken

    def _take(self, count):
        taken = self.data[self.at:self.at + count]
        self.at += len(taken)
        if len(taken) < count:
            self.is_whole = False
        return taken

    def head(self):
        if self.at >= len(self.data):
            return None
        head = self._until(b"\r\n\r\n")
        if head is None:
            return None
        start, *lines = head.decode("latin-1").split("\r\n")
        return Message(start, [_field(line) for line in lines])

    def body(self, message, until_close=False):
        if "chunked" in message.get("transfer-encoding", "").lower():
            message.framing = "chunked"
            self._chunks(message)
        elif (length := message.get("content-length")) is not None:
            message.framing = "length"
            message.body = self._take(int(length))
        elif until_close:
            message.framing = "close"
            message.body, self.at = self.rest, len(self.data)
        message.is_complete = self.is_whole

    def _chunks(self, message):
        parts = []
        while (line := self._until(b"\r\n")) is not None:
            size = int(line.split(b";")[0].strip(), 16)
            if size == 0:
                break
            parts.append(self._take(size))
            self._take(2)
        while self.is_whole and (line := self._until(b"\r\n")):
            message.trailers.append(_field(line.decode("latin-1")))
        message.body = b"".join(parts)


def exchanges(sent, received):
    """The exchanges of one connection, given the bytes of both directions."""
    requests, responses, found = Bytes(sent), Bytes(received), []
    if sent.startswith(b"\x16\x03"):
        return found  # A client that tries TLS first.
    while (request := requests.head()) is not None:
        requests.body(request)
        interim, response = [], None
        while (head := responses.head()) is not None:
            if 100 <= head.status < 200 and head.status != 101:
                interim.append(head)
                continue
            response = head
            break
        exchange = Exchange(request, interim, response)
        found.append(exchange)
        if response is None:
            break
        if response.status == 101:
            exchange.sent, exchange.received = requests.rest, responses.rest
            break
        if request.method != "HEAD" and response.status not in (204, 304):
            responses.body(response, until_close=True)
    return found


def _is_tunnel(record):
    return any(one.response and one.response.status == 101 for one in exchanges(*map(b"".join, record)))


class Tap:
    """Forwards connections from its port to another port of 127.0.0.1 and records the bytes."""
    def __init__(self, port):
        self.to = port
        self.socket = socket.socket()
        self.socket.bind(("127.0.0.1", 0))
        self.socket.listen(256)
        self.port = self.socket.getsockname()[1]
        self.connections, self.open = [], 0
        self.lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self.to), timeout=10)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            record = ([], [])
            with self.lock:
                self.connections.append(record)
                self.open += 1
            done = threading.Semaphore(0)
            for source, sink, parts in ((client, server, record[0]), (server, client, record[1])):
                source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._copy, args=(source, sink, parts, done), daemon=True).start()
            threading.Thread(target=self._close, args=(client, server, done), daemon=True).start()

    def _copy(self, source, sink, parts, done):
        try:
            while data := source.recv(262144):
                parts.append(data)
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            for one in (source, sink):
                try:
                    one.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
        done.release()

    def _close(self, client, server, done):
        done.acquire()
        done.acquire()
        client.close()
        server.close()
        with self.lock:
            self.open -= 1

    def exchanges(self):
        """Everything recorded so far, connection by connection."""
        with self.lock:
            connections = list(self.connections)
        return [one for sent, received in connections for one in exchanges(b"".join(sent), b"".join(received))]

    def take(self):
        """Everything recorded so far, once it is complete; the record starts again for what connections send later."""
        def settled():
            found = self.exchanges()
            return all(one.response is not None and one.response.is_complete for one in found) and [found]

        try:
            found = eventually(settled, "all recorded exchanges are complete", 5)[0]
        except AssertionError:
            found = self.exchanges()
        with self.lock:
            self.connections = [one for one in self.connections if not _is_tunnel(one)]
            for sent, received in self.connections:
                sent.clear()
                received.clear()
        return found

    def close(self):
        self.socket.close()
