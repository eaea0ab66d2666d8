# SPDX-License-Identifier: Apache-2.0
"""The proxies of deploy/forward-auth in front of a gateway and an app: each runs the file that operators copy."""

import sys
from pathlib import Path

from .gateway import Gateway, oidc
from .processes import REPOSITORY, Process, Service, free_port, nginx
from .upstream import Upstream

FILES = REPOSITORY / "deploy/forward-auth"
#: Where pip puts Caddy and Envoy.
PREFIX = Path(sys.prefix)


def program(name):
    """A proxy of the test requirements."""
    if name == "envoy":
        return next(PREFIX.glob("lib/python*/site-packages/envoy/_bin/envoy"))
    return PREFIX / "bin" / name


def delivered(name, changes):
    """A delivered file for this machine; each change has to apply."""
    text = (FILES / name).read_text()
    for old, new in changes.items():
        assert old in text, f"{name} has no '{old}'"
        text = text.replace(old, str(new))
    return text


class Front(Service):
    """A proxy with TLS on `port`, a gateway that it asks, and the app to which it forwards.

    Pages of `page` may call the app at `/api`, those of `hook` only below `/api/hooks/`.
    """
    #: In the proxy's file, the host of the sign-in pages if the app has it too.
    unused = "unused.localhost"
    page, hook = "https://page.example.com", "https://hook.example.com"
    gate, wiki = "gate.localhost", "wiki.localhost"

    def __init__(self, dialect, folder, issuer, certificate, sessions=None, prefix=None):
        self.prefix = prefix
        self.dialect, self.folder, self.certificate = dialect, folder, certificate
        self.app = Upstream()
        self.port = free_port()
        self.origin = f"https://{self.wiki}:{self.port}"
        allow = {"host": self.wiki, "forward_auth": "enforce", "allow": "signed_in"}
        apps = {
            "wiki": {**allow, "public": ["/public/"], "headers": {"X-WEBAUTH-USER": "user"}},
            "staff": {**allow, "path": "/staff", "allow": [{"group": "admins"}]},
            "open": {**allow, "host": "open.localhost", "public": ["/"]},
            "api": {**allow, "path": "/api", "origins": [self.page, f"{self.hook} /api/hooks/"]},
        }
        if sessions:
            # Sessions in cookies are for the gateway's own host.
            self.gate = self.wiki
            apps = {name: app for name, app in apps.items() if app["host"] == self.wiki}
        settings = {"trusted_proxies": ["127.0.0.1"], "forward_auth": {"dialect": dialect, "from": ["127.0.0.1"]}}
        if prefix:
            settings["endpoint_prefix"] = prefix
        # Calls of gRPC need HTTP/2, and so TLS.
        self.grpc_port = free_port()
        pem, key = certificate
        calls = {"address": f"127.0.0.1:{self.grpc_port}", "tls": [{"certificate": pem, "private_key": key}]}
        self.gateway = Gateway(
            folder, {"mock": oidc(issuer)}, apps, host=self.gate, name=f"gateway-{dialect}",
            public_url=f"https://{self.gate}:{self.port}", gateway=settings,
            sessions=sessions, listeners=[calls] if dialect == "envoy_grpc" else []
        )
        self.process = None

    def start(self):
        self.gateway.start()
        self.process = getattr(self, self.dialect)()
        self.process.wait_listening(self.port)
        return self

    def stop(self):
        if self.process:
            self.process.stop()
            self.process = None
        self.gateway.leave()
        self.app.close()

    @property
    def changes(self):
        pem, key = self.certificate
        return {
            "gate.example.com": self.unused if self.gate == self.wiki else self.gate, "wiki.example.com": self.wiki, "127.0.0.1:8080": f"127.0.0.1:{self.gateway.port}",
            "/etc/ssl/gatehouse/fullchain.pem": pem, "/etc/ssl/gatehouse/privkey.pem": key,
            **({"/oauth2/": f"{self.prefix}/"} if self.prefix else {}),
        }

    def nginx(self):
        text = delivered(
            "nginx.conf", {
                **self.changes, "listen 443 ssl;": f"listen 127.0.0.1:{self.port} ssl;",
                "127.0.0.1:3000": f"127.0.0.1:{self.app.port}",
            }
        )
        return nginx(self.folder, "nginx", text)

    def caddy(self):
        hosts = {self.changes["gate.example.com"], self.wiki}
        sites = {f"https://{host}": f"https://{host}:{self.port}" for host in sorted(hosts)}
        text = delivered("Caddyfile", {**self.changes, "127.0.0.1:3000": f"127.0.0.1:{self.app.port}", **sites})
        path = self.folder / "Caddyfile"
        path.write_text("{\nadmin off\nauto_https disable_redirects\ndefault_bind 127.0.0.1\n}\n" + text)
        home = {"HOME": str(self.folder), "XDG_DATA_HOME": str(self.folder), "XDG_CONFIG_HOME": str(self.folder)}
        command = [program("caddy"), "run", "--config", path, "--adapter", "caddyfile"]
        return Process(command, self.folder, "caddy", home)

    def envoy_grpc(self):
        changes = {"127.0.0.1:8443": f"127.0.0.1:{self.grpc_port}", "/etc/ssl/certs/ca-certificates.crt": self.certificate[0]}
        return self.envoy("envoy-grpc.yaml", changes)

    def envoy(self, file="envoy.yaml", more=()):
        text = delivered(
            file, {
                **self.changes, **dict(more), "address: 0.0.0.0, port_value: 443": f"address: 127.0.0.1, port_value: {self.port}",
                "port_value: 8080": f"port_value: {self.gateway.port}", "port_value: 3000": f"port_value: {self.app.port}",
            }
        )
        path = self.folder / "envoy.yaml"
        path.write_text(text)
        command = [program("envoy"), "-c", path, "--use-dynamic-base-id", "--concurrency", "1", "-l", "warning"]
        return Process(command, self.folder, "envoy")
