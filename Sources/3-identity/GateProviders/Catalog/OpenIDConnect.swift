// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension ProviderType {
    /// Any OpenID Connect provider, by discovery, with the standard claims.
    ///
    /// OpenID Connect Core §5.1.
    package static let oidc = ProviderType(
        "oidc",
        title: "the provider",
        settings: ProviderSetting.ownServer,
        required: [.issuer],
        listsGroups: true
    ) { (settings) throws(Failure) in
        var entry = try CatalogEntry.found(by: settings, brand: settings.id)
        entry.scopes = ["openid", "email", "profile"]
        entry.pkce = .auto
        entry.signatureAlgorithms = SignatureAlgorithm.standard
        return entry
    }
}
