#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the session stores with a million sessions in them: size, start, look-ups, and a sweep.

    stored.py                           both stores, with the program in .build/release
    stored.py --stores redis            one of them
    stored.py --sessions 100000         fewer sessions

Some hundred users really sign in; all other sessions are copies of the first one with other keys, families and users,
written into the stopped store. A look-up is the first request of a session at a gateway that has just started, so that
its session is in no cache; the second one is a request whose session is cached. Needs Debian's nginx-light, openssl,
redis-server and wrk. All listens on 127.0.0.1 and is stopped at the end.
"""
import argparse
import base64
import os
import socket
import sqlite3
import statistics
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import bench
from client import Wire
from measure import cpu_seconds
from processes import Trouble, eventually, free_ports, program
from scenarios.flat import fill, signed_in
from scenarios.start import responds
from servers import Environment

# How many users really sign in, and how often the gateway is started to measure their look-ups.
REAL, STARTS = 300, 5
# How many of the sessions have expired when the sweep begins.
EXPIRED = 10_000


class SQLite:
    """The file of a gateway."""

    name = "SQLite"

    def __init__(self, environment, gateway):
        self.gateway = gateway

    def fill(self, wanted):
        """Copies of a session up to this many; called while no gateway runs. Returns the size for each in bytes."""
        found = fill(self.gateway.database, wanted)
        if found < wanted:
            raise Trouble(f"the file has {found} sessions only")
        return self.gateway.database.stat().st_size / found

    def _run(self, statement):
        with closing(sqlite3.connect(self.gateway.database)) as database, database:
            return database.execute(statement).fetchone()

    def expire(self, count):
        self._run(f"UPDATE session SET expires = {int(time.time()) - 600} WHERE key IN (SELECT key FROM session "
                  f"WHERE rowid > {REAL + 1} LIMIT {count})")

    def expired(self):
        return self._run(f"SELECT COUNT(*) FROM session WHERE expires < {int(time.time())}")[0]

    def server(self):
        """The process of the store beside the gateway, or None."""
        return None


class Redis:
    """A Redis server without a file."""

    name = "Redis"

    def __init__(self, environment, gateway):
        [self.port] = free_ports(1)
        command = [program("redis-server"), "--port", self.port, "--bind", "127.0.0.1", "--save", ""]
        self.child = environment.children.start("redis", command, environment.clients)
        self.child.wait_listening(self.port)
        self.socket = socket.create_connection(("127.0.0.1", self.port))
        self.replies = self.socket.makefile("rb")
        gateway.configuration["sessions"]["store"] = f"redis://127.0.0.1:{self.port}"

    def _reply(self):
        line = self.replies.readline()[:-2]
        kind, rest = line[:1], line[1:]
        if kind == b"-":
            raise Trouble(f"Redis: {rest.decode()}")
        if kind == b"$":
            return None if rest == b"-1" else self.replies.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return [self._reply() for _ in range(int(rest))]
        return int(rest) if kind == b":" else rest

    def run(self, *words):
        self.socket.sendall(encoded(*words))
        return self._reply()

    def _memory(self):
        lines = self.run("INFO", "memory").decode().splitlines()
        return int(next(line for line in lines if line.startswith("used_memory:")).partition(":")[2])

    def _copied(self):
        """The commands that write what one sign-in has written, and the hashes in it, by which its parts belong together."""
        hashes, commands = set(), []
        for key in sorted(self.run("KEYS", "gatehouse:*")):
            kind, left = self.run("TYPE", key), self.run("PTTL", key)
            tail = key.rpartition(b":")[2]
            if len(tail) == 43:
                hashes.add(tail)
            if kind == b"string":
                commands.append(encoded("SET", key, self.run("GET", key)))
            elif kind == b"hash":
                commands.append(encoded("HSET", key, *self.run("HGETALL", key)))
            elif kind == b"set":
                commands.append(encoded("SADD", key, *self.run("SMEMBERS", key)))
            elif kind == b"zset":
                pairs = self.run("ZRANGE", key, "0", "-1", "WITHSCORES")
                commands.append(encoded("ZADD", key, *(word for pair in zip(pairs[1::2], pairs[::2]) for word in pair)))
            if left > 0 and len(tail) == 43:
                commands.append(encoded("PEXPIRE", key, left))
        return hashes, commands

    def fill(self, wanted):
        hashes, commands = self._copied()
        count, commands, before = len(commands), b"".join(commands), self._memory()
        held = self.run("ZCARD", "gatehouse:expires")
        waiting = 0
        for number in range(wanted - held):
            self.socket.sendall(with_other_hashes(commands, hashes))
            waiting += count
            if waiting > 20_000 or number == wanted - held - 1:
                for _ in range(waiting):
                    self._reply()
                waiting = 0
        found = self.run("ZCARD", "gatehouse:expires")
        if found < wanted:
            raise Trouble(f"Redis has {found} sessions only")
        return (self._memory() - before) / (found - held)

    def expire(self, count):
        """Lets sessions expire as in Redis: their records have gone, their keys are still in the indexes."""
        # Those that end first are copies; who has really signed in did so later.
        keys = self.run("ZRANGE", "gatehouse:expires", 0, count - 1)
        past = int(time.time()) - 600
        for key in keys:
            self.run("DEL", b"gatehouse:s:" + base64url(key))
            self.run("ZADD", "gatehouse:expires", past, key)

    def expired(self):
        return self.run("ZCOUNT", "gatehouse:expires", "-inf", int(time.time()))

    def server(self):
        return self.child.pid


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def with_other_hashes(commands, hashes):
    """A copy in which each of the hashes, given in base64url, is another one, in base64url and as bytes."""
    for tail in hashes:
        fresh = os.urandom(32)
        commands = commands.replace(tail, base64url(fresh)).replace(base64.urlsafe_b64decode(tail + b"="), fresh)
    return commands


def encoded(*words):
    """A command as Redis reads it."""
    parts = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%b\r\n" % (len(part), part) for part in parts)


STORES = {"sqlite": SQLite, "redis": Redis}


def milliseconds(times):
    """The median and the 99th percentile, in milliseconds."""
    times = sorted(times)
    return f"{1000 * statistics.median(times):.2f} / {1000 * times[int(len(times) * 0.99)]:.2f} ms"


def started(gateway):
    """Starts a gateway again; the seconds to its first response."""
    gateway.stop()
    began = time.monotonic()
    gateway.launch()
    eventually(lambda: gateway.child.alive() and responds(gateway.port), "the first response", 60)
    return time.monotonic() - began


def look_ups(gateway, cookies):
    """The times of the first and of the second request of each session, on one connection."""
    first, second = [], []
    with Wire(gateway.port) as wire:
        wire.ask("GET", "/page", {"Cookie": gateway.cookie})
        for cookie in cookies:
            for times in (first, second):
                began = time.perf_counter()
                response = wire.ask("GET", "/page", {"Cookie": cookie})
                times.append(time.perf_counter() - began)
                if response.status != 200:
                    raise Trouble(f"a signed-in user gets {response.status}")
    return first, second


def sweep(gateway, store):
    """Seconds that a sweep takes, and its CPU time in the gateway and in the server of the store."""
    gateway.stop()
    store.expire(EXPIRED)
    gateway.start()
    all_expired = store.expired()
    processes = [gateway.pid] + ([store.server()] if store.server() else [])
    before = [cpu_seconds(one) for one in processes]
    # Once a minute; looking itself costs the server of the store a little.
    while store.expired() == all_expired:
        time.sleep(0.02)
        before = [cpu_seconds(one) for one in processes]
    began = time.monotonic()
    eventually(lambda: store.expired() == 0, "the sweep ends", 60)
    took = time.monotonic() - began
    return took, [cpu_seconds(one) - was for one, was in zip(processes, before)]


def measure(environment, kind, wanted):
    with environment.gateway() as gateway:
        gateway.stop()
        gateway.cookie = None
        store = STORES[kind](environment, gateway)
        if kind == "sqlite":
            for file in gateway.database.parent.glob("sessions.db*"):
                file.unlink()
        gateway.start()
        if kind == "sqlite":
            gateway.stop()
        size = store.fill(wanted)
        if kind == "sqlite":
            gateway.start()
        print(f"{store.name}: {wanted:,} sessions, {size:,.0f} bytes each, {size * wanted / 1e6:,.0f} MB", flush=True)
        cookies = signed_in(gateway, REAL)
        times, first, second = [], [], []
        for _ in range(STARTS):
            times.append(started(gateway))
            more = look_ups(gateway, cookies)
            first += more[0]
            second += more[1]
        print(f"  start to the first response, median of {STARTS}: {statistics.median(times):.3f} s")
        print(f"  request with a look-up, p50 / p99 of {len(first)}: {milliseconds(first)}; cached {milliseconds(second)}")
        differences = [max(0, one - statistics.median(second)) for one in first]
        print(f"  so a look-up takes p50 / p99: {milliseconds(differences)}", flush=True)
        took, costs = sweep(gateway, store)
        shown = " + ".join(f"{1000 * cost:.0f}" for cost in costs)
        print(f"  sweep of {EXPIRED:,} expired sessions: {1000 * took:.0f} ms, CPU {shown} ms", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gateway", default=None, help="the built program")
    parser.add_argument("--sessions", type=int, default=1_000_000)
    parser.add_argument("--stores", default=",".join(STORES), help="stores, with a comma between them")
    found = parser.parse_args()
    options = bench.options_of(["--gateway", found.gateway] if found.gateway else [])
    options.keep = False
    environment = Environment(options, Path(tempfile.mkdtemp(prefix="gatehouse-stored-")))
    try:
        environment.start()
        for kind in found.stores.split(","):
            measure(environment, kind, found.sessions)
    except Trouble as error:
        sys.exit(f"stored.py: {error}")
    finally:
        environment.clean_up()


if __name__ == "__main__":
    main()
