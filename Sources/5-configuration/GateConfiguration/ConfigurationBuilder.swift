// SPDX-License-Identifier: Apache-2.0

internal import GateClients
internal import GateCore
internal import GateHTTP
internal import GatePolicy
internal import GateProviders
internal import GateSessions
internal import GateYAML

/// Builds the configuration from the file, and checks what depends on more than one part of it.
struct ConfigurationBuilder {
    let draft: FileDraft
    let environment: [String: String]

    /// The configuration; missing parts have been reported in `reading`, whose errors decide whether it is used.
    func configuration(_ reading: inout DecodingContext) -> Configuration? {
        self.draft.gateway?.check(&reading)
        let providers = self.draft.providers ?? []
        self.checkRedirects(providers, &reading)
        EndpointPrefixCheck(draft: self.draft).check(&reading)
        MachineCheck(draft: self.draft).check(&reading)
        let known = KnownProviders(
            self.draft.providers,
            issuers: self.draft.issuers ?? [],
            serviceTokens: self.draft.serviceTokens ?? []
        )
        ClientCheck(draft: self.draft).check(&reading)
        let rules = RuleSets(self.draft.rules ?? [])
        rules.check(usedBy: (self.draft.apps ?? []) + (self.draft.clients ?? []).map(\.asApp), &reading)
        let apps = self.apps(known, rules, &reading)
        let clients = self.clients(known, rules, &reading)
        if let publicURL = self.draft.gateway?.publicURL?.value {
            RedirectCheck(apps: self.draft.apps ?? [], publicURL: publicURL, endpoints: self.endpoints).check(&reading)
            if let gateway = self.gateway { LoopCheck(gateway, apps: self.draft.apps ?? []).check(&reading) }
            SharedUpstreamCheck(apps: apps, drafts: self.draft.apps ?? []).check(&reading)
            SessionAPICheck(draft: self.draft, publicHost: publicURL.host).check(&reading)
            ScopeCheck(draft: self.draft).check(&reading)
            CookieStoreCheck(draft: self.draft, publicHost: publicURL.host).check(&reading)
            PermanentEntriesCheck(draft: self.draft).check(&reading)
        }
        guard let gateway = self.gateway else { return nil }
        let mail = MailCheck(draft: self.draft, publicURL: gateway.publicURL).server(&reading)
        let passkeys = PasskeysCheck(
            draft: self.draft,
            publicURL: gateway.publicURL,
            routes: apps.map(\.route) + clients.map(\.route)
        ).relyingParty(&reading)
        CertificateRuleCheck(draft: self.draft, publicHost: gateway.publicURL.host, apps: apps).check(&reading)
        var sessions = SessionSettings(
            store: self.draft.sessions?.store
                ?? .sqlite(path: FileAccess.resolve("sessions.db", in: gateway.stateFolder))
        )
        sessions.lifetimes = SessionLifetimes(
            idle: self.draft.sessions?.idleTimeout?.value ?? sessions.lifetimes.idle,
            absolute: self.draft.sessions?.lifetime?.value ?? sessions.lifetimes.absolute
        )
        sessions.recheck = self.recheck
        sessions.cookie = self.draft.sessions?.cookie ?? sessions.cookie
        sessions.maxPerUser = self.draft.sessions?.maxPerUser
        let keys = self.draft.assertion?.keys ?? FileAccess.resolve("keys", in: gateway.stateFolder)
        var assertion = AssertionSettings(keysFolder: keys)
        assertion.lifetime = self.draft.assertion?.lifetime ?? assertion.lifetime
        assertion.rotate = self.draft.assertion?.rotate?.value
        assertion.publishAhead = self.draft.assertion?.publishAhead?.value ?? assertion.publishAhead
        let settings = providers.compactMap { $0.value.settings(id: $0.name) }
        var configuration = Configuration(
            gateway: gateway,
            sessions: sessions,
            assertion: assertion,
            providers: settings,
            apps: apps
        )
        configuration.clients = clients
        configuration.passkeys = passkeys
        configuration.mail = mail
        configuration.connectedAccounts = self.draft.connectedAccounts?.key
        configuration.pages = self.draft.pages?.settings ?? configuration.pages
        configuration.logs = self.draft.logs ?? configuration.logs
        configuration.issuers = (self.draft.issuers ?? []).compactMap { $0.value.settings(id: $0.name) }
        configuration.serviceTokens = (self.draft.serviceTokens ?? []).compactMap { $0.value.settings(name: $0.name) }
        return configuration
    }

