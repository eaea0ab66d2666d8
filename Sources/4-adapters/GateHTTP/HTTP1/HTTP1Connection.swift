// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import GateNet
package import GateWire
package import NIOCore
internal import NIOTLS

/// One client connection that speaks HTTP/1.1; confined to its channel's event loop.
///
/// It reads one request after the other, passes each to the ``Responder`` and writes the response. The next request is
/// not parsed before the current response is complete. Everything that takes time has an absolute deadline.
package final class HTTP1Connection: ByteDuplexHandler, SocketReader, DownstreamExchange, ClientConnection,
    Flushable
{
    /// The state of the current request.
    private enum Phase {
        case handshake
        case idle
        case head
        case body(BodyReader)
        case responding
        /// Bytes pass unchanged in both directions.
        case tunnel
        case lingering
        case closed
    }

    /// The state of the current response.
    private enum ResponsePhase {
        case none
        /// A request is in progress to which no response has started.
        case awaited
        case started(BodyFraming)
        case complete
    }

    /// The IP address of the peer; nil if it has none.
    package let peer: IPAddress?
    /// What TLS has negotiated; nil over plain HTTP.
    package let tls: NegotiatedTLS?
    /// The earlier of two deadlines: for the client's next bytes, and for the client to take queued bytes.
    package var deadline: NIODeadline { min(self.phaseDeadline, self.stallDeadline) }

    /// When the current bytes arrived.
    package private(set) var arrived = NIODeadline.now()

    private let environment: DownstreamEnvironment
    private let responder: any Responder
    private let created = NIODeadline.now()
    private let ageLimit: TimeAmount
    private var context: ChannelHandlerContext?
    /// Reads and writes the channel, as long as there is one.
    private var io: ChannelIO?
    /// The last reported writability, which is cheaper than asking the channel.
    private var isWritable = true
    private var parser: RequestParser
    private var inbound = ByteBuffer()
    private var outbound = ByteBuffer()
    /// The buffer of the current request's head, released after the response.
    private var requestBuffer: ByteBuffer?
    private var phase = Phase.idle
    private var response = ResponsePhase.none
    private var served = 0
    private var closes = false
    private var isHeadRequest = false
    private var isPumping = false
    /// Whether it counts as one with a request in progress.
    private var isActive = false {
        didSet { if self.isActive != oldValue { self.environment.counts.active.add(self.isActive ? 1 : -1) } }
    }
    private var isPaused = false
    private var wantsRead = false
    private var needsFlush = false
    private var isFlushPending = false
    private var phaseDeadline = NIODeadline.distantFuture
    private var stallDeadline = NIODeadline.distantFuture
    private var pausedAt = NIODeadline.distantFuture
    private var bodyBegan = NIODeadline.distantFuture
    private var bodyBytes: Int64 = 0
    /// Whether bytes of the current response have been handed to the network.
    private var hasSentBytes = false
    /// Bytes handed to the network, over all responses.
    private var written: Int64 = 0
    /// How fast the client takes queued bytes.
    private var downloadRate = DownloadRate()
    /// Bytes that were queued at the last check, and since when that has not changed.
    private var unsent = (bytes: 0, since: NIODeadline.now())

    /// A connection that is about to be added to its channel's pipeline.
    ///
    /// - Parameters:
    ///   - environment: Limits and services of its loop.
    ///   - peer: The IP address of the client.
    ///   - tls: What TLS has negotiated; nil on a plain listener.
    ///   - responder: Responds to its requests.
    package init(environment: DownstreamEnvironment, peer: IPAddress?, tls: NegotiatedTLS?, responder: any Responder) {
        self.environment = environment
        self.peer = peer
        self.tls = tls
        self.responder = responder
        self.parser = RequestParser(names: environment.names(), limits: environment.limits.head, isSecure: tls != nil)
        let jitter = environment.limits.age.nanoseconds / 10
        self.ageLimit = .nanoseconds(environment.limits.age.nanoseconds + Int64.random(in: -jitter...jitter))
    }

    /// An empty buffer for a head, from the channel's allocator.
    package func freshBuffer(capacity: Int) -> ByteBuffer {
        self.context?.channel.allocator.buffer(capacity: capacity) ?? ByteBuffer()
    }
}

