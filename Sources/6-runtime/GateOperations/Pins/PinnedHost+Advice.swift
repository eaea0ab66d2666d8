// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import GateProviderHTTP
internal import GateProviders

extension PinSet {
    /// That the set has expired, and what follows; nil if it has not.
    package func expiryRemark(now: Instant) -> String? {
        guard let expires = self.expires, now >= expires, self.mode == .enforce || self.expired == .reject else {
            return nil
        }
        let then = self.expired == .reject ? "every connection is refused" : "a mismatch is only noted"
        return "the pins have expired on \(expires.date), so \(then)"
    }
}

extension PinnedHost {
    /// How old a list that ships with the gateway may be; Google asks for a fresh one at least every six months.
    private static let presetLife = Duration.seconds(180 * 86_400)
    /// Below this age a key may well change with every certificate.
    private static let youngLeaf = Duration.seconds(100 * 86_400)

    /// What is doubtful about the pins, given what the host shows; each remark in one line.
    package func remarks(now: Instant) -> [String] {
        guard let set = self.set else { return [] }
        var remarks: [String] = []
        if let expiry = set.expiryRemark(now: now) { remarks.append(expiry) }
        if let preset = set.preset.flatMap({ PinPreset(rawValue: $0) }), let date = Instant(date: preset.date),
            now.since(date) > Self.presetLife
        {
            remarks.append("the list \(preset.name) is of \(preset.date); a newer gatehouse has a newer one")
        }
        guard let leaf = self.chain.first, set.match != .chain else { return remarks }
        if set.match == .certificate {
            remarks.append("its certificate ends on \(leaf.notAfter.date), and no renewed one will match these pins")
        }
        if set.pins.count == 1, now.since(leaf.notBefore) < Self.youngLeaf {
            remarks.append(
                "there is one pin, and its certificate is of \(leaf.notBefore.date); if it gets a new key with each "
                    + "renewal, no user can sign in from then on"
            )
        }
        return remarks
    }
}
