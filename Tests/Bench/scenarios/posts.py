# SPDX-License-Identifier: Apache-2.0
"""Requests with a small body: what it costs that their connections to the app are not shared, and what if they are."""

from dataclasses import replace

from measure import ratio, rounds
from report import Row, microseconds

from .protocols import requests

BODY = "a=1&" * 256


def small(environment):
    """POST with 1 KiB beside nginx, by `upstream.reuse`"""
    with environment.gateway() as careful, environment.gateway(reuse="always") as trusting:
        nginx = replace(environment.beside.place(), body=BODY)
        subjects = {"nginx": requests(environment, environment.beside.pid, nginx)}
        for name, one in (("without_bodies", careful), ("always", trusting)):
            subjects[name] = requests(environment, one.pid, replace(one.place(), body=BODY))
        found = rounds(subjects, environment.options.rounds)
    beside = found.pop("nginx")
    for name, ours in found.items():
        yield Row(
            "posts",
            f"POST with 1 KiB, CPU for each request, `reuse: {name}`; nginx has no sign-in and shares connections",
            f"{microseconds(ours.cost)}, {ours.rate:.0f}/s",
            f"nginx {microseconds(beside.cost)}, {beside.rate:.0f}/s",
            ratio(ours.costs, beside.costs),
            "of nginx",
        )
