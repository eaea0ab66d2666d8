// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension ProviderType {
    /// Auth0.
    ///
    /// Every issuer of Auth0 ends with a slash, so one is added to an issuer that was written without it. Groups and
    /// roles are in claims whose names a tenant makes up. https://auth0.com/docs/get-started/applications
    package static let auth0 = ProviderType(
        "auth0",
        title: "Auth0",
        settings: ProviderSetting.ownServer,
        required: [.issuer]
    ) { (settings) throws(Failure) in
        var entry = try CatalogEntry.found(by: settings, brand: "Auth0")
        if let issuer = settings.issuer, !issuer.hasSuffix("/") { entry.issuer = .exact("\(issuer)/") }
        entry.chains[.groups] = nil
        // Depending on the tenant, the whole grant of the user to the app goes with it.
        entry.revokesTokens = false
        return entry
    }
}
