// SPDX-License-Identifier: Apache-2.0

internal import GateCore
package import GateProviders
package import GateYAML

/// What kind of issuer it is, by its name in the file.
enum IssuerType: String, Sendable, CaseIterable {
    /// Any issuer of JWTs.
    case jwt
    /// GitHub Actions, whose jobs get a token for an audience that they name.
    case gitHubActions = "github_actions"
    /// The service accounts of a Kubernetes cluster.
    case kubernetes
    /// An issuer that describes its tokens, RFC 7662.
    case introspection

    /// The issuer, where it is the same for all.
    fileprivate var issuer: String? {
        self == .gitHubActions ? "https://token.actions.githubusercontent.com" : nil
    }

    /// The claims that the fields of the profile are read from, where they are not the standard ones.
    fileprivate var profile: [String: [String]] {
        switch self {
        case .jwt, .introspection: [:]
        case .gitHubActions:
            ["username": ["id_token:/repository"], "name": ["id_token:/workflow"], "groups": ["id_token:/environment"]]
        case .kubernetes: ["username": ["id_token:/sub"], "groups": ["id_token:/kubernetes.io/namespace"]]
        }
    }
}

/// One entry of `issuers` as the file has it.
package struct IssuerDraft: Sendable {
    var type: IssuerType?
    /// The part that an issuer has like a provider.
    var provider = ProviderDraft()
    var audiences: [String]?
    var algorithms: [SignatureAlgorithm]?
    var keysURL: WebURL?
    var introspection: WebURL?
    var required: [Named<[String]>]?
    var tokenType: String?
    var cache: Duration?
    var claims: [Named<[String]>]?
}

extension IssuerDraft {
    /// The issuer as written, or that of the type.
    package var issuer: String? { self.provider.issuer ?? self.type?.issuer }

    /// Whether it describes its tokens, RFC 7662.
    package var describesTokens: Bool { self.type == .introspection }

    /// The settings of a complete issuer, or nil if a required part is missing.
    package func settings(id: String) -> IssuerSettings? {
        guard let type = self.type, let issuer = self.issuer else { return nil }
        var provider = self.provider.settings(id: id, type: .oidc, clientID: self.provider.clientID ?? "")
        provider.issuer = issuer
        provider.signatureAlgorithms = self.algorithms
        let written = (self.claims ?? []).map { ($0.name, $0.value.map { "id_token:\($0)" }) }
        provider.profile = type.profile.merging(Dictionary(written) { first, _ in first }) { $1 }
        let verification: IssuerSettings.Verification
        if type == .introspection {
            guard let endpoint = self.introspection else { return nil }
            verification = .introspection(at: endpoint)
        } else {
            verification = .keys(at: self.keysURL)
        }
        var settings = IssuerSettings(provider, verification)
        settings.audiences = self.audiences ?? []
        settings.required = (self.required ?? []).map { RequiredClaim(pointer: $0.name.claimPointer, values: $0.value) }
        settings.tokenType = self.tokenType
        settings.cache = self.cache ?? IssuerSettings.defaultCache
        return settings
    }
}

extension Mapping<IssuerDraft> {
    /// An entry of `issuers`.
    package static let issuer = Mapping(
        "an issuer",
        path: "issuers.<name>",
        summary:
            "An issuer whose tokens machines bring instead of a session; apps name it in `machines`. The name is part of "
            + "every user key. See [machines.md](machines.md).",
        make: { IssuerDraft() },
        keys: tokenKeys + connectionKeys,
        check: { issuer, written, reading in issuer.check(written, &reading) }
    )

