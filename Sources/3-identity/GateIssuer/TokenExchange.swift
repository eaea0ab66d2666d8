// SPDX-License-Identifier: Apache-2.0

internal import GateAssertion
package import GateClients
package import GateCore
package import GateSessions

/// A request to exchange a token for one of this gateway, checked but for the session of the subject, or the token of an issuer.
///
/// RFC 8693 §2.1, narrowed: the subject token is an access token of this gateway, issued to the client or meant for an app of
/// it, or a token of an issuer that the client has in `exchange_issuers`; nothing that results lives longer.
package struct TokenExchange: Sendable {
    /// A kind of token.
    ///
    /// RFC 8693 §3.
    package enum TokenType: String, Sendable {
        /// An access token of this gateway.
        case accessToken = "urn:ietf:params:oauth:token-type:access_token"
        /// An ID token of this gateway.
        case idToken = "urn:ietf:params:oauth:token-type:id_token"
        /// Any JWT.
        case jwt = "urn:ietf:params:oauth:token-type:jwt"
    }

    /// Whom the new token is for.
    package enum Target: Sendable, Hashable {
        /// Apps behind the gateway, by their audiences.
        case apps([String])
        /// Another service that trusts this gateway, such as a cloud: one of ``ClientSettings/tokenAudiences``.
        case other(String)

        /// The audiences of the apps behind the gateway.
        package var audiencesOfApps: [String] {
            guard case .apps(let audiences) = self else { return [] }
            return audiences
        }
    }

    /// The token that is exchanged.
    package enum Subject: Sendable {
        /// An access token of this gateway.
        case own(AccessToken)
        /// A text that may be a token of an issuer, not verified.
        case ofIssuer(String)
    }

    /// The token that is exchanged.
    package let subject: Subject
    /// What is wanted.
    package let requested: TokenType
    /// Whom it is for.
    package let target: Target
    /// Whether the request names that; else it is for all apps that are possible.
    package let isTargetNamed: Bool
    /// What it is for, some of the scopes of an access token of this gateway.
    package let scopes: [String]
    /// Who acts for the user, the client first; nil if the token was issued to the client itself.
    package let actor: JSON?
}

extension Issuer {
    private static let maxTargets = 8

    /// Checks a request to exchange a token.
    ///
    /// - Parameters:
    ///   - request: The request, of a client that is authenticated.
    ///   - now: The time.
    /// - Returns: What is asked for.
    /// - Throws: `invalid_request` for a token that cannot be exchanged, `invalid_target`, `invalid_scope`.
    package func exchange(in request: TokenRequest, now: Instant) throws(OAuthError) -> TokenExchange {
        let form = request.form
        guard form["actor_token"] == nil, form["actor_token_type"] == nil else {
            throw OAuthError(.invalidRequest, "'actor_token' is not supported: the client itself is the actor")
        }
        let takesIssuers = !request.client.exchangeIssuers.isEmpty
        let type = form["subject_token_type"].flatMap(TokenExchange.TokenType.init)
        guard let type, takesIssuers || type == .accessToken else {
            let help =
                takesIssuers ? "that of an access token, a JWT or an ID token, as a URN" : "that of an access token"
            throw OAuthError(.invalidRequest, "'subject_token_type' must be \(help)")
        }
        guard let text = form["subject_token"] else {
            throw OAuthError(.invalidRequest, "'subject_token' is missing")
        }
        let own = type == .accessToken ? self.accessToken(text.utf8, now: now) : nil
        guard own != nil || takesIssuers else {
            throw OAuthError(.invalidRequest, "'subject_token' is expired, or no access token of this gateway")
        }
        guard let own else { return try self.exchange(ofIssuer: text, in: request) }
        return try self.exchange(of: own, in: request)
    }

    /// The client of the new token is named in it, as after a sign-in at the client; so it does not act for another one.
    private func exchange(ofIssuer text: String, in request: TokenRequest) throws(OAuthError) -> TokenExchange {
        // No user is asked, so that such a token has no more scopes of apps than that of the issuer itself: none.
        let scopes = try self.scopes(request.form["scope"], at: [], of: request.client)
        let (target, isNamed) = try self.target(of: request, otherwise: self.audiences(of: request.client, for: scopes))
        return TokenExchange(
            subject: .ofIssuer(text),
            requested: try Issuer.requestedType(in: request, for: target),
            target: target,
            isTargetNamed: isNamed,
            scopes: scopes.filter { $0 != "offline_access" },
            actor: nil
        )
    }

    private func exchange(of subject: AccessToken, in request: TokenRequest) throws(OAuthError) -> TokenExchange {
        let isOwn = isIdentical(subject.client, request.client.id)
        // The audience of tokens for no app is not the client's own.
        let known = self.apps(of: request.client)
        guard
            isOwn
                || request.client.kind == .confidential
                    && subject.audiences.contains(where: { audience in
                        known.contains { isIdentical($0, audience) }
                    })
        else {
            throw OAuthError(
                .invalidRequest,
                "'subject_token' is not for this client, nor for an app of its 'audiences'"
            )
        }
        let reach = self.audiences(of: request.client) + [self.userinfo]
        let granted = subject.audiences.filter { audience in reach.contains { isIdentical($0, audience) } }
        let (target, isNamed) = try self.target(of: request, otherwise: granted)
        return TokenExchange(
            subject: .own(subject),
            requested: try Issuer.requestedType(in: request, for: target),
            target: target,
            isTargetNamed: isNamed,
            scopes: try self.scopes(request, of: subject, at: target),
            actor: isOwn ? subject.actor : try Issuer.actor(request.client.id, before: subject.actor)
        )
    }

