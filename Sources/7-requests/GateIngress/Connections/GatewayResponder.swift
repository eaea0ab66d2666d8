// SPDX-License-Identifier: Apache-2.0

internal import GateAssertion
internal import GateConfiguration
internal import GateCore
internal import GateEndpoints
internal import GateHTTP
internal import GateHeaders
internal import GateNet
internal import GateOperations
internal import GatePages
internal import GatePolicy
internal import GateRuntime
internal import GateSessions
internal import GateTracing
internal import GateWire
internal import HTTPTypes
internal import NIOCore

/// Carries out what a ``Decider`` decides about each request of one client connection or stream; confined to its event loop.
final class GatewayResponder: Responder {
    let loop: LoopState
    let source: RequestSource

    /// Where the response goes; nil while no request is in progress.
    private(set) var connection: (any DownstreamExchange)?
    /// The request in progress: the client's, or that of which a proxy asks.
    private(set) var request: IngressRequest?
    /// What is done with it.
    private(set) var phase = RequestPhase.idle
    /// What has arrived of its body.
    private(set) var body = HeldBody()
    /// Counts the requests, so that a late result is not taken for that of a later request.
    private var turn = 0
    /// For the access lines of the connection; nil if those are off.
    private var record: AccessRecord?

    init(loop: LoopState, source: RequestSource) {
        self.loop = loop
        self.source = source
    }
}

// MARK: Requests
extension GatewayResponder {
    func begin(_ head: RequestHead, on connection: any DownstreamExchange) {
        self.connection = connection
        self.loop.advance(to: connection.arrived)
        self.loop.inFlight += 1
        self.source.adopt(self.loop.runtime)
        let request = IngressRequest(head, over: self.source, on: self.loop)
        self.request = request
        self.phase = .deciding
        self.body.isComplete = false
        if self.loop.access != nil { request.record = self.freshRecord() }
        if let tracer = self.loop.tracer {
            let isTrusted = request.downstream.isTrusted
            request.trace = RequestTrace(of: head, tracer, began: connection.arrived, isTrusted: isTrusted)
        }
        if head.hasIrregularNames { request.runtime.services.metrics.irregularNames() }
        guard self.loop.inFlight <= self.loop.maxInFlight else { return self.refuseForLoad(request) }
        if let settings = request.runtime.front.forwardAuth,
            ForwardAuthResponder(self, settings).takes(request)
        {
            return
        }
        self.decide(about: request)
    }

    /// Decides about a request, and carries it out.
    func decide(about request: IngressRequest) { self.carryOut(request.decide(self.loop), request) }

    /// Goes on with the request of which a proxy asks.
    func replaceRequest(_ request: IngressRequest) { self.request = request }

    /// Takes what has arrived of the body.
    func takeBody() -> [UInt8] {
        defer { self.body = HeldBody(isComplete: self.body.isComplete) }
        return self.body.bytes
    }

    /// Reads the message in which Envoy asks.
    func readCheck() { self.phase = .readingCheck }

    /// Rejects a request because too many are in flight or because of the overload level.
    private func refuseForLoad(_ request: IngressRequest) {
        let failure =
            self.loop.level.rejectsRequests
            ? Failure(.gatewayOverloaded, "memory or file descriptors are nearly used up")
            : Failure(.gatewayTooManyRequests, "\(request.runtime.limits.requests) requests are in flight")
        self.respond(with: failure, to: request)
    }

