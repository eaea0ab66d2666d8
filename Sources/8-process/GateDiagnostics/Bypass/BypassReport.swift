// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// What an app accepted of requests that did not come through the gateway.
package struct BypassReport: Sendable {
    /// One response.
    struct Observation: Sendable, Hashable {
        let status: Int
        /// Whether the invented user is in the response.
        let showsUser: Bool

        var isSuccess: Bool { (200..<300).contains(self.status) }
    }

    /// What the app does without any identity.
    struct Baseline: Sendable {
        let plain: Observation
        /// Whether it shows headers that mean nothing.
        let echoes: Bool
    }

    /// What an attempt led to.
    package enum Verdict: String, Sendable {
        /// The app accepted it.
        case accepted
        /// It made no difference.
        case ignored
        /// The app shows all headers, so that this proves nothing.
        case unclear
    }

    /// An attempt and its result.
    struct Finding: Sendable {
        let attempt: BypassProbe.Attempt
        let seen: Observation
        let verdict: Verdict

        /// The result of an attempt, compared with what the app does without an identity; nil for that attempt itself.
        init(_ attempt: BypassProbe.Attempt, _ seen: Observation, _ baseline: Baseline?) {
            self.attempt = attempt
            self.seen = seen
            guard let baseline else {
                self.verdict = seen.isSuccess ? .accepted : .ignored
                return
            }
            let isAdmittedNow = seen.isSuccess && !baseline.plain.isSuccess
            if isAdmittedNow || seen.showsUser && !baseline.plain.showsUser && !baseline.echoes {
                self.verdict = .accepted
            } else {
                self.verdict = seen.showsUser && baseline.echoes ? .unclear : .ignored
            }
        }
    }

    enum Result: Sendable {
        case asked([Finding], isComplete: Bool)
        /// No connection could be made.
        case unreachable(String)
        /// It could not be asked, or not to the end, which proves nothing.
        case unanswered(String)
        /// It need not be asked.
        case skipped(String)
    }

    struct Target: Sendable {
        let name: String
        let result: Result

        var findings: [Finding] {
            guard case .asked(let findings, _) = self.result else { return [] }
            return findings
        }

        func accepted(_ kind: BypassProbe.Kind) -> [Finding] {
            self.findings.filter { $0.attempt.kind == kind && $0.verdict == .accepted }
        }
    }

    let app: String
    let path: String
    /// Whether assertions of the gateway's own keys could be tried.
    let hasKeys: Bool
    var targets: [Target] = []

    /// Whether there are targets, and none of them accepted an attempt or left it open.
    package var isGood: Bool {
        !self.targets.isEmpty
            && self.targets.allSatisfy { target in
                switch target.result {
                case .asked(let findings, let isComplete): isComplete && !findings.contains { $0.verdict == .accepted }
                case .unreachable, .skipped: true
                case .unanswered: false
                }
            }
    }
}

// MARK: Text and JSON

extension BypassReport {
    package var text: String {
        self.targets.map { self.text(of: $0) }.joined(separator: "\n\n")
    }

    private func text(of target: Target) -> String {
        let head = "\(self.app), \(target.name), GET \(PrintableText.escaped(self.path))"
        switch target.result {
        case .unreachable(let why):
            return
                "\(head)\n  good  cannot be reached from this machine without the gateway: \(PrintableText.escaped(why))"
        case .unanswered(let why): return "\(head)\n  FAIL  could not be asked: \(PrintableText.escaped(why))"
        case .skipped(let why): return "\(head)\n  skip  not asked: \(why)"
        case .asked(let findings, let isComplete):
            var lines = [head] + BypassProbe.Kind.allCases.compactMap { self.line(of: $0, at: target) }
            for kind in BypassProbe.Kind.allCases {
                for finding in target.accepted(kind).prefix(12) where kind != .none {
                    lines.append("        \(finding.attempt.name): status \(finding.seen.status)")
                }
                if !target.accepted(kind).isEmpty { lines.append("        remedy: \(BypassReport.remedy(for: kind))") }
            }
            if findings.contains(where: { $0.verdict == .unclear }) {
                lines.append(
                    "  note  the app shows the headers that it gets; whether it accepts them cannot be seen from outside"
                )
            }
            if !self.hasKeys {
                lines.append(
                    "  note  the gateway's keys cannot be read here: no expired assertion and none for another app was tried"
                )
            }
            if !isComplete { lines.append("  FAIL  not everything was tried within a minute") }
            return lines.joined(separator: "\n")
        }
    }

    /// What became of the attempts of a kind; nil without any.
    private func line(of kind: BypassProbe.Kind, at target: Target) -> String? {
        let all = target.findings.filter { $0.attempt.kind == kind }
        guard !all.isEmpty else { return nil }
        let accepted = target.accepted(kind)
        let status = all.first.map { "status \($0.seen.status)" } ?? ""
        switch kind {
        case .none:
            return accepted.isEmpty
                ? "  good  without an identity it responds with \(status)"
                : "  FAIL  without an identity it responds with \(status): who reaches the address needs no sign-in"
        case .header:
            return accepted.isEmpty
                ? "  good  \(all.count) forged identity headers made no difference"
                : "  FAIL  it accepts \(accepted.count) of \(all.count) forged identity headers:"
        case .assertion:
            return accepted.isEmpty
                ? "  good  \(all.count) invalid assertions made no difference"
                : "  FAIL  it accepts \(accepted.count) of \(all.count) invalid assertions:"
        case .signature:
            return accepted.isEmpty
                ? "  good  \(all.count) invalid signatures over identity headers made no difference"
                : "  FAIL  it accepts \(accepted.count) of \(all.count) invalid signatures over identity headers:"
        }
    }

    private static func remedy(for kind: BypassProbe.Kind) -> String {
        switch kind {
        case .none:
            "let only the gateway reach the app (a Unix socket, 127.0.0.1, a firewall, or upstream.tls with a client certificate), "
                + "or let the app require the assertion"
        case .header:
            "let only the gateway reach the app, or let the app verify X-Gatehouse-Assertion, or 'identity: { signature: headers }'"
        case .assertion:
            "the app has to verify the signature with the gateway's keys (jwks.json), 'alg' ES256 only, and 'iss', 'aud' and 'exp'"
        case .signature:
            "the app has to verify the signature labeled gatehouse with the gateway's keys (jwks.json), its 'expires', and that it "
                + "covers each identity header that it reads"
        }
    }

    package var json: JSON {
        let targets = self.targets.map { target -> JSON in
            var members: [String: JSON] = ["target": .string(target.name)]
            switch target.result {
            case .unreachable(let why): members["unreachable"] = .string(PrintableText.escaped(why))
            case .unanswered(let why): members["unanswered"] = .string(PrintableText.escaped(why))
            case .skipped(let why): members["not_asked"] = .string(why)
            case .asked(let findings, let isComplete):
                members["complete"] = .bool(isComplete)
                members["attempts"] = .array(
                    findings.map { finding in
                        [
                            "name": .string(finding.attempt.name), "kind": .string(finding.attempt.kind.rawValue),
                            "status": .int(Int64(finding.seen.status)), "result": .string(finding.verdict.rawValue),
                        ]
                    }
                )
            }
            return .object(members)
        }
        return [
            "app": .string(self.app), "path": .string(self.path), "good": .bool(self.isGood),
            "targets": .array(targets),
        ]
    }
}
