// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// The kinds of provider the catalogue knows, by their `type` in the file.
package enum ProviderType: String, Sendable, CaseIterable {
    /// Google accounts and Workspace.
    case google
    /// GitHub and GitHub Enterprise Server.
    case github
    /// Microsoft Entra ID and personal accounts.
    case microsoft
    /// Any OpenID Connect provider, by discovery.
    case oidc
}

/// What the file says about one provider.
package struct ProviderSettings: Sendable, Hashable {
    /// The name in the file: `[a-z0-9][a-z0-9_-]{0,62}`; part of the callback address and of every user key.
    package var id: String
    /// What kind of provider it is.
    package var type: ProviderType
    /// What the button says; nil for the type's own wording.
    package var name: String?
    /// The id that the provider gave us.
    package var clientID: String
    /// The secret that the provider gave us.
    package var clientSecret: Secret
    /// `oidc` only: the issuer, exactly as the provider spells it.
    package var issuer: String?
    /// `google`, `github`, `microsoft`: the address of an own server, a national cloud or a simulator.
    package var baseURL: WebAddress?
    /// Where the browser is sent to sign in, if that differs from what the provider says of itself.
    package var authorizationEndpoint: WebAddress?
    /// `microsoft` only: a tenant id, a verified domain, `organizations`, `common` or `consumers`.
    package var tenant: String?
    /// `google` only: the Workspace domains that may sign in, in lower case; empty admits every Google account.
    package var hostedDomains: [String] = []
    /// The scopes to ask for; nil for the type's own.
    package var scopes: [String]?
    /// A PEM file with the only certificates to trust for this provider; nil for the system's.
    package var caFile: String?
    /// Overrides of the profile mapping: a field's name and its chain of sources, as written.
    package var profile: [String: [String]] = [:]

    /// Settings with what every provider has.
    package init(id: String, type: ProviderType, clientID: String, clientSecret: Secret) {
        self.id = id
        self.type = type
        self.clientID = clientID
        self.clientSecret = clientSecret
    }
}
