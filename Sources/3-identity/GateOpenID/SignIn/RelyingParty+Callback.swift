// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateProviders

// A callback at the side of the provider, in four steps. Each takes what only the step before makes: without an open
// attempt there is no call, without a call no tokens, and without verified tokens no user.
// `GateEndpoints/Endpoints+Callback.swift` has what comes between them, before and after.

/// A callback for which the provider may be called; only ``RelyingParty/open(_:)`` makes one.
package struct CodeExchange: Sendable {
    fileprivate let response: AuthorizationResponse
    fileprivate let metadata: ProviderMetadata
    /// The slot among the sign-ins that call the provider; nil after an error of the provider, with which it is not
    /// called.
    fileprivate let slot: UInt64?
}

/// The tokens of a user, of which the ID token is verified; only ``RelyingParty/redeem(_:)`` and re-checks make them.
package struct VerifiedTokens: Sendable {
    let response: TokenResponse
    /// The ID token, or that of the sign-in at a re-check without a new one; nil for a provider that has none.
    let idToken: IDToken?
    /// What the ID token agrees with, and signed userinfo has to.
    let expected: IDToken.Expectation
    let metadata: ProviderMetadata
    /// What the browser brought with the callback besides the protocol's own parameters.
    let extras: JSON?

    /// The granted scopes; nil if the provider does not report them, which means the requested ones.
    ///
    /// RFC 6749 §5.1.
    package var scopes: [String]? { self.response.scopes }
    /// How long the access token lives, if the provider reports it.
    package var lifetime: Duration? { self.response.lifetime }
    /// How long the ID token lives from when it was made; nil without one.
    package var idTokenLifetime: Duration? { self.idToken?.lifetime }
}

// MARK: Attempt

extension RelyingParty {
    /// The response of the provider in a callback that belongs to an open attempt of the browser, which it uses up at
    /// this gateway.
    ///
    /// The provider is not called.
    ///
    /// - Parameters:
    ///   - callback: The query of the callback, or its body if it is a POST.
    ///   - attempt: The attempt from the cookie of the browser.
    /// - Returns: The response, which may be an error of the provider.
    /// - Throws: The first check that failed.
    package func accept(_ callback: Form, of attempt: Attempt) throws(Failure) -> AuthorizationResponse {
        let now = self.clock.now
        let response = try AuthorizationResponse(callback, of: attempt, with: self.definition.id, at: now)
        guard self.spent.insert(attempt, at: now) else {
            throw Failure(.openIDAttemptSpent, "this callback was used before")
        }
        return response
    }

    /// Makes an attempt usable again, because the provider was not called for it.
    package func reopen(_ attempt: Attempt) { self.spent.remove(attempt) }

    /// Makes ready to call the provider: its metadata, with which `iss` is compared, its keys, and a slot.
    ///
    /// No sign-in holds a slot while it waits for keys, and no code is redeemed for a token that could not be verified.
    /// A callback that gets no keys or no slot in time leaves its attempt usable, so that it can be repeated.
    ///
    /// - Parameter response: The response of the provider.
    /// - Returns: The exchange; ``close(_:)`` releases its slot.
    /// - Throws: `openid.issuer_…`, or why the provider cannot be called.
    package func open(_ response: AuthorizationResponse) async throws(Failure) -> CodeExchange {
        let metadata = try await self.metadata()
        try self.check(issuer: response.issuer, metadata)
        guard case .code = response.outcome else {
            return CodeExchange(response: response, metadata: metadata, slot: nil)
        }
        do throws(Failure) {
            try await self.prepareKeys()
            return CodeExchange(response: response, metadata: metadata, slot: try await self.queue.enter())
        } catch {
            self.reopen(response.attempt)
            throw error
        }
    }

    /// Releases the slot of an exchange.
    package func close(_ exchange: CodeExchange) {
        if let slot = exchange.slot { self.queue.release(slot) }
    }

