# SPDX-License-Identifier: Apache-2.0
"""The PROXY protocol of balancers, versions 1 and 2."""

import socket
import struct
import subprocess

import pytest

from support.gateway import Gateway, oidc, public_echo
from support.processes import certificate, eventually, free_port
from support.raw import Wire, request, tls_context
from support.upstream import Upstream

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
GET = b"GET /public/seen HTTP/1.1\r\nHost: gate.localhost\r\nConnection: close\r\n\r\n"
V1 = b"PROXY TCP4 198.51.100.7 203.0.113.1 56324 443\r\n"
REFUSED = 'gatehouse_accept_failures_total{reason="proxy_header"}'


def v2(source="198.51.100.7", command=0x21, extensions=b""):
    six = ":" in source
    family = socket.AF_INET6 if six else socket.AF_INET
    addresses = socket.inet_pton(family, source) + socket.inet_pton(family, "2001:db8::9" if six else "203.0.113.1")
    body = addresses + struct.pack("!HH", 56324, 443) + extensions
    return SIGNATURE + bytes([command, 0x21 if six else 0x11]) + struct.pack("!H", len(body)) + body


@pytest.fixture(scope="module")
def own_gateway(tmp_path_factory, provider_server):
    """A gateway with four listeners: plain and TLS behind a balancer, one that trusts another peer, one without."""
    folder = tmp_path_factory.mktemp("balanced")
    app = Upstream()
    apps = public_echo(app)
    cert, key = certificate(folder, "gate", "gate.localhost")
    ports = [free_port() for _ in range(3)]
    near = ["127.0.0.0/8"]
    gateway = Gateway(
        folder,
        {"mock": oidc(provider_server.realm("balanced").issuer)},
        apps,
        gateway={"timeouts": {"handshake": "1s"}, "limits": {"connections_per_client_ip": 3}},
        listeners=[
            {"address": f"127.0.0.1:{ports[0]}", "proxy_protocol": near},
            {
                "address": f"127.0.0.1:{ports[1]}", "proxy_protocol": near, "tls":
                    [{"certificate": cert, "private_key": key}],
            },
            {"address": f"127.0.0.1:{ports[2]}", "proxy_protocol": ["192.0.2.0/24"]},
        ],
    )
    gateway.app = app
    gateway.behind, gateway.behind_tls, gateway.elsewhere = ports
    with gateway:
        yield gateway
    app.close()


def client(response):
    """The client IP that the app got."""
    assert response is not None and response.status == 200, response
    return dict((name.lower(), value) for name, value in response.json["fields"])["x-forwarded-for"]


def ask(port, header, rest=GET):
    with Wire(port) as wire:
        wire.send(header + rest)
        return wire.response()


HEADERS = [
    (V1, "198.51.100.7"), (b"PROXY TCP6 2001:db8::7 2001:db8::9 1 2\r\n", "2001:db8::7"),
    (b"PROXY UNKNOWN\r\n", "127.0.0.1"), (b"PROXY UNKNOWN 1.2.3.4 5.6.7.8 1 2\r\n", "127.0.0.1"),
    (v2(), "198.51.100.7"), (v2("2001:db8::7"), "2001:db8::7"), (v2(command=0x20), "127.0.0.1"),
    (v2(extensions=b"\x04\x01\x00" + b"x" * 256), "198.51.100.7"), (SIGNATURE + b"\x20\x00\x00\x00", "127.0.0.1"),
]


@pytest.mark.parametrize("header,expected", HEADERS)
def test_the_client_of_the_header_is_the_client(header, expected, own_gateway):
    assert client(ask(own_gateway.behind, header)) == expected


@pytest.mark.parametrize("header", [V1, v2("2001:db8::7")], ids=["v1", "v2"])
def test_a_header_may_come_byte_by_byte(header, own_gateway):
    with Wire(own_gateway.behind) as wire:
        for byte in header + GET:
            wire.send(bytes([byte]))
        assert client(wire.response()) == ("198.51.100.7" if header is V1 else "2001:db8::7")


