// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// The token must be for this very attempt.
///
/// OpenID Connect Core §3.1.3.7, rule 11.
struct NonceRule: IDTokenRule {
    let nonce: String

    func refusal(of token: UnverifiedIDToken, at now: Instant) -> Refusal? {
        guard let nonce = token.claims["nonce"]?.string, constantTimeEquals(nonce.utf8, self.nonce.utf8) else {
            return Refusal("id_token.nonce", "OpenID Connect Core §3.1.3.7, rule 11")
        }
        return nil
    }
}
