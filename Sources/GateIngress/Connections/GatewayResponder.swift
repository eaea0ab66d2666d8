// SPDX-License-Identifier: Apache-2.0

internal import GateAssertion
internal import GateConfiguration
internal import GateCore
internal import GateHTTP
internal import GateHeaders
internal import GateNet
internal import GateOpenID
internal import GateOperations
internal import GatePages
internal import GatePolicy
internal import GateRuntime
internal import GateSessions
internal import GateTracing
internal import GateWire
internal import HTTPTypes
internal import NIOCore

/// Carries out the ``RequestPath``'s verdict on each request of one client connection or stream; confined to its event loop.
final class GatewayResponder: Responder {
    private let loop: LoopState
    private let peer: IPAddress?
    private let peerText: String
    /// Whether the peer is a trusted proxy without an IP.
    private let isTrustedPeer: Bool
    private let tls: NegotiatedTLS?

    /// Where the response goes; nil while no request is in progress.
    private var connection: (any DownstreamExchange)?
    private var request: RequestHead?
    private var runtime: RuntimeConfiguration
    private var downstream: ForwardedHead.Downstream
    /// What a proxy asks, whose original request is then ``request``; nil unless one does.
    private var forwardAuth: ForwardAuthRequest?
    /// The call in which Envoy asks over gRPC.
    private var check = Check.none
    private var givenID: RequestID?
    /// Counts the requests, so that a late result is not taken for that of a later request.
    private var turn = 0
    private var task: Task<Void, Never>?
    private var began = NIODeadline.now()

    /// What goes to the app and back; nil unless a request is being forwarded.
    private var exchange: UpstreamExchange?
    /// Body bytes that arrived before they could be passed on.
    private var held: [ByteBuffer] = []
    private var heldBytes = 0
    private var isRequestComplete = false
    private var isForEndpoint = false
    /// Whether an endpoint responds, also to a request for a route that begins a sign-in.
    private var isAtEndpoint = false
    /// Whether the session was looked up in the store.
    private var hasLookedUp = false
    /// The spans of the request; nil while tracing is off.
    private var trace: RequestTrace?
    /// For the access line; stays empty if those are off.
    private var record = AccessRecord()

    init(loop: LoopState, peer: IPAddress?, peerText: String, isTrustedPeer: Bool = false, tls: NegotiatedTLS?) {
        self.loop = loop
        self.peer = peer
        self.peerText = peerText
        self.isTrustedPeer = isTrustedPeer
        self.tls = tls
        self.runtime = loop.runtime
        self.downstream = ForwardedHead.Downstream(
            peer: peer,
            peerText: peerText,
            isSecure: tls != nil,
            isTrusted: false,
            marker: loop.runtime.loopMarker.line
        )
    }
}

// MARK: Requests

extension GatewayResponder {
    func begin(_ request: RequestHead, on connection: any DownstreamExchange) {
        self.connection = connection
        self.request = request
        self.turn += 1
        self.isRequestComplete = false
        self.isAtEndpoint = false
        self.hasLookedUp = false
        self.givenID = nil
        if self.loop.access != nil { self.record = AccessRecord() }
        self.began = connection.arrived
        self.loop.advance(to: connection.arrived)
        self.loop.inFlight += 1
        self.takeRuntime()
        if let tracer = self.loop.tracer {
            let isTrusted = self.downstream.isTrusted
            self.trace = RequestTrace(of: request, tracer, began: connection.arrived, isTrusted: isTrusted)
        }
        if request.hasIrregularNames { self.runtime.metrics.irregularNames() }
        guard self.loop.inFlight <= self.loop.maxInFlight else { return self.refuseForLoad() }
        if let settings = self.runtime.forwardAuth {
            if self.isCheck(request) { return self.beginCheck(settings) }
            if settings.dialect != .envoyGRPC, ForwardAuthRequest.isAsked(by: request) {
                return self.beginForwardAuth(request, settings)
            }
        }
        let path = RequestPath(runtime: self.runtime, loop: self.loop)
        self.carryOut(path.verdict(for: request, over: self.tls) { self.ruledClient(of: request) })
    }

    /// Rejects a request because too many are in flight or because of the overload level.
    private func refuseForLoad() {
        let failure =
            self.loop.level.rejectsRequests
            ? Failure(.gatewayOverloaded, "memory or file descriptors are nearly used up")
            : Failure(
                .gatewayTooManyRequests,
                "\(self.runtime.limits.requests) requests are in flight"
            )
        self.respond(self.runtime.rendering.response(to: failure, for: self.clientKind))
    }

    /// The configuration in force at the start of a request holds until its end.
    private func takeRuntime() {
        guard self.runtime !== self.loop.runtime || self.turn == 1 else { return }
        self.runtime = self.loop.runtime
        let isTrusted =
            self.peer.map { peer in self.runtime.trustedProxies.contains { $0.contains(peer) } } ?? self.isTrustedPeer
        self.downstream = ForwardedHead.Downstream(
            peer: self.peer,
            peerText: self.peerText,
            isSecure: self.tls != nil,
            isTrusted: isTrusted,
            marker: self.runtime.loopMarker.line
        )
    }

