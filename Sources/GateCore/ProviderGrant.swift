// SPDX-License-Identifier: Apache-2.0

/// What a provider granted at a sign-in, kept to ask it again whether the user may still sign in.
///
/// It is stored in the sealed session record only, and never leaves the gateway for anyone but the provider.
package struct ProviderGrant: Sendable, Hashable {
    /// The access token, kept only where there is no refresh token; nil if it is over ``maxTokenBytes``.
    package var accessToken: Secret?
    /// The refresh token; nil if the provider issued none.
    package var refreshToken: Secret?
    /// When the access token expires; nil if the provider does not report it.
    package var accessExpiry: Instant?
    /// The granted scopes, separated by spaces; nil if the provider does not report them.
    package var scopes: String?
    /// What the browser brought with the callback besides the protocol's own parameters, as JSON; at most
    /// ``maxExtrasBytes``.
    package var extras: String?

    /// The maximum length of a token that is kept.
    package static let maxTokenBytes = 8192
    /// The maximum length of the extras.
    package static let maxExtrasBytes = 4096

    /// A grant without tokens.
    package init() {}

    /// Whether the provider can be asked without the user: there is a refresh token, or an access token that has not
    /// expired.
    package func isUsable(at now: Instant) -> Bool {
        guard self.refreshToken == nil else { return true }
        return self.accessToken != nil && self.accessExpiry.map { now < $0 } ?? true
    }
}
