// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Auth0: an issuer that ends with a slash, subjects with the connection in them, namespaced claims.
///
/// https://auth0.com/docs/api/authentication
enum Auth0Simulator {
    private static let bareIssuer = DemoQuirk(
        "auth0-bare-issuer",
        of: "auth0",
        "The file names the issuer without its final slash; the gateway adds it and users sign in.",
    )
    private static let codeRefused = DemoQuirk(
        "auth0-code-refused",
        of: "auth0",
        "Every code is rejected with status 403; the gateway asks the user to sign in again.",
    )
    private static let secretRefused = DemoQuirk(
        "auth0-secret-refused",
        of: "auth0",
        "The secret is rejected as access_denied with status 401; the gateway reports it as its own failure.",
    )

    static let provider = SimulatedProvider(
        "auth0",
        clientID: "demoA0clientIdOf32LettersXyz0123",
        quirks: [Self.bareIssuer, Self.codeRefused, Self.secretRefused],
        lines: { context in
            let isBare = context.has(Self.bareIssuer)
            return [
                "issuer: \(context.urls.base)\(isBare ? "" : "/")",
                "profile:",
                "  roles: \(quoted("id_token:/https:~1~1example.org~1roles"))",
            ]
        },
        traits: Self.traits
    )

    @Sendable private static func traits(_ context: SimulatorContext) -> CodeFlowTraits {
        var traits = CodeFlowTraits(
            title: "Auth0",
            accent: "#635dff",
            users: self.users,
            paths: CodeFlowTraits.Paths(
                discovery: "/.well-known/openid-configuration",
                authorize: "/authorize",
                token: "/oauth/token",
                keys: "/.well-known/jwks.json",
                userinfo: "/userinfo",
            ),
            issuer: context.urls.base + "/",
        )
        traits.authorization.responseModes = ["query", "form_post"]
        traits.token.lifetime = 86_400
        traits.token.errorFormat = self.errors
        if context.has(self.codeRefused) {
            traits.token.outage = OAuthError("invalid_grant", "Invalid authorization code")
        }
        if context.has(self.secretRefused) {
            traits.token.outage = OAuthError("invalid_client", "Unauthorized")
        }
        var idToken = IDTokenTraits(key: .rs256(context.key))
        idToken.lifetime = 36_000
        idToken.hashesAccessToken = false
        idToken.extras = { _, _ in ["sid": .string(context.random.token(24))] }
        traits.idToken = idToken
        traits.resources["/userinfo"] = .userinfo()
        traits.metadata = [
            "code_challenge_methods_supported": ["S256", "plain"],
            "revocation_endpoint": .string(context.urls.base + "/oauth/revoke"),
        ]
        return traits
    }

    /// 403 for a code, and for a wrong secret an error other than that of RFC 6749 §5.2.
    private static let errors = OAuthErrorFormat { error in
        switch error.error {
        case "invalid_grant": OAuthErrorFormat.standard.response(OAuthError("invalid_grant", error.text, status: 403))
        case "invalid_client":
            OAuthErrorFormat.standard.response(OAuthError("access_denied", "Unauthorized", status: 401))
        default: OAuthErrorFormat.standard.response(error)
        }
    }

    private static let users: [DemoUser] = [
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
            note: "Registered herself, email address not verified, no role",
            record: [
                "sub": "auth0|64f0c0ffee0123456789abcd", "name": "grace@example.org", "nickname": "grace",
                "email": "grace@example.org", "email_verified": false,
                "picture": "https://s.gravatar.com/avatar/grace?s=480", "updated_at": "2026-11-20T08:15:30.123Z",
            ],
        ),
    ]
}
