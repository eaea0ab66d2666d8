// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Keycloak: `iss` in callbacks, an encryption key in the key set, roles in an object of the realm.
///
/// https://www.keycloak.org/securing-apps/oidc-layers
enum KeycloakSimulator {
    private static let excludedIssuer = DemoQuirk(
        "keycloak-excluded-issuer",
        of: "keycloak",
        "The client is set to 'Exclude issuer from authentication response' while discovery announces it; "
            + "the gateway rejects the callback (RFC 9207 §2.4).",
    )
    private static let unmapped = DemoQuirk(
        "keycloak-unmapped-roles",
        of: "keycloak",
        "No mapper puts roles and groups into the ID token; users sign in without any.",
    )
    private static let pkceRequired = DemoQuirk(
        "keycloak-pkce-required",
        of: "keycloak",
        "The client requires PKCE with S256; the gateway uses it and users sign in.",
    )

    static let provider = SimulatedProvider(
        "keycloak",
        clientID: "gatehouse",
        quirks: [Self.excludedIssuer, Self.unmapped, Self.pkceRequired],
        lines: { context in ["issuer: \(context.urls.base)/realms/demo"] },
        traits: Self.traits
    )

    @Sendable private static func traits(_ context: SimulatorContext) -> CodeFlowTraits {
        let root = "/realms/demo/protocol/openid-connect"
        let session = "1f0c2a9e-5b7d-4c1e-9a3f-6d8e0b2c4a51"
        var traits = CodeFlowTraits(
            title: "Keycloak",
            accent: "#4d9abf",
            users: self.users,
            paths: CodeFlowTraits.Paths(
                discovery: "/realms/demo/.well-known/openid-configuration",
                authorize: root + "/auth",
                token: root + "/token",
                keys: root + "/certs",
                userinfo: root + "/userinfo",
            ),
            issuer: context.urls.base + "/realms/demo",
        )
        traits.authorization.responseModes = ["query", "form_post"]
        traits.authorization.sendsIssuer = !context.has(self.excludedIssuer)
        traits.authorization.extras = { _ in [Form.Field("session_state", session)] }
        if context.has(self.pkceRequired) { traits.authorization.challenge = .required }
        traits.token.lifetime = 300
        traits.token.extras = { _, _ in
            [
                "refresh_expires_in": 1800, "refresh_token": .string(context.random.token(48)), "not-before-policy": 0,
                "session_state": .string(session),
            ]
        }
        var idToken = IDTokenTraits(key: .rs256(context.key))
        idToken.names = self.claims(context)
        idToken.lifetime = 300
        idToken.otherKeys = [Self.encryptionKey(context.random)]
        idToken.extras = { _, now in
            [
                "auth_time": .int(now.seconds - 3), "jti": .string(context.random.token(16)), "typ": "ID",
                "azp": .string(context.client.id), "sid": .string(session), "acr": "1",
            ]
        }
        traits.idToken = idToken
        traits.resources[root + "/userinfo"] = .userinfo(self.claims(context))
        traits.metadata = [
            "authorization_response_iss_parameter_supported": true,
            "code_challenge_methods_supported": ["plain", "S256"],
        ]
        return traits
    }

    private static func claims(_ context: SimulatorContext) -> Set<String> {
        let plain: Set<String> = [
            "sub", "name", "preferred_username", "given_name", "family_name", "email", "email_verified",
        ]
        return context.has(self.unmapped) ? plain : plain.union(["realm_access", "groups"])
    }

    /// Published first, and not for signatures.
    private static func encryptionKey(_ random: RandomBytes) -> JSON {
        [
            "kid": .string(random.token(32)), "kty": "RSA", "alg": "RSA-OAEP", "use": "enc", "e": "AQAB",
            "n": .string(RSASigningKey.idleModulus(random)),
        ]
    }

    private static let users: [DemoUser] = [
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
            note: "grace@example.org, email address not verified, in no group",
            record: [
                "sub": "7c0d0b52-43d6-4c86-8a2e-1d8f5e6a7b21", "name": "Grace Sample",
                "preferred_username": "grace", "given_name": "Grace", "family_name": "Sample",
                "email": "grace@example.org", "email_verified": false,
                "realm_access": ["roles": ["default-roles-demo"]], "groups": [],
            ],
        ),
    ]
}
