// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// When the provider is asked again whether the user of a session may still sign in.
package struct RecheckPolicy: Sendable, Hashable {
    /// How long the provider's word holds; nil to never ask again.
    package let interval: Duration?
    /// How long after that a session is still served while the provider does not respond.
    package let maxStale: Duration

    /// The policy of a configuration.
    package init(interval: Duration?, maxStale: Duration) {
        self.interval = interval
        self.maxStale = maxStale
    }

    /// No re-checks.
    package static let never = RecheckPolicy(interval: nil, maxStale: .zero)

    /// How long before its time a re-check begins at the latest, so that no request has to wait for it.
    private static let advance = Duration.seconds(300)
    /// How long a session that waits for its provider is cached.
    private static let staleValidity = Duration.seconds(5)

    /// Whether a session has to be confirmed.
    package enum State: Sendable, Equatable {
        /// It was confirmed lately.
        case confirmed
        /// It should be confirmed soon, while it is served.
        case due
        /// It has to be confirmed before it is served, unless the provider does not respond.
        case overdue
        /// It must not be served until the provider has confirmed it.
        case stale
    }

    /// When a re-check begins while the session is served; a tenth of a short interval is enough for it.
    ///
    /// Up to as long again before, at a time of the session's own: the users of an office sign in within minutes, and all
    /// re-checks at once would come to the provider from one client.
    private func begin(_ interval: Duration, of session: Session) -> Instant {
        let advance = min(RecheckPolicy.advance, interval / 10)
        let bytes = session.familyKey
        let share = Double(UInt16(bytes[0]) << 8 | UInt16(bytes[1])) / Double(1 << 16)
        return session.confirmed.advanced(by: interval - advance - advance * share)
    }

    /// Whether a navigation is led over the provider as soon as a re-check can begin; after less than a minute it would lead
    /// the user in circles.
    package var leadsUserEarly: Bool { self.interval.map { $0 >= .seconds(60) } ?? false }

    package func state(of session: Session, at now: Instant) -> State {
        guard let interval, session.ends == nil else { return .confirmed }
        let end = session.confirmed.advanced(by: interval)
        if now >= end.advanced(by: self.maxStale) { return .stale }
        if now >= end { return .overdue }
        if now >= self.begin(interval, of: session) { return .due }
        guard session.grant?.refreshToken != nil, let expiry = session.grant?.accessExpiry else { return .confirmed }
        // A provider that issues tokens for minutes ends its own session unless they are refreshed.
        let lifetime = expiry.since(session.confirmed)
        guard lifetime > .zero else { return .confirmed }
        let age = max(lifetime - RecheckPolicy.advance, lifetime * 3 / 4, .seconds(60))
        return now >= session.confirmed.advanced(by: age) ? .due : .confirmed
    }

    /// How long the word of a provider holds that could not report everything, such as the groups.
    private static let partialValidity = Duration.seconds(300)

    /// The time from which a confirmation counts.
    ///
    /// - Parameters:
    ///   - now: When the provider confirmed the user.
    ///   - isPartial: Whether it could not report everything; then it is asked again sooner.
    ///   - pause: How long the provider must not be asked again about this user.
    /// - Returns: That time; an earlier or a later one to be asked sooner or not so soon.
    package func confirmation(at now: Instant, isPartial: Bool, pause: Duration) -> Instant {
        guard let interval else { return now }
        let wanted = isPartial ? min(interval, RecheckPolicy.partialValidity) : interval
        return now.advanced(by: max(wanted, pause) - interval)
    }

    /// How long a session may be served before its state is looked at again.
    func validity(of session: Session, at now: Instant) -> Duration {
        if let ends = session.ends { return ends.since(now) }
        guard let interval else { return .seconds(Int64.max) }
        let begin = self.begin(interval, of: session)
        // A cached session must not be served past the time at which a re-check can begin in the background.
        guard now >= begin else { return begin.since(now) }
        let end = session.confirmed.advanced(by: interval)
        guard now >= end else { return end.since(now) }
        return min(RecheckPolicy.staleValidity, end.advanced(by: self.maxStale).since(now))
    }

    /// Whether a session that was looked up under another policy may be served under this one without another look-up.
    ///
    /// - Parameters:
    ///   - other: The policy of the look-up, for which the session is still valid.
    ///   - session: The session.
    ///   - now: The time.
    /// - Returns: Whether it may.
    package func accepts(lookUpUnder other: RecheckPolicy, of session: Session, at now: Instant) -> Bool {
        guard let interval, session.ends == nil else { return true }
        if let checked = other.interval, checked <= interval { return true }
        return now < self.begin(interval, of: session)
    }
}
