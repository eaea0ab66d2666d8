// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviders

/// A userinfo response that is a signed token, verified as an ID token is.
///
/// It must be of the provider, for us and about the same subject; what only ties an ID token to its attempt, such as
/// nonce and age, it does not have. OpenID Connect Core §5.3.2.
enum SignedUserinfo {
    /// Verifies a response.
    ///
    /// - Parameters:
    ///   - text: The body of the response.
    ///   - keys: What the provider's tokens are verified with.
    ///   - expected: What the ID token of the same sign-in had to agree with.
    /// - Returns: The claims.
    /// - Throws: `openid.userinfo_token`, or why there are no keys.
    static func claims(
        in text: String,
        by keys: TokenKeys,
        expecting expected: IDToken.Expectation
    ) async throws(Failure) -> JSON {
        do throws(Failure) {
            let token = try self.parsed(text, expected.definition)
            try await keys.verify(token, of: expected.definition.issuer)
            for rule in self.rules(for: token, expected) {
                if let rejection = rule.rejection(of: token, at: expected.now) { throw rejection.failure }
            }
            return token.claims
        } catch {
            guard error.reason.entry.section == .idToken || error.reason == .providerTenant else { throw error }
            let detail = "userinfo is signed and not valid: \(error.code): \(error.detail)"
            throw Failure(.openIDUserinfoToken, detail)
        }
    }

    private static func parsed(_ text: String, _ definition: ProviderDefinition) throws(Failure) -> UnverifiedIDToken {
        switch UnverifiedIDToken.parsed(text, AlgorithmRule(definition)) {
        case .success(let token): return token
        case .failure(let rejection): throw rejection.failure
        }
    }

    private static func rules(
        for token: UnverifiedIDToken,
        _ expected: IDToken.Expectation
    ) -> [any IDTokenRule] {
        let definition = expected.definition
        var rules: [any IDTokenRule] = [
            IssuerClaimRule(issuer: definition.issuer, discovered: expected.discoveredIssuer),
            AudienceRule(clientID: expected.clientID, trusted: definition.trustedAudiences),
            NotBeforeRule(leeway: definition.clockLeeway),
            SubjectRule(),
        ]
        if token.claims["exp"] != nil { rules.append(ExpiryRule(leeway: definition.clockLeeway)) }
        return rules
    }
}
