// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// The start of validity, if there is one, must have passed.
///
/// RFC 7519 §4.1.5.
struct NotBeforeRule: IDTokenRule {
    let leeway: Duration

    func rejection(of token: UnverifiedIDToken, at now: Instant) -> TokenRejection? {
        self.rejection(of: token.claims, at: now)
    }

    /// The same of the claims alone.
    func rejection(of claims: JSON, at now: Instant) -> TokenRejection? {
        guard let claim = claims["nbf"] else { return nil }
        guard let begin = claim.numericDate, begin <= now.advanced(by: self.leeway) else {
            let expected = "expected at most \(self.leeway.wholeSeconds) s after"
            let detail = "nbf is \(ReceivedText.time(claim, at: now)), \(expected)"
            return TokenRejection(.idTokenNotBefore, "RFC 7519 §4.1.5", detail: detail)
        }
        return nil
    }
}
