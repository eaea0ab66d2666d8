// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension ProviderType {
    /// Sign in with Slack.
    ///
    /// A user is a member of one workspace, so the workspace is part of the id. Claims of Slack's own have addresses
    /// as names. https://api.slack.com/authentication/sign-in-with-slack
    package static let slack = ProviderType(
        "slack",
        title: "Slack",
        settings: ProviderSetting.openID.union([.baseURL, .workspaces]),
        acceptsAnyAccount: { $0.workspaces.isEmpty },
        entry: CatalogEntry.slack
    )
}

extension CatalogEntry {
    private static let slackTeam = ClaimSource.idToken("/https:~1~1slack.com~1team_id")
    private static let slackUser = ClaimSource.idToken("/https:~1~1slack.com~1user_id")

    fileprivate static func slack(_ settings: ProviderSettings) throws(Failure) -> CatalogEntry {
        let base = self.base(settings.baseURL, else: "https://slack.com")
        var entry = CatalogEntry(
            brand: "Slack",
            signIn: try self.discovery(below: base),
            issuer: .exact(base),
            scopes: ["openid", "email", "profile"],
            clientAuthentication: .secretPost,
            chains: self.slackChains
        )
        if !settings.workspaces.isEmpty { entry.admission = [self.workspace(settings.workspaces)] }
        if settings.workspaces.count == 1, let team = settings.workspaces.first {
            entry.authorizationParameters = [Form.Field("team", team)]
        }
        return entry
    }

    /// The parameter `team` is a hint that a user can remove; only the claim counts.
    private static func workspace(_ teams: [String]) -> AdmissionRule {
        AdmissionRule(
            source: self.slackTeam,
            allowed: teams,
            comparison: .exact,
            denial: Failure(.providerWorkspace, "the account is in none of the workspaces")
        )
    }

    private static var slackChains: [ProfileField: [ProfileStep]] {
        [
            .subject: [.joined([self.slackTeam, self.slackUser], separator: ":", all: true)],
            .tenant: [.claim(self.slackTeam)],
            .name: [
                .claim(.idToken("/name")),
                .joined([.idToken("/given_name"), .idToken("/family_name")], separator: " ", all: false),
                .claim(.idToken("/email")),
            ],
            .givenName: [.claim(.idToken("/given_name"))],
            .familyName: [.claim(.idToken("/family_name"))],
            .email: [.claim(.idToken("/email"))],
            .emailVerified: [.claim(.idToken("/email_verified"))],
            .picture: [.claim(.idToken("/picture"))],
            .locale: [.claim(.idToken("/locale"))],
            .authTime: [.claim(.idToken("/auth_time"))],
        ]
    }
}
