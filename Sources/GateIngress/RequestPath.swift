// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateEndpoints
internal import GateHTTP
internal import GateHeaders
internal import GateOpenID
internal import GatePolicy
internal import GateProxy
internal import GateRuntime
internal import GateSessions
internal import GateWire
internal import NIOCore

/// The decision on a request.
enum Verdict {
    /// It is rejected with a failure.
    case refused(Failure)
    /// It is rejected because its access token does not have all of these scopes, with which it would be admitted.
    case scopesNeeded([String], Failure)
    /// It is for an endpoint of the gateway.
    case endpoint
    /// The gateway responds at once with a status.
    case respond(status: Int)
    /// The route does not take the method.
    case wrongMethod(RuntimeRoute)
    /// This session has to be looked up for this route first.
    case needsSession(SoughtSession, RuntimeRoute)
    /// The issuer has to verify this token for this route first.
    case needsVerification(MachineCredential, TokenIssuer, RuntimeRoute)
    /// The body has to be read first, since a rule is about the messages in it.
    case needsMessages(RuntimeRoute)
    /// The route needs something of the user that the request does not have.
    case signInNeeded(RuntimeRoute, SignInStep)
    /// It goes to the app, with these identity lines; none on what is open to all.
    case forwarded(RuntimeRoute, identity: ByteBuffer?)
}

extension Verdict {
    /// The route on which the request goes on; nil if it is rejected, or for no app.
    var route: RuntimeRoute? {
        switch self {
        case .wrongMethod(let route), .needsSession(_, let route), .needsVerification(_, _, let route),
            .needsMessages(let route), .signInNeeded(let route, _), .forwarded(let route, _):
            route
        case .refused, .scopesNeeded, .endpoint, .respond: nil
        }
    }
}

/// The life of a request, top to bottom, in an order that no configuration can change.
///
/// scrub → canonical path → endpoint? → route → session → decision → identity → forward. It runs on the connection's
/// event loop without waiting; a look-up is a verdict, after which the path runs again.
struct RequestPath {
    let runtime: RuntimeConfiguration
    let loop: LoopState
    /// The messages to an MCP server in the body, as far as that was read.
    var messages = MessageReading.unread
    /// Whether this is the first verdict on the request, which spends the proof of a key.
    var isFirst = true
    /// What the certificate of the client means for the request; nil if nothing asks for one.
    var certificate: RequestCertificate?

    /// The verdict for a request.
    ///
    /// - Parameters:
    ///   - request: The checked head.
    ///   - tls: What TLS settled, nil for a plain connection.
    ///   - lookup: The result of an earlier ``Verdict/needsSession(_:)``.
    ///   - isRetry: Whether the request is authorized again and gets a new assertion; for a retry.
    ///   - admitsNetworks: Whether the client's network may admit it; not where the session of a user has to go on.
    ///   - client: The client IP, asked for only if a rule is about it; nil if it is not known.
    /// - Returns: What to do; nothing is forwarded to a protected route without an identity.
    func verdict(
        for request: RequestHead,
        over tls: NegotiatedTLS?,
        lookup: SessionLookup? = nil,
        isRetry: Bool = false,
        admitsNetworks: Bool = true,
        client: () -> IPAddress? = { nil }
    ) -> Verdict {
        // Scrub: the parser has marked every name that only the gateway may set, and `ForwardedHead` copies none of
        // them. Canonical path: `request.path` is matched below and forwarded as the same bytes.
        let host = request.authority.host
        guard tls?.admits(host: host) ?? true else {
            return self.misdirected(request)
        }
        if let failure = self.certificate?.failure {
            return self.healthVerdictOfNoApp(on: request) ?? .refused(failure)
        }
        guard !request.hasLoopField || !self.runtime.loopMarker.hasLooped(request) else {
            let detail = "the upstream of an app leads back to the gateway; see 'gatehouse check'"
            return .refused(Failure(.upstreamLoop, detail))
        }
        guard !request.isAsterisk else { return .respond(status: 204) }
        guard !self.isOwn(request), !self.isWellKnown(request), !self.isSessionAPI(request) else {
            return self.runtime.serves(host) ? .endpoint : self.noSuchApp(request)
        }
        guard let route = self.route(of: request) else {
            return self.isFront(request) ? .endpoint : self.noSuchApp(request)
        }
        let isOpen = self.isOpen(request, on: route)
        if let failure = SpellingCheck(runtime: self.runtime, route: route).failure(of: request, isOpen: isOpen) {
            return .refused(failure)
        }
        guard !route.rejectsIrregularNames || !request.hasIrregularNames else {
            return .refused(
                Failure(
                    .requestHeaderName,
                    "a header name has '_', '.' or another such character"
                )
            )
        }
        guard route.methods?.contains(request.method.rawValue) ?? true else { return .wrongMethod(route) }
        guard !route.isInMaintenance else {
            return .refused(Failure(.routeMaintenance, "\(route.name) is in maintenance"))
        }
        guard !isOpen, !self.isAdmittedPreflight(request, on: route) else { return .forwarded(route, identity: nil) }
        let verdict = self.protectedVerdict(for: request, on: route, lookup: lookup, isRetry: isRetry, client)
        guard case .signInNeeded(_, let step) = verdict, step.opensToNetworks, route.opensToNetworks, admitsNetworks
        else { return verdict }
        return self.networkVerdict(for: request, on: route, client()) ?? verdict
    }