    /// RFC 8693 §2.1: `resource` has a URL, `audience` the name of an app, its URL, or a fixed string of the client.
    private func target(
        of request: TokenRequest,
        otherwise reach: [String]
    ) throws(OAuthError) -> (TokenExchange.Target, isNamed: Bool) {
        let client = request.client
        let names = request.form.fields.filter { $0.name == "audience" }.map(\.value)
        guard names.count <= Issuer.maxTargets else {
            throw OAuthError(.invalidTarget, "'audience' is repeated over \(Issuer.maxTargets) times")
        }
        var apps = try self.namedAudiences(in: request.form, of: client)
        if names.count == 1, apps.isEmpty, client.tokenAudiences.contains(where: { isIdentical($0, names[0]) }) {
            return (.other(names[0]), true)
        }
        for name in names {
            let byName = client.audiences.contains { isIdentical($0, name) } ? self.audiences[name] : nil
            guard let audience = byName ?? self.audience(named: name, of: client) else {
                let help = "write it into 'audiences' or, alone in a request, 'token_audiences' of the client"
                throw OAuthError(.invalidTarget, "tokens of this client cannot be for '\(name)': \(help)")
            }
            if !apps.contains(where: { isIdentical($0, audience) }) { apps.append(audience) }
        }
        return apps.isEmpty ? (.apps(reach), false) : (.apps(apps), true)
    }

    private static func requestedType(
        in request: TokenRequest,
        for target: TokenExchange.Target
    ) throws(OAuthError) -> TokenExchange.TokenType {
        guard let text = request.form["requested_token_type"] else { return .accessToken }
        guard let type = TokenExchange.TokenType(rawValue: text) else {
            throw OAuthError(.invalidRequest, "'requested_token_type' must be access_token, id_token or jwt, as a URN")
        }
        if case .apps = target, type != .accessToken {
            throw OAuthError(.invalidRequest, "apps take access tokens only: leave out 'requested_token_type'")
        }
        return type
    }

    /// The scopes that are named, all of which the subject token has; those of apps that the new token is not for mean nothing in it.
    private func scopes(
        _ request: TokenRequest,
        of subject: AccessToken,
        at target: TokenExchange.Target
    ) throws(OAuthError) -> [String] {
        // A scope of another client means nothing for this one, even if it has one of this name.
        let own = isIdentical(subject.client, request.client.id) ? Array(request.client.scopes.keys) : []
        var known = Issuer.scopes + own
        if case .apps(let apps) = target { known += apps.flatMap { self.appScopes[$0] ?? [] } }
        let kept = subject.scopes.filter(known.contains)
        guard let text = request.form["scope"] else { return kept }
        let named = text.split(separator: " ").map(String.init)
        guard named.allSatisfy({ scope in subject.scopes.contains { isIdentical($0, scope) } }) else {
            throw OAuthError(.invalidScope, "'scope' has a word that the subject token does not have")
        }
        return kept.filter(named.contains)
    }

    /// The claim about who acts, with who did before.
    ///
    /// RFC 8693 §4.1.
    private static func actor(_ client: String, before: JSON?) throws(OAuthError) -> JSON {
        var count = 1
        var earlier = before
        while let actor = earlier {
            (count, earlier) = (count + 1, actor["act"])
        }
        guard count <= ClientGrant.maxSubjects else {
            throw OAuthError(.invalidRequest, "over \(ClientGrant.maxSubjects) clients would act for each other")
        }
        var members: [String: JSON] = ["sub": .string(client)]
        members["act"] = before
        return .object(members)
    }

    /// A token for another service that trusts this gateway.
    ///
    /// It has no claim by which this gateway finds a session, so it is worth nothing here; nor `azp`, which AWS compares in place
    /// of `aud`.
    ///
    /// - Parameters:
    ///   - exchange: What is asked for.
    ///   - audience: Whom it is for.
    ///   - session: The session of the subject token's client.
    ///   - client: The client.
    ///   - lifetime: How long it is valid.
    ///   - now: The time.
    /// - Returns: The token.
    /// - Throws: `invalid_request` if `sub` is to be an email address, and the user has no verified one; a `Failure` if the key
    ///   cannot sign.
    package func credential(
        _ exchange: TokenExchange,
        for audience: String,
        of session: ClientSession,
        client: ClientSettings,
        lifetime: Duration,
        now: Instant
    ) throws -> String {
        let profile = session.session.profile
        var claims: [String: JSON] =
            exchange.requested == .accessToken
            ? ["client_id": .string(client.id), "scope": .string(exchange.scopes.joined(separator: " "))]
            : profile.claims(for: exchange.scopes, of: client)
        switch client.tokenSubject {
        case .user: claims["sub"] = .string(profile.forwardedKey)
        case .email:
            guard profile.emailVerified, let email = profile.email else {
                throw OAuthError(
                    .invalidRequest,
                    "the client has 'subject: email', and the user's email address is not verified"
                )
            }
            claims["sub"] = .string(email)
        }
        claims["aud"] = .string(audience)
        claims["iat"] = .int(now.seconds)
        claims["exp"] = .int(now.advanced(by: lifetime).seconds)
        claims["jti"] = .string(self.random.token(16))
        claims["sid"] = .string(session.session.signInID)
        claims["auth_time"] = session.grant.authenticated.map { .int($0.seconds) }
        claims["act"] = exchange.actor
        return try self.signer.sign(claims, as: exchange.requested == .accessToken ? .accessToken : .idToken)
    }
}
