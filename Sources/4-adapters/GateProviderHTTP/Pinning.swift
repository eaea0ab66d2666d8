// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// The pins of one host, as one call has to heed them.
struct PinRule: Sendable {
    /// The number of the set in ``Pinning/sets``.
    let number: Int
    let set: PinSet
    let isEnforced: Bool
}

/// The pin sets of a provider, numbered, and what they demand at the time of a call.
struct Pinning: Sendable {
    /// All sets; their positions are the numbers that C knows them by.
    let sets: [PinSet]
    private let numbers: [String: Int]
    private let clock: WallClock

    init(_ policy: PinPolicy, clock: WallClock) {
        let all = policy.all
        self.sets = all.map(\.set)
        self.numbers = Dictionary(all.enumerated().map { ($1.host ?? "", $0) }) { first, _ in first }
        self.clock = clock
    }

    /// What a call to a host has to heed.
    ///
    /// - Throws: `provider.pins_expired`, `provider.pin_missing` and `provider.pin_insecure` if no connection to it could
    ///   be good enough, so that none is made.
    func rule(for origin: Origin) throws(Failure) -> PinRule {
        let number = self.numbers[origin.host] ?? 0
        let set = self.sets[number]
        switch set.demand(at: self.clock.now) {
        case .report:
            return PinRule(number: number, set: set, isEnforced: false)
        case .refuse:
            let day = set.expires.map { " on \($0.date)" } ?? ""
            let help = "renew them, or write another 'expires' or 'on_expiry: report'"
            throw Failure(.providerPinsExpired, "\(origin): its pins have expired\(day); \(help)")
        case .enforce where set.pins.isEmpty:
            let help = "list it under tls.pins.hosts, or pins for all hosts as tls.pins.sha256"
            throw Failure(.providerPinMissing, "\(origin): this host has no pins; \(help)")
        case .enforce where !origin.isSecure:
            throw Failure(.providerPinInsecure, "\(origin): plain http shows no key to pin")
        case .enforce:
            return PinRule(number: number, set: set, isEnforced: true)
        }
    }
}
