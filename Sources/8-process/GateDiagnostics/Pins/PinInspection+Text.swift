// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import GateOperations
internal import GateProviderHTTP

extension PinInspection {
    /// What was found, and what to paste, in lines.
    package func text(now: Instant) -> String {
        let parts = self.hosts.map { Self.text(of: $0, now: now) }
        let shown = self.hosts.compactMap { host in (try? host.chain.get()).map { (host.origin.host, $0) } }
        let suggestion = PinSuggestion(shown).map { [$0.text] } ?? []
        return (parts + suggestion).joined(separator: "\n\n")
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
        let remarks = host.remarks(now: now).map { "  note: \($0)" }
        guard let match = host.firstMatch else {
            let result =
                switch set.demand(at: now) {
                case .enforce: "every connection is refused (mode enforce)"
                case .refuse: "every connection is refused (the pins have expired)"
                case .report: "this is noted, and connections are used all the same"
                }
            return ["  NO PIN MATCHES: \(result)"] + remarks
        }
        return ["  pin \(match.pin + 1) of \(set.pins.count) matches; \(host.unusedPins) of them unused now"] + remarks
    }
}
