# SPDX-License-Identifier: Apache-2.0
"""Starts and stops the programs that a test needs; waits for conditions, never for a time."""

import itertools
import os
import random
import re
import socket
import subprocess
import threading
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]


def eventually(condition, what, seconds=10):
    """The first true value of `condition()`, asked until the deadline."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            value = condition()
        except OSError:
            value = None
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.01)


#: Ports below those that the kernel gives to connections, which thousands of test clients use up; a node of a Redis
#: cluster also takes the port 10,000 above its own.
PORTS = range(10_000, 20_000)


def ports_of(worker, workers):
    """The ports of one of the workers of a run: as many for each, and none for two of them."""
    count = len(PORTS) // workers
    return PORTS[worker * count:(worker + 1) * count]


def own_ports():
    """The ports of this worker; pytest-xdist names them gw0, gw1 and so on."""
    worker = int(re.sub(r"\D", "", os.environ.get("PYTEST_XDIST_WORKER", "")) or 0)
    return ports_of(worker, max(worker + 1, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 1))))


# Anywhere, so that two runs at a time on one machine seldom meet.
_places = itertools.count(random.randrange(len(PORTS)))


def free_port():
    """A free port of 127.0.0.1, of a range of this worker's own, that this function has not returned for a long time."""
    ports = own_ports()
    for _ in ports:
        port = ports[next(_places) % len(ports)]
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
    raise OSError(f"none of the ports {ports[0]} to {ports[-1]} is free")


def consecutive_ports(count):
    """The first of this many consecutive free ports."""
    while True:
        first = free_port()
        if first + count - 1 not in own_ports():
            continue
        probes = [socket.socket() for _ in range(count)]
        try:
            for offset, probe in enumerate(probes):
                probe.bind(("127.0.0.1", first + offset))
        except OSError:
            continue
        finally:
            for probe in probes:
                probe.close()
        for _ in range(count - 1):
            next(_places)
        return first


def listens(port):
    """Whether a port accepts connections."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def accept(listener, serve):
    """Calls `serve` with each connection of a listening socket, in a thread for each, until the socket is closed."""
    def loop():
        while True:
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(sock, ), daemon=True).start()

    threading.Thread(target=loop, daemon=True).start()


class Service:
    """What starts at the beginning of a `with` and stops at its end."""
    def __enter__(self):
        return self.start()

    def __exit__(self, *error):
        self.stop()


class Process:
    """A program that writes to a log file and is stopped by its process id."""
    def __init__(self, command, folder, name, env=None, cwd=None):
        self.name = name
        self.log_path = Path(folder) / f"{name}.log"
        self._log = open(self.log_path, "ab")
        self.child = subprocess.Popen(
            [str(part) for part in command],
            stdout=self._log,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **(env or {})},
            cwd=cwd,
        )

    @property
    def pid(self):
        return self.child.pid

    @property
    def log(self):
        return self.log_path.read_text(errors="replace")

    def wait_listening(self, port, seconds=20):
        def ready():
            assert self.child.poll() is None, f"{self.name} ended with {self.child.returncode}:\n{self.log[-3000:]}"
            return listens(port)

        eventually(ready, f"{self.name} listens on {port}", seconds)

    def stop(self, seconds=20):
        """Stops the program by SIGTERM; returns its exit code."""
        if self.child.poll() is None:
            self.child.terminate()
            try:
                self.child.wait(seconds)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()
                raise AssertionError(f"{self.name} did not end within {seconds} s of SIGTERM:\n{self.log[-3000:]}")
        self._log.close()
        return self.child.returncode


def nginx(folder, name, http):
    """An nginx with this `http` block."""
    folder = Path(folder)
    conf = folder / f"{name}.conf"
    # Folders of tests are for their owner only.
    user = "user root; " if os.geteuid() == 0 else ""
    conf.write_text(
        f"{user}worker_processes 1; daemon off; pid {folder}/{name}.pid; error_log {folder}/{name}.err;\n"
        "events { worker_connections 1024; }\n"
        f"http {{ access_log off; client_body_temp_path {folder}/{name}-body; proxy_temp_path {folder}/{name}-proxy;\n"
        f"fastcgi_temp_path {folder}/{name}-f; uwsgi_temp_path {folder}/{name}-u; scgi_temp_path {folder}/{name}-s;\n"
        f"{http}\n}}\n"
    )
    return Process(["nginx", "-c", conf], folder, name)


def certificate(folder, name, *hosts):
    """A self-made certificate for these hosts: its file and its key's."""
    folder = Path(folder)
    names = ",".join(("IP:" if host.replace(".", "").isdigit() else "DNS:") + host for host in hosts)
    subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
            "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.pem", "-subj", f"/CN={hosts[0]}", "-addext",
            f"subjectAltName={names}",
        ],
        check=True,
        capture_output=True,
    )
    return str(folder / f"{name}.pem"), str(folder / f"{name}.key")
