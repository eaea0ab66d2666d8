// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension ProviderType {
    /// Any OpenID Connect provider, by discovery, with the standard claims.
    ///
    /// OpenID Connect Core §5.1.
    package static let oidc = ProviderType(
        "oidc",
        title: "the provider",
        settings: ProviderSetting.openID,
        required: [.issuer],
        listsGroups: true
    ) { (settings) throws(Failure) in
        let (issuer, signIn) = try CatalogEntry.discovery(of: settings)
        return CatalogEntry(
            buttonText: "Sign in with \(settings.id)",
            signIn: signIn,
            issuer: .exact(issuer),
            scopes: ["openid", "email", "profile"],
            clientAuthentication: .advertised,
            pkce: .auto,
            signatureAlgorithms: Set(SignatureAlgorithm.allCases),
            chains: CatalogEntry.standardChains
        )
    }
}
