// SPDX-License-Identifier: Apache-2.0

package import GateCore

// Sessions that no store keeps: the cookie is the session, sealed with the gateway secret for one host.
//
// Nothing can be changed or ended but by another cookie, so such a session has no grant: two tabs, or two gateways, would
// redeem the same refresh token.
extension SessionManager {
    /// The live session of a ticket that is one; nil if it is of another host, has expired, or if the settings that admitted
    /// its user have changed since.
    func session(_ whole: WholeSession, host: String, now: Instant) -> Session? {
        guard whole.host == host, var session = self.opened(whole) else { return nil }
        guard self.isLive(session, now: now), self.admits(session) else { return nil }
        if let idle = self.idleToKeep(of: session, now: now) { session.maxIdle = idle }
        return session
    }

    /// The ticket of a cookie that is a session; nil unless it is sealed by this gateway for the host.
    func wholeTicket(_ text: some Collection<UInt8>, host: String) -> Ticket? {
        guard text.count <= SplitCookie.maxBytes, let sealed = Base64URL.decode(text) else { return nil }
        let whole = WholeSession(sealed: sealed, host: host)
        return self.opened(whole).map { _ in Ticket(whole) }
    }

    /// Issues a session that fits into a cookie.
    ///
    /// The ID token is only a hint for a sign-out at the provider: it is left out of a session that needs a second cookie
    /// with it.
    ///
    /// - Throws: `session.too_large`.
    func issueWhole(_ session: Session) throws(Failure) -> IssuedSession {
        var session = session
        session.grant = nil
        let ticket = try self.wholeTicket(of: session)
        if ticket.text.utf8.count <= SplitCookie.maxPieceBytes {
            return IssuedSession(ticket: ticket, session: session)
        }
        session.idToken = nil
        let smaller = try self.wholeTicket(of: session)
        let count = smaller.text.utf8.count
        guard count <= SplitCookie.maxBytes else {
            let (profile, limit) = (session.profile, SplitCookie.maxBytes)
            let parts = "\(profile.groups.count) groups and \(profile.roles.count) roles"
            let advice = "map fewer of them in the provider's 'profile', or use another 'sessions.store'"
            let detail = "\(profile.user) with \(parts) takes \(count) bytes of cookies, of \(limit)"
            throw Failure(.sessionTooLarge, "\(detail); \(advice)")
        }
        return IssuedSession(ticket: smaller, session: session)
    }

    /// The session of a cookie as it is after a use, for another cookie; nil if that is not due.
    ///
    /// It is due once a minute. In one minute every gateway seals the same bytes, so that a browser that gets two cookies at
    /// once has no pieces of different values.
    package func renewed(_ session: Session, now: Instant) -> IssuedSession? {
        let step = SessionManager.touchStep.wholeSeconds
        guard !self.keepsSessions, now >= session.lastSeen.advanced(by: SessionManager.touchStep) else { return nil }
        var session = session
        session.lastSeen = Instant(seconds: now.seconds - now.seconds % step)
        // What fitted fits again, but for a few digits.
        guard let ticket = try? self.wholeTicket(of: session), ticket.text.utf8.count <= SplitCookie.maxBytes else {
            return nil
        }
        return IssuedSession(ticket: ticket, session: session)
    }

    /// Ends a session that no store keeps, as far as this process can: its caches drop it and its tunnels close.
    func end(_ whole: WholeSession) -> Session? {
        guard let session = self.opened(whole) else { return nil }
        self.feed.publish(session.familyKey)
        return session
    }

    private func wholeTicket(of session: Session) throws(Failure) -> Ticket {
        let seconds = UInt64(bitPattern: session.lastSeen.seconds)
        let time = (0..<8).map { UInt8(truncatingIfNeeded: seconds >> (56 - 8 * $0)) }
        let sealed = self.sealer.sealAlike(time + session.encoded, for: SessionManager.wholePurpose(session.host))
        guard !sealed.isEmpty else { throw SessionManager.notSealed }
        return Ticket(WholeSession(sealed: sealed, host: session.host))
    }

    /// The session of a cookie, live or not; nil if this gateway has not sealed it for its host.
    func opened(_ whole: WholeSession) -> Session? {
        guard let plain = self.sealer.open(whole.sealed, for: SessionManager.wholePurpose(whole.host)), plain.count > 8
        else { return nil }
        let seconds = plain.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let lastSeen = Instant(seconds: Int64(bitPattern: seconds))
        let session = Session(encoded: Array(plain.dropFirst(8)), lastSeen: lastSeen)
        return session.flatMap { $0.host == whole.host ? $0 : nil }
    }

    /// The purpose of seals; it has the host, so that the cookie of one opens at no other.
    private static func wholePurpose(_ host: String) -> String { "session/cookie/\(host)" }
}
