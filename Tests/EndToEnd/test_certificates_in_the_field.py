# SPDX-License-Identifier: Apache-2.0
"""Client certificates with what users and operators have: Chromium with an NSS database, HAProxy, Apache and the bytes of Traefik."""

import base64
import json
import subprocess
from contextlib import contextmanager

import pytest

from support.browser import Browser
from support.chains import CLIENT_AUTH, EXPIRED, Authority
from support.chromium import CHROMIUM, Chromium
from support.gateway import Gateway, oidc
from support.processes import Process, certificate, free_port
from support.raw import Wire
from support.upstream import Upstream

HOST, GATE = "device.localhost", "gate.localhost"
MODULES = "/usr/lib/apache2/modules"
SENT = ["X-Forwarded-Client-Cert", "Client-Cert", "Client-Cert-Chain"]
HEADERS = {"haproxy": "X-SSL-Client-DER", "apache": "X-SSL-Client-Cert", "traefik": "X-Forwarded-Tls-Client-Cert"}


@pytest.fixture(scope="module")
def app():
    app = Upstream()
    yield app
    app.close()


class Place:
    """The authority of the gateway, another one, and certificates of clients of both."""
    def __init__(self, folder):
        self.folder = folder
        self.devices, self.others = Authority("devices"), Authority("another")
        self.authorities = self.devices.file(folder)
        self.server = certificate(folder, "server", HOST)
        self.good = self.issue("good", self.devices)
        self.stranger = self.issue("stranger", self.others)
        self.expired = self.issue("expired", self.devices, valid=EXPIRED)

    def issue(self, name, authority, **more):
        leaf = authority.issue(f"{name}.devices.localhost", common_name=name, usages=(CLIENT_AUTH, ), **more)
        leaf.pair = leaf.files(self.folder, name)
        return leaf


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return Place(tmp_path_factory.mktemp("devices"))


# Proxies that terminate TLS


@pytest.fixture(scope="module")
def behind(tmp_path_factory, provider_server, app, place):
    """A gateway that takes certificates from the header of each of these proxies, on a listener for each."""
    listeners = {
        form: {
            "address": f"127.0.0.1:{free_port()}",
            "client_certificates": {"ca_file": place.authorities, "header": {"form": form}},
        }
        for form in HEADERS
    }
    whole = {"host": HOST, "upstream": app.address, "certificate_headers": SENT}
    apps = {
        "open": {**whole, "allow": "signed_in", "public": ["/"]},
        "managed": {**whole, "host": GATE, "path": "/managed", "allow": [{"certificate": {"san": "dns:good.devices.localhost"}}]},
    }
    gateway = Gateway(
        tmp_path_factory.mktemp("behind"), {"mock": oidc(provider_server.realm("mock").issuer)}, apps,
        listeners=list(listeners.values()), gateway={"trusted_proxies": ["127.0.0.1"]},
    )
    gateway.ports = {form: int(one["address"].rpartition(":")[2]) for form, one in listeners.items()}
    with gateway:
        yield gateway


def haproxy(folder, place, gateway, port):
    """The line of docs/client-certificates.md, and a bind that accepts every certificate: the gateway verifies them."""
    pem = folder / "haproxy.pem"
    pem.touch(0o600)
    pem.write_text("".join(open(file).read() for file in place.server))
    # HAProxy needs authorities to ask for certificates at all; it passes on those that it could not verify.
    verify = f"ca-file {place.authorities} verify optional crt-ignore-err all ca-ignore-err all"
    (folder / "haproxy.cfg").write_text(
        "defaults\n mode http\n timeout connect 5s\n timeout client 20s\n timeout server 20s\n"
        f"frontend front\n bind 127.0.0.1:{port} ssl crt {pem} {verify}\n"
        " http-request set-header X-SSL-Client-DER %[ssl_c_der,base64]\n"
        " http-request set-header X-Forwarded-For %[src]\n default_backend gate\n"
        f"backend gate\n server gate 127.0.0.1:{gateway.ports['haproxy']}\n"
    )
    return Process(["haproxy", "-db", "-f", folder / "haproxy.cfg"], folder, "haproxy")


def apache(folder, place, gateway, port):
    """The line of docs/client-certificates.md."""
    names = ["mpm_event", "authz_core", "socache_shmcb", "ssl", "headers", "proxy", "proxy_http"]
    modules = "".join(f"LoadModule {name}_module {MODULES}/mod_{name}.so\n" for name in names)
    (folder / "apache.conf").write_text(
        f"{modules}ServerName {HOST}\nListen 127.0.0.1:{port}\nPidFile {folder}/apache.pid\nErrorLog {folder}/apache.err\n"
        f"DefaultRuntimeDir {folder}\n"
        f"SSLEngine on\nSSLCertificateFile {place.server[0]}\nSSLCertificateKeyFile {place.server[1]}\n"
        "SSLVerifyClient optional_no_ca\nSSLOptions +ExportCertData\n"
        'RequestHeader set X-SSL-Client-Cert "%{SSL_CLIENT_CERT}s"\nProxyPreserveHost on\n'
        f"ProxyPass / http://127.0.0.1:{gateway.ports['apache']}/\n"
    )
    return Process(["apache2", "-DFOREGROUND", "-f", folder / "apache.conf"], folder, "apache")


