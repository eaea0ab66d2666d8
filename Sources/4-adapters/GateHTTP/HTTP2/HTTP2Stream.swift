// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateNet
internal import GateWire
internal import HTTPTypes
internal import NIOCore

/// One request over HTTP/2 and its response; confined to its connection's event loop.
///
/// It is used for one request only, so that a late reference cannot reach another request. Calls only note what to
/// send; ``HTTP2Connection/flushNow()`` submits it to libnghttp2 at the end of the turn.
final class HTTP2Stream: DownstreamExchange {
    /// The state of the response.
    private enum Phase {
        case none
        case started
        case ended
        /// Nothing can be sent any more.
        case over
    }

    /// What the next frame of the body carries.
    enum Part {
        case later
        case bytes(Int)
        case last(Int, hasTrailers: Bool)
    }

    let id: Int32
    let responder: any Responder
    let connection: HTTP2Connection
    /// Its index among the connection's open streams.
    var position = 0
    private var phase = Phase.none
    private var isHeadRequest = false
    /// Whether it was opened for a tunnel, so that its bytes are not a body.
    private var isForTunnel = false
    /// The buffer of the request's head, released when the stream is closed.
    var requestBuffer: ByteBuffer?

    // The request's body.
    /// A request that usually has no body and whose head does not rule one out; held until the next frame.
    private var undecided: RequestHead?
    var isRequestComplete = false
    private var isFinishReported = false
    private var isPaused = false
    private var unconsumed = 0
    private var bodyBegan = NIODeadline.distantFuture
    private var pausedAt = NIODeadline.distantFuture
    private var bodyBytes: Int64 = 0
    /// When the body must have progressed; after the response, when the request must be complete.
    var bodyDeadline = NIODeadline.distantFuture

    // The response.
    private var head: ByteBuffer?
    private var hasSentHead = false
    private(set) var isResponseSent = false
    /// Bytes of the request's body received after that.
    private var dropped = 0
    /// The next part of the body; most bodies have one part, others continue in ``parts``.
    private var part = ByteBuffer()
    /// Whether its buffer is from the pool.
    private var ownsPart = false
    private var parts: [ByteBuffer] = []
    private var nextPart = 0
    private var waitingBytes = 0
    private var trailers: ByteBuffer?
    private var resetCode: HTTP2CloseCode?
    private var isDeferred = false
    var isNoted = false
    /// Whether the responder was paused.
    private var isWriterPaused = false
    /// When the client last took bytes.
    var progressed: NIODeadline
    /// How many bytes of the body are in frames, and how fast.
    private var taken: Int64 = 0
    private var download = DownloadRate()

    init(id: Int32, connection: HTTP2Connection, responder: any Responder) {
        self.id = id
        self.connection = connection
        self.responder = responder
        self.progressed = connection.arrived
    }
}

// MARK: The request

extension HTTP2Stream {
    /// Passes the request to the responder.
    func begin(_ request: RequestHead, endsStream: Bool) {
        self.isHeadRequest = request.method.isHead
        self.isForTunnel = request.isExtendedConnect
        self.requestBuffer = request.message.bytes
        self.isRequestComplete = endsStream
        if !endsStream {
            self.bodyBegan = self.connection.arrived
            self.armBodyDeadline()
        }
        let isClear = endsStream || request.framing != .chunked || self.isForTunnel || request.expectsContinue
        guard isClear || request.method.usuallyHasBody else {
            self.undecided = request
            return
        }
        self.responder.begin(request, on: self)
        if endsStream || request.framing == .none { self.reportFinish() }
    }

    /// Passes on a request that was held until its first DATA frame: some clients end a stream without a body with an
    /// empty one, and an app must not get a chunked body for that.
    private func decide(hasBody: Bool) {
        guard let request = self.undecided.take(), self.phase == .none else { return }
        self.responder.begin(hasBody ? request : request.withoutBody, on: self)
    }

    /// Resets a stream whose head is malformed.
    func reject() {
        self.phase = .ended
        self.reset(.protocolError)
    }

    /// Responds to a well-formed request that must not be passed on.
    func reject(_ response: Response, endsStream: Bool, isHead: Bool) {
        self.isHeadRequest = isHead
        self.isRequestComplete = endsStream
        self.isFinishReported = true
        self.respond(response)
    }

    /// Takes a part of the body.
    func received(_ body: ByteBuffer) {
        let count = body.readableBytes
        guard count > 0 else { return }
        switch self.phase {
        case .ended, .over:
            self.drop(count)
            return
        case .none, .started:
            self.decide(hasBody: true)
        }
        self.bodyBytes += Int64(count)
        self.unconsumed += count
        self.responder.receive(body)
        self.giveWindow()
        self.armBodyDeadline()
    }

