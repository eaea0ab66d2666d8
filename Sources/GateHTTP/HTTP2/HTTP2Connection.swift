// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import GateNet
internal import GateWire
package import NIOCore

/// One client connection that speaks HTTP/2; confined to its channel's event loop.
///
/// It drives a libnghttp2 session and stands between it and the ``Responder``s, one for each open stream. Streams only
/// note what they have to send; all of it goes out together at the end of the turn, so that one write carries the frames
/// of many streams. Like a connection that speaks HTTP/1.1 it has a deadline for everything that takes time.
package final class HTTP2Connection: ChannelInboundHandler, ClientConnection, Flushable {
    /// What the channel hands in.
    package typealias InboundIn = ByteBuffer
    /// What goes to the channel.
    package typealias OutboundOut = ByteBuffer

    /// How far the end of the connection has been announced.
    ///
    /// RFC 9113 §6.8.
    enum Farewell {
        case none
        /// The client knows that the connection ends; requests that it sent before it knew are still taken.
        case announced
        /// The last stream has been named.
        case final
        /// Nothing more is sent, and what comes is ignored.
        case lingering
        case closed
    }

    /// The address of the peer, nil when it has none.
    package let peer: IPAddress?
    /// When the bytes at hand arrived.
    package internal(set) var arrived = NIODeadline.now()

    let setting: DownstreamEnvironment
    let makeResponder: () -> any Responder
    let created = NIODeadline.now()
    let ageLimit: TimeAmount
    var context: ChannelHandlerContext?
    var session: HTTP2Session?
    let block: HTTP2RequestHeadBuilder
    var flood: FloodLimiter
    /// The streams between their head and their end; each knows its place.
    var open: [HTTP2Stream] = []
    /// Those that have something for the session.
    var noted: [HTTP2Stream] = []
    /// Responders of streams that are no more.
    var spare: [any Responder] = []
    var served = 0
    /// The highest number of a stream that the client has opened.
    var highestStream: Int32 = 0
    /// Streams that ended before their requests, whose trailers may still come.
    var closedEarly = RecentStreams()
    /// Bytes of answers that have not become frames yet.
    var waitingBytes = 0
    /// How many streams were told to wait.
    var heldUp = 0
    var farewell = Farewell.none
    /// Whether the peer is being told that it has broken the rules.
    var isTerminating = false
    var isReceiving = false
    var isFlushing = false
    var isFlushPending = false
    var isWritable = true
    var needsFlush = false
    /// When frames were last made.
    var flushedAt = NIODeadline.now()
    /// Until when the first request must have come, or the next one on an idle connection.
    var idleDeadline: NIODeadline
    var headDeadline = NIODeadline.distantFuture
    var shutdownDeadline = NIODeadline.distantFuture
    var stallDeadline = NIODeadline.distantFuture
    /// When to look at the open streams again.
    var lookDeadline = NIODeadline.distantFuture
    /// Bytes that waited for the client at the last look, and since when that has not changed.
    var unsent = (bytes: 0, since: NIODeadline.now())

    /// A connection that is about to be added to its channel's pipeline, behind TLS that has chosen `h2`.
    ///
    /// - Parameters:
    ///   - setting: Its surroundings.
    ///   - peer: The address of the client.
    ///   - makeResponder: Makes what decides on the requests of one stream at a time.
    package init(setting: DownstreamEnvironment, peer: IPAddress?, makeResponder: @escaping () -> any Responder) {
        self.setting = setting
        self.peer = peer
        self.makeResponder = makeResponder
        self.block = HTTP2RequestHeadBuilder(
            limits: setting.limits.head,
            isSecure: true,
            takesWebSockets: setting.takesWebSockets
        )
        self.flood = FloodLimiter(now: self.created)
        self.idleDeadline = self.created + setting.limits.firstByte
        let jitter = setting.limits.age.nanoseconds / 10
        self.ageLimit = .nanoseconds(setting.limits.age.nanoseconds + Int64.random(in: -jitter...jitter))
    }

    /// A responder without a request.
    func freshResponder() -> any Responder { self.spare.popLast() ?? self.makeResponder() }
}

// MARK: Sending

extension HTTP2Connection {
    /// Sees to it that a stream's news reach the session before the end of the turn.
    func note(_ stream: HTTP2Stream) {
        guard !stream.isNoted else { return }
        stream.isNoted = true
        self.noted.append(stream)
        self.scheduleFlush()
    }

    /// Sends what there is, at the end of the turn.
    func scheduleFlush() {
        guard !self.isFlushPending else { return }
        if let flushes = self.setting.flushes {
            self.isFlushPending = true
            flushes.add(self)
        } else if !self.isReceiving, !self.isFlushing {
            self.flushNow()
        }
    }

