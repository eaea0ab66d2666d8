// SPDX-License-Identifier: Apache-2.0

internal import GateNet
internal import GateWire
package import NIOCore

/// One HTTP/2 connection to an upstream, which carries many requests at a time; confined to its channel's event loop.
package final class HTTP2UpstreamConnection: ByteDuplexHandler, Expiring, Flushable {
    /// How long a connection takes new requests, so that new addresses of a name come into use.
    private static let maxAge = TimeAmount.minutes(10)
    /// How many bytes of frames are written to the channel at once.
    private static let maxOutbound = 64 * 1024
    /// How many bytes without content may be received in a row.
    private static let maxIdleBytes = 1 << 20

    let limits: UpstreamLimits
    let pool: HTTP2Pool
    /// Whether it has carried a complete response.
    var isReused = false
    private(set) var session: HTTP2ClientSession?
    /// Whether the peer has sent too many costly frames.
    var isFlooded = false
    private let isSecure: Bool
    private let began = NIODeadline.now()
    private var context: ChannelHandlerContext?
    /// Streams from their lease to their end, including those not sent yet.
    private var streams: [ObjectIdentifier: HTTP2UpstreamStream] = [:]
    /// Streams that have ended here and that libnghttp2 has not closed yet.
    private var closing: [Int32: HTTP2UpstreamStream] = [:]
    private let headBuilder: HTTP2ResponseHeadBuilder
    private var reading: HTTP2UpstreamStream?
    private var flood = FloodLimiter(now: .now())
    /// Bytes received since the last head or part of a body; libnghttp2 does not report unknown frames.
    private var idleBytes = 0
    /// Whether the peer's settings have arrived; until then it gets one stream.
    var hasSettings = false
    private var isGoingAway = false
    private var isReceiving = false
    private var isSending = false
    private var isFlushPending = false
    private var idleUntil = NIODeadline.distantFuture

    init(pool: HTTP2Pool, limits: UpstreamLimits, isSecure: Bool) {
        self.pool = pool
        self.limits = limits
        self.isSecure = isSecure
        self.headBuilder = HTTP2ResponseHeadBuilder(limits: limits.head)
        self.session = HTTP2ClientSession(connection: self, headBytes: limits.head.bytes)
    }

    /// The number of requests it carries.
    var active: Int { self.streams.count }

    /// Whether it can take one more request.
    var isUsable: Bool {
        guard let session, self.context != nil, !self.isGoingAway, !self.isFlooded else { return false }
        let isYoung = NIODeadline.now() - self.began < HTTP2UpstreamConnection.maxAge
        let limit = self.hasSettings ? session.maxStreams : 1
        return isYoung && self.active < limit && session.mayRequest
    }

    /// Leases a stream to a request.
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

    func ended(_ stream: HTTP2UpstreamStream, errorCode code: HTTP2CloseCode?) {
        self.streams[ObjectIdentifier(stream)] = nil
        if let id = stream.id, let session {
            self.closing[id] = stream
            if let code { session.reset(id, code) }
        }
        if self.streams.isEmpty { self.idleUntil = .now() + self.limits.idle }
        self.pool.hasFreeStream(self)
        self.closeIfDone()
        self.flush()
    }

    private func closeIfDone() {
        guard self.streams.isEmpty, self.isGoingAway, !self.isReceiving, !self.isSending else { return }
        self.close(.noError)
    }

    private func close(_ code: HTTP2CloseCode) {
        guard let context else { return }
        self.session?.terminate(code)
        self.write()
        context.close(promise: nil)
    }
}

// MARK: Channel