    /// RFC 9207 §2.4; errors are checked as well, because another provider may have sent them.
    private func check(issuer: String?, _ metadata: ProviderMetadata) throws(Failure) {
        guard let issuer else {
            guard !metadata.requiresCallbackIssuer else {
                throw Failure(.openIDIssuerMissing, "the callback has no iss")
            }
            return
        }
        guard self.definition.issuer.admits(callback: issuer, discovered: metadata.issuer) else {
            throw Failure(
                .openIDIssuerMismatch,
                "the callback names \(ReceivedText.quoted(issuer))"
            )
        }
    }
}

// MARK: Tokens

extension RelyingParty {
    /// Redeems the code and verifies the ID token.
    ///
    /// RFC 6749 §4.1.3, RFC 7636 §4.5, OpenID Connect Core §3.1.3.
    ///
    /// - Parameter exchange: The exchange, whose attempt must be used up at all gateways: a provider revokes the tokens of a code
    ///   that is redeemed twice. RFC 6749 §4.1.2.
    /// - Returns: The tokens.
    /// - Throws: The provider's error, why it gives no tokens, or `id_token.…`.
    package func redeem(_ exchange: CodeExchange) async throws(Failure) -> VerifiedTokens {
        let (response, metadata) = (exchange.response, exchange.metadata)
        let attempt = response.attempt
        let code: String
        switch response.outcome {
        case .error(let error): throw response.failure(error)
        case .code(let received): code = received
        }
        var form = Form()
        form.append("grant_type", "authorization_code")
        form.append("code", code)
        form.append("redirect_uri", self.redirectURI)
        if self.definition.pkce != .off { form.append("code_verifier", attempt.verifier) }
        let tokens = try await self.tokens(for: form, metadata)
        let expected = IDToken.Expectation(
            definition: self.definition,
            discoveredIssuer: metadata.issuer,
            clientID: self.client.clientID,
            nonce: attempt.nonce,
            accessToken: tokens.accessToken,
            now: self.clock.now
        )
        let idToken = try await self.idToken(tokens, expected)
        if let issuer = response.issuer, let idToken, !isIdentical(issuer, idToken.issuer) {
            let detail = "callback and ID token name different issuers"
            throw Failure(.openIDDiscoveryIssuerMismatch, detail)
        }
        return VerifiedTokens(
            response: tokens,
            idToken: idToken,
            expected: expected,
            metadata: metadata,
            extras: response.extras
        )
    }

    /// The response of the token endpoint to a request with client authentication.
    func tokens(for form: Form, _ metadata: ProviderMetadata) async throws(Failure) -> TokenResponse {
        var form = form
        // The audience is the endpoint that receives the assertion, so it is useless elsewhere. RFC 7523 §3.
        let proof = self.proof(metadata, audience: "\(metadata.token)")
        let authorization = try self.client.authenticate(&form, by: proof)
        let response = try await self.call.post(form, to: metadata.token, authorization: authorization)
        return try TokenResponse(
            response,
            advice: self.advice(metadata, sent: form, authorization),
            takesForms: self.keys == nil
        )
    }

    /// The verified ID token; nil for a provider that has none.
    private func idToken(_ token: TokenResponse, _ expected: IDToken.Expectation) async throws(Failure) -> IDToken? {
        guard let keys = self.keys else { return nil }
        guard let text = token.idToken else {
            throw Failure(.openIDMissingIDToken, "the response of the token endpoint has no ID token")
        }
        return try await IDToken.verified(text, by: keys, expecting: expected)
    }
}

// MARK: User

