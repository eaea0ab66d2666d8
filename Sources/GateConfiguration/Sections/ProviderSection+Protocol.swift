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
            .init(standard: .words("the type's own"), example: ["openid", "email", "profile"]),
            "The scopes to ask for."
        ),
        Key(
            "response_mode",
            located: \.responseMode,
            .oneOf("a response mode"),
            .init(standard: .words("the type's own"), example: "form_post"),
            "How the provider sends the browser back: `query`, or `form_post`, which keeps the code out of addresses and "
                + "logs; then the cookie of the attempt is sent from other sites too."
        ),
        Key(
            "pkce",
            located: \.pkce,
            .oneOf("a rule for PKCE"),
            .init(standard: .words("the type's own"), example: "auto"),
            "`required`: a challenge is always sent; `auto`: the same, and a provider whose metadata say that it cannot is "
                + "refused; `off`: none is sent."
        ),
        Key(
            "nonce",
            located: \.nonce,
            .oneOf("a rule for the nonce"),
            .of(.nonce, standard: .words("the type's own"), example: "required"),
            "Whether the ID token must carry the nonce, or only may not carry another one."
        ),
        Key(
            "id_token_algorithms",
            located: \.signatureAlgorithms,
            .list(of: .oneOf("an algorithm"), named: "a list of algorithms"),
            .of(.idTokenAlgorithms, standard: .words("the type's own"), example: ["RS256", "ES256"]),
            "The algorithms that ID tokens may be signed with."
        ),
        Key(
            "clock_leeway",
            \.clockLeeway,
            .duration(.zero...(.seconds(300)), shown: "0s to 5m"),
            .of(.clockLeeway, standard: "1m", example: "2m"),
            "How far the provider's clock may differ from the gateway's before its ID tokens are refused."
        ),
        Key(
            "require_iss",
            \.requiresIssuer,
            .flag,
            .init(standard: .words("what the provider's metadata say")),
            "Whether a callback without `iss` is refused (RFC 9207); `false` also if the metadata say that it is sent. A wrong "
                + "`iss` is always refused."
        ),
        Key(
            "pushed_authorization",
            \.pushesAuthorization,
            .flag,
            .of(.pushedAuthorization, standard: .value(false)),
            "Whether the authorization request is sent ahead by the gateway (RFC 9126)."
        ),
        Key(
            "authorization_parameters",
            \.authorizationParameters,
            .entries(of: .text, named: "a mapping of parameters to texts", rule: .authorizationParameter),
            .init(standard: .words("the type's own")),
            "Further parameters of the authorization request, such as `prompt: login` or `login_hint`."
        ),
    ]
}
