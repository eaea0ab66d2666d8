// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GatePolicy
package import GateProxy
package import GateSessions
internal import GateWire
internal import GateYAML

/// One app that the gateway protects.
package struct AppSettings: Sendable, Hashable {
    /// The host and path of the app, and the users whom it allows; `route.app` is the app's name.
    package var route: Route
    /// What the gateway does with a request that is allowed.
    package var action: AppAction
    /// How requests and responses are forwarded.
    package var traffic = TrafficSettings()
    /// Further header names for identity fields, in the order of the file.
    package var headers: [HeaderSetting]
    /// Whether the app also gets `Forwarded`, RFC 7239.
    package var sendsForwarded = false
    /// Lifetimes of sessions that are shorter than those of all apps.
    package var sessionLimits = SessionLimits()
    /// When the provider is asked again about users of this app; nil if it is as for all apps.
    package var recheck: RecheckPolicy?

    /// Puts the parts together.
    package init(route: Route, action: AppAction, headers: [HeaderSetting] = []) {
        self.route = route
        self.action = action
        self.headers = headers
    }

    /// The servers of the app; nil if its requests are not forwarded.
    package var upstream: UpstreamSettings? {
        guard case .forward(let upstream) = self.action else { return nil }
        return upstream
    }
}

/// What the gateway does with a request that an app allows.
package enum AppAction: Sendable, Hashable {
    /// It is forwarded.
    case forward(UpstreamSettings)
    /// It is redirected.
    case redirect(RedirectSettings)
    /// It gets a fixed response.
    case respond(FixedResponse)
}

/// A redirect of all requests of an app.
package struct RedirectSettings: Sendable, Hashable {
    /// The URL; without a query if `keepsPath`.
    package var to: WebURL
    /// 301, 302, 303, 307 or 308.
    package var status: Int
    /// Whether path and query of the request are appended to `to`, without its slash at the end.
    package var keepsPath: Bool

    /// The default status: a permanent redirect that keeps the method.
    package static let defaultStatus = 308

    /// Makes a redirect, by default permanent with path and method kept.
    package init(to: WebURL, status: Int = RedirectSettings.defaultStatus, keepsPath: Bool = true) {
        self.to = to
        self.status = status
        self.keepsPath = keepsPath
    }
}

/// A fixed response to all requests of an app.
package struct FixedResponse: Sendable, Hashable {
    /// 200 to 599, but no redirect.
    package var status = 200
    /// The body, at most 64 KiB of UTF-8; empty with 204, 205 and 304.
    package var body = ""
    /// The `Content-Type`, which is not sent without a body.
    package var contentType = "text/plain; charset=utf-8"

    /// An empty response of status 200.
    package init() {}
}

/// How requests and responses of an app are forwarded.
package struct TrafficSettings: Sendable, Hashable {
    /// The default limit of a request's body: 100 MiB.
    package static let defaultMaxBody: Int64 = 100 << 20

    /// Whether the app's path is removed before forwarding; never if that is `/`.
    package var stripsPrefix = false
    /// The `Host` that the app sees; nil for the client's.
    package var upstreamHost: String?
    /// Changes to the fields of requests, applied before the gateway sets its own.
    package var requestHeaders = HeaderEdits()
    /// Changes to the fields of responses.
    package var responseHeaders = HeaderEdits()
    /// The maximum size of a request's body in bytes; nil for no limit.
    package var maxBody: Int64? = TrafficSettings.defaultMaxBody
    /// The pages that may open a WebSocket; nil where WebSockets are off.
    package var webSocket: WebSocketSettings?
    /// Whether 103 responses are forwarded.
    package var passesEarlyHints = false
    /// Whether the idle time-out of responses is off.
    package var isStreaming = false
    /// Whether every request gets 503, also on public paths.
    package var isInMaintenance = false
    /// How the gateway treats requests that servers interpret in different ways.
    package var strictness = StrictnessSettings()
    /// Whether redirects and cookies of the app are mapped to the URL under which browsers reach it.
    package var mapsResponses = true
    /// How HTML without caching fields is protected.
    package var caching = CachingProtection.protect

    /// The defaults.
    package init() {}
}

