// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import GateNet
internal import NIOCore
internal import Synchronization

/// Why a connection was not accepted.
package enum AcceptFailure: String, Error, Sendable, CaseIterable {
    /// The process or the system has no file descriptors left: `EMFILE`, `ENFILE`.
    case descriptors
    /// The kernel has no memory left: `ENOBUFS`, `ENOMEM`.
    case memory
    /// The limit of open connections is reached.
    case connections
    /// The limit of connections per client IP is reached.
    case perClientIP = "per_address"
    /// A client sent plain HTTP to a TLS listener.
    case plainHTTP = "plain_http"
    /// A load balancer sent no valid PROXY header.
    case proxyHeader = "proxy_header"
    /// Accepting failed for another reason.
    case other
}

/// Limits the open connections, in total and per client.
///
/// Called once when a connection opens and once when it closes, by all event loops; the counts per client are spread
/// over several locks.
package final class ConnectionLimiter: Sendable {
    package struct Limits: Sendable, Hashable {
        /// In total; nil for ``maxConnections``.
        package var connections: Int?
        /// The limit in total where neither the configuration nor the file descriptors set a lower one.
        package static let maxConnections = 10_000
        /// Per client; 0 for no limit.
        package var perClientIP = 256
        /// Networks whose connections are not counted per client, because they carry many users.
        package var exempt: [CIDRRange] = []

        package init() {}
    }

    /// A counted connection of one client, to be released.
    package struct Claim: Sendable {
        fileprivate let client: ClientNetwork?
    }

    private final class Shard: Sendable {
        let counts = Mutex<[ClientNetwork: Int]>([:])
    }

    private let limits: Mutex<Limits>
    private let inside = Atomic<Int>(0)
    /// The connections of each event loop.
    private let loops = Mutex<[(loop: SocketLoop, connections: NIOLoopBound<ClientConnections>)]>([])
    /// How many connections wait for another loop to close one.
    private let waiting = Atomic<Int>(0)
    private let shards = (0..<16).map { _ in Shard() }
    private let rejected: @Sendable (AcceptFailure) -> Void
    private let handshakeFailed: @Sendable (HandshakeFailure) -> Void

    /// A limiter; `rejected` is called for each connection that was not accepted, `handshakeFailed` for each TLS handshake
    /// that failed.
    package init(
        _ limits: Limits,
        rejected: @escaping @Sendable (AcceptFailure) -> Void = { _ in },
        handshakeFailed: @escaping @Sendable (HandshakeFailure) -> Void = { _ in }
    ) {
        self.limits = Mutex(limits)
        self.handshakeFailed = handshakeFailed
        self.rejected = rejected
    }

    /// Changes the limits for new connections.
    package func update(_ limits: Limits) {
        self.limits.withLock { $0 = limits }
    }

    /// How many connections are open.
    package var count: Int { self.inside.load(ordering: .relaxed) }

    /// The limit of open connections.
    package var limit: Int { self.limits.withLock { $0.connections ?? Limits.maxConnections } }

    /// Counts a TLS handshake that failed.
    func report(_ failure: HandshakeFailure) { self.handshakeFailed(failure) }

    /// Counts a connection that was not accepted.
    package func report(_ failure: AcceptFailure) { self.rejected(failure) }

    /// Counts one more connection until ``leave()``; false at the limit.
    package func admit() -> Bool {
        guard self.inside.add(1, ordering: .relaxed).newValue <= self.limit else {
            self.connectionClosed()
            return false
        }
        return true
    }

    /// Counts a connection for which another one was closed.
    func admitInPlaceOfAnother() { self.inside.add(1, ordering: .relaxed) }

    /// Removes one connection from the count.
    package func connectionClosed() { self.inside.subtract(1, ordering: .relaxed) }

    /// Counts a connection of a client until ``release(_:)``; nil at the client's limit.
    ///
    /// - Parameters:
    ///   - address: The client IP.
    ///   - isForced: Whether to ignore the limit, because another connection of the client was closed for this one.
    /// - Returns: The claim to release.
    package func claim(_ address: IPAddress?, isForced: Bool = false) -> Claim? {
        let limits = self.limits.withLock { $0 }
        guard let address, limits.perClientIP > 0, !limits.exempt.contains(where: { $0.contains(address) }) else {
            return Claim(client: nil)
        }
        let client = ClientNetwork(of: address)
        let isIn = self.shard(of: client).counts.withLock { counts in
            guard isForced || counts[client, default: 0] < limits.perClientIP else { return false }
            counts[client, default: 0] += 1
            return true
        }
        return isIn ? Claim(client: client) : nil
    }

    /// Removes a connection of a client from the count.
    package func release(_ claim: Claim) {
        guard let client = claim.client else { return }
        self.shard(of: client).counts.withLock { counts in
            let left = counts[client, default: 1] - 1
            counts[client] = left > 0 ? left : nil
        }
    }

    private func shard(of client: ClientNetwork) -> Shard {
        self.shards[Int(truncatingIfNeeded: UInt(bitPattern: client.hashValue) % 16)]
    }
}

