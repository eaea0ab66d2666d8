// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// How the steps of a client's flow are printed, without what would let the reader of a terminal be the user.
enum ClientFlowReport {
    /// What may be shown whole of requests and responses; every other value is masked.
    private static let plain: Set<String> = [
        "grant_type", "redirect_uri", "client_id", "token_type", "expires_in", "scope", "error", "error_description",
        "incident",
    ]
    private static let width = 22

    /// The first characters of a secret, and its length.
    static func masked(_ text: String) -> String {
        guard text.utf8.count > 24 else { return "…" }
        return "\(text.prefix(6))… (\(text.utf8.count) bytes)"
    }

    /// A value as it is shown: masked unless its name is known to be harmless.
    static func shown(_ name: String, _ value: String) -> String {
        self.plain.contains(name) ? PrintableText.escaped(value, limit: 300) : self.masked(value)
    }

    /// A row of a table.
    static func row(_ name: String, _ value: String, _ purpose: String = "") -> String {
        let start = "   \(name.padded(to: self.width)) \(value)"
        return purpose.isEmpty ? start : "\(start.padded(to: 64))  \(purpose)"
    }

    /// The heading of a step.
    static func heading(_ number: Int, _ title: String, _ detail: String) -> String {
        "\n\(number). \(title): \(detail)"
    }

    /// The parameters of a request, masked.
    static func masked(_ parameters: [ClientFlow.Parameter]) -> String {
        parameters.map { self.row($0.name, self.shown($0.name, $0.value), $0.purpose) }.joined(separator: "\n")
    }

    /// The claims of a token; the claim by which only the gateway finds the session is masked.
    static func table(of claims: [String: JSON]) -> String {
        claims.sorted { $0.key < $1.key }.map { name, value in
            let text = value.string ?? String(decoding: value.encoded, as: UTF8.self)
            return self.row(name, name == "grant" ? self.masked(text) : PrintableText.escaped(text, limit: 300))
        }.joined(separator: "\n")
    }
}

extension String {
    /// The text with spaces after it, up to a number of characters.
    fileprivate func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - self.count))
    }
}
