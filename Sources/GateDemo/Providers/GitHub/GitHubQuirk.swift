// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// What can be odd about GitHub.
///
/// Always so, as with the real one: errors of the token endpoint with status 200, scopes with commas, an API that wants
/// a `User-Agent`, an e-mail that is null unless it is public, a numeric id that may be above 2^53.
enum GitHubQuirk {
    static let form = DemoQuirk(
        "github-form-answer",
        of: "github",
        "The token endpoint answers with a form, its default, although JSON was asked for; the gateway reads both.",
    )
    static let xml = DemoQuirk(
        "github-xml-answer",
        of: "github",
        "The token endpoint answers with XML, its third format; the gateway did not ask for it and refuses it.",
    )
    static let error = DemoQuirk(
        "github-error-with-200",
        of: "github",
        "The token endpoint takes no code and says so with status 200; the gateway looks for a token, not at the status.",
    )
    static let expiring = DemoQuirk(
        "github-expiring-tokens",
        of: "github",
        "Access tokens expire after eight hours and a refresh token comes along, as with apps since 2026.",
    )
    static let noIssuer = DemoQuirk(
        "github-no-callback-issuer",
        of: "github",
        "The callback has no iss, as before 2026; the gateway signs in all the same.",
    )
    static let wrongHost = DemoQuirk(
        "github-wrong-host",
        of: "github",
        "The app is registered for another host, which GitHub tells in the callback; the gateway says that it was refused.",
    )
    static let redirects = DemoQuirk(
        "github-api-redirects",
        of: "github",
        "The API answers with a redirect to another host; the gateway does not carry the access token there.",
    )
    static let app = DemoQuirk(
        "github-app",
        of: "github",
        "A GitHub App: tokens begin with ghu_, there are no scopes, and this one may not read e-mail addresses (403); "
            + "the gateway signs in without one.",
    )
    static let groups = DemoQuirk(
        "github-groups",
        of: "github",
        "The gateway reads organizations and teams, each on one page.",
    )
    static let threePages = DemoQuirk(
        "github-three-pages",
        of: "github",
        "Organizations and teams come on three pages of a hundred, joined by the Link header; the gateway reads them all.",
    )
    static let failingPage = DemoQuirk(
        "github-failing-page",
        of: "github",
        "The second page of teams fails with status 502; the gateway calls the list incomplete.",
    )
    static let foreignLink = DemoQuirk(
        "github-foreign-link",
        of: "github",
        "The Link header leads to another host; the gateway does not go there and calls the list incomplete.",
    )
    static let partial = DemoQuirk(
        "github-sso-partial",
        of: "github",
        "An organization with SAML sign-on is left out of the lists (X-GitHub-SSO); the gateway calls them incomplete.",
    )

    static let all = [
        Self.form, Self.xml, Self.error, Self.expiring, Self.noIssuer, Self.wrongHost, Self.redirects, Self.app,
        Self.groups, Self.threePages, Self.failingPage, Self.foreignLink, Self.partial,
    ]

    /// Those that show nothing unless the gateway reads groups.
    static let aboutGroups = [Self.groups, Self.threePages, Self.failingPage, Self.foreignLink, Self.partial]
}

extension GitHubSimulator {
    static let simulation = SimulatedProvider(
        name: "github",
        clientID: "Ov23liDemo0123456789",
        quirks: GitHubQuirk.all,
        make: { GitHubSimulator(stage: $0) },
        lines: { stage in
            var lines = [
                "type: github", "base_url: \(stage.address.base)",
                "authorization_endpoint: \(stage.address.pages)/login/oauth/authorize",
            ]
            if stage.has(GitHubQuirk.app) { lines.append("app: github_app") }
            if GitHubQuirk.aboutGroups.contains(where: stage.has) { lines.append("groups: [ organizations, teams ]") }
            return lines
        },
    )
}
