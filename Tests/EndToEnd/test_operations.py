# SPDX-License-Identifier: Apache-2.0
"""Health, metrics and status, on the operations listener only."""

import re

import pytest

from support.browser import Browser
from support.processes import eventually
from support.raw import request

PATHS = ["/livez", "/readyz", "/healthz", "/ping", "/metrics", "/status"]


@pytest.mark.parametrize("path", PATHS)
def test_the_operations_listener_responds(path, gateway):
    assert gateway.operation(path).status_code == 200


@pytest.mark.parametrize(
    "path", [*PATHS, "/debug", "/debug/pprof", "/health", "/.well-known/jwks.json", "/ready", "/startupz"]
)
def test_the_public_listener_serves_no_operations_endpoint(path, gateway, app):
    """A-24 A-09: on the public listener they are paths of the app and need a sign-in."""
    before = len(app.requests)
    for host in ("gate.localhost", "own.localhost"):
        assert request(gateway.port, path, host=host).status == 401
    assert request(gateway.port, path, host="127.0.0.1").status == 404
    assert len(app.requests) == before


def test_the_operations_listener_serves_nothing_else(gateway):
    """A-24: no app, no sign-in, no write access."""
    for path in ("/", "/oauth2/sign_in", "/public/x", "/oauth2/userinfo", "/../livez/..", "/debug"):
        assert gateway.operation(path).status_code == 404, path
    for method in ("POST", "DELETE", "PUT"):
        assert request(gateway.operations, "/livez", host="127.0.0.1", method=method).status == 405


LINE = re.compile(
    r"^[a-zA-Z_:][a-zA-Z0-9_:]*(\{([a-zA-Z_][a-zA-Z0-9_]*=\"(\\.|[^\"\\])*\",?)*\})? (NaN|[+-]?(Inf|[0-9.eE+-]+))$"
)


def test_metrics_are_the_prometheus_text_format(gateway):
    """Version 0.0.4; one TYPE for each name, before its samples; no sample twice."""
    response = gateway.operation("/metrics")
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
    types, samples = {}, set()
    for line in response.text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in types and kind in ("counter", "gauge", "histogram", "summary"), line
            types[name] = kind
        elif line and not line.startswith("#"):
            assert LINE.match(line), line
            key = line.rpartition(" ")[0]
            assert key not in samples, line
            samples.add(key)
            name = key.split("{")[0]
            assert name in types or re.sub(r"_(bucket|sum|count)$", "", name) in types, line
    assert samples


def test_requests_sign_ins_and_rejections_are_counted(gateway, realm):
    def counted(prefix):
        return gateway.metric(prefix)

    names = [
        'gatehouse_requests_total{app="echo",class="2xx"}', 'gatehouse_sign_ins_total{provider="mock",result="ok"}',
        "gatehouse_sign_outs_total",
    ]
    before = [counted(name) for name in names]
    browser = Browser(gateway)
    browser.sign_in("mock", "/counted")
    browser.sign_out()
    eventually(lambda: all(counted(name) > was for name, was in zip(names, before)), "all three are counted")
    realm.make = lambda claims, realm: "x"
    Browser(gateway).sign_in("mock", "/counted")
    assert any(
        'provider="mock"' in name and 'result="ok"' not in name for name in gateway.metrics() if "sign_ins" in name
    )


def test_metrics_and_status_name_no_user(ada, gateway):
    """No user data, no tickets, no secrets."""
    for path in ("/metrics", "/status"):
        text = gateway.operation(path).text
        for word in ("ada", ada.ticket(), "example.com", "client secret", "0123456789abcdef"):
            assert word not in text, (path, word)


def test_the_log_holds_no_secret(ada, gateway, realm):
    """T-23 K-10: neither tickets nor tokens nor codes nor the client's secret are written."""
    token = next(one for one in realm.requests if one["path"] == "token")
    for word in (ada.ticket(), "client secret", token["form"]["code"], token["form"]["code_verifier"]):
        assert word not in gateway.log


def test_status_reports_the_state_of_the_gateway(gateway):
    """JSON with the state of the gateway."""
    status = gateway.operation("/status").json()
    assert status["draining"] is False and status["last_reload_failed"] is False and status["store_available"] is True
    assert set(status["providers"]) == {"mock", "other", "aside"}


def test_requests_in_flight_return_to_zero(gateway):
    """No request leaks in all the tests before this one."""
    eventually(lambda: gateway.metric("gatehouse_requests_in_flight") == 0, "no request is left", 20)
