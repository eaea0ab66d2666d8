// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateNet
internal import GateWire
package import NIOCore

/// One HTTP/1.1 connection to an upstream, which carries one request at a time; confined to its channel's event loop.
///
/// It returns to its pool only after a complete request and a complete response, without surplus bytes.
package final class HTTP1UpstreamConnection: ByteDuplexHandler, SocketReader, UpstreamStream, Expiring, Flushable {
    private enum Phase {
        case idle
        case head(interim: Int)
        case body(BodyReader)
        /// Bytes pass unchanged in both directions.
        case tunnel
        /// Everything is sent; received bytes are dropped until the app closes the connection.
        case closing
        case ended
    }

    /// Whether it has carried a request before, so that its close may be the upstream's idle time-out.
    package private(set) var isReused = false
    /// Whether the channel takes more bytes, as last reported.
    package private(set) var isWritable = true
    /// The current deadline, see `Expiring`.
    package private(set) var deadline = NIODeadline.distantFuture

    private let limits: UpstreamLimits
    /// When the current bytes arrived.
    private var arrived = NIODeadline.now()
    private let parser: ResponseParser
    let pool: HTTP1Pool
    private var context: ChannelHandlerContext?
    /// Reads and writes the channel, as long as there is one.
    private var io: ChannelIO?
    private var sink: (any UpstreamSink)?
    private var call = UpstreamRequest(.get)
    private var phase = Phase.idle
    private var inbound = ByteBuffer()
    private var isRequestSent = false
    private var keepsAlive = true
    private var isPaused = false
    private var isFlushPending = false
    private var wantsRead = false
    /// Whether the current response may be silent for any time.
    private var isPatient = false
    /// Whether the app may have left the request's body unread, so that it would take it for the next request.
    private var mayHoldBody = false

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

    /// Leases the connection to a request, whose events go to `sink` from now on.
    func lend(to sink: any UpstreamSink) {
        self.sink = sink
    }

    /// Closes it if it is idle; called when the pool shuts down.
    func shutDown() {
        self.keepsAlive = false
        if case .idle = self.phase { self.context?.close(promise: nil) }
    }

    private func close() {
        self.phase = .ended
        self.deadline = .distantFuture
        self.context?.close(promise: nil)
    }

    private func fail(_ failure: UpstreamFailure) {
        let sink = self.sink
        self.sink = nil
        self.note(failure)
        self.close()
        sink?.upstreamFailed(failure)
        sink?.upstreamReadComplete()
    }

    /// Counts a failure against the target, unless a reused connection has closed, which needs no reason.
    private func note(_ failure: UpstreamFailure) {
        guard let outcomes = self.pool.outcomes, failure != .closedBeforeResponse || !self.isReused else { return }
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
        self.awaitResponse()
        self.io?.write(head)
    }

    /// Sends a part of the request's body, without flushing.
    package func send(_ body: ByteBuffer) {
        if !self.isPaused { self.awaitProgress(from: .now()) }
        guard case .chunked = self.call.framing else {
            self.io?.write(body)
            return
        }
        var chunk = ByteBuffer(string: String(body.readableBytes, radix: 16) + "\r\n")
        if body.readableBytes <= 16 * 1024 {
            chunk.writeImmutableBuffer(body)
            chunk.writeStaticString("\r\n")
            self.io?.write(chunk)
        } else {
            self.io?.write(chunk)
            self.io?.write(body)
            self.io?.write(ByteBuffer(staticString: "\r\n"))
        }
    }

    /// The request is complete; after a body the response time-out restarts.
    package func finishRequest() {
        self.isRequestSent = true
        guard self.call.framing != .none else { return }
        if case .chunked = self.call.framing {
            self.io?.write(ByteBuffer(staticString: "0\r\n\r\n"))
        }
        if case .head = self.phase { self.awaitResponse() }
    }

    /// Hands written bytes to the network.
    package func flush() {
        guard !self.isFlushPending else { return }
        guard let flushes = self.pool.flushes else {
            self.flushNow()
            return
        }
        self.isFlushPending = true
        flushes.add(self)
    }

    /// Hands written bytes to the network immediately.
    package func flushNow() {
        self.isFlushPending = false
        self.io?.flush()
    }

    /// Cancels the request.
    package func cancel() {
        self.sink = nil
        self.phase = .ended
        self.context?.close(promise: nil)
    }

    /// Closes the output after all bytes are sent, and keeps reading.
    package func endTunnelOutput() {
        self.flushNow()
        self.context?.close(mode: .output, promise: nil)
    }

    /// Closes the output after all bytes are sent, and gives the app time to close its own.
    package func endTunnel() {
        self.sink = nil
        guard case .tunnel = self.phase, let context else { return self.cancel() }
        self.phase = .closing
        self.deadline = .now() + self.limits.tunnelEnd
        context.flush()
        context.close(mode: .output, promise: nil)
        self.isPaused = false
        guard self.wantsRead else { return }
        self.wantsRead = false
        context.read()
    }

    /// Stops reading the response, until ``resumeReading()``.
    package func pauseReading() {
        self.isPaused = true
        self.deadline = .distantFuture
    }

    /// Resumes reading the response.
    package func resumeReading() {
        guard self.isPaused else { return }
        self.isPaused = false
        self.awaitProgress(from: .now())
        guard self.wantsRead else { return }
        self.wantsRead = false
        self.io?.read()
    }

    /// Starts the time-out for the head of the response, unless it may be silent.
    private func awaitResponse() {
        self.deadline = self.isPatient ? .distantFuture : .now() + self.limits.responseHead
    }

    /// Starts the inactivity time-out, unless the response may be silent.
    private func awaitProgress(from now: NIODeadline) {
        self.deadline = self.isPatient ? .distantFuture : now + self.limits.inactivity
    }
}

