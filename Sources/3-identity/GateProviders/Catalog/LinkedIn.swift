// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension ProviderType {
    /// LinkedIn.
    ///
    /// The metadata name `…/oauth` as the issuer, tokens have been seen with the bare host. A challenge is taken from
    /// native apps only and reportedly breaks the exchange; the nonce does not always come back.
    /// https://learn.microsoft.com/linkedin/consumer/integrations/self-serve/sign-in-with-linkedin-v2
    package static let linkedin = ProviderType(
        "linkedin",
        title: "LinkedIn",
        settings: ProviderSetting.openID.union([.baseURL]),
        acceptsAnyAccount: { _ in true },
        entry: CatalogEntry.linkedIn
    )
}

extension CatalogEntry {
    fileprivate static func linkedIn(_ settings: ProviderSettings) throws(Failure) -> CatalogEntry {
        let base = self.base(settings.baseURL, else: "https://www.linkedin.com")
        var entry = CatalogEntry(
            brand: "LinkedIn",
            signIn: try self.discovery(below: "\(base)/oauth"),
            issuer: .aliased("\(base)/oauth", alias: base),
            scopes: ["openid", "profile", "email"],
            clientAuthentication: .secretPost,
            pkce: .off,
            nonce: .ifPresent,
            chains: self.standardChains
        )
        entry.chains[.groups] = nil
        return entry
    }
}
