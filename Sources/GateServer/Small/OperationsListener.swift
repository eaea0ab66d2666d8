// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GateNet
internal import NIOCore

/// A plain listener for the few requests that are not for apps: the operations address, and a sign-in on trial.
enum OperationsListener {
    /// Opens the listener.
    ///
    /// - Throws: A `Failure` naming the address, when it cannot be bound.
    static func open(
        host: String,
        port: Int,
        on group: SocketLoopGroup,
        connections: Int,
        inherited: InheritedSocket? = nil,
        answering: @escaping OperationsResponder.Answering
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
        let names = LoopNames.plain
        var bounds = ConnectionLimiter.Bounds()
        bounds.connections = connections
        bounds.perClientIP = 0
        return try await Listener.open(plan, on: group, gate: ConnectionLimiter(bounds)) { channel, _, _ in
            let setting = DownstreamEnvironment(
                limits: DownstreamLimits(),
                names: { names },
                sweep: sweep.value,
                isDraining: { false }
            )
            let responder = OperationsResponder(loop: channel.eventLoop, answering: answering)
            return HTTP1Connection(setting: setting, peer: nil, tls: nil, responder: responder)
        }
    }
}