    private func carryOut(_ verdict: Verdict) {
        guard let request, let connection else { return }
        if self.loop.access != nil { self.note(verdict, on: request) }
        if self.runtime.forwardAuth != nil, self.respondedForProxy(verdict, about: request) { return }
        switch verdict {
        case .respond where request.isExtendedConnect, .endpoint where request.isExtendedConnect:
            self.refuseWebSocket()
        case .refused(let failure): self.refuse(failure, request)
        case .wrongMethod(let route): self.refuseMethod(of: request, on: route)
        case .respond(let status): self.respond(Response(status))
        case .signInNeeded(let route):
            guard !self.beginsSignIn(request, on: route) else { return }
            self.invite(request, to: route)
        case .recheckNeeded(let route, let provider): self.invite(request, to: route, silentlyWith: provider)
        case .needsSession(let ticket, let route):
            self.holdBody()
            self.lookUp(ticket, for: route)
        case .needsVerification(let credential, let issuer, _):
            self.holdBody()
            self.verify(credential, at: issuer)
        case .endpoint:
            self.isForEndpoint = true
            self.isAtEndpoint = true
            if request.expectsContinue, !self.isRequestComplete { connection.sendContinue() }
            if self.isRequestComplete { self.respondFromEndpoint() }
        case .forwarded(let route, let identity):
            // For an extended CONNECT every 2xx means that a tunnel is open, RFC 8441 §5.
            guard !request.isExtendedConnect || (route.webSocket != nil && route.directResponse == nil) else {
                return self.refuseWebSocket(at: route.name)
            }
            guard !self.respondsDirectly(request, on: route, isOpen: identity == nil) else { return }
            if request.expectsContinue, !self.isRequestComplete { connection.sendContinue() }
            self.forward(to: route, identity: identity)
        }
    }

    /// The app takes other methods, which the response lists.
    ///
    /// RFC 9110 §15.5.6.
    private func refuseMethod(of request: RequestHead, on route: RuntimeRoute) {
        let failure = Failure(
            .routeMethod,
            "\(request.method.rawValue) is not one of the 'methods' of \(route.name)"
        )
        var response = self.runtime.rendering.response(to: failure, for: ClientKind(request))
        response.head.headerFields[.allow] = route.methods?.sorted().joined(separator: ", ")
        self.respond(response)
    }

    private func holdBody() {
        guard let request, request.framing != .none || request.isExtendedConnect, !self.isRequestComplete else {
            return
        }
        self.connection?.pauseReading()
    }

    func receive(_ body: ByteBuffer) {
        self.record.bytesIn += body.readableBytes
        if let exchange {
            exchange.send(body)
            return
        }
        guard self.connection != nil, self.forwardAuth == nil else { return }
        self.heldBytes += body.readableBytes
        let limit =
            self.isForEndpoint ? EndpointRequest.maxBody : self.check == .receiving ? CheckRequest.maxBytes : Int.max
        guard self.heldBytes <= limit else {
            let failure = Failure(.requestBodyTooLarge, "over \(limit) bytes")
            self.respond(self.runtime.rendering.response(to: failure, for: self.clientKind))
            return
        }
        self.held.append(body)
    }

    func finishRequest() {
        self.isRequestComplete = true
        if let exchange {
            exchange.finishRequest()
        } else if self.isForEndpoint {
            self.respondFromEndpoint()
        } else if self.check == .receiving {
            self.decideAboutCheck()
        }
    }

    func cancel() {
        self.exchange?.cancel()
        self.finish(status: 499)
    }

    func tunnelEnded() {
        // A client that ends its side before there is a tunnel wants none.
        guard let exchange else {
            self.connection?.close()
            return
        }
        exchange.tunnelInputEnded()
    }

    func downstreamWritabilityChanged(isWritable: Bool) {
        guard isWritable else { return }
        self.exchange?.downstreamDrained()
    }

    func response(to rejection: WireRejection) -> Response {
        self.runtime.metrics.rejected(rejection.reason.code)
        let response = self.runtime.rendering.response(to: rejection, for: ClientKind(wantsPage: rejection.wantsPage))
        if self.connection == nil {
            self.givenID = nil
            self.isAtEndpoint = false
        }
        if let shown = response.rejection { self.remember(shown, status: response.head.status.code) }
        if let access = self.loop.access, self.connection == nil {
            self.record = AccessRecord()
            self.began = .now()
            self.record.decision = .rejected
            self.note(response)
            self.write(response.head.status.code, to: access, at: .now())
        }
        return response
    }

