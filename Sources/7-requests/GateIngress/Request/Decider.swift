// SPDX-License-Identifier: Apache-2.0

internal import GateAssertion
internal import GateClients
internal import GateCore
internal import GateEndpoints
internal import GateHTTP
internal import GateHeaders
internal import GateIssuer
internal import GateOpenID
internal import GatePolicy
internal import GateRuntime
internal import GateSessions
internal import GateWire
internal import NIOCore

/// Decides about a request, top to bottom, in an order that no configuration can change.
///
///     scrub → canonical path → host, certificate, loop → endpoint? → route → spelling, method
///           → caller (access token, other token, session, network) → rules → identity → forward
///
/// A pure function of the request and of what is known: it waits for nothing and spends nothing, so that deciding again is safe.
/// What has to be looked up is a step, after which it decides again.
struct Decider<Known: KnownCallers> {
    let request: IngressRequest
    let known: Known
    /// Who sends the request, as far as that was asked.
    private(set) var caller = Caller.unasked
    /// The rule that decided, where that depends on the request; else it is that of the caller's session on the route.
    private(set) var rule: RulePlace?

    init(_ request: IngressRequest, _ known: Known) {
        self.request = request
        self.known = known
    }

    var runtime: RuntimeConfiguration { self.request.runtime }
    var head: RequestHead { self.request.head }

    /// What is to be done with the request next; nothing is forwarded to a protected route without an identity.
    mutating func step() -> Step {
        // Scrub: the parser has marked every name that only the gateway may set, and `ForwardedHead` copies none of
        // them. Canonical path: `head.path` is matched below and forwarded as the same bytes.
        guard self.request.tls?.admits(host: self.request.host) ?? true else { return self.misdirected() }
        if let failure = self.request.certificate?.failure { return self.healthStepOfNoApp() ?? .reject(failure) }
        guard !self.head.hasLoopField || !self.runtime.loopMarker.hasLooped(self.head) else {
            return .reject(
                Failure(.upstreamLoop, "the upstream of an app leads back to the gateway; see 'gatehouse check'")
            )
        }
        guard !self.head.isAsterisk else { return .respond(status: 204) }
        guard !self.isOwn, !self.isWellKnown, !self.isSessionAPI else {
            return self.runtime.hosts.serves(self.request.host) ? .endpoint : self.noSuchApp()
        }
        guard let route = self.request.route else { return self.isFront ? .endpoint : self.noSuchApp() }
        if let failure = self.request.objectionToQuestion(on: route) { return .reject(failure) }
        let isOpen = self.isOpen(on: route)
        if let failure = SpellingCheck(runtime: self.runtime, route: route).failure(of: self.head, isOpen: isOpen) {
            return .reject(failure)
        }
        guard !route.rejectsIrregularNames || !self.head.hasIrregularNames else {
            return .reject(Failure(.requestHeaderName, "a header name has '_', '.' or another such character"))
        }
        if route.forwardAuth != nil, case .client = self.request.asker {
            let detail =
                "'forward_auth' of \(route.name): another proxy forwards its requests, and none came through that"
            return .reject(Failure(.forwardAuthOnly, detail))
        }
        guard route.methods?.contains(self.head.method.rawValue) ?? true else { return .wrongMethod(route) }
        guard !route.isInMaintenance else {
            return .reject(Failure(.routeMaintenance, "\(route.name) is in maintenance"))
        }
        guard !isOpen, !self.request.isAdmittedPreflight(on: route) else { return .forward(route, identity: nil) }
        let step = self.stepByCredentials(on: route)
        guard case .signIn(_, let needed) = step, needed.opensToNetworks, route.opensToNetworks,
            self.request.admitsNetworks
        else { return step }
        return self.stepByNetwork(on: route) ?? step
    }

    /// The step by the first kind of credential that the route takes and the request has.
    private mutating func stepByCredentials(on route: RuntimeRoute) -> Step {
        if route.takesTokens, let step = self.step(by: AccessTokenReader.self, on: route) { return step }
        if route.takesMachines, let step = self.step(by: MachineTokenReader.self, on: route) { return step }
        if route.takesSessions, let step = self.step(by: CookieReader.self, on: route) { return step }
        self.caller = .anonymous
        return .signIn(route, .signIn)
    }

    /// The step by one kind of credential; nil if the request has none.
    @inline(__always)
    private mutating func step(by reader: (some CredentialReader).Type, on route: RuntimeRoute) -> Step? {
        switch reader.read(self.request, on: route, self.known) {
        case .absent: return nil
        case .rejected(let failure): return .reject(failure)
        case .need(let lookUp): return .need(lookUp)
        case .signIn(let needed): return .signIn(route, needed)
        case .caller(let caller):
            self.caller = caller
            return self.step(of: caller, on: route)
        }
    }

