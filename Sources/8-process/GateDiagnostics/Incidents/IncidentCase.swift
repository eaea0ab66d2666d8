// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateOperations

/// All that was found about one incident, or about a request that shows none.
struct IncidentCase: Sendable {
    /// What one source knows.
    struct Evidence: Sendable {
        /// The source, printable.
        let source: String
        /// What it knows, as a log line has it.
        let entry: LogEntry
        /// Which evidence counts where two differ, the lowest first.
        fileprivate var rank: Int {
            switch self.entry.message {
            case IncidentCase.ofGateway: 0
            case "refused": 1
            case "request": 2
            case "upstream failed": 3
            default: 4
            }
        }
    }

    /// The message of what the running gateway knows, which is not a log line.
    static let ofGateway = "incident"

    /// The evidence, the most reliable first.
    let evidence: [Evidence]

    /// Sorts evidence by incident; what names none belongs to those of the same request.
    static func cases(of evidence: [Evidence]) -> [IncidentCase] {
        let incidents = Set(evidence.compactMap { $0.entry.values["incident"] })
        guard !incidents.isEmpty else { return evidence.isEmpty ? [] : [IncidentCase(evidence)] }
        let cases = incidents.map { incident in
            let own = evidence.filter { $0.entry.values["incident"] == incident }
            let requests = Set(own.compactMap { $0.entry.values["request"] })
            let shared = evidence.filter { one in
                one.entry.values["incident"] == nil && one.entry.values["request"].map(requests.contains) ?? false
            }
            return IncidentCase(own + shared)
        }
        return cases.sorted { $0.time < $1.time }
    }

    private init(_ evidence: [Evidence]) {
        self.evidence = evidence.enumerated().sorted { ($0.element.rank, $0.offset) < ($1.element.rank, $1.offset) }
            .map(\.element)
    }

    /// A value, by the name that it has in log lines.
    subscript(name: String) -> String? { self.evidence.lazy.compactMap { $0.entry.values[name] }.first }

    /// When it happened.
    var time: String { self.evidence.first?.entry.time ?? "" }

    /// The failure, if this version has it.
    var reason: Failure.Reason? { self["code"].flatMap { Failure.Reason(code: $0) } }

    /// Every value with its name, and where each was found.
    var json: JSON {
        var members: [String: JSON] = ["time": .string(self.time)]
        for name in Set(self.evidence.flatMap(\.entry.values.keys)) { members[name] = self[name].map(JSON.string) }
        members["sources"] = .array(
            self.evidence.map { ["source": .string($0.source), "message": .string($0.entry.message)] }
        )
        return .object(members)
    }
}
