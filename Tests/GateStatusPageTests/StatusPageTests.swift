// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@testable import GateStatusPage

@Suite struct StatusPageTests {
    /// A state with the same text in every place where there is one.
    private func status(_ text: String, apps: Int = 1) -> JSON {
        let word = JSON.string(text)
        let app: JSON = [
            "name": word, "hosts": [word], "path": word, "maintenance": false,
            "targets": [["target": word, "healthy": false, "checked": true, "requests": 1]],
        ]
        return [
            "at": 1_800_000_000, "public_url": word, "gateway_version": word, "started_at": 1_799_999_000,
            "operations": word, "configuration": word, "configuration_hash": word, "loaded_at": 1_799_999_000,
            "listeners": [word], "last_reload": ["at": 1_799_999_900, "ok": false, "by": word, "detail": word],
            "provider_states": [
                [
                    "name": word, "state": "failing", "breaker_open": true, "keys_stale": true,
                    "last_failure": ["at": 1_799_999_999, "code": word, "detail": word],
                ]
            ],
            "app_states": .array(Array(repeating: app, count: apps)), "store_fault": word,
            "overload": ["stage": word, "used_percent": 99],
            "history": ["sign_ins": [1, 2], "failed_sign_ins": [0, 3], "rejections": [5]],
            "listener_certificates": [["listener": word, "certificates": [["file": word, "days_left": 1]]]],
            "provider_hosts": [["provider": word, "host": word, "pins": 2, "mode": word, "expires": word]],
            "warnings": [["severity": word, "text": word, "run_book": word]],
        ]
    }

    @Test(
        arguments: [
            "<script>x</script>", "\"><i onclick=x>", "\u{0600}<script>x</script>", "\"\u{0301} onclick=x",
            "'<\u{0301}b",
            "&lt;b>", "</td></table><b>",
        ]
    )
    func `no text of a provider or of the file becomes a part of the page`(text: String) {
        let page = StatusPage.html(self.status(text))
        let marks: [Unicode.Scalar] = ["<", ">", "\"", "'"]
        let plain = StatusPage.html(self.status("plain"))
        for mark in marks {
            let count = page.unicodeScalars.count { $0 == mark }
            #expect(count == plain.unicodeScalars.count { $0 == mark }, "\(mark) is escaped")
        }
    }

    @Test(arguments: ["policy.refused", "policy.authentication_stale"])
    func `a denial that no entry causes has its code and no rule`(code: String) {
        let denial: JSON = ["at": 1_800_000_000, "app": "wiki", "code": .string(code), "rule": .null]
        let page = StatusPage.html(["at": 1_800_000_000, "denials": [denial]])
        #expect(page.contains(code) && !page.contains("no entry"))
    }

    @Test func `no text steers the order in which the page is read`() {
        let page = StatusPage.html(self.status("a\u{202E}b\u{2066}c\u{1B}"))
        #expect(!page.unicodeScalars.contains { $0 != "\n" && !PrintableText.isPrintable($0) })
    }

    @Test func `there is no script and no style of an element, so the policy can forbid both`() {
        let page = StatusPage.html(self.status("plain"))
        for word in ["<script", "style=\"", "javascript:"] { #expect(!page.contains(word)) }
        #expect(page.contains("<link rel=\"stylesheet\" href=\"/status/style.css\">"))
    }

    @Test func `a state of which nothing is known has a page`() {
        let page = StatusPage.html([:])
        #expect(page.contains("<h1>Gatehouse status</h1>") && page.contains("Nothing needs attention"))
    }

    @Test func `the rows of a table are bounded, and the others are counted`() {
        let page = StatusPage.html(self.status("plain", apps: StatusPage.maxRows + 7))
        #expect(page.contains("7 more are in the JSON."))
    }

    @Test func `a plot has the numbers of the last minutes at its right, and as text`() throws {
        let page = StatusPage.html(self.status("plain"))
        #expect(page.contains("Sign-ins: <strong>3 succeeded, 3 failed</strong>"))
        #expect(page.contains("at most 5 a minute"))
        // The last minute has five: two that succeeded above three that failed, over 98 units.
        #expect(page.contains(#"<rect class="bad" x="591" y="40.2" width="8" height="58.8">"#))
        #expect(page.contains(#"<rect class="good" x="591" y="1.0" width="8" height="39.2">"#))
    }
}
