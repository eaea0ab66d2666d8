// SPDX-License-Identifier: Apache-2.0

package import GateAccounts
internal import GateAppConfiguration
package import GateAssertion
package import GateConfiguration
package import GateCore
package import GateHTTP
package import GateHeaders
package import GateIssuer
package import GateOpenID
package import GateOperations
package import GatePages
package import GatePolicy
package import GateProviders
package import GateSessions
package import GateWire
internal import NIOCore

/// One configuration, made ready to serve; a reload builds another and swaps it.
package final class RuntimeConfiguration: Sendable {
    /// The origin of the sign-in pages and callbacks.
    package let publicOrigin: Origin
    /// Where each host has the gateway's endpoints.
    package let endpoints: EndpointPrefix
    /// The first letter of that path: to read it costs two reference counts less than to read the path.
    package let endpointInitial: UInt8
    /// Where proxies ask for decisions.
    package let forwardAuthPath: String
    /// The routes, in the order of the file.
    package let routes: [RuntimeRoute]
    /// Finds the route of a host and a canonical path.
    package let table: RouteTable
    /// The same as servers may read it.
    let spellings: RouteSpellings
    /// Whether some app takes WebSockets.
    package let takesWebSockets: Bool
    /// The proxies whose `X-Forwarded-For` is trusted.
    package let trustedProxies: [CIDRRange]
    /// The proxies that may ask for decisions; nil if none may.
    package let forwardAuth: ForwardAuthSettings?
    /// Marks forwarded requests, so that one that comes back is found.
    package let loopMarker: LoopMarker
    /// The names with a meaning in requests, those that apps have for identity fields included.
    package let fieldNames: FieldNames
    /// The providers in the order of the file.
    package let providers: [RuntimeProvider]
    package let sessions: SessionManager
    /// The store of the sessions, for its upkeep.
    package let store: any StoreMaintenance
    /// What is kept of users in that store.
    package let entries: SealedEntries
    /// Whether a store keeps them, as ``SessionManager/keepsSessions``; asked for with each request.
    package let keepsSessions: Bool
    /// The passkeys of the users; nil if they are off.
    package let passkeys: Passkeys?
    /// The accounts that users have connected; nil if that is off.
    package let connections: AccountConnections?
    /// Sends links to the users of local accounts; nil without a mail server.
    package let mailer: AccountMailer?
    /// Seals cookies and codes.
    package let sealer: Sealer
    /// Writes the identity lines of a user.
    package let identity: IdentityLines
    /// The keys that verify assertions.
    package let keys: AssertionKeys
    /// The issuers whose tokens machines bring, by name.
    let issuers: [String: TokenIssuer]
    /// The service tokens, by their hashes.
    let serviceTokens: [[UInt8]: ServiceTokenSettings]
    /// The gateway as the OpenID provider of clients; nil without clients.
    package let issuer: Issuer?
    /// The metadata documents of clients; nil unless clients may be named by a URL.
    package let clientDocuments: ClientDocuments?
    /// The limits on clients without an entry in the file.
    package let openClients: NetworkLimiter
    /// The limits on exchanges of tokens of issuers.
    package let exchanges: NetworkLimiter
    /// The documents below `/.well-known/`.
    package let wellKnown: WellKnownDocuments
    /// Renders failures.
    package let rendering: Rendering
    package let log: RequestLog
    /// How access lines are written; nil if they are off.
    package let access: AccessLogSettings?
    package let metrics: IngressMetrics
    package let clock: WallClock
    /// The source of random bytes.
    package let random: RandomBytes
    /// The bounds of connections, requests and sign-ins.
    package let limits: GatewayLimits
    /// The limits on sign-ins.
    package let signIns: SignInLimiter
    /// The limits on session transfers.
    package let transfers: TransferLimiter
    /// The limits on sign-ins that clients begin for another device.
    package let devices: DeviceLimiter
    /// The proofs of keys that were accepted.
    package let proofs: ProofReplays
    /// The path of the session API on the gateway's host; nil if it is off.
    package let sessionAPI: String?
    /// The path of health checks on the listeners for requests; nil if it is off.
    package let healthPath: String?
    /// The certificates that clients present, by the address of each listener for requests: nil for one that asks for none.
    private let clientCertificates: [BindAddress: ClientCertificatePolicy?]
    /// The re-checks in progress.
    package let rechecks: Rechecks
    /// The value of `Strict-Transport-Security`; nil for no such field.
    private let hsts: String?
    /// Which groups of each provider's users are needed, by the provider's name.
    private let demands: [String: RequiredGroups]
    /// The providers whose access tokens an app gets.
    private let sentAccessTokens: Set<String>
    /// For which sessions it was logged that a token is not sent.
    let omittedTokens = LoggedOnce()
    private let origins: [String: Origin]
    /// The domains of the apps' wildcards.
    private let domains: Set<String>
    /// The name of the cookie is the same on all hosts, since all have the scheme of `public_url`.
    private let sessionScan: SessionCookieScan
    private let keepsCookies: Bool
    /// Whether other gateways may have the same session store.
    package let sharesStore: Bool

    /// The certificates that clients of a listener present; nil if it asks for none.
    ///
    /// - Parameters:
    ///   - listener: The address of the listener.
    ///   - known: What holds for a listener that the configuration does not have any more, but that serves until a restart.
    /// - Returns: The policy.
    package func clientCertificates(
        at listener: BindAddress?,
        otherwise known: ClientCertificatePolicy?
    ) -> ClientCertificatePolicy? {
        guard known != nil || !self.clientCertificates.isEmpty else { return nil }
        return listener.flatMap { self.clientCertificates[$0] } ?? known
    }

    /// The authorities of certificates of clients, as pages name them.
    package var certificateIssuers: String {
        var names: [String] = []
        for policy in self.clientCertificates.values.compactMap(\.self) {
            names += policy.issuers.filter { !names.contains($0) }
        }
        return names.sorted().prefix(5).joined(separator: "; ")
    }

    package init(_ parts: RuntimeParts, routes: [RuntimeRoute], providers: [RuntimeProvider]) {
        self.publicOrigin = parts.publicOrigin
        self.endpoints = parts.endpoints
        self.endpointInitial = parts.endpoints.initial
        self.forwardAuthPath = parts.endpoints.path("auth")
        self.loopMarker = LoopMarker(parts.publicOrigin)
        self.routes = routes
        self.takesWebSockets = routes.contains { $0.webSocket != nil }
        self.table = RouteTable(routes.map { ($0.route.origins.hosts, $0.route.path) })
        self.spellings = RouteSpellings(routes)
        self.trustedProxies = parts.trustedProxies
        self.forwardAuth = parts.forwardAuth
        self.fieldNames = FieldNames(
            alsoManaged: routes.flatMap { $0.identity.further.map(\.name) },
            exactly: parts.clientCertificates.values.compactMap { $0?.settings.header?.name }
        )
        self.providers = providers
        self.demands = Dictionary(
            providers.map { ($0.id, RequiredGroups(of: $0.id, routes: routes.map(\.route))) }
        ) { first, _ in first }
        self.sentAccessTokens = routes.filter { $0.identity.providerToken == .accessToken }.reduce(into: []) {
            $0.formUnion($1.route.providers)
        }
        self.sessions = parts.sessions
        self.store = parts.store
        self.entries = parts.entries
        self.passkeys = parts.passkeys
        self.connections = parts.connections
        self.mailer = parts.mailer
        self.sealer = parts.sealer
        self.identity = IdentityLines(signer: parts.signer)
        self.keys = parts.keys
        self.issuers = Dictionary(parts.issuers.map { ($0.settings.id, $0) }) { first, _ in first }
        self.serviceTokens = Dictionary(parts.serviceTokens.map { ($0.hash, $0) }) { first, _ in first }
        self.issuer = parts.issuer
        self.clientDocuments = parts.clientDocuments
        self.openClients = parts.openClients
        self.exchanges = parts.exchanges
        self.log = parts.log
        self.access = parts.access
        self.metrics = parts.metrics
        self.clock = parts.clock
        self.random = parts.random
        self.limits = parts.limits
        self.signIns = parts.signIns
        self.transfers = parts.transfers
        self.devices = parts.devices
        self.proofs = parts.proofs
        self.sessionAPI = parts.issuer == nil ? nil : parts.sessionAPI
        self.healthPath = parts.healthPath
        self.clientCertificates = parts.clientCertificates
        self.rechecks = parts.rechecks
        self.hsts = parts.hsts
        self.rendering = Rendering(
            log: parts.log,
            publicOrigin: parts.publicOrigin,
            below: parts.endpoints,
            random: parts.random,
            pages: parts.pages
        )
        var origins = [parts.publicOrigin.host: parts.publicOrigin]
        var domains: Set<String> = []
        for pattern in routes.flatMap(\.route.origins.hosts) {
            switch pattern {
            case .exact(let host): origins[host] = origins[host] ?? parts.publicOrigin.with(host: host)
            case .wildcard(let domain): domains.insert(domain)
            }
        }
        self.origins = origins
        self.wellKnown = WellKnownDocuments(
            of: parts.issuer,
            at: parts.publicOrigin,
            below: parts.endpoints,
            hosts: origins.keys,
            routes: routes
        )
        self.domains = domains
        self.keepsSessions = parts.sessions.keepsSessions
        self.keepsCookies = parts.keepsCookies
        self.sharesStore = parts.sharesStore
        self.sessionScan = SessionCookieScan(
            name: GatewayCookie.session(at: parts.publicOrigin).name,
            isWhole: !self.keepsSessions
        )
    }

    /// The URL of the metadata of an app that accepts access tokens; nil for other apps.
    ///
    /// It is on the host of the audience, whatever the host of the request: the resource that it describes has to be that of the URL,
    /// RFC 9728 §3.3.
    package func resourceMetadata(of route: RuntimeRoute) -> String? {
        guard self.issuer != nil, route.takesTokens else { return nil }
        return "\(route.route.origins.name)\(WellKnownDocuments.resourcePath(of: route))"
    }

    /// Whether a wildcard includes a host that no app names.
    package func isBelowWildcard(_ host: String) -> Bool { self.origins[host] == nil }

    /// Whether a host is the gateway's own or an app's.
    package func serves(_ host: String) -> Bool { self.origin(of: host) != nil }

    /// The value of `Strict-Transport-Security` in responses of ours to requests over TLS that we terminate; nil for none.
    ///
    /// Browsers ignore it for IP addresses, and for localhost it would reach other programs: RFC 6797 §8.1.1.
    package func hsts(for host: String) -> String? {
        guard let hsts, let origin = self.origin(of: host), origin.isSecure, !origin.isLoopback else { return nil }
        return IPAddress(host) == nil && !host.hasPrefix("[") ? hsts : nil
    }

    /// The origin of a host of ours; nil for every other host.
    ///
    /// All have the scheme and port of `public_url`.
    package func origin(of host: String) -> Origin? {
        if let origin = self.origins[host] { return origin }
        guard !self.domains.isEmpty, let domain = HostPattern.domain(of: host), self.domains.contains(domain) else {
            return nil
        }
        return self.publicOrigin.with(host: host)
    }

    /// The session cookie of a request as a key for caches; nil if it has none, or a malformed one.
    package func cookieKey(of request: RequestHead) -> CookieKey? {
        guard let field = request.message.first(.cookie) else { return nil }
        let sent = request.message.bytes
        return self.sessionScan.key(in: sent.readableBytesUInt8Span.extracting(field.valueRange))
    }

    /// The route of a request, by host and canonical path; nil if no app has them.
    package func route(of request: RequestHead) -> RuntimeRoute? {
        let found = request.path.withSpan(of: request.message) { path in
            self.table.entry(host: request.authority.host, path: path)
        }
        return found.map { self.routes[$0] }
    }

    /// Whether a request is a health check of a load balancer, whatever host it names.
    package func isHealthCheck(_ request: RequestHead) -> Bool {
        guard let healthPath, request.method.isSafe else { return false }
        return request.path.text(in: request.message) == healthPath
    }

    /// The ticket in the session cookie of a request; nil unless this gateway issued it for the host.
    package func ticket(of request: RequestHead) -> Ticket? {
        guard let field = request.message.first(.cookie) else { return nil }
        let sent = request.message.bytes
        let value = self.sessionScan.value(in: sent.readableBytesUInt8Span.extracting(field.valueRange))
        return value.flatMap { self.sessions.ticket($0, host: request.authority.host) }
    }

    /// The `Set-Cookie` values that give a browser a session on one of our hosts.
    ///
    /// - Parameters:
    ///   - issued: The session.
    ///   - origin: The origin of the host.
    ///   - header: The cookies that the browser sent.
    ///   - now: The time.
    /// - Returns: The values; several for a session in pieces, or to delete pieces.
    package func cookies(
        of issued: IssuedSession,
        at origin: Origin,
        replacing header: CookieHeader,
        now: Instant
    ) -> [String] {
        let time = self.keepsCookies ? self.sessions.remainingLifetime(issued.session, now: now) : nil
        return GatewayCookie.session(at: origin, for: time).settings(issued.ticket, replacing: header)
    }

    /// The user of a session, as pages have it.
    package func user(of session: Session) -> PageContext.User { self.user(of: session.profile, isSignedIn: true) }

    package func user(of profile: Profile, isSignedIn: Bool) -> PageContext.User {
        PageContext.User(profile, provider: self.name(of: profile.provider), isSignedIn: isSignedIn)
    }

    /// The name of a provider for users.
    ///
    /// It is that of its button, and for local accounts without one the host of the gateway; the name in the file is for operators.
    package func name(of id: String) -> String {
        guard let provider = self.provider(id) else { return id }
        return provider.label.name ?? self.publicOrigin.host
    }

    /// The provider of a name.
    package func provider(_ id: String) -> RuntimeProvider? { self.providers.first { $0.id == id } }

    /// Whether any rule or app needs the groups of a provider's users.
    package func needsGroups(of provider: String) -> Bool { self.demands[provider]?.isEmpty == false }

    /// Whether an app gets the access token of a provider's users.
    package func sendsAccessToken(of provider: String) -> Bool { self.sentAccessTokens.contains(provider) }

    /// Drops of a sign-in what no session needs: groups that no rule and no app has a use for, and the access token beside a refresh
    /// token unless some app gets it.
    package func dropUnneeded(of signIn: inout SignIn) {
        let provider = signIn.profile.provider
        signIn.grant = signIn.grant?.kept(withAccessToken: self.sendsAccessToken(of: provider))
        let dropped = self.demands[provider]?.keep(in: &signIn.profile) ?? 0
        guard dropped > 0 else { return }
        self.metrics.groupsDropped(provider, count: dropped)
        self.log.groupsDropped(signIn.profile, count: dropped)
    }

    /// The providers that a route accepts, in the order of the file; all if there is no route.
    package func accepted(by route: RuntimeRoute?) -> [RuntimeProvider] {
        guard let route else { return self.providers }
        return self.providers.filter { route.route.providers.contains($0.id) }
    }

    /// Whether a route accepts a provider; without a route all are accepted.
    package func accepts(_ provider: String, on route: RuntimeRoute?) -> Bool {
        self.accepted(by: route).contains { $0.id == provider }
    }

    /// When the provider is asked again on a route; nil for an endpoint of the gateway.
    package func recheck(on route: RuntimeRoute?) -> RecheckPolicy { route?.recheck ?? self.sessions.recheck }

    /// The first app of a host all of whose apps are in shadow mode; nil for any other host.
    package func shadowedRoute(on host: String) -> RuntimeRoute? {
        let routes = self.table.entries(on: host).sorted().map { self.routes[$0] }
        return routes.allSatisfy(\.isShadowed) ? routes.first : nil
    }

    /// The route of a place on a host; nil for an endpoint of the gateway.
    package func route(host: String, path: ReturnPath) -> RuntimeRoute? {
        let bytes = Array(path.value.utf8.prefix { $0 != UInt8(ascii: "?") })
        let matched = CanonicalPath.matched(ofReference: bytes) ?? bytes
        guard !self.endpoints.owns(matched.span, isGatewayHost: host == self.publicOrigin.host) else { return nil }
        return self.table.entry(host: host, path: matched.span).map { self.routes[$0] }
    }
}