    private func protectedVerdict(
        for request: RequestHead,
        on route: RuntimeRoute,
        lookup: SessionLookup?,
        isRetry: Bool,
        _ client: () -> IPAddress?
    ) -> Verdict {
        if route.takesTokens {
            let verdict = self.tokenVerdict(for: request, on: route, lookup: lookup, isRetry: isRetry, client)
            if let verdict { return verdict }
        }
        let verdict = self.machineVerdict(for: request, on: route, lookup: lookup, isRetry: isRetry, client)
        if let verdict { return verdict }
        guard route.takesSessions else { return .signInNeeded(route, .signIn) }
        switch self.session(of: request, on: route, lookup: lookup) {
        case .unknown(let ticket):
            return .needsSession(SoughtSession(ticket, host: request.authority.host), route)
        case .unavailable(let failure): return .refused(failure)
        case .none: return .signInNeeded(route, .signIn)
        case .needsUser(let provider):
            let isAccepted = self.runtime.accepts(provider, on: route)
            return isAccepted ? .signInNeeded(route, .recheck(with: provider)) : .signInNeeded(route, .signIn)
        case .found(let session):
            if self.loop.access != nil { self.loop.found = session }
            let isCurrent = route.sessionLimits == nil || route.isCurrent(session.session, now: self.loop.now)
            guard isCurrent else { return .signInNeeded(route, .signIn) }
            if isRetry { session.dropAuthorization(on: route) }
            return self.verdict(for: request, on: route, session: session, client)
        }
    }

    /// The verdict on a request by what its user may.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - route: Its route.
    ///   - session: The session of the user.
    ///   - isAmbient: False for a token that no browser sends by itself, so that another site cannot cause the request.
    ///   - scopes: What the client of a token was granted; nil for the user's own session.
    ///   - client: The client IP.
    /// - Returns: The verdict.
    func verdict(
        for request: RequestHead,
        on route: RuntimeRoute,
        session: CachedSession,
        isAmbient: Bool = true,
        scopes: [String]? = nil,
        _ client: () -> IPAddress?
    ) -> Verdict {
        let authorization: RouteAuthorization
        do {
            authorization = try session.authorization(on: route, runtime: self.runtime, now: self.loop.now)
        } catch {
            return .refused(error)
        }
        switch authorization {
        case .signInNeeded:
            return .signInNeeded(route, .signIn)
        case .refused(let failure):
            return .refused(failure)
        case .admitted(let identity):
            return self.verdict(for: request, on: route, admittedAs: identity, isAmbient: isAmbient)
        case .depends(let rules, let identity):
            let user = session.session.profile
            let granted = rules.scopes.isEmpty ? nil : scopes
            var facts = self.facts(about: request, under: rules, session: session.session, granted, client)
            let decision: Decision
            if rules.needsMessage {
                switch self.messageDecision(by: rules, about: request, on: route, user: user.user, facts) {
                case .unread: return .needsMessages(route)
                case .unreadable(let failure): return .refused(failure)
                case .decision(let known, let message): (decision, facts.message) = (known, message)
                }
            } else {
                decision = self.decision(by: rules, about: request, on: route, facts)
            }
            session.note(rule: decision.place)
            switch decision {
            case .signInNeeded, .authenticationNeeded: return .signInNeeded(route, .signIn)
            case .passkeyNeeded: return .signInNeeded(route, .passkey)
            case .scopesNeeded(let place):
                let needed = self.neededScopes(by: rules, about: request, facts)
                let rule = place.map { " at \($0)" } ?? ""
                let names = needed.joined(separator: " ")
                let detail =
                    "\(user.user) may not enter \(route.name) with this token: the rule\(rule) asks for a scope"
                return .scopesNeeded(needed, Failure(.policyScope, "\(detail), and with \(names) it would be admitted"))
            case .denied(let denial):
                let failure = denial.failure(of: user, app: route.name)
                guard failure.reason == .policyCertificate, let why = self.certificate?.rejection else {
                    return .refused(failure)
                }
                return .refused(Failure(.policyCertificate, "\(failure.detail); \(why)"))
            case .openToAll, .openToNetwork, .admitted:
                return self.verdict(for: request, on: route, admittedAs: identity, isAmbient: isAmbient)
            }
        }
    }

