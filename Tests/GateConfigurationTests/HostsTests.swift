// SPDX-License-Identifier: Apache-2.0

import Foundation
import GateConfiguration
import GateCore
import GatePolicy
import Testing

/// The hosts of an app.
@Suite struct HostsTests {
    private func remarks(_ host: String, rest: String = "") -> [String] {
        Fixture.remarks(Fixture.smallest(app: "    host: \(host)", rest: rest))
    }

    private static let other = """
          board:
            host: b.example.com
            upstream: http://127.0.0.1:9001
            allow: signed_in
        """

    @Test func `an app may have several hosts and wildcards, in lower case and without a dot at the end`() throws {
        let app = try Fixture.app("    host: [Wiki.example.com., \"*.Apps.example.com\", w]")
        let hosts: [HostPattern] = [.exact("wiki.example.com"), .wildcard("apps.example.com"), .exact("w")]
        #expect(app.route.origins.hosts == hosts)
        #expect(app.route.audience == "https://wiki.example.com")
    }

    @Test func `the audience of an app with a wildcard first has the wildcard`() throws {
        let app = try Fixture.app("    host: [\"*.apps.example.com\", wiki.example.com]\n    path: /wiki")
        #expect(app.route.audience == "https://*.apps.example.com/wiki")
    }

    @Test(
        arguments: [
            // G-09
            (
                "bücher.example.com",
                "'bücher.example.com' has letters that no host has in HTTP; write it as browsers send it: 'xn--bcher-kva.example.com'"
            ),
            (
                "\"*.Bücher.example\"",
                "'*.Bücher.example' has letters that no host has in HTTP; write it as browsers send it: '*.xn--bcher-kva.example'"
            ),
            ("\"*\"", "'*' is not a host name; a wildcard is one whole label at the start: '*.apps.example.com'"),
            ("\"*.com\"", "'*.com' includes hosts of other owners; a wildcard needs at least two labels after '*.'"),
            (
                "\"a*.example.com\"",
                "'a*.example.com' is not a host name; a wildcard is one whole label at the start: '*.apps.example.com'"
            ),
            (
                "\"*.*.example.com\"",
                "'*.*.example.com' is not a host name; a wildcard is one whole label at the start: '*.apps.example.com'"
            ),
            (
                "\"*.apps.example.com:8443\"",
                "'*.apps.example.com:8443' is not a host name; a wildcard is one whole label at the start: "
                    + "'*.apps.example.com'"
            ),
            ("\"*.0.0.1\"", "'*.0.0.1' is not a host name; a wildcard is not possible for IP addresses"),
            (
                "\"*.example.com\"",
                "'*.example.com' includes the host of 'public_url', 'gate.example.com'; write a wildcard of another "
                    + "domain, so that no app has a host beside the sign-in pages"
            ),
            ("[]", "the list is empty; it needs at least one entry"),
            ("[a.example.com, A.example.com]", "'a.example.com' is here twice; first in line 15"),
            (
                "[a.example.com, https://c.example.com]",
                "'https://c.example.com' is a URL; write the host alone: 'c.example.com'"
            ),
        ]
    )
    func `an invalid host is rejected`(host: String, message: String) {
        #expect(self.remarks(host) == ["error: \(message)"])
    }

    @Test func `two apps cannot have the same place on any of their hosts`() {
        let message = "error: 'b.example.com/' belongs to app 'wiki' in line 12 already"
        #expect(self.remarks("[a.example.com, b.example.com]", rest: Self.other) == [message])
        #expect(self.remarks("[a.example.com, c.example.com]", rest: Self.other) == [])
        #expect(self.remarks("\"*.a.example.com\"", rest: Self.other) == [])
    }

    @Test func `a host that an app names does not belong to the wildcard of another`() {
        let text = Self.other.replacingOccurrences(of: "b.example.com", with: "b.apps.example.com")
        #expect(self.remarks("\"*.apps.example.com\"", rest: text) == [])
    }

    @Test(
        arguments: [
            ("http://10.0.0.1:9000", false), ("https://x.apps.example.com", true), ("https://b.example.com", true),
            ("https://y.x.apps.example.com", false), ("https://x.apps.example.com:444", false),
            ("https://gate.example.com", true),
        ]
    )
    func `an upstream that is one of the app's own hosts is a loop`(upstream: String, isLoop: Bool) {
        let app = "    host: [\"*.apps.example.com\", b.example.com]\n    upstream_host: x"
        let remarks = Fixture.remarks(Fixture.smallest(upstream: "upstream: \(upstream)", app: app))
        #expect(remarks.contains { $0.contains("is this gateway itself") } == isLoop)
    }

    @Test(
        arguments: [
            ("https://x.apps.example.com", true), ("https://b.example.com/", true), ("https://c.example.com", false),
            ("https://own.apps.example.com", false), ("http://b.example.com", false),
        ]
    )
    func `a redirect to another host of the same app is a loop`(to: String, isLoop: Bool) {
        let other = Self.other.replacingOccurrences(of: "b.example.com", with: "own.apps.example.com")
        let app = "    host: [\"*.apps.example.com\", b.example.com]"
        let remarks = Fixture.remarks(Fixture.smallest(upstream: "redirect: { to: \"\(to)\" }", app: app, rest: other))
        #expect(remarks.contains { $0.contains("leads back to this app") } == isLoop)
    }
}
