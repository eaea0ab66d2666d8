# SPDX-License-Identifier: Apache-2.0
"""gRPC with a session: calls and streams of every kind, large messages, and metadata names with `_`."""

from concurrent import futures

import grpc
import pytest

SERVICE = "corpus.Echo"


class Echo(grpc.GenericRpcHandler):
    """Methods by name; requests and responses are bytes. `seen` is the metadata of each method's last call."""
    def __init__(self):
        self.seen = {}

    def service(self, details):
        name = details.method.rpartition("/")[2]
        self.seen[name] = list(details.invocation_metadata)
        return {
            "One": grpc.unary_unary_rpc_method_handler(self.one),
            "Down": grpc.unary_stream_rpc_method_handler(self.down),
            "Up": grpc.stream_unary_rpc_method_handler(lambda requests, _: b"%d" % sum(map(len, requests))),
            "Both": grpc.stream_stream_rpc_method_handler(lambda requests, _: requests),
            "Fails": grpc.unary_unary_rpc_method_handler(self.fails),
        }.get(name)

    def one(self, request, context):
        context.send_initial_metadata((("x-first", "a b"), ("x-bytes-bin", b"\0\1\2\xff")))
        context.set_trailing_metadata((("x-last", "c"), ("x-last", "d"), ("x-more-bin", bytes(range(256)))))
        return request

    def fails(self, request, context):
        context.set_trailing_metadata((("x-detail-bin", b"\0why"), ))
        context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "näh: 100% \n")

    def down(self, request, context):
        for index in range(int(request)):
            yield b"%d" % index


@pytest.fixture(scope="module")
def echo():
    handler = Echo()
    server = grpc.server(
        futures.ThreadPoolExecutor(8), handlers=(handler, ), options=[("grpc.max_receive_message_length", -1)]
    )
    handler.port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield handler
    server.stop(0)


@pytest.fixture(scope="module")
def front(fronts, echo):
    return fronts("grpc", echo.port, http2=True, scheme="h2c")


def calls(certificate, metadata):
    """All kinds of calls over one channel: what came back of each."""
    def client(url, fields):
        authority = url.partition("://")[2]
        options = [("grpc.max_receive_message_length", -1), ("grpc.enable_retries", 0)]
        if url.startswith("https"):
            channel = grpc.secure_channel(authority, grpc.ssl_channel_credentials(certificate), options)
        else:
            channel = grpc.insecure_channel(authority, options)
        sent = [*((name.lower(), value) for name, value in fields.items()), *metadata]
        with channel:

            def call(method, kind, argument):
                return getattr(channel, kind)(f"/{SERVICE}/{method}", None, None)(argument, timeout=20, metadata=sent)

            one = channel.unary_unary(f"/{SERVICE}/One", None, None)
            response, done = one.with_call(b"m" * 3_000_000, timeout=20, metadata=sent)
            try:
                call("Fails", "unary_unary", b"")
                failure = None
            except grpc.RpcError as error:
                failure = (error.code().name, error.details(), pairs(error.trailing_metadata()))
            return {
                "one": len(response),
                "first": pairs(done.initial_metadata()),
                "last": pairs(done.trailing_metadata()),
                "down": list(call("Down", "unary_stream", b"300")),
                "up": call("Up", "stream_unary", iter([b"x" * 99_999] * 20)),
                "both": list(call("Both", "stream_stream", iter([b"%d" % index for index in range(100)]))),
                "failure": failure,
            }

    return client


def pairs(metadata):
    """What an app sent as metadata, without what the gateway adds to every response."""
    return sorted(tuple(one) for one in metadata if one[0].startswith("x-") and one[0] != "x-request-id")


def test_calls_and_streams(front, provider_server):
    """Metadata in text and bytes, repeated trailers, an error with details, messages beyond a window."""
    certificate = open(provider_server.certificate[0], "rb").read()
    seen = front.both(calls(certificate, [("x-asked-bin", b"\0\xff"), ("x-asked", "1")]))
    assert seen["one"] == 3_000_000 and seen["failure"][0] == "RESOURCE_EXHAUSTED"


def test_y_06_metadata_with_an_underscore(front, echo, provider_server):
    """The call succeeds; the name is dropped on the way, because some apps read `_` as `-`."""
    certificate = open(provider_server.certificate[0], "rb").read()
    front.both(calls(certificate, [("request_id", "7"), ("x-kept", "8")]))
    names = dict(echo.seen["One"])
    assert names["x-kept"] == "8" and "request_id" not in names
