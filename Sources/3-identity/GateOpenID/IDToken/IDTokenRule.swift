// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// A requirement on the claims of an ID token.
protocol IDTokenRule: Sendable {
    /// Why the token is rejected, or nil if it passes this rule.
    func rejection(of token: UnverifiedIDToken, at now: Instant) -> TokenRejection?
}
