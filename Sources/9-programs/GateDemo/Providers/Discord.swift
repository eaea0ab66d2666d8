// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Discord: an API that requires a User-Agent, snowflake ids, email addresses that may be unverified.
///
/// https://discord.com/developers/docs/topics/oauth2
enum DiscordSimulator {
    private static let rateLimit = DemoQuirk(
        "discord-rate-limit",
        of: "discord",
        "The profile is rejected with 429 and a retry_after of 0.65 s; the gateway reports a provider failure.",
    )

    static let provider = SimulatedProvider(
        "discord",
        clientID: "157730590492196864",
        quirks: [Self.rateLimit],
        lines: { context in
            [
                "base_url: \(context.urls.base)",
                "authorization_endpoint: \(context.urls.pages)/oauth2/authorize",
            ]
        },
        traits: Self.traits
    )

    @Sendable private static func traits(_ context: SimulatorContext) -> CodeFlowTraits {
        var traits = CodeFlowTraits(
            title: "Discord",
            accent: "#5865f2",
            users: self.users,
            paths: CodeFlowTraits.Paths(authorize: "/oauth2/authorize", token: "/api/oauth2/token"),
            issuer: context.urls.base,
        )
        traits.canonicalPath = self.withoutVersion
        traits.precheck = self.precheck
        traits.token.lifetime = 604_800
        traits.token.extras = { _, _ in ["refresh_token": .string(context.random.token(24))] }
        traits.resourceErrors = self.errors
        let isBusy = context.has(self.rateLimit)
        traits.resources["/api/users/@me"] = ProtectedResource { call in
            guard !isBusy else { return self.tooMany }
            guard call.grant.scopes.contains("identify") else {
                return self.errors.response(OAuthError("missing", "Missing Access", status: 403))
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

    /// Rejects requests without a `User-Agent`, and bodies other than forms.
    @Sendable private static func precheck(_ request: DemoRequest) -> DemoResponse? {
        guard request.field("user-agent")?.isEmpty == false else { return .text("error code: 1010\n", status: 403) }
        let isForm = request.field("content-type")?.hasPrefix("application/x-www-form-urlencoded") == true
        guard request.method != "POST" || isForm else {
            return self.errors.response(OAuthError("form", "Bad Request", status: 400))
        }
        return nil
    }

    /// The status in the message, and a code of zero.
    private static let errors = OAuthErrorFormat { error in
        let text = error.error == "invalid_token" ? "Unauthorized" : error.text
        return .json(["message": .string("\(error.status): \(text)"), "code": 0], status: error.status)
    }

    private static let tooMany = DemoResponse.json(
        ["message": "You are being rate limited.", "retry_after": .number("0.65"), "global": false],
        status: 429,
        fields: [("Retry-After", "1"), ("X-RateLimit-Scope", "user")],
    )

    private static let users: [DemoUser] = [
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
            note: "No email address, no display name, no picture",
            record: Self.record("1148203417790742538", "grace.sample").merging([
                "global_name": .null, "avatar": .null, "verified": false, "email": .null,
            ]) { $1 },
        ),
        DemoUser(
            id: "margaret",
            name: "margaret",
            note: "margaret@example.com, not verified, animated picture",
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