/// How the gateway treats requests that servers interpret in different ways; the defaults are safe for every app.
package struct StrictnessSettings: Sendable, Hashable {
    /// How an escaped slash or backslash in a path is treated.
    package var encodedSlash = EncodedSlash.forward
    /// Whether paths that an app server could read as one of this app's are kept from other routes and public rules.
    package var pathSpelling = PathSpelling.any
    /// The methods that are forwarded; nil for all.
    package var methods: [String]?
    /// How header names with `_`, `.` and the like are treated.
    package var irregularNames = IrregularNames.drop
    /// The other origins whose pages may write to the app.
    package var origins: [WriteOrigin] = []
    /// Which origin the app receives in `Origin` and `Referer`.
    package var upstreamOrigin = UpstreamOrigin.keep

    /// The defaults.
    package init() {}
}

/// How an escaped slash or backslash in a path is treated, by its name in the file.
package enum EncodedSlash: String, Sendable, CaseIterable {
    /// It is forwarded unchanged.
    case forward
    /// The request is rejected.
    case reject
}

/// Which spellings of an app's paths are rejected on other routes, by its name in the file.
package enum PathSpelling: String, Sendable, CaseIterable {
    /// Every spelling that some server treats as the same path: letter case, double escapes, escaped slashes, parameters.
    case any
    /// Only the path itself: the app's server distinguishes all of these.
    case exact
}

/// How header names with characters other than letters, digits and `-` are treated, by its name in the file.
package enum IrregularNames: String, Sendable, CaseIterable {
    /// The fields are removed.
    case drop
    /// The request is rejected.
    case reject
    /// The fields are forwarded, except names that a server may read as one that the gateway sets.
    case forward
}

/// Which origin an app receives in `Origin` and `Referer`, by its name in the file.
package enum UpstreamOrigin: String, Sendable, CaseIterable {
    /// What the browser sent.
    case keep
    /// The origin of `upstream_host`, where the browser sent the app's own.
    case rewrite
}

/// How HTML of protected pages without caching fields is treated, by its name in the file.
package enum CachingProtection: String, Sendable, CaseIterable {
    /// Browsers may store it and have to revalidate it.
    case protect
    /// It is forwarded unchanged.
    case pass
}

/// Another origin whose pages may write to an app.
package struct WriteOrigin: Sendable, Hashable {
    /// The origin.
    package var origin: Origin
    /// The path that they may write to, with all below it if it ends in `/`; nil for every path of the app.
    package var path: String?

    /// Pairs an origin with a path.
    package init(origin: Origin, path: String? = nil) {
        self.origin = origin
        self.path = path
    }
}

/// The origins whose pages may open a WebSocket to an app.
package struct WebSocketSettings: Sendable, Hashable {
    /// The origins beside the app's own.
    package var origins: [Origin]
    /// Whether pages of any origin may.
    package var anyOrigin: Bool

    /// Makes settings, by default for the app's own pages only.
    package init(origins: [Origin] = [], anyOrigin: Bool = false) {
        self.origins = origins
        self.anyOrigin = anyOrigin
    }
}

/// One app as the file has it.
struct AppDraft: Sendable {
    /// One host or several; nil for that of `public_url`.
    var hosts: Located<[Located<HostPattern>]>?
    var path: Located<String>?
    var upstream: UpstreamSettings?
    var upstreamMark: YAMLMark?
    var redirect: RedirectDraft?
    var response: FixedResponse?
    var providers: Located<[Located<String>]>?
    var allow: Located<AllowDraft>?
    var deny: Located<[EntryDraft]>?
    var groups: GroupShare?
    var publicRules: [Located<PublicRule>]?
    var idleTimeout: Located<Duration>?
    var lifetime: Located<Duration>?
    var recheck: Duration??
    var headers: [Named<IdentityField>]?
    var forwarded: Bool?
    /// The settings that are read in place; keys that are not written leave the defaults.
    var traffic = TrafficSettings()
    var requestHeaders: HeaderEditsDraft?
    var responseHeaders: HeaderEditsDraft?
    var webSocket: Located<Bool>?
    var webSocketOrigins: Located<WebSocketSettings>?
    /// Whether host and path were valid, so that they can be compared with those of other apps.
    var isPlaced = true
}

