// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateYAML

/// Converts the protected URLs of a virtual host to apps.
///
/// Of the sections that contain a URL, the last one of the file replaces the rules of the others, whatever its length.
struct ApacheApps {
    let server: ApacheServer
    let provider: String
    let publicHost: String?

    /// A section with a plain path.
    private struct Place {
        let path: String
        /// Whether it is written with a slash at its end, so that the path without it does not belong to it.
        let isFolder: Bool
        let node: ApacheNode
    }

    /// `ProxyPass`.
    private struct Forward {
        let path: String
        let target: String
        let place: ImportPlace
    }

    func apps(_ notes: inout ImportNotes) -> [ImportedApp] {
        var isSound = self.checkRewriting(&notes)
        var places: [Place] = []
        for node in self.server.locations {
            if let path = ApacheApps.path(of: node) {
                let isFolder = path != "/" && node.arguments.last?.hasSuffix("/") == true
                places.append(Place(path: path, isFolder: isFolder, node: node))
                if isFolder { notes.note("the rules of '\(path)/' hold for '\(path)' as well", at: node.place) }
            } else {
                isSound = isSound && RequireRules.areOpen(node.children ?? [])
                let effect = isSound ? "its paths need a sign-in" : "all apps of this host are denied to all users"
                notes.warning("the expression of this section cannot be carried over; \(effect)", at: node.place)
            }
        }
        let forwards = self.forwards(&notes)
        let paths = Set(places.map(\.path) + forwards.map(\.path)).sorted()
        var apps: [ImportedApp] = []
        for path in paths.prefix(ImportedConfiguration.maxApps) {
            guard var app = self.app(at: path, places, forwards, &notes) else { continue }
            if !isSound { app.access = .deniedToAll }
            apps.append(app)
        }
        guard isSound else { return apps }
        for place in places where place.path != "/" && ApacheApps.isOpen(place.path, places) {
            if !place.isFolder { apps.makePublic(PublicPath(path: place.path)) }
            apps.makePublic(PublicPath(path: "\(place.path)/"))
        }
        return apps
    }

    private func app(
        at path: String,
        _ places: [Place],
        _ forwards: [Forward],
        _ notes: inout ImportNotes
    ) -> ImportedApp? {
        let around = places.filter { PathPattern.contains($0.path, path) }
        guard let signIn = around.last(where: { !$0.node.all("authtype").isEmpty }), !ApacheApps.isOpen(path, places)
        else {
            if let forward = forwards.first(where: { $0.path == path }), forward.target != "!" {
                notes.warning(
                    "'\(path)' needs no sign-in in Apache; it is not carried over as an app",
                    at: forward.place
                )
            }
            return nil
        }
        let ruled = ApacheApps.ruling(path, places)
        let rules = RequireRules(
            provider: self.provider,
            groupsClaim: ApacheProvider(server: self.server).groupsClaim,
            usersAreEmails: self.server.text("oidcremoteuserclaim") == "email"
        )
        let place = (around.last ?? signIn).node.place
        // Without a rule, Apache admits all users.
        var outcome =
            ruled.map { rules.outcome(of: $0.node.children ?? [], &notes) } ?? RequireRules.Outcome(access: .signedIn)
        if !ApacheServer.hasSignIn(signIn.node) {
            guard around.contains(where: { ApacheServer.hasSignIn($0.node) }) else { return nil }
            outcome.access = .deniedToAll
        }
        var app = ImportedApp(
            path: path,
            action: .response(status: 503, body: "no upstream is configured"),
            access: outcome.access,
            place: place
        )
        app.denied = outcome.denied
        app.providers = [self.provider]
        if let host = self.server.host, host != self.publicHost { app.hosts = [host] }
        self.forward(&app, forwards, &notes)
        self.addUserHeader(to: &app)
        if outcome.access == .deniedToAll {
            notes.warning(
                "no rule of this section can be carried over; the app '\(path)' is denied to all users",
                at: place
            )
        }
        return app
    }

    /// The section whose rules hold for a path.
    private static func ruling(_ path: String, _ places: [Place]) -> Place? {
        places.last {
            PathPattern.contains($0.path, path) && ($0.node.children ?? []).contains(where: RequireRules.isRule)
        }
    }

    /// Whether a path needs no sign-in.
    private static func isOpen(_ path: String, _ places: [Place]) -> Bool {
        self.ruling(path, places).map { RequireRules.areOpen($0.node.children ?? []) } ?? false
    }

