// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateProviders

/// A person who has just signed in with a provider.
package struct SignIn: Sendable {
    /// Who it is.
    package var profile: Profile { self.mapped.profile }
    /// Who it is, and where each field came from.
    package let mapped: MappedProfile
    /// The ID token's text, for the `id_token_hint` that ends the session at the provider.
    package let idToken: String?
    /// The provider's own name for its session, the `sid` claim.
    ///
    /// OpenID Connect Back-Channel Logout §2.1.
    package let providerSession: String?
    /// Where the session at the provider is ended, if it can be.
    ///
    /// OpenID Connect RP-Initiated Logout §2.1.
    package let endSessionEndpoint: WebURL?
    /// The scopes that the provider says it granted; nil if it does not say, which means those that were asked for.
    ///
    /// RFC 6749 §5.1.
    package let grantedScopes: [String]?
    /// How long the access token lives, if the provider says so.
    package let accessTokenLifetime: Duration?
    /// How long the ID token lives from when it was made; nil without one.
    package let idTokenLifetime: Duration?
    /// What an operator should know of this sign-in, each a sentence without secrets: which groups could not be read, for
    /// example, and what to grant.
    package let notes: [String]
}
