// SPDX-License-Identifier: Apache-2.0

internal import GateAssertion
internal import GateConfiguration
internal import GateCore
internal import GateEndpoints
internal import GateHTTP
internal import GateHeaders
internal import GateNet
internal import GateOperations
internal import GatePolicy
internal import GateRuntime
internal import GateSessions
internal import GateTokenEndpoints
internal import GateTracing
internal import GateWire
internal import HTTPTypes
internal import NIOCore

/// Carries out the ``RequestPath``'s verdict on each request of one client connection or stream; confined to its event loop.
final class GatewayResponder: Responder {
    let loop: LoopState
    let peer: IPAddress?
    let peerText: String
    /// Whether the peer is a trusted proxy without an IP.
    let isTrustedPeer: Bool
    let tls: NegotiatedTLS?
    /// Where certificates of clients come from.
    let certificates: CertificateSource
    /// The certificates that clients present; nil if nothing asks for any.
    private(set) var certificatePolicy: ClientCertificatePolicy?

    /// Where the response goes; nil while no request is in progress.
    var connection: (any DownstreamExchange)?
    var request: RequestHead?
    var runtime: RuntimeConfiguration
    var downstream: ForwardedHead.Downstream
    /// What a proxy asks, whose original request is then ``request``; nil unless one does.
    var forwardAuth: ForwardAuthRequest?
    /// The call in which Envoy asks over gRPC.
    var check = Check.none
    /// How many bytes the messages in the body may have, while that is read for a rule about them; nil at any other time.
    var maxMessages: Int?
    /// Who sends these messages, and how many bytes of them count as held by the loop.
    var heldMessages: (family: [UInt8], bytes: Int)?
    /// What was read.
    var messages = MessageReading.unread
    var givenID: RequestID?
    /// Counts the requests, so that a late result is not taken for that of a later request.
    var turn = 0
    var task: Task<Void, Never>?
    var began = NIODeadline.now()

    /// What goes to the app and back; nil unless a request is being forwarded.
    var exchange: UpstreamExchange?
    /// Body bytes that arrived before they could be passed on.
    var held: [ByteBuffer] = []
    var heldBytes = 0
    var isRequestComplete = false
    var isForEndpoint = false
    /// Whether an endpoint responds, also to a request for a route that begins a sign-in.
    var isAtEndpoint = false
    /// Whether the session was looked up in the store.
    var hasLookedUp = false
    /// The spans of the request; nil while tracing is off.
    var trace: RequestTrace?
    /// For the access line; nil if those are off.
    var record: AccessRecord?

