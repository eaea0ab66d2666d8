// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviders
internal import GateYAML

/// One provider as the file has it.
struct ProviderDraft: Sendable {
    var type: ProviderType?
    var name: String?
    var clientID: String?
    var clientSecret: Secret?
    var clientAuthentication: Located<ProviderDefinition.ClientAuthentication>?
    var privateKey: Secret?
    var keyID: String?
    var certificate: String?
    var teamID: String?
    var issuer: String?
    var baseURL: WebURL?
    var apiURL: WebURL?
    var authorizationEndpoint: WebURL?
    var tokenEndpoint: WebURL?
    var tenant: String?
    var tenants: Located<[String]>?
    var trustsEmail: Located<Bool>?
    var hostedDomains: Located<[String]>?
    var workspaces: Located<[String]>?
    var app: GitHubRegistration?
    var rejectsNoreply: Bool?
    var apiVersion: String?
    var groups: Located<[Located<String>]>?
    var scopes: Located<[String]>?
    var responseMode: Located<ProviderDefinition.ResponseMode>?
    var pkce: Located<ProviderDefinition.PKCERule>?
    var nonce: Located<ProviderDefinition.NonceRule>?
    var signatureAlgorithms: Located<[SignatureAlgorithm]>?
    var clockLeeway: Duration?
    var trustedAudiences: Located<[String]>?
    var idTokenLifetime: Duration?
    var keysMaxStale: Duration?
    var maxConnections: Int?
    var requiresIssuer: Bool?
    var pushesAuthorization: Bool?
    var revokesTokens: Bool?
    var authorizationParameters: [Named<String>]?
    var tls: ProviderTLSDraft?
    var proxy: WebURL?
    var profile: [Named<[Located<String>]>]?
}

extension ProviderDraft {
    /// Other names of the types, and products that the type `oidc` is for.
    static let otherNamesOfTypes: [String: String] = {
        let names = [
            "microsoft": [
                "azure", "azuread", "azure-ad", "azure_ad", "aad", "entra", "entraid", "entra-id", "entra_id", "msft",
                "ms",
                "office365", "outlook", "live",
            ],
            "google": ["gsuite", "workspace", "google-workspace", "google_workspace", "gmail", "gcp"],
            "github": ["ghe", "github-enterprise", "github_enterprise"],
            "facebook": ["meta", "instagram"],
            "oidc": [
                "openid", "openidconnect", "openid-connect", "openid_connect", "adfs", "authelia", "authentik",
                "canaille",
                "cognito", "dex", "fusionauth", "hydra", "ibm", "jumpcloud", "kanidm", "lemonldap", "onelogin", "ory",
                "pingfederate", "pingidentity", "salesforce", "zitadel",
            ],
            "oauth2": ["oauth", "oauth-2", "custom", "generic"],
        ]
        let pairs = names.flatMap { type, others in others.map { ($0, type) } }
        return Dictionary(pairs) { first, _ in first }
    }()
}

/// How the gateway is registered at GitHub.
enum GitHubRegistration: String, Sendable, CaseIterable {
    case oauthApp = "oauth_app"
    case gitHubApp = "github_app"
}

/// A provider's `tls` as the file has it.
struct ProviderTLSDraft: Sendable {
    var caFile: String?
    var pins: PinSetDraft?
}

extension Mapping<ProviderDraft> {
    /// An entry of `providers`.
    static let provider = Mapping(
        "a provider",
        path: "providers.<name>",
        summary:
            "An identity provider. The name is part of every user key and of the callback, "
            + "`/oauth2/callback/<name>`.",
        make: { ProviderDraft() },
        keys: keys,
        check: { provider, written, reading in provider.check(written, keys, &reading) }
    )

    private static let keys = registrationKeys + addressKeys + restrictionKeys + protocolKeys + identityKeys
}

extension Mapping<ProviderTLSDraft> {
    /// `providers.<name>.tls`.
    static let providerTLS = Mapping(
        "a provider's tls",
        path: "providers.<name>.tls",
        summary: "How the provider's server is verified. Verification is never off.",
        make: { ProviderTLSDraft() },
        keys: [
            Key(
                "ca_file",
                \.caFile,
                .certificatesFile,
                .init(default: .words("the system's certificates"), example: "tls/private-ca.pem"),
                "A PEM file with the only certificates to trust for this provider; relative to the folder of this file."
            ),
            Key(
                "pins",
                \.pins,
                .pins,
                .init(default: .words("none"), example: "google-roots"),
                "The keys or certificates that the provider's hosts have to present, in addition to a valid chain: "
                    + "`google-roots`, `github-roots`, `microsoft-roots`, or a mapping. All URLs must be https."
            ),
        ]
    )
}

extension ProviderDraft {
    /// The settings of a complete provider, or nil if a required part is missing.
    func settings(id: String) -> ProviderSettings? {
        guard let type = self.type, let clientID = self.clientID, self.clientSecret != nil || self.privateKey != nil
        else { return nil }
        return self.settings(id: id, type: type, clientID: clientID)
    }

