// SPDX-License-Identifier: Apache-2.0

internal import GateConfiguration
internal import GateCore
internal import GateYAML

/// Converts the access rules of Authelia, which stays the OpenID provider.
///
/// https://www.authelia.com/configuration/security/access-control/
struct AutheliaImport: ProductImport {
    static let product = "Authelia"

    private static let provider = "authelia"
    private static let strongProvider = "authelia-two-factor"

    func configuration(
        from files: [ImportFile],
        _ notes: inout ImportNotes
    ) throws(ImportFailure) -> ImportedConfiguration {
        guard let file = files.first, files.count == 1 else {
            throw ImportFailure("an import of Authelia takes one file")
        }
        let root = try SourceNode(file: file)
        guard let control = root["access_control"] else {
            throw ImportFailure("the file has no 'access_control'", at: root.place)
        }
        var configuration = ImportedConfiguration()
        let issuer = self.issuer(root)
        self.addSessions(root["session"], to: &configuration.sessions, &notes)
        let networks = AutheliaNetworks(root)
        let usesTwoFactors = self.addApps(control, networks, issuer: issuer, to: &configuration, &notes)
        let claims = AutheliaClaims(root)
        configuration.providers = self.providers(
            issuer,
            claims,
            usesTwoFactors: usesTwoFactors,
            at: control.owner,
            &notes
        )
        if let first = claims.names.first {
            notes.warning(
                "Authelia sends custom claims to its clients only: the providers have them in 'claims', and an app gets one with "
                    + "'headers: { X-…: claims.\(first) }'",
                at: claims.place
            )
        }
        for (name, value) in root.entries where !["access_control", "session"].contains(name) {
            notes.note("\(Scalar.quoted(name)) stays with Authelia", at: value.owner)
        }
        if root["session"]?["redis"] != nil {
            notes.note(
                "the session store of Authelia is not carried over; see 'sessions.store'",
                at: root["session"]?.owner
            )
        }
        return configuration
    }

    /// The URL of the portal, which is the issuer.
    private func issuer(_ root: SourceNode) -> WebURL? {
        let cookies = root["session"]?["cookies"]?.elements ?? []
        return cookies.compactMap { $0["authelia_url"]?.text }.first.flatMap { WebURL($0) }
    }

    private func providers(
        _ issuer: WebURL?,
        _ claims: AutheliaClaims,
        usesTwoFactors: Bool,
        at place: ImportPlace,
        _ notes: inout ImportNotes
    ) -> [ImportedProvider] {
        if issuer == nil {
            notes.warning("the URL of the portal is not known; write it as 'issuer' of the provider", at: place)
        }
        let clients =
            [(Self.provider, "gatehouse", "one_factor")]
            + (usesTwoFactors ? [(Self.strongProvider, "gatehouse-two-factor", "two_factor")] : [])
        let more =
            claims.names.isEmpty ? "" : ", with the scopes of the provider and the 'claims_policy' of the claims"
        return clients.map { name, client, policy in
            var entry = YAMLMapping()
            entry.add("type", .word("oidc"))
            if usesTwoFactors {
                entry.add("name", ConfigText(policy == "two_factor" ? "Authelia, second factor" : "Authelia"))
            }
            entry.add("issuer", issuer.flatMap { ConfigText($0.path == "/" ? $0.origin.description : $0.description) })
            entry.add("client_id", ConfigText(client))
            let variable = "\(client.uppercased().map { $0 == "-" ? "_" : String($0) }.joined())_CLIENT_SECRET"
            entry.add("client_secret", ConfigText(environment: variable))
            let scopes: [YAMLValue] = ["openid", "profile", "email", "groups"].map { .word($0) }
            entry.add("scopes", .list(scopes + claims.scopes.map { .text($0) }))
            entry.add("claims", claims.claims.mapping(of: Set(claims.names)))
            notes.warning(
                "register the client '\(client)' in 'identity_providers.oidc.clients' with 'authorization_policy: \(policy)', the callback "
                    + "<public_url>\(EndpointPrefix.standard.path("callback"))/\(name) and a secret for the environment variable \(variable)"
                    + more,
                at: place
            )
            return ImportedProvider(name: name, settings: entry)
        }
    }

