// SPDX-License-Identifier: Apache-2.0

internal import GateConfiguration
internal import GateCore
internal import GateYAML

/// Converts the routes of Pomerium to apps.
struct PomeriumRoutes {
    let publicHost: String?
    /// What routes send that pass the identity on.
    let headers: ImportedHeaders
    /// What routes send in headers and compare in policies.
    let claims: PomeriumClaims
    /// Whether those do so that do not have the key.
    let passesIdentity: Bool

    func apps(_ routes: [SourceNode], _ notes: inout ImportNotes) -> [ImportedApp] {
        var apps: [ImportedApp] = []
        // Hosts with a route whose paths cannot be expressed.
        var unsound: Set<String> = []
        var claims: [RouteClaim] = []
        for route in routes.prefix(ImportedConfiguration.maxApps) {
            guard let host = self.host(route, &notes) else { continue }
            guard let path = self.path(route, &notes) else {
                unsound.insert(host)
                notes.warning(
                    "the paths of this route cannot be carried over; all apps of '\(host)' are denied to all users",
                    at: route.place
                )
                continue
            }
            // The first route that matches is used.
            let earlier = apps.first { $0.hosts == [host] && PathPattern.contains($0.path, path.path) }
            let before = claims.filter { $0.includes(host) }
            guard earlier == nil, !before.contains(where: { $0.hasAll(below: path.path) }) else {
                notes.warning("an earlier route has these paths already; this one is left out", at: route.place)
                continue
            }
            var app = self.app(route, host, path, &notes)
            for claim in before where claim.isShared(with: host) && PathPattern.contains(app.path, claim.path) {
                app.deny(pathsWithPrefix: claim.path, &notes)
            }
            claims.append(RouteClaim(host: host, text: route["prefix"]?.text ?? "\(app.path == "/" ? "" : app.path)/"))
            apps.append(app)
        }
        for index in apps.indices {
            // A wildcard takes the requests of a host that has no app.
            let own = RouteClaim(host: apps[index].hosts[0], text: "/")
            let isUnsound = unsound.contains { own.includes($0) || RouteClaim(host: $0, text: "/").includes(own.host) }
            if isUnsound { apps[index].deny() }
        }
        for index in apps.indices where apps[index].hosts == self.publicHost.map({ [$0] }) { apps[index].hosts = [] }
        return apps
    }

    private func host(_ route: SourceNode, _ notes: inout ImportNotes) -> String? {
        let from = route["from"]?.text ?? ""
        if from.hasPrefix("https://*.") || from.hasPrefix("http://*.") {
            let domain = from.drop { $0 != "*" }.dropFirst(2).prefix { $0 != "/" && $0 != ":" }
            if let host = Origin.normalHost(domain), host.contains("."), host.last?.isNumber == false {
                return "*.\(host)"
            }
        } else if let url = WebURL(from), !url.origin.host.hasPrefix("*") {
            return url.origin.host
        }
        notes.warning(
            "a route from \(Scalar.quoted(from)) is not carried over: only https hosts are possible",
            at: route.place
        )
        return nil
    }

    /// The path of a route, and whether an app there serves other paths; nil if the expression has no literal start.
    private func path(_ route: SourceNode, _ notes: inout ImportNotes) -> UpstreamPath? {
        if let prefix = route["prefix"]?.text {
            guard PathPattern.isCanonical(prefix) else { return nil }
            if prefix != "/", !prefix.hasSuffix("/") {
                notes.warning(
                    "the prefix '\(prefix)' is matched by whole segments here: '\(prefix)x' belongs to no app, or is denied",
                    at: route.place
                )
            }
            return UpstreamPath(prefix.hasSuffix("/") ? prefix : "\(prefix)/", rewrite: nil)
        }
        if let path = route["path"]?.text {
            return PathPattern.isCanonical(path)
                ? UpstreamPath(path.hasSuffix("/") ? String(path.dropLast()) : path, rewrite: nil) : nil
        }
        if let expression = route["regex"]?.text {
            guard let subtree = PathPattern(whole: expression)?.subtree else { return nil }
            return UpstreamPath(subtree == "/" ? "/" : "\(subtree)/", rewrite: nil)
        }
        return UpstreamPath("/", rewrite: nil)
    }