    /// The settings, as far as they are written.
    func settings(id: String, type: ProviderType, clientID: String) -> ProviderSettings {
        let secret = self.clientSecret ?? Secret([])
        var settings = ProviderSettings(id: id, type: type, clientID: clientID, clientSecret: secret)
        settings.name = self.name
        settings.clientAuthentication = self.clientAuthentication?.value
        settings.privateKey = self.privateKey
        settings.keyID = self.keyID
        settings.certificate = self.certificate
        settings.teamID = self.teamID
        settings.issuer = self.issuer
        settings.baseURL = self.baseURL
        settings.apiURL = self.apiURL
        settings.authorizationEndpoint = self.authorizationEndpoint
        settings.tokenEndpoint = self.tokenEndpoint
        settings.tenant = self.tenant
        settings.tenants = self.tenants?.value ?? []
        settings.trustsEmail = self.trustsEmail?.value ?? false
        settings.hostedDomains = self.hostedDomains?.value ?? []
        settings.workspaces = self.workspaces?.value ?? []
        settings.isGitHubApp = self.app.map { $0 == .gitHubApp }
        settings.rejectsNoreply = self.rejectsNoreply ?? false
        settings.apiVersion = self.apiVersion
        settings.groups = (self.groups?.value ?? []).map(\.value)
        settings.scopes = self.scopes?.value
        settings.responseMode = self.responseMode?.value
        settings.pkce = self.pkce?.value
        settings.nonce = self.nonce?.value
        settings.signatureAlgorithms = self.signatureAlgorithms?.value
        settings.clockLeeway = self.clockLeeway
        settings.trustedAudiences = self.trustedAudiences?.value ?? []
        settings.idTokenLifetime = self.idTokenLifetime
        settings.keysMaxStale = self.keysMaxStale
        settings.maxConnections = self.maxConnections
        settings.requiresIssuer = self.requiresIssuer
        settings.pushesAuthorization = self.pushesAuthorization ?? false
        settings.revokesTokens = self.revokesTokens
        settings.authorizationParameters = (self.authorizationParameters ?? []).map { Form.Field($0.name, $0.value) }
        settings.caFile = self.tls?.caFile
        settings.pins = self.tls?.pins?.policy
        settings.proxy = self.proxy
        settings.profile = Dictionary((self.profile ?? []).map { ($0.name, $0.value.map(\.value)) }) { first, _ in first
        }
        return settings
    }
}

extension Key.Traits {
    /// The traits of a key that only some types of provider have or need, as the catalogue defines.
    static func of(_ setting: ProviderSetting, `default`: KeyDefault? = nil, example: JSON? = nil) -> Self {
        let everyone: Set<ProviderSetting> = [
            .authorizationEndpoint, .clientSecret, .privateKey, .keyID, .certificate,
        ]
        let types = everyone.contains(setting) ? nil : setting.types.map(\.name)
        return Key.Traits(
            default: `default`,
            example: example,
            types: types,
            requiredBy: setting.requiredBy.map(\.name)
        )
    }
}

// MARK: Registration

extension Mapping<ProviderDraft> {
    static let registrationKeys: [Key<ProviderDraft>] = [
        Key(
            "type",
            \.type,
            .oneOf("a type of provider", otherwise: ProviderDraft.otherNamesOfTypes),
            .init(isRequired: true, example: "google"),
            "What kind of provider it is; `oidc` is any OpenID Connect provider, `oauth2` one without ID tokens, whose "
                + "endpoints and profile are written here."
        ),
        Key(
            "name",
            \.name,
            .text,
            .init(default: .words("that of the type"), example: "Staff directory"),
            "The text of the button."
        ),
        Key(
            "client_id",
            \.clientID,
            .text,
            .init(isRequired: true, example: "1234.apps.googleusercontent.com"),
            "The client id that the provider issued."
        ),
        Key(
            "client_secret",
            \.clientSecret,
            .secret(atLeast: 1),
            .init(default: .words("(required without `private_key`)"), example: "${env:GOOGLE_CLIENT_SECRET}"),
            "The client secret that the provider issued."
        ),
        Key(
            "client_authentication",
            located: \.clientAuthentication,
            .oneOf("a client authentication method", among: [.secretBasic, .secretPost, .privateKeyJWT]),
            .init(default: .words("that of the type, or of the provider's metadata"), example: "private_key_jwt"),
            "How the gateway authenticates at the provider: the secret in the `Authorization` field, the secret in the body, or "
                + "a JWT signed with `private_key` (RFC 7523)."
        ),
        Key(
            "private_key",
            \.privateKey,
            .privateKey,
            .of(.privateKey, example: "keys/provider.pem"),
            "The private key of client authentication: a PEM file, or its text through a reference."
        ),
        Key("key_id", \.keyID, .text, .of(.keyID, example: "ABC123DEFG"), "The id of that key at the provider."),
        Key(
            "certificate",
            \.certificate,
            .pem,
            .of(.certificate, example: "keys/provider.crt"),
            "The PEM file of the key's certificate, for providers that identify the key by it, such as Microsoft."
        ),
        Key("team_id", \.teamID, .text, .of(.teamID, example: "A1B2C3D4E5"), "The team that the key belongs to."),
        Key(
            "app",
            \.app,
            .oneOf("a kind of registration"),
            .of(.app, default: .words("by the form of `client_id`"), example: "github_app"),
            "Whether the gateway is registered as an OAuth App or as a GitHub App, which has permissions instead of scopes."
        ),
    ]
}

