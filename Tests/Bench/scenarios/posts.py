# SPDX-License-Identifier: Apache-2.0
"""Requests with a small body: what it costs that their connections to the app are not shared, and what if they are."""

from dataclasses import replace

from measure import ratio, rounds
from report import Row, microseconds

from .protocols import requests

BODY = "a=1&" * 256


def small(own_gateway):
    """POST with 1 KiB beside nginx, by `upstream.reuse`"""
    with own_gateway.gateway() as careful, own_gateway.gateway(reuse="always") as trusting:
        nginx = replace(own_gateway.beside.place(), body=BODY)
        subjects = {"nginx": requests(own_gateway, own_gateway.beside.pid, nginx)}
        for name, one in (("without_bodies", careful), ("always", trusting)):
            subjects[name] = requests(own_gateway, one.pid, replace(one.place(), body=BODY))
        found = rounds(subjects, own_gateway.options.rounds)
    beside = found.pop("nginx")
    for name, ours in found.items():
        yield Row(
            "posts",
            f"POST with 1 KiB, CPU for each request, `reuse: {name}`; nginx signs nobody in and shares connections",
            f"{microseconds(ours.cost)}, {ours.rate:.0f}/s",
            f"nginx {microseconds(beside.cost)}, {beside.rate:.0f}/s",
            ratio(ours.costs, beside.costs),
            "of nginx",
        )