extension Mapping<AppDraft> {
    /// An entry of `apps`.
    static let app = Mapping(
        "an app",
        path: "apps.<name>",
        summary: "A web app that the gateway protects, and the users who may access it.",
        make: { AppDraft() },
        keys: placeKeys + actionKeys + accessKeys + lifetimeKeys + identityKeys + trafficKeys + responseKeys
            + strictnessKeys,
        alternatives: ["upstream", "redirect", "response"],
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
            "The path prefix, matched by whole segments; the longest match wins. `/oauth2` is reserved for the gateway, and escaped "
                + "slashes are not allowed."
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
            "allow",
            located: \.allow,
            .allow,
            .init(isRequired: true, example: "signed_in"),
            "Who may access the app: a list of entries, of which one must match, or `signed_in` for every user of the "
                + "accepted providers."
        ),
        Key(
            "deny",
            located: \.deny,
            .list(of: Mapping<EntryDraft>.entry.shape, named: "a list of entries"),
            .init(default: .words("no entry")),
            "Who is denied access whatever `allow` contains: a list of the same entries. A user whose list of groups is "
                + "incomplete is denied as well if the other conditions of an entry with a `group` match."
        ),
        Key(
            "public",
            \.publicRules,
            .list(of: Shape<PublicRule>.publicRule.located, named: "a list of paths"),
            .init(default: .value([]), example: ["GET /healthz", "/assets/"]),
            "The paths that need no sign-in: whole paths, with a method before it if only that method is meant. "
                + "A path that ends in `/` includes all paths below it."
        ),
    ]

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
                of: .oneOf("an identity field"),
                named: "a mapping of header names to identity fields",
                rule: .headerName
            ),
            .init(default: .words("none")),
            "Additional headers for identity fields, for apps that expect other names: `user`, `email`, `name`, "
                + "`preferred_username`, `groups` or `provider`."
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
    /// Checks what depends on this app only.
    fileprivate mutating func check(_ written: Mapping<AppDraft>.Written, _ reading: inout DecodingContext) {
        self.upstreamMark = written.keys["upstream"]
        let hasHost = self.hosts != nil || written.keys["host"] == nil
        self.isPlaced = hasHost && (self.path != nil || written.keys["path"] == nil)
        if let providers = self.providers, providers.value.isEmpty {
            reading.error("'providers' is an empty list; remove it to accept all providers", at: providers.mark)
        }
        self.checkHosts(&reading)
        self.checkPublicRules(&reading)
        self.checkTraffic(written, &reading)
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

    private func checkPublicRules(_ reading: inout DecodingContext) {
        let prefix = self.path?.value ?? "/"
        for rule in self.publicRules ?? [] {
            let path = rule.value.path
            let isInside = prefix == "/" || path == prefix || path.hasPrefix("\(prefix)/")
            if !isInside {
                let help = "public paths are whole paths, so write '\(prefix)\(path)'"
                reading.warning("'\(path)' is outside of the app's path '\(prefix)'; \(help)", at: rule.mark)
            } else if path == "/" || path == "\(prefix)/" {
                reading.warning("'\(path)' makes the whole app public", at: rule.mark)
            }
        }
    }
}

extension Mapping<AppDraft> {
    /// What the gateway does with a request that is allowed.
    static let actionKeys: [Key<AppDraft>] = [
        Key(
            "upstream",
            \.upstream,
            .upstream,
            .init(
                default: .words("(one of `upstream`, `redirect` and `response` is required)"),
                example: "http://10.0.0.5:8080"
            ),
            "The servers of the app: `http://host:port`, `https://`, `h2c://`, `h2://` or `unix:/path/of/socket`; a list of them, "
                + "or a mapping with settings."
        ),
        Key(
            "redirect",
            \.redirect,
            Mapping<RedirectDraft>.redirect.shape,
            .init(default: .words("none")),
            "Redirects all requests instead of forwarding them."
        ),
        Key(
            "response",
            \.response,
            Mapping<FixedResponse>.response.shape,
            .init(default: .words("none"), formerly: "answer"),
            "A fixed response to all requests instead of forwarding them."
        ),
        Key(
            "maintenance",
            over: \.traffic.isInMaintenance,
            .flag,
            .init(),
            "Whether every request gets 503 with a maintenance page and `Retry-After`, on public paths too."
        ),
    ]

