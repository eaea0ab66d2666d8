// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import GateProviders

extension RelyingParty {
    /// Ends an attempt: turns what the provider sent the browser back with into a person.
    ///
    /// In this order: attempt unspent and its `state` equal, `iss`, the provider's error, its keys fetched, a slot among
    /// the sign-ins that call the provider, code redeemed, ID token, then userinfo and API calls, then groups, then the profile. Nothing is
    /// sent to the provider for a callback that is not ours. A sign-in that finds no keys, or no slot in time,
    /// leaves its attempt unspent, so that the same callback can be sent again.
    ///
    /// - Parameters:
    ///   - callback: The query of the callback, or its body if it is a POST.
    ///   - attempt: What was sealed in the cookie of the browser that came.
    ///   - looksUpGroups: Whether anybody will look at groups; if not, no calls are made for them.
    /// - Returns: Who signed in.
    /// - Throws: Why nobody did.
    package func signIn(
        callback: Form,
        attempt: Attempt,
        looksUpGroups: Bool = true
    ) async throws(Failure) -> SignIn {
        let answer = try AuthorizationResponse(callback)
        guard attempt.provider == self.definition.id else {
            throw Failure(.openIDProviderMismatch, "the attempt is with another provider")
        }
        guard self.clock.now < attempt.expiry else {
            throw Failure(.openIDAttemptExpired, "the person took too long at the provider")
        }
        guard constantTimeEquals(answer.state.utf8, attempt.state.utf8) else {
            throw Failure(.openIDStateMismatch, "callback does not belong to this browser")
        }
        guard self.spent.take(attempt, at: self.clock.now) else {
            throw Failure(.openIDAttemptSpent, "this callback was used before")
        }
        let metadata = try await self.metadata()
        try self.check(issuer: answer.issuer, metadata)
        switch answer.outcome {
        case .error(let error): throw answer.failure(error)
        case .code(let code):
            let ticket = try await self.ticket(for: attempt)
            defer { self.queue.leave(ticket) }
            return try await self.signIn(code, answer, attempt, metadata, looksUpGroups: looksUpGroups)
        }
    }

    /// A slot among the sign-ins that call the provider, once its keys are there: nobody holds a slot while all wait for
    /// them, and no code is redeemed for a token that could not be verified.
    private func ticket(for attempt: Attempt) async throws(Failure) -> UInt64 {
        do throws(Failure) {
            try await self.prepareKeys()
            return try await self.queue.enter()
        } catch {
            self.spent.giveBack(attempt)
            throw error
        }
    }

    private func signIn(
        _ code: String,
        _ answer: AuthorizationResponse,
        _ attempt: Attempt,
        _ metadata: ProviderMetadata,
        looksUpGroups: Bool
    ) async throws(Failure) -> SignIn {
        let token = try await self.redeem(code, of: attempt, metadata)
        let expected = self.expectation(token, attempt, metadata)
        let idToken = try await self.idToken(token, expected)
        if let issuer = answer.issuer, let idToken, !isIdentical(issuer, idToken.issuer) {
            let detail = "callback and ID token name different issuers"
            throw Failure(.openIDDiscoveryIssuerMismatch, detail)
        }
        var payloads = ProviderPayloads(idToken: idToken?.claims, callback: answer.extras)
        var notes: [String] = []
        switch try await self.userinfo(token, of: idToken, expected, metadata) {
        case .notAsked: break
        case .claims(let claims): payloads.userinfo = claims
        case .unavailable(let failure):
            payloads.isUserinfoUnavailable = true
            self.report(Failure(.providerUserinfoUnavailable, failure.detail))
            notes.append("Userinfo did not respond (\(failure.detail)): what only it says of the user is unknown.")
        }
        var person = try await self.person(payloads, token, looksUpGroups: looksUpGroups)
        person.notes = notes + person.notes
        return SignIn(person, token, idToken, metadata)
    }

