// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// A provider of the result.
struct ImportedProvider: Sendable {
    let name: String
    var settings: YAMLMapping

    /// The look-ups without which users of a type have no groups; nil if its tokens list them.
    static func lookups(ofType type: String) -> YAMLValue? {
        switch type {
        case "github": .list([.word("organizations"), .word("teams")])
        case "google": .list([.word("direct")])
        default: nil
        }
    }

    /// What a type reports claims in; none if it has neither an ID token nor userinfo.
    static func documents(ofType type: String, _ documents: [ClaimPath.Document]) -> [ClaimPath.Document] {
        switch type {
        case "github", "facebook": []
        case "apple": documents.filter { $0 == .idToken }
        default: documents
        }
    }
}

/// An app of the result.
struct ImportedApp: Sendable {
    /// What happens to a request that is allowed.
    enum Action: Sendable {
        /// It is forwarded.
        case upstream(YAMLValue)
        /// It is redirected.
        case redirect(ConfigText)
        /// It gets a fixed response.
        case response(status: Int, body: String)
    }

    /// Empty for the host of `public_url`.
    var hosts: [String] = []
    var path = "/"
    var action: Action
    var access: AccessDraft
    var denied: [AccessCondition] = []
    var providers: [String] = []
    var publicPaths: [PublicPath] = []
    /// Whether the app serves the same paths as in the source, so that paths of it can be made public.
    var servesSamePaths = true
    /// The names of the claims that it gets in headers.
    var claimNames: Set<String> = []
    /// Further keys.
    var settings = YAMLMapping()
    /// Where the source has it.
    let place: ImportPlace
}

/// What an import has found, to be written as `providers.yaml`.
struct ImportedConfiguration: Sendable {
    /// The maximum number of apps.
    static let maxApps = 1000

    var publicURL: Origin?
    var gateway = YAMLMapping()
    var sessions = YAMLMapping()
    var providers: [ImportedProvider] = []
    var apps: [ImportedApp] = []
    /// The claims of the source; what no app uses of them is not written.
    var claims = ImportedClaims([], from: [])

    /// The URL of the sign-in page, or one that has to be replaced.
    private var publicOrigin: Origin? { self.publicURL ?? Origin(scheme: "https", host: "gate.example.com") }

    /// Removes apps whose wildcard includes the host of `public_url`, which the configuration file does not allow.
    mutating func removeWildcardsOfPublicHost(_ notes: inout ImportNotes) {
        let publicHost = self.publicOrigin?.host ?? ""
        self.apps.removeAll { app in
            guard let wildcard = app.hosts.first(where: { $0.hasPrefix("*.") }) else { return false }
            let includes = publicHost.drop { $0 != "." } == wildcard.dropFirst()
            if includes {
                let help = "list its hosts, or choose a 'public_url' on another domain"
                notes.warning("'\(wildcard)' includes the host of 'public_url' and gets no app; \(help)", at: app.place)
            }
            return includes
        }
    }

    /// Adds to each provider the claims that apps use whose users it signs in.
    mutating func addClaims() {
        for index in self.providers.indices {
            let name = self.providers[index].name
            let apps = self.apps.filter { $0.providers.isEmpty || $0.providers.contains(name) }
            let used = apps.reduce(into: Set<String>()) { used, app in
                used.formUnion(app.claimNames.union(app.access.claimNames))
                for condition in app.denied { used.formUnion(condition.claimNames) }
            }
            self.providers[index].settings.add("claims", self.claims.mapping(of: used))
        }
    }

    /// The file.
    func yaml(of product: String) -> String {
        var gateway = YAMLMapping()
        gateway.add("public_url", self.publicOrigin.flatMap { ConfigText($0.description) })
        for entry in self.gateway.entries { gateway.add(entry.key, entry.value) }
        var file = YAMLMapping()
        file.add("gateway", gateway)
        file.add("sessions", self.sessions)
        var providers = YAMLMapping()
        for provider in self.providers { providers.add(provider.name, provider.settings) }
        file.add("providers", providers)
        var apps = YAMLMapping()
        for (name, app) in self.namedApps { apps.add(name, app.yaml) }
        file.add("apps", apps)
        let parts = file.entries.map { entry in
            var part = YAMLMapping()
            part.add(entry.key, entry.value)
            return part.written()
        }
        return "# Written by `gatehouse import` from a configuration of \(product). Read its notes, then run\n"
            + "# `gatehouse check`, before you use this file.\n\n" + parts.joined(separator: "\n")
    }

