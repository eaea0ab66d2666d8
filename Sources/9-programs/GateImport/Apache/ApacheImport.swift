// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateYAML

/// Converts a configuration of Apache with mod_auth_openidc.
///
/// https://github.com/OpenIDC/mod_auth_openidc/blob/master/auth_openidc.conf
struct ApacheImport: ProductImport {
    static let product = "mod_auth_openidc"

    func configuration(
        from files: [ImportFile],
        _ notes: inout ImportNotes
    ) throws(ImportFailure) -> ImportedConfiguration {
        var read: [(name: String, nodes: [ApacheNode])] = []
        for file in files { read.append((file.name, try ApacheReader.nodes(of: file))) }
        let nodes = ApacheConditions.nodes(of: read)
        self.addNotes(of: nodes, &notes)
        let hosts = nodes.filter { $0.name == "virtualhost" }
        let common = nodes.filter { $0.name != "virtualhost" }
        var configuration = ImportedConfiguration()
        var servers = hosts.map {
            ApacheServer(nodes: common + ($0.children ?? []), own: $0.children ?? [], place: $0.place)
        }
        if servers.isEmpty {
            servers = [
                ApacheServer(nodes: common, own: common, place: nodes.first?.place ?? ImportPlace(file: "", line: 1))
            ]
        }
        servers.removeAll { !$0.isProtected }
        if servers.isEmpty {
            throw ImportFailure("no section has 'AuthType openid-connect'; name the file that has it too")
        }
        let primary = servers[0]
        configuration.publicURL = primary.redirect?.origin
        ApacheSessions(server: primary).add(to: &configuration.sessions, &notes)
        let compared = servers.flatMap { RequireRules.claims(in: $0.nodes) }
        let listed = servers.flatMap { ApacheClaimFilter($0.nodes).listed ?? [] }
        configuration.claims = ImportedClaims(
            compared + listed + servers.compactMap { $0.text("oidcremoteuserclaim") },
            from: [.idToken, .userinfo]
        )
        for server in servers {
            let provider = ApacheProvider(server: server)
            let converted = provider.converted(name: self.name(of: provider, among: configuration.providers), &notes)
            let known = configuration.providers.first { $0.settings == converted.settings }
            if known == nil { configuration.providers.append(converted) }
            let apps = ApacheApps(
                server: server,
                provider: known?.name ?? converted.name,
                publicHost: primary.redirect?.origin.host,
                claims: configuration.claims
            )
            .apps(&notes)
            configuration.add(apps, of: server, &notes)
        }
        // With one provider there is nothing to choose from.
        if configuration.providers.count == 1 {
            for index in configuration.apps.indices { configuration.apps[index].providers = [] }
        }
        notes.warning(
            "of the claims that Apache sends to apps, 'headers' has sub, email, name, preferred_username, the groups and those that the file "
                + "names; for others write 'claims' of the provider and 'headers' of the app. REMOTE_USER is not sent: apps read "
                + "X-Forwarded-User or verify X-Gatehouse-Assertion",
            at: nil
        )
        return configuration
    }

    private func name(of provider: ApacheProvider, among others: [ImportedProvider]) -> String {
        others.isEmpty || others.contains { $0.settings == provider.settings } ? "staff" : "staff-\(others.count + 1)"
    }

    private func addNotes(of nodes: [ApacheNode], _ notes: inout ImportNotes) {
        for node in nodes {
            if let children = node.children { self.addNotes(of: children, &notes) }
            if node.name.hasPrefix("oidc"), let note = ApacheDirective.note(for: node.name) {
                let text = "\(Scalar.quoted(node.name)) \(note.text)"
                if note.isLost { notes.warning(text, at: node.place) } else { notes.note(text, at: node.place) }
            } else if node.name == "serveralias" {
                notes.warning(
                    "'ServerAlias' is not carried over; add these hosts to 'host' of each app",
                    at: node.place
                )
            } else if ["header", "requestheader"].contains(node.name) {
                notes.warning(
                    "\(Scalar.quoted(node.name)) is not carried over; see 'request_headers' and 'response_headers'",
                    at: node.place
                )
            } else if ["directory", "files", "directorymatch", "filesmatch"].contains(node.name),
                ApacheServer.hasSignIn(node)
            {
                notes.warning(
                    "files that Apache serves itself are not carried over; run a web server for them",
                    at: node.place
                )
            }
        }
    }
}

