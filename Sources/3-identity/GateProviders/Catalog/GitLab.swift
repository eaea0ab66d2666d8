// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension ProviderType {
    /// GitLab, the public service or an own server.
    ///
    /// The ID token has little more than the id and the address; names and all groups are in userinfo. What the ID token
    /// lists in `groups_direct` leaves inherited memberships out.
    /// https://docs.gitlab.com/integration/openid_connect_provider/
    package static let gitlab = ProviderType(
        "gitlab",
        title: "GitLab",
        settings: ProviderSetting.ownServer.union([.baseURL]),
        listsGroups: true,
        acceptsAnyAccount: { $0.isAt(publicHost: "gitlab.com") },
        entry: CatalogEntry.gitLab
    )
}

extension CatalogEntry {
    fileprivate static func gitLab(_ settings: ProviderSettings) throws(Failure) -> CatalogEntry {
        let base = self.base(settings.baseURL, else: "https://gitlab.com")
        var entry = CatalogEntry(
            brand: "GitLab",
            signIn: try self.discovery(below: base),
            issuer: .exact(base),
            scopes: ["openid", "profile", "email"],
            clientAuthentication: .advertised,
            chains: self.standardChains
        )
        entry.chains[.groups] = [.claim(.userinfo("/groups")), .someNames(.idToken("/groups_direct"))]
        return entry
    }
}
