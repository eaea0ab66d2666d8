// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@testable import GateOperations

@Suite struct StatusPageTests {
    /// A state with the same text in every place where there is one.
    private func status(_ word: String, apps: Int = 1) -> GatewayStatus {
        let now = Instant(seconds: 1_800_000_000)
        var status = GatewayStatus()
        (status.at, status.startedAt, status.loadedAt) = (now, now.advanced(by: .seconds(-1000)), now)
        (status.publicURL, status.gatewayVersion, status.operations) = (word, word, word)
        (status.configuration, status.configurationHash, status.listeners) = (word, word, [word])
        status.lastReload = GatewayStatus.Reload(at: now, isGood: false, cause: word, detail: word)
        var provider = GatewayStatus.Provider(word)
        (provider.state, provider.isBreakerOpen, provider.areKeysStale) = (.failing, true, true)
        provider.lastFailure = GatewayStatus.Provider.Failed(at: now, reason: .providerPinMismatch, detail: word)
        status.providerStates = [provider]
        var app = GatewayStatus.App(word)
        (app.hosts, app.path) = ([word], word)
        app.targets = [
            GatewayStatus.App.Target(word, isHealthy: false, isChecked: true, connections: 0, requests: 1)
        ]
        status.appStates = Array(repeating: app, count: apps)
        (status.overload.level, status.overload.usedPercent) = (word, 99)
        status.history.signIns = GatewayStatus.Minutes([1, 2])
        status.history.failedSignIns = GatewayStatus.Minutes([0, 3])
        status.history.rejections = GatewayStatus.Minutes([5])
        var listener = GatewayStatus.Listener(word)
        listener.certificates = [GatewayStatus.Listener.Certificate(file: word, notAfter: now, daysLeft: 1)]
        status.listenerCertificates = [listener]
        var host = GatewayStatus.Host(word, of: word)
        var pins = GatewayStatus.Host.Pins()
        (pins.count, pins.mode, pins.expires) = (2, word, word)
        host.pins = pins
        status.providerHosts = [host]
        var denial = GatewayStatus.Denial(at: now, .policyDenied)
        (denial.app, denial.user, denial.rule, denial.incident) = (word, word, word, word)
        status.denials = [denial]
        status.warnings = [GatewayStatus.Warning(.critical, word, .providerDown)]
        return status
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

    @Test(arguments: [Failure.Reason.policyRefused, .policyAuthenticationStale])
    func `a denial that no entry causes has its code and no rule`(reason: Failure.Reason) {
        var status = GatewayStatus()
        status.denials = [GatewayStatus.Denial(at: Instant(seconds: 0), reason)]
        let page = StatusPage.html(status)
        #expect(page.contains(reason.code) && !page.contains("no entry"))
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
        let page = StatusPage.html(GatewayStatus())
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