    init(
        loop: LoopState,
        peer: IPAddress?,
        peerText: String,
        isTrustedPeer: Bool = false,
        tls: NegotiatedTLS?,
        listener: BindAddress? = nil,
        accepting policy: ClientCertificatePolicy? = nil
    ) {
        self.loop = loop
        self.peer = peer
        self.peerText = peerText
        self.isTrustedPeer = isTrustedPeer
        self.tls = tls
        self.certificates = CertificateSource(listener: listener, accepted: policy, tls: tls)
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
        // One of before must not be taken for that of this request if a reload switches the log on meanwhile.
        if self.loop.access != nil { self.beginRecord() } else { self.record = nil }
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
            if settings.dialect != .envoyGRPC, ForwardAuthRequest.isAsked(by: request, at: self.runtime.forwardAuthPath)
            {
                return self.beginForwardAuth(request, settings)
            }
        }
        let path = self.path(of: request)
        self.carryOut(path.verdict(for: request, over: self.tls) { self.ruledClient(of: request) })
    }

    /// Rejects a request because too many are in flight or because of the overload level.
    func refuseForLoad() {
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
    func takeRuntime() {
        guard self.runtime !== self.loop.runtime || self.turn == 1 else { return }
        self.runtime = self.loop.runtime
        self.certificatePolicy = self.certificates.policy(in: self.runtime)
        let isTrusted =
            self.peer.map { peer in self.runtime.trustedProxies.contains { $0.contains(peer) } } ?? self.isTrustedPeer
        self.downstream = ForwardedHead.Downstream(
            peer: self.peer,
            peerText: self.peerText,
            isSecure: self.tls != nil,
            isTrusted: isTrusted,
            trusting: isTrusted ? self.runtime.trustedProxies : [],
            marker: self.runtime.loopMarker.line
        )
    }

    /// The path on which a request, or the one that a proxy asks about, is decided.
    func path(of request: RequestHead, isFirst: Bool = true) -> RequestPath {
        var path = RequestPath(runtime: self.runtime, loop: self.loop, messages: self.messages, isFirst: isFirst)
        guard let policy = self.certificatePolicy else { return path }
        path.certificate = self.certificates.certificate(
            of: request,
            under: policy,
            from: self.certificatePeer,
            at: self.loop.now
        )
        return path
    }

    /// Whose connection it is, for its certificate.
    var certificatePeer: CertificateSource.Peer {
        CertificateSource.Peer(isTrusted: self.downstream.isTrusted, asking: self.forwardAuth?.asking)
    }

    func carryOut(_ verdict: Verdict) {
        guard let request, let connection else { return }
        if self.loop.access != nil { self.note(verdict, on: request) }
        if self.runtime.forwardAuth != nil, self.respondedForProxy(verdict, about: request) { return }
        switch verdict {
        case .respond where request.isExtendedConnect, .endpoint where request.isExtendedConnect:
            self.refuseWebSocket()
        case .refused(let failure): self.refuse(failure, request)
        case .scopesNeeded(let scopes, let failure): self.refuse(failure, request, scopes: scopes)
        case .wrongMethod(let route): self.refuseMethod(of: request, on: route)
        case .respond(let status): self.respond(Response(status))
        case .signInNeeded(let route, let step):
            guard step != .signIn || !self.beginsSignIn(request, on: route) else { return }
            self.invite(request, to: route, step)
        case .needsSession(let sought, let route):
            self.holdBody()
            self.lookUp(sought, for: route)
        case .needsVerification(let credential, let issuer, _):
            self.holdBody()
            self.verify(credential, at: issuer)
        case .needsMessages(let route): self.readMessages(of: request, on: route)
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
    func refuseMethod(of request: RequestHead, on route: RuntimeRoute) {
        let failure = Failure(
            .routeMethod,
            "\(request.method.rawValue) is not one of the 'methods' of \(route.name)"
        )
        var response = self.runtime.rendering.response(to: failure, for: ClientKind(request))
        response.head.headerFields[.allow] = route.methods?.sorted().joined(separator: ", ")
        self.respond(response)
    }

    func holdBody() {
        guard let request, request.framing != .none || request.isExtendedConnect, !self.isRequestComplete else {
            return
        }
        self.connection?.pauseReading()
    }

    func receive(_ body: ByteBuffer) {
        self.record?.bytesIn += body.readableBytes
        if let exchange {
            exchange.send(body)
            return
        }
        guard self.connection != nil, self.forwardAuth == nil else { return }
        self.heldBytes += body.readableBytes
        if let maxMessages, self.heldBytes > maxMessages {
            // A rule about the time may admit the request by now, whatever is in it.
            self.held.append(body)
            return self.messagesAreTooLong(maxMessages)
        }
        if let maxMessages, !self.holdsMessages(body.readableBytes, upTo: maxMessages) { return }
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
        } else if self.maxMessages != nil {
            self.decideAboutMessages()
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
        if let status = self.loop.healthStatus(of: rejection) { return Response(status) }
        self.runtime.metrics.rejected(rejection.reason.code)
        let response = self.runtime.rendering.response(to: rejection, for: ClientKind(wantsPage: rejection.wantsPage))
        if self.connection == nil {
            self.givenID = nil
            self.isAtEndpoint = false
        }
        if let shown = response.rejection { self.remember(shown, status: response.head.status.code) }
        if let access = self.loop.access, self.connection == nil {
            self.beginRecord()
            self.began = .now()
            self.record?.decision = .rejected
            self.note(response)
            self.write(response.head.status.code, to: access, at: .now())
        }
        return response
    }

    /// Sends a response of the gateway and ends the request.
    func respond(_ response: Response) {
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
    func count(_ rejection: Response.Rejection, status: Int) {
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
    func remember(_ rejection: Response.Rejection, status: Int) {
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
    func add(to known: inout IncidentRequest, from request: RequestHead, rejectedIn phase: RejectionPhase) {
        guard !self.isAtEndpoint else { return }
        let path = RequestPath(runtime: self.runtime, loop: self.loop)
        let route = self.exchange?.route ?? path.route(of: request)
        (known.app, known.route) = (route?.name, route?.route.path)
        guard let session = path.cachedSession(of: request) else { return }
        (known.user, known.provider) = (session.session.profile.user, session.session.profile.provider)
        // Elsewhere, what was decided last is about another request.
        if phase == .policy || phase == .upstream { known.rule = session.rule }
    }

    func phase(of reason: Failure.Reason) -> RejectionPhase {
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
    func rejection(_ response: Response, to request: RequestHead) -> Response {
        // A gRPC call fails with status 200, which means to a proxy that the request may pass.
        let path = self.runtime.forwardAuthPath
        guard !ForwardAuthRequest.isAsked(by: request, at: path) else {
            guard let dialect = self.runtime.forwardAuth?.dialect else { return response }
            return ForwardAuthRequest.rendered(response, for: ForwardAuthRequest.use(request, dialect, at: path))
        }
        // Once its message is decoded, Envoy gets every decision as a message.
        guard self.check != .decoded else { return response }
        return self.isCheck(request) || self.isCall(request) ? GRPC.response(for: response) : response
    }

    /// Whether a request is a gRPC call of an app that speaks HTTP/2; the content type alone proves nothing.
    func isCall(_ request: RequestHead) -> Bool {
        GRPC.isCall(request)
            && RequestPath(runtime: self.runtime, loop: self.loop).route(of: request)?.speaksHTTP2 == true
    }

    var clientKind: ClientKind {
        var kind = self.request.map { ClientKind($0) } ?? ClientKind(wantsPage: false)
        kind.request = self.requestID.text
        return kind
    }

    /// The request is over, whatever became of it.
    func finish(status: Int) {
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
        self.maxMessages = nil
        self.releaseMessages()
        self.messages = .unread
        self.request = nil
        self.connection = nil
        self.isForEndpoint = false
        self.heldBytes = 0
        if !self.held.isEmpty { self.held.removeAll() }
        self.turn += 1
        self.loop.inFlight -= 1
    }

    /// Counts a response to a request of a route.
    func count(_ status: Int, of route: RuntimeRoute, at now: NIODeadline = .now()) {
        self.loop.telemetry.counters(of: route).responded(
            status,
            nanoseconds: (now - self.began).nanoseconds,
            at: Int64(clamping: now.uptimeNanoseconds),
            request: { (self.requestID.text, self.trace?.exportedID) }
        )
    }
}

// MARK: The span
extension GatewayResponder {
    /// Ends the spans of the request.
    func end(_ trace: RequestTrace, status: Int) {
        self.trace = nil
        guard let request else { return }
        self.exchange?.endTrace()
        guard trace.context.isSampled else { return }
        // The documents, the session API and paths below the prefix of endpoints are those of an app on another host.
        let path = request.path.text(in: request.message)
        let isGatewayHost = request.authority.host == self.runtime.publicOrigin.host
        let isOwn = self.runtime.endpoints.owns(path, isGatewayHost: isGatewayHost)
        let endpoint = isOwn ? EndpointPath.pattern(of: path, below: self.runtime.endpoints) : nil
        let verdicts = RequestPath(runtime: self.runtime, loop: self.loop)
        let route = endpoint == nil && !self.isForEndpoint ? verdicts.route(of: request) : nil
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
    func beginRecord() {
        guard let record else {
            self.record = AccessRecord()
            return
        }
        record.reset()
    }

    func note(_ verdict: Verdict, on request: RequestHead) {
        // Taken in any case, since they must not be found by a later request.
        let (session, networkRule) = (self.loop.found.take(), self.loop.networkRule.take())
        guard let record else { return }
        var route: RuntimeRoute?
        switch verdict {
        case .forwarded(let found, let identity):
            route = found
            record.decision = identity == nil ? .open : .allowed
        case .signInNeeded(let found, _):
            route = found
            record.decision = .signIn
        case .wrongMethod(let found):
            route = found
            record.decision = .rejected
        case .needsSession(_, let found), .needsVerification(_, _, let found), .needsMessages(let found): route = found
        case .endpoint, .respond: record.decision = .endpoint
        case .refused(let failure), .scopesNeeded(_, let failure):
            route = RequestPath(runtime: self.runtime, loop: self.loop).route(of: request)
            record.decision = failure.kind == .forbidden ? .denied : .rejected
        }
        if let rule = networkRule {
            record.rule = rule
            record.subject = AccessSubject(app: route?.name, route: route?.route.path, user: NetworkIdentity.user)
        } else if let session, record.subject?.user == nil {
            record.subject = session.subject(on: route)
            record.rule = session.rule
        } else if record.subject == nil, let route {
            record.subject = AccessSubject(app: route.name, route: route.route.path)
        }
    }

    func note(_ response: Response) {
        guard let record else { return }
        record.bytesOut = response.bodySize
        guard let rejection = response.rejection, let incident = rejection.incident else { return }
        record.code = rejection.reason.entry.code
        record.incident = incident
        if record.decision == .allowed { record.decision = .rejected }
    }

    func write(_ status: Int, to access: AccessLog, at now: NIODeadline) {
        // The log may have been switched on during the request.
        let record = self.record ?? AccessRecord()
        if let exchange {
            (record.forwarded, record.responded) = (exchange.forwarded, exchange.responded)
            record.bytesOut = max(record.bytesOut, exchange.bytesOut)
        }
        guard access.takes(record, status: status) else { return }
        access.write(
            record,
            of: self.request,
            id: self.requestID,
            trace: self.trace?.context.trace,
            client: self.clientText,
            isOfConnection: !self.downstream.isTrusted && self.forwardAuth == nil && self.request?.isHTTP2 == false,
            status: status,
            began: self.began,
            ended: now
        )
    }
}
