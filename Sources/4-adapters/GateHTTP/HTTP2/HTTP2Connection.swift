// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import GateNet
internal import GateWire
package import NIOCore

/// One client connection that speaks HTTP/2; confined to its channel's event loop.
///
/// It drives a libnghttp2 session and has one ``Responder`` per open stream. Streams only note what they have to send;
/// everything is sent together at the end of the turn, so that one write carries the frames of many streams. As over
/// HTTP/1.1, everything that takes time has a deadline.
package final class HTTP2Connection: ByteHandler, ClientConnection, Flushable {
    /// The state of a graceful shutdown.
    ///
    /// RFC 9113 §6.8.
    private enum ShutdownPhase {
        case none
        /// The first `GOAWAY` is sent; requests that the client sent before it are still accepted.
        case announced
        /// The final `GOAWAY` with the last stream is sent.
        case final
        /// Nothing more is sent, and received bytes are ignored.
        case lingering
        case closed
    }

    /// The IP address of the peer; nil if it has none.
    package let peer: IPAddress?
    /// When the current bytes arrived.
    package private(set) var arrived = NIODeadline.now()

    let environment: DownstreamEnvironment
    private let makeResponder: () -> any Responder
    private let created = NIODeadline.now()
    private let ageLimit: TimeAmount
    private var context: ChannelHandlerContext?
    var session: HTTP2Session?
    private let headBuilder: HTTP2RequestHeadBuilder
    private var flood: FloodLimiter
    /// The streams between their head and their end; each knows its position.
    private(set) var open: [HTTP2Stream] = []
    /// The streams with something to submit to the session.
    private var noted: [HTTP2Stream] = []
    /// Responders of closed streams, for reuse.
    private var spare: [any Responder] = []
    private var served = 0
    /// The highest stream number that the client has opened.
    private var highestStream: Int32 = 0
    /// Streams that closed before their requests were complete, whose trailers may still arrive.
    private var closedEarly = RecentStreams()
    /// Bytes of responses that are not in frames yet.
    var waitingBytes = 0
    /// How many streams are paused by back-pressure.
    var pausedWriters = 0
    private var shutdown = ShutdownPhase.none
    /// Whether the connection is closing after a protocol violation.
    var isTerminating = false
    private var isReceiving = false
    private var isFlushing = false
    private var isFlushPending = false
    private var isWritable = true
    private var needsFlush = false
    /// When frames were last written.
    var flushedAt = NIODeadline.now()
    /// The deadline for the first request, or for the next one on an idle connection.
    private var idleDeadline: NIODeadline
    private var headDeadline = NIODeadline.distantFuture
    /// The lengths of the frames of the last header section so far.
    private var sectionBytes = 0
    private var shutdownDeadline = NIODeadline.distantFuture
    private var stallDeadline = NIODeadline.distantFuture
    /// When the open streams are checked again.
    private var streamCheckDeadline = NIODeadline.distantFuture
    /// Bytes that were queued at the last check, and since when that has not changed.
    private var unsent = (bytes: 0, since: NIODeadline.now())

    /// A connection that is about to be added to its channel's pipeline, after TLS that negotiated `h2`.
    ///
    /// - Parameters:
    ///   - environment: Limits and services of its loop.
    ///   - peer: The IP address of the client.
    ///   - makeResponder: Creates a responder for one stream at a time.
    package init(environment: DownstreamEnvironment, peer: IPAddress?, makeResponder: @escaping () -> any Responder) {
        self.environment = environment
        self.peer = peer
        self.makeResponder = makeResponder
        self.headBuilder = HTTP2RequestHeadBuilder(
            limits: environment.limits.head,
            isSecure: true,
            takesWebSockets: environment.takesWebSockets
        )
        self.flood = FloodLimiter(now: self.created)
        self.idleDeadline = self.created + environment.limits.firstByte
        let jitter = environment.limits.age.nanoseconds / 10
        self.ageLimit = .nanoseconds(environment.limits.age.nanoseconds + Int64.random(in: -jitter...jitter))
    }

    /// A responder without a request.
    private func freshResponder() -> any Responder { self.spare.popLast() ?? self.makeResponder() }
}

