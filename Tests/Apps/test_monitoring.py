# SPDX-License-Identifier: Apache-2.0
"""Netdata and Prometheus: dashboards that ask their APIs from the browser."""

import pytest

from harness.apps import netdata, prometheus
from harness.clients import browses, session as signed_in


@pytest.fixture(scope="module", params=[False, True], ids=["http1", "http2"])
def watched(request, fronts, started):
    """Netdata behind a gateway."""
    if not hasattr(fronts, "netdata"):
        fronts.netdata = started(netdata)
    return fronts("netdata", fronts.netdata.port, http2=request.param)


@pytest.fixture(scope="module", params=[False, True], ids=["http1", "http2"])
def measured(request, fronts, started):
    """Prometheus behind a gateway."""
    if not hasattr(fronts, "prometheus"):
        fronts.prometheus = started(prometheus)
    return fronts("prometheus", fronts.prometheus.port, http2=request.param)


def api(url, fields):
    """What dashboards of Netdata ask, with two slashes in front: each status and the keys of the JSON."""
    seen = []
    with signed_in(fields) as session:
        for path in (
            "//api/v1/info", "/api/v1/charts", "//api/v1/contexts",
            "/api/v1/data?chart=netdata.server_cpu&after=-5&options=jsonwrap|nonzero"
        ):
            response = session.get(url + path, timeout=30)
            seen.append((path, response.status_code, response.headers.get("Content-Type")))
    return seen


def test_v_02_netdata_asks_with_two_slashes(watched):
    """`//api/v1/info` reaches the app, and so do `|` in queries."""
    seen = watched.both(api)
    assert [status for _, status, _ in seen[:3]] == [200, 200, 200]


def queries(url, fields):
    """Queries by GET and by form, with all that PromQL has: each status and type of result."""
    seen = []
    asked = {"query": 'sum by (job) (avg_over_time(up{instance=~"127.*|x", job!="a\\\\b"}[1m])) ^ 2 > bool 1'}
    with signed_in(fields) as session:
        for method in ("GET", "POST"):
            body = {"params": asked} if method == "GET" else {"data": asked}
            response = session.request(method, f"{url}/api/v1/query", **body, timeout=30)
            assert response.status_code == 200, response.text
            seen.append((method, response.json()["data"]["resultType"]))
        raw = session.get(f"{url}/api/v1/series?match[]=" + '{job="itself"}', timeout=30)
        seen.append((raw.status_code, raw.json()["status"]))
        seen.append(session.get(f"{url}/graph", allow_redirects=False, timeout=30).status_code)
    return seen


def test_prometheus_queries(measured):
    """Escaped PromQL in queries and forms, `[]` in names."""
    measured.both(queries)


def test_the_graphs_of_prometheus_in_chromium(measured, tmp_path):
    """A link as Alertmanager writes it, and the query that the page then sends."""
    shown = lambda browser: browser.until("document.body.innerText.includes('itself')", "a table with the target")
    measured.both(browses(tmp_path, "/graph?g0.expr=up%7Bjob%3D~%22it.*%7Cx%22%7D&g0.tab=1", shown))
