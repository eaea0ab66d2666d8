# SPDX-License-Identifier: Apache-2.0
"""The kinds of traffic. Each is a function that does one round of its kind and checks every response."""

import importlib.util
import os
import random
import threading
import zlib
from collections import Counter

from client import Browser, Wire, tls_context
from load import Place
from processes import Trouble

from .app import PATTERN


class Wrong(Trouble):
    """A response that is not the expected one."""


class Tally:
    """What was done and what failed, by kind; for all threads."""

    def __init__(self):
        self.lock, self.stop = threading.Lock(), threading.Event()
        self.done, self.failed, self.texts = Counter(), Counter(), []

    def add(self, kind, count=1):
        with self.lock:
            self.done[kind] += count

    def fail(self, kind, text, count=1):
        with self.lock:
            self.failed[kind] += count
            if len(self.texts) < 30:
                self.texts.append(f"{kind}: {text}")

    @property
    def totals(self):
        with self.lock:
            return self.done.total(), self.failed.total()


def expect(actual, wanted, what):
    if actual != wanted:
        raise Wrong(f"{what}: {actual!r} where {wanted!r} was due")


class Account:
    """A signed-in user, and the requests that they make."""

    def __init__(self, gateway, name):
        self.gateway, self.name, self.user = gateway, name, f"mock:{name}"
        with Browser(gateway.port, name) as browser:
            expect(browser.sign_in().body.decode(), self.user, "the page after the sign-in")
            self.fields = {"Cookie": browser.cookie, "Accept": "*/*"}

    def wire(self):
        """A connection, over TLS half of the time."""
        if random.random() < 0.5:
            return Wire(self.gateway.port)
        return Wire(self.gateway.secure_port, tls_context("http/1.1"))


class Kept:
    """A connection that is opened again when the gateway has announced that it closes it."""

    def __init__(self, account):
        self.account, self.wire = account, account.wire()

    def ask(self, method, target, fields=(), body=None):
        response = self.wire.ask(method, target, {**self.account.fields, **dict(fields)}, body)
        if (response.first("connection") or "").lower() == "close":
            self.wire.close()
            self.wire = self.account.wire()
        return response

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.wire.close()


def pages(account, tally):
    """Requests over one kept connection, for two apps."""
    with Kept(account) as kept:
        for number in range(100):
            if number % 2:
                response, wanted = kept.ask("GET", "/who"), account.user
            else:
                response, wanted = kept.ask("GET", "/live/who"), f"{account.user} 0 0"
            expect((response.status, response.body.decode()), (200, wanted), "a page")
            tally.add("pages")
            if tally.stop.wait(random.uniform(0, 0.02)):
                return


def uploads(account, tally):
    """Bodies of all sizes, with a length or in chunks."""
    with Kept(account) as kept:
        for _ in range(10):
            body = os.urandom(1024) * random.choice([0, 1, 20, 300, 3000])
            if body and random.random() < 0.5:
                kept.wire.socket.sendall(chunked_head(kept, account))
                for start in range(0, len(body), 50000):
                    part = body[start:start + 50000]
                    kept.wire.socket.sendall(b"%x\r\n%s\r\n" % (len(part), part))
                kept.wire.socket.sendall(b"0\r\n\r\n")
                response = kept.wire.response()
            else:
                response = kept.ask("PUT", "/live/up", body=body)
            wanted = f"{account.user} {len(body)} {zlib.crc32(body)}"
            expect((response.status, response.body.decode()), (200, wanted), "an upload")
            tally.add("uploads")
            if tally.stop.wait(random.uniform(0, 0.2)):
                return


def chunked_head(kept, account):
    lines = "".join(f"{name}: {value}\r\n" for name, value in account.fields.items())
    host = f"Host: 127.0.0.1:{kept.wire.port}\r\n"
    return f"PUT /live/up HTTP/1.1\r\n{host}{lines}Transfer-Encoding: chunked\r\n\r\n".encode()