    /// The shortest times of all domains, since the gateway has one for all sessions.
    private func addSessions(_ session: SourceNode?, to sessions: inout YAMLMapping, _ notes: inout ImportNotes) {
        let cookies = session?["cookies"]?.elements ?? []
        func time(_ name: String, else standard: Duration) -> Duration {
            let nodes = cookies.isEmpty ? [session?[name]] : cookies.map { $0[name] ?? session?[name] }
            let times = nodes.map { node -> Duration in
                guard let node, !node.isNull else { return standard }
                if let time = node.text.flatMap({ Duration(authelia: $0) }), time > .zero { return time }
                let help = "it counts as Authelia's default"
                notes.warning("'\(name)' is not a duration; \(help)", at: node.owner)
                return standard
            }
            return times.min() ?? standard
        }
        let bounds = 60...(3650 * 86_400)
        let lifetime = time("expiration", else: .seconds(3600))
        sessions.add("idle_timeout", ConfigText(min(time("inactivity", else: .seconds(300)), lifetime).clamped(bounds)))
        sessions.add("lifetime", ConfigText(lifetime.clamped(bounds)))
    }

    /// What Authelia sends to the web server about a user; the user name comes from its profile.
    private static let headers: ImportedHeaders = {
        var headers = ImportedHeaders()
        _ = headers.add("Remote-User", .preferredUsername)
        _ = headers.add("Remote-Groups", .groups)
        _ = headers.add("Remote-Name", .name)
        _ = headers.add("Remote-Email", .email)
        return headers
    }()

    private func addApps(
        _ control: SourceNode,
        _ networks: AutheliaNetworks,
        issuer: WebURL?,
        to configuration: inout ImportedConfiguration,
        _ notes: inout ImportNotes
    ) -> Bool {
        let standard = control["default_policy"]?.text.flatMap { AutheliaPolicy($0) } ?? .deny
        let rules = (control["rules"]?.elements ?? []).compactMap {
            AutheliaRule($0, networks, &notes)
        }
        var usesTwoFactors = false
        var hosts: Set<String> = []
        for rule in rules {
            for domain in rule.domains where hosts.insert(domain).inserted {
                guard let host = AutheliaImport.host(domain) else {
                    notes.warning(
                        "the host \(Scalar.quoted(domain)) cannot be carried over; it gets no app",
                        at: rule.place
                    )
                    continue
                }
                guard host != issuer?.origin.host else {
                    notes.note("'\(host)' is the portal, so the gateway has no app for it", at: rule.place)
                    continue
                }
                let matching = rules.filter { $0.mayMatch(host: domain) }
                let separate = matching.filter { $0.policy != .bypass }
                let paths = Set(separate.flatMap { $0.paths ?? [] }.compactMap(\.subtree)).union(["/"]).sorted()
                for path in paths where configuration.apps.count < ImportedConfiguration.maxApps {
                    var app = ImportedApp(
                        hosts: [host],
                        path: path,
                        action: .response(status: 503, body: "no upstream is configured"),
                        access: .deniedToAll,
                        place: rule.place
                    )
                    var access = AutheliaAccess(twoFactorProvider: Self.strongProvider)
                    let relevant = matching.filter { $0.concerns(path) }.map { rule in
                        rule.isCertain(host: domain) ? rule : rule.uncertain
                    }
                    access.apply(relevant, standard: standard, to: &app, &notes)
                    app.settings.add("headers", Self.headers.mapping)
                    usesTwoFactors = usesTwoFactors || access.usesTwoFactors
                    configuration.apps.append(app)
                }
                notes.warning(
                    "Authelia does not name the server of '\(host)'; replace 'response' of its apps by 'upstream'",
                    at: rule.place
                )
                if domain.hasPrefix("*.") {
                    notes.note("'\(domain)' is every host one label below, in Authelia at any depth", at: rule.place)
                }
            }
        }
        return usesTwoFactors
    }

    /// A host, or a wildcard with at least two labels after it.
    private static func host(_ text: String) -> String? {
        guard text.hasPrefix("*.") else { return Origin.normalHost(text) }
        guard let domain = Origin.normalHost(text.dropFirst(2)), domain.contains("."), domain.last?.isNumber == false
        else { return nil }
        return "*.\(domain)"
    }
}

extension AutheliaRule {
    /// Whether the rule can match a request below a path of an app.
    fileprivate func concerns(_ path: String) -> Bool {
        guard let paths, !self.hasUnknownPaths else { return true }
        return paths.contains { pattern in
            guard let subtree = pattern.subtree else { return true }
            return PathPattern.contains(subtree, path)
                || (self.policy == .bypass && PathPattern.contains(path, subtree))
        }
    }

    /// Whether it matches a host for certain, as it names it.
    fileprivate func isCertain(host: String) -> Bool {
        self.domains.contains { $0 == host || ($0.hasPrefix("*.") && host.hasSuffix($0.dropFirst())) }
    }

    /// The same rule with a condition that cannot be carried over.
    fileprivate var uncertain: AutheliaRule {
        var rule = self
        rule.hasFurtherConditions = true
        return rule
    }
}
