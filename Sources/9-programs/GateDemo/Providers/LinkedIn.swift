// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// LinkedIn: no PKCE, no nonce, a locale that is an object, and two spellings of the issuer.
///
/// https://learn.microsoft.com/linkedin/consumer/integrations/self-serve/sign-in-with-linkedin-v2
enum LinkedInSimulator {
    private static let shortIssuer = DemoQuirk(
        "linkedin-short-issuer",
        of: "linkedin",
        "ID tokens name the issuer without /oauth at its end; the gateway accepts both spellings.",
    )
    private static let textClaims = DemoQuirk(
        "linkedin-text-claims",
        of: "linkedin",
        "locale and email_verified are strings, as in some of LinkedIn's ID tokens; the gateway reads them as well.",
    )

    static let provider = SimulatedProvider(
        "linkedin",
        clientID: "86demo4k2l1n8q",
        quirks: [Self.shortIssuer, Self.textClaims],
        lines: { context in ["base_url: \(context.urls.base)"] },
        traits: Self.traits
    )

    @Sendable private static func traits(_ context: SimulatorContext) -> CodeFlowTraits {
        let isText = context.has(self.textClaims)
        var traits = CodeFlowTraits(
            title: "LinkedIn",
            accent: "#0a66c2",
            users: isText ? self.users.map(self.withStrings) : self.users,
            paths: CodeFlowTraits.Paths(
                discovery: "/oauth/.well-known/openid-configuration",
                authorize: "/oauth/v2/authorization",
                token: "/oauth/v2/accessToken",
                keys: "/oauth/openid/jwks",
                userinfo: "/v2/userinfo",
            ),
            issuer: context.urls.base + "/oauth",
        )
        traits.authorization.challenge = .unwanted
        traits.authorization.denial = OAuthError("user_cancelled_login", "The user cancelled LinkedIn login")
        traits.token.authentication = [.post]
        traits.token.lifetime = 5_184_000
        traits.token.code = { "AQ" + $0.token(32) }
        traits.token.accessToken = { "AQX" + $0.token(48) }
        traits.token.scope = { $0.joined(separator: ",") }
        var idToken = IDTokenTraits(key: .rs256(context.key))
        idToken.echoesNonce = false
        idToken.hashesAccessToken = false
        let isShort = context.has(self.shortIssuer)
        idToken.extras = { _, _ in isShort ? ["iss": .string(context.urls.base)] : [:] }
        traits.idToken = idToken
        traits.resources["/v2/userinfo"] = .userinfo()
        traits.metadata = ["subject_types_supported": ["pairwise"]]
        return traits
    }

    private static func withStrings(_ user: DemoUser) -> DemoUser {
        var changed = user.record
        changed["locale"] = "en_US"
        changed["email_verified"] = changed["email_verified"].map { .string($0.text) }
        return DemoUser(id: user.id, name: user.name, note: user.note, record: changed)
    }

    private static let users: [DemoUser] = [
        DemoUser(
            id: "ada",
            name: "Ada Example",
            note: "ada@example.org, verified",
            record: [
                "sub": "782bbtaQ_x", "name": "Ada Example", "given_name": "Ada", "family_name": "Example",
                "picture": "https://media.licdn.com/dms/image/demo/ada", "email": "ada@example.org",
                "email_verified": true, "locale": ["country": "US", "language": "en"],
            ],
        ),
        DemoUser(
            id: "grace",
            name: "Grace Sample",
            note: "No email address and no picture",
            record: [
                "sub": "9Qk-2_demoZ", "name": "Grace Sample", "given_name": "Grace", "family_name": "Sample",
                "locale": ["country": "DE", "language": "de"],
            ],
        ),
    ]
}
