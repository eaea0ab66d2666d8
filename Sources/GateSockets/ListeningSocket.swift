// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import NIOCore
internal import Synchronization

/// A listening socket that all loops of a group accept from.
package final class ListeningSocket: Sendable {
    /// How many bytes that the peer has not asked for yet the kernel takes from us: `TCP_NOTSENT_LOWAT`, tcp(7).
    ///
    /// So what waits for a slow client shrinks as it takes it, instead of standing still for a minute.
    private static let unsentBytes: (name: Int32, value: Int32) = (25, 128 * 1024)

    private let descriptor: Int32
    private let listeners = Mutex<[NIOLoopBound<SocketListener>]>([])

    /// Binds an address.
    ///
    /// - Throws: A ``SocketError`` that names the call that failed.
    package init(on address: SocketAddress) throws(SocketError) {
        self.descriptor = try SocketCalls.listen(on: address)
        // Accepted sockets inherit both.
        SocketCalls.sendAtOnce(self.descriptor)
        let (name, value) = ListeningSocket.unsentBytes
        try? SocketCalls.set(self.descriptor, Int32(IPPROTO_TCP), name, to: value)
    }

    deinit {
        Glibc.close(self.descriptor)
    }

    /// The address it is bound to.
    package var address: SocketAddress? { SocketCalls.localAddress(of: self.descriptor) }

    /// Accepts connections on every loop of a group; `prepare` is called on the loop of each and refuses it by throwing.
    package func accept(
        on group: SocketLoopGroup,
        prepare: @escaping @Sendable (SocketChannel) throws -> Void
    ) async throws {
        for loop in group.loops {
            let descriptor = self.descriptor
            let listener = try await loop.submit {
                let listener = SocketListener(descriptor, on: loop, prepare: prepare)
                try listener.start()
                return NIOLoopBound(listener, eventLoop: loop)
            }.get()
            self.listeners.withLock { $0.append(listener) }
        }
    }

    /// Accepts no more connections; who waits in the kernel is refused once the last reference is gone.
    package func close() async {
        let listeners = self.listeners.withLock { listeners in
            defer { listeners = [] }
            return listeners
        }
        for listener in listeners {
            try? await listener.eventLoop.submit { listener.value.close() }.get()
        }
    }
}
