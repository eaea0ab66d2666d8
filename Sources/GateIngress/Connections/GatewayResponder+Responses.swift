// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateEndpoints
internal import GateHTTP
internal import GateHeaders
internal import GateOpenID
internal import GateOperations
internal import GatePages
internal import GatePolicy
internal import GateRuntime
internal import GateSessions
internal import GateTokenEndpoints
internal import GateTracing
internal import GateWire
internal import HTTPTypes
internal import NIOCore

// MARK: Responses without the app
extension GatewayResponder {
    /// Responds to a request that is not forwarded, because of the route's direct response or because its body is too long.
    ///
    /// - Returns: Whether it responded.
    func respondsDirectly(_ request: RequestHead, on route: RuntimeRoute, isOpen: Bool) -> Bool {
        if let direct = route.directResponse {
            let response = direct.response(to: request, isOpen: isOpen)
            self.respond(response, on: route)
            return true
        }
        guard case .length(let length) = request.framing, length > route.maxBody else { return false }
        self.respond(self.runtime.rendering.response(to: route.bodyTooLarge, for: self.clientKind), on: route)
        return true
    }

    /// Sends a response of the gateway that counts as one of the route.
    func respond(_ response: Response, on route: RuntimeRoute) {
        self.count(response.head.status.code, of: route)
        self.respond(response)
    }
}

extension GatewayResponder {
    /// Rejects a request; its access token should have all of the scopes.
    func refuse(_ failure: Failure, _ request: RequestHead, scopes: [String] = []) {
        let clientKind = self.clientKind
        var context = PageContext()
        if clientKind.wantsPage {
            context.isOurHost = self.runtime.serves(request.authority.host)
            if failure.isOfApp { self.complete(&context, for: request) }
        }
        switch failure.reason {
        case .policyCertificate, .clientCertificateMissing, .clientCertificateRejected:
            context.issuers = self.runtime.certificateIssuers
            // A client that has one by now presents it on a new connection only. That of a proxy serves other clients.
            if !self.downstream.isTrusted, self.forwardAuth == nil { self.connection?.replaceConnection() }
        case .requestMisdirected where self.certificatePolicy != nil:
            // The connection may be older than the demand for a certificate.
            if self.certificates.mayLackCertificate(for: request.authority.host) {
                self.connection?.replaceConnection()
            }
        default: break
        }
        if failure.kind == .forbidden {
            let path = RequestPath(runtime: self.runtime, loop: self.loop)
            context.userKey = path.liveSession(of: request)?.profile.user
        }
        var response = self.runtime.rendering.response(to: failure, for: clientKind, context: context)
        if failure.reason == .tokenRejected { self.challenge(&response, request, isRejected: true) }
        let route = RequestPath(runtime: self.runtime, loop: self.loop).route(of: request)
        if let route, !scopes.isEmpty {
            let challenge = self.runtime.challenge(on: route, scopes: scopes, to: request)
            response.head.headerFields[.wwwAuthenticate] = challenge
        }
        if failure.kind == .forbidden, request.method == .post {
            if route?.maxMCPBody != nil {
                response = response.asDenial(of: self.messages, asksForScopes: !scopes.isEmpty)
            }
        }
        self.respond(response)
    }

    /// Adds to a 401 which tokens the app accepts.
    func challenge(_ response: inout Response, _ request: RequestHead, isRejected: Bool) {
        let path = RequestPath(runtime: self.runtime, loop: self.loop)
        guard response.head.status.code == 401, let route = path.route(of: request),
            route.takesMachines || route.takesTokens
        else { return }
        // A browser would show its dialog for a password.
        let isBrowser = request.message.first(.secFetchMode) != nil || request.message.first(.xRequestedWith) != nil
        let further = self.runtime.challenges(
            on: route,
            to: request,
            isRejected: isRejected,
            asksForPassword: !isBrowser
        )
        let known = response.head.headerFields[values: .wwwAuthenticate]
        response.head.headerFields[values: .wwwAuthenticate] = further + known
    }