    /// How requests and responses are forwarded.
    static let trafficKeys: [Key<AppDraft>] = [
        Key(
            "strip_prefix",
            over: \.traffic.stripsPrefix,
            .flag,
            .init(),
            "Whether the app's `path` is removed before a request is forwarded: `/wiki/page` of an app at `/wiki` "
                + "becomes `/page`."
        ),
        Key(
            "upstream_host",
            \.traffic.upstreamHost,
            .authority,
            .init(default: .words("what the client sent"), example: "app.internal"),
            "The `Host` that the app sees, with or without a port; `X-Forwarded-Host` keeps that of the client."
        ),
        Key(
            "request_headers",
            \.requestHeaders,
            Mapping<HeaderEditsDraft>.headerEdits.shape,
            .init(default: .words("none")),
            "Changes to the header fields of requests."
        ),
        Key(
            "response_headers",
            \.responseHeaders,
            Mapping<HeaderEditsDraft>.headerEdits.shape,
            .init(default: .words("none")),
            "Changes to the header fields of responses."
        ),
        Key(
            "max_body",
            over: \.traffic.maxBody,
            .maxBody,
            .init(),
            "The maximum size of a request's body; a larger one gets 413. 0 for no limit. Bodies are never buffered whole."
        ),
        Key(
            "streaming",
            over: \.traffic.isStreaming,
            .flag,
            .init(),
            "Whether the idle time-out of responses is off, for long polls and the like; it is always off for server-sent "
                + "events."
        ),
        Key(
            "early_hints",
            over: \.traffic.passesEarlyHints,
            .flag,
            .init(),
            "Whether responses of status 103, early hints, are forwarded; some old clients take them for the final response."
        ),
        Key(
            "websocket",
            located: \.webSocket,
            .flag,
            .init(default: .words("`true`; `false` with an upstream over HTTP/2")),
            "Whether WebSockets are forwarded, over HTTP/1.1 and HTTP/2, if a page of the app itself opens them. A WebSocket "
                + "is closed when the session that opened it ends."
        ),
        Key(
            "websocket_origins",
            located: \.webSocketOrigins,
            .webSocketOrigins,
            .init(default: .value([]), example: ["https://portal.example.com"]),
            "The origins whose pages may open a WebSocket, beside the app's own; at most 64. `[\"*\"]` for any page."
        ),
    ]
}

extension AppDraft {
    /// What the gateway does with a request that is allowed; nil if that is missing or invalid.
    var action: AppAction? {
        if let upstream = self.upstream { return .forward(upstream) }
        if let redirect = self.redirect?.settings { return .redirect(redirect) }
        return self.response.map { .respond($0) }
    }

    /// How requests and responses are forwarded.
    var trafficSettings: TrafficSettings {
        var settings = self.traffic
        settings.requestHeaders = self.requestHeaders?.edits ?? settings.requestHeaders
        settings.responseHeaders = self.responseHeaders?.edits ?? settings.responseHeaders
        if (self.path?.value ?? "/") == "/" { settings.stripsPrefix = false }
        let isPossible = self.upstream?.targets.allSatisfy { !$0.isHTTP2 } ?? false
        guard self.webSocket?.value ?? isPossible else { return settings }
        settings.webSocket = self.webSocketOrigins?.value ?? WebSocketSettings()
        return settings
    }
}

extension Shape<Int64?> {
    /// A number of bytes, 0 for no limit, which is nil.
    static let maxBody: Shape = {
        let size = Shape<Int64>.size(0...(1 << 40))
        return size.map(write: { size.write?($0 ?? 0) ?? .null }, { $0 == 0 ? nil : $0 })
    }()
}

extension Shape<WebSocketSettings> {
    /// The origins that may open a WebSocket.
    static let webSocketOrigins: Shape = {
        let pattern = #"^(\*|https?://[^/?#@]+/?)$"#
        let one = Shape<Origin?>.single("an origin", pattern: pattern) { text throws(InvalidValue) in
            guard text != "*" else { return nil }
            guard let address = WebURL(text) else {
                throw InvalidValue("is not an origin such as https://portal.example.com")
            }
            guard address.path == "/", address.query == nil else {
                throw InvalidValue("has a path; an origin is scheme, host and port, so write '\(address.origin)'")
            }
            return address.origin
        }
        let list = Shape<[Located<Origin?>]>.list(of: one.located, named: "a list of origins")
        let schema: JSON = ["type": "array", "items": one.schema, "maxItems": 64]
        return Shape(list.kind, schema: schema) { node, reading in
            guard let origins = list.read(node, &reading) else { return nil }
            if origins.count > 64 { reading.error("more than 64 origins", at: node.mark) }
            let any = origins.first { $0.value == nil }
            if let any {
                let risk = "the page of any site could open a WebSocket as the user who visits it"
                reading.warning("with '*' \(risk); list the origins that need it", at: any.mark)
            }
            return WebSocketSettings(origins: origins.compactMap(\.value), anyOrigin: any != nil)
        }
    }()
}

