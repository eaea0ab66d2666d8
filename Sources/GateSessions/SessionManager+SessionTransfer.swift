// SPDX-License-Identifier: Apache-2.0

package import GateCore

extension SessionManager {
    /// Spends a hand-over code and begins the session of the app's host; nil if the session at the gate has ended.
    ///
    /// The code is spent before it is known whether it came back to the right place, so that a code that went astray is
    /// worth nothing to anybody (RFC 9700 §4.5).
    ///
    /// - Parameters:
    ///   - code: The code.
    ///   - origin: The origin that the code arrived at.
    ///   - cookie: The value of the cookie named after the code's tag, if the browser sent exactly one.
    ///   - gate: The host of the gate's own cookie.
    ///   - now: The time.
    /// - Returns: The session of the app's host with its ticket.
    /// - Throws: `handover.spent` for a code that was used before, `handover.wrong_origin`, `handover.other_browser`, or the
    ///   failure of the store.
    package func redeem(
        _ code: SessionTransferCode,
        at origin: Origin,
        cookie: (some Collection<UInt8>)?,
        gate: String,
        now: Instant
    ) async throws(Failure) -> IssuedSession? {
        guard try await self.spend(SingleUse("handover", code.id, until: code.expires)) else {
            throw Failure(.sessionTransferSpent, "the code was used before")
        }
        let claim = try code.claim(at: origin, cookie: cookie)
        return try await self.issue(from: claim.ticket, of: gate, to: code.origin.host, now: now)
    }

    /// Begins a session on another host for the browser whose ticket for `gate` this is; nil if that has no session.
    ///
    /// It shares family and end with the first one. If that one is ended meanwhile, this one is not left behind. A browser
    /// that has a session on the host goes on with that one.
    private func issue(
        from ticket: Ticket,
        of gate: String,
        to host: String,
        now: Instant
    ) async throws(Failure) -> IssuedSession? {
        guard let first = try await self.session(for: ticket, host: gate, now: now) else { return nil }
        let wanted = self.signed(ticket.bytes(for: host), host: host)
        if let known = try await self.session(for: wanted, host: host, now: now) {
            return IssuedSession(ticket: wanted, session: known)
        }
        // What is there is over, and its removal not due yet.
        try await self.store.remove(wanted.storeKey)
        let session = Session(
            id: self.random.token(16),
            family: first.family,
            profile: first.profile,
            host: host,
            created: first.created,
            lastSeen: now,
            idToken: nil,
            endSession: first.endSession,
            admission: first.admission,
            origin: ticket
        )
        let issued: IssuedSession
        do throws(Failure) {
            issued = try await self.insert(session, as: wanted)
        } catch {
            // The browser may have come with two codes at once.
            guard let known = try await self.session(for: wanted, host: host, now: now) else { throw error }
            return IssuedSession(ticket: wanted, session: known)
        }
        guard try await self.store.record(for: ticket.storeKey) != nil else {
            try await self.store.remove(issued.ticket.storeKey)
            return nil
        }
        return issued
    }
}
