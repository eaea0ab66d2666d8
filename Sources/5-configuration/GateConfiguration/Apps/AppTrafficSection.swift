// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProxy
package import GateYAML

extension Mapping<AppDraft> {
    /// What the gateway does with a request that is allowed.
    static let actionKeys: [Key<AppDraft>] = [
        Key(
            "upstream",
            \.upstream,
            .upstream,
            .init(
                default: .words("(one of `upstream`, `redirect`, `response` and `forward_auth` is required)"),
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
            .init(default: .words("none")),
            "A fixed response to all requests instead of forwarding them."
        ),
        Key(
            "forward_auth",
            located: \.forwardAuth,
            .oneOf("a mode of forward-auth"),
            .init(default: .words("none"), example: "enforce"),
            "For an app to which another proxy forwards requests: that proxy asks the gateway before. `enforce`, or `shadow` to "
                + "let every request pass and log those that would not. See [forward-auth.md](forward-auth.md)."
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
            "The maximum size of a request's body; a larger one gets 413. 0 for no limit: bodies are streamed to the app and never "
                + "buffered whole, so uploads of any size cost the gateway nothing."
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
            "unregister_service_worker",
            over: \.traffic.endsServiceWorkers,
            .flag,
            .init(),
            "Whether a browser without a session gets, in place of the app's service worker, one that unregisters itself and "
                + "reloads the app's pages. For an app whose worker responds to navigations itself, so that no sign-in can begin."
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
        if let response = self.response { return .respond(response) }
        return self.forwardAuth.map { .forwardAuth($0.value) }
    }

    /// How requests and responses are forwarded.
    var trafficSettings: TrafficSettings {
        var settings = self.traffic
        settings.requestHeaders = self.requestHeaders?.edits ?? settings.requestHeaders
        settings.responseHeaders = self.responseHeaders?.edits ?? settings.responseHeaders
        if (self.path?.value ?? "/") == "/" { settings.stripsPrefix = false }
        settings.mapsResponses = self.rewrite?.mapsResponses ?? true
        settings.rewrites = self.rewrite?.rules.map { PathRewrite(from: $0.from.value, to: $0.to) } ?? []
        let isPossible = self.upstream?.targets.allSatisfy { !$0.isHTTP2 } ?? (self.forwardAuth != nil)
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

// How the requests of one app are forwarded.
extension AppDraft {
    /// Where `identity.authorization` is written of an app whose `Authorization` another proxy has to copy; nil for all others.
    package var copiedAuthorization: YAMLMark? {
        self.forwardAuth?.value == .enforce ? self.identity?.authorization?.mark : nil
    }

    /// Warns of keys without effect, and rejects changes to fields that carry identity.
    func checkTraffic(_ written: Mapping<AppDraft>.Written, _ reading: inout DecodingContext) {
        self.checkEdits(&reading)
        self.warnOfKeysWithoutUpstream(written, &reading)
        self.checkPathsOfApp(written, &reading)
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
        let identity = Set(self.identityHeaders.map { $0.name.lowercased() })
        for name in self.requestHeaders?.names ?? [] where identity.contains(name.value.lowercased()) {
            let help = "it would be the same for every user; remove it here or there"
            reading.error("'\(name.value)' carries identity, as 'headers' lists it, and \(help)", at: name.mark)
        }
        let replaced = Set((self.identity?.settings ?? IdentitySettings()).replacedNames.map { $0.lowercased() })
        for name in self.requestHeaders?.set ?? [] where replaced.contains(name.name.lowercased()) {
            reading.error("'\(name.name)' is set by 'identity'; remove it here or there", at: name.mark)
        }
        if let forwardAuth = self.forwardAuth, self.identity?.isForUpstream == true {
            let help =
                "'signature', 'basic' and 'encoding: plain' of 'identity' are for apps with 'upstream'"
            reading.error("another proxy forwards the requests of this app: \(help)", at: forwardAuth.mark)
        }
        if let signature = self.identity?.signature, self.traffic.strictness.irregularNames == .forward {
            let help = "'Signature_Input' of a client would look like ours to many apps; remove one of them"
            reading.error("'signature' does not go with 'underscore_headers: forward': \(help)", at: signature.mark)
        }
    }

    private func warnOfKeysWithoutUpstream(_ written: Mapping<AppDraft>.Written, _ reading: inout DecodingContext) {
        let isAsked = written.has("forward_auth")
        guard !written.has("upstream"), written.has("redirect") || written.has("response") || isAsked else { return }
        var idle = [
            "upstream_host", "request_headers", "forwarded", "max_body", "streaming", "early_hints", "rewrite",
            "cache_control", "upstream_origin", "unregister_service_worker",
        ]
        idle += isAsked ? ["response_headers"] : ["headers", "identity", "websocket", "underscore_headers"]
        if self.redirect?.keepsPath != true { idle.append("strip_prefix") }
        // What a client may send applies to the question of a proxy as well.
        let keepsOnly =
            isAsked && self.requestHeaders.map { ($0.set ?? []).isEmpty && ($0.remove ?? []).isEmpty } == true
        for name in idle where !(keepsOnly && name == "request_headers") {
            guard let mark = written.keys[name] else { continue }
            let help = isAsked ? "the proxy in front forwards the requests; configure it there" : "remove it"
            reading.warning("'\(name)' has no effect without 'upstream'; \(help)", at: mark)
        }
    }
}
