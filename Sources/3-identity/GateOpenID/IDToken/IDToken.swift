// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviders

/// A verified ID token; only ``verified(_:by:expecting:)`` creates one.
struct IDToken: Sendable {
    /// The text, for the hint that ends the session at the provider.
    let text: String
    let claims: JSON
    /// The issuer in its canonical spelling.
    let issuer: String
    /// The `sub` claim.
    let subject: String

    /// The `sid` claim, which names the session at the provider; nil unless it is a text of 1 to 255 bytes.
    ///
    /// OpenID Connect Front-Channel Logout §3.
    var session: String? { self.claims["sid"]?.identifier }

    /// The time between its issue and its expiry, which the rules have checked.
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
        /// The client id of the gateway at the provider.
        let clientID: String
        /// The nonce of the attempt.
        let nonce: String
        /// The access token that came with it.
        let accessToken: String
        /// The time.
        let now: Instant
        /// The claims of the token that the sign-in returned; nil at the sign-in itself.
        var earlier: JSON?
    }

    /// The token of an earlier sign-in, from a sealed record: it was verified then.
    ///
    /// - Parameters:
    ///   - text: The token.
    ///   - definition: How the provider behaves.
    ///   - issuer: The issuer of the session, in its canonical spelling.
    /// - Returns: The token; nil if it cannot be read by the definition of today.
    static func kept(_ text: String, _ definition: ProviderDefinition, issuer: String) -> IDToken? {
        guard case .success(let token) = UnverifiedIDToken.parsed(text, AlgorithmRule(definition)),
            let subject = token.claims["sub"]?.string
        else { return nil }
        return IDToken(token, issuer: issuer, subject: subject)
    }

    /// Verifies a token: first the signature, then every rule.
    ///
    /// OpenID Connect Core §3.1.3.7.
    ///
    /// - Parameters:
    ///   - text: The token as the token endpoint returned it.
    ///   - keys: Where to find the provider's keys; asked only for tokens that name an algorithm it may use.
    ///   - expected: What the token must agree with.
    /// - Returns: The verified token.
    /// - Throws: `id_token.…`, or why there are no keys.
    static func verified(
        _ text: String,
        by keys: TokenKeys,
        expecting expected: Expectation
    ) async throws(Failure) -> IDToken {
        let token: UnverifiedIDToken
        switch UnverifiedIDToken.parsed(text, AlgorithmRule(expected.definition)) {
        case .success(let parsed): token = parsed
        case .failure(let rejection): throw rejection.failure
        }
        try await keys.verify(token, of: expected.definition.issuer)
        return try IDToken.checked(token, expected)
    }

    private static func checked(_ token: UnverifiedIDToken, _ expected: Expectation) throws(Failure) -> IDToken {
        for rule in IDToken.rules(expected) {
            if let rejection = rule.rejection(of: token, at: expected.now) { throw rejection.failure }
        }
        let verdict = expected.definition.issuer.verdict(on: token.claims, discovered: expected.discoveredIssuer)
        guard case .accepted(let issuer) = verdict, let subject = token.claims["sub"]?.string else {
            throw TokenRejection(.idTokenIssuer, "OpenID Connect Core §3.1.3.7, rule 2").failure
        }
        return IDToken(token, issuer: issuer, subject: subject)
    }

    private static func rules(_ expected: Expectation) -> [any IDTokenRule] {
        let leeway = expected.definition.clockLeeway
        return [
            PurposeRule(),
            IssuerClaimRule(issuer: expected.definition.issuer, discovered: expected.discoveredIssuer),
            AudienceRule(clientID: expected.clientID, trusted: expected.definition.trustedAudiences),
            ExpiryRule(leeway: leeway),
            IssuedAtRule(leeway: leeway),
            LifetimeRule(maxLifetime: expected.definition.idTokenLifetime),
            NotBeforeRule(leeway: leeway),
            expected.earlier.map { RefreshedTokenRule(earlier: $0) }
                ?? NonceRule(nonce: expected.nonce, rule: expected.definition.nonce),
            SubjectRule(),
            AccessTokenHashRule(accessToken: expected.accessToken),
        ]
    }
}