// MARK: Requests

extension HTTP1Connection {
    /// Reads as many requests as may start.
    private func pump() {
        guard !self.isPumping else { return }
        self.isPumping = true
        do {
            while try self.step() {}
        } catch {
            self.reject(error)
        }
        self.isPumping = false
        self.readOnIfWanted()
    }

    /// Takes the next part of a request from the buffer; false when more bytes or the end of the response are needed.
    private func step() throws(WireRejection) -> Bool {
        switch self.phase {
        case .handshake, .responding, .lingering, .closed:
            return false
        case .idle:
            // Back-pressure: a client that does not take its responses gets no further ones.
            guard self.inbound.readableBytes > 0, self.isWritable else { return false }
            self.phase = .head
            self.phaseDeadline = self.arrived + self.environment.limits.requestHead
            return true
        case .head:
            // Read at the last moment: the configuration that names the fields must be the one that decides.
            self.parser.names = self.environment.names()
            let memory = self.environment.buffers
            guard let head = try self.parser.head(from: &self.inbound, into: { memory.acquire(capacity: $0) }) else {
                return false
            }
            self.begin(head)
            return true
        case .tunnel:
            let length = self.inbound.readableBytes
            guard length > 0, let bytes = self.inbound.readSlice(length: length) else { return false }
            self.responder.receive(bytes)
            return true
        case .body(var reader):
            let part = try reader.next(from: &self.inbound)
            if self.isReadingBody { self.phase = .body(reader) }
            return self.take(part)
        }
    }

    private func begin(_ head: RequestHead) {
        self.served += 1
        self.isActive = true
        self.requestBuffer = head.message.bytes
        self.response = .awaited
        self.isHeadRequest = head.method.isHead
        self.closes = self.closes || !head.keepsAlive
        if head.framing == .none {
            self.phase = .responding
            self.phaseDeadline = .distantFuture
            self.responder.begin(head, on: self)
            if self.awaitsResponse { self.responder.finishRequest() }
        } else {
            self.phase = .body(BodyReader(head.framing, status: 400))
            self.bodyBegan = .now()
            self.bodyBytes = 0
            self.armBodyDeadline()
            self.responder.begin(head, on: self)
        }
    }

    /// Whether the request that just began still waits for its response.
    private var awaitsResponse: Bool {
        if case .responding = self.phase, case .awaited = self.response { true } else { false }
    }

    private func take(_ part: ChunkDecoder.Part) -> Bool {
        switch part {
        case .more:
            return false
        case .data(let bytes):
            self.bodyBytes += Int64(bytes.readableBytes)
            self.responder.receive(bytes)
            return self.isReadingBody
        case .end:
            self.phase = .responding
            self.phaseDeadline = .distantFuture
            self.responder.finishRequest()
            return true
        }
    }

    private func reject(_ rejection: WireRejection) {
        var rejection = rejection
        // While a body is read, the head is that of the request; otherwise it is what was not parsed.
        rejection.wantsPage =
            BrowserHints(in: (self.isReadingBody ? self.requestBuffer : nil) ?? self.inbound).wantsPage
        self.closes = true
        switch self.response {
        case .started, .complete:
            _ = self.responder.response(to: rejection)
            return self.close()
        case .none, .awaited:
            self.response = .awaited
        }
        if self.isReadingBody {
            self.responder.cancel()
        } else {
            // The rejected bytes may start a HEAD request: its response has no content (RFC 9110 §9.3.2).
            self.isHeadRequest = self.inbound.readableBytesView.starts(with: "HEAD ".utf8)
        }
        self.respond(self.responder.response(to: rejection))
    }

    /// The next deadline of the body: for silence, and for a rate below the minimum.
    private func armBodyDeadline() {
        guard self.isReadingBody, !self.isPaused else { return }
        let limits = self.environment.limits
        let silence = NIODeadline.now() + limits.bodyInactivity
        let paid = TimeAmount.seconds(min(self.bodyBytes / max(1, limits.bodyRate), 1_000_000_000))
        self.phaseDeadline = min(silence, self.bodyBegan + limits.bodyGrace + paid)
    }
}

