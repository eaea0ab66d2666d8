// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension ProviderType {
    /// Okta: the server of an organization, or one of its custom authorization servers.
    ///
    /// The issuer selects the server; each has its own endpoints and keys. Groups come as a claim only if the
    /// organization's administrators made one. https://developer.okta.com/docs/reference/api/oidc/
    package static let okta = ProviderType(
        "okta",
        title: "Okta",
        settings: ProviderSetting.ownServer,
        required: [.issuer],
        listsGroups: true
    ) { (settings) throws(Failure) in
        try CatalogEntry.found(by: settings, brand: "Okta")
    }
}
