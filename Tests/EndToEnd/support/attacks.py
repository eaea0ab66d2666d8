# SPDX-License-Identifier: Apache-2.0
"""Requests that the gateway must reject: id, what is wrong, the bytes, the status.

Each goes to a public path, so that a request that is not rejected would reach the app.
"""

HOST = b"Host: gate.localhost\r\n"
CONTROLS = [byte for byte in range(0x00, 0x20) if byte not in (0x09, 0x0A, 0x0D)] + [0x7F]


def raw(text):
    return text if isinstance(text, bytes) else text.encode("latin-1")


def post(fields, body=b""):
    """A POST with these field lines beside `Host`."""
    return b"POST /public/x HTTP/1.1\r\n" + HOST + raw(fields) + b"\r\n\r\n" + raw(body)


def get(target="/public/x", fields="", version="HTTP/1.1", method="GET"):
    lines = raw(fields) + b"\r\n" if fields else b""
    return raw(method) + b" " + raw(target) + b" " + raw(version) + b"\r\n" + HOST + lines + b"\r\n"


def chunked(body):
    return post("Transfer-Encoding: chunked", body)


def rows():
    yield from framing()
    yield from start_lines()
    yield from hosts()
    yield from targets()
    yield from lines()
    yield from names()
    yield from chunks()
    yield from bounds()


def framing():
    both = "Content-Length: 6\r\nTransfer-Encoding: chunked"
    yield "S-01", "length, then coding", post(both, "0\r\n\r\nG"), 400
    yield "S-02", "coding, then length", post("Transfer-Encoding: chunked\r\nContent-Length: 6", "0\r\n\r\nG"), 400
    yield "S-03", "two equal lengths", post("Content-Length: 1\r\nContent-Length: 1", "a"), 400
    yield "S-03", "two lengths", post("Content-Length: 1\r\ncontent-length: 2", "ab"), 400
    for value in ("1, 1", "5, 0", "0, 5"):
        yield "S-04", f"a list of lengths {value!r}", post(f"Content-Length: {value}", "a"), 400
    for value in ("", "+1", "-1", "-0", "0x1", "1_0", "1e0", "1.0", "1 2", "\xb2", "18446744073709551617", "9" * 40):
        yield "S-05", f"length {value!r}", post(f"Content-Length: {value}", "a"), 400
    for value in ("01", "010", "00000000000005"):
        yield "S-06", f"length {value!r}", post(f"Content-Length: {value}", "abcde"), 400
    for value in ("gzip, chunked", "cow, chunked"):
        yield "S-09", f"coding {value!r}", post(f"Transfer-Encoding: {value}", "0\r\n\r\n"), 400
    yield "S-10", "coding ',chunked'", post("Transfer-Encoding: ,chunked", "0\r\n\r\n"), 400
    for value in (
        "chunked, chunked", "chunked, identity", "identity", "cow", "xchunked", "chunkedx", '"chunked"', "chunked;q=1",
        "chunk", "=?iso-8859-1?B?Y2h1bmtlZA==?=",
    ):
        yield "S-11", f"coding {value!r}", post(f"Transfer-Encoding: {value}", "0\r\n\r\n"), 400
    twice = "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"
    yield "S-11", "two codings", post(twice, "0\r\n\r\n"), 400
    yield "S-12", "an empty coding", post("Transfer-Encoding: ", "0\r\n\r\n"), 400
    for byte in [*range(0x01, 0x20), *range(0x7F, 0x100)]:
        if byte in (0x0A, 0x0D):
            continue
        spot = bytes([byte])
        yield "S-13", f"{byte:#04x} before chunked", post(b"Transfer-Encoding:" + spot + b"chunked", "0\r\n\r\n"), 400
        yield "S-13", f"{byte:#04x} after chunked", post(b"Transfer-Encoding: chunked" + spot, "0\r\n\r\n"), 400
        yield "S-13", f"{byte:#04x} before the name", post(spot + b"Transfer-Encoding: chunked", "0\r\n\r\n"), 400
        yield "S-13", f"{byte:#04x} after the name", post(b"Transfer-Encoding" + spot + b": chunked", "0\r\n\r\n"), 400
    for line in (
        "Transfer-Encoding : chunked", "Transfer-Encoding\t: chunked", " Transfer-Encoding: chunked",
        "A: b\r\n Transfer-Encoding: chunked", "Transfer Encoding: chunked",
    ):
        yield "S-14", f"white space in {line!r}", post(line, "0\r\n\r\n"), 400
    for line in (
        "Transfer_Encoding: chunked", "Content_Length: 5", "Content.Length: 5", "Transfer-%45ncoding: chunked",
    ):
        yield "S-15", line, post(line, "0\r\n\r\n"), 400
    old = b"POST /public/x HTTP/1.0\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    yield "S-16", "chunks in HTTP/1.0", old, 400
    yield "S-17", "a folded coding", post("Transfer-Encoding:\r\n chunked", "0\r\n\r\n"), 400
    for value in ("y 100-continue", "100-continue, x", ""):
        yield "S-52", f"Expect {value!r}", post(f"Content-Length: 1\r\nExpect: {value}", "a"), 417
    yield "S-52", "two Expect", post("Content-Length: 1\r\nExpect: 100-continue\r\nExpect: 100-continue", "a"), 400