    private func carryOut(_ step: Step, _ request: IngressRequest) {
        guard let connection else { return }
        if let record = request.record { self.note(step, of: request, in: record) }
        if let settings = request.runtime.front.forwardAuth, let asked = request.asked,
            ForwardAuthResponder(self, settings).responds(to: asked, by: step, request)
        {
            return
        }
        switch step {
        case .respond where request.head.isExtendedConnect, .endpoint where request.head.isExtendedConnect:
            self.refuseWebSocket(request)
        case .reject(let failure, let scopes): self.refuse(failure, request, scopes: scopes)
        case .wrongMethod(let route): self.refuseMethod(of: request, on: route)
        case .respond(let status): self.respond(Response(status))
        case .signIn(let route, let needed):
            guard needed != .signIn || !self.beginsSignIn(request, on: route) else { return }
            self.invite(request, to: route, needed)
        case .need(let lookUp): self.lookUp(lookUp, for: request)
        case .endpoint:
            request.progress = .atEndpoint
            self.phase = .readingForEndpoint
            if request.head.expectsContinue, !self.body.isComplete { connection.sendContinue() }
            if self.body.isComplete { self.respondFromEndpoint() }
        case .forward(let route, let identity):
            // For an extended CONNECT every 2xx means that a tunnel is open, RFC 8441 §5.
            guard !request.head.isExtendedConnect || (route.webSocket != nil && route.directResponse == nil) else {
                return self.refuseWebSocket(request, at: route.name)
            }
            guard !self.respondsDirectly(request, on: route, isOpen: identity == nil) else { return }
            if request.head.expectsContinue, !self.body.isComplete { connection.sendContinue() }
            self.forward(request, to: route, identity: identity)
        }
    }

    /// Neither endpoints nor apps without 'websocket' accept WebSockets.
    private func refuseWebSocket(_ request: IngressRequest, at place: String = "the gateway itself") {
        self.respond(with: Failure(.requestNoWebSocket, "\(place) accepts no WebSockets"), to: request)
    }

    /// The app takes other methods, which the response lists.
    ///
    /// RFC 9110 §15.5.6.
    private func refuseMethod(of request: IngressRequest, on route: RuntimeRoute) {
        let failure = Failure(
            .routeMethod,
            "\(request.head.method.rawValue) is not one of the 'methods' of \(route.name)"
        )
        var response = request.runtime.rendering.response(to: failure, for: ClientKind(request.head))
        response.head.headerFields[.allow] = route.methods?.sorted().joined(separator: ", ")
        self.respond(response)
    }

    func receive(_ part: ByteBuffer) {
        self.request?.record?.bytesIn += part.readableBytes
        if case .forwarding(let exchange) = self.phase { return exchange.send(part) }
        guard self.connection != nil, let request, request.asked == nil else { return }
        self.body.append(part)
        if case .readingMessages(let intake) = self.phase { return self.hold(part.readableBytes, for: intake, request) }
        let limit = self.phase.maxHeld
        guard self.body.count <= limit else {
            return self.respond(with: Failure(.requestBodyTooLarge, "over \(limit) bytes"), to: request)
        }
    }

    func finishRequest() {
        self.body.isComplete = true
        switch self.phase {
        case .forwarding(let exchange): exchange.finishRequest()
        case .readingForEndpoint: self.respondFromEndpoint()
        case .readingCheck:
            guard let request, let settings = request.runtime.front.forwardAuth else { return }
            ForwardAuthResponder(self, settings).decideAboutCheck(request)
        case .readingMessages: self.decideAboutMessages()
        case .idle, .deciding, .waiting: break
        }
    }

    func cancel() {
        if case .forwarding(let exchange) = self.phase { exchange.cancel() }
        self.finish(status: 499)
    }

    func tunnelEnded() {
        // A client that ends its side before there is a tunnel wants none.
        guard case .forwarding(let exchange) = self.phase else {
            self.connection?.close()
            return
        }
        exchange.tunnelInputEnded()
    }

    func downstreamWritabilityChanged(isWritable: Bool) {
        if isWritable, case .forwarding(let exchange) = self.phase { exchange.downstreamDrained() }
    }

