# SPDX-License-Identifier: Apache-2.0
"""The known mistakes with pins, P-01 to P-15, each against a real TLS server that records what it gets."""

import json

import pytest

from support.browser import Browser
from support.chains import CLIENT_AUTH, EXPIRED, NOT_YET, Authority, bundle
from support.gateway import Gateway, oidc, run
from support.pinned import APPS, asked_by_gateway, check, paired, pinned, reload, sign_in, surveyed
from support.processes import Process, eventually, free_port
from support.tls_servers import OpenSSLServer, RecordingServer, SecureProviderServer

STRANGER = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
MISMATCH = "none of the pins in tls.pins is among the keys that it showed"


class Zoo:
    """A root with an intermediate and a server, and a second root without pins."""
    def __init__(self, folder):
        self.folder = folder
        self.root = Authority("Root A")
        self.between = Authority("Between A", parent=self.root)
        self.leaf = self.between.issue("localhost", "127.0.0.1", "*.gate.localhost")
        self.other = Authority("Root B")
        self.other_leaf = self.other.issue("localhost", "127.0.0.1")
        self.ca = self.root.file(folder)
        self.both = bundle(folder, "both", self.root, self.other)

    def pin(self, match):
        return self.leaf.certificate_pin if match == "certificate" else self.leaf.pin


@pytest.fixture(scope="module")
def zoo(tmp_path_factory):
    return Zoo(tmp_path_factory.mktemp("zoo"))


def document(origin):
    """A sufficient discovery document."""
    metadata = {
        "issuer": origin, "authorization_endpoint": f"{origin}/a", "token_endpoint": f"{origin}/t", "jwks_uri":
            f"{origin}/k", "response_types_supported": ["code"],
    }
    return lambda *request: (200, {"Content-Type": "application/json"}, json.dumps(metadata).encode())


@pytest.fixture
def recorder(zoo, tmp_path):
    """A server with the valid chain."""
    with RecordingServer(*zoo.leaf.files(tmp_path)) as server:
        server.response = document(server.origin)
        yield server


def was_rejected(server):
    """Whether the server was called, and the handshake ended before anything could be sent."""
    return server.connections and not server.handshakes and server.application_bytes == b""


# MARK: P-01, P-10 to P-14: what pins never overrule


@pytest.mark.parametrize("key", ["verify", "verify_peer", "insecure_skip_verify", "verify_host", "skip_verify"])
def test_p_01_no_key_turns_verification_off(key, zoo, tmp_path):
    provider = oidc("https://localhost:1")
    provider["tls"] = {"ca_file": zoo.ca, key: False}
    gateway = Gateway(tmp_path, {"staff": provider}, APPS)
    gateway.write()
    result = run("check", "--config", gateway.path)
    assert result.returncode == 1 and f"unknown key '{key}'" in result.stderr


@pytest.mark.parametrize("mode", ["enforce", "report"])
@pytest.mark.parametrize("match", ["public_key", "certificate", "chain"])
def test_p_01_a_right_pin_does_not_replace_the_authority(match, mode, zoo, recorder, tmp_path):
    ca = zoo.other.file(tmp_path)
    result = check(tmp_path, pinned(recorder.origin, ca, zoo.pin(match), STRANGER, match=match, mode=mode))
    assert result.returncode == 1 and "unknown issuer" in result.stdout
    assert was_rejected(recorder)


@pytest.mark.parametrize("match", ["public_key", "certificate", "chain"])
def test_p_01_a_right_pin_does_not_replace_the_name(match, zoo, tmp_path):
    leaf = zoo.between.issue("elsewhere.test")
    pin = leaf.certificate_pin if match == "certificate" else leaf.pin
    with RecordingServer(*leaf.files(tmp_path)) as server:
        result = check(tmp_path, pinned(server.origin, zoo.ca, pin, STRANGER, match=match))
        assert result.returncode == 1 and "for another host name" in result.stdout
        assert was_rejected(server)


ODDITIES = {
    "P-10 a URI as name": (dict(names=["https://localhost"]), "another host name"),
    "P-10 an e-mail address as name": (dict(names=["x@localhost"]), "another host name"),
    "P-11 not for servers": (dict(names=["localhost"], usages=(CLIENT_AUTH, )), "not meant for servers"),
    "P-12 a wildcard over two labels": (dict(names=["*.gate.localhost"], host="y.x.gate.localhost"), "another host name"),
    "P-13 a NUL in the name": (dict(names=["localhost\0.evil.test"]), "another host name"),
    "P-13 only a common name": (dict(names=[], common_name="localhost"), "another host name"),
    "P-13 a common name beside a URI": (dict(names=["https://a"], common_name="localhost"), "another host name"),
    "P-14 expired": (dict(names=["localhost"], valid=EXPIRED), "has expired"),
    "P-14 not valid yet": (dict(names=["localhost"], valid=NOT_YET), "not valid yet"),
}


