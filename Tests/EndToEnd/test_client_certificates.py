# SPDX-License-Identifier: Apache-2.0
"""Certificates of users and devices at the listener: verified on each request, in rules, never from what clients write."""

import base64
import contextlib
import json
import re
import subprocess
from urllib.parse import quote

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa

from support.browser import Browser
from support.chains import CLIENT_AUTH, SERVER_AUTH, Authority, bundle, revocation_list, write
from support.fronts import program
from support.gateway import Gateway, oidc, run
from support.processes import Process, certificate, eventually, free_port, nginx
from support.raw import Wire, request, tls_context
from support.upstream import Upstream

GATE, DEVICE, OTHER = "gate.localhost", "device.localhost", "other.localhost"


class Place:
    """The authorities, the certificates of clients and their files."""
    def __init__(self, folder):
        self.folder = folder
        self.root = Authority("devices")
        self.between = Authority("devices below", parent=self.root)
        self.other = Authority("another")
        self.server = certificate(folder, "server", GATE, DEVICE, OTHER)
        self.list = folder / "devices.crl"
        self.good = self.issue("good", "laptop.devices.localhost")
        self.revoked = self.issue("revoked", "lost.devices.localhost")
        self.write_list(self.revoked)
        self.authorities = bundle(folder, "authorities", self.root)

    def write_list(self, *revoked, **more):
        text = revocation_list(self.root, *revoked, **more) + revocation_list(self.between)
        write(self.list, text)

    def issue(self, name, *names, issuer=None, chain=None, **more):
        """A certificate of a client with its files."""
        usages = more.pop("usages", (CLIENT_AUTH, ))
        leaf = (issuer or self.root).issue(*names, common_name=name, usages=usages, **more)
        leaf.pair = leaf.files(self.folder, name, chain)
        return leaf


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return Place(tmp_path_factory.mktemp("devices"))


@pytest.fixture(scope="module")
def app():
    app = Upstream()
    yield app
    app.close()


def listener(place, **more):
    """A listener with TLS that asks for certificates."""
    settings = {"ca_file": place.authorities, "crl_files": [str(place.list)], "hosts": [DEVICE, GATE], **more}
    settings = {key: value for key, value in settings.items() if value is not None}
    return {
        "address": f"127.0.0.1:{free_port()}", "tls": [{"certificate": place.server[0], "private_key": place.server[1]}],
        "client_certificates": settings,
    }


def port(one):
    return int(one["address"].rpartition(":")[2])


def apps(app, **more):
    whole = {"upstream": app.address, "allow": "signed_in", "public": ["/"]}
    return {"device": {"host": DEVICE, **whole}, "other": {"host": OTHER, **whole}, **more}


RULES = {
    "managed": {"allow": [{"certificate": {"any": True}}]},
    "named": {"allow": [{"certificate": {"issuer": "CN=devices", "san": "dns:*.devices.localhost"}}]},
    "below": {"allow": [{"certificate": {"subject": "*,O=Nowhere"}}]},
    "unmanaged": {"allow": [{"not": {"certificate": {"any": True}}}]},
    "except": {"allow": "signed_in", "deny": [{"certificate": {"subject": "CN=good"}}]},
    "only": {"allow": "signed_in", "deny": [{"not": {"certificate": {"san": "dns:laptop.devices.localhost"}}}]},
    "either": {"allow": [{"any": [{"certificate": {"any": True}}, {"path": "/either/open"}]}]},
}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory, provider_server, app, place):
    """One listener that asks and one that requires."""
    asking, requiring = listener(place), listener(place, mode="require", hosts=[DEVICE])
    rules = {name: {"path": f"/{name}", "upstream": app.address, **rule} for name, rule in RULES.items()}
    gateway = Gateway(
        tmp_path_factory.mktemp("gateway"),
        {"mock": oidc(provider_server.realm("mock").issuer)},
        apps(app, **rules),
        listeners=[asking, requiring],
    )
    gateway.asking, gateway.requiring = port(asking), port(requiring)
    with gateway:
        yield gateway


def curl(port, path="/x", host=DEVICE, client=None, fields=(), more=(), name=None):
    """The status and the body of a request over TLS, with the certificate of a client."""
    command = ["curl", "-sk", "--resolve", f"{name or host}:{port}:127.0.0.1", "-w", "\n%{http_code} %{http_version}"]
    if client:
        command += ["--cert", client.pair[0], "--key", client.pair[1]]
    for field in fields:
        command += ["-H", field]
    if name:
        command += ["-H", f"Host: {host}"]
    result = subprocess.run(
        [*command, *more, f"https://{name or host}:{port}{path}"], capture_output=True, text=True, timeout=20
    )
    body, _, last = result.stdout.rpartition("\n")
    return int(last.split()[0]), body


def code(body):
    return json.loads(body)["error"]


@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
def test_a_good_certificate_is_accepted(gateway, place, app, version):
    before = len(app.requests)
    assert curl(gateway.requiring, f"/good{version}", client=place.good, more=[version])[0] == 200
    assert len(app.requests) == before + 1


@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
def test_no_certificate_is_rejected_where_one_is_required(gateway, app, version):
    before = len(app.requests)
    status, body = curl(gateway.requiring, "/none", more=[version])
    assert (status, code(body)) == (403, "client_certificate.missing")
    assert len(app.requests) == before


