// SPDX-License-Identifier: Apache-2.0

/// The settings of a provider that only some types have, by their keys in the file.
package enum ProviderSetting: String, Sendable, CaseIterable {
    /// The issuer, exactly as the provider spells it.
    case issuer
    /// The address of an own server, a national cloud or a simulator.
    case baseURL = "base_url"
    /// The address of the API, if it is elsewhere.
    case apiURL = "api_url"
    /// Where the metadata is, if that is not below the issuer.
    case metadataURL = "metadata_url"
    /// Where codes are redeemed.
    case tokenEndpoint = "token_endpoint"
    /// Where the claims about a user are.
    case userinfoEndpoint = "userinfo_endpoint"
    case keysURL = "jwks_uri"
    /// Where the browser is sent to sign in; every type has it, and those without metadata need it.
    case authorizationEndpoint = "authorization_endpoint"
    /// The secret that the provider gave us; every type has it.
    case clientSecret = "client_secret"
    /// A key that proves who we are; every type has it, and some need it.
    case privateKey = "private_key"
    /// The file of a token that proves who we are; every type has it but those that need a key.
    case clientAssertionFile = "client_assertion_file"
    /// The name of that key at the provider.
    case keyID = "key_id"
    /// The certificate of that key.
    case certificate
    /// The team that the key belongs to.
    case teamID = "team_id"
    /// The Microsoft tenant.
    case tenant
    /// The Microsoft tenants that may sign in.
    case tenants
    /// Whether email addresses without a flag count as verified.
    case trustEmail = "trust_email"
    /// The Workspace domains that may sign in.
    case hostedDomains = "hosted_domains"
    /// The Slack workspaces that may sign in.
    case workspaces
    /// How the gateway is registered: as an OAuth App or a GitHub App.
    case app
    /// Whether addresses that GitHub made up are left out.
    case rejectNoreply = "reject_noreply"
    /// The version of the provider's API.
    case apiVersion = "api_version"
    /// What is looked up at the provider besides the token.
    case groups
    /// What holds for the nonce.
    case nonce
    /// The algorithms that ID tokens may be signed with.
    case idTokenAlgorithms = "id_token_algorithms"
    /// Who else may be in the audience of ID tokens.
    case trustedAudiences = "trusted_audiences"
    /// The longest lifetime of an ID token.
    case idTokenLifetime = "id_token_lifetime"
    /// How long keys are used that cannot be fetched.
    case keysMaxStale = "jwks_max_stale"
    /// How far the provider's clock may differ from ours.
    case clockLeeway = "clock_leeway"
    /// Whether the authorization request is sent ahead.
    case pushedAuthorization = "pushed_authorization"
    /// Whether tokens are revoked when the user signs out.
    case revokeTokens = "revoke_tokens"
    /// How long a link is valid by which a user chooses a password.
    case linkLifetime = "link_lifetime"
    /// The file of passwords that are publicly known.
    case breachedPasswords = "breached_passwords"
    /// Who may register.
    case registration

    /// What every OpenID Connect provider has.
    package static let openID: Set<ProviderSetting> = [
        .nonce, .pushedAuthorization, .idTokenAlgorithms, .clockLeeway, .keysMaxStale, .revokeTokens,
    ]

    /// What a provider has besides whose tokens its operators shape.
    package static let ownServer = ProviderSetting.openID.union([
        .trustedAudiences, .idTokenLifetime, .metadataURL, .tokenEndpoint, .userinfoEndpoint, .keysURL,
    ])
}