    /// Sends a response of the gateway and ends the request.
    private func respond(_ response: Response) {
        guard let connection else { return }
        if let rejection = response.rejection {
            self.count(rejection, status: response.head.status.code)
            self.remember(rejection, status: response.head.status.code)
            self.trace?.note(rejection)
        }
        var response = response
        if let forwardAuth {
            response = ForwardAuthRequest.rendered(response, for: forwardAuth.use)
        } else if response.head.status.code >= 300, let request {
            self.exposeRejection(&response, to: request)
            response = self.rejection(response, to: request)
        }
        if self.tls != nil, let request, let hsts = self.runtime.hsts(for: request.authority.host) {
            response.head.headerFields[.strictTransportSecurity] = hsts
        }
        response.head.headerFields[.requestID] = self.requestID.text
        if self.loop.access != nil { self.note(response) }
        let isDecoded = self.check == .decoded
        self.finish(status: response.head.status.code)
        guard isDecoded else { return connection.respond(response) }
        CheckResponse.send(response, over: connection)
    }

    /// Counts a request to which the gateway responds with a failure, or with the redirect to a sign-in.
    private func count(_ rejection: Response.Rejection, status: Int) {
        let counted = CountedRejection(rejection.reason, self.phase(of: rejection.reason), status: status)
        if let app = rejection.app, self.isAtEndpoint {
            return self.loop.telemetry.rejected(counted, about: app)
        }
        let route =
            self.exchange?.route
            ?? (self.isAtEndpoint
                ? nil : self.request.flatMap { RequestPath(runtime: self.runtime, loop: self.loop).route(of: $0) })
        guard let route else { return self.loop.telemetry.rejected(counted) }
        self.loop.telemetry.counters(of: route).rejected(counted)
    }

    /// Adds what is known of the request to the incident that its response shows, for `gatehouse explain`.
    private func remember(_ rejection: Response.Rejection, status: Int) {
        guard let incident = rejection.incident else { return }
        var known = IncidentRequest()
        (known.id, known.status, known.client) = (self.requestID.text, status, self.clientText)
        known.app = rejection.app
        let phase = self.phase(of: rejection.reason)
        known.decision = phase == .endpoint ? .endpoint : phase == .policy ? .denied : .rejected
        if let request {
            (known.method, known.host) = (request.method.rawValue, request.authority.host)
            known.path = request.isAsterisk ? "*" : request.path.text(in: request.message)
            known.version = request.httpVersion
            self.add(to: &known, from: request, rejectedIn: phase)
        }
        self.runtime.log.incidents.complete(incident, with: known)
    }

    /// Adds the app of a request, and the session with which it came.
    private func add(to known: inout IncidentRequest, from request: RequestHead, rejectedIn phase: RejectionPhase) {
        guard !self.isAtEndpoint else { return }
        let path = RequestPath(runtime: self.runtime, loop: self.loop)
        let route = self.exchange?.route ?? path.route(of: request)
        (known.app, known.route) = (route?.name, route?.route.path)
        guard let session = path.cachedSession(of: request) else { return }
        (known.user, known.provider) = (session.session.profile.user, session.session.profile.provider)
        // Elsewhere, what was decided last is about another request.
        if phase == .policy || phase == .upstream { known.rule = session.rule }
    }

    private func phase(of reason: Failure.Reason) -> RejectionPhase {
        guard !self.isAtEndpoint else { return .endpoint }
        guard self.exchange == nil else { return .upstream }
        switch reason.entry.kind {
        case .noSuchRoute: return .route
        case .signInRequired: return .session
        case .forbidden: return .policy
        case _ where self.hasLookedUp: return .session
        case .overloaded, .tooMany: return .load
        default: return .request
        }
    }

    /// A rejection in the form that the client, or the proxy that asks, takes for one.
    private func rejection(_ response: Response, to request: RequestHead) -> Response {
        // A gRPC call fails with status 200, which means to a proxy that the request may pass.
        guard !ForwardAuthRequest.isAsked(by: request) else {
            guard let dialect = self.runtime.forwardAuth?.dialect else { return response }
            return ForwardAuthRequest.rendered(response, for: ForwardAuthRequest.use(request, dialect))
        }
        // Once its message is decoded, Envoy gets every decision as a message.
        guard self.check != .decoded else { return response }
        return self.isCheck(request) || self.isCall(request) ? GRPC.response(for: response) : response
    }

    /// Whether a request is a gRPC call of an app that speaks HTTP/2; the content type alone proves nothing.
    private func isCall(_ request: RequestHead) -> Bool {
        GRPC.isCall(request)
            && RequestPath(runtime: self.runtime, loop: self.loop).route(of: request)?.speaksHTTP2 == true
    }

    private var clientKind: ClientKind {
        var kind = self.request.map { ClientKind($0) } ?? ClientKind(wantsPage: false)
        kind.request = self.requestID.text
        return kind
    }

    /// The request is over, whatever became of it.
    private func finish(status: Int) {
        guard self.connection != nil else { return }
        let now = NIODeadline.now()
        if let exchange, !exchange.hasSwitched { self.count(status, of: exchange.route, at: now) }
        if let access = self.loop.access { self.write(status, to: access, at: now) }
        if let trace { self.end(trace, status: status) }
        self.task?.cancel()
        self.task = nil
        self.exchange = nil
        self.forwardAuth = nil
        self.check = .none
        self.request = nil
        self.connection = nil
        self.isForEndpoint = false
        self.heldBytes = 0
        if !self.held.isEmpty { self.held.removeAll() }
        self.turn += 1
        self.loop.inFlight -= 1
    }