// MARK: Sending

extension HTTP2Connection {
    /// Submits a stream's changes to the session before the end of the turn.
    func note(_ stream: HTTP2Stream) {
        guard !stream.isNoted else { return }
        stream.isNoted = true
        self.noted.append(stream)
        self.scheduleFlush()
    }

    /// Flushes at the end of the turn.
    func scheduleFlush() {
        guard !self.isFlushPending else { return }
        if let flushes = self.environment.flushes {
            self.isFlushPending = true
            flushes.add(self)
        } else if !self.isReceiving, !self.isFlushing {
            self.flushNow()
        }
    }

    /// Writes frames for everything pending, as far as the client takes them, and hands them to the network.
    package func flushNow() {
        self.isFlushPending = false
        guard let session, !self.isReceiving, !self.isFlushing else { return }
        self.isFlushing = true
        self.flushedAt = .now()
        var isMore = true
        // A write may close the connection, after which the session must not be used.
        while isMore, self.session != nil {
            self.submitNoted(to: session)
            guard self.isWritable, session.wantsWrite else { break }
            if session.outbound.capacity == 0 { session.outbound = self.environment.buffers.acquire(capacity: 4096) }
            isMore = session.fill(upTo: 32 * 1024) || !self.noted.isEmpty
            self.writeOut(session)
        }
        self.isFlushing = false
        self.resumeWriters()
        self.endIfDone()
    }

    private func submitNoted(to session: HTTP2Session) {
        guard !self.noted.isEmpty else { return }
        // Submitting causes no further changes.
        for stream in self.noted {
            stream.submit(to: session)
        }
        self.noted.removeAll(keepingCapacity: true)
    }

    private func writeOut(_ session: HTTP2Session) {
        guard session.outbound.readableBytes > 0, let context else { return }
        context.writeAndFlush(self.wrapOutboundOut(session.outbound), promise: nil)
        self.environment.buffers.release(session.outbound)
        session.outbound = ByteBuffer()
    }

    private func resumeWriters() {
        guard self.pausedWriters > 0 else { return }
        for stream in self.open {
            stream.resumeWriterIfDrained()
        }
    }

    /// Whether bytes of a response are still queued, or the final `GOAWAY` is pending.
    package var isSending: Bool {
        if case .announced = self.shutdown { return true }
        return self.waitingBytes > 0 || self.bytesInChannel > 0 || (self.session?.outbound.readableBytes ?? 0) > 0
    }

    private var bytesInChannel: Int {
        guard let options = self.context?.channel.syncOptions else { return 0 }
        return (try? options.getOption(.bufferedWritableBytes)) ?? 0
    }
}

// MARK: The end

extension HTTP2Connection {
    /// Starts a graceful shutdown; called when the gateway drains.
    package func drain() { self.announceEnd() }

    /// Sends the first `GOAWAY` and gives the client time to receive it.
    private func announceEnd() {
        guard case .none = self.shutdown, let session else { return }
        self.shutdown = .announced
        self.shutdownDeadline = .now() + self.environment.limits.goAwayDelay
        session.announceEnd()
        self.scheduleFlush()
    }

    /// Sends the final `GOAWAY`; the connection closes after its open streams.
    private func nameLastStream() {
        guard case .announced = self.shutdown, let session else { return }
        self.shutdown = .final
        self.shutdownDeadline = .distantFuture
        session.submitLast()
        self.scheduleFlush()
    }

    /// Reports a protocol violation to the client and closes.
    private func terminate(_ code: HTTP2CloseCode) {
        guard !self.isTerminating, let session else { return }
        self.isTerminating = true
        session.terminate(code)
        self.scheduleFlush()
    }

