// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviders
internal import GateYAML

// MARK: Registration

extension Mapping<ProviderDraft> {
    static let registrationKeys: [Key<ProviderDraft>] = [
        Key(
            "type",
            \.type,
            .oneOf("a type of provider", otherwise: ProviderDraft.otherNamesOfTypes),
            .init(isRequired: true, example: "google"),
            "What kind of provider it is; `oidc` is any OpenID Connect provider, `oauth2` one without ID tokens, whose "
                + "endpoints and profile are written here; `local` has accounts with passwords in the gateway itself, see "
                + "[accounts.md](accounts.md)."
        ),
        Key(
            "name",
            \.name,
            .text,
            .init(default: .words("that of the type"), example: "Staff directory"),
            "The text of the button."
        ),
        Key(
            "icon",
            \.icon,
            .picture,
            .init(default: .words("none"), example: "pages/staff.svg"),
            "A file with the mark on the button: SVG, PNG, JPEG or WebP, at most 256 KiB; relative to the folder of this file. Keep the "
                + "rules of the provider's brand."
        ),
        Key(
            "domains",
            \.domains,
            .list(of: .domain, named: "a list of domains"),
            .init(default: .value([]), example: ["example.com"]),
            "The domains of email addresses whose users the sign-in page sends to this provider when they type theirs. It admits "
                + "no user: see `allow`."
        ),
        Key(
            "client_id",
            \.clientID,
            .text,
            .init(
                default: .words("(required, except with `local`)"),
                example: "1234.apps.googleusercontent.com",
                requiredBy: ProviderType.all.map(\.name)
            ),
            "The client id that the provider issued."
        ),
        Key(
            "client_secret",
            \.clientSecret,
            .clientSecret,
            .init(
                default: .words("(required without `private_key`, `client_assertion_file` and `tls.certificate`)"),
                example: "${env:GOOGLE_CLIENT_SECRET}"
            ),
            "The client secret that the provider issued, or `none` for a public client, whose codes PKCE protects (RFC 7636)."
        ),
        Key(
            "client_assertion_file",
            located: \.clientAssertionFile,
            .laterFile,
            .of(.clientAssertionFile, example: "/var/run/secrets/tokens/provider"),
            "A file with a JWT by which the provider knows the gateway, such as the token of a Kubernetes service account or of a cloud "
                + "(RFC 7523): instead of `client_secret`. It is read again for each call, so what rotates it needs no reload."
        ),
        Key(
            "client_authentication",
            located: \.clientAuthentication,
            .oneOf(
                "a client authentication method",
                among: [.secretBasic, .secretPost, .privateKeyJWT, .certificate, .ownCertificate, .none]
            ),
            .init(default: .words("that of the type, or of the provider's metadata"), example: "private_key_jwt"),
            "How the gateway authenticates at the provider: the secret in the `Authorization` field, the secret in the body, "
                + "a JWT signed with `private_key` (RFC 7523), the certificate of `tls` (RFC 8705, `tls_client_auth` or "
                + "`self_signed_tls_client_auth`), or `none` with `client_secret: none`."
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
            .of(
                .tokenEndpoint,
                default: .words("that of the provider's metadata"),
                example: "https://id.example.com/oauth/token"
            ),
            "The token endpoint; of a provider with metadata only if the gateway reaches it by another name."
        ),
        Key(
            "metadata_url",
            \.metadataURL,
            .endpoint,
            .of(
                .metadataURL,
                default: .words("`/.well-known/openid-configuration` below the issuer"),
                example:
                    "https://acme.b2clogin.com/acme.onmicrosoft.com/B2C_1_sign_in/v2.0/.well-known/openid-configuration"
            ),
            "The URL of the provider's metadata, if it is not below the issuer: Azure AD B2C, or a provider that the gateway reaches "
                + "by another name. The metadata must name `issuer`, as it is written there."
        ),
        Key(
            "userinfo_endpoint",
            \.userinfoEndpoint,
            .endpoint,
            .of(
                .userinfoEndpoint,
                default: .words("that of the provider's metadata"),
                example: "https://id.internal.example.com/userinfo"
            ),
            "The userinfo endpoint, if the gateway reaches it by another name than the metadata have."
        ),
        Key(
            "jwks_uri",
            \.keysURL,
            .endpoint,
            .of(
                .keysURL,
                default: .words("that of the provider's metadata"),
                example: "https://id.internal.example.com/keys"
            ),
            "The URL of the provider's keys, if the gateway reaches it by another name than the metadata have."
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
        Key(
            "claims",
            \.claims,
            .claims,
            .init(default: .words("none"), example: ["department": "id_token:/department"]),
            "What the provider reports about its users beyond the profile, by names of your choice (`[a-z][a-z0-9_]*`, at most 64): a source "
                + "or a list of sources as in `profile`, without `callback:`. Apps get a claim with `headers: { X-Department: "
                + "claims.department }` or `identity: { claims: [department] }`, rules ask for it with `claim`. Several providers may "
                + "define the same name. A claim that nothing uses is not read. See [profile.md](profile.md#claims)."
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