    /// Drops a part of the body after the response is complete; resets the stream if there is too much.
    private func drop(_ count: Int) {
        self.connection.session?.consume(count, of: self.id)
        guard self.isResponseSent else {
            // The response may still be on its way to a slow client, so both directions need time.
            self.bodyBytes += Int64(count)
            self.armBodyDeadline()
            return
        }
        self.dropped += count
        if self.dropped > self.connection.environment.limits.lingerBytes { self.reset(.noError) }
    }

    /// The body is complete.
    func requestEnded() {
        self.isRequestComplete = true
        self.bodyDeadline = .distantFuture
        switch self.phase {
        case .none, .started:
            self.decide(hasBody: false)
            if self.isForTunnel { self.responder.tunnelEnded() } else { self.reportFinish() }
        case .ended, .over: break
        }
    }

    private func reportFinish() {
        guard !self.isFinishReported, self.phase == .none || self.phase == .started else { return }
        self.isFinishReported = true
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
            // The time of the pause does not count against the client.
            self.bodyBegan = self.bodyBegan + (.now() - self.pausedAt)
            self.armBodyDeadline()
        }
        self.giveWindow()
    }

    /// The next deadline of the body: for silence, and for a rate below the minimum.
    private func armBodyDeadline() {
        guard !self.isRequestComplete, !self.isPaused, !self.isForTunnel else { return }
        let limits = self.connection.environment.limits
        let paid = TimeAmount.seconds(min(self.bodyBytes / max(1, limits.bodyRate), 1_000_000_000))
        self.bodyDeadline = min(
            NIODeadline.now() + limits.bodyInactivity,
            self.bodyBegan + limits.bodyGrace + paid
        )
    }

    /// Responds to a body that is too slow with 408, if no response has started.
    func rejectSlowBody() {
        self.bodyDeadline = .distantFuture
        guard self.phase == .none else {
            self.reset(self.isResponseSent ? .noError : .cancel)
            return
        }
        self.cancelRequest()
        self.respond(self.responder.response(to: WireRejection(.wireTooSlow)))
    }

    /// Cancels the request, unless it is still held and was not passed to the responder.
    private func cancelRequest() {
        guard self.undecided.take() == nil else { return }
        self.responder.cancel()
    }

    /// Limits the rest of the request after the response is complete.
    ///
    /// A reset could follow immediately, RFC 9113 §8.1, and clients must then keep the response; but some drop it, or
    /// fail while they send the end of a body. So they get time to finish, and what they send is dropped.
    func responseSent() {
        guard !self.isRequestComplete else { return }
        guard !self.isForTunnel else {
            self.connection.session?.reset(self.id, .noError)
            return
        }
        self.isResponseSent = true
        self.isPaused = false
        self.giveWindow()
        self.bodyDeadline = .now() + self.connection.environment.limits.linger
    }

    /// Resets the stream; the responder is cancelled when it is closed.
    func reset(_ code: HTTP2CloseCode) {
        self.resetCode = code
        self.connection.note(self)
    }
}

// MARK: The response

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

    func respond(_ response: Response) {
        guard self.phase == .none else { return }
        let status = response.head.status.code
        let hasBody = !self.isHeadRequest && status != 204 && status != 304
        var bytes = response.encoded(
            closes: false,
            forHead: self.isHeadRequest,
            date: self.connection.environment.date,
            into: self.freshBuffer(capacity: 512 + response.body.count)
        )
        self.head = bytes.readSlice(length: bytes.readableBytes - (hasBody ? response.body.count : 0))
        self.phase = .started
        if hasBody { self.write(response.sharedBody ?? bytes) }
        self.end()
    }

    func start(_ head: consuming ByteBuffer, framing: BodyFraming, closes: Bool) {
        guard self.phase == .none else { return }
        self.phase = .started
        self.head = head
        self.connection.note(self)
    }

    func retract() -> Bool {
        guard self.phase == .started, !self.hasSentHead else { return false }
        self.phase = .none
        self.head = nil
        self.dropWaiting()
        return true
    }

    func startTunnel(_ head: consuming ByteBuffer) {
        self.start(head, framing: .untilClose, closes: false)
    }

    func closeAfterResponse() {}

    func replaceConnection() { self.connection.drain() }

    @discardableResult
    func write(_ body: ByteBuffer) -> Bool {
        guard self.phase == .started, body.readableBytes > 0, !self.isHeadRequest else { return true }
        if self.waitingBytes == 0 {
            self.progressed = .now()
            self.download.reset()
            self.begin(body)
        } else {
            self.parts.append(body)
        }
        self.waitingBytes += body.readableBytes
        self.connection.waitingBytes += body.readableBytes
        self.connection.note(self)
        let limits = self.connection.environment.limits
        let isFull =
            self.waitingBytes >= limits.streamBacklog || self.connection.waitingBytes >= limits.connectionBacklog
        if isFull, !self.isWriterPaused {
            self.isWriterPaused = true
            self.connection.pausedWriters += 1
        }
        return !isFull
    }

    /// A few bytes are copied, so that the read buffer can be reused.
    private func begin(_ body: ByteBuffer) {
        self.ownsPart = body.readableBytes <= 2048
        guard self.ownsPart else {
            self.part = body
            return
        }
        self.part = self.freshBuffer(capacity: body.readableBytes)
        self.part.writeImmutableBuffer(body)
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

    func close() {
        guard self.phase != .over else { return }
        let awaitsResponse = self.phase == .none || self.phase == .started
        self.phase = .ended
        self.reset(.internalError)
        // The responder may serve another stream next and must be idle.
        if awaitsResponse { self.cancelRequest() }
    }

    func freshBuffer(capacity: Int) -> ByteBuffer { self.connection.environment.buffers.acquire(capacity: capacity) }
}

