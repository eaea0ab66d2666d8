// SPDX-License-Identifier: Apache-2.0

package import GateClients
internal import GateCore
package import GateYAML

/// One client as the file has it.
package struct ClientDraft: Sendable {
    var type: ClientSettings.Kind?
    var title: String?
    var secrets: [Secret]?
    /// Where responses may go.
    package var redirectURIs: Located<[Located<RedirectURI>]>?
    /// Where users may be redirected after a sign-out.
    package var postLogoutRedirectURIs: Located<[Located<RedirectURI>]>?
    var grants: [GrantName]?
    var claims: [Located<String>]?
    /// Scopes of its own, with the claims that each gives.
    var scopes: Located<[Named<[Located<String>]>]>?
    /// The names of the apps that its access tokens may be for.
    package var audiences: [Located<String>]?
    var asksConsent: Bool?
    var accessTokenLifetime: Duration?
    /// A shorter lifetime of sign-ins.
    package var lifetime: Located<Duration>?
    /// The provider of local accounts whose passwords the app takes itself.
    package var passwordProvider: Located<String>?
    var requiresDPoP: Bool?
    var requiresPushedRequests: Bool?
    /// The issuers whose tokens it may exchange for its own; their users are admitted as those of the machines of an app.
    package var exchangeIssuers: [Located<String>]? {
        get { self.access.machines?.value.issuers }
        set {
            var machines = MachinesDraft()
            machines.issuers = newValue
            self.access.machines = newValue?.first.map { Located(value: machines, mark: $0.mark) }
        }
    }
    /// What tokens for others than apps may be for.
    package var tokenAudiences: [Located<String>]?
    var tokenSubject: ClientSettings.TokenSubject?
    /// Whether tokens for others than apps have the email address as their subject.
    package var usesEmailAsSubject: Bool { self.tokenSubject == .email }
    var backChannelLogoutURI: WebURL?
    var appleApps: [String]?
    var androidApps: [AndroidAppDraft]?
    /// `providers`, `allow` and `deny`, as an app has them.
    package var access = AppDraft()

    /// The names in `providers`; nil if it accepts all.
    package var acceptedProviders: [String]? { self.access.providers?.value.map(\.value) }
}

extension Mapping<ClientDraft> {
    /// An entry of `clients`.
    package static let client = Mapping(
        "a client",
        path: "clients.<name>",
        summary:
            "An application that signs its users in at the gateway with OAuth 2.0 or OpenID Connect. Its name is the client id. "
            + "See [clients.md](clients.md).",
        make: { ClientDraft() },
        keys: identityKeys + redirectKeys + accessKeys + tokenKeys + appKeys,
        check: { client, written, reading in client.check(written, &reading) }
    )

    private static let identityKeys: [Key<ClientDraft>] = [
        Key(
            "type",
            \.type,
            .oneOf(
                "a type of client",
                otherwise: ["public": "native", "spa": "single_page", "web": "confidential", "cli": "native"]
            ),
            .init(isRequired: true, example: "native"),
            "`native` for an app on a device of the user, `single_page` for JavaScript in a browser, `confidential` for a server "
                + "that keeps a secret."
        ),
        Key(
            "name",
            \.title,
            .text,
            .init(default: .words("the client id"), example: "Notes"),
            "The name that users see."
        ),
        Key(
            "secret",
            \.secrets,
            .oneOrMany(of: .secret(atLeast: 32), named: "a secret or a list of secrets"),
            .init(default: .words("(required by `confidential`, which alone has it)"), example: "${env:NOTES_SECRET}"),
            "The client secret, at least 32 bytes. A list is for rotation: all are accepted."
        ),
    ]

    private static let redirectKeys: [Key<ClientDraft>] = [
        Key(
            "redirect_uris",
            located: \.redirectURIs,
            .redirectURIs,
            .init(
                default: .words("(required by `authorization_code`)"),
                example: ["https://notes.example.com/callback", "com.example.notes:/callback"]
            ),
            "Where codes may go, at most 100: `https`, compared exactly; `http` on 127.0.0.1 or [::1], of a native app with any "
                + "port; the own scheme of a native app, such as `com.example.notes:/callback`. See "
                + "[clients.md](clients.md#redirect-uris)."
        ),
        Key(
            "post_logout_redirect_uris",
            located: \.postLogoutRedirectURIs,
            .redirectURIs,
            .init(default: .words("none"), example: ["https://notes.example.com/"]),
            "Where users may be redirected after a sign-out, by the same rules."
        ),
        Key(
            "backchannel_logout_uri",
            \.backChannelLogoutURI,
            .endpoint,
            .init(default: .words("none"), example: "https://notes.example.com/logout"),
            "Where the client is notified of sign-outs (OpenID Connect Back-Channel Logout). Plain http is accepted on loopback only."
        ),
    ]

