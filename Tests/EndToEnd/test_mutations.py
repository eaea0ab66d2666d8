# SPDX-License-Identifier: Apache-2.0
"""Valid requests with a few bytes changed at random, always the same ones: nothing breaks, nothing slips through."""

import random

import pytest

from support.attacks import HOST, get, post
from support.raw import Wire, request

SEEDS = [
    get("/public/a/b?c=d", "Accept: text/html\r\nCookie: a=1; b=2\r\nConnection: keep-alive"),
    get("/oauth2/start/mock?rd=/x", "Accept: text/html\r\nSec-Fetch-Mode: navigate"),
    get("/oauth2/callback/mock?state=abc&code=def&iss=http://127.0.0.1/", "Accept: text/html"),
    get("/protected/%7Euser/../x", "Authorization: Basic eDp4\r\nX-Forwarded-User: root"),
    post("Content-Length: 11", "hello world"),
    post("Transfer-Encoding: chunked\r\nExpect: 100-continue", "5\r\nhello\r\n6\r\n world\r\n0\r\nA: b\r\n\r\n"),
    b"OPTIONS * HTTP/1.1\r\n" + HOST + b"\r\n",
]
LAST = get("/public/last", "Connection: close")
SPICES = [b"\r", b"\n", b"\r\n", b"\0", b" ", b"\t", b":", b";", b",", b"%", b"%2f", b"//", b"..", b"_", b"\xff", b"0"]


def mutated(seed, chance):
    data = bytearray(seed)
    for _ in range(chance.randint(1, 4)):
        spot = chance.randrange(len(data) + 1)
        match chance.randrange(4):
            case 0:
                data[spot:spot] = chance.choice(SPICES)
            case 1:
                del data[spot:spot + chance.randint(1, 4)]
            case 2:
                data[spot:spot + 1] = bytes([chance.randrange(256)])
            case _:
                data[spot:spot] = data[spot:spot + chance.randint(1, 30)]
    return bytes(data)


def received_of(wire):
    """What the gateway sends until it closes, or until it waits for more."""
    try:
        return wire.rest()
    except TimeoutError:
        return wire.buffer


@pytest.mark.parametrize("turn", range(8))
def test_changed_bytes_do_no_harm(turn, gateway, app):
    """K-10 K-11: the gateway survives every input, and the app gets valid requests without an identity only."""
    chance = random.Random(turn)
    before, responses = len(app.requests), 0
    for _ in range(80):
        with Wire(gateway.port, timeout=0.1) as wire:
            wire.send(mutated(chance.choice(SEEDS), chance) + LAST)
            received = received_of(wire)
            responses += bool(received)
            assert not received or received.startswith(b"HTTP/1.1 "), received[:200]
            assert b"HTTP/1.1 500" not in received, received[:300]
    assert responses > 50
    for seen in app.requests[before:]:
        assert seen.version == "HTTP/1.1" and seen.target.startswith(("/public/", "/open")), seen
        assert len(seen.all("host")) == 1 and "x-forwarded-user" not in seen.names
        assert len(seen.all("content-length")) + len(seen.all("transfer-encoding")) <= 1
    assert request(gateway.port, "/public/alive").status == 200
