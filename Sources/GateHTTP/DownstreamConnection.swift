// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateWire
package import NIOCore
internal import NIOTLS

/// One client connection that speaks HTTP/1.1; confined to its channel's event loop.
///
/// It reads one request after the other, hands each to the ``Responder`` and writes what the responder answers. The next
/// request is not looked at before the answer to this one is complete. Everything that has a duration has an absolute
/// deadline.
package final class DownstreamConnection: ChannelDuplexHandler, Expiring, Flushable {
    /// What the channel hands in.
    package typealias InboundIn = ByteBuffer
    /// What the channel is handed.
    package typealias OutboundIn = ByteBuffer
    /// What goes to the channel.
    package typealias OutboundOut = ByteBuffer

    /// Where the connection stands with the current request.
    private enum Phase {
        case handshake
        case idle
        case head
        case body(BodyReader)
        case answering
        case lingering
        case closed
    }

    /// Where the answer stands.
    private enum AnswerPhase {
        case none
        case started(BodyFraming)
        case complete
    }

    /// The address of the peer, nil when it has none.
    package let peer: IPAddress?
    /// What the client named in its TLS handshake.
    package let tls: TLSFacts?
    /// When to give up, see ``Expiring``: on the client's next move, or on its taking what waits for it.
    package var deadline: NIODeadline { min(self.phaseDeadline, self.stallDeadline) }

    /// When the bytes at hand arrived.
    package private(set) var arrived = NIODeadline.now()

    private let setting: DownstreamSetting
    private let responder: any Responder
    private let created = NIODeadline.now()
    private let ageLimit: TimeAmount
    private var context: ChannelHandlerContext?
    /// What the channel last said of itself, which is cheaper than asking it.
    private var isWritable = true
    private var parser: RequestParser
    private var inbound = ByteBuffer()
    private var outbound = ByteBuffer()
    private var phase = Phase.idle
    private var answer = AnswerPhase.none
    private var served = 0
    private var closes = false
    private var isHeadRequest = false
    /// Whether a request is under way to which no answer has been completed.
    private var owesAnswer = false
    private var isPumping = false
    private var isPaused = false
    private var wantsRead = false
    private var needsFlush = false
    private var isFlushPending = false
    private var phaseDeadline = NIODeadline.distantFuture
    private var stallDeadline = NIODeadline.distantFuture
    private var pausedAt = NIODeadline.distantFuture
    private var bodyBegan = NIODeadline.distantFuture
    private var bodyBytes: Int64 = 0
    /// Bytes that waited for the client at the last look, and since when that has not changed.
    private var unsent = (bytes: 0, since: NIODeadline.now())

    /// A connection that is about to be added to its channel's pipeline.
    ///
    /// - Parameters:
    ///   - setting: Its surroundings.
    ///   - peer: The address of the client.
    ///   - tls: What was agreed by TLS, nil on a plain listener.
    ///   - responder: Decides on its requests.
    package init(setting: DownstreamSetting, peer: IPAddress?, tls: TLSFacts?, responder: any Responder) {
        self.setting = setting
        self.peer = peer
        self.tls = tls
        self.responder = responder
        self.parser = RequestParser(names: setting.names(), limits: setting.limits.head, isSecure: tls != nil)
        let jitter = setting.limits.age.nanoseconds / 10
        self.ageLimit = .nanoseconds(setting.limits.age.nanoseconds + Int64.random(in: -jitter...jitter))
    }

    /// The loop that the connection is confined to.
    package var eventLoop: (any EventLoop)? { self.context?.eventLoop }

    /// Room for a head, from the channel's allocator.
    package func freshBuffer(capacity: Int) -> ByteBuffer {
        self.context?.channel.allocator.buffer(capacity: capacity) ?? ByteBuffer()
    }
}

// MARK: Answering

extension DownstreamConnection {
    /// Whether the answer about to be started has to say `Connection: close`.
    package var mustClose: Bool {
        self.closes || self.served >= self.setting.limits.requests || self.setting.isDraining()
            || self.arrived - self.created > self.ageLimit
    }

    /// Tells a client that waits for it to send the body.
    ///
    /// RFC 9110 §15.2.1.
    package func sendContinue() {
        guard self.owesAnswer, case .none = self.answer, let context else { return }
        context.writeAndFlush(
            self.wrapOutboundOut(ByteBuffer(staticString: "HTTP/1.1 100 Continue\r\n\r\n")),
            promise: nil
        )
    }

