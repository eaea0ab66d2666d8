# SPDX-License-Identifier: Apache-2.0
"""Apps over TLS: certificates, names, pins and time limits of the handshake (P-02, P-04)."""

import socket
import time

import pytest

from support.chains import CLIENT_AUTH, Authority
from support.processes import eventually, free_port, nginx
from support.raw import Wire, request
from support.tls_servers import OpenSSLServer, RecordingServer


@pytest.fixture(scope="module")
def root():
    return Authority("app root")


@pytest.fixture
def secure(tmp_path, root):
    """Makes HTTPS apps that record what comes within TLS."""
    made = []

    def make(leaf, chain=None, **more):
        cert, key = leaf.files(tmp_path, f"server{len(made)}", chain)
        made.append(RecordingServer(cert, key, lambda *request: (200, {}, b"ok"), **more))
        return made[-1]

    yield make
    for server in made:
        server.close()


def https(port, host="localhost", **tls):
    return {"targets": [f"https://{host}:{port}"], "tls": tls}


def test_an_app_over_tls_is_reached(start_gateway, secure, root, tmp_path):
    """`https://` with a private CA; the connection is kept."""
    server = secure(root.issue("localhost"))
    gateway = start_gateway(https(server.port, ca_file=root.file(tmp_path)))
    with Wire(gateway.port) as wire:
        for _ in range(5):
            wire.send(b"GET /x HTTP/1.1\r\nHost: gate.localhost\r\n\r\n")
            assert wire.response().body == b"ok"
    assert len(server.handshakes) == 1


