// SPDX-License-Identifier: Apache-2.0

internal import GateAssertion
internal import GateClients
package import GateCore
package import GateHTTP
internal import GateHeaders
package import GateIssuer
internal import GateOperations
internal import GatePages
internal import GatePolicy
package import GateRuntime
package import GateSessions
package import GateWire
internal import HTTPTypes

/// The endpoints that clients call themselves, without a browser; JSON for all of them.
package struct TokenEndpoints: Sendable {
    /// The configuration of the request.
    package let runtime: RuntimeConfiguration
    package let issuer: Issuer

    package init(runtime: RuntimeConfiguration, issuer: Issuer) {
        (self.runtime, self.issuer) = (runtime, issuer)
    }

    /// The response to a request; errors are those of the protocol.
    package func response(to request: EndpointRequest, at address: EndpointPath) async -> Response {
        var client: ClientSettings?
        func counted(_ result: String, _ response: Response) -> Response {
            let known = client?.metricLabel ?? "unknown"
            self.runtime.services.metrics.clientRequest(known, endpoint: address.rawValue, result: result)
            return response
        }
        do {
            guard let form = request.form else {
                throw OAuthError(.invalidRequest, "the body is not application/x-www-form-urlencoded")
            }
            let found = try self.issuer.client(of: form, request.authorization)
            client = found
            switch address {
            case .introspect: return counted("ok", try await self.introspect(form, found, request))
            case .revoke: return counted("ok", try await self.revoke(form, found))
            case .pushedRequests: return counted("ok", try self.push(form, found, request))
            case .deviceAuthorization: return counted("ok", try await self.beginDevice(form, found, request))
            case .token:
                var asked = TokenRequest(client: found, form: form)
                asked.keyThumbprint = try self.keyThumbprint(for: found, request)
                let response = try await self.tokens(asked, request)
                return counted(response.head.status.code == 200 ? "ok" : "invalid_request", response)
            default: throw OAuthError(.serverError, "the endpoint is not one of clients")
            }
        } catch let error as OAuthError {
            let failure = Failure(.clientRejected, error.detail(for: client?.id, isOpen: client?.isOpen ?? false))
            return counted(error.code.rawValue, self.response(to: error, because: failure))
        } catch let failure as Failure {
            let passes = [.overloaded, .tooMany, .providerFailed].contains(failure.kind)
            let error = OAuthError(passes ? .temporarilyUnavailable : .serverError, "see the log of the gateway")
            return counted(error.code.rawValue, self.response(to: error, because: failure))
        } catch {
            return counted("server_error", self.response(to: OAuthError(.serverError, "unknown")))
        }
    }

    /// The response to an error.
    ///
    /// RFC 6749 §5.2.
    func response(to error: OAuthError, because failure: Failure? = nil) -> Response {
        let failure = failure ?? Failure(.clientRejected, error.detail(for: nil, isOpen: false))
        let incident = self.runtime.rendering.logged(failure)
        var members = error.json.object ?? [:]
        members["incident"] = .string(incident)
        var response = TokenEndpoints.json(error.status, .object(members))
        // RFC 6749 §5.2, and RFC 9110 §15.5.2 for a client that sent no Authorization.
        if error.status == 401 {
            response.head.headerFields[.wwwAuthenticate] = "Basic realm=\"gatehouse\""
        }
        if error.status == 503 {
            let seconds = failure.retryAfter.map { max(1, $0.wholeSeconds) } ?? 2
            response.head.headerFields[.retryAfter] = "\(seconds)"
        }
        response.rejection = Response.Rejection(failure.reason, incident: incident)
        return response
    }

    /// A response that pages of any origin may read: it depends on no cookie.
    package static func json(_ status: Int, _ value: JSON) -> Response {
        var response = Rendering.json(status, value)
        response.head.headerFields[.accessControlAllowOrigin] = "*"
        return response
    }

    /// The response to the preflight of a page of any origin.
    ///
    /// Fetch standard §3.3.3.
    package static func preflight(_ methods: [RequestMethod]) -> Response {
        var fields: HTTPFields = [.accessControlAllowOrigin: "*"]
        fields[.accessControlAllowMethods] = methods.map(\.rawValue).joined(separator: ", ")
        fields[.accessControlAllowHeaders] = "Authorization, Content-Type, DPoP"
        fields[.accessControlMaxAge] = "7200"
        return Response(204, fields: fields)
    }

    /// The keys that verify tokens.
    package func keys() -> Response { Rendering.keys(self.issuer.signer.keys) }
}

