// SPDX-License-Identifier: Apache-2.0

/// Requests that must be rejected, each with one error.
enum RejectedRequests {
    static let all: [Row] = [
        framing, lengths, codings, codingBytes, startLines, versions, otherVersions, methods, badMethods, hosts,
        badHosts, targets,
        fragments,
        paths, lines, controls, names, fields,
    ].flatMap(\.self)

    private static let framing: [Row] = [
        .fields("S-01", "Content-Length: 6\r\nTransfer-Encoding: chunked"),
        .fields("S-02", "Transfer-Encoding: chunked\r\nContent-Length: 6"),
        .fields("S-03", "Content-Length: 1\r\nContent-Length: 1"),
        .fields("S-03", "Content-Length: 1\r\ncontent-length: 2"),
        .fields("S-09", "Transfer-Encoding: gzip, chunked"),
        .fields("S-09", "Transfer-Encoding: cow, chunked"),
        .fields("S-10", "Transfer-Encoding: ,chunked"),
        .fields("S-11", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"),
        .fields("S-12", "Transfer-Encoding: "),
        .fields("S-12", "Transfer-Encoding:"),
        .fields("S-14", "Transfer-Encoding : chunked"),
        .fields("S-14", "Transfer-Encoding\t: chunked"),
        .fields("S-14", " Transfer-Encoding: chunked"),
        .fields("S-14", "A: b\r\n Transfer-Encoding: chunked"),
        .fields("S-14", "Transfer Encoding: chunked"),
        .fields("S-15", "Transfer_Encoding: chunked"),
        .fields("S-15", "Content_Length: 5"),
        .fields("S-15", "Content.Length: 5"),
        .fields("S-15", "Transfer-%45ncoding: chunked"),
        Row("S-16", "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"),
        .fields("S-17", "Transfer-Encoding:\r\n chunked"),
        .fields("S-52", "Content-Length: 1\r\nExpect: y 100-continue", 417),
        .fields("S-52", "Content-Length: 1\r\nExpect: 100-continue, x", 417),
        .fields("S-52", "Content-Length: 1\r\nExpect: ", 417),
        .fields("S-52", "Content-Length: 1\r\nExpect: 100-continue\r\nExpect: 100-continue"),
    ]

    private static let lengths: [Row] = rows(
        "1, 1",
        "5, 0",
        "0, 5",
        "",
        "+1",
        "-1",
        "-0",
        "0x1",
        "1_0",
        "1e0",
        "1.0",
        "1 2",
        "\\xc2\\xb2",
        "18446744073709551617",
        "9223372036854775808",
        "01",
        "010",
        "00000000000005",
        "00",
        ",1",
        "1,",
        "\"1\""
    ) { .fields("S-04 S-05 S-06", "Content-Length: \($0)") }

    private static let codings: [Row] = rows(
        "chunked, chunked",
        "chunked, identity",
        "identity",
        "cow",
        "xchunked",
        "chunkedx",
        "\"chunked\"",
        "chunked;q=1",
        "chunk",
        "=?iso-8859-1?B?Y2h1bmtlZA==?=",
        "chunked,",
        "chunked ,",
        "chunked\t",
        "\tchunked"
    ) { .fields("S-11", "Transfer-Encoding: \($0)") }

    /// Every byte outside visible ASCII, at four places of a `Transfer-Encoding` line.
    private static let codingBytes: [Row] = (0x00...0xFF).flatMap { (byte: Int) -> [Row] in
        guard byte < 0x20 || byte > 0x7E, byte != 0x0D, byte != 0x0A else { return [] }
        let hex = escape(byte)
        return [
            .fields("S-13", "Transfer-Encoding:\(hex)chunked"), .fields("S-13", "Transfer-Encoding: chunked\(hex)"),
            .fields("S-13", "\(hex)Transfer-Encoding: chunked"), .fields("S-13", "Transfer-Encoding\(hex): chunked"),
        ]
    }

    private static func rows(_ values: String..., make: (String) -> Row) -> [Row] { values.map(make) }

    private static func escape(_ byte: Int) -> String { "\\x" + (byte < 16 ? "0" : "") + String(byte, radix: 16) }

    private static let startLines: [Row] = [
        Row("S-28", "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", 405),
        Row("S-28", "TRACE / HTTP/1.1\r\nHost: a\r\n\r\n", 405),
        Row("S-39", "TRACK / HTTP/1.1\r\nHost: a\r\n\r\n", 405),
        Row("S-39", "trace / HTTP/1.1\r\nHost: a\r\n\r\n", 405),
        Row("S-39", "PRI / HTTP/1.1\r\nHost: a\r\n\r\n", 405),
        Row("S-39", "\(String(repeating: "A", count: 33)) / HTTP/1.1\r\nHost: a\r\n\r\n", 501),
        Row("S-29", "GET * HTTP/1.1\r\nHost: a\r\n\r\n"),
        Row("S-29", "OPTIONS ** HTTP/1.1\r\nHost: a\r\n\r\n"),
        Row("S-36", "GET /\r\n\r\n"),
        Row("S-38", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n"),
        Row("S-38", "GET / \tHTTP/1.1\r\nHost: a\r\n\r\n"),
        Row("S-38", "GET /  HTTP/1.1\r\nHost: a\r\n\r\n"),
        Row("S-38", " GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
        Row("S-38", "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n"),
        Row("S-49", "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
        Row("S-49", "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
        Row("S-49", "\rGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
        Row("A-80", "GET HTTP/1.1\r\nHost: a\r\n\r\n"),
    ]

    private static let versions: [Row] = rows(
        "http/1.1",
        "HTTP/1.1 ",
        "HTTP/1.10",
        "HTTP/01.1",
        "ICE/1.0",
        "RTSP/1.0",
        "HTTP/1,1",
        "HTTP/1",
        "HTTP/1.1\t",
        ""
    ) { Row("S-37", "GET / \($0)\r\nHost: a\r\n\r\n") }

    private static let otherVersions: [Row] = rows("HTTP/2.0", "HTTP/9.9", "HTTP/0.9") {
        Row("S-37", "GET / \($0)\r\nHost: a\r\n\r\n", 505)
    }

    private static let methods: [Row] = rows("get", "Get", "post", "Delete", "oPTIONS") {
        Row("S-39 A-92", "\($0) / HTTP/1.1\r\nHost: a\r\n\r\n", 501)
    }

    private static let badMethods: [Row] = rows("G\\x00T", "G(T", "G\\x80T", "", "GET:") {
        Row("S-39", "\($0) / HTTP/1.1\r\nHost: a\r\n\r\n")
    }

    private static let hosts: [Row] = [
        Row("S-24", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"),
        Row("S-24", "GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n"),
        Row("S-25", "GET / HTTP/1.1\r\nAccept: */*\r\n\r\n"),
        Row("S-25", "GET / HTTP/1.1\r\n\r\n"),
        Row("S-27", "GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n"),
        Row("S-27", "GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n"),
        Row("S-27", "GET https://a/ HTTP/1.1\r\nHost: a\r\n\r\n"),
        Row("S-27", "GET http://a:81/ HTTP/1.1\r\nHost: a\r\n\r\n"),
        Row("S-27", "GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n"),
        Row("S-27", "GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n"),
        Row("S-27", "GET a HTTP/1.1\r\nHost: a\r\n\r\n"),
        Row("S-27", "GET a:80 HTTP/1.1\r\nHost: a\r\n\r\n"),
    ]

    private static let badHosts: [Row] = rows(
        "a, b",
        "foo/bar",
        "u@a",
        "",
        "a:b:c",
        "a:99999",
        "a:0",
        "a:+1",
        "[::1",
        "::1",
        "[::g]",
        "a b",
        "a\\x80",
        "a..b",
        ".",
        "a..",
        "a?b",
        "a#b",
        "a%2eb",
        "a\\x5cb",
        "a~b",
        "[1.2.3.4]",
        "a:80,",
        String(repeating: "a", count: 64),
        String(repeating: "aaaaaaa.", count: 40) + "a"
    ) { Row("S-26 A-44", "GET / HTTP/1.1\r\nHost: \($0)\r\n\r\n") }

    private static let targets: [Row] =
        ["\\x7f", "\\x01", "\\x00", "\\x09"].flatMap { (text: String) -> [Row] in
            [
                Row("S-31", "GET /a\(text)b HTTP/1.1\r\nHost: a\r\n\r\n"),
                Row("S-31", "GET /a?\(text) HTTP/1.1\r\nHost: a\r\n\r\n"),
            ]
        }
        + ["\\x5c", "\\x80", "\\xff", "\\xc0\\xaf"].map { Row("S-31", "GET /a\($0)b HTTP/1.1\r\nHost: a\r\n\r\n") }

    private static let fragments: [Row] = rows("/a#b", "/#", "/a?b#c") {
        Row("S-30 A-11", "GET \($0) HTTP/1.1\r\nHost: a\r\n\r\n")
    }

    private static let spellings: [(String, String)] = [
        ("S-33", "/..;/"), ("S-33", "/a/..;x=1/b"), ("S-33", "/.;/"),
        ("S-33", "/%2e%2e;/"), ("S-33", "/a/.%2e;"), ("S-34", "/a%00"), ("S-34", "/a%0d%0ab"), ("S-34", "/%0A"),
        ("S-34", "/%7f"),
        ("S-34", "/%1f"), ("S-34", "/%09"), ("S-35", "/%zz"), ("S-35", "/%"), ("S-35", "/%2"), ("S-35", "/a%2/"),
        ("S-35", "/%c0%af"), ("S-35", "/%e0%80%af"), ("S-35", "/%ff"), ("S-35", "/%c3"), ("S-35", "/%ed%a0%80"),
        ("S-35", "/%%32%66"),
    ]

    private static let paths: [Row] = spellings.map { Row($0, "GET \($1) HTTP/1.1\r\nHost: a\r\n\r\n") }

    private static let lines: [Row] = [
        .fields("S-17", "Foo: a\r\n b"),
        .fields("S-17", "Foo: a\r\n\tb"),
        Row("S-17", "GET / HTTP/1.1\r\n Host: a\r\n\r\n"),
        Row("S-18", "GET / HTTP/1.1\nHost: a\r\n\r\n"),
        Row("S-18", "GET / HTTP/1.1\r\nHost: a\n\r\n"),
        Row("S-18", "GET / HTTP/1.1\r\nHost: a\nB: c\r\n\r\n"),
        Row("S-18", "GET / HTTP/1.1\r\nHost: a\r\n\n"),
        Row("S-18", "GET / HTTP/1.1\nHost: a\n\n"),
        Row("S-18", "GET / HTTP/1.1\r\nHost: a\r\nB\n\r\n\r\n"),
        .fields("S-19", "Foo: a\rb"),
        .fields("S-19", "Foo: a\r\r"),
        .fields("S-19", "Foo\r: a"),
        Row("S-19", "GET / HTTP/1.1\r\nHost: a\r\n\rZ\r\n\r\n"),
        Row("S-19", "GET / HTTP/1.1\rHost: a\r\n\r\n"),
        Row("S-19", "GET / HTTP/1.1\r\r\nHost: a\r\n\r\n"),
        .fields("S-22", "Foo"),
        .fields("S-22", ": x"),
        .fields("S-22", ":"),
        .fields("S-21", "Authorization: a\\x80b"),
        .fields("S-21", "Content-Type: text/\\x80"),
        .fields("S-21", "Content-Encoding: \\xff"),
    ]

    private static let controls: [Row] = (0x00...0x7F).compactMap { (byte: Int) -> Row? in
        guard byte < 0x20 || byte == 0x7F, byte != 0x09, byte != 0x0A, byte != 0x0D else { return nil }
        return .fields("S-20", "Foo: a\(escape(byte))b")
    }

    private static let names: [Row] = rows(
        "_",
        ".",
        "~",
        "!",
        "'",
        "+",
        "^",
        "`",
        "|",
        "*",
        "$",
        "%",
        "#",
        "&",
        " ",
        "(",
        "/",
        "@",
        "\\x80",
        "\\xc2\\xad"
    ) { .fields("S-23 A-08", "X\($0)Forwarded\($0)User: evil") }

    private static let fields: [Row] = [
        .fields("A-38 A-41", "Authorization: Bearer a\r\nAuthorization: Bearer b"),
        .fields("A-41", "Origin: http://a\r\nOrigin: http://a"),
        .fields("A-41", "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Site: cross-site"),
        .fields("A-41", "Sec-Fetch-Mode: cors\r\nSec-Fetch-Mode: navigate"),
    ]
}
