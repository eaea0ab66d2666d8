# SPDX-License-Identifier: Apache-2.0
"""Two event loops against one; the gateway has as many as processors that it may use when it starts."""

from contextlib import ExitStack
from dataclasses import replace

from measure import cost_of, ratio, rounds, tree
from processes import placed
from report import Row, microseconds


def measured(environment, gateway, clients):
    generator = replace(environment.generator, cpus=clients, connections=environment.generator.connections * 2)

    def work(seconds):
        return generator.wrk(gateway.place(), seconds, threads=len(clients))["requests"]

    def one():
        work(1)
        return cost_of(gateway.pid, lambda: work(environment.options.seconds))

    return one


def apart(environment):
    """With processors to spare each loop has its own, and the rates are compared."""
    *others, last, very_last = environment.allowed
    clients, apps = others[1:], others[:1]
    with environment.gateway() as single, environment.gateway(cpus=[last, very_last]) as double:
        with placed(tree(environment.app.pid), apps):
            subjects = {"one": measured(environment, single, clients), "two": measured(environment, double, clients)}
            found = rounds(subjects, environment.options.rounds)
    gained = ratio(found["two"].rates, found["one"].rates)
    return found, gained, "requests for each second, all on processors of their own"


def shared(environment):
    """With two processors all share both: what two loops could do follows from what a request costs with them."""
    with ExitStack() as stack:
        single = stack.enter_context(environment.gateway())
        double = stack.enter_context(environment.gateway(cpus=environment.allowed))
        everyone = [*tree(single.pid), *tree(environment.app.pid)]
        stack.enter_context(placed(everyone, environment.allowed))
        subjects = {"one": measured(environment, single, environment.clients), "two": measured(environment, double, environment.clients)}
        found = rounds(subjects, environment.options.rounds)
    gained = 2 * ratio(found["one"].costs, found["two"].costs)
    return found, gained, "two times the requests for each second of CPU, since all share the processors here"


def two(environment):
    """two event loops against one"""
    enough = len(environment.allowed) >= 5
    found, gained, note = apart(environment) if enough else shared(environment)
    shown = {name: f"{microseconds(one.cost)}, {one.rate:.0f}/s" for name, one in found.items()}
    yield Row(
        "loops", f"two event loops against one, {note}", shown["two"], f"Gatehouse with one {shown['one']}", gained,
        "times one", least=1.8
    )