    /// Counts a response to a request of a route.
    private func count(_ status: Int, of route: RuntimeRoute, at now: NIODeadline = .now()) {
        self.loop.telemetry.counters(of: route).responded(
            status,
            nanoseconds: (now - self.began).nanoseconds,
            at: Int64(clamping: now.uptimeNanoseconds),
            request: { self.requestID.text }
        )
    }
}

// MARK: Forwarding

extension GatewayResponder {
    private func forward(to route: RuntimeRoute, identity: ByteBuffer?) {
        guard let request, let connection else { return }
        var opening: PendingTunnel?
        if route.webSocket != nil {
            switch self.webSocketWish(of: request, on: route, isProtected: identity != nil) {
            case .none: break
            case .opening(let wish): opening = wish
            case .refused(let response): return self.respond(response)
            }
        } else if WebSocketHandshake.isRequested(by: request) {
            self.runtime.log.webSocketIsOff(app: route.name, requestID: self.requestID.text)
        }
        self.downstream.sendsForwarded = route.sendsForwarded
        if self.loop.access != nil { self.record.forwarded = .now() }
        let path = RequestPath(runtime: self.runtime, loop: self.loop)
        let exchange = UpstreamExchange(
            delegate: self,
            loop: self.loop,
            connection: connection,
            request: path.withoutCredential(request, on: route),
            route: route,
            identity: identity,
            opening: opening,
            renewal: identity == nil ? nil : SessionRenewal(of: request, runtime: self.runtime, loop: self.loop),
            trace: self.trace
        )
        self.exchange = exchange
        for body in self.held {
            exchange.send(body)
        }
        self.held.removeAll()
        if self.isRequestComplete { exchange.finishRequest() }
        connection.resumeReading()
        exchange.begin()
    }
}

// MARK: The span

extension GatewayResponder {
    /// Ends the spans of the request.
    private func end(_ trace: RequestTrace, status: Int) {
        self.trace = nil
        guard let request else { return }
        self.exchange?.endTrace()
        guard trace.context.isSampled else { return }
        let endpoint = EndpointPath.pattern(of: request.path.text(in: request.message))
        let route = endpoint == nil ? RequestPath(runtime: self.runtime, loop: self.loop).route(of: request) : nil
        trace.end(
            request,
            status: status,
            place: endpoint ?? route?.name,
            app: route?.name,
            id: self.requestID,
            isSecure: self.tls != nil
        )
    }
}

// MARK: The access line

extension GatewayResponder {
    private func note(_ verdict: Verdict, on request: RequestHead) {
        var route: RuntimeRoute?
        switch verdict {
        case .forwarded(let found, let identity):
            route = found
            self.record.decision = identity == nil ? .open : .allowed
        case .signInNeeded(let found), .recheckNeeded(let found, _):
            route = found
            self.record.decision = .signIn
        case .wrongMethod(let found):
            route = found
            self.record.decision = .rejected
        case .needsSession(_, let found), .needsVerification(_, _, let found): route = found
        case .endpoint, .respond: self.record.decision = .endpoint
        case .refused(let failure):
            route = RequestPath(runtime: self.runtime, loop: self.loop).route(of: request)
            self.record.decision = failure.kind == .forbidden ? .denied : .rejected
        }
        self.record.app = route?.name
        self.record.route = route?.route.path
        if let rule = self.loop.networkRule.take() {
            (self.record.user, self.record.rule) = (NetworkIdentity.user, rule)
        }
        guard let session = self.loop.found.take() else { return }
        guard self.record.user == nil else { return }
        self.record.user = session.session.profile.user
        self.record.provider = session.session.profile.provider
        self.record.rule = session.rule
    }

    private func note(_ response: Response) {
        self.record.bytesOut = response.body.count
        guard let rejection = response.rejection, let incident = rejection.incident else { return }
        self.record.code = rejection.reason.entry.code
        self.record.incident = incident
        if self.record.decision == .allowed { self.record.decision = .rejected }
    }

    private func write(_ status: Int, to access: AccessLog, at now: NIODeadline) {
        guard access.takes(self.record, status: status) else { return }
        if let exchange {
            self.record.responded = exchange.responded
            self.record.bytesOut = max(self.record.bytesOut, exchange.bytesOut)
        }
        access.write(
            self.record,
            of: self.request,
            id: self.requestID,
            trace: self.trace?.context.trace,
            client: self.clientText,
            status: status,
            began: self.began,
            ended: now
        )
    }
}

// MARK: Responses without the app

