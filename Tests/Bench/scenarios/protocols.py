# SPDX-License-Identifier: Apache-2.0
"""A request of a signed-in user, beside nginx that only proxies: CPU for each request, by protocol."""

from client import offers_http2
from measure import cost_of, ratio, rounds
from processes import Skip
from report import Row, microseconds

TARGETS = {"h1": 1.0, "h1-tls": 1.0, "h2-tls": 0.85}
NAMES = {
    "h1": "HTTP/1.1", "h1-tls": "HTTP/1.1 over TLS", "h2-tls": "HTTP/2 over TLS", "h2-go": "HTTP/2 over TLS, Go's client"
}


def requests(environment, pid, place, protocol="h1"):
    """A measurement of one program: first it is warmed up."""
    generator, seconds = environment.generator, environment.options.seconds

    def work(length):
        if protocol == "h2-tls":
            return generator.h2load(place, length)
        if protocol == "h2-go":
            return generator.hey(place, length)
        return generator.wrk(place, length)["requests"]

    def measured():
        work(1)
        return cost_of(pid, lambda: work(seconds))

    return measured


def beside_nginx(environment, protocol):
    with environment.gateway() as gateway:
        if protocol == "h2-tls" and not offers_http2(gateway.secure_port):
            raise Skip("this program does not offer HTTP/2 by ALPN")
        subjects = {
            "nginx": requests(environment, environment.beside.pid, environment.beside.place(protocol), protocol),
            "ours": requests(environment, gateway.pid, gateway.place(protocol), protocol),
        }
        found = rounds(subjects, environment.options.rounds)
    ours, nginx = found["ours"], found["nginx"]
    yield Row(
        protocol,
        f"{NAMES[protocol]}, CPU for each request; nginx has no sign-in",
        f"{microseconds(ours.cost)}, {ours.rate:.0f}/s",
        f"nginx {microseconds(nginx.cost)}, {nginx.rate:.0f}/s",
        ratio(ours.costs, nginx.costs),
        "of nginx",
        most=TARGETS[protocol],
    )


def h1(environment):
    """authenticated HTTP/1.1 beside nginx"""
    return beside_nginx(environment, "h1")


def h1_tls(environment):
    """authenticated HTTP/1.1 over TLS beside nginx"""
    return beside_nginx(environment, "h1-tls")


def h2_tls(environment):
    """authenticated HTTP/2 over TLS beside nginx; skipped if HTTP/2 is not offered"""
    return beside_nginx(environment, "h2-tls")