def test_a_browser_is_shown_which_certificate_is_needed(gateway):
    status, body = curl(gateway.requiring, fields=["Accept: text/html", "Sec-Fetch-Mode: navigate"])
    assert status == 403 and "A certificate is needed" in body and "CN=devices" in body


def bad(place):
    """Certificates that are not accepted, each with the words of the log."""
    return {
        "expired": (place.issue("expired", valid=(-60, -1)), "has expired"),
        "not yet valid": (place.issue("early", valid=(1, 90)), "is not valid yet"),
        "another authority": (place.issue("foreign", issuer=place.other), "no authority in 'ca_file'"),
        "revoked": (place.revoked, "is revoked"),
        "for servers": (place.issue("server-only", usages=(SERVER_AUTH, )), "is not for clients"),
        "no chain": (place.issue("chainless", issuer=place.between, chain=[]), "no authority in 'ca_file'"),
        "its own": (place.issue("own", issuer=Authority("devices")), "no authority in 'ca_file'"),
    }


@pytest.mark.parametrize("kind", [
    "expired", "not yet valid", "another authority", "revoked", "for servers", "no chain", "its own",
])
@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
def test_a_certificate_that_is_not_verified_is_rejected(gateway, place, app, kind, version):
    client, words = bad(place)[kind]
    before = len(app.requests)
    status, body = curl(gateway.requiring, "/bad", client=client, more=[version])
    assert (status, code(body)) == (403, "client_certificate.rejected")
    assert len(app.requests) == before
    eventually(lambda: words in gateway.log, f"'{words}' in the log")


def test_an_intermediate_authority_that_the_client_sends_is_used(gateway, place):
    client = place.issue("chained", issuer=place.between)
    assert curl(gateway.requiring, client=client)[0] == 200


def test_a_chain_that_is_too_long_is_rejected(gateway, place):
    authority = place.root
    for number in range(6):
        authority = Authority(f"level {number}", parent=authority)
    status, body = curl(gateway.requiring, client=place.issue("deep", issuer=authority))
    assert (status, code(body)) == (403, "client_certificate.rejected")


def test_a_huge_certificate_is_rejected(gateway, place):
    """Up to the limit of TLS it is read and not accepted; above it there is no connection."""
    names = [f"{'x' * 60}{number}.devices.localhost" for number in range(250)]
    status, body = curl(gateway.requiring, client=place.issue("huge", *names))
    assert (status, code(body)) == (403, "client_certificate.rejected")
    huge = place.issue("larger", *[f"{'x' * 60}{number}.devices.localhost" for number in range(2000)])
    assert curl(gateway.requiring, client=huge)[0] == 0
    assert curl(gateway.requiring, client=place.good)[0] == 200


def test_a_connection_for_another_host_is_misdirected(gateway, place, app):
    """S-58: the name in the handshake led to no demand, so that a request for a host with one passes on no such connection."""
    before = len(app.requests)
    for listener in (gateway.asking, gateway.requiring):
        status, body = curl(listener, "/coalesced", host=DEVICE, name=OTHER, client=place.good)
        assert (status, code(body)) == (421, "request.misdirected")
        assert curl(listener, "/direct", host=OTHER)[0] == 200
    context = tls_context()
    with Wire(gateway.requiring, tls=context, server_name=None) as wire:
        wire.send(f"GET /unnamed HTTP/1.1\r\nHost: {DEVICE}\r\n\r\n".encode())
        assert wire.response().status == 421
    assert [one.target for one in app.requests[before:]] == ["/direct", "/direct"]


def test_http_2_streams_for_another_host_are_misdirected(gateway):
    """A browser coalesces hosts of one certificate onto one connection."""
    status, body = curl(gateway.requiring, host=DEVICE, name=OTHER, more=["--http2"])
    assert (status, code(body)) == (421, "request.misdirected")


def s_client(port, client, *arguments, text=""):
    command = [
        "openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-servername", DEVICE, "-cert", client.pair[0], "-key",
        client.pair[1], *arguments,
    ]
    result = subprocess.run(command, input=text, capture_output=True, text=True, timeout=20)
    return result.stdout + result.stderr


def test_there_is_no_renegotiation(gateway, place):
    output = s_client(gateway.requiring, place.good, "-tls1_2", text="R\n")
    assert "RENEGOTIATING" in output
    # The gateway closes the connection; a second handshake would print its chain.
    after = output.partition("RENEGOTIATING")[2]
    assert "unexpected eof" in after and "verify return" not in after, after
    assert curl(gateway.requiring, client=place.good)[0] == 200


def test_the_handshake_names_the_authorities(gateway, place):
    assert "CN = devices" in s_client(gateway.requiring, place.good).partition("Acceptable client certificate CA names")[2][:40]


@pytest.mark.parametrize("version", ["-tls1_2", "-tls1_3"])
def test_no_session_is_resumed(gateway, place, tmp_path, version):
    """A ticket would replace a certificate that has been revoked since."""
    session = tmp_path / "session"
    ask = f"GET /resumed HTTP/1.1\r\nHost: {DEVICE}\r\nConnection: close\r\n\r\n"
    s_client(gateway.requiring, place.good, version, "-ign_eof", "-sess_out", str(session), text=ask)
    assert session.exists()
    output = s_client(gateway.requiring, place.good, version, "-ign_eof", "-sess_in", str(session), text=ask)
    assert "New, TLS" in output and "Reused" not in output