// MARK: Responses

extension HTTP1Connection {
    /// Whether the next response must carry `Connection: close`.
    package var mustClose: Bool {
        self.closes || self.served >= self.environment.limits.requests || self.environment.isDraining()
            || self.arrived - self.created > self.ageLimit
    }

    /// Sends `100 Continue` to a client that waits for it.
    ///
    /// RFC 9110 §15.2.1.
    package func sendContinue() {
        guard case .awaited = self.response, let context else { return }
        context.writeAndFlush(
            self.wrapOutboundOut(ByteBuffer(staticString: "HTTP/1.1 100 Continue\r\n\r\n")),
            promise: nil
        )
    }

    package func sendInterim(_ head: ByteBuffer) {
        guard case .awaited = self.response, let context else { return }
        context.writeAndFlush(self.wrapOutboundOut(head), promise: nil)
    }

    /// Sends a response of the gateway and completes the request.
    package func respond(_ response: Response) {
        guard case .awaited = self.response else { return }
        if self.isReadingBody { self.closes = true }
        self.closes = self.mustClose
        self.outbound = response.encoded(
            closes: self.closes,
            forHead: self.isHeadRequest,
            date: self.environment.date,
            into: self.freshBuffer(capacity: 512 + response.body.count)
        )
        self.response = .started(.none)
        if let body = response.sharedBody { self.write(body) }
        self.end()
    }

    /// Starts a response with a complete head.
    ///
    /// - Parameters:
    ///   - head: The bytes, written by a `HeadWriter`, with `Connection: close` if ``mustClose`` is true.
    ///   - framing: How the body ends.
    ///   - closes: Whether the connection closes after this response.
    package func start(_ head: consuming ByteBuffer, framing: BodyFraming, closes: Bool) {
        guard case .awaited = self.response else { return }
        self.response = .started(framing)
        self.hasSentBytes = false
        self.closes = self.closes || closes || framing == .untilClose
        self.outbound = head
    }

    /// Takes back a started response, as long as no byte of it has been handed to the network.
    package func retract() -> Bool {
        guard case .started = self.response, !self.hasSentBytes else { return false }
        self.outbound = ByteBuffer()
        self.response = .awaited
        return true
    }

    /// Starts a tunnel; bytes that the client sent after its handshake are the first to pass through it.
    package func startTunnel(_ head: consuming ByteBuffer) {
        guard case .awaited = self.response, case .responding = self.phase else { return }
        self.response = .started(.untilClose)
        self.closes = true
        self.phase = .tunnel
        self.outbound = head
        self.writeOut()
        self.pump()
        self.flush()
    }

    /// Makes the current response the last.
    package func closeAfterResponse() { self.closes = true }

    /// Makes the current response the last, so that the client makes another connection.
    package func replaceConnection() { self.closes = true }

    /// Sends a part of the body; false when the caller should wait until the client has taken more.
    @discardableResult
    package func write(_ body: ByteBuffer) -> Bool {
        guard case .started(let framing) = self.response, body.readableBytes > 0, !self.isHeadRequest else {
            return true
        }
        var body = body
        if framing == .chunked {
            self.outbound.writeString(String(body.readableBytes, radix: 16))
            self.outbound.writeStaticString("\r\n")
        }
        if body.readableBytes <= 16 * 1024 {
            self.outbound.writeBuffer(&body)
        } else {
            self.writeOut()
            self.needsFlush = true
            self.hasSentBytes = true
            self.written += Int64(body.readableBytes)
            self.io?.write(body)
        }
        if framing == .chunked { self.outbound.writeStaticString("\r\n") }
        if self.outbound.readableBytes > 32 * 1024 { self.writeOut() }
        return self.isWritable
    }

    /// Completes the response.
    package func end() {
        guard case .started(let framing) = self.response else { return }
        if framing == .chunked, !self.isHeadRequest { self.outbound.writeStaticString("0\r\n\r\n") }
        self.response = .complete
        self.writeOut()
        self.requestDone()
    }

    /// Completes the response; the trailer section is dropped.
    ///
    /// RFC 9110 §6.5.1.
    package func end(trailers: ByteBuffer) { self.end() }

