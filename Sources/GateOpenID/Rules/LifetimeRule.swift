// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// The token must live for a day at most, and not end before it begins.
///
/// OpenID Connect Core §2: the validity of `exp` is ours to bound; an ID token is for one sign-in.
struct LifetimeRule: IDTokenRule {
    static let longest = Duration.seconds(86_400)

    func refusal(of token: UnverifiedIDToken, at now: Instant) -> Refusal? {
        guard let issued = token.claims["iat"]?.numericDate, let expiry = token.claims["exp"]?.numericDate,
            issued <= expiry, expiry <= issued.advanced(by: LifetimeRule.longest)
        else { return Refusal("id_token.lifetime", "OpenID Connect Core §2") }
        return nil
    }
}
