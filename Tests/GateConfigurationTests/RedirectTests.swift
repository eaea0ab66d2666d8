// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import Testing

/// The redirects of an app.
@Suite struct RedirectTests {
    private func remarks(_ redirect: String, _ lines: String = "", rest: String = "") -> [String] {
        Fixture.remarks(Fixture.smallest(upstream: "redirect: \(redirect)", app: lines, rest: rest))
    }

    @Test(
        arguments: [
            ("{ status: 301 }", "a redirect needs 'to', such as 'to: https://new.example.com'"),
            ("https://b", "expected a redirect as a mapping of keys, found a single value"),
            ("{ to: b }", "'b' is not an http or https URL such as https://new.example.com"),
            (
                "{ to: /b }",
                "'/b' is not an http or https URL such as https://new.example.com; write scheme and host too"
            ),
            (
                "{ to: \"javascript:alert(1)\" }",
                "'javascript:alert(1)' is not an http or https URL such as https://new.example.com"
            ),
            (
                "{ to: \"https://b\\r\\nX: y\" }",
                "'https://b  X: y' is not an http or https URL such as https://new.example.com"
            ),
            (
                "{ to: \"https://b#c\" }",
                "'https://b#c' is not an http or https URL such as https://new.example.com"
            ),
            (
                "{ to: \"https://b?c\" }",
                "'https://b/?c' has a query, so no path can be appended; write 'keep_path: false', or remove the query"
            ),
            (
                "{ to: https://b, status: 300 }",
                "'300' is not a status of a redirect; write one of 301, 302, 303, 307, 308"
            ),
            (
                "{ to: https://b, status: 200 }",
                "'200' is not a status of a redirect; write one of 301, 302, 303, 307, 308"
            ),
        ]
    )
    func `an invalid redirect is rejected`(redirect: String, message: String) {
        #expect(self.remarks(redirect) == ["error: \(message)"])
    }

    @Test(
        arguments: [
            ("https://gate.example.com", "", true), ("https://GATE.example.com:443/a", "", true),
            ("https://gate.example.com/wiki", "path: /wiki", true),
            ("https://gate.example.com/new", "path: /wiki", false),
            ("https://gate.example.com/", "path: /wiki", true),
            ("https://gate.example.com/wiki/a", "path: /wiki", true),
            ("https://gate.example.com", "path: /wiki\n    strip_prefix: true", false),
            ("https://gate.example.com/wiki", "path: /wiki\n    strip_prefix: true", true),
            ("https://gate.example.com/wikis", "path: /wiki\n    strip_prefix: true", false),
            ("https://gate.example.com/wiki/a/b", "path: /wiki\n    strip_prefix: true", true),
            ("https://other.example.com", "host: other.example.com", true),
            ("https://gate.example.com", "host: other.example.com", false),
            ("https://gate.example.com:8443", "", false), ("http://gate.example.com", "", false),
            ("https://gate.example.com/oauth2/sign_out", "", false),
        ]
    )
    func `a redirect must not lead back to its app`(to: String, lines: String, isLoop: Bool) throws {
        let address = try #require(WebURL(to))
        let reason = "leads back to this app, so a browser would be redirected in a loop; write another URL"
        let wanted = isLoop ? ["error: '\(address)' \(reason)"] : []
        #expect(self.remarks("{ to: \"\(to)\" }", "    \(lines)") == wanted)
    }

    @Test func `without the path only the address itself counts`() {
        let lines = "    path: /wiki"
        #expect(self.remarks("{ to: https://gate.example.com/wiki/a, keep_path: false }", lines).count == 1)
        #expect(self.remarks("{ to: https://gate.example.com, keep_path: false }", lines) == [])
    }

    @Test func `a redirect may lead into another app of the same host`() {
        let other = "  new: { path: /new, upstream: \"http://a\", allow: signed_in }"
        let redirect = "{ to: https://gate.example.com/new, keep_path: false }"
        #expect(self.remarks(redirect, rest: other) == [])
        #expect(self.remarks(redirect).count == 1)
    }
}
