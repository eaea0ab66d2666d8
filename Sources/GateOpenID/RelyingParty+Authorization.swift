// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import GateProviders

extension RelyingParty {
    /// Begins an attempt and says where to send the browser.
    ///
    /// - Parameters:
    ///   - returnPath: Where the person wanted to go; over 1280 bytes it becomes the front page.
    ///   - handover: What the caller wants back at the end, at most 256 bytes.
    ///   - offersOtherAccounts: Whether the provider is asked, if it can, to let the user choose another account.
    /// - Returns: The address for the redirect, and the attempt to seal into the browser's cookie.
    /// - Throws: `provider.unavailable` and the like if the provider's metadata cannot be had or it does not take the
    ///   request that is pushed.
    package func authorization(
        returnPath: ReturnPath,
        handover: String?,
        offersOtherAccounts: Bool = false
    ) async throws(Failure) -> (location: String, attempt: Attempt) {
        guard (handover ?? "").utf8.count <= Attempt.maxSessionTransferLength else {
            throw Failure(.openIDSessionTransferTooLong, "a hand-over may have 256 bytes")
        }
        let metadata = try await self.metadata()
        let attempt = Attempt(
            provider: self.definition.id,
            returnPath: returnPath,
            handover: handover,
            now: self.clock.now,
            random: self.random
        )
        var form = self.authorizationForm(for: attempt, offersOtherAccounts: offersOtherAccounts)
        if let endpoint = metadata.pushedAuthorization {
            guard self.pushes.acquire() else {
                let detail = "as many authorization requests as half of max_connections are being sent ahead already"
                throw Failure(.providerBusy, detail)
            }
            defer { self.pushes.release() }
            form = try await self.push(form, to: endpoint, metadata)
        }
        let endpoint = metadata.authorization
        let own = endpoint.query.map { Form(encoded: $0) ?? form } ?? Form()
        guard form.fields.allSatisfy({ own.single($0.name) == .absent }) else {
            throw Failure(
                .openIDMetadata,
                "authorization_endpoint has a query with parameters of the request itself"
            )
        }
        let query = endpoint.query.map { $0.isEmpty ? form.encoded : "\($0)&\(form.encoded)" } ?? form.encoded
        return ("\(WebURL(origin: endpoint.origin, path: endpoint.path, query: query))", attempt)
    }

    /// The parameters of RFC 6749 §4.1.1, RFC 7636 §4.3 and OpenID Connect Core §3.1.2.1.
    ///
    /// What the file adds replaces none of them.
    private func authorizationForm(for attempt: Attempt, offersOtherAccounts: Bool) -> Form {
        var form = Form()
        form.append("response_type", "code")
        form.append("client_id", self.client.clientID)
        form.append("redirect_uri", self.redirectURI)
        if !self.definition.scopes.isEmpty {
            form.append("scope", self.definition.scopes.joined(separator: " "))
        }
        form.append("state", attempt.state)
        if case .openID = self.definition.signIn { form.append("nonce", attempt.nonce) }
        if self.definition.pkce != .off {
            form.append("code_challenge", attempt.challenge)
            form.append("code_challenge_method", "S256")
        }
        if self.definition.responseMode == .formPost { form.append("response_mode", "form_post") }
        if offersOtherAccounts, let field = self.definition.accountChoice { form.append(field.name, field.value) }
        for field in self.definition.authorizationParameters where form.single(field.name) == .absent {
            form.append(field.name, field.value)
        }
        return form
    }

    /// Sends the parameters ahead and gives those that are left for the browser: who we are and what to look up.
    ///
    /// RFC 9126 §2.1, §4.
    private func push(
        _ form: Form,
        to endpoint: WebURL,
        _ metadata: ProviderMetadata
    ) async throws(Failure) -> Form {
        var pushed = Form(form.fields.filter { $0.name != "client_id" && $0.name != "request_uri" })
        // RFC 9126 §2 lets the issuer be the audience here; it was compared with the file, an endpoint was not.
        let proof = self.proof(metadata, audience: metadata.issuer)
        let authorization = try self.client.authenticate(&pushed, by: proof)
        if pushed["client_id"] == nil { pushed.append("client_id", self.client.clientID) }
        let response = try await self.call.post(pushed, to: endpoint, authorization: authorization)
        let answer = try PushedAuthorization(response, advice: self.advice(metadata, sent: pushed, authorization))
        var rest = Form()
        rest.append("client_id", self.client.clientID)
        rest.append("request_uri", answer.requestURI)
        return rest
    }

    /// The proof of who we are, for one audience.
    func proof(_ metadata: ProviderMetadata, audience: String) -> ClientProof {
        switch metadata.clientAuthentication {
        case .secretPost: .post
        case .secretBasic, .advertised: .basic
        case .privateKeyJWT: .assertion(audience: audience, algorithm: metadata.assertionAlgorithm)
        case .signedSecret: .signedSecret(audience: metadata.issuer)
        }
    }

    /// What an operator should look at when the provider does not believe who we are.
    ///
    /// What was sent with the request and is secret is left out, should the provider repeat it.
    func advice(_ metadata: ProviderMetadata, sent form: Form, _ authorization: String?) -> ClientAdvice {
        let names: Set = ["code", "code_verifier", "client_secret", "client_assertion"]
        let credentials = authorization.map { String($0.drop { $0 != " " }.dropFirst()) }
        let sent = form.fields.filter { names.contains($0.name) }.map(\.value) + [credentials].compactMap(\.self)
        return ClientAdvice(
            method: metadata.clientAuthentication,
            redirectURI: self.redirectURI,
            secrets: sent + [self.client.secret.withText { $0 }]
        )
    }
}
