#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mixed traffic for a long time: every response is checked, and memory and descriptors must not grow.

    soak.py                          an hour at half load
    soak.py --minutes 5              less; below 40, memory may not have come to rest (docs/performance.md)
    soak.py --only pages,sign-ins    some kinds of traffic
    soak.py --rate 2000              requests per second of the bulk, instead of half of what can be

Exits 1 if a response was wrong or missing, or if something grew. Unsupported traffic is skipped and reported.
Needs nginx, wrk (without it there is no bulk), h2load if httpx cannot speak HTTP/2, and the Python packages of
Tests/EndToEnd/requirements.txt.
"""
import argparse
import importlib.util
import shutil
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

import report
from client import Wire, offers_http2
from load import Place
from processes import Trouble, free_ports, more_descriptors, program
from servers import HERE, Gateway, Environment
from soaking.crowd import Crowd
from soaking.traffic import HTTP2_PACKAGES, KINDS, Account, Tally, keep_on
from soaking.watch import Watch

# How many users do what at the same time.
PEOPLE = {"pages": 6, "uploads": 2, "downloads": 2, "events": 4, "sign-ins": 3, "websockets": 4, "http2": 2}
ALL = [*KINDS, "crowd"]
SLICE = 60


class SoakEnvironment(Environment):
    """An nginx and an app that both return the user they got."""

    def start(self):
        self.certificate()
        self.app_port, self.bulk_port, self.provider_port = free_ports(3)
        self.app = self.nginx("app", self.apps, f"""
            server {{ listen 127.0.0.1:{self.app_port} backlog=4096;
                location / {{ default_type text/plain; return 200 $http_x_forwarded_user; }} }}""")
        live = [sys.executable, HERE / "soaking/app.py", self.bulk_port]
        self.bulk = self.children.start("live", live, self.apps)
        script = [sys.executable, HERE / "provider.py", self.provider_port]
        self.provider = self.children.start("provider", script, self.clients)
        self.app.wait_listening(self.app_port)
        self.bulk.wait_listening(self.bulk_port)
        self.provider.wait_listening(self.provider_port)


class SoakGateway(Gateway):
    """The gateway, with the app that has all kinds of responses at /live."""

    def plan(self, routes, providers):
        plan = super().plan(routes, providers)
        plan["apps"]["live"] = {**plan["apps"].pop("bulk"), "path": "/live"}
        return plan


def parser():
    found = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = found.add_argument
    add("--gateway", type=Path, default=report.REPOSITORY / ".build/release/gatehouse", help="the built program")
    add("--minutes", type=float, default=60)
    add("--only", default=",".join(ALL), help=f"kinds of traffic, of {', '.join(ALL)}")
    add("--rate", type=int, help="requests per second of the bulk")
    add("--every", type=float, default=5, help="seconds between two samples")
    add("--csv", type=Path, default=report.REPOSITORY / ".build/soak.csv", help="where the samples go")
    add("--keep", action="store_true", help="keep the folder with configurations and logs")
    return found


def upgrades(gateway, cookie):
    """Whether the gateway passes a WebSocket on."""
    fields = {
        "Cookie": cookie, "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Origin": f"http://127.0.0.1:{gateway.port}"
    }
    with Wire(gateway.port) as wire:
        return wire.ask("GET", "/live/ws", fields).status == 101


def possible(gateway, wanted):
    """The kinds that can be had, each of the others with a note."""
    found = list(wanted)

    def skip(kind, reason):
        print(f"skipped: {kind}, {reason}", flush=True)
        found.remove(kind)

    if "websockets" in found and not upgrades(gateway, gateway.cookie):
        skip("websockets", "the gateway does not pass them on")
    if "http2" in found and not offers_http2(gateway.secure_port):
        skip("http2", "the gateway does not offer it by ALPN")
    if "websockets" in found and not importlib.util.find_spec("websocket"):
        skip("websockets", "this Python has no websocket-client")
    if "http2" in found and not all(map(importlib.util.find_spec, HTTP2_PACKAGES)):
        print("http2: without httpx[http2] in this Python, h2load checks the status of responses only", flush=True)
    if "crowd" in found and not shutil.which("wrk"):
        skip("crowd", "there is no wrk")
    return found


def half_load(environment, gateway):
    """Half of the requests per second that the gateway handles, with this client on this machine."""
    found = environment.generator.wrk(Place(gateway.port, cookies=(gateway.cookie, ), path="/who"), 3)
    return int(found["requests"] / found["seconds"] / 2)


def begin(gateway, kinds, tally):
    """Starts all traffic but the crowd's."""
    threads = []
    for kind in kinds:
        for number in range(PEOPLE.get(kind, 0)):
            account = Account(gateway, f"{kind.replace('-', '')}{number}")
            threads.append(threading.Thread(target=keep_on, args=[kind, account, tally], daemon=True))
    for thread in threads:
        thread.start()
    return threads


