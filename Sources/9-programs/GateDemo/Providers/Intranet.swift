// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// A company's own OAuth 2.0 server, which is in no catalogue: the gateway's file names endpoints and profile.
enum IntranetSimulator {
    private static let groupsRefused = DemoQuirk(
        "oauth2-groups-refused",
        of: "oauth2",
        "The app may not read the list of teams; the gateway signs users in and treats their groups as unknown.",
    )
    private static let groupsDown = DemoQuirk(
        "oauth2-groups-down",
        of: "oauth2",
        "The list of teams fails with status 503; the gateway reports a provider failure.",
    )
    private static let noProfile = DemoQuirk(
        "oauth2-no-profile",
        of: "oauth2",
        "The profile has no number for the user; the gateway signs no user in without a subject.",
    )

    static let provider = SimulatedProvider(
        "oauth2",
        clientID: "intranet-gatehouse",
        quirks: [Self.groupsRefused, Self.groupsDown, Self.noProfile],
        lines: Self.lines,
        traits: Self.traits
    )

    @Sendable private static func lines(_ context: SimulatorContext) -> [String] {
        [
            "name: Sign in with the Example Intranet",
            "authorization_endpoint: \(context.urls.pages)/oauth/authorize",
            "token_endpoint: \(context.urls.base)/oauth/token",
            "api_url: \(context.urls.base)",
            "scopes: [ \"profile\", \"email\", \"teams\" ]",
            "profile:",
            "  subject: \"api:/api/me#/employee/number\"",
            "  username: \"api:/api/me#/login\"",
            "  name: [ \"api:/api/me#/display\", \"api:/api/me#/login\" ]",
            "  email: \"api:/api/me#/mail[primary]/address\"",
            "  email_verified: \"api:/api/me#/mail[primary]/confirmed\"",
            "  locale: \"const:en\"",
            "  groups: \"api:/api/me/groups#/teams[active]/key\"",
        ]
    }

    @Sendable private static func traits(_ context: SimulatorContext) -> CodeFlowTraits {
        let hasProfile = !context.has(self.noProfile)
        let failure = self.groupsFailure(context)
        var traits = CodeFlowTraits(
            title: "the Example Intranet",
            accent: "#7a3e9d",
            users: self.users,
            paths: CodeFlowTraits.Paths(authorize: "/oauth/authorize", token: "/oauth/token"),
            issuer: context.urls.base,
        )
        traits.token.lifetime = 28_800
        traits.resourceErrors = self.errors
        traits.resources["/api/me"] = ProtectedResource { call in
            .json(.object(call.grant.user.record.filter { hasProfile || $0.key != "employee" }))
        }
        traits.resources["/api/me/groups"] = ProtectedResource { call in
            if let failure { return self.errors.response(failure) }
            return .json(call.grant.user.more["groups"] ?? ["teams": []])
        }
        return traits
    }

    private static func groupsFailure(_ context: SimulatorContext) -> OAuthError? {
        if context.has(self.groupsRefused) {
            return OAuthError("forbidden", "The scope 'teams' was not granted.", status: 403)
        }
        guard context.has(self.groupsDown) else { return nil }
        return OAuthError("down", "The directory does not respond.", status: 503)
    }

    private static let errors = OAuthErrorFormat { error in
        .json(["message": .string(error.text), "status": .int(Int64(error.status))], status: error.status)
    }

    /// A number above 2^53, and a user without a name.
    private static let users: [DemoUser] = [
        DemoUser(
            id: "ada",
            name: "Ada Example",
            note: "ada@example.org, number above 2^53, in two teams that are active",
            record: [
                "login": "aexample", "display": "Ada Example",
                "employee": ["number": 9_007_199_254_740_993, "site": "London"],
                "mail": [
                    ["address": "a.example@old.example", "primary": false, "confirmed": true],
                    ["address": "ada@example.org", "primary": true, "confirmed": true],
                ],
            ],
            more: [
                "groups": [
                    "teams": [
                        ["key": "analytics", "active": true], ["key": "engine", "active": true],
                        ["key": "difference", "active": false],
                    ]
                ]
            ],
        ),
        DemoUser(
            id: "grace",
            name: "gsample",
            note: "No display name, email address not confirmed, in no team",
            record: [
                "login": "gsample", "display": .null, "employee": ["number": 1906, "site": "Arlington"],
                "mail": [["address": "grace@example.org", "primary": true, "confirmed": false]],
            ],
        ),
    ]
}