    /// Sends what has been written; called by the responder when it has no more to write for now.
    package func flush() {
        guard self.needsFlush || self.outbound.readableBytes > 0, !self.isPumping, !self.isFlushPending else { return }
        guard let flushes = self.environment.flushes else {
            self.flushNow()
            return
        }
        self.isFlushPending = true
        flushes.add(self)
    }

    /// Hands written bytes to the network.
    package func flushNow() {
        self.isFlushPending = false
        self.writeOut()
        guard self.needsFlush else { return }
        self.needsFlush = false
        self.io?.flush()
    }

    /// Closes the connection in the middle of a response, so that the client detects the truncation.
    package func close() {
        // The partial response shows the client that it is truncated; no bytes at all would look like a dead server.
        self.flushNow()
        self.ended()
        self.context?.close(promise: nil)
    }

    /// Stops reading the request's body, until ``resumeReading()``.
    package func pauseReading() {
        guard !self.isPaused else { return }
        self.isPaused = true
        self.pausedAt = .now()
        if self.isReadingBody { self.phaseDeadline = .distantFuture }
    }

    /// Resumes reading the request's body.
    package func resumeReading() {
        guard self.isPaused else { return }
        self.isPaused = false
        if self.isReadingBody {
            // The time of the pause does not count against the client.
            self.bodyBegan = self.bodyBegan + (.now() - self.pausedAt)
            self.armBodyDeadline()
        }
        self.readOnIfWanted()
    }

    /// Reads if the channel has asked for it and nothing prevents it any more.
    private func readOnIfWanted() {
        guard self.wantsRead, !self.isPaused, !self.holdsTooMuch else { return }
        self.wantsRead = false
        self.io?.read()
    }

    /// Closes the connection after its next response; called when the gateway drains.
    ///
    /// An idle connection is left to ``closeIfIdle(for:)``, so that a request in transit gets its response.
    package func drain() {
        self.closes = true
    }

    /// Whether bytes of a response are still queued for the client.
    package var isSending: Bool { self.bytesWaiting > 0 }

    private var bytesWaiting: Int {
        guard let options = self.context?.channel.syncOptions else { return 0 }
        return (try? options.getOption(.bufferedWritableBytes)) ?? 0
    }

    /// Whether bytes are queued and the client takes them: some recently, and enough since the last measurement.
    private func isStillReading() -> Bool {
        let waiting = self.bytesWaiting
        guard waiting > 0 else { return false }
        let now = NIODeadline.now()
        if waiting != self.unsent.bytes { self.unsent = (waiting, now) }
        guard now - self.unsent.since < self.environment.limits.writeStall else { return false }
        return self.downloadRate.isFastEnough(
            taken: self.written - Int64(waiting),
            at: now,
            within: self.environment.limits
        )
    }

    private var isReadingBody: Bool {
        if case .body = self.phase { true } else { false }
    }

    private func writeOut() {
        guard self.outbound.readableBytes > 0, let io else { return }
        var bytes = ByteBuffer()
        swap(&bytes, &self.outbound)
        self.written += Int64(bytes.readableBytes)
        io.write(bytes)
        self.environment.buffers.release(bytes)
        self.needsFlush = true
        self.hasSentBytes = true
    }

    /// The response is complete; what follows depends on whether the request is, too.
    private func requestDone() {
        self.isActive = false
        if let buffer = self.requestBuffer.take() { self.environment.buffers.release(buffer) }
        if self.isReadingBody || self.closes {
            self.linger()
        } else {
            self.response = .none
            self.phase = .idle
            self.resumeReading()
            self.arrived = .now()
            self.phaseDeadline = self.arrived + self.environment.limits.idle
        }
        if !self.isPumping {
            self.pump()
            self.flush()
            // The last of several pipelined requests: an empty buffer needs no storage.
            if self.inbound.readableBytes == 0, self.inbound.storageCapacity > 0 { self.inbound = ByteBuffer() }
        }
    }

