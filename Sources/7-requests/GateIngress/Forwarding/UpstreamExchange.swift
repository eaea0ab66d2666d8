// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GateHeaders
internal import GateNet
internal import GateOperations
internal import GateProxy
internal import GateRuntime
internal import GateWire
internal import NIOCore

/// What becomes of an exchange, for the responder of its request; called on the event loop.
protocol UpstreamExchangeDelegate: AnyObject {
    /// The response is complete or cut off; the exchange does nothing more.
    func exchangeFinished(status: Int)
    /// The exchange has failed before a byte of a response; the delegate responds.
    func exchangeFailed(_ failure: Failure)
}

/// One request to an app and the response to it; confined to one event loop.
///
/// Bodies are streamed with back-pressure: a side that cannot write more stops reading on the other.
final class UpstreamExchange: UpstreamSink {
    let route: RuntimeRoute
    private let request: IngressRequest
    /// The head as the app may get it.
    private let head: RequestHead
    private let upstream: Upstream
    private let delegate: any UpstreamExchangeDelegate
    private let loop: LoopState
    private let connection: any DownstreamExchange
    /// What the client offers if it asks for a WebSocket, and why it may.
    private let opening: PendingTunnel?
    /// Renews the cookie of the session; nil if a store keeps the session.
    private let renewal: SessionRenewal?
    /// Ends the exchange when a date in the rules ends the access; nil for nearly every request.
    private var watch: AccessWatch?
    private var tunnel: Tunnel?
    /// Whether the tunnel was opened.
    private(set) var hasSwitched = false
    private var identity: ByteBuffer?
    private var call: UpstreamRequest
    private var link: (any UpstreamStream)?
    /// The position of the target that was asked last.
    private var target = 0
    private var asked = NIODeadline.distantPast
    /// When the request was given to the app's first target: for the access line.
    private(set) var forwarded: NIODeadline?
    private var waiting: [ByteBuffer] = []
    private var trailers: ByteBuffer?
    private var isRequestComplete = false
    private var hasSentBody = false
    private var hasResponded = false
    private var isOver = false
    private var triesLeft = 1
    /// How often the request may still go to another target because a target was unreachable.
    private var detoursLeft = 2
    private var status = 0
    /// When the head of the response arrived, and the bytes of its body so far: for the access line.
    private(set) var responded: NIODeadline?
    private(set) var bytesOut = 0
    /// How many more bytes of the body are accepted; a declared length was checked before.
    private var bodyLeft: Int64

    /// An exchange that has not begun.
    ///
    /// - Parameters:
    ///   - request: The request, which was admitted.
    ///   - route: Its route.
    ///   - identity: The identity lines; nil on what is open to all.
    ///   - opening: The WebSocket that is to be opened; nil for none.
    ///   - connection: The client's side.
    ///   - loop: The event loop.
    ///   - delegate: The responder of the request, which outlives the exchange.
    init(
        of request: IngressRequest,
        to route: RuntimeRoute,
        identity: ByteBuffer?,
        opening: PendingTunnel?,
        over connection: any DownstreamExchange,
        loop: LoopState,
        delegate: any UpstreamExchangeDelegate
    ) {
        let head = request.headForApp(on: route)
        self.route = route
        self.request = request
        self.head = head
        self.upstream = loop.upstream(for: route)
        self.delegate = delegate
        self.loop = loop
        self.connection = connection
        self.identity = identity
        self.opening = opening
        self.renewal = identity == nil ? nil : SessionRenewal(of: request, loop: loop)
        self.call = UpstreamRequest(head.method, framing: head.framing)
        self.call.isPatient = route.isStreaming
        self.bodyLeft = head.framing == .chunked && opening == nil ? route.maxBody : .max
        self.call.opensTunnel = opening != nil
        self.call.endsConnection =
            opening == nil && route.upstream.settings.reuse.ends(after: head.method, head.framing)
        if route.speaksHTTP2 { self.call.take(head) }
    }
}

// MARK: From the client

