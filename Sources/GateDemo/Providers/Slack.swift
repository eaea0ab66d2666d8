// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Sign in with Slack: errors with status 200, claims whose names are addresses, tokens of five minutes.
///
/// https://docs.slack.dev/authentication/sign-in-with-slack
enum SlackSimulator {
    /// The workspace that may sign in.
    static let workspace = "T0DEM0WORK1"

    private static let codeRefused = DemoQuirk(
        "slack-code-refused",
        of: "slack",
        "Every code is refused with status 200 and ok: false; the gateway does not take that for an answer.",
    )
    private static let rotation = DemoQuirk(
        "slack-token-rotation",
        of: "slack",
        "Token rotation is on, so that access tokens expire and refresh tokens come with them; people sign in.",
    )

    static let simulation = SimulatedProvider.codeFlow(
        "slack",
        clientID: "1234567890.2345678901",
        quirks: [Self.codeRefused, Self.rotation],
        lines: { stage in ["base_url: \(stage.address.base)", "workspaces: [\(Self.workspace)]"] },
        traits: Self.traits
    )

    @Sendable private static func traits(_ stage: SimulatorContext) -> CodeFlowTraits {
        let has = stage.quirks
        var traits = CodeFlowTraits(
            title: "Slack",
            accent: "#4a154b",
            people: self.people,
            paths: CodeFlowTraits.Paths(
                discovery: "/.well-known/openid-configuration",
                authorize: "/openid/connect/authorize",
                token: "/api/openid.connect.token",
                keys: "/openid/connect/keys",
                userinfo: "/api/openid.connect.userInfo",
            ),
            issuer: stage.address.base,
        )
        let rotates = has.contains(self.rotation.name)
        traits.token.proofs = [.post, .basic]
        traits.token.tokenPrefix = rotates ? "xoxe.xoxp-" : "xoxp-"
        traits.token.lifetime = rotates ? 43_200 : nil
        traits.token.scopeSeparator = nil
        traits.token.problem = self.problem
        traits.token.extras = { _ in
            rotates ? ["ok": true, "refresh_token": .string("xoxe-" + stage.random.token(24))] : ["ok": true]
        }
        if has.contains(self.codeRefused.name) {
            traits.token.outage = OAuthError("invalid_grant", "The code is used, old or wrong.")
        }
        var idToken = IDTokenTraits(key: .rs256(stage.key))
        idToken.lifetime = 300
        idToken.unpublished = ["use"]
        idToken.extras = { _, now in ["auth_time": .int(now.seconds), "https://slack.com/team_name": "Example"] }
        traits.idToken = idToken
        traits.resources["/api/openid.connect.userInfo"] = .userinfo(adding: ["ok": true])
        traits.resourceProblem = self.problem
        traits.metadata = ["code_challenge_methods_supported": .null]
        return traits
    }

    /// Always status 200.
    ///
    /// https://docs.slack.dev/apis/web-api/#responses
    private static let problem = OAuthErrorFormat { problem in
        let names = [
            "invalid_grant": "invalid_code", "invalid_client": "bad_client_secret", "invalid_token": "invalid_auth",
        ]
        return .json(["ok": false, "error": .string(names[problem.error] ?? "invalid_arguments")])
    }

    private static let people: [DemoUser] = [
        DemoUser(
            id: "ada",
            name: "Ada Example",
            note: "ada@example.org, member of the workspace that may sign in",
            record: Self.record("U0ADA000001", Self.workspace, ("Ada", "Example")).merging([
                "email": "ada@example.org", "email_verified": true, "date_email_verified": 1_622_128_723,
            ]) { $1 },
        ),
        DemoUser(
            id: "grace",
            name: "Grace Sample",
            note: "Same workspace, e-mail not verified",
            record: Self.record("U0GRACE0002", Self.workspace, ("Grace", "Sample")).merging([
                "email": "grace@example.org", "email_verified": false,
            ]) { $1 },
        ),
        DemoUser(
            id: "margaret",
            name: "Margaret Test",
            note: "Another workspace, with the same e-mail as Ada: the gateway turns her away",
            record: Self.record("U0ADA000001", "T0ELSEWHERE", ("Margaret", "Test")).merging([
                "email": "ada@example.org", "email_verified": true,
            ]) { $1 },
        ),
    ]

    private static func record(_ id: String, _ team: String, _ name: (given: String, family: String)) -> [String: JSON]
    {
        [
            "sub": .string(id), "https://slack.com/user_id": .string(id), "https://slack.com/team_id": .string(team),
            "name": .string("\(name.given) \(name.family)"), "given_name": .string(name.given),
            "family_name": .string(name.family), "locale": "en-US",
            "picture": .string("https://avatars.slack-edge.com/demo/\(id)_512.png"),
            "https://slack.com/team_domain": "example", "https://slack.com/team_image_default": true,
            "https://slack.com/user_image_48": .string("https://avatars.slack-edge.com/demo/\(id)_48.png"),
        ]
    }
}
