# SPDX-License-Identifier: Apache-2.0
"""Whole sign-ins: page, provider, callback, page; calls to the provider included."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from client import Browser
from measure import cost_of, ratio, rounds
from report import Row, milliseconds

from .envoy import running


def sign_ins(port, count, at_once):
    """This many users sign in, some at the same time, each with a browser and a connection."""
    def one(number):
        with Browser(port, f"user{number}") as browser:
            browser.sign_in()

    with ThreadPoolExecutor(at_once) as pool:
        for _ in pool.map(one, range(count)):
            pass
    return count


def subject(pid, port, count):
    """What a sign-in costs a running program, which is warm."""
    sign_ins(port, max(20, count // 10), 4)
    return lambda: cost_of(pid, lambda: sign_ins(port, count, 4))


@contextmanager
def beside(environment):
    """Process and port of an Envoy; nothing if none was named."""
    if not environment.options.envoy:
        yield None
        return
    with running(environment) as (child, place):
        yield child.pid, place.port


def whole(environment):
    """CPU for each sign-in, and how many one core can do"""
    count = environment.options.sign_ins
    with environment.gateway() as gateway, beside(environment) as envoy:
        subjects = {"ours": subject(gateway.pid, gateway.port, count)}
        if envoy:
            subjects["envoy"] = subject(*envoy, count)
        found = rounds(subjects, environment.options.rounds)
    ours = found["ours"]
    yield Row(
        "sign-ins", f"CPU for a whole sign-in, {count} users, 4 at a time",
        f"{milliseconds(ours.cost)}; {ours.rate:.0f}/s here, the browsers being the slower part, "
        f"{1 / ours.cost:.0f} for each second of CPU", "", ours.cost * 1e3, "ms", most=0.9
    )
    if envoy:
        theirs = found["envoy"]
        yield Row(
            "sign-ins", "the same beside Envoy's oauth2 filter, which asks the provider for a token only",
            milliseconds(ours.cost), f"Envoy {milliseconds(theirs.cost)}", ratio(ours.costs, theirs.costs), "of Envoy",
            most=0.9
        )