/// `apps.<name>.redirect` as the file has it.
struct RedirectDraft: Sendable {
    var to: Located<WebURL>?
    var status = RedirectSettings.defaultStatus
    var keepsPath = true
}

extension Mapping<RedirectDraft> {
    /// `apps.<name>.redirect`.
    static let redirect = Mapping(
        "a redirect",
        path: "apps.<name>.redirect",
        summary: "A redirect of all requests, after `allow` has been checked.",
        make: { RedirectDraft() },
        keys: [
            Key(
                "to",
                located: \.to,
                .redirectTarget,
                .init(isRequired: true, example: "https://new.example.com"),
                "The URL, http or https; never one that leads back to this app."
            ),
            Key(
                "status",
                over: \.status,
                .redirectStatus,
                .init(),
                "301 or 308 for a permanent redirect, 302 or 307 for a temporary one; 303 to continue with GET. 307 and 308 keep the "
                    + "method."
            ),
            Key(
                "keep_path",
                over: \.keepsPath,
                .flag,
                .init(),
                "Whether the path and query of the request are appended to `to`; with `strip_prefix` without the app's "
                    + "`path`. If `false`, every request is redirected to `to` itself."
            ),
        ],
        check: { redirect, _, reading in
            guard redirect.keepsPath, let to = redirect.to, to.value.query != nil else { return }
            let help = "write 'keep_path: false', or remove the query"
            reading.error("'\(to.value)' has a query, so no path can be appended; \(help)", at: to.mark)
        }
    )
}

extension RedirectDraft {
    /// The settings; nil without a URL.
    var settings: RedirectSettings? {
        self.to.map { RedirectSettings(to: $0.value, status: self.status, keepsPath: self.keepsPath) }
    }
}

extension Mapping<FixedResponse> {
    /// `apps.<name>.response`.
    static let response = Mapping(
        "a response",
        path: "apps.<name>.response",
        summary: "A fixed response to all requests, after `allow` has been checked.",
        make: { FixedResponse() },
        keys: [
            Key(
                "status",
                over: \.status,
                .responseStatus,
                .init(),
                "The status, 200 to 299 or 400 to 599."
            ),
            Key(
                "body",
                over: \.body,
                .body,
                .init(default: .words("empty"), example: "Gone fishing."),
                "The text, at most 64 KiB of UTF-8; empty with 204 and 205."
            ),
            Key(
                "content_type",
                over: \.contentType,
                .contentType,
                .init(example: "text/html; charset=utf-8"),
                "The media type of the text."
            ),
        ],
        check: { response, written, reading in
            guard [204, 205].contains(response.status), !response.body.isEmpty, let mark = written.keys["body"] else {
                return
            }
            reading.error(
                "a response of status \(response.status) has no body; remove it, or write another status",
                at: mark
            )
        }
    )
}

extension Shape<Int> {
    /// The status of a redirect.
    static let redirectStatus: Shape = {
        let known = [301, 302, 303, 307, 308]
        let names = known.map(String.init).joined(separator: ", ")
        let one = single("a status") { text throws(InvalidValue) in
            guard let number = Int(wholeNumber: text), known.contains(number) else {
                throw InvalidValue("is not a status of a redirect; write one of \(names)")
            }
            return number
        }
        let schema: JSON = ["enum": .array(known.map { .int(Int64($0)) })]
        return Shape(
            "one of \(names)",
            schema: ["anyOf": [schema, Schema.reference]],
            write: { .int(Int64($0)) },
            read: { one.read($0, &$1) }
        )
    }()

    /// The status of a fixed response, which is not a redirect.
    static let responseStatus: Shape = {
        let any = Shape<Int>.number(200...599)
        return Shape(any.kind, schema: any.schema, write: any.write) { node, reading in
            guard let status = any.read(node, &reading) else { return nil }
            guard !(300...399).contains(status) else {
                reading.error("'\(status)' is a redirect; write 'redirect' instead of 'response'", at: node.mark)
                return nil
            }
            return status
        }
    }()
}

extension Shape<WebURL> {
    /// The target of a redirect.
    static let redirectTarget = single("a URL", pattern: #"^https?://[^#@]+$"#) { text throws(InvalidValue) in
        guard let address = WebURL(text), text.utf8.count <= 2048 else {
            let help = text.hasPrefix("/") ? "; write scheme and host too" : ""
            throw InvalidValue("is not an http or https URL such as https://new.example.com\(help)")
        }
        return address
    }
}