    private static let accessKeys: [Key<ClientDraft>] = [
        Key(
            "providers",
            located: \.access.providers,
            .list(of: Shape<String>.text.located, named: "a list of providers"),
            .init(default: .words("all"), example: ["google", "microsoft"]),
            "The providers whose users may sign in."
        ),
        Key(
            "allow",
            located: \.access.allow,
            .allow,
            .init(isRequired: true, example: "signed_in"),
            "Who may sign in: a list of entries as of apps, of which one must match, or `signed_in` for every user of the accepted "
                + "providers. Entries about paths and methods are not possible. `defaults` do not apply."
        ),
        Key(
            "deny",
            located: \.access.deny,
            .entries,
            .init(default: .words("no entry")),
            "Who may not sign in whatever `allow` contains."
        ),
        Key(
            "consent",
            \.asksConsent,
            .flag,
            .init(default: .value(false)),
            "Whether users are asked before they are signed in at the client."
        ),
        Key(
            "lifetime",
            located: \.lifetime,
            .duration(.seconds(60)...(.seconds(3650 * 86_400))),
            .init(default: .words("`sessions.lifetime`"), example: "30d"),
            "How long a sign-in at the client lasts at most, refresh tokens included."
        ),
    ]

    private static let tokenKeys: [Key<ClientDraft>] = [
        Key(
            "grants",
            \.grants,
            .grants,
            .init(
                default: .value(["authorization_code", "refresh_token"]),
                example: ["device_code", "refresh_token"]
            ),
            "How the client gets tokens: `authorization_code`, `refresh_token`, `device_code` (RFC 8628), `token_exchange` "
                + "(RFC 8693)."
        ),
        Key(
            "password_provider",
            located: \.passwordProvider,
            .text,
            .init(default: .words("none"), example: "staff"),
            "The provider of type `local` whose users may type their passwords into this app, of type `native`, for `login` and "
                + "`register` of `gateway.session_api`. The app sees the passwords, so only write it for an app of your own. See "
                + "[clients.md](clients.md#passwords-in-an-app)."
        ),
        Key(
            "claims",
            \.claims,
            .list(of: Shape<String>.claimOrFieldName.located, named: "a list of claims"),
            .init(default: .value([]), example: ["department"]),
            "Which of the providers' `claims`, and which [fields](headers.md#fields), its ID tokens and userinfo have, whatever scopes it "
                + "asks for."
        ),
        Key(
            "scopes",
            located: \.scopes,
            .entries(
                of: .list(of: Shape<String>.claimOrFieldName.located, named: "a list of claims"),
                named: "a mapping of scopes to lists of claims",
                rule: .scope
            ),
            .init(default: .words("none"), example: ["hr": ["department", "cost_center"]]),
            "Scopes of this client, at most 32, each with the providers' `claims` and the [fields](headers.md#fields) that ID tokens and "
                + "userinfo have once it was asked for and granted."
        ),
        Key(
            "audiences",
            \.audiences,
            .list(of: Shape<String>.text.located, named: "a list of apps"),
            .init(default: .words("none"), example: ["wiki"]),
            "The names of the apps that its access tokens may be for."
        ),
        Key(
            "access_token_lifetime",
            \.accessTokenLifetime,
            .duration(ClientSettings.accessTokenLifetimes),
            .init(default: "10m", example: "5m"),
            "How long an access token is valid."
        ),
        Key(
            "dpop",
            \.requiresDPoP,
            .flag,
            .init(default: .value(false)),
            "Whether its tokens must be bound to a key of the client (DPoP, RFC 9449)."
        ),
        Key(
            "require_par",
            \.requiresPushedRequests,
            .flag,
            .init(default: .value(false)),
            "Whether the client must push its authorization requests to `/oauth2/par` (RFC 9126)."
        ),
        Key(
            "token_audiences",
            \.tokenAudiences,
            .list(of: Shape<String>.tokenAudience.located, named: "a list of audiences"),
            .init(default: .words("none"), example: ["sts.amazonaws.com"]),
            "What the client may exchange its access tokens for beside those of apps: tokens for others that trust the gateway, such as "
                + "a cloud, as their `aud`. Needs `token_exchange` in `grants`. See [credentials.md](credentials.md)."
        ),
        Key(
            "exchange_issuers",
            \.exchangeIssuers,
            .list(of: Shape<String>.text.located, named: "a list of issuers"),
            .init(default: .words("none"), example: ["ci"]),
            "The `issuers` whose tokens the client may exchange for tokens of the gateway, for apps that have them in `machines.exchanged` or `machines.issuers`. Needs "
                + "`token_exchange` in `grants`. See [clients.md](clients.md#tokens-of-issuers)."
        ),
        Key(
            "subject",
            \.tokenSubject,
            .oneOf("a subject"),
            .init(default: "user", example: "email"),
            "The `sub` of tokens for `token_audiences`: `user`, the user key as everywhere else, or `email`, the verified email address; users "
                + "without one get no such token."
        ),
    ]

    private static let appKeys: [Key<ClientDraft>] = [
        Key(
            "apple_apps",
            \.appleApps,
            .appleApps,
            .init(default: .words("none"), example: ["ABCDE12345.com.example.notes"]),
            "The apps for Apple's systems that open its https redirect URIs, as team and bundle id. The hosts of the URIs name them in "
                + "`/.well-known/apple-app-site-association`. See [clients.md](clients.md#universal-links-and-app-links)."
        ),
        Key(
            "android_apps",
            \.androidApps,
            .androidApps,
            .init(default: .words("none")),
            "The Android apps that open its https redirect URIs. The hosts of the URIs name them in `/.well-known/assetlinks.json`."
        ),
    ]
}
