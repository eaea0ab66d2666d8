// SPDX-License-Identifier: Apache-2.0

internal import GateClients
internal import GateConfiguration
internal import GateCore
internal import GateHTTP
internal import GateIssuer
internal import GateOperations
internal import GatePolicy
internal import GateRuntime
internal import GateSessions

extension TokenEndpoints {
    /// Rejects an exchange by which a token would reach further than the user granted, or than the app that received it may.
    ///
    /// A client without a secret does not prove to be itself: an app that got its token could exchange that as well, unless the
    /// token is bound to a key or for no app.
    private func checkReach(
        of exchange: TokenExchange,
        _ token: AccessToken,
        from subject: ClientSession,
        _ client: ClientSettings
    ) throws(OAuthError) {
        let isOwn = isIdentical(token.client, client.id)
        let isProven = client.kind == .confidential || token.keyThumbprint != nil
        switch exchange.target {
        case .apps(let named):
            guard isOwn else { return }
            let reach = isProven ? subject.grant.audiences : token.audiences
            guard named.allSatisfy({ app in reach.contains { isIdentical($0, app) } }) else {
                let help =
                    isProven
                    ? "the user did not grant it" : "'subject_token' is not for it, and the client has no secret"
                throw OAuthError(.invalidTarget, "the token cannot be for every app that is named: \(help)")
            }
        case .other:
            let isForApps = !token.audiences.allSatisfy { isIdentical($0, self.issuer.userinfo) }
            guard isProven || !isForApps else {
                let help = "use a client without 'audiences', with 'dpop: true', or with a secret"
                throw OAuthError(.invalidTarget, "an app that gets 'subject_token' could exchange it as well: \(help)")
            }
        }
    }

    /// Exchanges a token for another token.
    ///
    /// RFC 8693 §2. There is no refresh token: the token that is exchanged can be refreshed.
    func exchange(_ request: TokenRequest, _ own: EndpointRequest) async throws -> Response {
        let exchange = try self.issuer.exchange(in: request, now: own.now)
        switch exchange.subject {
        case .own(let token): return try await self.exchange(token, exchange, request, own)
        case .ofIssuer(let text): return try await self.exchange(tokenOfIssuer: text, exchange, request, own)
        }
    }

    private func exchange(
        _ token: AccessToken,
        _ exchange: TokenExchange,
        _ request: TokenRequest,
        _ own: EndpointRequest
    ) async throws -> Response {
        let client = request.client
        guard let owner = self.issuer.clients[token.client],
            let subject = try await self.confirmed(token.ticket, of: owner)
        else { throw OAuthError(.invalidRequest, "the session of 'subject_token' has ended") }
        try self.check(subject, of: owner, own)
        // A service has received the token with a proof for itself; the client itself can prove its key again.
        if owner.id == client.id, let key = token.keyThumbprint {
            guard isIdentical(key, request.keyThumbprint ?? "") else {
                throw OAuthError(
                    .invalidRequest,
                    "'subject_token' is bound to another key than that of the header DPoP"
                )
            }
        }
        if owner.id != client.id { try self.check(subject, of: client, own) }
        try self.checkReach(of: exchange, token, from: subject, client)
        var lifetime = min(client.accessTokenLifetime, token.expires.since(own.now))
        let clients = [owner, client] + subject.grant.subjects.compactMap { self.issuer.clients[$0] }
        let apps = exchange.target.audiencesOfApps
        lifetime = self.lifetime(lifetime, for: apps, to: subject.session.profile, at: clients, own)
        switch exchange.target {
        case .other(let audience):
            return try self.credential(exchange, for: audience, of: subject, client, lifetime, own)
        case .apps(let named):
            let audiences = self.runtime.routes.permitted(named, to: subject.session.profile, at: own.now)
            guard audiences.count == named.count, !audiences.isEmpty else { throw TokenEndpoints.notPermitted }
            let session = try await self.session(of: client, exchanging: token, subject, own)
            return try self.accessToken(exchange, for: audiences, of: session, request, lifetime, own)
        }
    }