def test_the_header_precedes_the_tls_handshake(own_gateway):
    """The header is outside of TLS."""
    with socket.create_connection(("127.0.0.1", own_gateway.behind_tls), timeout=10) as plain:
        plain.sendall(v2())
        with tls_context().wrap_socket(plain, server_hostname="gate.localhost") as secure:
            secure.sendall(GET)
            data = b""
            while part := secure.recv(65536):
                data += part
    assert b" 200 OK" in data and b'"x-forwarded-for", "198.51.100.7"' in data.lower()


@pytest.mark.parametrize("tls", [False, True])
def test_curl_speaks_it(tls, own_gateway):
    port = own_gateway.behind_tls if tls else own_gateway.behind
    name = f"{'https' if tls else 'http'}://gate.localhost:{port}/public/curl"
    result = subprocess.run(
        ["curl", "-sk", "--haproxy-protocol", "--resolve", f"gate.localhost:{port}:127.0.0.1", name],
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert '"X-Forwarded-For", "127.0.0.1"' in result.stdout, result


@pytest.mark.parametrize(
    "data",
    [
        GET, b"\x16\x03\x01\x02\x00\x01", b"PROXY TCP4 1.2.3.4 5.6.7.8 1\r\n" + GET, b"PROXY TCP4 " + b"1" * 200,
        SIGNATURE + b"\x21\x11\x00\x04" + b"1234" + GET, SIGNATURE + b"\x21\x12\x00\x0c" + b"1" * 12 + GET,
        SIGNATURE + b"\x21\x11\xff\xff" + b"1" * 600,
    ],
    ids=["none", "tls", "short v1", "long v1", "short v2", "udp", "long v2"],
)
def test_a_balancer_that_sends_no_header_gets_no_response(data, own_gateway):
    """Bytes other than a header are not read as a request either."""
    before, seen = own_gateway.metric(REFUSED), len(own_gateway.app.requests)
    with Wire(own_gateway.behind) as wire:
        wire.send(data)
        assert wire.rest() == b""
    eventually(lambda: own_gateway.metric(REFUSED) == before + 1, "it is counted")
    assert len(own_gateway.app.requests) == seen


@pytest.mark.parametrize("start", [b"", V1[:20], v2()[:14]])
def test_a_header_has_the_time_of_a_handshake(start, own_gateway):
    with Wire(own_gateway.behind) as wire:
        wire.send(start)
        assert wire.is_closed(4)


@pytest.mark.parametrize("header", [V1, v2()], ids=["v1", "v2"])
@pytest.mark.parametrize("name", ["port", "elsewhere"])
def test_a_proxy_header_from_another_peer_is_rejected(name, header, own_gateway):
    """From other peers a header is an invalid request."""
    response = ask(getattr(own_gateway, name), header)
    assert response.status == 400
    assert request(getattr(own_gateway, name), "/public/x").status == 200


def test_the_client_ip_of_the_header_is_counted(own_gateway):
    """Connections per client IP: the balancer has no limit, each of its clients has three."""
    wires = []
    try:
        for number in range(12):
            wire = Wire(own_gateway.behind)
            wires.append(wire)
            wire.send(v2(f"198.51.100.{50 + number % 4}"))
            wire.send(GET.replace(b"close", b"keep-alive"))
            assert client(wire.response()) == f"198.51.100.{50 + number % 4}"
        with Wire(own_gateway.behind) as wire:
            wire.send(v2("198.51.100.50") + GET)
            assert wire.rest() == b""
        wires.pop(0).close()

        def again():
            with Wire(own_gateway.behind) as wire:
                wire.send(v2("198.51.100.50") + GET)
                return wire.rest()

        eventually(again, "connections are accepted again")
    finally:
        for wire in wires:
            wire.close()