    /// Closes the output and reads until the client closes, so that no reset destroys the response.
    ///
    /// RFC 9112 §9.6.
    private func linger() {
        self.writeOut()
        self.needsFlush = false
        self.phase = .lingering
        self.inbound = ByteBuffer()
        self.phaseDeadline = .now() + self.environment.limits.linger
        self.io?.flush()
        self.context?.close(mode: .output, promise: nil)
        if self.isPaused || self.wantsRead {
            self.isPaused = false
            self.wantsRead = false
            self.io?.read()
        }
    }
}

// MARK: Channel

extension HTTP1Connection {
    /// Registers with the loop's services and starts the first deadline.
    package func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        self.io = ChannelIO(context, reader: self.tls == nil ? self : nil)
        self.environment.sweep.add(self)
        self.environment.counts.open.add()
        self.phase = self.tls == nil ? .idle : .handshake
        let limits = self.environment.limits
        self.phaseDeadline = self.tls.map { $0.accepted + limits.handshake } ?? .now() + limits.firstByte
    }

    /// Unregisters.
    package func handlerRemoved(context: ChannelHandlerContext) {
        self.environment.sweep.remove(self)
        self.environment.heads.forget(self)
        self.environment.counts.open.add(-1)
        self.isActive = false
        self.context = nil
        self.io = nil
    }

    /// Starts reading requests after the TLS handshake.
    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case TLSUserEvent.handshakeCompleted = event, case .handshake = self.phase {
            self.phase = .idle
            self.phaseDeadline = .now() + self.environment.limits.firstByte
            self.pump()
            self.flush()
        }
        context.fireUserInboundEventTriggered(event)
    }

    /// Takes received bytes.
    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = self.unwrapInboundIn(data)
        self.socketRead(&bytes)
    }

    /// Takes received bytes.
    package func socketRead(_ bytes: inout ByteBuffer) {
        self.arrived = .now()
        switch self.phase {
        case .lingering, .closed:
            return
        case .handshake, .idle, .head, .body, .responding, .tunnel:
            break
        }
        self.inbound.appendRead(&bytes)
        self.pump()
        self.inbound.returnStorage(in: &bytes)
        guard self.inbound.readableBytes > 0 else { return }
        self.compactInbound(returning: &bytes)
        self.environment.heads.note(self)
    }

    /// Copies a few waiting bytes out of the large buffer of a read, which many slow clients would hold.
    private func compactInbound(returning storage: inout ByteBuffer) {
        let bytes = self.inbound.readableBytes
        guard self.inbound.storageCapacity >= 8 * 1024, bytes <= self.inbound.storageCapacity / 4 else { return }
        var moved = self.freshBuffer(capacity: bytes)
        moved.writeImmutableBuffer(self.inbound)
        storage = self.inbound
        self.inbound = moved
    }

    /// Sends what the received bytes have caused.
    package func channelReadComplete(context: ChannelHandlerContext) { self.socketReadComplete() }

    /// Sends what the received bytes have caused.
    package func socketReadComplete() {
        if self.isReadingBody { self.armBodyDeadline() }
        self.flush()
    }

    /// Reads, unless reading is paused.
    package func read(context: ChannelHandlerContext) { self.socketMayRead() }

    /// Reads, unless reading is paused.
    package func socketMayRead() {
        guard self.isPaused || self.holdsTooMuch else {
            self.io?.read()
            return
        }
        self.wantsRead = true
    }

    /// Whether the limit of buffered bytes is reached: of pipelined requests, or while a response is not taken.
    private var holdsTooMuch: Bool {
        switch self.phase {
        case .responding, .idle: self.inbound.readableBytes > self.environment.limits.pipelinedBytes
        case .handshake, .head, .body, .tunnel, .lingering, .closed: false
        }
    }

    /// Notes whether the peer takes bytes, and starts or ends the stall deadline.
    package func channelWritabilityChanged(context: ChannelHandlerContext) {
        let isWritable = context.channel.isWritable
        self.isWritable = isWritable
        self.stallDeadline = isWritable ? .distantFuture : .now() + self.environment.limits.writeStall
        if isWritable { self.downloadRate.reset() } else { self.unsent = (self.bytesWaiting, .now()) }
        self.responder.downstreamWritabilityChanged(isWritable: isWritable)
        if isWritable {
            self.arrived = .now()
            self.pump()
            self.flush()
        }
        context.fireChannelWritabilityChanged()
    }

    /// The connection is closed.
    package func channelInactive(context: ChannelHandlerContext) {
        self.ended()
        context.fireChannelInactive()
    }

    /// The connection has failed.
    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.ended()
        context.close(promise: nil)
    }

    private func ended() {
        let phase = self.phase
        self.isActive = false
        self.phase = .closed
        self.response = .complete
        self.phaseDeadline = .distantFuture
        self.stallDeadline = .distantFuture
        switch phase {
        case .body, .responding, .tunnel: self.responder.cancel()
        case .handshake, .idle, .head, .lingering, .closed: break
        }
    }

    /// Handles a passed deadline: a slow head or body gets a 408, everything else is closed.
    ///
    /// An idle or closing connection whose client still takes the last response gets more time.
    package func expire() {
        let now = NIODeadline.now()
        let isStalled = self.stallDeadline <= now
        if isStalled, self.phaseDeadline > now, self.isStillReading() {
            self.stallDeadline = now + .seconds(1)
            return
        }
        switch self.phase {
        case .head, .body:
            guard !isStalled || self.phaseDeadline <= now else { return self.closeLate(resets: true) }
            self.reject(WireRejection(.wireTooSlow))
        case .idle where self.isStillReading():
            self.stallDeadline = .distantFuture
            self.phaseDeadline = now + .seconds(1)
        case .lingering where self.isStillReading():
            self.stallDeadline = .distantFuture
            self.phaseDeadline = .now() + self.environment.limits.linger
        case .handshake, .idle, .responding, .tunnel, .lingering, .closed:
            self.closeLate(resets: isStalled)
        }
    }

    /// Closes the connection; with a reset if the client takes nothing, so that the kernel drops its buffers.
    private func closeLate(resets: Bool) {
        self.phaseDeadline = .distantFuture
        self.stallDeadline = .distantFuture
        guard resets, let socket = self.context?.channel as? SocketChannel else {
            self.context?.close(promise: nil)
            return
        }
        socket.reset()
    }
}