// MARK: To libnghttp2

extension HTTP2Stream {
    /// Submits what was noted since the last time.
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
            if !session.submitResponse(head, on: self, hasBody: !isWhole) { session.reset(self.id, .internalError) }
            self.connection.environment.buffers.release(head)
        } else if self.isDeferred {
            self.isDeferred = false
            session.resume(self.id)
        }
    }

    /// How much of the body goes into a frame of at most `capacity` bytes.
    func nextPart(upTo capacity: Int) -> Part {
        let count = min(capacity, self.waitingBytes)
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
        while left > 0 {
            guard self.part.readableBytes > 0 || self.takeNextPart() else { break }
            let length = min(left, self.part.readableBytes)
            if length == self.part.readableBytes {
                session.outbound.writeBuffer(&self.part)
                if self.ownsPart { self.connection.environment.buffers.release(self.part) }
                self.ownsPart = false
                self.part = ByteBuffer()
            } else if var start = self.part.readSlice(length: length) {
                session.outbound.writeBuffer(&start)
            }
            left -= length
        }
        self.waitingBytes -= count
        self.connection.waitingBytes -= count
        self.progressed = self.connection.flushedAt
        self.taken += Int64(count)
        self.connection.carried(count)
    }

    /// Continues with the next part; false when there is no more.
    private func takeNextPart() -> Bool {
        guard self.nextPart < self.parts.count else { return false }
        self.part = self.parts[self.nextPart]
        self.parts[self.nextPart] = ByteBuffer()
        self.nextPart += 1
        if self.nextPart == self.parts.count {
            self.parts.removeAll(keepingCapacity: true)
            self.nextPart = 0
        } else if self.nextPart >= 32 {
            self.parts.removeFirst(self.nextPart)
            self.nextPart = 0
        }
        return true
    }

    /// Whether the client takes nothing, or too little, of what is queued.
    func isStuck(at now: NIODeadline) -> Bool {
        guard self.waitingBytes > 0 else { return false }
        let limits = self.connection.environment.limits
        guard self.progressed > now - limits.writeStall else { return true }
        return !self.download.isFastEnough(taken: self.taken, at: now, within: limits)
    }

    /// Resumes the responder when enough has been taken.
    func resumeWriterIfDrained() {
        let limits = self.connection.environment.limits
        guard self.isWriterPaused, self.waitingBytes <= limits.streamBacklog / 2,
            self.connection.waitingBytes <= limits.connectionBacklog / 2
        else { return }
        self.isWriterPaused = false
        self.connection.pausedWriters -= 1
        self.responder.downstreamWritabilityChanged(isWritable: true)
    }

    /// Releases everything when the stream is closed.
    func didClose() {
        let awaitsResponse = self.phase == .none || self.phase == .started
        self.phase = .over
        self.dropWaiting()
        if self.unconsumed > 0 {
            self.connection.session?.consume(self.unconsumed)
            self.unconsumed = 0
        }
        if awaitsResponse { self.cancelRequest() }
    }

    /// Drops what is not in frames yet.
    private func dropWaiting() {
        self.connection.waitingBytes -= self.waitingBytes
        self.waitingBytes = 0
        self.part = ByteBuffer()
        self.parts = []
        self.nextPart = 0
        guard self.isWriterPaused else { return }
        self.isWriterPaused = false
        self.connection.pausedWriters -= 1
    }
}