@pytest.fixture
def session(gateway, provider_server):
    """The cookie of a user who has signed in over the plain listener."""
    with provider_server.realm("mock").fresh():
        browser = Browser(gateway)
        browser.sign_in("mock", "/")
        yield f"Cookie: gatehouse={browser.ticket()}"


@pytest.mark.parametrize("issuer, name, status", [
    ("root", "x.devices.localhost", 200), ("between", "x.devices.localhost", 403), ("root", "x.other.localhost", 403),
    ("root", "x.y.devices.localhost", 403),
])
def test_issuer_and_name_have_to_match_both(gateway, place, session, issuer, name, status):
    client = place.issue("both", name, issuer=getattr(place, issuer))
    assert curl(gateway.asking, "/named/x", GATE, client, [session])[0] == status


#: For each rule, what it decides with the good certificate, and without one.
DECISIONS = {
    "managed": (200, 403), "named": (200, 403), "below": (403, 403), "unmanaged": (403, 403), "except": (403, 403),
    "only": (200, 403), "either": (200, 403), "either/open": (200, 200),
}


@pytest.mark.parametrize("path", DECISIONS)
def test_rules_ask_for_a_certificate(gateway, place, session, path):
    with_one, without = DECISIONS[path]
    assert curl(gateway.asking, f"/{path}", GATE, place.good, [session])[0] == with_one
    assert curl(gateway.asking, f"/{path}", GATE, None, [session])[0] == without


@pytest.mark.parametrize("kind", ["expired", "another authority", "revoked", "for servers"])
@pytest.mark.parametrize("path", DECISIONS)
def test_a_certificate_that_is_not_verified_admits_no_user(gateway, place, session, path, kind):
    client, words = bad(place)[kind]
    status, body = curl(gateway.asking, f"/{path}", GATE, client, [session])
    assert status == DECISIONS[path][1]
    if path == "managed":
        assert code(body) == "policy.certificate"
        eventually(lambda: words in gateway.log, f"'{words}' in the log")


def test_a_certificate_signs_no_user_in(gateway, place):
    status, body = curl(gateway.asking, "/managed", GATE, place.good)
    assert (status, code(body)) == (401, "sign_in_required")


def test_a_listener_that_does_not_ask_admits_no_certificate_rule(gateway, session):
    browser = Browser(gateway)
    response = browser.send("GET", "/managed", fields={"Cookie": session.removeprefix("Cookie: "), "Accept": "*/*"})
    assert response.status == 403


def test_a_certificate_that_expires_meanwhile_is_not_accepted_any_more(gateway, place, app):
    """The next request on the same connection is decided again."""
    client = place.issue("brief", valid=(-1, 6 / 86400))
    context = tls_context()
    context.load_cert_chain(*client.pair)
    with Wire(gateway.requiring, tls=context, server_name=DEVICE) as wire:
        def status():
            wire.send(f"GET /brief HTTP/1.1\r\nHost: {DEVICE}\r\n\r\n".encode())
            return wire.response().status

        assert status() == 200
        eventually(lambda: status() == 403, "the certificate has expired")


@pytest.fixture
def own(tmp_path, provider_server, app):
    """A gateway with authorities of its own, whose files a test changes."""
    place = Place(tmp_path)
    one = listener(place, mode="require", hosts=None)
    gateway = Gateway(
        tmp_path / "gateway", {"mock": oidc(provider_server.realm("mock").issuer)}, apps(app), listeners=[one]
    )
    gateway.tls = port(one)
    with gateway:
        yield gateway, place


def test_a_revocation_list_is_read_again_on_open_connections_too(own):
    gateway, place = own
    context = tls_context()
    context.load_cert_chain(*place.good.pair)
    with Wire(gateway.tls, tls=context, server_name=DEVICE) as wire:
        ask = f"GET /reloaded HTTP/1.1\r\nHost: {DEVICE}\r\n\r\n".encode()
        wire.send(ask)
        assert wire.response().status == 200
        place.write_list(place.good)
        reload(gateway)
        wire.send(ask)
        assert wire.response().status == 403


@pytest.mark.parametrize("valid, words", [((-30, -1), "is out of date"), ((1, 30), "is out of date")])
def test_an_expired_revocation_list_admits_no_one(own, valid, words):
    gateway, place = own
    assert curl(gateway.tls, client=place.good)[0] == 200
    place.write_list(valid=valid)
    reload(gateway)
    status, body = curl(gateway.tls, client=place.good)
    assert (status, code(body)) == (403, "client_certificate.rejected")
    eventually(lambda: words in gateway.log, "the reason in the log")


def watched(gateway):
    """The events about revocation lists, the seconds that are left of each issuer's, and what `/status` has."""
    metrics = gateway.metrics()
    place = f'{{listener="127.0.0.1:{gateway.tls}",'
    events = {
        event: metrics[f'gatehouse_listener_certificate_findings{place}finding="revocation_list.{event}"}}']
        for event in ("expiring", "expired")
    }
    left = {
        name: metrics[f'gatehouse_revocation_list_remaining_seconds{place}issuer="CN={name}"}}']
        for name in ("devices", "devices below")
    }
    [listener] = [one for one in gateway.operation("/status").json()["listener_certificates"] if one["revocation_lists"]]
    return events, left, {one["issuer"]: one["days_left"] for one in listener["revocation_lists"]}, listener["findings"]


