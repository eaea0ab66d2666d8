// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// The token must have a subject: a text of 1 to 255 bytes.
///
/// OpenID Connect Core §2.
struct SubjectRule: IDTokenRule {
    func rejection(of token: UnverifiedIDToken, at now: Instant) -> TokenRejection? {
        guard let subject = token.claims["sub"]?.string, (1...255).contains(subject.utf8.count) else {
            let received = token.claims["sub"]?.string.map { "a text of \($0.utf8.count) bytes" }
            let detail = "sub is \(received ?? ReceivedText.shown(token.claims["sub"])), expected 1 to 255 bytes"
            return TokenRejection(.idTokenSubject, "OpenID Connect Core §2", detail: detail)
        }
        return nil
    }
}
