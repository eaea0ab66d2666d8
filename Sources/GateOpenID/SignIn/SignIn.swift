// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateProviders

/// The result of a sign-in with a provider.
package struct SignIn: Sendable {
    /// Who it is.
    package var profile: Profile { self.mapped.profile }
    /// Who it is, and where each field came from.
    package let mapped: MappedProfile
    /// The ID token's text, for the `id_token_hint` that ends the session at the provider.
    package let idToken: String?
    /// The `sub` of the ID token, where the profile has another subject.
    package let subjectClaim: String?
    /// The `sid` of the ID token, by which the provider ends the session.
    ///
    /// OpenID Connect Back-Channel Logout §2.4.
    package let providerSession: String?
    /// Where the session at the provider is ended, if it can be.
    ///
    /// OpenID Connect RP-Initiated Logout §2.1.
    package let endSessionEndpoint: WebURL?
    /// The granted scopes; nil if the provider does not report them, which means the requested ones.
    ///
    /// RFC 6749 §5.1.
    package let grantedScopes: [String]?
    /// What the provider granted, for later re-checks.
    package let grant: ProviderGrant
    /// How long the access token lives, if the provider reports it.
    package let accessTokenLifetime: Duration?
    /// How long the ID token lives from when it was made; nil without one.
    package let idTokenLifetime: Duration?
    /// What an operator should know of this sign-in, each a sentence without secrets: which groups could not be read, for
    /// example, and what to grant.
    package let notes: [String]
}
