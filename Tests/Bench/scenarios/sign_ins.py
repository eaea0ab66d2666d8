# SPDX-License-Identifier: Apache-2.0
"""Whole sign-ins: page, provider, callback, page; calls to the provider included."""

from concurrent.futures import ThreadPoolExecutor

from client import Browser
from measure import cost_of, rounds
from report import Row, milliseconds


def sign_ins(gateway, count, at_once):
    """This many users sign in, some at the same time, each with a browser and a connection."""
    def one(number):
        with Browser(gateway.port, f"user{number}") as browser:
            browser.sign_in()

    with ThreadPoolExecutor(at_once) as pool:
        for _ in pool.map(one, range(count)):
            pass
    return count


def whole(environment):
    """CPU for each sign-in, and how many one core can do"""
    count = environment.options.sign_ins
    with environment.gateway() as gateway:
        sign_ins(gateway, max(20, count // 10), 4)
        subjects = {"ours": lambda: cost_of(gateway.pid, lambda: sign_ins(gateway, count, 4))}
        ours = rounds(subjects, environment.options.rounds)["ours"]
    yield Row(
        "sign-ins", f"CPU for a whole sign-in, {count} users, 4 at a time",
        f"{milliseconds(ours.cost)}; {ours.rate:.0f}/s here, the browsers being the slower part, "
        f"{1 / ours.cost:.0f} for each second of CPU", "", ours.cost * 1e3, "ms", most=0.9
    )