extension GatewayResponder {
    /// Responds to a request that is not forwarded, because of the route's direct response or because its body is too long.
    ///
    /// - Returns: Whether it responded.
    private func respondsDirectly(_ request: RequestHead, on route: RuntimeRoute, isOpen: Bool) -> Bool {
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
    private func respond(_ response: Response, on route: RuntimeRoute) {
        self.count(response.head.status.code, of: route)
        self.respond(response)
    }
}

extension GatewayResponder {
    /// Rejects a request.
    private func refuse(_ failure: Failure, _ request: RequestHead) {
        let clientKind = self.clientKind
        var context = PageContext()
        if clientKind.wantsPage {
            context.isOurHost = self.runtime.serves(request.authority.host)
            if failure.kind == .forbidden { self.complete(&context, for: request) }
        }
        var response = self.runtime.rendering.response(to: failure, for: clientKind, context: context)
        if failure.reason == .tokenRejected { self.challenge(&response, request, isRejected: true) }
        self.respond(response)
    }

    /// Adds to a 401 which tokens the app accepts.
    private func challenge(_ response: inout Response, _ request: RequestHead, isRejected: Bool) {
        let path = RequestPath(runtime: self.runtime, loop: self.loop)
        guard response.head.status.code == 401, let route = path.route(of: request), route.takesMachines else { return }
        // A browser would show its dialog for a password.
        let isBrowser = request.message.first(.secFetchMode) != nil || request.message.first(.xRequestedWith) != nil
        let further = self.runtime.challenges(on: route, isRejected: isRejected, asksForPassword: !isBrowser)
        let known = response.head.headerFields[values: .wwwAuthenticate]
        response.head.headerFields[values: .wwwAuthenticate] = further + known
    }

    /// Lets pages of an origin that may write to the app read why a call of theirs was rejected.
    private func exposeRejection(_ response: inout Response, to request: RequestHead) {
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
    private func complete(_ context: inout PageContext, for request: RequestHead) {
        let path = RequestPath(runtime: self.runtime, loop: self.loop)
        if let session = path.liveSession(of: request) { context.user = self.runtime.user(of: session) }
        guard let route = path.route(of: request) else { return }
        context.app = route.name
        let back = self.runtime.returnPath(of: request, on: route, client: self.client(of: request))
        context.place = PageContext.Place(origin: self.runtime.origin(of: request), path: back)
    }

    /// Redirects a browser without an accepted session to the sign-in; a script gets 401.
    private func invite(_ request: RequestHead, to route: RuntimeRoute, silentlyWith provider: String? = nil) {
        var response = SignInRedirect(runtime: self.runtime).response(
            for: request,
            route: route,
            silentlyWith: provider,
            client: self.client(of: request)
        )
        // A script gets JSON with an incident; a redirect shows none.
        response.rejection = response.rejection ?? Response.Rejection(.signInRequired)
        self.challenge(&response, request, isRejected: false)
        self.respond(response)
    }

    /// The client IP, behind trusted proxies that of the client before them.
    private var clientText: String {
        let before = self.downstream.isTrusted ? self.request.flatMap { self.client(of: $0) } : nil
        return before?.text ?? self.peerText
    }

    /// The client IP for rules about networks; nil if it is not known, which matches no rule.
    private func ruledClient(of request: RequestHead) -> IPAddress? {
        guard self.downstream.isTrusted else {
            // The peer is the client, but for a proxy that asks and is not trusted to name that.
            return self.forwardAuth == nil ? self.peer : nil
        }
        return ForwardedHead.namedClient(of: request, trusting: self.runtime.trustedProxies)
    }

    private func client(of request: RequestHead) -> IPAddress? {
        ForwardedHead.client(of: request, downstream: self.downstream, trusting: self.runtime.trustedProxies)
    }
}

// MARK: Forward-auth

extension GatewayResponder {
    private func isListed(_ settings: ForwardAuthSettings) -> Bool {
        self.peer.map { peer in settings.from.contains { $0.contains(peer) } } ?? self.isTrustedPeer
    }

    private func refusePeer() {
        let help = "list it in 'from' of 'gateway.forward_auth' if it is your proxy"
        self.refuseQuestion(Failure(.forwardAuthPeer, "\(self.peerText) asks for a decision; \(help)"))
    }

    private func isCheck(_ request: RequestHead) -> Bool {
        self.runtime.forwardAuth?.dialect == .envoyGRPC && CheckRequest.isCarried(by: request)
    }

    /// Waits for the message in which Envoy asks.
    private func beginCheck(_ settings: ForwardAuthSettings) {
        guard self.isListed(settings) else { return self.refusePeer() }
        self.check = .receiving
        if self.isRequestComplete { self.decideAboutCheck() }
    }

    /// Decides about the request that a whole message describes.
    ///
    /// A message that cannot be decoded gets an error of gRPC; whatever is wrong with the client's request is a decision.
    private func decideAboutCheck() {
        guard let settings = self.runtime.forwardAuth else { return }
        let body = self.held.flatMap { Array($0.readableBytesView) }
        self.held.removeAll()
        do throws(Failure) {
            let message = try CheckRequest(body: body)
            self.check = .decoded
            let names = self.runtime.fieldNames
            self.beginForwardAuth(try message.head(below: ForwardAuthRequest.path, names: names), settings)
        } catch {
            self.refuseQuestion(error)
        }
    }

