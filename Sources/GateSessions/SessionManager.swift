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
    let random: RandomBytes
    private let sealer: Sealer
    private let feed: RevocationFeed
    private let admissions: AdmissionFingerprints?
    private let untaggedTickets = UntaggedTicketLimiter()

    /// How much time passes before a use is noted again, so that browsing does not become writing.
    package static let touchStep = Duration.seconds(60)
    /// A session from further in the future than this is not believed: a clock was wrong.
    static let clockLeeway = Duration.seconds(300)

    /// Sessions in a store, under the gateway's secret.
    ///
    /// - Parameters:
    ///   - store: Where the records are.
    ///   - sealer: Seals them.
    ///   - lifetimes: How long sessions live.
    ///   - feed: Hears of families that end.
    ///   - admissions: Whom the providers admit; nil if that does not matter.
    ///   - random: What tickets and ids are made of.
    package init(
        store: any SessionStore,
        sealer: Sealer,
        lifetimes: SessionLifetimes,
        feed: RevocationFeed,
        admissions: AdmissionFingerprints? = nil,
        random: RandomBytes = .system
    ) {
        self.store = store
        self.sealer = sealer
        self.lifetimes = lifetimes
        self.feed = feed
        self.admissions = admissions
        self.random = random
    }

    /// Reads the value of a session cookie; nil unless this gateway issued it for that host, as far as can be told without
    /// the store.
    package func ticket(_ text: some Collection<UInt8>, host: String) -> Ticket? {
        guard let ticket = Ticket(text) else { return nil }
        guard !ticket.isBare else { return ticket }
        let purpose = SessionManager.ticketPurpose(host)
        return self.sealer.authenticates(ticket.tag, of: ticket.bytes, for: purpose) ? ticket : nil
    }

    /// Whether the settings that admitted a session are still in force.
    package func admits(_ session: Session) -> Bool { self.admissions?.admits(session) ?? true }

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
            idToken: signIn.idToken.flatMap { $0.count <= Session.maxIDTokenBytes ? $0 : nil },
            endSession: signIn.endSession,
            admission: self.admissions?.fingerprint(of: signIn.profile.provider),
            origin: nil
        )
    }

    /// The live session of a ticket on a host, or nil if it is unknown, unreadable, over, of another host, or was admitted by
    /// settings that have changed since.
    package func session(for ticket: Ticket, host: String, now: Instant) async throws(Failure) -> Session? {
        guard let record = try await self.record(of: ticket) else { return nil }
        guard var session = self.open(record, with: ticket), session.host == host else { return nil }
        guard self.isLive(session, record: record, now: now), self.admits(session) else { return nil }
        if now >= record.lastSeen.advanced(by: SessionManager.touchStep) {
            self.store.noteUse(record.key, at: now)
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
    ///
    /// - Parameter ticket: The ticket of any session of the family.
    /// - Returns: The session with the ID token of its family; nil if there is none.
    /// - Throws: When the store cannot be read, or for a bare ticket when there are too many of them.
    package func end(_ ticket: Ticket) async throws(Failure) -> Session? {
        guard let record = try await self.record(of: ticket) else { return nil }
        var session = self.open(record, with: ticket)
        if let origin = session?.origin, let first = try? await self.store.record(for: origin.storeKey) {
            session?.idToken = self.open(first, with: origin)?.idToken
        }
        try await self.endFamily(record.family)
        return session
    }

    /// Ends all sessions of a family, first in the caches of this process: a store may be slow.
    package func endFamily(_ family: [UInt8]) async throws(Failure) {
        self.feed.publish(family)
        try await self.store.removeFamily(family)
    }

    /// How many sessions are live.
    package func count(now: Instant) async throws(Failure) -> Int {
        try await self.store.count(at: now, within: self.lifetimes)
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
    /// The record of a ticket; look-ups of tickets that may be forged are bounded.
    private func record(of ticket: Ticket) async throws(Failure) -> SessionRecord? {
        if ticket.isBare { try self.untaggedTickets.admit() }
        return try await self.store.record(for: ticket.storeKey)
    }

    /// A ticket of these bytes for a host.
    func signed(_ bytes: [UInt8], host: String) -> Ticket {
        let purpose = SessionManager.ticketPurpose(host)
        return Ticket(bytes: bytes, tag: self.sealer.tag(of: bytes, for: purpose, count: Ticket.tagCount))
    }

    /// Names the host, so that a ticket of one host needs no look-up on another.
    private static func ticketPurpose(_ host: String) -> String { "ticket/\(host)" }

    /// Whether a session is within both lifetimes; the sealed time of creation counts, not the one beside it.
    private func isLive(_ session: Session, record: SessionRecord, now: Instant) -> Bool {
        guard now < record.expires, now < session.created.advanced(by: self.lifetimes.absolute) else { return false }
        guard now < record.lastSeen.advanced(by: self.lifetimes.idle) else { return false }
        return session.created <= now.advanced(by: SessionManager.clockLeeway)
    }

    func insert(_ session: Session, as ticket: Ticket? = nil) async throws(Failure) -> IssuedSession {
        let fresh = try self.sealed(session, as: ticket)
        try await self.store.insert(fresh.record)
        return fresh.issued
    }

    /// A session with a ticket, a new one unless there is one, and the record that only this ticket opens.
    private func sealed(
        _ session: Session,
        as ticket: Ticket? = nil
    ) throws(Failure) -> (record: SessionRecord, issued: IssuedSession) {
        let ticket = ticket ?? self.signed(self.random.bytes(32), host: session.host)
        let key = ticket.storeKey
        let sealed = self.sealer.seal(session.encoded, for: SessionManager.purpose(key), part: ticket.sealingPart)
        guard !sealed.isEmpty else {
            throw Failure(.sessionNotSealed, "the session cannot be sealed: no gateway secret")
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