    private var gateway: GatewaySettings? {
        guard let draft = self.draft.gateway, let publicURL = draft.publicURL?.value else { return nil }
        let given = self.environment["STATE_DIRECTORY"]?.split(separator: ":").first.map(String.init)
        var settings = GatewaySettings(publicURL: publicURL, stateFolder: draft.state ?? given ?? "./state")
        if let listeners = draft.listeners?.value { settings.listeners = listeners.compactMap(self.listener) }
        settings.operations = draft.operations?.value ?? settings.operations
        settings.operationsHosts = draft.operationsHosts ?? []
        settings.operationsSocket = OperationsSocketChoice.settings(draft.operationsSocket, state: settings.stateFolder)
        settings.operationsToken = draft.operationsToken
        settings.trustedProxies = (draft.trustedProxies ?? []).map(\.value)
        settings.forwardAuth = draft.forwardAuth?.value.settings
        settings.endpoints = self.endpoints
        settings.sessionAPI = draft.sessionAPI?.value
        settings.healthPath = draft.healthPath?.value
        settings.clientRegistration = draft.clientRegistration?.value.settings ?? ClientRegistrationSettings()
        settings.hsts = draft.hsts
        settings.secrets = draft.secrets
        settings.limits = draft.limits
        settings.limits.connections.exempt = settings.trustedProxies
        settings.drain = draft.drain
        return settings
    }

    private var endpoints: EndpointPrefix { self.draft.gateway?.endpoints?.value ?? .standard }

    /// The re-checks of apps that have no interval of their own.
    private var recheck: RecheckPolicy {
        let standard = SessionSettings.defaultRecheck
        return RecheckPolicy(
            interval: self.draft.sessions?.recheck ?? standard.interval,
            maxStale: self.draft.sessions?.maxStale ?? standard.maxStale
        )
    }

    private func listener(_ draft: ListenerDraft) -> ListenerSettings? {
        guard let address = draft.address?.value else { return nil }
        let certificates = (draft.certificates?.value ?? []).compactMap { files -> CertificateFiles? in
            guard let certificate = files.certificate, let privateKey = files.privateKey else { return nil }
            return CertificateFiles(certificate: certificate, privateKey: privateKey)
        }
        var settings = ListenerSettings(address: address, certificates: certificates)
        settings.http2 = !certificates.isEmpty && draft.http2?.value ?? true
        settings.clientCertificates = draft.clientCertificates?.value.settings
        settings.redirectsToHTTPS = draft.redirect != nil
        settings.proxyProtocol = (draft.proxyProtocol ?? []).map(\.value)
        settings.socketMode = draft.mode?.value ?? settings.socketMode
        settings.trustsPeers = draft.trusted?.value ?? false
        return settings
    }

    /// Checks that each provider would accept its callback; nothing is known of self-hosted servers.
    private func checkRedirects(_ providers: [Named<ProviderDraft>], _ reading: inout DecodingContext) {
        guard let publicURL = self.draft.gateway?.publicURL else { return }
        self.warnOfPostedCallbacks(providers, publicURL, &reading)
        for provider in providers where provider.value.baseURL == nil {
            guard let type = provider.value.type, let reason = type.redirects.rejection(of: publicURL.value)
            else {
                continue
            }
            let callback = self.endpoints.callback(of: provider.name, at: publicURL.value)
            reading.error("\(type.title) would reject the callback \(callback): \(reason)", at: publicURL.mark)
        }
    }

    /// Without https, browsers do not send the cookie of the sign-in attempt with a form post from the provider's site.
    private func warnOfPostedCallbacks(
        _ providers: [Named<ProviderDraft>],
        _ publicURL: Located<Origin>,
        _ reading: inout DecodingContext
    ) {
        guard !publicURL.value.isSecure else { return }
        for provider in providers where provider.value.responseMode?.value == .formPost {
            guard let mark = provider.value.responseMode?.mark else { continue }
            let message = "form_post needs a public_url with https, unless the provider is on this host too"
            reading.warning(message, at: mark)
        }
    }

    private func apps(_ known: KnownProviders, _ rules: RuleSets, _ reading: inout DecodingContext) -> [AppSettings] {
        var settings: [AppSettings] = []
        var taken: [String: Named<AppDraft>] = [:]
        let publicURL = self.draft.gateway?.publicURL?.value
        var entries = 0
        for app in self.draft.apps ?? [] {
            let path = app.value.path?.value ?? "/"
            self.place(app, at: path, in: &taken, &reading)
            self.checkLifetimes(of: app.value, &reading)
            self.checkForwardAuth(of: app.value, &reading)
            let made = AppDraft.settings(
                of: app,
                at: publicURL,
                known: known,
                rules: rules,
                maxStale: self.recheck.maxStale,
                &reading
            )
            guard let made else { continue }
            settings.append(made)
            entries += made.route.denied.count + made.route.access.entries.count
            guard entries <= ConfigurationBuilder.maxEntries else {
                reading.error("more than \(ConfigurationBuilder.maxEntries) entries, rule sets included", at: app.mark)
                return settings
            }
        }
        self.report(settings.map { RuleFindings(of: $0.route) }, &reading)
        return settings
    }