// MARK: URLs

extension Mapping<ProviderDraft> {
    static let addressKeys: [Key<ProviderDraft>] = [
        Key(
            "issuer",
            \.issuer,
            .issuer,
            .of(.issuer, example: "https://id.example.com"),
            "The issuer exactly as the provider spells it. Plain http is accepted on loopback only."
        ),
        Key(
            "base_url",
            \.baseURL,
            .baseURL,
            .of(.baseURL, default: .words("the public service"), example: "https://github.example.com"),
            "The URL of a self-hosted server, a national cloud or a simulator."
        ),
        Key(
            "api_url",
            \.apiURL,
            .baseURL,
            .of(
                .apiURL,
                default: .words("the public service, or below `base_url`"),
                example: "https://api.example.com"
            ),
            "The URL of the provider's API, if it is elsewhere."
        ),
        Key(
            "api_version",
            \.apiVersion,
            .apiVersion,
            .of(.apiVersion, default: .words("that of the type"), example: "v23.0"),
            "The version of the API, as it appears in its URLs."
        ),
        Key(
            "authorization_endpoint",
            \.authorizationEndpoint,
            .endpoint,
            .of(
                .authorizationEndpoint,
                default: .words("that of the provider's metadata"),
                example: "https://id.example.com/realms/staff/protocol/openid-connect/auth"
            ),
            "The authorization endpoint, if it differs from that of the provider's metadata: for a provider that the "
                + "gateway reaches by another name than browsers do. Plain http is accepted on loopback only."
        ),
        Key(
            "token_endpoint",
            \.tokenEndpoint,
            .endpoint,
            .of(.tokenEndpoint, example: "https://id.example.com/oauth/token"),
            "The token endpoint."
        ),
        Key(
            "tls",
            \.tls,
            Mapping<ProviderTLSDraft>.providerTLS.shape,
            .init(),
            "How the provider's server is verified."
        ),
        Key(
            "proxy",
            \.proxy,
            .proxy,
            .init(default: .words("none"), example: "http://proxy.example.com:3128"),
            "The HTTP proxy for the provider, used with CONNECT; verification and pins apply through it. Environment "
                + "variables such as `HTTPS_PROXY` are never read. A provider with plain http, which is on loopback, is "
                + "never reached through it."
        ),
    ]
}

// MARK: Restrictions

extension Mapping<ProviderDraft> {
    static let restrictionKeys: [Key<ProviderDraft>] = [
        Key(
            "tenant",
            \.tenant,
            .tenant,
            .of(.tenant, default: "common", example: "8eae0000-2b34-4da1-9baa-8bc8c9d6a490"),
            "A tenant id, a verified domain, `organizations`, `common` or `consumers`."
        ),
        Key(
            "tenants",
            located: \.tenants,
            .list(of: .guid, named: "a list of tenant ids"),
            .of(
                .tenants,
                default: .words("all that `tenant` names"),
                example: ["8eae0000-2b34-4da1-9baa-8bc8c9d6a490"]
            ),
            "The ids of the tenants that may sign in, with `tenant` being `common` or `organizations`."
        ),
        Key(
            "trust_email",
            located: \.trustsEmail,
            .flag,
            .of(.trustEmail, default: .value(false)),
            "Whether email addresses count as verified because the administrators of the one `tenant` are trusted to enter "
                + "only those of its users."
        ),
        Key(
            "hosted_domains",
            located: \.hostedDomains,
            .list(of: .domain, named: "a list of domains"),
            .of(.hostedDomains, default: .words("every Google account"), example: ["example.com"]),
            "The Workspace domains that may sign in."
        ),
        Key(
            "workspaces",
            located: \.workspaces,
            .list(of: .workspace, named: "a list of workspace ids"),
            .of(.workspaces, default: .words("every workspace"), example: ["T0123456789"]),
            "The ids of the Slack workspaces that may sign in."
        ),
        Key(
            "reject_noreply",
            \.rejectsNoreply,
            .flag,
            .of(.rejectNoreply, default: .value(false)),
            "Whether `…@users.noreply.github.com` does not count as an email address."
        ),
    ]
}

// MARK: Identity

