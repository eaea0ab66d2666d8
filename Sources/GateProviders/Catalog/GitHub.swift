// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension CatalogEntry {
    /// GitHub and GitHub Enterprise Server: no ID token, the identity comes from the REST API.
    ///
    /// The person is the numeric id: a login can be renamed and taken by somebody else. The callback's `iss` is sent
    /// since 2026. https://docs.github.com/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps
    static func gitHub(_ settings: ProviderSettings) throws(Failure) -> CatalogEntry {
        let base = self.base(settings.baseURL, else: "https://github.com")
        return CatalogEntry(
            buttonText: "Sign in with GitHub",
            signIn: .oauth2(
                ProviderDefinition.OAuth2Endpoints(
                    authorization: try self.address("\(base)/login/oauth/authorize"),
                    token: try self.address("\(base)/login/oauth/access_token"),
                    apiBase: settings.baseURL == nil ? "https://api.github.com" : "\(base)/api/v3"
                )
            ),
            issuer: .exact("\(base)/login/oauth"),
            scopes: ["user:email"],
            clientAuthentication: .secretPost,
            signatureAlgorithms: [],
            requiredAPIPaths: ["/user"],
            apiHeaders: [
                Form.Field("Accept", "application/vnd.github+json"),
                Form.Field("X-GitHub-Api-Version", "2022-11-28"),
            ],
            chains: self.gitHubChains
        )
    }

    private static var gitHubChains: [ProfileField: [ProfileStep]] {
        [
            .subject: [.claim(.api("/user", "/id"))],
            .username: [.claim(.api("/user", "/login"))],
            .name: [.claim(.api("/user", "/name")), .claim(.api("/user", "/login"))],
            .email: [.verifiedEntry(.api("/user/emails", ""))],
            .picture: [.claim(.api("/user", "/avatar_url"))],
        ]
    }
}