    func response(to rejection: WireRejection) -> Response {
        if let status = self.loop.healthStatus(of: rejection) { return Response(status) }
        let runtime = self.request?.runtime ?? self.loop.runtime
        runtime.services.metrics.rejected(rejection.reason.code)
        let response = runtime.rendering.response(to: rejection, for: ClientKind(wantsPage: rejection.wantsPage))
        guard let request else { return self.responseOutsideRequest(response, under: runtime) }
        if let shown = response.rejection { self.remember(shown, of: request, status: response.head.status.code) }
        return response
    }

    /// The response to bytes outside a request, with its incident and its access line.
    private func responseOutsideRequest(_ response: Response, under runtime: RuntimeConfiguration) -> Response {
        self.source.adopt(self.loop.runtime)
        let id = self.loop.requestIDs.next()
        let status = response.head.status.code
        if let incident = response.rejection?.incident {
            var known = IncidentRequest()
            (known.id, known.status, known.client) = (id.text, status, self.source.peerText)
            known.decision = .rejected
            runtime.services.log.incidents.complete(incident, with: known)
        }
        guard let access = self.loop.access else { return response }
        let record = self.freshRecord()
        record.decision = .rejected
        self.note(response, in: record)
        guard access.takes(record, status: status) else { return response }
        let now = NIODeadline.now()
        access.write(
            record,
            of: nil,
            id: id,
            trace: nil,
            client: self.source.peerText,
            status: status,
            began: now,
            ended: now
        )
        return response
    }

    func respond(with failure: Failure, to request: IngressRequest) {
        self.respond(request.runtime.rendering.response(to: failure, for: request.clientKind))
    }

    /// Sends a response of the gateway and ends the request.
    func respond(_ response: Response) {
        guard let connection, let request else { return }
        let status = response.head.status.code
        if let rejection = response.rejection {
            self.count(rejection, of: request, status: status)
            self.remember(rejection, of: request, status: status)
            request.trace?.note(rejection)
        }
        var response = response
        if let asked = request.asked {
            response = ForwardAuthRequest.rendered(response, for: asked.use)
        } else if status >= 300 {
            self.exposeRejection(&response, to: request)
            response = self.rejection(response, to: request)
        }
        if self.source.tls != nil, let hsts = request.runtime.hosts.hsts(for: request.host) {
            response.head.headerFields[.strictTransportSecurity] = hsts
        }
        response.head.headerFields[.requestID] = request.id.text
        if let record = request.record { self.note(response, in: record) }
        let isCheck = request.isCheck
        self.finish(status: response.head.status.code)
        guard isCheck else { return connection.respond(response) }
        CheckResponse.send(response, over: connection)
    }

    /// Counts a request to which the gateway responds with a failure, or with the redirect to a sign-in.
    func count(_ rejection: Response.Rejection, of request: IngressRequest, status: Int) {
        let counted = CountedRejection(rejection.reason, request.phase(of: rejection.reason), status: status)
        if let app = rejection.app, request.isAtEndpoint {
            return self.loop.telemetry.rejected(counted, about: app)
        }
        guard !request.isAtEndpoint, let route = request.route else {
            return self.loop.telemetry.rejected(counted)
        }
        self.loop.telemetry.counters(of: route).rejected(counted)
    }

    /// Adds what is known of the request to the incident that its response shows, for `gatehouse explain`.
    private func remember(_ rejection: Response.Rejection, of request: IngressRequest, status: Int) {
        guard let incident = rejection.incident else { return }
        let phase = request.phase(of: rejection.reason)
        var known = IncidentRequest(request, status: status)
        known.app = rejection.app
        known.decision = phase == .endpoint ? .endpoint : phase == .policy ? .denied : .rejected
        known.version = request.head.httpVersion
        if !request.isAtEndpoint {
            (known.app, known.route) = (request.route?.name, request.route?.route.path)
            if let session = request.session(self.loop) {
                (known.user, known.provider) = (session.session.profile.user, session.session.profile.provider)
                // Elsewhere, no rule has decided about this request.
                if phase == .policy || phase == .upstream { known.rule = request.rule }
            }
        }
        request.runtime.services.log.incidents.complete(incident, with: known)
    }

