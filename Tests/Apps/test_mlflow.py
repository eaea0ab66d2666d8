# SPDX-License-Identifier: Apache-2.0
"""MLflow's tracking server: its REST API, artifacts and pages."""

import re
import uuid

import pytest

from harness.apps import mlflow
from harness.clients import browses, session as signed_in


@pytest.fixture(scope="module")
def app(started):
    return started(mlflow)


def tracking(url, fields):
    """An experiment with a run, metrics and artifacts: each status and body without ids and times."""
    seen, api = [], f"{url}/api/2.0/mlflow"
    with signed_in(fields) as session:

        def ask(method, path, **more):
            response = session.request(method, path, timeout=60, **more)
            seen.append(
                (method, re.sub(r"[0-9a-f]{32}|artifacts/\d+", "X", path.replace(url, "")), response.status_code)
            )
            return response

        name = f"a/b {uuid.uuid4()}"
        made = ask("POST", f"{api}/experiments/create", json={"name": name}).json()["experiment_id"]
        ask("GET", f"{api}/experiments/get-by-name", params={"experiment_name": name})
        started = ask("POST", f"{api}/runs/create", json={"experiment_id": made, "start_time": 1}).json()
        identity = started["run"]["info"]["run_id"]
        ask(
            "POST",
            f"{api}/runs/log-batch",
            json={
                "run_id": identity, "metrics":
                [{"key": "loss/a b", "value": 0.5, "timestamp": 1, "step": n} for n in range(500)]
            }
        )
        history = ask("GET", f"{api}/metrics/get-history", params={"run_id": identity, "metric_key": "loss/a b"})
        seen.append(len(history.json()["metrics"]))
        artifacts = f"{url}/api/2.0/mlflow-artifacts/artifacts/{made}/{identity}/artifacts"
        ask("PUT", f"{artifacts}/model/weights-1.bin", data=b"w" * 2_000_000)
        ask("PUT", f"{artifacts}/streamed.bin", data=iter([b"part"] * 1000))
        seen.append(ask("GET", f"{artifacts}/model/weights-1.bin").content == b"w" * 2_000_000)
        seen.append(ask("GET", f"{artifacts}/streamed.bin").content == b"part" * 1000)
        ask("DELETE", f"{artifacts}/streamed.bin")
        ask("GET", f"{api}/runs/get", params={"run_id": "missing"})
        ask("POST", f"{api}/experiments/delete", json={"experiment_id": made})
    return seen


def test_tracking_with_artifacts(front):
    """Chunked uploads, names with escapes, JSON both ways."""
    front.both(tracking)


def test_the_pages_in_chromium(front, tmp_path):
    """The list of experiments, by scripts of the page."""
    listed = lambda browser: browser.until("document.body.innerText.includes('Default')", "the list of experiments")
    front.both(browses(tmp_path, "/#/experiments", listed))
