// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Sign in with Slack: errors with status 200, claims named by URLs, ID tokens that live five minutes.
///
/// https://docs.slack.dev/authentication/sign-in-with-slack
enum SlackSimulator {
    /// The workspace in the gateway's file.
    static let workspace = "T0DEM0WORK1"

    private static let codeRefused = DemoQuirk(
        "slack-code-refused",
        of: "slack",
        "Every code is rejected with status 200 and ok: false; the gateway reads the error.",
    )
    private static let rotation = DemoQuirk(
        "slack-token-rotation",
        of: "slack",
        "Token rotation is on, so access tokens expire and refresh tokens come with them; users sign in.",
    )

    static let provider = SimulatedProvider(
        "slack",
        clientID: "1234567890.2345678901",
        quirks: [Self.codeRefused, Self.rotation],
        lines: { context in ["base_url: \(context.urls.base)", "workspaces: [\(Self.workspace)]"] },
        traits: Self.traits
    )

    @Sendable private static func traits(_ context: SimulatorContext) -> CodeFlowTraits {
        var traits = CodeFlowTraits(
            title: "Slack",
            accent: "#4a154b",
            users: self.users,
            paths: CodeFlowTraits.Paths(
                discovery: "/.well-known/openid-configuration",
                authorize: "/openid/connect/authorize",
                token: "/api/openid.connect.token",
                keys: "/openid/connect/keys",
                userinfo: "/api/openid.connect.userInfo",
            ),
            issuer: context.urls.base,
        )
        let rotates = context.has(self.rotation)
        traits.token.authentication = [.post, .basic]
        traits.token.accessToken = { (rotates ? "xoxe.xoxp-" : "xoxp-") + $0.token(48) }
        traits.token.lifetime = rotates ? 43_200 : nil
        traits.token.scope = { _ in nil }
        traits.token.errorFormat = self.errors
        traits.token.extras = { _, _ in
            rotates ? ["ok": true, "refresh_token": .string("xoxe-" + context.random.token(24))] : ["ok": true]
        }
        traits.token.errors[.refreshToken] = OAuthError("invalid_refresh_token", "The refresh token is unknown.")
        if context.has(self.codeRefused) {
            traits.token.outage = OAuthError("invalid_grant", "The code is used, old or wrong.")
        }
        var idToken = IDTokenTraits(key: .rs256(context.key))
        idToken.lifetime = 300
        idToken.unpublished = ["use"]
        idToken.extras = { _, now in ["auth_time": .int(now.seconds), "https://slack.com/team_name": "Example"] }
        traits.idToken = idToken
        traits.resources["/api/openid.connect.userInfo"] = .userinfo(adding: ["ok": true])
        traits.resourceErrors = self.errors
        traits.metadata = ["code_challenge_methods_supported": .null]
        return traits
    }

    /// Always status 200.
    ///
    /// https://docs.slack.dev/apis/web-api/#responses
    private static let errors = OAuthErrorFormat { error in
        let names = [
            "invalid_grant": "invalid_code", "invalid_client": "bad_client_secret", "invalid_token": "invalid_auth",
        ]
        return .json(["ok": false, "error": .string(names[error.error] ?? "invalid_arguments")])
    }

    private static let users: [DemoUser] = [
        DemoUser(
            id: "ada",
            name: "Ada Example",
            note: "ada@example.org, member of the configured workspace",
            record: Self.record("U0ADA000001", Self.workspace, ("Ada", "Example")).merging([
                "email": "ada@example.org", "email_verified": true, "date_email_verified": 1_622_128_723,
            ]) { $1 },
        ),
        DemoUser(
            id: "grace",
            name: "Grace Sample",
            note: "Same workspace, email address not verified",
            record: Self.record("U0GRACE0002", Self.workspace, ("Grace", "Sample")).merging([
                "email": "grace@example.org", "email_verified": false,
            ]) { $1 },
        ),
        DemoUser(
            id: "margaret",
            name: "Margaret Test",
            note: "Another workspace, with the same email address as Ada: the gateway denies access",
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