extension HTTP2UpstreamConnection {
    /// Registers with the loop's services and sends the settings.
    package func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        self.pool.sweep.add(self)
        self.idleUntil = .now() + self.limits.idle
        self.flush()
    }

    /// Unregisters.
    package func handlerRemoved(context: ChannelHandlerContext) {
        self.pool.sweep.remove(self)
        self.context = nil
        self.lost()
    }

    /// Takes received bytes.
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

    /// Does not pass the event on: there is no handler after this one.
    package func channelReadComplete(context: ChannelHandlerContext) {}

    /// Continues to write when the channel takes bytes again.
    package func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { self.flush() }
        context.fireChannelWritabilityChanged()
    }

    /// The connection is closed.
    package func channelInactive(context: ChannelHandlerContext) {
        self.lost()
        context.fireChannelInactive()
    }

    /// The connection has failed.
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

    /// Hands frames to the network, at the end of the turn if the loop batches flushes.
    func flush() {
        guard !self.isFlushPending, !self.isReceiving, self.context != nil else { return }
        guard let flushes = self.pool.flushes else {
            self.flushNow()
            return
        }
        self.isFlushPending = true
        flushes.add(self)
    }

    /// Hands frames to the network immediately.
    package func flushNow() {
        self.isFlushPending = false
        self.write()
        for stream in self.streams.values {
            stream.resumeSinkIfWritable()
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

    /// The earliest deadline of the streams and of the idle connection.
    package var deadline: NIODeadline {
        self.streams.values.reduce(self.idleUntil) { min($0, $1.deadline) }
    }

    /// Fails late streams and closes an idle connection.
    package func expire() {
        let now = NIODeadline.now()
        for stream in self.streams.values where stream.deadline <= now {
            stream.expire(at: now)
        }
        guard self.streams.isEmpty, self.idleUntil <= now else { return }
        self.idleUntil = .distantFuture
        self.close(.noError)
    }
}

// MARK: Frames

/// Called by libnghttp2 for received frames.
extension HTTP2UpstreamConnection {
    func frameBegun(_ type: HTTP2FrameType, length: Int, endsStream: Bool) {
        let now = NIODeadline.now()
        if type == .headers || (type == .data && length > 0) { self.idleBytes = 0 }
        switch type {
        case .data where length > 0:
            self.flood.earn(1 + length / 1024)
        case .data, .headers:
            guard !self.flood.spend(endsStream ? 0 : 1, at: now) else { return }
            self.isFlooded = true
        case .reset:
            guard !self.flood.countReset(at: now) || !self.flood.spend(1, at: now) else { return }
            self.isFlooded = true
        case .windowUpdate:
            // A peer that takes an upload sends many of these; each part of the upload pays for them.
            guard !self.flood.spend(1, at: now) else { return }
            self.isFlooded = true
        case .priority, .settings, .pushPromise, .ping, .goAway, .continuation, .other:
            guard !self.flood.spend(2, at: now) else { return }
            self.isFlooded = true
        }
    }

    /// Credits a part of a request's body, for which the peer may send window updates.
    func bodySent() {
        self.flood.earn(3)
        self.idleBytes = 0
    }

    func headBegun(_ stream: HTTP2UpstreamStream?) {
        self.reading = stream
        guard let stream, !stream.awaitsHead else {
            self.headBuilder.begin(names: .response, into: ByteBuffer())
            return
        }
        self.headBuilder.beginTrailer(names: .response, into: ByteBuffer())
    }

    func fieldReceived(_ name: Span<UInt8>, _ value: Span<UInt8>) {
        self.headBuilder.append(name: name, value: value)
        if self.headBuilder.isBomb { self.isFlooded = true }
    }

    func headReceived(_ stream: HTTP2UpstreamStream, endsStream: Bool) {
        guard self.reading === stream else { return }
        self.reading = nil
        do {
            if stream.awaitsHead {
                let head = try self.headBuilder.finish(for: stream.call.method, endsStream: endsStream)
                stream.received(head, endsStream: endsStream)
            } else {
                stream.received(trailers: try self.headBuilder.finishTrailer(), endsStream: endsStream)
            }
        } catch {
            stream.reject(error)
        }
    }

    func closed(_ stream: HTTP2UpstreamStream, wasRefused: Bool) {
        stream.closed(wasRefused: wasRefused)
        if let id = stream.id { self.closing[id] = nil }
    }

    /// The peer takes no more requests on this connection.
    func goingAway() {
        self.isGoingAway = true
    }

    /// The peer may take more streams now.
    func settingsReceived() {
        self.hasSettings = true
        self.pool.hasFreeStream(self)
    }
}