    /// Lets pages of an origin that may write to the app read why a call of theirs was rejected.
    func exposeRejection(_ response: inout Response, to request: RequestHead) {
        let path = RequestPath(runtime: self.runtime, loop: self.loop)
        guard response.head.status.code >= 400, let origin = request.message.value(.origin),
            let route = path.route(of: request), route.takesWrites, path.admitsPage(of: origin, for: request, on: route)
        else { return }
        response.head.headerFields[.accessControlAllowOrigin] = origin
        response.head.headerFields[.accessControlAllowCredentials] = "true"
        response.head.headerFields[.accessControlExposeHeaders] = "WWW-Authenticate, X-Request-Id, Retry-After"
        response.head.headerFields[.vary] = "Origin"
    }

    /// Adds who is signed in and what the request was for.
    func complete(_ context: inout PageContext, for request: RequestHead) {
        let path = RequestPath(runtime: self.runtime, loop: self.loop)
        if let session = path.liveSession(of: request) { context.user = self.runtime.user(of: session) }
        guard let route = path.route(of: request) else { return }
        (context.app, context.title) = (route.name, route.title)
        let back = self.runtime.returnPath(of: request, on: route)
        context.place = self.runtime.place(back, on: self.runtime.origin(of: request))
    }

    /// Redirects a browser without an accepted session to the sign-in; a script gets 401.
    func invite(_ request: RequestHead, to route: RuntimeRoute, _ step: SignInStep) {
        // To a proxy that asks, a response of 200 would admit the request.
        if route.endsServiceWorkers, self.forwardAuth == nil, request.isForServiceWorker {
            self.respond(Rendering.unregisteringWorker)
            return
        }
        var response = SignInRedirect(runtime: self.runtime).response(for: request, route: route, step: step)
        // A script gets JSON with an incident; a redirect shows none.
        response.rejection = response.rejection ?? Response.Rejection(.signInRequired)
        self.challenge(&response, request, isRejected: false)
        self.respond(response)
    }

    /// The client IP, behind trusted proxies that of the client before them.
    var clientText: String {
        let before = self.downstream.isTrusted ? self.request.flatMap { self.client(of: $0) } : nil
        return before?.text ?? self.peerText
    }

    /// The client IP for rules about networks; nil if it is not known, which matches no rule.
    func ruledClient(of request: RequestHead) -> IPAddress? {
        guard self.downstream.isTrusted else {
            // The peer is the client, but for a proxy that asks and is not trusted to name that.
            return self.forwardAuth == nil ? self.peer : nil
        }
        return ForwardedHead.namedClient(of: request, trusting: self.runtime.trustedProxies)
    }

    func client(of request: RequestHead) -> IPAddress? {
        ForwardedHead.client(of: request, downstream: self.downstream, trusting: self.runtime.trustedProxies)
    }
}

// MARK: Work that outlasts a turn of the event loop: the session store, the endpoints
extension GatewayResponder {
    /// How many requests of one loop may wait for the store.
    private static let maxLookUps = 2000
    /// How many may wait at endpoints, mostly for a provider; fewer, so that a provider that hangs does not affect users
    /// who are signed in.
    private static let maxEndpointRequests = 1000

    /// Runs something that takes time, then goes on with its result on this loop, unless the client has gone.
    func wait<Value: Sendable>(
        counting count: ReferenceWritableKeyPath<LoopState, Int>,
        upTo limit: Int,
        for work: @escaping @Sendable () async -> Value,
        then next: @escaping (GatewayResponder, Value) -> Void
    ) {
        guard self.loop[keyPath: count] < limit else {
            let failure = Failure(.gatewayTooManyWaiting, "\(limit) requests are waiting")
            self.respond(self.runtime.rendering.response(to: failure, for: self.clientKind))
            return
        }
        let turn = self.turn
        let loop = self.loop.loop
        self.loop[keyPath: count] += 1
        let trace = self.trace?.context
        let bound = NIOLoopBound((responder: self, count: count, next: next), eventLoop: loop)
        self.task = Task(executorPreference: self.loop.executor) {
            let value = await TraceContext.running(under: trace, work)
            loop.execute {
                let (responder, count, next) = bound.value
                responder.loop[keyPath: count] -= 1
                guard responder.turn == turn else { return }
                next(responder, value)
                responder.connection?.flush()
            }
        }
    }

