# SPDX-License-Identifier: Apache-2.0
"""From the start of the program to its first response."""

import statistics
import time

from client import Wire
from processes import Trouble, eventually
from report import Row


def responds(port):
    try:
        with Wire(port, timeout=2) as wire:
            return wire.ask("GET", "/oauth2/sign_in", {"Accept": "text/html"}).status < 500
    except OSError:
        return False


def first_response(environment):
    """seconds from starting the program to its first response"""
    with environment.gateway() as gateway:
        times = []
        for _ in range(5):
            gateway.stop()
            began = time.monotonic()
            gateway.launch()
            eventually(lambda: gateway.child.alive() and responds(gateway.port), "the first response")
            times.append(time.monotonic() - began)
    if not times:
        raise Trouble("the gateway was never started")
    median = statistics.median(times)
    yield Row("start", "start to first response, median of five", f"{median:.2f} s", "", median, "s", most=0.3)
