// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension ProviderType {
    /// One realm of Keycloak.
    ///
    /// A realm chooses the algorithm of its tokens. Groups and roles are in the ID token or in userinfo only if a mapper
    /// puts them there; a group's path keeps its leading slash, as Keycloak wrote it.
    /// https://www.keycloak.org/securing-apps/oidc-layers
    package static let keycloak = ProviderType(
        "keycloak",
        title: "Keycloak",
        settings: ProviderSetting.ownServer,
        required: [.issuer],
        listsGroups: true
    ) { (settings) throws(Failure) in
        var entry = try CatalogEntry.found(by: settings, brand: "Keycloak")
        entry.pkce = .auto
        // Keycloak removes the consent and the client's part of all sessions of the user.
        entry.revokesTokens = false
        entry.signatureAlgorithms = SignatureAlgorithm.standard
        entry.chains[.roles] = CatalogEntry.claim("/realm_access/roles")
        return entry
    }
}