// MARK: Receiving

extension HTTP1UpstreamConnection {
    private func pump() {
        do {
            while try self.step() {}
        } catch {
            self.fail(.rejected(error))
        }
    }

    private func step() throws(WireRejection) -> Bool {
        switch self.phase {
        case .idle:
            // Unsolicited bytes: the next request could take them for its response.
            if self.inbound.readableBytes > 0 { self.close() }
            return false
        case .closing, .ended:
            self.inbound.clear()
            return false
        case .tunnel:
            let length = self.inbound.readableBytes
            guard length > 0, let bytes = self.inbound.readSlice(length: length) else { return false }
            self.sink?.upstreamReceivedBody(bytes)
            return true
        case .head(let interim):
            guard self.inbound.readableBytes > 0 else { return false }
            guard let head = try self.parser.head(from: &self.inbound, for: self.call.method) else {
                return false
            }
            return try self.take(head, interim: interim)
        case .body(var reader):
            let part = try reader.next(from: &self.inbound)
            self.phase = .body(reader)
            return self.take(part)
        }
    }

    private func take(_ head: ResponseHead, interim: Int) throws(WireRejection) -> Bool {
        guard !self.call.opensTunnel || head.status != 101 else { return self.beginTunnel(head) }
        guard !head.isInterim else {
            // 101 would start a tunnel, which was not requested.
            guard head.status != 101, interim < self.limits.interim else {
                throw WireRejection(.upstreamUnexpectedInterim)
            }
            self.phase = .head(interim: interim + 1)
            if head.status == 103 { self.sink?.upstreamReceivedEarlyHints(head) }
            return true
        }
        self.pool.outcomes?.responded(head.status)
        // The framing of the request decides, not what has been sent: the body may come after the response.
        let hasBody = self.call.framing != .none
        self.mayHoldBody = hasBody && (self.call.endsConnection || head.status >= 400 || !self.isRequestSent)
        // An app that did not switch protocols may still interpret what follows as frames.
        self.keepsAlive =
            head.keepsAlive && head.framing != .untilClose && !self.call.opensTunnel && !self.call.endsConnection
        self.isPatient = self.isPatient || head.isEventStream
        self.awaitProgress(from: self.arrived)
        let reader = BodyReader(head.framing, status: 502, lineEnd: head.lineEnd)
        self.phase = .body(reader)
        self.sink?.upstreamReceivedHead(head)
        guard case .body = self.phase else { return false }
        return reader.isComplete ? self.take(.end) : true
    }