extension UpstreamExchange {
    /// Asks for a connection; the request is sent when it is there.
    func begin() {
        guard !self.isOver else { return }
        if let opening {
            self.tunnel = Tunnel(
                opening.authorization,
                idleTimeout: self.route.upstream.settings.limits.tunnel,
                delegate: self,
                connection: self.connection,
                registry: self.loop.tunnels,
                sweep: self.loop.sweep
            )
        }
        if self.route.hasDates, self.identity != nil, self.opening == nil { self.watchAccess() }
        self.asked = .now()
        self.forwarded = self.asked
        self.request.trace?.beginUpstream(at: self.asked)
        self.target = self.upstream.lease(to: self, key: self.request.sessionKey(in: self.head, self.loop))
    }

    /// Ends with the access of the user, if a date in the rules can end that.
    func watchAccess() {
        let access = Decider(self.request, self.loop).endingAccess(on: self.route)
        self.watch = access.map { AccessWatch(over: self, $0, loop: self.loop) }
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
        if tunnel.isOpen { tunnel.clientEnded() } else { self.connection.close() }
    }

    /// Passes on what has come before the tunnel was open.
    private func passHeld() {
        let held = self.waiting
        self.waiting.removeAll()
        for body in held {
            self.tunnel?.fromClient(body)
        }
    }

    /// The head for the app; a second try gets a new one.
    private var headForApp: ByteBuffer {
        let head = self.request.trace?.forwarded(self.head) ?? self.head
        let capacity = head.message.bytes.readableBytes + (self.identity?.readableBytes ?? 0) + 256
        return ForwardedHead.request(
            head,
            authority: self.route.authority(of: head),
            downstream: self.request.downstream,
            sendsForwarded: self.route.sendsForwarded,
            identity: self.identity,
            certificate: self.certificateLines,
            changes: self.route.requestChanges,
            requestID: self.request.id,
            traceParent: self.request.trace?.traceParent,
            endsConnection: self.call.endsConnection,
            hidesAuthorization: self.request.hidesAuthorization(on: self.route, self.loop),
            into: self.loop.memory.acquire(capacity: capacity)
        )
    }

    /// The lines with the certificate of the client, where the app wants them.
    private var certificateLines: ByteBuffer? {
        guard !self.route.certificateHeaders.isEmpty else { return nil }
        return self.request.certificate?.verified?.lines(self.route.certificateHeaders)
    }

    /// The identity lines for a retry, after the request was authorized again; nil if it is denied now.
    private var refreshedIdentity: ByteBuffer? {
        guard case .forward(let route, let identity?) = self.request.decideAgain(on: self.loop), route === self.route
        else { return nil }
        return identity
    }

    /// Logs that the upstream is the cause of a failure.
    private func log(_ failure: Failure) {
        self.request.runtime.services.log.upstreamFailed(failure, app: self.route.name, requestID: self.request.id.text)
    }

    /// Logs a failure that cuts off a response that has begun: the client has the head of another one.
    private func logTruncation(by failure: Failure) {
        _ = self.request.runtime.rendering.response(to: failure, for: self.request.clientKind)
    }

    /// Nothing more is to be done.
    private func end() {
        self.isOver = true
        self.link = nil
        self.tunnel = nil
    }

    /// How the head of the response differs from the app's.
    private var changes: ResponseChanges? { self.route.responseChanges(isProtected: self.identity != nil) }

    /// The address of the target that was asked last.
    private var targetText: String { "\(self.route.upstream.settings.targets[self.target])" }

    /// The client takes bytes again.
    func downstreamDrained() {
        self.link?.resumeReading()
    }

    /// Rejects a body that is too long: the request to the app is cancelled, and the client gets an error if none has begun.
    private func refuseBody() {
        self.cancel()
        guard self.hasResponded else { return self.delegate.exchangeFailed(self.route.bodyTooLarge) }
        self.logTruncation(by: self.route.bodyTooLarge)
        self.delegate.exchangeFinished(status: 413)
        self.connection.close()
    }

