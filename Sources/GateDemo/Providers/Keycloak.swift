// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Keycloak: `iss` in callbacks, a key for encryption in the key set, roles in an object of the realm.
///
/// https://www.keycloak.org/securing-apps/oidc-layers
enum KeycloakSimulator {
    private static let excludedIssuer = DemoQuirk(
        "keycloak-excluded-issuer",
        of: "keycloak",
        "The client is set to 'Exclude issuer from authentication response' while discovery promises it; "
            + "the gateway refuses the callback (RFC 9207 §2.4).",
    )
    private static let unmapped = DemoQuirk(
        "keycloak-unmapped-roles",
        of: "keycloak",
        "No mapper puts roles and groups into the ID token; the gateway knows of none and people sign in.",
    )
    private static let pkceRequired = DemoQuirk(
        "keycloak-pkce-required",
        of: "keycloak",
        "The client demands PKCE with S256; the gateway uses it and people sign in.",
    )

    static let simulation = SimulatedProvider.codeFlow(
        "keycloak",
        clientID: "gatehouse",
        quirks: [Self.excludedIssuer, Self.unmapped, Self.pkceRequired],
        lines: { stage in ["issuer: \(stage.address.base)/realms/demo"] },
        traits: Self.traits
    )

    @Sendable private static func traits(_ stage: SimulatorContext) -> CodeFlowTraits {
        let root = "/realms/demo/protocol/openid-connect"
        let session = "1f0c2a9e-5b7d-4c1e-9a3f-6d8e0b2c4a51"
        var traits = CodeFlowTraits(
            title: "Keycloak",
            accent: "#4d9abf",
            people: self.people,
            paths: CodeFlowTraits.Paths(
                discovery: "/realms/demo/.well-known/openid-configuration",
                authorize: root + "/auth",
                token: root + "/token",
                keys: root + "/certs",
                userinfo: root + "/userinfo",
            ),
            issuer: stage.address.base + "/realms/demo",
        )
        traits.authorization.responseModes = ["query", "form_post"]
        traits.authorization.sendsIssuer = !stage.quirks.contains(self.excludedIssuer.name)
        traits.authorization.extras = { _ in [Form.Field("session_state", session)] }
        if stage.quirks.contains(self.pkceRequired.name) { traits.authorization.challenge = .required }
        traits.token.lifetime = 300
        traits.token.extras = { _ in
            [
                "refresh_expires_in": 1800, "refresh_token": .string(stage.random.token(48)), "not-before-policy": 0,
                "session_state": .string(session),
            ]
        }
        var idToken = IDTokenTraits(key: .rs256(stage.key))
        idToken.names = self.claims(stage)
        idToken.lifetime = 300
        idToken.otherKeys = [Self.encryptionKey(stage.random)]
        idToken.extras = { _, now in
            [
                "auth_time": .int(now.seconds - 3), "jti": .string(stage.random.token(16)), "typ": "ID",
                "azp": .string(stage.client.id), "sid": .string(session), "acr": "1",
            ]
        }
        traits.idToken = idToken
        traits.resources[root + "/userinfo"] = .userinfo(self.claims(stage))
        traits.metadata = [
            "authorization_response_iss_parameter_supported": true,
            "code_challenge_methods_supported": ["plain", "S256"],
        ]
        return traits
    }

    private static func claims(_ stage: SimulatorContext) -> Set<String> {
        let plain: Set<String> = [
            "sub", "name", "preferred_username", "given_name", "family_name", "email", "email_verified",
        ]
        return stage.quirks.contains(self.unmapped.name) ? plain : plain.union(["realm_access", "groups"])
    }

    /// Published first, and of no use for signatures.
    private static func encryptionKey(_ random: RandomBytes) -> JSON {
        [
            "kid": .string(random.token(32)), "kty": "RSA", "alg": "RSA-OAEP", "use": "enc", "e": "AQAB",
            "n": .string(DemoKey.idleModulus(random)),
        ]
    }

    private static let people: [DemoUser] = [
        DemoUser(
            id: "ada",
            name: "Ada Example",
            note: "ada@example.org, realm role auditor, in a group below another",
            record: [
                "sub": "2f6d1f0a-8f3b-4a53-9d1c-5a1e7c0b9a10", "name": "Ada Example", "preferred_username": "ada",
                "given_name": "Ada", "family_name": "Example", "email": "ada@example.org", "email_verified": true,
                "realm_access": ["roles": ["default-roles-demo", "auditor", "offline_access"]],
                "groups": ["/staff", "/staff/platform"],
            ],
        ),
        DemoUser(
            id: "grace",
            name: "Grace Sample",
            note: "grace@example.org, e-mail not verified, in no group",
            record: [
                "sub": "7c0d0b52-43d6-4c86-8a2e-1d8f5e6a7b21", "name": "Grace Sample",
                "preferred_username": "grace", "given_name": "Grace", "family_name": "Sample",
                "email": "grace@example.org", "email_verified": false,
                "realm_access": ["roles": ["default-roles-demo"]], "groups": [],
            ],
        ),
    ]
}
