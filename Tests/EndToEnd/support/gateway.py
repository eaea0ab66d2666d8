# SPDX-License-Identifier: Apache-2.0
"""The real `gatehouse` program with its own configuration."""

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import requests

from .balanced import Balanced
from .processes import REPOSITORY, Process, Service, eventually, free_port

#: The program under test: the debug build, or what `GATEHOUSE_PROGRAM` names (`make test-release`).
PROGRAM = REPOSITORY / os.environ.get("GATEHOUSE_PROGRAM", ".build/debug/gatehouse")
SECRET = "0123456789abcdefghijklmnopqrstuvwxyz"
# Every client of a test has the same IP.
NO_LIMITS = {"connections_per_client_ip": 0, "sign_ins_per_minute": 0, "failed_sign_ins_per_minute": 0}
ENVIRONMENT = {"TEST_GATEWAY_SECRET": SECRET, "TEST_CLIENT_SECRET": "client secret+/%"}


def run(*arguments, cwd=None, env=None, timeout=30):
    """Runs a command of the program to its end."""
    return subprocess.run(
        [str(PROGRAM), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=timeout,
        cwd=cwd or REPOSITORY,
        env={**os.environ, **ENVIRONMENT, **(env or {})},
    )


def oidc(issuer, **more):
    """A provider entry of type `oidc`."""
    return {
        "type": "oidc", "issuer": issuer, "client_id": "gatehouse", "client_secret": "${env:TEST_CLIENT_SECRET}",
        "scopes": ["openid", "email", "profile"], **more,
    }


def public_echo(app, **more):
    """The entries of one app at `/` for signed-in users; everything below `/public/` is public."""
    return {"echo": {"path": "/", "upstream": app.address, "allow": "signed_in", "public": ["/public/"], **more}}


class Gateway(Service):
    """One gateway: `port` serves requests, `operations` health and metrics.

    With `--fleet` there are two with a balancer on `port`, see `balanced.py`: both get the file and the signals, metrics are
    the sums of both, and the log is that of one after the other.
    """
    draining, failed = [], []

    def __init__(
        self,
        folder,
        providers,
        apps,
        *,
        host="gate.localhost",
        name="gateway",
        port=None,
        operations=None,
        public_url=None,
        gateway=None,
        sessions=None,
        listeners=(),
    ):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.name = name
        self.port = port or free_port()
        self.operations = operations or free_port()
        self.host = host
        self.origin = public_url or f"http://{host}:{self.port}"
        #: What apps get as `Host` and `X-Forwarded-Host`.
        self.authority = self.origin.partition("://")[2]
        self.configuration = {
            "gateway":
                {
                    "public_url": self.origin, "listeners": [{"address": f"127.0.0.1:{self.port}"}, *listeners],
                    "operations": f"127.0.0.1:{self.operations}", "state": str(self.folder / "state"), "secret":
                        "${env:TEST_GATEWAY_SECRET}", "limits": NO_LIMITS, **(gateway or {}),
                }, "providers": providers, "apps": apps,
        }
        if sessions:
            self.configuration["sessions"] = sessions
        self.path = self.folder / "providers.yaml"
        self.process = None
        #: The second gateway and the balancer, from the first start on; None for a gateway that is alone.
        self.balanced = None

    @property
    def members(self):
        return [self, self.balanced.second] if self.balanced else [self]

    def write(self, configuration=None):
        """Writes the file; JSON is YAML as well."""
        configuration = configuration or self.configuration
        for member in self.members:
            own = self.balanced.configuration(member, configuration) if self.balanced else configuration
            temporary = member.path.with_suffix(".new")
            temporary.write_text(json.dumps(own, indent=1))
            temporary.replace(member.path)

    def start(self, env=None, drain_delay=0, more=(), wrapper=()):
        self.balanced = self.balanced or Balanced.of(self)
        self.write()
        for member in self.members:
            member._start(env, drain_delay, more, wrapper)
        return self

    def _start(self, env, drain_delay, more, wrapper):
        command = [*wrapper, PROGRAM, "serve", "--config", self.path, *more]
        if drain_delay is not None:
            command += ["--drain-delay", drain_delay]
        self.process = Process(command, self.folder, self.name, {**ENVIRONMENT, **(env or {})}, cwd=self.folder)
        self.wait_ready()

    def wait_ready(self):
        def ready():
            code = self.process.child.poll()
            assert code is None, f"gateway ended with {code}:\n{self.process.log[-4000:]}"
            return self.operation("/readyz").status_code == 200

        eventually(ready, "the gateway is ready", 20)

    def operation(self, path):
        return requests.get(f"http://127.0.0.1:{self.operations}{path}", timeout=5)

    def metrics(self):
        """All samples of /metrics: name with labels to value."""
        samples = {}
        for member in self.members:
            for line in member.operation("/metrics").text.splitlines():
                if line and not line.startswith("#"):
                    name, _, value = line.rpartition(" ")
                    samples[name] = samples.get(name, 0) + float(value)
        return samples

    def metric(self, prefix):
        """The sum of the samples whose name with labels starts so."""
        return sum(value for name, value in self.metrics().items() if name.startswith(prefix))

    def reload(self):
        for member in self.members:
            os.kill(member.process.pid, signal.SIGHUP)

    @property
    def log(self):
        """What the gateway has logged so far; it writes lines after the response that they are about."""
        try:
            eventually(lambda: self.metric("gatehouse_log_lines_pending") == 0, "all lines are written", 3)
        except (AssertionError, requests.RequestException):
            pass
        return "".join(member.process.log for member in self.members)

    def memory_kib(self):
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", text).group(1))

    def leave(self):
        """Sends SIGTERM and does not wait for the drain; `failed_exits` checks how it ended."""
        for member in self.members:
            member._leave()
        if self.balanced:
            # What drains needs neither new connections nor the store.
            self.balanced.end()
            self.balanced = None

    def _leave(self):
        process, self.process = self.process, None
        if not process:
            return
        if process.child.poll() is None:
            process.child.terminate()
            self.draining.append(process)
        else:
            self.failed.append(f"{process.log_path}: it had ended before with {process.child.returncode}")

    @classmethod
    def failed_exits(cls):
        """Waits for the gateways that drain; the logs of those that did not end cleanly."""
        for process in cls.draining:
            code = process.stop()
            if code != 0:
                cls.failed.append(f"{process.log_path}: exit code {code}:\n{process.log[-4000:]}")
        cls.draining.clear()
        return cls.failed

    def kill(self):
        """Ends it at once, if it runs."""
        for member in self.members:
            if member.process:
                member.process.child.kill()
                member.process.child.wait()
                member.process = None

    def stop(self):
        """Stops it; any exit but a clean one is a failure."""
        ends = [member._stop() for member in self.members if member.process]
        for alive, code, log in ends:
            assert alive and code == 0, f"the gateway ended with {code}:\n{log[-4000:]}"

    def __exit__(self, *error):
        self.stop()
        if self.balanced:
            self.balanced.end()
            self.balanced = None

    def _stop(self):
        process, self.process = self.process, None
        alive = process.child.poll() is None
        return alive, process.stop(), process.log