@pytest.mark.parametrize("pins", [True, False], ids=["pinned", "unpinned"])
@pytest.mark.parametrize("oddity", ODDITIES)
def test_p_10_to_p_14_invalid_certificates_are_rejected_whatever_the_pins(oddity, pins, zoo, tmp_path):
    making, words = ODDITIES[oddity]
    making = dict(making)
    host = making.pop("host", "localhost")
    leaf = zoo.between.issue(*making.pop("names"), **making)
    with RecordingServer(*leaf.files(tmp_path), host=host) as server:
        provider = oidc(server.origin, tls={"ca_file": zoo.ca})
        result = check(tmp_path, pinned(server.origin, zoo.ca, leaf.pin, STRANGER) if pins else provider)
        assert result.returncode == 1 and words in result.stdout, result.stdout
        assert was_rejected(server)


def test_p_12_a_wildcard_matches_one_label(zoo, tmp_path):
    leaf = zoo.between.issue("*.gate.localhost")
    with RecordingServer(*leaf.files(tmp_path), host="x.gate.localhost") as server:
        server.response = document(server.origin)
        result = check(tmp_path, pinned(server.origin, zoo.ca, leaf.pin, STRANGER))
        assert "pin 1 of 2 matches" in result.stdout, result.stdout


# MARK: P-02: the built chain


def test_p_02_certificates_beside_the_chain_do_not_count(zoo, tmp_path):
    """The server is below another root and sends the pinned certificates as well."""
    padded = zoo.other_leaf.files(tmp_path, chain=[zoo.other, zoo.between, zoo.root])
    with RecordingServer(*padded) as server:
        server.response = document(server.origin)
        pins = (zoo.between.pin, zoo.root.pin)
        result = check(tmp_path, pinned(server.origin, zoo.both, *pins, match="chain"))
        assert result.returncode == 1 and MISMATCH in result.stdout
        assert was_rejected(server)
        control = check(tmp_path, pinned(server.origin, zoo.both, zoo.other.pin, STRANGER, match="chain"))
        assert "pin 1 of 2 matches" in control.stdout, control.stdout


def test_p_02_a_leaf_in_the_place_of_an_authority_does_not_count(zoo, tmp_path):
    """A certificate that may sign nothing makes no chain, pinned or not."""
    middle = Authority("Middle", parent=zoo.root, is_ca=False)
    with RecordingServer(*middle.issue("localhost").files(tmp_path)) as server:
        result = check(tmp_path, pinned(server.origin, zoo.ca, middle.pin, zoo.root.pin, match="chain"))
        assert result.returncode == 1 and "FAIL" in result.stdout
        assert was_rejected(server)


@pytest.mark.parametrize("kind", ["ec", "rsa"])
def test_p_02_each_certificate_of_a_chain_with_two_intermediates_can_be_pinned(kind, zoo, tmp_path):
    upper = Authority("Upper", key=kind, parent=zoo.root)
    lower = Authority("Lower", parent=upper)
    leaf = lower.issue("localhost", key=kind)
    with RecordingServer(*leaf.files(tmp_path)) as server:
        server.response = document(server.origin)
        for certificate in (leaf, lower, upper, zoo.root):
            result = check(tmp_path, pinned(server.origin, zoo.ca, certificate.pin, STRANGER, match="chain"))
            assert "pin 1 of 2 matches" in result.stdout, result.stdout


@pytest.mark.parametrize("trusted", ["old", "new"])
def test_p_02_a_cross_signed_chain_counts_as_it_is_built(trusted, zoo, tmp_path):
    """The same server, verified by the new root or through the old one that has signed the new one's key."""
    new = Authority("Root C")
    leaf = new.issue("localhost")
    crossed = zoo.root.cross_sign(new)
    ca = zoo.ca if trusted == "old" else new.file(tmp_path)
    with RecordingServer(*leaf.files(tmp_path, chain=[crossed])) as server:
        server.response = document(server.origin)
        both = check(tmp_path, pinned(server.origin, ca, STRANGER, new.pin, match="chain"))
        assert "pin 2 of 2 matches" in both.stdout, both.stdout
        old_only = check(tmp_path, pinned(server.origin, ca, zoo.root.pin, STRANGER, match="chain"))
        assert ("pin 1 of 2 matches" in old_only.stdout) == (trusted == "old"), old_only.stdout