    private static let tokenKeys: [Key<IssuerDraft>] = [
        Key(
            "type",
            \.type,
            .oneOf("a type of issuer", otherwise: ["oidc": "jwt", "opaque": "introspection", "k8s": "kubernetes"]),
            .init(isRequired: true, example: "github_actions"),
            "How tokens are verified: `jwt` with the keys that the issuer publishes, `github_actions` and `kubernetes` the same "
                + "with their claims, `introspection` by asking the issuer (RFC 7662)."
        ),
        Key(
            "issuer",
            \.provider.issuer,
            .issuer,
            .init(default: .words("that of `github_actions`"), example: "https://id.example.com"),
            "The `iss` of the tokens, exactly as the issuer spells it. Plain http is accepted on loopback only."
        ),
        Key(
            "audience",
            \.audiences,
            .oneOrMany(of: .audience, named: "an audience or a list of audiences"),
            .init(
                default: .words("(required, but with `introspection` and `require`)"),
                example: "https://wiki.example.com"
            ),
            "The values of which the `aud` of a token must have one; tokens for other APIs of the issuer have another."
        ),
        Key(
            "require",
            \.required,
            .entries(
                of: .oneOrMany(of: .text, named: "a value or a list of values"),
                named: "a mapping of claims to values",
                rule: .claim
            ),
            .init(default: .words("none"), example: ["repository_owner": "example"]),
            "Claims that a token must have, each with one of some values: by name, or by a JSON Pointer for one inside of "
                + "another (RFC 6901)."
        ),
        Key(
            "token_type",
            \.tokenType,
            .text,
            .init(default: .words("`at+jwt`, `JWT` or none"), example: "at+jwt"),
            "The `typ` that the header of a token must have."
        ),
        Key(
            "algorithms",
            \.algorithms,
            .set(of: .oneOf("an algorithm"), named: "a list of algorithms", limit: 16),
            .init(default: .value(["RS256", "PS256", "ES256", "ES384", "EdDSA", "Ed25519"]), example: ["ES256"]),
            "The algorithms that tokens may be signed with; those with a shared secret are not possible."
        ),
        Key(
            "profile",
            \.claims,
            .entries(
                of: .oneOrMany(of: .claim, named: "a claim or a list of claims"),
                named: "a mapping of profile fields to claims",
                rule: .profileField
            ),
            .init(
                default: .words("the standard claims, or those of the type"),
                example: ["groups": "/realm_access/roles"]
            ),
            "The claims that fields of the profile are read from: by name, or by a JSON Pointer."
        ),
        Key(
            "cache",
            \.cache,
            .duration(.seconds(1)...(.seconds(3600))),
            .init(default: "1m", example: "10s"),
            "How long the result of a verification is used, at most until the token expires. A token that the issuer revokes, "
                + "and a key that it removes, count for as long."
        ),
    ]

    private static let connectionKeys: [Key<IssuerDraft>] = [
        Key(
            "keys_url",
            \.keysURL,
            .endpoint,
            .init(default: .words("that of the issuer's metadata"), example: "https://id.example.com/jwks.json"),
            "The URL of the keys, for an issuer without `/.well-known/openid-configuration`."
        ),
        Key(
            "introspection_endpoint",
            \.introspection,
            .endpoint,
            .init(default: .words("(required with `introspection`)"), example: "https://id.example.com/introspect"),
            "The introspection endpoint."
        ),
        Key(
            "client_id",
            \.provider.clientID,
            .text,
            .init(default: .words("(required with `introspection`)"), example: "gatehouse"),
            "The client id of the gateway at the introspection endpoint."
        ),
        Key(
            "client_secret",
            \.provider.clientSecret,
            .secret(atLeast: 1),
            .init(default: .words("(required with `introspection`)"), example: "${env:INTROSPECTION_SECRET}"),
            "The client secret for it, which is sent in `Authorization`."
        ),
        Key(
            "clock_leeway",
            \.provider.clockLeeway,
            .duration(.zero...(.seconds(300))),
            .init(default: "1m", example: "5s"),
            "How far the clock of the issuer may differ from the gateway's."
        ),
        Key(
            "tls",
            \.provider.tls,
            Mapping<ProviderTLSDraft>.providerTLS.shape,
            .init(),
            "How the issuer's server is verified, as of a provider."
        ),
        Key(
            "proxy",
            \.provider.proxy,
            .proxy,
            .init(default: .words("none"), example: "http://proxy.example.com:3128"),
            "The HTTP proxy for the issuer, used with CONNECT."
        ),
        Key(
            "max_connections",
            \.provider.maxConnections,
            .number(1...256),
            .init(default: .value(16), example: 64),
            "The maximum number of connections to the issuer."
        ),
    ]
}

