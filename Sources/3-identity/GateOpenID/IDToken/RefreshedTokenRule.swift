// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// A token that came with a refresh must be about the user of the sign-in, and repeat its nonce or leave it out.
///
/// OpenID Connect Core §12.2.
struct RefreshedTokenRule: IDTokenRule {
    /// The claims of the token that the sign-in returned.
    let earlier: JSON

    func rejection(of token: UnverifiedIDToken, at now: Instant) -> TokenRejection? {
        guard let subject = token.claims["sub"]?.string, let known = self.earlier["sub"]?.string,
            isIdentical(subject, known)
        else {
            let detail = "sub is not that of the sign-in"
            return TokenRejection(.idTokenSubject, "OpenID Connect Core §12.2", detail: detail)
        }
        guard let nonce = token.claims["nonce"] else { return nil }
        guard let text = nonce.string, let known = self.earlier["nonce"]?.string,
            constantTimeEquals(text.utf8, known.utf8)
        else {
            let detail = "nonce is another one than that of the sign-in"
            return TokenRejection(.idTokenNonce, "OpenID Connect Core §12.2", detail: detail)
        }
        return nil
    }
}
