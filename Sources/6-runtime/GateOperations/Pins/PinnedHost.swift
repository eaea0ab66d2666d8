// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateProviderHTTP

/// What is known of one host of one provider.
package struct PinnedHost: Sendable {
    /// Which host of whom.
    struct Key: Sendable, Hashable, Comparable {
        let provider: String
        let origin: Origin

        static func < (left: Key, right: Key) -> Bool {
            (left.provider, "\(left.origin)") < (right.provider, "\(right.origin)")
        }
    }

    /// Its pins; nil if it has none.
    package var set: PinSet?
    /// The chain that it showed last, leaf first.
    package var chain: [ProviderCertificate] = []
    /// The pin that matched last, by its number in the set, and the position of the certificate in the chain.
    var match: (pin: Int, position: Int)?
    /// When a pin matched last.
    var matchedAt: Instant?
    /// When none matched last.
    var mismatchedAt: Instant?
    /// When its whole chain was looked at last.
    var surveyedAt: Instant?
    /// Why its connections are refused; nil while they are not.
    var failure: Failure?

    /// A host with these pins that showed this chain.
    package init(set: PinSet? = nil, chain: [ProviderCertificate] = []) {
        self.set = set
        self.chain = chain
    }

    /// How many of the pins are of no key that the host shows: backups that wait.
    package var unusedPins: Int {
        guard let set else { return 0 }
        return set.pins.count { self.position(of: $0) == nil }
    }

    /// The first position of the chain that a pin is of, as its set compares them.
    func position(of pin: Pin) -> Int? {
        guard let set else { return nil }
        switch set.match {
        case .publicKey: return self.chain.first?.publicKeyPin == pin ? 0 : nil
        case .certificate: return self.chain.first?.certificatePin == pin ? 0 : nil
        case .chain: return self.chain.firstIndex { $0.publicKeyPin == pin }
        }
    }

    /// The first pin of the set that the chain has, and where; nil if it has none.
    package var firstMatch: (pin: Int, position: Int)? {
        for (number, pin) in (self.set?.pins ?? []).enumerated() {
            if let position = self.position(of: pin) { return (number, position) }
        }
        return nil
    }

    /// The number of the pin that a certificate of the chain has; nil for none.
    package func pin(at position: Int) -> Int? {
        self.set?.pins.firstIndex { self.position(of: $0) == position }
    }
}
