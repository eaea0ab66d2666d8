// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// The first session of a family as it is stored, for a re-check.
package struct StoredSession: Sendable {
    /// The session, with the profile, ID token and grant of its family.
    package let session: Session
    fileprivate let ticket: Ticket
    fileprivate let sealed: [UInt8]

    fileprivate var reservation: [UInt8] { digest("session/recheck", self.session.familyKey) }

    /// Whether nothing has been written since.
    package func isSameRecord(as other: StoredSession) -> Bool { self.sealed == other.sealed }
}

// MARK: Re-checks

extension SessionManager {
    /// How long one gateway has for a re-check; longer than the calls of one may take, so that no refresh token is
    /// redeemed twice.
    package static let recheckTime = Duration.seconds(40)

    /// The session of a ticket, or the one that it was transferred from, as the store has it now; nil if it has ended.
    package func stored(_ ticket: Ticket) async throws(Failure) -> StoredSession? {
        if let whole = ticket.whole {
            return self.opened(whole).map { StoredSession(session: $0, ticket: ticket, sealed: whole.sealed) }
        }
        guard let record = try await self.store.record(for: ticket.storeKey),
            let session = self.open(record, with: ticket)
        else { return nil }
        guard let origin = session.origin else {
            return StoredSession(session: session, ticket: ticket, sealed: record.sealed)
        }
        guard let first = try await self.store.record(for: origin.storeKey),
            let session = self.open(first, with: origin)
        else { return nil }
        return StoredSession(session: session, ticket: origin, sealed: first.sealed)
    }

    /// A stored session as it is now; nil if it has ended.
    package func current(_ stored: StoredSession) async throws(Failure) -> StoredSession? {
        try await self.stored(stored.ticket)
    }

    /// Reserves the re-check of a session for this gateway; false if another one has begun it.
    ///
    /// The reservation of a gateway that ends meanwhile ends by itself.
    package func reserveRecheck(of stored: StoredSession, now: Instant) async throws(Failure) -> Bool {
        try await self.store.lock(stored.reservation, at: now, for: SessionManager.recheckTime)
    }

    /// Ends the reservation of a re-check.
    package func endRecheck(of stored: StoredSession) async {
        // One that cannot be ended ends by itself.
        try? await self.store.unlock(stored.reservation)
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
        session.profile = signIn.profile
        session.grant = signIn.grant
        if let idToken = signIn.idToken, idToken.count <= Session.maxIDTokenBytes { session.idToken = idToken }
        if let confirmed { session.confirmed = confirmed }
        let record = try self.sealed(session, as: stored.ticket).record
        guard
            try await self.store.replace(record.key, ifSealed: stored.sealed, by: record.sealed, card: record.card)
        else { return false }
        self.feed.publishChange(session.familyKey)
        // The other gateways read the record again within the time that they cache it.
        try? await self.store.reportChange(ofFamily: session.familyKey)
        return true
    }
}
