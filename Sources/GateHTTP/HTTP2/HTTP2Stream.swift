// SPDX-License-Identifier: Apache-2.0

internal import GateWire
internal import HTTPTypes
internal import NIOCore

/// One request over HTTP/2 and its answer; confined to its connection's event loop.
///
/// It is used for one request only, so that whoever still holds it later cannot reach another. What it is told is noted
/// and handed to libnghttp2 at the end of the turn, by ``HTTP2Connection/flushNow()``.
final class HTTP2Stream: DownstreamExchange {
    /// Where the answer stands.
    enum Phase {
        case none
        case started
        case ended
        /// Nothing can be sent any more.
        case over
    }

    /// What goes into the next frame of the body.
    enum Part {
        case later
        case bytes(Int)
        case last(Int, hasTrailers: Bool)
    }

    let id: Int32
    let responder: any Responder
    private let connection: HTTP2Connection
    /// Where the connection keeps it among its open streams.
    var position = 0
    private(set) var phase = Phase.none
    private var isHeadRequest = false
    /// Whether it was opened for a tunnel, so that what comes is no body.
    private var isForTunnel = false
    /// The memory of the request's head, used again when the stream is closed.
    var requestMemory: ByteBuffer?

    // The request's body.
    private(set) var isRequestComplete = false
    private var isFinishTold = false
    private(set) var isPaused = false
    private var unconsumed = 0
    private var bodyBegan = NIODeadline.distantFuture
    private var pausedAt = NIODeadline.distantFuture
    private var bodyBytes: Int64 = 0
    /// When the body must have moved on.
    private(set) var bodyDeadline = NIODeadline.distantFuture

    // The answer.
    private var head: ByteBuffer?
    private var hasSentHead = false
    private var parts: [ByteBuffer] = []
    private var nextPart = 0
    private(set) var waitingBytes = 0
    private var trailers: ByteBuffer?
    private var resetCode: HTTP2Session.Code?
    private var isDeferred = false
    var isNoted = false
    /// Whether the responder was told to wait.
    private(set) var isHeldUp = false
    /// When the client last took something.
    var progressed: NIODeadline

    init(id: Int32, connection: HTTP2Connection, responder: any Responder) {
        self.id = id
        self.connection = connection
        self.responder = responder
        self.progressed = connection.arrived
    }
}

// MARK: The request

extension HTTP2Stream {
    /// Hands the request over.
    func begin(_ request: RequestHead, endsStream: Bool) {
        self.isHeadRequest = request.method == .head
        self.isForTunnel = request.isExtendedConnect
        self.requestMemory = request.message.bytes
        self.isRequestComplete = endsStream
        if !endsStream {
            self.bodyBegan = self.connection.arrived
            self.armBodyDeadline()
        }
        self.responder.begin(request, on: self)
        if endsStream || request.framing == .none { self.tellFinish() }
    }

    /// Resets what was no request.
    func refuse() {
        self.phase = .ended
        self.giveUp(.protocolError)
    }

    /// Answers what was a request, but none that may be passed on.
    func refuse(_ answer: Answer, endsStream: Bool) {
        self.isRequestComplete = endsStream
        self.isFinishTold = true
        self.respond(answer)
    }

    /// Takes a part of the body.
    func received(_ body: ByteBuffer) {
        let count = body.readableBytes
        guard count > 0 else { return }
        switch self.phase {
        case .ended, .over:
            // The answer is complete without it.
            self.connection.session?.consume(count, of: self.id)
            return
        case .none, .started:
            break
        }
        // Messages are short; each reaches the app, as it would without HTTP/2.
        if self.isForTunnel { self.connection.flood.earn(1) }
        self.bodyBytes += Int64(count)
        self.unconsumed += count
        self.responder.receive(body)
        self.giveWindow()
        self.armBodyDeadline()
    }

    /// The body is complete.
    func requestEnded() {
        self.isRequestComplete = true
        self.bodyDeadline = .distantFuture
        switch self.phase {
        case .none, .started:
            if self.isForTunnel { self.responder.tunnelEnded() } else { self.tellFinish() }
        case .ended, .over: break
        }
    }

