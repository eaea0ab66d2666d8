// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviders

/// The token must not live longer than the configuration allows, and not end before it begins.
///
/// OpenID Connect Core §2: the validity of `exp` is ours to bound; an ID token is for one sign-in. Sessions do not depend
/// on it.
struct LifetimeRule: IDTokenRule {
    var maxLifetime = ProviderDefinition.standardLifetime

    func rejection(of token: UnverifiedIDToken, at now: Instant) -> TokenRejection? {
        let (iat, exp) = (token.claims["iat"], token.claims["exp"])
        guard let issued = iat?.numericDate, let expiry = exp?.numericDate,
            issued <= expiry, expiry <= issued.advanced(by: self.maxLifetime)
        else {
            let received = "iat is \(ReceivedText.shown(iat)) and exp \(ReceivedText.shown(exp))"
            let seconds = self.maxLifetime.wholeSeconds
            let detail = "\(received), expected at most \(seconds) s between them; see id_token_lifetime"
            return TokenRejection(.idTokenLifetime, "OpenID Connect Core §2", detail: detail)
        }
        return nil
    }
}
