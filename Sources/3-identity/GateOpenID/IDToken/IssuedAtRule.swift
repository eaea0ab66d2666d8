// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// The token must have been issued in the last ten minutes, not in the future.
///
/// The token was just fetched, so an older one is a replay. OpenID Connect Core §3.1.3.7, rule 10.
struct IssuedAtRule: IDTokenRule {
    static let maxAge = Duration.seconds(600)

    let leeway: Duration

    func rejection(of token: UnverifiedIDToken, at now: Instant) -> TokenRejection? {
        guard let issued = token.claims["iat"]?.numericDate, issued <= now.advanced(by: self.leeway),
            now <= issued.advanced(by: IssuedAtRule.maxAge + self.leeway)
        else {
            let earliest = (IssuedAtRule.maxAge + self.leeway).wholeSeconds
            let expected = "expected at most \(earliest) s before and \(self.leeway.wholeSeconds) s after"
            let detail = "iat is \(ReceivedText.time(token.claims["iat"], at: now)), \(expected); compare the clocks"
            return TokenRejection(.idTokenIssuedAt, "OpenID Connect Core §3.1.3.7, rule 10", detail: detail)
        }
        return nil
    }
}