#: Certificates, and the reason in the log for each (N-05).
WRONG = {
    "another authority":
        (lambda root: Authority("another").issue("localhost"), "the authority 'CN=another', which is not trusted; name the file"),
    "another name": (lambda root: root.issue("other.internal"), "is for 'other.internal', not for 'localhost'; write one"),
    "no name": (lambda root: root.issue(common_name="localhost"), "names no host"),
    "expired": (lambda root: root.issue("localhost", valid=(-60, -1)), "its certificate expired at 20"),
    "not yet valid": (lambda root: root.issue("localhost", valid=(1, 90)), "is not valid before 20"),
    "for clients": (lambda root: root.issue("localhost", usages=(CLIENT_AUTH, )), "its certificate is not for servers"),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_app_with_an_invalid_certificate_gets_no_request(name, start_gateway, secure, root, tmp_path):
    """A server without the app's certificate gets no byte of a request, and the client gets a 502."""
    make, reason = WRONG[name]
    server = secure(make(root))
    gateway = start_gateway(https(server.port, ca_file=root.file(tmp_path)))
    assert request(gateway.port, "/secret").status == 502
    eventually(lambda: server.connections, "the app was called")
    assert server.application_bytes == b""
    eventually(lambda: "upstream.untrusted" in gateway.log, "the line in the log")
    lines = [line for line in gateway.log.splitlines() if "upstream.untrusted" in line]
    # N-05: our words, and neither those of the library nor its files.
    assert lines and all(reason in line and "OPENSSL" not in line and ".cc" not in line for line in lines), lines


def test_n_05_an_app_without_tls_is_named_as_such(start_gateway, tmp_path):
    port = free_port()
    server = nginx(tmp_path, "plain", f"server {{ listen 127.0.0.1:{port}; return 200 x; }}")
    server.wait_listening(port)
    gateway = start_gateway(https(port))
    assert request(gateway.port, "/x").status == 502
    server.stop()
    eventually(lambda: "it does not speak TLS at this port; write http:// in 'upstream'" in gateway.log, "the reason")


def test_the_tls_server_name_can_be_configured(start_gateway, secure, root, tmp_path):
    """`server_name` is sent as SNI and verified instead of the host."""
    server = secure(root.issue("app.internal"))
    gateway = start_gateway(https(server.port, "127.0.0.1", ca_file=root.file(tmp_path), server_name="app.internal"))
    assert request(gateway.port, "/x").status == 200


def test_an_ip_address_is_checked_as_one(start_gateway, secure, root, tmp_path):
    """RFC 9110 §4.3.5: a target by IP address needs that address in its certificate."""
    named, numbered = secure(root.issue("localhost")), secure(root.issue("127.0.0.1"))
    ca = root.file(tmp_path)
    gateway = start_gateway(https(named.port, "127.0.0.1", ca_file=ca), other=https(numbered.port, "127.0.0.1", ca_file=ca))
    assert request(gateway.port, "/x").status == 502 and named.application_bytes == b""
    assert request(gateway.port, "/other/x").status == 200


def test_old_tls_is_rejected(start_gateway, root, tmp_path):
    """TLS 1.2 at least."""
    cert, key = root.issue("localhost").files(tmp_path, "old")
    options = ("-tls1_1", "-cipher", "ALL:@SECLEVEL=0", "-www")
    server = OpenSSLServer(tmp_path, "old", cert, key, *options)
    gateway = start_gateway(https(server.port, ca_file=root.file(tmp_path)))
    assert request(gateway.port, "/x").status == 502
    server.stop()


def test_the_gateway_shows_its_certificate(start_gateway, root, tmp_path):
    """nginx that wants a client certificate."""
    cert, key = root.issue("localhost").files(tmp_path, "nginx")
    shown, shown_key = root.issue(common_name="the gateway", usages=(CLIENT_AUTH, )).files(tmp_path, "client")
    ca, port = root.file(tmp_path), free_port()
    server = nginx(
        tmp_path, "mtls", f"server {{ listen 127.0.0.1:{port} ssl; ssl_certificate {cert}; ssl_certificate_key {key};"
        f"ssl_client_certificate {ca}; ssl_verify_client on; location / {{ return 200 $ssl_client_s_dn; }} }}"
    )
    server.wait_listening(port)
    gateway = start_gateway(
        https(port, ca_file=ca, certificate=shown, private_key=shown_key), other=https(port, ca_file=ca)
    )
    assert request(gateway.port, "/x").text == "CN=the gateway"
    assert request(gateway.port, "/other/x").status == 400
    server.stop()


def pins(*hashes, **more):
    return {"sha256": list(hashes), "allow_single_pin": True, **more}


@pytest.mark.parametrize("match", ["public_key", "certificate", "chain"])
def test_a_pinned_app_is_reached(match, start_gateway, secure, root, tmp_path):
    """Pins on the leaf's key, the whole leaf, or any key of the chain that was built."""
    middle = Authority("middle", parent=root)
    leaf = middle.issue("localhost")
    server = secure(leaf)
    right = {"public_key": leaf.pin, "certificate": leaf.certificate_pin, "chain": root.pin}[match]
    gateway = start_gateway(https(server.port, ca_file=root.file(tmp_path), pins=pins(right, match=match)))
    assert request(gateway.port, "/x").status == 200
    assert "pin mismatch" not in gateway.log


def mismatches(root):
    """P-02: certificates beside the chain never count."""
    middle = Authority("middle", parent=root)
    stranger = Authority("stranger").issue("localhost")
    leaf = middle.issue("localhost")
    return {
        "another key": ("public_key", leaf, None, stranger.pin),
        "the issuer's key for the leaf's": ("public_key", leaf, None, middle.pin),
        "another certificate of the same key": ("certificate", leaf, None, leaf.renew().certificate_pin),
        "P-02 a pinned certificate sent as junk": ("chain", leaf, [middle, stranger.issuer], stranger.issuer.pin),
        "P-02 a pinned leaf sent as junk": ("chain", leaf, [middle, stranger], stranger.pin),
    }


@pytest.mark.parametrize("name", mismatches(Authority("names")))
def test_an_app_with_another_key_gets_no_request(name, start_gateway, secure, root, tmp_path):
    """A mismatch is `upstream.pin_mismatch` and zero bytes of application data; report mode only logs it."""
    match, leaf, chain, pin = mismatches(root)[name]
    server = secure(leaf, chain)
    ca = root.file(tmp_path)
    gateway = start_gateway(
        https(server.port, ca_file=ca, pins=pins(pin, match=match)),
        noted=https(server.port, ca_file=ca, pins=pins(pin, match=match, mode="report"))
    )
    for method in ("GET", "POST"):
        assert request(gateway.port, "/secret", method=method).status == 502
    assert server.application_bytes == b"" and len(server.connections) >= 2
    assert "upstream.pin_mismatch" in gateway.log and leaf.pin in gateway.log
    assert request(gateway.port, "/noted/x").status == 200
    samples = gateway.metrics()
    assert [value for name, value in samples.items() if 'pin_mismatches' in name and 'report' in name] == [1]


def test_p_04_other_pins_hold_from_the_next_request_on(start_gateway, secure, root, tmp_path):
    """P-04: a connection that was made under other pins is not used after a reload."""
    leaf = root.issue("localhost")
    server = secure(leaf)
    ca = root.file(tmp_path)
    gateway = start_gateway(https(server.port, ca_file=ca, pins=pins(leaf.pin)))
    with Wire(gateway.port) as wire:
        wire.send(b"GET /x HTTP/1.1\r\nHost: gate.localhost\r\n\r\n")
        assert wire.response().status == 200
        sent = len(server.application_bytes)
        other = https(server.port, ca_file=ca, pins=pins(Authority("another").pin))
        gateway.configuration["apps"]["app"]["upstream"] = other
        gateway.write()
        gateway.reload()
        eventually(lambda: "configuration reloaded" in gateway.log, "the file is read again")
        wire.send(b"GET /secret HTTP/1.1\r\nHost: gate.localhost\r\n\r\n")
        assert wire.response().status == 502
    assert len(server.application_bytes) == sent


def test_a_pin_does_not_replace_the_authority(start_gateway, secure, root, tmp_path):
    """The right key of an untrusted chain is rejected."""
    leaf = Authority("unknown").issue("localhost")
    server = secure(leaf)
    gateway = start_gateway(https(server.port, ca_file=root.file(tmp_path), pins=pins(leaf.pin)))
    assert request(gateway.port, "/x").status == 502
    eventually(lambda: "upstream.untrusted" in gateway.log, "the reason in the log")
    assert server.application_bytes == b""


def test_a_handshake_that_hangs_ends_at_the_connect_timeout(start_gateway, root, tmp_path):
    """`timeouts.connect` counts TLS."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        upstream = https(silent.getsockname()[1], ca_file=root.file(tmp_path))
        gateway = start_gateway({**upstream, "timeouts": {"connect": "1s"}})
        began = time.monotonic()
        assert request(gateway.port, "/x").status == 504
        assert 0.5 < time.monotonic() - began < 4
