// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// The token must not have expired.
///
/// OpenID Connect Core §3.1.3.7, rule 9.
struct ExpiryRule: IDTokenRule {
    let leeway: Duration

    func rejection(of token: UnverifiedIDToken, at now: Instant) -> TokenRejection? {
        self.rejection(of: token.claims, at: now)
    }

    /// The same of the claims alone.
    func rejection(of claims: JSON, at now: Instant) -> TokenRejection? {
        guard let expiry = claims["exp"]?.numericDate, now < expiry.advanced(by: self.leeway) else {
            let expected = "expected less than \(self.leeway.wholeSeconds) s before"
            let detail = "exp is \(ReceivedText.time(claims["exp"], at: now)), \(expected)"
            return TokenRejection(.idTokenExpired, "OpenID Connect Core §3.1.3.7, rule 9", detail: detail)
        }
        return nil
    }
}