extension Mapping<ProviderDraft> {
    static let identityKeys: [Key<ProviderDraft>] = [
        Key(
            "groups",
            located: \.groups,
            .list(of: Shape<String>.text.located, named: "a list of look-ups"),
            .of(.groups, default: .words("those of the tokens"), example: ["organizations", "teams"]),
            "What is looked up at the provider: for GitHub `organizations` and `teams`, for Google `direct` or "
                + "`transitive` (Cloud Identity), for Microsoft `graph` (when the token does not list all groups)."
        ),
        Key(
            "profile",
            \.profile,
            .profile,
            .init(default: .words("that of the type")),
            "The sources of the fields of the profile, by field: a source or a list of sources, of which the first with "
                + "a value wins. A source is `id_token:/pointer`, `userinfo:/pointer`, `api:/path#/pointer`, "
                + "`callback:/pointer` (names only) or `const:text`; an array is searched with "
                + "`api:/user/emails#[primary&&verified]/email`. The fields are "
                + "\(ProfileField.mapped.map { "`\($0.rawValue)`" }.joined(separator: ", "))."
        ),
    ]
}

// MARK: Protocol

extension Mapping<ProviderDraft> {
    static let protocolKeys: [Key<ProviderDraft>] = [
        Key(
            "scopes",
            located: \.scopes,
            .list(of: .scope, named: "a list of scopes").whole,
            .init(default: .words("that of the type"), example: ["openid", "email", "profile"]),
            "The scopes to ask for."
        ),
        Key(
            "response_mode",
            located: \.responseMode,
            .oneOf("a response mode"),
            .init(default: .words("that of the type"), example: "form_post"),
            "How the provider returns the authorization response: `query`, or `form_post`, which keeps the code out of URLs "
                + "and logs; the cookie of the sign-in attempt is then sent from other sites too."
        ),
        Key(
            "pkce",
            located: \.pkce,
            .oneOf("a rule for PKCE"),
            .init(default: .words("that of the type"), example: "auto"),
            "`required`: a challenge is always sent; `auto`: the same, and a provider whose metadata lack support is "
                + "rejected; `off`: none is sent."
        ),
        Key(
            "nonce",
            located: \.nonce,
            .oneOf("a rule for the nonce"),
            .of(.nonce, default: .words("that of the type"), example: "required"),
            "Whether the ID token must contain the nonce, or only must not contain another one."
        ),
        Key(
            "id_token_algorithms",
            located: \.signatureAlgorithms,
            .list(of: .oneOf("an algorithm"), named: "a list of algorithms"),
            .of(.idTokenAlgorithms, default: .words("that of the type"), example: ["RS256", "ES256"]),
            "The algorithms that ID tokens may be signed with. By default RS256; with `oidc` and `keycloak` also PS256, "
                + "ES256, ES384, EdDSA and Ed25519. RS384, RS512, PS384, PS512 and ES512 have to be listed. HS256, HS384 "
                + "and HS512 are for `oidc` only: without others in the list, with a `client_secret` of at least 32 bytes."
        ),
        Key(
            "trusted_audiences",
            located: \.trustedAudiences,
            .list(of: .audience, named: "a list of audiences"),
            .of(.trustedAudiences, default: .words("none"), example: ["https://api.example.com"]),
            "Other values that the audience (`aud`) of ID tokens may contain. A token with another value beside `client_id` "
                + "is rejected, and one with several needs `client_id` in `azp`."
        ),
        Key(
            "id_token_lifetime",
            \.idTokenLifetime,
            .duration(.seconds(60)...(.seconds(366 * 86_400))),
            .of(.idTokenLifetime, default: "24h", example: "7d"),
            "The maximum lifetime of an ID token, from `iat` to `exp`. It must have been issued in the last ten minutes "
                + "anyway, and sessions do not end with it."
        ),
        Key(
            "jwks_max_stale",
            \.keysMaxStale,
            .duration(.zero...(.seconds(7 * 86_400))),
            .of(.keysMaxStale, default: "24h", example: "1h"),
            "How long the provider's keys are used after they expire (`Cache-Control`, 5m to 24h) while they cannot be "
                + "fetched again. A key that the provider has withdrawn meanwhile is trusted as long."
        ),
        Key(
            "clock_leeway",
            \.clockLeeway,
            .duration(.zero...(.seconds(300))),
            .of(.clockLeeway, default: "1m", example: "2m"),
            "How far the provider's clock may differ from the gateway's before its ID tokens are rejected."
        ),
        Key(
            "require_iss",
            \.requiresIssuer,
            .flag,
            .init(default: .words("that of the provider's metadata")),
            "Whether a callback without `iss` is rejected (RFC 9207); `false` overrides the metadata. A wrong `iss` is always "
                + "rejected."
        ),
        Key(
            "pushed_authorization",
            \.pushesAuthorization,
            .flag,
            .of(.pushedAuthorization, default: .value(false)),
            "Whether the gateway pushes the authorization request to the provider (RFC 9126)."
        ),
        Key(
            "revoke_tokens",
            \.revokesTokens,
            .flag,
            .of(.revokeTokens, default: .words("that of the type"), example: false),
            "Whether the gateway revokes the refresh or access token when the user signs out (RFC 7009), if the provider's "
                + "metadata have a `revocation_endpoint`. See [sign-out.md](sign-out.md#tokens-at-the-provider)."
        ),
        Key(
            "max_connections",
            \.maxConnections,
            .number(1...256),
            .init(default: .value(16), example: 64),
            "The maximum number of connections to the provider, and so of concurrent calls. Further calls wait for 10s at "
                + "most; a sign-in that would not be served in time gets 503 with `Retry-After`."
        ),
        Key(
            "authorization_parameters",
            \.authorizationParameters,
            .entries(of: .text, named: "a mapping of parameters to texts", rule: .authorizationParameter),
            .init(default: .words("that of the type")),
            "Additional parameters of the authorization request, such as `prompt: login` or `login_hint`."
        ),
    ]
}