    private func clients(
        _ known: KnownProviders,
        _ rules: RuleSets,
        _ reading: inout DecodingContext
    ) -> [ClientSettings] {
        let publicURL = self.draft.gateway?.publicURL?.value
        var settings: [ClientSettings] = []
        var entries = 0
        for client in self.draft.clients ?? [] {
            let made = ClientDraft.settings(of: client, at: publicURL, known: known, rules: rules, &reading)
            guard let made else { continue }
            settings.append(made)
            entries += made.route.denied.count + made.route.access.entries.count
            guard entries <= ConfigurationBuilder.maxEntries else {
                reading.error(
                    "more than \(ConfigurationBuilder.maxEntries) entries, rule sets included",
                    at: client.mark
                )
                return settings
            }
        }
        self.report(settings.map { RuleFindings(of: $0.route) }, &reading)
        return settings
    }

    /// How many entries of `allow` and `deny` all apps may have together, and all clients, since each app has its own of a rule set.
    private static let maxEntries = 200_000

    /// Reports rules without effect; in a file with errors, an entry may lack a condition that it has.
    private func report(_ findings: [RuleFindings], _ reading: inout DecodingContext) {
        guard reading.errors == 0 else { return }
        var comparisons = RuleFindings.maxComparisons
        for finding in findings where finding.comparisons <= comparisons {
            comparisons -= finding.comparisons
            finding.report(&reading)
        }
    }

    /// Checks that some proxy may ask about an app that no upstream has.
    private func checkForwardAuth(of app: AppDraft, _ reading: inout DecodingContext) {
        if let mark = app.copiedAuthorization, let line = self.draft.gateway?.forwardAuth?.value.authorizationLine {
            let risk =
                "a client's own 'Authorization' reaches the app in place of the gateway's unless the proxy copies that"
            reading.warning("\(risk); the file of the proxy needs \(line)", at: mark)
        }
        guard let mode = app.forwardAuth, self.draft.gateway?.forwardAuth == nil else { return }
        let help = "write 'gateway.forward_auth' with its 'dialect' and 'from'"
        reading.error("'forward_auth' has no proxy that may ask about the app; \(help)", at: mode.mark)
    }

    /// Checks that an app's lifetimes of sessions are no longer than those of all apps, which end a session first.
    private func checkLifetimes(of app: AppDraft, _ reading: inout DecodingContext) {
        let defaults = SessionSettings.defaultLifetimes
        let whole = self.draft.sessions
        let pairs = [
            ("idle_timeout", app.idleTimeout, whole?.idleTimeout?.value ?? defaults.idle),
            ("lifetime", app.lifetime, whole?.lifetime?.value ?? defaults.absolute),
        ]
        for case (let name, let time?, let limit) in pairs where time.value > limit {
            let shown = limit.yamlText
            let help = "write at most \(shown), or raise 'sessions.\(name)', which ends sessions for all apps"
            reading.error("'\(name)' is longer than the \(shown) of all apps; \(help)", at: time.mark)
        }
    }

    /// Checks that no other app has the same path on one of an app's hosts, and that no wildcard includes the gateway's host.
    private func place(
        _ app: Named<AppDraft>,
        at path: String,
        in taken: inout [String: Named<AppDraft>],
        _ reading: inout DecodingContext
    ) {
        let publicHost = self.draft.gateway?.publicURL?.value.host
        let hosts = app.value.hosts?.value ?? []
        for host in hosts {
            guard let publicHost, case .wildcard = host.value, host.value.matches(publicHost) else { continue }
            let help = "write a wildcard of another domain, so that no app has a host beside the sign-in pages"
            reading.error("'\(host.value)' includes the host of 'public_url', '\(publicHost)'; \(help)", at: host.mark)
        }
        guard app.value.isPlaced else { return }
        let names = hosts.isEmpty ? [publicHost ?? ""] : hosts.map { "\($0.value)" }
        for (index, name) in names.enumerated() {
            // A host that is listed twice is reported where the list is read.
            guard let other = taken.updateValue(app, forKey: "\(name) \(path)"), other.name != app.name else {
                continue
            }
            let place = "'\(name.isEmpty ? "the public host" : name)\(path)'"
            let mark = hosts.count > 1 ? hosts[index].mark : app.value.path?.mark ?? hosts.first?.mark ?? app.mark
            let message = "\(place) belongs to app '\(other.name)' in \(reading.line(other.mark, from: mark)) already"
            reading.error(message, at: mark)
        }
    }
}