PROXIES = {"haproxy": haproxy, "apache": apache}


@pytest.fixture(scope="module", params=PROXIES)
def front(request, tmp_path_factory, place, behind):
    """The form and the port of a real proxy in front of the gateway."""
    port = free_port()
    process = PROXIES[request.param](tmp_path_factory.mktemp(request.param), place, behind, port)
    try:
        process.wait_listening(port)
        yield request.param, port
    finally:
        process.stop()


def curl(port, path, client=None, fields=()):
    """The status and the body of a request through a proxy; no status if it ended the connection."""
    command = ["curl", "-sk", "--http1.1", "--resolve", f"{HOST}:{port}:127.0.0.1", "-w", "\n%{http_code}"]
    if client:
        command += ["--cert", client.pair[0], "--key", client.pair[1]]
    for field in fields:
        command += ["-H", field]
    result = subprocess.run([*command, f"https://{HOST}:{port}{path}"], capture_output=True, text=True, timeout=20)
    body, _, last = result.stdout.rpartition("\n")
    return int(last), body


def value_of(form, leaf):
    """The header with which each of these proxies passes a certificate on."""
    der = base64.b64encode(leaf.der).decode()
    return {"haproxy": der, "traefik": der, "apache": leaf.pem.replace("\n", " ")}[form]


def test_a_proxy_passes_the_certificate_of_its_client_on(front, place, app):
    form, port = front
    assert curl(port, f"/{form}", place.good)[0] == 200
    seen = app.seen(f"/{form}")[-1]
    assert seen.all("Client-Cert") == [f":{base64.b64encode(place.good.der).decode()}:"]
    assert seen.all(HEADERS[form]) == []


def test_rules_decide_by_the_certificate_that_a_proxy_passes_on(front, behind, place, app):
    form, port = front
    browser = Browser(behind)
    assert browser.sign_in("mock", "/oauth2/userinfo").status == 200
    fields = [f"Host: {GATE}", f"Cookie: gatehouse={browser.ticket()}", "Accept: application/json"]
    assert curl(port, f"/managed/{form}", place.good, fields)[0] == 200
    for client in (place.stranger, None):
        forged = f"{HEADERS[form]}: {value_of(form, place.good)}"
        status, body = curl(port, f"/managed/{form}-denied", client, [*fields, forged])
        assert (status, json.loads(body)["error"]) == (403, "policy.certificate")
    assert len(app.seen(f"/managed/{form}")) == 1 and not app.seen(f"/managed/{form}-denied")


@pytest.mark.parametrize("kind", ["stranger", "expired", None])
def test_a_client_that_writes_the_header_of_the_proxy_itself_gets_nothing(front, place, app, kind):
    """With a certificate that is not accepted and without one: what it writes is replaced by the proxy."""
    form, port = front
    client = kind and getattr(place, kind)
    name, value = HEADERS[form], value_of(form, place.good)
    path = f"/forged-{form}-{kind}"
    forged = [f"{name}: {value}", f"Client-Cert: :{value_of('haproxy', place.good)}:"]
    if (form, kind) == ("apache", "expired"):
        # The one error that `optional_no_ca` does not forgive: Apache ends the connection.
        assert curl(port, path, client, forged) == (0, "") and not app.seen(path)
        return
    assert curl(port, path, client, forged)[0] == 200
    seen = app.seen(path)[-1]
    assert [seen.all(header) for header in (*SENT, *HEADERS.values())] == [[]] * 6


def test_two_headers_of_a_client_are_replaced_by_one(front, place, app):
    form, port = front
    name, value = HEADERS[form], value_of(form, place.stranger)
    assert curl(port, f"/twice-{form}", place.good, [f"{name}: {value}", f"{name}: {value}"])[0] == 200
    expected = f":{base64.b64encode(place.good.der).decode()}:"
    assert app.seen(f"/twice-{form}")[-1].all("Client-Cert") == [expected]


def from_traefik(*leaves):
    """What `passTLSClientCert` with `pem: true` writes: PEM of each certificate without its first and last line and ends of lines, joined by commas."""
    def body(leaf):
        return leaf.pem.replace("-----BEGIN CERTIFICATE-----", "").replace("-----END CERTIFICATE-----", "").replace("\n", "")

    return ",".join(body(leaf) for leaf in leaves)