    /// The verdict on a request that the rules admit.
    func verdict(
        for request: RequestHead,
        on route: RuntimeRoute,
        admittedAs identity: ByteBuffer,
        isAmbient: Bool = true
    ) -> Verdict {
        guard !isAmbient || self.isSameOrigin(request, route) else {
            return .refused(
                Failure(.requestCrossSite, "another site sent the browser here to write")
            )
        }
        guard route.identity.signsRequests else { return .forwarded(route, identity: identity) }
        return self.signed(request, on: route, identity)
    }

    /// Forwarding with a signature over the request; not without one.
    private func signed(_ request: RequestHead, on route: RuntimeRoute, _ identity: ByteBuffer) -> Verdict {
        do {
            let signed = try self.runtime.identity.signed(
                identity,
                for: request,
                as: route.identity,
                authority: route.authority(of: request),
                at: self.loop.now
            )
            return .forwarded(route, identity: signed)
        } catch {
            return .refused(error)
        }
    }
}

// MARK: Steps

extension RequestPath {
    /// The verdict on a health check of a load balancer; nil for every other request.
    private func healthVerdict(on request: RequestHead) -> Verdict? {
        self.loop.healthStatus(of: request).map { .respond(status: $0) }
    }

    /// The verdict on a health check on a path that no app has: balancers check by IP, and without a certificate.
    private func healthVerdictOfNoApp(on request: RequestHead) -> Verdict? {
        self.route(of: request) == nil ? self.healthVerdict(on: request) : nil
    }

    /// The verdict on a request for a host that the certificate of its connection is not for.
    func misdirected(_ request: RequestHead) -> Verdict {
        let detail = "the certificate shown is not for \(request.authority.host)"
        return self.healthVerdictOfNoApp(on: request) ?? .refused(Failure(.requestMisdirected, detail))
    }

    private func noSuchApp(_ request: RequestHead) -> Verdict {
        if let verdict = self.healthVerdict(on: request) { return verdict }
        var detail = "no app is configured for this path on \(request.authority.host)"
        // A proxy that replaces `Host` is the usual cause.
        if let named = request.message.value(.xForwardedHost), named.lowercased() != request.authority.text {
            detail +=
                ", and X-Forwarded-Host '\(named.prefix(255))' is not read: let the proxy keep Host, as nginx does with "
                + "'proxy_set_header Host $http_host'"
        }
        return .refused(Failure(.routeNone, detail))
    }

    /// Whether the path is one of the gateway's own.
    private func isOwn(_ request: RequestHead) -> Bool {
        request.path.withSpan(of: request.message) { path in
            guard path.count > 1, path[1] == self.runtime.endpointInitial else { return false }
            return self.runtime.endpoints.owns(
                path,
                isGatewayHost: request.authority.host == self.runtime.publicOrigin.host
            )
        }
    }

    /// Whether the path is that of a document of the gateway below `/.well-known/`.
    private func isWellKnown(_ request: RequestHead) -> Bool {
        guard !self.runtime.wellKnown.isEmpty,
            request.path.withSpan(of: request.message, { $0.starts(with: WellKnownDocuments.prefix) })
        else { return false }
        let path = request.path.text(in: request.message)
        return self.runtime.wellKnown.document(host: request.authority.host, path: path) != nil
    }

    /// Whether the path is that of the session API, or below it.
    private func isSessionAPI(_ request: RequestHead) -> Bool {
        guard let prefix = self.runtime.sessionAPI, request.authority.host == self.runtime.publicOrigin.host else {
            return false
        }
        return request.path.withSpan(of: request.message) { path in
            path.starts(with: prefix)
                && (path.count == prefix.utf8.count || path[prefix.utf8.count] == UInt8(ascii: "/"))
        }
    }

