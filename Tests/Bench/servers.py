# SPDX-License-Identifier: Apache-2.0
"""The servers of a run: the app, nginx in front of it, the provider, and gateways as they are asked for."""

import json
import os
import shutil
import signal
import sys
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from client import Browser
from load import Generator, Place
from processes import Children, Trouble, eventually, free_ports, listens, program, run

HERE = Path(__file__).resolve().parent
PAGE = "<!doctype html><title>Orders</title><p>" + "A small page of an app that has little to show. " * 3
ENVIRONMENT = {"BENCH_GATEWAY_SECRET": "a secret that only a benchmark has", "BENCH_CLIENT_SECRET": "secret"}

# Limits that would end or slow a measurement; for each key the first value that the program accepts is used.
GENEROUS = [
    (("gateway", "limits", "connections"), 60000),
    (("gateway", "limits", "connections_per_client_ip"), 0),
    (("gateway", "limits", "requests_per_connection"), 1000000000),
    (("gateway", "limits", "requests_per_connection"), 1000000),
    (("gateway", "limits", "sign_ins_per_minute"), 0),
    (("gateway", "limits", "failed_sign_ins_per_minute"), 0),
    (("gateway", "timeouts", "idle"), "10m"),
    (("gateway", "drain"), {"delay": "0s", "timeout": "5s"}),
    (("apps", "bulk", "max_body"), 0),
    (("apps", "live", "websocket"), True),
]


def with_value(configuration, keys, value):
    """A copy with one more value in it."""
    if not keys:
        return value
    return {**configuration, keys[0]: with_value(configuration.get(keys[0], {}), keys[1:], value)}


def has(configuration, keys):
    for key in keys:
        if key not in configuration:
            return False
        configuration = configuration[key]
    return True