def test_revocation_lists_are_watched(own):
    """While they are good, once they are late, and once they have expired."""
    gateway, place = own
    days = 86400
    place.write_list(valid=(-1, 20.5))
    reload(gateway)
    events, left, shown, findings = watched(gateway)
    assert events == {"expiring": 0, "expired": 0} and 20 * days < left["devices"] <= 20.5 * days
    assert sorted(shown) == ["CN=devices", "CN=devices below"] and shown["CN=devices"] == 20
    assert "revocation list" not in str(findings)
    for valid, event, severity, bounds in (((-30, 2), "expiring", "warning", (1, 2)), ((-30, -1), "expired", "critical", (-2, -1))):
        place.write_list(valid=valid)
        reload(gateway)
        events, left, _, findings = watched(gateway)
        assert events == {"expiring": 0, "expired": 0, event: 1}
        assert bounds[0] * days <= left["devices"] <= bounds[1] * days and left["devices below"] > 29 * days
        found = [one for one in findings if one["event"] == f"revocation_list.{event}"]
        assert [one["severity"] for one in found] == [severity] and "'CN=devices'" in found[0]["detail"]
        pattern = rf" {severity} listener certificate .*event=revocation_list\.{event} "
        eventually(lambda: re.search(pattern, gateway.log), "the event is logged")


def test_a_revoked_authority_between_admits_no_one(own):
    """The list of the root counts for the authorities in the chain, and not only for the certificates of clients."""
    gateway, place = own
    client = place.issue("below", issuer=place.between)
    assert curl(gateway.tls, client=client)[0] == 200
    place.write_list(place.between)
    reload(gateway)
    status, body = curl(gateway.tls, client=client)
    assert (status, code(body)) == (403, "client_certificate.rejected")
    assert curl(gateway.tls, client=place.good)[0] == 200


def test_a_revocation_list_that_expires_meanwhile_admits_no_one_any_more(own):
    """The next request on the same connection is decided again."""
    gateway, place = own
    place.write_list(valid=(-1, 6 / 86400))
    reload(gateway)
    context = tls_context()
    context.load_cert_chain(*place.good.pair)
    with Wire(gateway.tls, tls=context, server_name=DEVICE) as wire:
        def status():
            wire.send(f"GET /brief HTTP/1.1\r\nHost: {DEVICE}\r\n\r\n".encode())
            return wire.response().status

        assert status() == 200
        eventually(lambda: status() == 403, "the list has expired")


def test_a_list_of_another_key_admits_no_one(own):
    gateway, place = own
    place.write_list(signer=place.other.key)
    reload(gateway)
    assert curl(gateway.tls, client=place.good)[0] == 403


def test_an_authority_without_a_list_admits_no_one(own):
    gateway, place = own
    write(place.list, revocation_list(place.between))
    reload(gateway)
    assert curl(gateway.tls, client=place.good)[0] == 403
    eventually(lambda: "has no revocation list of an authority" in gateway.log, "the reason in the log")


def test_an_unreadable_list_keeps_the_configuration_in_force(own):
    gateway, place = own
    write(place.list, "not a list")
    gateway.process.child.send_signal(1)
    eventually(lambda: "holds no revocation list" in gateway.log, "the reason in the log")
    assert gateway.metric("gatehouse_config_last_reload_success") == 0 and gateway.operation("/status").json()["last_reload_failed"]
    assert watched(gateway)[1]["devices"] > 0
    assert curl(gateway.tls, client=place.good)[0] == 200
    assert curl(gateway.tls, client=place.revoked)[0] == 403


def reload(gateway):
    """Reloads the files, and waits for that."""
    before = gateway.metric("gatehouse_reloads_total")
    gateway.reload()
    eventually(lambda: gateway.metric("gatehouse_reloads_total") > before, "the reload", 20)


def check(tmp_path, place, listeners, apps, **more):
    """The output of `gatehouse check` for a file."""
    gateway = Gateway(tmp_path / "check", {"github": {"type": "github", "client_id": "x", "client_secret": "y"}}, apps)
    gateway.configuration["gateway"]["listeners"] = listeners
    gateway.configuration["gateway"] |= {"public_url": "https://gate.example.com", **more}
    gateway.write()
    result = run("check", "--config", gateway.path)
    return result.returncode, result.stdout + result.stderr


def test_check_finds_a_rule_that_no_listener_can_meet(tmp_path, place):
    rule = {"a": {"path": "/", "upstream": "http://127.0.0.1:9", "allow": [{"certificate": {"any": True}}]}}
    status, output = check(tmp_path, place, [{"address": "127.0.0.1:0"}], rule)
    assert status == 1 and "no listener asks the clients of 'a' for one" in output
    status, output = check(tmp_path, place, [listener(place, hosts=[DEVICE])], rule)
    assert status == 1 and "no listener asks the clients of 'a' for one" in output
    status, output = check(tmp_path, place, [listener(place, hosts=None)], rule)
    assert "no listener asks" not in output


