// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import GateNet
internal import NIOCore
internal import Synchronization

/// Why a connection was not taken.
package enum AcceptFailure: String, Sendable, CaseIterable {
    /// The process or the system has no file descriptor left: `EMFILE`, `ENFILE`.
    case descriptors
    /// The kernel has no memory for it: `ENOBUFS`, `ENOMEM`.
    case memory
    /// As many connections are open as may be.
    case connections
    /// As many of one client address are open as may be.
    case perAddress = "per_address"
    /// A client spoke plain HTTP on a listener with TLS.
    case plainHTTP = "plain_http"
    /// A balancer sent no proper PROXY header.
    case proxyHeader = "proxy_header"
    /// Accepting failed for another reason.
    case other
}

/// Counts open connections, all together and by client, and turns away what is over the bounds.
///
/// Used once when a connection opens and once when it closes, by all event loops; the counts by client are spread over
/// locks.
package final class ConnectionLimiter: Sendable {
    /// How many connections may be open.
    package struct Bounds: Sendable, Hashable {
        /// All together; nil for ``maxConnections``.
        package var connections: Int?
        /// All together where neither the configuration nor the file descriptors say less.
        package static let maxConnections = 10_000
        /// Of one client IP; 0 for no limit.
        package var perClientIP = 256
        /// Networks whose connections are not counted by client, because they come for many.
        package var exempt: [CIDRRange] = []

        /// The defaults.
        package init() {}
    }

    /// A place of one client, to be given back.
    package struct Claim: Sendable {
        fileprivate let client: ClientNetwork?
    }

    private final class Shard: Sendable {
        let counts = Mutex<[ClientNetwork: Int]>([:])
    }

    private let bounds: Mutex<Bounds>
    private let inside = Atomic<Int>(0)
    /// The connections of each event loop.
    private let loops = Mutex<[(loop: SocketLoop, connections: NIOLoopBound<ClientConnections>)]>([])
    /// How many connections wait for room that another loop makes.
    private let waiting = Atomic<Int>(0)
    private let shards = (0..<16).map { _ in Shard() }
    private let refused: @Sendable (AcceptFailure) -> Void

    /// A gate with bounds, which tells `refused` of each connection that was not taken.
    package init(_ bounds: Bounds, refused: @escaping @Sendable (AcceptFailure) -> Void = { _ in }) {
        self.bounds = Mutex(bounds)
        self.refused = refused
    }

    /// Other bounds, for the connections that come from now on.
    package func update(_ bounds: Bounds) {
        self.bounds.withLock { $0 = bounds }
    }

    /// How many connections are open.
    package var count: Int { self.inside.load(ordering: .relaxed) }

    /// How many may be.
    package var limit: Int { self.bounds.withLock { $0.connections ?? Bounds.maxConnections } }

    /// Notes that a connection was not taken.
    package func note(_ failure: AcceptFailure) { self.refused(failure) }

    /// Whether one more connection may be open; if so it is counted until ``leave()``.
    package func enter() -> Bool {
        guard self.inside.add(1, ordering: .relaxed).newValue <= self.limit else {
            self.leave()
            return false
        }
        return true
    }

    /// Counts a connection that takes the place of one that was closed for it.
    func enterInPlaceOfAnother() { self.inside.add(1, ordering: .relaxed) }

    /// Takes one off the count.
    package func leave() { self.inside.subtract(1, ordering: .relaxed) }

    /// A place for a client, counted until ``release(_:)``; nil if it has as many connections as it may have.
    ///
    /// - Parameters:
    ///   - address: The client's address.
    ///   - isForced: Whether it gets one in any case, because another of its connections was closed for it.
    /// - Returns: The place.
    package func claim(_ address: IPAddress?, isForced: Bool = false) -> Claim? {
        let bounds = self.bounds.withLock { $0 }
        guard let address, bounds.perClientIP > 0, !bounds.exempt.contains(where: { $0.contains(address) }) else {
            return Claim(client: nil)
        }
        let client = ClientNetwork(of: address)
        let isIn = self.shard(of: client).counts.withLock { counts in
            guard isForced || counts[client, default: 0] < bounds.perClientIP else { return false }
            counts[client, default: 0] += 1
            return true
        }
        return isIn ? Claim(client: client) : nil
    }

    /// Gives a place back.
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

// MARK: Making room

extension ConnectionLimiter {
    /// How many connections may wait for room that another loop makes.
    private static let maxWaiting = 64
    /// How many idle connections are closed when the process has no descriptor left: each request may need one more.
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

    /// Closes the longest idle connection of a loop, or else of another loop, for one that was accepted.
    ///
    /// - Parameters:
    ///   - newcomer: The connection that needs room; it is not read before.
    ///   - client: The client of which one is closed; nil for any.
    ///   - loop: The loop of the newcomer, on which this is called.
    ///   - then: Called on that loop, at once or later, with whether one was closed.
    func makeRoom(
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

    /// Closes a few idle connections of a loop, or else of the others, because the process has no descriptor or memory left.
    ///
    /// - Parameter loop: The loop on which this is called.
    /// - Returns: Whether one of that loop was closed, so that it can go on at once.
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