    /// The rules do not admit the user any more: the request to the app is cancelled, and so is the response.
    func endAccess(_ failure: Failure) {
        guard !self.isOver else { return }
        self.endTrace(failure: failure.code)
        self.cancel()
        guard self.hasResponded else { return self.delegate.exchangeFailed(failure) }
        self.logTruncation(by: failure)
        self.delegate.exchangeFinished(status: self.status)
        self.connection.close()
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
            tunnel.unregister()
        }
        if let link {
            link.cancel()
            self.link = nil
        } else {
            self.upstream.cancel(self)
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
        var head = self.headForApp
        if let opening { head = self.handshakeHead(head, opening.offer) }
        link.send(head, for: self.call)
        self.loop.memory.release(head)
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
        guard !self.isOver, self.route.passesEarlyHints, self.head.minorVersion == 1 else { return }
        let buffer = self.connection.freshBuffer(capacity: head.message.bytes.readableBytes + 64)
        guard let hints = ForwardedHead.earlyHints(head, edits: self.changes?.edits, into: buffer) else { return }
        self.connection.sendInterim(hints)
    }

    func upstreamReceivedHead(_ head: ResponseHead) {
        guard !self.isOver else { return }
        self.hasResponded = true
        self.count(head)
        if let opening, head.status == 101 { return self.openTunnel(head, opening.offer) }
        if self.head.isExtendedConnect, (200...299).contains(head.status) {
            let place = "\(self.route.name) at \(self.targetText)"
            return self.refuseTunnel(Failure(.upstreamWebSocket, "\(place) did not switch"))
        }
        self.status = head.status
        var framing = head.framing
        if framing == .chunked || framing == .untilClose {
            framing = self.head.minorVersion == 1 ? .chunked : .untilClose
        }
        let closes = self.connection.mustClose || framing == .untilClose
        let capacity = head.message.bytes.readableBytes + 512
        var bytes = ForwardedHead.response(
            head,
            to: self.head,
            requestID: self.request.id,
            framing: framing,
            closes: closes,
            changes: self.changes,
            date: self.loop.date,
            into: self.loop.memory.acquire(capacity: capacity)
        )
        if let lines = self.renewal?.lines(for: head, to: self.head) { bytes = self.head(bytes, with: lines) }
        self.connection.start(bytes, framing: framing, closes: closes)
    }

    /// Counts a response and how long its head took.
    private func count(_ head: ResponseHead) {
        let now = NIODeadline.now()
        self.responded = now
        self.loop.telemetry.counters(of: self.route).target(self.target).responded(
            head.status,
            nanoseconds: (now - self.asked).nanoseconds,
            at: Int64(clamping: now.uptimeNanoseconds),
            request: { (self.request.id.text, self.request.trace?.exportedID) }
        )
    }

    /// Ends the span of the request to the target, if it has not ended.
    func endTrace(failure: String? = nil) {
        let status = self.hasSwitched ? 101 : self.status
        self.request.trace?.endUpstream(self.target, of: self.route, self.head, status: status, failure: failure)
    }

    func upstreamReceivedBody(_ body: ByteBuffer) {
        guard !self.isOver else { return }
        self.bytesOut += body.readableBytes
        if let tunnel, tunnel.takesFromApp { return tunnel.fromApp(body) }
        if !self.connection.write(body) { self.link?.pauseReading() }
    }

    func upstreamReceivedTrailers(_ trailers: ByteBuffer) {
        self.trailers = trailers
    }

