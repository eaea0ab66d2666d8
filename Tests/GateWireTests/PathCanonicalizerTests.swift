// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import GateWire

@Suite struct PathCanonicalizerTests {
    private static let table: [(String, String)] = [
        ("/", "/"), ("/a", "/a"), ("/a/", "/a/"), ("/a/b", "/a/b"), ("/a//b", "/a/b"), ("/a///", "/a/"),
        ("/a//", "/a/"),
        ("/.", "/"), ("/./", "/"), ("/..", "/"), ("/../", "/"), ("/a/.", "/a/"), ("/a/./b", "/a/b"), ("/a/..", "/"),
        ("/a/../", "/"), ("/a/../b", "/b"), ("/a/b/..", "/a/"), ("/a/b/../", "/a/"), ("/a/b/../../..", "/"),
        ("/../../a", "/a"), ("/%2e%2e/a", "/a"), ("/a/%2E/b", "/a/b"), ("/a/%2e%2E/b", "/b"), ("/a/.%2e", "/"),
        ("/a/...", "/a/..."), ("/.a", "/.a"), ("/..a/b", "/..a/b"), ("/a..", "/a.."),
        ("/%41%7a%2D%2e%5F%7E", "/Az-._~"),
        ("/%23%3f", "/%23%3F"), ("/%252e%252e/", "/%252e%252e/"), ("/%25", "/%25"),
        ("/a;b=1/c", "/a;b=1/c"), ("/a..;/b", "/a..;/b"), ("/...;/", "/...;/"),
        ("/;jsessionid=1", "/;jsessionid=1"), ("/a/;b=1/c", "/a/;b=1/c"), ("/a/;/../b", "/a/b"), ("/%c3%a4", "/%C3%A4"),
        ("/%e2%82%ac", "/%E2%82%AC"), ("/%20", "/%20"), ("/a:b@c!$&'()*+,=", "/a:b@c!$&'()*+,="), ("/[x]", "/[x]"),
        ("/.//x", "/x"), ("/a/..//b", "/b"), ("/%2e/", "/"), ("/%61dmin", "/admin"),
        // V-02: slashes are merged at the start as well.
        ("//api/v1/info", "/api/v1/info"), ("//", "/"), ("//evil/", "/evil/"), ("/%2f%5c", "/%2F%5C"),
        ("/a%2fb/..", "/"), ("/a/..%2f", "/a/..%2F"), ("/a\u{e4}|b", "/a%C3%A4%7Cb"),
        ("/{x}^`<\">", "/%7Bx%7D%5E%60%3C%22%3E"),
    ]

    @Test(arguments: [
        ("/ops%3aadmin", "/ops%3Aadmin", "/ops:admin"), ("/public/%40team", "/public/%40team", "/public/@team"),
        ("/%21%24%26%27%28%29%2a%2b%2c%3d", "/%21%24%26%27%28%29%2A%2B%2C%3D", "/!$&'()*+,="),
        ("/a%3bb%2Fc%25", "/a%3Bb%2Fc%25", "/a%3Bb%2Fc%25"), ("/x/../a%2bb//c", "/a%2Bb/c", "/a+b/c"),
    ])
    func `X-02 a sub-delimiter, colon or at sign is matched in one spelling and forwarded unchanged`(
        _ received: String,
        _ forwarded: String,
        _ matched: String
    ) throws {
        let head = try target(received)
        #expect(head.path.text(in: head.message) == forwarded)
        #expect(head.path.withSpan(of: head.message) { span in span.indices.map { span[$0] } } == Array(matched.utf8))
    }

    @Test func `X-02 a prefix is removed by segments, in any spelling`() throws {
        let head = try target("/ops%3Aadmin/a%40b?q")
        #expect(head.path.text(in: head.message, droppingPrefix: "/ops:admin".utf8.count) == "/a%40b")
        let whole = try target("/ops%3Aadmin")
        #expect(whole.path.text(in: whole.message, droppingPrefix: "/ops:admin".utf8.count) == "/")
        #expect(head.path.text(in: head.message, droppingPrefix: 0) == "/ops%3Aadmin/a%40b")
    }

    @Test(arguments: table)
    func `S-32 S-33 S-34 a path has one spelling`(_ received: String, _ canonical: String) throws {
        let head = try target(received)
        #expect(head.path.text(in: head.message) == canonical)
        #expect(head.path.withSpan(of: head.message) { span in span.indices.map { span[$0] } } == Array(canonical.utf8))
    }

    @Test(arguments: table)
    func `a canonical path is its own canonical path`(_ received: String, _ canonical: String) throws {
        #expect(try PathCanonicalizer.canonical(Array(canonical.utf8)) == Array(canonical.utf8))
    }

    @Test func `every path that passes the fast check is canonical`() throws {
        let parts = ["/", ".", "a", "%", "2", "e", ";", "//", "..", "%2e"]
        for first in parts {
            for second in parts {
                for third in parts {
                    let path = Array("/\(first)\(second)\(third)".utf8)
                    guard PathCanonicalizer.isCanonical(path.span, 0..<path.count) else { continue }
                    #expect(try PathCanonicalizer.canonical(path) == path)
                }
            }
        }
    }

    @Test func `canonical paths of random parts are stable, absolute and without dot segments`() throws {
        let parts = ["a", ".", "..", "%2e", "%2E.", "", "%41", "%2b", "b;c", "%25"]
        for first in parts {
            for second in parts {
                for third in parts {
                    let path = Array("/x\(first)/\(second)/\(third)".utf8)
                    let once = try PathCanonicalizer.canonical(path)
                    #expect(try PathCanonicalizer.canonical(once) == once)
                    let segments = String(decoding: once, as: UTF8.self).split(
                        separator: "/",
                        omittingEmptySubsequences: false
                    )
                    #expect(segments.first == "")
                    #expect(!segments.dropFirst().dropLast().contains(""))
                    #expect(!segments.contains(".") && !segments.contains(".."))
                }
            }
        }
    }
}
