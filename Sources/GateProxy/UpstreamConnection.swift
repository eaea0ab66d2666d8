// SPDX-License-Identifier: Apache-2.0

internal import GateHTTP
package import GateWire
package import NIOCore

/// One connection to an upstream, which carries one request at a time; confined to its channel's event loop.
///
/// It goes back to its pool only after a request and an answer that were both complete, and with not a byte to spare.
package final class UpstreamConnection: ChannelDuplexHandler, Expiring, Flushable {
    /// What the channel hands in.
    package typealias InboundIn = ByteBuffer
    /// What the channel is handed.
    package typealias OutboundIn = ByteBuffer
    /// What goes to the channel.
    package typealias OutboundOut = ByteBuffer

    private enum Phase {
        case idle
        case head(RequestMethod, interim: Int)
        case body(BodyReader)
        case ended
    }

    /// Whether it has carried a request before, so that its end may be the upstream's idle time-out.
    package private(set) var isReused = false
    /// Whether more may be sent without piling up; what the channel last said.
    package private(set) var isWritable = true
    /// When to give up, see `Expiring`.
    package private(set) var deadline = NIODeadline.distantFuture

    private let limits: UpstreamLimits
    /// When the bytes at hand arrived.
    private var arrived = NIODeadline.now()
    private let parser: ResponseParser
    private let pool: UpstreamPool
    private var context: ChannelHandlerContext?
    private var sink: (any UpstreamSink)?
    private var phase = Phase.idle
    private var inbound = ByteBuffer()
    private var isRequestSent = false
    private var keepsAlive = true
    private var isPaused = false
    private var isFlushPending = false
    private var wantsRead = false
    /// Whether the app may have left the request's body unread, so that it would take it for the next request.
    private var mayHoldBody = false
    private var hadBody = false

    init(pool: UpstreamPool, limits: UpstreamLimits) {
        self.pool = pool
        self.limits = limits
        self.parser = ResponseParser(names: .answers, limits: limits.head)
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
}

// MARK: Sending

extension UpstreamConnection {
    /// Sends the head of a request, without flushing.
    package func send(_ head: ByteBuffer, method: RequestMethod) {
        guard self.context != nil else { return self.fail(.closedBeforeAnswer) }
        self.phase = .head(method, interim: 0)
        self.isRequestSent = false
        self.hadBody = false
        self.mayHoldBody = false
        self.deadline = .now() + self.limits.answerHead
        self.context?.write(self.wrapOutboundOut(head), promise: nil)
    }

    /// Sends a part of the request's body, without flushing.
    package func send(_ body: ByteBuffer) {
        self.hadBody = true
        if !self.isPaused { self.deadline = .now() + self.limits.inactivity }
        self.context?.write(self.wrapOutboundOut(body), promise: nil)
    }

    /// The request is complete; `hadBody` starts the wait for the answer anew.
    package func finishRequest(hadBody: Bool) {
        self.isRequestSent = true
        if hadBody, case .head = self.phase { self.deadline = .now() + self.limits.answerHead }
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
        self.context?.flush()
    }

    /// Gives the request up: nobody wants the answer any more.
    package func abort() {
        self.sink = nil
        self.phase = .ended
        self.context?.close(promise: nil)
    }

    /// Stops reading the answer, until ``resumeReading()``; the reader has its own deadline meanwhile.
    package func pauseReading() {
        self.isPaused = true
        self.deadline = .distantFuture
    }

    /// Reads on.
    package func resumeReading() {
        guard self.isPaused else { return }
        self.isPaused = false
        self.deadline = .now() + self.limits.inactivity
        guard self.wantsRead else { return }
        self.wantsRead = false
        self.context?.read()
    }

    /// Closes it if it is idle; called when the pool is given up.
    func retire() {
        self.keepsAlive = false
        if case .idle = self.phase { self.context?.close(promise: nil) }
    }
}

// MARK: Receiving

extension UpstreamConnection {
    private func pump() {
        do {
            while try self.step() {}
        } catch {
            self.fail(.refused(error))
        }
    }

    private func step() throws(WireRefusal) -> Bool {
        switch self.phase {
        case .idle:
            // Bytes that nobody asked for: the next request could take them for its answer.
            if self.inbound.readableBytes > 0 { self.close() }
            return false
        case .ended:
            return false
        case .head(let method, let interim):
            guard self.inbound.readableBytes > 0 else { return false }
            guard let head = try self.parser.head(from: &self.inbound, answering: method) else { return false }
            return try self.take(head, method: method, interim: interim)
        case .body(var reader):
            let part = try reader.next(from: &self.inbound)
            self.phase = .body(reader)
            return self.take(part)
        }
    }

    private func take(_ head: ResponseHead, method: RequestMethod, interim: Int) throws(WireRefusal) -> Bool {
        guard !head.isInterim else {
            guard head.status != 101, interim < self.limits.interim else {
                throw WireRefusal(502, "upstream.unexpected_interim")
            }
            self.phase = .head(method, interim: interim + 1)
            return true
        }
        self.mayHoldBody = self.hadBody && (head.status >= 400 || !self.isRequestSent)
        self.keepsAlive = head.keepsAlive && head.framing != .untilClose
        self.deadline = self.arrived + self.limits.inactivity
        let reader = BodyReader(head.framing, status: 502)
        self.phase = .body(reader)
        self.sink?.upstreamAnswered(head)
        guard case .body = self.phase else { return false }
        return reader.isComplete ? self.take(.end) : true
    }

    private func take(_ part: ChunkDecoder.Part) -> Bool {
        switch part {
        case .more:
            return false
        case .data(let bytes):
            self.sink?.upstreamSent(bytes)
            guard case .body = self.phase else { return false }
            return true
        case .end:
            self.complete()
            return false
        }
    }

    /// The answer is complete.
    ///
    /// The connection is kept only if the request was, too, and nothing is left over.
    private func complete() {
        let sink = self.sink
        self.sink = nil
        if self.keepsAlive, self.isRequestSent, !self.mayHoldBody, self.inbound.readableBytes == 0, self.context != nil
        {
            self.phase = .idle
            self.isReused = true
            self.resumeReading()
            self.deadline = self.arrived + self.limits.idle
            sink?.upstreamFinished()
            self.pool.takeBack(self)
        } else {
            self.close()
            sink?.upstreamFinished()
        }
    }

    private func close() {
        self.phase = .ended
        self.deadline = .distantFuture
        self.context?.close(promise: nil)
    }

    private func fail(_ problem: UpstreamProblem) {
        let sink = self.sink
        self.sink = nil
        self.close()
        sink?.upstreamFailed(problem)
        sink?.upstreamPaused()
    }
}

// MARK: Channel

extension UpstreamConnection {
    /// Takes its place in the pipeline.
    package func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        self.pool.sweep.add(self)
    }

    /// Leaves the pipeline.
    package func handlerRemoved(context: ChannelHandlerContext) {
        guard context === self.context else { return }
        self.pool.sweep.remove(self)
        self.context = nil
    }

    /// Takes bytes that have arrived.
    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = self.unwrapInboundIn(data)
        if case .ended = self.phase { return }
        if self.inbound.readableBytes == 0 {
            self.inbound = bytes
        } else {
            self.inbound.writeBuffer(&bytes)
        }
        self.arrived = .now()
        if case .body = self.phase, !self.isPaused { self.deadline = self.arrived + self.limits.inactivity }
        let sink = self.sink
        self.pump()
        // Nothing left: letting go of the bytes lets the channel read into the same memory again.
        if self.inbound.readableBytes == 0 { self.inbound = ByteBuffer() }
        sink?.upstreamPaused()
    }

    /// Ends here: there is no handler behind this one.
    package func channelReadComplete(context: ChannelHandlerContext) {}

    /// Reads on, unless reading is paused.
    package func read(context: ChannelHandlerContext) {
        guard self.isPaused else {
            context.read()
            return
        }
        self.wantsRead = true
    }

    /// Learns that the peer takes bytes again, or no longer.
    package func channelWritabilityChanged(context: ChannelHandlerContext) {
        self.isWritable = context.channel.isWritable
        self.sink?.upstreamWritabilityChanged(isWritable: self.isWritable)
        context.fireChannelWritabilityChanged()
    }

    /// Learns that the connection is no more.
    package func channelInactive(context: ChannelHandlerContext) {
        self.connectionEnded(properly: true)
        context.fireChannelInactive()
    }

    /// Learns that the connection has failed.
    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.connectionEnded(properly: false)
        context.close(promise: nil)
    }

    /// The connection is no more; only a proper end can be the end of a body.
    private func connectionEnded(properly isProper: Bool) {
        let phase = self.phase
        let sink = self.sink
        self.sink = nil
        self.phase = .ended
        self.deadline = .distantFuture
        self.pool.lost(self)
        switch phase {
        case .idle, .ended:
            break
        case .body(let reader) where isProper && reader.endsWithConnection && self.inbound.readableBytes == 0:
            sink?.upstreamFinished()
        case .body:
            sink?.upstreamFailed(.closedInAnswer)
        case .head:
            sink?.upstreamFailed(self.inbound.readableBytes == 0 ? .closedBeforeAnswer : .closedInAnswer)
        }
        sink?.upstreamPaused()
    }

    /// The deadline has passed: an idle connection is closed, a late answer given up.
    package func expire() {
        switch self.phase {
        case .idle, .ended: self.close()
        case .head, .body: self.fail(.timedOut)
        }
    }
}
