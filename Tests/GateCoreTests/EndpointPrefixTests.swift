// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

/// Which paths endpoints may be below, and what is below one (N-03).
@Suite struct EndpointPrefixTests {
    @Test(arguments: [
        "/oauth2", "/a", "/a/b", "/.gatehouse", "/a.b_c~d-e/...", "/A/9", "/x/.well-known",
        "/" + String(repeating: "a", count: 63),
    ])
    func `a prefix is one or more whole segments of unreserved characters`(text: String) throws {
        let prefix = try #require(EndpointPrefix(text))
        #expect("\(prefix)" == text && prefix.bytes == Array(text.utf8))
        #expect(prefix.path("sign_in") == "\(text)/sign_in")
    }

    @Test(arguments: [
        "", "/", "a", "a/b", "/a/", "//a", "/a//b", "/.", "/..", "/a/.", "/a/../b", "/a b", "/a%2Fb", "/%61", "/a?b",
        "/a#b", "/a;b", "/a+b",
        "/a:b", "/a@b", "/a*", "/ä", "/a\u{301}", "/a\n", "/a\0", "/a\\b", "/.well-known", "/.well-known/x",
        "/" + String(repeating: "a", count: 64),
    ])
    func `a path that has another spelling or meaning is not a prefix`(text: String) {
        #expect(EndpointPrefix(text) == nil)
    }

    @Test(arguments: [("/in/x", "x"), ("/in/", ""), ("/in/x/y", "x/y"), ("/in//x", "/x")] as [(String, String)])
    func `the name is what follows the prefix and a slash`(path: String, name: String) throws {
        let prefix = try #require(EndpointPrefix("/in"))
        #expect(prefix.name(in: path).map(String.init) == name && prefix.includes(path))
    }

    @Test(arguments: ["/in", "/inx", "/", "", "/i", "/IN/x", "/x/in/y", "in/x"])
    func `a path that is not below the prefix has no name`(path: String) throws {
        let prefix = try #require(EndpointPrefix("/in"))
        #expect(prefix.name(in: path) == nil && prefix.includes(path) == (path == "/in"))
    }

    @Test func `a callback is below the prefix on the host of public_url`() throws {
        let origin = try #require(Origin(scheme: "https", host: "gate.example.com"))
        #expect(
            EndpointPrefix.standard.callback(of: "staff", at: origin)
                == "https://gate.example.com/oauth2/callback/staff"
        )
    }
}
