// SPDX-License-Identifier: Apache-2.0

package import GateConfiguration
package import GateCore
package import GateSessions

/// The provider's token of a session, as an app gets it in `Authorization`.
package enum ProviderToken: Sendable {
    /// It may be sent until that time; nil if the provider does not report when it expires.
    case valid(Secret, until: Instant?)
    /// The session has none: its provider issued none, it is longer than is kept, or no app got it at the sign-in.
    case absent
    /// It has expired, and was not refreshed.
    case expired

    /// How long before its end a token counts as expired, so that it does not expire on the way to the app.
    package static let margin = Duration.seconds(1)

    /// The token of a session.
    ///
    /// An ID token without a time at which it expires is not sent; OpenID Connect Core §2 requires one.
    package init(_ kind: ProviderTokenKind, of session: Session, at now: Instant) {
        let found: (token: Secret?, expiry: Instant?)
        switch kind {
        case .accessToken: found = (session.grant?.accessToken, session.grant?.accessExpiry)
        case .idToken:
            let expiry = session.idToken.flatMap(ProviderToken.expiry(of:))
            found = (expiry == nil ? nil : session.idToken, expiry)
        }
        guard let token = found.token, ProviderToken.isFieldValue(token) else {
            self = .absent
            return
        }
        let end = found.expiry?.advanced(by: .zero - ProviderToken.margin)
        if let end, end <= now {
            self = .expired
        } else {
            self = .valid(token, until: end)
        }
    }

    /// The token as it is sent; nil if it is not.
    var text: String? {
        guard case .valid(let token, _) = self else { return nil }
        return token.withText { $0 }
    }

    /// When a JWT that was verified before expires; RFC 7519 §4.1.4.
    private static func expiry(of token: Secret) -> Instant? {
        token.withText { text in
            let parts = text.split(separator: ".", omittingEmptySubsequences: false)
            guard parts.count == 3, let payload = Base64URL.decode(parts[1].utf8) else { return nil }
            return (try? JSON(parsing: payload))?["exp"]?.numericDate
        }
    }

    /// Whether it has visible ASCII only, as tokens have that were accepted from a provider; RFC 6750 §2.1.
    private static func isFieldValue(_ token: Secret) -> Bool {
        token.withText { text in !text.isEmpty && text.utf8.allSatisfy { (0x21...0x7E).contains($0) } }
    }
}
