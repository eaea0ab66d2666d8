// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviders

extension Key.Traits {
    /// The traits of a key that only some types of provider have, or that only some need, as their catalogue says.
    static func of(_ setting: ProviderSetting, standard: KeyDefault? = nil, example: JSON? = nil) -> Self {
        let everyone: Set<ProviderSetting> = [
            .authorizationEndpoint, .clientSecret, .privateKey, .keyID, .certificate,
        ]
        let types = everyone.contains(setting) ? nil : setting.types.map(\.name)
        return Key.Traits(
            standard: standard,
            example: example,
            types: types,
            requiredBy: setting.requiredBy.map(\.name)
        )
    }
}

// MARK: How the gateway is registered

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
            .init(standard: .words("the type's own"), example: "Staff directory"),
            "What the button says."
        ),
        Key(
            "client_id",
            \.clientID,
            .text,
            .init(isRequired: true, example: "1234.apps.googleusercontent.com"),
            "The id that the provider gave you."
        ),
        Key(
            "client_secret",
            \.clientSecret,
            .secret(atLeast: 1),
            .init(standard: .words("(required without `private_key`)"), example: "${env:GOOGLE_CLIENT_SECRET}"),
            "The secret that the provider gave you."
        ),
        Key(
            "client_authentication",
            located: \.clientAuthentication,
            .oneOf("a way to authenticate", among: [.secretBasic, .secretPost, .privateKeyJWT]),
            .init(standard: .words("the type's own, or what the provider's metadata say"), example: "private_key_jwt"),
            "How the gateway proves at the provider who it is: the secret in the `Authorization` field, the secret in the "
                + "body, or a JWT signed with `private_key` (RFC 7523)."
        ),
        Key(
            "private_key",
            \.privateKey,
            .privateKey,
            .of(.privateKey, example: "keys/provider.pem"),
            "The private key that proves who the gateway is: a PEM file, or its text through a reference."
        ),
        Key("key_id", \.keyID, .text, .of(.keyID, example: "ABC123DEFG"), "The name of that key at the provider."),
        Key(
            "certificate",
            \.certificate,
            .pem,
            .of(.certificate, example: "keys/provider.crt"),
            "The PEM file of the key's certificate, for providers that know the key by it, such as Microsoft."
        ),
        Key("team_id", \.teamID, .text, .of(.teamID, example: "A1B2C3D4E5"), "The team that the key belongs to."),
        Key(
            "app",
            \.app,
            .oneOf("a kind of registration"),
            .of(.app, standard: .words("by the form of `client_id`"), example: "github_app"),
            "Whether the gateway is registered as an OAuth App or as a GitHub App, which has permissions instead of scopes."
        ),
    ]
}

// MARK: Where the provider is

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
            .of(.baseURL, standard: .words("the public service"), example: "https://github.example.com"),
            "The address of an own server, a national cloud or a simulator."
        ),
        Key(
            "api_url",
            \.apiURL,
            .baseURL,
            .of(
                .apiURL,
                standard: .words("the public service, or below `base_url`"),
                example: "https://api.example.com"
            ),
            "The address of the provider's API, if it is elsewhere."
        ),
        Key(
            "api_version",
            \.apiVersion,
            .apiVersion,
            .of(.apiVersion, standard: .words("the type's own"), example: "v23.0"),
            "The version of the API, as it stands in its addresses."
        ),
        Key(
            "authorization_endpoint",
            \.authorizationEndpoint,
            .endpoint,
            .of(
                .authorizationEndpoint,
                standard: .words("what the provider's metadata say"),
                example: "https://id.example.com/realms/staff/protocol/openid-connect/auth"
            ),
            "Where the browser is sent to sign in, if that differs from what the provider's metadata say: for a "
                + "provider that the gateway reaches by another name than browsers do. Plain http is accepted on "
                + "loopback only."
        ),
        Key(
            "token_endpoint",
            \.tokenEndpoint,
            .endpoint,
            .of(.tokenEndpoint, example: "https://id.example.com/oauth/token"),
            "Where the gateway redeems codes."
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
            .init(standard: .words("none"), example: "http://proxy.example.com:3128"),
            "The HTTP proxy that the provider is reached through, by a CONNECT tunnel; verification and pins hold through "
                + "it. Environment variables such as `HTTPS_PROXY` are never read. A provider with plain http, which is "
                + "on loopback, is never reached through it."
        ),
    ]
}

// MARK: Whose accounts may sign in

extension Mapping<ProviderDraft> {
    static let restrictionKeys: [Key<ProviderDraft>] = [
        Key(
            "tenant",
            \.tenant,
            .tenant,
            .of(.tenant, standard: "common", example: "8eae0000-2b34-4da1-9baa-8bc8c9d6a490"),
            "A tenant id, a verified domain, `organizations`, `common` or `consumers`."
        ),
        Key(
            "tenants",
            located: \.tenants,
            .list(of: .guid, named: "a list of tenant ids"),
            .of(
                .tenants,
                standard: .words("all that `tenant` names"),
                example: ["8eae0000-2b34-4da1-9baa-8bc8c9d6a490"]
            ),
            "The ids of the tenants that may sign in, with `tenant` being `common` or `organizations`."
        ),
        Key(
            "trust_email",
            located: \.trustsEmail,
            .flag,
            .of(.trustEmail, standard: .value(false)),
            "Whether e-mail addresses count as verified because the administrators of the one `tenant` are trusted to "
                + "enter none that belong to others."
        ),
        Key(
            "hosted_domains",
            located: \.hostedDomains,
            .list(of: .domain, named: "a list of domains"),
            .of(.hostedDomains, standard: .words("every Google account"), example: ["example.com"]),
            "The Workspace domains that may sign in."
        ),
        Key(
            "workspaces",
            located: \.workspaces,
            .list(of: .workspace, named: "a list of workspace ids"),
            .of(.workspaces, standard: .words("every workspace"), example: ["T0123456789"]),
            "The ids of the Slack workspaces that may sign in."
        ),
        Key(
            "reject_noreply",
            \.rejectsNoreply,
            .flag,
            .of(.rejectNoreply, standard: .value(false)),
            "Whether `…@users.noreply.github.com` does not count as an e-mail address."
        ),
    ]
}

// MARK: What is said about people

extension Mapping<ProviderDraft> {
    static let identityKeys: [Key<ProviderDraft>] = [
        Key(
            "groups",
            located: \.groups,
            .list(of: Shape<String>.text.located, named: "a list of look-ups"),
            .of(.groups, standard: .words("what tokens say"), example: ["organizations", "teams"]),
            "What is looked up at the provider: for GitHub `organizations` and `teams`, for Google `direct` or "
                + "`transitive` (Cloud Identity), for Microsoft `graph` (when the token does not list all groups)."
        ),
        Key(
            "profile",
            \.profile,
            .profile,
            .init(standard: .words("the type's own")),
            "Where the fields of the profile come from, by field: a source or a list of sources, of which the first "
                + "that answers wins. A source is `id_token:/pointer`, `userinfo:/pointer`, `api:/path#/pointer`, "
                + "`callback:/pointer` (names only) or `const:text`; an array is searched with "
                + "`api:/user/emails#[primary&&verified]/email`. The fields are "
                + "\(ProfileField.mapped.map { "`\($0.rawValue)`" }.joined(separator: ", "))."
        ),
    ]
}
