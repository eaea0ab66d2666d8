// SPDX-License-Identifier: Apache-2.0

internal import CEventPoll
internal import Glibc
package import NIOCore
internal import Synchronization

/// A listening socket that all loops of a group accept from.
package final class ListeningSocket: Sendable {
    /// How many bytes that the peer has not asked for yet the kernel takes from us: `TCP_NOTSENT_LOWAT`, tcp(7).
    ///
    /// So what waits for a slow client shrinks as it takes it, instead of standing still for a minute.
    private static let unsentBytes: (name: Int32, value: Int32) = (25, 128 * 1024)

    /// How long a handshake that has begun may take.
    ///
    /// Longer than one around the globe, and shorter than the second after which those try again whose packets are dropped.
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

    /// Takes over a socket that was bound by whoever started the process, and stays open there.
    ///
    /// - Throws: A ``SocketError`` when it cannot listen.
    package convenience init(inheriting descriptor: Int32) throws(SocketError) {
        try SocketError.check("listen") { listen(descriptor, SocketCalls.backlog) }
        try SocketCalls.stopBlocking(descriptor)
        self.init(descriptor, isInherited: true)
    }

    private init(_ descriptor: Int32, isInherited: Bool) {
        self.descriptor = descriptor
        self.isInherited = isInherited
        // Accepted sockets inherit both.
        SocketCalls.sendAtOnce(descriptor)
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
    ///   - failed: Called on one of the loops, which is passed, when nothing can be accepted. If it returns true, because it
    ///     has made room, the loop goes on, otherwise it tries again a tenth of a second later.
    ///   - prepare: Called on the loop of each connection; refuses it by throwing.
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

    /// Gives a connection to the loop whose turn it is, so that each has as many as the others.
    ///
    /// The kernel would wake the same loop again and again, as long as that keeps up.
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

    /// Accepts nothing until told otherwise, while clients wait in the kernel's queue; or goes on.
    package func hold(_ isHeld: Bool) {
        for listener in self.listeners.withLock({ $0 }) {
            listener.eventLoop.execute { listener.value.hold(isHeld) }
        }
    }

    /// Accepts no more connections; whoever is in the kernel's queue is still taken.
    ///
    /// Closing a socket resets those who wait in its queue, and somebody can join it between the look that finds it empty and
    /// the end. So handshakes are dropped before, the queue is emptied, and whoever came meanwhile tries again after a second,
    /// and is refused then or meets the next gateway. What is left is whose handshake has begun and takes longer, by a lost
    /// packet perhaps: that connection is reset. A socket that was inherited stays open elsewhere, with its queue.
    package func finish() async {
        guard !self.isInherited else { return await self.close() }
        if self.dropHandshakes() { try? await Task.sleep(for: ListeningSocket.handshakeTime) }
        await self.end { listener, isLast in
            listener.close()
            guard isLast else { return }
            // Where the kernel cannot drop handshakes, at least nothing of ours may come between the two.
            listener.acceptAll()
            self.closeOnce()
        }
    }

    /// Whether nobody can join the queue any more, unless his handshake has begun.
    func dropHandshakes() -> Bool {
        // A socket of another family, which has no address here, has no handshakes.
        guard !self.isClosed.load(ordering: .relaxed), self.address != nil else { return false }
        return drop_new_handshakes(self.descriptor) == 0
    }

    /// Accepts no more connections; who waits in the kernel is refused once the last reference is gone.
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
        // Connections on their way to another loop arrive there.
        for listener in listeners {
            try? await listener.eventLoop.submit {}.get()
        }
        // Nobody watches it any more: from here on clients are refused, not left waiting.
        self.closeOnce()
    }
}
