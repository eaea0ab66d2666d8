// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// Issues, finds and revokes sessions.
///
/// If the store is unavailable, every call throws; nil always means that there is no such session.
package struct SessionManager: Sendable {
    package let lifetimes: SessionLifetimes
    /// When the provider is asked again about a user, on apps that have no other policy.
    package let recheck: RecheckPolicy
    /// Whether the store keeps the sessions; if not, each cookie is a whole session.
    package let keepsSessions: Bool
    let random: RandomBytes
    let records: any RecordStore
    let entries: any EntryStore
    let locks: any LockStore
    let sealer: Sealer
    let feed: RevocationFeed
    private let admissions: AdmissionFingerprints?
    /// The shortest idle time-out of an app; nil if no app has one.
    private let minIdleTimeout: Duration?
    /// How many sign-ins of a user may be live; nil for any number.
    let maxPerUser: Int?
    let notBefore: NotBeforeTimes
    private let unfinishedEnds = UnfinishedEnds()
    let signOuts: RecentSignOuts
    /// Who is notified when a sign-in ends; nil if no client is.
    private let notice: SignOutNotice?
    let register: UserRegister
    let redemptions = RecentRedemptions()

    /// The interval at which uses of a session are recorded, so that requests rarely cause writes.
    package static let touchStep = Duration.seconds(60)
    /// A session from further in the future than this is rejected: a clock was wrong.
    static let clockLeeway = Duration.seconds(300)

    /// Sessions in a store, under the gateway's secret.
    ///
    /// - Parameters:
    ///   - store: Where records, entries and locks are.
    ///   - sealer: Seals them.
    ///   - lifetimes: The lifetimes of sessions.
    ///   - feed: Notified of families that end.
    ///   - admissions: The settings by which providers admit users; nil to ignore them.
    ///   - recheck: When the provider is asked again about a user.
    ///   - minIdleTimeout: The shortest idle time-out of an app; nil if no app has one.
    ///   - maxPerUser: How many sign-ins of a user may be live; nil for any number.
    ///   - notice: Who is notified when a sign-in ends; nil if no client is.
    ///   - clock: The time, to order sign-ins and sign-outs; all else is measured by the time that a call names.
    ///   - random: The source of tickets and ids.
    package init(
        store: any RecordStore & EntryStore & LockStore,
        sealer: Sealer,
        lifetimes: SessionLifetimes,
        feed: RevocationFeed,
        admissions: AdmissionFingerprints? = nil,
        recheck: RecheckPolicy = .never,
        minIdleTimeout: Duration? = nil,
        maxPerUser: Int? = nil,
        notice: SignOutNotice? = nil,
        clock: WallClock = .system,
        random: RandomBytes = .system
    ) {
        self.records = store
        self.entries = store
        self.locks = store
        self.keepsSessions = store.keepsSessions
        self.sealer = sealer
        self.lifetimes = lifetimes
        self.feed = feed
        self.admissions = admissions
        self.recheck = recheck
        self.minIdleTimeout = minIdleTimeout
        self.maxPerUser = maxPerUser
        self.notice = notice
        self.random = random
        self.signOuts = RecentSignOuts(entries: store, clock: clock)
        self.notBefore = NotBeforeTimes(in: store)
        self.register = UserRegister(in: store, sealer: sealer)
    }

    /// Parses the value of a session cookie; nil unless this gateway issued it for that host, as far as is known
    /// without the store.
    package func ticket(_ text: some Collection<UInt8>, host: String) -> Ticket? {
        guard self.keepsSessions else { return self.wholeTicket(text, host: host) }
        guard let ticket = Ticket(text) else { return nil }
        let purpose = SessionManager.ticketPurpose(host)
        return self.sealer.authenticates(ticket.tag, of: ticket.bytes, for: purpose) ? ticket : nil
    }

    /// Whether the settings that admitted a session are still in force.
    package func admits(_ session: Session) -> Bool { self.admissions?.admits(session) ?? true }

    /// Issues a session after a sign-in, always with a new ticket, id and family.
    ///
    /// - Parameters:
    ///   - signIn: The result of the sign-in.
    ///   - host: The host of the cookie.
    ///   - now: The time.
    ///   - order: Which of the user's sign-ins of the same second it is.
    ///   - once: The single-use value that the sign-in spends.
    /// - Returns: The session; nil if the value was spent before.
    /// - Throws: If the store is unavailable, or `signin.signed_out` if the user was signed out since the sign-in began;
    ///   then there is no session.
    package func issue(
        _ signIn: SignIn,
        host: String,
        now: Instant,
        order: Int64 = 0,
        spending once: SingleUse
    ) async throws(Failure) -> IssuedSession? {
        let session = self.session(after: signIn, host: host, now: now, order: order)
        guard self.keepsSessions else {
            guard try await self.spend(once) else { return nil }
            let issued = try self.issueWhole(session)
            self.register.note(signIn.profile, at: now)
            return issued
        }
        let fresh = try self.sealed(session)
        let insertion = try await self.records.insert(
            fresh.record,
            spending: once.hash,
            until: once.expiry,
            reading: .signOut,
            RecentSignOuts.latest,
            at: self.signOuts.clock.now
        )
        guard insertion != .spent else { return nil }
        do throws(Failure) {
            try await self.signOuts.check(fresh.issued.session, began: signIn.began, after: insertion)
        } catch {
            try await self.endFamily(fresh.record.family)
            throw error
        }
        self.register.note(signIn.profile, at: now)
        return fresh.issued
    }

    /// Issues a session after a sign-in that spends no single-use value.
    package func issue(_ signIn: SignIn, host: String, now: Instant) async throws(Failure) -> IssuedSession {
        guard self.keepsSessions else {
            return try self.issueWhole(self.session(after: signIn, host: host, now: now))
        }
        let issued = try await self.insert(self.session(after: signIn, host: host, now: now))
        self.register.note(signIn.profile, at: now)
        return issued
    }

    func session(after signIn: SignIn, host: String, now: Instant, order: Int64 = 0) -> Session {
        Session(
            id: self.random.identifier(16),
            family: self.random.identifier(16),
            profile: signIn.profile,
            host: host,
            created: now,
            lastSeen: now,
            idToken: signIn.idToken.flatMap { $0.count <= Session.maxIDTokenBytes ? $0 : nil },
            endSession: signIn.endSession,
            admission: self.admissions?.fingerprint(of: signIn.profile.provider),
            origin: nil,
            grant: signIn.grant,
            confirmed: now,
            subjectClaim: signIn.subjectClaim,
            providerSession: signIn.providerSession,
            device: signIn.device,
            passkeyUsed: signIn.passkeyUsed?.at,
            passkeyMethod: signIn.passkeyUsed?.method,
            askedBy: signIn.askedBy,
            order: order
        )
    }

    /// The live session of a ticket on a host; nil if it is unknown, unreadable, expired, of another host, or if the
    /// settings that admitted its user have changed since.
    ///
    /// A transferred session has the profile of the one that it came from, and ends with it.
    package func session(for ticket: Ticket, host: String, now: Instant) async throws(Failure) -> Session? {
        if let whole = ticket.whole { return self.session(whole, host: host, now: now) }
        for _ in 0..<SessionManager.maxReplacements {
            guard let record = try await self.records.record(for: ticket.storeKey) else { return nil }
            guard var session = self.open(record, with: ticket), session.host == host else { return nil }
            guard self.isLive(session, record: record, now: now), self.admits(session) else { return nil }
            guard try await !self.notBefore.revokes(session, now: now) else { return nil }
            guard try await self.keepIdle(of: &session, record, ticket, now: now) else { continue }
            guard try await self.follow(&session, now: now) else { return nil }
            self.noteUse(of: &session, record, now: now)
            return session
        }
        throw SessionManager.busy
    }

    static var busy: Failure {
        Failure(.sessionStoreUnavailable, "other requests replace the session all the time")
    }

    /// The maximum number of hosts on which one sign-in has a session: a user who visits more of a wildcard must not fill
    /// the store.
    package static let maxHosts = 200

    /// How often a session is read again because another request has replaced it meanwhile.
    static let maxReplacements = 4

    /// Records in the session for how long it was idle if some app has a limit that this reaches, before the use that ends it
    /// is noted.
    ///
    /// - Returns: False if another request has replaced the record meanwhile.
    private func keepIdle(
        of session: inout Session,
        _ record: SessionRecord,
        _ ticket: Ticket,
        now: Instant
    ) async throws(Failure) -> Bool {
        guard let idle = self.idleToKeep(of: session, now: now) else { return true }
        session.maxIdle = idle
        let purpose = SessionManager.purpose(record.key)
        let sealed = self.sealer.seal(session.encoded, for: purpose, part: ticket.sealingPart)
        guard !sealed.isEmpty else { throw SessionManager.notSealed }
        return try await self.records.replace(record.key, ifSealed: record.sealed, by: sealed, card: record.card)
    }

    /// For how long a session was idle, if that is to be recorded in it; nil if not.
    func idleToKeep(of session: Session, now: Instant) -> Duration? {
        let idle = now.since(session.lastSeen)
        guard let minIdleTimeout, idle >= minIdleTimeout, idle > session.maxIdle else { return nil }
        return idle
    }

    private func noteUse(of session: inout Session, _ record: SessionRecord, now: Instant) {
        if now >= record.lastSeen.advanced(by: SessionManager.touchStep) {
            self.records.noteUse(record.key, at: now)
            session.lastSeen = now
        }
    }

    /// Gives a transferred session profile, ID token and grant of the one that it came from; false if that one has ended.
    private func follow(_ session: inout Session, now: Instant) async throws(Failure) -> Bool {
        guard let origin = session.origin else { return true }
        guard let first = try await self.first(at: origin, now: now) else { return false }
        if let subject = session.client?.subject {
            guard let subjects = try await self.subjects(from: subject, now: now) else { return false }
            session.client?.subjects = subjects
        }
        let own = session.keepsOwnProofs ? session : nil
        session.profile = first.profile
        session.confirmed = first.confirmed
        session.grant = first.grant
        session.idToken = first.idToken
        if let own {
            session.profile.authTime = own.profile.authTime
            (session.profile.acr, session.profile.amr) = (own.profile.acr, own.profile.amr)
        } else {
            (session.passkeyUsed, session.passkeyMethod) = (first.passkeyUsed, first.passkeyMethod)
        }
        return true
    }

    /// The clients whose tokens led to a session, from the one with this ticket to that of the user's sign-in; nil if the session of one
    /// has ended, or if there are more than can act for each other.
    private func subjects(from ticket: Ticket, now: Instant) async throws(Failure) -> [String]? {
        var found: [String] = []
        var next: Ticket? = ticket
        while let ticket = next {
            guard found.count < ClientGrant.maxSubjects,
                let record = try await self.records.record(for: ticket.storeKey),
                let session = self.open(record, with: ticket), self.isLive(session, record: record, now: now),
                let grant = session.client
            else { return nil }
            found.append(grant.client)
            next = grant.subject
        }
        return found
    }

    /// The live session at the gateway's host that another one was transferred from; a use of one is a use of both.
    private func first(at ticket: Ticket, now: Instant) async throws(Failure) -> Session? {
        for _ in 0..<SessionManager.maxReplacements {
            guard let record = try await self.records.record(for: ticket.storeKey),
                var session = self.open(record, with: ticket), self.isLive(session, record: record, now: now)
            else { return nil }
            guard try await self.keepIdle(of: &session, record, ticket, now: now) else { continue }
            self.noteUse(of: &session, record, now: now)
            return session
        }
        throw SessionManager.busy
    }

    /// For how long a session may be served without another look at the store, if it is not used again.
    ///
    /// - Parameters:
    ///   - session: The session.
    ///   - policy: When the provider is asked again, where the session is served.
    ///   - now: The time.
    /// - Returns: How long; zero or less if it may not.
    package func remaining(_ session: Session, under policy: RecheckPolicy, now: Instant) -> Duration {
        let idle = session.lastSeen.advanced(by: self.lifetimes.idle)
        let end = min(idle, session.created.advanced(by: self.lifetimes.absolute)).since(now)
        return min(end, policy.validity(of: session, at: now))
    }

    /// The time until a session ends however often it is used.
    package func remainingLifetime(_ session: Session, now: Instant) -> Duration {
        session.created.advanced(by: self.lifetimes.absolute).since(now)
    }

    /// Ends the session of a ticket and all of its family.
    ///
    /// When this returns, it is removed from the store and the caches, at all gateways that share the store. If it throws,
    /// the session may still be live; a second call goes on where the first has ended.
    ///
    /// - Parameter ticket: The ticket of any session of the family.
    /// - Returns: The session with the ID token and the grant of its family; nil if it does not exist.
    /// - Throws: If the store is unavailable.
    package func end(_ ticket: Ticket) async throws(Failure) -> Session? {
        if let whole = ticket.whole { return self.end(whole) }
        let stored = try await self.records.record(for: ticket.storeKey)
        guard let record = stored ?? self.unfinishedEnds.record(for: ticket.storeKey) else { return nil }
        var session = self.open(record, with: ticket)
        var records = [record]
        if let origin = session?.origin, let first = await self.endingRecord(of: origin) {
            records.append(first)
            let first = self.open(first, with: origin)
            session?.idToken = first?.idToken
            session?.grant = first?.grant
        }
        do throws(Failure) {
            try await self.endFamily(record.family)
        } catch {
            for record in records { self.unfinishedEnds.note(record) }
            throw error
        }
        self.unfinishedEnds.remove(family: record.family)
        return session
    }

    /// The record of a session that ends, or whose end is not written; nil without one, or if the store is unavailable.
    private func endingRecord(of ticket: Ticket) async -> SessionRecord? {
        let stored = try? await self.records.record(for: ticket.storeKey)
        return stored ?? self.unfinishedEnds.record(for: ticket.storeKey)
    }

    /// Ends all sessions of a family, first in the caches of this process, since a store may be slow.
    ///
    /// The caches are notified once more when the store has removed it: until then, a look-up still finds it, and what that has
    /// cached or opened may be younger than what the caches remember of families that have ended.
    package func endFamily(_ family: [UInt8]) async throws(Failure) {
        self.feed.publish(family)
        // Also after a failure: the family may be removed, or be in force as ended until it is.
        defer { self.feed.publish(family) }
        let clients = await self.clientsToNotify(of: family)
        try await self.records.removeFamily(family)
        if !clients.isEmpty { self.notice?.send(Session.signInID(ofFamily: family), clients) }
    }

    /// The clients that have a session of a family and want to know when it ends; none if the store does not respond.
    private func clientsToNotify(of family: [UInt8]) async -> [String] {
        var found: [String] = []
        for client in self.notice?.clients ?? [] {
            let families =
                (try? await self.records.families(labeled: SessionLabel.client(client, ofFamily: family).hash)) ?? []
            if !families.isEmpty { found.append(client) }
        }
        return found
    }

    /// The number of live sessions.
    package func count(now: Instant) async throws(Failure) -> Int {
        try await self.records.count(at: now, within: self.lifetimes)
    }

    /// Spends a single-use value; true for the first caller only.
    ///
    /// - Parameter once: The value.
    /// - Returns: Whether this was the first use.
    /// - Throws: If the store is unavailable; the value must then be rejected.
    package func spend(_ once: SingleUse) async throws(Failure) -> Bool {
        try await self.locks.spend(once.hash, until: once.expiry)
    }
}