    func lookUp(_ sought: SoughtSession, for route: RuntimeRoute) {
        guard let request else { return }
        let (ticket, host) = (sought.ticket, sought.host)
        // A form or a part of another page cannot be led over the provider and be repeated afterwards.
        let mayAskUser =
            (request.method == .get || request.method == .head)
            && ClientKind(request).wantsPage && EndpointRequest.isNavigation(request)
        let lookUp = SessionLookUp(runtime: self.runtime, route: route)
        self.hasLookedUp = true
        self.wait(counting: \.lookUps, upTo: GatewayResponder.maxLookUps) {
            await lookUp.result(for: ticket, host: host, mayAskUser: mayAskUser)
        } then: { responder, result in
            responder.resume(ticket, result, of: lookUp)
        }
    }

    /// The store has responded: the request path runs again with the result.
    func resume(
        _ ticket: Ticket,
        _ result: Result<SessionLookUp.Found, Failure>,
        of lookUp: SessionLookUp
    ) {
        guard let request else { return }
        // A token may have expired meanwhile.
        self.loop.advance(to: .now())
        let lookup: SessionLookup
        switch result {
        case .failure(let failure):
            lookup = .unavailable(failure)
        case .success(.needsUser(let session)):
            lookup = .needsUser(provider: session.provider)
        case .success(let found):
            if case .session(let session) = found {
                self.loop.remember(session, of: ticket, in: self.runtime.sessions, foundBy: lookUp)
            }
            lookup = .done
        }
        self.decideAgain(about: request, lookup: lookup)
    }

    /// Runs the request path again with what was looked up.
    func decideAgain(about request: RequestHead, lookup: SessionLookup?) {
        let path = self.path(of: request, isFirst: false)
        // The connection of a proxy that asks is not the one over which the original request came.
        let tls = self.forwardAuth == nil ? self.tls : nil
        self.carryOut(path.verdict(for: request, over: tls, lookup: lookup) { self.ruledClient(of: request) })
    }

    func verify(_ credential: MachineCredential, at issuer: TokenIssuer) {
        self.wait(counting: \.verifications, upTo: LoopState.maxVerifications) {
            await MachineVerifier.result(of: credential, at: issuer)
        } then: { responder, result in
            guard let request = responder.request else { return }
            responder.loop.advance(to: .now())
            responder.runtime.metrics.verified(issuer.id, result: result)
            responder.loop.remember(result, of: credential, at: issuer)
            responder.decideAgain(about: request, lookup: .done)
        }
    }

    /// Begins the sign-in of a navigation at once where the user has nothing to choose: being redirected to the start would
    /// cost the browser a round trip, and lead to the same response.
    ///
    /// - Returns: Whether it did.
    func beginsSignIn(_ request: RequestHead, on route: RuntimeRoute) -> Bool {
        guard request.method == .get, request.framing == .none, ClientKind(request).wantsPage,
            EndpointRequest.isNavigation(request),
            let provider = SignInRedirect(runtime: self.runtime).onlyProvider(of: request, on: route)
        else { return false }
        let path = self.runtime.returnPath(of: request, on: route)
        let start = self.endpointRequest(request).redirected(
            toStartOf: provider.id,
            returningTo: path,
            at: self.runtime
        )
        self.count(Response.Rejection(.signInRequired), status: 303)
        self.respond(from: start)
        return true
    }

    func respondFromEndpoint() {
        guard let request else { return }
        self.respond(from: self.endpointRequest(request))
    }

    func endpointRequest(_ request: RequestHead) -> EndpointRequest {
        self.noteForwarding(request)
        var own = EndpointRequest(
            request,
            body: self.held.flatMap { Array($0.readableBytesView) },
            downstream: self.downstream,
            runtime: self.runtime,
            now: self.loop.clock.now
        )
        own.clientKind.request = self.requestID.text
        return own
    }

