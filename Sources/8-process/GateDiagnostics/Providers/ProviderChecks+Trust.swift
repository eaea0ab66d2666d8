// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateOperations
internal import GateProviderHTTP
internal import GateProviders

extension ProviderChecks {
    /// The share of a certificate's lifetime below which it counts as expiring soon.
    private static let shortRemainder = Duration.seconds(14 * 86_400)

    /// Whether the provider's time is ours.
    ///
    /// ID tokens are rejected when the clocks differ by more than the leeway, by default a minute. Of several responses
    /// the one nearest to our time counts, since a cached copy looks older than it is.
    var clock: ProviderFinding {
        guard let difference = self.clockDifferences.map(\.wholeSeconds).min(by: { abs($0) < abs($1) }) else {
            return self.line(.clock, .unasked, "no response had a date")
        }
        let words = self.words(for: difference)
        let remedy = "set the clock of this machine by NTP, or report it to the provider"
        let leeway = self.definition.clockLeeway.wholeSeconds
        guard abs(difference) <= leeway else {
            return self.line(.clock, .failure, "\(words), so that its ID tokens are refused; \(remedy)")
        }
        guard abs(difference) > min(30, leeway / 2) else { return self.line(.clock, .good, words) }
        return self.line(.clock, .warning, "\(words); \(remedy)")
    }

    private func words(for difference: Int64) -> String {
        guard difference != 0 else { return "the same time as here" }
        return "its clock is \(abs(difference)) s \(difference > 0 ? "ahead of" : "behind") this machine's"
    }

    /// Who vouches for a host, and for how long.
    func chain(of origin: Origin, _ probe: Result<HostProbe, Failure>) -> ProviderFinding {
        switch probe {
        case .failure(let failure):
            return self.line(.tls, .failure, failure.detail)
        case .success(let probe):
            guard let leaf = probe.certificates.first, let root = probe.certificates.last else {
                return self.line(.tls, .good, "\(origin): plain http, which only this machine may use")
            }
            let chain = "\(origin): \(leaf.name) below \(root.name)"
            return self.judgement(of: probe.certificates, chain, self.pins(of: origin, probe.certificates))
        }
    }

    /// The certificate that ends first decides.
    ///
    /// Some authorities sign for less than 14 days; for those only the last third of the life is short.
    private func judgement(
        of certificates: [ProviderCertificate],
        _ chain: String,
        _ pins: (text: String, isGood: Bool)
    ) -> ProviderFinding {
        guard let first = certificates.min(by: { $0.notAfter < $1.notAfter }) else {
            return self.line(.tls, .unasked, chain)
        }
        let left = first.notAfter.since(self.now)
        let days = "\(left.wholeSeconds / 86_400) days left"
        let isShort = left < ProviderChecks.shortRemainder && left * 3 < first.notAfter.since(first.notBefore)
        guard isShort else {
            return self.line(.tls, pins.isGood ? .good : .warning, "\(chain), \(days)\(pins.text)")
        }
        let text = "\(chain), only \(days) of \(first.name); it has to be renewed there\(pins.text)"
        return self.line(.tls, .warning, text)
    }

    /// What the pins mean for a host that was not rejected.
    private func pins(of origin: Origin, _ chain: [ProviderCertificate]) -> (text: String, isGood: Bool) {
        guard let set = self.settings.pins?.set(for: origin.host) else { return ("", true) }
        let host = PinnedHost(set: set, chain: chain)
        let remarks = host.remarks(now: self.now).map { "; \($0)" }.joined()
        guard let match = host.firstMatch else {
            return ("; no pin matches, which is only noted in mode report\(remarks)", false)
        }
        let isBackup = match.pin > 0 && set.preset == nil
        let advice = isBackup ? ", a backup: put it first and add another" : ""
        return ("; pin \(match.pin + 1) of \(set.pins.count) matches\(advice)\(remarks)", !isBackup && remarks.isEmpty)
    }
}
