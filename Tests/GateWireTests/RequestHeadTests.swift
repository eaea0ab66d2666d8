// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import GateWire

@Suite struct RequestHeadTests {
    @Test(arguments: [
        ("A", "a"), ("WIKI.Example.Com", "wiki.example.com"), ("a.", "a"), ("a.:80", "a:80"),
        ("[::1]:8080", "[::1]:8080"),
        ("127.0.0.1:65535", "127.0.0.1:65535"), ("a-b_c.example", "a-b_c.example"),
    ])
    func `S-26 letter case and one trailing dot of a host are ignored`(_ host: String, _ normal: String) throws {
        let head = try accepted("GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n")
        #expect(head.authority.text == normal)
    }

    @Test(arguments: [
        ("Wiki.example:", "wiki.example"), ("a.:", "a"), ("[::1]:", "[::1]"), ("127.0.0.1:", "127.0.0.1"),
    ])
    func `G-09 an empty port is the default one`(_ host: String, _ normal: String) throws {
        let head = try accepted("GET http://\(host)/x HTTP/1.1\r\nHost: \(host)\r\n\r\n")
        #expect(head.authority.text == normal && head.authority.port == nil && head.target == "/x")
    }

    @Test(arguments: [":", "a::", "a:80:", "::", "[::1", "[::1]::", "@:"])
    func `G-09 what is left without the colon has to be a host`(_ host: String) {
        #expect(throws: WireRejection.self) { try accepted("GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n") }
    }

    @Test(arguments: [
        ("http://a/x?y", "a", false, "/x?y"), ("http://a", "a", false, "/"), ("http://a?b", "a", false, "/?b"),
        ("HTTP://A:80/x", "a", false, "/x"), ("http://a/x", "a:80", false, "/x"), ("https://a/", "a", true, "/"),
        ("https://a:443/", "a", true, "/"), ("http://a:81/", "a:81", false, "/"), ("http://a//x", "a", false, "/x"),
    ])
    func `S-27 an absolute target that agrees with host and scheme becomes a path`(
        _ target: String,
        _ host: String,
        _ isSecure: Bool,
        _ path: String
    ) throws {
        let head = try accepted("GET \(target) HTTP/1.1\r\nHost: \(host)\r\n\r\n", isSecure: isSecure)
        #expect(head.target == path)
    }

