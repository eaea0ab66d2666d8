// SPDX-License-Identifier: Apache-2.0

package import GateWire
package import NIOCore

/// Why an upstream gave no answer, or not all of it.
package enum UpstreamFailure: Sendable, Hashable {
    /// No connection could be made; nothing was sent.
    case unreachable(String)
    /// TLS failed, or the certificate is not one that is trusted here; nothing was sent.
    case untrusted(String)
    /// The certificate is trusted, but has none of the pinned keys; nothing was sent.
    case pinMismatch
    /// No connection was made in time; nothing was sent.
    case connectTimedOut
    /// Too many requests are under way or wait already; nothing was sent.
    case overflow
    /// The upstream said that it has not looked at the request: HTTP/2's `REFUSED_STREAM`, or `GOAWAY`.
    case refusedStream
    /// The connection ended before a byte of the answer.
    case closedBeforeResponse
    /// The connection ended in the middle of the answer.
    case closedInResponse
    /// The answer did not begin or go on in time.
    case timedOut
    /// The time that the client had given for the whole is over.
    case clientDeadlineExceeded
    /// The answer is none that may be passed on.
    case refused(WireRejection)

    /// Whether nothing listened at the target, so that no app has seen the request and nothing was lost by asking.
    package var isUnreachable: Bool {
        if case .unreachable = self { true } else { false }
    }
}

/// Who sent a request to an upstream; confined to one event loop.
package protocol UpstreamSink: AnyObject {
    /// The connection for the request is there; the request may be sent now.
    func upstreamReady(_ link: any UpstreamStream)
    /// Early hints have arrived: a head of status 103, before the final one.
    func upstreamReceivedEarlyHints(_ head: ResponseHead)
    /// The final head has arrived.
    func upstreamReceivedHead(_ head: ResponseHead)
    /// A part of the answer's body.
    func upstreamReceivedBody(_ body: ByteBuffer)
    /// The trailers of an answer over HTTP/2, as checked lines and an empty line; the end of the answer follows at once.
    func upstreamReceivedTrailers(_ trailers: ByteBuffer)
    /// The answer is complete.
    func upstreamFinished()
    /// There will be no answer, or no more of it.
    func upstreamFailed(_ problem: UpstreamFailure)
    /// All that was read has been told; a good moment to flush.
    func upstreamReadComplete()
    /// The upstream takes bytes again, or no longer.
    func upstreamWritabilityChanged(isWritable: Bool)
}

extension UpstreamSink {
    /// Hints are for those who pass them on.
    package func upstreamReceivedEarlyHints(_ head: ResponseHead) {}

    /// Trailers are for those who can pass them on.
    package func upstreamReceivedTrailers(_ trailers: ByteBuffer) {}
}
