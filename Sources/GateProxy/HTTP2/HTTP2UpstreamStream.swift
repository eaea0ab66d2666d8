// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateNet
internal import GateWire
package import NIOCore

/// One request over an HTTP/2 connection to an upstream; confined to the connection's event loop.
package final class HTTP2UpstreamStream: UpstreamStream {
    private enum Phase {
        /// The request has not been sent.
        case reserved
        case head(interim: Int)
        case body
        case ended
    }

    /// How much of a request's body may wait here.
    private static let maxPending = 64 * 1024

    /// Whether the connection has carried a request before, so that its end may be the upstream's idle time-out.
    package let isReused: Bool
    let connection: HTTP2UpstreamConnection
    /// The stream's number; nil before the request is sent.
    private(set) var id: Int32?
    /// When to give up.
    private(set) var deadline = NIODeadline.distantFuture
    private(set) var call = UpstreamRequest(.get)
    private(set) var sink: (any UpstreamSink)?
    private var phase = Phase.reserved
    private var pending = CircularBuffer<ByteBuffer>()
    private var pendingBytes = 0
    private var isRequestSent = false
    private var isPaused = false
    private var isPatient = false
    /// Whether the sink was told to wait.
    private var isFull = false
    /// Bytes of the answer for which the window has not been given back.
    private var untaken = 0
    /// When the client's time is over.
    private var total: NIODeadline?

    init(on connection: HTTP2UpstreamConnection, for sink: any UpstreamSink) {
        self.connection = connection
        self.isReused = connection.isReused
        self.sink = sink
    }

    /// Whether more may be sent without piling up.
    package var isWritable: Bool { self.pendingBytes < HTTP2UpstreamStream.maxPending }
    private var limits: UpstreamLimits { self.connection.limits }
}

// MARK: Sending

extension HTTP2UpstreamStream {
    /// Sends the head of a request, without flushing.
    package func send(_ head: ByteBuffer, for call: UpstreamRequest) {
        guard case .reserved = self.phase else { return }
        self.call = call
        self.isPatient = call.isPatient
        self.total = call.budget.map { .now() + $0 }
        self.phase = .head(interim: 0)
        self.awaitAnswer()
        self.id = self.connection.submit(head, for: self)
        if self.id == nil { self.fail(.refusedStream) }
    }

    /// Sends a part of the request's body, without flushing.
    package func send(_ body: ByteBuffer) {
        guard !self.hasEnded else { return }
        self.pending.append(body)
        self.pendingBytes += body.readableBytes
        // What was under way still comes after the sink was told to wait, which then must hear that it may go on.
        if !self.isWritable { self.isFull = true }
        if !self.isPaused { self.awaitProgress() }
        if let id { self.connection.session?.resume(id) }
    }

    /// The request is complete.
    package func finishRequest() {
        guard !self.isRequestSent, !self.hasEnded else { return }
        self.isRequestSent = true
        guard self.call.framing != .none else { return }
        if case .head = self.phase { self.awaitAnswer() }
        if let id { self.connection.session?.resume(id) }
    }

    /// Hands what was sent to the network.
    package func flush() {
        self.connection.flush()
    }

    /// Gives the request up: nobody wants the answer any more.
    package func cancel() {
        self.sink = nil
        self.end(.cancel)
    }

    /// Stops reading the answer, until ``resumeReading()``.
    package func pauseReading() {
        self.isPaused = true
        self.deadline = self.total ?? .distantFuture
    }

    /// Reads on.
    package func resumeReading() {
        guard self.isPaused else { return }
        self.isPaused = false
        self.awaitProgress()
        self.giveBack()
        self.connection.flush()
    }

    /// The next part of the body, for a frame of at most so many bytes.
    func nextPart(upTo most: Int) -> ByteBuffer {
        guard var first = self.pending.popFirst() else { return ByteBuffer() }
        let part = first.readSlice(length: min(most, first.readableBytes)) ?? ByteBuffer()
        if first.readableBytes > 0 { self.pending.prepend(first) }
        self.pendingBytes -= part.readableBytes
        self.connection.bodySent()
        return part
    }

    /// Whether the whole body has been handed out.
    var isBodyDone: Bool { self.isRequestSent && self.pending.isEmpty }

    /// Tells the sink that more may be sent; called when no frames are being written.
    func tellIfWritable() {
        guard self.isFull, self.pendingBytes <= HTTP2UpstreamStream.maxPending / 2 else { return }
        self.isFull = false
        self.sink?.upstreamWritabilityChanged(isWritable: true)
    }
}

