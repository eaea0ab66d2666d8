// SPDX-License-Identifier: Apache-2.0

internal import GateCore

// What holds for how one app's requests are passed on.
extension AppDraft {
    /// Points out what has no effect, and refuses changes to fields that carry somebody's identity.
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
            reading.error("'keep' is for requests; responses are passed on unless 'remove' names them", at: first.mark)
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
            let help = "it would say the same of everybody; remove it here or there"
            reading.error("'\(name.value)' carries identity, as 'headers' says, and \(help)", at: name.mark)
        }
    }

    private func warnOfKeysWithoutUpstream(_ written: Mapping<AppDraft>.Written, _ reading: inout DecodingContext) {
        guard !written.has("upstream"), written.has("redirect") || written.has("answer") else { return }
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

/// Finds redirects that lead back to the app that sends them.
struct RedirectCheck {
    private let publicURL: Origin
    private let apps: [Named<AppDraft>]
    private let names: [String: String]

    init(apps: [Named<AppDraft>], publicURL: Origin) {
        self.publicURL = publicURL
        self.apps = apps
        let places = apps.map { ("\($0.value.host?.value ?? publicURL.host) \($0.value.path?.value ?? "/")", $0.name) }
        self.names = Dictionary(places) { first, _ in first }
    }

    /// Refuses each redirect after which a browser would be redirected in the same way.
    func check(_ reading: inout DecodingContext) {
        for app in self.apps {
            guard let redirect = app.value.redirect, let to = redirect.to, app.value.isPlaced else { continue }
            let host = app.value.host?.value ?? self.publicURL.host
            let own = Origin(scheme: self.publicURL.scheme, host: host, port: self.publicURL.port)
            guard to.value.origin == own,
                self.app(on: host, at: self.destination(of: app.value, redirect, to.value)) == app.name
            else { continue }
            let help = "a browser would be sent in circles; name another address"
            reading.error("'\(to.value)' leads back to this app, so \(help)", at: to.mark)
        }
    }

    /// The path that a request for the app's own path is sent to.
    private func destination(of app: AppDraft, _ redirect: RedirectDraft, _ to: WebURL) -> String {
        guard redirect.keepsPath, !app.traffic.stripsPrefix, let path = app.path?.value, path != "/" else {
            return to.path
        }
        return (to.path.hasSuffix("/") ? String(to.path.dropLast()) : to.path) + path
    }

    /// The app with the longest path that the destination is below, by whole segments; nil for the gateway's own.
    private func app(on host: String, at destination: String) -> String? {
        guard destination != "/oauth2", !destination.hasPrefix("/oauth2/") else { return nil }
        var path = destination[...]
        while let slash = path.lastIndex(of: "/") {
            if let name = self.names["\(host) \(path)"] { return name }
            path = path[..<slash]
        }
        return self.names["\(host) /"]
    }
}
