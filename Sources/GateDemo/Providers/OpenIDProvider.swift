// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// A plain OpenID provider that does what the specifications say, and, if told, what they leave open.
///
/// OpenID Connect Core 1.0.
enum OpenIDProvider {
    static let simulation = SimulatedProvider(
        name: "oidc",
        clientID: "gatehouse-demo",
        quirks: OpenIDProviderQuirk.all.map(\.quirk),
        make: { stage in CodeFlowSimulator(Self.traits(stage), on: stage) },
        lines: { stage in
            let lines = OpenIDProviderQuirk.on(stage).flatMap(\.lines)
            let signs = lines.contains("client_authentication: private_key_jwt")
            let proof = signs ? "private_key: \(Self.file(stage.client.signingKeyFile))" : Self.secret(stage.client)
            return ["type: oidc", "issuer: \(stage.address.base)", proof] + lines
        },
        credentials: { _ in [] },
    )

    private static func secret(_ client: DemoClient) -> String { "client_secret: \(self.file(client.secretFile))" }

    private static func file(_ path: String) -> String { quoted("${file:\(path)}") }

    private static func traits(_ stage: SimulatorContext) -> CodeFlowTraits {
        var traits = CodeFlowTraits(
            title: "OpenID Provider",
            accent: "#f78c40",
            people: self.people,
            paths: CodeFlowTraits.Paths(
                discovery: "/.well-known/openid-configuration",
                authorize: "/authorize",
                token: "/token",
                keys: "/jwks",
                userinfo: "/userinfo",
            ),
            issuer: stage.address.base,
        )
        var idToken = IDTokenTraits(key: .rs256(stage.key))
        idToken.extras = { _, now in ["auth_time": .int(now.seconds - 1), "amr": ["pwd"]] }
        traits.idToken = idToken
        traits.authorization.responseModes = ["query", "form_post"]
        traits.resources["/userinfo"] = .userinfo()
        for quirk in OpenIDProviderQuirk.on(stage) { quirk.change(&traits, stage) }
        return traits
    }

    private static let people: [DemoUser] = [
        DemoUser(
            id: "ada",
            name: "Ada Example",
            note: "ada@example.org, all standard claims",
            record: [
                "sub": "248289761001", "name": "Ada Example", "given_name": "Ada", "family_name": "Example",
                "preferred_username": "ada", "email": "ada@example.org", "email_verified": true, "locale": "en-GB",
                "picture": "https://provider.example/pictures/ada.png", "groups": ["staff", "platform"],
            ],
        ),
        DemoUser(
            id: "grace",
            name: "Grace",
            note: "A subject of 255 letters, a name in another script, no e-mail",
            record: [
                "sub": .string(String(repeating: "x", count: 255)), "name": "Γκρέις", "preferred_username": "grace",
            ],
        ),
        DemoUser(
            id: "margaret",
            name: "Margaret Test",
            note: "No name but given and family name, e-mail not verified",
            record: [
                "sub": "Margaret|Test 1", "given_name": "Margaret", "family_name": "Test",
                "email": "margaret@example.com", "email_verified": "false",
            ],
        ),
    ]
}
