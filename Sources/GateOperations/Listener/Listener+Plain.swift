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
    ///   - respond: Returns the response to one request.
    /// - Returns: The listener, open.
    /// - Throws: A `Failure` naming the address that cannot be bound.
    package static func openPlain(
        host: String,
        port: Int,
        on group: SocketLoopGroup,
        maxConnections: Int,
        inherited: InheritedSocket? = nil,
        respond: @escaping @Sendable (RequestHead, [UInt8]) async -> Response
    ) async throws(Failure) -> Listener {
        var plan = ListenerPlan(host: host, port: port, identities: [])
        plan.inherited = inherited
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
        return try await Listener.open(plan, on: group, limiter: ConnectionLimiter(bounds)) { channel, _, _ in
            let setting = DownstreamEnvironment(
                limits: DownstreamLimits(),
                names: { names },
                sweep: sweep.value,
                isDraining: { false }
            )
            let responder = OperationsResponder(loop: channel.eventLoop, respond: respond)
            return HTTP1Connection(environment: setting, peer: nil, tls: nil, responder: responder)
        }
    }
}