    /// A rejection in the form that the client, or the proxy that asks, takes for one.
    private func rejection(_ response: Response, to request: IngressRequest) -> Response {
        // A gRPC call fails with status 200, which means to a proxy that the request may pass.
        let path = request.runtime.hosts.forwardAuthPath
        guard !ForwardAuthRequest.isAsked(by: request.head, at: path) else {
            guard let dialect = request.runtime.front.forwardAuth?.dialect else { return response }
            return ForwardAuthRequest.rendered(response, for: ForwardAuthRequest.use(request.head, dialect, at: path))
        }
        // Once its message is decoded, Envoy gets every decision as a message.
        guard !request.isCheck else { return response }
        return request.carriesCheck || request.isCall ? GRPC.response(for: response) : response
    }

    /// The request is over, whatever became of it.
    func finish(status: Int) {
        guard self.connection != nil, let request = self.request.take() else { return }
        let now = NIODeadline.now()
        let phase = Swift.exchange(&self.phase, with: .idle)
        var forwarded: UpstreamExchange?
        switch phase {
        case .forwarding(let exchange):
            forwarded = exchange
            if !exchange.hasSwitched { request.count(status, of: exchange.route, by: self.loop.telemetry, at: now) }
        case .waiting(let task): task.cancel()
        case .readingMessages(let intake): intake.release(from: &self.loop.messages)
        case .idle, .deciding, .readingCheck, .readingForEndpoint: break
        }
        if let access = self.loop.access { self.write(status, of: request, forwarded, to: access, at: now) }
        if let trace = request.trace {
            forwarded?.endTrace()
            self.end(trace, of: request, status: status)
        }
        self.connection = nil
        if self.body.count > 0 { self.body = HeldBody() }
        self.turn += 1
        self.loop.inFlight -= 1
    }
}

// MARK: Phases
extension GatewayResponder {
    private func forward(_ request: IngressRequest, to route: RuntimeRoute, identity: ByteBuffer?) {
        guard let connection else { return }
        var opening: PendingTunnel?
        if route.webSocket != nil {
            switch request.webSocketUpgrade(on: route, isProtected: identity != nil, loop: self.loop) {
            case .none: break
            case .opening(let tunnel):
                // The bytes after a handshake are not a request.
                connection.closeAfterResponse()
                opening = tunnel
            case .refused(let response):
                connection.closeAfterResponse()
                return self.respond(response)
            }
        } else if WebSocketHandshake.isRequested(by: request.head) {
            request.runtime.services.log.webSocketIsOff(app: route.name, requestID: request.id.text)
        }
        let exchange = UpstreamExchange(
            of: request,
            to: route,
            identity: identity,
            opening: opening,
            over: connection,
            loop: self.loop,
            delegate: self
        )
        request.progress = .forwarded
        self.phase = .forwarding(exchange)
        for part in self.body.take() {
            exchange.send(part)
        }
        if self.body.isComplete { exchange.finishRequest() }
        connection.resumeReading()
        exchange.begin()
    }

    /// Runs something that takes time, then goes on with its result on this loop, unless the client has gone.
    func wait<Value: Sendable>(
        counting count: ReferenceWritableKeyPath<LoopState, Int>,
        upTo limit: Int,
        for request: IngressRequest,
        _ work: @escaping @Sendable () async -> Value,
        then next: @escaping (GatewayResponder, IngressRequest, Value) -> Void
    ) {
        guard self.loop[keyPath: count] < limit else {
            return self.respond(with: Failure(.gatewayTooManyWaiting, "\(limit) requests are waiting"), to: request)
        }
        let turn = self.turn
        let loop = self.loop.loop
        self.loop[keyPath: count] += 1
        let trace = request.trace?.context
        let bound = NIOLoopBound((responder: self, count: count, next: next), eventLoop: loop)
        let task = Task(executorPreference: self.loop.executor) {
            let value = await TraceContext.running(under: trace, work)
            loop.execute {
                let (responder, count, next) = bound.value
                responder.loop[keyPath: count] -= 1
                guard responder.turn == turn, let request = responder.request else { return }
                responder.phase = .deciding
                next(responder, request, value)
                responder.connection?.flush()
            }
        }
        self.phase = .waiting(task)
    }