    /// Forwards an app as the longest `ProxyPass` does.
    private func forward(_ app: inout ImportedApp, _ forwards: [Forward], _ notes: inout ImportNotes) {
        let around = forwards.filter { PathPattern.contains($0.path, app.path) }
        guard let forward = around.max(by: { $0.path.utf8.count < $1.path.utf8.count }) else {
            return notes.warning(
                "there is no ProxyPass for '\(app.path)'; replace 'response' of the app by 'upstream'",
                at: app.place
            )
        }
        guard forward.target != "!" else {
            app.action = .response(status: 404, body: "not forwarded")
            return
        }
        guard let url = WebURL(forward.target), let target = ConfigText(url.origin.description) else {
            return notes.warning(
                "this target is not carried over; replace 'response' of the app by 'upstream'",
                at: forward.place
            )
        }
        let prefix = url.path == "/" ? "/" : url.path.hasSuffix("/") ? String(url.path.dropLast()) : url.path
        if prefix == "/", forward.path != "/", forward.path == app.path {
            app.settings.add("strip_prefix", .flag(true))
        } else if prefix != forward.path {
            app.access = .deniedToAll
            notes.warning(
                "the target has another path than the app, which cannot be carried over; the app is denied to all users",
                at: forward.place
            )
            return
        }
        app.action = .upstream(.text(target))
        let keepsHost = self.server.text("proxypreservehost")?.lowercased() == "on"
        if !keepsHost { app.settings.add("upstream_host", ConfigText(url.origin.authority)) }
    }

    /// `OIDCAuthNHeader` has the value of `REMOTE_USER`.
    private func addUserHeader(to app: inout ImportedApp) {
        guard let header = self.server.text("oidcauthnheader"),
            header.utf8.allSatisfy({ (0x41...0x5A).contains($0 & 0xDF) || $0 == 0x2D })
        else { return }
        guard let claim = self.server.text("oidcremoteuserclaim"),
            ["email", "preferred_username", "name"].contains(claim)
        else { return }
        var headers = YAMLMapping()
        headers.add(header, .word(claim))
        app.settings.add("headers", headers)
    }

    private func forwards(_ notes: inout ImportNotes) -> [Forward] {
        var forwards: [Forward] = []
        func add(_ path: String, _ target: String, _ place: ImportPlace) {
            let plain = path.hasSuffix("/") && path != "/" ? String(path.dropLast()) : path
            guard PathPattern.isCanonical(plain), !target.hasPrefix("ws"),
                !forwards.contains(where: { $0.path == plain })
            else { return }
            forwards.append(Forward(path: plain, target: target, place: place))
        }
        for node in self.server.nodes where node.name == "proxypass" && node.arguments.count > 1 {
            add(node.arguments[0], node.arguments[1], node.place)
        }
        for location in self.server.locations {
            guard let path = ApacheApps.path(of: location), let node = location.all("proxypass").last else { continue }
            if let target = node.arguments.first { add(path, target, node.place) }
        }
        return forwards
    }

    /// Directives that forward, admit or deny requests in ways that paths and users cannot express.
    private static let inexpressible: Set<String> = [
        "proxypassmatch", "if", "elseif", "else", "limit", "limitexcept", "satisfy", "authmerging", "deny",
    ]

    /// Whether no directive forwards or denies requests in ways that cannot be expressed.
    private func checkRewriting(_ notes: inout ImportNotes) -> Bool {
        var isSound = true
        for node in self.server.nodes + self.server.locations.flatMap({ $0.children ?? [] }) {
            let flags = node.name == "rewriterule" ? node.arguments.last ?? "" : ""
            let denies =
                flags.hasPrefix("[")
                && flags.dropFirst().dropLast().split(separator: ",").contains { ["F", "G"].contains($0.uppercased()) }
            if denies || ApacheApps.inexpressible.contains(node.name) {
                isSound = false
                notes.warning(
                    "\(Scalar.quoted(node.name)) cannot be carried over; all apps of this host are denied to all users",
                    at: node.place
                )
            } else if node.name == "rewriterule" {
                notes.warning("'rewriterule' is not carried over", at: node.place)
            }
        }
        return isSound
    }

    /// The path of a section; nil for an expression that is not a plain one.
    private static func path(of node: ApacheNode) -> String? {
        let isExpression = node.name == "locationmatch" || node.arguments.first == "~"
        guard let text = node.arguments.last else { return nil }
        if isExpression { return PathPattern(text)?.subtree }
        let plain = text.hasSuffix("/") && text != "/" ? String(text.dropLast()) : text
        return PathPattern.isCanonical(plain) ? plain : nil
    }
}
