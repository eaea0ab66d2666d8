# SPDX-License-Identifier: Apache-2.0
"""For operators: certificates, plain HTTP beside TLS, the operations listener, loops, modes of files."""

import json
import os
import stat

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from support.chains import CLIENT_AUTH, EXPIRED, NOT_YET, Authority
from support.gateway import Gateway, oidc, run
from support.processes import eventually, free_port
from support.raw import Wire, exchange, request, tls_context
from support.upstream import Upstream

HOSTS = ["gate.test", "wiki.test"]


@pytest.fixture(scope="module")
def authority():
    return Authority("operator")


def settings(folder, certificate, **gateway):
    """A configuration with one TLS listener, for `check`."""
    cert, key = certificate
    tls = {"address": "127.0.0.1:8443", "tls": [{"certificate": cert, "private_key": key}]}
    path = folder / "providers.yaml"
    path.write_text(
        json.dumps(
            {
                "gateway":
                    {
                        "public_url": "https://gate.test:8443", "listeners": [tls], "state": str(folder / "state"),
                        "secret": "${env:TEST_GATEWAY_SECRET}", **gateway,
                    }, "providers": {"mock": oidc("https://id.example.com")}, "apps":
                        {
                            "gate": {"path": "/", "upstream": "http://127.0.0.1:9", "allow": [{"email": "a@example.com"}]},
                            "wiki":
                                {
                                    "host": "wiki.test", "upstream": "http://127.0.0.1:9", "allow":
                                        [{"email": "a@example.com"}],
                                },
                        },
            }
        )
    )
    return path


def check(folder, certificate, **gateway):
    result = run("check", "--config", settings(folder, certificate, **gateway))
    return result.returncode, "usable" in result.stdout, result.stderr


def test_z_01_check_reports_nothing_for_a_valid_certificate(authority, tmp_path):
    assert check(tmp_path, authority.issue(*HOSTS).files(tmp_path)) == (0, True, "")


@pytest.mark.parametrize(
    "valid, words", [(EXPIRED, "expired on"), (NOT_YET, "is not valid before")], ids=["expired", "not yet valid"]
)
def test_z_01_check_rejects_a_certificate_that_is_not_valid_now(authority, tmp_path, valid, words):
    cert, key = authority.issue(*HOSTS, valid=valid).files(tmp_path)
    code, usable, output = check(tmp_path, (cert, key))
    assert (code, usable) == (1, False)
    assert f"error: listener 127.0.0.1:8443: {cert} {words}" in output and output.count("\n") == 1


def test_z_01_check_warns_of_a_certificate_that_expires_soon(authority, tmp_path):
    code, usable, output = check(tmp_path, authority.issue(*HOSTS, valid=(-80, 10)).files(tmp_path))
    assert (code, usable) == (0, True)
    assert "warning: listener 127.0.0.1:8443: " in output and "expires on" in output and output.count("\n") == 1


def test_z_01_check_warns_of_hosts_without_a_certificate(authority, tmp_path):
    code, usable, output = check(tmp_path, authority.issue("gate.test", "other.test").files(tmp_path))
    assert (code, usable) == (0, True)
    assert "no certificate is for wiki.test, so browsers reject the connection" in output and output.count("\n") == 1


def test_z_01_check_warns_of_a_weak_certificate(authority, tmp_path):
    key = rsa.generate_private_key(65537, 1024)
    code, usable, output = check(tmp_path, authority.issue(*HOSTS, key=key, usages=[CLIENT_AUTH]).files(tmp_path))
    assert (code, usable) == (0, True)
    assert "has an RSA key of 1024 bits" in output and "lacks serverAuth" in output and output.count("\n") == 2


def test_z_01_check_rejects_a_key_of_another_certificate(authority, tmp_path):
    cert, _ = authority.issue(*HOSTS).files(tmp_path)
    _, key = authority.issue(*HOSTS).files(tmp_path, "other")
    code, usable, output = check(tmp_path, (cert, key))
    assert (code, usable) == (1, False) and f"the private key {key} does not belong to the certificate {cert}" in output


