# SPDX-License-Identifier: Apache-2.0
"""Whether a request costs the same however much there is: routes, stored sessions, providers."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

from client import Browser
from measure import ratio, rounds
from report import Row, microseconds

from .protocols import requests

FLAT = 1.1


def compared(environment, name, what, few, many, places=(None, None)):
    """The cost of a request at two gateways that differ in one thing."""
    subjects = {
        "few": requests(environment, few.pid, places[0] or few.place()),
        "many": requests(environment, many.pid, places[1] or many.place()),
    }
    found = rounds(subjects, environment.options.rounds)
    yield Row(
        name, f"CPU for each request, {what}", microseconds(found["many"].cost),
        f"Gatehouse with one {microseconds(found['few'].cost)}", ratio(found["many"].costs, found["few"].costs),
        "times with one", most=FLAT
    )


def routes(environment):
    """one route against 10,000"""
    many = environment.options.routes
    with environment.gateway() as one, environment.gateway(routes=many) as other:
        yield from compared(environment, "routes", f"{many:,} routes against one", one, other)


def providers(environment):
    """one provider against 200"""
    many = environment.options.providers
    with environment.gateway() as one, environment.gateway(providers=many) as other:
        yield from compared(environment, "providers", f"{many:,} providers against one", one, other)


def fill(path, wanted):
    """Adds copies of the one real session, each with other random bytes."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        columns = database.execute("PRAGMA table_info(session)").fetchall()
        indices = database.execute("SELECT name, sql FROM sqlite_master WHERE tbl_name = 'session' AND type = 'index'")
        indices = [(name, sql) for name, sql in indices if sql]
        values = [
            f"randomblob(length({name}))" if kind == "BLOB" else name for _, name, kind, *_ in columns
        ]
        database.execute("PRAGMA synchronous = OFF")
        database.execute("PRAGMA cache_size = -400000")
        database.execute("BEGIN")
        for name, _ in indices:
            database.execute(f"DROP INDEX {name}")
        numbers = f"WITH RECURSIVE number(n) AS (VALUES(1) UNION ALL SELECT n + 1 FROM number WHERE n < {wanted - 1})"
        real = "(SELECT * FROM session LIMIT 1)"
        database.execute(f"INSERT INTO session {numbers} SELECT {', '.join(values)} FROM number, {real}")
        for _, sql in indices:
            database.execute(sql)
        database.execute("COMMIT")
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return database.execute("SELECT COUNT(*) FROM session").fetchone()[0]


def sessions(environment):
    """one stored session against 1,000,000; all requests are from one user"""
    with environment.gateway() as one, environment.gateway() as other:
        other.stop()
        stored = fill(other.database, environment.options.stored)
        other.start()
        yield from compared(environment, "sessions", f"{stored:,} stored sessions against one", one, other)


def signed_in(gateway, count):
    """The cookies of this many users who really signed in."""
    def one(number):
        with Browser(gateway.port, f"user{number}") as browser:
            browser.sign_in()
            return browser.cookie

    with ThreadPoolExecutor(8) as pool:
        return tuple(pool.map(one, range(count)))


def many_sessions(environment):
    """requests of one user against requests of many users in turn"""
    many = environment.options.users
    with environment.gateway() as one, environment.gateway() as other:
        cookies = signed_in(other, many)
        # Two cookies of one session, so that wrk does the same work for both.
        places = one.place(cookies=[one.cookie, one.cookie]), other.place(cookies=cookies)
        yield from compared(environment, "many-sessions", f"{many:,} users in turn against one", one, other, places)
