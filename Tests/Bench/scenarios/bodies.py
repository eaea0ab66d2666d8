# SPDX-License-Identifier: Apache-2.0
"""Large bodies down and up, passed on as they come: CPU for each MiB, and memory use."""

from client import Wire
from measure import cost_of, forget_peak, peak_kib, ratio, rounds, rss_kib
from processes import Trouble
from report import Row, microseconds

MIB = 1 << 20
BLOCK = bytes(MIB)
FLAT_MIB = 32


def down(place, size):
    """Downloads this many MiB."""
    buffer = bytearray(MIB)
    with Wire(place.port, timeout=60) as wire:
        lines = "".join(f"{name}: {value}\r\n" for name, value in place.fields.items())
        wire.socket.sendall(f"GET /bulk/{size * MIB} HTTP/1.1\r\nHost: 127.0.0.1\r\n{lines}\r\n".encode())
        status, _, _ = wire.head()
        left = size * MIB - len(wire.waiting)
        while status == 200 and left > 0:
            count = wire.socket.recv_into(buffer)
            if not count:
                break
            left -= count
    if status != 200 or left:
        raise Trouble(f"{place.url}: a body of {size} MiB got {status} and {left} bytes were missing")
    return size


def up(place, size):
    """Uploads this many MiB."""
    with Wire(place.port, timeout=60) as wire:
        lines = "".join(f"{name}: {value}\r\n" for name, value in place.fields.items())
        head = f"PUT /bulk/up HTTP/1.1\r\nHost: 127.0.0.1\r\n{lines}Content-Length: {size * MIB}\r\n\r\n"
        wire.socket.sendall(head.encode())
        for _ in range(size):
            wire.socket.sendall(BLOCK)
        response = wire.response()
    if response.status != 200 or response.body != b"%d" % (size * MIB):
        raise Trouble(f"{place.url}: a body of {size} MiB got {response.status} {response.body[:60]}")
    return size


def large(environment):
    """1 GiB down and up beside nginx, and the memory in use"""
    size = environment.options.bulk
    for direction, move in (("down", down), ("up", up)):
        with environment.gateway() as gateway:
            ours, theirs = gateway.place(), environment.beside.place()
            move(ours, 16)
            before = rss_kib(gateway.pid)
            forget_peak(gateway.pid)
            subjects = {
                "nginx": lambda: cost_of(environment.beside.pid, lambda: move(theirs, size)),
                "ours": lambda: cost_of(gateway.pid, lambda: move(ours, size)),
            }
            found = rounds(subjects, environment.options.rounds)
            grown = (peak_kib(gateway.pid) - before) / 1024
        mine, nginx = found["ours"], found["nginx"]
        shown = [f"{microseconds(one.cost)}, {one.rate:.0f} MiB/s" for one in (mine, nginx)]
        yield Row(
            "bodies", f"{size} MiB {direction}, CPU for each MiB; nginx without buffering", shown[0],
            f"nginx {shown[1]}", ratio(mine.costs, nginx.costs), "of nginx", most=1.0
        )
        yield Row(
            "bodies", f"{size} MiB {direction}, most memory at any time", f"{grown:.1f} MiB", "", grown, "MiB more",
            most=FLAT_MIB
        )