    /// Begins to read the messages in the body of a request to an MCP server; responds if there are too many bytes.
    func readMessages(of request: IngressRequest, on route: RuntimeRoute) {
        guard let connection, let limit = route.maxMCPBody else { return }
        if case .length(let length) = request.head.framing, length > limit {
            return self.messagesAreTooLong(limit, request)
        }
        guard self.body.count <= limit else { return self.messagesAreTooLong(limit, request) }
        let family = request.session(self.loop)?.session.familyKey ?? []
        self.phase = .readingMessages(MessageIntake(limit: limit, family: family))
        guard self.holds(self.body.count, request) else { return }
        guard !self.body.isComplete else { return self.decideAboutMessages() }
        if request.head.expectsContinue { connection.sendContinue() }
        connection.resumeReading()
    }

    /// A part of the messages has arrived.
    private func hold(_ count: Int, for intake: MessageIntake, _ request: IngressRequest) {
        // A rule about the time may admit the request by now, whatever is in it.
        guard self.body.count <= intake.limit else { return self.messagesAreTooLong(intake.limit, request) }
        _ = self.holds(count, request)
    }

    /// Counts bytes of the messages as held; responds if there are too many.
    private func holds(_ count: Int, _ request: IngressRequest) -> Bool {
        guard case .readingMessages(var intake) = self.phase else { return true }
        guard intake.take(count, from: &self.loop.messages) else {
            let failure = Failure(
                .gatewayTooManyWaiting,
                "too many bytes of messages to MCP servers wait for their rest"
            )
            self.respond(with: failure, to: request)
            return false
        }
        self.phase = .readingMessages(intake)
        return true
    }

    /// Decides about a body that is not read to its end.
    private func messagesAreTooLong(_ limit: Int, _ request: IngressRequest) {
        self.decide(
            about: request,
            .unreadable("the body has over \(limit) bytes ('mcp_max_body'), and a rule asks for the message in it")
        )
    }

    /// Decides about the messages of a body that is complete.
    private func decideAboutMessages() {
        guard let request else { return }
        do throws(MCPFailure) {
            self.decide(about: request, .read(try MCPBody(self.body.bytes, of: request.head)))
        } catch {
            self.decide(about: request, .unreadable("a rule asks for the message, and the body \(error.message)"))
        }
    }

    private func decide(about request: IngressRequest, _ messages: MessageReading) {
        if case .readingMessages(let intake) = self.phase { intake.release(from: &self.loop.messages) }
        self.phase = .deciding
        request.note(messages)
        // The session may have left the cache while the body arrived.
        request.resume(on: self.loop, after: nil)
        self.decide(about: request)
    }
}

// MARK: The end of an exchange
extension GatewayResponder: UpstreamExchangeDelegate {
    func exchangeFinished(status: Int) { self.finish(status: status) }

    func exchangeFailed(_ failure: Failure) {
        guard let request else { return }
        let clientKind = request.clientKind
        var context = PageContext()
        if clientKind.wantsPage { self.complete(&context, for: request) }
        self.respond(request.runtime.rendering.response(to: failure, for: clientKind, context: context))
    }
}