// MARK: Session transfers

extension SessionManager {
    /// Redeems a session transfer code for a session on the app's host; nil if the session on the gateway's host has
    /// ended.
    ///
    /// The code is spent before its origin and browser are checked, so that a stolen code is worthless (RFC 9700 §4.5).
    ///
    /// - Parameters:
    ///   - code: The code.
    ///   - origin: The origin that received the code.
    ///   - cookie: The value of the cookie named after the code's tag, if the browser sent exactly one.
    ///   - gatewayHost: The host of `public_url`.
    ///   - limits: Those of the app that the browser goes to; a session of its host that they end is replaced.
    ///   - isBelowWildcard: Whether only a wildcard includes the host. Another server may have its name, so its session has no
    ///     proof that the user gave for another host.
    ///   - now: The time.
    /// - Returns: The session of the app's host with its ticket.
    /// - Throws: `handover.spent` for a code that was used before, `handover.wrong_origin`, `handover.other_browser`,
    ///   or the failure of the store.
    package func redeem(
        _ code: SessionTransferCode,
        at origin: Origin,
        cookie: (some Collection<UInt8>)?,
        gatewayHost: String,
        within limits: SessionLimits = SessionLimits(),
        isBelowWildcard: Bool = false,
        now: Instant
    ) async throws(Failure) -> IssuedSession? {
        guard try await self.spend(SingleUse("handover", code.id, until: code.expires)) else {
            throw Failure(.sessionTransferSpent, "the code was used before")
        }
        let claim = try code.claim(at: origin, cookie: cookie)
        return try await self.issue(from: claim, of: gatewayHost, within: limits, isBelowWildcard, now: now)
    }

