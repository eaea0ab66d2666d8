// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviders

// How the gateway and a provider speak with each other.
extension Mapping<ProviderDraft> {
    static let protocolKeys: [Key<ProviderDraft>] = [
        Key(
            "scopes",
            located: \.scopes,
            .list(of: .scope, named: "a list of scopes").whole,
            .init(default: .words("the type's own"), example: ["openid", "email", "profile"]),
            "The scopes to ask for."
        ),
        Key(
            "response_mode",
            located: \.responseMode,
            .oneOf("a response mode"),
            .init(default: .words("the type's own"), example: "form_post"),
            "How the provider sends the browser back: `query`, or `form_post`, which keeps the code out of addresses and "
                + "logs; then the cookie of the attempt is sent from other sites too."
        ),
        Key(
            "pkce",
            located: \.pkce,
            .oneOf("a rule for PKCE"),
            .init(default: .words("the type's own"), example: "auto"),
            "`required`: a challenge is always sent; `auto`: the same, and a provider whose metadata say that it cannot is "
                + "refused; `off`: none is sent."
        ),
        Key(
            "nonce",
            located: \.nonce,
            .oneOf("a rule for the nonce"),
            .of(.nonce, default: .words("the type's own"), example: "required"),
            "Whether the ID token must carry the nonce, or only may not carry another one."
        ),
        Key(
            "id_token_algorithms",
            located: \.signatureAlgorithms,
            .list(of: .oneOf("an algorithm"), named: "a list of algorithms"),
            .of(.idTokenAlgorithms, default: .words("the type's own"), example: ["RS256", "ES256"]),
            "The algorithms that ID tokens may be signed with. By default RS256; with `oidc` and `keycloak` also PS256, "
                + "ES256, ES384, EdDSA and Ed25519. RS384, RS512, PS384, PS512 and ES512 have to be listed. HS256, HS384 "
                + "and HS512 are for `oidc` only: without others in the list, with a `client_secret` of at least 32 bytes."
        ),
        Key(
            "trusted_audiences",
            located: \.trustedAudiences,
            .list(of: .audience, named: "a list of audiences"),
            .of(.trustedAudiences, default: .words("none"), example: ["https://api.example.com"]),
            "Who else may be in the audience (`aud`) of ID tokens. A token that names somebody else beside `client_id` is "
                + "refused, and one that names several has to say in `azp` that it was issued to `client_id`."
        ),
        Key(
            "id_token_lifetime",
            \.idTokenLifetime,
            .duration(.seconds(60)...(.seconds(366 * 86_400))),
            .of(.idTokenLifetime, default: "24h", example: "7d"),
            "How long an ID token may live, from `iat` to `exp`. It must have been issued in the last ten minutes anyway, "
                + "and sessions do not end with it."
        ),
        Key(
            "jwks_max_stale",
            \.keysMaxStale,
            .duration(.zero...(.seconds(7 * 86_400))),
            .of(.keysMaxStale, default: "24h", example: "1h"),
            "How long the provider's keys are used after their time (`Cache-Control`, 5m to 24h) while they cannot be "
                + "fetched again. A key that the provider has withdrawn meanwhile is believed as long."
        ),
        Key(
            "clock_leeway",
            \.clockLeeway,
            .duration(.zero...(.seconds(300))),
            .of(.clockLeeway, default: "1m", example: "2m"),
            "How far the provider's clock may differ from the gateway's before its ID tokens are refused."
        ),
        Key(
            "require_iss",
            \.requiresIssuer,
            .flag,
            .init(default: .words("what the provider's metadata say")),
            "Whether a callback without `iss` is refused (RFC 9207); `false` also if the metadata say that it is sent. A wrong "
                + "`iss` is always refused."
        ),
        Key(
            "pushed_authorization",
            \.pushesAuthorization,
            .flag,
            .of(.pushedAuthorization, default: .value(false)),
            "Whether the authorization request is sent ahead by the gateway (RFC 9126)."
        ),
        Key(
            "max_connections",
            \.maxConnections,
            .number(1...256),
            .init(default: .value(16), example: 64),
            "How many connections to the provider there may be, and so how many sign-ins call it at a time. Those beyond "
                + "wait for 10s at most; one that would not be served in time gets 503 with `Retry-After`."
        ),
        Key(
            "authorization_parameters",
            \.authorizationParameters,
            .entries(of: .text, named: "a mapping of parameters to texts", rule: .authorizationParameter),
            .init(default: .words("the type's own")),
            "Further parameters of the authorization request, such as `prompt: login` or `login_hint`."
        ),
    ]
}
