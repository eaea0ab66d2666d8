// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// LinkedIn: no PKCE, no nonce, a locale that is an object, and two spellings of the issuer in the world.
///
/// https://learn.microsoft.com/linkedin/consumer/integrations/self-serve/sign-in-with-linkedin-v2
enum LinkedInSimulator {
    private static let shortIssuer = DemoQuirk(
        "linkedin-short-issuer",
        of: "linkedin",
        "ID tokens name the issuer without /oauth at its end; the gateway knows both spellings as one issuer.",
    )
    private static let textClaims = DemoQuirk(
        "linkedin-text-claims",
        of: "linkedin",
        "locale and email_verified are texts, as in some of LinkedIn's ID tokens; the gateway reads them as well.",
    )

    static let simulation = SimulatedProvider.codeFlow(
        "linkedin",
        clientID: "86demo4k2l1n8q",
        quirks: [Self.shortIssuer, Self.textClaims],
        lines: { stage in ["base_url: \(stage.address.base)"] },
        traits: Self.traits
    )

    @Sendable private static func traits(_ stage: SimulatorContext) -> CodeFlowTraits {
        let isText = stage.quirks.contains(self.textClaims.name)
        var traits = CodeFlowTraits(
            title: "LinkedIn",
            accent: "#0a66c2",
            people: isText ? self.people.map(self.inWords) : self.people,
            paths: CodeFlowTraits.Paths(
                discovery: "/oauth/.well-known/openid-configuration",
                authorize: "/oauth/v2/authorization",
                token: "/oauth/v2/accessToken",
                keys: "/oauth/openid/jwks",
                userinfo: "/v2/userinfo",
            ),
            issuer: stage.address.base + "/oauth",
        )
        traits.authorization.challenge = .unwanted
        traits.authorization.denial = [
            Form.Field("error", "user_cancelled_login"),
            Form.Field("error_description", "The user cancelled LinkedIn login"),
        ]
        traits.token.proofs = [.post]
        traits.token.lifetime = 5_184_000
        traits.token.codePrefix = "AQ"
        traits.token.tokenPrefix = "AQX"
        traits.token.scopeSeparator = ","
        var idToken = IDTokenTraits(key: .rs256(stage.key))
        idToken.echoesNonce = false
        idToken.hashesAccessToken = false
        let isShort = stage.quirks.contains(self.shortIssuer.name)
        idToken.extras = { _, _ in isShort ? ["iss": .string(stage.address.base)] : [:] }
        traits.idToken = idToken
        traits.resources["/v2/userinfo"] = .userinfo()
        traits.metadata = ["subject_types_supported": ["pairwise"]]
        return traits
    }

    private static func inWords(_ person: DemoUser) -> DemoUser {
        var changed = person.record
        changed["locale"] = "en_US"
        changed["email_verified"] = changed["email_verified"].map { .string($0.text) }
        return DemoUser(id: person.id, name: person.name, note: person.note, record: changed)
    }

    private static let people: [DemoUser] = [
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
            note: "No e-mail and no picture",
            record: [
                "sub": "9Qk-2_demoZ", "name": "Grace Sample", "given_name": "Grace", "family_name": "Sample",
                "locale": ["country": "DE", "language": "de"],
            ],
        ),
    ]
}
