// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import GateProviders

extension RelyingParty {
    /// Ends an attempt: turns what the provider sent the browser back with into a person.
    ///
    /// In this order: attempt unspent and its `state` equal, `iss`, the provider's error, code redeemed, ID token, then
    /// userinfo and API calls, then groups, then the profile. Nothing is sent to the provider for a callback that is not
    /// ours.
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
        let answer = try CallbackAnswer(callback)
        guard attempt.provider == self.definition.id else {
            throw Failure(.malformedRequest, "openid.provider_mismatch", "the attempt is with another provider")
        }
        guard self.clock.now < attempt.expiry else {
            throw Failure(.malformedRequest, "openid.attempt_expired", "the person took too long at the provider")
        }
        guard constantTimeEquals(answer.state.utf8, attempt.state.utf8) else {
            throw Failure(.malformedRequest, "openid.state_mismatch", "callback does not belong to this browser")
        }
        guard self.spent.take(attempt, at: self.clock.now) else {
            throw Failure(.malformedRequest, "openid.attempt_spent", "this callback was used before")
        }
        let metadata = try await self.metadata()
        try self.check(issuer: answer.issuer, metadata)
        switch answer.outcome {
        case .error(let error): throw answer.failure(error)
        case .code(let code):
            let token = try await self.redeem(code, of: attempt, metadata)
            let idToken = try await self.idToken(token, attempt, metadata)
            if let issuer = answer.issuer, let idToken, !isIdentical(issuer, idToken.issuer) {
                let detail = "callback and ID token name different issuers"
                throw Failure(.providerFailed, "openid.issuer_mismatch", detail)
            }
            var payloads = ProviderPayloads(idToken: idToken?.claims, callback: answer.extras)
            payloads.userinfo = try await self.userinfo(token, of: idToken, metadata)
            let person = try await self.person(payloads, token, looksUpGroups: looksUpGroups)
            return SignIn(person, token, idToken, metadata)
        }
    }

    /// RFC 9207 §2.4; errors are checked as well, since they too may come from somebody else.
    private func check(issuer: String?, _ metadata: ProviderMetadata) throws(Failure) {
        guard let issuer else {
            guard !metadata.requiresCallbackIssuer else {
                throw Failure(.malformedRequest, "openid.issuer_missing", "the callback has no iss, which it must have")
            }
            return
        }
        guard self.definition.issuer.admits(callback: issuer, discovered: metadata.issuer) else {
            throw Failure(
                .malformedRequest,
                "openid.issuer_mismatch",
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
        return try TokenResponse(response, advice: self.advice(metadata, sent: form, authorization))
    }

    /// The verified ID token; nil for a provider that has none.
    private func idToken(
        _ token: TokenResponse,
        _ attempt: Attempt,
        _ metadata: ProviderMetadata
    ) async throws(Failure) -> IDToken? {
        guard let keys = self.keys else { return nil }
        guard let text = token.idToken else {
            throw Failure(.providerFailed, "openid.id_token_missing", "the token endpoint gave no ID token")
        }
        let expected = IDToken.Expectation(
            definition: self.definition,
            discoveredIssuer: metadata.issuer,
            clientID: self.client.clientID,
            nonce: attempt.nonce,
            accessToken: token.accessToken,
            now: self.clock.now
        )
        return try await IDToken.verified(text, by: keys, expecting: expected)
    }

    /// The userinfo answer, asked for only if the profile reads it; it must be about the same person.
    ///
    /// OpenID Connect Core §5.3.2.
    private func userinfo(
        _ token: TokenResponse,
        of idToken: IDToken?,
        _ metadata: ProviderMetadata
    ) async throws(Failure) -> JSON? {
        guard let idToken, self.definition.readsUserinfo, let endpoint = metadata.userinfo else { return nil }
        let userinfo = try await self.call.userinfo(at: endpoint, accessToken: token.accessToken)
        guard let subject = userinfo["sub"]?.string, isIdentical(subject, idToken.subject) else {
            throw Failure(.providerFailed, "openid.userinfo_subject", "userinfo is about somebody else")
        }
        return userinfo
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