def start_lines():
    for method in ("CONNECT", "TRACE", "TRACK"):
        yield "S-28 S-39", method, get(method=method), 405
    yield "S-28 A-40", "CONNECT with an authority", get("gate.localhost:443", method="CONNECT"), 405
    yield "S-29", "GET *", get("*"), 400
    yield "S-36", "HTTP/0.9", b"GET /public/x\r\n\r\n", 400
    yield "S-36", "HTTP/0.9 with fields", b"GET /public/x\r\n" + HOST + b"\r\n", 400
    for version in ("http/1.1", "HTTP/1.1 ", "ICE/1.0", "RTSP/1.0", "HTTP/1.10"):
        yield "S-37", f"version {version!r}", get(version=version), 400
    for version in ("HTTP/2.0", "HTTP/9.9", "HTTP/0.9"):
        yield "S-37", f"version {version!r}", get(version=version), 505
    yield "S-37", "the HTTP/2 preface", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505
    yield "S-38", "two spaces before the target", get(" /public/x"), 400
    yield "S-38", "two spaces after the target", get("/public/x "), 400
    yield "S-38", "a space before the method", b" " + get(), 400
    for method in ("get", "Get", "post", "A" * 33):
        yield "S-39 A-92", f"method {method}", get(method=method), 501
    for method in ("PRI", "trace", "Connect"):
        yield "S-39", f"method {method}", get(method=method), 405
    yield "S-49", "two empty lines first", b"\r\n\r\n" + get(), 400
    yield "S-49", "a line feed first", b"\n" + get(), 400


def hosts():
    def host(value):
        return b"GET /public/x HTTP/1.1\r\nHost: " + raw(value) + b"\r\n\r\n"

    yield "S-24", "two hosts", get(fields="Host: other.localhost"), 400
    yield "S-24", "the same host twice", get(fields="host: gate.localhost"), 400
    yield "S-25", "no host", b"GET /public/x HTTP/1.1\r\nAccept: */*\r\n\r\n", 400
    for value in (
        "a, b", "foo/bar", "u@gate.localhost", "", "a:b:c", "gate.localhost:99999", "[::1", "gate localhost",
        "gate.localhost..", "gate.localhost\xff", "x" * 300, ".".join(["a" * 60] * 5),
    ):
        yield "S-26 A-44", f"host {value[:30]!r}", host(value), 400
    yield "S-27", "another host in the target", get("http://b/public/x"), 400
    yield "S-27", "another scheme", get("ftp://gate.localhost/public/x"), 400
    yield "S-27", "https on a plain listener", get("https://gate.localhost/public/x"), 400
    yield "S-27", "a user in the target", get("http://u@gate.localhost/public/x"), 400


def targets():
    for target in ("/public/x#b", "/public/#", "/public/x?b#c"):
        yield "S-30 A-11", f"fragment {target}", get(target), 400
    for character in "\x7f\x00\x01\t":
        yield "S-31", f"{character!r} in the path", get(f"/public/a{character}b"), 400
        yield "S-31", f"{character!r} in the query", get(f"/public/a?{character}"), 400
    for character in ("\\", "\x80", "\xff", "\xc0\xaf"):
        yield "S-31 S-35", f"{character!r} in the path", get(f"/public/a{character}b"), 400
    for target in ("/..;/", "/public/..;/x", "/public/.;/x", "/public/%2e%2e;/x", "/public/..;a=b/x"):
        yield "S-33", target, get(target), 400
    for target in ("%00", "%0d%0a", "%0a", "%7f", "%09"):
        yield "S-34", target, get(f"/public/a{target}b"), 400
    for target in ("%zz", "%", "%c0%af", "%e0%80%af", "%ff", "%2", "%%32%66", "%ed%a0%80"):
        yield "S-35", target, get(f"/public/{target}"), 400


