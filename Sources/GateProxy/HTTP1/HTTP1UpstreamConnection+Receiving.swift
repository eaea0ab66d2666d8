// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateNet
internal import GateWire
package import NIOCore

extension HTTP1UpstreamConnection {
    func pump() {
        do {
            while try self.step() {}
        } catch {
            self.fail(.refused(error))
        }
    }

    private func step() throws(WireRejection) -> Bool {
        switch self.phase {
        case .idle:
            // Bytes that nobody asked for: the next request could take them for its answer.
            if self.inbound.readableBytes > 0 { self.close() }
            return false
        case .leaving, .ended:
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
            // 101 would begin a tunnel; nobody has asked for one here.
            guard head.status != 101, interim < self.limits.interim else {
                throw WireRejection(.upstreamUnexpectedInterim)
            }
            self.phase = .head(interim: interim + 1)
            if head.status == 103 { self.sink?.upstreamReceivedEarlyHints(head) }
            return true
        }
        self.pool.outcomes?.answered(head.status)
        // What frames the request decides, not what has been sent: the body may come after the response.
        let hasBody = self.call.framing != .none
        self.mayHoldBody = hasBody && (self.call.endsConnection || head.status >= 400 || !self.isRequestSent)
        // An app that would not switch may still take what follows for frames, or the other way round.
        self.keepsAlive =
            head.keepsAlive && head.framing != .untilClose && !self.call.opensTunnel && !self.call.endsConnection
        self.isPatient = self.isPatient || head.isEventStream
        self.awaitProgress(from: self.arrived)
        let reader = BodyReader(head.framing, status: 502)
        self.phase = .body(reader)
        self.sink?.upstreamReceivedHead(head)
        guard case .body = self.phase else { return false }
        return reader.isComplete ? self.take(.end) : true
    }

    /// The app has switched protocols; whether as it should is for the sink to see.
    private func beginTunnel(_ head: ResponseHead) -> Bool {
        self.pool.outcomes?.answered(head.status)
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
}

extension ResponseHead {
    /// Whether the body is a stream of events, which may be silent for as long as it likes.
    ///
    /// Only bodies without a length are looked at, since such a stream has none.
    var isEventStream: Bool {
        guard self.framing == .chunked || self.framing == .untilClose else { return false }
        let type = "text/event-stream"
        return self.message.fields.contains { field in
            guard field.name == .contentType else { return false }
            let value = field.valueRange
            guard value.count >= type.utf8.count else { return false }
            let end = value.lowerBound + type.utf8.count
            guard self.message.spells(value.lowerBound..<end, type) else { return false }
            guard end < value.upperBound else { return true }
            let next = self.message.slice(end..<(end + 1)).first
            return next == UInt8(ascii: ";") || next == 0x20 || next == 0x09
        }
    }
}

// MARK: Channel

extension HTTP1UpstreamConnection {
    /// Takes its place in the pipeline.
    package func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        self.line = ChannelIO(context, reader: self.pool.connector.address.isSecure ? nil : self)
        self.pool.sweep.add(self)
    }

    /// Leaves the pipeline.
    package func handlerRemoved(context: ChannelHandlerContext) {
        guard context === self.context else { return }
        self.pool.sweep.remove(self)
        self.context = nil
        self.line = nil
    }

    /// Takes bytes that have arrived.
    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = self.unwrapInboundIn(data)
        self.socketRead(&bytes)
    }

    /// Takes bytes that have arrived.
    package func socketRead(_ bytes: inout ByteBuffer) {
        if case .ended = self.phase { return }
        self.inbound.takeRead(&bytes)
        self.arrived = .now()
        if case .body = self.phase, !self.isPaused { self.awaitProgress(from: self.arrived) }
        let sink = self.sink
        self.pump()
        self.inbound.leaveRead(in: &bytes)
        sink?.upstreamReadComplete()
    }

    /// Ends here: there is no handler behind this one.
    package func channelReadComplete(context: ChannelHandlerContext) {}

    /// Nothing waits for the end of a read: the sink was told after each.
    package func socketReadComplete() {}

    /// Reads on, unless reading is paused.
    package func read(context: ChannelHandlerContext) { self.socketMayRead() }

    /// Reads on, unless reading is paused.
    package func socketMayRead() {
        guard self.isPaused else {
            self.line?.read()
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
        case .idle, .leaving, .ended:
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
            let problem = self.inbound.readableBytes == 0 ? UpstreamFailure.closedBeforeResponse : .closedInResponse
            self.note(problem)
            sink?.upstreamFailed(problem)
        }
        sink?.upstreamReadComplete()
    }

    /// The deadline has passed: an idle connection is closed, a late answer given up.
    package func expire() {
        switch self.phase {
        case .idle, .leaving, .ended: self.close()
        case .head, .body, .tunnel: self.fail(.timedOut)
        }
    }
}
