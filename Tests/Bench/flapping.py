#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many requests fail while two targets of an app restart all the time, beside nginx and HAProxy.

    flapping.py                        1,000 restarts for each proxy, some 40 seconds each
    flapping.py --restarts 200         less
    flapping.py --gatehouse PROGRAM    another program than .build/release/gatehouse

A restart resets all connections of one target and keeps its port closed for a moment; the other one runs meanwhile, so that
no request has to fail. Every proxy gets the same restarts and the same clients, one after the other. HAProxy is measured if
it is installed.
"""
import argparse
import asyncio
import json
import multiprocessing
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path

from processes import PATH, eventually, free_ports, listens, program

HERE = Path(__file__).resolve().parent
RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#: Seconds from one restart to the next, how long the port is closed, and what a client waits between two requests.
EVERY, CLOSED, PAUSE = 0.032, 0.016, 0.002
CLIENTS = 8


class Target(asyncio.Protocol):
    """Sends the same response to each head."""
    def __init__(self, open_ones):
        self.open_ones, self.read = open_ones, b""

    def connection_made(self, transport):
        self.transport = transport
        self.open_ones.add(transport)

    def connection_lost(self, error):
        self.open_ones.discard(self.transport)

    def data_received(self, data):
        *heads, self.read = (self.read + data).split(b"\r\n\r\n")
        self.transport.write(RESPONSE * len(heads))


async def flap(ports, restarts):
    """Two targets, one of which restarts at any time; runs until it is ended once the restarts are over."""
    loop = asyncio.get_running_loop()
    opened = [set(), set()]
    start = lambda index: loop.create_server(lambda: Target(opened[index]), "127.0.0.1", ports[index])
    servers = [await start(0), await start(1)]
    await asyncio.sleep(1)
    for number in range(restarts):
        index = number % 2
        servers[index].close()
        for transport in list(opened[index]):
            transport.abort()
        await asyncio.sleep(CLOSED)
        servers[index] = await start(index)
        await asyncio.sleep(EVERY - CLOSED)
    await asyncio.sleep(60)


def targets(ports, restarts):
    asyncio.run(flap(ports, restarts))


async def visit(port, until, seen):
    """One client: a request after the other on a kept connection; counts the statuses."""
    reader = writer = None
    while time.monotonic() < until:
        try:
            if writer is None:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET / HTTP/1.1\r\nHost: gate.localhost\r\n\r\n")
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            await reader.readexactly(int(length.split(b":")[1]))
            seen[int(head.split(b" ")[1])] += 1
            if b"connection: close" in head.lower():
                raise ConnectionError
        except (OSError, asyncio.IncompleteReadError) as error:
            if not isinstance(error, ConnectionError) or writer is None:
                seen["cut"] += 1
            if writer:
                writer.close()
            writer = None
        await asyncio.sleep(PAUSE)


async def clients(port, seconds):
    seen = Counter()
    until = time.monotonic() + seconds
    await asyncio.gather(*(visit(port, until, seen) for _ in range(CLIENTS)))
    return seen


def nginx(folder, port, ports):
    (folder / "nginx.conf").write_text(
        f"daemon off; worker_processes 1; error_log stderr crit; pid {folder}/nginx.pid;\nevents {{ }}\nhttp {{ access_log off;\n"
        f"upstream app {{ server 127.0.0.1:{ports[0]}; server 127.0.0.1:{ports[1]}; keepalive 64; }}\n"
        f"server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://app; proxy_http_version 1.1;"
        " proxy_set_header Connection ''; } } }\n"
    )
    return [program("nginx", "nginx-light"), "-p", folder, "-e", "stderr", "-c", folder / "nginx.conf"]


def haproxy(folder, port, ports):
    (folder / "haproxy.cfg").write_text(
        "defaults\n mode http\n timeout connect 1s\n timeout client 30s\n timeout server 30s\n option redispatch 1\n retries 3\n"
        f" retry-on conn-failure empty-response\nfrontend in\n bind 127.0.0.1:{port}\n default_backend app\nbackend app\n"
        f" server a 127.0.0.1:{ports[0]}\n server b 127.0.0.1:{ports[1]}\n"
    )
    return [program("haproxy"), "-db", "-f", folder / "haproxy.cfg"]


def gatehouse(folder, port, ports, binary):
    (operations,) = free_ports(1)
    upstream = {"targets": [f"http://127.0.0.1:{one}" for one in ports]}
    (folder / "providers.yaml").write_text(json.dumps({
        "gateway": {
            "public_url": f"http://gate.localhost:{port}", "listeners": [{"address": f"127.0.0.1:{port}"}],
            "operations": f"127.0.0.1:{operations}", "state": str(folder / "state"),
            "secret": "only for this measurement, and long enough",
        },
        "providers": {"one": {"type": "oidc", "issuer": "http://127.0.0.1:9", "client_id": "x", "client_secret": "y"}},
        "apps": {"app": {"upstream": upstream, "allow": "signed_in", "public": ["/"]}},
    }))
    return [binary, "serve", "--config", folder / "providers.yaml"]


def measure(name, command, port, ports, restarts):
    """One proxy under the restarts: how many requests got which status."""
    folder = Path(tempfile.mkdtemp(prefix=f"flapping-{name}-"))
    flapping = multiprocessing.Process(target=targets, args=(ports, restarts))
    flapping.start()
    proxy = None
    try:
        eventually(lambda: all(map(listens, ports)), "the targets listen")
        with open(folder / "log", "w") as log:
            proxy = subprocess.Popen([str(part) for part in command(folder)], stdout=log, stderr=log)
        eventually(lambda: listens(port), f"{name} listens")
        return asyncio.run(clients(port, restarts * EVERY))
    finally:
        for one in filter(None, (proxy, flapping)):
            one.terminate()
        if proxy:
            proxy.wait(10)
        flapping.join()
        shutil.rmtree(folder, ignore_errors=True)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--restarts", type=int, default=1000)
    options.add_argument("--gatehouse", type=Path, default=HERE.parent.parent / ".build/release/gatehouse")
    options = options.parse_args()
    for name in ("gatehouse", "nginx", "haproxy"):
        if name == "haproxy" and not shutil.which(name, path=PATH):
            print("haproxy is not installed")
            continue
        port, *ports = free_ports(3)
        make = {
            "gatehouse": lambda folder: gatehouse(folder, port, ports, options.gatehouse),
            "nginx": lambda folder: nginx(folder, port, ports), "haproxy": lambda folder: haproxy(folder, port, ports),
        }[name]
        seen = measure(name, make, port, ports, options.restarts)
        total = sum(seen.values())
        failed = total - seen[200]
        print(f"{name}: {failed} of {total} requests failed, {100 * failed / total:.2f} %: {dict(seen)}", flush=True)


if __name__ == "__main__":
    main()