// MARK: Tokens

extension TokenEndpoints {
    private func tokens(_ request: TokenRequest, _ own: EndpointRequest) async throws -> Response {
        guard let name = request.form["grant_type"] else {
            throw OAuthError(.invalidRequest, "'grant_type' is missing")
        }
        guard let type = GrantType(rawValue: name) else {
            throw OAuthError(.unsupportedGrantType, "'grant_type' is not one that this issuer supports")
        }
        guard request.client.grants.contains(type) else {
            throw OAuthError(.unauthorizedClient, "the client's 'grants' do not have it")
        }
        switch type {
        case .authorizationCode: return try await self.redeem(request, own)
        case .refreshToken: return try await self.refresh(request, own)
        case .deviceCode: return try await self.redeemDevice(request, own)
        case .tokenExchange: return try await self.exchange(request, own)
        }
    }

    /// RFC 6749 §4.1.3 and §4.1.4.
    private func redeem(_ request: TokenRequest, _ own: EndpointRequest) async throws -> Response {
        let code = try self.issuer.code(in: request, now: own.now)
        let sessions = self.runtime.sessions
        let host = self.runtime.hosts.publicOrigin.host
        let redemption = try await sessions.redeem(
            code,
            boundTo: request.keyThumbprint,
            gatewayHost: host,
            arrival: own.arrival,
            now: own.now
        )
        switch redemption {
        case .none: throw OAuthError(.invalidGrant, "the session of the user has ended")
        case .replayed: throw OAuthError(.invalidGrant, "the code was used before; its tokens are revoked")
        case .repeated: throw OAuthError(.invalidGrant, "the code is being used by another request at this moment")
        case .issued(let session): return try await self.firstTokens(of: session, request, own, nonce: code.terms.nonce)
        }
    }

    /// The first tokens of a client's session, which ends if there can be none.
    func firstTokens(
        of session: ClientSession,
        _ request: TokenRequest,
        _ own: EndpointRequest,
        nonce: String?
    ) async throws -> Response {
        TokenEndpoints.json(200, .object(try await self.firstMembers(of: session, request, own, nonce: nonce)))
    }

    /// Their members in the response.
    package func firstMembers(
        of session: ClientSession,
        _ request: TokenRequest,
        _ own: EndpointRequest,
        nonce: String?
    ) async throws -> [String: JSON] {
        do {
            let members = try self.members(of: session, request, own, nonce: nonce)
            self.runtime.services.log.grantBegan(
                session.grant.client,
                of: session.session.profile,
                session: session.session.id
            )
            return members
        } catch {
            // The session expires by itself if the store is unavailable.
            _ = try? await self.runtime.sessions.endClient(session.ticket)
            throw error
        }
    }

    private func refresh(_ request: TokenRequest, _ own: EndpointRequest) async throws -> Response {
        let session = try await self.refreshed(request, own)
        let scopes = try self.issuer.scopes(namedIn: request, grantedTo: session.grant)
        return TokenEndpoints.json(200, .object(try self.members(of: session, request, own, scopes, nonce: nil)))
    }

