// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateHTTP
package import GateNet
internal import GateWire
internal import NIOCore

/// A plain HTTP listener without routes: for the operations endpoints, and for the callback of a test sign-in.
package enum OperationsListener {
    /// Opens the listener.
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
    package static func open(
        host: String,
        port: Int,
        on group: SocketLoopGroup,
        maxConnections: Int,
        inherited: InheritedSocket? = nil,
        respond: @escaping OperationsResponder.Handler
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
        var bounds = ConnectionLimiter.Bounds()
        bounds.connections = maxConnections
        bounds.perClientIP = 0
        return try await Listener.open(plan, on: group, gate: ConnectionLimiter(bounds)) { channel, _, _ in
            let setting = DownstreamEnvironment(
                limits: DownstreamLimits(),
                names: { names },
                sweep: sweep.value,
                isDraining: { false }
            )
            let responder = OperationsResponder(loop: channel.eventLoop, respond: respond)
            return HTTP1Connection(setting: setting, peer: nil, tls: nil, responder: responder)
        }
    }
}
