// SPDX-License-Identifier: Apache-2.0

internal import GateNet
internal import GateWire
package import NIOCore

/// One HTTP/1.1 connection to an upstream, which carries one request at a time; confined to its channel's event loop.
///
/// It goes back to its pool only after a request and an answer that were both complete, and with not a byte to spare.
package final class HTTP1UpstreamConnection: ChannelDuplexHandler, SocketReader, UpstreamStream, Expiring, Flushable {
    /// What the channel hands in.
    package typealias InboundIn = ByteBuffer
    /// What the channel is handed.
    package typealias OutboundIn = ByteBuffer
    /// What goes to the channel.
    package typealias OutboundOut = ByteBuffer

    enum Phase {
        case idle
        case head(interim: Int)
        case body(BodyReader)
        /// Bytes go both ways as they are.
        case tunnel
        /// All is sent; what still comes is dropped until the app ends the connection as well.
        case leaving
        case ended
    }

    /// Whether it has carried a request before, so that its end may be the upstream's idle time-out.
    package internal(set) var isReused = false
    /// Whether more may be sent without piling up; what the channel last said.
    package internal(set) var isWritable = true
    /// When to give up, see `Expiring`.
    package internal(set) var deadline = NIODeadline.distantFuture

    let limits: UpstreamLimits
    /// When the bytes at hand arrived.
    var arrived = NIODeadline.now()
    let parser: ResponseParser
    let pool: HTTP1Pool
    var context: ChannelHandlerContext?
    /// The way to the channel, as long as there is one.
    var line: ChannelIO?
    var sink: (any UpstreamSink)?
    var call = UpstreamRequest(.get)
    var phase = Phase.idle
    var inbound = ByteBuffer()
    var isRequestSent = false
    var keepsAlive = true
    var isPaused = false
    var isFlushPending = false
    var wantsRead = false
    /// Whether the answer under way may be silent.
    var isPatient = false
    /// Whether the app may have left the request's body unread, so that it would take it for the next request.
    var mayHoldBody = false

    init(pool: HTTP1Pool, limits: UpstreamLimits) {
        self.pool = pool
        self.limits = limits
        self.parser = ResponseParser(names: .response, limits: limits.head)
    }

    /// Whether it can take a request.
    var isUsable: Bool {
        guard case .idle = self.phase else { return false }
        return self.context != nil
    }

    /// Gives it to a request, whose events go to `sink` from now on.
    func lend(to sink: any UpstreamSink) {
        self.sink = sink
    }

    /// Closes it if it is idle; called when the pool is given up.
    func shutDown() {
        self.keepsAlive = false
        if case .idle = self.phase { self.context?.close(promise: nil) }
    }

    func close() {
        self.phase = .ended
        self.deadline = .distantFuture
        self.context?.close(promise: nil)
    }

    func fail(_ problem: UpstreamFailure) {
        let sink = self.sink
        self.sink = nil
        self.note(problem)
        self.close()
        sink?.upstreamFailed(problem)
        sink?.upstreamReadComplete()
    }

    /// Notes a failure that speaks against the target: a kept connection may have ended for no reason at all.
    func note(_ problem: UpstreamFailure) {
        guard let outcomes = self.pool.outcomes, problem != .closedBeforeResponse || !self.isReused else { return }
        outcomes.failed()
    }
}

// MARK: Sending

extension HTTP1UpstreamConnection {
    /// Sends the head of a request, without flushing.
    package func send(_ head: ByteBuffer, for call: UpstreamRequest) {
        guard self.context != nil else { return self.fail(.closedBeforeResponse) }
        self.phase = .head(interim: 0)
        self.call = call
        self.isRequestSent = false
        self.mayHoldBody = false
        self.isPatient = call.isPatient
        self.awaitAnswer()
        self.line?.write(head)
    }

    /// Sends a part of the request's body, without flushing.
    package func send(_ body: ByteBuffer) {
        if !self.isPaused { self.awaitProgress(from: .now()) }
        guard case .chunked = self.call.framing else {
            self.line?.write(body)
            return
        }
        var chunk = ByteBuffer(string: String(body.readableBytes, radix: 16) + "\r\n")
        if body.readableBytes <= 16 * 1024 {
            chunk.writeImmutableBuffer(body)
            chunk.writeStaticString("\r\n")
            self.line?.write(chunk)
        } else {
            self.line?.write(chunk)
            self.line?.write(body)
            self.line?.write(ByteBuffer(staticString: "\r\n"))
        }
    }

    /// The request is complete; after a body the wait for the answer starts anew.
    package func finishRequest() {
        self.isRequestSent = true
        guard self.call.framing != .none else { return }
        if case .chunked = self.call.framing {
            self.line?.write(ByteBuffer(staticString: "0\r\n\r\n"))
        }
        if case .head = self.phase { self.awaitAnswer() }
    }

    /// Hands what was sent to the network.
    package func flush() {
        guard !self.isFlushPending else { return }
        guard let flushes = self.pool.flushes else {
            self.flushNow()
            return
        }
        self.isFlushPending = true
        flushes.add(self)
    }

    /// Hands what was sent to the network now.
    package func flushNow() {
        self.isFlushPending = false
        self.line?.flush()
    }

    /// Gives the request up: nobody wants the answer any more.
    package func cancel() {
        self.sink = nil
        self.phase = .ended
        self.context?.close(promise: nil)
    }

    /// Closes the output once all is sent, and reads on.
    package func endTunnelOutput() {
        self.flushNow()
        self.context?.close(mode: .output, promise: nil)
    }

    /// Closes the output once all is sent, and gives the app a little time to close its own.
    package func endTunnel() {
        self.sink = nil
        guard case .tunnel = self.phase, let context else { return self.cancel() }
        self.phase = .leaving
        self.deadline = .now() + self.limits.tunnelEnd
        context.flush()
        context.close(mode: .output, promise: nil)
        self.isPaused = false
        guard self.wantsRead else { return }
        self.wantsRead = false
        context.read()
    }

    /// Stops reading the answer, until ``resumeReading()``.
    package func pauseReading() {
        self.isPaused = true
        self.deadline = .distantFuture
    }

    /// Reads on.
    package func resumeReading() {
        guard self.isPaused else { return }
        self.isPaused = false
        self.awaitProgress(from: .now())
        guard self.wantsRead else { return }
        self.wantsRead = false
        self.line?.read()
    }

    /// The answer must begin in time, unless it may take as long as it likes.
    private func awaitAnswer() {
        self.deadline = self.isPatient ? .distantFuture : .now() + self.limits.responseHead
    }

    /// Something must come or go in time, unless the answer may be silent.
    func awaitProgress(from now: NIODeadline) {
        self.deadline = self.isPatient ? .distantFuture : now + self.limits.inactivity
    }
}