extension Shape<String> {
    /// The text of a fixed response.
    static let body = single("a text") { text throws(InvalidValue) in
        let limit = 64 << 10
        guard text.utf8.count <= limit else {
            throw InvalidValue("has \(text.utf8.count) bytes, and a response may have \(limit); serve it from an app")
        }
        return text
    }

    /// The media type of a fixed response.
    static let contentType = single("a media type", pattern: "^[!-~]+/[ -~]+$") { text throws(InvalidValue) in
        let parts = text.prefix { $0 != ";" }.split(separator: "/", omittingEmptySubsequences: false)
        let isASCII = text.utf8.allSatisfy { (0x20...0x7E).contains($0) } && text.utf8.count <= 200
        guard isASCII, parts.count == 2, parts.allSatisfy({ !$0.isEmpty && !$0.contains(" ") }) else {
            throw InvalidValue("is not a media type such as text/plain; charset=utf-8")
        }
        return text
    }
    .written { .string($0) }
}

extension Mapping<AppDraft> {
    /// How requests are treated that servers interpret in different ways; docs/compatibility.md explains each key.
    static let strictnessKeys: [Key<AppDraft>] = [
        Key(
            "encoded_slash",
            over: \.traffic.strictness.encodedSlash,
            .oneOf("a rule for escaped slashes"),
            .init(example: "reject"),
            "How `%2F` and `%5C` in a path are treated: `forward` them unchanged, or `reject` the request with 400. A path that "
                + "belongs to another app or is no longer public when they are decoded is rejected in any case."
        ),
        Key(
            "path_spelling",
            over: \.traffic.strictness.pathSpelling,
            .oneOf("a rule for spellings"),
            .init(example: "exact"),
            "Which spellings of this app's paths are rejected by the other apps on its host and by its own `public` rules: "
                + "`any` that some server treats as the same path (letter case, double escapes, escaped slashes, "
                + "parameters), or `exact`, if the app's server is known to distinguish them."
        ),
        Key(
            "methods",
            \.traffic.strictness.methods,
            .set(of: .forwardedMethod, named: "a list of methods", limit: 64),
            .init(default: .words("all but CONNECT, TRACE and TRACK"), example: ["GET", "HEAD", "POST", "PROPFIND"]),
            "The methods that are forwarded; others get 405."
        ),
        Key(
            "underscore_headers",
            over: \.traffic.strictness.irregularNames,
            .oneOf("a rule for header names"),
            .init(example: "forward"),
            "How headers are treated whose name has `_`, `.` or another character than letters, digits and `-`, which many "
                + "servers read as `-`: `drop` them, as nginx does, `reject` the request, or `forward` them. A request with "
                + "one that could be read as a header that the gateway sets is rejected in any case."
        ),
        Key(
            "origins",
            over: \.traffic.strictness.origins,
            .writeOrigins,
            .init(default: .value([]), example: ["https://portal.example.com", "https://idp.example.com /saml/acs"]),
            "The other origins whose pages may write (POST, PUT and so on) to the app, at most 64: an origin, or an origin, "
                + "a space and the only path; a path that ends in `/` includes all paths below it."
        ),
        Key(
            "upstream_origin",
            over: \.traffic.strictness.upstreamOrigin,
            .oneOf("a rule for origins"),
            .init(example: "rewrite"),
            "What the app receives in `Origin`, `Referer` and `Destination`: `keep` what the client sent, or `rewrite` the app's "
                + "own origin to the scheme of the upstream with `upstream_host`. For apps that compare these fields with "
                + "`Host`."
        ),
    ]

    /// How responses of the app are changed.
    static let responseKeys: [Key<AppDraft>] = [
        Key(
            "rewrite",
            over: \.traffic.mapsResponses,
            .flag,
            .init(),
            "Whether `Location`, `Content-Location` and `Refresh` that lead to the URL of the upstream, to the app's host "
                + "by another scheme or, with `strip_prefix`, to a path without the prefix are mapped to the URL under which "
                + "browsers reach the app; with `strip_prefix` or `upstream_host` the `Path` and `Domain` of cookies too. "
                + "Bodies are never changed."
        ),
        Key(
            "cache_control",
            over: \.traffic.caching,
            .oneOf("a rule for caches"),
            .init(example: "pass"),
            "How HTML of protected pages without `Cache-Control`, `Expires` and `Pragma` is treated: `protect` adds "
                + "`Cache-Control: private, no-cache`, so that browsers revalidate it before they show it again after the "
                + "session has ended, `pass` forwards it unchanged."
        ),
    ]
}

