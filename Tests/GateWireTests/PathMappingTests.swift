// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import GateWire

@Suite struct PathMappingTests {
    private static func mapping(_ rules: KeyValuePairs<String, String>) throws -> PathMapping {
        try #require(PathMapping(rules.map { PathMapping.Rule(from: $0.key, to: $0.value) }))
    }

    private static func target(_ target: String) throws -> RequestHead {
        try accepted("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n")
    }

    /// What the app gets for a target: its path, and its query as it was sent.
    private static func forwarded(_ target: String, _ mapping: PathMapping?) throws -> String {
        let head = try self.target(target)
        let line = HeadWriter.head(into: ByteBuffer()) { $0.writeRequestLine(of: head, mappedBy: mapping) }
        return String(String(buffer: line).split(separator: " ")[1])
    }

    @Test(arguments: [
        ("/old", "/new"), ("/old/", "/new/"), ("/old/x", "/new/x"), ("/old/x/", "/new/x/"), ("/oldish", "/oldish"),
        ("/old-x/y", "/old-x/y"), ("/ol", "/ol"), ("/", "/"), ("/a/old/x", "/a/old/x"), ("/old//x", "/new/x"),
        ("//old/x", "/new/x"), ("/./old/x", "/new/x"), ("/x/../old/y", "/new/y"), ("/old/../x", "/x"),
        ("/old/%2e%2e/x", "/x"),
        ("/old/.%2E/old/x", "/new/x"), ("/%6fld/x", "/new/x"), ("/old?a=/old/b", "/new?a=/old/b"), ("/old/?", "/new/?"),
        ("/old/a%2Fb", "/new/a%2Fb"), ("/old;v=1/x", "/old;v=1/x"), ("/old/x;v=1", "/new/x;v=1"), ("/Old/x", "/Old/x"),
        ("/old/a%3Ab@c?q=%2e%2E&x=//", "/new/a%3Ab@c?q=%2e%2E&x=//"), ("/old/%C3%BC", "/new/%C3%BC"),
    ])
    func `segments are replaced as a whole, in every spelling of them, and nothing else changes`(
        sent: String,
        expected: String
    ) throws {
        #expect(try Self.forwarded(sent, Self.mapping(["/old": "/new", "/": "/"])) == expected)
    }

    @Test(arguments: [
        ("/", "/base/"), ("/x", "/base/x"), ("/x/?q", "/base/x/?q"), ("/?", "/base/?"), ("/base/x", "/base/base/x"),
        ("/a//b/..", "/base/a/"),
    ])
    func `a base is put before every path`(sent: String, expected: String) throws {
        #expect(try Self.forwarded(sent, Self.mapping(["/": "/base"])) == expected)
    }

    @Test(arguments: [
        ("/wiki", "/base"), ("/wiki/", "/base/"), ("/wiki/x", "/base/x"), ("/wiki/old", "/base/new"),
        ("/wiki/old/x", "/base/new/x"),
        ("/wiki/old/er/x", "/x"), ("/wiki/old/er", "/"), ("/wiki/older", "/base/older"),
        ("/ops%3Ax/a%40b", "/ops%3Ax/a%40b"),
    ])
    func `the longest path counts`(sent: String, expected: String) throws {
        let mapping = try Self.mapping(["/wiki": "/base", "/wiki/old": "/base/new", "/wiki/old/er": "/"])
        #expect(try Self.forwarded(sent, mapping) == expected)
    }

    @Test func `a path that is sent in another spelling is mapped by its segments`() throws {
        let mapping = try Self.mapping(["/ops:admin": "/new"])
        #expect(try Self.forwarded("/ops%3Aadmin/a%40b?q", mapping) == "/new/a%40b?q")
        #expect(try Self.forwarded("/ops%3Aadmin", mapping) == "/new")
        let head = try Self.target("/ops%3Aadmin/a%40b?q")
        #expect(head.path.text(in: head.message, mappedBy: mapping) == "/new/a%40b")
    }

    @Test func `without a change there is no mapping`() {
        #expect(PathMapping([]) == nil)
        #expect(PathMapping([.init(from: "/", to: "/"), .init(from: "/a", to: "/a")]) == nil)
    }

    @Test(
        arguments: [
            ("/new", "/old"), ("/new/x", "/old/x"), ("/new/", "/old/"), ("/newer", nil), ("/x", nil), ("/", nil),
            ("", nil),
        ] as [(String, String?)]
    )
    func `a path of the app is the one that clients send for it`(path: String, expected: String?) throws {
        #expect(try Self.mapping(["/old": "/new"]).publicPath(of: path) == expected)
    }

    @Test(
        arguments: [
            ("/page", "/wiki/page"), ("/", "/wiki/"), ("", "/wiki"), ("/wiki", nil), ("/wiki/x", nil),
            ("/wikix", "/wiki/wikix"),
        ] as [(String, String?)]
    )
    func `an app that knows the path that was removed gets no second one`(path: String, expected: String?) throws {
        #expect(try Self.mapping(["/wiki": "/"]).publicPath(of: path) == expected)
    }