/// A provider, ready for sign-ins.
package struct RuntimeProvider: Sendable {
    /// The name in the configuration file.
    package let id: String
    package let label: ProviderLabel
    private let method: SignInMethod
    /// The path of the file with the mark on its button.
    package let icon: String?
    /// The domains of email addresses whose users sign in here.
    package let domains: Set<String>
    /// Whether the latest call to it has failed, a short time ago.
    package let isFailing: @Sendable () -> Bool
    /// Limits the sign-ins that wait for this provider, so that a slow one does not use up the sign-ins of the others.
    package let waiting = ConcurrencyLimiter(limit: 400)
    /// Limits the logouts of this provider that are in progress.
    package let logouts = ConcurrencyLimiter(limit: 100)

    /// How its users sign in.
    private enum SignInMethod: Sendable {
        /// At a server, with the code flow.
        case server(RelyingParty, ProviderReachability)
        /// Here, with a password.
        case accounts(LocalAccounts)
    }

    /// A provider of the configuration.
    package init(
        id: String,
        label: ProviderLabel,
        relyingParty: RelyingParty,
        reach: ProviderReachability,
        icon: String? = nil,
        domains: Set<String> = [],
        isFailing: @escaping @Sendable () -> Bool = { false }
    ) {
        self.id = id
        self.isFailing = isFailing
        self.icon = icon
        self.domains = domains
        self.label = label
        self.method = .server(relyingParty, reach)
    }

    /// A provider of the configuration with local accounts.
    package init(
        id: String,
        label: ProviderLabel,
        accounts: LocalAccounts,
        icon: String? = nil,
        domains: Set<String> = []
    ) {
        self.id = id
        self.icon = icon
        self.domains = domains
        self.isFailing = { false }
        self.label = label
        self.method = .accounts(accounts)
    }

    /// The code flow with it; nil for local accounts.
    package var relyingParty: RelyingParty? {
        guard case .server(let party, _) = self.method else { return nil }
        return party
    }

    /// Whether its hosts may be called; nil for local accounts.
    package var reach: ProviderReachability? {
        guard case .server(_, let reach) = self.method else { return nil }
        return reach
    }

    /// The local accounts; nil for a server.
    package var accounts: LocalAccounts? {
        guard case .accounts(let accounts) = self.method else { return nil }
        return accounts
    }

    /// What its button is labelled with on a page.
    package var buttonLabel: PageButton.Label {
        switch self.label {
        case .signIn(let name): .provider(name)
        case .password: .text(.signInWithPassword)
        case .custom(let text): .fixed(text)
        }
    }

    package var busy: Failure { Failure(.providerBusy, "too many sign-ins wait for \(self.id)") }
}