    /// Makes frames of all that is waiting, as far as the client takes them, and hands them to the network.
    package func flushNow() {
        self.isFlushPending = false
        guard let session, !self.isReceiving, !self.isFlushing else { return }
        self.isFlushing = true
        self.flushedAt = .now()
        var isMore = true
        // A write may end the connection, after which the session must not be asked for more.
        while isMore, self.session != nil {
            self.submitNoted(to: session)
            guard self.isWritable, session.wantsWrite else { break }
            if session.outbound.capacity == 0 { session.outbound = self.setting.memory.take(capacity: 4096) }
            isMore = session.fill(upTo: 32 * 1024) || !self.noted.isEmpty
            self.writeOut(session)
        }
        self.isFlushing = false
        self.releaseHeldUp()
        self.endIfDone()
    }

    private func submitNoted(to session: HTTP2Session) {
        guard !self.noted.isEmpty else { return }
        // Nothing that is handed over here leads to further news.
        for stream in self.noted {
            stream.submit(to: session)
        }
        self.noted.removeAll(keepingCapacity: true)
    }

    private func writeOut(_ session: HTTP2Session) {
        guard session.outbound.readableBytes > 0, let context else { return }
        context.writeAndFlush(self.wrapOutboundOut(session.outbound), promise: nil)
        self.setting.memory.giveBack(session.outbound)
        session.outbound = ByteBuffer()
    }

    private func releaseHeldUp() {
        guard self.heldUp > 0 else { return }
        for stream in self.open {
            stream.releaseIfDrained()
        }
    }

    /// Whether bytes of an answer still wait for the client, or it has still to hear that it must ask elsewhere.
    package var isSending: Bool {
        if case .announced = self.farewell { return true }
        return self.waitingBytes > 0 || self.bytesInChannel > 0 || (self.session?.outbound.readableBytes ?? 0) > 0
    }

    var bytesInChannel: Int {
        guard let options = self.context?.channel.syncOptions else { return 0 }
        return (try? options.getOption(.bufferedWritableBytes)) ?? 0
    }
}

// MARK: The end

extension HTTP2Connection {
    /// Announces the end; called when the gateway drains.
    package func drain() { self.announceEnd() }

    /// Tells the client to open no more streams here, and gives it time to hear that.
    func announceEnd() {
        guard case .none = self.farewell, let session else { return }
        self.farewell = .announced
        self.shutdownDeadline = .now() + self.setting.limits.farewell
        session.announceEnd()
        self.scheduleFlush()
    }

    /// Names the last stream; when the open ones have ended, so does the connection.
    func nameLastStream() {
        guard case .announced = self.farewell, let session else { return }
        self.farewell = .final
        self.shutdownDeadline = .distantFuture
        session.submitLast()
        self.scheduleFlush()
    }

    /// Tells the client that it has broken the rules, and ends with that.
    func terminate(_ code: HTTP2Session.Code) {
        guard !self.isTerminating, let session else { return }
        self.isTerminating = true
        session.terminate(code)
        self.scheduleFlush()
    }

    /// Ends the connection when nothing is left to be said on it.
    private func endIfDone() {
        guard let session, self.isWritable, self.noted.isEmpty else { return }
        switch self.farewell {
        case .lingering, .closed: return
        case .final where self.open.isEmpty && !session.wantsWrite: break
        case .none, .announced, .final:
            guard !session.wantsRead, !session.wantsWrite else { return }
        }
        self.linger()
    }

    /// Tells the client that nothing follows and reads until it has heard, so that no reset destroys the last frames.
    private func linger() {
        self.farewell = .lingering
        self.abandonAll()
        self.session = nil
        self.idleDeadline = .distantFuture
        self.headDeadline = .distantFuture
        self.shutdownDeadline = .now() + self.setting.limits.linger
        self.context?.close(mode: .output, promise: nil)
    }

    /// Ends the connection at once.
    package func cut() {
        self.ended()
        self.context?.close(promise: nil)
    }

    /// The connection is no more, or is about to be.
    func ended() {
        self.farewell = .closed
        self.abandonAll()
        self.session = nil
        self.idleDeadline = .distantFuture
        self.headDeadline = .distantFuture
        self.shutdownDeadline = .distantFuture
        self.stallDeadline = .distantFuture
        self.spare = []
    }

    private func abandonAll() {
        let streams = self.open
        // The library still points to them, should it be at work.
        self.session?.retired = streams
        self.open = []
        self.noted = []
        self.lookDeadline = .distantFuture
        for stream in streams {
            stream.close()
        }
    }
}
