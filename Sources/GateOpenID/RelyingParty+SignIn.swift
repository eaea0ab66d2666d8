// SPDX-License-Identifier: Apache-2.0

internal import Foundation
package import GateCore
internal import GateProviders

extension RelyingParty {
    /// Ends an attempt: turns what the provider sent the browser back with into a person.
    ///
    /// In this order: attempt unspent and its `state` equal, `iss`, the provider's error, code redeemed, ID token, then
    /// userinfo or API calls, then the profile. Nothing is sent to the provider for a callback that is not ours.
    ///
    /// - Parameters:
    ///   - callback: The query of the callback, or its body if it is a POST.
    ///   - attempt: What was sealed in the cookie of the browser that came.
    /// - Returns: Who signed in.
    /// - Throws: Why nobody did.
    package func signIn(callback: Form, attempt: Attempt) async throws(Failure) -> SignIn {
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
        case .error(let error, let description): throw CallbackAnswer.failure(error, description: description)
        case .code(let code):
            let token = try await self.redeem(code, of: attempt, metadata)
            return try await self.person(token, attempt, metadata, callbackIssuer: answer.issuer)
        }
    }

    /// RFC 9207 §2.4; errors are checked as well, since they too may come from somebody else.
    private func check(issuer: String?, _ metadata: ProviderMetadata) throws(Failure) {
        guard let issuer else {
            guard !metadata.requiresCallbackIssuer else {
                throw Failure(.malformedRequest, "openid.issuer_missing", "the provider says that it sends iss")
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

    private func redeem(
        _ code: String,
        of attempt: Attempt,
        _ metadata: ProviderMetadata
    ) async throws(Failure) -> TokenResponse {
        var form = Form()
        form.append("grant_type", "authorization_code")
        form.append("code", code)
        form.append("redirect_uri", self.redirectURI)
        form.append("code_verifier", attempt.verifier)
        var authorization: String?
        if metadata.clientAuthentication == .secretPost {
            form.append("client_id", self.clientID)
            self.clientSecret.withText { form.append("client_secret", $0) }
        } else {
            authorization = self.basicAuthorization
        }
        return try await self.call.token(at: metadata.token, form: form, authorization: authorization)
    }

    /// Id and secret are form-encoded before they are joined, so that a colon in them does no harm.
    ///
    /// RFC 6749 §2.3.1.
    private var basicAuthorization: String {
        let secret = self.clientSecret.withText { PercentEncoding.encode($0) }
        let pair = "\(PercentEncoding.encode(self.clientID)):\(secret)"
        return "Basic \(Data(pair.utf8).base64EncodedString())"
    }

    private func person(
        _ token: TokenResponse,
        _ attempt: Attempt,
        _ metadata: ProviderMetadata,
        callbackIssuer: String?
    ) async throws(Failure) -> SignIn {
        guard let keys = self.keys else {
            let profile = try self.definition.profile(from: ProviderPayloads(api: try await self.answers(token)))
            return SignIn(profile: profile, idToken: nil, providerSession: nil, endSessionEndpoint: nil)
        }
        let idToken = try await self.verified(token, keys, attempt, metadata)
        guard callbackIssuer.map({ isIdentical($0, idToken.issuer) }) ?? true else {
            throw Failure(.providerFailed, "openid.issuer_mismatch", "callback and ID token name different issuers")
        }
        var payloads = ProviderPayloads(idToken: idToken.claims)
        payloads.userinfo = try await self.userinfo(token, of: idToken, metadata)
        return SignIn(
            profile: try self.definition.profile(from: payloads),
            idToken: idToken.text,
            providerSession: idToken.session,
            endSessionEndpoint: metadata.endSession
        )
    }

    private func verified(
        _ token: TokenResponse,
        _ keys: KeyCache,
        _ attempt: Attempt,
        _ metadata: ProviderMetadata
    ) async throws(Failure) -> IDToken {
        guard let text = token.idToken else {
            throw Failure(.providerFailed, "openid.id_token_missing", "the token endpoint gave no ID token")
        }
        let expected = IDToken.Expectation(
            definition: self.definition,
            discoveredIssuer: metadata.issuer,
            clientID: self.clientID,
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
        of idToken: IDToken,
        _ metadata: ProviderMetadata
    ) async throws(Failure) -> JSON? {
        guard self.definition.readsUserinfo, let endpoint = metadata.userinfo else { return nil }
        let userinfo = try await self.call.userinfo(at: endpoint, accessToken: token.accessToken)
        guard let subject = userinfo["sub"]?.string, isIdentical(subject, idToken.subject) else {
            throw Failure(.providerFailed, "openid.userinfo_subject", "userinfo is about somebody else")
        }
        return userinfo
    }

    private func answers(_ token: TokenResponse) async throws(Failure) -> [String: JSON] {
        var answers: [String: JSON] = [:]
        for call in self.definition.apiCalls {
            answers[call.path] = try await self.call.answer(
                to: call,
                fields: self.definition.apiHeaders,
                accessToken: token.accessToken
            )
        }
        return answers
    }
}
