# SPDX-License-Identifier: Apache-2.0
"""Traces: spans and their parents at a collector, trace ids for apps, and what happens without a collector."""

import json
import re
import secrets
import ssl

import pytest
import requests

from support.browser import Browser
from support.collector import Collector
from support.gateway import SECRET, Gateway, oidc, run
from support.marks import Marks
from support.processes import REPOSITORY, certificate, eventually, free_port
from support.raw import request
from support.upstream import responds

DOCUMENT = (REPOSITORY / "docs/tracing.md").read_text()
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
KEY = f"collector-key-{secrets.token_hex(8)}"


def traceparent(flags="01", trace=TRACE, parent=PARENT):
    return {"traceparent": f"00-{trace}-{parent}-{flags}"}


def environment(address, **more):
    return {
        "OTEL_EXPORTER_OTLP_ENDPOINT": address, "OTEL_EXPORTER_OTLP_HEADERS": f"api-key={KEY}",
        "OTEL_BSP_SCHEDULE_DELAY": "50", **more,
    }


def traced_gateway(folder, realm, app, collector, **more):
    apps = {
        "echo": {"path": "/", "upstream": app.address, "allow": "signed_in", "public": ["/public/"]},
        "dead": {"path": "/dead/", "upstream": "http://127.0.0.1:9", "allow": "signed_in", "public": ["/dead/"]},
        "detour":
            {
                "path": "/detour/", "upstream": ["http://127.0.0.1:9", app.address], "allow": "signed_in",
                "public": ["/detour/"],
            },
        "alone":
            {
                "path": "/alone/", "upstream": app.address, "allow": "signed_in", "public": ["/alone/"],
                "request_headers": {"remove": ["traceparent"]},
            },
    }
    gateway = Gateway(folder, {"mock": oidc(realm.issuer)}, apps)
    gateway.configuration["logs"] = {"format": "json", "access": str(folder / "access.log")}
    return gateway.start(env=environment(collector, **more))


@pytest.fixture(scope="module")
def collector():
    with Collector() as collector:
        yield collector


@pytest.fixture(scope="module")
def traced(tmp_path_factory, provider_server, recorder, collector):
    gateway = traced_gateway(
        tmp_path_factory.mktemp("traced"), provider_server.realm("mock"), recorder, collector.address,
        OTEL_SERVICE_NAME="front", OTEL_RESOURCE_ATTRIBUTES="deployment.environment.name=test%20run"
    )
    yield gateway
    gateway.leave()


def send(gateway, path, fields=None, **more):
    """One request to a gateway."""
    return request(gateway.port, path, fields=list((fields or {}).items()), **more)


def app_parent(recorder, path):
    """What an app received as `traceparent`: trace, parent and flags."""
    received = recorder.wait_for(path)[-1]
    assert len(received.all("traceparent")) == 1
    return re.fullmatch(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})", received.get("traceparent")).groups()


def access_line(gateway, path):
    """The access line of a path."""
    found = [json.loads(line) for line in (gateway.folder / "access.log").read_text().splitlines() if f'"{path}"' in line]
    return found and found[-1]


