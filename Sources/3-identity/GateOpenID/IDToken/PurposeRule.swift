// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// The token must not be a logout token.
///
/// The type in the header is optional in both, so the claims decide. OpenID Connect Back-Channel Logout §4.1.
struct PurposeRule: IDTokenRule {
    func rejection(of token: UnverifiedIDToken, at now: Instant) -> TokenRejection? {
        guard token.claims["events"]?[LogoutToken.event] == nil else {
            let source: StaticString = "OpenID Connect Back-Channel Logout §4.1"
            return TokenRejection(.idTokenType, source, detail: "events has a logout, so it is a logout token")
        }
        return nil
    }
}
