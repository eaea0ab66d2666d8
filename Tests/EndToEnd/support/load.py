# SPDX-License-Identifier: Apache-2.0
"""Clients that keep a gateway busy while something happens to it."""

import os
import re
import socket
import subprocess
import threading

from .raw import Wire


class Load:
    """Keep-alive clients that send one request after the other, and honour `Connection: close`.

    `failed` lists what went wrong: a response that is not 200, or none to a request that was sent. A connection that is
    refused, or closed before a request was sent on it, does not count as failed; `refused` counts them, and with
    `until_refused` such a client stops.
    """
    def __init__(
        self, port, clients=8, path="/public/load", host="gate.localhost", pause=0, until_refused=False, each=0, fields=""
    ):
        self.port, self.failed, self.count, self.refused, self.ended = port, [], 0, 0, threading.Event()
        self.until_refused, self.pause, self.each = until_refused, pause, each
        self.request = f"GET {path} HTTP/1.1\r\nHost: {host}\r\n{fields}\r\n".encode()
        self.threads = [threading.Thread(target=self._run, daemon=True) for _ in range(clients)]
        for thread in self.threads:
            thread.start()

    def _run(self):
        while not self.ended.is_set():
            try:
                wire = Wire(self.port, timeout=30)
            except (ConnectionRefusedError, ConnectionResetError):
                self.refused += 1
                if self.until_refused:
                    return
                self.ended.wait(0.01)
                continue
            with wire:
                self._talk(wire)

    def _talk(self, wire):
        sent = 0
        while not self.ended.is_set():
            if closed(wire):
                return
            try:
                wire.send(self.request)
                response = wire.response()
            except (OSError, AssertionError, ValueError) as error:
                self.failed.append(repr(error))
                return
            self.count += 1
            sent += 1
            if response is None or response.status != 200:
                self.failed.append("no response" if response is None else response.status)
                return
            if response.get("connection", "").lower() == "close" or sent == self.each:
                return
            if self.pause:
                self.ended.wait(self.pause)

    def end(self):
        self.ended.set()
        for thread in self.threads:
            thread.join(40)


class SteadyLoad:
    """This many requests a second by h2load over twenty kept connections, renewed every few seconds, until `end`.

    `failed` has the output of each h2load run in which not every request got 200.
    """
    clients = 20

    def __init__(self, port, per_second, path="/public/load", host="gate.localhost"):
        rate = per_second // self.clients
        self.command = ["h2load", "--h1", "-c", str(self.clients), "--rps", str(rate), "-n", str(per_second * 3),
                        f"--connect-to=127.0.0.1:{port}", f"http://{host}:{port}{path}"]
        self.failed, self.count, self.ended = [], 0, threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        while not self.ended.is_set():
            output = subprocess.run(self.command, capture_output=True, text=True, timeout=120).stdout
            total, done = map(int, re.search(r"requests: (\d+) total.* (\d+) succeeded", output).groups())
            self.count += done
            if done != total:
                self.failed.append(output)

    def end(self):
        self.ended.set()
        self.thread.join(130)


def closed(wire):
    """Whether the other side has closed an idle connection, so that nothing may be sent on it any more."""
    if wire.buffer:
        return False
    wire.socket.setblocking(False)
    try:
        return wire.socket.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True
    finally:
        wire.socket.settimeout(30)


def descriptors(gateway):
    """How many file descriptors the gateway has open."""
    return len(os.listdir(f"/proc/{gateway.process.pid}/fd"))


def processor_seconds(gateway):
    """How much processor time the gateway has used."""
    with open(f"/proc/{gateway.process.pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
