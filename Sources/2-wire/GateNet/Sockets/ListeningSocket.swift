// SPDX-License-Identifier: Apache-2.0

internal import CEventPoll
internal import Glibc
package import NIOCore
internal import Synchronization

/// A listening socket from which all loops of a group accept.
package final class ListeningSocket: Sendable {
    /// How many bytes the kernel buffers beyond what the peer's window allows: `TCP_NOTSENT_LOWAT`, tcp(7).
    ///
    /// With it the write queue of a slow client shrinks steadily instead of stalling for a minute.
    private static let unsentBytes: (name: Int32, value: Int32) = (25, 128 * 1024)

    /// How long a started TCP handshake may take.
    ///
    /// Longer than a round trip around the globe, and shorter than the second after which a client resends a dropped
    /// SYN.
    private static let handshakeTime = Duration.milliseconds(300)

    private let descriptor: Int32
    private let isInherited: Bool
    private let isClosed = Atomic(false)
    private let turn = Atomic(0)
    private let listeners = Mutex<[NIOLoopBound<SocketListener>]>([])

    /// Binds an address.
    ///
    /// - Throws: A ``SocketError`` that names the call that failed.
    package convenience init(on address: SocketAddress) throws(SocketError) {
        self.init(try SocketCalls.listen(on: address), isInherited: false)
    }

    /// Takes over a socket that another process bound and keeps open.
    ///
    /// - Throws: A ``SocketError`` when it cannot listen.
    package convenience init(inheriting descriptor: Int32) throws(SocketError) {
        try SocketError.check("listen") { listen(descriptor, SocketCalls.backlog) }
        try SocketCalls.setNonBlocking(descriptor)
        self.init(descriptor, isInherited: true)
    }

    /// Takes a socket that this process listens on; it is closed with this object.
    package convenience init(taking descriptor: Int32) { self.init(descriptor, isInherited: false) }

    private init(_ descriptor: Int32, isInherited: Bool) {
        self.descriptor = descriptor
        self.isInherited = isInherited
        // Accepted sockets inherit both.
        SocketCalls.disableNagle(descriptor)
        let (name, value) = ListeningSocket.unsentBytes
        try? SocketCalls.set(descriptor, Int32(IPPROTO_TCP), name, to: value)
    }

    deinit {
        self.closeOnce()
    }

    private func closeOnce() {
        guard !self.isClosed.exchange(true, ordering: .relaxed) else { return }
        Glibc.close(self.descriptor)
    }

    /// The address it is bound to.
    package var address: SocketAddress? { SocketCalls.localAddress(of: self.descriptor) }

    /// Accepts connections on every loop of a group.
    ///
    /// - Parameters:
    ///   - group: The loops.
    ///   - failed: Called on one of the loops, which is passed, when accepting fails. If it returns true because it has
    ///     freed a descriptor, the loop continues, otherwise it retries after 100 ms.
    ///   - prepare: Called on the loop of each connection; rejects it by throwing.
    /// - Throws: A ``SocketError`` when a loop cannot watch the socket.
    package func accept(
        on group: SocketLoopGroup,
        failed: @escaping @Sendable (SocketError, SocketLoop) -> Bool = { _, _ in false },
        prepare: @escaping @Sendable (SocketChannel) throws -> Void
    ) async throws {
        do {
            for loop in group.loops {
                let listener = try await loop.submit {
                    let listener = SocketListener(self.descriptor, on: loop, failed: { failed($0, loop) }) { accepted in
                        self.give(accepted, from: loop, to: group, prepare)
                    }
                    try listener.start()
                    return NIOLoopBound(listener, eventLoop: loop)
                }.get()
                self.listeners.withLock { $0.append(listener) }
            }
        } catch {
            await self.close()
            throw error
        }
    }

    /// Passes a connection to the next loop, round robin.
    ///
    /// The kernel alone would wake the same loop again and again, as long as that keeps up.
    private func give(
        _ accepted: Int32,
        from loop: SocketLoop,
        to group: SocketLoopGroup,
        _ prepare: @escaping @Sendable (SocketChannel) throws -> Void
    ) {
        let turn = self.turn.wrappingAdd(1, ordering: .relaxed).oldValue
        let chosen = group.loops[turn % group.loops.count]
        guard chosen !== loop else { return ListeningSocket.open(accepted, on: chosen, prepare) }
        chosen.execute { ListeningSocket.open(accepted, on: chosen, prepare) }
    }

    private static func open(
        _ accepted: Int32,
        on loop: SocketLoop,
        _ prepare: (SocketChannel) throws -> Void
    ) {
        let (local, remote) = (SocketCalls.localAddress(of: accepted), SocketCalls.remoteAddress(of: accepted))
        let channel = SocketChannel(accepted, on: loop, local: local, remote: remote)
        do {
            try prepare(channel)
            if !channel.activatesLater { try channel.activate() }
        } catch {
            channel.close0(error: error, mode: .all, promise: nil)
        }
    }

    /// Pauses or resumes accepting; while paused, clients wait in the kernel's queue.
    package func setPaused(_ isPaused: Bool) {
        for listener in self.listeners.withLock({ $0 }) {
            listener.eventLoop.execute { listener.value.setPaused(isPaused) }
        }
    }

    /// Stops accepting; connections in the kernel's queue are still accepted.
    ///
    /// Closing a socket resets the connections in its queue, and a client can join the queue between the last accept
    /// and the close. So new handshakes are dropped first, then the queue is emptied. A client whose SYN was dropped
    /// retries after a second and is then rejected or reaches the next gateway. Only a connection whose handshake takes
    /// longer, for example because a packet was lost, is reset. An inherited socket stays open in the other process,
    /// with its queue.
    package func drain() async {
        guard !self.isInherited else { return await self.close() }
        if self.dropHandshakes() { try? await Task.sleep(for: ListeningSocket.handshakeTime) }
        await self.end { listener, isLast in
            listener.close()
            guard isLast else { return }
            // Where the kernel cannot drop handshakes, nothing of ours may run between the two calls.
            listener.acceptAll()
            self.closeOnce()
        }
    }

    /// Whether no client can join the queue any more, except by a handshake that has started.
    func dropHandshakes() -> Bool {
        // A socket without an IP address, such as a Unix socket, has no handshakes.
        guard !self.isClosed.load(ordering: .relaxed), self.address != nil else { return false }
        return drop_new_handshakes(self.descriptor) == 0
    }

    /// Stops accepting; clients in the kernel's queue are reset once the last reference is gone.
    package func close() async {
        await self.end { listener, _ in listener.close() }
    }

    private func end(_ body: @escaping @Sendable (SocketListener, _ isLast: Bool) -> Void) async {
        let listeners = self.listeners.withLock { listeners in
            defer { listeners = [] }
            return listeners
        }
        guard !listeners.isEmpty else { return }
        for (index, listener) in listeners.enumerated() {
            let isLast = index == listeners.count - 1
            try? await listener.eventLoop.submit { body(listener.value, isLast) }.get()
        }
        // Wait for connections that were passed to another loop.
        for listener in listeners {
            try? await listener.eventLoop.submit {}.get()
        }
        // No loop watches the socket any more: close it, so that clients are rejected instead of waiting.
        self.closeOnce()
    }
}