def endure(environment, gateway, kinds, tally):
    """All traffic for as long as asked; what was wrong with the crowd."""
    options, crowd = environment.options, None
    if "crowd" in kinds:
        rate = options.rate or half_load(environment, gateway)
        print(f"crowd: {rate} requests per second", flush=True)
        crowd = Crowd(environment, [Account(gateway, f"crowd{number}") for number in range(4)], rate)
    threads = begin(gateway, kinds, tally)
    end = time.monotonic() + options.minutes * 60
    try:
        while (left := end - time.monotonic()) > 0:
            length = max(1, min(SLICE, round(left)))
            if crowd:
                crowd.slice(tally, length)
            else:
                time.sleep(min(length, left))
            done, failed = tally.totals
            gateway.child.alive()
            passed = options.minutes - max(0, left - length) / 60
            print(f"{passed:6.1f} min: {done} done, {failed} failed", flush=True)
    finally:
        tally.stop.set()
        for thread in threads:
            thread.join(25)
    return crowd.findings if crowd else []


def summary(tally, watch):
    """Prints what was done; what was wrong comes back."""
    for kind in ALL:
        if kind in tally.done or kind in tally.failed:
            print(f"{kind:11} {tally.done[kind]:10} done {tally.failed[kind]:6} failed")
    for text in tally.texts:
        print(f"  {text}")
    for name in ("rss_kib", "descriptors"):
        if found := watch.quarters(name):
            print(f"{name:11} {found[0]:.0f} in the second quarter, {found[1]:.0f} in the last")
    print(f"{'processor':11} {watch.load * 100:.0f} % of one on average; samples in {watch.path}")
    failed = tally.totals[1]
    return [*([f"{failed} failures"] if failed else []), *watch.findings()]


def soak(environment):
    """The whole of it; what was wrong."""
    environment.start()
    tally = Tally()
    gateway = SoakGateway(environment)
    try:
        gateway.start()
        kinds = possible(gateway, environment.options.only)
        with Watch(gateway.pid, tally, environment.options.csv, environment.options.every) as watch:
            wrong = endure(environment, gateway, kinds, tally)
        wrong += summary(tally, watch)
        code = gateway.child.stop()
        return wrong + ([f"the gateway ended with {code}"] if code else [])
    finally:
        gateway.stop()


def ended(*_):
    raise KeyboardInterrupt


def main():
    options = parser().parse_args()
    options.only, options.connections = options.only.split(","), 64
    if unknown := set(options.only) - set(ALL):
        raise SystemExit(f"soak: there is no traffic called {', '.join(sorted(unknown))}")
    options.gateway = options.gateway.resolve()
    options.csv.parent.mkdir(exist_ok=True)
    more_descriptors()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, ended)
    folder = Path(tempfile.mkdtemp(prefix="gatehouse-soak-"))
    environment = SoakEnvironment(options, folder)
    try:
        program("nginx", "nginx-light")
        wrong = soak(environment)
    except Trouble as trouble:
        wrong = [str(trouble)]
    except KeyboardInterrupt:
        wrong = ["ended before it was done"]
    finally:
        environment.clean_up()
    print("soak: " + ("; ".join(wrong) if wrong else "nothing failed and nothing grew"))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