    /// Issues a session on another host for the browser with this ticket; nil if the ticket has no session.
    ///
    /// It has the family and the expiry of the first one, and is removed if that one ends meanwhile. A browser that
    /// already has a session on the host keeps that one, unless the app does not accept it any more.
    private func issue(
        from claim: SessionTransferClaim,
        of gatewayHost: String,
        within limits: SessionLimits,
        _ isBelowWildcard: Bool,
        now: Instant
    ) async throws(Failure) -> IssuedSession? {
        let (ticket, host) = (claim.ticket, claim.code.origin.host)
        guard let first = try await self.session(for: ticket, host: gatewayHost, now: now) else { return nil }
        let wanted = self.signed(ticket.bytes(for: host), host: host)
        if let existing = try await self.session(for: wanted, host: host, now: now),
            limits.admits(existing, at: now), !existing.keepsOwnProofs || !claim.code.isForPasskey
        {
            return IssuedSession(ticket: wanted, session: existing)
        }
        // A record under this key has expired, but is not removed yet, the app does not accept it, or it has no proof of a passkey.
        try await self.records.remove(wanted.storeKey)
        let takesPasskey = !isBelowWildcard || claim.code.isForPasskey
        var session = Session(
            id: self.random.identifier(16),
            family: first.family,
            profile: first.profile,
            host: host,
            created: first.created,
            lastSeen: now,
            maxIdle: first.maxIdle,
            idToken: nil,
            endSession: first.endSession,
            admission: first.admission,
            origin: ticket,
            grant: nil,
            confirmed: first.confirmed,
            subjectClaim: first.subjectClaim,
            providerSession: first.providerSession,
            device: first.device,
            passkeyUsed: takesPasskey ? first.passkeyUsed : nil,
            passkeyMethod: takesPasskey ? first.passkeyMethod : nil,
            askedBy: first.askedBy,
            order: first.order
        )
        session.keepsOwnProofs = isBelowWildcard
        let issued: IssuedSession
        do throws(Failure) {
            issued = try await self.insert(session, as: wanted)
        } catch {
            // The browser may have redeemed two codes at once.
            guard let existing = try await self.session(for: wanted, host: host, now: now) else { throw error }
            return IssuedSession(ticket: wanted, session: existing)
        }
        guard try await self.records.record(for: ticket.storeKey) != nil else {
            try await self.records.remove(issued.ticket.storeKey)
            return nil
        }
        // A host whose session this drops gets another by session transfer.
        try await self.records.trimFamily(
            session.familyKey,
            to: SessionManager.maxHosts,
            keeping: [ticket.storeKey, issued.ticket.storeKey]
        )
        // As every look-up of it returns it; its record has neither.
        var known = issued.session
        (known.idToken, known.grant) = (first.idToken, first.grant)
        return IssuedSession(ticket: issued.ticket, session: known)
    }
}

