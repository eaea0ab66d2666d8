// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import GatePolicy
package import GateProxy
internal import GateSessions
package import GateYAML

/// One app as the file has it.
package struct AppDraft: Sendable {
    /// One host or several; nil for that of `public_url`.
    package var hosts: Located<[Located<HostPattern>]>?
    /// The path prefix.
    package var path: Located<String>?
    /// The servers of the app.
    package var upstream: UpstreamSettings?
    /// Where the servers are written.
    package var upstreamMark: YAMLMark?
    package var redirect: RedirectDraft?
    var response: FixedResponse?
    /// Whether a proxy forwards the app's requests, and which decisions it gets.
    package var forwardAuth: Located<ForwardAuthMode>?
    var providers: Located<[Located<String>]>?
    var accepts: Located<[Located<AcceptedCredential>]>?
    /// What access tokens may permit, by name.
    package var scopes: Located<[Named<String>]>?
    /// Whether it is a server of the Model Context Protocol.
    var mcp: Located<Bool>?
    var mcpMaxBody: Located<Int>?
    var allow: Located<AllowDraft>?
    var deny: Located<[EntryDraft]>?
    var groups: GroupShare?
    /// The tokens that are accepted instead of a session.
    package var machines: Located<MachinesDraft>?
    var publicRules: [Located<PublicRule>]?
    /// A shorter idle time-out of sessions.
    package var idleTimeout: Located<Duration>?
    /// A shorter lifetime of sessions.
    package var lifetime: Located<Duration>?
    var recheck: Duration??
    var headers: [Named<IdentityFact>]?
    var certificateHeaders: Located<[CertificateHeader]>?
    /// How users see it.
    var display: DisplaySettings?
    var identity: IdentityDraft?
    var forwarded: Bool?
    /// The settings that are read in place; keys that are not written leave the defaults.
    package var traffic = TrafficSettings()
    var rewrite: RewriteDraft?
    var requestHeaders: HeaderEditsDraft?
    var responseHeaders: HeaderEditsDraft?
    var webSocket: Located<Bool>?
    var webSocketOrigins: Located<WebSocketSettings>?
    /// Whether host and path were valid, so that they can be compared with those of other apps.
    package var isPlaced = true
}

extension Mapping<AppDraft> {
    /// An entry of `apps`.
    package static let app = Mapping(
        "an app",
        path: "apps.<name>",
        summary: "A web app that the gateway protects, and the users who may access it.",
        make: { AppDraft() },
        keys: placeKeys + actionKeys + accessKeys + tokenKeys + mcpKeys + lifetimeKeys + identityKeys + trafficKeys
            + responseKeys
            + strictnessKeys,
        alternatives: ["upstream", "redirect", "response", "forward_auth"],
        check: { app, written, reading in app.check(written, &reading) }
    )

    private static let placeKeys: [Key<AppDraft>] = [
        Key(
            "host",
            located: \.hosts,
            .hosts,
            .init(default: .words("the host of `public_url`"), example: "wiki.example.com"),
            "The host under which browsers reach the app, on any port, or a list of hosts, at most 1000. `*.apps.example.com` is "
                + "every host one label below `apps.example.com` that no app names as a host of its own. See "
                + "[hosts.md](hosts.md)."
        ),
        Key(
            "path",
            located: \.path,
            .appPath,
            .init(default: "/", example: "/wiki"),
            "The path prefix, matched by whole segments; the longest match wins. `gateway.endpoint_prefix` is reserved for the "
                + "gateway, and escaped slashes are not allowed."
        ),
        Key(
            "display",
            \.display,
            Mapping<DisplaySettings>.display.shape,
            .init(default: .words("its name")),
            "How users see the app."
        ),
    ]

