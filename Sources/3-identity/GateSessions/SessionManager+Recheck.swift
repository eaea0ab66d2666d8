// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// The first session of a family as it is stored, for a re-check.
package struct StoredSession: Sendable {
    /// The session, with the profile, ID token and grant of its family.
    package let session: Session
    fileprivate let ticket: Ticket
    fileprivate let sealed: [UInt8]
    /// The owner of the reservation that is made with this value.
    fileprivate let owner: [UInt8]

    fileprivate var reservation: [UInt8] { digest("session/recheck", self.session.familyKey) }

    /// Whether nothing has been written since.
    package func isSameRecord(as other: StoredSession) -> Bool { self.sealed == other.sealed }
}

// MARK: Re-checks

extension SessionManager {
    /// How long one gateway has for a re-check; longer than its calls and the writes of its result may take, so that no
    /// refresh token is redeemed twice.
    package static let recheckTime = Duration.seconds(60)

    /// The session of a ticket, or the one that it was transferred from, as the store has it now; nil if it has ended.
    package func stored(_ ticket: Ticket) async throws(Failure) -> StoredSession? {
        if let whole = ticket.whole {
            return self.opened(whole).map {
                StoredSession(session: $0, ticket: ticket, sealed: whole.sealed, owner: self.random.bytes(16))
            }
        }
        guard let record = try await self.records.record(for: ticket.storeKey),
            let session = self.open(record, with: ticket)
        else { return nil }
        guard let origin = session.origin else {
            return self.stored(session, ticket, record)
        }
        guard let first = try await self.records.record(for: origin.storeKey),
            let session = self.open(first, with: origin)
        else { return nil }
        return self.stored(session, origin, first)
    }

    private func stored(_ session: Session, _ ticket: Ticket, _ record: SessionRecord) -> StoredSession {
        StoredSession(session: session, ticket: ticket, sealed: record.sealed, owner: self.random.bytes(16))
    }

    /// A stored session as it is now; nil if it has ended.
    package func current(_ stored: StoredSession) async throws(Failure) -> StoredSession? {
        try await self.stored(stored.ticket)
    }

    /// Reserves the re-check of a session for this gateway; false if another one has begun it.
    ///
    /// The reservation of a gateway that ends meanwhile ends by itself.
    package func reserveRecheck(of stored: StoredSession, now: Instant) async throws(Failure) -> Bool {
        try await self.locks.lock(
            stored.reservation,
            owner: stored.owner,
            at: now,
            for: SessionManager.recheckTime
        )
    }

    /// Ends the reservation of a re-check, unless it has ended by itself and another gateway has made one since.
    package func endRecheck(of stored: StoredSession) async {
        // One that cannot be ended ends by itself.
        try? await self.locks.unlock(stored.reservation, owner: stored.owner)
    }

    /// What became of a silent sign-in.
    package enum Confirmation: Sendable {
        /// It is in the session that the browser has.
        case confirmed
        /// It is in this session, which is the same one in another cookie.
        case reissued(IssuedSession)
        /// The session has ended, or comes from another session at the provider, by which the provider would end it.
        case otherSession
        /// The single-use value was spent before.
        case spent
    }

    /// Stores the result of a silent sign-in of the same user in the session that the browser has.
    ///
    /// The sessions of the family on other hosts go on, and so does its lifetime: the user has not authenticated again.
    ///
    /// - Parameters:
    ///   - ticket: The browser's ticket.
    ///   - signIn: The result.
    ///   - now: The time.
    ///   - once: The single-use value that it spends, unless it is for another session.
    /// - Returns: What became of it.
    /// - Throws: If the store is unavailable.
    package func confirm(
        _ ticket: Ticket,
        with signIn: SignIn,
        now: Instant,
        spending once: SingleUse
    ) async throws(Failure) -> Confirmation {
        if let whole = ticket.whole { return try await self.reissue(whole, with: signIn, now: now, spending: once) }
        var isSpent = false
        for _ in 0..<SessionManager.maxReplacements {
            guard let stored = try await self.stored(ticket) else { return isSpent ? .spent : .otherSession }
            guard stored.session.isContinued(by: signIn) else { return .otherSession }
            if !isSpent {
                guard try await self.spend(once) else { return .spent }
                isSpent = true
            }
            if try await self.update(stored, with: signIn, confirmed: now) { return .confirmed }
        }
        throw SessionManager.busy
    }

