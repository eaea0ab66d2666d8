// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateYAML

/// Converts upstreams to apps on the host of `public_url`.
struct OAuth2ProxyUpstreams {
    let settings: OptionSettings
    let alpha: AlphaReader

    func apps(_ access: AccessDraft, _ notes: inout ImportNotes) -> [ImportedApp] {
        var apps: [ImportedApp] = []
        let drafts = self.alpha.hasUpstreams ? self.alpha.upstreams : self.legacy(&notes)
        for draft in drafts.prefix(ImportedConfiguration.maxApps) {
            let app = self.app(draft, access, &notes)
            guard !apps.contains(where: { $0.path == app.path }) else {
                notes.warning(
                    "another upstream has the path '\(app.path)' already; this one is left out",
                    at: draft.place
                )
                continue
            }
            apps.append(app)
        }
        if apps.isEmpty {
            notes.warning("there is no upstream; replace 'response' of the app by 'upstream'", at: nil)
            let place = self.settings.all.first?.place ?? ImportPlace(file: "", line: 1)
            apps = [
                ImportedApp(
                    action: .response(status: 503, body: "no upstream is configured"),
                    access: .deniedToAll,
                    place: place
                )
            ]
        }
        return apps
    }

    /// The upstreams of flags and `.cfg`, whose path is that of their URL.
    private func legacy(_ notes: inout ImportNotes) -> [UpstreamDraft] {
        guard let setting = self.settings["upstream"] else { return [] }
        if setting.isUnknown {
            notes.warning(
                "an upstream is the value of a variable and not carried over; write the app by hand",
                at: setting.place
            )
        }
        return setting.texts.map { text in
            var draft = UpstreamDraft(path: "/", url: text, place: setting.place)
            let parts = text.split(separator: "#", maxSplits: 1).map(String.init)
            if text.hasPrefix("file:") {
                draft.path = parts.count > 1 ? parts[1] : "/"
            } else if text.hasPrefix("static:") {
                draft.status = Int(text.dropFirst(9).prefix { $0 != "/" }) ?? 200
            } else if let url = WebURL(parts.first ?? "") {
                draft.path = url.path
            }
            draft.passesHost = self.settings.flag("pass_host_header", else: true)
            draft.webSockets = self.settings.flag("proxy_websockets", else: true)
            draft.timeout = self.settings.text("upstream_timeout")
            return draft
        }
    }

    private func app(_ draft: UpstreamDraft, _ access: AccessDraft, _ notes: inout ImportNotes) -> ImportedApp {
        var place = UpstreamPath(draft.path, rewrite: draft.rewrite)
        if self.settings.endpoints.includes(place.path) {
            place.path = "/"
            place.difference = "\(self.settings.endpoints) belongs to the gateway"
        }
        var app = ImportedApp(
            path: place.path,
            action: .response(status: 404, body: "not carried over"),
            access: access,
            place: draft.place
        )
        if let difference = place.difference {
            notes.warning(
                "the path \(Scalar.quoted(draft.path)) is not carried over: \(difference); the app is denied to all users",
                at: draft.place
            )
            app.access = .deniedToAll
            app.servesSamePaths = false
        }
        if !draft.isUnderstood { app.deny() }
        if let status = draft.status {
            let isStatus = (200...299).contains(status) || (400...599).contains(status)
            app.action = .response(status: isStatus ? status : 404, body: "Authenticated")
            if status == 204 || status == 205 { app.action = .response(status: status, body: "") }
            notes.warning(
                "a static upstream is usually for auth_request; write 'forward_auth: enforce' in place of 'response' for that",
                at: draft.place
            )
        } else if let target = self.target(draft.url) {
            app.action = .upstream(self.upstream(target, draft, &notes))
            if !draft.passesHost, let url = WebURL(draft.url) {
                app.settings.add("upstream_host", ConfigText(url.origin.authority))
            }
        } else {
            let kind =
                draft.url.hasPrefix("file:")
                ? "the gateway serves no files; run a web server for them" : "it is not a URL of a server"
            notes.warning("the upstream is not carried over: \(kind)", at: draft.place)
            app.access = .deniedToAll
        }
        if let target = place.target, case .upstream = app.action, !app.replacePath(by: target) { app.deny() }
        if !draft.webSockets, case .upstream = app.action { app.settings.add("websocket", .flag(false)) }
        if draft.skipsVerification {
            notes.warning(
                "the certificate of the app is always verified; write 'upstream: { tls: { ca_file: … } }'",
                at: draft.place
            )
        }
        return app
    }