    /// The session of a client whose refresh token has been replaced by the next.
    ///
    /// RFC 6749 §6, RFC 9700 §4.14.2.
    package func refreshed(_ request: TokenRequest, _ own: EndpointRequest) async throws -> ClientSession {
        guard let text = request.form["refresh_token"] else {
            throw OAuthError(.invalidRequest, "'refresh_token' is missing")
        }
        guard let token = RefreshToken(text, for: request.client.id, by: self.runtime.sealer) else {
            throw OAuthError(.invalidGrant, "the refresh token is not one of this client")
        }
        let sessions = self.runtime.sessions
        let ended = OAuthError(.invalidGrant, "the sign-in has ended: the user has to sign in again")
        let current = try await self.confirmed(
            sessions.ticket(of: token, client: request.client.id),
            of: request.client
        )
        guard let current else { throw ended }
        // Nothing else would end it: the app may go on trying.
        if current.grant.ownsSignIn, TokenEndpoints.isOver(current, of: request.client, own) {
            try await self.end(current.ticket)
        }
        // Before the token is replaced: what is denied now may be admitted later.
        try self.check(current, of: request.client, own)
        try TokenEndpoints.checkKey(of: current, request)
        _ = try self.issuer.scopes(namedIn: request, grantedTo: current.grant)
        let named = try self.issuer.audiences(namedIn: request, grantedTo: current.grant)
        let permitted = self.runtime.routes.permitted(named, to: current.session.profile, at: own.now)
        guard !permitted.isEmpty else {
            throw OAuthError(.invalidTarget, "the user may enter none of the apps that the token would be for")
        }
        guard permitted.contains(where: { self.runtime.routes.accepts(current.session, at: [$0], now: own.now) }) else {
            let reason = "the sign-in is older, or was unused for longer, than the apps accept"
            throw OAuthError(.invalidGrant, "\(reason): the user has to sign in again")
        }
        switch try await sessions.rotate(token, of: request.client.id, now: own.now) {
        case .none: throw ended
        case .reused(let session):
            self.runtime.services.log.refreshTokenReused(
                request.client.id,
                of: session.session.profile,
                session: session.session.id
            )
            throw OAuthError(.invalidGrant, "the refresh token was used before; the sign-in of the client has ended")
        case .rotated(let session): return session
        }
    }

    /// The session of a client, confirmed by the provider if that is due.
    func confirmed(_ ticket: Ticket, of client: ClientSettings) async throws(Failure) -> ClientSession? {
        let host = ClientGrant.host(of: client.id)
        let found = try await SessionLookUp(runtime: self.runtime).session(for: ticket, host: host, mayAskUser: false)
        guard case .session = found else { return nil }
        return try await self.runtime.sessions.clientSession(
            ticket,
            of: client.id,
            now: self.runtime.services.clock.now
        )
    }

    /// Whether a sign-in at a client is over by the client's own `lifetime`.
    private static func isOver(_ session: ClientSession, of client: ClientSettings, _ own: EndpointRequest) -> Bool {
        client.lifetime.map { own.now.since(session.session.created) >= $0 } ?? false
    }

    /// Checks that a client admits the user of a session, and so does each client whose tokens were exchanged for that.
    func check(_ session: ClientSession, of client: ClientSettings, _ own: EndpointRequest) throws {
        try self.checkRules(of: client, for: session, own)
        for id in session.grant.subjects {
            guard let subject = self.issuer.clients[id] else {
                throw OAuthError(
                    .invalidGrant,
                    "a client whose token was exchanged for this one is not in 'clients' any more"
                )
            }
            try self.checkRules(of: subject, for: session, own)
        }
    }

    /// Checks that the rules of one client admit the user, and that the sign-in at it is not over.
    private func checkRules(of client: ClientSettings, for session: ClientSession, _ own: EndpointRequest) throws {
        if TokenEndpoints.isOver(session, of: client, own) {
            throw OAuthError(.invalidGrant, "the sign-in has ended after the client's 'lifetime'")
        }
        switch client.decision(about: session.session, from: own.client, now: own.now) {
        case .admitted: return
        case .denied(let denial):
            let failure = denial.failure(of: session.session.profile, app: client.id)
            let incident = self.runtime.rendering.logged(failure)
            throw OAuthError(.invalidGrant, "the rules of the client do not admit the user; incident \(incident)")
        case .signInNeeded, .authenticationNeeded:
            throw OAuthError(.invalidGrant, "the user has to sign in again for this client")
        case .passkeyNeeded:
            throw OAuthError(.invalidGrant, "the user has to use a passkey in the browser, and sign in again here")
        case .openToAll, .openToNetwork, .scopesNeeded:
            throw OAuthError(.serverError, "the rules of the client are those of an app")
        }
    }

