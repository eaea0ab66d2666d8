// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateHTTP
package import GateNet
package import GateWire
internal import NIOCore

extension Listener {
    /// Opens a plain HTTP listener without routes: for the operations endpoints, and for the callback of a test sign-in.
    ///
    /// - Parameters:
    ///   - host: The host to bind.
    ///   - port: The port to bind.
    ///   - group: The event loops.
    ///   - maxConnections: How many connections may be open.
    ///   - inherited: The socket to use in place of a new one.
    ///   - respond: Returns the response to one request of a client.
    /// - Returns: The listener, open.
    /// - Throws: A `Failure` naming the address that cannot be bound.
    package static func openPlain(
        host: String,
        port: Int,
        on group: SocketLoopGroup,
        maxConnections: Int,
        inherited: InheritedSocket? = nil,
        respond: @escaping @Sendable (RequestHead, [UInt8], ClientIP) async -> Response
    ) async throws(Failure) -> Listener {
        var plan = ListenerPlan(BindAddress(host: host, port: port), identities: [])
        plan.inherited = inherited
        return try await self.open(plan, on: group, maxConnections: maxConnections) { _, client in
            { await respond($0, $1, client) }
        }
    }

    /// Takes a Unix socket as a plain HTTP listener.
    ///
    /// - Parameters:
    ///   - socket: The socket.
    ///   - group: The event loops.
    ///   - maxConnections: How many connections may be open.
    ///   - respond: Returns the response to one request of a user, whose id is nil if the kernel does not report it.
    /// - Returns: The listener, open; it closes the socket.
    /// - Throws: A `Failure` when the event loops cannot watch it.
    package static func openPlain(
        _ socket: UnixSocket,
        on group: SocketLoopGroup,
        maxConnections: Int,
        respond: @escaping @Sendable (RequestHead, [UInt8], UInt32?) async -> Response
    ) async throws(Failure) -> Listener {
        var plan = ListenerPlan(BindAddress(host: "localhost", port: 0), identities: [])
        plan.inherited = InheritedSocket(descriptor: socket.descriptor, address: nil, port: 0, name: "operations")
        return try await self.open(plan, on: group, maxConnections: maxConnections) { channel, _ in
            let user = channel.peerUser
            return { await respond($0, $1, user) }
        }
    }

    private static func open(
        _ plan: ListenerPlan,
        on group: SocketLoopGroup,
        maxConnections: Int,
        respond: @escaping @Sendable (SocketChannel, ClientIP) -> @Sendable (RequestHead, [UInt8]) async -> Response
    ) async throws(Failure) -> Listener {
        let loop = group.next()
        let sweep = try? await loop.submit {
            let sweep = DeadlineSweep()
            sweep.start(on: loop)
            return NIOLoopBound(sweep, eventLoop: loop)
        }.get()
        guard let sweep else { throw Failure(.listenerOperations, "no event loop") }
        let names = FieldNames()
        var bounds = ConnectionLimiter.Limits()
        bounds.connections = maxConnections
        bounds.perClientIP = 0
        return try await Listener.open(plan, on: group, limiter: ConnectionLimiter(bounds)) { channel, client, _ in
            let setting = DownstreamEnvironment(
                limits: DownstreamLimits(),
                names: { names },
                sweep: sweep.value,
                isDraining: { false }
            )
            guard let channel = channel as? SocketChannel else { throw ChannelError.operationUnsupported }
            let responder = OperationsResponder(loop: channel.eventLoop, respond: respond(channel, client))
            return HTTP1Connection(environment: setting, peer: nil, tls: nil, responder: responder)
        }
    }
}