    /// The step of a request whose caller is known.
    private mutating func step(of caller: Caller, on route: RuntimeRoute) -> Step {
        switch caller {
        case .unasked, .anonymous, .network: return .signIn(route, .signIn)
        case .session(let session):
            guard route.sessionLimits == nil || route.isCurrent(session.session, now: self.request.now) else {
                return .signIn(route, .signIn)
            }
            return self.step(of: session, isAmbient: true, scopes: nil, on: route)
        case .token(let session, let token):
            if let failure = self.rejection(of: session, at: token) {
                // No rule of the app has decided.
                self.caller = .unasked
                return .reject(failure)
            }
            let step = self.step(of: session, isAmbient: false, scopes: token.token.scopes, on: route)
            return TokenCaller.step(step, of: session, under: self.runtime)
        case .machine(let session, let isAmbient, _):
            let step = self.step(of: session, isAmbient: isAmbient, scopes: [], on: route)
            return MachineCaller.step(step, of: session)
        }
    }

    /// The step by what a user may.
    ///
    /// - Parameters:
    ///   - session: The session of the user.
    ///   - isAmbient: False for a token that no browser sends by itself, so that another site cannot cause the request.
    ///   - scopes: What the client of a token was granted; nil for the user's own session.
    ///   - route: The route.
    /// - Returns: The step.
    private mutating func step(
        of session: CachedSession,
        isAmbient: Bool,
        scopes: [String]?,
        on route: RuntimeRoute
    ) -> Step {
        let authorization: RouteAuthorization
        do {
            authorization = try session.authorization(on: route, runtime: self.runtime, now: self.request.now)
        } catch {
            return .reject(error)
        }
        switch authorization {
        case .signInNeeded: return .signIn(route, .signIn)
        case .refused(let failure): return .reject(failure)
        case .admitted(let identity): return self.forward(to: route, as: identity, isAmbient: isAmbient)
        case .depends(let rules, let identity):
            return self.step(by: rules, of: session, identity, isAmbient: isAmbient, scopes: scopes, on: route)
        }
    }

    /// The step by the rules that are left for a user.
    private mutating func step(
        by rules: RequestRules,
        of session: CachedSession,
        _ identity: ByteBuffer,
        isAmbient: Bool,
        scopes: [String]?,
        on route: RuntimeRoute
    ) -> Step {
        let user = session.session.profile
        var facts = self.facts(under: rules, session.session, rules.scopes.isEmpty ? nil : scopes)
        let decision: Decision
        if rules.needsMessage {
            switch self.messageDecision(by: rules, on: route, user: user.user, facts) {
            case .unread: return .need(.messages)
            case .unreadable(let failure): return .reject(failure)
            case .decision(let known, let message): (decision, facts.message) = (known, message)
            }
        } else {
            decision = self.decision(by: rules, on: route, facts)
        }
        self.rule = decision.place
        switch decision {
        case .signInNeeded, .authenticationNeeded: return .signIn(route, .signIn)
        case .passkeyNeeded: return .signIn(route, .passkey)
        case .scopesNeeded(let place):
            let needed = self.neededScopes(by: rules, facts)
            let rule = place.map { " at \($0)" } ?? ""
            let detail = "\(user.user) may not enter \(route.name) with this token: the rule\(rule) asks for a scope"
            let names = needed.joined(separator: " ")
            return .reject(
                Failure(.policyScope, "\(detail), and with \(names) it would be admitted"),
                scopes: needed
            )
        case .denied(let denial):
            let failure = denial.failure(of: user, app: route.name)
            guard failure.reason == .policyCertificate, let why = self.request.certificate?.rejection else {
                return .reject(failure)
            }
            return .reject(Failure(.policyCertificate, "\(failure.detail); \(why)"))
        case .openToAll, .openToNetwork, .admitted:
            return self.forward(to: route, as: identity, isAmbient: isAmbient, by: rules)
        }
    }

    /// The step of a request that the rules admit; `rules` are those that decide about each request, nil if none do.
    private func forward(
        to route: RuntimeRoute,
        as identity: ByteBuffer,
        isAmbient: Bool,
        by rules: RequestRules? = nil
    ) -> Step {
        guard !isAmbient || self.isSameOrigin(on: route) else {
            return .reject(Failure(.requestCrossSite, "another site sent the browser here to write"))
        }
        guard route.identity.signsRequests else { return .forward(route, identity: identity) }
        // With a signature over the request; not without one.
        do {
            let signed = try self.runtime.identity.signed(
                identity,
                for: self.head,
                as: route.identity,
                authority: route.authority(of: self.head),
                at: self.request.now,
                accessUntil: rules?.nextTurn(after: self.request.now)
            )
            return .forward(route, identity: signed)
        } catch {
            return .reject(error)
        }
    }

