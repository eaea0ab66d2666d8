// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension ProviderType {
    /// Discord: plain OAuth 2.0 and one call to its API.
    ///
    /// The address counts only if `verified` beside it is true. A picture is a hash from which the address is made.
    /// https://discord.com/developers/docs/topics/oauth2
    package static let discord = ProviderType(
        "discord",
        title: "Discord",
        settings: [.baseURL, .apiURL, .apiVersion],
        acceptsAnyAccount: { _ in true },
        entry: CatalogEntry.discord
    )
}

extension CatalogEntry {
    fileprivate static func discord(_ settings: ProviderSettings) throws(Failure) -> CatalogEntry {
        let base = self.base(settings.baseURL, else: "https://discord.com")
        let version = try self.version(settings, else: "v10")
        return CatalogEntry(
            brand: "Discord",
            signIn: .oauth2(
                ProviderDefinition.OAuth2Endpoints(
                    authorization: try self.address("\(base)/oauth2/authorize"),
                    token: try self.address("\(base)/api/oauth2/token")
                )
            ),
            issuer: .exact(base),
            scopes: ["identify", "email"],
            clientAuthentication: .secretPost,
            signatureAlgorithms: [],
            apiBase: "\(self.apiBase(settings, else: base))/api/\(version)",
            chains: self.discordChains
        )
    }

    private static var discordChains: [ProfileField: [ProfileStep]] {
        let user = { (pointer: String) in ClaimSource.api("/users/@me", pointer) }
        let avatar = "https://cdn.discordapp.com/avatars/{}/{}.png"
        return [
            .subject: [.claim(user("/id"))],
            .username: [.claim(user("/username"))],
            .name: [.claim(user("/global_name")), .claim(user("/username"))],
            .email: [.claim(user("/email"))],
            .emailVerified: [.claim(user("/verified"))],
            .picture: [.filled(avatar, [user("/id"), user("/avatar")])],
            .locale: [.claim(user("/locale"))],
        ]
    }
}
