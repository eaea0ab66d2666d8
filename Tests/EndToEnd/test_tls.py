# SPDX-License-Identifier: Apache-2.0
"""TLS listeners, seen by `openssl s_client` and by Python's TLS."""

import socket
import ssl
import subprocess

import pytest

from support.attacks import HOST
from support.gateway import Gateway, oidc, public_echo
from support.processes import certificate, eventually, free_port
from support.raw import Wire, request, tls_context


def s_client(port, *arguments, text=""):
    command = ["openssl", "s_client", "-connect", f"127.0.0.1:{port}", *arguments]
    result = subprocess.run(command, input=text, capture_output=True, text=True, timeout=20)
    return result.stdout + result.stderr


@pytest.mark.parametrize("flag, name", [("-tls1_2", "TLSv1.2"), ("-tls1_3", "TLSv1.3")])
def test_tls_1_2_and_1_3_are_spoken(flag, name, gateway):
    """S-57."""
    output = s_client(gateway.tls_port, flag, "-servername", "gate.localhost")
    assert f"New, {name}" in output or f"Protocol  : {name}" in output, output[-1500:]


@pytest.mark.parametrize("flag", ["-tls1_1", "-tls1"])
def test_older_tls_versions_are_rejected(flag, gateway):
    """S-57."""
    output = s_client(gateway.tls_port, flag, "-cipher", "ALL:@SECLEVEL=0", "-servername", "gate.localhost")
    assert "Cipher is (NONE)" in output or "alert" in output, output[-1500:]


def test_there_is_no_renegotiation(gateway):
    """S-57: a client that asks for a new handshake is not given one."""
    output = s_client(gateway.tls_port, "-tls1_2", "-servername", "gate.localhost", text="R\n")
    assert "RENEGOTIATING" in output
    assert any(word in output for word in ("no renegotiation", "unexpected eof", "error", "wrong version")), output[-1500:]
    assert request(gateway.port, "/public/x").status == 200


def test_there_is_no_early_data(gateway):
    """S-57."""
    output = s_client(gateway.tls_port, "-tls1_3", "-servername", "gate.localhost")
    assert "Max Early Data: 0" in output or "Max Early Data" not in output


@pytest.mark.parametrize(
    "name, shown", [
        ("gate.localhost", "gate.localhost"), ("own.localhost", "own.localhost"), ("OWN.localhost", "own.localhost"),
        ("unknown.localhost", "gate.localhost"), (None, "gate.localhost"),
    ],
)
def test_the_server_name_picks_the_certificate(name, shown, gateway, certificates, tmp_path):
    """S-57 K-12: by name in any case of letters; the first certificate is the default."""
    with socket.create_connection(("127.0.0.1", gateway.tls_port), timeout=10) as plain:
        with tls_context().wrap_socket(plain, server_hostname=name) as wire:
            der = wire.getpeercert(binary_form=True)
    expected = certificates["gate" if shown == "gate.localhost" else "own"][0]
    assert der == ssl.PEM_cert_to_DER_cert(open(expected).read())


def test_a_host_that_the_certificate_does_not_cover_is_misdirected(gateway, app):
    """S-58: name of one site in the handshake, another in the request: 421."""
    before = len(app.requests)
    with Wire(gateway.tls_port, tls=tls_context(), server_name="gate.localhost") as wire:
        wire.send(b"GET /public/s58 HTTP/1.1\r\nHost: own.localhost\r\n\r\n")
        assert wire.response().status == 421
    with Wire(gateway.tls_port, tls=tls_context(), server_name="own.localhost") as wire:
        wire.send(b"GET /public/s58 HTTP/1.1\r\n" + HOST + b"\r\n")
        assert wire.response().status == 421
    assert len(app.requests) == before
    with Wire(gateway.tls_port, tls=tls_context(), server_name="own.localhost") as wire:
        wire.send(b"GET /public/s58 HTTP/1.1\r\nHost: own.localhost\r\n\r\n")
        assert wire.response().status == 200


def test_several_listeners_serve_the_same_apps(gateway, app):
    """Every listener of the file serves requests."""
    assert request(gateway.port, "/public/listener").status == 200
    response = request(gateway.tls_port, "/public/listener", tls=tls_context(), server_name="gate.localhost")
    assert response.status == 200
    assert [one.get("x-forwarded-proto") for one in app.seen("/public/listener")[-2:]] == ["http", "https"]


def test_plain_http_on_a_tls_port_ends_at_once(gateway):
    """S-57: rubbish instead of a handshake ends the connection."""
    with Wire(gateway.tls_port) as wire:
        wire.send(b"GET / HTTP/1.1\r\n" + HOST + b"\r\n")
        assert b"HTTP/1.1 200" not in wire.rest()
    assert request(gateway.port, "/public/x").status == 200


def test_a_hello_in_pieces_picks_the_same_certificate(gateway, certificates):
    """A-94: the name is read from the whole ClientHello, however it is split."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    wire = tls_context().wrap_bio(incoming, outgoing, server_hostname="own.localhost")
    with socket.create_connection(("127.0.0.1", gateway.tls_port), timeout=10) as plain:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while True:
            try:
                wire.do_handshake()
                break
            except ssl.SSLWantReadError:
                for byte in outgoing.read():
                    plain.sendall(bytes([byte]))
                incoming.write(plain.recv(65536))
    assert wire.getpeercert(binary_form=True) == ssl.PEM_cert_to_DER_cert(open(certificates["own"][0]).read())


def test_a_reload_presents_a_new_certificate(tmp_path, provider_server, app):
    """A certificate that was renewed in place is used for the next handshake, and no connection is lost."""
    cert, key = certificate(tmp_path, "one", "gate.localhost")
    port = free_port()
    apps = public_echo(app)
    listener = {"address": f"127.0.0.1:{port}", "tls": [{"certificate": cert, "private_key": key}]}
    providers = {"mock": oidc(provider_server.realm("mock").issuer)}

    def shown():
        return ssl.get_server_certificate(("127.0.0.1", port)).strip()

    with Gateway(tmp_path / "gate", providers, apps, listeners=[listener]) as gateway:
        first = open(cert).read().strip()
        assert shown() == first
        with Wire(port, tls=tls_context(), server_name="gate.localhost") as wire:
            get = b"GET /public/x HTTP/1.1\r\n" + HOST + b"\r\n"
            wire.send(get)
            assert wire.response().status == 200
            certificate(tmp_path, "one", "gate.localhost")
            gateway.reload()
            eventually(lambda: shown() == open(cert).read().strip() != first, "the new certificate is shown")
            wire.send(get)
            assert wire.response().status == 200
