// SPDX-License-Identifier: Apache-2.0

package import GateNet
package import GateWire
package import NIOCore

/// Decides what becomes of the requests of one connection, or of one stream of it; confined to the event loop.
///
/// For each request come ``begin(_:on:)``, any number of ``receive(_:)``, then ``finishRequest()``; ``cancel()`` may end
/// it at any point. The responder answers through the exchange, once for each request.
package protocol Responder: AnyObject {
    /// A head has arrived and is checked.
    func begin(_ request: RequestHead, on connection: any DownstreamExchange)
    /// A part of the request's body.
    func receive(_ body: ByteBuffer)
    /// The request is complete.
    func finishRequest()
    /// The client is gone or has been given up; nothing can be sent any more.
    func cancel()
    /// The client will send no more through its tunnel, though it may still read.
    func tunnelEnded()
    /// The client takes bytes again, or no longer; answers should stop while it does not.
    func downstreamWritabilityChanged(isWritable: Bool)
    /// The client sent what is no request; the answer is sent and the connection closed.
    func answer(to refusal: WireRejection) -> Response
}

extension Responder {
    /// Most answer no request with a tunnel.
    package func tunnelEnded() {}
}

/// What a connection must know of its surroundings; made once for each connection.
package struct DownstreamEnvironment {
    /// Bounds.
    package let limits: DownstreamLimits
    /// The names with a meaning, asked for at each head because a reload may change them.
    package let names: () -> FieldNames
    /// The sweep of the connection's loop.
    package let sweep: DeadlineSweep
    /// Whether the gateway is draining, so that answers end their connections.
    package let isDraining: () -> Bool
    /// Flushes the connections of the loop together; nil flushes each at once.
    package let flushes: FlushBatch?
    /// Memory for heads and other small pieces of output.
    package let memory: BufferPool
    /// The `Date` of responses that the gateway makes itself.
    package let date: DateLine
    /// Whether HTTP/2 clients are told that they may ask for WebSockets.
    package let takesWebSockets: Bool

    /// Bundles the surroundings.
    package init(
        limits: DownstreamLimits,
        names: @escaping () -> FieldNames,
        sweep: DeadlineSweep,
        isDraining: @escaping () -> Bool,
        flushes: FlushBatch? = nil,
        memory: BufferPool = BufferPool(maxSpare: 0),
        date: DateLine = DateLine(),
        takesWebSockets: Bool = false
    ) {
        self.limits = limits
        self.names = names
        self.sweep = sweep
        self.isDraining = isDraining
        self.flushes = flushes
        self.memory = memory
        self.date = date
        self.takesWebSockets = takesWebSockets
    }
}
