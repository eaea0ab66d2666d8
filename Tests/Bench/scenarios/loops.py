# SPDX-License-Identifier: Apache-2.0
"""Two event loops against one; the gateway has as many as processors that it may use when it starts."""

from contextlib import ExitStack
from dataclasses import replace

from measure import cost_of, ratio, rounds, tree
from processes import placed
from report import Row, microseconds


def measured(stand, gateway, clients):
    generator = replace(stand.generator, cpus=clients, connections=stand.generator.connections * 2)

    def work(seconds):
        return generator.wrk(gateway.place(), seconds, threads=len(clients))["requests"]

    def one():
        work(1)
        return cost_of(gateway.pid, lambda: work(stand.options.seconds))

    return one


def apart(stand):
    """With processors to spare each loop has its own, and the rates are compared."""
    *others, last, very_last = stand.allowed
    clients, apps = others[1:], others[:1]
    with stand.gateway() as single, stand.gateway(cpus=[last, very_last]) as double:
        with placed(tree(stand.app.pid), apps):
            subjects = {"one": measured(stand, single, clients), "two": measured(stand, double, clients)}
            found = rounds(subjects, stand.options.rounds)
    gained = ratio(found["two"].rates, found["one"].rates)
    return found, gained, "requests for each second, all on processors of their own"


def shared(stand):
    """With two processors all share both: what two loops could do follows from what a request costs with them."""
    with ExitStack() as stack:
        single = stack.enter_context(stand.gateway())
        double = stack.enter_context(stand.gateway(cpus=stand.allowed))
        everyone = [*tree(single.pid), *tree(stand.app.pid)]
        stack.enter_context(placed(everyone, stand.allowed))
        subjects = {"one": measured(stand, single, stand.clients), "two": measured(stand, double, stand.clients)}
        found = rounds(subjects, stand.options.rounds)
    gained = 2 * ratio(found["one"].costs, found["two"].costs)
    return found, gained, "two times the requests for each second of CPU, since all share the processors here"


def two(stand):
    """two event loops against one"""
    enough = len(stand.allowed) >= 5
    found, gained, note = apart(stand) if enough else shared(stand)
    shown = {name: f"{microseconds(one.cost)}, {one.rate:.0f}/s" for name, one in found.items()}
    yield Row(
        "loops", f"two event loops against one, {note}", shown["two"], f"Gatehouse with one {shown['one']}", gained,
        "times one", least=1.8
    )