    /// Reports a proxy of this network that is missing in `trusted_proxies`; only here, since each user signs in.
    private func noteForwarding(_ request: RequestHead) {
        guard !self.downstream.isTrusted, let peer, request.message.value(.xForwardedFor) != nil,
            CIDRRange.internalNetworks.contains(where: { $0.contains(peer) })
        else { return }
        self.runtime.log.forwardingIgnored(from: self.peerText)
    }

    func respond(from own: EndpointRequest) {
        self.isAtEndpoint = true
        let loop = self.loop.loop
        let bound = NIOLoopBound((state: self.loop, sessions: self.runtime.sessions), eventLoop: loop)
        // Most browsers come back at once and on the same connection: the new session need not be read from the store.
        let endpoints = Endpoints(runtime: self.runtime) { issued in
            loop.execute { bound.value.state.remember(issued.session, of: issued.ticket, in: bound.value.sessions) }
        }
        let limit = endpoints.isImmediate(own) ? Int.max : GatewayResponder.maxEndpointRequests
        self.wait(counting: \.ownRequests, upTo: limit) {
            await endpoints.response(to: own)
        } then: { responder, response in
            responder.respond(response)
        }
    }
}

// The body of a request to an MCP server, which is read before a decision that depends on it and forwarded as it came.
extension GatewayResponder {
    /// Waits for the whole body.
    func readMessages(of request: RequestHead, on route: RuntimeRoute) {
        guard let connection, let limit = route.maxMCPBody else { return }
        if case .length(let length) = request.framing, length > limit { return self.messagesAreTooLong(limit) }
        guard self.heldBytes <= limit else { return self.messagesAreTooLong(limit) }
        let path = RequestPath(runtime: self.runtime, loop: self.loop)
        self.heldMessages = (path.liveSession(of: request)?.familyKey ?? [], 0)
        guard self.holdsMessages(self.heldBytes, upTo: limit) else { return }
        self.maxMessages = limit
        guard !self.isRequestComplete else { return self.decideAboutMessages() }
        if request.expectsContinue { connection.sendContinue() }
        connection.resumeReading()
    }

    /// Counts bytes of the body as held; responds if there are too many.
    ///
    /// - Parameters:
    ///   - count: How many more.
    ///   - limit: The bound of one body.
    /// - Returns: Whether they may be held.
    func holdsMessages(_ count: Int, upTo limit: Int) -> Bool {
        guard let (family, bytes) = self.heldMessages else { return true }
        guard self.loop.messages.take(count, of: family, bodyLimit: limit) else {
            let failure = Failure(
                .gatewayTooManyWaiting,
                "too many bytes of messages to MCP servers wait for their rest"
            )
            self.respond(self.runtime.rendering.response(to: failure, for: self.clientKind))
            return false
        }
        self.heldMessages = (family, bytes + count)
        return true
    }

    /// No bytes of the body count as held any more: they are decided about, or dropped.
    func releaseMessages() {
        guard let (family, bytes) = self.heldMessages.take() else { return }
        self.loop.messages.release(bytes, of: family)
    }

    /// Decides about a body that is not read to its end.
    func messagesAreTooLong(_ limit: Int) {
        self.decide(
            .unreadable("the body has over \(limit) bytes ('mcp_max_body'), and a rule asks for the message in it")
        )
    }

    /// Decides about the messages of a body that is complete.
    func decideAboutMessages() {
        guard let request else { return }
        do throws(MCPFailure) {
            self.decide(.read(try MCPBody(self.held.flatMap { Array($0.readableBytesView) }, of: request)))
        } catch {
            self.decide(.unreadable("a rule asks for the message, and the body \(error.message)"))
        }
    }

    private func decide(_ reading: MessageReading) {
        guard let request else { return }
        self.maxMessages = nil
        self.releaseMessages()
        self.messages = reading
        // The session may have left the cache while the body arrived.
        self.loop.advance(to: .now())
        self.decideAgain(about: request, lookup: nil)
    }
}

extension Failure {
    /// Whether the page about it names the app that the request was for, and may lead there again.
    fileprivate var isOfApp: Bool { self.kind == .forbidden || self.reason == .routeMaintenance }
}
