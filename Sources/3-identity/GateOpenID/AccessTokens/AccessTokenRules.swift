// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviders

/// What must hold for the claims of a token that a machine brings, whether they were signed or come from introspection.
///
/// RFC 9068 §4, RFC 7662 §2.2: a token of the same issuer for another API must not be accepted here, so the audience
/// counts, and so does each claim that the configuration requires.
struct AccessTokenRules: Sendable {
    let settings: IssuerSettings
    let definition: ProviderDefinition

    /// Checks claims.
    ///
    /// - Parameters:
    ///   - claims: The claims.
    ///   - isSigned: Whether they are those of a JWT, which needs `iss`, `aud` and `exp`. RFC 7662 §2.2 has all three
    ///     optional.
    ///   - now: The time.
    /// - Returns: Why they are rejected; nil if they break no rule.
    func rejection(of claims: JSON, isSigned: Bool, at now: Instant) -> TokenRejection? {
        let leeway = self.definition.clockLeeway
        if isSigned || claims["iss"] != nil, let rejection = self.issuer(of: claims) { return rejection }
        if let rejection = self.audience(of: claims) { return rejection }
        guard claims["cnf"] == nil else {
            let detail = "it is bound to a key (cnf), which the gateway cannot have proved"
            return TokenRejection(.idTokenType, "RFC 7800 §3.1", detail: detail)
        }
        if isSigned || claims["exp"] != nil, let rejection = ExpiryRule(leeway: leeway).rejection(of: claims, at: now) {
            return rejection
        }
        return NotBeforeRule(leeway: leeway).rejection(of: claims, at: now)
            ?? self.issue(of: claims, leeway, at: now) ?? self.required(in: claims)
    }

    private func issuer(of claims: JSON) -> TokenRejection? {
        let expected = self.definition.issuer.canonical(for: nil)
        guard claims["iss"]?.string.map({ isIdentical($0, expected) }) != true else { return nil }
        let detail = "iss is \(ReceivedText.shown(claims["iss"])), expected \(ReceivedText.quoted(expected))"
        return TokenRejection(.idTokenIssuer, "RFC 9068 §4", detail: detail)
    }

    private func audience(of claims: JSON) -> TokenRejection? {
        guard !self.settings.audiences.isEmpty else { return nil }
        let claim = claims["aud"]
        let names = (claim?.array ?? (claim.map { [$0] } ?? [])).prefix(AccessTokenRules.maxAudiences)
        let isOurs = names.contains { name in
            name.string.map { text in self.settings.audiences.contains { isIdentical($0, text) } } ?? false
        }
        guard !isOurs else { return nil }
        let expected = ReceivedText.list(self.settings.audiences)
        let detail = "aud is \(ReceivedText.shown(claim)), expected one of \(expected)"
        return TokenRejection(.idTokenAudience, "RFC 9068 §4", detail: detail)
    }

    /// How many audiences of a token are compared.
    private static let maxAudiences = 64

    private func issue(of claims: JSON, _ leeway: Duration, at now: Instant) -> TokenRejection? {
        guard let claim = claims["iat"] else { return nil }
        if let issued = claim.numericDate, issued <= now.advanced(by: leeway) { return nil }
        let detail = "iat is \(ReceivedText.shown(claim)), expected at most \(now.advanced(by: leeway).seconds)"
        return TokenRejection(.idTokenIssuedAt, "RFC 7519 §4.1.6", detail: detail)
    }

    private func required(in claims: JSON) -> TokenRejection? {
        guard let claim = self.settings.required.first(where: { !$0.isMet(by: claims) }) else { return nil }
        let received = ReceivedText.shown(claims.value(at: claim.pointer))
        let detail = "\(claim.pointer) is \(received), expected one of \(ReceivedText.list(claim.values))"
        return TokenRejection(.idTokenAudience, "'require' of the issuer", detail: detail)
    }
}