    /// The step of a request without a session that the client's network may admit; nil if it does not.
    private mutating func stepByNetwork(on route: RuntimeRoute) -> Step? {
        guard let decision = self.networkDecision(on: route) else { return nil }
        do throws(Failure) {
            let identity = try self.known.networkLines(on: route, under: self.runtime, at: self.request.now)
            self.caller = .network(decision.place)
            return self.forward(to: route, as: identity, isAmbient: true)
        } catch {
            return .reject(error)
        }
    }
}

// MARK: The places of a path

extension Decider {
    /// The step of a health check of a load balancer; nil for every other request.
    private func healthStep() -> Step? {
        self.runtime.isHealthCheck(self.head) ? .respond(status: self.known.healthStatus) : nil
    }

    /// The step of a health check on a path that no app has: balancers check by IP, and without a certificate.
    private func healthStepOfNoApp() -> Step? { self.request.route == nil ? self.healthStep() : nil }

    /// The step of a request for a host that the certificate of its connection is not for.
    func misdirected() -> Step {
        let detail = "the certificate shown is not for \(self.request.host)"
        return self.healthStepOfNoApp() ?? .reject(Failure(.requestMisdirected, detail))
    }

    private func noSuchApp() -> Step {
        if let step = self.healthStep() { return step }
        var detail = "no app is configured for this path on \(self.request.host)"
        // A proxy that replaces `Host` is the usual cause.
        if let named = self.head.message.value(.xForwardedHost), named.lowercased() != self.head.authority.text {
            detail +=
                ", and X-Forwarded-Host '\(named.prefix(255))' is not read: let the proxy keep Host, as nginx does with "
                + "'proxy_set_header Host $http_host'"
        }
        return .reject(Failure(.routeNone, detail))
    }

    /// Whether the path is one of the gateway's own.
    private var isOwn: Bool {
        self.head.path.withSpan(of: self.head.message) { path in
            guard path.count > 1, path[1] == self.runtime.hosts.endpointInitial else { return false }
            return self.runtime.hosts.endpoints.owns(
                path,
                isGatewayHost: self.request.host == self.runtime.hosts.publicOrigin.host
            )
        }
    }

    /// Whether the path is that of a document of the gateway below `/.well-known/`.
    private var isWellKnown: Bool {
        guard !self.runtime.clients.wellKnown.isEmpty,
            self.head.path.withSpan(of: self.head.message, { $0.starts(with: WellKnownDocuments.prefix) })
        else { return false }
        let path = self.head.path.text(in: self.head.message)
        return self.runtime.clients.wellKnown.document(host: self.request.host, path: path) != nil
    }

    /// Whether the path is that of the session API, or below it.
    private var isSessionAPI: Bool {
        guard let prefix = self.runtime.clients.sessionAPI, self.request.host == self.runtime.hosts.publicOrigin.host
        else {
            return false
        }
        return self.head.path.withSpan(of: self.head.message) { path in
            path.starts(with: prefix)
                && (path.count == prefix.utf8.count || path[prefix.utf8.count] == UInt8(ascii: "/"))
        }
    }

    /// Whether the request is for `/` of the gateway's host, which is a page of ours where no app has it.
    private var isFront: Bool {
        guard self.head.method == .get || self.head.method == .head else { return false }
        guard self.request.host == self.runtime.hosts.publicOrigin.host else { return false }
        return self.head.path.withSpan(of: self.head.message) { $0.count == 1 }
    }

    private func isOpen(on route: RuntimeRoute) -> Bool {
        guard !route.route.publicRules.isEmpty else { return false }
        return self.head.path.withSpan(of: self.head.message) { path in
            route.route.isOpen(method: self.head.method.rawValue, path: path)
        }
    }

    /// Whether a request that writes comes from the app's own pages.
    ///
    /// `SameSite=Lax` keeps other sites from writing with our cookie in browsers that know it; this does so in all, and
    /// for sites that share a registrable domain with a hostile one.
    private func isSameOrigin(on route: RuntimeRoute) -> Bool {
        guard !self.head.method.isSafe else { return true }
        switch self.head.message.value(.secFetchSite) {
        case "same-origin", "none": return true
        case nil where self.head.message.first(.origin) == nil: return true
        default:
            guard let origin = self.head.message.value(.origin), origin != route.originText(of: self.head) else {
                return self.head.message.first(.origin) != nil
            }
            return self.request.admitsPage(of: origin, on: route)
        }
    }
}

// MARK: Callers that are known

extension Decider {
    /// The session of the caller that is known without a decision: for pages and incidents of requests that are rejected before.
    var knownSession: CachedSession? {
        if let route = self.request.route {
            if route.takesTokens, let session = AccessTokenReader.session(of: self.request, on: route, self.known) {
                return session
            }
            if route.takesMachines {
                switch MachineTokenReader.read(self.request, on: route, self.known) {
                case .caller(let caller): return caller.session
                case .rejected, .need, .signIn: return nil
                case .absent: break
                }
            }
        }
        return CookieReader.session(of: self.request, self.known)
    }
}