class Https(Gateway):
    """A gateway that terminates TLS for gate.test and wiki.test, and redirects from a plain port."""
    def __init__(self, folder, provider, certificate):
        self.app = Upstream()
        self.tls_port, self.plain_port = free_port(), free_port()
        cert, key = certificate
        entry = {"upstream": self.app.address, "allow": "signed_in", "public": ["/public/"]}
        super().__init__(
            folder,
            {"mock": oidc(provider.realm("https").issuer)},
            {"gate": {"path": "/", **entry}, "wiki": {"host": "wiki.test", **entry}},
            public_url=f"https://gate.test:{self.tls_port}",
            gateway={"operations_hosts": ["operations.test"]},
            listeners=[
                {"address": f"127.0.0.1:{self.tls_port}", "tls": [{"certificate": cert, "private_key": key}]},
                {"address": f"127.0.0.1:{self.plain_port}", "redirect": "https"},
            ],
        )
        self.configuration["logs"] = {"access": f"{folder}/access.log"}

    def over_tls(self, target, host="gate.test", **more):
        return request(self.tls_port, target, host, tls=tls_context(), server_name=host, **more)


@pytest.fixture(scope="module")
def https(tmp_path_factory, provider_server, authority):
    folder = tmp_path_factory.mktemp("https")
    certificate = authority.issue("gate.test", valid=(-80, 2)).files(folder)
    with Https(folder, provider_server, certificate) as gateway:
        gateway.authority = authority
        yield gateway
    gateway.app.close()


def test_z_01_a_running_gateway_reports_its_certificate_until_it_is_renewed(https):
    place = f'listener="127.0.0.1:{https.tls_port}"'
    name = "gatehouse_listener_certificate_findings"

    def findings():
        return {
            key.split('finding="certificate.')[1][:-2]: value
            for key, value in https.metrics().items()
            if key.startswith(f"{name}{{{place}") and value
        }

    assert findings() == {"expiring": 1, "wrong_host": 1}
    days = https.metric(f"gatehouse_listener_certificate_days_left{{{place}")
    assert 1 <= days <= 2
    lines = [line for line in https.log.splitlines() if " listener certificate " in line]
    assert len(lines) == 2 and " critical " in lines[0] and "event=certificate.expiring" in lines[0]
    assert " warning " in lines[1] and "event=certificate.wrong_host" in lines[1] and "wiki.test" in lines[1]
    listener = next(
        one for one in https.operation("/status").json()["listener_certificates"]
        if one["listener"].endswith(str(https.tls_port))
    )
    assert [one["event"] for one in listener["findings"]] == ["certificate.expiring", "certificate.wrong_host"]
    https.authority.issue(*HOSTS).files(https.folder)
    https.reload()
    eventually(lambda: findings() == {}, "the new certificate is good")
    assert https.metric(f"gatehouse_listener_certificate_days_left{{{place}") > 80
    assert https.log.count(" listener certificate ") == 2, "what was logged today is not logged again"


# V-06: plain HTTP beside TLS


@pytest.mark.parametrize(
    "sent", [
        b"GET / HTTP/1.1\r\nHost: gate.test\r\n\r\n", b"POST /x HTTP/1.1\r\nHost: gate.test\r\nContent-Length: 9\r\n\r\n123456789",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"g",
    ], ids=["get", "post", "http2", "one byte"]
)
def test_v_06_plain_http_on_the_tls_port_gets_a_hint(https, sent):
    counted = 'gatehouse_accept_failures_total{reason="plain_http"}'
    before = https.metric(counted)
    with Wire(https.tls_port) as wire:
        wire.send(sent)
        response = wire.response()
        assert response.status == 400 and response.get("content-type") == "text/html; charset=utf-8"
        assert "This port takes HTTPS only" in response.text and response.get("connection") == "close"
        wire.send(b"more that is never read")
        assert wire.rest() == b""
    assert https.metric(counted) == before + 1


def test_v_06_bytes_that_are_neither_close_the_connection(https):
    assert exchange(https.tls_port, b"\x00\x01\x02\r\n\r\n")[:5] != b"HTTP/"
    assert https.over_tls("/public/x").status == 200


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "DELETE"])
def test_v_06_the_plain_listener_redirects_to_https(https, method):
    body = b"x=1" if method == "POST" else b""
    for host in HOSTS:
        response = request(https.plain_port, "/a%20b/c?d=e&f", f"{host}:{https.plain_port}", method, body=body)
        assert response.status == 308
        assert response.get("location") == f"https://{host}:{https.tls_port}/a%20b/c?d=e&f"
    assert not https.app.seen("/a%20b/c")