// MARK: IdleClosable

extension HTTP1Connection: IdleClosable {
    /// Whether it waits for the handshake, for a request or for the rest of a head.
    package var isIdle: Bool {
        switch self.phase {
        case .handshake, .idle, .head: true
        case .body, .responding, .tunnel, .lingering, .closed: false
        }
    }

    /// Since when it waits for its client.
    ///
    /// A head that has started to arrive counts as a request in progress for a second, and no longer.
    package var idleSince: NIODeadline? {
        let limits = self.environment.limits
        switch self.phase {
        case .handshake: return self.created
        case .idle where !self.isSending: return self.served == 0 ? self.created : self.phaseDeadline - limits.idle
        case .head:
            let began = self.phaseDeadline - limits.requestHead
            return .now() - began >= .seconds(1) ? began : nil
        case .lingering where !self.isSending: return self.phaseDeadline - limits.linger
        case .idle, .body, .responding, .tunnel, .lingering, .closed: return nil
        }
    }

    /// Closes the connection if no request is in progress and nothing has arrived for that long; four times as long on
    /// a new connection, whose handshake and first request are in transit.
    @discardableResult
    package func closeIfIdle(for time: TimeAmount) -> Bool {
        guard .now() - self.arrived >= (self.served == 0 ? 4 * time : time) else { return false }
        switch self.phase {
        case .idle where !self.isSending: self.linger()
        case .handshake: self.context?.close(promise: nil)
        case .idle, .head, .body, .responding, .tunnel, .lingering, .closed: return false
        }
        return true
    }
}

// MARK: HeadReader

extension HTTP1Connection: HeadReader {
    /// The part of a head that waits for its rest.
    package var unfinishedHead: UnfinishedHead? {
        guard case .head = self.phase else { return nil }
        let began = self.phaseDeadline - self.environment.limits.requestHead
        return UnfinishedHead(since: began, bytes: self.inbound.storageCapacity)
    }

    /// Responds with 408 and closes the connection.
    package func rejectUnfinishedHead() {
        self.reject(WireRejection(.wireTooSlow))
        self.flush()
    }
}