    private func tellFinish() {
        guard !self.isFinishTold, self.phase == .none || self.phase == .started else { return }
        self.isFinishTold = true
        self.responder.finishRequest()
    }

    private func giveWindow() {
        guard !self.isPaused, self.unconsumed > 0, self.phase != .over else { return }
        self.connection.session?.consume(self.unconsumed, of: self.id)
        self.unconsumed = 0
        self.connection.scheduleFlush()
    }

    func pauseReading() {
        guard !self.isPaused else { return }
        self.isPaused = true
        self.pausedAt = .now()
        self.bodyDeadline = .distantFuture
    }

    func resumeReading() {
        guard self.isPaused else { return }
        self.isPaused = false
        if !self.isRequestComplete {
            // The client is not to blame for the time in which nobody read.
            self.bodyBegan = self.bodyBegan + (.now() - self.pausedAt)
            self.armBodyDeadline()
        }
        self.giveWindow()
    }

    /// The next moment at which the body must have moved on: no silence, and no trickle.
    private func armBodyDeadline() {
        guard !self.isRequestComplete, !self.isPaused, !self.isForTunnel else { return }
        let limits = self.connection.setting.limits
        let paid = TimeAmount.seconds(min(self.bodyBytes / max(1, limits.bodyRate), 1_000_000_000))
        self.bodyDeadline = min(
            NIODeadline.now() + limits.bodyInactivity,
            self.bodyBegan + limits.bodyGrace + paid
        )
    }

    /// The body is too slow: the client is told so, if nothing else has been said.
    func giveUpBody() {
        self.bodyDeadline = .distantFuture
        guard self.phase == .none else {
            self.giveUp(.cancel)
            return
        }
        self.responder.abandon()
        self.respond(self.responder.answer(to: WireRefusal(408, "wire.too_slow")))
    }

    /// Ends the stream from our side; the responder hears of it when it is closed.
    func giveUp(_ code: HTTP2Session.Code) {
        self.resetCode = code
        self.connection.note(self)
    }
}

// MARK: The answer

extension HTTP2Stream {
    var arrived: NIODeadline { self.connection.arrived }

    var mustClose: Bool { false }

    func sendContinue() {
        self.sendInterim(ByteBuffer(staticString: "HTTP/1.1 100 Continue\r\n\r\n"))
    }

    func sendInterim(_ head: ByteBuffer) {
        guard self.phase == .none else { return }
        self.connection.session?.submitInterim(head, on: self.id)
        self.connection.scheduleFlush()
    }

    func respond(_ answer: Answer) {
        guard self.phase == .none else { return }
        let status = answer.head.status.code
        let hasBody = !self.isHeadRequest && status != 204 && status != 304
        var bytes = answer.encoded(
            closes: false,
            forHead: self.isHeadRequest,
            into: self.freshBuffer(capacity: 512 + answer.body.count)
        )
        self.head = bytes.readSlice(length: bytes.readableBytes - (hasBody ? answer.body.count : 0))
        self.phase = .started
        if hasBody { self.write(bytes) }
        self.end()
    }

    func start(_ head: consuming ByteBuffer, framing: BodyFraming, closes: Bool) {
        guard self.phase == .none else { return }
        self.phase = .started
        self.head = head
        self.connection.note(self)
    }

    func startTunnel(_ head: consuming ByteBuffer) {
        self.start(head, framing: .untilClose, closes: false)
    }

    func closeAfterAnswer() {}

    @discardableResult
    func write(_ body: ByteBuffer) -> Bool {
        guard self.phase == .started, body.readableBytes > 0, !self.isHeadRequest else { return true }
        if self.waitingBytes == 0 { self.progressed = .now() }
        self.parts.append(body)
        self.waitingBytes += body.readableBytes
        self.connection.waitingBytes += body.readableBytes
        self.connection.note(self)
        let limits = self.connection.setting.limits
        let isFull =
            self.waitingBytes >= limits.streamBacklog || self.connection.waitingBytes >= limits.connectionBacklog
        if isFull, !self.isHeldUp {
            self.isHeldUp = true
            self.connection.heldUp += 1
        }
        return !isFull
    }

    func end() {
        guard self.phase == .started else { return }
        self.phase = .ended
        self.connection.note(self)
    }

