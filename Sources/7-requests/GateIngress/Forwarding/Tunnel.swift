// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GateNet
internal import GateProxy
internal import GateWire
internal import NIOCore

/// What a tunnel reports to the exchange that opened it.
protocol TunnelDelegate: AnyObject {
    /// The tunnel is over; called once, after it has left its registry.
    func tunnelEnded()
}

/// A WebSocket between a client and an app: bytes both ways, for as long as the session lives that opened it; confined to
/// one event loop.
///
/// Back-pressure: a side that cannot write more stops reading on the other. Frames are counted, not read, so that the
/// gateway can insert a close frame between two others.
final class Tunnel {
    private enum Phase {
        /// The app has not agreed yet.
        case opening
        case open
        /// The frame at hand still goes to the client, then the close frame.
        case ending(WebSocketClose)
        case over
    }

    private let authorization: TunnelAuthorization
    private let registry: TunnelRegistry
    private let sweep: DeadlineSweep
    private let connection: any DownstreamExchange
    private let idleTimeout: TimeAmount
    private unowned let delegate: any TunnelDelegate
    private var link: (any UpstreamStream)?
    private var phase = Phase.opening
    private var toClient = WebSocketFrames()
    private var toApp = WebSocketFrames()
    private var lastMove = NIODeadline.now()
    /// When to decide again whether it may stay open.
    private var checkAt = NIODeadline.distantFuture
    /// When a tunnel that is ending is cut.
    private var endBy = NIODeadline.distantFuture
    /// Whether the session has ended before the app agreed.
    private(set) var isRefused = false
    /// How many checks in a row the store did not respond to.
    private var unanswered = 0
    /// After so many checks in a row without a response of the store the tunnel ends.
    private static let maxUnanswered = 5

    /// How long the rest of a frame may take, or the app, when the tunnel ends.
    private static let endTime = TimeAmount.seconds(1)

    /// A tunnel that the app has not accepted yet.
    init(
        _ authorization: TunnelAuthorization,
        idleTimeout: TimeAmount,
        delegate: any TunnelDelegate,
        connection: any DownstreamExchange,
        registry: TunnelRegistry,
        sweep: DeadlineSweep
    ) {
        self.authorization = authorization
        self.idleTimeout = idleTimeout
        self.delegate = delegate
        self.connection = connection
        self.registry = registry
        self.sweep = sweep
        registry.add(self)
    }

    var isOpen: Bool {
        if case .open = self.phase { true } else { false }
    }

    /// Whether bytes of the app are still passed on.
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
        self.checkAt = self.lastMove + self.authorization.firstCheck
        self.sweep.add(self)
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
            if self.toClient.isBetweenFrames { self.sendClose(reason) }
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
                self.sendClose(reason)
            } else {
                self.link?.resumeReading()
            }
        case .ending, .over:
            break
        }
    }

    private func sendClose(_ reason: WebSocketClose) {
        if !self.toClient.isClosed { self.connection.write(reason.frame()) }
        self.link?.endTunnel()
        self.finish()
    }

    /// The client will send no more: the app gets an end of input and may finish.
    func clientEnded() {
        guard self.isOpen else { return }
        self.endBy = .now() + Tunnel.endTime
        self.link?.endTunnelOutput()
    }

    func clientGone() {
        let link = self.link
        self.unregister()
        link?.endTunnel()
    }

    /// The app has ended the connection.
    func appEnded() {
        self.finish()
    }

    /// The client hears that nothing follows, after all that waits for it.
    private func finish() {
        self.unregister()
        self.delegate.tunnelEnded()
        self.connection.end()
        self.connection.flush()
    }

    /// Breaks it off.
    func close() {
        let link = self.link
        self.unregister()
        self.delegate.tunnelEnded()
        link?.cancel()
        self.connection.close()
    }

    /// Nothing of it is left.
    func unregister() {
        self.phase = .over
        self.link = nil
        self.authorization.cancel()
        self.registry.remove(self)
        self.sweep.remove(self)
    }
}

// MARK: The check

extension Tunnel: RegisteredTunnel {
    var family: [UInt8]? { self.authorization.family }

    func checkSoon() {
        if self.isOpen { self.checkAt = .now() }
    }

    private func check() {
        self.checkAt = .now() + TunnelAuthorization.interval
        self.authorization.decide { decision in
            guard self.isOpen else { return }
            switch decision {
            case .allowed(let time):
                self.unanswered = 0
                self.checkAt = .now() + time
            case .denied:
                self.end(.policy)
            case .unknown:
                self.unanswered += 1
                if self.unanswered >= Tunnel.maxUnanswered { self.end(.policy) }
            }
        }
    }
}

extension Tunnel: Expiring {
    var deadline: NIODeadline {
        switch self.phase {
        case .opening, .over: .distantFuture
        case .open: min(self.lastMove + self.idleTimeout, self.checkAt, self.endBy)
        case .ending: self.endBy
        }
    }

    func expire() {
        let now = NIODeadline.now()
        guard self.isOpen else { return self.close() }
        if self.endBy <= now {
            let link = self.link
            self.finish()
            link?.endTunnel()
        } else if self.lastMove + self.idleTimeout <= now {
            self.end(.goingAway)
        } else if self.checkAt <= now {
            self.check()
        }
    }
}

/// A WebSocket that is to be opened; confined to one event loop.
///
/// An object, because nearly every request has none, and must not carry the space for one from step to step.
final class PendingTunnel {
    /// What the client offers.
    let offer: WebSocketHandshake
    /// Why it may be opened.
    let authorization: TunnelAuthorization

    init(_ offer: WebSocketHandshake, _ authorization: TunnelAuthorization) {
        self.offer = offer
        self.authorization = authorization
    }
}