def test_a_request_and_the_one_to_the_app_are_spans_of_the_clients_trace(traced, collector, recorder):
    fields = {**traceparent(), "tracestate": "vendor=a:b, other=1"}
    page = send(traced, "/public/one?secret=query", fields)
    root, upstream = collector.trace("/public/one")
    assert (root.trace, root.parent, root.has_remote_parent) == (TRACE, PARENT, True)
    assert (upstream.parent, upstream.kind, upstream.has_remote_parent) == (root.id, "client", False)
    assert app_parent(recorder, "/public/one") == (TRACE, upstream.id, "01")
    assert recorder.seen("/public/one")[-1].all("tracestate") == ["vendor=a:b, other=1"]
    assert root.began <= upstream.began <= upstream.ended <= root.ended
    assert root.name == "GET echo" and upstream.name == "GET"
    assert root.attributes == {
        "http.request.method": "GET", "http.response.status_code": 200, "http.route": "echo", "gatehouse.app": "echo",
        "gatehouse.request": page.get("x-request-id"), "network.protocol.version": "1.1", "server.address": "gate.localhost",
        "url.path": "/public/one", "url.scheme": "http",
    }
    assert upstream.attributes == {
        "http.request.method": "GET", "http.response.status_code": 200, "server.address": "127.0.0.1",
        "server.port": recorder.port, "gatehouse.app": "echo",
    }
    assert root.resource | {"service.name": "front", "deployment.environment.name": "test run"} == root.resource
    assert set(collector.paths) == {"/v1/traces"}
    sent = collector.headers[-1]
    assert (sent["api-key"], sent["Content-Type"]) == (KEY, "application/x-protobuf")
    assert not {span.trace for span in [root, upstream]} - {eventually(lambda: access_line(traced, "/public/one"), "the line")["trace"]}


def test_a_sign_in_has_the_calls_to_the_provider_and_the_store_below_it(traced, collector, realm, recorder):
    browser = Browser(traced)
    assert browser.sign_in("mock", "/page").status == 200
    callback, *children = collector.trace("/oauth2/callback/mock")
    assert (callback.name, callback.parent, callback.attributes["http.route"]) == ("GET /oauth2/callback", "", "/oauth2/callback")
    below = {span.name: span for span in children}
    token = below["POST token"]
    assert (token.parent, token.kind) == (callback.id, "client")
    assert token.attributes == {
        "http.request.method": "POST", "http.response.status_code": 200, "gatehouse.provider": "mock",
        "gatehouse.provider.endpoint": "token", "server.address": "localhost" if "localhost" in realm.issuer else "127.0.0.1",
        "server.port": int(realm.issuer.split(":")[2].split("/")[0]), "url.scheme": "http",
    }
    assert below["session store insert"].parent == callback.id
    assert below["session store insert"].attributes == {"gatehouse.store.operation": "insert"}
    assert all(callback.began <= span.began <= span.ended <= callback.ended for span in children if span.parent == callback.id)
    page, upstream = [span for span in collector.trace("/page") if span.kind != "internal"]
    assert page.trace != callback.trace and app_parent(recorder, "GET /page")[:2] == (page.trace, upstream.id)
    # No provider gets a trace id.
    assert realm.requests and not [call for call in realm.requests if "traceparent" in {name.lower() for name in call["fields"]}]


