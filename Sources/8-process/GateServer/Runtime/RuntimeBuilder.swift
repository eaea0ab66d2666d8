// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import GateAccounts
internal import GateAssertion
internal import GateClients
internal import GateConfiguration
internal import GateCore
internal import GateHTTP
internal import GateIssuer
internal import GateMail
internal import GateOpenID
internal import GateOperations
internal import GatePages
internal import GatePolicy
internal import GateProviderHTTP
internal import GateProviders
internal import GateProxy
internal import GateRedis
internal import GateRuntime
internal import GateSessionStores
internal import GateSessions
internal import GateTracing
internal import Logging
internal import Metrics
internal import NIOCore

/// Builds a ``RuntimeConfiguration`` from a configuration, and keeps what outlives a reload: the store, the memory of used attempts, the
/// connections and caches of providers whose settings stay.
actor RuntimeBuilder {
    /// The latest failures of requests.
    nonisolated let incidents = IncidentHistory()
    /// How the latest calls to providers ended.
    nonisolated let providerCalls = ProviderCallResults()
    /// What the configurations have in common.
    private let services: Services
    private let log: ServerLog
    private let logs: LogRouter?
    private let feed: RevocationFeed
    private let spent = UsedAttempts()
    private let watch: PinWatch
    private let transports = ProviderTransports()
    private let survey: PinScan
    private let descriptors: Int
    private let tracer: Tracer?
    /// How many file descriptors the process has open without any client; 0 as long as that is not known.
    private var descriptorsAtStart = 0
    private var store: OpenStore?
    private var lines: [String: TrustedLine] = [:]
    private var providers: [ProviderSettings: RuntimeProvider] = [:]
    private var issuers: [IssuerSettings: TokenIssuer] = [:]
    private let accountServices = LocalAccounts.Services()
    private let mailLimits = AccountMailer.Limits()
    /// The queue of messages, and the server that it was made for.
    private var mail: (server: MailServer, queue: MailQueue)?
    /// The keys of the latest runtime configuration.
    private var material: KeyMaterial?
    /// Notifies clients of sign-outs, once some client wants that.
    private var clientLogouts: ClientLogouts?
    /// What fetches the metadata documents of clients, and the settings with which it was made.
    private var clientDocuments: (registration: ClientRegistrationSettings, isLocal: Bool, documents: ClientDocuments)?

    private var clock: WallClock { self.services.clock }
    private var random: RandomBytes { self.services.random }

    init(
        logger: Logger,
        logs: LogRouter? = nil,
        feed: RevocationFeed,
        watch: PinWatch,
        signIns: SignInLimiter,
        descriptors: Int,
        tracer: Tracer? = nil
    ) {
        self.logs = logs
        self.descriptors = descriptors
        self.tracer = tracer
        self.log = ServerLog(logger: logger)
        self.services = Services(log: RequestLog(logger: logger, incidents: self.incidents), signIns: signIns)
        self.feed = feed
        self.watch = watch
        self.survey = PinScan(watch: watch, transports: self.transports)
    }

    /// A runtime configuration for a configuration.
    ///
    /// Nothing of an earlier one is changed, also when this fails.
    ///
    /// - Throws: A `Failure` naming what could not be opened, read or made.
    func runtime(for whole: Configuration) async throws(Failure) -> RuntimeConfiguration {
        let configuration = whole.withUsedFacts
        let material = try KeyMaterial.load(for: configuration, now: self.clock.now, random: self.random)
        let sealer = Sealer(material.secrets, random: self.random)
        let store = try await self.store(
            for: configuration.sessions.store,
            stateFolder: configuration.gateway.stateFolder
        )
        let lines = try self.lines(for: configuration.connected)
        let entries = SealedEntries(in: store.store, sealer: sealer, clock: self.clock)
        let providers = try self.providers(for: configuration, over: lines, entries, sealer)
        let admissions = Dictionary(
            configuration.providers.map { ($0.id, AdmissionFingerprints.fingerprint(of: $0.admissionTerms)) }
                + configuration.issuers.map { ($0.id, AdmissionFingerprints.fingerprint(of: $0.admissionTerms)) }
        ) { first, _ in first }
        var routes: [RuntimeRoute] = []
        for app in configuration.apps {
            let (host, endpoints) = (configuration.gateway.publicURL.host, configuration.gateway.endpoints)
            routes.append(try RuntimeRoute(app, index: routes.count, gatewayHost: host, below: endpoints))
        }
        let hosts = GatewayHosts(
            publicOrigin: configuration.gateway.publicURL,
            endpoints: configuration.gateway.endpoints,
            routes: routes,
            hsts: configuration.gateway.hsts
        )
        let issuer = self.issuer(of: configuration, material.tokens, sealer, routes)
        let sessions = SessionManager(
            store: store.store,
            sealer: sealer,
            lifetimes: configuration.sessions.lifetimes,
            feed: self.feed,
            admissions: AdmissionFingerprints(admissions),
            recheck: configuration.sessions.recheck,
            minIdleTimeout: configuration.apps.compactMap(\.sessionLimits.idle).min(),
            maxPerUser: configuration.sessions.maxPerUser,
            notice: try self.signOutNotice(of: issuer),
            clock: self.clock,
            random: self.random
        )
        let issuers = try self.issuers(for: configuration, over: lines)
        let documents = try self.documents(for: configuration)
        let icons = configuration.apps.compactMap(\.display.icon) + configuration.providers.compactMap(\.icon)
        let pages = try Pages(configuration.pages, icons: icons)
        let front = try RuntimeBuilder.front(of: configuration.gateway)
        // From here on nothing fails.
        let runtime = RuntimeConfiguration(
            services: self.services,
            hosts: hosts,
            front: front,
            routes: RouteMap(routes),
            providers: providers.map(\.provider),
            sessions: sessions,
            store: store.store,
            sharesStore: store.isShared,
            keepsCookies: configuration.sessions.cookie == .persistent,
            users: self.users(of: configuration, in: entries),
            clients: ClientServices(
                issuer,
                at: hosts,
                routes: routes,
                documents: documents,
                sessionAPI: configuration.gateway.sessionAPI
            ),
            machines: MachineTokens(
                issuers: issuers.map(\.issuer),
                serviceTokens: configuration.serviceTokens,
                at: hosts.publicOrigin
            ),
            sealer: sealer,
            signer: AssertionSigner(
                keys: material.assertion,
                issuer: "\(hosts.publicOrigin)",
                lifetime: configuration.assertion.lifetime,
                random: self.random
            ),
            keys: material.assertion,
            pages: pages,
            access: self.logs.flatMap { logs in
                AccessLogSettings(configuration.logs, router: logs) { sealer.userHash(of: $0) }
            },
            limits: configuration.gateway.limits.resolved(
                descriptors: self.descriptors,
                descriptorsAtStart: self.descriptorsAtStart
            )
        )
        self.material = material
        self.keep(store)
        self.keep(lines, for: configuration.connected)
        self.issuers = Dictionary(issuers.map { ($0.settings, $0.issuer) }) { first, _ in first }
        self.providers = Dictionary(providers.map { ($0.settings, $0.provider) }) { first, _ in first }
        return runtime
    }

    /// What is in front of the gateway.
    private static func front(of gateway: GatewaySettings) throws(Failure) -> GatewayFront {
        var certificates: [BindAddress: ClientCertificatePolicy?] = [:]
        for listener in gateway.listeners {
            let policy = try listener.clientCertificates.map { settings throws(Failure) in
                try ClientCertificatePolicy(settings)
            }
            certificates.updateValue(policy, forKey: listener.address)
        }
        return GatewayFront(
            trustedProxies: gateway.trustedProxies,
            forwardAuth: gateway.forwardAuth,
            healthPath: gateway.healthPath,
            clientCertificates: certificates
        )
    }

    /// What is kept of users beside their sessions.
    private func users(of configuration: Configuration, in entries: SealedEntries) -> UserAccounts {
        var users = UserAccounts(in: entries)
        users.passkeys = configuration.passkeys.map { party in
            Passkeys(party, in: entries, clock: self.clock, random: self.random)
        }
        users.connections = configuration.connectedAccounts.map { key in
            AccountConnections(forwardsFirst: key == .first, in: entries, clock: self.clock)
        }
        users.mailer = self.mailQueue(for: configuration.mail).map { queue in
            let sender = configuration.pages.organization ?? configuration.gateway.publicURL.host
            return AccountMailer(over: queue, as: sender, within: self.mailLimits)
        }
        return users
    }

    /// The issuer of the configuration's clients; nil without clients.
    private func issuer(
        of configuration: Configuration,
        _ keys: AssertionKeys?,
        _ sealer: Sealer,
        _ routes: [RuntimeRoute]
    ) -> Issuer? {
        guard let keys else { return nil }
        let apps = routes.filter(\.takesTokens)
        let audiences = apps.map { ($0.name, $0.route.audience) }
        let scopes = apps.map { ($0.route.audience, $0.route.scopes.map(\.name)) }
        let open = configuration.gateway.clientRegistration.clients
        return Issuer(
            signer: TokenSigner(keys: keys, issuer: "\(configuration.gateway.publicURL)"),
            below: configuration.gateway.endpoints,
            clients: configuration.clients,
            audiences: Dictionary(audiences) { first, _ in first },
            appScopes: Dictionary(scopes) { first, _ in first },
            open: open,
            openClient: self.openClient(of: configuration, routes),
            sealer: sealer,
            random: self.random
        )
    }

    /// What all clients without an entry have in common: native ones, whose users are those of the MCP servers.
    private func openClient(of configuration: Configuration, _ routes: [RuntimeRoute]) -> ClientSettings {
        var route = Route(app: "client", origin: configuration.gateway.publicURL, path: "/")
        route.providers = Set(configuration.providers.map(\.id))
        route.access = .signedIn
        var client = ClientSettings(id: "", kind: .native, route: route)
        client.audiences = routes.filter { $0.maxMCPBody != nil }.map(\.name)
        client.asksConsent = true
        client.isOpen = true
        return client
    }

    /// What fetches the metadata documents of clients; nil unless clients may be named by a URL.
    ///
    /// A gateway on loopback, for development, reaches documents there too.
    private func documents(for configuration: Configuration) throws(Failure) -> ClientDocuments? {
        let registration = configuration.gateway.clientRegistration
        guard registration.clients.byURL else { return nil }
        let isLocal = configuration.gateway.publicURL.isLoopback
        if let known = self.clientDocuments, known.registration == registration, known.isLocal == isLocal {
            return known.documents
        }
        let transport = try CurlTransport(
            to: ClientDocuments.transportName,
            trust: ProviderTrust(
                authorities: try registration.caFile.map { file throws(Failure) in
                    try ProviderTrust.authorities(in: file)
                }
            ),
            connections: 8,
            publicOnly: !isLocal,
            clock: self.clock
        )
        let documents = ClientDocuments(over: ProviderTransports([ClientDocuments.transportName: transport]))
        self.clientDocuments = (registration, isLocal, documents)
        return documents
    }

    /// What happens when a sign-in ends at which clients were signed in; nil if no client wants to know it.
    private func signOutNotice(of issuer: Issuer?) throws(Failure) -> SignOutNotice? {
        guard issuer?.clients.values.contains(where: { $0.backChannelLogoutURI != nil }) ?? false else { return nil }
        if let known = self.clientLogouts { return known.notice(of: issuer) }
        let log = self.log
        let made = try ClientLogouts(clock: self.clock, random: self.random) { log.clientNotNotified($1, client: $0) }
        self.clientLogouts = made
        return made.notice(of: issuer)
    }

    /// Adds an assertion key if one is due, and returns whether the keys of the files differ from those in use.
    ///
    /// - Parameters:
    ///   - configuration: The configuration in force.
    ///   - cause: What makes the gateway read them: the operator, or `schedule`.
    /// - Returns: Whether they differ.
    /// - Throws: A `Failure` naming the file that cannot be read or written.
    func keysHaveChanged(for configuration: Configuration, by cause: String) throws(Failure) -> Bool {
        let now = self.clock.now
        if let time = try KeyMaterial.rotateIfDue(configuration, now: now, random: self.random) {
            self.log.keyAdded("assertion key", by: "schedule", usedFrom: time)
        }
        let material = try KeyMaterial.load(for: configuration, now: now, random: self.random)
        guard let known = self.material, !material.isEquivalent(to: known) else { return false }
        self.log.keysChanged(
            signing: material.assertion.signing.id,
            published: material.assertion.entries.count { $0.role != .expired },
            by: cause
        )
        return true
    }

    /// The listeners of a configuration with their certificates read.
    static func plans(for configuration: Configuration) throws(Failure) -> [ListenerPlan] {
        var plans: [ListenerPlan] = []
        for listener in configuration.gateway.listeners {
            var identities: [TLSIdentity] = []
            for files in listener.certificates {
                identities.append(try TLSIdentity(certificateFile: files.certificate, keyFile: files.privateKey))
            }
            var plan = ListenerPlan(listener.address, identities: identities, http2: listener.http2)
            plan.handshake = configuration.gateway.limits.downstream.handshake
            plan.balancers = listener.proxyProtocol
            plan.clientCertificates = try listener.clientCertificates.map { settings throws(Failure) in
                try ClientCertificatePolicy(settings)
            }
            plan.redirectsToHTTPS = listener.redirectsToHTTPS
            plan.socketMode = listener.socketMode
            plan.trustsPeers = listener.trustsPeers
            plans.append(plan)
        }
        return plans
    }

    /// Notes how many file descriptors the process has open without any client, which later sites leave for it.
    func start(withDescriptors count: Int) { self.descriptorsAtStart = count }

    /// Looks at the certificates of the providers whose time has come; called now and then, and after a reload.
    nonisolated func survey(_ runtime: RuntimeConfiguration) async {
        await self.survey.run(runtime.providers.all.compactMap(\.relyingParty))
    }

    /// The queue of the messages for a server, with those that waited for another one.
    private func mailQueue(for server: MailServer?) -> MailQueue? {
        guard let server else { return nil }
        if let mail, mail.server == server { return mail.queue }
        let log = self.log
        let queue = MailQueue(to: server) { result in
            ServerMetrics.mails.counter(result.isFinal ? result.reply.outcome.rawValue : "retried").increment()
            log.mailed(result)
        }
        let waiting = self.mail?.queue.takeWaiting() ?? []
        let dropped = waiting.count { (try? queue.send($0)) == nil }
        if dropped > 0 { log.mailsDropped(dropped) }
        self.mail = (server, queue)
        return queue
    }

    /// Closes the store and the connections to providers; a message that is being sent has ten seconds, and all others are dropped.
    func close() async {
        if let queue = self.mail?.queue {
            let dropped = await queue.shutDown()
            if dropped > 0 { self.log.mailsDropped(dropped) }
        }
        self.transports.shutdown()
        await self.store?.store.close()
    }

    /// A store that is open, and what it was opened with.
    private struct OpenStore {
        let settings: StoreSettings
        /// What the files for TLS held.
        let loaded: LoadedUpstream?
        let store: any SessionStore

        /// Whether other gateways may have the same store.
        var isShared: Bool {
            if case .redis = self.settings { true } else { false }
        }
    }

    private func store(for settings: StoreSettings, stateFolder: String) async throws(Failure) -> OpenStore {
        var loaded: LoadedUpstream?
        if case .redis(let redis) = settings { loaded = try redis.loaded() }
        if let store, store.settings == settings, store.loaded == loaded { return store }
        return OpenStore(
            settings: settings,
            loaded: loaded,
            store: MeteredStore(
                try await self.opened(settings, loaded, stateFolder: stateFolder),
                tracer: self.tracer,
                availability: StoreAvailability { [log = self.log] in log.storeResponds($0) }
            )
        )
    }

    private func opened(
        _ settings: StoreSettings,
        _ loaded: LoadedUpstream?,
        stateFolder: String
    ) async throws(Failure) -> any SessionStore {
        let report: @Sendable (StoreEvent) -> Void = { [log = self.log] event in
            log.store(event)
            ServerMetrics.store(event)
        }
        switch settings {
        case .memory:
            return MemoryStore()
        case .cookie:
            return CookieStore()
        case .redis(let redis):
            let feed = self.feed
            return try await RedisStore.open(
                redis,
                over: loaded,
                pending: FileAccess.resolve("redis-revoked", in: stateFolder),
                report: report,
                revoked: { feed.publish($0) },
                changed: { feed.publishChange($0) }
            )
        case .sqlite(let path):
            return try SQLiteStore(path: path, report: report)
        }
    }

    /// Puts a store into use; the previous one is closed later, so that the requests in flight can still use it.
    private func keep(_ made: OpenStore) {
        let old = self.store
        guard old?.settings != made.settings || old?.loaded != made.loaded else { return }
        self.store = made
        RuntimeBuilder.later { await old?.store.close() }
    }

    /// The providers of a configuration; those whose settings and trust stay keep what they have learned.
    private func providers(
        for configuration: Configuration,
        over lines: [String: TrustedLine],
        _ entries: SealedEntries,
        _ sealer: Sealer
    ) throws(Failure) -> [(settings: ProviderSettings, provider: RuntimeProvider)] {
        var made: [(settings: ProviderSettings, provider: RuntimeProvider)] = []
        for settings in configuration.providers {
            guard settings.type != .local else {
                let host = configuration.gateway.publicURL.host
                made.append((settings, try self.accounts(settings, host: host, entries, sealer)))
                continue
            }
            let redirect = configuration.gateway.callback(of: settings.id)
            let isSameLine = lines[settings.id]?.line === self.lines[settings.id]?.line
            if isSameLine, let old = self.providers[settings], old.relyingParty?.redirectURI == redirect {
                made.append((settings, old))
            } else {
                made.append((settings, try self.provider(settings, redirectURI: redirect)))
            }
        }
        return made
    }

    /// A provider with local accounts in the store of the sessions.
    private func accounts(
        _ settings: ProviderSettings,
        host: String,
        _ entries: SealedEntries,
        _ sealer: Sealer
    ) throws(Failure) -> RuntimeProvider {
        if let failure = settings.local.fileFailure { throw failure }
        let accounts = LocalAccounts(
            provider: settings.id,
            settings: settings.local,
            host: host,
            entries: entries,
            sealer: sealer,
            services: self.accountServices,
            clock: self.clock,
            random: self.random
        )
        return RuntimeProvider(
            id: settings.id,
            label: settings.name.map(ProviderLabel.init(name:)) ?? .password,
            accounts: accounts,
            icon: settings.icon,
            domains: Set(settings.domains)
        )
    }

    /// The issuers of a configuration; those whose settings and trust stay keep their keys.
    private func issuers(
        for configuration: Configuration,
        over lines: [String: TrustedLine]
    ) throws(Failure) -> [(settings: IssuerSettings, issuer: TokenIssuer)] {
        var made: [(settings: IssuerSettings, issuer: TokenIssuer)] = []
        for settings in configuration.issuers {
            let isSameLine = lines[settings.id]?.line === self.lines[settings.id]?.line
            if isSameLine, let old = self.issuers[settings] {
                made.append((settings, old))
                continue
            }
            let log = self.log
            let issuer = try TokenIssuer(
                settings,
                transport: self.transport,
                clock: self.clock,
                random: self.random
            ) { failure in
                log.providerFailed(failure, provider: settings.id)
                ServerMetrics.providerFailures.counter(settings.id).increment()
            }
            made.append((settings, issuer))
        }
        return made
    }

    /// The HTTP client for calls to providers and issuers.
    private var transport: any ProviderTransport {
        let metered = MeteredTransport(self.transports, results: self.providerCalls)
        return self.tracer.map { TracedTransport(metered, tracer: $0) } ?? metered
    }

    private func provider(
        _ settings: ProviderSettings,
        redirectURI: String
    ) throws(Failure) -> RuntimeProvider {
        let definition = try ProviderDefinition(settings)
        let log = self.log
        let party = try RelyingParty(
            definition: definition,
            settings: settings,
            redirectURI: redirectURI,
            transport: self.transport,
            clock: self.clock,
            random: self.random,
            spent: self.spent
        ) { failure in
            log.providerFailed(failure, provider: settings.id)
            switch failure.reason {
            case .providerGroupsIncomplete: ServerMetrics.groupsIncomplete.counter(settings.id).increment()
            case .providerUserinfoUnavailable: ServerMetrics.userinfoUnavailable.counter(settings.id).increment()
            default: ServerMetrics.providerFailures.counter(settings.id).increment()
            }
        }
        let reach = ProviderReachability(of: settings.id, watch: self.watch, transports: self.transports)
        return RuntimeProvider(
            id: settings.id,
            label: definition.label,
            relyingParty: party,
            reach: reach,
            icon: settings.icon,
            domains: Set(settings.domains)
        ) { [calls = self.providerCalls] in calls.isFailing(settings.id) }
    }

    /// The transport to a provider, with the settings that decide what it trusts.
    private struct TrustedLine {
        let trust: ProviderTrust
        let connections: Int?
        let line: CurlTransport
    }

    /// The transports to the providers; a new one where trust has changed, so that no connection outlives it.
    private func lines(for providers: [ProviderSettings]) throws(Failure) -> [String: TrustedLine] {
        var lines: [String: TrustedLine] = [:]
        for provider in providers {
            let trust = try provider.trust()
            let connections = provider.maxConnections
            if let old = self.lines[provider.id], old.trust == trust, old.connections == connections {
                lines[provider.id] = old
            } else {
                let watch = self.watch
                let line = try CurlTransport(
                    to: provider.id,
                    trust: trust,
                    connections: connections ?? ProviderDefinition.standardConnections,
                    clock: self.clock
                ) { watch.observe($0) }
                lines[provider.id] = TrustedLine(trust: trust, connections: connections, line: line)
            }
        }
        return lines
    }

    /// Puts the transports into use; sign-ins in progress go on, those with removed providers for half a minute.
    private func keep(_ made: [String: TrustedLine], for providers: [ProviderSettings]) {
        let gone = self.lines.keys.filter { made[$0] == nil }
        self.lines = made
        self.watch.adopt(Dictionary(providers.map { ($0.id, $0.pins) }) { first, _ in first })
        for (provider, line) in made { self.transports.connect(provider, over: line.line) }
        guard !gone.isEmpty else { return }
        RuntimeBuilder.later { await self.forget(gone) }
    }

    private func forget(_ providers: [String]) {
        for provider in providers where self.lines[provider] == nil { self.transports.disconnect(provider) }
        self.providerCalls.keepOnly(self.lines.keys)
    }

    /// Runs something after half a minute, so that what is in progress can end first.
    private static func later(_ body: @escaping @Sendable () async -> Void) {
        Task {
            try? await Task.sleep(for: .seconds(30))
            await body()
        }
    }
}

extension Sealer {
    /// The keyed hash of a user key, by which access lines with `logs.users: hash` and the denials of `/status` name a user.
    func userHash(of user: String) -> String {
        Base64URL.encode(self.tag(of: Array(user.utf8), for: "log/user", count: 12))
    }
}