    /// Whether the request is for `/` of the gateway's host, which is a page of ours where no app has it.
    private func isFront(_ request: RequestHead) -> Bool {
        guard request.method == .get || request.method == .head else { return false }
        guard request.authority.host == self.runtime.publicOrigin.host else { return false }
        return request.path.withSpan(of: request.message) { $0.count == 1 }
    }

    /// The route of a request, by host and canonical path.
    func route(of request: RequestHead) -> RuntimeRoute? {
        let found = request.path.withSpan(of: request.message) { path in
            self.runtime.table.entry(host: request.authority.host, path: path)
        }
        return found.map { self.runtime.routes[$0] }
    }

    private func isOpen(_ request: RequestHead, on route: RuntimeRoute) -> Bool {
        guard !route.route.publicRules.isEmpty else { return false }
        return request.path.withSpan(of: request.message) { path in
            route.route.isOpen(method: request.method.rawValue, path: path)
        }
    }

    private enum Found {
        case none
        case unknown(Ticket)
        case unavailable(Failure)
        case needsUser(provider: String)
        case found(CachedSession)
    }

    /// The session of the request: of the one well-formed cookie of ours, live, and made for this host.
    ///
    /// A cached one that the route does not accept any more is looked up again first: the browser may have a newer one from
    /// another connection.
    ///
    /// Inlined, since the call costs more than the look-up in the cache.
    @inline(__always)
    private func session(of request: RequestHead, on route: RuntimeRoute? = nil, lookup: SessionLookup?) -> Found {
        guard let key = self.runtime.cookieKey(of: request) else { return .none }
        let cached = self.loop.sessions.session(key, host: request.authority.host, now: self.loop.tick)
        let isCurrent = route.flatMap { cached?.isCurrent(on: $0, runtime: self.runtime, now: self.loop.now) } ?? true
        if let cached, isCurrent { return .found(cached) }
        switch lookup {
        case .unavailable(let failure): return .unavailable(failure)
        case .needsUser(let provider): return .needsUser(provider: provider)
        case .none: return self.runtime.ticket(of: request).map(Found.unknown) ?? .none
        case .done: return cached.map(Found.found) ?? .none
        }
    }

    /// The session of a request that was admitted a moment ago; nil if the cache has let go of it.
    func liveSession(of request: RequestHead) -> Session? { self.cachedSession(of: request)?.session }

    /// The same with what was decided about it.
    func cachedSession(of request: RequestHead) -> CachedSession? {
        let route = self.route(of: request)
        if let route, route.takesTokens, let session = self.tokenSession(of: request, on: route) { return session }
        if let route, route.takesMachines {
            switch self.machine(of: request, on: route) {
            case .valid(let session, _, _): return session
            case .rejected, .unverified: return nil
            case .none: break
            }
        }
        return self.browserSession(of: request)
    }

    /// The session of the cookie, whatever token is beside it.
    func browserSession(of request: RequestHead) -> CachedSession? {
        guard case .found(let cached) = self.session(of: request, lookup: .done) else { return nil }
        return cached
    }

    /// A number for the session cookie of a request, the same in every process; 0 if absent.
    func sessionKey(of request: RequestHead) -> UInt64 {
        guard self.runtime.keepsSessions else {
            // A cookie that is a session changes every minute; its family does not.
            return self.browserSession(of: request).map { max(1, StableHash.seed(of: $0.session.family)) } ?? 0
        }
        return self.runtime.cookieKey(of: request)?.number ?? 0
    }

    /// Whether a request that writes comes from the app's own pages.
    ///
    /// `SameSite=Lax` keeps other sites from writing with our cookie in browsers that know it; this does so in all, and
    /// for sites that share a registrable domain with a hostile one.
    private func isSameOrigin(_ request: RequestHead, _ route: RuntimeRoute) -> Bool {
        guard !request.method.isSafe else { return true }
        switch request.message.value(.secFetchSite) {
        case "same-origin", "none": return true
        case nil where request.message.first(.origin) == nil: return true
        default:
            guard let origin = request.message.value(.origin), origin != route.originText(of: request) else {
                return request.message.first(.origin) != nil
            }
            return self.admitsPage(of: origin, for: request, on: route)
        }
    }
}

/// What looking up a session in the store has led to; the session itself is in the loop's cache.
enum SessionLookup {
    /// The store has responded.
    case done
    /// The store did not respond, which is not the same as "no session".
    case unavailable(Failure)
    /// There is a session, which only the user can have confirmed.
    case needsUser(provider: String)
}
