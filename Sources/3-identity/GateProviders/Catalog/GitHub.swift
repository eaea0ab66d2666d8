// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension ProviderType {
    /// GitHub and GitHub Enterprise Server: no ID token, the identity comes from the REST API.
    ///
    /// The subject is the numeric id: a login can be renamed and taken by another user. The callback's `iss` is sent
    /// since 2026. https://docs.github.com/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps
    package static let github = ProviderType(
        "github",
        title: "GitHub",
        settings: [.baseURL, .apiURL, .app, .rejectNoreply],
        lookups: ["organizations", "teams"],
        acceptsAnyAccount: { $0.isAt(publicHost: "github.com") },
        entry: CatalogEntry.gitHub
    )
}

extension CatalogEntry {
    fileprivate static func gitHub(_ settings: ProviderSettings) throws(Failure) -> CatalogEntry {
        let base = self.base(settings.baseURL, else: "https://github.com")
        let ownAPI = settings.baseURL.map { _ in "\(base)/api/v3" }
        let apiBase = self.base(settings.apiURL, else: ownAPI ?? "https://api.github.com")
        var entry = CatalogEntry(
            brand: "GitHub",
            signIn: .oauth2(
                ProviderDefinition.OAuth2Endpoints(
                    authorization: try self.address("\(base)/login/oauth/authorize"),
                    token: try self.address("\(base)/login/oauth/access_token")
                )
            ),
            issuer: .exact("\(base)/login/oauth"),
            scopes: [],
            clientAuthentication: .secretPost,
            accountChoice: Form.Field("prompt", "select_account"),
            signatureAlgorithms: [],
            apiBase: apiBase,
            apiHeaders: [
                Form.Field("Accept", "application/vnd.github+json"),
                Form.Field("X-GitHub-Api-Version", "2022-11-28"),
            ],
            chains: self.gitHubChains(settings, base: base)
        )
        entry.apiQueries = ["/user/emails": "per_page=100"]
        // A GitHub App has permissions by its registration and ignores scopes.
        let isGitHubApp = settings.isGitHubApp ?? settings.clientID.hasPrefix("Iv")
        if !isGitHubApp { entry.scopes = settings.groups.isEmpty ? ["user:email"] : ["user:email", "read:org"] }
        entry.lookups = try settings.groups.map { (kind) throws(Failure) in
            try self.gitHubLookup(kind, at: apiBase, needsScope: !isGitHubApp)
        }
        return entry
    }

    /// Organizations whose single sign-on the token has not passed are omitted, which a header field reports.
    ///
    /// https://docs.github.com/rest/orgs/orgs, https://docs.github.com/rest/teams/teams
    private static func gitHubLookup(
        _ kind: String,
        at base: String,
        needsScope: Bool
    ) throws(Failure) -> GroupLookup {
        let isTeams = kind == "teams"
        return GroupLookup(
            address: try self.address("\(base)/user/\(isTeams ? "teams" : "orgs")"),
            query: [Form.Field("per_page", "100")],
            paging: .link,
            elements: "",
            name: isTeams ? ["/organization/login", "/slug"] : ["/login"],
            scopes: needsScope ? ["read:org", "write:org", "admin:org"] : [],
            partialMark: Form.Field("x-github-sso", "partial-results")
        )
    }

    private static func gitHubChains(_ settings: ProviderSettings, base: String) -> [ProfileField: [ProfileStep]] {
        let host = base.split(separator: "://").last.map { String($0.prefix { $0 != ":" && $0 != "/" }) }
        let noreply = settings.rejectsNoreply ? "users.noreply.\(host ?? "github.com")" : nil
        return [
            .subject: [.claim(.api("/user", "/id"))],
            .username: [.claim(.api("/user", "/login"))],
            .name: [.claim(.api("/user", "/name")), .claim(.api("/user", "/login"))],
            .email: [.verifiedEntry(.api("/user/emails", ""), except: noreply)],
            .picture: [.claim(.api("/user", "/avatar_url"))],
            .groups: settings.groups.isEmpty ? [] : [.lookedUp],
        ]
    }
}
