// SPDX-License-Identifier: Apache-2.0

internal import GateConfiguration
internal import GateCore
internal import GateYAML

/// Converts the protected URLs of a virtual host to apps.
///
/// Of the sections that contain a URL, the last one of the file replaces the rules of the others, whatever its length.
struct ApacheApps {
    let server: ApacheServer
    let provider: String
    let publicHost: String?
    /// The claims of all virtual hosts.
    let claims: ImportedClaims

    private var filter: ApacheClaimFilter { ApacheClaimFilter(self.server.nodes) }

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
        /// Whether a section has it; those come before all others.
        let isOfSection: Bool
    }

    /// The rules that hold for a path.
    private struct Rules {
        /// The sections that contain it, in the order of the file.
        let places: [Place]

        /// The section whose rules hold.
        var ruling: Place? {
            self.places.last { ($0.node.children ?? []).contains(where: RequireRules.isRule) }
        }

        /// Whether the path needs no sign-in.
        var isOpen: Bool { self.ruling.map { RequireRules.areOpen($0.node.children ?? []) } ?? false }

        /// The section that asks for a sign-in.
        var signIn: Place? { self.places.last { !$0.node.all("authtype").isEmpty } }
    }

    func apps(_ notes: inout ImportNotes) -> [ImportedApp] {
        let restrictions = ApacheRestrictions(self.server, &notes)
        var isSound = restrictions.isKnown
        var places: [Place] = []
        for node in self.server.locations where node.condition == nil {
            if let place = ApacheApps.place(of: node) {
                places.append(place)
            } else {
                let isOpen = RequireRules.areOpen(node.children ?? [])
                let effect = isOpen ? "its paths need a sign-in" : "all apps of this host are denied to all users"
                notes.warning("the expression of this section cannot be carried over; \(effect)", at: node.place)
                isSound = isSound && isOpen
            }
        }
        let found = self.forwards(&notes)
        let forwards = found ?? []
        isSound = isSound && found != nil
        let paths = Set(places.map(\.path) + forwards.map(\.path)).sorted()
        var apps: [ImportedApp] = []
        for path in paths.prefix(ImportedConfiguration.maxApps) {
            guard var app = self.app(at: path, places, forwards, restrictions, &notes) else { continue }
            if !isSound { app.access = .deniedToAll }
            apps.append(app)
        }
        guard isSound else { return apps }
        for place in places where place.path != "/" && self.rules(below: place.path, places).isOpen {
            if !place.isFolder { apps.makePublic(PublicPath(path: place.path)) }
            apps.makePublic(PublicPath(path: "\(place.path)/"))
        }
        return apps
    }

    /// The rules of what is below a path.
    private func rules(below path: String, _ places: [Place]) -> Rules {
        Rules(places: places.filter { PathPattern.contains($0.path, path) })
    }

    /// The rules of exactly one path, to which a section that is written with a slash at its end does not belong.
    private func rules(of path: String, _ places: [Place]) -> Rules {
        Rules(places: places.filter { PathPattern.contains($0.path, path) && !($0.isFolder && $0.path == path) })
    }

    private func app(
        at path: String,
        _ places: [Place],
        _ forwards: [Forward],
        _ restrictions: ApacheRestrictions,
        _ notes: inout ImportNotes
    ) -> ImportedApp? {
        let rules = self.rules(below: path, places)
        let forward = ApacheApps.forward(for: path, forwards)
        guard let signIn = rules.signIn, !rules.isOpen else {
            if let forward, forward.path == path, forward.target != "!" {
                notes.warning(
                    "'\(path)' needs no sign-in in Apache; it is not carried over as an app",
                    at: forward.place
                )
            }
            return nil
        }
        let place = (rules.places.last ?? signIn).node.place
        guard rules.places.contains(where: { ApacheServer.hasSignIn($0.node) }) else { return nil }
        var app = ImportedApp(
            path: path,
            action: .response(status: 503, body: "no upstream is configured"),
            access: .deniedToAll,
            place: place
        )
        let isForwarded = forward.map { $0.target != "!" } ?? false
        let section = isForwarded ? restrictions.proxied : restrictions.files
        var outcome = self.outcome(of: rules, under: section, &notes)
        let exact = self.rules(of: path, places)
        if rules.places.count != exact.places.count, exact.signIn != nil, !exact.isOpen {
            notes.note("'\(path)' has the rules of '\(path)/' here too, beside its own", at: place)
            let more = self.outcome(of: exact, under: section, &notes)
            outcome.access = outcome.access.and(more.access)
            outcome.denied += more.denied
        }
        if !isForwarded, !restrictions.filesAreKnown { outcome.access = .deniedToAll }
        app.access = outcome.access
        app.denied = outcome.denied
        app.providers = [self.provider]
        if let host = self.server.host, host != self.publicHost { app.hosts = [host] }
        self.apply(forward, to: &app, &notes)
        ApacheHeaders(server: self.server, claims: self.claims, filter: self.filter)
            .add(to: &app, rules.places.map(\.node), &notes)
        if outcome.access == .deniedToAll {
            notes.warning(
                "no rule of this section can be carried over; the app '\(path)' is denied to all users",
                at: place
            )
        }
        return app
    }

    /// The users whom the rules of a path admit.
    ///
    /// Without rules for its URL, those of a section for files or forwarded requests hold; without any, Apache admits
    /// all users.
    private func outcome(
        of rules: Rules,
        under section: ApacheNode?,
        _ notes: inout ImportNotes
    ) -> RequireRules.Outcome {
        if let signIn = rules.signIn, !ApacheServer.hasSignIn(signIn.node) {
            return RequireRules.Outcome(access: .deniedToAll)
        }
        let converter = RequireRules(
            provider: self.provider,
            groupsClaim: ApacheProvider(server: self.server).groupsClaim,
            claims: self.claims,
            filter: self.filter,
            usersAreEmails: self.server.text("oidcremoteuserclaim") == "email",
            knowsClientIP: !self.server.nodes.contains { HarmlessDirective.clientIP.contains($0.name) }
        )
        if let ruling = rules.ruling { return converter.outcome(of: ruling.node.children ?? [], &notes) }
        guard let section else { return RequireRules.Outcome(access: .signedIn) }
        notes.warning(
            "the rules of this section hold for URLs without rules of their own and cannot be carried over; "
                + "their apps are denied to all users",
            at: section.place
        )
        return RequireRules.Outcome(access: .deniedToAll)
    }

    /// The `ProxyPass` for a path: that of the last section that contains it, else the first of the host.
    private static func forward(for path: String, _ forwards: [Forward]) -> Forward? {
        let around = forwards.filter { PathPattern.contains($0.path, path) }
        return around.last(where: \.isOfSection) ?? around.first
    }

    /// Forwards an app as Apache does.
    private func apply(_ forward: Forward?, to app: inout ImportedApp, _ notes: inout ImportNotes) {
        guard let forward else {
            return notes.warning(
                "there is no ProxyPass for '\(app.path)'; replace 'response' of the app by 'upstream'",
                at: app.place
            )
        }
        guard forward.target != "!" else {
            app.action = .response(status: 404, body: "not forwarded")
            return
        }
        guard let url = WebURL(forward.target), let server = ConfigText(url.origin.description) else {
            return notes.warning(
                "this target is not carried over; replace 'response' of the app by 'upstream'",
                at: forward.place
            )
        }
        let prefix = url.path.hasSuffix("/") ? String(url.path.dropLast()) : url.path
        // What is below the path of the ProxyPass follows that of its target.
        let below = forward.path == "/" ? app.path : String(app.path.dropFirst(forward.path.count))
        let target = below == "/" || below.isEmpty ? (prefix.isEmpty ? "/" : prefix) : prefix + below
        guard url.query == nil, app.replacePath(by: target) else {
            app.access = .deniedToAll
            notes.warning(
                "the path of the target is not a plain one and cannot be carried over; the app is denied to all users",
                at: forward.place
            )
            return
        }
        app.action = .upstream(.text(server))
        let keepsHost = self.server.text("proxypreservehost")?.lowercased() == "on"
        if !keepsHost { app.settings.add("upstream_host", ConfigText(url.origin.authority)) }
    }

    /// Each `ProxyPass`, in the order of the file; nil, and a warning, if the path of one cannot be expressed.
    private func forwards(_ notes: inout ImportNotes) -> [Forward]? {
        var forwards: [Forward] = []
        var isSound = true
        func add(_ path: String, _ target: String, _ node: ApacheNode, isOfSection: Bool) {
            let plain = path.hasSuffix("/") && path != "/" ? String(path.dropLast()) : path
            // A WebSocket goes to the target of the app.
            guard !target.hasPrefix("ws") else { return }
            // Apache replaces text: `/app/` to `http://server/base` makes `/basex` of `/app/x`.
            let end = WebURL(target)?.path ?? ""
            guard end.isEmpty || end == "/" || path.hasSuffix("/") == end.hasSuffix("/") else {
                isSound = false
                return notes.warning(
                    "only one side of this ProxyPass ends in '/', so Apache makes other paths of it than a mapping by segments; all "
                        + "apps of this host are denied to all users",
                    at: node.place
                )
            }
            guard PathPattern.isCanonical(plain) else {
                isSound = false
                return notes.warning(
                    "the path of this ProxyPass cannot be carried over; all apps of this host are denied to all users",
                    at: node.place
                )
            }
            forwards.append(Forward(path: plain, target: target, place: node.place, isOfSection: isOfSection))
        }
        for node in self.server.nodes where node.name == "proxypass" && node.arguments.count > 1 {
            add(node.arguments[0], node.arguments[1], node, isOfSection: false)
        }
        for location in self.server.locations {
            guard let place = ApacheApps.place(of: location), let node = location.all("proxypass").last,
                let target = node.arguments.first
            else { continue }
            add(place.path, target, node, isOfSection: true)
        }
        return isSound ? forwards : nil
    }

    /// A section as a path; nil for an expression that is not a plain one.
    private static func place(of node: ApacheNode) -> Place? {
        let isExpression = node.name == "locationmatch" || node.arguments.first == "~"
        guard let text = node.arguments.last else { return nil }
        if isExpression {
            guard let pattern = PathPattern(text) else { return nil }
            if let subtree = pattern.subtree { return Place(path: subtree, isFolder: false, node: node) }
            guard let folder = pattern.below, pattern.exact == nil, !pattern.isNarrower else { return nil }
            return Place(path: String(folder.dropLast()), isFolder: true, node: node)
        }
        let isFolder = text.hasSuffix("/") && text != "/"
        let plain = isFolder ? String(text.dropLast()) : text
        return PathPattern.isCanonical(plain) ? Place(path: plain, isFolder: isFolder, node: node) : nil
    }
}
