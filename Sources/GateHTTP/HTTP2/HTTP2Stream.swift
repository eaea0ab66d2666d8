// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateWire
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
    let connection: HTTP2Connection
    /// Where the connection keeps it among its open streams.
    var position = 0
    var phase = Phase.none
    var isHeadRequest = false
    /// Whether it was opened for a tunnel, so that what comes is no body.
    private var isForTunnel = false
    /// The memory of the request's head, used again when the stream is closed.
    var requestMemory: ByteBuffer?

    // The request's body.
    /// A request that usually has no body and whose head did not say that it has none, until the next frame shows it.
    private var undecided: RequestHead?
    var isRequestComplete = false
    var isFinishTold = false
    var isPaused = false
    var unconsumed = 0
    var bodyBegan = NIODeadline.distantFuture
    var pausedAt = NIODeadline.distantFuture
    var bodyBytes: Int64 = 0
    /// When the body must have moved on; after the answer, when the request must be over.
    var bodyDeadline = NIODeadline.distantFuture

    // The answer.
    var head: ByteBuffer?
    var hasSentHead = false
    /// Whether all of it has gone out.
    private(set) var isAnswerSent = false
    /// Bytes of the body that have come since.
    private var dropped = 0
    /// The part of the body that goes out next, and those behind it; most bodies have one part only.
    var part = ByteBuffer()
    /// Whether its memory is to be used again.
    var ownsPart = false
    var parts: [ByteBuffer] = []
    var nextPart = 0
    var waitingBytes = 0
    var trailers: ByteBuffer?
    var resetCode: HTTP2Session.Code?
    var isDeferred = false
    var isNoted = false
    /// Whether the responder was told to wait.
    var isHeldUp = false
    /// When the client last took something.
    var progressed: NIODeadline
    /// How many bytes of the body have become frames, and how fast.
    var taken: Int64 = 0
    var download = DownloadRate()

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
        self.isHeadRequest = request.method.isHead
        self.isForTunnel = request.isExtendedConnect
        self.requestMemory = request.message.bytes
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
        if endsStream || request.framing == .none { self.tellFinish() }
    }

    /// Hands a request over that waited for its first DATA frame: some clients end a stream without a body with an empty one,
    /// and an app must not get a chunked body for that.
    private func decide(hasBody: Bool) {
        guard let request = self.undecided.take(), self.phase == .none else { return }
        self.responder.begin(hasBody ? request : request.withoutBody, on: self)
    }

    /// Resets what was no request.
    func refuse() {
        self.phase = .ended
        self.giveUp(.protocolError)
    }

    /// Answers what was a request, but none that may be passed on.
    func refuse(_ answer: Response, endsStream: Bool, isHead: Bool) {
        self.isHeadRequest = isHead
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

    /// Takes a part of the body that the answer was complete without; of much more nobody wants to hear.
    private func drop(_ count: Int) {
        self.connection.session?.consume(count, of: self.id)
        guard self.isAnswerSent else {
            // Both directions move: the answer may still be on its way to a slow client.
            self.bodyBytes += Int64(count)
            self.armBodyDeadline()
            return
        }
        self.dropped += count
        if self.dropped > self.connection.setting.limits.lingerBytes { self.giveUp(.none) }
    }

    /// The body is complete.
    func requestEnded() {
        self.isRequestComplete = true
        self.bodyDeadline = .distantFuture
        switch self.phase {
        case .none, .started:
            self.decide(hasBody: false)
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
            self.giveUp(self.isAnswerSent ? .none : .cancel)
            return
        }
        self.responder.cancel()
        self.respond(self.responder.answer(to: WireRejection(.wireTooSlow)))
    }

    /// The answer has gone out whole; if the request is still coming, nobody wants the rest.
    ///
    /// A reset may follow at once, RFC 9113 §8.1, and clients must not drop the answer then; but some do, or fail while
    /// they send the end of a body that is complete. So they are given the time to end, and what they send is dropped.
    func answerSent() {
        guard !self.isRequestComplete else { return }
        guard !self.isForTunnel else {
            self.connection.session?.reset(self.id, .none)
            return
        }
        self.isAnswerSent = true
        self.isPaused = false
        self.giveWindow()
        self.bodyDeadline = .now() + self.connection.setting.limits.linger
    }

    /// Ends the stream from our side; the responder hears of it when it is closed.
    func giveUp(_ code: HTTP2Session.Code) {
        self.resetCode = code
        self.connection.note(self)
    }
}