    /// The apps by names that are made of host and path.
    private var namedApps: [(String, ImportedApp)] {
        var taken: Set<String> = []
        return self.apps.map { app in
            let label = app.hosts.first.map { $0.hasPrefix("*.") ? "any.\($0.dropFirst(2))" : $0 } ?? ""
            let base = ImportedConfiguration.name(from: "\(label)\(app.path)", else: "app")
            var name = base
            var number = 2
            while !taken.insert(name).inserted {
                name = "\(base.prefix(55))-\(number)"
                number += 1
            }
            return (name, app)
        }
    }

    /// A name of lower-case letters, digits, `.` and `-`, as apps and providers have.
    static func name(from text: String, else fallback: String) -> String {
        let bytes = text.lowercased().utf8.map { byte -> UInt8 in
            let isKept = (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte) || byte == UInt8(ascii: ".")
            return isKept ? byte : UInt8(ascii: "-")
        }
        let words = bytes.split(separator: UInt8(ascii: "-")).map { Array($0) }
        let joined = String(decoding: Array(words.joined(separator: [UInt8(ascii: "-")])), as: UTF8.self)
        let name = String(joined.drop { $0 == "." }.prefix(60))
        return name.isEmpty ? fallback : name
    }
}

extension ImportedApp {
    var yaml: YAMLMapping {
        var app = YAMLMapping()
        let hosts = self.hosts.compactMap { ConfigText($0) }
        app.add("host", hosts.count == 1 ? .text(hosts[0]) : .texts(hosts))
        app.add("path", self.path == "/" ? nil : ConfigText(self.path))
        switch self.action {
        case .upstream(let upstream): app.add("upstream", upstream)
        case .redirect(let target):
            var redirect = YAMLMapping()
            redirect.add("to", target)
            app.add("redirect", redirect)
        case .response(let status, let body):
            var response = YAMLMapping()
            response.add("status", .number(status))
            response.add("body", ConfigText(body))
            app.add("response", response)
        }
        app.add("providers", self.providers.isEmpty ? nil : .list(self.providers.map { .word($0) }))
        self.access.add(denied: self.denied, to: &app)
        app.add("public", .texts(self.publicRules))
        for entry in self.settings.entries { app.add(entry.key, entry.value) }
        return app
    }

    private var publicRules: [ConfigText] {
        var known: Set<PublicPath> = []
        return self.publicPaths.filter { known.insert($0).inserted }.compactMap { rule in
            ConfigText(rule.method.map { "\($0) \(rule.path)" } ?? rule.path)
        }
    }
}

extension [ImportedApp] {
    /// Denies all of them to all users.
    mutating func deny() {
        for index in self.indices { self[index].deny() }
    }

    /// Makes paths public in the app that serves them.
    ///
    /// A path that no app serves is left out, and so is one of an app that serves other paths than in the source.
    mutating func makePublic(_ rule: PublicPath) {
        let serving = self.indices.filter { PathPattern.contains(self[$0].path, rule.path) }
        guard let index = serving.max(by: { self[$0].path.utf8.count < self[$1].path.utf8.count }) else { return }
        self[index].makePublic(rule)
    }

    /// Makes paths public in all apps that serve them, also in those whose own path is below them.
    mutating func makePublicEverywhere(_ rule: PublicPath) {
        for index in self.indices where self[index].path != "/" && "\(self[index].path)/".hasPrefix(rule.path) {
            let app = self[index].path
            guard rule.path.hasSuffix("/") else { continue }
            self[index].makePublic(PublicPath(method: rule.method, path: "\(app)/"))
            if app.hasPrefix(rule.path) { self[index].makePublic(PublicPath(method: rule.method, path: app)) }
        }
        self.makePublic(rule)
    }
}

extension ImportedApp {
    /// Whether all its paths need no sign-in.
    var isPublic: Bool {
        self.publicPaths.contains(PublicPath(path: self.path == "/" ? "/" : "\(self.path)/"))
    }

    /// Denies the app to all users, with a sign-in and without.
    mutating func deny() {
        self.access = .deniedToAll
        self.publicPaths = []
        self.servesSamePaths = false
    }

    /// Adds a public path, if the paths of the app are those of the source.
    mutating func makePublic(_ rule: PublicPath) {
        guard self.servesSamePaths, !self.publicPaths.contains(rule) else { return }
        self.publicPaths.append(rule)
    }
}
