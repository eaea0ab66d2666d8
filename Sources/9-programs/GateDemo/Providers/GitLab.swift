// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// GitLab: an ID token with few claims, the rest from userinfo.
///
/// https://docs.gitlab.com/integration/openid_connect_provider/
enum GitLabSimulator {
    private static let userinfoDown = DemoQuirk(
        "gitlab-userinfo-down",
        of: "gitlab",
        "Userinfo responds with 502 and the ID token has no name; the user signs in without name and groups.",
    )

    static let provider = SimulatedProvider(
        "gitlab",
        clientID: "c5f3a0d2demo4b7e9f1a6c8d0e2b4f6a8c0d2e4f6a8b0c2d4e6f8a0b2c4d6e8f",
        quirks: [Self.userinfoDown],
        lines: { context in ["base_url: \(context.urls.base)"] },
        traits: Self.traits
    )

    @Sendable private static func traits(_ context: SimulatorContext) -> CodeFlowTraits {
        var traits = CodeFlowTraits(
            title: "GitLab",
            accent: "#fc6d26",
            users: self.users,
            paths: CodeFlowTraits.Paths(
                discovery: "/.well-known/openid-configuration",
                authorize: "/oauth/authorize",
                token: "/oauth/token",
                keys: "/oauth/discovery/keys",
                userinfo: "/oauth/userinfo",
            ),
            issuer: context.urls.base,
        )
        traits.authorization.responseModes = ["query", "form_post"]
        traits.token.lifetime = 7200
        traits.token.extras = { _, now in
            ["created_at": .int(now.seconds), "refresh_token": .string(context.random.token(32))]
        }
        var idToken = IDTokenTraits(key: .rs256(context.key))
        idToken.names = ["sub", "sub_legacy", "email", "email_verified", "groups_direct"]
        idToken.lifetime = 120
        idToken.extras = { _, now in ["auth_time": .int(now.seconds - 60)] }
        traits.idToken = idToken
        let isDown = context.has(self.userinfoDown)
        let down = ProtectedResource { _ in .text("GitLab is not responding\n", status: 502) }
        traits.resources["/oauth/userinfo"] = isDown ? down : .userinfo()
        traits.metadata = [
            "code_challenge_methods_supported": ["plain", "S256"],
            "scopes_supported": ["api", "read_api", "read_user", "openid", "profile", "email"],
            "revocation_endpoint": .string(context.urls.base + "/oauth/revoke"),
            "introspection_endpoint": .string(context.urls.base + "/oauth/introspect"),
        ]
        return traits
    }

    private static let users: [DemoUser] = [
        DemoUser(
            id: "ada",
            name: "Ada Example",
            note: "ada@example.org, owner of a subgroup",
            record: Self.record(4_711, "ada", "Ada Example").merging([
                "email": "ada@example.org", "email_verified": true, "groups_direct": ["example/platform"],
                "groups": ["example", "example/platform", "example/platform/edge"],
                "https://gitlab.org/claims/groups/owner": ["example/platform"],
            ]) { $1 },
        ),
        DemoUser(
            id: "grace",
            name: "Grace Sample",
            note: "grace@example.org, email address not confirmed, in no group",
            record: Self.record(4_712, "grace", "Grace Sample").merging([
                "email": "grace@example.org", "email_verified": false, "groups_direct": [], "groups": [],
            ]) { $1 },
        ),
    ]

    private static func record(_ id: Int64, _ login: String, _ name: String) -> [String: JSON] {
        [
            "sub": .string(String(id)),
            "sub_legacy": .string(hexadecimal(Array("legacy subject of \(login)".utf8).prefix(16))),
            "name": .string(name), "nickname": .string(login), "preferred_username": .string(login),
            "profile": .string("https://gitlab.com/\(login)"), "website": "",
            "picture": .string("https://gitlab.com/uploads/-/system/user/avatar/\(id)/avatar.png"),
        ]
    }
}