    /// Closes the connection when nothing is left to send.
    private func endIfDone() {
        guard let session, self.isWritable, self.noted.isEmpty else { return }
        switch self.shutdown {
        case .lingering, .closed: return
        case .final where self.open.isEmpty && !session.wantsWrite: break
        case .none, .announced, .final:
            guard !session.wantsRead, !session.wantsWrite else { return }
        }
        self.linger()
    }

    /// Closes the output and reads until the client closes, so that no reset destroys the last frames.
    private func linger() {
        self.shutdown = .lingering
        self.closeAllStreams()
        self.session = nil
        self.idleDeadline = .distantFuture
        self.headDeadline = .distantFuture
        self.shutdownDeadline = .now() + self.environment.limits.linger
        self.context?.close(mode: .output, promise: nil)
    }

    /// Closes the connection immediately.
    package func close() {
        self.ended()
        self.context?.close(promise: nil)
    }

    /// Releases everything when the connection is closed or about to be.
    private func ended() {
        self.shutdown = .closed
        self.closeAllStreams()
        self.session = nil
        self.idleDeadline = .distantFuture
        self.headDeadline = .distantFuture
        self.shutdownDeadline = .distantFuture
        self.stallDeadline = .distantFuture
        self.spare = []
    }

    private func closeAllStreams() {
        let streams = self.open
        if !streams.isEmpty { self.environment.counts.active.add(-1) }
        // libnghttp2 may be running and still refers to them.
        self.session?.detachedStreams = streams
        self.open = []
        self.noted = []
        self.streamCheckDeadline = .distantFuture
        for stream in streams {
            stream.didClose()
        }
    }
}

// MARK: Frames and streams

// Called by libnghttp2 while it reads and writes.
extension HTTP2Connection {
    /// Charges the cost of a frame to the flood limiter.
    func frameBegun(_ kind: HTTP2FrameType, length: Int, stream: Int32) {
        let cost =
            switch kind {
            case .data: 0
            case .headers, .reset, .goAway: 0
            case .windowUpdate: 1
            case .priority, .other: 2
            case .ping, .continuation: 5
            case .settings, .pushPromise: 20
            }
        switch kind {
        case .headers:
            self.flood.carry(length)
            self.sectionBytes = length
            self.checkOrder(of: stream)
        case .continuation:
            self.flood.carry(length)
            self.sectionBytes += length
        case .data, .priority, .reset, .settings, .pushPromise, .ping, .goAway, .windowUpdate, .other: break
        }
        if cost > 0, !self.flood.spend(cost, at: self.arrived) { self.terminate(.enhanceYourCalm) }
    }

    /// Counts the content of a DATA frame without its padding (CVE-2019-9518).
    func dataReceived(_ carried: Int, endsStream: Bool) {
        self.carried(carried)
        let cost = endsStream || carried >= 4 ? 0 : carried == 0 ? 5 : 1
        if cost > 0, !self.flood.spend(cost, at: self.arrived) { self.terminate(.enhanceYourCalm) }
    }

    /// Checks a header section on a stream number below the highest: trailers, or a skipped number.
    ///
    /// RFC 9113 §5.1.1: numbers only grow. libnghttp2 treats every such stream as closed.
    private func checkOrder(of stream: Int32) {
        guard stream <= self.highestStream else {
            self.highestStream = stream
            return
        }
        guard !self.open.contains(where: { $0.id == stream }), !self.closedEarly.contains(stream) else { return }
        self.count(.malformed(.wireStreamOrder))
        self.terminate(.protocolError)
    }

    /// Credits a part of a body, in either direction.
    ///
    /// Streams of short messages are honest, so a few bytes pay for the window updates that they cause.
    func carried(_ count: Int) {
        self.flood.carry(count)
        if count >= 16 { self.flood.earn(2) }
    }

    /// Starts a header section.
    func headBegun(isRequest: Bool) {
        self.headDeadline = self.arrived + self.environment.limits.requestHead
        let memory = isRequest ? self.environment.buffers.acquire(capacity: 1024) : ByteBuffer()
        self.headBuilder.begin(names: self.environment.names(), into: memory)
    }

