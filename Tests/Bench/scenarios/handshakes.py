# SPDX-License-Identifier: Apache-2.0
"""New TLS connections, each with a full handshake and one request."""

import time

from client import Wire, tls_context
from measure import cost_of, ratio, rounds
from report import Row, microseconds


def connect(place, seconds):
    """Opens connections one after the other for so long; how many."""
    context, count = tls_context(), 0
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with Wire(place.port, context) as wire:
            wire.ask("GET", place.path, place.fields)
        count += 1
    return count


def full(environment):
    """full TLS handshakes beside nginx"""
    seconds = environment.options.seconds
    with environment.gateway() as gateway:
        ours, theirs = gateway.place("h1-tls"), environment.beside.place("h1-tls")
        for place in (ours, theirs):
            connect(place, 0.5)
        subjects = {
            "nginx": lambda: cost_of(environment.beside.pid, lambda: connect(theirs, seconds)),
            "ours": lambda: cost_of(gateway.pid, lambda: connect(ours, seconds)),
        }
        found = rounds(subjects, environment.options.rounds)
    mine, nginx = found["ours"], found["nginx"]
    yield Row(
        "handshakes", "CPU for a new TLS connection with a full handshake (P-256) and one request",
        f"{microseconds(mine.cost)}, {1 / mine.cost:.0f} for each second of CPU",
        f"nginx {microseconds(nginx.cost)}, {1 / nginx.cost:.0f}", ratio(mine.costs, nginx.costs), "of nginx", most=1.2
    )
