// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import GateWire

@Suite struct PathReadingsTests {
    /// The readings as text; empty without readings.
    private static func readings(_ path: String) -> Set<String> {
        Set((PathReadings.all(of: Array(path.utf8)) ?? []).map { String(decoding: $0.path, as: UTF8.self) })
    }

    @Test(arguments: [
        ("/admin%2Fusers", "/admin/users"), ("/admin%5Cusers", "/admin/users"), ("/admin%5Cusers", "/admin\\users"),
        ("/admin;x=1/users", "/admin/users"), ("/%2Fadmin", "/admin"), ("/%2Fadmin", "//admin"), ("/a%3Bb/c", "/a/c"),
        ("/%25252Fadmin", "/admin"), ("/a;%2Fb/sec%2Fret", "/a/sec/ret"), ("/b%C3%BCro", "/b\u{FC}ro"),
        ("/a/;x/b", "/a/b"), ("/pub/secret%3Fx", "/pub/secret"), ("/admin%2523x", "/admin"),
        ("/%5Chost/admin/x", "/admin/x"),
        ("/%2Fhost", "/"), ("/adm%3Ba%5Cb/sec", "/adm/sec"), ("/adm%3Ba%5Cb/sec", "/adm\\b/sec"),
        ("/x/;j=1/y", "/x//y"),
    ])
    func `X-11 Y-02 the reading of some server is among the readings`(_ path: String, _ reading: String) {
        #expect(Self.readings(path).contains(reading), "\(Self.readings(path))")
    }

    @Test(arguments: [
        ("/", true), ("/wiki", true), ("/a%2Fb", true), ("/b%C3%BCro", true), ("/100%25", true), ("/a;b", false),
        ("/a%3Fb", false), ("/a%5Cb", false), ("/a%2541", false), ("/a%2F%2Fb", false), ("/a%2F..", false),
    ])
    func `a path is unambiguous if servers see it as it is or with every escape decoded`(path: String, isOne: Bool) {
        #expect(PathReadings.isUnambiguous(path) == isOne)
    }

    @Test(arguments: [
        "/public/%252e%252e/admin", "/public/..%3B/admin", "/x/..%2Fadmin", "/x/%2E%2E%2Fadmin", "/x/..%255Cadmin",
        "/pub/secret%2Fq%5C..%5C..%5Cok%2F..%2Freal", "/pub/a;%2Fb%2Fc/..%2F..%2Fadmin", "/pub/secret%2F.%2Fx",
        "/a/..;x/b",
        "/a%2500b", "/pub/.%2509./admin", "/a%250Db", "/a%257F", "/a%25c0%25af", "/%2525252561dmin",
    ])
    func `X-11 a path with a dot segment, control character or too many escapes in some reading has none`(
        _ path: String
    ) {
        #expect(PathReadings.all(of: Array(path.utf8)) == nil)
    }

    @Test(arguments: ["/", "/a/b", "/a.b/..c", "/A-Z_~", "/a:b@c"])
    func `a plain path has no other reading`(_ path: String) {
        let isPlain = PathReadings.isPlain(Array(path.utf8).span)
        #expect(isPlain)
        #expect(Self.readings(path) == [path])
    }

    @Test(arguments: ["/a%20b", "/100%25", "/a%252Fb", "/%2F%5C;x", "/api/queues/%2F/q", "/%25252Fa;b%253Bc"])
    func `Y-02 there are at most 256 readings, and decoded ones are marked`(_ path: String) throws {
        let readings = try #require(PathReadings.all(of: Array(path.utf8)))
        #expect(readings.count <= 256)
        #expect(readings.contains(PathReading(path: Array(path.utf8), isDecoded: false)))
        #expect(readings.contains { $0.isDecoded } == path.contains("%"))
    }

    /// Parameters, separators and queries at three depths of escapes, which give more than 400 readings.
    private static let manyReadings = """
        /%2Fq;a%255Cb/x%25253Ba%25255Cb%25253Fc/%25252F/y%253Ba%255Cb%253Fc/%252F/z%3Ba%5Cb%3Fc/%2F/w
        """

    @Test(arguments: [
        manyReadings, String(repeating: manyReadings, count: 8192 / manyReadings.utf8.count),
        "/p;a%5Cb/x%25253Ba%25255Cb%25253Fc/%2F/y%253Ba%255Cb%253Fc/%252F/z%3Ba%5Cb%3Fc/%25252F/w",
    ])
    func `X-11 a path with more than 256 readings has none`(_ path: String) {
        let hasReadings = PathReadings.all(of: Array(path.utf8)) != nil
        #expect(!hasReadings)
    }

    @Test(arguments: [("/a%2Fb", true), ("/a%5Cb", true), ("/a%252Fb", false), ("/a%2", false), ("/a/b", false)])
    func `an escaped separator is detected`(_ path: String, _ isThere: Bool) {
        let found = PathReadings.hasEscapedSeparator(Array(path.utf8).span)
        #expect(found == isThere)
    }
}
