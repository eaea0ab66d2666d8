# SPDX-License-Identifier: Apache-2.0
"""What logs and traces cost a request, and what a change has cost: two gateways that differ in one thing."""

from measure import ratio, rounds
from processes import Skip
from report import Row, microseconds

from .protocols import NAMES, requests

#: A collector that refuses each connection, so that spans are made, encoded and dropped.
TRACING = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_TRACES_SAMPLER": "always_on"}

#: How many times as much as in the program of before a request may cost.
BEFORE = {"h1": 1.01, "h1-tls": 1.02, "h2-tls": 1.02}


def with_empty_log(gateway, measured):
    """A measurement that begins with an empty access log.

    Otherwise the kernel takes new memory for the file all the time, and the first write to memory that the host of a virtual
    machine has not provided yet costs seven times as much as any other: that is not the gateway's.
    """
    def emptied():
        gateway.empty_log()
        return measured()

    return emptied


def against(environment, name, what, other, one, most=None, beside="off", protocol="h1"):
    subjects = {
        "with": with_empty_log(other, requests(environment, other.pid, other.place(protocol), protocol)),
        "without": requests(environment, one.pid, one.place(protocol), protocol),
    }
    found = rounds(subjects, environment.options.rounds)
    yield Row(
        name, f"CPU for each request, {what}", microseconds(found["with"].cost),
        f"{beside} {microseconds(found['without'].cost)}", ratio(found["with"].costs, found["without"].costs),
        f"times {beside}", most=most
    )


def access_log(environment):
    """with an access log of each request, as JSON in a file, against none"""
    with environment.gateway() as one, environment.gateway(logs={"format": "json"}) as other:
        yield from against(environment, "access-log", "an access log of each, JSON, against none", other, one, 1.05)


def tracing(environment):
    """with a span of each request and of that to the app, against none"""
    with environment.gateway() as one, environment.gateway(variables=TRACING) as other:
        yield from against(environment, "tracing", "all of them traced, against none", other, one)


def before(environment):
    """this program against another one, such as that of the commit before; needs --before"""
    program = environment.options.before
    if not program:
        raise Skip("no program was named with --before")
    with environment.gateway(program=program) as one, environment.gateway() as other:
        for protocol, most in BEFORE.items():
            what = f"{NAMES[protocol]}, against --before"
            yield from against(environment, "before", what, other, one, most, beside="before", protocol=protocol)
    with environment.gateway(program=program) as one, environment.gateway(logs={"format": "json"}) as other:
        yield from against(environment, "before", "with an access log, against --before", other, one, 1.05, beside="before")
