// SPDX-License-Identifier: Apache-2.0

package import GateWire
package import NIOCore

/// Receives the events of a request to an upstream; confined to one event loop.
package protocol UpstreamSink: AnyObject {
    /// The connection or stream is ready; the request may be sent.
    func upstreamReady(_ link: any UpstreamStream)
    /// Early hints have arrived: a head of status 103, before the final one.
    func upstreamReceivedEarlyHints(_ head: ResponseHead)
    /// The final head has arrived.
    func upstreamReceivedHead(_ head: ResponseHead)
    /// A part of the response's body has arrived.
    func upstreamReceivedBody(_ body: ByteBuffer)
    /// The trailers of an HTTP/2 response: validated lines and an empty line; the end of the response follows
    /// immediately.
    func upstreamReceivedTrailers(_ trailers: ByteBuffer)
    /// The response is complete.
    func upstreamFinished()
    /// The response will not arrive, or not completely.
    func upstreamFailed(_ failure: UpstreamFailure)
    /// All received bytes have been delivered; a good moment to flush.
    func upstreamReadComplete()
    /// Back-pressure: the upstream takes bytes again, or no longer.
    func upstreamWritabilityChanged(isWritable: Bool)
}

extension UpstreamSink {
    /// Does nothing: early hints are optional.
    package func upstreamReceivedEarlyHints(_ head: ResponseHead) {}

    /// Does nothing: trailers are optional.
    package func upstreamReceivedTrailers(_ trailers: ByteBuffer) {}
}