    /// Takes a field of it.
    func fieldReceived(_ name: Span<UInt8>, _ value: Span<UInt8>, isRequest: Bool) {
        if isRequest {
            self.headBuilder.append(name: name, value: value)
        } else {
            // Trailers of requests are dropped, as over HTTP/1.1.
            self.headBuilder.skip(name: name, value: value)
        }
        if self.headBuilder.isBomb { self.terminate(.enhanceYourCalm) }
    }

    /// Begins the request of a complete header section.
    func requestReceived(_ id: Int32, endsStream: Bool) {
        self.headDeadline = .distantFuture
        guard !self.isTerminating, let session else { return }
        // The configuration that names the fields must be the one that decides; clients may retry, RFC 9113 §8.7.
        guard self.headBuilder.names === self.environment.names() else {
            self.closedEarly.insert(id)
            session.reset(id, .refusedStream)
            self.scheduleFlush()
            return
        }
        let stream = HTTP2Stream(id: id, connection: self, responder: self.freshResponder())
        stream.position = self.open.count
        self.open.append(stream)
        if self.open.count == 1 { self.environment.counts.active.add() }
        session.open(stream)
        self.served += 1
        self.idleDeadline = .distantFuture
        if self.streamCheckDeadline == .distantFuture {
            self.streamCheckDeadline = self.arrived + self.environment.limits.streamCheckInterval
        }
        if self.served >= self.environment.limits.maxRequestsPerConnection
            || self.arrived - self.created > self.ageLimit
        {
            self.announceEnd()
        }
        do {
            stream.begin(try self.headBuilder.finish(endsStream: endsStream), endsStream: endsStream)
        } catch {
            self.reject(error, on: stream, endsStream: endsStream)
        }
    }

    private func reject(_ rejection: HTTP2FieldsRejection, on stream: HTTP2Stream, endsStream: Bool) {
        var wire = rejection.rejection
        wire.wantsPage = self.headBuilder.wantsPage
        let response = stream.responder.response(to: wire)
        if rejection.isMalformed {
            stream.reject()
        } else {
            stream.reject(response, endsStream: endsStream, isHead: self.headBuilder.isHead)
        }
    }

    /// libnghttp2 has rejected a header section; its stream is reset.
    func headRejected(_ id: Int32) {
        self.headDeadline = .distantFuture
        self.closedEarly.insert(id)
        self.count(.malformed(.wireFieldBytes))
    }

    /// Counts a rejection that has no response.
    private func count(_ rejection: WireRejection) {
        let responder = self.freshResponder()
        _ = responder.response(to: rejection)
        self.keep(responder)
    }

    /// The trailer section of a request is complete; it is dropped.
    func trailerReceived() { self.headDeadline = .distantFuture }

    /// Handles another complete frame.
    func frameReceived(_ kind: HTTP2FrameType, isAcknowledgement: Bool) {
        switch kind {
        case .ping where isAcknowledgement:
            self.nameLastStream()
        case .data, .headers, .priority, .reset, .settings, .pushPromise, .ping, .goAway, .windowUpdate, .continuation,
            .other:
            break
        }
    }

    /// Counts a reset by the client, unless it ends no work: a client that has the response may stop sending, and the client of Go resets
    /// one in a hundred streams that have just ended.
    func resetReceived(_ stream: HTTP2Stream?) {
        if let stream {
            if !stream.isResponseSent { self.countReset() }
        } else if !self.flood.spend(2, at: self.arrived) {
            // One that the gateway has reset was counted then.
            self.terminate(.enhanceYourCalm)
        }
    }

    /// Credits a complete response, since the client may reset its stream afterwards.
    func responseSent() { self.flood.earn(1) }

    /// Counts a reset that we sent; a response that is complete before its request is not an error.
    func resetSent(isNoError: Bool) {
        if !isNoError { self.countReset() }
    }

