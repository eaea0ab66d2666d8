// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import GatePolicy
import GateWire
import Testing

/// Paths of the file are those by which requests are matched.
@Suite struct ConfiguredPathTests {
    private func diagnostics(path: String) -> [Diagnostic] {
        Fixture.parse(Fixture.smallest(app: "    path: \"\(path)\"")).diagnostics
    }

    @Test(arguments: [("/a%2Fb", "/a/b"), ("/a/%2Fb", "/a//b"), ("/a%2Fb/", "/a/b/"), ("/a%5Cb", "/a\\b")])
    func `the path of an app has no escaped slash, since servers read it in different ways`(path: String, read: String)
    {
        let found = self.diagnostics(path: path)
        let help = "has an escaped slash or backslash, which some servers read as '\(read)'; write the path without it"
        #expect(found.map(\.message) == ["'\(path)' \(help)"])
        #expect(found.first?.severity == .error)
        #expect(found.first?.location?.line == 15 && found.first?.location?.column == 11)
    }

    @Test(arguments: ["/a;b", "/a%3Bb", "/a%3Fb", "/a%23b", "/a%2541", "/a%252Fb"])
    func `the path of an app is rejected if a server could read it as another path`(path: String) {
        let found = self.diagnostics(path: path).map(\.message)
        #expect(found.count == 1 && found[0].hasPrefix("'\(path)' is read as another path by some servers"), "\(found)")
    }

    @Test(
        arguments: [
            ("/%61", "/a"), ("/a%2fb", "/a%2Fb"), ("/a//b", "/a/b"), ("/a/./b", "/a/b"), ("/a/../b", "/b"),
            ("/b\u{FC}ro", "/b%C3%BCro"), ("/%28x%29", "/(x)"), ("/a\\\"b", "/a%22b"),
        ]
    )
    func `a path in another spelling is rejected with the one of requests`(path: String, spelling: String) {
        for messages in [
            self.diagnostics(path: path).map(\.message),
            Fixture.messages(Fixture.smallest(app: "    public: [\"\(path)\"]")),
        ] {
            #expect(messages.count == 1 && messages[0].hasSuffix(" is '\(spelling)' in requests; write that"))
        }
    }

    @Test(arguments: ["/a%00b", "/a%", "/a%zz", "/%FF", "/a/..;x/b"])
    func `a path with which every request is rejected is an error`(path: String) {
        let messages = Fixture.messages(Fixture.smallest(app: "    public: [\"\(path)\"]"))
        #expect(messages == ["'\(path)' is not a path that a request can have; every request for it is rejected"])
    }

    @Test(arguments: ["/a b", "/a\\tb"])
    func `a path has no spaces and control characters`(path: String) {
        let messages = Fixture.messages(Fixture.smallest(app: "    public: [\"x\", \"/y\"]\n    path: \"\(path)\""))
        #expect(
            messages.contains {
                $0.hasSuffix("has a space or control character, or is too long; write '%20' for a space")
            }
        )
    }

    @Test(arguments: ["/a%20b", "/100%25", "/b%C3%BCro", "/@scope", "/a:b", "/x,y", "/~me", "/a/b/"])
    func `what the file accepts is what requests are matched by`(path: String) throws {
        let route = try Fixture.app("    path: \"\(path)\"").route
        #expect(try CanonicalPath.matched(ofConfigured: route.path) == route.path)
        #expect(PathReadings.isUnambiguous(route.path))
    }

    @Test(arguments: ["/group%2Fproject", "/a;b/"])
    func `a public path of an app may have escaped slashes and parameters`(path: String) throws {
        let route = try Fixture.app("    public: [\"\(path)\"]").route
        #expect(route.publicRules.map(\.path) == [path])
    }
}
