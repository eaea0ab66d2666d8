// SPDX-License-Identifier: Apache-2.0

internal import GateNet
internal import GateWire
package import NIOCore

/// One HTTP/2 connection to an upstream, which carries many requests at a time; confined to its channel's event loop.
package final class HTTP2UpstreamConnection: ChannelDuplexHandler, Expiring, Flushable {
    /// What the channel hands in.
    package typealias InboundIn = ByteBuffer
    /// What the channel is handed.
    package typealias OutboundIn = ByteBuffer
    /// What goes to the channel.
    package typealias OutboundOut = ByteBuffer

    /// How long new requests go over one connection, so that new addresses of a name come into use.
    private static let longest = TimeAmount.minutes(10)
    /// How many bytes of frames are handed to the channel at once.
    private static let maxOutbound = 64 * 1024
    /// How many bytes may come that carry nothing.
    private static let maxIdleBytes = 1 << 20

    let limits: UpstreamLimits
    let pool: HTTP2Pool
    /// Whether a request has been answered over it.
    var isReused = false
    private(set) var session: HTTP2ClientSession?
    /// Whether the peer sends more that costs work than honest ones do.
    var isFlooded = false
    private let isSecure: Bool
    private let began = NIODeadline.now()
    private var context: ChannelHandlerContext?
    /// Streams between their lease and their end, those included that have not been sent.
    var streams: [ObjectIdentifier: HTTP2UpstreamStream] = [:]
    /// Streams that have ended here and that the library still knows.
    var closing: [Int32: HTTP2UpstreamStream] = [:]
    let block: HTTP2ResponseHeadBuilder
    var reading: HTTP2UpstreamStream?
    var flood = FloodLimiter(now: .now())
    /// Bytes that have come since the last head or part of a body: the library does not tell of frames unknown to it.
    var idleBytes = 0
    /// Whether the peer has said how many streams it takes; until then it gets one.
    var hasSettings = false
    var isGoingAway = false
    private var isReceiving = false
    private var isSending = false
    private var isFlushPending = false
    private var idleUntil = NIODeadline.distantFuture

    init(pool: HTTP2Pool, limits: UpstreamLimits, isSecure: Bool) {
        self.pool = pool
        self.limits = limits
        self.isSecure = isSecure
        self.block = HTTP2ResponseHeadBuilder(limits: limits.head)
        self.session = HTTP2ClientSession(connection: self, headBytes: limits.head.bytes)
    }

    /// How many requests it carries.
    var active: Int { self.streams.count }

    /// Whether it can take one more request.
    var isUsable: Bool {
        guard let session, self.context != nil, !self.isGoingAway, !self.isFlooded else { return false }
        let isYoung = NIODeadline.now() - self.began < HTTP2UpstreamConnection.longest
        let most = self.hasSettings ? session.maxStreams : 1
        return isYoung && self.active < most && session.mayRequest
    }

    /// Gives a stream to a request.
    func lend(to sink: any UpstreamSink) {
        let stream = HTTP2UpstreamStream(on: self, for: sink)
        self.streams[ObjectIdentifier(stream)] = stream
        self.idleUntil = .distantFuture
        sink.upstreamReady(stream)
    }

    /// Takes no more requests and closes when it is idle.
    func shutDown() {
        self.isGoingAway = true
        self.closeIfDone()
    }

    func submit(_ head: ByteBuffer, for stream: HTTP2UpstreamStream) -> Int32? {
        guard let session else { return nil }
        let hasBody = stream.call.framing != .none
        guard stream.call.takesTrailers else {
            return session.submit(head, for: stream, isSecure: self.isSecure, hasBody: hasBody)
        }
        var longer = head
        longer.moveWriterIndex(to: longer.writerIndex - 2)
        longer.writeStaticString("TE: trailers\r\n\r\n")
        return session.submit(longer, for: stream, isSecure: self.isSecure, hasBody: hasBody)
    }

    /// A stream has ended here.
    func ended(_ stream: HTTP2UpstreamStream, telling code: HTTP2ClientSession.Code?) {
        self.streams[ObjectIdentifier(stream)] = nil
        if let id = stream.id, let session {
            self.closing[id] = stream
            if let code { session.reset(id, code) }
        }
        if self.streams.isEmpty { self.idleUntil = .now() + self.limits.idle }
        self.pool.hasRoom(self)
        self.closeIfDone()
        self.flush()
    }

    private func closeIfDone() {
        guard self.streams.isEmpty, self.isGoingAway, !self.isReceiving, !self.isSending else { return }
        self.close(.none)
    }

    private func close(_ code: HTTP2ClientSession.Code) {
        guard let context else { return }
        self.session?.terminate(code)
        self.write()
        context.close(promise: nil)
    }
}