    /// Puts the request that a proxy asks about in the place of the proxy's own, and decides about it.
    private func beginForwardAuth(_ request: RequestHead, _ settings: ForwardAuthSettings) {
        guard self.isListed(settings) else { return self.refusePeer() }
        let asked: ForwardAuthRequest
        do throws(Failure) {
            asked = try ForwardAuthRequest(of: request, in: settings.dialect, names: self.runtime.fieldNames)
        } catch {
            let host = ForwardAuthRequest.host(of: request, in: settings.dialect, names: self.runtime.fieldNames)
            if let route = host.flatMap(self.runtime.shadowedRoute(on:)) {
                return self.pass(request, inShadowOf: route, despite: error)
            }
            return self.refuseQuestion(error, use: ForwardAuthRequest.use(request, settings.dialect))
        }
        self.request = asked.original
        self.forwardAuth = asked
        let path = RequestPath(runtime: self.runtime, loop: self.loop)
        let verdict = path.verdict(for: asked.original, over: nil) { self.ruledClient(of: asked.original) }
        guard let route = path.route(of: asked.original) else { return self.carryOut(verdict) }
        if let name = asked.foreignField {
            let help = "remove it in the proxy, from the request to the gateway and from that to the app"
            self.carryOut(.refused(Failure(.forwardAuthHeader, "the client sent '\(name)'; \(help)")))
        } else if route.forwardAuth == nil {
            self.carryOut(.refused(Failure(.forwardAuthApp, "\(route.name) has no 'forward_auth'")))
        } else {
            self.carryOut(verdict)
        }
    }

    /// Rejects a request for a decision in which no original request was found.
    private func refuseQuestion(_ failure: Failure, use: ForwardAuthRequest.Use = .response) {
        self.record.decision = .rejected
        self.isAtEndpoint = true
        let response = self.runtime.rendering.response(to: failure, for: self.clientKind)
        self.respond(ForwardAuthRequest.rendered(response, for: use))
    }

    /// Responds to a proxy that asks, and rejects other requests for apps about which only proxies may ask.
    ///
    /// - Returns: Whether it responded; otherwise the verdict is carried out as on any other request.
    private func respondedForProxy(_ verdict: Verdict, about request: RequestHead) -> Bool {
        guard let asked = self.forwardAuth else {
            guard let route = verdict.route, route.forwardAuth != nil else { return false }
            let detail =
                "'forward_auth' of \(route.name): another proxy forwards its requests, and none came through that"
            self.refuse(Failure(.forwardAuthOnly, detail), request)
            return true
        }
        switch verdict {
        case .needsSession, .needsVerification: return false
        case .refused, .endpoint, .respond, .wrongMethod, .signInNeeded, .recheckNeeded, .forwarded: break
        }
        let failure = asked.failure(of: verdict)
        let route = RequestPath(runtime: self.runtime, loop: self.loop).route(of: request)
        if let route = route ?? self.runtime.shadowedRoute(on: request.authority.host), route.isShadowed {
            self.pass(request, inShadowOf: route, despite: failure)
            return true
        }
        switch verdict {
        case .forwarded(let route, let identity):
            if let failure { self.refuse(failure, request) } else { self.admit(request, to: route, identity, asked) }
        case .endpoint, .respond:
            if let failure { self.refuse(failure, request) }
        case .signInNeeded(let route), .recheckNeeded(let route, _):
            guard asked.use == .status else { return false }
            self.respond(SignInRedirect(runtime: self.runtime).status(for: request, route: route))
        case .refused, .wrongMethod, .needsSession, .needsVerification:
            return false
        }
        return true
    }

    /// Lets a request pass, with the identity that the proxy copies into it.
    private func admit(
        _ request: RequestHead,
        to route: RuntimeRoute,
        _ identity: ByteBuffer?,
        _ asked: ForwardAuthRequest
    ) {
        guard asked.use != .rejection else {
            let detail = "the proxy rejected a request that may pass: see its own rules for \(route.name), and its log"
            return self.refuse(Failure(.forwardAuthAdmitted, detail), request)
        }
        var response = Response(200, fields: route.identityResponse.fields(about: request, identity: identity))
        if identity != nil, let renewal = SessionRenewal(of: request, runtime: self.runtime, loop: self.loop) {
            let cookies = renewal.cookies(for: request) ?? []
            // nginx copies one field; half of a session would be none.
            if asked.use != .status || cookies.count == 1 { response.addCookies(cookies) }
        }
        self.respond(response, on: route)
    }

