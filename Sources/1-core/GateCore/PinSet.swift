// SPDX-License-Identifier: Apache-2.0

/// The keys or certificates that one host may show, and what follows if it shows none of them.
package struct PinSet: Sendable, Hashable {
    /// What is compared with the pins.
    package enum Match: String, Sendable, CaseIterable {
        /// The public key of the host's own certificate.
        case publicKey = "public_key"
        /// The host's own certificate, byte for byte.
        case certificate
        /// The public keys of all certificates in the chain that was built and verified: the host's, those between, the
        /// root. What the host sends beyond that chain does not count.
        case chain
    }

    /// What a host without a pinned key leads to.
    package enum Mode: String, Sendable, CaseIterable {
        /// The connection is refused before a byte of a request leaves.
        case enforce
        /// The connection is used, and the mismatch noted.
        case report
    }

    /// What holds once the set has expired.
    package enum Expired: String, Sendable, CaseIterable {
        /// As in mode `report`.
        case report
        /// Every connection is rejected.
        case reject
    }

    /// What a set demands at a point in time.
    package enum Demand: Sendable, Hashable {
        /// A pin has to match.
        case enforce
        /// A mismatch is noted.
        case report
        /// Nothing is good enough: the set has expired.
        case refuse
    }

    /// What is compared.
    package var match: Match
    /// What a mismatch leads to.
    package var mode: Mode
    /// The pins, the one in use first, then the backups; with none at all every host is a mismatch.
    package var pins: [Pin]
    /// When the set ceases to hold; nil for never.
    package var expires: Instant?
    /// What holds from then on.
    package var expired: Expired
    /// The name of the list that ships with the gateway and that the pins come from; its pins have no order.
    package var preset: String?

    package init(
        match: Match = .publicKey,
        mode: Mode = .enforce,
        pins: [Pin],
        expires: Instant? = nil,
        expired: Expired = .report,
        preset: String? = nil
    ) {
        self.match = match
        self.mode = mode
        self.pins = pins
        self.expires = expires
        self.expired = expired
        self.preset = preset
    }

    package func demand(at now: Instant) -> Demand {
        guard let expires, now >= expires else { return self.mode == .enforce ? .enforce : .report }
        return self.expired == .reject ? .refuse : .report
    }
}

/// The pin sets of one provider: that of a host by its name, that of every other host.
package struct PinPolicy: Sendable, Hashable {
    /// For every host without a set of its own.
    package var standard: PinSet
    /// For hosts by name, without port, in lower case.
    package var hosts: [String: PinSet]

    package init(standard: PinSet, hosts: [String: PinSet] = [:]) {
        self.standard = standard
        self.hosts = hosts
    }

    /// The set that decides about a host, whatever the port.
    package func set(for host: String) -> PinSet { self.hosts[host] ?? self.standard }

    /// All sets, that of every other host first, then by name.
    package var all: [(host: String?, set: PinSet)] {
        [(nil, self.standard)] + self.hosts.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
}