extension Shape<WebURL> {
    /// The URL of an HTTP proxy.
    static let proxy: Shape = {
        let one = single("a URL", pattern: "^http://[^/?#@]+/?$", parse: proxyURL)
        return Shape(one.kind, schema: one.schema) { node, reading in
            if case .scalar(let text, _) = node.content, text.contains("@") {
                // A password may precede it.
                reading.conceal(node)
                let message = "the proxy has a user name, which is not supported; write 'http://' and its host and port"
                reading.error(message, at: node.mark)
                return nil
            }
            return one.read(node, &reading)
        }
    }()

    private static func proxyURL(_ text: String) throws(InvalidValue) -> WebURL {
        guard let mark = text.firstRange(of: "://") else {
            let isAuthority = WebURL("http://\(text)") != nil
            throw InvalidValue(
                "is not a URL; \(isAuthority ? "did you mean 'http://\(text)'?" : "write such as http://proxy:3128")"
            )
        }
        guard text[..<mark.lowerBound].lowercased() == "http" else {
            throw InvalidValue(
                "is not an http:// proxy, and others are not supported; traffic through the proxy is https anyway"
            )
        }
        guard let address = WebURL(text) else {
            throw InvalidValue("is not a URL such as http://proxy.example.com:3128")
        }
        guard address.path == "/", address.query == nil else {
            throw InvalidValue("has a path; a proxy is a host and a port, write '\(address.origin)'")
        }
        return address
    }
}

extension Shape<String> {
    /// One scope.
    ///
    /// RFC 6749 §3.3.
    static let scope = single("a scope", pattern: #"^[!#-\[\]-~]+$"#) { text throws(InvalidValue) in
        guard !text.contains(" ") else { throw InvalidValue("holds several scopes; write a list: [openid, email]") }
        let isToken = text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
        guard isToken, !text.isEmpty else { throw InvalidValue("is not a scope") }
        return text
    }

    /// One value of the `aud` claim.
    ///
    /// RFC 7519 §4.1.3.
    static let audience = single("an audience", pattern: "^[!-~]{1,255}$") { text throws(InvalidValue) in
        guard (1...255).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw InvalidValue("is not an audience, such as https://api.example.com")
        }
        return text
    }

    /// A Microsoft tenant: its id, a verified domain, or one of the three names for many tenants.
    static let tenant = single("a tenant", pattern: #"^[A-Za-z0-9.\-]+$"#) { text throws(InvalidValue) in
        let names = ["organizations", "common", "consumers"]
        if names.contains(text) { return text }
        let groups = text.split(separator: "-", omittingEmptySubsequences: false)
        let isHexadecimal = text.utf8.allSatisfy { $0 == UInt8(ascii: "-") || PercentEncoding.value(of: $0) != nil }
        if isHexadecimal, groups.map(\.utf8.count) == [8, 4, 4, 4, 12] { return text.lowercased() }
        if let domain = Origin.normalHost(text), domain.contains("."), !domain.hasPrefix("[") { return domain }
        let hint = Hint.nearest(to: text, in: names).map { "; did you mean '\($0)'?" } ?? ""
        throw InvalidValue("is not a tenant id, a domain, or one of \(names.joined(separator: ", "))\(hint)")
    }

    /// One source of a profile's field.
    static let claimSource = single(
        "a source",
        pattern: #"^((id_token|userinfo|callback):[/\[]|api:/[^#]*#[/\[]|const:).*$"#
    ) {
        text throws(InvalidValue) in
        if let reason = ClaimSource.reason(against: text) { throw InvalidValue(reason) }
        guard text.hasPrefix("const:") || !text.contains("://") else {
            throw InvalidValue("has '//' in its pointer; in the name of a claim write '~1' for each '/'")
        }
        return text
    }
}

