# SPDX-License-Identifier: Apache-2.0
"""What a program and its children cost, from /proc; and how costs are compared."""

import os
import re
import statistics
import time
from dataclasses import dataclass, field
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")


def tree(pid):
    """A process and all below it."""
    found, waiting = [], [pid]
    while waiting:
        one = waiting.pop()
        found.append(one)
        try:
            for thread in os.listdir(f"/proc/{one}/task"):
                children = Path(f"/proc/{one}/task/{thread}/children").read_text()
                waiting += map(int, children.split())
        except OSError:
            continue
    return found


def cpu_seconds(pid):
    """User and system time, that of ended threads included."""
    ticks = 0
    for one in tree(pid):
        try:
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += int(fields[11]) + int(fields[12])
    return ticks / TICK


class Others:
    """How much of the machine programs that are not ours use meanwhile, and its host; more than a little disturbs."""

    def __init__(self):
        self.busy, self.own, self.began = machine_seconds(), own_seconds([]), time.monotonic()

    def share(self, running):
        """The part of all processors; `running` are the processes of ours that have not ended."""
        others = machine_seconds() - self.busy - (own_seconds(running) - self.own)
        return max(0, others) / (time.monotonic() - self.began) / os.cpu_count()


def machine_seconds():
    """Time that all processors were not idle, time that the host gave to others included."""
    ticks = list(map(int, Path("/proc/stat").read_text().splitlines()[0].split()[1:9]))
    # Fields 3 and 4 are idle time and waiting for disks. proc(5)
    return (sum(ticks) - ticks[3] - ticks[4]) / TICK


def own_seconds(running):
    """Time of this process, of its children that have ended, and of those that run."""
    ended = sum(os.times()[:4])
    return ended + sum(map(cpu_seconds, running))


def status_kib(pid, name):
    total = 0
    for one in tree(pid):
        try:
            text = Path(f"/proc/{one}/status").read_text()
        except OSError:
            continue
        found = re.search(rf"^{name}:\s+(\d+)", text, re.M)
        total += int(found[1]) if found else 0
    return total


def rss_kib(pid):
    """Resident memory."""
    return status_kib(pid, "VmRSS")


def peak_kib(pid):
    """The most resident memory since `forget_peak`."""
    return status_kib(pid, "VmHWM")


def forget_peak(pid):
    for one in tree(pid):
        Path(f"/proc/{one}/clear_refs").write_text("5")


def descriptors(pid):
    """Open files, sockets included."""
    return sum(len(os.listdir(f"/proc/{one}/fd")) for one in tree(pid))


def settled_rss_kib(pid, quiet=0.4, seconds=5):
    """Resident memory once it is constant."""
    deadline, since, last = time.monotonic() + seconds, time.monotonic(), rss_kib(pid)
    while time.monotonic() < deadline:
        time.sleep(0.05)
        now = rss_kib(pid)
        if abs(now - last) > 64:
            since, last = time.monotonic(), now
        if time.monotonic() - since > quiet:
            break
    return rss_kib(pid)


@dataclass
class Samples:
    """One program in all rounds: CPU seconds for each unit of work, and units in each second."""

    costs: list = field(default_factory=list)
    rates: list = field(default_factory=list)

    @property
    def cost(self):
        return statistics.median(self.costs)

    @property
    def rate(self):
        return statistics.median(self.rates)


def cost_of(pid, work):
    """CPU seconds for each unit of `work()`, which gives how many units it did, and units in each second.

    With several processes, those of all together.
    """
    pids = [pid] if isinstance(pid, int) else pid
    began, before = time.monotonic(), sum(map(cpu_seconds, pids))
    count = work()
    return (sum(map(cpu_seconds, pids)) - before) / count, count / (time.monotonic() - began)


def rounds(subjects, count):
    """Measures each target once in each round, in an order that alternates.

    `subjects` maps a name to a function that gives cost and rate; what comes back maps the name to its samples.
    """
    samples = {name: Samples() for name in subjects}
    for number in range(count):
        names = list(subjects) if number % 2 == 0 else list(reversed(subjects))
        for name in names:
            cost, rate = subjects[name]()
            samples[name].costs.append(cost)
            samples[name].rates.append(rate)
    return samples


def ratio(ours, theirs):
    """The median of the ratios of the rounds; what disturbs a whole round weighs on both."""
    return statistics.median(one / other for one, other in zip(ours, theirs, strict=True) if other)
