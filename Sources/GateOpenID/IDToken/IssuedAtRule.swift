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
            let earliest = now.advanced(by: .zero - IssuedAtRule.maxAge - self.leeway).seconds
            let expected = "expected \(earliest) to \(now.advanced(by: self.leeway).seconds)"
            let detail = "iat is \(ReceivedText.shown(token.claims["iat"])), \(expected)"
            return TokenRejection(.idTokenIssuedAt, "OpenID Connect Core §3.1.3.7, rule 10", detail: detail)
        }
        return nil
    }
}