extension RelyingParty {
    /// The user of the tokens: userinfo and API calls, as far as the profile needs them, then groups, then the profile.
    ///
    /// - Parameters:
    ///   - tokens: The tokens of the code.
    ///   - looksUpGroups: Whether a rule needs groups; if not, no calls are made for them.
    /// - Returns: The sign-in; where each field of its profile came from; and what an operator should know of it, each a sentence
    ///   without secrets: which groups could not be read, for example, and what to grant.
    /// - Throws: Why the provider does not describe a user, or the definition does not admit this one.
    package func user(
        of tokens: VerifiedTokens,
        looksUpGroups: Bool
    ) async throws(Failure) -> (signIn: SignIn, mapped: MappedProfile, notes: [String]) {
        do throws(Failure) {
            return try await self.described(tokens, looksUpGroups: looksUpGroups)
        } catch {
            // The token was issued a moment ago: the provider rejects the call, whatever it reports about the token.
            throw error.reason == .providerTokenRejected ? Failure(.providerAPIRefused, error.detail) : error
        }
    }

    private func described(
        _ tokens: VerifiedTokens,
        looksUpGroups: Bool
    ) async throws(Failure) -> (signIn: SignIn, mapped: MappedProfile, notes: [String]) {
        var payloads = ProviderPayloads(idToken: tokens.idToken?.claims, callback: tokens.extras)
        var notes: [String] = []
        let isNeeded = self.definition.readsUserinfo(after: payloads, groups: looksUpGroups)
        switch isNeeded ? try await self.userinfo(of: tokens) : nil {
        case nil: break
        case .success(let claims)?: payloads.userinfo = claims
        case .failure(let failure)?:
            payloads.isUserinfoUnavailable = true
            self.report(Failure(.providerUserinfoUnavailable, failure.detail))
            notes.append("Userinfo has no claims (\(failure.detail)): what only userinfo contains is unknown.")
        }
        let found = try await self.profile(&payloads, tokens.response, looksUpGroups: looksUpGroups)
        let grant = ProviderGrant(tokens.response, extras: tokens.extras, keeping: nil, at: self.clock.now)
        let signIn = self.signIn(found.mapped.profile, tokens, grant)
        return (signIn, found.mapped, notes + found.notes)
    }

    /// What a session keeps of the user of these tokens.
    func signIn(_ profile: Profile, _ tokens: VerifiedTokens, _ grant: ProviderGrant) -> SignIn {
        var signIn = SignIn(profile: profile)
        signIn.grant = grant
        signIn.idToken = tokens.idToken.map { Secret(text: $0.text) }
        signIn.subjectClaim = self.definition.usesSubjectClaim ? nil : tokens.idToken?.subject
        signIn.providerSession = tokens.idToken?.session
        signIn.endSession = tokens.metadata.endSession.map { "\($0)" }
        return signIn
    }

    /// The failures after which nothing that the provider sent can be trusted.
    private static let breaches: Set<Failure.Reason> = [
        .openIDUserinfoSubject, .openIDUserinfoToken, .providerTLS, .providerPinMismatch,
    ]

    /// The claims of userinfo, which must be about the same subject; nil if the provider has no userinfo.
    ///
    /// An endpoint that is down, rejects the token or responds with anything but claims does not fail the sign-in,
    /// because the ID token identifies the user; what only userinfo has is unknown. A response about another subject, a
    /// signature that is not valid, another server, and a profile that reads the subject from here fail it. OpenID
    /// Connect Core §5.3.2.
    ///
    /// - Parameter tokens: The tokens of the user.
    /// - Returns: The claims, or why they are unknown.
    /// - Throws: What fails the sign-in.
    func userinfo(of tokens: VerifiedTokens) async throws(Failure) -> Result<JSON, Failure>? {
        guard let idToken = tokens.idToken, let keys = self.keys, let endpoint = tokens.metadata.userinfo else {
            return nil
        }
        do throws(Failure) {
            let accessToken = tokens.response.accessToken
            let response = try await self.call.userinfo(at: endpoint, accessToken: accessToken)
            let userinfo: JSON
            if let text = response.signedUserinfo {
                userinfo = try await tokens.expected.claims(inUserinfo: text, by: keys)
            } else {
                userinfo = try ProviderCall.claims(ofUserinfo: response, from: endpoint, accessToken: accessToken)
            }
            guard let subject = userinfo["sub"]?.string else {
                throw Failure(.providerMalformedJSON, "userinfo has no sub, so it is about no user")
            }
            guard isIdentical(subject, idToken.subject) else {
                throw Failure(.openIDUserinfoSubject, "sub of userinfo is another one, expected that of the ID token")
            }
            return .success(userinfo)
        } catch {
            guard !RelyingParty.breaches.contains(error.reason), !self.definition.readsUserinfoForSubject else {
                throw error
            }
            return .failure(error)
        }
    }