    private static let accessKeys: [Key<AppDraft>] = [
        Key(
            "providers",
            located: \.providers,
            .list(of: Shape<String>.text.located, named: "a list of providers"),
            .init(default: .words("all"), example: ["google", "microsoft"]),
            "The providers whose users may access the app."
        ),
        Key(
            "machines",
            located: \.machines,
            Mapping<MachinesDraft>.machines.shape,
            .init(default: .words("none")),
            "The tokens that are accepted instead of a session, for clients without a browser."
        ),
        Key(
            "accept",
            located: \.accepts,
            .list(of: Shape<AcceptedCredential>.oneOf("a credential").located, named: "a list of credentials"),
            .init(default: .value(["session"]), example: ["session", "token"]),
            "What users may prove their identity with: a `session` of a browser, or an access `token` that a client of `clients` has "
                + "got for this app, as `Authorization: Bearer`. See [clients.md](clients.md)."
        ),
        Key(
            "allow",
            located: \.allow,
            .allow,
            .init(default: .words("(required here or in `defaults`)"), example: "signed_in"),
            "Who may access the app: a list of entries, of which one must match, or `signed_in` for every user of the "
                + "accepted providers."
        ),
        Key(
            "deny",
            located: \.deny,
            .entries,
            .init(default: .words("no entry")),
            "Who is denied access whatever `allow` contains: a list of the same entries, in addition to those of `defaults`. A "
                + "user whose list of groups is "
                + "incomplete is denied as well if the other conditions of an entry with a `group` match."
        ),
        Key(
            "public",
            \.publicRules,
            .list(of: Shape<PublicRule>.publicRule.located, named: "a list of paths"),
            .init(default: .value([]), example: ["GET /healthz", "/assets/"]),
            "The paths that need no sign-in: whole paths or patterns as in `path` of an entry, with a method before it if only "
                + "that method is meant. A path that ends in `/` includes all paths below it. A mapping with `network` is for the "
                + "clients of a network, which the app gets as the user `anonymous@network`."
        ),
    ]

    private static let tokenKeys: [Key<AppDraft>] = [
        Key(
            "scopes",
            located: \.scopes,
            .entries(of: .scopeText, named: "a mapping of scopes to what they permit", rule: .scope),
            .init(default: .words("none"), example: ["notes.write": "Change and delete notes"]),
            "The scopes that clients may ask for, at most 32, each with what it permits, as the user reads it before consenting. `scope` in "
                + "`allow` and `deny` names what they are for. See [policy.md](policy.md#scopes)."
        )
    ]

    private static let mcpKeys: [Key<AppDraft>] = [
        Key(
            "mcp",
            located: \.mcp,
            .flag,
            .init(default: .value(false)),
            "Whether the app is a server of the Model Context Protocol: it accepts access tokens, publishes the metadata by which "
                + "clients find the gateway, and `allow` and `deny` may have `mcp_method` and `mcp_tool`. See [mcp.md](mcp.md)."
        ),
        Key(
            "mcp_max_body",
            located: \.mcpMaxBody,
            .size(1024...(16 << 20)),
            .init(default: .words("1MiB")),
            "The maximum size of the body of a request about whose messages a rule decides, which the gateway reads before; a larger "
                + "one is denied."
        ),
    ]

    /// `defaults`: the keys about access and lifetimes.
    package static let defaults = Mapping(
        "the defaults",
        path: "defaults",
        summary:
            "What holds for each app that does not have the key itself; entries of `deny` are added to those of the app.",
        make: { AppDraft() },
        keys: accessKeys + lifetimeKeys + identityKeys.filter { $0.name == "groups" }
    )

    private static let lifetimeKeys: [Key<AppDraft>] = [
        Key(
            "idle_timeout",
            located: \.idleTimeout,
            .duration(.seconds(120)...(.seconds(3650 * 86_400))),
            .init(default: .words("`sessions.idle_timeout`"), example: "15m"),
            "A shorter idle time-out for this app: a session that was not used for as long, even once, needs a new sign-in for "
                + "this app and goes on for others. See [sessions.md](sessions.md#lifetimes)."
        ),
        Key(
            "lifetime",
            located: \.lifetime,
            .duration(.seconds(60)...(.seconds(3650 * 86_400))),
            .init(default: .words("`sessions.lifetime`"), example: "8h"),
            "A shorter lifetime of sessions for this app: longer after the sign-in, the app needs a new one."
        ),
        Key(
            "recheck",
            \.recheck,
            .recheck,
            .init(default: .words("`sessions.recheck`"), example: "5m"),
            "How long the provider's word holds for this app, shorter or longer than for others; with `never` the app causes no "
                + "re-check. See [sessions.md](sessions.md#re-checks)."
        ),
    ]

