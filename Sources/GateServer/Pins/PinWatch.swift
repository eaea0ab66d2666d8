// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviderHTTP
internal import Synchronization

/// Keeps an eye on the keys that providers show: what matched, what did not, what ends soon; outlives reloads.
///
/// Told of every handshake by the transports and of whole chains by ``PinSurvey``.
final class PinWatch: Sendable {
    struct State: Sendable {
        var policies: [String: PinPolicy?] = [:]
        var hosts: [PinnedHost.Key: PinnedHost] = [:]
        var events = SecurityEvents()
        /// The gauges that were set last.
        var gauges: Set<GaugeSeriesName> = []
    }

    /// The most hosts that are kept in mind for one provider; more come only from a provider that invents them.
    private static let mostHosts = 64

    let state = Mutex(State())
    let clock: WallClock
    private let log: SiteLog
    private let metrics = SiteMetrics()

    init(log: SiteLog, clock: WallClock) {
        self.log = log
        self.clock = clock
    }

    /// The pins of a configuration come into force, at the start or by a reload.
    ///
    /// - Parameter policies: For each provider its pins, nil for none.
    func adopt(_ policies: [String: PinPolicy?]) {
        let now = self.clock.now
        let events = self.state.withLock { state -> [SecurityEvent] in
            let before = state.policies
            state.policies = policies
            state.hosts = state.hosts.filter { key, _ in
                policies[key.provider].map { $0 == before[key.provider] } ?? false
            }
            let bypassed = policies.sorted { $0.key < $1.key }.compactMap { provider, policy in
                PinChange(provider, from: before[provider] ?? nil, to: policy).event(at: now)
            }
            return bypassed.filter { state.events.keep($0, silence: .zero) }
        }
        for event in events { self.tell(event) }
        for (provider, policy) in policies.sorted(by: { $0.key < $1.key }) {
            guard let policy else { continue }
            for (host, set) in policy.all where !set.pins.isEmpty && set.mode == .report {
                self.log.pinsOnlyReported(provider, host: host, preset: set.preset)
            }
        }
    }

    /// A host that has pins made a handshake.
    func observe(_ handshake: PinnedHandshake) {
        let now = self.clock.now
        let key = PinnedHost.Key(provider: handshake.provider, origin: handshake.origin)
        let event = self.state.withLock { state -> SecurityEvent? in
            // A handshake under pins that were exchanged meanwhile says nothing of those that are in force.
            guard let policy = state.policies[handshake.provider], policy?.set(for: key.origin.host) == handshake.set,
                state.hosts[key] != nil
                    || state.hosts.keys.count(where: { $0.provider == key.provider }) < Self.mostHosts
            else { return nil }
            var host = state.hosts[key] ?? PinnedHost()
            host.set = handshake.set
            if !handshake.certificates.isEmpty { host.chain = handshake.certificates }
            host.note(handshake, at: now)
            state.hosts[key] = host
            guard let event = host.event(of: handshake, at: now) else { return nil }
            return state.events.keep(event) ? event : nil
        }
        self.metrics.handshake(handshake)
        if let event { self.tell(event) }
    }

    /// The whole chain of a host was looked at.
    func survey(_ provider: String, at origin: Origin, _ chain: [ProviderCertificate]) {
        let now = self.clock.now
        let key = PinnedHost.Key(provider: provider, origin: origin)
        let (host, events) = self.state.withLock { state -> (PinnedHost, [SecurityEvent]) in
            guard let policy = state.policies[provider] else { return (PinnedHost(), []) }
            var host = state.hosts[key] ?? PinnedHost()
            host.set = policy?.set(for: origin.host)
            host.chain = chain
            host.surveyedAt = now
            state.hosts[key] = host
            let ending = Expiry.events(of: host, key, at: now)
            return (host, ending.filter { state.events.keep($0, silence: Expiry.silence) })
        }
        guard !host.chain.isEmpty else { return }
        self.log.providerChain(host, key, now: now)
        for remark in PinAdvice.remarks(on: host, now: now) { self.log.pinAdvice(remark, key) }
        for event in events { self.tell(event) }
    }

    /// Why a provider cannot be used for new sign-ins: one of its hosts showed no pinned key when it was asked last.
    func refusal(of provider: String) -> (origin: Origin, failure: Failure)? {
        self.state.withLock { state in
            let refused = state.hosts.filter { $0.key.provider == provider && $0.value.refusal != nil }
            guard let first = refused.min(by: { $0.key < $1.key }), let failure = first.value.refusal else {
                return nil
            }
            return (first.key.origin, failure)
        }
    }

    private func tell(_ event: SecurityEvent) {
        self.metrics.security(event)
        self.log.security(event)
    }
}

extension PinnedHost {
    /// Notes what the pins said.
    fileprivate mutating func note(_ handshake: PinnedHandshake, at now: Instant) {
        switch handshake.verdict {
        case .matched(let pin, let position):
            self.match = (pin, position)
            self.matchedAt = now
            self.refusal = nil
        case .mismatched:
            self.match = nil
            self.mismatchedAt = now
            let detail = "\(handshake.origin): none of its keys is pinned"
            if handshake.isEnforced { self.refusal = Failure(.providerFailed, "provider.pin_mismatch", detail) }
        case .unasked:
            break
        }
    }

    fileprivate func event(of handshake: PinnedHandshake, at now: Instant) -> SecurityEvent? {
        let presented = self.chain.compactMap(\.publicKeyPin)
        let key = Key(provider: handshake.provider, origin: handshake.origin)
        func event(_ name: SecurityEvent.Name, _ severity: SecurityEvent.Severity, _ detail: String) -> SecurityEvent {
            SecurityEvent(
                name: name,
                severity: severity,
                provider: key.provider,
                host: key.origin.authority,
                presented: presented,
                detail: detail,
                at: now
            )
        }
        switch handshake.verdict {
        case .mismatched where handshake.isEnforced:
            let help = "nothing was sent; find out why, and see 'gatehouse pins --provider \(key.provider)'"
            return event(.mismatch, .critical, "none of its keys is pinned; \(help)")
        case .mismatched:
            return event(.mismatch, .warning, "none of its keys is pinned; in mode enforce it would be refused")
        case .matched(let pin, _) where pin > 0 && handshake.set.preset == nil:
            let help = "put the pin in use first and add the pin of a new backup"
            return event(.backupMatched, .warning, "pin \(pin + 1) of \(handshake.set.pins.count) matched; \(help)")
        case .matched, .unasked:
            return nil
        }
    }
}
