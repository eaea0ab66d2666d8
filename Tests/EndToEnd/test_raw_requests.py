# SPDX-License-Identifier: Apache-2.0
"""Raw bytes on a socket: ambiguous requests are rejected and never reach the app (S rows)."""

import json
import threading
import time

import pytest

from support.attacks import HOST, chunked, get, post, rows
from support.gateway import Gateway, oidc, public_echo
from support.processes import eventually, free_port
from support.raw import Wire, exchange, request, tls_context

ROWS = list(rows())
SMUGGLED = b"GET /public/smuggled HTTP/1.1\r\n" + HOST + b"\r\n"
#: Rows whose head is valid: the app may have got the head, but never a complete request.
FAULTY_BODY = {"S-41", "S-42", "S-43", "S-44", "S-45", "S-46", "S-47", "S-48"}


def bad_body(row):
    return row[0] in FAULTY_BODY or row[2].startswith(chunked(b""))


@pytest.mark.parametrize("row", ROWS, ids=[f"{row[0]} {row[1]}".replace("::", ":") for row in ROWS])
def test_an_ambiguous_request_is_rejected_and_nothing_after_it_is_read(row, gateway, app):
    """S-01 to S-49, S-55: the status of the row, the connection closed, nothing passed on, nothing after it read."""
    before = len(app.requests)
    received = exchange(gateway.port, row[2] + SMUGGLED)
    head = received.split(b"\r\n\r\n")[0].decode("latin-1")
    assert head.startswith(f"HTTP/1.1 {row[3]} "), received[:500]
    assert "connection: close" in head.lower()
    assert received.count(b"HTTP/1.1 ") == 1, "there is one response only"
    passed = app.requests[before:]
    assert not any(b"smuggled" in one.head for one in passed)
    if not bad_body(row):
        assert passed == []


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row[0] in ("S-01", "S-09", "S-24", "S-36", "S-44")],
    ids=lambda row: f"{row[0]} {row[1]}",
)
def test_an_ambiguous_request_is_rejected_byte_by_byte(row, gateway, app):
    """S rows: the split into packets changes nothing."""
    with Wire(gateway.port) as wire:
        try:
            for index in range(min(len(row[2]), 400)):
                wire.send(row[2][index:index + 1])
            wire.send(row[2][400:])
        except OSError:
            pass
        assert wire.rest().startswith(f"HTTP/1.1 {row[3]} ".encode())


def sent(app, gateway, data, marker):
    """The response to raw bytes, and what the app got of them."""
    before = len(app.seen(marker))
    with Wire(gateway.port) as wire:
        wire.send(data)
        response = wire.response()
    return response, app.seen(marker)[before:]


def test_white_space_after_a_length_is_accepted_and_rewritten(gateway, app):
    """S-07: OWS is trimmed; the app gets exactly one framing field, written by the gateway."""
    response, seen = sent(app, gateway, post("X-Mark: s07\r\nContent-Length: 1 \t ", "a"), "s07")
    assert response.status == 200
    assert b"\r\nContent-Length: 1\r\n" in seen[0].head + b"\r\n"
    assert seen[0].body == b"a"
    assert len(seen[0].all("content-length")) == 1 and not seen[0].all("transfer-encoding")


def test_delete_may_have_a_body_with_exact_framing(gateway, app):
    """S-08: methods that write may have a body; the next request on the connection is read after it."""
    inner = get("/public/in-a-body")
    data = get("/public/x", f"X-Mark: s08\r\nContent-Length: {len(inner)}", method="DELETE") + inner
    response, seen = sent(app, gateway, data, "s08")
    assert response.status == 200 and seen[0].body == inner
    assert not app.seen("in-a-body")


def test_high_bytes_pass_unchanged_in_fields_without_a_meaning(gateway, app):
    """S-21: nothing is transcoded."""
    response, seen = sent(app, gateway, get("/public/x", "X-Mark: s21\r\nFoo: a\x80\xffb"), "s21")
    assert response.status == 200
    assert b"Foo: a\x80\xffb" in seen[0].head