    /// The profile of the user whom the tokens and the provider's API describe.
    ///
    /// - Parameters:
    ///   - payloads: The claims of the tokens, to which what the calls return is added.
    ///   - token: The access token for the calls, and the granted scopes.
    ///   - looksUpGroups: Whether groups are looked up.
    /// - Returns: The profile, and notes for the operator.
    /// - Throws: Why there is no profile; `provider.api_refused` if the provider rejects a call that the subject needs.
    func profile(
        _ payloads: inout ProviderPayloads,
        _ token: TokenResponse,
        looksUpGroups: Bool
    ) async throws(Failure) -> (mapped: MappedProfile, notes: [String]) {
        let access = APIAccess(self.definition, accessToken: token.accessToken, secret: self.client.secret)
        var notes = try await self.fetch(&payloads, access)
        let mapped = try self.definition.profile(from: payloads)
        guard looksUpGroups else { return (mapped, notes) }
        let resolver = GroupResolver(definition: self.definition, call: self.call, access: access)
        guard let found = await resolver.found(for: mapped.profile, payloads, granted: token.scopes) else {
            return (mapped, notes)
        }
        notes += found.notes
        if !found.names.isComplete {
            let detail = found.notes.first ?? "the provider omitted some"
            self.report(Failure(.providerGroupsIncomplete, detail))
        }
        payloads.lookedUp = found.names
        return (try self.definition.profile(from: payloads), notes)
    }

    /// Makes the API calls that the profile needs, until no response requires another call.
    private func fetch(_ payloads: inout ProviderPayloads, _ access: APIAccess) async throws(Failure) -> [String] {
        var notes: [String] = []
        var made: Set<String> = []
        for _ in self.definition.apiCalls {
            let wanted = self.definition.wantedCalls(for: payloads, made: made)
            guard !wanted.isEmpty else { break }
            for call in wanted {
                made.insert(call.path)
                switch try await self.call.json(of: call, access) {
                case .success(let json): payloads.api[call.path] = json
                case .failure(let failure):
                    guard !call.isRequired else { throw failure }
                    let scopes = self.definition.scopes.joined(separator: " ")
                    notes.append("\(failure.detail). Its fields stay empty: grant the app what it needs (\(scopes)).")
                }
            }
        }
        return notes
    }
}

extension ProviderGrant {
    /// What is kept of a token response.
    ///
    /// - Parameters:
    ///   - token: The response.
    ///   - extras: What the browser brought with the callback.
    ///   - earlier: The refresh token that was redeemed, which holds on if the response has none.
    ///   - now: The time.
    init(_ token: TokenResponse, extras: JSON?, keeping earlier: Secret?, at now: Instant) {
        self.init()
        self.refreshToken = token.refreshToken.map(Secret.init(text:)) ?? earlier
        let isKept = token.accessToken.utf8.count <= ProviderGrant.maxTokenBytes
        self.accessToken = isKept ? Secret(text: token.accessToken) : nil
        self.accessExpiry = token.lifetime.map { now.advanced(by: $0) }
        self.scopes = token.scopes?.joined(separator: " ")
        let text = extras.map(\.text)
        self.extras = text.flatMap { $0.utf8.count <= ProviderGrant.maxExtrasBytes ? $0 : nil }
    }
}