    /// The app has switched protocols; the sink validates that.
    private func beginTunnel(_ head: ResponseHead) -> Bool {
        self.pool.outcomes?.responded(head.status)
        self.phase = .tunnel
        self.keepsAlive = false
        self.isPatient = true
        self.deadline = .distantFuture
        self.sink?.upstreamReceivedHead(head)
        guard case .tunnel = self.phase else { return false }
        return true
    }

    private func take(_ part: ChunkDecoder.Part) -> Bool {
        switch part {
        case .more:
            return false
        case .data(let bytes):
            self.sink?.upstreamReceivedBody(bytes)
            guard case .body = self.phase else { return false }
            return true
        case .end:
            self.complete()
            return false
        }
    }

    /// The response is complete.
    ///
    /// The connection is kept only if the request is complete, too, and no bytes are left over.
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
            self.pool.release(self)
        } else {
            self.close()
            sink?.upstreamFinished()
        }
    }
}

// MARK: Channel

extension HTTP1UpstreamConnection {
    /// Registers with the loop's services.
    package func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        self.io = ChannelIO(context, reader: self.pool.connector.address.isSecure ? nil : self)
        self.pool.sweep.add(self)
    }

    /// Unregisters.
    package func handlerRemoved(context: ChannelHandlerContext) {
        guard context === self.context else { return }
        self.pool.sweep.remove(self)
        self.context = nil
        self.io = nil
    }

    /// Takes received bytes.
    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = self.unwrapInboundIn(data)
        self.socketRead(&bytes)
    }

    /// Takes received bytes.
    package func socketRead(_ bytes: inout ByteBuffer) {
        if case .ended = self.phase { return }
        self.inbound.appendRead(&bytes)
        self.arrived = .now()
        if case .body = self.phase, !self.isPaused { self.awaitProgress(from: self.arrived) }
        let sink = self.sink
        self.pump()
        self.inbound.returnStorage(in: &bytes)
        sink?.upstreamReadComplete()
    }

    /// Does not pass the event on: there is no handler after this one.
    package func channelReadComplete(context: ChannelHandlerContext) {}

    /// Does nothing: the sink is informed after each read.
    package func socketReadComplete() {}

    /// Reads, unless reading is paused.
    package func read(context: ChannelHandlerContext) { self.socketMayRead() }

    /// Reads, unless reading is paused.
    package func socketMayRead() {
        guard self.isPaused else {
            self.io?.read()
            return
        }
        self.wantsRead = true
    }

    /// Notes whether the channel takes bytes.
    package func channelWritabilityChanged(context: ChannelHandlerContext) {
        self.isWritable = context.channel.isWritable
        self.sink?.upstreamWritabilityChanged(isWritable: self.isWritable)
        context.fireChannelWritabilityChanged()
    }

    /// The connection is closed.
    package func channelInactive(context: ChannelHandlerContext) {
        self.connectionEnded(properly: true)
        context.fireChannelInactive()
    }

    /// The connection has failed.
    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.connectionEnded(properly: false)
        context.close(promise: nil)
    }

    /// Ends the current response; only a proper close can be the end of a body.
    private func connectionEnded(properly isProper: Bool) {
        let phase = self.phase
        let sink = self.sink
        self.sink = nil
        self.phase = .ended
        self.deadline = .distantFuture
        self.pool.lost(self)
        switch phase {
        case .idle, .closing, .ended:
            break
        case .tunnel where isProper:
            sink?.upstreamFinished()
        case .tunnel:
            sink?.upstreamFailed(.closedInResponse)
        case .body(let reader) where isProper && reader.endsWithConnection && self.inbound.readableBytes == 0:
            sink?.upstreamFinished()
        case .body:
            sink?.upstreamFailed(.closedInResponse)
        case .head:
            let failure = self.inbound.readableBytes == 0 ? UpstreamFailure.closedBeforeResponse : .closedInResponse
            self.note(failure)
            sink?.upstreamFailed(failure)
        }
        sink?.upstreamReadComplete()
    }

    /// Closes an idle connection at its deadline, or fails a late response.
    package func expire() {
        switch self.phase {
        case .idle, .closing, .ended: self.close()
        case .head, .body, .tunnel: self.fail(.timedOut)
        }
    }
}