// MARK: Channel

extension HTTP2UpstreamConnection {
    /// Takes its place in the pipeline and greets the peer.
    package func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        self.pool.sweep.add(self)
        self.idleUntil = .now() + self.limits.idle
        self.flush()
    }

    /// Leaves the pipeline.
    package func handlerRemoved(context: ChannelHandlerContext) {
        self.pool.sweep.remove(self)
        self.context = nil
        self.lost()
    }

    /// Takes bytes that have arrived.
    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard let session, !self.isFlooded else { return }
        let sinks = self.streams.values.compactMap(\.sink)
        let bytes = self.unwrapInboundIn(data)
        self.idleBytes += bytes.readableBytes
        self.isReceiving = true
        let isFine = session.receive(bytes) && self.idleBytes <= HTTP2UpstreamConnection.maxIdleBytes
        self.isReceiving = false
        if !isFine || self.isFlooded {
            self.isFlooded = true
            self.close(.enhanceYourCalm)
        } else {
            self.closeIfDone()
        }
        for sink in sinks {
            sink.upstreamReadComplete()
        }
        self.flush()
    }

    /// Ends here: there is no handler behind this one.
    package func channelReadComplete(context: ChannelHandlerContext) {}

    /// Writes on when the channel takes bytes again.
    package func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { self.flush() }
        context.fireChannelWritabilityChanged()
    }

    /// Learns that the connection is no more.
    package func channelInactive(context: ChannelHandlerContext) {
        self.lost()
        context.fireChannelInactive()
    }

    /// Learns that the connection has failed.
    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.lost()
        context.close(promise: nil)
    }

    private func lost() {
        guard self.session != nil, !self.isReceiving else { return }
        self.isGoingAway = true
        let streams = self.streams
        self.streams = [:]
        self.session = nil
        self.closing = [:]
        self.pool.lost(self)
        for stream in streams.values {
            stream.closed(wasRefused: false)
        }
    }

    /// Hands frames to the network, at the end of the loop's turn if the loop does so.
    func flush() {
        guard !self.isFlushPending, !self.isReceiving, self.context != nil else { return }
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
        self.write()
        for stream in self.streams.values {
            stream.tellIfWritable()
        }
    }

    private func write() {
        guard let context, let session, !self.isReceiving, !self.isSending else { return }
        self.isSending = true
        defer { self.isSending = false }
        var hasWritten = false
        while context.channel.isWritable {
            var outbound = ByteBuffer()
            session.fill(&outbound, upTo: HTTP2UpstreamConnection.maxOutbound)
            guard outbound.readableBytes > 0 else { break }
            context.write(self.wrapOutboundOut(outbound), promise: nil)
            hasWritten = true
        }
        if hasWritten { context.flush() }
        if !session.isAlive { context.close(promise: nil) }
    }

    /// When a stream is late, or the connection has been idle for long enough.
    package var deadline: NIODeadline {
        self.streams.values.reduce(self.idleUntil) { min($0, $1.deadline) }
    }

    /// Gives late streams up, and an idle connection.
    package func expire() {
        let now = NIODeadline.now()
        for stream in self.streams.values where stream.deadline <= now {
            stream.expire(at: now)
        }
        guard self.streams.isEmpty, self.idleUntil <= now else { return }
        self.idleUntil = .distantFuture
        self.close(.none)
    }
}
