// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// The session of a client with the ticket that opens it.
package struct ClientSession: Sendable {
    /// The session; its grant is never nil.
    package let session: Session
    /// The ticket, which access tokens have under a mask.
    package let ticket: Ticket
    /// What was granted.
    package let grant: ClientGrant

    init?(_ session: Session, _ ticket: Ticket) {
        guard let grant = session.client else { return nil }
        self.init(session, ticket, grant)
    }

    fileprivate init(_ session: Session, _ ticket: Ticket, _ grant: ClientGrant) {
        self.session = session
        self.ticket = ticket
        self.grant = grant
    }

    /// The refresh token that is valid.
    package var refreshToken: RefreshToken { RefreshToken(bytes: self.ticket.bytes, generation: self.grant.generation) }
}

/// What a code led to.
package enum Redemption: Sendable {
    case issued(ClientSession)
    /// The user's session has ended.
    case none
    /// The code was used before, so that it may be stolen: the tokens of its first use have ended.
    case replayed
    /// The client has sent the code several times at once: the tokens of its first use go on.
    case repeated
}

/// What a refresh token led to.
package enum Rotation: Sendable {
    /// The next refresh token is valid.
    case rotated(ClientSession)
    /// The grant has ended, or the token is of another client.
    case none
    /// The token was used before, so that it may be stolen: the grant has ended.
    case reused(ClientSession)
}

// MARK: Sessions of clients

extension SessionManager {
    /// How long the refresh token before the valid one still leads to that, since a response may be lost.
    ///
    /// RFC 9700 §4.14.2 leaves it to the server.
    package static let rotationGrace = Duration.seconds(60)

    /// Redeems a code for the session of its client.
    ///
    /// The caller has checked the client, the redirect URI and the verifier. RFC 6749 §4.1.2.
    ///
    /// - Parameters:
    ///   - code: The code, not expired.
    ///   - keyThumbprint: The key to which the tokens are bound; nil if they are not.
    ///   - gatewayHost: The host of `public_url`.
    ///   - arrival: When the request arrived, by `WallClock.milliseconds`.
    ///   - now: The time.
    /// - Returns: What it led to.
    /// - Throws: If the store is unavailable; the code may be spent nevertheless.
    package func redeem(
        _ code: AuthorizationCode,
        boundTo keyThumbprint: String?,
        gatewayHost: String,
        arrival: Int64,
        now: Instant
    ) async throws(Failure) -> Redemption {
        let host = ClientGrant.host(of: code.terms.client)
        let ticket = self.signed(code.ticket.bytes(for: "\(host)/\(code.id)"), host: host)
        let isReplayed = SingleUse("code-replayed", code.id, until: code.expires)
        var isFirst = false
        self.redemptions.begin(code, now: now)
        defer { self.redemptions.end(code, withTokensAt: isFirst ? self.signOuts.clock.milliseconds : nil) }
        isFirst = try await self.spend(SingleUse("code", code.id, until: code.expires))
        guard isFirst else {
            guard !self.redemptions.overlaps(code, arrival: arrival) else { return .repeated }
            // The first use may not have written its session yet, at another gateway, so it looks for this.
            _ = try await self.spend(isReplayed)
            try await self.endClient(ticket)
            return .replayed
        }
        let grant = ClientGrant(
            client: code.terms.client,
            scopes: code.terms.scopes,
            audiences: code.terms.audiences,
            keyThumbprint: keyThumbprint,
            at: now
        )
        let origin = code.ticket
        guard let issued = try await self.issue(grant, from: origin, as: ticket, gatewayHost: gatewayHost, now: now)
        else { return .none }
        guard try await self.spend(isReplayed) else {
            try await self.endClient(ticket)
            return .replayed
        }
        return .issued(issued)
    }

    /// Issues the session of a client in the family of a user's session; nil if that has ended.
    package func issue(
        _ grant: ClientGrant,
        from origin: Ticket,
        as ticket: Ticket? = nil,
        gatewayHost: String,
        now: Instant
    ) async throws(Failure) -> ClientSession? {
        guard let first = try await self.session(for: origin, host: gatewayHost, now: now) else { return nil }
        let host = ClientGrant.host(of: grant.client)
        let ticket = ticket ?? self.signed(self.random.bytes(32), host: host)
        var grant = grant
        // What a token was exchanged for has the time of the grant that it comes from.
        if grant.subject == nil { grant.authenticated = first.profile.authTime }
        let session = Session(of: first, for: grant, id: self.random.identifier(16), origin: origin, now: now)
        let fresh = try self.sealed(session, as: ticket)
        try await self.records.insert(fresh.record)
        // The user may have signed out meanwhile.
        guard try await self.records.record(for: origin.storeKey) != nil else {
            try await self.records.remove(ticket.storeKey)
            return nil
        }
        try await self.records.trimFamily(
            session.familyKey,
            to: SessionManager.maxHosts,
            keeping: [origin.storeKey, ticket.storeKey]
        )
        return ClientSession(session, ticket)
    }