    /// RFC 9207 §2.4; errors are checked as well, since they too may come from somebody else.
    private func check(issuer: String?, _ metadata: ProviderMetadata) throws(Failure) {
        guard let issuer else {
            guard !metadata.requiresCallbackIssuer else {
                throw Failure(.openIDIssuerMissing, "the callback has no iss, which it must have")
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

    /// RFC 6749 §4.1.3, RFC 7636 §4.5.
    private func redeem(
        _ code: String,
        of attempt: Attempt,
        _ metadata: ProviderMetadata
    ) async throws(Failure) -> TokenResponse {
        var form = Form()
        form.append("grant_type", "authorization_code")
        form.append("code", code)
        form.append("redirect_uri", self.redirectURI)
        if self.definition.pkce != .off { form.append("code_verifier", attempt.verifier) }
        // The audience is the address that gets the assertion, so it is of no use anywhere else. RFC 7523 §3.
        let proof = self.proof(metadata, audience: "\(metadata.token)")
        let authorization = try self.client.authenticate(&form, by: proof)
        let response = try await self.call.post(form, to: metadata.token, authorization: authorization)
        return try TokenResponse(
            response,
            advice: self.advice(metadata, sent: form, authorization),
            takesForms: self.keys == nil
        )
    }

    private func expectation(
        _ token: TokenResponse,
        _ attempt: Attempt,
        _ metadata: ProviderMetadata
    ) -> IDToken.Expectation {
        IDToken.Expectation(
            definition: self.definition,
            discoveredIssuer: metadata.issuer,
            clientID: self.client.clientID,
            nonce: attempt.nonce,
            accessToken: token.accessToken,
            now: self.clock.now
        )
    }

    /// The verified ID token; nil for a provider that has none.
    private func idToken(
        _ token: TokenResponse,
        _ expected: IDToken.Expectation
    ) async throws(Failure) -> IDToken? {
        guard let keys = self.keys else { return nil }
        guard let text = token.idToken else {
            throw Failure(.openIDMissingIDToken, "the token endpoint gave no ID token")
        }
        return try await IDToken.verified(text, by: keys, expecting: expected)
    }

    /// What came of asking for userinfo.
    private enum Userinfo {
        /// No field of the profile reads it.
        case notAsked
        /// It is about the same subject.
        case claims(JSON)
        /// The provider did not respond, or not now.
        case unavailable(Failure)
    }

    /// The failures of a userinfo endpoint that is down; all others mean that what responded is not to be believed.
    private static let outages: Set<Failure.Reason> = [
        .providerUnavailable, .providerTimeout, .providerUnreachable, .providerConnectionLost,
        .providerQueueFull, .providerNoResources,
    ]

    /// The userinfo response, asked for only if the profile reads it; it must be about the same subject.
    ///
    /// An endpoint that is down does not end the sign-in: who signed in, the ID token has said. One that rejects the
    /// token, or responds with something else than claims about this subject, ends it, and so does one that is down where
    /// the subject is read from it. OpenID Connect Core §5.3.2.
    private func userinfo(
        _ token: TokenResponse,
        of idToken: IDToken?,
        _ expected: IDToken.Expectation,
        _ metadata: ProviderMetadata
    ) async throws(Failure) -> Userinfo {
        guard let idToken, let keys = self.keys, self.definition.readsUserinfo, let endpoint = metadata.userinfo else {
            return .notAsked
        }
        let userinfo: JSON
        do throws(Failure) {
            switch try await self.call.userinfo(at: endpoint, accessToken: token.accessToken) {
            case .plain(let claims): userinfo = claims
            case .signed(let text): userinfo = try await SignedUserinfo.claims(in: text, by: keys, expecting: expected)
            }
        } catch {
            guard RelyingParty.outages.contains(error.reason), !self.definition.readsUserinfoForSubject else {
                throw error
            }
            return .unavailable(error)
        }
        guard let subject = userinfo["sub"]?.string, isIdentical(subject, idToken.subject) else {
            let received = userinfo["sub"] == nil ? "absent" : "another one"
            let detail = "sub of userinfo is \(received), expected that of the ID token"
            throw Failure(.openIDUserinfoSubject, detail)
        }
        return .claims(userinfo)
    }
}

extension SignIn {
    fileprivate init(
        _ person: (mapped: MappedProfile, notes: [String]),
        _ token: TokenResponse,
        _ idToken: IDToken?,
        _ metadata: ProviderMetadata
    ) {
        self.mapped = person.mapped
        self.idToken = idToken?.text
        self.providerSession = idToken?.session
        self.endSessionEndpoint = metadata.endSession
        self.grantedScopes = token.scopes
        self.accessTokenLifetime = token.lifetime
        self.idTokenLifetime = idToken?.lifetime
        self.notes = person.notes
    }
}