    /// Lets a request pass whatever was decided, without an identity, and notes the decision if it was another.
    private func pass(_ request: RequestHead, inShadowOf route: RuntimeRoute, despite failure: Failure?) {
        if let failure {
            let decision: AccessDecision =
                switch failure.kind {
                case .signInRequired: .signIn
                case .forbidden: .denied
                default: .rejected
                }
            let incident = self.runtime.random.identifier(9)
            var known = IncidentRequest()
            (known.id, known.status, known.client) = (self.requestID.text, 200, self.clientText)
            (known.app, known.route, known.decision) = (route.name, route.route.path, decision)
            (known.method, known.host) = (request.method.rawValue, request.authority.host)
            known.path = request.path.text(in: request.message)
            let path = RequestPath(runtime: self.runtime, loop: self.loop)
            if decision == .denied, let session = path.cachedSession(of: request) {
                (known.user, known.provider) = (session.session.profile.user, session.session.profile.provider)
                known.rule = session.rule
            }
            self.runtime.log.shadowed(failure, decision, incident: incident, of: known)
            self.runtime.metrics.shadowed(app: route.name, decision: decision, reason: failure.code)
        }
        self.respond(Response(200), on: route)
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
    private func wait<Value: Sendable>(
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

    private func lookUp(_ ticket: Ticket, for route: RuntimeRoute) {
        guard let request else { return }
        let host = request.authority.host
        // A form or a part of another page cannot be led over the provider and be repeated afterwards.
        let mayAskUser =
            (request.method == .get || request.method == .head)
            && ClientKind(request).wantsPage && EndpointRequest.isNavigation(request)
        let lookUp = SessionLookUp(runtime: self.runtime, route: route)
        self.hasLookedUp = true
        self.wait(counting: \.lookUps, upTo: GatewayResponder.maxLookUps) {
            await lookUp.result(for: ticket, host: host, mayAskUser: mayAskUser)
        } then: { responder, result in
            responder.resume(ticket, result, under: lookUp.policy)
        }
    }

    /// The store has responded: the request path runs again with the result.
    private func resume(
        _ ticket: Ticket,
        _ result: Result<SessionLookUp.Found, Failure>,
        under recheck: RecheckPolicy
    ) {
        guard let request else { return }
        let lookup: SessionLookup
        switch result {
        case .failure(let failure):
            lookup = .unavailable(failure)
        case .success(.needsUser(let session)):
            lookup = .needsUser(provider: session.provider)
        case .success(let found):
            if case .session(let session) = found {
                self.loop.remember(session, of: ticket, in: self.runtime.sessions, under: recheck)
            }
            lookup = .done
        }
        self.decideAgain(about: request, lookup: lookup)
    }

    /// Runs the request path again with what was looked up.
    private func decideAgain(about request: RequestHead, lookup: SessionLookup) {
        let path = RequestPath(runtime: self.runtime, loop: self.loop)
        // The connection of a proxy that asks is not the one over which the original request came.
        let tls = self.forwardAuth == nil ? self.tls : nil
        self.carryOut(path.verdict(for: request, over: tls, lookup: lookup) { self.ruledClient(of: request) })
    }

    private func verify(_ credential: MachineCredential, at issuer: TokenIssuer) {
        self.wait(counting: \.verifications, upTo: LoopState.maxVerifications) {
            await MachineVerifier.result(of: credential, at: issuer)
        } then: { responder, result in
            guard let request = responder.request else { return }
            responder.runtime.metrics.verified(issuer.id, result: result)
            responder.loop.remember(result, of: credential, at: issuer)
            responder.decideAgain(about: request, lookup: .done)
        }
    }

    /// Begins the sign-in of a navigation at once where the user has nothing to choose: being redirected to the start would
    /// cost the browser a round trip, and lead to the same response.
    ///
    /// - Returns: Whether it did.
    private func beginsSignIn(_ request: RequestHead, on route: RuntimeRoute) -> Bool {
        guard request.method == .get, request.framing == .none, ClientKind(request).wantsPage,
            EndpointRequest.isNavigation(request),
            let provider = SignInRedirect(runtime: self.runtime).onlyProvider(of: request, on: route)
        else { return false }
        let path = self.runtime.returnPath(of: request, on: route, client: self.client(of: request))
        let start = self.endpointRequest(request).redirected(toStartOf: provider.id, returningTo: path)
        self.count(Response.Rejection(.signInRequired), status: 303)
        self.respond(from: start)
        return true
    }

    private func respondFromEndpoint() {
        guard let request else { return }
        self.respond(from: self.endpointRequest(request))
    }

    private func endpointRequest(_ request: RequestHead) -> EndpointRequest {
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

    private func respond(from own: EndpointRequest) {
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

// MARK: WebSockets

extension GatewayResponder {
    /// How many tunnels one session may have on an event loop: each takes a connection to the app.
    private static let maxTunnelsPerSession = 64

    /// What a request that may enter asks for.
    private func webSocketWish(of request: RequestHead, on route: RuntimeRoute, isProtected: Bool) -> WebSocketUpgrade {
        guard let rule = route.webSocket, WebSocketHandshake.isRequested(by: request) else { return .none }
        // The bytes after a handshake are not a request.
        self.connection?.closeAfterResponse()
        let offer: WebSocketHandshake
        do throws(WebSocketHandshake.Rejection) {
            offer = try WebSocketHandshake(of: request)
        } catch {
            return .refused(self.rejection(error))
        }
        guard rule.admits(request) else {
            let origin = request.message.value(.origin) ?? "no origin"
            return .refused(self.rejection(.requestCrossSiteWebSocket, "opened by \(origin)"))
        }
        let session = isProtected ? RequestPath(runtime: self.runtime, loop: self.loop).liveSession(of: request) : nil
        if let session, self.loop.tunnels.count(of: session.familyKey) >= GatewayResponder.maxTunnelsPerSession {
            let detail = "the session has \(GatewayResponder.maxTunnelsPerSession) open"
            return .refused(self.rejection(.requestTooManyWebSockets, detail))
        }
        let authorization = TunnelAuthorization(
            request: request,
            route: route,
            tls: self.tls,
            client: self.client(of: request),
            session: session,
            loop: self.loop
        )
        return .opening(PendingTunnel(offer, authorization))
    }

    private func rejection(_ rejection: WebSocketHandshake.Rejection) -> Response {
        switch rejection {
        case .malformed(let why):
            return self.rejection(.requestWebSocket, why)
        case .version:
            var response = self.rejection(.requestWebSocketVersion, "the version is not 13")
            response.head.headerFields[.secWebSocketVersion] = "13"
            // RFC 9110 §15.5.22.
            response.head.headerFields[.upgrade] = "websocket"
            response.head.headerFields[.connection] = "upgrade"
            return response
        }
    }

    /// Neither endpoints nor apps without 'websocket' accept WebSockets.
    private func refuseWebSocket(at place: String = "the gateway itself") {
        self.respond(self.rejection(.requestNoWebSocket, "\(place) accepts no WebSockets"))
    }

    private func rejection(_ reason: Failure.Reason, _ detail: String) -> Response {
        self.runtime.rendering.response(to: Failure(reason, detail), for: self.clientKind)
    }
}

// MARK: What an exchange asks for

extension GatewayResponder: UpstreamExchangeDelegate {
    /// The id of the request: a trusted proxy's, or a new one, made when it is first needed.
    var requestID: RequestID {
        if let givenID { return givenID }
        let loop = self.loop
        let id =
            self.request.map {
                ForwardedHead.requestID(of: $0, downstream: self.downstream, fresh: loop.freshRequestID())
            }
            ?? loop.freshRequestID()
        self.givenID = id
        return id
    }

    /// The session that a request brings, as a number; 0 if it brings none.
    ///
    /// Asked for only where an app's targets are chosen by session.
    func sessionKey(for exchange: UpstreamExchange) -> UInt64 {
        RequestPath(runtime: self.runtime, loop: self.loop).sessionKey(of: exchange.request)
    }

    /// The identity lines for a retry, after the request was authorized again; nil if it is denied now.
    func refreshedIdentity(for exchange: UpstreamExchange) -> ByteBuffer? {
        let path = RequestPath(runtime: self.runtime, loop: self.loop)
        defer { self.loop.forgetForAccessLine() }
        guard let request = self.request,
            case .forwarded(let again, .some(let identity)) = path.verdict(
                for: request,
                over: self.tls,
                lookup: .done,
                isRetry: true,
                client: { self.client(of: request) }
            ), again === exchange.route
        else { return nil }
        return identity
    }

    /// The head for the app; a second try gets a new one.
    func upstreamHead(
        for exchange: UpstreamExchange,
        identity: ByteBuffer?,
        endsConnection: Bool
    ) -> ByteBuffer {
        let (request, route) = (self.trace?.forwarded(exchange.request) ?? exchange.request, exchange.route)
        let capacity = request.message.bytes.readableBytes + (identity?.readableBytes ?? 0) + 256
        return ForwardedHead.request(
            request,
            authority: route.authority(of: request),
            downstream: &self.downstream,
            identity: identity,
            changes: route.requestChanges,
            requestID: self.requestID,
            traceParent: self.trace?.traceParent,
            endsConnection: endsConnection,
            into: self.loop.memory.acquire(capacity: capacity)
        )
    }

    func exchangeOpenedTunnel(_ exchange: UpstreamExchange) {
        self.count(101, of: exchange.route)
    }

    func exchangeFinished(_ exchange: UpstreamExchange, status: Int) {
        self.finish(status: status)
    }

    func exchangeFailed(_ exchange: UpstreamExchange, _ failure: Failure) {
        self.respond(self.runtime.rendering.response(to: failure, for: self.clientKind))
    }

    func exchangeTruncated(_ exchange: UpstreamExchange, by failure: Failure) {
        // Only for the log: the client has the head of another response.
        _ = self.runtime.rendering.response(to: failure, for: self.clientKind)
    }

    func upstreamFailed(_ exchange: UpstreamExchange, _ failure: Failure) {
        self.runtime.log.upstreamFailed(failure, app: exchange.route.name, requestID: self.requestID.text)
    }
}

/// How far a call is in which Envoy asks over gRPC.
private enum Check {
    case none
    case receiving
    case decoded
}

/// Whether a request asks for a WebSocket.
private enum WebSocketUpgrade {
    /// It does not, or the app accepts none, and it is forwarded as any other.
    case none
    case opening(PendingTunnel)
    case refused(Response)
}