extension ImportedConfiguration {
    /// Adds the apps of a virtual host, which are denied if another host has the same name.
    fileprivate mutating func add(_ apps: [ImportedApp], of server: ApacheServer, _ notes: inout ImportNotes) {
        var apps = apps
        if server.host == nil, server.isNamed {
            let help = "all its apps are denied to all users; write 'host' and the rules"
            notes.warning("the name of this host cannot be read; \(help)", at: server.place)
            apps.deny()
        }
        let hosts = apps.first?.hosts
        if self.apps.contains(where: { $0.hosts == hosts }) {
            let name = hosts?.first.map { "'\($0)'" } ?? "the host of 'public_url'"
            notes.warning(
                "\(name) has another virtual host before; this one is left out and the apps of both are denied to all users",
                at: server.place
            )
            for index in self.apps.indices where self.apps[index].hosts == hosts { self.apps[index].deny() }
            return
        }
        self.apps += apps
    }
}

/// One virtual host.
struct ApacheServer {
    /// Its directives, after those outside of all virtual hosts.
    let nodes: [ApacheNode]
    /// Those within it.
    let own: [ApacheNode]
    let place: ImportPlace

    /// The last value of a directive.
    func value(_ name: String) -> ApacheNode? { self.nodes.last { $0.name == name && !$0.arguments.isEmpty } }

    func text(_ name: String) -> String? { self.value(name)?.arguments.first }

    static func hasSignIn(_ node: ApacheNode) -> Bool {
        node.all("authtype").last.map { ["openid-connect", "auth-openidc"].contains($0.arguments.first?.lowercased()) }
            ?? false
    }

    /// The sections of URLs that have rules or ask for a sign-in.
    var locations: [ApacheNode] { self.nodes.filter { $0.name == "location" || $0.name == "locationmatch" } }

    var isProtected: Bool { self.locations.contains(where: ApacheServer.hasSignIn) }

    /// The callback URL; a path is on the server's own host.
    var redirect: WebURL? {
        guard let text = self.text("oidcredirecturi") else { return nil }
        guard text.hasPrefix("/") else { return WebURL(text) }
        return self.host.flatMap { WebURL("https://\($0)\(text)") }
    }

    /// Whether it has a name, which may be one that cannot be read.
    var isNamed: Bool { self.own.contains { $0.name == "servername" } }

    /// The name of the server.
    var host: String? {
        guard let name = self.own.last(where: { $0.name == "servername" })?.arguments.first else { return nil }
        let authority = name.firstRange(of: "://").map { String(name[$0.upperBound...]) } ?? name
        return WebURL.split(authority: authority).flatMap { Origin.normalHost($0.host) }
    }
}

/// The provider of a virtual host.
struct ApacheProvider {
    let server: ApacheServer

    /// The settings alone, to compare providers.
    var settings: YAMLMapping {
        var notes = ImportNotes()
        return self.converted(name: "", &notes).settings
    }

    func converted(name: String, _ notes: inout ImportNotes) -> ImportedProvider {
        var entry = YAMLMapping()
        entry.add("type", .word("oidc"))
        entry.add("issuer", self.issuer(&notes))
        entry.add("client_id", self.scalar("oidcclientid", &notes))
        entry.add("client_secret", self.secret(&notes))
        if let method = self.server.text("oidcprovidertokenendpointauth")?.lowercased(),
            ["client_secret_basic", "client_secret_post"].contains(method)
        {
            entry.add("client_authentication", .word(method))
        }
        if self.server.text("oidcresponsemode")?.lowercased() == "form_post" {
            entry.add("response_mode", .word("form_post"))
        }
        let scopes = (self.server.text("oidcscope") ?? "openid").split(separator: " ").compactMap {
            ConfigText(String($0))
        }
        entry.add("scopes", .texts(scopes))
        entry.add("authorization_parameters", self.parameters)
        if let file = self.scalar("oidccabundlepath", &notes) {
            var tls = YAMLMapping()
            tls.add("ca_file", file)
            entry.add("tls", tls)
        }
        if let proxy = self.server.text("oidcoutgoingproxy") {
            entry.add("proxy", WebURL("http://\(proxy)").flatMap { ConfigText($0.origin.description) })
        }
        if let claim = self.groupsClaim, claim != "groups" {
            var profile = YAMLMapping()
            profile.add("groups", ClaimPath(claim)?.sources())
            entry.add("profile", profile)
        }
        return ImportedProvider(name: name, settings: entry)
    }