    private static let identityKeys: [Key<AppDraft>] = [
        Key(
            "groups",
            \.groups,
            .oneOf("a choice of groups"),
            .init(default: "all", example: "named"),
            "Which groups of a user the app receives: `all`, or those `named` in its own `allow` and `deny`."
        ),
        Key(
            "headers",
            \.headers,
            .entries(
                of: .identityFact,
                named: "a mapping of header names to identity fields",
                rule: .headerName
            ),
            .init(default: .words("none")),
            "Additional headers for identity fields, for apps that expect other names or further fields: "
                + "\(IdentityField.allCases.map { "`\($0.rawValue)`" }.joined(separator: ", ")), or `claims.NAME` for one of the "
                + "providers' `claims`. What is sent here is in the assertion as well."
        ),
        Key(
            "certificate_headers",
            located: \.certificateHeaders,
            .list(of: .oneOf("a header"), named: "a list of headers"),
            .init(default: .words("none"), example: ["Client-Cert"]),
            "Headers with the verified certificate of the client: `X-Forwarded-Client-Cert` in the form of Envoy, `Client-Cert` and "
                + "`Client-Cert-Chain` of RFC 9440. An app gets them only if a listener has `client_certificates` for its hosts and the "
                + "certificate was verified. See [client-certificates.md](client-certificates.md#headers)."
        ),
        Key(
            "identity",
            \.identity,
            Mapping<IdentityDraft>.identity.shape,
            .init(default: .words("the standard headers")),
            "How the app receives the identity: presets for well-known apps, fields, encoding, a signature."
        ),
        Key(
            "forwarded",
            \.forwarded,
            .flag,
            .init(default: .value(false)),
            "Whether the app also gets the `Forwarded` header of RFC 7239, beside `X-Forwarded-For` and the like."
        ),
    ]
}

extension AppDraft {
    /// The gateway itself forwards the requests, and passes nothing of the client under the names.
    fileprivate func checkCertificateHeaders(_ reading: inout DecodingContext) {
        guard let headers = self.certificateHeaders else { return }
        if self.forwardAuth != nil {
            let reason = "with 'forward_auth' another proxy forwards the requests"
            reading.error("'certificate_headers' is for apps with 'upstream': \(reason)", at: headers.mark)
        }
        let kept = self.requestHeaders?.keep ?? []
        let names = Set(CertificateHeader.allCases.map { $0.rawValue.lowercased() })
        if let name = kept.first(where: { names.contains($0.value.lowercased()) }) {
            let reason = "the app could not distinguish a certificate that was verified from the client's own text"
            reading.error(
                "'keep' and 'certificate_headers' exclude each other for '\(name.value)': \(reason)",
                at: name.mark
            )
        }
        let own = (self.headers ?? []).map { ($0.name, $0.mark) }
        let set = (self.requestHeaders?.set ?? []).map { ($0.name, $0.mark) }
        if let (name, mark) = (own + set).first(where: { names.contains($0.0.lowercased()) }) {
            let reason = "the app could not distinguish its value from a certificate that was verified"
            reading.error("'\(name)' is one of 'certificate_headers' already: \(reason)", at: mark)
        }
        if headers.value.isEmpty {
            reading.error("'certificate_headers' is an empty list; remove it", at: headers.mark)
        }
    }

    /// Where `certificate_headers` is; nil if it is not.
    package var certificateHeadersMark: YAMLMark? { self.certificateHeaders?.mark }

