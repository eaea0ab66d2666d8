// SPDX-License-Identifier: Apache-2.0

import GateCore
import GatePolicy
import Testing

/// A table of apps that have one host each.
private func singleHosts(_ entries: [(host: String, path: String)]) -> RouteTable {
    RouteTable(entries.map { ([.exact($0.host)], $0.path) })
}

@Suite struct RouteTableTests {
    private let table = singleHosts([
        (host: "a.example", path: "/"), (host: "a.example", path: "/foo"), (host: "a.example", path: "/foo/bar/"),
        (host: "b.example", path: "/only"), (host: "a.example", path: "/foo/"),
    ])

    @Test(
        arguments: [
            ("a.example", "/", 0), ("a.example", "/x", 0), ("a.example", "/foobar", 0), ("a.example", "/fo", 0),
            ("a.example", "/foo", 1), ("a.example", "/foo/", 1), ("a.example", "/foo/ba", 1),
            ("a.example", "/foo/barx", 1),
            ("a.example", "/foo/bar", 2), ("a.example", "/foo/bar/", 2), ("a.example", "/foo/bar/x/y", 2),
            ("a.example", "/Foo", 0), ("a.example", "/foo%2Fbar", 0), ("a.example", "//foo", 0),
            ("b.example", "/only", 3), ("b.example", "/only/x", 3), ("b.example", "/onlyx", nil),
            ("b.example", "/", nil),
            ("c.example", "/", nil), ("", "/", nil), ("x.a.example", "/", nil), ("A.example", "/", nil),
        ] as [(String, String, Int?)]
    )
    func `the longest prefix of whole segments wins`(host: String, path: String, entry: Int?) {
        #expect(self.table.entry(host: host, path: Array(path.utf8).span) == entry)
    }

    @Test func `an empty table finds nothing`() {
        #expect(RouteTable([]).entry(host: "a.example", path: Array("/".utf8).span) == nil)
    }

    @Test(
        arguments: [
            ("a.example", "/x", 0), ("b.example", "/x", 0), ("b.example", "/wiki", 1),
            ("one.apps.example", "/", 2), ("two.apps.example", "/wiki/x", 3), ("own.apps.example", "/", nil),
            ("own.apps.example", "/desk", 4), ("apps.example", "/", nil), ("x.one.apps.example", "/", nil),
            (".apps.example", "/", 2), ("one.apps.example.attacker.net", "/", nil), ("*.apps.example", "/", 2),
        ] as [(String, String, Int?)]
    )
    func `an app may have several hosts, and a host of its own does not belong to a wildcard`(
        host: String,
        path: String,
        entry: Int?
    ) {
        let apps = HostPattern.wildcard("apps.example")
        let table = RouteTable([
            ([.exact("a.example"), .exact("b.example")], "/"), ([.exact("b.example")], "/wiki"), ([apps], "/"),
            ([.exact("c.example"), apps], "/wiki"), ([.exact("own.apps.example")], "/desk"),
        ])
        #expect(table.entry(host: host, path: Array(path.utf8).span) == entry)
    }

    @Test(
        arguments: [
            ("a.example", [0]), ("b.example", [0, 1]), ("one.apps.example", [2, 3]), ("own.apps.example", [4]),
            ("c.example", [3]), ("apps.example", []), ("x.one.apps.example", []), ("d.example", []),
        ] as [(String, Set<Int>)]
    )
    func `a host has the entries that its requests can lead to, and none of a wildcard if it has its own`(
        host: String,
        entries: Set<Int>
    ) {
        let apps = HostPattern.wildcard("apps.example")
        let table = RouteTable([
            ([.exact("a.example"), .exact("b.example")], "/"), ([.exact("b.example")], "/wiki"), ([apps], "/"),
            ([.exact("c.example"), apps], "/wiki"), ([.exact("own.apps.example")], "/desk"),
        ])
        #expect(table.entries(on: host) == entries)
    }

    @Test func `ten thousand routes are distinguished`() {
        var entries: [(host: String, path: String)] = []
        for number in 0..<5000 {
            entries.append((host: "host-\(number % 100).example", path: "/app-\(number)"))
            entries.append((host: "host-\(number % 100).example", path: "/app-\(number)/deep/\(number)"))
        }
        let table = singleHosts(entries)
        for (index, entry) in entries.enumerated() {
            #expect(table.entry(host: entry.host, path: Array(entry.path.utf8).span) == index)
            #expect(table.entry(host: entry.host, path: Array("\(entry.path)/x".utf8).span) == index)
            #expect(
                table.entry(host: entry.host, path: Array("\(entry.path)x".utf8).span)
                    == (index % 2 == 0 ? nil : index - 1)
            )
        }
        #expect(table.entry(host: "host-1.example", path: Array("/app-2".utf8).span) == nil)
    }

    @Test func `a long path costs no more than its host's longest prefix`() {
        let path = "/foo/bar" + String(repeating: "/a", count: 1_000_000)
        #expect(self.table.entry(host: "a.example", path: Array(path.utf8).span) == 2)
    }

    @Test func `the table agrees with a plain search`() {
        let segments = ["a", "b", "ab", "a-b", ""]
        var paths: [String] = ["/"]
        for first in segments {
            for second in segments {
                paths.append("/\(first)/\(second)")
            }
        }
        let entries = paths.filter { !$0.contains("//") }.map { (host: "h.example", path: $0) }
        let table = singleHosts(entries)
        for path in paths.flatMap({ [$0, "\($0)/a", "\($0)b"] }) {
            let fitting = entries.enumerated().filter { Self.plainly(path, isBelow: $0.element.path) }
            let maxLength = fitting.map { Self.trimmed($0.element.path).utf8.count }.max()
            let expected = fitting.first { Self.trimmed($0.element.path).utf8.count == maxLength }?.offset
            #expect(table.entry(host: "h.example", path: Array(path.utf8).span) == expected)
        }
    }

    private static func trimmed(_ path: String) -> String { path.hasSuffix("/") ? String(path.dropLast()) : path }

    private static func plainly(_ path: String, isBelow prefix: String) -> Bool {
        path == self.trimmed(prefix) || path.hasPrefix("\(self.trimmed(prefix))/")
    }
}
