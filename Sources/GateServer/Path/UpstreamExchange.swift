// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GateNet
internal import GateProxy
internal import GateWire
internal import NIOCore

/// One request on its way to an app, and the answer on its way back; confined to one event loop.
///
/// Bodies pass as they arrive: whoever cannot take more makes the other side stop reading.
final class UpstreamExchange: UpstreamSink {
    let route: RuntimeRoute
    private let way: Upstream
    let responder: GatewayResponder
    let connection: any DownstreamExchange
    let request: RequestHead
    /// What the client offers if it asks for a WebSocket, and why it may.
    private let opening: PendingTunnel?
    private(set) var tunnel: Tunnel?
    /// Whether the tunnel was opened.
    var hasSwitched = false
    private var identity: ByteBuffer?
    private var call: UpstreamRequest
    private(set) var link: (any UpstreamStream)?
    /// The position of the target that was asked last.
    private var target = 0
    private var waiting: [ByteBuffer] = []
    private var trailers: ByteBuffer?
    private var isRequestComplete = false
    private var hasSentBody = false
    private var hasAnswered = false
    private var isOver = false
    private var triesLeft = 1
    /// How often the request may still go to another target because nothing listened at the one before.
    private var detoursLeft = 2
    private var status = 0
    /// How many more bytes of the body may come; a length that was told has been looked at before.
    private var bodyLeft: Int64

    init(
        responder: GatewayResponder,
        connection: any DownstreamExchange,
        request: RequestHead,
        route: RuntimeRoute,
        identity: ByteBuffer?,
        opening: PendingTunnel? = nil
    ) {
        self.responder = responder
        self.connection = connection
        self.request = request
        self.route = route
        self.way = responder.loop.way(for: route)
        self.identity = identity
        self.opening = opening
        self.call = UpstreamRequest(request.method, framing: request.framing)
        self.call.isPatient = route.isStreaming
        self.bodyLeft = request.framing == .chunked && opening == nil ? route.mostBody : .max
        self.call.opensTunnel = opening != nil
        self.call.endsConnection =
            opening == nil && route.upstream.settings.reuse.ends(after: request.method, request.framing)
        if route.speaksHTTP2 { self.call.take(request) }
    }
}

// MARK: From the client

extension UpstreamExchange {
    /// Asks for a connection; the request is sent when it is there.
    func begin() {
        guard !self.isOver else { return }
        if let opening {
            self.tunnel = Tunnel(opening.pass, exchange: self, connection: self.connection, loop: self.responder.loop)
        }
        self.target = self.way.lease(to: self, key: self.responder.sessionKey(of: self.request))
    }

    /// Passes a part of the request's body on.
    func send(_ body: ByteBuffer) {
        guard !self.isOver else { return }
        if let tunnel, tunnel.takesFromApp { return tunnel.fromClient(body) }
        self.bodyLeft -= Int64(body.readableBytes)
        guard self.bodyLeft >= 0 else { return self.refuseBody() }
        guard let link, self.opening == nil else {
            self.waiting.append(body)
            self.connection.pauseReading()
            return
        }
        self.hasSentBody = true
        link.send(body)
        link.flush()
        if !link.isWritable { self.connection.pauseReading() }
    }

    /// The client's request is complete.
    func finishRequest() {
        guard !self.isOver, !self.isRequestComplete else { return }
        self.isRequestComplete = true
        guard let link else { return }
        link.finishRequest()
        link.flush()
    }

    /// The client will send no more through its tunnel.
    func tunnelInputEnded() {
        guard !self.isOver, let tunnel else { return }
        if tunnel.isOpen { tunnel.clientEnded() } else { self.connection.cut() }
    }

    /// Passes on what has come before the tunnel was open.
    func passHeld() {
        let held = self.waiting
        self.waiting.removeAll()
        for body in held {
            self.tunnel?.fromClient(body)
        }
    }

    /// Nothing more is to be done.
    func end() {
        self.isOver = true
        self.link = nil
        self.tunnel = nil
    }

    /// How the head of the response differs from the app's.
    var changes: ResponseChanges? { self.route.responseChanges(isProtected: self.identity != nil) }

    /// The address of the target that was asked last.
    var targetText: String { "\(self.route.upstream.settings.targets[self.target])" }

    /// The client takes bytes again.
    func downstreamDrained() {
        self.link?.resumeReading()
    }

    /// The body is longer than it may be: the app is left, and the client told if that is still possible.
    private func refuseBody() {
        self.cancel()
        let answer = self.responder.site.rendering.answer(to: self.route.bodyTooLarge, for: self.responder.visitor)
        guard self.hasAnswered else { return self.responder.answer(answer) }
        self.responder.finish(status: 413)
        self.connection.cut()
    }

    /// The client is gone.
    func cancel() {
        guard !self.isOver else { return }
        self.isOver = true
        if let tunnel = self.tunnel.take() {
            guard !tunnel.takesFromApp else {
                self.link = nil
                return tunnel.clientGone()
            }
            tunnel.leave()
        }
        if let link {
            link.cancel()
            self.link = nil
        } else {
            self.way.cancel(self)
        }
    }
}

// MARK: From the app