    /// Sends an answer of our own and completes the request with it.
    package func respond(_ answer: Answer) {
        guard self.owesAnswer, case .none = self.answer else { return }
        if self.isReadingBody { self.closes = true }
        self.closes = self.mustClose
        self.outbound = answer.encoded(
            closes: self.closes,
            forHead: self.isHeadRequest,
            into: self.freshBuffer(capacity: 512 + answer.body.count)
        )
        self.answer = .started(.none)
        self.end()
    }

    /// Starts an answer with a complete head.
    ///
    /// - Parameters:
    ///   - head: The bytes, written by a `HeadWriter`, with `Connection: close` if ``mustClose`` said so.
    ///   - framing: What the head says of the body.
    ///   - closes: Whether the connection ends with this answer.
    package func start(_ head: consuming ByteBuffer, framing: BodyFraming, closes: Bool) {
        guard self.owesAnswer, case .none = self.answer else { return }
        self.answer = .started(framing)
        self.closes = self.closes || closes || framing == .untilClose
        self.outbound = head
    }

    /// Sends a part of the body; false when the client should be given time to take it.
    @discardableResult
    package func write(_ body: ByteBuffer) -> Bool {
        guard case .started(let framing) = self.answer, body.readableBytes > 0, !self.isHeadRequest else { return true }
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
            self.context?.write(self.wrapOutboundOut(body), promise: nil)
        }
        if framing == .chunked { self.outbound.writeStaticString("\r\n") }
        if self.outbound.readableBytes > 32 * 1024 { self.writeOut() }
        return self.isWritable
    }

    /// Completes the answer.
    package func end() {
        guard case .started(let framing) = self.answer else { return }
        if framing == .chunked, !self.isHeadRequest { self.outbound.writeStaticString("0\r\n\r\n") }
        self.answer = .complete
        self.owesAnswer = false
        self.writeOut()
        self.requestDone()
    }

    /// Sends what has been written; called by the responder when it has no more to write for now.
    package func flush() {
        self.writeOut()
        guard self.needsFlush, !self.isPumping, !self.isFlushPending else { return }
        guard let flushes = self.setting.flushes else {
            self.flushNow()
            return
        }
        self.isFlushPending = true
        flushes.add(self)
    }

    /// Hands what was written to the network.
    package func flushNow() {
        self.isFlushPending = false
        guard self.needsFlush else { return }
        self.needsFlush = false
        self.context?.flush()
    }

    /// Ends the connection in the middle of an answer, so that the client sees that it is cut off.
    package func cut() {
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

    /// Reads on.
    package func resumeReading() {
        guard self.isPaused else { return }
        self.isPaused = false
        if self.isReadingBody {
            // The client is not to blame for the time in which nobody read.
            self.bodyBegan = self.bodyBegan + (.now() - self.pausedAt)
            self.armBodyDeadline()
        }
        self.readOnIfWanted()
    }

    /// Reads on if the channel wanted to and nothing speaks against it any more.
    private func readOnIfWanted() {
        guard self.wantsRead, !self.isPaused, !self.holdsTooMuch else { return }
        self.wantsRead = false
        self.context?.read()
    }

    /// Ends an idle connection now and a busy one after its answer; called when the gateway drains.
    package func drain() {
        self.closes = true
        switch self.phase {
        case .idle: self.linger()
        case .handshake: self.context?.close(promise: nil)
        case .head, .body, .answering, .lingering, .closed: break
        }
    }

    /// Whether bytes of an answer still wait for the client.
    package var isSending: Bool { self.bytesWaiting > 0 }

    private var bytesWaiting: Int {
        guard let options = self.context?.channel.syncOptions else { return 0 }
        return (try? options.getOption(.bufferedWritableBytes)) ?? 0
    }

    /// Whether bytes wait for the client and it has taken some of them lately.
    private func isStillTaking() -> Bool {
        let waiting = self.bytesWaiting
        guard waiting > 0 else { return false }
        if waiting != self.unsent.bytes { self.unsent = (waiting, .now()) }
        return .now() - self.unsent.since < self.setting.limits.writeStall
    }

    private var isReadingBody: Bool {
        if case .body = self.phase { true } else { false }
    }

    private func writeOut() {
        guard self.outbound.readableBytes > 0, let context else { return }
        context.write(self.wrapOutboundOut(self.outbound), promise: nil)
        self.setting.recycle(self.outbound)
        self.outbound = ByteBuffer()
        self.needsFlush = true
    }

    /// The answer is complete; what follows depends on whether the request is, too.
    private func requestDone() {
        if self.isReadingBody || self.closes {
            self.linger()
        } else {
            self.answer = .none
            self.phase = .idle
            self.resumeReading()
            self.arrived = .now()
            self.phaseDeadline = self.arrived + self.setting.limits.idle
        }
        if !self.isPumping {
            self.pump()
            self.flush()
        }
    }

    /// Sends all, tells the client that nothing follows and reads until it has heard, so that no reset destroys the
    /// answer.
    ///
    /// RFC 9112 §9.6.
    private func linger() {
        self.writeOut()
        self.needsFlush = false
        self.phase = .lingering
        self.inbound.clear()
        self.phaseDeadline = .now() + self.setting.limits.linger
        self.context?.flush()
        self.context?.close(mode: .output, promise: nil)
        if self.isPaused || self.wantsRead {
            self.isPaused = false
            self.wantsRead = false
            self.context?.read()
        }
    }
}

