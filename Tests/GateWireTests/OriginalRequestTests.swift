// SPDX-License-Identifier: Apache-2.0

import GateCore
import NIOCore
import Testing

@testable import GateWire

/// The head of a request that a proxy asks about.
@Suite struct OriginalRequestTests {
    private func original(
        _ lines: String = "",
        method: String = "GET",
        target: String = "/",
        host: String = "wiki.example.com"
    ) throws -> RequestHead {
        let asking = try accepted("POST /asked?x HTTP/1.1\r\nHost: gate\r\n\(lines)\r\n")
        return try asking.original(
            method: Array(method.utf8),
            target: Array(target.utf8),
            host: Array(host.utf8),
            names: FieldNames()
        )
    }

    @Test func `it has the fields of the asking head but those of the proxy's connection and of gateways`() throws {
        let lines = """
            Accept: text/html\r
            Connection: close\r
            Content-Length: 5\r
            X-Original-URL: https://a/\r
            X-Forwarded-User: eve\r
            X-Forwarded-For: 192.0.2.9\r
            Cookie: a=b\r
            My_Field: 1\r

            """
        let head = try self.original(lines, method: "PATCH", target: "/a/b?c=%2F", host: "Wiki.example.com:8443")
        let names = head.message.fields.map { head.message.text($0.nameRange) }
        #expect(names == ["Host", "Accept", "X-Forwarded-For", "Cookie", "My_Field"])
        #expect(head.method == .patch && head.target == "/a/b?c=%2F" && head.authority.text == "wiki.example.com:8443")
        #expect(head.framing == .none && head.hasIrregularNames)
    }

    @Test(
        arguments: [
            ("GET", "/ HTTP/1.1\r\nX: y", "a"), ("GET", "/a b", "a"), ("GET", "/a#b", "a"), ("GET", "", "a"),
            ("GET", "http://b/", "a"), ("GET", "*", "a"), ("OPTIONS", "*", "a"), ("GET", "x", "a"), ("GET", "?x", "a"),
            ("GET /x", "/", "a"), ("", "/", "a"), ("get", "/", "a"), ("CONNECT", "/", "a"), ("G\tET", "/", "a"),
            ("GET", "/", ""), ("GET", "/", "a b"), ("GET", "/", "a\r\nX: y"), ("GET", "/", "a/b"), ("GET", "/", "a@b"),
            ("GET", "/", "a, b"), ("GET", "/", "a:0x"), ("GET", "/\u{0}", "a"), ("GET", "/%00", "a"),
            ("GET", "/%2", "a"),
            ("GET", "/a\\b", "a"), ("GET", "/" + String(repeating: "a", count: 9000), "a"),
        ]
    )
    func `K4 nothing in method, target or host can be another line, host or form of target`(
        method: String,
        target: String,
        host: String
    ) {
        #expect(throws: WireRejection.self) { try self.original(method: method, target: target, host: host) }
    }

    @Test(
        arguments: [
            ("/", true), ("/a/b", true), ("/a%2fb", true), ("/a%2Fb", true), ("/caf%c3%A9", true), ("/a|b", true),
            ("/caf\u{e9}", true), ("/%28a%29", true), ("/fade/%aD?%41//", false), ("/a/?//..", true), ("/a//b", false),
            ("/a/../b", false), ("/./a", false), ("/%61", false), ("/a%7Eb", false), ("/%2e/a", false), ("//a", false),
            ("/ff%20ff", true), ("/%c3%a9ab", true),
        ]
    )
    func `A-42 a path counts as received if no app can read another one in it`(target: String, isSame: Bool) throws {
        guard let head = try? self.original(target: target) else {
            #expect(!isSame)
            return
        }
        #expect(head.isPathAsReceived == isSame)
    }
}