/// What a ``RuntimeConfiguration`` is made of, beside its routes and providers.
package struct RuntimeParts {
    /// The origin of the sign-in pages and callbacks.
    package let publicOrigin: Origin
    /// The proxies whose `X-Forwarded-For` is trusted.
    package let trustedProxies: [CIDRRange]
    package let sessions: SessionManager
    /// The store of the sessions, for its upkeep.
    package let store: any StoreMaintenance
    /// What is kept of users in that store.
    package let entries: SealedEntries
    /// Seals cookies and codes.
    package let sealer: Sealer
    /// Signs assertions.
    package let signer: AssertionSigner
    /// The keys that verify assertions.
    package let keys: AssertionKeys
    package let log: RequestLog
    package let metrics = IngressMetrics()
    package let clock: WallClock
    /// The source of random bytes.
    package let random: RandomBytes
    /// The limits of connections, requests and sign-ins.
    package var limits = GatewayLimits()
    /// The limits on sign-ins, which outlive a reload.
    package var signIns = SignInLimiter()
    /// The limits on session transfers, which outlive a reload.
    package var transfers = TransferLimiter()
    /// The limits on sign-ins that clients begin for another device, which outlive a reload.
    package var devices = DeviceLimiter()
    /// The proofs of keys that were accepted, which outlive a reload.
    package var proofs = ProofReplays()
    /// The path of the session API on the gateway's host; nil if it is off.
    package var sessionAPI: String?
    /// The path of health checks on the listeners for requests; nil if it is off.
    package var healthPath: String?
    /// The certificates that clients present, by the address of each listener for requests: nil for one that asks for none.
    package var clientCertificates: [BindAddress: ClientCertificatePolicy?] = [:]
    /// The metadata documents of clients, which outlive a reload; nil unless clients may be named by a URL.
    package var clientDocuments: ClientDocuments?
    /// The limits on clients without an entry in the file, which outlive a reload.
    package var openClients = NetworkLimiter(of: "new clients")
    /// The limits on exchanges of tokens of issuers, which outlive a reload.
    package var exchanges = NetworkLimiter(of: "exchanges of tokens of issuers")
    /// The re-checks in progress, which outlive a reload.
    package var rechecks = Rechecks()
    /// How access lines are written; nil if they are off.
    package var access: AccessLogSettings?
    /// The value of `Strict-Transport-Security`; nil for no such header.
    package var hsts: String?
    /// The proxies that may ask for decisions; nil if none may.
    package var forwardAuth: ForwardAuthSettings?
    /// Whether browsers keep session cookies when they close.
    package var keepsCookies = false
    /// Whether other gateways may have the same session store.
    package var sharesStore = false
    /// The issuers whose tokens machines bring.
    package var issuers: [TokenIssuer] = []
    package var serviceTokens: [ServiceTokenSettings] = []
    /// The gateway as the OpenID provider of clients; nil without clients.
    package var issuer: Issuer?
    /// Where each host has the gateway's endpoints.
    package var endpoints = EndpointPrefix.standard
    /// The gateway's own pages.
    package var pages = Pages()
    /// The passkeys of the users; nil if they are off.
    package var passkeys: Passkeys?
    /// The accounts that users have connected; nil if that is off.
    package var connections: AccountConnections?
    /// Sends links to the users of local accounts; nil without a mail server.
    package var mailer: AccountMailer?

    /// Parts with default limits.
    package init(
        publicOrigin: Origin,
        trustedProxies: [CIDRRange],
        sessions: SessionManager,
        store: any StoreMaintenance,
        entries: SealedEntries,
        sealer: Sealer,
        signer: AssertionSigner,
        keys: AssertionKeys,
        log: RequestLog,
        clock: WallClock,
        random: RandomBytes
    ) {
        self.publicOrigin = publicOrigin
        self.trustedProxies = trustedProxies
        self.sessions = sessions
        self.store = store
        self.entries = entries
        self.sealer = sealer
        self.signer = signer
        self.keys = keys
        self.log = log
        self.clock = clock
        self.random = random
    }
}