def lines():
    yield "S-17", "a folded line", post("Foo: a\r\n b"), 400
    yield "S-17", "a line folded with a tab", post("Foo: a\r\n\tb"), 400
    yield "S-18", "a bare LF after the request line", b"GET /public/x HTTP/1.1\n" + HOST + b"\r\n", 400
    yield "S-18", "a bare LF after a field", b"GET /public/x HTTP/1.1\r\nHost: gate.localhost\n\r\n", 400
    yield "S-18", "bare LFs only", b"GET /public/x HTTP/1.1\nHost: gate.localhost\n\n", 400
    yield "S-18", "a bare LF at the end", b"GET /public/x HTTP/1.1\r\n" + HOST + b"\n", 400
    yield "S-19", "a bare CR in a value", post("Foo: a\rb"), 400
    yield "S-19", "a bare CR before the end", b"GET /public/x HTTP/1.1\r\n" + HOST + b"\rZ\r\n\r\n", 400
    for byte in CONTROLS:
        yield "S-20", f"{byte:#04x} in a value", post(b"Foo: a" + bytes([byte]) + b"b"), 400
    for name in ("Authorization", "Content-Type", "Host", "Content-Encoding"):
        yield (
            "S-21", f"0x80 in {name}",
            b"GET /public/x HTTP/1.1\r\n" + (b"" if name == "Host" else HOST) + raw(f"{name}: a\x80b\r\n\r\n"), 400,
        )
    yield "S-22", "no colon", post("Foo"), 400
    yield "S-22", "an empty name", post(": x"), 400
    yield "S-22", "a colon only", post(":"), 400
    for name in ("Authorization", "Origin", "Sec-Fetch-Site", "Sec-Fetch-Mode"):
        yield "A-38 A-41", f"two {name}", get(fields=f"{name}: a=1\r\n{name}: b=2"), 400


#: Names that apps may read as those of the gateway, and what is wrong with them.
IRREGULAR_NAMES = [
    *((f"X{character}Forwarded{character}User", f"{character!r} in a name") for character in "_.~!'+^`|*$%#&\x80"),
    *(
        (name, name) for name in (
            "X-Auth_Request_User", "X_Forwarded_Email", "Remote_Groups", "X.Webauth.User", "X_WEBAUTH_USER",
            "Grafana_Login", "X-Gatehouse.Assertion",
        )
    ),
]


def names():
    for name, what in IRREGULAR_NAMES:
        yield "A-08" if name == what else "S-23 A-08", what, get(fields=f"{name}: evil"), 400


def chunks():
    for size in (" 1", "1 ", "0x1", "+1", "-1", "0_1", "", "10000000000000001", "1 ;a"):
        yield "S-41", f"chunk size {size!r}", chunked(f"{size}\r\nZ\r\n0\r\n\r\n"), 400
    yield "S-42", "a size of 65 digits", chunked("0" * 64 + "1\r\nZ\r\n0\r\n\r\n"), 400
    yield "S-43", "a chunk near 2^64", chunked("ffffffffffffffff\r\nZ"), 413
    for size in ("1;a=b", '1;a="b;c"', "1;" + "a" * 9000, "1;"):
        yield "S-44", f"chunk extension {size[:12]!r}", chunked(f"{size}\r\nZ\r\n0\r\n\r\n"), 400
    yield "S-44", "a line feed in an extension", chunked("1;\nZ\r\n0\r\n\r\n"), 400
    yield "S-45", "far more size lines than data", chunked("0000000000000001\r\nZ\r\n" * 40_000), 400
    yield "S-46", "a spilled chunk", chunked("1\r\nZxx0\r\n\r\n"), 400
    yield "S-47", "Host as a trailer", chunked("0\r\nHost: evil\r\n\r\n"), 400
    for line in ("Content-Length: 5", "Transfer-Encoding: chunked"):
        yield "S-48", f"trailer {line}", chunked(f"0\r\n{line}\r\n\r\n"), 400
    yield "S-18", "a bare LF after a chunk size", chunked("1\nZ\r\n0\r\n\r\n"), 400
    yield "S-18", "a bare LF after the last chunk", chunked("0\n\r\n"), 400
    yield "S-18", "a bare LF in a trailer", chunked("0\r\nA: b\n\r\n"), 400
    yield "S-19", "CR CR after a chunk size", chunked("5\r\r;ABCD\r\n0\r\n\r\n"), 400


def bounds():
    yield "S-55", "a field of 100 kB", get(fields="A: " + "b" * 100_000), 431
    yield "S-55", "10,000 fields", get(fields="\r\n".join(["A: b"] * 10_000)), 431
    yield "S-55", "101 fields", get(fields="\r\n".join(["A: b"] * 100)), 431
    yield "S-55", "a cookie of 64 kB", get(fields="Cookie: a=" + "b" * 65_000), 431
    yield "S-55", "a target of 100 kB", get("/public/" + "a" * 100_000), 414
