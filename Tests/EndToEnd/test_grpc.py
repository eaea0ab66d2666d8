# SPDX-License-Identifier: Apache-2.0
"""gRPC through the gateway: grpcio as client and as app, HTTP/2 on both sides."""

import threading
import time
from concurrent import futures

import grpc
import pytest

from support.gateway import Gateway, oidc
from support.processes import certificate, eventually, free_port

SERVICE = "test.Echo"


class Echo(grpc.GenericRpcHandler):
    """Methods by name; requests and responses are bytes."""
    def __init__(self):
        self.metadata, self.cancelled, self.remaining = {}, threading.Event(), []

    def service(self, details):
        name = details.method.rpartition("/")[2]
        self.metadata[name] = dict(details.invocation_metadata)
        return {
            "One": grpc.unary_unary_rpc_method_handler(self.one),
            "Fails": grpc.unary_unary_rpc_method_handler(self.fails),
            "Slow": grpc.unary_unary_rpc_method_handler(self.slow),
            "Down": grpc.unary_stream_rpc_method_handler(self.down),
            "Up": grpc.stream_unary_rpc_method_handler(self.up),
            "Both": grpc.stream_stream_rpc_method_handler(self.both),
        }.get(name)

    def one(self, request, context):
        context.set_trailing_metadata((("x-trailer", "kept"), ("x-gatehouse-evil", "1")))
        return request

    def fails(self, request, context):
        context.abort(grpc.StatusCode.FAILED_PRECONDITION, "not now")

    def slow(self, request, context):
        context.add_callback(self.cancelled.set)
        self.remaining.append(context.time_remaining())
        eventually(lambda: not context.is_active(), "the call is cancelled", 15)
        return b""

    def down(self, request, context):
        for index in range(int(request)):
            yield b"%d" % index

    def up(self, requests, context):
        return b"%d" % sum(len(request) for request in requests)

    def both(self, requests, context):
        for request in requests:
            yield request


@pytest.fixture(scope="module")
def echo():
    handler = Echo()
    server = grpc.server(futures.ThreadPoolExecutor(16), handlers=(handler, ))
    handler.port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield handler
    server.stop(0)


@pytest.fixture(scope="module")
def gateway(tmp_path_factory, provider_server, echo):
    folder = tmp_path_factory.mktemp("grpc")
    cert, key = certificate(folder, "gate", "gate.localhost")
    port = free_port()
    app = lambda path, upstream, **more: {"path": path, "upstream": upstream, "allow": "signed_in", **more}
    made = Gateway(
        folder,
        {"mock": oidc(provider_server.realm("mock").issuer)},
        {
            "echo": app("/", f"h2c://127.0.0.1:{echo.port}", public=[f"/{SERVICE}/"]),
            "closed": app("/closed.Echo/", f"h2c://127.0.0.1:{echo.port}"),
            "dead": app("/dead.Echo/", f"h2c://127.0.0.1:{free_port()}", public=["/dead.Echo/"]),
        },
        listeners=[{"address": f"127.0.0.1:{port}", "tls": [{"certificate": cert, "private_key": key}]}],
    )
    made.tls_port, made.root = port, open(cert, "rb").read()
    with made:
        yield made


@pytest.fixture
def channel(gateway):
    options = [("grpc.ssl_target_name_override", "gate.localhost"), ("grpc.default_authority", "gate.localhost"),
               ("grpc.enable_retries", 0)]
    credentials = grpc.ssl_channel_credentials(gateway.root)
    with grpc.secure_channel(f"127.0.0.1:{gateway.tls_port}", credentials, options) as made:
        yield made


def call(channel, method, kind="unary_unary", service=SERVICE):
    return getattr(channel, kind)(f"/{service}/{method}", None, None)


def test_one_message_and_its_trailers(channel, echo):
    """Trailers are kept, ours are dropped, `te` reaches the app."""
    response, done = call(channel, "One").with_call(b"hello", timeout=10)
    assert response == b"hello" and done.code() == grpc.StatusCode.OK
    trailers = dict(done.trailing_metadata())
    assert trailers["x-trailer"] == "kept" and "x-gatehouse-evil" not in trailers
    assert echo.metadata["One"].get("x-forwarded-proto") == "https"


def test_streams_in_every_direction(channel):
    """Server, client and bidirectional streaming; each message passes as it comes."""
    assert list(call(channel, "Down", "unary_stream")(b"500", timeout=20)) == [b"%d" % index for index in range(500)]
    assert call(channel, "Up", "stream_unary")(iter([b"x" * 100_000] * 30), timeout=20) == b"3000000"
    going = threading.Semaphore(1)
    sent = []

    def messages():
        for index in range(20):
            going.acquire()
            sent.append(index)
            yield b"%d" % index

    for index, response in enumerate(call(channel, "Both", "stream_stream")(messages(), timeout=20)):
        assert response == b"%d" % index and len(sent) == index + 1
        going.release()


def test_the_status_of_the_app_is_kept(channel):
    """An error of the app passes unchanged."""
    with pytest.raises(grpc.RpcError) as error:
        call(channel, "Fails")(b"", timeout=10)
    assert error.value.code() == grpc.StatusCode.FAILED_PRECONDITION and error.value.details() == "not now"


def test_an_unknown_method_is_unimplemented(channel):
    with pytest.raises(grpc.RpcError) as error:
        call(channel, "Nothing")(b"", timeout=10)
    assert error.value.code() == grpc.StatusCode.UNIMPLEMENTED


def test_the_deadline_holds_at_the_gateway(channel, echo):
    """`grpc-timeout` is passed on and kept: the call at the app is cancelled."""
    echo.cancelled.clear()
    began = time.monotonic()
    with pytest.raises(grpc.RpcError) as error:
        call(channel, "Slow")(b"", timeout=1.5)
    assert error.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED and time.monotonic() - began < 5
    assert echo.cancelled.wait(10) and 0 < echo.remaining[-1] <= 1.5


def test_a_call_that_is_cancelled_is_cancelled_at_the_app(channel, echo):
    """RST_STREAM CANCEL goes through."""
    echo.cancelled.clear()
    seen = len(echo.remaining)
    going = call(channel, "Slow").future(b"")
    eventually(lambda: len(echo.remaining) > seen, "the call is there")
    going.cancel()
    assert echo.cancelled.wait(10)


def test_an_app_that_is_down_is_unavailable(channel):
    """Gateway errors are trailers-only: 14."""
    with pytest.raises(grpc.RpcError) as error:
        call(channel, "One", service="dead.Echo")(b"", timeout=10)
    assert error.value.code() == grpc.StatusCode.UNAVAILABLE and "502" in error.value.details()


def test_a_client_without_a_session_is_unauthenticated(channel):
    """Gateway errors are trailers-only: 16, no redirect."""
    with pytest.raises(grpc.RpcError) as error:
        call(channel, "One", service="closed.Echo")(b"", timeout=10)
    assert error.value.code() == grpc.StatusCode.UNAUTHENTICATED