def test_the_plain_listener_counts_and_logs_each_request(https):
    counted = {status: f'gatehouse_https_redirects_total{{status="{status}"}}' for status in (308, 404)}
    before = {status: https.metric(name) for status, name in counted.items()}
    sent = [("gate.test", 308), ("evil.test", 404), ("wiki.test", 308)]
    ids = [request(https.plain_port, f"/logged?secret={status}", host).get("x-request-id") for host, status in sent]
    assert {status: https.metric(name) - before[status] for status, name in counted.items()} == {308: 2, 404: 1}
    lines = {}
    for id, (host, status) in zip(ids, sent, strict=True):
        line = eventually(lambda: access_lines(https).get(id), f"the access line of {id}")
        lines[host] = line
        assert (line["status"], line["host"], line["path"]) == (str(status), host, "/logged")
        assert line["decision"] == "endpoint" and line["client"] == "127.0.0.1" and "app" not in line
    assert exchange(https.plain_port, b"GET /bad HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 400 ")
    eventually(lambda: [line for line in access_lines(https).values() if line["decision"] == "rejected"], "the rejected one")


def access_lines(gateway):
    """By the id of the request."""
    lines = [line.split() for line in (gateway.folder / "access.log").read_text().splitlines()]
    read = [dict(part.split("=", 1) for part in line if "=" in part) for line in lines]
    return {line["request"]: line for line in read}


def test_v_06_the_plain_listener_leads_to_hosts_of_the_file_only(https):
    response = request(https.plain_port, "/x", "evil.test")
    assert response.status == 404 and response.get("location") is None
    assert request(https.plain_port, "/public/x", "gate.test").status == 308, "nothing is served there"
    assert exchange(https.plain_port, b"GET /x HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 400 ")
    with Wire(https.plain_port) as wire:
        wire.send(b"POST /x HTTP/1.1\r\nHost: gate.test\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
        assert wire.response().status == 308


#


def test_x_16_responses_of_endpoints_over_tls_have_hsts(https):
    assert https.over_tls("/oauth2/sign_in").get("strict-transport-security") == "max-age=15552000"
    assert https.over_tls("/x", "wiki.test").get("strict-transport-security") == "max-age=15552000"
    assert request(https.port, "/oauth2/sign_in", "gate.test").get("strict-transport-security") is None
    assert request(https.plain_port, "/", "gate.test").get("strict-transport-security") is None


def test_x_16_localhost_has_no_hsts(gateway):
    """It would apply to every other program on the machine."""
    response = request(gateway.tls_port, "/oauth2/sign_in", tls=tls_context(), server_name="gate.localhost")
    assert response.status == 200 and response.get("strict-transport-security") is None


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "[::1]", "10.1.2.3", "localhost", "LOCALHOST:1234", "gate.localhost", "operations.test"]
)
def test_x_16_the_operations_listener_serves_its_hosts(https, host):
    assert request(https.operations, "/ping", host).status == 200


@pytest.mark.parametrize("host", ["rebound.test", "gate.test", "localhost.test", "127.0.0.1.test", "wiki.test:80"])
def test_x_16_the_operations_listener_rejects_any_other_host(https, host):
    """DNS rebinding: the browser sends the host of the page, whatever it resolves to."""
    for path in ("/ping", "/metrics", "/status", "/none"):
        response = request(https.operations, path, host)
        assert response.status == 421 and "operations_hosts" in response.text and "gatehouse_" not in response.text


# Y-14


@pytest.fixture(scope="module")
def looping(tmp_path_factory, provider_server):
    folder = tmp_path_factory.mktemp("looping")
    port = free_port()
    app = Upstream()
    own = f"http://127.0.0.1:{port}"
    apps = {
        "loop": {"path": "/loop/", "upstream": own, "allow": "signed_in", "public": ["/loop/"]},
        "twice":
            {
                "path": "/twice/", "upstream": own, "upstream_host": "second.localhost", "allow": "signed_in", "public":
                    ["/twice/"],
            }, "second": {"host": "second.localhost", "upstream": app.address, "allow": "signed_in", "public": ["/twice/"]},
    }
    gateway = Gateway(folder, {"mock": oidc(provider_server.realm("mock").issuer)}, apps, port=port)
    gateway.app = app
    with gateway:
        yield gateway
    app.close()


def test_y_14_a_request_that_comes_back_is_rejected(looping):
    response = request(looping.port, "/loop/x")
    assert response.status == 508 and response.json["error"] == "upstream.loop"
    requests = looping.metric('gatehouse_requests_total{app="loop"')
    assert requests <= 4, f"{requests} requests for one"
    page = request(looping.port, "/loop/x", fields=[("Accept", "text/html"), ("Sec-Fetch-Mode", "navigate")])
    assert page.status == 508 and "upstream.loop" in page.text


