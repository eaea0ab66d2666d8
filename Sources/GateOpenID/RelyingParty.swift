// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateProviders

/// The gateway's side of the code flow with one provider.
///
/// RFC 6749 §4.1, OpenID Connect Core §3.1.
///
/// It keeps the provider's metadata and keys and nothing about people: an attempt lives in its browser's cookie.
/// Every endpoint is taken from this provider's own definition or metadata, so no answer of another provider can lead
/// a code or a token anywhere else. RFC 9700 §4.4.
package final class RelyingParty: Sendable {
    /// How the provider behaves.
    package let definition: ProviderDefinition
    /// The callback address as the provider knows it.
    package let redirectURI: String
    let clientID: String
    let clientSecret: Secret
    let clock: WallClock
    let random: RandomBytes
    let spent: SpentAttempts
    let call: ProviderCall
    let discovery: SharedDocument<ProviderMetadata>?
    let keys: KeyCache?

    /// The code flow with one provider.
    ///
    /// - Parameters:
    ///   - definition: How the provider behaves.
    ///   - settings: Our id and secret at the provider.
    ///   - redirectURI: The callback address, one per provider.
    ///   - transport: The way to the provider.
    ///   - clock: The time.
    ///   - random: What states, nonces and verifiers are made of.
    ///   - spent: The attempts that were used; shared with what a reload builds.
    ///   - report: Called with each failed fetch of metadata or keys, also one that no visitor notices.
    package init(
        definition: ProviderDefinition,
        settings: ProviderSettings,
        redirectURI: String,
        transport: any ProviderTransport,
        clock: WallClock,
        random: RandomBytes,
        spent: SpentAttempts = SpentAttempts(),
        report: @escaping @Sendable (Failure) -> Void = { _ in }
    ) {
        self.definition = definition
        self.redirectURI = redirectURI
        self.clientID = settings.clientID
        self.clientSecret = settings.clientSecret
        self.clock = clock
        self.random = random
        self.spent = spent
        let call = ProviderCall(provider: definition.id, transport: transport)
        self.call = call
        self.discovery = RelyingParty.discovery(definition, call, clock, report)
        self.keys = self.discovery.map { discovery in
            KeyCache(RelyingParty.keySet(definition, discovery, call, clock, report), clock: clock)
        }
    }

    /// Begins an attempt and says where to send the browser.
    ///
    /// - Parameters:
    ///   - returnPath: Where the person wanted to go; over 1280 bytes it becomes the front page.
    ///   - handover: What the caller wants back at the end, at most 256 bytes.
    /// - Returns: The address for the redirect, and the attempt to seal into the browser's cookie.
    /// - Throws: `provider.unavailable` and the like if the provider's metadata cannot be had.
    package func authorization(
        returnPath: ReturnPath,
        handover: String?
    ) async throws(Failure) -> (location: String, attempt: Attempt) {
        guard (handover ?? "").utf8.count <= Attempt.maximumHandover else {
            throw Failure(.malformedRequest, "openid.handover_too_long", "a hand-over may have 256 bytes")
        }
        let metadata = try await self.metadata()
        let attempt = Attempt(
            provider: self.definition.id,
            returnPath: returnPath,
            handover: handover,
            now: self.clock.now,
            random: self.random
        )
        let query = self.authorizationForm(for: attempt).encoded
        let endpoint = metadata.authorization
        let whole = endpoint.query.map { $0.isEmpty ? query : "\($0)&\(query)" } ?? query
        return ("\(WebAddress(origin: endpoint.origin, path: endpoint.path, query: whole))", attempt)
    }

    /// Fetches metadata and keys unless fresh ones are there, for a check before anybody signs in.
    package func prepare() async throws(Failure) {
        _ = try await self.metadata()
        try await self.keys?.prepare()
    }

    /// The provider's endpoints.
    func metadata() async throws(Failure) -> ProviderMetadata {
        switch (self.definition.signIn, self.discovery) {
        case (.oauth2(let endpoints), _): return ProviderMetadata(endpoints, of: self.definition)
        case (.openID, let discovery?): return try await discovery.current()
        case (.openID, nil): throw Failure(.internalFault, "openid.metadata", "no discovery for this provider")
        }
    }

    /// The parameters of RFC 6749 §4.1.1, RFC 7636 §4.3 and OpenID Connect Core §3.1.2.1.
    private func authorizationForm(for attempt: Attempt) -> Form {
        var form = Form()
        form.append("response_type", "code")
        form.append("client_id", self.clientID)
        form.append("redirect_uri", self.redirectURI)
        if !self.definition.scopes.isEmpty {
            form.append("scope", self.definition.scopes.joined(separator: " "))
        }
        form.append("state", attempt.state)
        if case .openID = self.definition.signIn { form.append("nonce", attempt.nonce) }
        form.append("code_challenge", attempt.challenge)
        form.append("code_challenge_method", "S256")
        for field in self.definition.authorizationParameters {
            form.append(field.name, field.value)
        }
        return form
    }
}

extension RelyingParty {
    private static func discovery(
        _ definition: ProviderDefinition,
        _ call: ProviderCall,
        _ clock: WallClock,
        _ report: @escaping @Sendable (Failure) -> Void
    ) -> SharedDocument<ProviderMetadata>? {
        guard case .openID(let address) = definition.signIn else { return nil }
        return SharedDocument(clock: clock, report: report) { (_) throws(Failure) in
            let answer = try await call.document(at: address, limit: 262_144)
            return (try ProviderMetadata(answer.json, of: definition), answer.lifetime)
        }
    }

    private static func keySet(
        _ definition: ProviderDefinition,
        _ discovery: SharedDocument<ProviderMetadata>,
        _ call: ProviderCall,
        _ clock: WallClock,
        _ report: @escaping @Sendable (Failure) -> Void
    ) -> SharedDocument<KeySet> {
        SharedDocument(clock: clock, report: report) { (earlier) throws(Failure) in
            guard let address = try await discovery.current().keys else {
                throw Failure(.providerFailed, "openid.metadata", "discovery has no jwks_uri")
            }
            let answer = try await call.document(at: address, limit: 524_288)
            let now = clock.now
            let keys = try KeySet(answer.json, at: now)
                .merged(with: earlier, retention: definition.keyRetention, at: now)
            return (keys, answer.lifetime)
        }
    }
}
