# SPDX-License-Identifier: Apache-2.0
"""Two gateways on one Redis behind an nginx that picks one at random, in place of the gateway of a test (`--fleet`).

A flow of several requests meets both: no request may need the gateway that another one met.
"""

import copy

from .processes import free_port, nginx
from .redis import Cluster, Redis, Sentinels


class Single:
    """One Redis server, as the other topologies."""
    def __init__(self, folder):
        self.server = Redis(folder)

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.server.port}/0"

    def start(self):
        self.server.start()
        return self

    def end(self):
        self.server.end()


#: What `--fleet` names.
TOPOLOGIES = {"single": Single, "sentinel": Sentinels, "cluster": Cluster}
#: The topology of this run; none for gateways that are alone.
chosen = None


class Balanced:
    """The second gateway, the balancer and the store of a gateway, which itself listens on a port of its own then."""
    running = []

    @classmethod
    def of(cls, gateway):
        """None without `--fleet`, and for a gateway whose test is about its own store."""
        own = "store" in gateway.configuration.get("sessions", {})
        return None if chosen is None or own else cls(gateway)

    def __init__(self, gateway):
        self.folder = gateway.folder
        self.running.append(self)
        self.second = copy.copy(gateway)
        self.second.balanced, self.second.process = None, None
        self.second.name = f"{gateway.name}-2"
        self.second.operations = free_port()
        self.second.path = self.folder / "second" / "providers.yaml"
        self.second.path.parent.mkdir(exist_ok=True)
        self.ports = {id(gateway): free_port(), id(self.second): free_port()}
        self.store = TOPOLOGIES[chosen](self.folder / "redis").start()
        servers = " ".join(f"server 127.0.0.1:{port} fail_timeout=1s;" for port in self.ports.values())
        self.nginx = nginx(
            self.folder, "balancer", f"""
            map $http_upgrade $connection_field {{ "" close; default upgrade; }}
            upstream gatehouse {{ random; {servers} }}
            server {{
                listen 127.0.0.1:{gateway.port};
                client_max_body_size 0;
                proxy_buffer_size 32k;
                proxy_buffers 8 32k;
                proxy_busy_buffers_size 64k;
                location / {{
                    proxy_pass http://gatehouse;
                    proxy_http_version 1.1;
                    proxy_set_header Host $http_host;
                    proxy_set_header Upgrade $http_upgrade;
                    proxy_set_header Connection $connection_field;
                    proxy_set_header X-Forwarded-For $remote_addr;
                    proxy_set_header X-Forwarded-Proto http;
                }}
            }}
        """
        )
        self.nginx.wait_listening(gateway.port)

    def configuration(self, gateway, configuration):
        """The configuration of one of the two: a port, an operations port and a state of its own, the rest in common."""
        made = copy.deepcopy(configuration)
        settings = made["gateway"]
        settings["listeners"][0]["address"] = f"127.0.0.1:{self.ports[id(gateway)]}"
        settings["operations"] = f"127.0.0.1:{gateway.operations}"
        settings.setdefault("trusted_proxies", ["127.0.0.1"])
        if gateway is self.second:
            settings["state"] = f"{settings['state']}-2"
            del settings["listeners"][1:]
        made["sessions"] = {**made.get("sessions", {}), "store": self.store.url}
        made.setdefault("assertion", {}).setdefault("keys", str(self.folder / "keys"))
        return made

    def end(self):
        self.running.remove(self)
        self.nginx.stop()
        self.store.end()

    @classmethod
    def end_all(cls):
        for one in list(cls.running):
            one.end()
