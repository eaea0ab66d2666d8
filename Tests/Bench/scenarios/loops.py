# SPDX-License-Identifier: Apache-2.0
"""Two event loops against one; the gateway has as many as processors that it may use when it starts."""

from contextlib import ExitStack
from dataclasses import replace

from measure import cost_of, ratio, rounds, tree
from processes import placed
from report import Row, microseconds


def measured(own_gateway, gateway, clients):
    generator = replace(own_gateway.generator, cpus=clients, connections=own_gateway.generator.connections * 2)

    def work(seconds):
        return generator.wrk(gateway.place(), seconds, threads=len(clients))["requests"]

    def one():
        work(1)
        return cost_of(gateway.pid, lambda: work(own_gateway.options.seconds))

    return one


def apart(own_gateway):
    """With processors to spare each loop has its own, and the rates are compared."""
    *others, last, very_last = own_gateway.allowed
    clients, apps = others[1:], others[:1]
    with own_gateway.gateway() as single, own_gateway.gateway(cpus=[last, very_last]) as double:
        with placed(tree(own_gateway.app.pid), apps):
            subjects = {"one": measured(own_gateway, single, clients), "two": measured(own_gateway, double, clients)}
            found = rounds(subjects, own_gateway.options.rounds)
    gained = ratio(found["two"].rates, found["one"].rates)
    return found, gained, "requests for each second, all on processors of their own"


def shared(own_gateway):
    """With two processors all share both: what two loops could do follows from what a request costs with them."""
    with ExitStack() as stack:
        single = stack.enter_context(own_gateway.gateway())
        double = stack.enter_context(own_gateway.gateway(cpus=own_gateway.allowed))
        everyone = [*tree(single.pid), *tree(own_gateway.app.pid)]
        stack.enter_context(placed(everyone, own_gateway.allowed))
        subjects = {"one": measured(own_gateway, single, own_gateway.clients), "two": measured(own_gateway, double, own_gateway.clients)}
        found = rounds(subjects, own_gateway.options.rounds)
    gained = 2 * ratio(found["one"].costs, found["two"].costs)
    return found, gained, "two times the requests for each second of CPU, since all share the processors here"


def two(own_gateway):
    """two event loops against one"""
    enough = len(own_gateway.allowed) >= 5
    found, gained, note = apart(own_gateway) if enough else shared(own_gateway)
    shown = {name: f"{microseconds(one.cost)}, {one.rate:.0f}/s" for name, one in found.items()}
    yield Row(
        "loops", f"two event loops against one, {note}", shown["two"], f"Gatehouse with one {shown['one']}", gained,
        "times one", least=1.8
    )