    func upstreamFinished() {
        guard !self.isOver else { return }
        if let tunnel, tunnel.takesFromApp { return tunnel.appEnded() }
        self.tunnel.take()?.unregister()
        self.isOver = true
        self.link = nil
        self.delegate.exchangeFinished(status: self.status)
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

    func upstreamFailed(_ cause: UpstreamFailure) {
        guard !self.isOver else { return }
        if let tunnel, tunnel.takesFromApp { return tunnel.close() }
        self.loop.telemetry.counters(of: self.route).target(self.target).failed(cause)
        self.endTrace(failure: cause.outcome)
        let wasReused = self.link?.isReused ?? false
        self.link = nil
        guard !self.tryAgain(after: cause, wasReused: wasReused) else { return }
        self.isOver = true
        self.tunnel.take()?.unregister()
        let failure = Failure(cause, of: self.route.name, at: self.route.upstream.settings.targets[self.target])
        self.log(failure)
        guard !self.hasResponded || self.connection.retract() else {
            self.delegate.exchangeFinished(status: 502)
            self.connection.close()
            return
        }
        self.delegate.exchangeFailed(failure)
    }

    /// Retries once, where the configuration and the retry budget allow it, and only if the user is still authorized.
    private func tryAgain(after cause: UpstreamFailure, wasReused: Bool) -> Bool {
        let isDetour = self.upstream.mayTryOtherTarget(after: cause)
        guard (isDetour ? self.detoursLeft : self.triesLeft) > 0, !self.hasResponded else { return false }
        guard
            self.upstream.mayRetry(after: cause, self.call, wasReused: wasReused, bodyBegan: self.hasSentBody)
        else { return false }
        if isDetour { self.detoursLeft -= 1 } else { self.triesLeft -= 1 }
        if self.identity != nil {
            guard let identity = self.refreshedIdentity else { return false }
            self.identity = identity
        }
        self.asked = .now()
        self.request.trace?.beginUpstream(at: self.asked)
        self.target = self.upstream.leaseForRetry(
            to: self,
            key: self.request.sessionKey(in: self.head, self.loop),
            avoiding: self.target,
            after: cause
        )
        return true
    }
}

// MARK: Tunnels

extension UpstreamExchange {
    /// The app has responded with `101`: the tunnel begins, if the response completes this handshake.
    private func openTunnel(_ head: ResponseHead, _ offer: WebSocketHandshake) {
        guard let tunnel, let link else { return }
        if let objection = offer.rejectionReason(for: head) {
            let place = "\(self.route.name) at \(self.targetText)"
            self.refuseTunnel(
                Failure(.upstreamWebSocket, "\(place) broke the handshake: \(objection)")
            )
            return
        }
        guard !tunnel.isRefused else {
            self.refuseTunnel(Failure(.sessionNone, "the session ended during the handshake"))
            return
        }
        tunnel.open(over: link)
        self.hasSwitched = true
        self.request.count(101, of: self.route, by: self.loop.telemetry)
        self.connection.startTunnel(self.tunnelHead(head))
        self.passHeld()
        self.connection.resumeReading()
    }

    /// The handshake has failed: the app is cancelled and the client gets an error.
    private func refuseTunnel(_ failure: Failure) {
        let link = self.link
        self.endTrace(failure: failure.code)
        self.tunnel?.unregister()
        self.end()
        link?.cancel()
        self.log(failure)
        self.delegate.exchangeFailed(failure)
    }

    /// The head of a handshake for the app: an ordinary head, and the lines that concern one connection only.
    private func handshakeHead(_ head: ByteBuffer, _ offer: WebSocketHandshake) -> ByteBuffer {
        var lines = "Connection: Upgrade\r\nUpgrade: websocket\r\n"
        if !offer.isKeyOfClient { lines += "Sec-WebSocket-Key: \(offer.key)\r\n" }
        return self.head(head, with: lines)
    }

    /// The head of the response that opens a tunnel.
    private func tunnelHead(_ response: ResponseHead) -> ByteBuffer {
        var head = ForwardedHead.response(
            response,
            to: self.head,
            requestID: self.request.id,
            framing: .none,
            closes: false,
            changes: self.route.responseChanges(isProtected: false),
            date: self.loop.date,
            into: self.loop.memory.acquire(capacity: response.message.bytes.readableBytes + 512)
        )
        guard self.head.isExtendedConnect else {
            return self.head(head, with: "Connection: Upgrade\r\nUpgrade: websocket\r\n")
        }
        // RFC 8441 §5: over HTTP/2 the response is 200.
        head.setString("200", at: head.readerIndex + "HTTP/1.1 ".utf8.count)
        return head
    }

    /// A complete head with more lines of ours.
    private func head(_ head: ByteBuffer, with lines: String) -> ByteBuffer {
        var head = head
        head.moveWriterIndex(to: head.writerIndex - 2)
        head.writeString(lines)
        head.writeStaticString("\r\n")
        return head
    }
}

extension UpstreamExchange: TunnelDelegate {
    /// The tunnel is over, and so is the request.
    func tunnelEnded() {
        self.end()
        self.delegate.exchangeFinished(status: 101)
    }
}