@pytest.mark.parametrize(
    "case", ["missing", "not a list", "leaf", "expired", "foreign list", "old list", "forged list", "delta list"]
)
def test_check_reads_the_files(tmp_path, place, case):
    files = Place(tmp_path)
    more, words = {}, ""
    if case == "missing":
        more, words = {"ca_file": "/nowhere/ca.pem"}, "there is no file '/nowhere/ca.pem'"
    if case == "not a list":
        write(files.list, "x")
        words = "holds no revocation list"
    if case == "leaf":
        more, words = {"ca_file": files.good.pair[0]}, "not of an authority"
    if case == "expired":
        more, words = {"ca_file": Authority("old", valid=(-60, -1)).file(tmp_path), "crl_files": None}, "'CN=old' expired"
    if case == "foreign list":
        write(files.list, revocation_list(files.root) + revocation_list(Authority("stranger")))
        words = "of 'CN=stranger' is of no authority in 'ca_file'"
    if case == "old list":
        files.write_list(valid=(-30, -1))
        words = "expired"
    if case == "delta list":
        files.write_list(files.good, delta=True)
        words = "is a delta list"
    if case == "forged list":
        files.write_list(signer=files.other.key)
        words = "has not signed"
    echo = {"a": {"path": "/", "upstream": "http://127.0.0.1:9", "allow": "signed_in"}}
    status, output = check(tmp_path, place, [listener(files, hosts=None, **more)], echo)
    assert words in output, output
    if case in ("missing", "not a list", "leaf", "forged list", "delta list"):
        assert status == 1


RULED = {"path": "/", "upstream": "http://127.0.0.1:9", "allow": "signed_in"}


@pytest.mark.parametrize(
    "app, words",
    [
        ({"allow": [{"certificate": {"fingerprint": "ab" * 32}}]}, None),
        ({"deny": [{"certificate": {"fingerprint": "ab" * 32}}]}, "'fingerprint' is for entries that admit"),
        ({"allow": [{"not": {"certificate": {"fingerprint": "ab" * 32}}}]}, "'fingerprint' is for entries that admit"),
        ({"deny": [{"not": {"certificate": {"fingerprint": "ab" * 32}}}]}, None),
        ({"allow": [{"certificate": {"subject": "E=ann@example.com"}}]}, "has 'E', which certificates are not printed with"),
        ({"allow": [{"certificate": {"subject": "organizationName=x"}}]}, "has 'ORGANIZATIONNAME'"),
        ({"allow": [{"certificate": {"subject": "emailAddress=ann@example.com"}}]}, None),
        ({"certificate_headers": ["Client-Cert"], "headers": {"Client-Cert": "email"}}, "'certificate_headers' already"),
        (
            {"certificate_headers": ["Client-Cert"], "request_headers": {"set": {"client-cert": "x"}}},
            "'certificate_headers' already"
        ),
    ],
)
def test_check_rejects_what_a_client_could_evade(tmp_path, place, app, words):
    status, output = check(tmp_path, place, [listener(place, hosts=None)], {"a": {**RULED, **app}})
    assert (status, not words or words in output) == (1 if words else 0, True), output


def test_check_warns_of_a_listener_that_does_not_require_for_each_host(tmp_path, place):
    """Both require a certificate, and each only for a host that the other one serves as well."""
    one, other = (listener(place, mode="require", hosts=[host]) for host in ("a.example.com", "b.example.com"))
    apps = {"a": {"host": "a.example.com", **RULED}, "b": {"host": "b.example.com", **RULED}}
    assert "serves the same hosts and does not require" in check(tmp_path, place, [one, other], apps)[1]
    both = [listener(place, mode="require", hosts=["a.example.com", "b.example.com"]) for _ in range(2)]
    assert "serves the same hosts" not in check(tmp_path, place, both, apps)[1]


@pytest.mark.parametrize(
    "name, is_usable",
    [
        ("Origin", False), ("X-Forwarded-For", False), ("Destination", False), ("X_Cert", False), ("Content-Type", False),
        ("X-Gatehouse-Cert", False), ("X-My-Certificate", True),
    ],
)
def test_check_rejects_a_header_with_another_meaning(tmp_path, place, name, is_usable):
    settings = {"ca_file": place.authorities, "header": {"form": "nginx", "name": name}}
    one = {"address": f"127.0.0.1:{free_port()}", "client_certificates": settings}
    status, output = check(tmp_path, place, [one], {"a": RULED}, trusted_proxies=["127.0.0.1"])
    assert (status, "such as X-SSL-Client-Cert" in output) == ((0, False) if is_usable else (1, True)), output


def test_no_list_is_needed_of_the_issuer_of_a_trusted_certificate(tmp_path, provider_server, app):
    """The trusted end of a chain is taken back by its file; a list of its issuer that cannot be used rejects no client."""
    place = Place(tmp_path)
    below = place.issue("below", "below.devices.localhost", issuer=place.between)
    place.authorities = bundle(tmp_path, "both", place.root, place.between)
    write(place.list, revocation_list(place.root, valid=(-30, -1)) + revocation_list(place.between))
    one = listener(place, mode="require", hosts=None)
    gateway = Gateway(tmp_path / "gateway", {"mock": oidc(provider_server.realm("mock").issuer)}, apps(app), listeners=[one])
    with gateway:
        assert curl(port(one), client=below)[0] == 200
        assert curl(port(one), client=place.good)[0] == 403


# Headers for apps, and certificates that a proxy passes on


def pem_in_url(leaf):
    return quote(leaf.pem, safe="")