// MARK: Freeing slots

extension ConnectionLimiter {
    /// How many connections may wait for another loop to close one.
    private static let maxWaiting = 64
    /// How many idle connections are closed when the process has no descriptors left: each request may need one more.
    private static let closedForDescriptors = 4

    /// The connections of a loop; called on the loop.
    func connections(of loop: SocketLoop) -> ClientConnections {
        let bound = self.loops.withLock { loops in
            if let known = loops.first(where: { $0.loop === loop }) { return known.connections }
            let made = NIOLoopBound(ClientConnections(), eventLoop: loop)
            loops.append((loop, made))
            return made
        }
        return bound.value
    }

    /// Closes the longest idle connection of a loop, or else of another loop, for a new connection.
    ///
    /// - Parameters:
    ///   - newcomer: The new connection; it is not read before.
    ///   - client: The client of which one is closed; nil for any.
    ///   - loop: The loop of the newcomer, on which this is called.
    ///   - then: Called on that loop, immediately or later, with whether one was closed.
    func freeSlot(
        for newcomer: ClientConnections.Member,
        of client: ClientNetwork?,
        on loop: SocketLoop,
        then: @escaping (Bool) -> Void
    ) {
        guard !self.connections(of: loop).closeLongestIdle(of: client, for: newcomer) else { return then(true) }
        let others = self.loops.withLock { $0 }.filter { $0.loop !== loop }
        guard !others.isEmpty, self.waiting.add(1, ordering: .relaxed).newValue <= ConnectionLimiter.maxWaiting else {
            if !others.isEmpty { self.waiting.subtract(1, ordering: .relaxed) }
            return then(false)
        }
        let bound = NIOLoopBound(then, eventLoop: loop)
        ConnectionLimiter.closeLongestIdle(of: client, in: others.map(\.connections)[...]) { isClosed in
            loop.execute {
                self.waiting.subtract(1, ordering: .relaxed)
                bound.value(isClosed)
            }
        }
    }

    private static func closeLongestIdle(
        of client: ClientNetwork?,
        in loops: ArraySlice<NIOLoopBound<ClientConnections>>,
        then: @escaping @Sendable (Bool) -> Void
    ) {
        guard let first = loops.first else { return then(false) }
        first.eventLoop.execute {
            guard !first.value.closeLongestIdle(of: client) else { return then(true) }
            self.closeLongestIdle(of: client, in: loops.dropFirst(), then: then)
        }
    }

    /// Closes a few idle connections of a loop, or else of the others, because the process has no descriptors or memory
    /// left.
    ///
    /// - Parameter loop: The loop on which this is called.
    /// - Returns: Whether one of that loop was closed, so that it can accept immediately.
    func closeSomeIdle(on loop: SocketLoop) -> Bool {
        guard !ConnectionLimiter.closeSomeIdle(self.connections(of: loop)) else { return true }
        for other in self.loops.withLock({ $0 }) where other.loop !== loop {
            let connections = other.connections
            other.loop.execute { _ = ConnectionLimiter.closeSomeIdle(connections.value) }
        }
        return false
    }

    private static func closeSomeIdle(_ connections: ClientConnections) -> Bool {
        var closed = 0
        while closed < ConnectionLimiter.closedForDescriptors, connections.closeLongestIdle() { closed += 1 }
        return closed > 0
    }
}