@pytest.mark.parametrize("host", ["GATE.localhost", "gate.localhost.", "Gate.LocalHost.:{port}", "gate.localhost:1"])
def test_case_port_and_one_trailing_dot_of_a_host_do_not_count(host, gateway, app):
    """S-26 A-81 K-12: the host is normalized, for routing and for the app."""
    host = host.format(port=gateway.port)
    data = f"GET /public/s26 HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
    response, seen = sent(app, gateway, data, "s26")
    assert response.status == 200
    assert seen[0].get("host").split(":")[0] == "gate.localhost"


@pytest.mark.parametrize("target", ["http://gate.localhost/public/s27?q", "HTTP://GATE.localhost:80/public/s27?q"])
def test_an_absolute_target_that_agrees_becomes_a_path(target, gateway, app):
    """S-27."""
    response, seen = sent(app, gateway, get(target), "s27")
    assert response.status == 200 and seen[0].target == "/public/s27?q"


def test_options_asterisk_is_handled_by_the_gateway(gateway, app):
    """S-29."""
    before = len(app.requests)
    assert request(gateway.port, "*", method="OPTIONS").status == 204
    assert len(app.requests) == before


PATHS = [
    ("S-32", "/public//s3x///a", "/public/s3x/a"), ("S-33", "/a/../public/s3x", "/public/s3x"),
    ("S-33", "/public/a/%2e%2e/s3x", "/public/s3x"), ("S-33", "/public/%2E/s3x/.", "/public/s3x/"),
    ("S-33", "/../../public/s3x", "/public/s3x"), ("S-33", "/public/%252541/s3x", "/public/%252541/s3x"),
    ("V-02 S-32", "//public/s3x", "/public/s3x"), ("Y-02 S-34", "/public/a%2fs3x%5cb", "/public/a%2Fs3x%5Cb"),
    ("X-02", "/public/%40s3x:a%3a", "/public/%40s3x:a%3A"),
    ("Y-01 S-31", "/public/s3x{|}^`\"<>?a=|b&c={\"q\":[1]}^`\\", "/public/s3x%7B%7C%7D%5E%60%22%3C%3E?a=%7Cb&c=%7B%22q%22:[1]%7D%5E%60%5C"),
    ("Y-01 S-35", "/public/s3x/\xc3\xa4?\xff", "/public/s3x/%C3%A4?%FF"),
    ("S-34 A-11", "/public/s3x%23%3f%2b", "/public/s3x%23%3F%2B"), ("S-34", "/public/s3x%3b", "/public/s3x%3B"),
    ("K-03", "/%70ublic/s3x%41%7e", "/public/s3xA~"), ("K-03", "/public/s3x?a=/../%2f//", "/public/s3x?a=/../%2f//"),
]


@pytest.mark.parametrize("row", PATHS, ids=[" ".join(row[:2]) for row in PATHS])
def test_the_path_that_is_matched_is_the_path_that_is_forwarded(row, gateway, app):
    """S-32 S-33 S-34 K-03: one spelling for route, rule and app."""
    before = len(app.requests)
    assert request(gateway.port, row[1]).status == 200
    assert [one.target for one in app.requests[before:]] == [row[2]]


@pytest.mark.parametrize(
    "target", [
        "/public/../private", "/public/%2e%2e/private", "/public/..//private", "/public/a/../../private",
        "/private?x=/public/", "/private?/public/", "/PUBLIC/x", "/public", "/publicx", "/open/x", "/open/",
        "/%6fpen/..", "/private/%2e%2e/private", "/admins/assets/../x", "/admins/x?/admins/assets/",
    ],
)
def test_a_public_rule_cannot_be_widened(target, gateway, app):
    """K-03 A-07 A-25 A-42: no spelling of a protected path passes as a public one; the query does not matter."""
    before = len(app.requests)
    response = request(gateway.port, target)
    assert response.status == 401, response
    assert len(app.requests) == before


