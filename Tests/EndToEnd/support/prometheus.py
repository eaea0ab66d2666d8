# SPDX-License-Identifier: Apache-2.0
"""A real Prometheus that scrapes a gateway."""

import json
import shutil

import requests

from .processes import REPOSITORY, Process, Service, eventually, free_port

RULES = REPOSITORY / "deploy" / "prometheus" / "gatehouse.rules.yml"
AVAILABLE = bool(shutil.which("prometheus") and shutil.which("promtool"))


class Prometheus(Service):
    """Scrapes a gateway four times a second, on loopback only, with the rules of deploy/; `more` are further jobs."""

    def __init__(self, folder, gateway, rules=RULES, more=()):
        self.folder = folder
        self.port = free_port()
        self.path = folder / "prometheus.yml"
        self.path.write_text(
            json.dumps(
                {
                    "global": {"scrape_interval": "250ms", "scrape_timeout": "250ms", "evaluation_interval": "250ms"},
                    "rule_files": [str(rules)],
                    "scrape_configs":
                        [
                            {
                                "job_name": "gatehouse",
                                "static_configs": [{"targets": [f"127.0.0.1:{gateway.operations}"]}],
                            },
                            *more,
                        ],
                }
            )
        )

    def start(self):
        command = [
            shutil.which("prometheus"), f"--config.file={self.path}", f"--storage.tsdb.path={self.folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{self.port}", "--enable-feature=exemplar-storage", "--log.level=warn",
        ]
        self.process = Process(command, self.folder, "prometheus", {})
        eventually(lambda: self.get("/-/ready").status_code == 200, "Prometheus is ready", 20)
        eventually(lambda: self.query("up == 1"), "the gateway is scraped", 20)
        return self

    def stop(self):
        self.process.stop()

    def get(self, path, **parameters):
        return requests.get(f"http://127.0.0.1:{self.port}{path}", params=parameters, timeout=10)

    def query(self, expression):
        """The results of an instant query."""
        response = self.get("/api/v1/query", query=expression).json()
        assert response["status"] == "success", (expression, response)
        return response["data"]["result"]

    def firing(self, alert):
        """The alert of this name that fires, or None."""
        alerts = self.get("/api/v1/alerts").json()["data"]["alerts"]
        return next((one for one in alerts if one["labels"]["alertname"] == alert and one["state"] == "firing"), None)
