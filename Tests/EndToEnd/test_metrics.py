# SPDX-License-Identifier: Apache-2.0
"""What a running gateway exposes, beside what is documented; rules and dashboard with a real Prometheus."""

import json
import re
import socket
import ssl
import subprocess

import pytest
import requests

from support.browser import Browser
from support.gateway import Gateway, oidc, run
from support.processes import REPOSITORY, certificate, eventually, free_port
from support.prometheus import AVAILABLE, RULES, Prometheus
from support.raw import request, tls_context

DOCUMENT = (REPOSITORY / "docs/metrics.md").read_text()
ALERTS = (REPOSITORY / "docs/alerts.md").read_text()
DASHBOARD = json.loads((REPOSITORY / "deploy/grafana/gatehouse.json").read_text())
TESTS = RULES.with_name("gatehouse.rules.test.yml")
OPENMETRICS = "application/openmetrics-text; version=1.0.0, text/plain; q=0.5"

needs_prometheus = pytest.mark.skipif(not AVAILABLE, reason="Prometheus is not installed")


def documented():
    """Each documented name with its help text."""
    rows = re.findall(r"^\| `(\w+)` \|.*\| (.*) \|$", DOCUMENT, re.M)
    assert len(rows) > 60
    return dict(rows)


def exposed(text):
    return set(re.findall(r"^# TYPE (\w+) ", text, re.M))


def names_in(text):
    """The metrics that an expression or a document names, suffixes of histograms left out."""
    found = set(re.findall(r"(?<![\w:])((?:gatehouse|process)_\w+)", text))
    known = documented()
    return {re.sub(r"_(bucket|sum|count)$", "", name) if name not in known else name for name in found}


@pytest.fixture(scope="module")
def metered(tmp_path_factory, provider_server, app):
    """A gateway with one of everything behind it: sign-ins, rejections, failures, TLS."""
    folder = tmp_path_factory.mktemp("metered")
    realm = provider_server.realm("mock")
    realm.reset()
    port = free_port()
    chain, key = certificate(folder, "gate", "gate.localhost")
    apps = {
        "echo": {"path": "/", "upstream": app.address, "allow": "signed_in", "public": ["/public/"]},
        "staff": {"path": "/staff/", "upstream": app.address, "allow": [{"email_domain": "elsewhere.example"}]},
        "dead": {"path": "/dead/", "upstream": "http://127.0.0.1:9", "public": ["/dead/"], "allow": "signed_in"},
        "two":
            {
                "path": "/two/", "upstream": {"targets": [app.address, "http://127.0.0.1:9"]}, "public": ["/two/"],
                "allow": "signed_in",
            },
    }
    gateway = Gateway(
        folder,
        {"mock": oidc(realm.issuer)},
        apps,
        listeners=[{"address": f"127.0.0.1:{port}", "tls": [{"certificate": chain, "private_key": key}]}],
    )
    gateway.tls_port = port
    with gateway:
        traffic(gateway)
        yield gateway


def traffic(gateway):
    """A scripted run: what the numbers in the tests below come from."""
    for path in ("/public/a", "/public/b", "/dead/x", *["/two/x"] * 4):
        request(gateway.port, path, host=gateway.host)
    request(gateway.port, "/private", host=gateway.host)
    request(gateway.port, "/x", host="unknown.localhost")
    request(gateway.port, "/oauth2/nothing", host=gateway.host)
    with socket.create_connection(("127.0.0.1", gateway.port)) as wire:
        wire.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
        assert wire.recv(100).startswith(b"HTTP/1.1 400")
    with socket.create_connection(("127.0.0.1", gateway.tls_port)) as wire:
        wire.sendall(b"\x16\x03\x01\x00\x05hello")
        wire.recv(100)
    browser = Browser(gateway)
    assert browser.sign_in("mock", "/page").status == 200
    assert browser.visit("/staff/x").status == 403
    browser.sign_out()
    assert Browser(gateway).send("GET", gateway.origin + "/page").status == 303