extension IssuerDraft {
    fileprivate func check(_ written: Mapping<IssuerDraft>.Written, _ reading: inout DecodingContext) {
        guard let type = self.type else { return }
        let own = ["introspection_endpoint", "client_id", "client_secret"]
        for name in own where (type == .introspection) != written.has(name) {
            let mark = written.keys[name] ?? written.mark
            let message =
                type == .introspection
                ? "an issuer of type introspection needs '\(name)'"
                : "'\(name)' is for type introspection only; remove it"
            reading.error(message, at: mark)
        }
        if type == .introspection, let mark = written.keys["keys_url"] {
            reading.error("'keys_url' is not for type introspection; remove it", at: mark)
        }
        if self.issuer == nil, !written.has("issuer") {
            reading.error(
                "an issuer of type \(type.rawValue) needs 'issuer', the 'iss' of its tokens",
                at: written.mark
            )
        }
        let general: Set = ["active", "iss", "token_type", "exp", "iat", "nbf"]
        let isLimited = (self.required ?? []).contains { !general.contains($0.name) }
        if !written.has("audience"), type != .introspection || !isLimited {
            let risk = "or tokens for other APIs of the issuer would be accepted"
            reading.error("an issuer needs 'audience', \(risk)", at: written.mark)
        }
        self.checkOwner(written, &reading)
        if let symmetric = self.algorithms?.first(where: \.isSymmetric) {
            let mark = written.keys["algorithms"] ?? written.mark
            reading.error(
                "'\(symmetric.rawValue)' needs a shared secret, which tokens of machines cannot have",
                at: mark
            )
        }
    }

    /// Claims that name an owner, of issuers that serve all the world: everyone with an account there can get a token for any
    /// audience.
    private static let owners = [
        "https://token.actions.githubusercontent.com": [
            "repository_owner", "repository_owner_id", "repository", "repository_id", "sub", "enterprise_id",
        ],
        "https://gitlab.com": ["namespace_path", "namespace_id", "project_path", "project_id", "sub"],
        "https://accounts.google.com": ["sub", "email", "hd"],
        "https://app.terraform.io": ["terraform_organization_id", "terraform_organization_name", "sub"],
    ]

    private func checkOwner(_ written: Mapping<IssuerDraft>.Written, _ reading: inout DecodingContext) {
        guard written.isSound, let issuer = self.issuer, let owners = IssuerDraft.owners[issuer],
            !(self.required ?? []).contains(where: { owners.contains($0.name) })
        else { return }
        let risk = "everyone with an account at \(issuer) can get a token for this audience"
        let list = owners.joined(separator: ", ")
        reading.error(
            "\(risk); write 'require' with one of \(list), such as 'require: { \(owners[0]): NAME }'",
            at: written.mark
        )
    }
}

extension String {
    /// The JSON Pointer of a claim, by its name or as a pointer, RFC 6901 §3.
    fileprivate var claimPointer: String {
        guard !self.hasPrefix("/") else { return self }
        return "/" + self.replacing("~", with: "~0").replacing("/", with: "~1")
    }
}

extension Shape<String> {
    /// A claim, by its name or by a JSON Pointer, as a pointer.
    fileprivate static let claim = single("a claim", pattern: "^[!-~]{1,255}$") { text throws(InvalidValue) in
        let pointer = text.claimPointer
        guard (1...255).contains(text.utf8.count), ClaimSource("id_token:\(pointer)") != nil else {
            throw InvalidValue("is not the name of a claim, nor a JSON Pointer such as /realm_access/roles")
        }
        return pointer
    }
}

extension NameRule {
    /// The claims that a token must have.
    fileprivate static let claim = NameRule(subject: "a claim", pattern: "^[!-~]{1,255}$") { name in
        let isClaim = (1...255).contains(name.utf8.count) && ClaimSource("id_token:\(name.claimPointer)") != nil
        return isClaim ? nil : "write its name, or a JSON Pointer such as /realm_access/roles"
    }
}
