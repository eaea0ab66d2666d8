// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// The token must have been issued in the last ten minutes, not in the future.
///
/// It was fetched this moment, so an older one was kept by somebody. OpenID Connect Core §3.1.3.7, rule 10.
struct IssuedAtRule: IDTokenRule {
    static let oldest = Duration.seconds(600)

    let leeway: Duration

    func rejection(of token: UnverifiedIDToken, at now: Instant) -> TokenRejection? {
        guard let issued = token.claims["iat"]?.numericDate, issued <= now.advanced(by: self.leeway),
            now <= issued.advanced(by: IssuedAtRule.oldest + self.leeway)
        else {
            let oldest = now.advanced(by: .zero - IssuedAtRule.oldest - self.leeway).seconds
            let expected = "expected \(oldest) to \(now.advanced(by: self.leeway).seconds)"
            let detail = "iat is \(ReceivedText.shown(token.claims["iat"])), \(expected)"
            return TokenRejection(.idTokenIssuedAt, "OpenID Connect Core §3.1.3.7, rule 10", detail: detail)
        }
        return nil
    }
}