    /// Issues the session of a client for which alone a user has signed in, and ends the sign-in if that fails: no client could
    /// end it later, and no browser has its ticket.
    ///
    /// - Parameters:
    ///   - grant: What the client gets.
    ///   - signIn: The session that the sign-in has issued just now.
    ///   - gatewayHost: The host of `public_url`.
    ///   - now: The time.
    /// - Returns: The session.
    /// - Throws: If the store is unavailable, or the sign-in has ended meanwhile.
    package func issue(
        _ grant: ClientGrant,
        owning signIn: IssuedSession,
        gatewayHost: String,
        now: Instant
    ) async throws(Failure) -> ClientSession {
        do throws(Failure) {
            let issued = try await self.issue(grant, from: signIn.ticket, gatewayHost: gatewayHost, now: now)
            guard let issued else {
                throw Failure(.sessionStoreUnavailable, "the sign-in that has just begun is not found")
            }
            return issued
        } catch {
            // One that cannot be ended either expires.
            _ = try? await self.end(signIn.ticket)
            throw error
        }
    }

    /// Issues the session of a client whose user has brought a token of an issuer, and has no session at the gateway.
    ///
    /// It is a sign-in of its own with this session only. It does not count as one of the user, who may be a machine with many jobs at once, and
    /// ends by itself.
    ///
    /// - Parameters:
    ///   - grant: What the client gets, with an end.
    ///   - profile: The user.
    ///   - now: The time.
    /// - Returns: The session.
    /// - Throws: If the store is unavailable.
    package func issue(_ grant: ClientGrant, to profile: Profile, now: Instant) async throws(Failure) -> ClientSession {
        let session = self.session(grant, of: profile, now: now)
        let fresh = try self.sealed(session.session, as: session.ticket)
        try await self.records.insert(fresh.record)
        return session
    }

    /// The same session, which is not stored, so that no token leads to it.
    package func session(_ grant: ClientGrant, of profile: Profile, now: Instant) -> ClientSession {
        let host = ClientGrant.host(of: grant.client)
        var session = self.session(after: SignIn(profile: profile), host: host, now: now)
        session.client = grant
        return ClientSession(session, self.signed(self.random.bytes(32), host: host), grant)
    }

    /// Issues the session of a client that acts for another one, in the same sign-in; nil if that has ended.
    ///
    /// It ends with the session of the other one, and is always the same for the same two, so that a client that exchanges many tokens does not fill the store.
    ///
    /// - Parameters:
    ///   - client: The client that acts.
    ///   - audiences: The audiences that its access tokens may have.
    ///   - subject: The session of the other client.
    ///   - gatewayHost: The host of `public_url`.
    ///   - now: The time.
    /// - Returns: The session.
    /// - Throws: If the store is unavailable.
    package func issue(
        to client: String,
        for audiences: [String],
        exchanging subject: ClientSession,
        gatewayHost: String,
        now: Instant
    ) async throws(Failure) -> ClientSession? {
        // A sign-in that began with a token of an issuer has no session at the host of the gateway, but that of its first client.
        let origin = subject.session.origin ?? subject.ticket
        let first = try await self.records.record(for: origin.storeKey).flatMap { self.open($0, with: origin) }
        let originHost = first.flatMap { $0.ends == nil ? nil : $0.host } ?? gatewayHost
        var grant = ClientGrant(
            client: client,
            scopes: subject.grant.scopes,
            audiences: audiences,
            exchanging: subject.ticket,
            until: subject.grant.ends,
            at: now
        )
        grant.subjects = [subject.grant.client] + subject.grant.subjects
        grant.authenticated = subject.grant.authenticated
        let host = ClientGrant.host(of: grant.client)
        let ticket = self.signed(subject.ticket.bytes(for: "\(host)/exchange"), host: host)
        if let known = try await self.clientSession(ticket, of: grant.client, now: now) { return known }
        // A record under this key has expired, but is not removed yet.
        try await self.records.remove(ticket.storeKey)
        do throws(Failure) {
            return try await self.issue(grant, from: origin, as: ticket, gatewayHost: originHost, now: now)
        } catch {
            // The client may exchange two tokens at once.
            guard let known = try await self.clientSession(ticket, of: grant.client, now: now) else { throw error }
            return known
        }
    }

