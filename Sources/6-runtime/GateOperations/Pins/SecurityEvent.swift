// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Something about a provider's certificates that the operator has to know of, and mostly to act on.
package struct SecurityEvent: Sendable, Equatable {
    /// What happened.
    enum Name: String, Sendable, CaseIterable {
        /// A host showed no pinned key.
        case mismatch = "pin.mismatch"
        /// A certificate or a pin set ends soon, or has ended.
        case expiring = "pin.expiring"
        /// Not the pin in use matched but a backup, so that a new backup is needed.
        case backupMatched = "pin.backup_matched"
        /// Pins that were enforced are not any more.
        case bypassed = "pin.bypassed"
    }

    /// How urgent it is.
    package enum Severity: String, Sendable, CaseIterable {
        /// The operator should act some day.
        case notice
        /// The operator should act soon.
        case warning
        /// The operator has to act now.
        case critical
    }

    let name: Name
    let severity: Severity
    /// The provider's name in the file.
    let provider: String
    /// The host and its port; nil for all of them.
    let host: String?
    /// The pins of the public keys in the chain that the host showed, its own first.
    var presented: [Pin] = []
    /// What happened and what to do, in one line.
    let detail: String
    /// When it happened.
    let at: Instant
}

/// The last events, and which of them need not be reported again yet.
struct SecurityEvents: Sendable {
    /// How many events of one provider are kept, so that none can hide another's.
    static let keptOfOne = 20
    /// How many are shown.
    static let shown = 100
    /// How long an event that repeats is not reported again.
    static let silence = Duration.seconds(600)

    private var byProvider: [String: [(number: Int, event: SecurityEvent)]] = [:]
    private var reported: [String: Instant] = [:]
    private var count = 0

    /// The events, the newest first.
    var newest: [SecurityEvent] {
        let all = self.byProvider.values.joined().sorted { $0.number > $1.number }
        return all.prefix(SecurityEvents.shown).map(\.event)
    }

    /// Keeps an event unless the same was reported within the `silence`; returns whether it has to be reported.
    ///
    /// What a host shows makes no other event of it, or a host with ever new keys could fill the log.
    mutating func keep(_ event: SecurityEvent, silence: Duration = SecurityEvents.silence) -> Bool {
        let words = [event.provider, event.name.rawValue, event.severity.rawValue, event.host ?? "", event.detail]
        let key = words.joined(separator: "\n")
        if let last = self.reported[key], event.at >= last, event.at.since(last) < silence { return false }
        if self.reported.count >= 1000 { self.reported.removeAll() }
        self.reported[key] = event.at
        self.count += 1
        self.byProvider[event.provider, default: []].append((self.count, event))
        if self.byProvider[event.provider, default: []].count > SecurityEvents.keptOfOne {
            self.byProvider[event.provider]?.removeFirst()
        }
        return true
    }

    /// Forgets the events of providers that are not there any more.
    mutating func keepOnly(_ providers: some Collection<String>) {
        self.byProvider = self.byProvider.filter { providers.contains($0.key) }
        self.reported = self.reported.filter { key, _ in providers.contains(String(key.prefix { $0 != "\n" })) }
    }
}