// MARK: Reading

extension DownstreamConnection {
    /// Reads as many requests as may be begun.
    private func pump() {
        guard !self.isPumping else { return }
        self.isPumping = true
        do {
            while try self.step() {}
        } catch {
            self.refuse(error)
        }
        self.isPumping = false
        self.readOnIfWanted()
    }

    /// Takes the next part of a request off the buffer; false when more bytes or the end of the answer are needed.
    private func step() throws(WireRefusal) -> Bool {
        switch self.phase {
        case .handshake, .answering, .lingering, .closed:
            return false
        case .idle:
            // A client that does not take its answers gets no further ones to pile up.
            guard self.inbound.readableBytes > 0, self.isWritable else { return false }
            self.phase = .head
            self.phaseDeadline = self.arrived + self.setting.limits.requestHead
            return true
        case .head:
            // Asked for at the last moment: the configuration that names the fields must be the one that decides.
            self.parser.names = self.setting.names()
            guard let head = try self.parser.head(from: &self.inbound) else { return false }
            self.begin(head)
            return true
        case .body(var reader):
            let part = try reader.next(from: &self.inbound)
            if self.isReadingBody { self.phase = .body(reader) }
            return self.take(part)
        }
    }

    private func begin(_ head: RequestHead) {
        self.served += 1
        self.answer = .none
        self.owesAnswer = true
        self.isHeadRequest = head.method == .head
        self.closes = self.closes || !head.keepsAlive
        if head.framing == .none {
            self.phase = .answering
            self.phaseDeadline = .distantFuture
            self.responder.begin(head, on: self)
            if self.isUnanswered { self.responder.finishRequest() }
        } else {
            self.phase = .body(BodyReader(head.framing, status: 400))
            self.bodyBegan = .now()
            self.bodyBytes = 0
            self.armBodyDeadline()
            self.responder.begin(head, on: self)
        }
    }

    /// Whether the request just begun still waits for its answer.
    private var isUnanswered: Bool {
        if case .answering = self.phase, case .none = self.answer { true } else { false }
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
            self.phase = .answering
            self.phaseDeadline = .distantFuture
            self.responder.finishRequest()
            return true
        }
    }

    private func refuse(_ refusal: WireRefusal) {
        self.closes = true
        self.owesAnswer = true
        switch self.answer {
        case .none where self.isReadingBody:
            self.responder.abandon()
            self.respond(self.responder.answer(to: refusal))
        case .none:
            self.isHeadRequest = false
            self.respond(self.responder.answer(to: refusal))
        case .started, .complete:
            _ = self.responder.answer(to: refusal)
            self.cut()
        }
    }

    /// The next moment at which the body must have moved on: no silence, and no trickle.
    private func armBodyDeadline() {
        guard self.isReadingBody, !self.isPaused else { return }
        let limits = self.setting.limits
        let silence = NIODeadline.now() + limits.bodyInactivity
        let paid = TimeAmount.seconds(min(self.bodyBytes / max(1, limits.bodyRate), 1_000_000_000))
        self.phaseDeadline = min(silence, self.bodyBegan + limits.bodyGrace + paid)
    }
}

// MARK: Channel

