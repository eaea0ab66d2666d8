// SPDX-License-Identifier: Apache-2.0

/// Field sections that must be rejected, each with one error.
enum RejectedHTTP2Fields {
    /// Malformed requests, whose stream is reset.
    static let malformed: [FieldSection] = [pseudo, names, values, connection].flatMap(\.self)
    /// Requests that are rejected like the same head of HTTP/1.1.
    static let rejected: [FieldSection] = [requests, hosts, limits].flatMap(\.self)

    private static let pseudo: [FieldSection] = [
        FieldSection("H-07 no method", [":scheme: https", ":authority: a", ":path: /"]),
        FieldSection("H-07 no scheme", [":method: GET", ":authority: a", ":path: /"]),
        FieldSection("H-07 no path", [":method: GET", ":scheme: https", ":authority: a"]),
        FieldSection("H-07 nothing", ["x-a: b"]),
        .get("H-07 empty path", path: ""),
        .get("H-07 two paths", [":path: /q"]),
        FieldSection(
            "H-07 two methods",
            [":method: GET", ":method: GET", ":scheme: https", ":authority: a", ":path: /"]
        ),
        FieldSection(
            "H-07 two authorities",
            [":method: GET", ":scheme: https", ":authority: a", ":authority: a", ":path: /"]
        ),
        FieldSection(
            "H-07 two schemes",
            [":method: GET", ":scheme: https", ":scheme: https", ":authority: a", ":path: /"]
        ),
        FieldSection(
            "H-06 pseudo after field",
            [":method: GET", ":scheme: https", "x-a: b", ":authority: a", ":path: /"]
        ),
        .get("H-06 unknown pseudo", [":foo: b"]),
        .get("H-17 protocol", [":protocol: websocket"]),
        .get("H-06 status", [":status: 200"]),
        .get("H-07 CRLF in the path", path: "/x HTTP/1.1\\x0d\\x0aA: b"),
        .get("H-07 NUL in the method", method: "GET\\x00"),
        .get("H-09 space before the path", path: " /x"),
    ]

    private static let names: [FieldSection] = [
        .get("H-06 colon", ["x:y: b"].map { $0.replacing("x:y", with: "x\\x3ay") }),
        .get("H-06 upper case", ["X-A: b"]), .get("H-06 space", ["x a: b"]), .get("H-06 CR", ["x\\x0d\\x0aa: b"]),
        .get("H-06 NUL", ["x\\x00: b"]), .get("H-06 high", ["x\\xff: b"]), .get("H-06 trailing space", ["x-a : b"]),
    ]

    private static let values: [FieldSection] = [
        .get("H-05 CRLF", ["foo: b\\x0d\\x0atransfer-encoding: chunked"]), .get("H-05 LF", ["foo: b\\x0ac"]),
        .get("H-05 CR", ["foo: b\\x0dc"]), .get("H-05 NUL", ["foo: b\\x00c"]), .get("H-05 DEL", ["foo: b\\x7fc"]),
        .get("H-05 in a cookie", ["cookie: a=b\\x0d\\x0ac: d"]), .get("H-05 in a host", ["host: a\\x0a"]),
        .get("H-05 far in", ["foo: " + String(repeating: "b", count: 100) + "\\x01"]),
        .get("H-09 space first", ["foo:  b"]), .get("H-09 space last", ["foo: b "]),
        .get("H-09 tab first", ["foo: \\x09b"]), .get("H-09 tab last", ["foo: b\\x09"]),
        .get("H-09 only a space", ["foo:  "]),
    ]

    private static let connection: [FieldSection] = [
        .get("H-04", ["connection: close"]), .get("H-04", ["connection: keep-alive"]),
        .get("H-04", ["keep-alive: timeout=5"]), .get("H-04", ["proxy-connection: keep-alive"]),
        .get("H-03", ["transfer-encoding: chunked"], method: "POST", endsStream: false),
        .get("H-04", ["upgrade: h2c"]), .get("H-04", ["http2-settings: AAMAAABk"]), .get("H-04", ["te: gzip"]),
        .get("H-04", ["te: trailers, gzip"]),
    ]

    private static let requests: [FieldSection] = [
        .get("H-07", method: "GET /admin HTTP/1.1"), .get("S-39", method: "get", status: 501),
        .get("S-28", method: "TRACE", status: 405),
        .get("S-28", method: "CONNECT", status: 405), .get("S-29", path: "*"), .get("H-07", path: "admin"),
        .get("S-27", path: "https://a/"), .get("S-30", path: "/a#b"), .get("S-31", path: "/a\\x5cb"),
        .get("S-31", path: "/a b"), .get("S-31", path: "/a\\xc3"),
        .get("S-33", path: "/..;/"), .get("S-34", path: "/a%00"),
        .get("S-35", path: "/%zz"), .get("H-07", scheme: "http"), .get("H-07", scheme: "https://evil/"),
        .get("S-15", ["transfer_encoding: chunked"]), .get("S-23", ["x.forwarded.user: b"]),
        .get("S-05", ["content-length: +1"], method: "POST", endsStream: false),
        .get("S-06", ["content-length: 01"], method: "POST", endsStream: false),
        .get("S-03", ["content-length: 1", "content-length: 1"], method: "POST", endsStream: false),
        .get("H-02", ["content-length: 5"], method: "POST"), .get("S-52", ["expect: x"], status: 417),
        .get("A-38", ["authorization: a", "authorization: b"]), .get("S-21", ["authorization: a\\x80"]),
        .get("S-21", ["content-type: a\\x80"]),
    ]

    private static let hosts: [FieldSection] = [
        .get("H-07", authority: "a@b"), .get("H-07", authority: ""), .get("S-26", authority: "a, b"),
        .get("S-26", authority: "a/b"), .get("S-26", authority: "a:b:c"), .get("S-26", authority: "a:99999"),
        .get("S-26", authority: "[::1"), .get("S-26", authority: "a\\xff"),
        .get("S-26", authority: String(repeating: "x", count: 300)), .get("H-08", ["host: b"]),
        .get("H-08", ["host: a:8443"]), .get("H-08", ["host: a@a"]), .get("H-08", ["host: a", "host: a"]),
        FieldSection("S-25 no host", [":method: GET", ":scheme: https", ":path: /"]),
        FieldSection("S-24 two hosts", [":method: GET", ":scheme: https", ":path: /", "host: a", "host: a"]),
    ]

    private static let limits: [FieldSection] = [
        .get("S-55", path: "/" + String(repeating: "a", count: 9000), status: 414),
        .get("S-55", ["x-a: " + String(repeating: "a", count: 17_000)], status: 431),
        .get("S-55", ["cookie: a=" + String(repeating: "a", count: 17_000)], status: 431),
    ]
}
