# SPDX-License-Identifier: Apache-2.0
"""The memory of a kept connection on which nothing happens."""

from client import Wire, tls_context
from measure import settled_rss_kib
from report import Row
from servers import Beside

TARGETS = {"h1": 6, "h1-tls": 40}
NAMES = {"h1": "plain", "h1-tls": "TLS"}


def grown_by(pid, place, count):
    """KiB for each of this many connections, each after one request."""
    context = tls_context() if place.tls else None
    wires = []
    try:
        for _ in range(8):
            with Wire(place.port, context) as wire:
                wire.ask("GET", place.path, place.fields)
        before = settled_rss_kib(pid)
        for _ in range(count):
            wire = Wire(place.port, context)
            wires.append(wire)
            wire.ask("GET", place.path, place.fields)
        return (settled_rss_kib(pid) - before) / count
    finally:
        for wire in wires:
            wire.close()


def connections(environment):
    """memory of idle connections, plain and over TLS"""
    count = min(environment.options.idle, environment.options.descriptors - 500)
    for protocol, most in TARGETS.items():
        beside = Beside(environment)
        nginx = grown_by(beside.pid, beside.place(protocol), count)
        beside.stop()
        with environment.gateway() as gateway:
            ours = grown_by(gateway.pid, gateway.place(protocol), count)
        yield Row(
            "idle", f"memory of an idle {NAMES[protocol]} connection, {count:,} open", f"{ours:.1f} KiB",
            f"nginx {nginx:.1f} KiB", ours, "KiB", most=most
        )