    /// The target as our file writes it: scheme, host and port, or a Unix socket.
    private func target(_ text: String) -> ConfigText? {
        if text.hasPrefix("unix://") {
            let path = text.dropFirst(7).prefix { $0 != ":" }
            return path.hasPrefix("/") ? ConfigText("unix:\(path)") : nil
        }
        return WebURL(text).flatMap { ConfigText($0.origin.description) }
    }

    private func upstream(_ target: ConfigText, _ draft: UpstreamDraft, _ notes: inout ImportNotes) -> YAMLValue {
        guard let text = draft.timeout, let timeout = Duration(go: text), timeout != .seconds(30) else {
            return .text(target)
        }
        var timeouts = YAMLMapping()
        timeouts.add("response", ConfigText(timeout.clamped(1...3600)))
        var upstream = YAMLMapping()
        upstream.add("targets", .list([.text(target)]))
        upstream.add("timeouts", timeouts)
        return .mapping(upstream)
    }
}

/// The path of an upstream as that of an app.
struct UpstreamPath {
    var path: String
    /// What the server gets in place of the path; nil for the path itself.
    var target: String?
    /// Why an app at that path would serve other requests than before; nil if it serves the same.
    var difference: String?

    private init(path: String, target: String? = nil, difference: String? = nil) {
        self.path = path
        self.target = target
        self.difference = difference
    }

    init(_ source: String, rewrite: String?) {
        if let rewrite {
            self = UpstreamPath.rewritten(source, to: rewrite)
        } else if PathPattern.isCanonical(source) {
            // Without a slash at its end it is one path; here, an app has all paths below its own.
            let difference =
                source.hasSuffix("/") ? nil : "oauth2-proxy serves this one path, an app all below it as well"
            self.init(path: UpstreamPath.withoutSlash(source), difference: difference)
        } else {
            self.init(path: UpstreamPath.start(of: source), difference: "it is not a plain path")
        }
    }

    /// `^/api/(.*)$` with the target `/$1` removes the prefix, with `/v1/$1` it is replaced; any other rewriting has no counterpart.
    private static func rewritten(_ source: String, to target: String) -> UpstreamPath {
        let difference = "the rewriting of paths has no counterpart"
        let end = ["(.*)$", "(.*)"].first { source.hasSuffix($0) }
        let prefix = String(source.dropFirst().dropLast(end?.count ?? 0))
        guard end != nil, source.hasPrefix("^"), PathPattern.isCanonical(prefix), prefix.hasSuffix("/") else {
            return UpstreamPath(path: self.start(of: source), difference: difference)
        }
        let path = self.withoutSlash(prefix)
        let place = String(target.dropLast(2))
        guard target.hasSuffix("/$1"), PathPattern.isCanonical(place) else {
            return UpstreamPath(path: path, difference: difference)
        }
        return UpstreamPath(path: path, target: place)
    }

    /// The path with which an expression begins.
    private static func start(of expression: String) -> String {
        PathPattern(String(expression.prefix { $0 != "(" }))?.below.map { self.withoutSlash($0) } ?? "/"
    }

    private static func withoutSlash(_ path: String) -> String {
        path.hasSuffix("/") && path != "/" ? String(path.dropLast()) : path
    }
}