extension Shape<String> {
    /// A method that may be forwarded.
    ///
    /// RFC 9110 §9.1.
    static let forwardedMethod = single("a method", pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}$") {
        text throws(InvalidValue) in
        let isToken = text.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF) || "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
        guard isToken, (1...32).contains(text.utf8.count) else {
            throw InvalidValue("is not a method such as PROPFIND")
        }
        guard !["CONNECT", "TRACE", "TRACK", "PRI"].contains(text.uppercased()) else {
            throw InvalidValue("is never forwarded; remove it")
        }
        guard text == text.uppercased() || text != text.lowercased() else {
            throw InvalidValue("is in lower case, and letter case matters; write '\(text.uppercased())'")
        }
        return text
    }
}

extension Shape<WriteOrigin> {
    /// An origin, or an origin and a path.
    static let writeOrigin = single("an origin", pattern: #"^https?://[^/?#@ ]+/?( /[^?# ]*)?$"#) {
        text throws(InvalidValue) in
        let parts = text.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        guard parts.count <= 2, let address = WebURL(parts[0]) else {
            throw InvalidValue("is not an origin such as https://portal.example.com")
        }
        guard address.path == "/", address.query == nil else {
            let help = "write '\(address.origin) \(address.path)' for that path only"
            throw InvalidValue("has a path in the origin; \(help)")
        }
        guard parts.count == 2 else { return WriteOrigin(origin: address.origin) }
        try CanonicalPath.check(configured: parts[1])
        return WriteOrigin(origin: address.origin, path: parts[1])
    }
}

extension Shape<[WriteOrigin]> {
    /// The origins whose pages may write to an app.
    static let writeOrigins = Shape.set(of: .writeOrigin, named: "a list of origins", limit: 64)
}

extension Shape<String> {
    /// The path prefix of an app, without a slash at its end unless it is `/`.
    static let appPath = single("a path", pattern: "^/[^?#]*$") { text throws(InvalidValue) in
        try CanonicalPath.check(route: text)
        let path = text.hasSuffix("/") ? String(text.dropLast()) : text
        guard path != "/oauth2", !path.hasPrefix("/oauth2/") else {
            throw InvalidValue("is reserved for the gateway; choose a path outside of /oauth2")
        }
        return path.isEmpty ? "/" : path
    }
}

extension Shape<PublicRule> {
    /// A path that needs no sign-in, with or without a method.
    static let publicRule = single("a path", pattern: "^([A-Z]+ )?/[^?# ]*$") { text throws(InvalidValue) in
        let parts = text.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        guard parts.count <= 2, let path = parts.last else {
            throw InvalidValue("is not a path; write such as '/assets/' or 'GET /healthz'")
        }
        let method = parts.count == 2 ? parts[0] : nil
        let known = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "REPORT", "LIST"]
        if let method, !known.contains(method) {
            let hint = Hint.nearest(to: method, in: known).map { "did you mean '\($0) \(path)'?" }
            throw InvalidValue("has an unknown method; \(hint ?? "write one of \(known.joined(separator: ", "))")")
        }
        try CanonicalPath.check(configured: path)
        return PublicRule(method: method, path: path)
    }
}

// Paths of the file, which have to be in the one spelling by which requests are matched.
extension CanonicalPath {
    /// Checks the path of an app.
    ///
    /// Beside ``check(configured:)``, app servers have to agree on what it means: an escaped slash is one segment for some and two
    /// for others, so no rule about it could hold for all of them.
    fileprivate static func check(route text: String) throws(InvalidValue) {
        try self.check(configured: text)
        guard !PathReadings.hasEscapedSeparator(text.utf8Span.span) else {
            let decoded = PathNormalization.decoded(text)
            throw InvalidValue(
                "has an escaped slash or backslash, which some servers read as '\(decoded)'; write the path without it"
            )
        }
        guard PathReadings.isUnambiguous(text) else {
            throw InvalidValue(
                "is read as another path by some servers, so every request for it is rejected; "
                    + "write it without ';', '%25' and other escaped delimiters"
            )
        }
    }

