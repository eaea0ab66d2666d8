// SPDX-License-Identifier: Apache-2.0

internal import GateConfiguration
internal import GateCore
internal import GateHTTP
internal import GateNet
internal import GateProxy
internal import GateSessions
internal import GateWire
internal import HTTPTypes
internal import NIOCore

/// Carries out what the ``RequestPath`` says of each request of one client connection or stream; confined to its event loop.
final class GatewayResponder: Responder {
    let loop: LoopState
    private let peer: IPAddress?
    private let peerText: String
    let tls: NegotiatedTLS?

    /// Where the answer goes, as long as a request is under way.
    var connection: (any DownstreamExchange)?
    var request: RequestHead?
    var site: RuntimeConfiguration
    var way: ForwardedHead.Way
    private var givenID: RequestID?
    /// Counts the requests, so that the answer to an earlier question is not taken for one to a later.
    private(set) var turn = 0
    var task: Task<Void, Never>?
    private(set) var began = NIODeadline.now()

    /// What goes to the app and back; nil unless a request is being forwarded.
    var exchange: UpstreamExchange?
    /// Body bytes that have come before anybody could take them.
    private(set) var held: [ByteBuffer] = []
    private var heldBytes = 0
    private var isRequestComplete = false
    private var isOwnEndpoint = false