    /// Sends a `PING` after the first `GOAWAY`; not earlier, because libnghttp2 would send the `PING` first.
    func goAwaySent() {
        if case .announced = self.shutdown { self.session?.ping() }
    }

    private func countReset() {
        if !self.flood.countReset(at: .now()) { self.terminate(.enhanceYourCalm) }
    }

    /// Removes a closed stream and keeps its responder for reuse.
    func closed(_ stream: HTTP2Stream) {
        guard stream.position < self.open.count, self.open[stream.position] === stream else { return }
        let last = self.open.removeLast()
        if last !== stream {
            last.position = stream.position
            self.open[stream.position] = last
        }
        if !stream.isRequestComplete { self.closedEarly.insert(stream.id) }
        stream.didClose()
        if let memory = stream.requestBuffer.take() { self.environment.buffers.release(memory) }
        self.keep(stream.responder)
        guard self.open.isEmpty else { return }
        self.environment.counts.active.add(-1)
        self.streamCheckDeadline = .distantFuture
        self.idleDeadline = .now() + self.environment.limits.idle
        self.scheduleFlush()
    }

    private func keep(_ responder: any Responder) {
        if self.spare.count < 8 { self.spare.append(responder) }
    }
}

// MARK: Channel

extension HTTP2Connection {
    /// Registers with the loop's services and sends the settings.
    package func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        self.isWritable = context.channel.isWritable
        self.environment.sweep.add(self)
        self.environment.counts.open.add()
        self.session = HTTP2Session(
            connection: self,
            limits: self.environment.limits,
            takesWebSockets: self.environment.takesWebSockets
        )
        guard self.session != nil else {
            context.close(promise: nil)
            return
        }
        if self.environment.isDraining() { self.announceEnd() }
        self.scheduleFlush()
    }

    /// Unregisters.
    package func handlerRemoved(context: ChannelHandlerContext) {
        self.environment.sweep.remove(self)
        self.environment.heads.forget(self)
        self.environment.counts.open.add(-1)
        self.ended()
        self.context = nil
    }

    /// Takes received bytes.
    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = self.unwrapInboundIn(data)
        self.arrived = .now()
        switch self.shutdown {
        case .lingering, .closed: return
        case .none, .announced, .final: break
        }
        // Keeps the session alive while libnghttp2 is running.
        guard let session else { return }
        if !self.flood.receive(bytes.readableBytes) { self.terminate(.enhanceYourCalm) }
        self.isReceiving = true
        let rejection = session.receive(bytes)
        self.isReceiving = false
        if let rejection, !self.isTerminating { self.terminate(rejection) }
        self.scheduleFlush()
        if self.headDeadline != .distantFuture { self.environment.heads.note(self) }
    }

    /// Notes whether the peer takes bytes, and starts or ends the stall deadline.
    package func channelWritabilityChanged(context: ChannelHandlerContext) {
        let isWritable = context.channel.isWritable
        self.isWritable = isWritable
        self.stallDeadline = isWritable ? .distantFuture : .now() + self.environment.limits.writeStall
        if isWritable {
            let now = NIODeadline.now()
            for stream in self.open {
                stream.progressed = now
            }
            self.scheduleFlush()
        } else {
            self.unsent = (self.bytesInChannel, .now())
        }
        context.fireChannelWritabilityChanged()
    }

    /// The connection is closed.
    package func channelInactive(context: ChannelHandlerContext) {
        self.ended()
        context.fireChannelInactive()
    }

    /// Closes when the client has closed its side, which ends HTTP/2.
    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed = event { self.close() }
        context.fireUserInboundEventTriggered(event)
    }

    /// The connection has failed.
    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.ended()
        context.close(promise: nil)
    }
}

// MARK: Deadlines

extension HTTP2Connection {
    /// The earliest deadline of the connection, see `Expiring`.
    package var deadline: NIODeadline {
        min(
            min(self.idleDeadline, self.headDeadline, self.shutdownDeadline),
            min(self.stallDeadline, self.streamCheckDeadline)
        )
    }