    /// Checks that requests are matched by the path as it is written.
    fileprivate static func check(configured text: String) throws(InvalidValue) {
        if let sign = self.expressionSign(in: text) {
            let help = "a path is matched as it is written, and one that ends in '/' includes all paths below it"
            throw InvalidValue("has a '\(sign)', as regular expressions have, which are not supported; \(help)")
        }
        guard text.hasPrefix("/") else {
            throw InvalidValue("is not a path; it starts with '/', so write '/\(text.prefix(60))'")
        }
        guard !text.contains("?"), !text.contains("#") else {
            throw InvalidValue("has a query or fragment; only the path counts")
        }
        guard !text.contains("*") else {
            throw InvalidValue("has a '*'; write a path that ends in '/' for all paths below it")
        }
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }), text.utf8.count <= ReturnPath.maxLength else {
            throw InvalidValue("has a space or control character, or is too long; write '%20' for a space")
        }
        let matched: String
        do throws(WireRejection) {
            matched = try self.matched(ofConfigured: text)
        } catch {
            throw InvalidValue("is not a path that a request can have; every request for it is rejected")
        }
        guard matched == text else { throw InvalidValue("is '\(matched)' in requests; write that") }
    }

    /// A sign of regular expressions that no plain path holds; most of these need an escape in a path.
    private static func expressionSign(in text: String) -> String? {
        if text.hasPrefix("^") || text.hasPrefix("~") { return String(text.prefix(1)) }
        if text.hasSuffix("$"), text.count > 1 { return "$" }
        return [".*", ".+", "(?", "\\", "[", "]", "|", "{", "}", "^"].first { text.contains($0) }
    }
}

// How the requests of one app are forwarded.
extension AppDraft {
    /// Warns of keys without effect, and rejects changes to fields that carry identity.
    func checkTraffic(_ written: Mapping<AppDraft>.Written, _ reading: inout DecodingContext) {
        self.checkEdits(&reading)
        self.warnOfKeysWithoutUpstream(written, &reading)
        if self.traffic.stripsPrefix, let mark = written.keys["strip_prefix"], (self.path?.value ?? "/") == "/" {
            let isUnread = written.keys["path"] != nil && self.path == nil
            if !isUnread { reading.warning("'strip_prefix' has no effect, since the app's path is '/'", at: mark) }
        }
        if let webSocket = self.webSocket, webSocket.value, self.upstream?.targets.contains(where: \.isHTTP2) ?? false {
            let help = "apps take them over HTTP/1.1; write the upstream with http:// or https://"
            reading.error("'websocket' does not go with an upstream over HTTP/2: \(help)", at: webSocket.mark)
        }
        let isOff = self.webSocket.map { !$0.value } ?? self.upstream?.targets.contains(where: \.isHTTP2) ?? false
        if let origins = self.webSocketOrigins, isOff, origins.value != WebSocketSettings() {
            reading.warning("'websocket_origins' has no effect, since the app takes no WebSockets", at: origins.mark)
        }
        if let keep = self.responseHeaders?.keep, let first = keep.first {
            reading.error("'keep' is for requests; response fields are kept unless 'remove' names them", at: first.mark)
        }
        if self.traffic.strictness.upstreamOrigin == .rewrite, self.traffic.upstreamHost == nil,
            let mark = written.keys["upstream_origin"], !written.has("upstream_host")
        {
            let help = "write 'upstream_host' too, or remove this"
            reading.warning("'upstream_origin: rewrite' has no effect without 'upstream_host'; \(help)", at: mark)
        }
    }

    private func checkEdits(_ reading: inout DecodingContext) {
        let identity = Set((self.headers ?? []).map { $0.name.lowercased() })
        for name in self.requestHeaders?.names ?? [] where identity.contains(name.value.lowercased()) {
            let help = "it would be the same for every user; remove it here or there"
            reading.error("'\(name.value)' carries identity, as 'headers' lists it, and \(help)", at: name.mark)
        }
    }

    private func warnOfKeysWithoutUpstream(_ written: Mapping<AppDraft>.Written, _ reading: inout DecodingContext) {
        guard !written.has("upstream"), written.has("redirect") || written.has("response") else { return }
        var idle = [
            "upstream_host", "request_headers", "headers", "forwarded", "max_body", "streaming", "early_hints",
            "websocket", "rewrite", "cache_control", "underscore_headers", "upstream_origin",
        ]
        if self.redirect?.keepsPath != true { idle.append("strip_prefix") }
        for name in idle {
            guard let mark = written.keys[name] else { continue }
            reading.warning("'\(name)' has no effect without 'upstream'; remove it", at: mark)
        }
    }
}