// MARK: Receiving

extension HTTP2UpstreamStream {
    /// Whether the next block of fields is a head, not the trailers.
    var awaitsHead: Bool {
        if case .head = self.phase { true } else { false }
    }

    private var hasEnded: Bool {
        if case .ended = self.phase { true } else { false }
    }

    func received(_ head: ResponseHead, endsStream: Bool) {
        guard case .head(let interim) = self.phase else { return }
        guard !head.isInterim else {
            // 101 has no meaning over HTTP/2 and is refused with the block.
            guard interim < self.limits.interim, !endsStream else {
                self.refuse(WireRejection(.upstreamUnexpectedInterim))
                return
            }
            self.phase = .head(interim: interim + 1)
            if head.status == 103 { self.sink?.upstreamReceivedEarlyHints(head) }
            return
        }
        self.connection.pool.outcomes?.answered(head.status)
        self.isPatient = self.isPatient || head.isEventStream
        self.phase = .body
        self.awaitProgress()
        self.sink?.upstreamReceivedHead(head)
        if endsStream { self.answerEnded() }
    }

    func received(trailers: ByteBuffer, endsStream: Bool) {
        guard case .body = self.phase else { return }
        guard endsStream else { return self.refuse(WireRejection(.upstreamFraming)) }
        self.sink?.upstreamReceivedTrailers(trailers)
        self.answerEnded()
    }

    func received(_ body: ByteBuffer) {
        guard case .body = self.phase else { return }
        self.untaken += body.readableBytes
        if !self.isPaused { self.awaitProgress() }
        self.sink?.upstreamReceivedBody(body)
        if !self.isPaused { self.giveBack() }
    }

    /// The answer is complete; what is left of the request is not wanted any more.
    func answerEnded() {
        guard case .body = self.phase else { return }
        let sink = self.sink
        self.sink = nil
        self.connection.isReused = true
        let isWhole = self.call.framing == .none || self.isBodyDone
        self.end(isWhole ? nil : HTTP2ClientSession.Code.none)
        sink?.upstreamFinished()
        sink?.upstreamReadComplete()
    }

    /// The stream is no more, or the connection.
    func closed(wasRefused: Bool) {
        switch self.phase {
        case .ended: break
        case .reserved: self.fail(.refusedStream, telling: nil)
        case .head: self.fail(wasRefused ? .refusedStream : .closedBeforeResponse, telling: nil)
        case .body: self.fail(.closedInResponse, telling: nil)
        }
    }

    func refuse(_ refusal: WireRejection) {
        self.fail(.refused(refusal), telling: .protocolError)
    }

    /// The deadline has passed.
    func expire(at now: NIODeadline) {
        let isOutOfTime = self.total.map { $0 <= now } ?? false
        self.fail(isOutOfTime ? .clientDeadlineExceeded : .timedOut)
    }

    /// Ends the stream; who has closed it already is told nothing.
    private func fail(_ problem: UpstreamFailure, telling code: HTTP2ClientSession.Code? = .cancel) {
        guard !self.hasEnded else { return }
        let sink = self.sink
        self.sink = nil
        if problem != .closedBeforeResponse || !self.isReused, problem != .refusedStream,
            problem != .clientDeadlineExceeded
        {
            self.connection.pool.outcomes?.failed()
        }
        self.end(code)
        sink?.upstreamFailed(problem)
        sink?.upstreamReadComplete()
    }

    /// Ends the stream here; the peer is told a code unless both sides are complete.
    private func end(_ code: HTTP2ClientSession.Code?) {
        guard !self.hasEnded else { return }
        self.phase = .ended
        self.deadline = .distantFuture
        self.pending.removeAll()
        self.pendingBytes = 0
        self.connection.ended(self, telling: code)
    }

    private func giveBack() {
        guard self.untaken > 0, let id else { return }
        self.connection.session?.consume(self.untaken, of: id)
        self.untaken = 0
    }

    private func awaitAnswer() {
        if let total {
            self.deadline = total
        } else {
            self.deadline = self.isPatient ? .distantFuture : .now() + self.limits.responseHead
        }
    }

    private func awaitProgress() {
        let silence = self.isPatient ? NIODeadline.distantFuture : .now() + self.limits.inactivity
        if case .head = self.phase, let total {
            self.deadline = total
        } else {
            self.deadline = min(silence, self.total ?? .distantFuture)
        }
    }
}
