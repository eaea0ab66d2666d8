# SPDX-License-Identifier: Apache-2.0
"""A trace collector that decodes OTLP over HTTP with the classes of the OpenTelemetry project."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from .processes import eventually
from .raw import Closing

KINDS = {Span.SPAN_KIND_INTERNAL: "internal", Span.SPAN_KIND_SERVER: "server", Span.SPAN_KIND_CLIENT: "client"}


def plain(pairs):
    """Attributes as a dictionary."""
    values = {}
    for pair in pairs:
        assert pair.key not in values, f"{pair.key} is there twice"
        values[pair.key] = getattr(pair.value, pair.value.WhichOneof("value"))
    return values


class Exported:
    """One span, with ids in hexadecimal digits."""
    def __init__(self, span, resource):
        self.trace, self.id, self.parent = span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex()
        self.name, self.kind = span.name, KINDS[span.kind]
        self.began, self.ended = span.start_time_unix_nano, span.end_time_unix_nano
        self.attributes, self.resource = plain(span.attributes), resource
        self.has_failed = span.status.code == Status.STATUS_CODE_ERROR
        self.is_sampled = span.flags & 1 == 1
        self.has_remote_parent = span.flags & 0x200 != 0
        self.fields = {field.name for field, _ in span.ListFields()}

    def __repr__(self):
        return f"<{self.kind} {self.name} {self.id} of {self.parent} in {self.trace}: {self.attributes}>"


class Collector(Closing):
    """Listens on a port and keeps what it receives; `go` lets it respond, with the bytes of `response`."""
    def __init__(self, tls=None):
        self.bodies, self.headers, self.paths, self.response = [], [], [], b""
        self.go = threading.Event()
        self.go.set()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.headers.append(dict(self.headers))
                collector.paths.append(self.path)
                collector.bodies.append(body)
                collector.go.wait(60)
                self.send_response(200)
                self.send_header("Content-Type", "application/x-protobuf")
                self.send_header("Content-Length", str(len(collector.response)))
                self.end_headers()
                self.wfile.write(collector.response)

            def log_message(self, *arguments):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        self.address = f"{'https' if tls else 'http'}://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.05, ), daemon=True).start()

    @property
    def spans(self):
        """All spans so far."""
        found = []
        for body in list(self.bodies):
            request = ExportTraceServiceRequest.FromString(body)
            for resource in request.resource_spans:
                for scope in resource.scope_spans:
                    assert scope.scope.name == "gatehouse"
                    found += [Exported(span, plain(resource.resource.attributes)) for span in scope.spans]
        return found

    def trace(self, path):
        """The spans of the newest trace with a request for a path, that of the request first, once it is exported."""
        def roots():
            return [span for span in self.spans if span.kind == "server" and span.attributes["url.path"] == path]

        root = eventually(roots, f"the span of {path} is exported")[-1]
        return [root, *(span for span in self.spans if span.trace == root.trace and span.id != root.id)]

    def close(self):
        self.go.set()
        self.server.shutdown()
        self.server.server_close()