    /// A reference for the client secret, which is never copied.
    private func secret(_ notes: inout ImportNotes) -> ConfigText? {
        let variable = "OIDC_CLIENT_SECRET"
        guard let node = self.server.value("oidcclientsecret") else {
            let help = "put it into the environment variable \(variable), or write 'private_key'"
            notes.warning("there is no 'OIDCClientSecret'; \(help)", at: self.server.place)
            return ConfigText(environment: variable)
        }
        let text = node.arguments[0]
        let inner = String(text.dropFirst(2).dropLast())
        if text.hasPrefix("${"), text.hasSuffix("}"), let known = ConfigText(environment: inner) { return known }
        let help = "put it into the environment variable \(variable)"
        notes.note("the secret 'OIDCClientSecret' is not copied; \(help)", at: node.place)
        return ConfigText(environment: variable)
    }

    /// The claim that rules use as groups; a second one cannot be expressed.
    var groupsClaim: String? { RequireRules.groupClaims(in: self.server.nodes).first }

    private func issuer(_ notes: inout ImportNotes) -> ConfigText? {
        let suffix = "/.well-known/openid-configuration"
        if let node = self.server.value("oidcprovidermetadataurl") {
            let text = node.arguments[0]
            if text.hasSuffix(suffix) { return ConfigText(String(text.dropLast(suffix.count))) }
            notes.warning("the metadata URL does not end in \(suffix); write 'issuer' by hand", at: node.place)
            return nil
        }
        guard let issuer = self.scalar("oidcproviderissuer", &notes) else {
            notes.warning("there is no 'OIDCProviderMetadataURL'; write 'issuer' by hand", at: self.server.place)
            return nil
        }
        return issuer
    }

    private func scalar(_ name: String, _ notes: inout ImportNotes) -> ConfigText? {
        guard let node = self.server.value(name) else { return nil }
        let text = ConfigText(node.arguments[0])
        if text == nil {
            notes.warning(
                "the value of \(Scalar.quoted(node.name)) cannot be written to providers.yaml; write it by hand",
                at: node.place
            )
        }
        return text
    }

    private var parameters: YAMLMapping {
        var parameters = YAMLMapping()
        for pair in (self.server.text("oidcauthrequestparams") ?? "").split(separator: "&") {
            let sides = pair.split(separator: "=", maxSplits: 1).map(String.init)
            guard sides.count == 2, ["prompt", "acr_values", "login_hint", "ui_locales"].contains(sides[0]),
                !sides[1].contains("%")
            else { continue }
            parameters.add(sides[0], ConfigText(sides[1]))
        }
        return parameters
    }
}

/// The sessions of a virtual host.
struct ApacheSessions {
    let server: ApacheServer

    func add(to sessions: inout YAMLMapping, _ notes: inout ImportNotes) {
        if let redis = self.server.value("oidcrediscacheserver"),
            self.server.text("oidccachetype")?.lowercased() == "redis"
        {
            let hasPassword = self.server.value("oidcrediscachepassword") != nil
            let url = WebURL("http://\(redis.arguments[0])").flatMap { ConfigText("redis://\($0.origin.authority)/0") }
            sessions.add("store", hasPassword ? ConfigText(environment: "GATEHOUSE_REDIS_URL") : url)
            if hasPassword {
                notes.note(
                    "the password of Redis is not copied; put redis://:PASSWORD@HOST:6379/0 into the environment variable GATEHOUSE_REDIS_URL",
                    at: redis.place
                )
            }
        }
        let bounds = 60...(3650 * 86_400)
        let lifetime = self.seconds("oidcsessionmaxduration", else: 28_800)
        let idle = min(self.seconds("oidcsessioninactivitytimeout", else: 300), lifetime)
        sessions.add("idle_timeout", ConfigText(Duration.seconds(idle).clamped(bounds)))
        sessions.add("lifetime", ConfigText(Duration.seconds(lifetime).clamped(bounds)))
        if let refresh = self.server.text("oidcuserinforefreshinterval").flatMap({ Int($0) }), refresh > 0 {
            sessions.add("recheck", ConfigText(Duration.seconds(refresh).clamped(1...(3650 * 86_400))))
        }
        if let secret = self.server.value("oidccryptopassphrase") {
            notes.note(
                "'OIDCCryptoPassphrase' is not carried over; the gateway creates its own secret in 'state'",
                at: secret.place
            )
        }
    }

    private func seconds(_ name: String, else standard: Int) -> Int {
        guard let text = self.server.text(name), let number = Int(text), number > 0 else { return standard }
        return min(number, 3650 * 86_400)
    }
}