// MARK: Records

extension SessionManager {
    /// A ticket of these bytes for a host.
    func signed(_ bytes: [UInt8], host: String) -> Ticket {
        let purpose = SessionManager.ticketPurpose(host)
        return Ticket(bytes: bytes, tag: self.sealer.tag(of: bytes, for: purpose, count: Ticket.tagCount))
    }

    /// The purpose of tags; it has the host, so that a ticket of another host needs no look-up.
    static func ticketPurpose(_ host: String) -> String { "ticket/\(host)" }

    /// Whether a session is within both lifetimes; by the sealed time of creation, not by that of the record.
    private func isLive(_ session: Session, record: SessionRecord, now: Instant) -> Bool {
        now < record.expires && self.isLive(session, now: now)
    }

    func isLive(_ session: Session, now: Instant) -> Bool {
        if let ends = session.ends, now >= ends { return false }
        guard now < session.created.advanced(by: self.lifetimes.absolute) else { return false }
        guard now < session.lastSeen.advanced(by: self.lifetimes.idle) else { return false }
        return session.created <= now.advanced(by: SessionManager.clockLeeway)
    }

    private func insert(_ session: Session, as ticket: Ticket? = nil) async throws(Failure) -> IssuedSession {
        let fresh = try self.sealed(session, as: ticket)
        try await self.records.insert(fresh.record)
        return fresh.issued
    }

