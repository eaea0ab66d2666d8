// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GatePolicy

/// What is written of one app.
struct AppDraft: Sendable {
    var host: Located<String>?
    var path: Located<String>?
    var upstream: UpstreamSettings?
    var upstreamMark: YAMLMark?
    var redirect: RedirectDraft?
    var answer: FixedResponse?
    var providers: Located<[Located<String>]>?
    var allow: Located<AllowDraft>?
    var deny: Located<[EntryDraft]>?
    var groups: GroupShare?
    var publicRules: [Located<PublicRule>]?
    var headers: [Named<IdentityField>]?
    var forwarded: Bool?
    /// What is not written, or not read from drafts of its own, stays as it is by default.
    var traffic = TrafficSettings()
    var requestHeaders: HeaderEditsDraft?
    var responseHeaders: HeaderEditsDraft?
    var webSocket: Located<Bool>?
    var webSocketOrigins: Located<WebSocketSettings>?
    /// Whether host and path were understood, so that they can be compared with those of other apps.
    var isPlaced = true
}

extension Mapping<AppDraft> {
    /// An entry of `apps`.
    static let app = Mapping(
        "an app",
        path: "apps.<name>",
        summary: "A web app behind the gateway, and who may enter it.",
        make: { AppDraft() },
        keys: placeKeys + actionKeys + accessKeys + identityKeys + trafficKeys + responseKeys + strictnessKeys,
        alternatives: ["upstream", "redirect", "answer"],
        check: { app, written, reading in app.check(written, &reading) }
    )

    private static let placeKeys: [Key<AppDraft>] = [
        Key(
            "host",
            located: \.host,
            .host,
            .init(standard: .words("the host of `public_url`"), example: "wiki.example.com"),
            "The host under which browsers reach the app, whatever the port."
        ),
        Key(
            "path",
            located: \.path,
            .appPath,
            .init(standard: "/", example: "/wiki"),
            "The path prefix, by whole segments; the longest match wins. `/oauth2` is the gateway's own."
        ),
    ]

    private static let accessKeys: [Key<AppDraft>] = [
        Key(
            "providers",
            located: \.providers,
            .list(of: Shape<String>.text.located, named: "a list of providers"),
            .init(standard: .words("all"), example: ["google", "microsoft"]),
            "The providers whose sessions count."
        ),
        Key(
            "allow",
            located: \.allow,
            .allow,
            .init(isRequired: true, example: "signed_in"),
            "Who may enter: a list of entries, of which one must fit, or `signed_in` for every session of "
                + "the accepted providers."
        ),
        Key(
            "deny",
            located: \.deny,
            .list(of: Mapping<EntryDraft>.entry.shape, named: "a list of entries"),
            .init(standard: .words("nobody")),
            "Who may not enter whatever `allow` says: a list of the same entries. Somebody whose groups the provider did "
                + "not tell in full is refused as well if the rest of an entry with a `group` fits."
        ),
        Key(
            "public",
            \.publicRules,
            .list(of: Shape<PublicRule>.publicRule.located, named: "a list of paths"),
            .init(standard: .value([]), example: ["GET /healthz", "/assets/"]),
            "What needs no sign-in: a whole path, with a method before it if only that method is meant. "
                + "A path that ends in `/` stands for all below it."
        ),
    ]

    private static let identityKeys: [Key<AppDraft>] = [
        Key(
            "groups",
            \.groups,
            .oneOf("a choice of groups"),
            .init(standard: "all", example: "named"),
            "Which groups of a person the app is told of: `all`, or those `named` in its own `allow` and `deny`."
        ),
        Key(
            "headers",
            \.headers,
            .entries(
                of: .oneOf("an identity field"),
                named: "a mapping of header names to identity fields",
                rule: .headerName
            ),
            .init(standard: .words("none")),
            "Extra names for identity fields, for apps that expect their own: `user`, `email`, `name`, "
                + "`preferred_username`, `groups` or `provider`."
        ),
        Key(
            "forwarded",
            \.forwarded,
            .flag,
            .init(standard: .value(false)),
            "Whether the app also gets the `Forwarded` header of RFC 7239, beside `X-Forwarded-For` and its like."
        ),
    ]
}

extension AppDraft {
    /// Checks what needs nothing but the app itself.
    fileprivate mutating func check(_ written: Mapping<AppDraft>.Written, _ reading: inout DecodingContext) {
        self.upstreamMark = written.keys["upstream"]
        let hasHost = self.host != nil || written.keys["host"] == nil
        self.isPlaced = hasHost && (self.path != nil || written.keys["path"] == nil)
        if let providers = self.providers, providers.value.isEmpty {
            reading.error("'providers' lists none; remove it to accept all", at: providers.mark)
        }
        self.checkPublicRules(&reading)
        self.checkTraffic(written, &reading)
    }

    private func checkPublicRules(_ reading: inout DecodingContext) {
        let prefix = self.path?.value ?? "/"
        for rule in self.publicRules ?? [] {
            let path = rule.value.path
            let isInside = prefix == "/" || path == prefix || path.hasPrefix("\(prefix)/")
            if !isInside {
                let help = "public paths are whole paths, so write '\(prefix)\(path)'"
                reading.warning("'\(path)' is outside of the app's path '\(prefix)'; \(help)", at: rule.mark)
            } else if path == "/" || path == "\(prefix)/" {
                reading.warning("'\(path)' opens the whole app to everybody", at: rule.mark)
            }
        }
    }
}