extension Shape<String> {
    /// The id of a Microsoft tenant.
    static let guid = single("a tenant id", pattern: "^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$") {
        text throws(InvalidValue) in
        guard IssuerRule.isGUID(text) else {
            throw InvalidValue("is not a tenant id such as 8eae0000-2b34-4da1-9baa-8bc8c9d6a490")
        }
        return text.lowercased()
    }

    /// The id of a Slack workspace.
    static let workspace = single("a workspace id", pattern: "^T[A-Z0-9]{2,31}$") { text throws(InvalidValue) in
        let isPlain = text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) }
        guard isPlain, (3...32).contains(text.utf8.count), text.hasPrefix("T") else {
            throw InvalidValue("is not a workspace id such as T0123456789; the name of a workspace can be reassigned")
        }
        return text
    }

    /// A version as it appears in URLs.
    static let apiVersion = single("a version", pattern: "^v[0-9]{1,3}(\\.[0-9]{1,3})?$") { text throws(InvalidValue) in
        let parts = text.dropFirst().split(separator: ".", omittingEmptySubsequences: false)
        let isNumber = parts.allSatisfy { part in
            (1...3).contains(part.utf8.count) && part.utf8.allSatisfy { (0x30...0x39).contains($0) }
        }
        guard text.hasPrefix("v"), (1...2).contains(parts.count), isNumber else {
            throw InvalidValue("is not a version such as v23.0")
        }
        return text
    }

    /// PEM text, written through a reference, or the PEM file of that path.
    static let pem = Shape("a PEM file", schema: Schema.text(pattern: nil)) { node, reading in
        guard let scalar = reading.scalar(node, kind: "a PEM file"), !scalar.text.isEmpty else { return nil }
        guard !scalar.text.contains("-----BEGIN ") else { return scalar.text }
        // A value of a reference, or one too long for the path of a file, may be a key: it is not shown.
        guard scalar.source == .written, scalar.text.utf8.count <= 200, !scalar.text.contains("\n") else {
            reading.conceal(node)
            let name = scalar.source == .written ? "this" : scalar.shown
            reading.error("\(name) holds no PEM text; it starts with '-----BEGIN'", at: scalar.mark)
            return nil
        }
        guard !scalar.text.utf8.contains(0) else { return nil }
        let path = reading.path(scalar.text)
        guard let bytes = reading.bytes(of: path, limit: DecodingContext.certificateLimit, at: scalar.mark) else {
            return nil
        }
        if String(decoding: bytes, as: UTF8.self).contains("PRIVATE KEY-----") {
            reading.warnOfSharedSecret(path, "a private key", at: scalar.mark)
        }
        guard let text = String(validating: bytes, as: UTF8.self), text.contains("-----BEGIN ") else {
            reading.error("\(Scalar.quoted(path, limit: 4096)) is not a PEM file", at: scalar.mark)
            return nil
        }
        return text
    }
}

extension Shape<Secret> {
    /// A private key: PEM text through a reference, or the PEM file of that path.
    static let privateKey = Shape("a PEM file", schema: Schema.text(pattern: nil)) { node, reading in
        if case .scalar(let text, _) = node.content, text.contains("-----BEGIN ") {
            reading.conceal(node)
            reading.warning("a private key is in the file in clear text; write the path of a file", at: node.mark)
        }
        return Shape<String>.pem.read(node, &reading).map { Secret(text: $0) }
    }
}

extension NameRule {
    /// The parameters of an authorization request that are not the gateway's own.
    static let authorizationParameter = NameRule(
        subject: "a parameter of the authorization request",
        pattern: "^[A-Za-z][A-Za-z0-9_.\\-]{0,63}$"
    ) { name in
        let own = [
            "response_type", "client_id", "client_secret", "redirect_uri", "state", "code_challenge",
            "code_challenge_method", "request", "request_uri", "client_assertion", "client_assertion_type", "code",
        ]
        let keys = ["scope": "scopes", "response_mode": "response_mode", "nonce": "nonce"]
        guard !own.contains(name) else { return "the gateway sets it itself" }
        if let key = keys[name] { return "it has the key '\(key)'" }
        let isPlain = name.utf8.allSatisfy { $0 != UInt8(ascii: "~") && PercentEncoding.isUnreserved($0) }
        guard isPlain, (1...64).contains(name.utf8.count) else {
            return "it may hold letters, digits, '_', '-' and '.'"
        }
        return nil
    }
}

extension Shape<[Named<[Located<String>]>]> {
    /// `providers.<name>.profile`.
    static let profile = entries(
        of: Shape<[Located<String>]>.oneOrMany(
            of: Shape<String>.claimSource.located,
            named: "a source or a list of sources"
        ),
        named: "a mapping of profile fields to sources",
        rule: .profileField
    )
}

extension NameRule {
    /// The fields of a profile that can be mapped.
    static let profileField: NameRule = {
        let names = ProfileField.mapped.map(\.rawValue)
        return NameRule(subject: "a field of the profile", pattern: "^(\(names.joined(separator: "|")))$") { text in
            guard !names.contains(text) else { return nil }
            guard ProfileField(rawValue: text) == nil else { return "it is never taken from a claim" }
            if let nearest = Hint.nearest(to: text, in: names) { return "did you mean '\(nearest)'?" }
            return "the fields are \(names.joined(separator: ", "))"
        }
    }()
}