def ask(port, path, *lines):
    text = "".join(f"{name}: {value}\r\n" for name, value in lines)
    with Wire(port) as wire:
        wire.send(f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\n{text}Connection: close\r\n\r\n".encode("latin-1"))
        return wire.response()


def test_the_bytes_of_traefik(behind, place, app):
    """One certificate, a chain, and the certificate before the one of the client, as its client may send them."""
    port, name = behind.ports["traefik"], HEADERS["traefik"]
    between = Authority("devices below", parent=place.devices)
    below = between.issue("below.devices.localhost", common_name="below", usages=(CLIENT_AUTH, ))
    for path, chain in {"/one": [place.good], "/chain": [below, between]}.items():
        assert ask(port, f"{path}-traefik", (name, from_traefik(*chain))).status == 200
        assert app.seen(f"{path}-traefik")[-1].all("Client-Cert") == [f":{base64.b64encode(chain[0].der).decode()}:"]
    for leaves in ([place.stranger, place.good], [place.expired], [below, place.good]):
        assert ask(port, "/not-traefik", (name, from_traefik(*leaves))).status == 200
        assert app.seen("/not-traefik")[-1].all("Client-Cert") == []


# A browser


class Database:
    """An NSS database in the home folder of a browser, with the certificates of clients, and their authority as that of the server."""
    def __init__(self, home, place, *leaves):
        self.folder = home / ".pki/nssdb"
        self.folder.mkdir(parents=True)
        self.call("certutil", "-N", "--empty-password")
        for leaf in leaves:
            p12 = home / "client.p12"
            certificate_file, key = leaf.pair
            subprocess.run(
                ["openssl", "pkcs12", "-export", "-in", certificate_file, "-inkey", key, "-name", "client", "-passout", "pass:x", "-out", p12],
                check=True, capture_output=True,
            )
            self.call("pk12util", "-i", str(p12), "-W", "x", "-K", "")

    def call(self, program, *arguments):
        subprocess.run([program, "-d", f"sql:{self.folder}", *arguments], check=True, capture_output=True, timeout=30)


@pytest.fixture(scope="module")
def listening(tmp_path_factory, provider_server, app, place):
    """A gateway that asks browsers for certificates; its app is for users with one of the authority."""
    port = free_port()
    one = {
        "address": f"127.0.0.1:{port}", "tls": [{"certificate": place.server[0], "private_key": place.server[1]}],
        "client_certificates": {"ca_file": place.authorities},
    }
    rule = {"allow": [{"certificate": {"issuer": "CN=devices", "san": "dns:*.devices.localhost"}}]}
    gateway = Gateway(
        tmp_path_factory.mktemp("listening"), {"mock": oidc(provider_server.realm("browser").issuer)},
        {"device": {"host": HOST, "upstream": app.address, "certificate_headers": SENT, **rule}},
        host=HOST, public_url=f"https://{HOST}:{port}", listeners=[one],
    )
    with gateway:
        yield gateway


@contextmanager
def chromium(folder, gateway, place, leaf=None):
    """A browser whose user has a certificate and has chosen it for the gateway before."""
    home = folder / "home"
    Database(home, place, *([leaf] if leaf else []))
    profile = folder / "profile/Default"
    profile.mkdir(parents=True)
    chosen = {f"{gateway.origin},*": {"setting": {"filters": [{}]}}}
    preferences = {"profile": {"content_settings": {"exceptions": {"auto_select_certificate": chosen}}}}
    (profile / "Preferences").write_text(json.dumps(preferences))
    browser = Chromium(folder, "--ignore-certificate-errors", home=home)
    try:
        yield browser
    finally:
        browser.close()


@pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed")
def test_a_browser_signs_in_with_the_certificate_of_its_database(tmp_path, listening, place, app):
    with chromium(tmp_path, listening, place, place.good) as browser:
        browser.go(f"{listening.origin}/first")
        browser.until("location.pathname == '/first' && !!document.body && document.contentType != ''", "the app is shown")
    seen = app.seen("/first")[-1]
    assert seen.all("Client-Cert") == [f":{base64.b64encode(place.good.der).decode()}:"]
    assert seen.all("X-Forwarded-User") == ["mock:ada"]


@pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed")
@pytest.mark.parametrize("kind", ["stranger", None])
def test_a_browser_without_an_accepted_certificate_is_denied(tmp_path, listening, place, app, kind):
    """With one of another authority, which it is not asked for, and with an empty database."""
    with chromium(tmp_path, listening, place, kind and getattr(place, kind)) as browser:
        browser.go(f"{listening.origin}/denied")
        browser.until("document.body && document.body.innerText.includes('policy.certificate')", "the denial is shown")
    assert app.seen("/denied") == []