def test_each_exposed_metric_is_documented_and_the_other_way_round(metered):
    """What is documented is exposed after the scripted run, unless its help text has a condition."""
    schema = run("schema", "--metrics")
    assert schema.returncode == 0 and schema.stdout == DOCUMENT
    known, found = documented(), exposed(metered.operation("/metrics").text)
    assert found - set(known) == set(), "exposed, but not documented"
    missing = {name for name in set(known) - found if "Only when" not in known[name]}
    assert missing == set(), "documented without a condition, but not exposed"


@pytest.mark.parametrize(
    "labels", [
        'app="echo",phase="session",reason="sign_in_required",status="401"',
        'app="echo",phase="session",reason="sign_in_required",status="303"',
        'app="staff",phase="policy",reason="policy.refused",status="403"',
        'app="-",phase="route",reason="route.none",status="404"',
        'app="-",phase="endpoint",reason="endpoint.none",status="404"',
        'app="dead",phase="upstream",reason="upstream.unreachable",status="502"',
    ]
)
def test_each_rejection_is_counted_by_app_phase_reason_and_status(labels, metered):
    """As many as the scripted run has of each."""
    assert metered.metric(f"gatehouse_request_rejections_total{{{labels}}}") == 1


def test_upstreams_sign_ins_and_sessions_are_counted(metered, app):
    samples = metered.metrics()

    def value(name, **labels):
        text = ",".join(f'{key}="{one}"' for key, one in labels.items())
        return samples.get(f"{name}{{{text}}}", 0)

    target = app.address
    assert value("gatehouse_upstream_requests_total", app="echo", target=target, outcome="2xx") == 3
    assert value("gatehouse_upstream_requests_total", app="dead", target="http://127.0.0.1:9", outcome="unreachable") >= 1
    assert value("gatehouse_upstream_duration_seconds_count", app="echo", target=target) == 3
    for phase in ("start", "callback"):
        assert value("gatehouse_sign_in_steps_total", provider="mock", phase=phase, result="ok") >= 1
        assert value("gatehouse_sign_in_duration_seconds_count", provider="mock", phase=phase) >= 1
    for endpoint in ("discovery", "keys", "token"):
        assert value("gatehouse_provider_calls_total", provider="mock", endpoint=endpoint, outcome="2xx") >= 1
    assert value("gatehouse_session_starts_total", provider="mock", kind="sign_in") == 1
    assert value("gatehouse_session_ends_total", reason="sign_out") == 1
    assert value("gatehouse_store_operations_total", operation="insert", result="ok") >= 1
    assert value("gatehouse_provider_up", provider="mock") == 1 and samples["gatehouse_store_up"] == 1


def test_connections_are_counted_by_protocol_and_state(metered):
    """One that is open and idle is counted, and no more when it is closed; one without HTTP is not."""
    name = 'gatehouse_open_connections{protocol="http1",state="idle"}'
    eventually(lambda: metered.metrics()[name] == 0, "the earlier ones are closed")
    with socket.create_connection(("127.0.0.1", metered.port)) as wire:
        wire.sendall(f"GET /public/x HTTP/1.1\r\nHost: {metered.host}\r\n\r\n".encode())
        assert wire.recv(1000).startswith(b"HTTP/1.1 200")
        eventually(lambda: metered.metrics()[name] == 1, "it is idle")
        samples = metered.metrics()
        assert samples['gatehouse_open_connections{protocol="http1",state="active"}'] == 0
        assert samples['gatehouse_open_connections{protocol="http2",state="idle"}'] == 0
    eventually(lambda: metered.metrics()[name] == 0, "it is gone")


def test_a_scrape_is_no_longer_with_many_connections(metered):
    """Nothing in it is by connection: 300 of them change numbers, not lines."""
    before = {name for name in metered.metrics()}
    wires = [socket.create_connection(("127.0.0.1", metered.port)) for _ in range(300)]
    try:
        eventually(lambda: metered.metric("gatehouse_connections") >= 300, "all are open")
        assert {name for name in metered.metrics()} == before
    finally:
        for wire in wires:
            wire.close()


