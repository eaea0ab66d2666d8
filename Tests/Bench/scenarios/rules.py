# SPDX-License-Identifier: Apache-2.0
"""What rules cost a request: ten for each of many apps, against one app that admits every signed-in user."""

import statistics

from client import Wire
from measure import rounds
from processes import Trouble
from report import Row, microseconds

from .protocols import requests

APPS = 1000
#: Microseconds that ten rules may add to a request.
MOST = 2.0
#: Without it, the list of groups is not known to be complete, and an entry of `deny` with a group denies.
PROFILE = {"groups": ["id_token:/groups"]}


def entries(name):
    """Ten rules of an app. For a `GET` of `/page` by a user of `example.com`, only the last one decides."""
    return {
        "deny": [
            {"group": f"{name}-suspended"},
            {"path": "/admin/**", "not": {"group": f"{name}-admins"}},
            {"network": "192.0.2.0/24", "method": ["POST", "PUT", "PATCH", "DELETE"]},
        ],
        "allow": [
            {"group": f"{name}-owners"},
            {"group": f"{name}-editors", "method": ["GET", "HEAD", "POST"]},
            {"email_domain": "example.org", "path": "/shared/**"},
            {"email_domain": "example.com", "method": ["POST"], "time": {"days": "mon-fri", "hours": "07:00-19:00", "zone": "Europe/Berlin"}},
            {"path": "/**/*.pdf", "any": [{"group": f"{name}-readers"}, {"email_domain": "example.net"}]},
            {"network": "10.0.0.0/8", "path": "/internal/**"},
            {"email_domain": "example.com", "method": ["GET", "HEAD"], "not": {"path": "/restricted/**"}},
        ],
    }  # yapf: disable


def apps(count):
    """Apps with ten rules each: those of other hosts, and the one that is measured, which replaces the app of the pages."""
    others = {
        f"ruled{number}": {
            "host": f"app{number}.example.com", "providers": ["mock"], "upstream": "http://127.0.0.1:9",
            **entries(f"app{number}")
        }
        for number in range(1, count)
    }
    return {**others, "pages": entries("pages")}


def decides(gateway):
    """Raises if the rules are not in force: a gateway without them would be fast."""
    with Wire(gateway.port) as wire:
        for method, path, wanted in (("GET", "/page", 200), ("GET", "/restricted/page", 403), ("PUT", "/page", 403), ("GET", "/admin/page", 403)):
            status = wire.ask(method, path, {"Cookie": gateway.cookie}).status
            if status != wanted:
                raise Trouble(f"{method} {path} got {status} instead of {wanted}")


def difference(many, one):
    """The median of the differences of the rounds, in microseconds."""
    return statistics.median(more - less for more, less in zip(many, one, strict=True)) * 1e6


def ten_each(environment):
    """10,000 rules over 1,000 apps against one app that admits every signed-in user"""
    with environment.gateway(profile=PROFILE) as one, environment.gateway(profile=PROFILE, apps=apps(APPS)) as other:
        decides(other)
        subjects = {
            "one": requests(environment, one.pid, one.place()), "many": requests(environment, other.pid, other.place())
        }
        found = rounds(subjects, environment.options.rounds)
    one, many = found["one"], found["many"]
    yield Row(
        "rules", f"CPU for each request, {10 * APPS:,} rules over {APPS:,} apps against `allow: signed_in`",
        microseconds(many.cost), f"Gatehouse with one app {microseconds(one.cost)}", difference(many.costs, one.costs),
        "µs more", most=MOST
    )