# MARK: P-15: nothing is sent before the pin has matched


@pytest.mark.parametrize("version", ["1.2", "1.3"])
@pytest.mark.parametrize("kind", ["ec", "rsa"])
@pytest.mark.parametrize("match", ["public_key", "certificate", "chain"])
def test_p_15_on_a_mismatch_no_byte_is_sent(match, kind, version, zoo, tmp_path):
    leaf = zoo.between.issue("localhost", key=kind)
    wrong = {"public_key": zoo.between.pin, "certificate": leaf.pin, "chain": leaf.certificate_pin}[match]
    right = {"public_key": leaf.pin, "certificate": leaf.certificate_pin, "chain": zoo.between.pin}[match]
    with RecordingServer(*leaf.files(tmp_path), version=version) as server:
        server.response = document(server.origin)
        result = check(tmp_path, pinned(server.origin, zoo.ca, wrong, STRANGER, match=match))
        assert result.returncode == 1 and MISMATCH in result.stdout
        assert was_rejected(server)
        control = check(tmp_path, pinned(server.origin, zoo.ca, right, STRANGER, match=match))
        assert "pin 1 of 2 matches" in control.stdout, control.stdout
        assert b"GET /" in server.application_bytes


@pytest.mark.parametrize("version", ["-tls1_2", "-tls1_3"])
def test_p_15_openssl_as_server_gets_no_byte_either(version, zoo, tmp_path):
    cert, key = zoo.leaf.files(tmp_path, "s")
    server = OpenSSLServer(tmp_path, "s_server", cert, key, version, chain=bundle(tmp_path, "up", zoo.between))
    try:
        result = check(tmp_path, pinned(f"https://localhost:{server.port}", zoo.ca, STRANGER, zoo.root.pin))
        assert result.returncode == 1 and MISMATCH in result.stdout
        assert server.application_bytes == b""
    finally:
        server.stop()


# MARK: P-03: redirects


@pytest.mark.parametrize("path", [".well-known/openid-configuration", "jwks", "token", "userinfo"])
def test_p_03_a_redirect_is_not_followed(path, zoo, tmp_path, provider_server, app):
    with SecureProviderServer(*zoo.leaf.files(tmp_path)) as server, \
            RecordingServer(*zoo.leaf.files(tmp_path, "target")) as target:
        realm = paired(server, provider_server, "redirecting")
        realm.documents = {path: (302, {"Location": target.origin + "/landed"}, b"")}
        # Without an email address in the ID token userinfo is called.
        realm.user = {"sub": "ada"}
        apps = {"app": {"upstream": app.address, "allow": "signed_in"}}
        with Gateway(tmp_path, {"staff": pinned(realm.issuer, zoo.ca, zoo.leaf.pin, STRANGER)}, apps) as gateway:
            page, browser = sign_in(gateway)
            if path == "userinfo":
                # G-10: the ID token has named the user, so the sign-in goes on without claims of userinfo.
                assert page.status == 200 and browser.ticket()
            else:
                assert page.status == 502 and browser.ticket() is None, page.text
                assert "provider.redirected" in page.text
            assert path in asked_by_gateway(realm)
        assert target.connections == []


# MARK: P-04: connections that were made under other pins


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_p_04_after_a_reload_no_earlier_connection_or_session_is_used(version, zoo, tmp_path, provider_server, app):
    with SecureProviderServer(*zoo.leaf.files(tmp_path), version=version) as server:
        realm = paired(server, provider_server, f"warm-{version}")
        apps = {"app": {"upstream": app.address, "allow": "signed_in"}}
        provider = pinned(realm.issuer, zoo.ca, zoo.leaf.pin, STRANGER)
        with Gateway(tmp_path, {"staff": provider}, apps) as gateway:
            for _ in range(3):
                assert sign_in(gateway)[0].status == 200
            before, sent = len(server.connections), len(server.application_bytes)
            provider["tls"]["pins"]["sha256"] = [STRANGER, zoo.root.pin]
            reload(gateway)
            eventually(lambda: all(c.ended.is_set() for c in server.connections[:before]), "old connections are closed")
            page, browser = sign_in(gateway)
            assert page.status == 503 and "provider.pin_mismatch" in page.text and browser.ticket() is None
            assert len(server.connections) > before
            assert all(c.bytes == b"" for c in server.connections[before:])
            assert len(server.application_bytes) == sent
            assert not any(c.resumed for c in server.connections)