def forms(leaf):
    """The header of each form with a certificate."""
    one = base64.b64encode(leaf.der).decode()
    digest = leaf.certificate.fingerprint(hashes.SHA256()).hex()
    return {
        "envoy": ("X-Forwarded-Client-Cert", f'Hash={digest};Cert="{pem_in_url(leaf)}";Subject="CN=\\"a;b\\",c";URI='),
        "nginx": ("X-SSL-Client-Cert", pem_in_url(leaf)),
        "haproxy": ("X-SSL-Client-DER", one),
        "traefik": ("X-Forwarded-Tls-Client-Cert", one),
        "apache": ("X-SSL-Client-Cert", leaf.pem.replace("\n", " ")),
        "aws": ("X-Amzn-Mtls-Clientcert", quote(leaf.pem, safe="+=/")),
        "rfc9440": ("Client-Cert", f":{one}:"),
    }


FORMS = ["envoy", "nginx", "haproxy", "traefik", "apache", "aws", "rfc9440"]
SENT = ["X-Forwarded-Client-Cert", "Client-Cert", "Client-Cert-Chain"]


@pytest.fixture(scope="module")
def behind(tmp_path_factory, provider_server, app, place):
    """A gateway whose listeners take certificates from a header, one for each form, and the port of each."""
    folder = tmp_path_factory.mktemp("behind")
    settings = {"ca_file": place.authorities, "crl_files": [str(place.list)], "mode": "require"}
    listeners = {
        form: {"address": f"127.0.0.1:{free_port()}", "client_certificates": {**settings, "header": {"form": form}}}
        for form in FORMS
    }
    whole = {"upstream": app.address, "allow": "signed_in", "public": ["/"]}
    gateway = Gateway(
        folder,
        {"mock": oidc(provider_server.realm("mock").issuer)},
        {"device": {"host": DEVICE, "certificate_headers": SENT, **whole}},
        listeners=list(listeners.values()),
        gateway={"trusted_proxies": ["127.0.0.1"]},
    )
    gateway.ports = {form: port(one) for form, one in listeners.items()}
    with gateway:
        yield gateway


def ask(port, path, *lines, source=None):
    """The status and the code of a request with these lines."""
    text = "".join(f"{name}: {value}\r\n" for name, value in lines)
    with Wire(port, source=source) as wire:
        wire.send(f"GET {path} HTTP/1.1\r\nHost: {DEVICE}\r\n{text}Connection: close\r\n\r\n".encode("latin-1"))
        response = wire.response()
    return response.status, response.json.get("error") if response.status >= 400 else None


@pytest.mark.parametrize("form", FORMS)
def test_a_certificate_from_a_proxy_is_verified(behind, place, app, form):
    path = f"/forwarded-{form}"
    assert ask(behind.ports[form], path, forms(place.good)[form]) == (200, None)
    seen = app.seen(path)[-1]
    assert seen.all("Client-Cert") == [f":{base64.b64encode(place.good.der).decode()}:"]
    assert seen.all("Client-Cert-Chain") == []
    element = seen.all("X-Forwarded-Client-Cert")
    digest = place.good.certificate.fingerprint(hashes.SHA256()).hex()
    assert element == [f'Hash={digest};Cert="{pem_in_url(place.good)}";Subject="CN=good";DNS=laptop.devices.localhost']


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["expired", "not yet valid", "another authority", "revoked", "for servers"])
def test_a_certificate_from_a_proxy_that_is_not_verified_is_rejected(behind, place, app, form, kind):
    before = len(app.requests)
    client, _ = bad(place)[kind]
    assert ask(behind.ports[form], "/bad", forms(client)[form]) == (403, "client_certificate.rejected")
    assert len(app.requests) == before


@pytest.mark.parametrize("form", FORMS)
def test_a_proxy_without_a_certificate_of_its_client_is_rejected(behind, form):
    name, _ = forms_names()[form]
    assert ask(behind.ports[form], "/none") == (403, "client_certificate.missing")
    assert ask(behind.ports[form], "/none", (name, "")) == (403, "client_certificate.missing")


def forms_names():
    """The headers of the forms, without a certificate."""
    class Empty:
        pem, der = "", b""

        class certificate:
            @staticmethod
            def fingerprint(_):
                return b""

    return forms(Empty)


@pytest.mark.parametrize("form", FORMS)
def test_a_header_that_the_client_may_have_sent_is_rejected(behind, place, app, form):
    """Twice, in another form, or in another spelling, alone and beside the proxy's."""
    before = len(app.requests)
    name, value = forms(place.good)[form]
    other = name.replace("-", "_")
    port = behind.ports[form]
    for lines in ([(name, value)] * 2, [(name, "rubbish")]):
        assert ask(port, "/twice", *lines) == (400, "client_certificate.header")
    for lines in ([(name, value), (other, value)], [(other, value)]):
        assert ask(port, "/twice", *lines) == (400, "wire.field_name")
    assert len(app.requests) == before


def test_several_elements_of_envoy_are_rejected(behind, place):
    name, value = forms(place.good)["envoy"]
    assert ask(behind.ports["envoy"], "/two", (name, f"Hash=aa,{value}")) == (400, "client_certificate.header")


def test_a_header_of_another_form_is_not_read(behind, place):
    assert ask(behind.ports["nginx"], "/x", forms(place.good)["haproxy"]) == (403, "client_certificate.missing")


def test_the_header_of_a_peer_that_is_not_trusted_does_not_count(behind, place, app):
    before = len(app.requests)
    for form in FORMS:
        sent = forms(place.good)[form]
        assert ask(behind.ports[form], "/untrusted", sent, source="127.0.0.9") == (403, "client_certificate.missing")
    assert len(app.requests) == before