extension ClaimSource {
    /// Explains why a text is not a source, in words that follow it; nil for a source.
    ///
    /// ``init(_:)`` alone decides what a source is; this only explains.
    fileprivate static func reason(against text: String) -> String? {
        guard ClaimSource(text) == nil else { return nil }
        return self.explanation(of: text) ?? "is not a source; it may have 1024 plain characters"
    }

    private static func explanation(of text: String) -> String? {
        guard let colon = text.firstIndex(of: ":") else {
            return "is not a source; write such as 'id_token:/name'"
        }
        let rest = text[text.index(after: colon)...]
        switch text[..<colon] {
        case "id_token", "userinfo", "callback": return self.reason(againstPointer: rest)
        case "const": return rest.isEmpty ? "is not a source; a text is missing after 'const:'" : nil
        case "api":
            guard rest.hasPrefix("/"), let mark = rest.firstIndex(of: "#") else {
                return "is not a source; write 'api:', a path, '#' and a pointer: 'api:/user#/login'"
            }
            return self.reason(againstPointer: rest[rest.index(after: mark)...])
        default:
            let kinds = ["id_token", "userinfo", "api", "callback", "const"]
            let hint = Hint.nearest(to: String(text[..<colon]), in: kinds).map { "; did you mean '\($0):'?" }
            return "is not a source\(hint ?? "; it starts with id_token:, userinfo:, api:, callback: or const:")"
        }
    }

    private static func reason(againstPointer pointer: Substring) -> String? {
        guard !pointer.contains("[") else {
            return "has an invalid search; write such as [primary&&verified], [type=work] or [*], once"
        }
        guard pointer.hasPrefix("/"), pointer.count > 1 else {
            return "has no JSON Pointer; it starts with '/', such as /name"
        }
        let escapes = pointer.split(separator: "~", omittingEmptySubsequences: false).dropFirst()
        let isPlain = escapes.allSatisfy { $0.hasPrefix("0") || $0.hasPrefix("1") }
        return isPlain ? nil : "has a '~' in its pointer that is neither '~0' nor '~1'"
    }
}

extension ProviderDraft {
    /// Checks what depends on the type, and at last that it is a valid definition.
    func check(
        _ written: Mapping<ProviderDraft>.Written,
        _ keys: [Key<ProviderDraft>],
        _ reading: inout DecodingContext
    ) {
        let before = reading.errors
        self.checkSecret(written, &reading)
        self.checkProfile(&reading)
        self.checkPins(&reading)
        guard let type = self.type else { return }
        self.checkKeys(of: type, written, keys, &reading)
        if type.isOpenID, let scopes = self.scopes, !scopes.value.contains("openid") {
            reading.error("'scopes' needs 'openid', or the provider sends no identity", at: scopes.mark)
        }
        self.checkRestrictions(written, &reading)
        self.checkLookups(of: type, &reading)
        guard written.isSound, reading.errors == before, let settings = self.settings(id: "provider") else { return }
        do throws(Failure) {
            self.warnOfUnboundCodes(try ProviderDefinition(settings), &reading)
        } catch {
            reading.error(error.detail, at: written.mark)
        }
    }

    private func checkKeys(
        of type: ProviderType,
        _ written: Mapping<ProviderDraft>.Written,
        _ keys: [Key<ProviderDraft>],
        _ reading: inout DecodingContext
    ) {
        for key in keys {
            guard let types = key.traits.types, !types.contains(type.name), let mark = written.keys[key.name] else {
                continue
            }
            let help =
                type == .oidc ? "an oidc provider is found by its 'issuer'" : "remove it"
            reading.error("'\(key.name)' is for type \(types.joined(separator: ", ")) only; \(help)", at: mark)
        }
        for key in keys where key.traits.requiredBy.contains(type.name) && written.keys[key.name] == nil {
            let example = key.example.map { ", such as '\(key.name): \($0)'" } ?? ""
            reading.error("a provider of type \(type.name) needs '\(key.name)'\(example)", at: written.mark)
        }
    }

    private func checkSecret(_ written: Mapping<ProviderDraft>.Written, _ reading: inout DecodingContext) {
        if let method = self.clientAuthentication, method.value == .privateKeyJWT, written.keys["private_key"] == nil {
            reading.error(
                "private_key_jwt needs 'private_key', such as 'private_key: keys/provider.pem'",
                at: method.mark
            )
        }
        let needsKey = self.type?.required.contains(.privateKey) ?? false
        guard written.keys["client_secret"] == nil, written.keys["private_key"] == nil, !needsKey else { return }
        let example = "such as 'client_secret: ${env:GOOGLE_CLIENT_SECRET}'"
        reading.error("a provider needs 'client_secret', \(example)", at: written.mark)
    }