def downloads(account, tally):
    """Bodies of all sizes."""
    with Kept(account) as kept:
        for _ in range(10):
            size = random.choice([1, 5000, 70000, 2000000])
            response = kept.ask("GET", f"/live/down/{size}")
            expect((response.status, response.first("x-user")), (200, account.user), "a download")
            expect(zlib.crc32(response.body), zlib.crc32((PATTERN * (size // len(PATTERN) + 1))[:size]), "its bytes")
            tally.add("downloads")
            if tally.stop.wait(random.uniform(0, 0.2)):
                return


def events(account, tally):
    """Server-sent events, each at its time."""
    with Kept(account) as kept:
        response = kept.ask("GET", "/live/events/50", {"Accept": "text/event-stream"})
        wanted = "".join(f"id: {number}\ndata: {account.user} {number}\n\n" for number in range(50))
        expect((response.status, response.body.decode()), (200, wanted), "a stream of events")
        tally.add("events", 50)


def sign_ins(account, tally):
    """In, a page, out; then the old cookie opens nothing."""
    name = f"{account.name}-{random.randrange(10000)}"
    with Browser(account.gateway.port, name) as browser:
        expect(browser.sign_in("/live/who").body.decode(), f"mock:{name} 0 0", "the page after a sign-in")
        cookie, address = browser.cookie, f"http://127.0.0.1:{account.gateway.port}/who"
        expect(browser.send("GET", address).body.decode(), f"mock:{name}", "a page before the sign-out")
        if browser.sign_out().status not in (200, 302, 303):
            raise Wrong("the sign-out was refused")
        browser.cookies.clear()
        again = browser.send("GET", address, fields={"Cookie": cookie})
        if again.status == 200:
            raise Wrong("a cookie still opens something after its sign-out")
    tally.add("sign-ins")
    tally.stop.wait(random.uniform(0, 0.1))


def websockets(account, tally):
    """A WebSocket that sends its user and echoes what it gets."""
    import websocket

    address = f"ws://127.0.0.1:{account.gateway.port}/live/ws"
    origin = f"http://127.0.0.1:{account.gateway.port}"
    options = {"cookie": account.fields["Cookie"], "origin": origin, "timeout": 20}
    connection = websocket.create_connection(address, **options)
    try:
        expect(connection.recv(), account.user, "the first message of a WebSocket")
        for number in range(50):
            text = f"{number} " + "x" * random.randrange(2000)
            connection.send(text)
            expect(connection.recv(), f"{account.user} {text}", "a message of a WebSocket")
            tally.add("websockets")
            if tally.stop.wait(random.uniform(0, 0.04)):
                return
    finally:
        connection.close()


# What HTTP/2 needs to be checked response by response.
HTTP2_PACKAGES = ("httpx", "h2")


def http2_unchecked(account, tally):
    """Some seconds of h2load, which checks the status of the responses only."""
    place = Place(account.gateway.secure_port, True, (account.fields["Cookie"], ), "/who")
    tally.add("http2", account.gateway.environment.generator.h2load(place, 3, ["-c", 2, "-m", 4, "--rps", 100]))


def http2(account, tally):
    """Requests over one HTTP/2 connection, several at a time."""
    if not all(map(importlib.util.find_spec, HTTP2_PACKAGES)):
        return http2_unchecked(account, tally)
    return http2_checked(account, tally)


def http2_checked(account, tally):
    import asyncio

    import httpx

    address = f"https://127.0.0.1:{account.gateway.secure_port}"

    async def one(client, number):
        body = os.urandom(1024) * (number % 5)
        response = await client.put(f"{address}/live/up", content=body)
        wanted = ("HTTP/2", 200, f"{account.user} {len(body)} {zlib.crc32(body)}")
        expect((response.http_version, response.status_code, response.text), wanted, "a response over HTTP/2")
        tally.add("http2")

    async def several():
        options = {"http2": True, "verify": False, "headers": account.fields, "timeout": 20, "trust_env": False}
        async with httpx.AsyncClient(**options) as client:
            for _ in range(20):
                await asyncio.gather(*(one(client, number) for number in range(10)))
                if tally.stop.is_set():
                    return
                await asyncio.sleep(random.uniform(0, 0.1))

    asyncio.run(several())


KINDS = {
    "pages": pages, "uploads": uploads, "downloads": downloads, "events": events, "sign-ins": sign_ins, "websockets":
        websockets, "http2": http2
}


def keep_on(kind, account, tally):
    """Rounds of one kind until the end; what goes wrong is noted and the next round begins."""
    while not tally.stop.is_set():
        try:
            KINDS[kind](account, tally)
        except Exception as error:
            if not tally.stop.is_set():
                tally.fail(kind, f"{account.name}: {type(error).__name__}: {error}")
                tally.stop.wait(0.5)
