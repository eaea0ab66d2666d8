// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviders

/// The token must belong to this attempt.
///
/// OpenID Connect Core §3.1.3.7, rule 11. Where a provider is known to lose it now and then, it may be missing, unless
/// the token itself announces it: Apple's `nonce_supported` does.
struct NonceRule: IDTokenRule {
    let nonce: String
    var rule = ProviderDefinition.NonceRule.required

    func rejection(of token: UnverifiedIDToken, at now: Instant) -> TokenRejection? {
        if self.rule == .ifPresent, token.claims["nonce"] == nil, token.claims["nonce_supported"]?.bool != true {
            return nil
        }
        guard let nonce = token.claims["nonce"]?.string, constantTimeEquals(nonce.utf8, self.nonce.utf8) else {
            let received = token.claims["nonce"] == nil ? "absent" : "another one"
            let detail = "nonce is \(received), expected that of the attempt"
            return TokenRejection(.idTokenNonce, "OpenID Connect Core §3.1.3.7, rule 11", detail: detail)
        }
        return nil
    }
}
