// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// A plain OpenID provider: follows the specifications, and, by quirk, uses what they leave open.
///
/// OpenID Connect Core 1.0.
enum OpenIDProvider {
    static let provider = SimulatedProvider(
        "oidc",
        clientID: "gatehouse-demo",
        quirks: OpenIDProviderQuirk.all.map(\.quirk),
        lines: { context in
            ["issuer: \(context.urls.base)"] + OpenIDProviderQuirk.on(context).flatMap(\.lines)
        },
        credentials: { context in
            let own = OpenIDProviderQuirk.on(context).compactMap(\.credentials).last
            return own?(context.client) ?? context.client.secretLines
        },
        certificate: { quirks in
            OpenIDProviderQuirk.all.filter { quirks.contains($0.quirk) }.compactMap(\.certificate).last
        },
        traits: Self.traits
    )

    @Sendable private static func traits(_ context: SimulatorContext) -> CodeFlowTraits {
        var traits = CodeFlowTraits(
            title: "OpenID Provider",
            accent: "#f78c40",
            users: self.users,
            paths: CodeFlowTraits.Paths(
                discovery: "/.well-known/openid-configuration",
                authorize: "/authorize",
                token: "/token",
                keys: "/jwks",
                userinfo: "/userinfo",
            ),
            issuer: context.urls.base,
        )
        var idToken = IDTokenTraits(key: .rs256(context.key))
        idToken.extras = { _, now in ["auth_time": .int(now.seconds - 1), "amr": ["pwd"]] }
        traits.idToken = idToken
        traits.authorization.responseModes = ["query", "form_post"]
        traits.resources["/userinfo"] = .userinfo()
        for quirk in OpenIDProviderQuirk.on(context) { quirk.change(&traits, context) }
        return traits
    }

    private static let users: [DemoUser] = [
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
            note: "A subject of 255 letters, a name in another script, no email address",
            record: [
                "sub": .string(String(repeating: "x", count: 255)), "name": "Γκρέις", "preferred_username": "grace",
            ],
        ),
        DemoUser(
            id: "margaret",
            name: "Margaret Test",
            note: "Given and family name only, email address not verified",
            record: [
                "sub": "Margaret|Test 1", "given_name": "Margaret", "family_name": "Test",
                "email": "margaret@example.com", "email_verified": "false",
            ],
        ),
    ]
}

/// A behavior that the specifications allow a provider, or that a provider has nevertheless.
private struct OpenIDProviderQuirk: Sendable {
    let quirk: DemoQuirk
    let change: @Sendable (inout CodeFlowTraits, SimulatorContext) -> Void
    /// The lines that the gateway's file needs for it.
    let lines: [String]
    /// The lines with the credentials of a client without a secret.
    let credentials: (@Sendable (DemoClient) -> [String])?
    /// What is registered of the certificate that the client must present.
    let certificate: DemoClientCertificate.Registration?

    init(
        _ name: String,
        _ summary: String,
        lines: [String] = [],
        credentials: (@Sendable (DemoClient) -> [String])? = nil,
        certificate: DemoClientCertificate.Registration? = nil,
        change: @escaping @Sendable (inout CodeFlowTraits, SimulatorContext) -> Void,
    ) {
        self.quirk = DemoQuirk("oidc-\(name)", of: "oidc", summary)
        self.change = change
        self.lines = lines
        self.credentials = credentials
        self.certificate = certificate
    }

    static let all = Self.ofClients + Self.ofRequests + Self.ofCallbacks + Self.ofKeys + Self.ofResponses

    static func on(_ context: SimulatorContext) -> [OpenIDProviderQuirk] {
        self.all.filter { context.has($0.quirk) }
    }

    /// Each kind of client; the provider accepts no other.
    private static let ofClients = [
        OpenIDProviderQuirk(
            "private-key-jwt",
            "The client must sign an assertion with its own key (RFC 7523); the gateway does and has no secret.",
            lines: ["client_authentication: private_key_jwt", "key_id: \(ClientJWT.keyID)"],
            credentials: \.privateKeyLines,
        ) { traits, _ in traits.token.authentication = [.assertion] },
        OpenIDProviderQuirk(
            "secret-in-body",
            "Only client_secret_post is offered; the gateway reads that in discovery and sends the secret in the body.",
        ) { traits, _ in traits.token.authentication = [.post] },
        OpenIDProviderQuirk(
            "public-client",
            "The client is public (RFC 6749 §2.1) and must use PKCE; the gateway's file has 'client_secret: none'.",
            credentials: \.publicLines,
        ) { traits, _ in
            traits.token.authentication = [.publicClient]
            traits.authorization.challenge = .required
        },
        OpenIDProviderQuirk(
            "assertion-file",
            "The client must send a token of its platform (RFC 7523), which a file has that changes every five minutes; "
                + "the gateway reads it for each call.",
            credentials: \.workloadLines,
        ) { traits, _ in traits.token.authentication = [.workload] },
        OpenIDProviderQuirk(
            "tls-client-auth",
            "The client must present a certificate whose subject is registered (RFC 8705 §2.1), and at the endpoints of "
                + "mtls_endpoint_aliases; the gateway does.",
            credentials: \.certificateLines,
            certificate: .subject,
        ) { traits, context in
            traits.token.authentication = [.certificate]
            let prefix = "/mtls"
            let token = traits.paths.token
            traits.metadata["mtls_endpoint_aliases"] = [
                "token_endpoint": .string(context.urls.base + prefix + token),
                "userinfo_endpoint": .string(context.urls.base + prefix + "/userinfo"),
            ]
            traits.canonicalPath = { $0.hasPrefix("\(prefix)/") ? String($0.dropFirst(prefix.count)) : $0 }
            traits.token.extraCheck = { request in
                guard request.path == token else { return nil }
                return OAuthError("invalid_client", "Use the endpoint of mtls_endpoint_aliases.", status: 401)
            }
        },
        OpenIDProviderQuirk(
            "self-signed-tls-client-auth",
            "The client must present the certificate that is registered, which it signed itself (RFC 8705 §2.2); the "
                + "gateway does.",
            credentials: \.certificateLines,
            certificate: .certificate,
        ) { traits, _ in traits.token.authentication = [.ownCertificate] },
    ]