    package func ticket(of token: RefreshToken, client: String) -> Ticket {
        self.signed(token.bytes, host: ClientGrant.host(of: client))
    }

    /// The live session of a client; nil if it has ended.
    package func clientSession(
        _ ticket: Ticket,
        of client: String,
        now: Instant
    ) async throws(Failure) -> ClientSession? {
        let found = try await self.session(for: ticket, host: ClientGrant.host(of: client), now: now)
        return found.flatMap { ClientSession($0, ticket) }
    }

    /// Makes the next refresh token of a grant the valid one.
    ///
    /// Of several refreshes at once, and of one that is repeated within ``rotationGrace``, each leads to the same token.
    ///
    /// - Parameters:
    ///   - token: The token of the request.
    ///   - client: The client that sent it, authenticated.
    ///   - now: The time.
    /// - Returns: What it led to.
    /// - Throws: If the store is unavailable; then the grant may be rotated nevertheless.
    package func rotate(_ token: RefreshToken, of client: String, now: Instant) async throws(Failure) -> Rotation {
        let ticket = self.ticket(of: token, client: client)
        for _ in 0..<SessionManager.maxReplacements {
            guard let current = try await self.clientSession(ticket, of: client, now: now),
                let record = try await self.records.record(for: ticket.storeKey),
                var session = self.open(record, with: ticket), var grant = session.client
            else { return .none }
            if token.generation == grant.generation - 1, now.since(grant.rotated) <= SessionManager.rotationGrace {
                return ClientSession(current.session.with(grant), ticket).map(Rotation.rotated) ?? .none
            }
            guard token.generation == grant.generation else {
                try await self.end(grant, record)
                return .reused(current)
            }
            grant.generation += 1
            grant.rotated = now
            session.client = grant
            let next = try self.sealed(session, as: ticket).record
            if try await self.records.replace(record.key, ifSealed: record.sealed, by: next.sealed, card: next.card) {
                return ClientSession(current.session.with(grant), ticket).map(Rotation.rotated) ?? .none
            }
        }
        throw SessionManager.busy
    }

    /// Ends the session of a client, and nothing else of the sign-in unless that began at the client.
    ///
    /// - Returns: The session if the whole sign-in has ended with it.
    @discardableResult package func endClient(_ ticket: Ticket) async throws(Failure) -> Session? {
        guard let record = try await self.records.record(for: ticket.storeKey) else { return nil }
        let session = self.open(record, with: ticket)
        try await self.end(session?.client, record)
        return session?.client?.ownsSignIn == true ? session : nil
    }

    /// Removes one record and has all gateways read the family again, or ends the family that nothing else has begun.
    private func end(_ grant: ClientGrant?, _ record: SessionRecord) async throws(Failure) {
        guard grant?.ownsSignIn != true else { return try await self.endFamily(record.family) }
        try await self.records.remove(record.key)
        self.feed.publishChange(record.family)
        // The other gateways read the family again within the time that they cache it.
        try? await self.records.reportChange(ofFamily: record.family)
    }
}

extension Session {
    /// The session of a client, from the user's session at the gateway's host.
    fileprivate init(of first: Session, for grant: ClientGrant, id: String, origin: Ticket, now: Instant) {
        self.init(
            id: id,
            family: first.family,
            profile: first.profile,
            host: ClientGrant.host(of: grant.client),
            created: first.created,
            lastSeen: now,
            maxIdle: first.maxIdle,
            idToken: nil,
            endSession: first.endSession,
            admission: first.admission,
            origin: origin,
            grant: nil,
            confirmed: first.confirmed,
            subjectClaim: first.subjectClaim,
            providerSession: first.providerSession,
            device: first.device,
            askedBy: first.askedBy,
            order: first.order
        )
        self.client = grant
    }

    fileprivate func with(_ grant: ClientGrant) -> Session {
        var session = self
        session.client = grant
        return session
    }
}
