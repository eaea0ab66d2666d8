# SPDX-License-Identifier: Apache-2.0
"""What logs and traces cost a request, and what a change has cost: two gateways that differ in one thing."""

from measure import ratio, rounds
from processes import Skip
from report import Row, microseconds

from .protocols import requests

#: A collector that refuses each connection, so that spans are made, encoded and dropped.
TRACING = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_TRACES_SAMPLER": "always_on"}


def against(environment, name, what, other, one, most=None, beside="off"):
    subjects = {"with": requests(environment, other.pid, other.place()), "without": requests(environment, one.pid, one.place())}
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
        yield from against(environment, "before", "against --before", other, one, 1.01, beside="before")
    with environment.gateway(program=program) as one, environment.gateway(logs={"format": "json"}) as other:
        yield from against(environment, "before", "with an access log, against --before", other, one, 1.05, beside="before")