    private func app(
        _ route: SourceNode,
        _ host: String,
        _ path: UpstreamPath,
        _ notes: inout ImportNotes
    ) -> ImportedApp {
        var policy = PomeriumPolicy(claims: self.claims)
        policy.read(route: route, &notes)
        var app = ImportedApp(
            hosts: [host],
            path: path.path.isEmpty ? "/" : path.path,
            action: .response(status: 503, body: "no upstream is configured"),
            access: policy.access,
            place: route.place
        )
        app.denied = policy.denied
        // A prefix with a slash at its end does not match the path without it.
        let isFolder = app.path != "/" && route["prefix"]?.text?.hasSuffix("/") == true
        if isFolder, let condition = AccessCondition(path: app.path) { app.denied.append(condition) }
        if path.difference != nil {
            notes.warning(
                "'path' is one path, and an app has all below it as well; the app is denied to all users",
                at: route.place
            )
            app.access = .deniedToAll
            app.servesSamePaths = false
        }
        self.addUpstream(route, to: &app, &notes)
        self.addHeaders(route, to: &app, &notes)
        self.addFurtherKeys(route, to: &app, &notes)
        let subtree = app.path == "/" ? "/" : "\(app.path)/"
        var rules: [PublicPath] = []
        if route["allow_public_unauthenticated_access"]?.flag == true { rules.append(PublicPath(path: subtree)) }
        if route["cors_allow_preflight"]?.flag == true { rules.append(PublicPath(method: "OPTIONS", path: subtree)) }
        if policy.hasDenial, !rules.isEmpty {
            rules = []
            notes.warning(
                "a path without a sign-in cannot have a 'deny'; all requests of this app need a sign-in",
                at: route.place
            )
        }
        for rule in rules {
            app.makePublic(rule)
            if app.path != "/", !isFolder { app.makePublic(PublicPath(method: rule.method, path: app.path)) }
        }
        if app.access == .deniedToAll, rules.isEmpty {
            notes.warning("no rule of this route admits users; the app is denied to all users", at: route.place)
        }
        return app
    }

    private func addUpstream(_ route: SourceNode, to app: inout ImportedApp, _ notes: inout ImportNotes) {
        if let response = route["response"], let status = response["status"]?.text.flatMap({ Int($0) }),
            (200...599).contains(status), !(300...399).contains(status)
        {
            app.action = .response(status: status, body: status == 204 ? "" : response["body"]?.text ?? "")
            return
        }
        let texts = (route["to"]?.texts ?? []).map { String($0.prefix { $0 != "," }) }
        let urls = texts.compactMap { WebURL($0) }
        guard !urls.isEmpty, urls.count == texts.count, Set(urls.map(\.origin.scheme)).count == 1 else {
            return notes.warning(
                "the target of this route is not carried over; replace 'response' of the app by 'upstream'",
                at: route["to"]?.owner ?? route.place
            )
        }
        self.addPath(of: urls, route, to: &app, &notes)
        var upstream = YAMLMapping()
        let targets = urls.compactMap { ConfigText($0.origin.description) }
        upstream.add("targets", .texts(targets))
        upstream.add("tls", self.tls(route, isSecure: urls[0].origin.isSecure))
        var timeouts = YAMLMapping()
        if let timeout = route["timeout"]?.text.flatMap({ Duration(go: $0) }), timeout > .zero {
            timeouts.add("response", ConfigText(timeout.clamped(1...3600)))
        }
        upstream.add("timeouts", timeouts)
        let isSimple = upstream.entries.count == 1 && targets.count == 1
        app.action = .upstream(isSimple ? .text(targets[0]) : .mapping(upstream))
        if let host = route["host_rewrite"]?.text, WebURL("http://\(host)")?.path == "/" {
            app.settings.add("upstream_host", ConfigText(host))
        } else if route["preserve_host_header"]?.flag != true {
            app.settings.add("upstream_host", ConfigText(urls[0].origin.authority))
        }
        if route["allow_websockets"]?.flag != true { app.settings.add("websocket", .flag(false)) }
    }