extension UpstreamExchange {
    func upstreamReady(_ link: any UpstreamStream) {
        guard !self.isOver else {
            link.cancel()
            return
        }
        self.link = link
        var head = self.responder.upstreamHead(
            for: self.request,
            on: self.route,
            identity: self.identity,
            endsConnection: self.call.endsConnection
        )
        if let opening { head = self.responder.handshakeHead(head, opening.offer) }
        link.send(head, for: self.call)
        self.responder.loop.memory.giveBack(head)
        if !self.waiting.isEmpty, self.opening == nil {
            self.hasSentBody = true
            for body in self.waiting {
                link.send(body)
            }
            self.waiting.removeAll()
        }
        if self.isRequestComplete { link.finishRequest() }
        link.flush()
        if link.isWritable, self.opening == nil { self.connection.resumeReading() }
    }

    func upstreamReceivedEarlyHints(_ head: ResponseHead) {
        guard !self.isOver, self.route.passesEarlyHints, self.request.minorVersion == 1 else { return }
        let room = self.connection.freshBuffer(capacity: head.message.bytes.readableBytes + 64)
        guard let hints = ForwardedHead.earlyHints(head, edits: self.changes?.edits, into: room) else { return }
        self.connection.sendInterim(hints)
    }

    func upstreamReceivedHead(_ head: ResponseHead) {
        guard !self.isOver else { return }
        self.hasAnswered = true
        if let opening, head.status == 101 { return self.openTunnel(head, opening.offer) }
        if self.request.isExtendedConnect, (200...299).contains(head.status) {
            let place = "\(self.route.name) at \(self.targetText)"
            return self.refuseTunnel(Failure(.upstreamWebSocket, "\(place) did not switch"))
        }
        self.status = head.status
        var framing = head.framing
        if framing == .chunked || framing == .untilClose {
            framing = self.request.minorVersion == 1 ? .chunked : .untilClose
        }
        let closes = self.connection.mustClose || framing == .untilClose
        let room = head.message.bytes.readableBytes + 512
        let bytes = ForwardedHead.answer(
            head,
            to: self.request,
            requestID: self.responder.requestID,
            framing: framing,
            closes: closes,
            changes: self.changes,
            date: self.responder.loop.date,
            into: self.responder.loop.memory.take(capacity: room)
        )
        self.connection.start(bytes, framing: framing, closes: closes)
    }

    func upstreamReceivedBody(_ body: ByteBuffer) {
        guard !self.isOver else { return }
        if let tunnel, tunnel.takesFromApp { return tunnel.fromApp(body) }
        if !self.connection.write(body) { self.link?.pauseReading() }
    }

    func upstreamReceivedTrailers(_ trailers: ByteBuffer) {
        self.trailers = trailers
    }

    func upstreamFinished() {
        guard !self.isOver else { return }
        if let tunnel, tunnel.takesFromApp { return tunnel.appEnded() }
        self.tunnel.take()?.leave()
        self.isOver = true
        self.link = nil
        self.responder.finish(status: self.status)
        if let trailers {
            self.connection.end(trailers: trailers)
        } else {
            self.connection.end()
        }
    }

    func upstreamReadComplete() {
        self.connection.flush()
    }

    func upstreamWritabilityChanged(isWritable: Bool) {
        if let tunnel { return tunnel.appWritabilityChanged(isWritable: isWritable) }
        guard !self.isOver, !self.isRequestComplete else { return }
        if isWritable {
            self.connection.resumeReading()
        } else {
            self.connection.pauseReading()
        }
    }

    func upstreamFailed(_ problem: UpstreamFailure) {
        guard !self.isOver else { return }
        if let tunnel, tunnel.takesFromApp { return tunnel.cut() }
        let wasReused = self.link?.isReused ?? false
        self.link = nil
        guard !self.tryAgain(after: problem, wasReused: wasReused) else { return }
        self.isOver = true
        self.tunnel.take()?.leave()
        let failure = Failure(problem, of: self.route.name, at: self.route.upstream.settings.targets[self.target])
        self.responder.site.log.upstreamFailed(
            failure,
            app: self.route.name,
            requestID: self.responder.requestID.text
        )
        guard !self.hasAnswered || self.connection.retract() else {
            self.responder.finish(status: 502)
            self.connection.cut()
            return
        }
        self.responder.answer(self.responder.site.rendering.answer(to: failure, for: self.responder.visitor))
    }

    /// Once, where the rule and the budget allow it, and only if the person may still enter: who it is is signed anew.
    private func tryAgain(after problem: UpstreamFailure, wasReused: Bool) -> Bool {
        let isDetour = self.way.mayTryOtherTarget(after: problem)
        guard (isDetour ? self.detoursLeft : self.triesLeft) > 0, !self.hasAnswered else { return false }
        guard
            self.way.mayRetry(after: problem, self.call, wasReused: wasReused, bodyBegan: self.hasSentBody)
        else { return false }
        if isDetour { self.detoursLeft -= 1 } else { self.triesLeft -= 1 }
        if self.identity != nil {
            guard let anew = self.responder.refreshedIdentity(for: self.request, on: self.route) else { return false }
            self.identity = anew
        }
        self.target = self.way.leaseForRetry(
            to: self,
            key: self.responder.sessionKey(of: self.request),
            avoiding: self.target,
            after: problem
        )
        return true
    }
}
