// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Something that the specifications allow a provider, or that one does nevertheless.
struct OpenIDProviderQuirk: Sendable {
    let quirk: DemoQuirk
    /// What it changes about the provider.
    let change: @Sendable (inout CodeFlowTraits, SimulatorContext) -> Void
    /// What has to be in the gateway's file for it.
    let lines: [String]

    init(
        _ name: String,
        _ summary: String,
        lines: [String] = [],
        change: @escaping @Sendable (inout CodeFlowTraits, SimulatorContext) -> Void,
    ) {
        self.quirk = DemoQuirk("oidc-\(name)", of: "oidc", summary)
        self.change = change
        self.lines = lines
    }

    static let all = Self.ofRequests + Self.ofCallbacks + Self.ofKeys + Self.ofAnswers

    /// Those that are switched on.
    static func on(_ stage: SimulatorContext) -> [OpenIDProviderQuirk] {
        self.all.filter { stage.quirks.contains($0.quirk.name) }
    }

    private static let ofRequests = [
        OpenIDProviderQuirk(
            "private-key-jwt",
            "The client has to sign an assertion with its own key (RFC 7523); the gateway does and has no secret.",
            lines: ["client_authentication: private_key_jwt", "key_id: \(ClientJWT.keyID)"],
        ) { traits, _ in traits.token.proofs = [.assertion] },
        OpenIDProviderQuirk(
            "secret-in-body",
            "Only client_secret_post is offered; the gateway reads that in discovery and sends the secret so.",
        ) { traits, _ in traits.token.proofs = [.post] },
        OpenIDProviderQuirk(
            "pushed-requests",
            "Authorization requests may be pushed (RFC 9126); the gateway does so because its file says it.",
            lines: ["pushed_authorization: true"],
        ) { traits, _ in traits.paths.pushed = "/par" },
        OpenIDProviderQuirk(
            "pushed-requests-only",
            "Authorization requests have to be pushed (RFC 9126 §5); the browser carries only a name for them.",
            lines: ["pushed_authorization: true"],
        ) { traits, _ in
            traits.paths.pushed = "/par"
            traits.authorization.requiresPushed = true
        },
        OpenIDProviderQuirk(
            "pkce-required",
            "A code challenge is demanded; the gateway sends one and people sign in.",
        ) { traits, _ in traits.authorization.challenge = .required },
        OpenIDProviderQuirk(
            "pkce-unwanted",
            "A code verifier breaks the exchange; the gateway sends none because its file says 'pkce: off'.",
            lines: ["pkce: off"],
        ) { traits, _ in traits.authorization.challenge = .unwanted },
    ]

    private static let ofCallbacks = [
        OpenIDProviderQuirk(
            "form-post",
            "Callbacks come as a form from another site; the gateway knows its attempt by a cookie made for that.",
            lines: ["response_mode: form_post"],
        ) { _, _ in },
        OpenIDProviderQuirk(
            "issuer-in-callback",
            "Callbacks name the issuer as discovery promises (RFC 9207); the gateway compares it.",
        ) { traits, _ in traits.authorization.sendsIssuer = true },
        OpenIDProviderQuirk(
            "issuer-promised",
            "Discovery promises an issuer in callbacks and it is not there (RFC 9207 §2.4); the gateway refuses them.",
        ) { traits, _ in traits.metadata["authorization_response_iss_parameter_supported"] = true },
        OpenIDProviderQuirk(
            "issuer-demanded",
            "The file demands an issuer in callbacks and this provider has none; the gateway refuses them.",
            lines: ["require_iss: true"],
        ) { _, _ in },
    ]

    private static let ofKeys = [
        OpenIDProviderQuirk("es256", "ID tokens are signed with ES256; people sign in.") { traits, _ in
            traits.idToken = traits.idToken?.signed(by: .es256())
        },
        OpenIDProviderQuirk("es384", "ID tokens are signed with ES384; people sign in.") { traits, _ in
            traits.idToken = traits.idToken?.signed(by: .es384())
        },
        OpenIDProviderQuirk("ps256", "ID tokens are signed with PS256; people sign in.") { traits, _ in
            traits.idToken = (try? SigningKey.ps256()).flatMap { traits.idToken?.signed(by: $0) }
        },
        OpenIDProviderQuirk("eddsa", "ID tokens are signed with EdDSA (RFC 8037); people sign in.") { traits, _ in
            traits.idToken = traits.idToken?.signed(by: .edDSA())
        },
        OpenIDProviderQuirk("bare-key", "The key says neither alg nor use; the gateway tells by its kind.") {
            traits,
            _ in
            traits.idToken?.unpublished = ["alg", "use"]
        },
    ]

    private static let ofAnswers = [
        OpenIDProviderQuirk(
            "code-refused",
            "Every code is refused with a nested error object; the gateway reads it and signs nobody in.",
        ) { traits, _ in
            traits.token.problem = .nested
            traits.token.outage = OAuthError("invalid_grant", "The code is not valid.")
        },
        OpenIDProviderQuirk("text-lifetime", "expires_in is a text; the gateway reads the number in it.") {
            traits,
            _ in
            traits.token.lifetime = "3600"
        },
        OpenIDProviderQuirk("no-lifetime", "expires_in is missing; the gateway does without.") { traits, _ in
            traits.token.lifetime = nil
        },
        OpenIDProviderQuirk("form-answer", "The tokens come as a form instead of JSON, which is rejected.") {
            traits,
            _ in
            traits.token.answersForm = true
        },
        OpenIDProviderQuirk("comma-scopes", "Scopes come back with commas between; the gateway splits at both.") {
            traits,
            _ in
            traits.token.scopeSeparator = ","
        },
        OpenIDProviderQuirk(
            "thin-token",
            "The ID token has nothing but the subject; the gateway asks userinfo for the rest.",
        ) { traits, _ in traits.idToken?.names = ["sub"] },
    ]
}

extension IDTokenTraits {
    /// The same with another key.
    fileprivate func signed(by key: SigningKey) -> IDTokenTraits {
        var other = self
        other.key = key
        return other
    }
}