    /// What the servers get in place of the prefix of a route: `prefix_rewrite`, else the path of the first target.
    private func addPath(
        of urls: [WebURL],
        _ route: SourceNode,
        to app: inout ImportedApp,
        _ notes: inout ImportNotes
    ) {
        let rewrite = route["prefix_rewrite"]
        let targetPath = urls[0].path == "/" ? nil : urls[0].path
        guard let target = rewrite?.text ?? targetPath else { return }
        // The text of the prefix is replaced, also within a segment: both end with a slash, or none does.
        let prefix = route["prefix"]?.text ?? "/"
        let isWhole = target == "/" ? app.path != "/" || prefix == "/" : target.hasSuffix("/") == prefix.hasSuffix("/")
        let isPrefix = route["regex"] == nil && route["path"] == nil && route["regex_rewrite_pattern"] == nil
        guard isPrefix, isWhole, urls.allSatisfy({ $0.query == nil }), PathPattern.isCanonical(target),
            app.replacePath(by: target)
        else {
            app.access = .deniedToAll
            app.servesSamePaths = false
            app.publicPaths = []
            return notes.warning(
                "the path that the target gets cannot be carried over; the app is denied to all users",
                at: rewrite?.owner ?? route["to"]?.owner
            )
        }
    }

    private func tls(_ route: SourceNode, isSecure: Bool) -> YAMLMapping {
        var tls = YAMLMapping()
        guard isSecure else { return tls }
        tls.add("ca_file", route["tls_custom_ca_file"]?.text.flatMap { ConfigText($0) })
        if let certificate = route["tls_client_cert_file"]?.text, let key = route["tls_client_key_file"]?.text {
            tls.add("certificate", ConfigText(certificate))
            tls.add("private_key", ConfigText(key))
        }
        let name = route["tls_upstream_server_name"]?.text ?? route["tls_server_name"]?.text
        tls.add("server_name", name.flatMap { Origin.normalHost($0) }.flatMap { ConfigText($0) })
        return tls
    }

    private func addHeaders(_ route: SourceNode, to app: inout ImportedApp, _ notes: inout ImportNotes) {
        var requests = YAMLMapping()
        for (name, value) in route["set_request_headers"]?.entries ?? [] {
            let variable = ConfigText.variable(ofHeader: name)
            guard HeaderEdits.reason(against: name, isSet: true) == nil, value.text?.contains("${") == false else {
                notes.warning("the header \(Scalar.quoted(name)) is not carried over", at: value.owner)
                continue
            }
            requests.add(name, ConfigText(environment: variable))
            notes.note(
                "the value of \(Scalar.quoted(name)) may be a secret and is not copied; put it into the environment variable \(variable)",
                at: value.owner
            )
        }
        let removed = (route["remove_request_headers"]?.texts ?? []).filter {
            HeaderEdits.reason(against: $0, isSet: false) == nil
        }
        let passesIdentity = route["pass_identity_headers"]?.flag ?? self.passesIdentity
        var edits = YAMLMapping()
        edits.add("set", requests)
        let dropped = passesIdentity ? self.headers.removed(besides: requests) : []
        edits.add("remove", .texts(removed.compactMap { ConfigText($0) } + dropped))
        app.settings.add("request_headers", edits)
        if route["set_response_headers"] != nil {
            notes.warning(
                "'set_response_headers' is not carried over; write 'response_headers'",
                at: route["set_response_headers"]?.owner
            )
        }
        guard passesIdentity else { return }
        app.settings.add("headers", self.headers.mapping)
        app.claimNames = self.headers.claimNames
        notes.warning(
            "X-Pomerium-Jwt-Assertion is the assertion of the gateway, with other 'iss', 'aud' and 'sub' and other keys",
            at: route["pass_identity_headers"]?.owner ?? route.place
        )
    }