def test_apps_get_only_what_was_verified(gateway, place, app):
    """What clients write under the names of any product reaches no app."""
    names = {name for name, _ in forms_names().values()} | {
        "X-Client-Cert", "X-SSL-Client-S-DN", "X-SSL-Client-Verify", "ssl-client-cert", "X-ARR-ClientCert", "X-Client-Verify", "X-MTLS-Subject", "X-Client-Subject-DN",
        "Cf-Client-Cert-Der-Base64", "X-Forwarded-Tls-Client-Cert-Info",
    }
    assert curl(gateway.requiring, "/forged", client=place.good, fields=[f"{name}: evil" for name in names])[0] == 200
    assert "evil" not in app.seen("/forged")[-1].head.decode("latin-1")
    for name in ("x_ssl_client_cert", "CLIENT_CERT", "X_Forwarded_Client_Cert", "SSL_CLIENT_S_DN"):
        status, body = curl(gateway.requiring, "/spelled", client=place.good, fields=[f"{name}: evil"], more=["--http1.1"])
        assert (status, code(body)) == (400, "wire.field_name")
    assert not app.seen("/spelled")


@pytest.fixture(scope="module")
def unlisted(tmp_path_factory, provider_server, app, place):
    """The port of a listener that requires a certificate in Traefik's form and has no revocation lists."""
    settings = {"ca_file": place.authorities, "mode": "require", "header": {"form": "traefik"}}
    one = {"address": f"127.0.0.1:{free_port()}", "client_certificates": settings}
    gateway = Gateway(
        tmp_path_factory.mktemp("unlisted"), {"mock": oidc(provider_server.realm("mock").issuer)}, apps(app), listeners=[one],
        gateway={"trusted_proxies": ["127.0.0.1"]},
    )
    with gateway:
        yield port(one)


def joined(*certificates):
    return ("X-Forwarded-Tls-Client-Cert", ",".join(base64.b64encode(one.der).decode() for one in certificates))


@pytest.mark.parametrize("count, status", [(4, 200), (5, 403)])
def test_at_most_four_authorities_are_between(unlisted, place, count, status):
    above = [place.root]
    for number in range(count):
        above.insert(0, Authority(f"between {number}", parent=above[0]))
    leaf = above[0].issue(common_name="deep", usages=(CLIENT_AUTH, ))
    assert ask(unlisted, "/deep", joined(leaf, *above[:-1]))[0] == status


@pytest.mark.parametrize("bits, status", [(2048, 200), (1024, 403)])
def test_a_key_that_is_too_short_is_rejected(unlisted, place, bits, status):
    leaf = place.root.issue(common_name="short", usages=(CLIENT_AUTH, ), key=rsa.generate_private_key(65537, bits))
    assert ask(unlisted, "/short", joined(leaf))[0] == status


def test_an_app_gets_the_chain_of_the_client(tmp_path, provider_server, app, place):
    one = listener(place, hosts=None)
    whole = {"host": DEVICE, "upstream": app.address, "allow": "signed_in", "public": ["/"], "certificate_headers": SENT}
    gateway = Gateway(
        tmp_path, {"mock": oidc(provider_server.realm("mock").issuer)}, {"device": whole}, listeners=[one]
    )
    client = place.issue("chained", issuer=place.between)
    expired, _ = bad(place)["expired"]
    with gateway:
        assert curl(port(one), "/chain", client=client)[0] == 200
        assert curl(port(one), "/unverified", client=expired)[0] == 200
        assert curl(port(one), "/without", fields=["Client-Cert: :ZXZpbA==:"])[0] == 200
    assert app.seen("/chain")[-1].all("Client-Cert-Chain") == [f":{base64.b64encode(place.between.der).decode()}:"]
    for path in ("/unverified", "/without"):
        assert [app.seen(path)[-1].all(name) for name in SENT] == [[], [], []]


@contextlib.contextmanager
def running(process, port):
    """A proxy, to the end of a test."""
    try:
        process.wait_listening(port)
        yield
    finally:
        process.stop()


def test_nginx_passes_the_certificate_of_its_client_on(behind, place, app, tmp_path):
    front = free_port()
    server = nginx(
        tmp_path, "front", f"""server {{
            listen 127.0.0.1:{front} ssl; ssl_certificate {place.server[0]}; ssl_certificate_key {place.server[1]};
            ssl_verify_client optional_no_ca;
            location / {{
                proxy_pass http://127.0.0.1:{behind.ports['nginx']}; proxy_set_header Host $http_host;
                proxy_set_header X-SSL-Client-Cert $ssl_client_escaped_cert;
            }}
        }}"""
    )
    forged = [f"X-SSL-Client-Cert: {pem_in_url(place.good)}"]
    with running(server, front):
        assert curl(front, "/nginx", client=place.good)[0] == 200
        assert app.seen("/nginx")[-1].all("Client-Cert") == [f":{base64.b64encode(place.good.der).decode()}:"]
        for client in (place.revoked, bad(place)["another authority"][0]):
            status, body = curl(front, "/nginx-bad", client=client, fields=forged)
            assert (status, code(body)) == (403, "client_certificate.rejected")
        status, body = curl(front, "/nginx-none", fields=forged)
        assert (status, code(body)) == (403, "client_certificate.missing")


