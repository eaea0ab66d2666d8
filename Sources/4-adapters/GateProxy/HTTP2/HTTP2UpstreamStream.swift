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

    /// How many bytes of a request's body may be queued here.
    private static let maxPending = 64 * 1024

    /// Whether the connection has carried a request before, so that its close may be the upstream's idle time-out.
    package let isReused: Bool
    let connection: HTTP2UpstreamConnection
    /// The stream number; nil before the request is sent.
    private(set) var id: Int32?
    /// The current deadline.
    private(set) var deadline = NIODeadline.distantFuture
    private(set) var call = UpstreamRequest(.get)
    private(set) var sink: (any UpstreamSink)?
    private var phase = Phase.reserved
    private var pending = CircularBuffer<ByteBuffer>()
    private var pendingBytes = 0
    private var isRequestSent = false
    private var isPaused = false
    private var isPatient = false
    /// Whether the sink was paused by back-pressure.
    private var isFull = false
    /// Bytes of the response for which the window is not updated yet.
    private var untaken = 0
    /// The deadline that the client has set.
    private var clientDeadline: NIODeadline?

    init(on connection: HTTP2UpstreamConnection, for sink: any UpstreamSink) {
        self.connection = connection
        self.isReused = connection.isReused
        self.sink = sink
    }

    /// Whether more of the body may be sent.
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
        self.clientDeadline = call.budget.map { .now() + $0 }
        self.phase = .head(interim: 0)
        self.awaitResponse()
        self.id = self.connection.submit(head, for: self)
        if self.id == nil { self.fail(.refusedStream) }
    }

    /// Sends a part of the request's body, without flushing.
    package func send(_ body: ByteBuffer) {
        guard !self.hasEnded else { return }
        self.pending.append(body)
        self.pendingBytes += body.readableBytes
        // Bytes in transit still arrive after the sink was paused, and it must be resumed later.
        if !self.isWritable { self.isFull = true }
        if !self.isPaused { self.awaitProgress() }
        if let id { self.connection.session?.resume(id) }
    }

    /// The request is complete.
    package func finishRequest() {
        guard !self.isRequestSent, !self.hasEnded else { return }
        self.isRequestSent = true
        guard self.call.framing != .none else { return }
        if case .head = self.phase { self.awaitResponse() }
        if let id { self.connection.session?.resume(id) }
    }

    /// Hands written frames to the network.
    package func flush() {
        self.connection.flush()
    }

    /// Cancels the request.
    package func cancel() {
        self.sink = nil
        self.end(.cancel)
    }

    /// Stops reading the response, until ``resumeReading()``.
    package func pauseReading() {
        self.isPaused = true
        self.deadline = self.clientDeadline ?? .distantFuture
    }

    /// Resumes reading the response.
    package func resumeReading() {
        guard self.isPaused else { return }
        self.isPaused = false
        self.awaitProgress()
        self.updateWindow()
        self.connection.flush()
    }

    /// The next part of the body, for a frame of at most `limit` bytes.
    func nextPart(upTo limit: Int) -> ByteBuffer {
        guard var first = self.pending.popFirst() else { return ByteBuffer() }
        let part = first.readSlice(length: min(limit, first.readableBytes)) ?? ByteBuffer()
        if first.readableBytes > 0 { self.pending.prepend(first) }
        self.pendingBytes -= part.readableBytes
        self.connection.bodySent()
        return part
    }

    /// Whether the whole body is in frames.
    var isBodyDone: Bool { self.isRequestSent && self.pending.isEmpty }

    /// Resumes the sink; called while no frames are being written.
    func resumeSinkIfWritable() {
        guard self.isFull, self.pendingBytes <= HTTP2UpstreamStream.maxPending / 2 else { return }
        self.isFull = false
        self.sink?.upstreamWritabilityChanged(isWritable: true)
    }
}

// MARK: Receiving

extension HTTP2UpstreamStream {
    /// Whether the next header section is a head, not the trailers.
    var awaitsHead: Bool {
        if case .head = self.phase { true } else { false }
    }

    private var hasEnded: Bool {
        if case .ended = self.phase { true } else { false }
    }

