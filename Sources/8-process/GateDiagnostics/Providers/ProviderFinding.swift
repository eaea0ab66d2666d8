// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// One thing that was found out about one provider, or about an app.
package struct ProviderFinding: Sendable, Equatable {
    /// What was looked at.
    package enum Topic: String, Sendable, CaseIterable {
        /// The discovery document: its issuer and endpoints.
        case discovery
        /// The key set.
        case keys
        /// The difference between its clock and ours.
        case clock
        /// The callback address to register.
        case redirect
        /// The scopes that are asked for.
        case scopes
        /// Proof Key for Code Exchange, RFC 7636.
        case pkce
        /// The issuer in callbacks, RFC 9207.
        case iss
        /// How the gateway proves who it is.
        case clientAuthentication = "client_auth"
        /// The certificates of its hosts.
        case tls
        /// The connection to the mail server and the login there.
        case mail
        /// The Redis of the sessions.
        case store
        /// An app at its public URL, asked without a session.
        case app
    }

    /// What it means.
    package enum Verdict: String, Sendable, CaseIterable {
        case good = "ok"
        /// It works, but the operator should look at it.
        case warning = "warn"
        /// Sign-ins fail, or will.
        case failure = "FAIL"
        /// There is nothing to ask.
        case unasked = "-"
    }

    /// The provider's name in the file, or that of the app.
    package let provider: String
    /// What was looked at.
    package let topic: Topic
    /// What it means.
    package let verdict: Verdict
    /// What was found, and on a failure what to change and where.
    package let text: String

    package init(_ provider: String, _ topic: Topic, _ verdict: Verdict, _ text: String) {
        self.provider = provider
        self.topic = topic
        self.verdict = verdict
        self.text = text
    }
}

// Findings as a table.
extension ProviderFinding {
    private static let maximumLength = 600

    /// One row for each line, its columns aligned over all of them.
    package static func rows(of lines: [ProviderFinding]) -> [String] {
        let names = lines.map(\.provider.count).max() ?? 0
        let topics = Topic.allCases.map(\.rawValue.count).max() ?? 0
        let verdicts = Verdict.allCases.map(\.rawValue.count).max() ?? 0
        return lines.map { line in
            let columns = [
                self.pad(line.provider, names), self.pad(line.topic.rawValue, topics),
                self.pad(line.verdict.rawValue, verdicts),
            ]
            return "\(columns.joined(separator: "  "))  \(self.plain(line.text))"
        }
    }

    /// How many lines are failures and how many are warnings.
    package static func summary(of lines: [ProviderFinding]) -> String {
        let failures = lines.count { $0.verdict == .failure }
        let warnings = lines.count { $0.verdict == .warning }
        return "\(self.number(failures, "failure")), \(self.number(warnings, "warning"))"
    }

    private static func number(_ count: Int, _ noun: String) -> String {
        "\(count == 0 ? "no" : "\(count)") \(noun)\(count == 1 ? "" : "s")"
    }

    private static func pad(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }

    /// Part of the text was received, so nothing in it may move the cursor or begin a line.
    private static func plain(_ text: String) -> String {
        PrintableText.escaped(text, limit: self.maximumLength)
    }
}