    /// Handles passed deadlines of the connection and its streams.
    package func expire() {
        let now = NIODeadline.now()
        if self.stallDeadline <= now {
            guard self.isStillReading(now) else { return self.closeLate() }
            self.stallDeadline = now + .seconds(1)
        }
        if self.headDeadline <= now { self.rejectUnfinishedHead() }
        if self.shutdownDeadline <= now { self.shutdownDeadlinePassed(now) }
        if self.idleDeadline <= now {
            self.idleDeadline = .distantFuture
            self.announceEnd()
        }
        if self.streamCheckDeadline <= now { self.check(now) }
    }

    private func shutdownDeadlinePassed(_ now: NIODeadline) {
        switch self.shutdown {
        case .announced: self.nameLastStream()
        case .lingering where self.isStillReading(now): self.shutdownDeadline = now + self.environment.limits.linger
        case .none, .final, .lingering, .closed: self.closeLate()
        }
    }

    /// Checks each open stream: bodies must progress, and queued bytes must be taken.
    private func check(_ now: NIODeadline) {
        self.streamCheckDeadline =
            self.open.isEmpty ? .distantFuture : now + self.environment.limits.streamCheckInterval
        for stream in self.open {
            if stream.bodyDeadline <= now {
                stream.rejectSlowBody()
            } else if self.isWritable, stream.isStuck(at: now) {
                stream.reset(.cancel)
            }
        }
    }

    /// Whether bytes are queued and the client has taken some recently.
    private func isStillReading(_ now: NIODeadline) -> Bool {
        let waiting = self.bytesInChannel
        guard waiting > 0 else { return false }
        if waiting != self.unsent.bytes { self.unsent = (waiting, now) }
        return now - self.unsent.since < self.environment.limits.writeStall
    }

    private func closeLate() {
        self.ended()
        self.context?.close(promise: nil)
    }
}

// MARK: IdleClosable

extension HTTP2Connection: IdleClosable {
    /// Whether no stream is open and no shutdown has started.
    package var isIdle: Bool {
        if case .none = self.shutdown { self.open.isEmpty && self.session != nil } else { false }
    }

    /// Since when no stream is open.
    ///
    /// A header section that has started to arrive counts as a request in progress for a second.
    package var idleSince: NIODeadline? {
        guard self.open.isEmpty, !self.isSending else { return nil }
        guard self.headDeadline == .distantFuture else {
            let began = self.headDeadline - self.environment.limits.requestHead
            return .now() - began >= .seconds(1) ? began : nil
        }
        let isWaiting = self.served > 0 && self.idleDeadline != .distantFuture
        return isWaiting ? self.idleDeadline - self.environment.limits.idle : self.created
    }

    /// Starts a graceful shutdown if no stream is open and nothing has arrived for that long.
    @discardableResult
    package func closeIfIdle(for time: TimeAmount) -> Bool {
        guard self.isIdle, .now() - self.arrived >= time else { return false }
        self.announceEnd()
        return true
    }
}

// MARK: HeadReader

extension HTTP2Connection: HeadReader {
    /// The header section whose last frame has not arrived.
    ///
    /// Beside the fields that are complete libnghttp2 holds the one that is not, in a buffer that it makes for the length which the field
    /// announces. How much that is does not show, so each frame counts with its length from its first bytes on.
    package var unfinishedHead: UnfinishedHead? {
        guard self.headDeadline != .distantFuture else { return nil }
        let began = self.headDeadline - self.environment.limits.requestHead
        return UnfinishedHead(since: began, bytes: self.headBuilder.heldBytes + self.sectionBytes)
    }

    /// Counts the rejection and ends the connection, whose compression context is incomplete without the rest.
    package func rejectUnfinishedHead() {
        self.headDeadline = .distantFuture
        self.count(WireRejection(.wireTooSlow))
        self.terminate(.enhanceYourCalm)
    }
}