extension DownstreamConnection {
    /// Takes its place in the pipeline.
    package func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        self.setting.sweep.add(self)
        self.phase = self.tls == nil ? .idle : .handshake
        let limits = self.setting.limits
        self.phaseDeadline = self.tls.map { $0.accepted + limits.handshake } ?? .now() + limits.firstByte
    }

    /// Leaves the pipeline.
    package func handlerRemoved(context: ChannelHandlerContext) {
        self.setting.sweep.remove(self)
        self.context = nil
    }

    /// Learns that the TLS handshake is complete.
    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case TLSUserEvent.handshakeCompleted = event, case .handshake = self.phase {
            self.phase = .idle
            self.phaseDeadline = .now() + self.setting.limits.firstByte
            self.pump()
            self.flush()
        }
        context.fireUserInboundEventTriggered(event)
    }

    /// Takes bytes that have arrived.
    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = self.unwrapInboundIn(data)
        self.arrived = .now()
        switch self.phase {
        case .lingering, .closed:
            return
        case .handshake, .idle, .head, .body, .answering:
            break
        }
        if self.inbound.readableBytes == 0 {
            self.inbound = bytes
        } else {
            self.inbound.writeBuffer(&bytes)
        }
        self.pump()
        // Nothing left: letting go of the bytes lets the channel read into the same memory again.
        if self.inbound.readableBytes == 0 { self.inbound = ByteBuffer() }
    }

    /// Sends what the bytes just read have led to.
    package func channelReadComplete(context: ChannelHandlerContext) {
        if self.isReadingBody { self.armBodyDeadline() }
        self.flush()
    }

    /// Reads on, unless reading is paused.
    package func read(context: ChannelHandlerContext) {
        guard self.isPaused || self.holdsTooMuch else {
            context.read()
            return
        }
        self.wantsRead = true
    }

    /// Whether as much has come behind the request under way as may wait, or behind an answer that is not taken.
    private var holdsTooMuch: Bool {
        switch self.phase {
        case .answering, .idle: self.inbound.readableBytes > self.setting.limits.pipelinedBytes
        case .handshake, .head, .body, .lingering, .closed: false
        }
    }

    /// Learns that the peer takes bytes again, or no longer.
    package func channelWritabilityChanged(context: ChannelHandlerContext) {
        let isWritable = context.channel.isWritable
        self.isWritable = isWritable
        self.stallDeadline = isWritable ? .distantFuture : .now() + self.setting.limits.writeStall
        if !isWritable { self.unsent = (self.bytesWaiting, .now()) }
        self.responder.downstreamWritabilityChanged(isWritable: isWritable)
        if isWritable {
            self.arrived = .now()
            self.pump()
            self.flush()
        }
        context.fireChannelWritabilityChanged()
    }

    /// Learns that the connection is no more.
    package func channelInactive(context: ChannelHandlerContext) {
        self.ended()
        context.fireChannelInactive()
    }

    /// Learns that the connection has failed.
    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.ended()
        context.close(promise: nil)
    }

    private func ended() {
        let phase = self.phase
        self.phase = .closed
        self.answer = .complete
        self.phaseDeadline = .distantFuture
        self.stallDeadline = .distantFuture
        switch phase {
        case .body, .answering: self.responder.abandon()
        case .handshake, .idle, .head, .lingering, .closed: break
        }
    }

    /// The deadline has passed: a slow head or body is told so, everything else is closed.
    ///
    /// An idle or closing connection whose client still takes the last answer gets more time.
    package func expire() {
        let now = NIODeadline.now()
        let isStalled = self.stallDeadline <= now
        if isStalled, self.phaseDeadline > now, self.isStillTaking() {
            self.stallDeadline = now + .seconds(1)
            return
        }
        switch self.phase {
        case .head, .body:
            guard !isStalled || self.phaseDeadline <= now else { return self.giveUp() }
            self.refuse(WireRefusal(408, "wire.too_slow"))
        case .idle where self.isStillTaking():
            self.stallDeadline = .distantFuture
            self.phaseDeadline = now + .seconds(1)
        case .lingering where self.isStillTaking():
            self.stallDeadline = .distantFuture
            self.phaseDeadline = .now() + self.setting.limits.linger
        case .handshake, .idle, .answering, .lingering, .closed:
            self.giveUp()
        }
    }

    private func giveUp() {
        self.phaseDeadline = .distantFuture
        self.stallDeadline = .distantFuture
        self.context?.close(promise: nil)
    }
}
