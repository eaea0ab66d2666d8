// SPDX-License-Identifier: Apache-2.0

package import GateWire
package import NIOCore

/// What the way to an app has to know of a request, beside the bytes of its head.
package struct UpstreamRequest: Sendable {
    /// The method.
    package var method: RequestMethod
    /// How the body ends.
    package var framing: BodyFraming
    /// Whether the answer may keep silent for as long as it likes.
    package var isPatient = false
    /// Whether the client takes trailers: `TE: trailers`.
    package var takesTrailers = false
    /// Whether `101` is the answer hoped for, after which bytes go both ways as they are.
    package var opensTunnel = false
    /// Whether the connection carries no request after this one, as its head says with `Connection: close`.
    package var endsConnection = false
    /// How long the answer may take in all, told by the client; takes the place of the time for its beginning.
    package var budget: TimeAmount?

    /// A request.
    package init(_ method: RequestMethod, framing: BodyFraming = .none) {
        self.method = method
        self.framing = framing
    }
}

/// The way to an app for one request: an HTTP/1.1 connection or a stream of an HTTP/2 connection; confined to one loop.
///
/// The request is sent with ``send(_:for:)``, any number of ``send(_:)``, then ``finishRequest()``. A call that opens a tunnel
/// may be answered with `101`; then ``send(_:)`` sends bytes through it.
package protocol UpstreamStream: AnyObject {
    /// Whether the connection has carried a request before, so that its end may be the upstream's idle time-out.
    var isReused: Bool { get }
    /// Whether more may be sent without piling up.
    var isWritable: Bool { get }
    /// Sends the head of a request, written as HTTP/1.1 writes it, without flushing.
    func send(_ head: ByteBuffer, for call: UpstreamRequest)
    /// Sends a part of the request's body, without flushing.
    func send(_ body: ByteBuffer)
    /// The request is complete.
    func finishRequest()
    /// Hands what was sent to the network.
    func flush()
    /// Tells the app that nothing follows in a tunnel, after what was sent.
    func endTunnelOutput()
    /// Ends a tunnel: what was sent still goes out, what still comes is dropped.
    func endTunnel()
    /// Gives the request up: nobody wants the answer any more.
    func cancel()
    /// Stops reading the answer, until ``resumeReading()``; the reader has its own deadline meanwhile.
    func pauseReading()
    /// Reads on.
    func resumeReading()
}

extension UpstreamStream {
    /// HTTP/2 streams carry no tunnels.
    package func endTunnel() { self.cancel() }

    /// HTTP/2 streams carry no tunnels.
    package func endTunnelOutput() { self.cancel() }
}