    /// A session with the given or a new ticket, and the record that only this ticket opens.
    func sealed(
        _ session: Session,
        as ticket: Ticket? = nil
    ) throws(Failure) -> (record: SessionRecord, issued: IssuedSession) {
        let ticket = ticket ?? self.signed(self.random.bytes(32), host: session.host)
        let key = ticket.storeKey
        let sealed = self.sealer.seal(session.encoded, for: SessionManager.purpose(key), part: ticket.sealingPart)
        guard !sealed.isEmpty else {
            throw SessionManager.notSealed
        }
        let end = session.created.advanced(by: self.lifetimes.absolute)
        var record = SessionRecord(
            key: key,
            family: session.familyKey,
            sealed: sealed,
            created: session.created,
            lastSeen: session.lastSeen,
            expires: session.ends.map { min($0, end) } ?? end
        )
        record.labels = session.labels.map(\.hash)
        record.card = SessionCard.sealed(session, key: key, by: self.sealer)
        return (record, IssuedSession(ticket: ticket, session: session))
    }

    static var notSealed: Failure {
        Failure(.sessionNotSealed, "the session cannot be sealed: no gateway secret")
    }

    func open(_ record: SessionRecord, with ticket: Ticket) -> Session? {
        let purpose = SessionManager.purpose(ticket.storeKey)
        guard let plain = self.sealer.open(record.sealed, for: purpose, part: ticket.sealingPart) else { return nil }
        return Session(encoded: plain, lastSeen: record.lastSeen)
    }

    /// The purpose of seals; it has the key, so that records cannot be swapped in the store.
    private static func purpose(_ key: [UInt8]) -> String { "session/\(Base64URL.encode(key))" }
}
