// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// A person who has just signed in with a provider.
package struct SignIn: Sendable {
    /// Who it is.
    package let profile: Profile
    /// The ID token's text, for the `id_token_hint` that ends the session at the provider.
    package let idToken: String?
    /// The provider's own name for its session, the `sid` claim.
    ///
    /// OpenID Connect Back-Channel Logout §2.1.
    package let providerSession: String?
    /// Where the session at the provider is ended, if it can be.
    ///
    /// OpenID Connect RP-Initiated Logout §2.1.
    package let endSessionEndpoint: WebAddress?
}
