// SPDX-License-Identifier: Apache-2.0

internal import GateClients
internal import GateCore
internal import GateHTTP
internal import GateIssuer
internal import GateOperations
internal import GateRuntime
internal import GateSessions

extension TokenEndpoints {
    /// Rejects an exchange by which a token would reach further than the user granted, or than the app that received it may.
    ///
    /// A client without a secret does not prove to be itself: an app that got its token could exchange that as well, unless the
    /// token is bound to a key or for no app.
    private static func checkReach(
        of exchange: TokenExchange,
        from subject: ClientSession,
        _ client: ClientSettings
    ) throws(OAuthError) {
        let isOwn = isIdentical(exchange.subject.client, client.id)
        let isProven = client.kind == .confidential || exchange.subject.keyThumbprint != nil
        switch exchange.target {
        case .apps(let named):
            guard isOwn else { return }
            let reach = isProven ? subject.grant.audiences : exchange.subject.audiences
            guard named.allSatisfy({ app in reach.contains { isIdentical($0, app) } }) else {
                let help =
                    isProven
                    ? "the user did not grant it" : "'subject_token' is not for it, and the client has no secret"
                throw OAuthError(.invalidTarget, "the token cannot be for every app that is named: \(help)")
            }
        case .other:
            let isForApps = !exchange.subject.audiences.allSatisfy { $0.hasSuffix("/oauth2/userinfo") }
            guard isProven || !isForApps else {
                let help = "use a client without 'audiences', with 'dpop: true', or with a secret"
                throw OAuthError(.invalidTarget, "an app that gets 'subject_token' could exchange it as well: \(help)")
            }
        }
    }

    /// Exchanges an access token for another token.
    ///
    /// RFC 8693 §2. There is no refresh token: the token that is exchanged can be refreshed.
    func exchange(_ request: TokenRequest, _ own: EndpointRequest) async throws -> Response {
        let client = request.client
        let exchange = try self.issuer.exchange(in: request, now: own.now)
        guard let owner = self.issuer.clients[exchange.subject.client],
            let subject = try await self.confirmed(exchange.subject.ticket, of: owner)
        else { throw OAuthError(.invalidRequest, "the session of 'subject_token' has ended") }
        try self.check(subject, of: owner, own)
        // A service has received the token with a proof for itself; the client itself can prove its key again.
        if owner.id == client.id, let key = exchange.subject.keyThumbprint {
            guard isIdentical(key, request.keyThumbprint ?? "") else {
                throw OAuthError(
                    .invalidRequest,
                    "'subject_token' is bound to another key than that of the header DPoP"
                )
            }
        }
        if owner.id != client.id { try self.check(subject, of: client, own) }
        try TokenEndpoints.checkReach(of: exchange, from: subject, client)
        let lifetime = min(client.accessTokenLifetime, exchange.subject.expires.since(own.now))
        var members: [String: JSON] = [
            "issued_token_type": .string(exchange.requested.rawValue), "token_type": "N_A",
            "expires_in": .int(lifetime.components.seconds), "scope": .string(exchange.scopes.joined(separator: " ")),
        ]
        switch exchange.target {
        case .other(let audience):
            let token = try self.issuer.credential(
                exchange,
                for: audience,
                of: subject,
                client: client,
                lifetime: lifetime,
                now: own.now
            )
            members["access_token"] = .string(token)
        case .apps(let named):
            let audiences = self.runtime.permitted(named, to: subject.session.profile)
            guard audiences.count == named.count, !audiences.isEmpty else {
                throw OAuthError(.invalidTarget, "the user may not enter every app that the token would be for")
            }
            let session = try await self.session(of: client, exchanging: exchange, subject, own)
            let token = try self.issuer.accessToken(
                of: session,
                for: audiences,
                scopes: exchange.scopes,
                boundTo: request.keyThumbprint,
                actor: exchange.actor,
                lifetime: lifetime,
                now: own.now
            )
            members["access_token"] = .string(token)
            members["token_type"] = request.keyThumbprint == nil ? "Bearer" : "DPoP"
        }
        return TokenEndpoints.json(200, .object(members))
    }

    /// The session that the new token is one of: that of the subject token, or another client's own in the same sign-in.
    private func session(
        of client: ClientSettings,
        exchanging exchange: TokenExchange,
        _ subject: ClientSession,
        _ own: EndpointRequest
    ) async throws -> ClientSession {
        guard client.id != subject.grant.client else { return subject }
        let sessions = self.runtime.sessions
        let session = try await sessions.issue(
            to: client.id,
            for: self.issuer.audiences(of: client),
            exchanging: subject,
            gatewayHost: self.runtime.publicOrigin.host,
            now: own.now
        )
        guard let session else {
            throw OAuthError(.invalidRequest, "the session of the user has ended")
        }
        return session
    }
}