    /// The members of a token response.
    ///
    /// RFC 6749 §5.1, OpenID Connect Core §3.1.3.3 and §12.2.
    ///
    /// - Parameters:
    ///   - session: The session of the client.
    ///   - request: The request.
    ///   - own: The same, with what it came with.
    ///   - scopes: What the tokens are for; nil for all that was granted.
    ///   - nonce: What the client wants in the ID token.
    /// - Returns: The members.
    /// - Throws: Why there can be no tokens.
    package func members(
        of session: ClientSession,
        _ request: TokenRequest,
        _ own: EndpointRequest,
        _ scopes: [String]? = nil,
        nonce: String?
    ) throws -> [String: JSON] {
        let client = request.client
        let scopes = scopes ?? session.grant.scopes
        try self.check(session, of: client, own)
        try TokenEndpoints.checkKey(of: session, request)
        let named = try self.issuer.audiences(namedIn: request, grantedTo: session.grant)
        let audiences = self.runtime.routes.permitted(named, to: session.session.profile, at: own.now)
        guard !audiences.isEmpty else {
            throw OAuthError(.invalidTarget, "the user may enter none of the apps that the token would be for")
        }
        let end = client.lifetime.map { session.session.created.advanced(by: $0).since(own.now) }
        let lifetime = self.runtime.routes.lifetime(
            min(client.accessTokenLifetime, end ?? client.accessTokenLifetime),
            ofTokenFor: audiences,
            to: session.session.profile,
            at: [client] + session.grant.subjects.compactMap { self.issuer.clients[$0] },
            now: own.now
        )
        let accessToken = try self.issuer.accessToken(
            of: session,
            for: audiences,
            scopes: scopes,
            boundTo: request.keyThumbprint,
            lifetime: lifetime,
            now: own.now
        )
        var members: [String: JSON] = [
            "access_token": .string(accessToken), "token_type": request.keyThumbprint == nil ? "Bearer" : "DPoP",
            "expires_in": .int(lifetime.wholeSeconds),
            "scope": .string(scopes.joined(separator: " ")),
        ]
        if client.grants.contains(.refreshToken) {
            members["refresh_token"] = .string(session.refreshToken.text(for: client.id, by: self.runtime.sealer))
        }
        if scopes.contains("openid") {
            let text = try self.issuer.idToken(
                of: session,
                for: client,
                scopes: scopes,
                nonce: nonce,
                beside: accessToken,
                now: own.now
            )
            members["id_token"] = .string(text)
        }
        return members
    }
}

// MARK: Tokens in use

extension TokenEndpoints {
    /// What a token is: for the client that it was issued to, and for one whose apps it is for.
    ///
    /// RFC 7662 §2.
    private func introspect(
        _ form: Form,
        _ client: ClientSettings,
        _ own: EndpointRequest
    ) async throws -> Response {
        guard client.kind == .confidential else {
            throw OAuthError(.unauthorizedClient, "only clients with a secret may ask about tokens")
        }
        guard let text = form["token"] else { throw OAuthError(.invalidRequest, "'token' is missing") }
        let inactive = TokenEndpoints.json(200, ["active": false])
        if let token = RefreshToken(text, for: client.id, by: self.runtime.sealer) {
            let ticket = self.runtime.sessions.ticket(of: token, client: client.id)
            guard let session = try await self.runtime.sessions.clientSession(ticket, of: client.id, now: own.now),
                session.grant.generation == token.generation, self.admits(session, client, own)
            else { return inactive }
            return TokenEndpoints.json(
                200,
                .object(self.facts(of: session, client.id, ["token_type": "refresh_token"]))
            )
        }
        guard let token = self.issuer.accessToken(text.utf8, now: own.now),
            isIdentical(token.client, client.id) || self.issuer.apps(of: client).contains(where: token.isFor),
            let owner = self.issuer.client(issuedTo: token.client),
            let session = try await self.confirmed(token.ticket, of: owner), self.admits(session, owner, own)
        else { return inactive }
        var members = self.facts(of: session, token.client, ["token_type": "Bearer"])
        members["scope"] = .string(session.grant.scopes.filter(token.scopes.contains).joined(separator: " "))
        members["exp"] = .int(token.expires.seconds)
        members["iat"] = .int(token.issued.seconds)
        members["aud"] = .array(token.audiences.map(JSON.string))
        members["act"] = token.actor
        if let key = token.keyThumbprint {
            members["token_type"] = "DPoP"
            members["cnf"] = ["jkt": .string(key)]
        }
        return TokenEndpoints.json(200, .object(members))
    }

