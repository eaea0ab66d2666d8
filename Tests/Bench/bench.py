#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the gateway beside nginx, on the same app, with the same client, in one run.

What is measured has one processor, the last; clients and app have others, or share the first. The figure that counts
is the CPU time of the measured program for each request, from /proc, since that holds on a noisy machine. Each round
measures each target once, in turn, and the figure is the median of the rounds' ratios. docs/performance.md explains it.

    bench.py                                     everything, with the program in .build/release
    bench.py --only h1,routes                    some scenarios; --list names them
    bench.py --quick                             shorter, smaller, within three minutes; for trying, not for judging
    bench.py --write docs/performance.md         puts the table into the document
    bench.py --check                             exits 1 if a target is missed
    bench.py --envoy /usr/local/bin/envoy        with Envoy's oauth2 filter as well

Needs Debian's hey, nginx-light, nghttp2-client, openssl and wrk. All listens on 127.0.0.1, at ports that are free, and is
stopped at the end.
"""
import argparse
import shlex
import signal
import sys
import tempfile
from pathlib import Path

import report
from measure import Others
from processes import Skip, Trouble, more_descriptors, program
from scenarios import ALL
from servers import Environment

# The part of the machine that others may use before the figures are doubtful.
LOUD = 0.05
# What --quick changes.
QUICK = {
    "rounds": 2, "seconds": 1, "stored": 100_000, "users": 200, "idle": 1000, "bulk": 256, "sign_ins": 60, "limit": 180
}


def parser():
    found = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = found.add_argument
    add("--gateway", type=Path, default=report.REPOSITORY / ".build/release/gatehouse", help="the built program")
    add("--only", default=",".join(ALL), help="scenarios, with commas between them")
    add("--list", action="store_true", help="name the scenarios and end")
    add("--quick", action="store_true", help="short rounds and small numbers")
    add("--check", action="store_true", help="exit 1 if a target is missed")
    add("--write", type=Path, metavar="FILE", help="put the table into a document")
    add("--json", type=Path, metavar="FILE", help="write the figures for programs")
    add("--envoy", type=Path, help="an Envoy to measure beside")
    add("--before", type=Path, help="a program to measure against")
    add("--keep", action="store_true", help="keep the folder with configurations and logs")
    add("--rounds", type=int, default=3)
    add("--seconds", type=int, default=4, help="how long one measurement takes")
    add("--connections", type=int, default=64, help="kept connections of the load")
    add("--routes", type=int, default=10_000)
    add("--providers", type=int, default=200)
    add("--stored", type=int, default=1_000_000, help="sessions in the store")
    add("--users", type=int, default=2000, help="users who are signed in at once")
    add("--idle", type=int, default=2000, help="idle connections")
    add("--bulk", type=int, default=1024, help="MiB of a large body")
    add("--sign-ins", type=int, default=600, help="sign-ins in one measurement")
    add("--limit", type=int, default=780, help="seconds that the whole run may take")
    return found


def options_of(arguments):
    found = parser()
    options = found.parse_args(arguments)
    if options.quick:
        for name, value in QUICK.items():
            if getattr(options, name) == found.get_default(name):
                setattr(options, name, value)
    options.only = options.only.split(",")
    if unknown := set(options.only) - set(ALL):
        found.error(f"there is no scenario {', '.join(sorted(unknown))}; --list names them")
    if options.write and (options.quick or set(options.only) != set(ALL)):
        found.error("--write is for complete runs: leave out --quick and --only")
    for file in (options.gateway, options.envoy, options.before):
        if file and not options.list and not file.exists():
            found.error(f"there is no {file}; `make build` builds the gateway, --gateway names another")
    options.gateway = options.gateway.resolve()
    options.descriptors = more_descriptors()
    return options


def measure(environment, name):
    """The rows of one scenario; one row with the reason if it cannot be measured."""
    rows = []
    try:
        for row in ALL[name](environment):
            print(report.line(row), flush=True)
            rows.append(row)
    except Skip as reason:
        row = report.Row(name, ALL[name].__doc__.split(";")[0], note=f"skipped: {reason}")
        print(f"{name:13} skipped: {reason}", flush=True)
        rows.append(row)
    return rows


def run(options):
    """All rows of the chosen scenarios, and how much others used the machine; everything is stopped afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="gatehouse-measured-"))
    environment = Environment(options, folder)
    try:
        for name, package in (("nginx", "nginx-light"), ("wrk", None), ("h2load", "nghttp2-client")):
            program(name, package)
        others = Others()
        environment.start()
        rows = [row for name in ALL if name in options.only for row in measure(environment, name)]
        return rows, others.share([child.pid for child in environment.children.all])
    finally:
        environment.clean_up()


def out_of_time(*_):
    raise Trouble("the run takes longer than --limit allows; give it more, or name fewer scenarios with --only")


def ended(*_):
    raise KeyboardInterrupt


def main(arguments):
    options = options_of(arguments)
    if options.list:
        print("\n".join(f"{name:13} {function.__doc__}" for name, function in ALL.items()))
        return 0
    signal.signal(signal.SIGALRM, out_of_time)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, ended)
    signal.alarm(options.limit)
    try:
        rows, others = run(options)
    except Trouble as trouble:
        print(f"bench: {trouble}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("bench: ended before it was done", file=sys.stderr)
        return 130
    facts = report.circumstances(shlex.join(["Tests/Bench/bench.py", *arguments]), others)
    if others > LOUD:
        print(f"bench: other programs used {others:.0%} of this machine meanwhile; the figures are not to be trusted")
    if options.write:
        report.write(options.write, rows, facts)
    if options.json:
        report.write_json(options.json, rows, facts)
    missed = [row for row in rows if row.is_missed]
    print(f"bench: {len(missed)} of {len(rows)} figures miss their targets" if missed else "bench: no target is missed")
    return 1 if options.check and missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
