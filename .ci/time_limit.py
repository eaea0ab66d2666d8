#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command, and ends it with all its processes when it takes too long: time_limit.py SECONDS COMMAND...

Of a `swift test` that is ended it names the tests that have begun and not finished, since one of them hangs.
"""
import os
import re
import signal
import subprocess
import sys
import threading
from collections import Counter

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


def main():
    seconds, *command = sys.argv[1:]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    child = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)
    overdue = threading.Event()

    def end():
        overdue.set()
        os.killpg(child.pid, signal.SIGKILL)

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
            os.killpg(child.pid, signal.SIGKILL)
    if not overdue.is_set():
        return code if code >= 0 else 128 - code
    print(f"time_limit: ended after {seconds} s: {' '.join(command)}", file=sys.stderr)
    for name in unfinished(lines):
        print(f"time_limit: not finished: {name}", file=sys.stderr)
    return LIMIT_EXIT


if __name__ == "__main__":
    sys.exit(main())
