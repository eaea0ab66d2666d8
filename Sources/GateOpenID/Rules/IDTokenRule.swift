// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// One thing that the claims of an ID token have to satisfy.
protocol IDTokenRule: Sendable {
    /// Why the token is not believed, or nil if this rule has nothing against it.
    func rejection(of token: UnverifiedIDToken, at now: Instant) -> TokenRejection?
}
