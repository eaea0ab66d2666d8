// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateProviderHTTP
package import Logging
internal import Metrics
internal import Synchronization

/// Keeps the keys that providers show: pin matches, pin mismatches, certificates that expire soon; outlives reloads.
///
/// The provider transports report every handshake, ``PinScan`` reports whole chains.
package final class PinWatch: Sendable {
    struct State: Sendable {
        var policies: [String: PinPolicy?] = [:]
        var hosts: [PinnedHost.Key: PinnedHost] = [:]
        var events = SecurityEvents()
    }

    /// The most hosts that are kept in mind for one provider; more come only from a provider that invents them.
    static let maxHosts = 64

    let state = Mutex(State())
    let clock: WallClock
    private let log: SecurityLog
    private let gauges = GaugeGroup()

    /// A watch over no provider.
    package init(logger: Logger, clock: WallClock) {
        self.log = SecurityLog(logger: logger)
        self.clock = clock
    }

    /// The pins of a configuration come into force, at the start or by a reload.
    ///
    /// - Parameter policies: For each provider its pins, nil for none.
    package func adopt(_ policies: [String: PinPolicy?]) {
        let now = self.clock.now
        let events = self.state.withLock { state -> [SecurityEvent] in
            let before = state.policies
            let bypassed = policies.sorted { $0.key < $1.key }.compactMap { provider, policy in
                SecurityEvent.bypass(of: provider, from: before[provider] ?? nil, to: policy, at: now)
                    .map { state.filled($0) }
            }
            state.policies = policies
            state.hosts = state.hosts.filter { key, _ in
                policies[key.provider].map { $0 == before[key.provider] } ?? false
            }
            state.events.keepOnly(policies.keys)
            return bypassed.filter { state.events.keep($0, silence: .zero) }
        }
        for event in events { self.report(event) }
        for (provider, policy) in policies.sorted(by: { $0.key < $1.key }) {
            for (host, set) in policy?.all ?? [] where !set.pins.isEmpty && set.mode == .report {
                self.log.onlyReported(provider, host: host, preset: set.preset)
            }
        }
        self.tick()
    }

    /// Reports pin sets that expire or have expired; called regularly, since no handshake is needed for it.
    func tick() {
        let now = self.clock.now
        let events = self.state.withLock { state -> [SecurityEvent] in
            let all = state.policies.sorted { $0.key < $1.key }.flatMap { provider, policy in
                (policy?.all ?? []).flatMap { SecurityEvent.events(of: $0.set, provider, host: $0.host, at: now) }
            }.map { state.filled($0) }
            return all.filter { state.events.keep($0, silence: SecurityEvent.expirySilence) }
        }
        for event in events { self.report(event) }
    }

    /// A host that has pins made a handshake.
    package func observe(_ handshake: PinnedHandshake) {
        let now = self.clock.now
        let key = PinnedHost.Key(provider: handshake.provider, origin: handshake.origin)
        let (isKnown, event) = self.state.withLock { state -> (Bool, SecurityEvent?) in
            // A handshake under pins that were replaced meanwhile does not count for those in force.
            guard let policy = state.policies[handshake.provider], policy?.set(for: key.origin.host) == handshake.set,
                var host = state.host(key)
            else { return (false, nil) }
            host.set = handshake.set
            if !handshake.certificates.isEmpty { host.chain = handshake.certificates }
            let event = host.note(handshake, key, at: now)
            state.hosts[key] = host
            return (true, event.flatMap { state.events.keep($0) ? $0 : nil })
        }
        if isKnown { self.count(handshake) }
        if let event { self.report(event) }
    }

    /// The whole chain of a host was looked at.
    func survey(_ provider: String, at origin: Origin, _ chain: [ProviderCertificate]) {
        let now = self.clock.now
        let key = PinnedHost.Key(provider: provider, origin: origin)
        let surveyed = self.state.withLock { state -> (host: PinnedHost, events: [SecurityEvent])? in
            guard let policy = state.policies[provider], var host = state.host(key) else { return nil }
            host.set = policy?.set(for: origin.host)
            host.chain = chain
            host.surveyedAt = now
            state.hosts[key] = host
            let ending = SecurityEvent.events(of: chain, key, at: now)
            return (host, ending.filter { state.events.keep($0, silence: SecurityEvent.expirySilence) })
        }
        guard let surveyed else { return }
        self.log.chain(of: surveyed.host, key, now: now)
        for remark in surveyed.host.remarks(now: now) { self.log.advice(remark, key) }
        for event in surveyed.events { self.report(event) }
    }

    /// All hosts of a provider were scanned: those that are no longer called are dropped, and backups in use are reported.
    func surveyed(_ provider: String, _ origins: [Origin]) {
        let now = self.clock.now
        let events = self.state.withLock { state -> [SecurityEvent] in
            state.hosts = state.hosts.filter { $0.key.provider != provider || origins.contains($0.key.origin) }
            let hosts = state.hosts.filter { $0.key.provider == provider }.sorted { $0.key < $1.key }
            // Of a list that several hosts share, each uses its own pin.
            let backups = hosts.compactMap { key, host -> SecurityEvent? in
                guard let pin = host.match?.pin, pin > 0 else { return nil }
                let isUsedBefore = hosts.contains { $0.value.set == host.set && ($0.value.match?.pin ?? pin) < pin }
                return isUsedBefore ? nil : host.backupMatched(pin, key, at: now)
            }
            return backups.filter { state.events.keep($0, silence: SecurityEvent.expirySilence) }
        }
        for event in events { self.report(event) }
    }

    func hasPins(_ provider: String) -> Bool { self.state.withLock { $0.policies[provider] ?? nil } != nil }

    /// Which of a provider's hosts are refused: they showed no pinned key when they were asked last.
    func rejectedHosts(of provider: String, among origins: [Origin]) -> [(origin: Origin, failure: Failure)] {
        let now = self.clock.now
        return self.state.withLock { state in
            origins.compactMap { origin in
                let host = state.hosts[PinnedHost.Key(provider: provider, origin: origin)]
                guard let host, let failure = host.failure, host.set?.demand(at: now) == .enforce else { return nil }
                return (origin, failure)
            }
        }
    }

    /// The hosts of all providers in the order of their names, and the time.
    var hosts: (at: Instant, all: [(key: PinnedHost.Key, host: PinnedHost)]) {
        (self.clock.now, self.state.withLock(\.hosts).sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
    }

    /// The last security events, the newest first.
    package var events: [SecurityEvent] { self.state.withLock(\.events).newest }

    /// Records the gauges of all hosts.
    package func record() {
        let now = self.clock.now
        let hosts = self.state.withLock(\.hosts)
        self.gauges.record(hosts.flatMap { key, host in PinWatch.samples(of: host, key, now: now) })
    }

    private static func samples(of host: PinnedHost, _ key: PinnedHost.Key, now: Instant) -> [GaugeSample] {
        let labels = [key.provider, key.origin.authority]
        var samples = host.chain.enumerated().flatMap { position, certificate in
            [
                GaugeSample(
                    OperationsMetrics.providerCertificateDaysLeft,
                    labels + ["\(position)"],
                    certificate.notAfter.days(from: now)
                ),
                GaugeSample(
                    OperationsMetrics.providerCertificateTime,
                    labels + ["\(position)"],
                    certificate.notAfter.since(now).wholeSeconds
                ),
            ]
        }
        guard let set = host.set else { return samples }
        samples.append(GaugeSample(OperationsMetrics.pinEnforced, labels, set.demand(at: now) == .report ? 0 : 1))
        samples.append(GaugeSample(OperationsMetrics.unusedPins, labels, Int64(host.unusedPins)))
        if let expires = set.expires {
            samples.append(GaugeSample(OperationsMetrics.pinSetDaysLeft, labels, expires.days(from: now)))
            let seconds = expires.since(now).wholeSeconds
            samples.append(GaugeSample(OperationsMetrics.pinSetTime, labels, seconds))
        }
        return samples
    }

    private func count(_ handshake: PinnedHandshake) {
        let (provider, host) = (handshake.provider, handshake.origin.authority)
        switch handshake.verdict {
        case .matched(let pin, let position):
            let pin = "\(handshake.set.pins[pin])"
            OperationsMetrics.pinMatches.counter(provider, host, pin, "\(position)").increment()
        case .mismatched:
            let mode = handshake.isEnforced ? "enforce" : "report"
            OperationsMetrics.pinMismatches.counter(provider, host, mode).increment()
        case .notChecked: break
        }
    }

    private func report(_ event: SecurityEvent) {
        OperationsMetrics.securityEvents.counter(event.name.rawValue, event.severity.rawValue).increment()
        self.log.event(event)
    }
}

extension PinWatch.State {
    /// An event that no handshake led to, with the keys that its host, or the first of its provider's, showed last.
    fileprivate func filled(_ event: SecurityEvent) -> SecurityEvent {
        let hosts = self.hosts.filter { key, _ in
            key.provider == event.provider && (event.host == nil || event.host == key.origin.host)
        }
        var filled = event
        filled.presented = hosts.min { $0.key < $1.key }?.value.chain.compactMap(\.publicKeyPin) ?? []
        return filled
    }

    /// What is known of a host; nil if too many are kept already.
    fileprivate func host(_ key: PinnedHost.Key) -> PinnedHost? {
        if let known = self.hosts[key] { return known }
        let count = self.hosts.keys.count { $0.provider == key.provider }
        return count < PinWatch.maxHosts ? PinnedHost() : nil
    }
}

extension PinnedHost {
    /// Notes the outcome of a handshake; returns the event to report.
    fileprivate mutating func note(_ handshake: PinnedHandshake, _ key: Key, at now: Instant) -> SecurityEvent? {
        let presented = handshake.certificates.compactMap(\.publicKeyPin)
        switch handshake.verdict {
        case .matched(let pin, let position):
            let before = self.match
            self.match = (pin, position)
            self.matchedAt = now
            self.failure = nil
            guard let before, before.pin < pin else { return nil }
            return self.backupMatched(pin, key, at: now)
        case .mismatched:
            self.mismatchedAt = now
            let words = "none of its keys is pinned"
            let failure = Failure(.providerPinMismatch, "\(key.origin): \(words)")
            self.failure = handshake.isEnforced ? failure : nil
            let help =
                handshake.isEnforced
                ? "nothing was sent; find out why, and see 'gatehouse pins --provider \(key.provider)'"
                : "in mode enforce it would be refused"
            return SecurityEvent(
                name: .mismatch,
                severity: handshake.isEnforced ? .critical : .warning,
                provider: key.provider,
                host: key.origin.authority,
                presented: presented,
                detail: "\(words); \(help)",
                at: now
            )
        case .notChecked:
            return nil
        }
    }

    /// The event that a later pin than the first is in use; nil for lists without an order.
    fileprivate func backupMatched(_ pin: Int, _ key: Key, at now: Instant) -> SecurityEvent? {
        guard let set, set.preset == nil else { return nil }
        let help = "put the pin in use first and add the pin of a new backup"
        return SecurityEvent(
            name: .backupMatched,
            severity: .warning,
            provider: key.provider,
            host: key.origin.authority,
            presented: self.chain.compactMap(\.publicKeyPin),
            detail: "pin \(pin + 1) of \(set.pins.count) matched; \(help)",
            at: now
        )
    }
}
