# SPDX-License-Identifier: Apache-2.0
"""Load by wrk, h2load and hey, and their results."""

import json
import re
from dataclasses import dataclass
from itertools import count

from client import Wire, tls_context
from processes import Trouble, program, run

# What a browser of today sends along.
FIELDS = {
    "User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "Accept-Language": "en-GB,en;q=0.8,fr;q=0.5,de;q=0.3",
    "Accept-Encoding": "gzip, deflate, br, zstd",
    "Referer": "https://tools.example.com/projects/overview",
    "Sec-Fetch-Dest": "document",
    "Sec-Fetch-Mode": "navigate",
    "Sec-Fetch-Site": "same-origin",
    "Sec-Fetch-User": "?1",
    "Priority": "u=0, i",
    "DNT": "1",
}
OTHER_COOKIES = "locale=en-GB; consent=necessary"

# wrk counts only statuses of 400 and more as failures, so the bytes of the responses are checked too.
DONE = """
done = function(summary, latency, requests)
  local e = summary.errors
  io.write(string.format('\\nRESULT {"requests":%d,"bytes":%d,"failed":%d,"seconds":%f,"p99":%f}\\n',
    summary.requests, summary.bytes, e.connect + e.read + e.write + e.status + e.timeout,
    summary.duration / 1e6, latency:percentile(99)))
end
"""
CYCLE = """
local cookies = {%s}
local at, all = 0, {}
init = function(args)
  for i, cookie in ipairs(cookies) do
    wrk.headers["Cookie"] = cookie
    all[i] = wrk.format("GET")
  end
end
request = function()
  at = at %% #all + 1
  return all[at]
end
"""

_numbers = count()


def cookie_field(cookie):
    return f"{OTHER_COOKIES}; {cookie}" if cookie else OTHER_COOKIES


@dataclass(frozen=True)
class Place:
    """What is asked: a port, whether over TLS, a path, the cookies of those who ask, one after the other, a body to post, and a token."""

    port: int
    tls: bool = False
    cookies: tuple = ("", )
    path: str = "/page"
    body: str = ""
    token: str = ""

    @property
    def url(self):
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}{self.path}"

    @property
    def fields(self):
        credential = {"Authorization": f"Bearer {self.token}", "Cookie": OTHER_COOKIES} if self.token else {}
        return {**FIELDS, "Cookie": cookie_field(self.cookies[0]), **credential}


@dataclass(frozen=True)
class Generator:
    """Where load comes from: a folder for scripts, processors, and how many connections."""

    folder: object
    cpus: list
    connections: int = 64

    def wrk(self, place, seconds, connections=None, threads=1):
        """Requests over kept HTTP/1.1 connections, as many as there can be; how many there were."""
        script = self.folder / f"wrk{next(_numbers)}.lua"
        fields = "".join(f"wrk.headers[{json.dumps(k)}] = {json.dumps(v)}\n" for k, v in place.fields.items())
        if place.body:
            fields += f'wrk.method = "POST"\nwrk.body = {json.dumps(place.body)}\n'
        cycle = CYCLE % ",".join(json.dumps(cookie_field(one)) for one in place.cookies)
        script.write_text(fields + (cycle if len(place.cookies) > 1 else "") + DONE)
        amount = [f"-t{threads}", f"-c{connections or self.connections}", f"-d{seconds}s"]
        status, output = run([program("wrk"), *amount, "-s", script, place.url], seconds + 30, self.cpus)
        script.unlink()
        found = re.search(r"^RESULT (.*)$", output, re.M)
        if status or not found:
            raise Trouble(f"wrk failed at {place.url}:\n{output[-1500:]}")
        return self.checked(json.loads(found[1]), place)

    def checked(self, result, place):
        """A result without failures in which each response has the length of the page."""
        if result["failed"] or not result["requests"]:
            raise Trouble(f"{place.url}: {result['failed']} of {result['requests']} requests failed")
        mean, wanted = result["bytes"] / result["requests"], response_of(place).size
        if abs(mean - wanted) > 40:
            raise Trouble(f"{place.url}: responses had {mean:.0f} bytes where the page has {wanted}")
        return result

    def h2load(self, place, seconds, options=()):
        """Requests over TLS and HTTP/2 with eight streams for each connection; how many there were."""
        fields = [part for name, value in place.fields.items() for part in ("-H", f"{name.lower()}: {value}")]
        amount = ["-c", max(1, self.connections // 4), "-m", 8] if not options else []
        command = [program("h2load", "nghttp2-client"), *amount, "-D", seconds, *options, *fields, place.url]
        _, output = run(command, seconds + 30, self.cpus)
        total = re.search(r"requests: .*?(\d+) failed, (\d+) errored, (\d+) timeout", output)
        codes = re.search(r"status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx", output)
        if not total or not codes or not int(codes[1]):
            raise Trouble(f"h2load failed at {place.url}:\n{output[-1500:]}")
        failed = sum(map(int, [*total.groups(), *codes.groups()[1:]]))
        if failed:
            raise Trouble(f"{place.url}: {failed} requests failed:\n{output[-1500:]}")
        return int(codes[1])

    def hey(self, place, seconds):
        """Requests by the HTTP/2 client of Go, as many at once as there can be connections; how many there were."""
        fields = [part for name, value in place.fields.items() for part in ("-H", f"{name}: {value}")]
        command = [program("hey"), "-h2", "-c", self.connections, "-z", f"{seconds}s", "-disable-redirects", *fields, place.url]
        _, output = run(command, seconds + 30, self.cpus)
        codes = {int(code): int(count) for code, count in re.findall(r"\[(\d+)\]\t(\d+) responses", output)}
        if set(codes) != {200} or "Error distribution" in output:
            raise Trouble(f"hey failed at {place.url}: {codes}\n{output[-1500:]}")
        return codes[200]

    def latencies(self, place, rate, seconds):
        """Sorted response times in microseconds at a steady rate of requests."""
        log = self.folder / f"h2load{next(_numbers)}.tsv"
        connections = max(8, self.connections // 2)
        steady = ["--h1", "-c", connections, "--rps", f"{rate / connections:.3f}", "--log-file", log]
        self.h2load(place, seconds, steady)
        rows = [line.split("\t") for line in log.read_text().splitlines()]
        log.unlink()
        begin = min(int(row[0]) for row in rows) + 500_000
        return sorted(int(row[2]) for row in rows if int(row[0]) >= begin)


def response_of(place):
    """One response; raises if it is not the page."""
    with Wire(place.port, tls_context() if place.tls else None) as wire:
        response = wire.ask("GET", place.path, place.fields)
    if response.status != 200:
        raise Trouble(f"{place.url} returned {response.status}")
    return response