class Environment:
    """What all scenarios use. `cpus` assigns processors; the measured program has one for itself."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.children = Children(folder)
        allowed = sorted(os.sched_getaffinity(0))
        if len(allowed) < 2:
            raise Trouble("this needs two processors: one for what is measured and one for all else")
        self.allowed = allowed
        self.measured = [allowed[-1]]
        self.clients = [allowed[0]]
        self.apps = [allowed[1]] if len(allowed) >= 4 else [allowed[0]]
        self.generator = Generator(folder, self.clients, options.connections)
        self.names, self.generous = count(1), None

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def start(self):
        """Starts the apps, the provider and nginx."""
        self.certificate()
        self.app_port, self.bulk_port, self.provider_port = free_ports(3)
        self.app = self.nginx("app", self.apps, f"""
            server {{ listen 127.0.0.1:{self.app_port} backlog=4096;
                location / {{ default_type text/html; return 200 "{PAGE}"; }} }}""")
        self.bulk = self.children.start("bulk", [sys.executable, HERE / "bulk.py", self.bulk_port], self.apps)
        script = [sys.executable, HERE / "provider.py", self.provider_port]
        self.provider = self.children.start("provider", script, self.clients)
        self.beside = Beside(self)
        self.app.wait_listening(self.app_port)
        self.bulk.wait_listening(self.bulk_port)
        self.provider.wait_listening(self.provider_port)

    def certificate(self):
        curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
        names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
        files = ["-keyout", self.folder / "key.pem", "-out", self.folder / "cert.pem"]
        status, output = run([program("openssl"), "req", "-x509", *curve, *names, *files], 20)
        if status:
            raise Trouble(f"openssl makes no certificate:\n{output}")

    def nginx(self, name, cpus, http):
        user = "user root;" if os.geteuid() == 0 else ""
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        temporary = "".join(f"{kind}_temp_path {self.folder}/{name}-{kind};\n" for kind in kinds)
        text = f"""{user} worker_processes 1; daemon off; pid {self.folder}/{name}.pid;
            error_log {self.folder}/{name}.log; worker_rlimit_nofile 60000; events {{ worker_connections 60000; }}
            http {{ access_log off; keepalive_requests 1000000000; keepalive_timeout 600s; {temporary} {http} }}"""
        file = self.write(f"{name}.conf", text)
        return self.children.start(name, [program("nginx", "nginx-light"), "-c", file], cpus)

    @contextmanager
    def gateway(self, **settings):
        """A gateway that runs while it is needed."""
        gateway = Gateway(self, **settings)
        try:
            yield gateway.start()
        finally:
            gateway.stop()

    def stop(self):
        self.children.stop_all()

    def clean_up(self):
        """Stops everything and removes the folder, unless it is to be kept."""
        # A second Ctrl-C must not leave anything running.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
            signal.signal(number, signal.SIG_IGN)
        self.stop()
        if self.options.keep:
            print(f"kept: {self.folder}")
        else:
            shutil.rmtree(self.folder, ignore_errors=True)


class Beside:
    """nginx that proxies without any sign-in."""

    HEAD = """proxy_http_version 1.1; proxy_set_header Connection ''; proxy_set_header Host $http_host;
        proxy_set_header X-Forwarded-For $remote_addr; proxy_set_header X-Forwarded-Proto $scheme;
        proxy_set_header X-Forwarded-User mock:ada; proxy_set_header X-Forwarded-Email ada@example.com;"""

    def __init__(self, environment):
        plain, secure, http2 = self.ports = free_ports(3)
        bulk = "client_max_body_size 0; proxy_buffering off; proxy_request_buffering off;"
        places = f"""location / {{ proxy_pass http://app; {self.HEAD} }}
            location /bulk/ {{ proxy_pass http://bulk; {bulk} {self.HEAD} }}"""
        tls = f"""ssl_certificate {environment.folder}/cert.pem; ssl_certificate_key {environment.folder}/key.pem;
            ssl_session_cache off;"""
        kept = "keepalive 256; keepalive_requests 1000000000;"
        self.environment = environment
        self.name = f"nginx{next(environment.names)}"
        self.child = environment.nginx(self.name, environment.measured, f"""http2_max_requests 1000000000;
            upstream app {{ server 127.0.0.1:{environment.app_port}; {kept} }}
            upstream bulk {{ server 127.0.0.1:{environment.bulk_port}; keepalive 4; }}
            server {{ listen 127.0.0.1:{plain} backlog=4096; {places} }}
            server {{ listen 127.0.0.1:{secure} ssl backlog=4096; {tls} {places} }}
            server {{ listen 127.0.0.1:{http2} ssl http2 backlog=4096; {tls} {places} }}""")
        self.child.wait_listening(*self.ports)

    @property
    def pid(self):
        return self.child.pid

    def place(self, protocol="h1"):
        return Place(self.ports[("h1", "h1-tls", "h2-tls").index(protocol)], protocol != "h1")

    def stop(self):
        self.environment.children.stop(self.child)


class Gateway:
    """One gateway. Its file has as many routes and providers as asked; the app of the measurements is the last."""

    def __init__(self, environment, routes=1, providers=1, cpus=None, reuse=None, logs=None, variables=None, program=None, apps=None, more=None,
                 profile=None, clients=None, local=False):
        self.environment, self.cpus, self.reuse = environment, cpus or environment.measured, reuse
        self.program, self.variables = program or environment.options.gateway, {**ENVIRONMENT, **(variables or {})}
        self.name = f"gateway{next(environment.names)}"
        self.folder = environment.folder / self.name
        self.folder.mkdir()
        self.port, self.secure_port, self.operations = free_ports(3)
        self.configuration = self.plan(routes, providers)
        for name, app in (apps or {}).items():
            self.configuration["apps"][name] = {**self.configuration["apps"].get(name, {}), **app}
        if clients:
            self.configuration["clients"] = clients
        if local:
            self.configuration["providers"]["staff"] = {"type": "local"}
        if profile:
            self.configuration["providers"]["mock"]["profile"] = profile
        self.configuration["gateway"].update(more or {})
        if logs:
            self.configuration["logs"] = {**logs, "access": str(self.folder / "access.log")}
        self.child, self.cookie = None, None

    def plan(self, routes, providers):
        tls = [{"certificate": f"{self.environment.folder}/cert.pem", "private_key": f"{self.environment.folder}/key.pem"}]
        issuer = f"http://127.0.0.1:{self.environment.provider_port}"
        upstream = f"http://127.0.0.1:{self.environment.app_port}"
        known = {
            name: {
                "type": "oidc", "issuer": f"{issuer}/{name}", "client_id": "bench", "client_secret":
                    "${env:BENCH_CLIENT_SECRET}", "scopes": ["openid", "email", "profile"]
            }
            for name in ["mock", *(f"more{number}" for number in range(1, providers))]
        }
        fillers = {
            f"filler{number}": {
                "host": "127.0.0.1" if number % 2 else f"app{number}.example.com", "path": f"/team{number}/tools",
                "upstream": upstream, "allow": "signed_in"
            }
            for number in range(1, routes)
        }
        app = {"host": "127.0.0.1", "providers": ["mock"], "allow": "signed_in"}
        bulk = f"http://127.0.0.1:{self.environment.bulk_port}"
        pages = {"targets": [upstream], "reuse": self.reuse} if self.reuse else upstream
        return {
            "gateway": {
                "public_url": f"http://127.0.0.1:{self.port}", "operations": f"127.0.0.1:{self.operations}",
                "listeners": [
                    {"address": f"127.0.0.1:{self.port}"}, {"address": f"127.0.0.1:{self.secure_port}", "tls": tls}
                ],
                "secret": "${env:BENCH_GATEWAY_SECRET}", "state": f"{self.folder}/state"
            },
            "sessions": {"store": f"sqlite:{self.database}"},
            "providers": known,
            "apps": {
                **fillers, "bulk": {**app, "path": "/bulk", "upstream": bulk},
                "pages": {**app, "path": "/", "upstream": pages}
            }
        }

    @property
    def database(self):
        return self.folder / "sessions.db"

    def empty_log(self):
        """Removes what is in the access log, if there is one."""
        log = self.folder / "access.log"
        if log.exists():
            os.truncate(log, 0)

    def accepts(self, configuration):
        file = self.folder / "attempt.yaml"
        file.write_text(json.dumps(configuration))
        env = {**os.environ, **ENVIRONMENT}
        return run([self.environment.options.gateway, "check", "--config", file], 20, env=env)[0] == 0

    def generous(self):
        """The limits of `GENEROUS` that this program knows; found out once in a run."""
        if self.environment.generous is None:
            if not self.accepts(self.configuration):
                raise Trouble(f"`gatehouse check` refuses the file of the benchmark: {self.folder}/attempt.yaml")
            self.environment.generous, plan = [], self.configuration
            for keys, value in GENEROUS:
                if not has(plan, keys) and self.accepts(wider := with_value(plan, keys, value)):
                    self.environment.generous.append((keys, value))
                    plan = wider
        return self.environment.generous

    def write(self):
        plan = self.configuration
        for keys, value in self.generous():
            plan = with_value(plan, keys, value)
        file = self.folder / "providers.yaml"
        file.write_text(json.dumps(plan, indent=1))
        return file

    def launch(self):
        """Starts the program and does not wait for it."""
        command = [self.program, "serve", "--config", self.write(), "--log-level", "error"]
        if not any(keys[:2] == ("gateway", "drain") for keys, _ in self.generous()):
            command += ["--drain-delay", "0"]
        self.child = self.environment.children.start(self.name, command, self.cpus, self.variables)

    def start(self):
        self.launch()
        self.child.wait_listening(self.port, self.secure_port, seconds=60)
        if self.cookie is None:
            with Browser(self.port) as browser:
                browser.sign_in()
                self.cookie = browser.cookie
        return self

    @property
    def pid(self):
        return self.child.pid

    def place(self, protocol="h1", cookies=None):
        secured = protocol != "h1"
        return Place(self.secure_port if secured else self.port, secured, tuple(cookies or (self.cookie, )))

    def stop(self):
        if self.child:
            self.environment.children.stop(self.child)
            eventually(lambda: not listens(self.port), "the gateway no longer listens")
