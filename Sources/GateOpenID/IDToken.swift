// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviders

/// An ID token that was verified; there is no other way to make one than ``verified(_:by:expecting:)``.
struct IDToken: Sendable {
    /// The text, for the hint that ends the session at the provider.
    let text: String
    /// The claims.
    let claims: JSON
    /// The issuer in its canonical spelling.
    let issuer: String
    /// The `sub` claim.
    let subject: String

    /// The provider's name for its session, the `sid` claim: at most 255 visible characters.
    var session: String? {
        guard let id = self.claims["sid"]?.string, (1...255).contains(id.utf8.count) else { return nil }
        return id.utf8.allSatisfy { (0x21...0x7E).contains($0) } ? id : nil
    }

    /// How long it lives from when it was made; the rules have compared both times.
    var lifetime: Duration? {
        guard let start = self.claims["iat"]?.numericDate, let end = self.claims["exp"]?.numericDate else { return nil }
        return end.since(start)
    }

    private init(_ token: UnverifiedIDToken, issuer: String, subject: String) {
        self.text = token.text
        self.claims = token.claims
        self.issuer = issuer
        self.subject = subject
    }

    /// What a token must agree with.
    struct Expectation: Sendable {
        /// How the provider behaves.
        let definition: ProviderDefinition
        /// The issuer in the provider's metadata.
        let discoveredIssuer: String
        /// Our id at the provider.
        let clientID: String
        /// The nonce of the attempt.
        let nonce: String
        /// The access token that came with it.
        let accessToken: String
        /// The time.
        let now: Instant
    }

    /// Verifies a token: first the signature, then every rule.
    ///
    /// OpenID Connect Core §3.1.3.7.
    ///
    /// - Parameters:
    ///   - text: The token as the token endpoint gave it.
    ///   - keys: Where to find the provider's keys; asked only for tokens that name an algorithm it may use.
    ///   - expected: What the token must agree with.
    /// - Returns: The verified token.
    /// - Throws: `id_token.…`, or why there are no keys.
    static func verified(
        _ text: String,
        by keys: KeyCache,
        expecting expected: Expectation
    ) async throws(Failure) -> IDToken {
        let allowed = expected.definition.signatureAlgorithms
        let token: UnverifiedIDToken
        switch UnverifiedIDToken.parsed(text, allowed: allowed) {
        case .success(let parsed): token = parsed
        case .failure(let refused): throw refused.refusal.failure
        }
        let keys = try await IDToken.keys(for: token, in: keys)
        guard !keys.isEmpty else { throw Refusal("id_token.key_unknown", "OpenID Connect Core §10.1").failure }
        let issuer = token.claims["iss"]?.string ?? ""
        let candidates = keys.filter { expected.definition.issuer.admits(keyIssuer: $0.key.issuer, for: issuer) }
        guard !candidates.isEmpty else {
            throw Refusal("id_token.key_issuer", "Microsoft identity platform, signing key rollover").failure
        }
        guard candidates.contains(where: \.hasSigned) else {
            throw Refusal("id_token.signature", "RFC 7515 §5.2").failure
        }
        return try IDToken.checked(token, expected)
    }

    /// A key that may have signed a token, and whether it has: checked once, since that is most of what a token costs.
    private typealias Candidate = (key: JSONWebKey, hasSigned: Bool)

    /// The keys that may have signed a token; those of a newer key set if none of them has, since nothing else tells that
    /// a provider without names has changed its key, or one that gave an old name to a new key.
    private static func keys(
        for token: UnverifiedIDToken,
        in cache: KeyCache
    ) async throws(Failure) -> [Candidate] {
        let keys = try await cache.candidates(id: token.keyID, algorithm: token.algorithm)
        let candidates = keys.map { Candidate(key: $0, hasSigned: token.isSigned(by: $0)) }
        guard !candidates.contains(where: \.hasSigned) else { return candidates }
        let newer = await cache.newerCandidates(id: token.keyID, algorithm: token.algorithm)
        return newer?.map { Candidate(key: $0, hasSigned: token.isSigned(by: $0)) } ?? candidates
    }

    private static func checked(_ token: UnverifiedIDToken, _ expected: Expectation) throws(Failure) -> IDToken {
        for rule in IDToken.rules(expected) {
            if let refusal = rule.refusal(of: token, at: expected.now) { throw refusal.failure }
        }
        let verdict = expected.definition.issuer.verdict(on: token.claims, discovered: expected.discoveredIssuer)
        guard case .accepted(let issuer) = verdict, let subject = token.claims["sub"]?.string else {
            throw Refusal("id_token.issuer", "OpenID Connect Core §3.1.3.7, rule 2").failure
        }
        return IDToken(token, issuer: issuer, subject: subject)
    }

    private static func rules(_ expected: Expectation) -> [any IDTokenRule] {
        let leeway = expected.definition.clockLeeway
        return [
            IssuerClaimRule(issuer: expected.definition.issuer, discovered: expected.discoveredIssuer),
            AudienceRule(clientID: expected.clientID),
            ExpiryRule(leeway: leeway),
            IssuedAtRule(leeway: leeway),
            LifetimeRule(),
            NotBeforeRule(leeway: leeway),
            NonceRule(nonce: expected.nonce, rule: expected.definition.nonce),
            SubjectRule(),
            AccessTokenHashRule(accessToken: expected.accessToken),
        ]
    }
}

extension UnverifiedIDToken {
    fileprivate func isSigned(by key: JSONWebKey) -> Bool {
        key.verifies(self.signature, over: self.signingInput, as: self.algorithm)
    }
}