    /// Exchanges the token of an issuer, which is a sign-in at the client that ends with it.
    private func exchange(
        tokenOfIssuer text: String,
        _ exchange: TokenExchange,
        _ request: TokenRequest,
        _ own: EndpointRequest
    ) async throws -> Response {
        let (runtime, client) = (self.runtime, request.client)
        guard let issuer = runtime.machines.issuer(of: text, exchangedBy: client) else {
            let help = "nor of one in 'exchange_issuers' of the client"
            throw OAuthError(
                .invalidRequest,
                "'subject_token' is expired, or not an access token of this gateway, \(help)"
            )
        }
        let limits = runtime.limits.signIns
        try runtime.services.signIns.refuseIfClosed()
        // The services of the operator exchange for many others from one address.
        if client.kind != .confidential { try runtime.services.exchanges.admit(own.client, within: limits) }
        try runtime.services.signIns.acquire(within: limits)
        defer { runtime.services.signIns.release() }
        let (profile, end): (Profile, Instant?)
        do throws(Failure) {
            (profile, end) = try await runtime.user(ofToken: text, by: issuer)
        } catch {
            guard error.reason == .tokenRejected else { throw error }
            return self.rejected("'subject_token' is not a valid token of its issuer", because: error)
        }
        if let failure = self.failure(of: profile, at: client, own) {
            return self.rejected("the rules of the client do not admit the user of 'subject_token'", because: failure)
        }
        let left = end?.since(own.now) ?? client.accessTokenLifetime
        var lifetime = min(client.accessTokenLifetime, client.lifetime ?? left, left)
        lifetime = self.lifetime(lifetime, for: exchange.target.audiencesOfApps, to: profile, at: [client], own)
        func grant(for audiences: [String]) -> ClientGrant {
            ClientGrant(
                client: client.id,
                scopes: exchange.scopes,
                audiences: audiences,
                keyThumbprint: request.keyThumbprint,
                ownsSignIn: true,
                until: own.now.advanced(by: lifetime),
                at: own.now
            )
        }
        let session: ClientSession
        let response: Response
        switch exchange.target {
        case .other(let audience):
            session = runtime.sessions.session(grant(for: []), of: profile, now: own.now)
            response = try self.credential(exchange, for: audience, of: session, client, lifetime, own)
        case .apps(let wanted):
            let audiences = runtime.routes.permitted(wanted, to: profile, at: own.now)
            guard !audiences.isEmpty, !exchange.isTargetNamed || audiences.count == wanted.count else {
                throw TokenEndpoints.notPermitted
            }
            session = try await runtime.sessions.issue(grant(for: audiences), to: profile, now: own.now)
            runtime.services.metrics.began(with: profile.provider, byTransfer: false)
            response = try self.accessToken(exchange, for: audiences, of: session, request, lifetime, own)
        }
        runtime.services.log.grantBegan(client.id, of: profile, session: session.session.id)
        return response
    }

    /// An error whose reason is in the log only.
    private func rejected(_ detail: String, because failure: Failure) -> Response {
        self.response(to: OAuthError(.invalidRequest, detail), because: failure)
    }

    /// Why the rules of the client do not admit the user of a token of an issuer, which proves neither when the user authenticated nor a
    /// passkey; nil if they do.
    private func failure(of profile: Profile, at client: ClientSettings, _ own: EndpointRequest) -> Failure? {
        let decision = client.decision(
            about: Session.machine(profile, id: "", family: "", now: own.now),
            from: own.client,
            now: own.now
        )
        switch decision {
        case .admitted: return nil
        case .denied(let denial): return denial.failure(of: profile, app: client.id)
        case .signInNeeded, .authenticationNeeded, .passkeyNeeded, .openToAll, .openToNetwork, .scopesNeeded:
            let help = "a rule needs a later authentication or a passkey, which no token of an issuer proves"
            return Failure(.policyRefused, "\(profile.user) is not admitted by \(client.id): \(help)")
        }
    }

    private static var notPermitted: OAuthError {
        OAuthError(.invalidTarget, "the user may not enter every app that the token would be for")
    }

    /// The response with a token for another service.
    private func credential(
        _ exchange: TokenExchange,
        for audience: String,
        of session: ClientSession,
        _ client: ClientSettings,
        _ lifetime: Duration,
        _ own: EndpointRequest
    ) throws -> Response {
        let token = try self.issuer.credential(
            exchange,
            for: audience,
            of: session,
            client: client,
            lifetime: lifetime,
            now: own.now
        )
        return TokenEndpoints.response(to: exchange, token, type: "N_A", lifetime)
    }

    /// How long a token may be valid by the dates in the rules.
    private func lifetime(
        _ lifetime: Duration,
        for audiences: [String],
        to profile: Profile,
        at clients: [ClientSettings],
        _ own: EndpointRequest
    ) -> Duration {
        self.runtime.routes.lifetime(lifetime, ofTokenFor: audiences, to: profile, at: clients, now: own.now)
    }

    /// The response with an access token for apps.
    private func accessToken(
        _ exchange: TokenExchange,
        for audiences: [String],
        of session: ClientSession,
        _ request: TokenRequest,
        _ lifetime: Duration,
        _ own: EndpointRequest
    ) throws -> Response {
        let token = try self.issuer.accessToken(
            of: session,
            for: audiences,
            scopes: exchange.scopes,
            boundTo: request.keyThumbprint,
            actor: exchange.actor,
            lifetime: lifetime,
            now: own.now
        )
        let type = request.keyThumbprint == nil ? "Bearer" : "DPoP"
        return TokenEndpoints.response(to: exchange, token, type: type, lifetime)
    }

    /// RFC 8693 §2.2.1.
    private static func response(
        to exchange: TokenExchange,
        _ token: String,
        type: String,
        _ lifetime: Duration
    ) -> Response {
        self.json(
            200,
            [
                "access_token": .string(token), "issued_token_type": .string(exchange.requested.rawValue),
                "token_type": .string(type), "expires_in": .int(lifetime.wholeSeconds),
                "scope": .string(exchange.scopes.joined(separator: " ")),
            ]
        )
    }

    /// The session that the new token is one of: that of the subject token, or another client's own in the same sign-in.
    private func session(
        of client: ClientSettings,
        exchanging token: AccessToken,
        _ subject: ClientSession,
        _ own: EndpointRequest
    ) async throws -> ClientSession {
        guard client.id != subject.grant.client else { return subject }
        let sessions = self.runtime.sessions
        let session = try await sessions.issue(
            to: client.id,
            for: self.issuer.audiences(of: client) + [self.issuer.userinfo],
            exchanging: subject,
            gatewayHost: self.runtime.hosts.publicOrigin.host,
            now: own.now
        )
        guard let session else {
            throw OAuthError(.invalidRequest, "the session of the user has ended")
        }
        return session
    }
}