extension IngressRequest {
    /// Where in its life a request was rejected.
    func phase(of reason: Failure.Reason) -> RejectionPhase {
        switch self.progress {
        case .atEndpoint, .inPlaceOfApp: return .endpoint
        case .forwarded: return .upstream
        case .begun, .lookedUp: break
        }
        switch reason.entry.kind {
        case .noSuchRoute: return .route
        case .signInRequired: return .session
        case .forbidden: return .policy
        case _ where self.progress == .lookedUp: return .session
        case .overloaded, .tooMany: return .load
        default: return .request
        }
    }
}

extension IncidentRequest {
    /// What is known of every request.
    init(_ request: IngressRequest, status: Int) {
        self.init()
        (self.id, self.status, self.client) = (request.id.text, status, request.clientText)
        (self.method, self.host) = (request.head.method.rawValue, request.host)
        self.path = request.head.isAsterisk ? "*" : request.head.path.text(in: request.head.message)
    }
}

// MARK: The span
extension GatewayResponder {
    /// Ends the spans of the request.
    private func end(_ trace: RequestTrace, of request: IngressRequest, status: Int) {
        guard trace.context.isSampled else { return }
        // The documents, the session API and paths below the prefix of endpoints are those of an app on another host.
        let runtime = request.runtime
        let path = request.head.path.text(in: request.head.message)
        let isOwn = runtime.hosts.endpoints.owns(path, isGatewayHost: request.host == runtime.hosts.publicOrigin.host)
        let endpoint = isOwn ? EndpointPath.pattern(of: path, below: runtime.hosts.endpoints) : nil
        let route = endpoint == nil && request.progress != .atEndpoint ? request.route : nil
        trace.end(
            request.head,
            status: status,
            place: endpoint ?? route?.name,
            app: route?.name,
            id: request.id,
            isSecure: self.source.tls != nil
        )
    }
}

// MARK: The access line
extension GatewayResponder {
    /// The record of the connection, for another request.
    private func freshRecord() -> AccessRecord {
        let record = self.record ?? AccessRecord()
        record.reset()
        self.record = record
        return record
    }

    private func note(_ step: Step, of request: IngressRequest, in record: AccessRecord) {
        var route = request.route
        switch step {
        case .forward(_, let identity): record.decision = identity == nil ? .open : .allowed
        case .signIn: record.decision = .signIn
        case .wrongMethod: record.decision = .rejected
        case .need: break
        case .endpoint, .respond:
            record.decision = .endpoint
            route = nil
        case .reject(let failure, _): record.decision = failure.kind == .forbidden ? .denied : .rejected
        }
        if let rule = request.rule { record.rule = rule }
        if case .network(_?) = request.caller {
            record.subject = AccessSubject(app: route?.name, route: route?.route.path, user: NetworkIdentity.user)
        } else if let session = request.caller.session, record.subject?.user == nil {
            record.subject = session.subject(on: route)
        } else if record.subject == nil, let route {
            record.subject = AccessSubject(app: route.name, route: route.route.path)
        }
    }

    private func note(_ response: Response, in record: AccessRecord) {
        record.bytesOut = response.bodySize
        guard let rejection = response.rejection, let incident = rejection.incident else { return }
        record.code = rejection.reason.entry.code
        record.incident = incident
        if record.decision == .allowed { record.decision = .rejected }
    }

    private func write(
        _ status: Int,
        of request: IngressRequest,
        _ exchange: UpstreamExchange?,
        to access: AccessLog,
        at now: NIODeadline
    ) {
        // The log may have been switched on during the request.
        let record = request.record ?? AccessRecord()
        if let exchange {
            (record.forwarded, record.responded) = (exchange.forwarded, exchange.responded)
            record.bytesOut = max(record.bytesOut, exchange.bytesOut)
        }
        guard access.takes(record, status: status) else { return }
        access.write(
            record,
            of: request.head,
            id: request.id,
            trace: request.trace?.context.trace,
            client: request.clientText,
            isOfConnection: !request.downstream.isTrusted && request.asked == nil && !request.head.isHTTP2,
            status: status,
            began: request.began,
            ended: now
        )
    }
}