    @Test func `S-29 the asterisk is a target of OPTIONS only`() throws {
        let head = try accepted("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(head.isAsterisk)
        #expect(head.path.withSpan(of: head.message) { $0.isEmpty })
    }

    @Test(
        arguments: RequestMethod.common.map(\.rawValue) + ["PROPFIND", "REPORT", "MKCOL", "LIST", "PURGE", "M-SEARCH"]
    )
    func `Y-04 S-39 every method is accepted except those that open a tunnel or return the head`(
        _ method: String
    ) throws {
        #expect(try accepted("\(method) / HTTP/1.1\r\nHost: a\r\n\r\n").method.rawValue == method)
    }

    @Test(arguments: ["PROPFIND", "FOO"])
    func `Y-04 an unknown method is not safe`(_ method: String) throws {
        #expect(try !accepted("\(method) / HTTP/1.1\r\nHost: a\r\n\r\n").method.isSafe)
    }

    @Test(arguments: ["GET", "HEAD", "OPTIONS"])
    func `Y-05 S-08 a request that usually has no body may have one, with exact framing`(_ method: String) throws {
        let length = try accepted("\(method) / HTTP/1.1\r\nHost: a\r\nContent-Length: 34\r\n\r\n")
        #expect(length.framing == .length(34))
        let chunked = try accepted("\(method) / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        #expect(chunked.framing == .chunked)
    }

    @Test func `Y-07 several cookie fields become one at the end of the head`() throws {
        let head = try accepted(
            "GET /x HTTP/1.1\r\nHost: a\r\ncookie:a=1\r\nX: y\r\nCookie: \r\nCookie: b=2; c=3\r\n\r\n"
        )
        #expect(
            String(buffer: head.message.bytes) == "GET /x HTTP/1.1\r\nHost: a\r\nX: y\r\nCookie: a=1; b=2; c=3\r\n\r\n"
        )
        #expect(head.message.value(.cookie) == "a=1; b=2; c=3")
        #expect(head.message.value(.host) == "a")
        #expect(head.target == "/x")
    }

    @Test func `Y-07 S-55 joined cookies over the limit of one field are rejected`() {
        let half = "Cookie: a=" + String(repeating: "b", count: 9000) + "\r\n"
        #expect(read([Array("GET / HTTP/1.1\r\nHost: a\r\n\(half)\(half)\r\n".utf8)]).status == 431)
    }

    @Test func `Y-12 a later minor version of HTTP/1 counts as 1.1`() throws {
        #expect(try accepted("GET / HTTP/1.2\r\nHost: a\r\n\r\n").minorVersion == 1)
        #expect(try accepted("GET / HTTP/1.9\r\nHost: a\r\n\r\n").keepsAlive)
    }

    @Test func `Y-12 a method without an end is 501, a target without one 414`() {
        #expect(read([Array(repeating: UInt8(ascii: "A"), count: 100_000)]).status == 501)
        #expect(read([Array("GET /".utf8) + Array(repeating: UInt8(ascii: "a"), count: 100_000)]).status == 414)
    }

    @Test(arguments: [
        ("|", "%7C"), ("{\"q\":1}", "%7B%22q%22:1%7D"), ("^", "%5E"), ("`", "%60"), ("\\x5c", "%5C"), ("<>", "%3C%3E"),
        ("\\xc3\\xa4", "%C3%A4"), ("a[]=b", "a[]=b"), ("%7c%zz", "%7c%zz"),
    ])
    func `Y-01 V-05 characters that browsers leave unescaped in a query are forwarded escaped`(
        _ raw: String,
        _ canonical: String
    ) throws {
        let head = try accepted("GET /d/abc?left=\(raw) HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(head.target == "/d/abc?left=\(canonical)")
        let section = try FieldSection.get("", path: "/d/abc?left=\(raw)").head()
        #expect(section.target == "/d/abc?left=\(canonical)")
    }

    @Test func `a query is forwarded unchanged and may be empty`() throws {
        #expect(try target("/a?").queryText == "")
        #expect(try target("/a?b=%2F%zz//../?").target == "/a?b=%2F%zz//../?")
        #expect(try target("/a").queryText == nil)
    }

    @Test(arguments: [
        ("", BodyFraming.none), ("Content-Length: 0\r\n", .none), ("Content-Length: 5\r\n", .length(5)),
        ("Content-Length:  5 \t \r\n", .length(5)), ("content-length:5\r\n", .length(5)),
        ("Content-Length: 9223372036854775807\r\n", .length(.max)), ("Transfer-Encoding: chunked\r\n", .chunked),
        ("transfer-encoding:CHUNKED \r\n", .chunked),
    ])
    func `S-07 the framing of a body is unambiguous`(_ line: String, _ framing: BodyFraming) throws {
        #expect(try accepted("POST / HTTP/1.1\r\nHost: a\r\n\(line)\r\n").framing == framing)
    }

    @Test(arguments: [
        ("HTTP/1.1", "", true), ("HTTP/1.1", "Connection: close\r\n", false),
        ("HTTP/1.1", "Connection: x, Close\r\n", false),
        ("HTTP/1.1", "Connection: x\r\nConnection: close\r\n", false), ("HTTP/1.1", "Connection: keep-alive\r\n", true),
        ("HTTP/1.0", "", false), ("HTTP/1.0", "Connection: Keep-Alive\r\n", false),
        ("HTTP/1.0", "Connection: x\r\n", false),
    ])
    func `version and connection options decide whether a connection is kept`(
        _ version: String,
        _ line: String,
        _ keeps: Bool
    ) throws {
        #expect(try accepted("GET / \(version)\r\nHost: a\r\n\(line)\r\n").keepsAlive == keeps)
    }

    @Test func `S-52 only an HTTP/1.1 client waits for 100`() throws {
        let lines = "Host: a\r\nContent-Length: 1\r\nExpect: 100-CONTINUE\r\n\r\n"
        #expect(try accepted("POST / HTTP/1.1\r\n\(lines)").expectsContinue)
        #expect(try !accepted("POST / HTTP/1.0\r\n\(lines)").expectsContinue)
        #expect(try !accepted("POST / HTTP/1.1\r\nHost: a\r\n\r\n").expectsContinue)
    }

    @Test func `S-21 bytes above 7F in fields without a meaning are forwarded unchanged`() throws {
        let head = try accepted("GET / HTTP/1.1\r\nHost: a\r\nFoo: a\\x80\\xffb\r\n\r\n")
        let field = try #require(head.message.first(.other))
        #expect(Array(head.message.slice(field.valueRange)) == wire("a\\x80\\xffb"))
    }

    @Test func `an empty value is a value`() throws {
        let head = try accepted("GET / HTTP/1.1\r\nHost: a\r\nFoo:\r\nBar: \t \r\n\r\n")
        #expect(head.message.fields.dropFirst().allSatisfy { $0.valueRange.isEmpty })
        #expect(head.message.count(.other) == 2)
    }

    @Test func `S-40 connection options are collected from every Connection line, in lower case`() throws {
        let head = try accepted(
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: close, X-A ,,\tb\r\nconnection: Keep-Alive,C\r\n\r\n"
        )
        #expect(head.message.connectionOptions() == ["x-a", "b", "c"])
    }
}
