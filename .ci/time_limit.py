#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command, and ends it with all processes of its session when it takes too long: time_limit.py SECONDS COMMAND...

`swift test` gives the test program a process group of its own, so a group is not all of them.

Of a `swift test` that is ended it names the tests that have begun and not finished, since one of them hangs.
"""
import os
import re
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

BEGUN = re.compile(r"^\S+ (Test .+) started\.$")
FINISHED = re.compile(r"^\S+ (Test .+?)(?: with \d+ test cases?)? (?:passed|failed) after ")
LIMIT_EXIT = 124


def unfinished(lines):
    """The tests that have begun and not finished, in the order in which they began."""
    running = Counter()
    for line in lines:
        if found := BEGUN.match(line):
            running[found[1]] += 1
        elif found := FINISHED.match(line):
            running[found[1]] -= 1
    return [name for name, count in running.items() if count > 0 and name != "Test run"]


def members(session):
    """The processes of a session that have not ended."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            # The name in parentheses may have spaces and parentheses too: proc(5).
            state, _, _, number = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
        except (OSError, ValueError):
            continue
        if int(number) == session and state not in "ZX":
            yield int(folder.name)


def kill(session):
    """Kills the processes of a session, and those that they have started meanwhile."""
    while found := list(members(session)):
        for process in found:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass


def main():
    seconds, *command = sys.argv[1:]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    child = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)
    overdue = threading.Event()

    def end():
        overdue.set()
        kill(child.pid)

    timer = threading.Timer(float(seconds), end)
    timer.daemon = True
    timer.start()
    lines = []
    try:
        for data in child.stdout:
            sys.stdout.buffer.write(data)
            sys.stdout.flush()
            lines.append(data.decode(errors="replace").rstrip())
        code = child.wait()
    finally:
        timer.cancel()
        if child.poll() is None:
            kill(child.pid)
    if not overdue.is_set():
        return code if code >= 0 else 128 - code
    print(f"time_limit: ended after {seconds} s: {' '.join(command)}", file=sys.stderr)
    for name in unfinished(lines):
        print(f"time_limit: not finished: {name}", file=sys.stderr)
    return LIMIT_EXIT


if __name__ == "__main__":
    sys.exit(main())