def test_p_04_a_sign_in_in_progress_meets_the_new_pins(zoo, tmp_path, provider_server, app):
    """The user is at the provider while the pins change; the code is not sent to another key."""
    with SecureProviderServer(*zoo.leaf.files(tmp_path)) as server:
        realm = paired(server, provider_server, "meanwhile")
        apps = {"app": {"upstream": app.address, "allow": "signed_in"}}
        provider = pinned(realm.issuer, zoo.ca, zoo.leaf.pin, STRANGER)
        with Gateway(tmp_path, {"staff": provider}, apps) as gateway:
            surveyed(gateway, "staff")
            browser = Browser(gateway)
            callback = browser.authorize(browser.begin("staff"))
            provider["tls"]["pins"]["sha256"] = [STRANGER, zoo.root.pin]
            reload(gateway)
            page = browser.visit(callback)
            assert page.status == 503 and "provider.pin_mismatch" in page.text
            assert "token" not in asked_by_gateway(realm)


def test_p_04_a_new_certificate_on_the_server_is_checked_at_the_next_handshake(zoo, tmp_path, provider_server, app):
    """With the server's tickets offered for resumption, the new key is still seen."""
    with SecureProviderServer(*zoo.leaf.files(tmp_path)) as server:
        realm = paired(server, provider_server, "exchanged")
        apps = {"app": {"upstream": app.address, "allow": "signed_in"}}
        with Gateway(tmp_path, {"staff": pinned(realm.issuer, zoo.ca, zoo.leaf.pin, STRANGER)}, apps) as gateway:
            assert sign_in(gateway)[0].status == 200
            server.use(*zoo.leaf.renew(same_key=False).files(tmp_path, "next"), keep_sessions=True)
            server.hang_up()
            before = len(server.connections)
            page, browser = sign_in(gateway)
            assert "provider.pin_mismatch" in page.text and browser.ticket() is None
            assert all(c.bytes == b"" and not c.resumed for c in server.connections[before:])


# MARK: P-05: other hosts of the provider


HOSTS = {
    "one set for all": (dict(), 200, None),
    "a set of its own": (dict(hosts={"127.0.0.1": "leaf"}), 200, None),
    "a wrong set of its own": (dict(hosts={"127.0.0.1": "stranger"}), 503, "provider.pin_mismatch"),
    "only the other host is listed": (dict(hosts={"127.0.0.1": "leaf"}, alone=True), 503, "provider.pin_missing"),
    "only the first host is listed": (dict(hosts={"localhost": "leaf"}, alone=True), 503, "provider.pin_missing"),
    "both are listed": (dict(hosts={"localhost": "leaf", "127.0.0.1": "leaf"}, alone=True), 200, None),
}


@pytest.mark.parametrize("case", HOSTS)
def test_p_05_each_host_has_its_own_set_or_the_common_one(case, zoo, tmp_path, provider_server, app):
    """The token endpoint is on another host than the document."""
    making, status, code = HOSTS[case]
    sets = {"leaf": {"sha256": [zoo.leaf.pin, STRANGER]}, "stranger": {"sha256": [STRANGER, zoo.root.pin]}}
    more = {"hosts": {host: sets[name] for host, name in making["hosts"].items()}} if "hosts" in making else {}
    with SecureProviderServer(*zoo.leaf.files(tmp_path)) as server:
        realm = paired(server, provider_server, "elsewhere")
        realm.metadata["token_endpoint"] = f"https://127.0.0.1:{server.port}/elsewhere/token"
        pins = () if making.get("alone") else (zoo.leaf.pin, STRANGER)
        apps = {"app": {"upstream": app.address, "allow": "signed_in"}}
        with Gateway(tmp_path, {"staff": pinned(realm.issuer, zoo.ca, *pins, **more)}, apps) as gateway:
            page, browser = sign_in(gateway)
            assert page.status == status, page.text
            assert code is None or code in page.text
            assert ("token" in asked_by_gateway(realm)) == (status == 200)
            assert (browser.ticket() is not None) == (status == 200)


# MARK: P-06 to P-08: warnings about pins


def test_p_06_one_pin_on_a_new_key_is_a_warning(zoo, recorder, tmp_path):
    lone = check(tmp_path, pinned(recorder.origin, zoo.ca, zoo.leaf.pin))
    line = [row for row in lone.stdout.splitlines() if " tls " in row][0]
    assert " warn " in line and "there is one pin" in line, line
    pair = check(tmp_path, pinned(recorder.origin, zoo.ca, zoo.leaf.pin, STRANGER))
    assert "there is one pin" not in pair.stdout