def test_a_public_rule_holds_for_its_method_only(gateway, app):
    """K-03: `GET /open` allows neither POST nor DELETE."""
    assert request(gateway.port, "/open").status == 200
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert request(gateway.port, "/open", method=method).status == 401


CONNECTION = [
    "Connection: close, X-Mark-One", "connection: x-mark-one, X-MARK-TWO",
    "Connection: X-Mark-One\r\nConnection: x-mark-two", "Connection: cookie, authorization, content-type, host",
    "Connection: x-forwarded-for, x-forwarded-proto, forwarded, x-request-id",
    "Connection: X-Forwarded-User, x-gatehouse-assertion, X-Forwarded-Email",
    "Keep-Alive: timeout=5\r\nProxy-Connection: X-User\r\nProxy-Authorization: Basic eDp4",
    "TE: trailers\r\nTrailer: A",
]


@pytest.mark.parametrize("lines", CONNECTION)
def test_connection_removes_only_what_a_client_may_remove(lines, ada, gateway, app):
    """S-40 K-02: hop-by-hop fields are removed, other fields and the gateway's own are not."""
    fields = [tuple(line.split(": ", 1)) for line in lines.split("\r\n")]
    fields += [
        ("X-Mark-One", "1"), ("X-Mark-Two", "2"), ("Authorization", "Basic eDp4"), ("Content-Type", "text/plain"),
    ]
    fields += [("Cookie", f"gatehouse={ada.ticket()}; keep=me"), ("X-Mark", "s40")]
    before = len(app.seen("s40"))
    assert request(gateway.port, "/s40", fields=fields).status == 200
    seen = app.seen("s40")[before]
    for name in ("connection", "keep-alive", "proxy-connection", "proxy-authorization", "te", "trailer"):
        assert not seen.all(name), seen
    assert seen.all("x-mark-one") == ([] if "one" in lines.lower() else ["1"])
    assert seen.all("x-mark-two") == ([] if "two" in lines.lower() else ["2"])
    assert seen.all("authorization") == ["Basic eDp4"] and seen.all("content-type") == ["text/plain"]
    assert seen.all("cookie") == ["keep=me"] and len(seen.all("host")) == 1
    assert seen.all("x-forwarded-user") == ["mock:ada"] and len(seen.all("x-gatehouse-assertion")) == 1
    for name in ("x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "x-request-id"):
        assert len(seen.all(name)) == 1, name


def test_one_byte_chunks_are_passed_on(gateway, app):
    """S-42 S-45: many small chunks are legal; the app gets the same bytes."""
    response, seen = sent(
        app, gateway, post("X-Mark: s45\r\nTransfer-Encoding: chunked", "1\r\nZ\r\n" * 5000 + "0\r\n\r\n"), "s45"
    )
    assert response.status == 200 and seen[0].body == b"Z" * 5000
    padded = post("X-Mark: s42\r\nTransfer-Encoding: chunked", "0000000000000001\r\nZ\r\n0\r\n\r\n")
    response, seen = sent(app, gateway, padded, "s42")
    assert response.status == 200 and seen[0].body == b"Z"


def test_trailers_are_discarded(gateway, app):
    """S-47: a trailer never becomes a field of the request."""
    body = "1\r\nZ\r\n0\r\nX-Forwarded-User: evil\r\nX-Note: late\r\n\r\n"
    response, seen = sent(app, gateway, post("X-Mark: s47\r\nTransfer-Encoding: chunked", body), "s47")
    assert response.status == 200 and seen[0].body == b"Z"
    assert "evil" not in response.text and "late" not in response.text and not seen[0].all("x-note")


def test_one_empty_line_before_a_request_is_accepted(gateway):
    """S-49."""
    with Wire(gateway.port) as wire:
        wire.send(b"\r\n" + get())
        assert wire.response().status == 200


def test_nothing_is_read_after_connection_close(gateway, app):
    """S-50."""
    received = exchange(gateway.port, get(fields="Connection: close") + get("/public/after-close"))
    assert received.count(b"HTTP/1.1 ") == 1 and not app.seen("after-close")


@pytest.mark.parametrize("count", [2, 10, 100])
def test_pipelined_requests_get_responses_in_turn(count, gateway):
    """S-51."""
    with Wire(gateway.port) as wire:
        wire.send(b"".join(get(f"/public/{count}-{index}") for index in range(count)))
        for index in range(count):
            assert wire.response().json["line"] == f"GET /public/{count}-{index} HTTP/1.1"


def test_each_pipelined_request_is_decided_by_itself(ada, gateway, app):
    """S-51: one request's access does not carry over to the next."""
    cookie = f"Cookie: gatehouse={ada.ticket()}"
    with Wire(gateway.port) as wire:
        wire.send(get("/a", cookie) + get("/b") + get("/c", cookie) + get("/public/d"))
        responses = [wire.response() for _ in range(4)]
    assert [response.status for response in responses] == [200, 401, 200, 200]
    assert "X-Forwarded-User" in responses[2].text and "X-Forwarded-User" not in responses[3].text


def test_the_gateway_itself_sends_100_and_the_app_sees_no_expect(gateway, app):
    """S-52: only after the decision; `Expect` is not passed on."""
    with Wire(gateway.port) as wire:
        wire.send(post("X-Mark: s52\r\nContent-Length: 3\r\nExpect: 100-continue"))
        received = wire._until(b"\r\n\r\n")
        assert received.startswith(b"HTTP/1.1 100 ")
        wire.send(b"abc")
        assert wire.response().json["length"] == 3
    assert not app.seen("s52")[0].all("expect")


def test_a_client_without_a_session_gets_no_100(gateway, app):
    """S-52 A-57: an early final response to `Expect` closes the connection, so that no body is read as a request."""
    head = b"POST /private/stranger HTTP/1.1\r\n" + HOST + b"Content-Length: 40\r\nExpect: 100-continue\r\n\r\n"
    with Wire(gateway.port) as wire:
        wire.send(head)
        interim = []
        response = wire.response(interim=interim)
        assert response.status == 401 and interim == []
        assert response.get("connection", "").lower() == "close"
    assert not app.seen("/private/stranger")


@pytest.mark.parametrize(
    "lines", [
        "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA",
        "Connection: upgrade\r\nUpgrade: foo",
    ],
)
def test_upgrades_are_not_passed_on(lines, gateway, app):
    """S-53 S-54: `Upgrade` and `HTTP2-Settings` are removed; the next request is a request."""
    before = len(app.requests)
    with Wire(gateway.port) as wire:
        wire.send(get("/public/s53", lines))
        assert wire.response().status == 200
        wire.send(get("/public/s53-next"))
        assert wire.response().status == 200
    seen = app.requests[before]
    assert not seen.all("upgrade") and not seen.all("http2-settings") and not seen.all("connection")


def test_a_post_with_upgrade_keeps_its_body(gateway, app):
    """S-53: an upgrade does not change how the body is read."""
    data = post("X-Mark: s53p\r\nContent-Length: 3\r\nConnection: upgrade\r\nUpgrade: foo", "abc")
    response, seen = sent(app, gateway, data, "s53p")
    assert response.status == 200 and seen[0].body == b"abc"


def test_a_head_at_the_limits_is_accepted(gateway):
    """S-55: 100 fields, a field of 16 KiB, a target of 8 KiB."""
    assert exchange(gateway.port,
                    get(fields="\r\n".join(["A: b"] * 98 + ["Connection: close"]))).startswith(b"HTTP/1.1 200")
    long = "A: " + "b" * (16 * 1024 - 5)
    assert exchange(gateway.port, get(fields=f"Connection: close\r\n{long}")).startswith(b"HTTP/1.1 200")
    target = "/public/" + "a" * (8 * 1024 - 8)
    assert exchange(gateway.port, get(target, "Connection: close")).startswith(b"HTTP/1.1 200")


def test_a_rejection_names_the_rule_and_is_counted(gateway):
    """S rows: the response and the metric name the rule, and no received byte."""
    before = gateway.metric("gatehouse_rejected_requests_total")
    received = exchange(gateway.port, post("Content-Length: 1\r\nContent-Length: evil-bytes"))
    response = json.loads(received.split(b"\r\n\r\n", 1)[1])
    assert response["error"] == "framing.repeated_length" and b"evil-bytes" not in received
    eventually(lambda: gateway.metric("gatehouse_rejected_requests_total") > before, "the rejection is counted")


def test_many_clients_that_send_garbage_do_no_harm(gateway):
    """K-10: half a request, silence, resets and garbage on many connections at once."""
    wires = [Wire(gateway.port) for _ in range(200)]
    for index, wire in enumerate(wires):
        wire.send(
            [b"GET / HT", b"\x16\x03\x01\x02\x00\x01", b"\x00" * 100, b"POST / HTTP/1.1\r\nHost: a\r\n"][index % 4]
        )
    for wire in wires:
        wire.close()
    assert request(gateway.port, "/public/x").status == 200


@pytest.mark.parametrize("kind", ["slow head", "slow body", "no byte", "no hello"])
def test_slow_clients_are_disconnected_at_an_absolute_deadline(kind, slow_clients):
    """S-56 S-57: single bytes do not extend the ten seconds."""
    seconds, received = slow_clients()[kind]
    assert 8 <= seconds <= 14, seconds
    if kind.startswith("slow"):
        assert received.startswith(b"HTTP/1.1 408"), received
    else:
        assert received == b""


@pytest.fixture(scope="module", autouse=True)
def slow_clients(tmp_path_factory, provider_server, recorder, certificates):
    """Slow clients side by side: how long they stayed connected, and their responses.

    They have their own gateway and begin first, so that the other tests run meanwhile.
    """
    results, tls_port = {}, free_port()
    cert, key = certificates["gate"]
    gateway = Gateway(
        tmp_path_factory.mktemp("slow"), {"mock": oidc(provider_server.realm("mock").issuer)}, public_echo(recorder),
        listeners=[{"address": f"127.0.0.1:{tls_port}", "tls": [{"certificate": cert, "private_key": key}]}],
    )

    def trickle(start):
        def act(wire):
            wire.socket.settimeout(0.5)
            wire.send(start)
            while True:
                try:
                    return wire.socket.recv(4096)
                except TimeoutError:
                    wire.send(b"b")

        return act

    def silent(wire):
        return wire.rest()

    def run(kind, port, act):
        began = time.monotonic()
        with Wire(port, timeout=20) as wire:
            received = act(wire)
        results[kind] = (time.monotonic() - began, received)

    plan = [
        ("slow head", gateway.port, trickle(b"GET / HTTP/1.1\r\nA: ")),
        ("slow body", gateway.port, trickle(post("Content-Length: 100000"))), ("no byte", gateway.port, silent),
        ("no hello", tls_port, silent),
    ]
    threads = [threading.Thread(target=run, args=one) for one in plan]

    def finished():
        for thread in threads:
            thread.join()
        return results

    with gateway:
        for thread in threads:
            thread.start()
        yield finished
        finished()


def test_tls_carries_the_same_rules(gateway, app):
    """S rows over TLS: the listener's scheme is https, everything else is the same."""
    context = tls_context()
    bad = post("Content-Length: 6\r\nTransfer-Encoding: chunked", "0\r\n\r\nG")
    with Wire(gateway.tls_port, tls=context, server_name="gate.localhost") as wire:
        wire.send(bad + SMUGGLED)
        assert wire.response().status == 400
    with Wire(gateway.tls_port, tls=context, server_name="gate.localhost") as wire:
        wire.send(get("https://gate.localhost/public/tls"))
        assert wire.response().status == 200
    assert app.seen("/public/tls")[-1].get("x-forwarded-proto") == "https"
