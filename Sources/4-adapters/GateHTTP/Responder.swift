// SPDX-License-Identifier: Apache-2.0

internal import GateNet
package import GateWire
package import NIOCore

/// Responds to the requests of one connection, or of one stream of it; confined to the event loop.
///
/// Each request leads to ``begin(_:on:)``, any number of ``receive(_:)``, then ``finishRequest()``; ``cancel()`` may
/// end it at any point. The responder responds through the exchange, once per request.
package protocol Responder: AnyObject {
    /// Takes a validated head.
    func begin(_ request: RequestHead, on connection: any DownstreamExchange)
    /// Takes a part of the request's body.
    func receive(_ body: ByteBuffer)
    /// The request is complete.
    func finishRequest()
    /// The client has disconnected or the request was cancelled; nothing can be sent any more.
    func cancel()
    /// The client has closed its side of the tunnel, but may still read.
    func tunnelEnded()
    /// Back-pressure: the responder must stop writing while `isWritable` is false.
    func downstreamWritabilityChanged(isWritable: Bool)
    /// The response to bytes that are not a valid request; it is sent and the connection closed.
    func response(to rejection: WireRejection) -> Response
}

extension Responder {
    /// Does nothing: most responders open no tunnels.
    package func tunnelEnded() {}
}
