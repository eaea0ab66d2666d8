// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import Synchronization

/// Sign in with Apple: a signed secret, callbacks by form, a name that comes once and no userinfo.
///
/// https://developer.apple.com/documentation/signinwithapplerestapi
enum AppleSimulator {
    static let team = "DEM0TEAM01"

    private static let returning = DemoQuirk(
        "apple-returning",
        of: "apple",
        "Nobody is here for the first time, so Apple sends no name; the gateway shows the e-mail address in its place.",
    )
    private static let forgedUser = DemoQuirk(
        "apple-forged-user",
        of: "apple",
        "The browser's unsigned 'user' field names another e-mail address; the gateway takes only names from it.",
    )
    private static let noNonce = DemoQuirk(
        "apple-no-nonce",
        of: "apple",
        "The ID token says nonce_supported and has no nonce; the gateway refuses it.",
    )

    static let simulation = SimulatedProvider(
        name: "apple",
        clientID: "org.example.gatehouse.demo",
        quirks: [Self.returning, Self.forgedUser, Self.noNonce],
        make: { stage in CodeFlowSimulator(Self.traits(stage), on: stage) },
        lines: { stage in ["type: apple", "base_url: \(stage.address.base)"] },
        credentials: { client in
            [
                "team_id: \(Self.team)", "key_id: \(ClientJWT.keyID)",
                "private_key: \(quoted("${file:\(client.signingKeyFile)}"))",
            ]
        },
    )

    private static func traits(_ stage: SimulatorContext) -> CodeFlowTraits {
        let has = stage.quirks
        var traits = CodeFlowTraits(
            title: "Apple",
            accent: "#000000",
            people: self.people,
            paths: CodeFlowTraits.Paths(
                discovery: "/.well-known/openid-configuration",
                authorize: "/auth/authorize",
                token: "/auth/token",
                keys: "/auth/keys",
            ),
            issuer: stage.address.base,
        )
        let visitors = FirstSignIns(areOver: has.contains(self.returning.name))
        let email: JSON? = has.contains(self.forgedUser.name) ? "president@example.org" : nil
        traits.authorization.responseModes = ["query", "form_post"]
        traits.authorization.denial = [Form.Field("error", "user_cancelled_authorize")]
        traits.authorization.objection = self.objection
        traits.authorization.extras = { grant in
            visitors.isFirst(grant.person) ? self.user(grant, email: email).map { [$0] } ?? [] : []
        }
        traits.token.proofs = [.signedSecret]
        traits.token.team = self.team
        traits.token.codePrefix = "c"
        traits.token.tokenPrefix = "a"
        traits.token.problem = .bare
        traits.token.extras = { _ in ["refresh_token": .string("r" + stage.random.token(32))] }
        traits.token.scopeSeparator = nil
        var idToken = IDTokenTraits(key: .rs256(stage.key))
        idToken.names = [
            "sub", "email", "email_verified", "is_private_email", "real_user_status", "transfer_sub",
        ]
        idToken.lifetime = 86_400
        idToken.echoesNonce = !has.contains(self.noNonce.name)
        idToken.extras = { _, now in ["auth_time": .int(now.seconds - 2), "nonce_supported": true] }
        traits.idToken = idToken
        traits.metadata = [
            "subject_types_supported": ["pairwise"], "scopes_supported": ["openid", "email", "name"],
            "revocation_endpoint": .string(stage.address.base + "/auth/revoke"),
            "response_types_supported": ["code"], "code_challenge_methods_supported": .null,
        ]
        return traits
    }

    /// Apple's own words.
    private static func objection(_ form: Form) -> OAuthError? {
        let scopes = (form["scope"] ?? "").split(separator: " ")
        guard scopes.contains("name") || scopes.contains("email"), form["response_mode"] != "form_post" else {
            return nil
        }
        let text = "response_mode must be form_post when name or email scope is requested"
        return OAuthError("invalid_request", text)
    }

    /// A JSON text in a field of the form.
    private static func user(_ grant: DemoGrant, email: JSON?) -> Form.Field? {
        var members: [String: JSON] = [:]
        if grant.scopes.contains("name") { members["name"] = grant.person.more["name"] }
        if grant.scopes.contains("email") { members["email"] = email ?? grant.person.record["email"] }
        return members.isEmpty ? nil : Form.Field("user", JSON.object(members).text)
    }

    /// Texts and booleans for the same claims, as Apple mixes them; an address of a school that Apple does not verify.
    private static let people: [DemoUser] = [
        DemoUser(
            id: "ada",
            name: "Ada Example",
            note: "Hides her e-mail behind a relay address",
            record: [
                "sub": "001234.0123456789abcdef0123456789abcdef.0905", "email": "x7q9k2@privaterelay.appleid.com",
                "email_verified": "true", "is_private_email": "true", "real_user_status": 2,
            ],
            more: ["name": ["firstName": "Ada", "lastName": "Example"]],
        ),
        DemoUser(
            id: "grace",
            name: "Grace Sample",
            note: "grace@example.org, shares her e-mail",
            record: [
                "sub": "000871.fedcba9876543210fedcba9876543210.1141", "email": "grace@example.org",
                "email_verified": true,
            ],
            more: ["name": ["firstName": "Grace", "lastName": "Sample"]],
        ),
        DemoUser(
            id: "margaret",
            name: "Margaret Test",
            note: "Work & School account whose e-mail Apple has not verified",
            record: [
                "sub": "000315.00112233445566778899aabbccddeeff.2230", "email": "margaret@school.example",
                "email_verified": "false", "is_private_email": "false",
            ],
            more: ["name": ["firstName": "Margaret", "lastName": "Test"]],
        ),
    ]
}

/// Who has not been here before.
private final class FirstSignIns: Sendable {
    private let areOver: Bool
    private let known = Mutex<Set<String>>([])

    init(areOver: Bool) {
        self.areOver = areOver
    }

    func isFirst(_ person: DemoUser) -> Bool {
        !self.areOver && self.known.withLock { $0.insert(person.id).inserted }
    }
}