    func end(trailers: ByteBuffer) {
        guard self.phase == .started else { return }
        if !self.isHeadRequest { self.trailers = trailers }
        self.end()
    }

    func flush() { self.connection.scheduleFlush() }

    func cut() {
        guard self.phase != .over else { return }
        self.phase = .ended
        self.giveUp(.internalError)
    }

    func freshBuffer(capacity: Int) -> ByteBuffer { self.connection.setting.memory(capacity) }
}

// MARK: To libnghttp2

extension HTTP2Stream {
    /// Hands over what has been noted since the last time.
    func submit(to session: HTTP2Session) {
        self.isNoted = false
        guard self.phase != .over else { return }
        if let code = self.resetCode.take() {
            self.head = nil
            session.reset(self.id, code)
            return
        }
        if let head = self.head.take() {
            self.hasSentHead = true
            let isWhole = self.phase == .ended && self.waitingBytes == 0 && self.trailers == nil
            if !session.submitAnswer(head, on: self, hasBody: !isWhole) { session.reset(self.id, .internalError) }
            self.connection.setting.recycle(head)
        } else if self.isDeferred {
            self.isDeferred = false
            session.resume(self.id)
        }
    }

    /// How much of the body goes into a frame with so much room.
    func nextPart(upTo room: Int) -> Part {
        let count = min(room, self.waitingBytes)
        guard count == self.waitingBytes, self.phase == .ended else {
            guard count > 0 else {
                self.isDeferred = true
                return .later
            }
            return .bytes(count)
        }
        guard let trailers, let session = self.connection.session else { return .last(count, hasTrailers: false) }
        session.submitTrailers(trailers, on: self.id)
        self.trailers = nil
        return .last(count, hasTrailers: true)
    }

    /// Moves bytes of the body into a frame.
    func move(_ count: Int, to session: HTTP2Session) {
        var left = count
        while left > 0, self.nextPart < self.parts.count {
            let length = min(left, self.parts[self.nextPart].readableBytes)
            if var part = self.parts[self.nextPart].readSlice(length: length) { session.outbound.writeBuffer(&part) }
            left -= length
            if self.parts[self.nextPart].readableBytes == 0 { self.dropPart() }
        }
        self.waitingBytes -= count
        self.connection.waitingBytes -= count
        self.progressed = self.connection.flushedAt
        self.connection.carried(count)
    }

    private func dropPart() {
        self.parts[self.nextPart] = ByteBuffer()
        self.nextPart += 1
        if self.nextPart == self.parts.count {
            self.parts.removeAll(keepingCapacity: true)
            self.nextPart = 0
        } else if self.nextPart >= 32 {
            self.parts.removeFirst(self.nextPart)
            self.nextPart = 0
        }
    }

    /// Whether the client has taken nothing of what waits for it since that time.
    func isStuck(since time: NIODeadline) -> Bool {
        self.waitingBytes > 0 && self.progressed <= time
    }

    /// Tells the responder to go on, when enough has been taken.
    func releaseIfDrained() {
        let limits = self.connection.setting.limits
        guard self.isHeldUp, self.waitingBytes <= limits.streamBacklog / 2,
            self.connection.waitingBytes <= limits.connectionBacklog / 2
        else { return }
        self.isHeldUp = false
        self.connection.heldUp -= 1
        self.responder.downstreamWritabilityChanged(isWritable: true)
    }

    /// The answer has gone out whole; if the request is still coming, nobody wants the rest.
    ///
    /// RFC 9113 §8.1.
    func answerSent() {
        if !self.isRequestComplete { self.connection.session?.reset(self.id, .none) }
    }

    /// The stream is no more.
    func close() {
        let isUnanswered = self.phase == .none || self.phase == .started
        self.phase = .over
        self.connection.waitingBytes -= self.waitingBytes
        self.waitingBytes = 0
        self.parts = []
        if self.isHeldUp {
            self.isHeldUp = false
            self.connection.heldUp -= 1
        }
        if self.unconsumed > 0 {
            self.connection.session?.consume(self.unconsumed)
            self.unconsumed = 0
        }
        if isUnanswered { self.responder.abandon() }
    }
}
