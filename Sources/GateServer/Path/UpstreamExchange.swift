// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GateProxy
internal import GateWire
internal import NIOCore

/// One request on its way to an app, and the answer on its way back; confined to one event loop.
///
/// Bodies pass as they arrive: whoever cannot take more makes the other side stop reading.
final class UpstreamExchange: UpstreamSink {
    let route: SiteRoute
    private let pool: UpstreamPool
    private let responder: GatewayResponder
    private let connection: any DownstreamExchange
    private let request: RequestHead
    private let identity: ByteBuffer?
    private var upstream: UpstreamConnection?
    private var waiting: [ByteBuffer] = []
    private var isRequestComplete = false
    private var hasSentBody = false
    private var hasAnswered = false
    private var isOver = false
    private var triesLeft = 1
    private var status = 0

    init(
        responder: GatewayResponder,
        connection: any DownstreamExchange,
        request: RequestHead,
        route: SiteRoute,
        identity: ByteBuffer?
    ) {
        self.responder = responder
        self.connection = connection
        self.request = request
        self.route = route
        self.pool = responder.loop.pool(for: route)
        self.identity = identity
    }
}

// MARK: From the client

extension UpstreamExchange {
    /// Asks for a connection; the request is sent when it is there.
    func begin() {
        self.pool.lease(to: self)
    }

    /// Passes a part of the request's body on.
    func send(_ body: ByteBuffer) {
        guard !self.isOver else { return }
        guard let upstream else {
            self.waiting.append(body)
            self.connection.pauseReading()
            return
        }
        self.write(body, to: upstream)
        upstream.flush()
        if !upstream.isWritable { self.connection.pauseReading() }
    }

    /// The client's request is complete.
    func finishRequest() {
        guard !self.isOver, !self.isRequestComplete else { return }
        self.isRequestComplete = true
        guard let upstream else { return }
        self.writeEnd(to: upstream)
        upstream.flush()
    }

    /// The client takes bytes again.
    func downstreamDrained() {
        self.upstream?.resumeReading()
    }

    /// The client is gone.
    func abort() {
        guard !self.isOver else { return }
        self.isOver = true
        self.pool.cancel(self)
        self.upstream?.abort()
        self.upstream = nil
    }

    private func write(_ body: ByteBuffer, to upstream: UpstreamConnection) {
        self.hasSentBody = true
        guard self.request.framing == .chunked else {
            upstream.send(body)
            return
        }
        var chunk = ByteBuffer(string: String(body.readableBytes, radix: 16) + "\r\n")
        chunk.writeImmutableBuffer(body)
        chunk.writeStaticString("\r\n")
        upstream.send(chunk)
    }

    private func writeEnd(to upstream: UpstreamConnection) {
        if self.request.framing == .chunked { upstream.send(ByteBuffer(staticString: "0\r\n\r\n")) }
        upstream.finishRequest(hadBody: self.request.framing != .none)
    }
}

// MARK: From the app

extension UpstreamExchange {
    func upstreamReady(_ connection: UpstreamConnection) {
        guard !self.isOver else {
            connection.abort()
            return
        }
        self.upstream = connection
        let head = self.responder.upstreamHead(for: self.request, identity: self.identity)
        connection.send(head, method: self.request.method)
        self.responder.loop.recycle(head)
        for body in self.waiting {
            self.write(body, to: connection)
        }
        self.waiting.removeAll()
        if self.isRequestComplete { self.writeEnd(to: connection) }
        connection.flush()
        if connection.isWritable { self.connection.resumeReading() }
    }

    func upstreamAnswered(_ head: ResponseHead) {
        guard !self.isOver else { return }
        self.hasAnswered = true
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
            framing: framing,
            closes: closes,
            into: self.responder.loop.memory(capacity: room)
        )
        self.connection.start(bytes, framing: framing, closes: closes)
    }

    func upstreamSent(_ body: ByteBuffer) {
        guard !self.isOver else { return }
        if !self.connection.write(body) { self.upstream?.pauseReading() }
    }

    func upstreamFinished() {
        guard !self.isOver else { return }
        self.isOver = true
        self.upstream = nil
        self.responder.finish(status: self.status)
        self.connection.end()
    }

    func upstreamPaused() {
        self.connection.flush()
    }

    func upstreamWritabilityChanged(isWritable: Bool) {
        guard !self.isOver, !self.isRequestComplete else { return }
        if isWritable {
            self.connection.resumeReading()
        } else {
            self.connection.pauseReading()
        }
    }

    func upstreamFailed(_ problem: UpstreamProblem) {
        guard !self.isOver else { return }
        let wasReused = self.upstream?.isReused ?? false
        self.upstream = nil
        if self.mayTryAgain(after: problem, wasReused: wasReused) {
            self.triesLeft -= 1
            self.pool.lease(to: self, fresh: true)
            return
        }
        self.isOver = true
        let failure = UpstreamExchange.failure(for: problem, route: self.route)
        self.responder.site.log.upstreamFailed(
            failure,
            app: self.route.name,
            requestID: self.responder.requestID?.text ?? "-"
        )
        guard !self.hasAnswered else {
            self.responder.finish(status: 502)
            self.connection.cut()
            return
        }
        self.responder.answer(self.responder.site.rendering.answer(to: failure, for: self.responder.visitor))
    }

    /// Once, and only where the app cannot have begun to work: no connection was made, or a kept one was closed under
    /// a request that only reads.
    ///
    /// RFC 9110 §9.2.2.
    private func mayTryAgain(after problem: UpstreamProblem, wasReused: Bool) -> Bool {
        guard self.triesLeft > 0, !self.hasAnswered else { return false }
        switch problem {
        case .unreachable: return true
        case .closedBeforeAnswer: return wasReused && self.request.method.isSafe && !self.hasSentBody
        case .connectTimedOut, .overflow, .closedInAnswer, .timedOut, .refused: return false
        }
    }

    private static func failure(for problem: UpstreamProblem, route: SiteRoute) -> Failure {
        let place = "\(route.name) at \(route.upstream)"
        switch problem {
        case .unreachable(let why):
            return Failure(.upstreamFailed, "upstream.unreachable", "\(place) cannot be reached: \(why)")
        case .connectTimedOut:
            return Failure(
                .upstreamTimedOut,
                "upstream.connect_timed_out",
                "\(place) did not accept a connection in time"
            )
        case .overflow:
            return Failure(.overloaded, "upstream.overflow", "too many requests wait for \(place)")
        case .closedBeforeAnswer:
            return Failure(.upstreamFailed, "upstream.closed", "\(place) closed the connection without an answer")
        case .closedInAnswer:
            return Failure(.upstreamFailed, "upstream.cut", "\(place) closed the connection in the middle of an answer")
        case .timedOut:
            return Failure(.upstreamTimedOut, "upstream.timed_out", "\(place) did not answer in time")
        case .refused(let refusal):
            return Failure(
                .upstreamFailed,
                "upstream.refused",
                "\(place) sent what is no HTTP answer: \(refusal.reason)"
            )
        }
    }
}
