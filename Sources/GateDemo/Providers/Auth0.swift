// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Auth0: an issuer that ends with a slash, subjects with the connection in them, namespaced claims.
///
/// https://auth0.com/docs/api/authentication
enum Auth0Simulator {
    private static let bareIssuer = DemoQuirk(
        "auth0-bare-issuer",
        of: "auth0",
        "The file names the issuer without the slash at its end; the gateway knows that it is there and people sign in.",
    )
    private static let codeRefused = DemoQuirk(
        "auth0-code-refused",
        of: "auth0",
        "Every code is refused, with status 403; the gateway asks the visitor to sign in again.",
    )
    private static let secretRefused = DemoQuirk(
        "auth0-secret-refused",
        of: "auth0",
        "The secret is refused as access_denied with status 401; the gateway does not blame the visitor.",
    )

    static let simulation = SimulatedProvider.codeFlow(
        "auth0",
        clientID: "demoA0clientIdOf32LettersXyz0123",
        quirks: [Self.bareIssuer, Self.codeRefused, Self.secretRefused],
        lines: { stage in
            let isBare = stage.quirks.contains(Self.bareIssuer.name)
            return [
                "issuer: \(stage.address.base)\(isBare ? "" : "/")",
                "profile:",
                "  roles: \(quoted("id_token:/https:~1~1example.org~1roles"))",
            ]
        },
        traits: Self.traits
    )

    @Sendable private static func traits(_ stage: SimulatorContext) -> CodeFlowTraits {
        var traits = CodeFlowTraits(
            title: "Auth0",
            accent: "#635dff",
            people: self.people,
            paths: CodeFlowTraits.Paths(
                discovery: "/.well-known/openid-configuration",
                authorize: "/authorize",
                token: "/oauth/token",
                keys: "/.well-known/jwks.json",
                userinfo: "/userinfo",
            ),
            issuer: stage.address.base + "/",
        )
        traits.authorization.responseModes = ["query", "form_post"]
        traits.token.lifetime = 86_400
        traits.token.problem = self.problem
        if stage.quirks.contains(self.codeRefused.name) {
            traits.token.outage = OAuthError("invalid_grant", "Invalid authorization code")
        }
        if stage.quirks.contains(self.secretRefused.name) {
            traits.token.outage = OAuthError("invalid_client", "Unauthorized")
        }
        var idToken = IDTokenTraits(key: .rs256(stage.key))
        idToken.lifetime = 36_000
        idToken.hashesAccessToken = false
        idToken.extras = { _, _ in ["sid": .string(stage.random.token(24))] }
        traits.idToken = idToken
        traits.resources["/userinfo"] = .userinfo()
        traits.metadata = [
            "code_challenge_methods_supported": ["S256", "plain"],
            "revocation_endpoint": .string(stage.address.base + "/oauth/revoke"),
        ]
        return traits
    }

    /// 403 for a code, and for a wrong secret another name than RFC 6749 §5.2 gives.
    private static let problem = OAuthErrorFormat { problem in
        switch problem.error {
        case "invalid_grant": OAuthErrorFormat.standard.response(OAuthError("invalid_grant", problem.text, status: 403))
        case "invalid_client":
            OAuthErrorFormat.standard.response(OAuthError("access_denied", "Unauthorized", status: 401))
        default: OAuthErrorFormat.standard.response(problem)
        }
    }

    private static let people: [DemoUser] = [
        DemoUser(
            id: "ada",
            name: "Ada Example",
            note: "ada@example.org, through the Google connection, editor",
            record: [
                "sub": "google-oauth2|104729384756102938475", "name": "Ada Example", "nickname": "ada",
                "given_name": "Ada", "family_name": "Example", "email": "ada@example.org", "email_verified": true,
                "picture": "https://s.gravatar.com/avatar/ada?s=480", "updated_at": "2026-11-20T08:15:30.123Z",
                "https://example.org/roles": ["editor", "viewer"],
            ],
        ),
        DemoUser(
            id: "grace",
            name: "grace@example.org",
            note: "Registered by herself, e-mail not verified, no role",
            record: [
                "sub": "auth0|64f0c0ffee0123456789abcd", "name": "grace@example.org", "nickname": "grace",
                "email": "grace@example.org", "email_verified": false,
                "picture": "https://s.gravatar.com/avatar/grace?s=480", "updated_at": "2026-11-20T08:15:30.123Z",
            ],
        ),
    ]
}
