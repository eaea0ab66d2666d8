# SPDX-License-Identifier: Apache-2.0
"""HTTP/2 as frames on a TLS socket; nothing is checked on the way out, so that every rule can be broken."""

import socket
import ssl
import struct

import hpack

from .raw import Closing, Response, tls_context

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, ACK, END_HEADERS, PADDED = 0x1, 0x1, 0x4, 0x8
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, FLOW_CONTROL_ERROR = 0, 1, 2, 3
STREAM_CLOSED, FRAME_SIZE_ERROR, REFUSED_STREAM, CANCEL, COMPRESSION_ERROR = 5, 6, 7, 8, 9
ENHANCE_YOUR_CALM = 11
SETTINGS_INITIAL_WINDOW_SIZE = 4


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def settings(**values):
    return frame(SETTINGS, payload=b"".join(struct.pack(">HI", int(key[1:]), value) for key, value in values.items()))


def literal(name, value):
    """One field as HPACK writes it without any table."""
    raw = lambda text: text if isinstance(text, bytes) else text.encode("latin-1")
    name, value = raw(name), raw(value)
    return b"\x00" + integer(len(name)) + name + integer(len(value)) + value


def integer(number, prefix=7):
    limit = (1 << prefix) - 1
    if number < limit:
        return bytes([number])
    out, number = bytes([limit]), number - limit
    while number >= 128:
        out += bytes([number % 128 | 128])
        number //= 128
    return out + bytes([number])


def block(fields):
    return b"".join(literal(name, value) for name, value in fields)


def get(path="/public/x", *fields, method="GET", authority="gate.localhost", scheme="https"):
    """The fields of a request; None leaves a pseudo-field out."""
    pseudo = [(":method", method), (":scheme", scheme), (":authority", authority), (":path", path)]
    return [one for one in pseudo if one[1] is not None] + list(fields)


class Stream:
    """What came on one stream."""
    def __init__(self):
        self.heads, self.body, self.trailers = [], bytearray(), None
        self.is_ended, self.reset = False, None

    @property
    def response(self):
        final = [fields for fields in self.heads if fields[0][1][:1] != "1"]
        if not final:
            return None
        return Response(int(final[0][0][1]), final[0][1:], bytes(self.body), "HTTP/2")

    @property
    def is_over(self):
        return self.is_ended or self.reset is not None

    def __repr__(self):
        return f"<{self.heads} {self.body[:200]!r} ended {self.is_ended} reset {self.reset}>"


class Client(Closing):
    """One connection."""
    def __init__(self, port, server_name="gate.localhost", preface=PREFACE + settings(), protocols=("h2",), timeout=15):
        context = tls_context()
        context.set_alpn_protocols(list(protocols))
        plain = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = context.wrap_socket(plain, server_hostname=server_name)
        self.agreed = self.socket.selected_alpn_protocol()
        self.decoder = hpack.Decoder()
        self.decoder.max_header_list_size = 1 << 20
        self.buffer, self.frames, self.streams = b"", [], {}
        self.goaways, self.is_closed, self.block = [], False, None
        #: How much the client grants by itself; 0 never updates a window.
        self.grants = True
        self.send(preface)

    def send(self, data):
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
            self.is_closed = True

    def request(self, stream, fields, end=True, flags=END_HEADERS):
        self.send(frame(HEADERS, flags | (END_STREAM if end else 0), stream, block(fields)))

    def data(self, stream, data=b"", end=False):
        self.send(frame(DATA, END_STREAM if end else 0, stream, data))

    def stream(self, number):
        return self.streams.setdefault(number, Stream())

    def step(self):
        """Reads one frame; None when the connection is closed."""
        while len(self.buffer) < 9 or len(self.buffer) < 9 + int.from_bytes(self.buffer[:3], "big"):
            try:
                data = self.socket.recv(65536)
            except (ConnectionResetError, ssl.SSLError, BrokenPipeError) as error:
                if isinstance(error, ssl.SSLError) and "timed out" in str(error):
                    raise TimeoutError from error
                data = b""
            if not data:
                self.is_closed = True
                return None
            self.buffer += data
        length = int.from_bytes(self.buffer[:3], "big")
        kind, flags = self.buffer[3], self.buffer[4]
        number = int.from_bytes(self.buffer[5:9], "big") & 0x7FFFFFFF
        payload, self.buffer = self.buffer[9:9 + length], self.buffer[9 + length:]
        self.frames.append((kind, flags, number, length))
        self.take(kind, flags, number, payload)
        return kind

    def take(self, kind, flags, number, payload):
        if kind == SETTINGS and not flags & ACK:
            self.send(frame(SETTINGS, ACK))
        elif kind == PING and not flags & ACK:
            self.send(frame(PING, ACK, 0, payload))
        elif kind == GOAWAY:
            self.goaways.append((int.from_bytes(payload[:4], "big"), int.from_bytes(payload[4:8], "big")))
        elif kind == RST_STREAM:
            self.stream(number).reset = int.from_bytes(payload, "big")
        elif kind == DATA:
            self.stream(number).body += payload
            if self.grants and payload:
                grant = struct.pack(">I", len(payload))
                self.send(frame(WINDOW_UPDATE, 0, 0, grant) + frame(WINDOW_UPDATE, 0, number, grant))
        elif kind in (HEADERS, CONTINUATION):
            self.block = payload if kind == HEADERS else self.block + payload
            if flags & END_HEADERS:
                pairs = self.decoder.decode(self.block, raw=True)
                self.fields(number, [tuple(bytes(part).decode("latin-1") for part in pair[:2]) for pair in pairs])
        if kind in (DATA, HEADERS) and flags & END_STREAM:
            self.stream(number).is_ended = True

    def fields(self, number, fields):
        stream = self.stream(number)
        if fields and fields[0][0] == ":status":
            stream.heads.append([tuple(one) for one in fields])
        else:
            stream.trailers = [tuple(one) for one in fields]

    def wait(self, until):
        """Reads frames until a condition holds or the connection closes."""
        while not until() and not self.is_closed:
            if self.step() is None:
                break
        return until()

    def over(self, number):
        """The stream, once it or the connection has ended."""
        self.wait(lambda: self.stream(number).is_over)
        return self.stream(number)

    def response(self, number):
        stream = self.over(number)
        assert stream.response is not None, f"{stream}, GOAWAY {self.goaways}, closed {self.is_closed}"
        return stream.response

    def exchange(self, number, fields, body=None):
        """One request and its response."""
        self.request(number, fields, end=body is None)
        if body is not None:
            self.data(number, body, end=True)
        return self.response(number)

    def end(self):
        """Everything until the other side closes; the code of the last GOAWAY."""
        self.wait(lambda: False)
        return self.goaways[-1][1] if self.goaways else None

    def close(self):
        self.socket.close()