    private static let carried: Set<String> = [
        "from", "to", "prefix", "path", "regex", "policy", "policies", "allowed_users", "allowed_domains",
        "allowed_groups", "allowed_idp_claims", "allow_any_authenticated_user", "allow_public_unauthenticated_access",
        "cors_allow_preflight", "response", "tls_custom_ca_file", "tls_client_cert_file", "tls_client_key_file",
        "tls_upstream_server_name", "tls_server_name", "timeout", "host_rewrite", "preserve_host_header",
        "allow_websockets", "set_request_headers", "remove_request_headers", "set_response_headers",
        "pass_identity_headers", "name", "description", "id", "logo_url",
        "enable_google_cloud_serverless_authentication", "show_error_details", "depends_on",
        "circuit_breaker_thresholds", "healthy_panic_threshold", "allow_renegotiation", "prefix_rewrite",
    ]

    private func addFurtherKeys(_ route: SourceNode, to app: inout ImportedApp, _ notes: inout ImportNotes) {
        for (name, value) in route.entries where !PomeriumRoutes.carried.contains(name) && !value.isNull {
            switch name {
            case "tls_skip_verify":
                notes.warning(
                    "the certificate of the app is always verified; write 'upstream: { tls: { ca_file: … } }'",
                    at: value.owner
                )
            case "idle_timeout", "load_balancing_policy", "health_checks", "outlier_detection", "allow_spdy",
                "kubernetes_service_account_token", "tls_custom_ca", "tls_client_cert", "tls_client_key":
                notes.warning("'\(name)' is not carried over; see docs/upstreams.md", at: value.owner)
            default:
                app.access = .deniedToAll
                app.servesSamePaths = false
                app.publicPaths = []
                notes.warning(
                    "\(Scalar.quoted(name)) cannot be carried over; the app is denied to all users",
                    at: value.owner
                )
            }
        }
    }
}

/// The requests that a route takes from later ones.
private struct RouteClaim {
    /// The host, or a wildcard.
    let host: String
    /// How the paths begin; without a slash at its end, they may go on within the segment.
    let text: String

    /// The path without a slash at its end.
    var path: String { self.text.hasSuffix("/") && self.text != "/" ? String(self.text.dropLast()) : self.text }

    /// Whether requests for a host are among them.
    func includes(_ host: String) -> Bool {
        host == self.host || (self.host.hasPrefix("*.") && host.hasSuffix(self.host.dropFirst()))
    }

    /// Whether all paths below one are among them.
    func hasAll(below path: String) -> Bool {
        path.hasPrefix(self.text) || "\(path == "/" ? "" : path)/".hasPrefix(self.text)
    }

    /// Whether requests that an app of a host would get here are among them, as no app of their own takes them.
    func isShared(with host: String) -> Bool { host != self.host || !self.text.hasSuffix("/") }
}

extension ImportedApp {
    /// Denies paths that an earlier route matches in the source, which also go on within a segment.
    fileprivate mutating func deny(pathsWithPrefix text: String, _ notes: inout ImportNotes) {
        let isOpen = !self.publicPaths.isEmpty
        if let condition = AccessCondition(pathsWithPrefix: text), !isOpen {
            return self.denied.append(condition)
        }
        self.deny()
        notes.warning(
            "an earlier route has the paths that begin with '\(text)', and a path without a sign-in cannot have a 'deny'; "
                + "the app is denied to all users",
            at: self.place
        )
    }
}
