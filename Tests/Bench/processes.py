# SPDX-License-Identifier: Apache-2.0
"""Programs that are pinned to processors, and ended by their process id whatever happens."""

import os
import resource
import shutil
import signal
import socket
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

# Debian has nginx where only root looks.
PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


class Trouble(Exception):
    """Something that a measurement needs is missing, or does not work."""


class Overdue(Trouble):
    """A program did not end in time."""


class Skip(Exception):
    """A scenario that cannot be measured here, and why."""


def program(name, package=None):
    """The path of a program; names its Debian package if it is missing."""
    found = shutil.which(name, path=PATH)
    if not found:
        raise Trouble(f"there is no {name}; it comes with the Debian package {package or name}")
    return found


def free_ports(count):
    """Free ports of 127.0.0.1, all different."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def eventually(condition, what, seconds=20):
    """The first true value of `condition()`; raises at the deadline."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise Trouble(f"not within {seconds} s: {what}")
        time.sleep(0.002)
    return value


def listens(port):
    """Whether a port accepts connections."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def more_descriptors(wanted=65536):
    """Lets this process and its children open many files; gives how many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for ceiling in (max(hard, wanted), hard):
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(ceiling, max(soft, wanted)), ceiling))
            break
        except (ValueError, OSError):
            continue
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def bound(command, cpus=None):
    """The command, which ends with this process even if this one is killed; on some processors only."""
    pinned = ["taskset", "-c", ",".join(map(str, cpus))] if cpus else []
    return ["setpriv", "--pdeathsig", "TERM", *pinned, *map(str, command)]


class Child:
    """A running program; its output is in a file."""

    def __init__(self, command, log, cpus, env=None):
        self.name, self.log_path = log.stem, log
        with open(log, "ab") as output:
            self.process = subprocess.Popen(
                bound(command, cpus),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, "PATH": PATH, **(env or {})},
            )

    @property
    def pid(self):
        return self.process.pid

    @property
    def log(self):
        return self.log_path.read_text(errors="replace")[-3000:]

    def wait_listening(self, *ports, seconds=20):
        """Waits until it accepts connections; raises if it ends instead."""
        for port in ports:
            eventually(lambda: self.alive() and listens(port), f"{self.name} listens on {port}", seconds)

    def alive(self):
        if self.process.poll() is not None:
            raise Trouble(f"{self.name} ended with {self.process.returncode}:\n{self.log}")
        return True

    def stop(self, seconds=8):
        """Asks it to end, and makes it end if it does not."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
        return self.process.returncode


class Children:
    """All programs of one run, so that none is left behind."""

    def __init__(self, folder):
        self.folder, self.all = folder, []

    def start(self, name, command, cpus, env=None):
        child = Child(command, self.folder / f"{name}.log", cpus, env)
        self.all.append(child)
        return child

    def stop(self, child):
        child.stop()
        if child in self.all:
            self.all.remove(child)

    def stop_all(self):
        for child in reversed(self.all):
            if child.process.poll() is None:
                child.process.terminate()
        for child in reversed(self.all):
            child.stop()
        self.all.clear()


def run(command, seconds, cpus=None, **options):
    """Runs a program to its end and gives what it wrote; bounded in time."""
    options.setdefault("env", {**os.environ, "PATH": PATH})
    process = subprocess.Popen(
        bound(command, cpus),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        **options,
    )
    try:
        output, _ = process.communicate(timeout=seconds)
    except BaseException as error:
        seen = thread_states(process.pid)
        process.kill()
        process.communicate()
        if isinstance(error, subprocess.TimeoutExpired):
            raise Overdue(f"not done within {seconds} s: {command[0]}; its threads: {seen}") from None
        raise
    return process.returncode, output


def thread_states(pid):
    """What each thread does: its state, where it waits, and its ticks in user mode and in the kernel."""
    found = []
    try:
        for thread in threads(pid):
            fields = Path(f"/proc/{pid}/task/{thread}/stat").read_text().rpartition(")")[2].split()
            waits = Path(f"/proc/{pid}/task/{thread}/wchan").read_text()
            found.append(f"{fields[0]} {waits} {fields[11]}+{fields[12]}")
    except OSError:
        found.append("gone")
    return ", ".join(found)


def threads(pid):
    return [int(name) for name in os.listdir(f"/proc/{pid}/task")]


@contextmanager
def placed(pids, cpus):
    """Lets running programs use other processors for a while."""
    before = {}
    for pid in pids:
        for thread in threads(pid):
            before[thread] = os.sched_getaffinity(thread)
            os.sched_setaffinity(thread, cpus)
    try:
        yield
    finally:
        for thread, allowed in before.items():
            try:
                os.sched_setaffinity(thread, allowed)
            except OSError:
                continue
