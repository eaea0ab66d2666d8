// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// A company's own OAuth 2.0 server, which no catalogue knows: endpoints and profile stand in the gateway's file.
enum IntranetSimulator {
    private static let groupsRefused = DemoQuirk(
        "oauth2-groups-refused",
        of: "oauth2",
        "The app may not read the list of teams; the gateway signs people in and takes their groups for unknown.",
    )
    private static let groupsDown = DemoQuirk(
        "oauth2-groups-down",
        of: "oauth2",
        "The list of teams cannot be had for now; the gateway says that the provider failed.",
    )
    private static let noProfile = DemoQuirk(
        "oauth2-no-profile",
        of: "oauth2",
        "The profile comes without a number for the person; the gateway signs nobody in without a subject.",
    )

    static let simulation = SimulatedProvider.codeFlow(
        "oauth2",
        clientID: "intranet-gatehouse",
        quirks: [Self.groupsRefused, Self.groupsDown, Self.noProfile],
        lines: Self.lines,
        traits: Self.traits
    )

    @Sendable private static func lines(_ stage: SimulatorContext) -> [String] {
        [
            "name: Sign in with the Example Intranet",
            "authorization_endpoint: \(stage.address.pages)/oauth/authorize",
            "token_endpoint: \(stage.address.base)/oauth/token",
            "api_url: \(stage.address.base)",
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

    @Sendable private static func traits(_ stage: SimulatorContext) -> CodeFlowTraits {
        let hasProfile = !stage.quirks.contains(self.noProfile.name)
        let refusal = self.refusal(stage)
        var traits = CodeFlowTraits(
            title: "the Example Intranet",
            accent: "#7a3e9d",
            people: self.people,
            paths: CodeFlowTraits.Paths(authorize: "/oauth/authorize", token: "/oauth/token"),
            issuer: stage.address.base,
        )
        traits.token.lifetime = 28_800
        traits.resourceProblem = self.problem
        traits.resources["/api/me"] = Resource { call in
            .json(.object(call.grant.person.record.filter { hasProfile || $0.key != "employee" }))
        }
        traits.resources["/api/me/groups"] = Resource { call in
            if let refusal { return self.problem.response(refusal) }
            return .json(call.grant.person.more["groups"] ?? ["teams": []])
        }
        return traits
    }

    private static func refusal(_ stage: SimulatorContext) -> OAuthError? {
        if stage.quirks.contains(self.groupsRefused.name) {
            return OAuthError("forbidden", "The scope 'teams' was not granted.", status: 403)
        }
        guard stage.quirks.contains(self.groupsDown.name) else { return nil }
        return OAuthError("down", "The directory does not answer.", status: 503)
    }

    private static let problem = OAuthErrorFormat { problem in
        .json(["message": .string(problem.text), "status": .int(Int64(problem.status))], status: problem.status)
    }

    /// A number above 2^53, and somebody without a name.
    private static let people: [DemoUser] = [
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
            note: "No display name, e-mail not confirmed, in no team",
            record: [
                "login": "gsample", "display": .null, "employee": ["number": 1906, "site": "Arlington"],
                "mail": [["address": "grace@example.org", "primary": true, "confirmed": false]],
            ],
        ),
    ]
}
