// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import GateProviderHTTP
internal import GateProviders

extension PinInspection {
    /// What was found, and what to paste, in lines.
    package func text(now: Instant) -> String {
        let parts = self.hosts.map { Self.text(of: $0, now: now) }
        guard let suggestion = PinSuggestion(chains: self.hosts.compactMap { try? $0.chain.get() }) else {
            return parts.joined(separator: "\n\n")
        }
        return (parts + [suggestion.text]).joined(separator: "\n\n")
    }

    private static func text(of host: Host, now: Instant) -> String {
        switch host.chain {
        case .failure(let failure):
            return "\(host.origin.authority)\n  \(failure.code): \(failure.detail)"
        case .success(let chain):
            let known = PinnedHost(set: host.set, chain: chain)
            let rows = chain.enumerated().map { position, certificate in
                Self.row(position, certificate, known.pin(at: position), now: now)
            }
            let leaf = chain.first?.certificatePin.map { ["  sha256 of the first certificate itself: \($0)"] } ?? []
            return ([host.origin.authority] + rows + leaf + Self.verdict(on: known, now: now)).joined(separator: "\n")
        }
    }

    private static func row(_ position: Int, _ certificate: ProviderCertificate, _ pin: Int?, now: Instant) -> String {
        let days = certificate.notAfter.days(from: now)
        let end = "until \(certificate.notAfter.date), \(days) days left"
        let match = pin.map { "   <- pin \($0 + 1) of the file" } ?? ""
        let key = certificate.publicKeyPin.map { "\($0)" } ?? "-"
        return "  \(position)  \(certificate.name)\n     \(end)\n     sha256 \(key)\(match)"
    }

    private static func verdict(on host: PinnedHost, now: Instant) -> [String] {
        guard let set = host.set else { return [] }
        guard let match = host.firstMatch else {
            let result =
                switch set.demand(at: now) {
                case .enforce: "every connection is refused (mode enforce)"
                case .refuse: "every connection is refused (the pins have expired)"
                case .report: "this is noted, and connections are used all the same"
                }
            return ["  NO PIN MATCHES: \(result)"]
        }
        let count = set.pins.count
        return ["  pin \(match.pin + 1) of \(count) matches; \(host.unusedPins) of them unused now"]
            + PinAdvice.remarks(on: host, now: now).map { "  note: \($0)" }
    }
}

/// Pins to paste into the file, with a backup.
struct PinSuggestion {
    private typealias Line = (pin: Pin, remark: String)

    private let match: PinSet.Match
    private let lines: [Line]

    /// A suggestion for hosts with these chains; nil if there is nothing to pin.
    ///
    /// Roots change least, so they are what is pinned; the backup is another root of the same authority where that is known,
    /// else the key below the root, which stays if only the root is exchanged.
    init?(chains: [[ProviderCertificate]]) {
        let chains = chains.filter { !$0.isEmpty }
        guard !chains.isEmpty else { return nil }
        let isAlone = chains.contains { $0.count == 1 }
        self.match = isAlone ? .publicKey : .chain
        var lines: [Line] = []
        for chain in chains {
            for line in isAlone ? Self.ownKey(of: chain) : Self.root(of: chain)
            where !lines.contains(where: { $0.pin == line.pin }) {
                lines.append(line)
            }
        }
        // What is in use comes first.
        self.lines = lines.filter { !$0.remark.hasPrefix("backup") } + lines.filter { $0.remark.hasPrefix("backup") }
    }

    private static func ownKey(of chain: [ProviderCertificate]) -> [Line] {
        chain.first.flatMap { leaf in leaf.publicKeyPin.map { [($0, "in use: \(leaf.name)")] } } ?? []
    }

    private static func root(of chain: [ProviderCertificate]) -> [Line] {
        guard let root = chain.last, let pin = root.publicKeyPin else { return [] }
        let used: Line = (pin, "in use: \(root.name)")
        if let sibling = KnownRoot.siblings(of: pin).first {
            return [used, (sibling.pin, "backup: \(sibling.name), of the same authority")]
        }
        guard let below = chain.dropLast().last, let key = below.publicKeyPin else { return [used] }
        return [used, (key, "backup: \(below.name), should the root be exchanged")]
    }

    /// The lines of the file.
    var text: String {
        let pins = self.lines.map { "          - \($0.pin)   # \($0.remark)" }
        let lone =
            self.lines.count == 1
            ? [
                "          # add the pin of a key that is ready to replace it; until then enforce needs allow_single_pin: true"
            ] : []
        let head = [
            "To paste below the provider; write mode: enforce once nothing has been reported for some weeks:", "",
            "    tls:", "      pins:", "        match: \(self.match.rawValue)", "        mode: report",
            "        sha256:",
        ]
        return (head + pins + lone).joined(separator: "\n")
    }
}