@pytest.mark.parametrize(
    "pin, words", [
        ("sha256//" + STRANGER, "without"), ("a" * 64, "hexadecimal"), (STRANGER[:-1], "lacks its one '='"),
        ("-----BEGIN CERTIFICATE-----", "gatehouse pins"), (STRANGER.replace("A=", "B="), "cannot end in 'B'"),
        ("AAAAAAAAAAAAAAAAAAAAAAAAAAA=", "20"),
    ]
)
def test_p_07_a_typing_error_in_a_pin_is_reported_with_its_position(pin, words, zoo, tmp_path):
    gateway = Gateway(tmp_path, {"staff": pinned("https://localhost:1", zoo.ca, pin, zoo.root.pin)}, APPS)
    gateway.write()
    result = run("check", "--config", gateway.path)
    assert result.returncode == 1 and words in result.stderr, result.stderr
    assert f"{gateway.path}:" in result.stderr


def test_p_08_report_mode_is_logged_at_each_start(zoo, tmp_path, provider_server, app):
    with SecureProviderServer(*zoo.leaf.files(tmp_path)) as server:
        realm = paired(server, provider_server, "reported")
        apps = {"app": {"upstream": app.address, "allow": "signed_in"}}
        provider = pinned(realm.issuer, zoo.ca, STRANGER, zoo.root.pin, mode="report")
        with Gateway(tmp_path, {"staff": provider}, apps) as gateway:
            assert sign_in(gateway)[0].status == 200
            (host, ) = surveyed(gateway, "staff")
            assert host["mode"] == "report" and host["mismatched_at"] and not host["refused"]
            place = f'{{provider="staff",host="localhost:{server.port}"'
            assert gateway.metrics()["gatehouse_pin_enforced" + place + "}"] == 0
            assert gateway.metrics()["gatehouse_pin_mismatches_total" + place + ',mode="report"}'] >= 1
            assert gateway.log.count("pins are in mode report") == 1
        with Gateway(tmp_path, {"staff": provider}, apps) as gateway:
            assert gateway.log.count("pins are in mode report") == 2


# MARK: P-09: proxies


@pytest.fixture
def proxy(tmp_path):
    """tinyproxy, and its log."""
    port = free_port()
    conf = tmp_path / "tinyproxy.conf"
    conf.write_text(f"Port {port}\nListen 127.0.0.1\nTimeout 30\nLogLevel Connect\nMaxClients 50\n")
    process = Process(["tinyproxy", "-d", "-c", conf], tmp_path, "tinyproxy")
    process.wait_listening(port)
    process.port = port
    yield process
    process.stop()


def test_p_09_proxy_environment_variables_are_ignored(zoo, recorder, proxy, tmp_path):
    address = f"http://127.0.0.1:{proxy.port}"
    names = ["http_proxy", "https_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"]
    env = {**dict.fromkeys(names, address), "NO_PROXY": "", "no_proxy": ""}
    result = check(tmp_path, pinned(recorder.origin, zoo.ca, zoo.leaf.pin, STRANGER), env)
    assert "pin 1 of 2 matches" in result.stdout
    assert "CONNECT localhost" not in proxy.log


def test_p_09_pins_hold_through_a_configured_proxy(zoo, recorder, proxy, tmp_path):
    good = pinned(recorder.origin, zoo.ca, zoo.leaf.pin, STRANGER)
    good["proxy"] = f"http://127.0.0.1:{proxy.port}"
    assert "pin 1 of 2 matches" in check(tmp_path, good).stdout
    assert f"CONNECT localhost:{recorder.port}" in proxy.log
    sent = recorder.application_bytes
    assert b"GET /" in sent and b"CONNECT" not in sent
    bad = pinned(recorder.origin, zoo.ca, STRANGER, zoo.root.pin)
    bad["proxy"] = good["proxy"]
    result = check(tmp_path, bad)
    assert result.returncode == 1 and MISMATCH in result.stdout
    assert recorder.application_bytes == sent


def test_p_09_a_proxy_that_opens_no_tunnel_is_named(zoo, recorder, proxy, tmp_path):
    provider = pinned(f"https://localhost:{free_port()}", zoo.ca, zoo.leaf.pin, STRANGER)
    provider["proxy"] = f"http://127.0.0.1:{proxy.port}"
    result = check(tmp_path, provider)
    assert result.returncode == 1 and "the proxy responded 5" in result.stdout, result.stdout