def handshake(port, *options):
    """What OpenSSL's own client does with these options and an empty input."""
    command = ["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-servername", "gate.localhost", *options]
    subprocess.run(command, input=b"", capture_output=True, timeout=10, check=False)


#: Clients that fail, and the reason that is counted.
FAILING = {
    "TLS 1.3, the certificate is not trusted": ("alert", ["-tls1_3", "-verify_return_error"]),
    "TLS 1.2, the certificate is not trusted": ("alert", ["-tls1_2", "-verify_return_error"]),
    "TLS 1.1 at most": ("version", ["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"]),
    "only cipher suites without forward secrecy": ("cipher", ["-tls1_2", "-cipher", "AES128-SHA256"]),
    "only a group that few clients have": ("cipher", ["-tls1_3", "-groups", "ffdhe2048"]),
}


@pytest.mark.parametrize("name", FAILING)
def test_handshakes_that_fail_are_counted_by_their_reason(metered, name):
    """What an operator looks for when a client cannot connect: which side ended it, and why."""
    reason, options = FAILING[name]
    series = f'gatehouse_handshake_failures_total{{reason="{reason}"}}'
    before, all_before = metered.metric(series), metered.metric("gatehouse_handshake_failures_total")
    handshake(metered.tls_port, *options)
    eventually(lambda: metered.metric("gatehouse_handshake_failures_total") == all_before + 1, "it is counted")
    assert metered.metric(series) == before + 1


@pytest.mark.parametrize("sent", [b"", bytes.fromhex("1603010200"), "hello"], ids=["nothing", "a part", "a hello"])
def test_clients_that_close_the_connection_during_the_handshake_are_counted(metered, sent):
    closed = 'gatehouse_handshake_failures_total{reason="closed"}'
    gone = metered.metric(closed)
    with socket.create_connection(("127.0.0.1", metered.tls_port)) as wire:
        wire.sendall(client_hello() if sent == "hello" else sent)
        if sent == "hello":
            assert wire.recv(1), "the server's first message"
    eventually(lambda: metered.metric(closed) == gone + 1, "the closed connection is counted")


def client_hello():
    """The first message of a client of this machine's OpenSSL."""
    received, sent = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = tls_context().wrap_bio(received, sent, server_hostname="gate.localhost")
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return sent.read()


def test_openmetrics_has_exemplars_and_the_text_format_has_none(metered):
    """Which of both is decided by Accept; an exemplar has the id that the client got."""
    plain = metered.operation("/metrics")
    assert plain.headers["content-type"].startswith("text/plain; version=0.0.4") and " # {" not in plain.text
    response = requests.get(
        f"http://127.0.0.1:{metered.operations}/metrics", headers={"Accept": OPENMETRICS}, timeout=5
    )
    assert response.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    lines = response.text.splitlines()
    assert lines[-1] == "# EOF" and response.text.endswith("\n")
    counters = [line.split()[2] for line in lines if line.endswith(" counter")]
    assert counters and not any(name.endswith("_total") for name in counters)
    assert any(line.startswith("gatehouse_requests_created{") for line in lines)
    exemplars = [line for line in lines if " # {" in line]
    assert exemplars and all(re.search(r'_bucket\{.*\} \d+ # \{request_id="[0-9a-f]{32}"\} [0-9.e-]+$', line) for line in exemplars)
    assert "# UNIT gatehouse_request_duration_seconds seconds" in lines


def test_no_label_has_anything_of_a_user_or_a_request(metered):
    """Label values come from the file and from fixed lists."""
    # Hexadecimal digits may be any word of the letters to f: the hash of the file, the commit.
    text = re.sub(r'[+"][0-9a-f]{7,}"', '"', metered.operation("/metrics").text)
    for word in ("ada", "/page", "unknown.localhost", "client secret", "127.0.0.1:" + str(metered.port) + "/"):
        assert word not in text, word


