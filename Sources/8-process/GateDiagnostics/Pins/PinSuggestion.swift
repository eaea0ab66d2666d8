// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviderHTTP
internal import GateProviders

/// Pins to paste into the file, with a backup where one is known.
///
/// Roots change least, so they are what is pinned. A backup is another root of the same authority. Of an authority that is
/// not known, it cannot be named; the key below its root then stays if only the root is exchanged.
struct PinSuggestion {
    /// What fits one host.
    private struct Proposal {
        let host: String
        let match: PinSet.Match
        let pins: [(pin: Pin, remark: String)]
        /// What is missing.
        let note: String?

        func isLike(_ other: Proposal) -> Bool {
            self.match == other.match && self.pins.map(\.pin) == other.pins.map(\.pin)
        }

        func lines(indent: String) -> [String] {
            let list = self.pins.map { "\(indent)  - \($0.pin)   # \($0.remark)" }
            let note = self.note.map { ["\(indent)  # \($0)"] } ?? []
            return ["\(indent)match: \(self.match.rawValue)", "\(indent)sha256:"] + list + note
        }
    }

    private let proposals: [Proposal]

    /// A suggestion for hosts that showed these chains; nil if there is nothing to pin.
    init?(_ shown: [(host: String, chain: [ProviderCertificate])]) {
        var proposals: [Proposal] = []
        for (host, chain) in shown where !proposals.contains(where: { $0.host == host }) {
            PinSuggestion.proposal(host, chain).map { proposals.append($0) }
        }
        guard !proposals.isEmpty else { return nil }
        self.proposals = proposals
    }

    private static func proposal(_ host: String, _ chain: [ProviderCertificate]) -> Proposal? {
        guard let root = chain.last, let pin = root.publicKeyPin else { return nil }
        let used = (pin, "in use: \(root.name)")
        guard chain.count > 1 else {
            let note = "add the pin of a key that is ready to replace it; without, enforce needs allow_single_pin: true"
            return Proposal(host: host, match: .publicKey, pins: [used], note: note)
        }
        let shown = chain.compactMap(\.publicKeyPin)
        if let sibling = KnownRoot.siblings(of: pin).first(where: { !shown.contains($0.pin) }) {
            let backup = (sibling.pin, "backup: \(sibling.name), of the same authority")
            return Proposal(host: host, match: .chain, pins: [used, backup], note: nil)
        }
        let below = chain.dropLast().last
        guard chain.count > 2, let below, let key = below.publicKeyPin else {
            let note =
                "ca_file is better for an own authority; as a pin, enforce needs a second one or allow_single_pin: true"
            return Proposal(host: host, match: .chain, pins: [used], note: note)
        }
        let second = (key, "in use too: \(below.name); it stays if only the root is exchanged")
        let note = "add the pin of a key that is ready to replace the root, if there is one"
        return Proposal(host: host, match: .chain, pins: [used, second], note: note)
    }

    /// The lines of the file: one set if it fits all hosts, else one for each.
    var text: String {
        let head = [
            "To paste below the provider; write mode: enforce once nothing has been reported for some weeks:", "",
            "    tls:", "      pins:", "        mode: report",
        ]
        guard let first = self.proposals.first, !self.proposals.allSatisfy({ $0.isLike(first) }) else {
            return (head + (self.proposals.first?.lines(indent: "        ") ?? [])).joined(separator: "\n")
        }
        let hosts = self.proposals.flatMap { ["          \"\($0.host)\":"] + $0.lines(indent: "            ") }
        return (head + ["        hosts:   # in mode enforce a host that is not listed is refused"] + hosts)
            .joined(separator: "\n")
    }
}
