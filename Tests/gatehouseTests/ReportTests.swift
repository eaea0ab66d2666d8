// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateProviders
import Testing

@testable import gatehouse

/// What `gatehouse --version`, `profile` and `try` print.
@Suite struct ReportTests {
    private func settings(_ change: (inout ProviderSettings) -> Void = { _ in }) -> ProviderSettings {
        var settings = ProviderSettings(id: "staff", type: .oidc, clientID: "app", clientSecret: Secret(text: "s"))
        change(&settings)
        return settings
    }

    private func report(_ failure: Failure, _ settings: ProviderSettings) -> String {
        TryCommand.report(of: failure, settings: settings, callback: "http://localhost:8765/callback")
    }

    @Test func `the version report has a row for the commit, each C library and each package`() {
        let lines = GatehouseCommand.versionReport.split(separator: "\n")
        #expect(lines.first == "gatehouse \(BuildInfo.version)")
        let names = lines.dropFirst().compactMap { $0.split(separator: " ").first }
        let expected = [
            "commit", "libcurl", "OpenSSL", "nghttp2", "libyaml", "SQLite", "swift-nio", "swift-nio-ssl",
            "swift-crypto",
            "swift-certificates",
        ]
        #expect(names.map(String.init) == expected)
        #expect(lines.dropFirst().allSatisfy { $0.split(separator: " ").count >= 2 })
    }

    @Test func `a failed test sign-in names the code, what happened and what to do next`() {
        let text = self.report(Failure(.idTokenAudience, "the token is for another client"), self.settings())
        let lines = text.split(separator: "\n")
        #expect(lines.count == 3 && lines[0] == "The sign-in failed: id_token.audience")
        #expect(lines[1] == "  what   the token is for another client" && lines[2].hasPrefix("  next   "))
    }

    @Test func `an untrusted certificate points at the file of authorities if there is one`() {
        let failure = Failure(.providerTLS, "self-signed certificate")
        let own = self.settings { $0.caFile = "/etc/ca.pem" }
        #expect(self.report(failure, own).contains("check that /etc/ca.pem holds the authority"))
        #expect(!self.report(failure, self.settings()).contains("holds the authority"))
    }

    @Test func `advice that the operator has followed already is not repeated`() {
        let failure = Failure(.idTokenNonce, "no nonce")
        let general = "docs/errors.md explains id_token.nonce"
        #expect(!self.report(failure, self.settings()).contains(general))
        #expect(self.report(failure, self.settings { $0.nonce = .ifPresent }).contains(general))
    }
}