    /// Checks what depends on this app only.
    fileprivate mutating func check(_ written: Mapping<AppDraft>.Written, _ reading: inout DecodingContext) {
        self.upstreamMark = written.keys["upstream"]
        if !written.has("allow") {
            reading.error("an app needs 'allow', such as 'allow: signed_in'", at: written.mark)
        }
        self.checkCertificateHeaders(&reading)
        if let accepts = self.accepts, accepts.value.isEmpty {
            reading.error("'accept' is an empty list; write [session], [token] or both", at: accepts.mark)
        }
        if let accepts = self.accepts, self.forwardAuth != nil, accepts.value.contains(where: { $0.value == .token }) {
            let help = "make it remove 'Authorization', so that the app gets no token that opens other apps"
            reading.warning("the proxy in front forwards the access token to the app; \(help)", at: accepts.mark)
        }
        let hasHost = self.hosts != nil || written.keys["host"] == nil
        self.isPlaced = hasHost && (self.path != nil || written.keys["path"] == nil)
        if let providers = self.providers, providers.value.isEmpty, self.machines?.value.isEmpty ?? true {
            let help = "remove it to accept all providers, or write 'machines' for an app without browsers"
            reading.error("'providers' is an empty list; \(help)", at: providers.mark)
        }
        if let size = self.mcpMaxBody, !self.isMCP {
            reading.error("'mcp_max_body' is for apps with 'mcp: true'; write that or remove it", at: size.mark)
        }
        self.checkTokens(&reading)
        self.checkHosts(&reading)
        self.checkPublicRules(&reading)
        self.checkTraffic(written, &reading)
    }

    /// Whether it is a server of the Model Context Protocol.
    package var isMCP: Bool { self.mcp?.value ?? false }

    /// Whether it accepts access tokens of the gateway.
    package var acceptsTokens: Bool { self.isMCP || self.accepts?.value.contains { $0.value == .token } ?? false }

    /// Rejects what is about access tokens where the app accepts none.
    private func checkTokens(_ reading: inout DecodingContext) {
        let limit = 32
        if let scopes = self.scopes, scopes.value.count > limit {
            reading.error("'scopes' has more than \(limit) entries", at: scopes.mark)
        }
        guard !self.acceptsTokens else { return }
        let help = "which the app does not accept; write 'accept: [session, token]', or remove this"
        if let first = self.machines?.value.exchanged?.first {
            reading.error("'exchanged' is about access tokens, \(help)", at: first.mark)
        }
        if let scopes = self.scopes {
            reading.error("'scopes' are those of access tokens, \(help)", at: scopes.mark)
        }
    }

    private func checkHosts(_ reading: inout DecodingContext) {
        guard let hosts = self.hosts else { return }
        let limit = 1000
        if hosts.value.count > limit { reading.error("'host' has more than \(limit) entries", at: hosts.mark) }
        var lines: [HostPattern: Int] = [:]
        for host in hosts.value {
            guard let line = lines.updateValue(host.mark.line, forKey: host.value) else { continue }
            reading.error("'\(host.value)' is here twice; first in line \(line)", at: host.mark)
        }
    }

    /// The headers with identity fields beside the standard ones: those of `headers`, then those of `fields` and of the preset
    /// that it does not name.
    var identityHeaders: [HeaderSetting] {
        let own = (self.headers ?? []).map { HeaderSetting(name: $0.name, fact: $0.value) }
        let names = Set(own.map { $0.name.lowercased() })
        let others = (self.identity?.furtherHeaders ?? []) + (self.identity?.preset?.headers ?? [])
        return own + others.filter { !names.contains($0.name.lowercased()) }
    }

    /// The provider's token that the app gets, as the file names it; nil for none.
    package var providerToken: Located<String>? {
        guard let choice = self.identity?.authorization, let token = choice.value.providerToken else { return nil }
        return Located(value: token.rawValue, mark: choice.mark)
    }

    private func checkPublicRules(_ reading: inout DecodingContext) {
        let prefix = self.path?.value ?? "/"
        for rule in self.publicRules ?? [] {
            let path = rule.value.path
            let isInside = rule.value.pattern.mayCoverPath(below: prefix)
            if !isInside {
                let help = "public paths are whole paths, so write '\(prefix)\(path)'"
                reading.warning("'\(path)' is outside of the app's path '\(prefix)'; \(help)", at: rule.mark)
            } else if rule.value.networks.isEmpty,
                ["/", "\(prefix)/", "\(prefix == "/" ? "" : prefix)/**"].contains(path)
            {
                reading.warning("'\(path)' makes the whole app public", at: rule.mark)
                guard let token = self.providerToken else { continue }
                let reason = "requests of a public path have no user, and '\(path)' makes the whole app public"
                reading.error("'authorization: \(token.value)' would never be sent: \(reason)", at: token.mark)
            }
        }
    }
}
