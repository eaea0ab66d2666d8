// SPDX-License-Identifier: Apache-2.0

package import GateWire
package import NIOCore

/// The properties of a request that the connection cannot read from its head.
package struct UpstreamRequest: Sendable {
    package var method: RequestMethod
    /// How the body ends.
    package var framing: BodyFraming
    /// Whether the response may be silent for any time.
    package var isPatient = false
    /// Whether the client takes trailers: `TE: trailers`.
    package var takesTrailers = false
    /// Whether `101` is expected, after which bytes pass unchanged in both directions.
    package var opensTunnel = false
    /// Whether the connection closes after this request, as its head requests with `Connection: close`.
    package var endsConnection = false
    /// The time limit that the client has set for the whole response; replaces the time-out of the head.
    package var budget: TimeAmount?

    package init(_ method: RequestMethod, framing: BodyFraming = .none) {
        self.method = method
        self.framing = framing
    }
}

/// One request to an upstream: an HTTP/1.1 connection or a stream of an HTTP/2 connection; confined to one loop.
///
/// The request is sent with ``send(_:for:)``, any number of ``send(_:)``, then ``finishRequest()``. A request for a
/// tunnel may get a `101` response; then ``send(_:)`` sends bytes through the tunnel.
package protocol UpstreamStream: AnyObject {
    /// Whether the connection has carried a request before, so that its close may be the upstream's idle time-out.
    var isReused: Bool { get }
    /// Whether it takes more bytes.
    var isWritable: Bool { get }
    /// Sends the head of a request, in HTTP/1.1 form, without flushing.
    func send(_ head: ByteBuffer, for call: UpstreamRequest)
    /// Sends a part of the request's body, without flushing.
    func send(_ body: ByteBuffer)
    /// The request is complete.
    func finishRequest()
    /// Hands written bytes to the network.
    func flush()
    /// Closes the output of a tunnel, after all bytes are sent.
    func endTunnelOutput()
    /// Closes a tunnel: written bytes are still sent, received ones are dropped.
    func endTunnel()
    /// Cancels the request.
    func cancel()
    /// Stops reading the response, until ``resumeReading()``; the caller has its own deadline meanwhile.
    func pauseReading()
    /// Resumes reading the response.
    func resumeReading()
}

extension UpstreamStream {
    /// Cancels: HTTP/2 streams carry no tunnels.
    package func endTunnel() { self.cancel() }

    /// Cancels: HTTP/2 streams carry no tunnels.
    package func endTunnelOutput() { self.cancel() }
}
