# SPDX-License-Identifier: Apache-2.0
"""The 99th percentile of the response time at half of the load that both can handle."""

import statistics

from measure import ratio
from report import Row


def percentile(values, part):
    return values[min(len(values) - 1, int(len(values) * part))]


def half_load(environment):
    """99th percentile of the response time, at half of the load that both can handle"""
    options, generator = environment.options, environment.generator
    with environment.gateway() as gateway:
        places = {"nginx": environment.beside.place(), "ours": gateway.place()}
        fastest = {name: generator.wrk(place, 2) for name, place in places.items()}
        rate = min(one["requests"] / one["seconds"] for one in fastest.values()) / 2
        slowest, middle = {"nginx": [], "ours": []}, {"nginx": [], "ours": []}
        for number in range(options.rounds + 2):
            for name in list(places) if number % 2 else list(reversed(places)):
                found = generator.latencies(places[name], rate, options.seconds + 1)
                slowest[name].append(percentile(found, 0.99))
                middle[name].append(percentile(found, 0.5))
    shown = {
        name: f"{statistics.median(middle[name]):.0f} µs, 99 % within {statistics.median(slowest[name]):.0f} µs"
        for name in places
    }
    yield Row(
        "latency", f"time to a response at {rate:.0f} requests/s, half of what both can handle", shown["ours"],
        f"nginx {shown['nginx']}", ratio(slowest["ours"], slowest["nginx"]), "of nginx at 99 %", most=1.2
    )