    private func checkProfile(_ reading: inout DecodingContext) {
        self.warnOfChangingIDs(&reading)
        for field in self.profile ?? [] where ProfileField(rawValue: field.name)?.takesUnsigned == false {
            for source in field.value where source.value.hasPrefix("callback:") {
                let reason = "values from a browser are not signed; they may fill name, given_name and family_name only"
                reading.error("'\(field.name)' cannot come from a callback; \(reason)", at: source.mark)
            }
        }
    }

    private func checkRestrictions(_ written: Mapping<ProviderDraft>.Written, _ reading: inout DecodingContext) {
        let tenant = self.tenant ?? "common"
        let isOpen = ["common", "organizations", "consumers"].contains(tenant)
        if let trust = self.trustsEmail, trust.value, isOpen {
            reading.error(
                "'trust_email' needs one 'tenant'; with '\(tenant)' any administrator could claim any email address",
                at: trust.mark
            )
        }
        let lists = [
            ("tenants", self.tenants), ("hosted_domains", self.hostedDomains), ("workspaces", self.workspaces),
        ]
        for case (let name, let list?) in lists where list.value.isEmpty && written.isSound {
            reading.error("'\(name)' is an empty list; remove it to accept all", at: list.mark)
        }
        if let algorithms = self.signatureAlgorithms, algorithms.value.isEmpty, written.isSound {
            let message = "'id_token_algorithms' is an empty list, so every token would be rejected; remove it"
            reading.error(message, at: algorithms.mark)
        }
        self.checkTokens(&reading)
        guard let tenants = self.tenants, !tenants.value.isEmpty else { return }
        if !isOpen || tenant == "consumers" {
            reading.error("'tenants' goes with tenant common or organizations; remove it", at: tenants.mark)
        }
    }

    private func checkTokens(_ reading: inout DecodingContext) {
        let secret = self.clientSecret ?? Secret([])
        if let type = self.type, let algorithms = self.signatureAlgorithms,
            let failure = SignatureAlgorithm.conflict(in: algorithms.value, of: type, secret: secret)
        {
            reading.error("'id_token_algorithms': \(failure)", at: algorithms.mark)
        }
        if let audiences = self.trustedAudiences, let clientID = self.clientID, audiences.value.contains(clientID) {
            reading.error(
                "'trusted_audiences' has the client_id, which is always accepted; remove it",
                at: audiences.mark
            )
        }
        if let audiences = self.trustedAudiences, audiences.value.count > 32 {
            reading.error("'trusted_audiences' has more than 32 entries", at: audiences.mark)
        }
    }

    private func checkLookups(of type: ProviderType, _ reading: inout DecodingContext) {
        guard let groups = self.groups, !type.lookups.isEmpty else { return }
        if groups.value.isEmpty {
            reading.error("'groups' is an empty list; remove it for no look-up", at: groups.mark)
        }
        for (index, name) in groups.value.enumerated() {
            guard type.lookups.contains(name.value) else {
                let nearest = reading.nearest(to: name.value, in: type.lookups).map { "did you mean '\($0)'?" }
                let help = nearest ?? "\(type.name) has \(type.lookups.joined(separator: ", "))"
                reading.error("\(Scalar.quoted(name.value)) is not a look-up; \(help)", at: name.mark)
                continue
            }
            if groups.value[..<index].contains(where: { $0.value == name.value }) {
                reading.error("\(Scalar.quoted(name.value)) is in the list already", at: name.mark)
            }
        }
        if type == .google, groups.value.count > 1 {
            reading.error("write one of 'direct' and 'transitive', which finds the direct ones too", at: groups.mark)
        }
    }

    /// Without challenge and nonce a stolen code works in every browser.
    ///
    /// RFC 9700 §2.1.1.
    private func warnOfUnboundCodes(_ definition: ProviderDefinition, _ reading: inout DecodingContext) {
        guard definition.pkce == .off, let mark = self.pkce?.mark ?? self.nonce?.mark else { return }
        guard self.type?.isOpenID == false || definition.nonce == .ifPresent else { return }
        reading.warning(
            "without PKCE and nonce an attacker can use a stolen code; use it only if the provider fails otherwise",
            at: mark
        )
    }

    /// A value that users can change, or that can be reassigned, is not an id.
    private func warnOfChangingIDs(_ reading: inout DecodingContext) {
        let changing = ["email", "mail", "upn", "preferred_username", "username", "login", "userPrincipalName"]
        for source in self.profile?.first(where: { $0.name == "subject" })?.value ?? [] {
            let name = String(source.value.split(whereSeparator: { "/#]".contains($0) }).last ?? "")
            guard changing.contains(name) else { continue }
            let help = "its next owner would be the same user; choose an id that stays"
            reading.warning("\(Scalar.quoted(name)) can be reassigned; \(help)", at: source.mark)
        }
    }
}