    private static let ofRequests = [
        OpenIDProviderQuirk(
            "pushed-requests",
            "Authorization requests may be pushed (RFC 9126); the gateway's file asks for it.",
            lines: ["pushed_authorization: true"],
        ) { traits, _ in traits.paths.pushed = "/par" },
        OpenIDProviderQuirk(
            "pushed-requests-only",
            "Authorization requests must be pushed (RFC 9126 §5); the browser carries only a reference.",
            lines: ["pushed_authorization: true"],
        ) { traits, _ in
            traits.paths.pushed = "/par"
            traits.authorization.requiresPushed = true
        },
        OpenIDProviderQuirk(
            "pkce-required",
            "A code challenge is required; the gateway sends one and users sign in.",
        ) { traits, _ in traits.authorization.challenge = .required },
        OpenIDProviderQuirk(
            "pkce-unwanted",
            "The token endpoint rejects a code verifier; the gateway sends none because its file has 'pkce: off'.",
            lines: ["pkce: off"],
        ) { traits, _ in traits.authorization.challenge = .unwanted },
    ]

    private static let ofCallbacks = [
        OpenIDProviderQuirk(
            "form-post",
            "Callbacks come as a form from another site; the gateway recognizes the browser by a cookie with SameSite=None.",
            lines: ["response_mode: form_post"],
        ) { _, _ in },
        OpenIDProviderQuirk(
            "issuer-in-callback",
            "Callbacks name the issuer, as discovery announces (RFC 9207); the gateway compares it.",
        ) { traits, _ in traits.authorization.sendsIssuer = true },
        OpenIDProviderQuirk(
            "issuer-promised",
            "Discovery announces an issuer in callbacks and it is absent (RFC 9207 §2.4); the gateway rejects them.",
        ) { traits, _ in traits.metadata["authorization_response_iss_parameter_supported"] = true },
        OpenIDProviderQuirk(
            "issuer-demanded",
            "The file requires an issuer in callbacks and this provider sends none; the gateway rejects them.",
            lines: ["require_iss: true"],
        ) { _, _ in },
    ]

    private static let ofKeys = [
        OpenIDProviderQuirk("es256", "ID tokens are signed with ES256; users sign in.") { traits, _ in
            traits.idToken = traits.idToken?.signed(by: .es256())
        },
        OpenIDProviderQuirk("es384", "ID tokens are signed with ES384; users sign in.") { traits, _ in
            traits.idToken = traits.idToken?.signed(by: .es384())
        },
        OpenIDProviderQuirk("ps256", "ID tokens are signed with PS256; users sign in.") { traits, _ in
            traits.idToken = (try? SigningKey.ps256()).flatMap { traits.idToken?.signed(by: $0) }
        },
        OpenIDProviderQuirk("eddsa", "ID tokens are signed with EdDSA (RFC 8037); users sign in.") { traits, _ in
            traits.idToken = traits.idToken?.signed(by: .edDSA())
        },
        OpenIDProviderQuirk("bare-key", "The key has neither alg nor use; the gateway decides by its type.") {
            traits,
            _ in
            traits.idToken?.unpublished = ["alg", "use"]
        },
    ]

    private static let ofResponses = [
        OpenIDProviderQuirk(
            "code-refused",
            "Every code is rejected with a nested error object; the gateway reads it and signs no user in.",
        ) { traits, _ in
            traits.token.errorFormat = .nested
            traits.token.outage = OAuthError("invalid_grant", "The code is not valid.")
        },
        OpenIDProviderQuirk("text-lifetime", "expires_in is a string; the gateway reads the number in it.") {
            traits,
            _ in
            traits.token.lifetime = "3600"
        },
        OpenIDProviderQuirk("no-lifetime", "expires_in is absent; the gateway ignores it.") { traits, _ in
            traits.token.lifetime = nil
        },
        OpenIDProviderQuirk("form-response", "The tokens come as a form instead of JSON; the gateway rejects it.") {
            traits,
            _ in
            traits.token.encoding = { _ in .form }
        },
        OpenIDProviderQuirk(
            "comma-scopes",
            "Scopes come back separated by commas; the gateway splits at commas and spaces."
        ) {
            traits,
            _ in
            traits.token.scope = { $0.joined(separator: ",") }
        },
        OpenIDProviderQuirk(
            "thin-token",
            "The ID token has only the subject; the gateway reads the rest from userinfo.",
        ) { traits, _ in traits.idToken?.names = ["sub"] },
    ]
}

extension IDTokenTraits {
    /// These traits with another key.
    fileprivate func signed(by key: SigningKey) -> IDTokenTraits {
        var other = self
        other.key = key
        return other
    }
}
