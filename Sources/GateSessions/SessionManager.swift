// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// Begins, finds and ends sessions.
///
/// A store that cannot answer makes every call throw; nil always means that there is no such session.
package struct SessionManager: Sendable {
    /// Where the records are.
    package let store: any SessionStore
    /// How long sessions live.
    package let lifetimes: SessionLifetimes
    private let sealer: Sealer
    private let feed: RevocationFeed
    private let random: RandomBytes

    /// How much time passes before a use is noted again, so that browsing does not become writing.
    package static let touchStep = Duration.seconds(60)
    /// A session from further in the future than this is not believed: a clock was wrong.
    static let clockLeeway = Duration.seconds(300)

    /// Sessions in a store, under the gateway's secret.
    package init(
        store: any SessionStore,
        sealer: Sealer,
        lifetimes: SessionLifetimes,
        feed: RevocationFeed,
        random: RandomBytes = .system
    ) {
        self.store = store
        self.sealer = sealer
        self.lifetimes = lifetimes
        self.feed = feed
        self.random = random
    }

    /// Begins a session after a sign-in, always with a new ticket, id and family.
    ///
    /// - Parameters:
    ///   - signIn: What the sign-in brought.
    ///   - host: The host whose cookie the ticket becomes.
    ///   - now: The time.
    ///   - once: What this sign-in uses up.
    /// - Returns: The session; nil if what is to be used up was used before.
    /// - Throws: When the store cannot answer; then there is no session.
    package func issue(
        _ signIn: SignIn,
        host: String,
        now: Instant,
        spending once: SingleUse
    ) async throws(Failure) -> IssuedSession? {
        let fresh = try self.sealed(self.session(after: signIn, host: host, now: now))
        let isFirst = try await self.store.insert(fresh.record, spending: once.hash, until: once.expiry)
        return isFirst ? fresh.issued : nil
    }

    /// Begins a session after a sign-in that uses nothing up.
    package func issue(_ signIn: SignIn, host: String, now: Instant) async throws(Failure) -> IssuedSession {
        try await self.insert(self.session(after: signIn, host: host, now: now))
    }

    private func session(after signIn: SignIn, host: String, now: Instant) -> Session {
        Session(
            id: self.random.token(16),
            family: self.random.token(16),
            profile: signIn.profile,
            host: host,
            created: now,
            lastSeen: now,
            idToken: signIn.idToken.flatMap { $0.count <= Session.longestIDToken ? $0 : nil },
            endSession: signIn.endSession
        )
    }

    /// Begins a session on another host for the browser whose ticket for `gate` this is; nil if that has no session.
    ///
    /// It shares family and end with the first one. If that one is ended meanwhile, this one is not left behind.
    func issue(
        from ticket: Ticket,
        of gate: String,
        to host: String,
        now: Instant
    ) async throws(Failure) -> IssuedSession? {
        guard let first = try await self.session(for: ticket, host: gate, now: now) else { return nil }
        let session = Session(
            id: self.random.token(16),
            family: first.family,
            profile: first.profile,
            host: host,
            created: first.created,
            lastSeen: now,
            idToken: first.idToken,
            endSession: first.endSession
        )
        let issued = try await self.insert(session)
        guard try await self.store.record(for: ticket.storeKey) != nil else {
            try await self.store.remove(issued.ticket.storeKey)
            return nil
        }
        return issued
    }

    /// The live session of a ticket on a host, or nil if it is unknown, unreadable, over, or of another host.
    package func session(for ticket: Ticket, host: String, now: Instant) async throws(Failure) -> Session? {
        guard let record = try await self.store.record(for: ticket.storeKey) else { return nil }
        guard var session = self.open(record, with: ticket), session.host == host else { return nil }
        guard self.isLive(session, record: record, now: now) else { return nil }
        if now >= record.lastSeen.advanced(by: SessionManager.touchStep) {
            // A store that can still be read but not written, as on a full disk, must not turn people away.
            try? await self.store.touch(record.key, lastSeen: now)
            session.lastSeen = now
        }
        return session
    }

    /// How much longer a session lives if it is not used again.
    package func remaining(_ session: Session, now: Instant) -> Duration {
        let idle = session.lastSeen.advanced(by: self.lifetimes.idle)
        return min(idle, session.created.advanced(by: self.lifetimes.absolute)).since(now)
    }

    /// Ends the session of a ticket and all of its family; gives back the session if it could be read.
    ///
    /// When this returns, store and caches have forgotten it. A throw means that it may still be alive.
    package func end(_ ticket: Ticket) async throws(Failure) -> Session? {
        guard let record = try await self.store.record(for: ticket.storeKey) else { return nil }
        try await self.endFamily(record.family)
        return self.open(record, with: ticket)
    }

    /// Ends all sessions of a family.
    package func endFamily(_ family: [UInt8]) async throws(Failure) {
        try await self.store.removeFamily(family)
        self.feed.publish(family)
    }

    /// Removes what is over from the store; to be called now and then, says how many sessions went.
    package func removeExpired(now: Instant) async throws(Failure) -> Int {
        try await self.store.removeExpired(at: now, idle: self.lifetimes.idle)
    }

    /// Notes that something that works once was used; true for the first caller only.
    ///
    /// - Parameter once: The thing.
    /// - Returns: Whether this was the first use.
    /// - Throws: When the store cannot answer; the thing must then be refused.
    package func spend(_ once: SingleUse) async throws(Failure) -> Bool {
        try await self.store.spend(once.hash, until: once.expiry)
    }
}

extension SessionManager {
    /// Whether a session is within both lifetimes; the sealed time of creation counts, not the one beside it.
    private func isLive(_ session: Session, record: SessionRecord, now: Instant) -> Bool {
        guard now < record.expires, now < session.created.advanced(by: self.lifetimes.absolute) else { return false }
        guard now < record.lastSeen.advanced(by: self.lifetimes.idle) else { return false }
        return session.created <= now.advanced(by: SessionManager.clockLeeway)
    }

    private func insert(_ session: Session) async throws(Failure) -> IssuedSession {
        let fresh = try self.sealed(session)
        try await self.store.insert(fresh.record)
        return fresh.issued
    }

    /// A session with a new ticket, and the record that only this ticket opens.
    private func sealed(_ session: Session) throws(Failure) -> (record: SessionRecord, issued: IssuedSession) {
        let ticket = Ticket(from: self.random)
        let key = ticket.storeKey
        let sealed = self.sealer.seal(session.encoded, for: SessionManager.purpose(key), part: ticket.sealingPart)
        guard !sealed.isEmpty else {
            throw Failure(.internalFault, "session.not_sealed", "the session cannot be sealed: no gateway secret")
        }
        let record = SessionRecord(
            key: key,
            family: session.familyKey,
            sealed: sealed,
            created: session.created,
            lastSeen: session.lastSeen,
            expires: session.created.advanced(by: self.lifetimes.absolute)
        )
        return (record, IssuedSession(ticket: ticket, session: session))
    }

    private func open(_ record: SessionRecord, with ticket: Ticket) -> Session? {
        let purpose = SessionManager.purpose(ticket.storeKey)
        guard let plain = self.sealer.open(record.sealed, for: purpose, part: ticket.sealingPart) else { return nil }
        return Session(encoded: plain, lastSeen: record.lastSeen)
    }

    /// Names the record, so that records cannot be exchanged in the store.
    private static func purpose(_ key: [UInt8]) -> String { "session/\(Base64URL.encode(key))" }
}