def test_failures_are_marked_with_their_reason(traced, collector, recorder):
    recorder.script("/public/500", responds(b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n"))
    send(traced, "/public/500")
    root, upstream = collector.trace("/public/500")
    assert root.has_failed and upstream.has_failed
    assert root.attributes["error.type"] == upstream.attributes["error.type"] == "500"
    page = send(traced, "/dead/x", {"Accept": "text/html"})
    assert page.status == 502
    root, *tries = collector.trace("/dead/x")
    assert root.has_failed and root.attributes["error.type"] == root.attributes["gatehouse.code"] == "upstream.unreachable"
    assert root.attributes["gatehouse.incident"] in page.text
    assert tries and {(span.has_failed, span.attributes["error.type"]) for span in tries} == {(True, "unreachable")}
    assert all("http.response.status_code" not in span.attributes for span in tries)
    assert send(traced, "/elsewhere").status == 401
    root = collector.trace("/elsewhere")[0]
    assert not root.has_failed and "error.type" not in root.attributes
    assert send(traced, "/public/x", method="PROPFIND").status == 200
    root = collector.trace("/public/x")[0]
    assert (root.name, root.attributes["http.request.method"]) == ("HTTP echo", "_OTHER")


def test_each_try_at_a_target_is_a_span_and_the_app_gets_the_last_one(traced, collector, recorder):
    for number in range(2):
        send(traced, f"/detour/{number}")
    traces = [collector.trace(f"/detour/{number}") for number in range(2)]
    root, *tries = next(trace for trace in traces if len(trace) == 3)
    failed, used = sorted(tries, key=lambda span: span.began)
    assert failed.has_failed and "http.request.resend_count" not in failed.attributes
    assert not used.has_failed and used.attributes["http.request.resend_count"] == 1
    assert {failed.parent, used.parent} == {root.id}
    assert app_parent(recorder, root.attributes["url.path"])[1] == used.id


@pytest.mark.parametrize(
    "fields", [
        {}, traceparent(trace="0" * 32), traceparent(trace=TRACE.upper()), traceparent(flags="1"),
        {"traceparent": "nonsense"},
    ]
)
def test_a_trace_begins_here_without_a_valid_traceparent(traced, collector, recorder, fields):
    path = f"/public/{secrets.token_hex(4)}"
    send(traced, path, {**fields, "tracestate": "vendor=of-no-trace"})
    root, upstream = collector.trace(path)
    assert root.parent == "" and not root.has_remote_parent and root.trace not in (TRACE, "0" * 32)
    assert app_parent(recorder, path) == (root.trace, upstream.id, "01")
    assert recorder.seen(path)[-1].all("tracestate") == []


def test_a_trace_that_is_not_sampled_is_passed_on_and_not_exported(traced, collector, recorder):
    trace = secrets.token_hex(16)
    send(traced, "/public/unsampled", traceparent("00", trace))
    assert app_parent(recorder, "/public/unsampled")[::2] == (trace, "00")
    assert app_parent(recorder, "/public/unsampled")[1] != PARENT
    send(traced, "/public/after")
    collector.trace("/public/after")
    assert not [span for span in collector.spans if span.trace == trace]


def test_too_much_state_is_dropped_and_connection_removes_nothing_of_ours(traced, collector, recorder):
    state = ",".join(f"v{number}={'x' * 20}" for number in range(30))
    fields = {**traceparent(), "tracestate": state, "Connection": "close, traceparent"}
    send(traced, "/public/state", fields)
    assert app_parent(recorder, "/public/state")[0] == TRACE
    assert recorder.seen("/public/state")[-1].all("tracestate") == []


def test_an_app_can_be_kept_without_trace_ids(traced, collector, recorder):
    send(traced, "/alone/x", traceparent())
    assert recorder.wait_for("/alone/x")[-1].all("traceparent") == []
    assert len(collector.trace("/alone/x")) >= 2


def test_no_secret_is_exported(traced, collector, realm):
    marks = Marks([SECRET, KEY, "client secret+/%", "client+secret%2B%2F%25", "ada@example.com", "mock:ada", "Ada Example"])
    mark = marks.new
    marks.watch(realm)
    browser = Browser(traced)
    callback = browser.authorize(browser.begin("mock", f"/page?{mark('return')}"))
    marks.extend(re.findall(r"(?:code|state)=([^&]+)", callback))
    browser.visit(callback)
    browser.visit(callback)
    marks.extend(value for jar in browser.cookies.values() for value in jar.values())
    fields = {"Authorization": f"Bearer {mark('bearer')}", "User-Agent": mark("agent"), "tracestate": f"a={mark('state')}", **traceparent()}
    browser.send("POST", f"/marked?token={mark('query')}", body={"password": mark("form")}, fields=fields)
    browser.send("GET", f"/oauth2/callback/mock?code={mark('code')}&state={mark('state')}&error={mark('error')}")
    browser.sign_out()
    send(traced, "/public/last")
    collector.trace("/public/last")
    collector.trace("/marked")
    exported = b"".join(collector.bodies)
    assert b"/marked" in exported and b"127.0.0.1" in exported
    for secret in marks:
        assert secret.encode() not in exported, secret
    assert KEY not in traced.log


def test_the_document_lists_every_span_and_attribute(traced, collector):
    """The table of attributes has a column for each kind of span; this comes last, after what the other tests exported."""
    rows = [line.strip("| ").split("|") for line in DOCUMENT.splitlines() if line.startswith("| `") and line.count("|") == 7]
    columns = ["request", "upstream", "provider", "store"]
    documented = {column: {row[0].strip(" `") for row in rows if row[1 + index].strip() == "yes"} for index, column in enumerate(columns)}
    found = {column: set() for column in columns}
    for span in collector.spans:
        if span.kind == "server":
            column = "request"
        elif span.kind == "internal":
            column = "store"
        else:
            column = "provider" if "gatehouse.provider" in span.attributes else "upstream"
        found[column] |= set(span.attributes)
        assert span.is_sampled and "trace_state" not in span.fields
    # Neither the provider nor the store has failed.
    for column in ("provider", "store"):
        documented[column].discard("error.type")
    assert found == documented
    for name in {name for span in collector.spans for name in span.resource} - {"deployment.environment.name"}:
        assert f"`{name}`" in DOCUMENT


def test_the_document_lists_every_variable():
    sources = (REPOSITORY / "Sources/4-adapters/GateTracing/Settings").glob("*.swift")
    names = {name for source in sources for name in re.findall(r'"(OTEL_[A-Z_]+[A-Z])"', source.read_text())}
    assert len(names) > 10
    for name in names:
        assert f"`{name}`" in DOCUMENT, name


def test_without_tracing_nothing_is_sent_and_the_clients_header_is_passed_on(tmp_path, provider_server, recorder):
    with Collector() as unused:
        gateway = traced_gateway(tmp_path, provider_server.realm("mock"), recorder, unused.address, OTEL_TRACES_EXPORTER="none")
        send(gateway, "/public/off", {**traceparent("ff"), "tracestate": "vendor=1"})
        received = recorder.wait_for("/public/off")[-1]
        assert received.all("traceparent") == [f"00-{TRACE}-{PARENT}-ff"] and received.all("tracestate") == ["vendor=1"]
        send(gateway, "/public/none")
        assert not {"traceparent", "tracestate"} & set(recorder.wait_for("/public/none")[-1].names)
        assert eventually(lambda: access_line(gateway, "/public/off"), "the line")["trace"] == TRACE
        gateway.stop()
        assert unused.bodies == []


def test_what_is_queued_is_exported_when_the_gateway_stops(tmp_path, provider_server, recorder):
    with Collector() as collector:
        gateway = traced_gateway(
            tmp_path, provider_server.realm("mock"), recorder, collector.address, OTEL_BSP_SCHEDULE_DELAY="600000",
            OTEL_TRACES_SAMPLER="always_on"
        )
        send(gateway, "/public/late", traceparent("00"))
        recorder.wait_for("/public/late")
        assert collector.bodies == []
        gateway.stop()
        root, upstream = collector.trace("/public/late")
        assert (root.trace, root.parent, upstream.parent) == (TRACE, PARENT, root.id)


def test_a_dead_collector_costs_drops_and_one_log_line(tmp_path, provider_server, recorder):
    gateway = traced_gateway(
        tmp_path, provider_server.realm("mock"), recorder, f"http://127.0.0.1:{free_port()}", OTEL_BSP_EXPORT_TIMEOUT="500"
    )
    dropped = 'gatehouse_trace_spans_dropped_total{reason="export_failed"}'
    for count in (2, 4, 6):
        assert send(gateway, "/public/dead").status == 200
        eventually(lambda: gateway.metric(dropped) == count, f"{count} spans are dropped")
    lines = [line for line in gateway.log.splitlines() if "trace spans dropped" in line]
    assert len(lines) == 1 and KEY not in gateway.log
    gateway.stop()


@pytest.mark.parametrize("size, result", [(65_536, "exported_total"), (65_537, "dropped_total")])
def test_a_response_of_the_collector_is_read_up_to_a_limit(tmp_path, provider_server, recorder, size, result):
    """Whatever the collector is, it cannot fill the memory; a longer response counts as a failure of the export."""
    with Collector() as collector:
        collector.response = b"x" * size
        gateway = traced_gateway(
            tmp_path, provider_server.realm("mock"), recorder, collector.address, OTEL_BSP_EXPORT_TIMEOUT="500"
        )
        assert send(gateway, "/public/large").status == 200
        eventually(lambda: gateway.metric(f"gatehouse_trace_spans_{result}") == 2, "the spans are counted")
        gateway.stop()


def test_a_slow_collector_delays_no_request_and_no_stop(tmp_path, provider_server, recorder):
    with Collector() as slow:
        slow.go.clear()
        gateway = traced_gateway(
            tmp_path, provider_server.realm("mock"), recorder, slow.address, OTEL_BSP_MAX_QUEUE_SIZE="4",
            OTEL_BSP_EXPORT_TIMEOUT="300"
        )
        send(gateway, "/public/first")
        eventually(lambda: slow.bodies, "a batch arrives")
        for _ in range(10):
            assert send(gateway, "/public/slow").status == 200
        # Two spans are with the collector and two wait; all others do not fit, and are counted with the next export.
        gateway.stop()
        assert len(slow.bodies) == 1
    assert "trace spans dropped" in (tmp_path / "gateway.log").read_text()


def test_a_collector_has_to_show_a_certificate_that_is_trusted(tmp_path, provider_server, recorder):
    cert, key = certificate(tmp_path, "collector", "127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    with Collector(context) as secure:
        for trust in ({"OTEL_EXPORTER_OTLP_CERTIFICATE": str(cert)}, {}):
            gateway = traced_gateway(
                tmp_path, provider_server.realm("mock"), recorder, secure.address, OTEL_BSP_EXPORT_TIMEOUT="500", **trust
            )
            send(gateway, f"/public/trust{len(trust)}")
            recorder.wait_for(f"/public/trust{len(trust)}")
            gateway.stop()
        assert {span.attributes.get("url.path") for span in secure.spans} - {None} == {"/public/trust1"}
    log = (tmp_path / "gateway.log").read_text()
    assert "signed by itself; name it as OTEL_EXPORTER_OTLP_CERTIFICATE" in log


@pytest.mark.parametrize(
    "name, value, expected", [
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "OTEL_EXPORTER_OTLP_PROTOCOL: grpc is not supported; use http/protobuf"),
        ("OTEL_TRACES_SAMPLER", "sometimes", "OTEL_TRACES_SAMPLER: sometimes is not supported; use always_on"),
        ("OTEL_EXPORTER_OTLP_CERTIFICATE", "/nowhere.pem", "/nowhere.pem cannot be read"),
    ]
)
def test_a_wrong_variable_stops_the_start(traced, name, value, expected):
    result = run("serve", "--config", traced.path, cwd=traced.folder, env=environment("http://127.0.0.1:9", **{name: value}))
    assert result.returncode == 1 and "gateway.tracing" in result.stderr and expected in result.stderr, result


def test_an_exemplar_has_the_id_of_an_exported_trace(tmp_path, realm, app, collector):
    """A click in a dashboard leads to the trace; one that is not exported leads nowhere, so it is not named."""
    gateway = traced_gateway(tmp_path, realm, app, collector.address)
    try:
        for path, flags in (("/alone/x", "01"), ("/public/x", "00")):
            assert request(gateway.port, path, gateway.host, fields=list(traceparent(flags).items())).status == 200
        accept = {"Accept": "application/openmetrics-text; version=1.0.0"}

        def exemplars():
            text = requests.get(f"http://127.0.0.1:{gateway.operations}/metrics", headers=accept, timeout=5).text
            lines = [line for line in text.splitlines() if line.startswith("gatehouse_request_duration_seconds_bucket")]
            found = dict(re.findall(r'app="(\w+)".* # \{request_id="[0-9a-f]{32}"(.*?)\}', "\n".join(lines)))
            return found if {"alone", "echo"} <= set(found) else None

        found = eventually(exemplars, "both apps have an exemplar")
        assert found["alone"] == f',trace_id="{TRACE}"' and found["echo"] == ""
    finally:
        gateway.leave()
