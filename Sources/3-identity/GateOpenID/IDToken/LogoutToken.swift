// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import GateProviders

/// A verified logout token; only ``verified(_:by:expecting:)`` creates one.
///
/// OpenID Connect Back-Channel Logout §2.4.
package struct LogoutToken: Sendable {
    /// The issuer in its canonical spelling.
    package let issuer: String
    /// The `sub` claim; nil if the token names only a session.
    package let subject: String?
    /// The `sid` claim; nil if the token is about all sessions of the user.
    package let session: String?
    /// The `jti` claim.
    package let id: String
    /// From when on the same token is rejected as too old.
    package let expiry: Instant

    /// The member of `events` that makes a token a logout token.
    static let event = "http://schemas.openid.net/event/backchannel-logout"

    /// What a token must agree with.
    struct Expectation: Sendable {
        /// How the provider behaves.
        let definition: ProviderDefinition
        /// The issuer in the provider's metadata.
        let discoveredIssuer: String
        /// The client id of the gateway at the provider.
        let clientID: String
        /// The time.
        let now: Instant
    }

    /// Verifies a token: first every rule, then the signature.
    ///
    /// In this order, because anonymous clients can send tokens and a signature can cause a fetch of keys.
    ///
    /// - Parameters:
    ///   - text: The token as received.
    ///   - keys: Where to find the provider's keys; asked only for a token that breaks no rule.
    ///   - expected: What the token must agree with.
    /// - Returns: The verified token.
    /// - Throws: `id_token.…`, or why there are no keys.
    static func verified(
        _ text: String,
        by keys: TokenKeys,
        expecting expected: Expectation
    ) async throws(Failure) -> LogoutToken {
        let definition = expected.definition
        switch UnverifiedIDToken.parsed(text, AlgorithmRule(definition), as: .logoutToken) {
        case .failure(let rejection): throw rejection.failure
        case .success(let token):
            for rule in LogoutToken.rules(expected, for: token) {
                if let rejection = rule.rejection(of: token, at: expected.now) { throw rejection.failure }
            }
            let checked = try LogoutToken(token, expected)
            try await keys.verify(token, of: definition.issuer)
            return checked
        }
    }

    /// The rules that ID tokens have as well.
    ///
    /// `exp` may be missing: the specification of 2022 did not have it, its first errata of 2023 do. Without it the
    /// token is valid for as long as `iat` permits.
    private static func rules(_ expected: Expectation, for token: UnverifiedIDToken) -> [any IDTokenRule] {
        let definition = expected.definition
        var rules: [any IDTokenRule] = [
            IssuerClaimRule(issuer: definition.issuer, discovered: expected.discoveredIssuer),
            AudienceRule(clientID: expected.clientID, trusted: definition.trustedAudiences),
            IssuedAtRule(leeway: definition.clockLeeway),
            NotBeforeRule(leeway: definition.clockLeeway),
        ]
        if token.claims["exp"] != nil { rules.append(ExpiryRule(leeway: definition.clockLeeway)) }
        return rules
    }

    /// The rules that only logout tokens have.
    private init(_ token: UnverifiedIDToken, _ expected: Expectation) throws(Failure) {
        let claims = token.claims
        let source: StaticString = "OpenID Connect Back-Channel Logout §2.6"
        func reject(_ reason: Failure.Reason, _ detail: String) -> Failure {
            TokenRejection(reason, source, detail: detail).failure
        }
        guard claims["events"]?[LogoutToken.event]?.object != nil else {
            throw reject(.idTokenType, "events has no object \(ReceivedText.quoted(LogoutToken.event))")
        }
        guard claims["nonce"] == nil else { throw reject(.idTokenNonce, "nonce is present, as in an ID token") }
        guard let id = claims["jti"]?.identifier else {
            throw reject(.idTokenMalformed, "jti is \(ReceivedText.shown(claims["jti"])), expected 1 to 255 bytes")
        }
        let (subject, session) = (claims["sub"]?.identifier, claims["sid"]?.identifier)
        guard (claims["sub"] == nil) == (subject == nil), (claims["sid"] == nil) == (session == nil),
            subject != nil || session != nil
        else {
            let received = claims["sub"] == nil && claims["sid"] == nil ? "neither is there" : "one is something else"
            throw reject(.idTokenSubject, "expected sub, sid or both, of 1 to 255 bytes each; \(received)")
        }
        let verdict = expected.definition.issuer.verdict(on: claims, discovered: expected.discoveredIssuer)
        guard case .accepted(let issuer) = verdict, let issued = claims["iat"]?.numericDate else {
            throw reject(.idTokenIssuer, "iss or iat is not usable")
        }
        self.issuer = issuer
        self.subject = subject
        self.session = session
        self.id = id
        // A second more than the rule on iat permits.
        self.expiry = issued.advanced(by: IssuedAtRule.maxAge + expected.definition.clockLeeway + .seconds(1))
    }
}

extension JSON {
    /// A text of 1 to 255 bytes, as ids of users, sessions and tokens are; nil for all else.
    var identifier: String? { self.string.flatMap { (1...255).contains($0.utf8.count) ? $0 : nil } }
}