def test_y_14_an_app_may_point_to_another_app_of_the_gateway(looping):
    assert request(looping.port, "/twice/x").status == 200
    seen = looping.app.seen("/twice/x")[-1]
    assert [value for name, value in seen.fields if name.lower() == "cdn-loop"] == [looping.origin[7:]] * 2


def test_y_14_marks_of_proxies_in_front_are_kept(looping):
    marks = [("CDN-Loop", "cloudflare; loops=1, fastly")]
    assert request(looping.port, "/twice/y", "second.localhost", fields=marks).status == 200
    seen = looping.app.seen("/twice/y")[-1]
    assert [value for name, value in seen.fields if name.lower() == "cdn-loop"] == [
        "cloudflare; loops=1, fastly", looping.origin[7:]
    ]
    count = f"{looping.origin[7:]}; a=b, x, {looping.origin[7:]} ,{looping.origin[7:]}"
    assert request(looping.port, "/twice/z", "second.localhost", fields=[("CDN-Loop", count)]).status == 508
    assert not looping.app.seen("/twice/z")


def test_y_14_check_warns_of_an_upstream_that_is_the_gateway(looping):
    result = run("check", "--config", looping.path)
    assert result.returncode == 0
    own = f"'http://127.0.0.1:{looping.port}' is this gateway itself, so requests would loop"
    assert result.stderr.count(own) == 2


#


def test_x_13_check_and_start_warn_of_files_that_others_can_read_or_change(authority, tmp_path):
    cert, key = authority.issue(*HOSTS).files(tmp_path)
    secret, database = tmp_path / "secret", tmp_path / "state/sessions.db"
    secret.write_text("0123456789abcdefghijklmnopqrstuvwxyz\n")
    database.parent.mkdir()
    database.touch()
    ports = f"127.0.0.1:{free_port()}"
    more = {"secret": f"${{file:{secret}}}", "operations": f"127.0.0.1:{free_port()}", "listeners":
            [{"address": ports, "tls": [{"certificate": cert, "private_key": key}]}]}
    for path in (secret, key, database):
        os.chmod(path, 0o600)
    path = settings(tmp_path, (cert, key), **more)
    os.chmod(path, 0o644)
    assert run("check", "--config", path).stderr == ""
    for path_of, mode in ((secret, 0o644), (key, 0o604), (database, 0o644), (path, 0o666)):
        os.chmod(path_of, mode)
    output = run("check", "--config", path).stderr
    assert f"'{secret}' holds a secret and has mode 644, so every user of this host can read it" in output
    assert f"'{key}' holds a private key and has mode 604, so every user of this host can read it" in output
    assert f"the session database '{database}' has mode 644, so users other than its owner have access" in output
    assert f"'{path}' has mode 666, so every user of this host can change who may access which app" in output
    assert output.count("warning: ") == 4
    gateway = Gateway(tmp_path / "gateway", {"mock": oidc("https://id.example.com")}, {
        "a": {"path": "/", "upstream": "http://127.0.0.1:9", "allow": "signed_in"}
    }, gateway={"secret": f"${{file:{secret}}}"}, sessions={"store": f"sqlite:{database}"})
    with gateway:
        eventually(lambda: "holds a secret" in gateway.log and "the session database" in gateway.log, "the lines in the log")
    assert stat.S_IMODE(os.stat(database).st_mode) == 0o644


def test_n_08_a_key_of_another_certificate_is_reported_with_its_line(authority, tmp_path):
    cert, _ = authority.issue(*HOSTS).files(tmp_path, "one")
    _, key = authority.issue(*HOSTS).files(tmp_path, "two")
    path = settings(tmp_path, (cert, key))
    line = next(number for number, text in enumerate(path.read_text().splitlines(), 1) if "private_key" in text)
    result = run("check", "--config", path)
    assert result.returncode == 1 and f"{path}:{line}:" in result.stderr, result.stderr


def test_n_04_a_proxy_that_is_not_trusted_is_named_once_in_the_log(gateway):
    """Its clients share one IP; one without such a field is not named."""
    request(gateway.port, "/oauth2/sign_in")
    for client in ("192.0.2.1", "192.0.2.2"):
        request(gateway.port, "/oauth2/sign_in", fields=[("X-Forwarded-For", client)])
    lines = [line for line in gateway.log.splitlines() if "forwarded client ignored" in line]
    assert len(lines) == 1 and "127.0.0.1" in lines[0] and "gateway.trusted_proxies" in lines[0], lines