    func received(_ head: ResponseHead, endsStream: Bool) {
        guard case .head(let interim) = self.phase else { return }
        guard !head.isInterim else {
            // 101 has no meaning over HTTP/2 and is rejected with the header section.
            guard interim < self.limits.interim, !endsStream else {
                self.reject(WireRejection(.upstreamUnexpectedInterim))
                return
            }
            self.phase = .head(interim: interim + 1)
            if head.status == 103 { self.sink?.upstreamReceivedEarlyHints(head) }
            return
        }
        self.connection.pool.outcomes?.responded(head.status)
        self.isPatient = self.isPatient || head.isEventStream
        self.phase = .body
        self.awaitProgress()
        self.sink?.upstreamReceivedHead(head)
        if endsStream { self.responseEnded() }
    }

    func received(trailers: ByteBuffer, endsStream: Bool) {
        guard case .body = self.phase else { return }
        guard endsStream else { return self.reject(WireRejection(.upstreamFraming)) }
        self.sink?.upstreamReceivedTrailers(trailers)
        self.responseEnded()
    }

    func received(_ body: ByteBuffer) {
        guard case .body = self.phase else { return }
        self.untaken += body.readableBytes
        if !self.isPaused { self.awaitProgress() }
        self.sink?.upstreamReceivedBody(body)
        if !self.isPaused { self.updateWindow() }
    }

    /// The response is complete; the rest of the request is dropped.
    func responseEnded() {
        guard case .body = self.phase else { return }
        let sink = self.sink
        self.sink = nil
        self.connection.isReused = true
        let isWhole = self.call.framing == .none || self.isBodyDone
        self.end(isWhole ? nil : HTTP2CloseCode.noError)
        sink?.upstreamFinished()
        sink?.upstreamReadComplete()
    }

    /// The stream or the connection has closed.
    func closed(wasRefused: Bool) {
        switch self.phase {
        case .ended: break
        case .reserved: self.fail(.refusedStream, errorCode: nil)
        case .head: self.fail(wasRefused ? .refusedStream : .closedBeforeResponse, errorCode: nil)
        case .body: self.fail(.closedInResponse, errorCode: nil)
        }
    }

    func reject(_ rejection: WireRejection) {
        self.fail(.rejected(rejection), errorCode: .protocolError)
    }

    /// Fails the request at its deadline.
    func expire(at now: NIODeadline) {
        let isOutOfTime = self.clientDeadline.map { $0 <= now } ?? false
        self.fail(isOutOfTime ? .clientDeadlineExceeded : .timedOut)
    }

    /// Fails the request, unless it has ended.
    private func fail(_ failure: UpstreamFailure, errorCode code: HTTP2CloseCode? = .cancel) {
        guard !self.hasEnded else { return }
        let sink = self.sink
        self.sink = nil
        if failure != .closedBeforeResponse || !self.isReused, failure != .refusedStream,
            failure != .clientDeadlineExceeded
        {
            self.connection.pool.outcomes?.failed()
        }
        self.end(code)
        sink?.upstreamFailed(failure)
        sink?.upstreamReadComplete()
    }

    /// Ends the stream here; the peer gets an error code unless both sides are complete.
    private func end(_ code: HTTP2CloseCode?) {
        guard !self.hasEnded else { return }
        self.phase = .ended
        self.deadline = .distantFuture
        self.pending.removeAll()
        self.pendingBytes = 0
        self.connection.ended(self, errorCode: code)
    }

    private func updateWindow() {
        guard self.untaken > 0, let id else { return }
        self.connection.session?.consume(self.untaken, of: id)
        self.untaken = 0
    }

    private func awaitResponse() {
        if let clientDeadline {
            self.deadline = clientDeadline
        } else {
            self.deadline = self.isPatient ? .distantFuture : .now() + self.limits.responseHead
        }
    }

    private func awaitProgress() {
        let silence = self.isPatient ? NIODeadline.distantFuture : .now() + self.limits.inactivity
        if case .head = self.phase, let clientDeadline {
            self.deadline = clientDeadline
        } else {
            self.deadline = min(silence, self.clientDeadline ?? .distantFuture)
        }
    }
}
