// SPDX-License-Identifier: Apache-2.0

/// What a provider granted at a sign-in, kept to ask it again whether the user may still sign in.
///
/// It is stored in the sealed session record only. It goes to the provider and, if its configuration asks for it, the access
/// token to an app.
package struct ProviderGrant: Sendable, Hashable {
    /// The access token, kept where there is no refresh token or where an app gets it; nil if it is over ``maxTokenBytes``.
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

    /// What a session keeps: beside a refresh token, the access token only if some app gets it.
    package func kept(withAccessToken isSent: Bool) -> ProviderGrant {
        guard !isSent, self.refreshToken != nil else { return self }
        var grant = self
        grant.accessToken = nil
        return grant
    }

    /// Whether the access token is there, and has not expired as far as is known.
    package func hasCurrentAccessToken(at now: Instant) -> Bool {
        self.accessToken != nil && self.accessExpiry.map { now < $0 } ?? true
    }

    /// Whether the provider can be asked without the user: there is a refresh token, or an access token that has not
    /// expired.
    package func isUsable(at now: Instant) -> Bool {
        self.refreshToken != nil || self.hasCurrentAccessToken(at: now)
    }
}