def test_envoy_passes_the_certificate_of_its_client_on(behind, place, app, tmp_path):
    front = free_port()
    manager = {
        "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "front", "forward_client_cert_details": "SANITIZE_SET",
        "set_current_client_cert_details": {"subject": True, "cert": True, "chain": True, "dns": True, "uri": True},
        "http_filters": [{
            "name": "router", "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"},
        }],
        "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [{"match": {"prefix": "/"}, "route": {"cluster": "gate"}}]}]},
    }
    own = {"certificate_chain": {"filename": place.server[0]}, "private_key": {"filename": place.server[1]}}
    # Envoy does not verify: the gateway has to.
    trust = {"trust_chain_verification": "ACCEPT_UNTRUSTED", "trusted_ca": {"filename": place.authorities}}
    tls = {
        "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
        "common_tls_context": {"tls_certificates": [own], "validation_context": trust},
    }
    def address(port):
        return {"socket_address": {"address": "127.0.0.1", "port_value": port}}

    endpoint = {"endpoint": {"address": address(behind.ports["envoy"])}}
    configuration = {
        "static_resources": {
            "listeners": [{
                "address": address(front), "filter_chains": [{
                    "filters": [{"name": "http", "typed_config": manager}],
                    "transport_socket": {"name": "tls", "typed_config": tls},
                }],
            }],
            "clusters": [{
                "name": "gate", "type": "STATIC", "load_assignment": {"cluster_name": "gate", "endpoints": [{"lb_endpoints": [endpoint]}]},
            }],
        },
    }
    file = tmp_path / "envoy.json"
    file.write_text(json.dumps(configuration))
    envoy = Process([program("envoy"), "-c", file, "--concurrency", "1", "--base-id", "47"], tmp_path, "envoy")
    with running(envoy, front):
        name, value = forms(place.good)["envoy"]
        forged = [f"{name}: {value}"]
        assert curl(front, "/envoy", client=place.good, fields=forged)[0] == 200
        assert app.seen("/envoy")[-1].all("Client-Cert") == [f":{base64.b64encode(place.good.der).decode()}:"]
        status, body = curl(front, "/envoy-bad", client=place.revoked, fields=forged)
        assert (status, code(body)) == (403, "client_certificate.rejected")
        status, body = curl(front, "/envoy-none", fields=forged)
        assert (status, code(body)) == (403, "client_certificate.missing")


@pytest.fixture(scope="module")
def asked(tmp_path_factory, provider_server, place):
    """A gateway that a proxy asks, which passes the certificate of its client on in a header."""
    settings = {"ca_file": place.authorities, "crl_files": [str(place.list)], "mode": "require"}
    one = {"address": f"127.0.0.1:{free_port()}", "client_certificates": {**settings, "header": {"form": "nginx"}}}
    gateway = Gateway(
        tmp_path_factory.mktemp("asked"),
        {"mock": oidc(provider_server.realm("mock").issuer)},
        {"device": {"host": DEVICE, "forward_auth": "enforce", "allow": "signed_in"}},
        listeners=[one],
        gateway={"trusted_proxies": ["127.0.0.1"], "forward_auth": {"dialect": "nginx", "from": ["127.0.0.1"]}},
    )
    gateway.asked = port(one)
    with gateway:
        yield gateway


@pytest.mark.parametrize(
    "kind, status, code",
    [
        ("good", 401, None), (None, 403, "client_certificate.missing"), ("revoked", 403, "client_certificate.rejected"),
        ("twice", 403, "client_certificate.header"),
    ],
)
def test_a_proxy_that_asks_passes_the_certificate_of_its_client_on(asked, place, kind, status, code):
    """The header is in the question, and not in the request that the proxy asks about."""
    lines = [("X-Original-Method", "GET"), ("X-Original-URL", f"http://{DEVICE}/page")]
    if kind:
        leaf = place.revoked if kind == "revoked" else place.good
        lines += [forms(leaf)["nginx"]] * (2 if kind == "twice" else 1)
    response = request(asked.asked, "/oauth2/auth", "internal", fields=lines)
    assert response.status == status, response
    assert not code or response.json["error"] == code


def test_a_chain_without_its_certificate_is_the_clients_own(tmp_path, provider_server, place):
    """The proxy sets `Client-Cert`; where that is absent, nothing vouches for `Client-Cert-Chain`."""
    settings = {"ca_file": place.authorities, "header": {"form": "rfc9440"}}
    one = {"address": f"127.0.0.1:{free_port()}", "client_certificates": settings}
    gateway = Gateway(
        tmp_path / "gateway", {"mock": oidc(provider_server.realm("mock").issuer)},
        {"device": {"host": DEVICE, "forward_auth": "enforce", "allow": "signed_in", "public": ["/"]}}, listeners=[one],
        gateway={"trusted_proxies": ["127.0.0.1"], "forward_auth": {"dialect": "nginx", "from": ["127.0.0.1"]}},
    )
    asked = [("X-Original-Method", "GET"), ("X-Original-URL", f"http://{DEVICE}/page")]
    chain, own = ("Client-Cert-Chain", forms(place.good)["rfc9440"][1]), forms(place.good)["rfc9440"]
    with gateway:
        assert request(port(one), "/oauth2/auth", "internal", fields=asked).status == 200
        assert request(port(one), "/oauth2/auth", "internal", fields=[*asked, own, chain]).status == 200
        assert request(port(one), "/oauth2/auth", "internal", fields=[*asked, chain]).json["error"] == "forward_auth.header"
