# SPDX-License-Identifier: Apache-2.0
"""An app that speaks HTTP/2 in the clear or over TLS, on the `h2` library, and can break rules by hand."""

import socket
import ssl
import threading

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import h2.settings

from .processes import accept


class Stream:
    """One request: `fields` in order, `body`, and `ended` when it is complete."""
    def __init__(self, number, fields):
        self.number, self.fields, self.body = number, fields, b""
        self.ended, self.reset = False, None

    def get(self, name, default=None):
        return next((value for key, value in self.fields if key == name), default)


class Connection:
    """One connection; `h2` is the library's view of it, `send` writes bytes by hand."""
    def __init__(self, sock, server):
        self.socket, self.server = sock, server
        config = h2.config.H2Configuration(client_side=False, header_encoding="utf-8")
        self.h2 = h2.connection.H2Connection(config)
        self.streams, self.errors, self.pings = {}, [], 0
        self.lock = threading.RLock()

    def flush(self):
        with self.lock:
            data = self.h2.data_to_send()
        if data:
            self.socket.sendall(data)

    def send(self, data):
        self.socket.sendall(data)

    def response(self, stream, status=200, fields=(), body=b"", trailers=None):
        with self.lock:
            ends = not body and trailers is None
            self.h2.send_headers(stream.number, [(":status", str(status)), *fields], end_stream=ends)
            if body:
                self._body(stream, body, trailers is None)
            if trailers is not None:
                self.h2.send_headers(stream.number, list(trailers), end_stream=True)
        self.flush()

    def _body(self, stream, body, ends):
        while body:
            window = min(self.h2.local_flow_control_window(stream.number), self.h2.max_outbound_frame_size)
            if window == 0:
                self.flush()
                self.receive()
                continue
            self.h2.send_data(stream.number, body[:window], end_stream=ends and len(body) <= window)
            body = body[window:]

    def receive(self):
        """Reads what has come; false at the end of the connection."""
        data = self.socket.recv(65536)
        if not data:
            return False
        with self.lock:
            for event in self.h2.receive_data(data):
                self._take(event)
        self.flush()
        return True

    def _take(self, event):
        if isinstance(event, h2.events.RequestReceived):
            stream = self.streams[event.stream_id] = Stream(event.stream_id, list(event.headers))
            self.server.requests.append(stream)
            if self.server.is_early:
                self.server.act(self, stream)
        elif isinstance(event, h2.events.DataReceived):
            self.streams[event.stream_id].body += event.data
            if self.server.takes_bodies:
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            self.streams[event.stream_id].ended = True
            if not self.server.is_early:
                self.server.act(self, self.streams[event.stream_id])
        elif isinstance(event, h2.events.StreamReset):
            self.streams[event.stream_id].reset = event.error_code
        elif isinstance(event, h2.events.ConnectionTerminated):
            self.errors.append(event.error_code)


def echo(connection, stream):
    """Returns the request's path and body."""
    connection.response(stream, fields=[("x-path", stream.get(":path"))], body=stream.body or b"ok")


class H2Server:
    """`act(connection, stream)` is called when a request is complete, or with `is_early` when its head is there."""
    def __init__(self, act=echo, files=None, streams=None, alpn="h2", is_early=False):
        self.act, self.streams, self.takes_bodies, self.is_early = act, streams, True, is_early
        self.requests, self.connections = [], []
        self.context = None
        if files:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(*files)
            self.context.set_alpn_protocols([alpn])
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.address = f"h2://localhost:{self.port}" if files else f"h2c://127.0.0.1:{self.port}"
        accept(self.socket, self._serve)

    def _serve(self, sock):
        try:
            if self.context:
                sock = self.context.wrap_socket(sock, True)
            connection = Connection(sock, self)
            if self.streams is not None:
                values = {h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS: self.streams}
                connection.h2.local_settings = h2.settings.Settings(client=False, initial_values=values)
            connection.h2.initiate_connection()
            self.connections.append(connection)
            connection.flush()
            while connection.receive():
                pass
        except (OSError, h2.exceptions.ProtocolError):
            pass
        finally:
            sock.close()

    def close(self):
        self.socket.close()
        for connection in self.connections:
            try:
                connection.socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
