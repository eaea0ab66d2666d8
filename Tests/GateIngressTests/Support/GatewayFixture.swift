// SPDX-License-Identifier: Apache-2.0

import GateAppConfiguration
import GateAssertion
import GateConfiguration
import GateCore
import GateEndpoints
import GateHTTP
import GateOpenID
import GateOperations
import GatePolicy
import GateProviderHTTP
import GateProviders
import GateProxy
import GateSessions
import GateTestSupport
import GateWire
import Logging
import NIOCore
import NIOEmbedded
import Testing

@testable import GateIngress
@testable import GateRuntime

/// A runtime configuration with two providers and five apps, and all that a test wants to look at.
///
/// `staff` and `guests` are OpenID providers. On the gate's own host are `/` (both providers), `/wiki` (staff of
/// example.org; `GET /wiki/healthz` and `/wiki/assets/` are open) and `/lounge` (guests). `shop.example.com` takes both,
/// `desk.example.com` staff only.
struct GatewayFixture {
    static let gate = "gate.example.com"

    let clock: TestClock
    let store: SwitchedStore
    let feed = RevocationFeed()
    let providers: FakeProviders
    let runtime: RuntimeConfiguration
    let loop: LoopState

    init(
        trusting proxies: [String] = [],
        without gone: Set<String> = [],
        log: RequestLog? = nil,
        admissions: AdmissionFingerprints? = nil,
        recheck: RecheckPolicy = .never,
        sharing other: GatewayFixture? = nil,
        secrets: [UInt8] = [7],
        keepsSessions: Bool = true,
        forwardAuth: ForwardAuthSettings? = nil,
        serviceTokens: [ServiceTokenSettings] = [],
        more: [AppSettings] = [],
        provider: (inout ProviderSettings) -> Void = { _ in },
        app: (inout AppSettings) -> Void = { _ in }
    ) throws {
        let random = other.map { $0.runtime.random } ?? .seeded()
        self.clock = other?.clock ?? TestClock()
        self.store = other?.store ?? SwitchedStore(keepsSessions: keepsSessions)
        let providers = other?.providers ?? FakeProviders(clock: self.clock)
        let sealer = Sealer(secrets.map { Secret([UInt8](repeating: $0, count: 32)) }, random: random)
        let keys = AssertionKeys(signing: try AssertionKey(from: random))
        let origin = try #require(Origin(scheme: "https", host: GatewayFixture.gate))
        let log = log ?? RequestLog(logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        var apps = try GatewayFixture.apps().filter { !gone.contains($0.route.app) } + more
        for index in apps.indices { app(&apps[index]) }
        var parts = RuntimeParts(
            publicOrigin: origin,
            trustedProxies: proxies.compactMap { CIDRRange($0) },
            sessions: SessionManager(
                store: self.store,
                sealer: sealer,
                lifetimes: SessionLifetimes(idle: .seconds(3600), absolute: .seconds(8 * 3600)),
                feed: self.feed,
                admissions: admissions,
                recheck: recheck,
                minIdleTimeout: apps.compactMap(\.sessionLimits.idle).min(),
                clock: self.clock.clock,
                random: random
            ),
            sealer: sealer,
            signer: AssertionSigner(keys: keys, issuer: "\(origin)", lifetime: .seconds(120), random: random),
            keys: keys,
            log: log,
            clock: self.clock.clock,
            random: random
        )
        parts.forwardAuth = forwardAuth
        parts.serviceTokens = serviceTokens
        let routes = try apps.enumerated().map { try RuntimeRoute($0.element, index: $0.offset) }
        let clock = self.clock.clock
        let parties = try ["staff", "guests"].map {
            try GatewayFixture.provider($0, providers, clock, random, provider)
        }
        self.providers = providers
        self.runtime = RuntimeConfiguration(parts, routes: routes, providers: parties)
        self.loop = LoopState(loop: EmbeddedEventLoop(), runtime: self.runtime, clock: clock)
    }

    private static func provider(
        _ id: String,
        _ transport: FakeProviders,
        _ clock: WallClock,
        _ random: RandomBytes,
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
        return RuntimeProvider(id: id, buttonText: party.definition.buttonText, relyingParty: party, reach: reach)
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
    static func severalHosts(_ app: inout AppSettings) {
        guard app.route.app == "shop", let origin = Origin(scheme: "https", host: GatewayFixture.gate) else { return }
        app.route.origins = OriginSet(origin, hosts: [.exact("store.example.com"), .wildcard("apps.example.com")])
    }

    /// An app of a host and a path that admits all users of these providers.
    static func app(
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

    func route(_ name: String) throws -> RuntimeRoute {
        try #require(self.runtime.routes.first { $0.name == name })
    }

    /// The head of a request: `GET /wiki`, its host and further lines.
    func head(_ start: String, _ host: String = GatewayFixture.gate, _ lines: String = "") throws -> RequestHead {
        var parser = RequestParser(names: self.runtime.fieldNames, isSecure: true)
        var buffer = ByteBuffer(string: "\(start) HTTP/1.1\r\nHost: \(host)\r\n\(lines)\r\n")
        return try #require(try parser.head(from: &buffer))
    }

    /// A new session of a user on a host.
    func session(of profile: Profile, on host: String = GatewayFixture.gate) async throws -> IssuedSession {
        try await self.runtime.sessions.issue(GateSessions.SignIn(profile: profile), host: host, now: self.clock.now)
    }

    /// The same, known to the loop.
    func cachedSession(of profile: Profile, on host: String = GatewayFixture.gate) async throws -> Ticket {
        let issued = try await self.session(of: profile, on: host)
        let key = try #require(CookieKey(issued.ticket))
        self.loop.sessions.insert(issued.session, for: key, freshFor: .seconds(30), now: .now())
        return issued.ticket
    }

    /// The verdict on a request, in words.
    func verdict(_ head: RequestHead, tls: NegotiatedTLS? = nil, lookup: SessionLookup? = nil) -> String {
        switch RequestPath(runtime: self.runtime, loop: self.loop).verdict(for: head, over: tls, lookup: lookup) {
        case .refused(let failure): "refused \(failure.code)"
        case .scopesNeeded(let scopes, _): "scopes \(scopes.joined(separator: " "))"
        case .wrongMethod(let route): "method of \(route.name)"
        case .endpoint: "endpoint"
        case .respond(let status): "response \(status)"
        case .needsSession: "needs session"
        case .needsVerification: "needs verification"
        case .needsMessages: "needs messages"
        case .signInNeeded(let route, .signIn): "sign in for \(route.name)"
        case .signInNeeded(let route, .passkey): "passkey for \(route.name)"
        case .signInNeeded(let route, .recheck(with: let provider)): "re-check for \(route.name) with \(provider)"
        case .forwarded(let route, let identity): "forwarded to \(route.name)\(identity == nil ? " unknown" : "")"
        }
    }
}

/// The `Cookie` line with a ticket.
func cookie(_ ticket: Ticket) -> String { "Cookie: __Host-gatehouse=\(ticket.text)\r\n" }

extension GatewayFixture {
    /// What a client on a plain connection receives for these bytes.
    func received(_ text: String) throws -> String {
        String(decoding: try self.received(Array(text.utf8)), as: UTF8.self)
    }

    /// The same, as bytes.
    func received(_ bytes: [UInt8]) throws -> [UInt8] {
        let responder = GatewayResponder(
            loop: self.loop,
            peer: IPAddress("192.0.2.1"),
            peerText: "192.0.2.1",
            tls: nil
        )
        let names = self.runtime.fieldNames
        let setting = DownstreamEnvironment(
            limits: DownstreamLimits(),
            names: { names },
            sweep: self.loop.sweep,
            isDraining: { false }
        )
        let connection = HTTP1Connection(environment: setting, peer: nil, tls: nil, responder: responder)
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandler(connection)
        try channel.writeInbound(ByteBuffer(bytes: bytes))
        var received: [UInt8] = []
        while let part = try channel.readOutbound(as: ByteBuffer.self) {
            received += part.readableBytesView
        }
        return received
    }
}
