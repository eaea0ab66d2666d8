// SPDX-License-Identifier: Apache-2.0

internal import GateAccounts
internal import GateAssertion
package import GateClients
package import GateConfiguration
package import GateCore
internal import GateEndpoints
internal import GateHTTP
internal import GateIssuer
internal import GateOpenID
package import GateOperations
internal import GatePolicy
internal import GateProviderHTTP
package import GateProviders
internal import GateProxy
package import GateRuntime
package import GateSessions
package import GateTestSupport
package import GateWire
internal import Logging
internal import NIOCore
internal import Testing

/// A runtime configuration with two providers and five apps, and all that a test wants to look at.
///
/// `staff` and `guests` are OpenID providers. On the gate's own host are `/` (both providers), `/wiki` (staff of
/// example.org; `GET /wiki/healthz` and `/wiki/assets/` are open) and `/lounge` (guests). `shop.example.com` takes both,
/// `desk.example.com` staff only.
package struct GatewayFixture {
    /// The host of the gateway.
    package static let gate = "gate.example.com"

    /// The clock, which only a test advances.
    package let clock: TestClock
    /// The store of the sessions.
    package let store: SwitchedStore
    /// The revocations that the gateway passes to its loops.
    package let feed = RevocationFeed()
    /// The providers.
    package let providers: FakeProviders
    /// What serves the requests.
    package let runtime: RuntimeConfiguration
    /// What the tests of modules above build over it.
    package let companions = Companions()
    /// The messages to users.
    package let mailbox = TestMailbox()

    /// A gateway with changes; `sharing` another one has the same store, providers and clock.
    package init(
        trusting proxies: [String] = [],
        without gone: Set<String> = [],
        log: RequestLog? = nil,
        admissions: AdmissionFingerprints? = nil,
        recheck: RecheckPolicy = .never,
        sharing other: GatewayFixture? = nil,
        secrets: [UInt8] = [7],
        keepsSessions: Bool = true,
        endpoints: EndpointPrefix = .standard,
        forwardAuth: ForwardAuthSettings? = nil,
        serviceTokens: [ServiceTokenSettings] = [],
        clients: [ClientSettings] = [],
        issuers: [IssuerSettings] = [],
        more: [AppSettings] = [],
        open: OpenClients = OpenClients(),
        signIns: SignInLimiter = SignInLimiter(),
        healthPath: String? = nil,
        features: GatewayFeatures = [],
        domains: [String: Set<String>] = [:],
        failing: Set<String> = [],
        documents: ClientDocuments? = nil,
        sharesStore: Bool = false,
        provider: (inout ProviderSettings) -> Void = { _ in },
        app: (inout AppSettings) -> Void = { _ in }
    ) throws {
        let random = other.map { $0.runtime.services.random } ?? .seeded()
        self.clock = other?.clock ?? TestClock()
        self.store = other?.store ?? SwitchedStore(keepsSessions: keepsSessions)
        let providers = other?.providers ?? FakeProviders(clock: self.clock)
        let sealer = Sealer(secrets.map { Secret([UInt8](repeating: $0, count: 32)) }, random: random)
        let keys = AssertionKeys(signing: try AssertionKey(from: random))
        let origin = try #require(Origin(scheme: "https", host: GatewayFixture.gate))
        let log = log ?? RequestLog(logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        var apps = try GatewayFixture.apps().filter { !gone.contains($0.route.app) } + more
        for index in apps.indices { app(&apps[index]) }
        let services = Services(log: log, signIns: signIns, clock: self.clock.clock, random: random)
        let routes = try apps.enumerated().map {
            try RuntimeRoute($0.element, index: $0.offset, gatewayHost: GatewayFixture.gate, below: endpoints)
        }
        let hosts = GatewayHosts(publicOrigin: origin, endpoints: endpoints, routes: routes)
        let entries = SealedEntries(in: self.store, sealer: sealer, clock: self.clock.clock)
        let clock = self.clock.clock
        var parties = try ["staff", "guests"].map {
            try GatewayFixture.provider(
                $0,
                providers,
                clock,
                random,
                domains: domains[$0] ?? [],
                isFailing: failing.contains($0),
                provider
            )
        }
        if let local = features.provider(in: entries, services, sealer) { parties.append(local) }
        self.providers = providers
        self.runtime = RuntimeConfiguration(
            services: services,
            hosts: hosts,
            front: GatewayFront(
                trustedProxies: proxies.compactMap { CIDRRange($0) },
                forwardAuth: forwardAuth,
                healthPath: healthPath
            ),
            routes: RouteMap(routes),
            providers: parties,
            sessions: SessionManager(
                store: self.store,
                sealer: sealer,
                lifetimes: SessionLifetimes(idle: .seconds(3600), absolute: .seconds(8 * 3600)),
                feed: self.feed,
                admissions: admissions,
                recheck: recheck,
                minIdleTimeout: apps.compactMap(\.sessionLimits.idle).min(),
                clock: clock,
                random: random
            ),
            store: self.store,
            sharesStore: sharesStore,
            users: try features.users(in: entries, services, origin, self.mailbox),
            clients: ClientServices(
                clients.isEmpty ? nil : try GatewayFixture.issuer(of: clients, open, at: origin, apps, sealer, random),
                at: hosts,
                routes: routes,
                documents: documents,
                sessionAPI: features.contains(.sessionAPI) ? "/api/session" : nil
            ),
            machines: MachineTokens(
                issuers: try issuers.map {
                    try TokenIssuer($0, transport: providers, clock: clock, random: random)
                },
                serviceTokens: serviceTokens,
                at: origin
            ),
            sealer: sealer,
            signer: AssertionSigner(keys: keys, issuer: "\(origin)", lifetime: .seconds(120), random: random),
            keys: keys
        )
    }

    /// The issuer of some clients, with the same key in each fixture; open clients may have tokens for the apps of the first one.
    private static func issuer(
        of clients: [ClientSettings],
        _ open: OpenClients,
        at origin: Origin,
        _ apps: [AppSettings],
        _ sealer: Sealer,
        _ random: RandomBytes
    ) throws -> Issuer {
        let key = try AssertionKey(from: RandomBytes { [UInt8](repeating: 5, count: $0) })
        let accepting = apps.filter { $0.accepts.contains(.token) }.map(\.route)
        var route = Route(app: "client", origin: origin, path: "/")
        (route.providers, route.access) = (["staff", "guests"], .signedIn)
        var template = ClientSettings(id: "", kind: .native, route: route)
        (template.audiences, template.asksConsent, template.isOpen) = (clients.first?.audiences ?? [], true, true)
        return Issuer(
            signer: TokenSigner(keys: AssertionKeys(signing: key), issuer: "\(origin)"),
            clients: clients,
            audiences: Dictionary(uniqueKeysWithValues: accepting.map { ($0.app, $0.audience) }),
            appScopes: Dictionary(uniqueKeysWithValues: accepting.map { ($0.audience, $0.scopes.map(\.name)) }),
            open: open,
            openClient: template,
            sealer: sealer,
            random: random
        )
    }

    private static func provider(
        _ id: String,
        _ transport: FakeProviders,
        _ clock: WallClock,
        _ random: RandomBytes,
        domains: Set<String>,
        isFailing: Bool,
        _ change: (inout ProviderSettings) -> Void
    ) throws -> RuntimeProvider {
        let party = try RelyingParty.fake(
            id,
            over: transport,
            redirectURI: "https://\(self.gate)/oauth2/callback/\(id)",
            clock: clock,
            random: random,
            changing: change
        )
        let watch = PinWatch(
            logger: Logger(label: "fixture") { _ in SwiftLogNoOpLogHandler() },
            clock: clock
        )
        let reach = ProviderReachability(of: id, watch: watch, transports: ProviderTransports())
        return RuntimeProvider(
            id: id,
            label: party.definition.label,
            relyingParty: party,
            reach: reach,
            domains: domains,
            isFailing: { isFailing }
        )
    }

    private static func apps() throws -> [AppSettings] {
        var wiki = try self.app("wiki", self.gate, "/wiki", ["staff"])
        var entry = AccessEntry(at: RulePlace(line: 1))
        entry.emailDomain = "example.org"
        wiki.route.access = .entries([entry])
        wiki.route.publicRules = [
            PublicRule(method: "GET", path: "/wiki/healthz"), PublicRule(method: nil, path: "/wiki/assets/"),
        ]
        var shop = try self.app("shop", "shop.example.com", "/", ["staff", "guests"])
        shop.headers = [HeaderSetting(name: "X-WEBAUTH-USER", field: .email), HeaderSetting(name: "Who", field: .user)]
        return [
            try self.app("front", self.gate, "/", ["staff", "guests"]), wiki, shop,
            try self.app("lounge", self.gate, "/lounge", ["guests"]),
            try self.app("desk", "desk.example.com", "/", ["staff"]),
        ]
    }

    /// Gives the shop `store.example.com` and every host one label below `apps.example.com`.
    package static func severalHosts(_ app: inout AppSettings) {
        guard app.route.app == "shop", let origin = Origin(scheme: "https", host: GatewayFixture.gate) else { return }
        app.route.origins = OriginSet(origin, hosts: [.exact("store.example.com"), .wildcard("apps.example.com")])
    }

    /// An app of a host and a path that admits all users of these providers.
    package static func app(
        _ name: String,
        _ host: String,
        _ path: String,
        _ providers: Set<String>
    ) throws -> AppSettings {
        let origin = try #require(Origin(scheme: "https", host: host))
        var route = Route(app: name, origin: origin, path: path)
        route.providers = providers
        route.access = .signedIn
        let upstream = UpstreamTarget(.tcp(host: "127.0.0.1", port: 8080))
        return AppSettings(route: route, action: .forward(UpstreamSettings(targets: [upstream])))
    }

    /// The route of an app.
    package func route(_ name: String) throws -> RuntimeRoute {
        try #require(self.runtime.routes.all.first { $0.name == name })
    }

    /// The head of a request: `GET /wiki`, its host and further lines.
    package func head(_ start: String, _ host: String = GatewayFixture.gate, _ lines: String = "") throws -> RequestHead
    {
        var parser = RequestParser(names: self.runtime.fieldNames, isSecure: true)
        var buffer = ByteBuffer(string: "\(start) HTTP/1.1\r\nHost: \(host)\r\n\(lines)\r\n")
        return try #require(try parser.head(from: &buffer))
    }

    /// A new session of a user on a host.
    package func session(of profile: Profile, on host: String = GatewayFixture.gate) async throws -> IssuedSession {
        try await self.runtime.sessions.issue(SignIn(profile: profile), host: host, now: self.clock.now)
    }
}

/// The `Cookie` line with a ticket.
package func cookie(_ ticket: Ticket) -> String { "Cookie: __Host-gatehouse=\(ticket.text)\r\n" }
