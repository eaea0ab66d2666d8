// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviders

extension IDToken.Expectation {
    /// Verifies a userinfo response that is a signed token, as the ID token of the same sign-in was.
    ///
    /// It must be of the provider, for us and about the same subject; what only ties an ID token to its attempt, such as
    /// nonce and age, it does not have. OpenID Connect Core §5.3.2.
    ///
    /// - Parameters:
    ///   - text: The body of the response.
    ///   - keys: What the provider's tokens are verified with.
    /// - Returns: The claims.
    /// - Throws: `openid.userinfo_token`, or why there are no keys.
    func claims(inUserinfo text: String, by keys: TokenKeys) async throws(Failure) -> JSON {
        do throws(Failure) {
            let token = try Self.parsed(text, self.definition)
            try await keys.verify(token, of: self.definition.issuer)
            for rule in self.userinfoRules(for: token) {
                if let rejection = rule.rejection(of: token, at: self.now) { throw rejection.failure }
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

    private func userinfoRules(for token: UnverifiedIDToken) -> [any IDTokenRule] {
        let definition = self.definition
        var rules: [any IDTokenRule] = [
            PurposeRule(),
            IssuerClaimRule(issuer: definition.issuer, discovered: self.discoveredIssuer),
            AudienceRule(clientID: self.clientID, trusted: definition.trustedAudiences),
            NotBeforeRule(leeway: definition.clockLeeway),
            SubjectRule(),
        ]
        if token.claims["exp"] != nil { rules.append(ExpiryRule(leeway: definition.clockLeeway)) }
        return rules
    }
}
