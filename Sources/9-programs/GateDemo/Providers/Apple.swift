// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import Synchronization

/// Sign in with Apple: a signed secret, callbacks by form, a name in the first sign-in only, no userinfo.
///
/// https://developer.apple.com/documentation/signinwithapplerestapi
enum AppleSimulator {
    private static let team = "DEM0TEAM01"

    private static let returning = DemoQuirk(
        "apple-returning",
        of: "apple",
        "No user signs in for the first time, so Apple sends no name; the gateway shows the email address instead.",
    )
    private static let forgedUser = DemoQuirk(
        "apple-forged-user",
        of: "apple",
        "The browser's unsigned 'user' field names another email address; the gateway reads only names from it.",
    )
    private static let noNonce = DemoQuirk(
        "apple-no-nonce",
        of: "apple",
        "The ID token has nonce_supported and no nonce; the gateway rejects it.",
    )

    static let provider = SimulatedProvider(
        "apple",
        clientID: "org.example.gatehouse.demo",
        quirks: [Self.returning, Self.forgedUser, Self.noNonce],
        lines: { context in ["base_url: \(context.urls.base)"] },
        credentials: { context in
            ["team_id: \(Self.team)", "key_id: \(ClientJWT.keyID)"] + context.client.privateKeyLines
        },
        traits: Self.traits
    )

    @Sendable private static func traits(_ context: SimulatorContext) -> CodeFlowTraits {
        var traits = CodeFlowTraits(
            title: "Apple",
            accent: "#000000",
            users: self.users,
            paths: CodeFlowTraits.Paths(
                discovery: "/.well-known/openid-configuration",
                authorize: "/auth/authorize",
                token: "/auth/token",
                keys: "/auth/keys",
            ),
            issuer: context.urls.base,
        )
        let firstSignIns = FirstSignIns(areOver: context.has(self.returning))
        let email: JSON? = context.has(self.forgedUser) ? "president@example.org" : nil
        traits.authorization.responseModes = ["query", "form_post"]
        traits.authorization.denial = OAuthError("user_cancelled_authorize")
        traits.authorization.extraCheck = self.formPostCheck
        traits.authorization.extras = { grant in
            firstSignIns.isFirst(grant.user) ? self.user(grant, email: email).map { [$0] } ?? [] : []
        }
        traits.token.authentication = [.signedSecret]
        traits.token.team = self.team
        traits.token.code = { "c" + $0.token(32) }
        traits.token.accessToken = { "a" + $0.token(48) }
        traits.token.errorFormat = .bare
        traits.token.extras = { _, _ in ["refresh_token": .string("r" + context.random.token(32))] }
        traits.token.refresh = .keeps
        traits.token.scope = { _ in nil }
        var idToken = IDTokenTraits(key: .rs256(context.key))
        idToken.names = [
            "sub", "email", "email_verified", "is_private_email", "real_user_status", "transfer_sub",
        ]
        idToken.lifetime = 86_400
        idToken.echoesNonce = !context.has(self.noNonce)
        idToken.extras = { _, now in ["auth_time": .int(now.seconds - 2), "nonce_supported": true] }
        traits.idToken = idToken
        traits.metadata = [
            "subject_types_supported": ["pairwise"], "scopes_supported": ["openid", "email", "name"],
            "revocation_endpoint": .string(context.urls.base + "/auth/revoke"),
            "response_types_supported": ["code"], "code_challenge_methods_supported": .null,
        ]
        return traits
    }

    /// The error text is Apple's.
    @Sendable private static func formPostCheck(_ form: Form) -> OAuthError? {
        let scopes = (form["scope"] ?? "").split(separator: " ")
        guard scopes.contains("name") || scopes.contains("email"), form["response_mode"] != "form_post" else {
            return nil
        }
        let text = "response_mode must be form_post when name or email scope is requested"
        return OAuthError("invalid_request", text)
    }

    /// The form field with the user as JSON.
    private static func user(_ grant: DemoGrant, email: JSON?) -> Form.Field? {
        var members: [String: JSON] = [:]
        if grant.scopes.contains("name") { members["name"] = grant.user.more["name"] }
        if grant.scopes.contains("email") { members["email"] = email ?? grant.user.record["email"] }
        return members.isEmpty ? nil : Form.Field("user", JSON.object(members).text)
    }

    /// Strings and booleans for the same claims, as Apple mixes them; a school's email address that Apple does not verify.
    private static let users: [DemoUser] = [
        DemoUser(
            id: "ada",
            name: "Ada Example",
            note: "Hides her email address behind a relay",
            record: [
                "sub": "001234.0123456789abcdef0123456789abcdef.0905", "email": "x7q9k2@privaterelay.appleid.com",
                "email_verified": "true", "is_private_email": "true", "real_user_status": 2,
            ],
            more: ["name": ["firstName": "Ada", "lastName": "Example"]],
        ),
        DemoUser(
            id: "grace",
            name: "Grace Sample",
            note: "grace@example.org, shares her email address",
            record: [
                "sub": "000871.fedcba9876543210fedcba9876543210.1141", "email": "grace@example.org",
                "email_verified": true,
            ],
            more: ["name": ["firstName": "Grace", "lastName": "Sample"]],
        ),
        DemoUser(
            id: "margaret",
            name: "Margaret Test",
            note: "Work & School account whose email address Apple has not verified",
            record: [
                "sub": "000315.00112233445566778899aabbccddeeff.2230", "email": "margaret@school.example",
                "email_verified": "false", "is_private_email": "false",
            ],
            more: ["name": ["firstName": "Margaret", "lastName": "Test"]],
        ),
    ]
}

/// The users who have not signed in before.
private final class FirstSignIns: Sendable {
    private let areOver: Bool
    private let known = Mutex<Set<String>>([])

    init(areOver: Bool) {
        self.areOver = areOver
    }

    func isFirst(_ user: DemoUser) -> Bool {
        !self.areOver && self.known.withLock { $0.insert(user.id).inserted }
    }
}
