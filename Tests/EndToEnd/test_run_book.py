# SPDX-License-Identifier: Apache-2.0
"""What goes wrong in operation: alert, log, status page and run-book entry are about the same thing.

`python -m pytest Tests/EndToEnd/test_run_book.py -s` prints the table.
"""

import os
import re
import subprocess
from html import unescape

import pytest
import requests

from support.chains import EXPIRED, Authority, revocation_list, write
from support.gateway import Gateway, oidc
from support.processes import REPOSITORY, eventually, free_port
from support.prometheus import AVAILABLE, RULES, Prometheus
from support.provider import ProviderServer
from support.raw import request
from support.redis import Redis

ALERTS = (REPOSITORY / "docs/alerts.md").read_text()

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="Prometheus is not installed")


def urgent_rules(folder):
    """The rules of deploy/ with which each alert fires at once, and from the first events; its times are tested by promtool."""
    text = re.sub(r"^ +for: \w+\n", "", RULES.read_text(), flags=re.M)
    path = folder / "gatehouse.rules.yml"
    path.write_text(re.sub(r"\[5m\]", "[10s]", text))
    return path


class Incident:
    """A gateway with what it depends on, until something fails; everything ends with the test."""

    def __init__(self, folder, app):
        self.folder, self.app = folder, app
        self.provider = ProviderServer()
        self.ends = [self.provider.shutdown]
        self.gateway = None

    def start(self, *, app=None, logs=None, **settings):
        realm = self.provider.realm("mock")
        apps = {"wiki": {"path": "/", "upstream": self.app.address, "allow": "signed_in", **(app or {})}}
        self.gateway = Gateway(self.folder / "gateway", {"mock": oidc(realm.issuer)}, apps, **settings)
        if logs:
            self.gateway.configuration["logs"] = logs
        self.gateway.start()
        self.ends.append(self.gateway.stop)
        self.prometheus = Prometheus(self.folder, self.gateway, urgent_rules(self.folder)).start()
        self.ends.append(self.prometheus.stop)
        return self.gateway

    def end(self):
        for end in reversed(self.ends):
            end()

    # What fails

    def provider_killed(self):
        gateway = self.start()
        self.provider.shutdown()
        self.provider.server_close()
        assert request(gateway.port, "/oauth2/start/mock?rd=/").status == 502

    def store_killed(self):
        redis = Redis(self.folder / "redis").start()
        self.ends.append(redis.end)
        self.start(sessions={"store": f"redis://127.0.0.1:{redis.port}"})
        redis.kill()

    def upstream_killed(self):
        health = {"path": "/", "interval": "1s", "timeout": "500ms", "unhealthy": 1}
        self.start(app={"upstream": {"targets": [f"http://127.0.0.1:{free_port()}"], "health": health}})

    def disk_full(self):
        disk = self.folder / "disk"
        disk.mkdir()
        if os.geteuid() != 0:
            pytest.skip("only root can mount a file system")
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], check=True)
        self.ends.insert(0, lambda: subprocess.run(["umount", "--lazy", disk], check=True))
        gateway = self.start(logs={"access": str(disk / "access.log")})
        with (disk / "filler").open("wb", buffering=0) as filler:
            for size in (4096, 1):
                try:
                    while filler.write(b"x" * size):
                        pass
                except OSError:
                    pass
        # More lines than the writer keeps for a disk that may have space again.
        eventually(lambda: (request(gateway.port, "/x"), gateway.metric("gatehouse_log_lines_dropped_total"))[1] > 0, "lost")

    def certificate_expired(self):
        cert, key = Authority("an authority").issue("gate.localhost", valid=EXPIRED).files(self.folder)
        listener = {"address": f"127.0.0.1:{free_port()}", "tls": [{"certificate": str(cert), "private_key": str(key)}]}
        self.start(listeners=[listener])

    def revocation_list_expired(self):
        devices = Authority("devices")
        lists = write(self.folder / "devices.crl", revocation_list(devices, valid=(-30, -1)))
        cert, key = Authority("an authority").issue("gate.localhost").files(self.folder)
        listener = {
            "address": f"127.0.0.1:{free_port()}", "tls": [{"certificate": cert, "private_key": key}],
            "client_certificates": {"ca_file": devices.file(self.folder), "crl_files": [lists]},
        }
        self.start(listeners=[listener])

    def file_broken(self):
        gateway = self.start()
        gateway.path.write_text("apps: [")

    def sign_ins_flooded(self):
        gateway = self.start(gateway={"limits": {"sign_ins_per_minute": 3}})
        for count in (60, 420):
            for _ in range(count):
                request(gateway.port, "/oauth2/start/mock?rd=/")
            eventually(lambda: self.prometheus.query("gatehouse_request_rejections_total"), "Prometheus has the counter")


#: What fails: the section of the run-book, and a part of the log line.
TABLE = {
    "provider_killed": ("GatehouseProviderDown", r"code=provider\.unreachable .*provider=mock"),
    "store_killed": ("GatehouseStoreUnavailable", r"session store does not respond .*"),
    "upstream_killed": ("GatehouseUpstreamDown", r"upstream unhealthy .*"),
    "disk_full": ("GatehouseLogLinesDropped", r"log lines are dropped.*"),
    "certificate_expired": ("GatehouseCertificateExpired", r"certificate\.expired.*"),
    "revocation_list_expired": ("GatehouseRevocationListExpired", r"revocation_list\.expired.*"),
    "file_broken": ("GatehouseReloadFailed", r"reload.*"),
    "sign_ins_flooded": ("GatehouseHighRejectionRate", r"code=signin\.too_\w+.*"),
}


@pytest.fixture
def incident(tmp_path, app):
    made = Incident(tmp_path, app)
    yield made
    made.end()


@pytest.mark.parametrize("name", TABLE)
def test_alert_log_status_page_and_run_book_are_about_the_same(incident, name, capsys):
    section, line = TABLE[name]
    getattr(incident, name)()
    gateway = incident.gateway
    page = f"http://127.0.0.1:{gateway.operations}/status"

    def warning():
        text = requests.get(page, headers={"Accept": "text/html"}, timeout=5).text
        found = [one for one in gateway.operation("/status").json()["warnings"] if one["run_book"] == section]
        return found and section in text and found[0]["text"] in unescape(text) and found[0]["text"]

    shown = eventually(warning, "the status page has it", 20)
    alert = eventually(lambda: incident.prometheus.firing(section), "the alert fires", 20)
    logged = eventually(lambda: re.search(line, gateway.log), f"the log has it: {gateway.log}", 5).group()
    entry = ALERTS.partition(f"## {section}\n")[2].partition("\n## ")[0]
    meaning = re.search(r"\*\*Meaning\.\*\* (.*?\.)\s", entry, re.S).group(1).replace("\n", " ")
    assert alert["annotations"]["runbook"] == f"docs/alerts.md#{section.lower()}"
    with capsys.disabled():
        print(f"\n{name} | {section}: {alert['annotations']['summary']} | {logged[:160]} | {shown} | {meaning}")
