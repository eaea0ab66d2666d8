// SPDX-License-Identifier: Apache-2.0

package import GateAssertion
package import GateConfiguration
package import GateCore
internal import GateHTTP
package import GateHeaders
package import GateOperations
package import GatePages
internal import GatePolicy
package import GateSessions
package import GateWire
internal import NIOCore

/// One configuration, made ready to serve; a reload builds another and swaps it.
///
/// It is made of values by need: what uses it takes those, or the whole where it needs most of them.
package final class RuntimeConfiguration: Sendable {
    /// What a reload cannot change.
    package let services: Services
    /// The hosts of the gateway and the apps.
    package let hosts: GatewayHosts
    /// What is in front of the gateway.
    package let front: GatewayFront
    package let routes: RouteMap
    package let providers: RuntimeProviders
    package let sessions: SessionManager
    /// Whether a store keeps them, as ``SessionManager/keepsSessions``; asked for with each request.
    package let keepsSessions: Bool
    /// The store of the sessions, for its upkeep.
    package let store: any StoreMaintenance
    /// Whether other gateways may have the same session store.
    package let sharesStore: Bool
    /// What is kept of users beside their sessions.
    package let users: UserAccounts
    /// What the gateway offers to clients.
    package let clients: ClientServices
    /// The tokens that machines bring.
    package let machines: MachineTokens
    /// Marks forwarded requests, so that one that comes back is found.
    package let loopMarker: LoopMarker
    /// The names with a meaning in requests, those that apps have for identity fields included.
    package let fieldNames: FieldNames
    /// Seals cookies and codes.
    package let sealer: Sealer
    /// Writes the identity lines of a user.
    package let identity: IdentityLines
    /// The keys that verify assertions.
    package let keys: AssertionKeys
    /// Renders failures.
    package let rendering: Rendering
    /// How access lines are written; nil if they are off.
    package let access: AccessLogSettings?
    /// The bounds of connections, requests and sign-ins.
    package let limits: GatewayLimits
    /// For which sessions it was logged that a token is not sent.
    let omittedTokens = LoggedOnce()
    /// The name of the cookie is the same on all hosts, since all have the scheme of `public_url`.
    private let sessionScan: SessionCookieScan
    private let keepsCookies: Bool

    /// A configuration of these values.
    ///
    /// - Parameters:
    ///   - services: What a reload cannot change.
    ///   - hosts: The hosts of the gateway and the apps.
    ///   - front: What is in front of the gateway.
    ///   - routes: The routes.
    ///   - providers: The providers, in the order of the file.
    ///   - sessions: The sessions.
    ///   - store: Their store, for its upkeep.
    ///   - sharesStore: Whether other gateways may have the same store.
    ///   - keepsCookies: Whether browsers keep session cookies when they close.
    ///   - users: What is kept of users beside their sessions.
    ///   - clients: What the gateway offers to clients.
    ///   - machines: The tokens that machines bring.
    ///   - sealer: Seals cookies and codes.
    ///   - signer: Signs assertions.
    ///   - keys: The keys that verify assertions.
    ///   - pages: The gateway's own pages.
    ///   - access: How access lines are written; nil if they are off.
    ///   - limits: The bounds of connections, requests and sign-ins.
    package init(
        services: Services,
        hosts: GatewayHosts,
        front: GatewayFront,
        routes: RouteMap,
        providers: [RuntimeProvider],
        sessions: SessionManager,
        store: any StoreMaintenance,
        sharesStore: Bool,
        keepsCookies: Bool = false,
        users: UserAccounts,
        clients: ClientServices,
        machines: MachineTokens,
        sealer: Sealer,
        signer: AssertionSigner,
        keys: AssertionKeys,
        pages: Pages = Pages(),
        access: AccessLogSettings? = nil,
        limits: GatewayLimits = GatewayLimits()
    ) {
        self.services = services
        self.hosts = hosts
        self.front = front
        self.routes = routes
        self.providers = RuntimeProviders(providers, routes: routes.all, publicHost: hosts.publicOrigin.host)
        self.sessions = sessions
        self.keepsSessions = sessions.keepsSessions
        self.store = store
        self.sharesStore = sharesStore
        self.users = users
        self.clients = clients
        self.machines = machines
        self.loopMarker = LoopMarker(hosts.publicOrigin)
        self.fieldNames = FieldNames(
            alsoManaged: routes.all.flatMap { $0.identity.further.map(\.name) },
            exactly: front.clientCertificates.values.compactMap { $0?.settings.header?.name }
        )
        self.sealer = sealer
        self.identity = IdentityLines(signer: signer)
        self.keys = keys
        self.rendering = Rendering(
            log: services.log,
            publicOrigin: hosts.publicOrigin,
            below: hosts.endpoints,
            random: services.random,
            pages: pages
        )
        self.access = access
        self.limits = limits
        self.keepsCookies = keepsCookies
        self.sessionScan = SessionCookieScan(
            name: GatewayCookie.session(at: hosts.publicOrigin).name,
            isWhole: !sessions.keepsSessions
        )
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
            self.routes.table.entry(host: request.authority.host, path: path)
        }
        return found.map { self.routes.all[$0] }
    }

    /// Whether a request is a health check of a load balancer, whatever host it names.
    package func isHealthCheck(_ request: RequestHead) -> Bool {
        guard let healthPath = self.front.healthPath, request.method.isSafe else { return false }
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
        PageContext.User(profile, provider: self.providers.name(of: profile.provider), isSignedIn: isSignedIn)
    }

    /// Drops of a sign-in what no session needs: groups that no rule and no app has a use for, and the access token beside a refresh
    /// token unless some app gets it.
    package func dropUnneeded(of signIn: inout SignIn) {
        let provider = signIn.profile.provider
        signIn.grant = signIn.grant?.kept(withAccessToken: self.providers.sendsAccessToken(of: provider))
        let dropped = self.providers.keepGroups(of: &signIn.profile)
        guard dropped > 0 else { return }
        self.services.metrics.groupsDropped(provider, count: dropped)
        self.services.log.groupsDropped(signIn.profile, count: dropped)
    }

    /// When the provider is asked again on a route; nil for an endpoint of the gateway.
    package func recheck(on route: RuntimeRoute?) -> RecheckPolicy { route?.recheck ?? self.sessions.recheck }

    /// The route of a place on a host; nil for an endpoint of the gateway.
    package func route(host: String, path: ReturnPath) -> RuntimeRoute? {
        let bytes = Array(path.value.utf8.prefix { $0 != UInt8(ascii: "?") })
        let matched = CanonicalPath.matched(ofReference: bytes) ?? bytes
        let isGatewayHost = host == self.hosts.publicOrigin.host
        guard !self.hosts.endpoints.owns(matched.span, isGatewayHost: isGatewayHost) else { return nil }
        return self.routes.table.entry(host: host, path: matched.span).map { self.routes.all[$0] }
    }
}
