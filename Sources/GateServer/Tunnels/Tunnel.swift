// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GateNet
internal import GateProxy
internal import GateSessions
internal import GateWire
internal import NIOCore

/// A WebSocket between a client and an app: bytes both ways, for as long as the session lives that opened it; confined to
/// one event loop.
///
/// Whoever cannot take more makes the other side stop reading. Frames are counted, not read, so that a close frame of the
/// gateway's own can be put between two others.
final class Tunnel {
    private enum Phase {
        /// The app has not agreed yet.
        case opening
        case open
        /// The frame at hand still goes to the client, then the close frame.
        case ending(WebSocketClose)
        case over
    }

    /// The session's family; nil on paths that are open to all.
    let family: [UInt8]?
    let pass: TunnelAuthorization
    let loop: LoopState
    private let connection: any DownstreamExchange
    private let silence: TimeAmount
    private unowned let exchange: UpstreamExchange
    private var link: (any UpstreamStream)?
    private var phase = Phase.opening
    private var toClient = WebSocketFrames()
    private var toApp = WebSocketFrames()
    private var lastMove = NIODeadline.now()
    /// When to see again whether the session lives and the person may still enter.
    var checkAt = NIODeadline.distantFuture
    /// Until when the matter must be over.
    private var endBy = NIODeadline.distantFuture
    /// Whether the session has ended before the app agreed.
    private(set) var isRefused = false
    /// How many checks in a row the store could not answer.
    var unanswered = 0

    /// How long the rest of a frame may take, or the app, when the tunnel ends.
    private static let endTime = TimeAmount.seconds(1)

    init(_ pass: TunnelAuthorization, exchange: UpstreamExchange, connection: any DownstreamExchange, loop: LoopState) {
        self.pass = pass
        self.family = pass.session?.familyKey
        self.loop = loop
        self.connection = connection
        self.exchange = exchange
        self.silence = pass.route.upstream.settings.limits.tunnel
        loop.tunnels.add(self)
    }

    var isOpen: Bool {
        if case .open = self.phase { true } else { false }
    }

    /// Whether bytes of the app still have a way to go.
    var takesFromApp: Bool {
        switch self.phase {
        case .open, .ending: true
        case .opening, .over: false
        }
    }
}

// MARK: Bytes

extension Tunnel {
    /// The app has agreed.
    func open(over link: any UpstreamStream) {
        self.link = link
        self.phase = .open
        self.lastMove = .now()
        self.checkAt = self.lastMove + self.nextCheck(for: self.pass.session)
        self.loop.sweep.add(self)
    }

    func fromClient(_ bytes: ByteBuffer) {
        guard self.isOpen, let link else { return }
        self.lastMove = .now()
        self.toApp.follow(bytes.readableBytesUInt8Span)
        link.send(bytes)
        link.flush()
        if !link.isWritable { self.connection.pauseReading() }
    }

    func fromApp(_ bytes: ByteBuffer) {
        switch self.phase {
        case .open:
            self.lastMove = .now()
            self.toClient.follow(bytes.readableBytesUInt8Span)
            if !self.connection.write(bytes) { self.link?.pauseReading() }
        case .ending(let reason):
            let count = self.toClient.followToEndOfFrame(bytes.readableBytesUInt8Span)
            if let rest = bytes.getSlice(at: bytes.readerIndex, length: count), !self.connection.write(rest) {
                self.link?.pauseReading()
            }
            if self.toClient.isBetweenFrames { self.sayGoodbye(reason) }
        case .opening, .over:
            break
        }
    }

    /// The app takes bytes again, or no longer.
    func appWritabilityChanged(isWritable: Bool) {
        guard self.isOpen else { return }
        if isWritable { self.connection.resumeReading() } else { self.connection.pauseReading() }
    }
}

// MARK: The end

extension Tunnel {
    /// Ends it in the middle: the client gets the rest of the frame at hand, both sides a close frame.
    func end(_ reason: WebSocketClose) {
        switch self.phase {
        case .opening:
            self.isRefused = true
        case .open:
            self.phase = .ending(reason)
            self.endBy = .now() + Tunnel.endTime
            if self.toApp.isBetweenFrames, !self.toApp.isClosed {
                self.link?.send(reason.frame(mask: RandomBytes.system.bytes(4)))
                self.link?.flush()
            }
            if self.toClient.isBetweenFrames {
                self.sayGoodbye(reason)
            } else {
                self.link?.resumeReading()
            }
        case .ending, .over:
            break
        }
    }

    private func sayGoodbye(_ reason: WebSocketClose) {
        if !self.toClient.isClosed { self.connection.write(reason.frame()) }
        self.link?.endTunnel()
        self.finish()
    }

    /// The client will send no more: the app is told and may end what it has begun.
    func clientEnded() {
        guard self.isOpen else { return }
        self.endBy = .now() + Tunnel.endTime
        self.link?.endTunnelOutput()
    }

    /// The client is gone.
    func clientGone() {
        let link = self.link
        self.leave()
        link?.endTunnel()
    }

    /// The app has ended the connection.
    func appEnded() {
        self.finish()
    }

    /// The client hears that nothing follows, after all that waits for it.
    private func finish() {
        self.leave()
        self.exchange.tunnelEnded()
        self.connection.end()
        self.connection.flush()
    }

    /// Breaks it off.
    func cut() {
        let link = self.link
        self.leave()
        self.exchange.tunnelEnded()
        link?.cancel()
        self.connection.cut()
    }

    /// Nothing of it is left.
    func leave() {
        self.phase = .over
        self.link = nil
        self.loop.tunnels.remove(self)
        self.loop.sweep.remove(self)
    }
}

extension Tunnel: Expiring {
    var deadline: NIODeadline {
        switch self.phase {
        case .opening, .over: .distantFuture
        case .open: min(self.lastMove + self.silence, self.checkAt, self.endBy)
        case .ending: self.endBy
        }
    }

    func expire() {
        let now = NIODeadline.now()
        guard self.isOpen else { return self.cut() }
        if self.endBy <= now {
            let link = self.link
            self.finish()
            link?.endTunnel()
        } else if self.lastMove + self.silence <= now {
            self.end(.goingAway)
        } else if self.checkAt <= now {
            self.check()
        }
    }
}