# Rules and dashboard


def test_rules_and_dashboard_name_only_documented_metrics():
    for text in (RULES.read_text(), json.dumps(DASHBOARD), ALERTS):
        assert names_in(text) - set(documented()) == set()


def test_each_alert_has_a_test_and_an_entry_in_the_run_book():
    """The annotation names the section; a section without an alert is an error, too."""
    rules = RULES.read_text()
    alerts = re.findall(r"- alert: (\w+)", rules)
    assert re.findall(r"runbook: docs/alerts\.md#(\w+)", rules) == [name.lower() for name in alerts]
    assert re.findall(r"^## (\w+)$", ALERTS, re.M) == sorted(alerts, key=lambda one: ALERTS.find(f"## {one}\n"))
    assert set(re.findall(r"^  - name: (\w+)$", TESTS.read_text(), re.M)) == set(alerts)
    for section in re.split(r"^## ", ALERTS, flags=re.M)[1:]:
        for part in ("**Meaning.**", "**Users see.**", "**Look at.**", "**Do.**"):
            assert section.count(part) == 1, section[:40]
    codes = set(re.findall(r"`((?:signin|gateway|provider|session|openid|route)\.[a-z_]+)`", ALERTS))
    errors = (REPOSITORY / "docs/errors.md").read_text() + (REPOSITORY / "docs/configuration.md").read_text()
    assert {code for code in codes if f"`{code}`" not in errors} == set()


@needs_prometheus
def test_the_rules_fire_where_they_should():
    result = subprocess.run(["promtool", "test", "rules", str(TESTS)], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    result = subprocess.run(["promtool", "check", "rules", str(RULES)], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.fixture(scope="module")
def prometheus(metered, tmp_path_factory):
    with Prometheus(tmp_path_factory.mktemp("prometheus"), metered) as server:
        yield server


def queries():
    """Title and expression of each query of the dashboard, with its variables filled in."""
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", []):
            text = target["expr"].replace("$job", ".+").replace("$instance", ".+").replace("$__rate_interval", "5s")
            yield panel["title"], text


@needs_prometheus
def test_each_query_of_the_dashboard_returns_something(metered, prometheus):
    """From a real Prometheus: where the gateway exposes the metrics of a query, the query has a result."""
    eventually(lambda: prometheus.query("gatehouse_build_info"), "it is scraped")
    traffic(metered)
    found = exposed(metered.operation("/metrics").text)
    known = documented()
    checked = 0
    for title, text in queries():
        absent = names_in(text) - found
        assert all("Only when" in known[name] for name in absent), (title, absent)
        if absent:
            assert prometheus.query(text) == [], title
            continue
        eventually(lambda: prometheus.query(text), f"{title}: {text}", 8)
        checked += 1
    assert checked > 35


@needs_prometheus
def test_no_alert_fires_for_a_gateway_that_is_well(prometheus):
    """The rules are loaded and evaluated without an error."""
    groups = prometheus.get("/api/v1/rules").json()["data"]["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    eventually(
        lambda: all(
            rule["health"] == "ok" for group in prometheus.get("/api/v1/rules").json()["data"]["groups"]
            for rule in group["rules"]
        ), "all are evaluated", 10
    )
    assert len(rules) > 20
    firing = {one["labels"]["alertname"] for one in prometheus.get("/api/v1/alerts").json()["data"]["alerts"]
              if one["state"] == "firing"}
    assert firing == set()


@needs_prometheus
def test_prometheus_keeps_exemplars(prometheus):
    """It asks for OpenMetrics by itself."""
    eventually(
        lambda: prometheus.get(
            "/api/v1/query_exemplars",
            query="gatehouse_request_duration_seconds_bucket",
            start="2020-01-01T00:00:00Z",
            end="2100-01-01T00:00:00Z",
        ).json()["data"], "there is an exemplar", 10
    )