    @Test func `what the request was mapped by goes before a longer path`() throws {
        let mapping = try Self.mapping(["/a": "/new", "/b": "/new", "/": "/"])
        let rules = ["/a/x", "/b/x", "/new/x"].map { path in
            let bytes = Array(path.utf8)
            return mapping.rule(for: bytes.span)
        }
        #expect(rules.map { mapping.publicPath(of: "/new/y", mappedBy: $0) } == ["/a/y", "/b/y", "/new/y"])
        #expect(rules.map { mapping.publicPath(of: "/other", mappedBy: $0) } == ["/other", "/other", "/other"])
    }

    @Test(
        arguments: [
            (["/wiki": "/"], "/wiki", "/", "/wiki"), (["/wiki": "/"], "/wiki", "/x", "/wiki/x"),
            (["/wiki": "/"], "/wiki", "/wiki/", nil), (["/wiki": "/base"], "/wiki", "/", "/wiki"),
            (["/wiki": "/base"], "/wiki", "/base", "/wiki"), (["/wiki": "/base"], "/wiki", "/base/", "/wiki/"),
            (["/wiki": "/base"], "/wiki", "/base/x", "/wiki/x"), (["/wiki": "/base"], "/wiki", "/other", nil),
            (["/": "/base"], "/", "/base", "/"), (["/": "/base"], "/", "/", "/"),
            (["/": "/base/app"], "/", "/base", "/"),
            (["/": "/base"], "/wiki", "/", "/wiki"), (["/": "/base"], "/wiki", "/base", "/wiki"),
            (["/": "/base"], "/wiki", "/base/", "/wiki"), (["/": "/base"], "/wiki", "/base/wiki/x", "/wiki/x"),
            (["/old": "/new", "/": "/"], "/", "/", "/"),
            (["/old": "/new", "/": "/"], "/", "/new", "/old"), (["/old": "/new", "/": "/"], "/", "/x", "/x"),
        ] as [(KeyValuePairs<String, String>, String, String, String?)]
    )
    func `the path of a cookie covers for clients what it covers for the app`(
        rules: KeyValuePairs<String, String>,
        app: String,
        path: String,
        expected: String?
    ) throws {
        #expect(try Self.mapping(rules).cookiePath(of: path, below: app) == expected)
    }

    /// Segments that tests put together; no escape in them has another reading.
    private static let segments = ["old", "new", "base", "a", "x.y", "a%20b", "%C3%BC", "old-x", "~", "1"]

    private struct Generator {
        var state: UInt64

        mutating func number(_ limit: Int) -> Int {
            self.state = self.state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(self.state >> 33) % limit
        }

        mutating func path(_ most: Int) -> String {
            let count = self.number(most + 1)
            return "/" + (0..<count).map { _ in PathMappingTests.segments[self.number(10)] }.joined(separator: "/")
        }
    }

    @Test(arguments: 0..<20)
    func `there and back is the same path, and a checked path stays one`(seed: UInt64) throws {
        var generator = Generator(state: seed)
        for _ in 0..<200 {
            var rules: [PathMapping.Rule] = []
            for _ in 0...generator.number(3) {
                let rule = PathMapping.Rule(from: generator.path(2), to: generator.path(2))
                if !rules.contains(where: { $0.from == rule.from }) { rules.append(rule) }
            }
            guard let mapping = PathMapping(rules) else { continue }
            let path = generator.path(4) + (generator.number(4) == 0 ? "/" : "")
            let head = try Self.target(path)
            let sent = head.path.text(in: head.message)
            let mapped = head.path.text(in: head.message, mappedBy: mapping)
            #expect(mapped == mapping.mapped(sent))
            let bytes = Array(sent.utf8)
            let rule = mapping.rule(for: bytes.span)
            // The path that was mapped is in canonical spelling again, so that the app's parser finds nothing to change.
            let again = try Self.target(mapped)
            #expect(again.path.text(in: again.message) == mapped, "\(path)")
            let back = rule.flatMap { mapping.publicPath(of: mapped, mappedBy: $0) } ?? mapped
            let isRoot = rule.map { mapping.rules[$0].to.isEmpty && mapped == "/" } ?? false
            let isKnown =
                rule.map { rule in
                    let (from, to) = (mapping.rules[rule].from, mapping.rules[rule].to)
                    return to.isEmpty && (mapped == from || mapped.hasPrefix("\(from)/"))
                } ?? false
            if isKnown { continue }
            #expect(back == sent || isRoot && back == "\(sent)/", "\(rules) \(sent) \(mapped) \(back)")
        }
    }

    @Test(arguments: [
        ("/OLD/x", true), ("/old%2Fx", true), ("/oldx", false), ("/x", false), ("/old/x", false), ("/x/old", false),
    ])
    func `a path that some server takes for one of another rule is ambiguous`(path: String, expected: Bool) throws {
        let mapping = try Self.mapping(["/old": "/new", "/": "/"])
        let bytes = Array(path.utf8)
        let readings = try #require(PathReadings.all(of: bytes)).map(\.path)
        let found = mapping.isAmbiguous(bytes.span, read: readings)
        #expect(found == expected)
    }
}