    private func reissue(
        _ whole: WholeSession,
        with signIn: SignIn,
        now: Instant,
        spending once: SingleUse
    ) async throws(Failure) -> Confirmation {
        guard var session = self.session(whole, host: whole.host, now: now), session.isContinued(by: signIn) else {
            return .otherSession
        }
        guard try await self.spend(once) else { return .spent }
        session.replaceProfile(by: signIn.profile)
        session.idToken = signIn.idToken
        (session.confirmed, session.lastSeen) = (now, now)
        self.register.note(session.profile, at: now, signedInAt: session.created)
        return .reissued(try self.issueWhole(session))
    }

    /// Stores the result of a re-check, unless the session has ended or changed meanwhile.
    ///
    /// When this returns true, every gateway is notified.
    ///
    /// - Parameters:
    ///   - stored: The session as it was read.
    ///   - signIn: The new profile, grant and ID token; an ID token that is nil stays as it was.
    ///   - confirmed: When the provider confirmed the user; nil if it did not.
    /// - Returns: Whether the result is stored.
    /// - Throws: If the store is unavailable; the result may be stored nevertheless.
    package func update(
        _ stored: StoredSession,
        with signIn: SignIn,
        confirmed: Instant?
    ) async throws(Failure) -> Bool {
        var session = stored.session
        session.replaceProfile(by: signIn.profile)
        session.grant = signIn.grant
        if let idToken = signIn.idToken, idToken.count <= Session.maxIDTokenBytes { session.idToken = idToken }
        if let confirmed { session.confirmed = confirmed }
        guard try await self.replace(stored, by: session) else { return false }
        if let confirmed { self.register.note(session.profile, at: confirmed, signedInAt: session.created) }
        return true
    }

    /// Records in the first session of a family that its user has used a passkey, so that it counts on all hosts.
    ///
    /// - Parameters:
    ///   - method: What kind of key it is, by the names of RFC 8176.
    ///   - ticket: The ticket of a session of the family.
    ///   - now: The time.
    /// - Returns: Whether it is recorded; false if the session has ended.
    /// - Throws: If the store is unavailable.
    package func notePasskey(_ method: String, in ticket: Ticket, at now: Instant) async throws(Failure) -> Bool {
        for _ in 0..<SessionManager.maxReplacements {
            guard let stored = try await self.stored(ticket) else { return false }
            var session = stored.session
            (session.passkeyUsed, session.passkeyMethod) = (now, method)
            if try await self.replace(stored, by: session) { return true }
        }
        throw SessionManager.busy
    }

    /// Writes a stored session, unless it has ended or changed meanwhile.
    private func replace(_ stored: StoredSession, by session: Session) async throws(Failure) -> Bool {
        let record = try self.sealed(session, as: stored.ticket).record
        guard
            try await self.records.replace(record.key, ifSealed: stored.sealed, by: record.sealed, card: record.card)
        else { return false }
        self.feed.publishChange(session.familyKey)
        // The other gateways read the record again within the time that they cache it.
        try? await self.records.reportChange(ofFamily: session.familyKey)
        return true
    }
}

extension Session {
    /// Whether a sign-in is of the same user, from the same session at the provider.
    fileprivate func isContinued(by signIn: SignIn) -> Bool {
        self.profile.label == signIn.profile.label && self.providerSession == signIn.providerSession
            && self.subjectClaim == signIn.subjectClaim
    }
}