    init(loop: LoopState, peer: IPAddress?, peerText: String, tls: NegotiatedTLS?) {
        self.loop = loop
        self.peer = peer
        self.peerText = peerText
        self.tls = tls
        self.site = loop.site
        self.way = ForwardedHead.Way(
            peer: peer,
            peerText: peerText,
            isSecure: tls != nil,
            isTrusted: false,
            marker: loop.site.loopMarker.line
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
        self.givenID = nil
        self.began = connection.arrived
        self.loop.advance(to: connection.arrived)
        self.loop.inFlight += 1
        self.takeSite()
        if request.hasIrregularNames { self.site.metrics.irregularNames() }
        guard self.loop.inFlight <= self.loop.mostInFlight else { return self.refuseForLoad() }
        self.carryOut(RequestPath(site: self.site, loop: self.loop).verdict(for: request, over: self.tls))
    }

    /// More requests are in flight than may be, or so much memory is used that there must be none.
    private func refuseForLoad() {
        let failure =
            self.loop.stage.refusesRequests
            ? Failure(.gatewayOverloaded, "memory or file descriptors are nearly used up")
            : Failure(.gatewayTooManyRequests, "\(self.site.limits.requests) requests are in flight")
        self.answer(self.site.rendering.answer(to: failure, for: self.visitor))
    }

    /// The configuration in force at the start of a request holds until its end.
    private func takeSite() {
        guard self.site !== self.loop.site || self.turn == 1 else { return }
        self.site = self.loop.site
        let isTrusted = self.peer.map { peer in self.site.trustedProxies.contains { $0.contains(peer) } } ?? false
        self.way = ForwardedHead.Way(
            peer: self.peer,
            peerText: self.peerText,
            isSecure: self.tls != nil,
            isTrusted: isTrusted,
            marker: self.site.loopMarker.line
        )
    }

    func carryOut(_ verdict: Verdict) {
        guard let request, let connection else { return }
        switch verdict {
        case .answered where request.isExtendedConnect, .ownEndpoint where request.isExtendedConnect:
            self.refuseWebSocket()
        case .refused(let failure): self.refuse(failure, request)
        case .wrongMethod(let route): self.refuseMethod(of: request, on: route)
        case .answered(let status): self.answer(Response(status))
        case .signInNeeded(let route): self.invite(request, to: route)
        case .needsSession(let ticket):
            self.holdBody()
            self.lookUp(ticket)
        case .ownEndpoint:
            self.isOwnEndpoint = true
            if request.expectsContinue, !self.isRequestComplete { connection.sendContinue() }
            if self.isRequestComplete { self.answerOwnEndpoint() }
        case .forwarded(let route, let identity):
            // To an extended CONNECT every 2xx would say that a tunnel is open, RFC 8441 §5.
            guard !request.isExtendedConnect || (route.webSocket != nil && route.directAnswer == nil) else {
                return self.refuseWebSocket(at: route.name)
            }
            guard !self.answersDirectly(request, on: route, isOpen: identity == nil) else { return }
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
            "\(request.method.rawValue) is none of the 'methods' of \(route.name)"
        )
        var answer = self.site.rendering.answer(to: failure, for: ClientKind(request, self))
        answer.head.headerFields[.allow] = route.methods?.sorted().joined(separator: ", ")
        self.answer(answer)
    }

    private func holdBody() {
        guard let request, request.framing != .none || request.isExtendedConnect, !self.isRequestComplete else {
            return
        }
        self.connection?.pauseReading()
    }

    func receive(_ body: ByteBuffer) {
        if let exchange {
            exchange.send(body)
            return
        }
        guard self.connection != nil else { return }
        self.heldBytes += body.readableBytes
        guard !self.isOwnEndpoint || self.heldBytes <= EndpointRequest.bodyLimit else {
            let failure = Failure(.requestBodyTooLarge, "over \(EndpointRequest.bodyLimit) bytes")
            self.answer(self.site.rendering.answer(to: failure, for: self.visitor))
            return
        }
        self.held.append(body)
    }

    func finishRequest() {
        self.isRequestComplete = true
        if let exchange {
            exchange.finishRequest()
        } else if self.isOwnEndpoint {
            self.answerOwnEndpoint()
        }
    }

    func cancel() {
        self.exchange?.cancel()
        self.finish(status: 499)
    }

    func tunnelEnded() {
        // Whoever ends before there is a tunnel wants none.
        guard let exchange else {
            self.connection?.cut()
            return
        }
        exchange.tunnelInputEnded()
    }

    func downstreamWritabilityChanged(isWritable: Bool) {
        guard isWritable else { return }
        self.exchange?.downstreamDrained()
    }

    func answer(to refusal: WireRejection) -> Response {
        self.site.metrics.refused(refusal.reason.code)
        return self.site.rendering.answer(to: refusal, for: ClientKind(wantsPage: refusal.wantsPage))
    }

    /// Sends an answer of our own and ends the request.
    func answer(_ answer: Response) {
        guard let connection else { return }
        var answer = answer
        if answer.head.status.code >= 300, let request, self.isCall(request) { answer = GRPC.answer(for: answer) }
        if self.tls != nil, let request, let hsts = self.site.hsts(for: request.authority.host) {
            answer.head.headerFields[.strictTransportSecurity] = hsts
        }
        answer.head.headerFields[.requestID] = self.requestID.text
        self.finish(status: answer.head.status.code)
        connection.respond(answer)
    }

    /// Whether a request is a gRPC call of an app that is known to speak HTTP/2, and not merely said to be one.
    private func isCall(_ request: RequestHead) -> Bool {
        GRPC.isCall(request) && RequestPath(site: self.site, loop: self.loop).route(of: request)?.speaksHTTP2 == true
    }

    /// The id of the request that is under way: a trusted proxy's, or one that it gets when it is first needed.
    var requestID: RequestID {
        if let givenID { return givenID }
        let loop = self.loop
        let id =
            self.request.map { ForwardedHead.requestID(of: $0, way: self.way, fresh: loop.freshRequestID()) }
            ?? loop.freshRequestID()
        self.givenID = id
        return id
    }

    var visitor: ClientKind { ClientKind(self.request, self) }

    /// The answer is the tunnel that begins now, however long it lasts.
    func tunnelBegan(on route: RuntimeRoute) {
        route.metrics.answered(101, nanoseconds: (NIODeadline.now() - self.began).nanoseconds)
    }

    /// The request is over, whatever became of it.
    func finish(status: Int) {
        guard self.connection != nil else { return }
        let spent = (NIODeadline.now() - self.began).nanoseconds
        if let exchange, !exchange.hasSwitched { exchange.route.metrics.answered(status, nanoseconds: spent) }
        self.task?.cancel()
        self.task = nil
        self.exchange = nil
        self.request = nil
        self.connection = nil
        self.isOwnEndpoint = false
        self.heldBytes = 0
        if !self.held.isEmpty { self.held.removeAll() }
        self.turn += 1
        self.loop.inFlight -= 1
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
            case .refused(let answer): return self.answer(answer)
            }
        } else if WebSocketHandshake.isRequested(by: request) {
            self.site.log.webSocketIsOff(app: route.name, requestID: self.requestID.text)
        }
        self.way.sendsForwarded = route.sendsForwarded
        let exchange = UpstreamExchange(
            responder: self,
            connection: connection,
            request: request,
            route: route,
            identity: identity,
            opening: opening
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

    /// The session that a request brings, as a number; 0 if it brings none.
    ///
    /// Asked for only where an app's targets are chosen by session.
    func sessionKey(of request: RequestHead) -> UInt64 {
        RequestPath(site: self.site, loop: self.loop).sessionKey(of: request)
    }

    /// Who the person is, signed anew for a second try; nil if the person may not enter any more.
    func refreshedIdentity(for request: RequestHead, on route: RuntimeRoute) -> ByteBuffer? {
        let path = RequestPath(site: self.site, loop: self.loop)
        guard
            case .forwarded(let again, .some(let identity)) = path.verdict(
                for: request,
                over: self.tls,
                lookup: .done,
                isAnew: true
            ), again === route
        else { return nil }
        return identity
    }

    /// The head for the app; a second try gets a new one.
    func upstreamHead(
        for request: RequestHead,
        on route: RuntimeRoute,
        identity: ByteBuffer?,
        endsConnection: Bool
    ) -> ByteBuffer {
        let room = request.message.bytes.readableBytes + (identity?.readableBytes ?? 0) + 256
        return ForwardedHead.request(
            request,
            authority: route.authority,
            way: &self.way,
            identity: identity,
            changes: route.requestChanges,
            requestID: self.requestID,
            endsConnection: endsConnection,
            into: self.loop.memory.take(capacity: room)
        )
    }
}