    /// Whether the rules of a client still admit the user of its session.
    private func admits(_ session: ClientSession, _ client: ClientSettings, _ own: EndpointRequest) -> Bool {
        (try? self.check(session, of: client, own)) != nil
    }

    private func facts(of session: ClientSession, _ client: String, _ more: [String: JSON]) -> [String: JSON] {
        let members: [String: JSON] = [
            "active": true, "client_id": .string(client), "sub": .string(session.session.profile.forwardedKey),
            "scope": .string(session.grant.scopes.joined(separator: " ")), "iss": .string(self.issuer.url),
        ]
        return members.merging(more) { $1 }
    }

    /// Ends the grant of a token; 200 for every other text too.
    ///
    /// RFC 7009 §2.1 and §2.2.
    private func revoke(_ form: Form, _ client: ClientSettings) async throws -> Response {
        guard let text = form["token"] else { throw OAuthError(.invalidRequest, "'token' is missing") }
        let sessions = self.runtime.sessions
        var ticket: Ticket?
        if let token = RefreshToken(text, for: client.id, by: self.runtime.sealer) {
            ticket = sessions.ticket(of: token, client: client.id)
        } else if let token = self.issuer.accessToken(text.utf8, now: self.runtime.services.clock.now),
            isIdentical(token.client, client.id)
        {
            ticket = token.ticket
        }
        if let ticket { try await self.end(ticket) }
        return TokenEndpoints.json(200, .object([:]))
    }

    /// Ends the session of a client; for one at which the sign-in began that is a sign-out.
    package func end(_ ticket: Ticket) async throws(Failure) {
        let sessions = self.runtime.sessions
        let ended = try await uncancelled { () throws(Failure) in try await sessions.endClient(ticket) }
        guard let ended else { return }
        self.runtime.services.metrics.signedOut()
        self.runtime.services.log.signedOut(ended.profile.user, session: ended.id, by: "client")
    }

    /// The user of a token, as far as its scopes go.
    ///
    /// OpenID Connect Core §5.3.
    package func userinfo(_ own: EndpointRequest) async -> Response {
        do {
            let token = try self.accessToken(of: own)
            let session = try await self.session(of: token, own)
            // An exchanged token may have fewer scopes than the grant.
            let scopes = session.grant.scopes.filter(token.scopes.contains)
            guard scopes.contains("openid") else {
                throw OAuthError(.insufficientScope, "userinfo needs the scope 'openid'")
            }
            // RFC 9068 §4: a token that a client has asked for one app only is for that alone.
            guard token.isFor(self.issuer.userinfo) else {
                throw OAuthError(
                    .invalidToken,
                    "the token is for an app: ask for one without 'resource' and 'audience'"
                )
            }
            let client = self.issuer.client(issuedTo: token.client)
            return TokenEndpoints.json(
                200,
                .object(
                    session.session.profile.claims(
                        for: scopes,
                        of: client,
                        methods: session.session.methods
                    )
                )
            )
        } catch let error as OAuthError {
            return self.challenge(error, usesDPoP: own.proof != nil)
        } catch {
            let failure = error as? Failure
            return self.response(
                to: OAuthError(.temporarilyUnavailable, "see the log of the gateway"),
                because: failure
            )
        }
    }

    /// The live session of an access token.
    package func session(of token: AccessToken, _ own: EndpointRequest) async throws -> ClientSession {
        guard let client = self.issuer.client(issuedTo: token.client),
            let session = try await self.confirmed(token.ticket, of: client), self.admits(session, client, own)
        else { throw OAuthError(.invalidToken, "the session of the token has ended") }
        return session
    }

    /// RFC 6750 §3, RFC 9449 §7.1.
    private func challenge(_ error: OAuthError, usesDPoP: Bool) -> Response {
        var response = self.response(to: error)
        if case .invalidDPoPProof = error.code { response.head.status = .unauthorized }
        let scheme =
            usesDPoP ? "DPoP \(DPoPProof.algorithmList)" : "Bearer realm=\"gatehouse\""
        let text = "\(scheme), error=\"\(error.code.rawValue)\", error_description=\"\(error.detail)\""
        response.head.headerFields[.wwwAuthenticate] = text
        return response
    }
}
