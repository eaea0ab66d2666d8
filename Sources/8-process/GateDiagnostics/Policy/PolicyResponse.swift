// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GatePolicy

/// What the rules of an app decide on a request, and why.
package struct PolicyResponse: Sendable {
    private let question: PolicyQuestion
    package let decision: Decision
    private let results: [RuleResult]
    /// The scopes that the access token lacks.
    var missing: [String] = []
    /// When a date in the rules ends the admission of such a request; nil if none ends it.
    var until: Instant?

    init(question: PolicyQuestion, decision: Decision, results: [RuleResult]) {
        self.question = question
        self.decision = decision
        self.results = results
    }

    /// The decision in the words of the access log.
    package var word: PolicyWord { PolicyWord(self.decision) }

    private var reason: String {
        let reason = self.decision.reason(hasSession: self.question.profile != nil)
        return self.missing.isEmpty ? reason : "\(reason): \(self.missing.joined(separator: " "))"
    }

    /// The explanation for a terminal.
    ///
    /// - Parameter source: The text of a rule.
    /// - Returns: The lines.
    package func text(source: (RulePlace) -> String?) -> String {
        let place = self.decision.place.map { " by \($0)" } ?? ""
        var lines = ["\(self.question.app): \(self.word.rawValue)\(place)", "  reason   \(self.reason)"]
        lines.append("  user     \(self.question.profile.map { PrintableText.escaped($0.user) } ?? "no session")")
        let client = self.question.client.map { ", from \($0.text)" } ?? ", from an unknown client"
        let path = PrintableText.escaped(self.question.path)
        lines.append("  request  \(self.question.shownMethod) \(path)\(client), at \(self.question.time.timestamp)")
        if let until { lines.append("  until    \(until.timestamp)") }
        if self.results.isEmpty { return lines.joined(separator: "\n") }
        let width = self.results.map { self.place(of: $0).count }.max() ?? 0
        lines.append("")
        for result in self.results {
            let list = result.list.rawValue.padded(to: 7)
            let text = result.place.flatMap(source).map { "  \($0)" } ?? ""
            lines.append(
                "  \(list)\(self.place(of: result).padded(to: width))  \(result.result.word.padded(to: 8))\(text)"
            )
            guard case .unknown(let fact) = result.result else { continue }
            lines.append("  \("".padded(to: 7 + width))  it asks for \(fact.words)")
        }
        return lines.joined(separator: "\n")
    }

    private func place(of result: RuleResult) -> String { result.place.map { "\($0)" } ?? "-" }

    /// The explanation for programs.
    package var json: JSON {
        var members: [String: JSON] = [
            "app": .string(self.question.app), "decision": .string(self.word.rawValue),
            "reason": .string(self.reason), "method": .string(self.question.shownMethod),
            "path": .string(self.question.path), "time": .string(self.question.time.timestamp),
        ]
        members["until"] = self.until.map { .string($0.timestamp) }
        members["user"] = self.question.profile.map { .string($0.user) }
        members["mcp_method"] = self.question.mcpMethod.map(JSON.string)
        members["mcp_tool"] = self.question.mcpTool.map(JSON.string)
        members["scopes"] = self.question.scopes.map { .array($0.map(JSON.string)) }
        members["certificate"] = self.question.certificate.map { .string($0.subject.text) }
        members["client"] = self.question.client.map { .string($0.text) }
        members["file"] = self.decision.place.map { .string($0.file) }
        members["rule"] = self.decision.place.map { .int(Int64($0.line)) }
        let rules = self.results.map { result -> JSON in
            var members: [String: JSON] = [
                "list": .string(result.list.rawValue), "result": .string(result.result.word),
            ]
            members["file"] = result.place.map { .string($0.file) }
            members["line"] = result.place.map { .int(Int64($0.line)) }
            if case .unknown(let fact) = result.result { members["unknown"] = .string(fact.words) }
            return .object(members)
        }
        members["rules"] = .array(rules)
        return .object(members)
    }
}

extension MatchResult {
    fileprivate var word: String {
        switch self {
        case .yes: "yes"
        case .no: "no"
        case .unknown: "unknown"
        }
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - self.count))
    }
}
