// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Discord: an API that wants a User-Agent, snowflake ids, e-mail addresses that may not be verified.
///
/// https://discord.com/developers/docs/topics/oauth2
enum DiscordSimulator {
    private static let rateLimit = DemoQuirk(
        "discord-rate-limit",
        of: "discord",
        "The profile is refused with 429 and a retry_after of 0.65 s; the gateway says that the provider failed.",
    )

    static let simulation = SimulatedProvider.codeFlow(
        "discord",
        clientID: "157730590492196864",
        quirks: [Self.rateLimit],
        lines: { stage in
            [
                "base_url: \(stage.address.base)",
                "authorization_endpoint: \(stage.address.pages)/oauth2/authorize",
            ]
        },
        traits: Self.traits
    )

    @Sendable private static func traits(_ stage: SimulatorContext) -> CodeFlowTraits {
        var traits = CodeFlowTraits(
            title: "Discord",
            accent: "#5865f2",
            people: self.people,
            paths: CodeFlowTraits.Paths(authorize: "/oauth2/authorize", token: "/api/oauth2/token"),
            issuer: stage.address.base,
        )
        traits.canonicalPath = self.withoutVersion
        traits.refusal = self.refusal
        traits.token.lifetime = 604_800
        traits.token.extras = { _ in ["refresh_token": .string(stage.random.token(24))] }
        traits.resourceProblem = self.problem
        let isBusy = stage.quirks.contains(self.rateLimit.name)
        traits.resources["/api/users/@me"] = Resource { call in
            guard !isBusy else { return self.tooMany }
            guard call.grant.scopes.contains("identify") else {
                return self.problem.response(OAuthError("missing", "Missing Access", status: 403))
            }
            let open = call.grant.members(nil)
            return .json(.object(open["email"] == nil ? open.merging(["email": .null]) { $1 } : open))
        }
        return traits
    }

    /// `/api/v10/users/@me` is `/api/users/@me`.
    @Sendable private static func withoutVersion(_ path: String) -> String {
        let parts = path.split(separator: "/", maxSplits: 2)
        guard parts.count == 3, parts[0] == "api", parts[1].first == "v", Int(parts[1].dropFirst()) != nil else {
            return path
        }
        return "/api/\(parts[2])"
    }

    /// No program without a name, and nothing but forms.
    @Sendable private static func refusal(_ request: DemoRequest) -> DemoResponse? {
        guard request.field("user-agent")?.isEmpty == false else { return .text("error code: 1010\n", status: 403) }
        let isForm = request.field("content-type")?.hasPrefix("application/x-www-form-urlencoded") == true
        guard request.method != "POST" || isForm else {
            return self.problem.response(OAuthError("form", "Bad Request", status: 400))
        }
        return nil
    }

    /// The status again as text, and a code of zero.
    private static let problem = OAuthErrorFormat { problem in
        let text = problem.error == "invalid_token" ? "Unauthorized" : problem.text
        return .json(["message": .string("\(problem.status): \(text)"), "code": 0], status: problem.status)
    }

    private static let tooMany = DemoResponse.json(
        ["message": "You are being rate limited.", "retry_after": .number("0.65"), "global": false],
        status: 429,
        fields: [("Retry-After", "1"), ("X-RateLimit-Scope", "user")],
    )

    private static let people: [DemoUser] = [
        DemoUser(
            id: "ada",
            name: "ada",
            note: "ada@example.org, verified",
            record: Self.record("80351110224678912", "ada").merging([
                "global_name": "Ada", "avatar": "8342729096ea3675442027381ff50dfe", "verified": true,
                "email": "ada@example.org",
            ]) { $1 },
        ),
        DemoUser(
            id: "grace",
            name: "grace.sample",
            note: "No e-mail, no display name, no picture",
            record: Self.record("1148203417790742538", "grace.sample").merging([
                "global_name": .null, "avatar": .null, "verified": false, "email": .null,
            ]) { $1 },
        ),
        DemoUser(
            id: "margaret",
            name: "margaret",
            note: "margaret@example.com, not verified, moving picture",
            record: Self.record("41771983423143937", "margaret").merging([
                "global_name": "Margaret", "avatar": "a_1269e74af4df7417b13759eae50c83dc", "verified": false,
                "email": "margaret@example.com",
            ]) { $1 },
        ),
    ]

    private static func record(_ id: String, _ name: String) -> [String: JSON] {
        [
            "id": .string(id), "username": .string(name), "discriminator": "0", "locale": "en-US",
            "mfa_enabled": true, "public_flags": 64, "premium_type": 0, "banner": .null, "accent_color": .null,
        ]
    }
}
