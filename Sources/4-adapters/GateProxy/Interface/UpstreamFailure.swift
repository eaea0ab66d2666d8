// SPDX-License-Identifier: Apache-2.0

package import GateWire

/// Why a request to an upstream has no response, or only a part of one.
package enum UpstreamFailure: Error, Sendable, Hashable {
    /// No connection could be opened; nothing was sent.
    case unreachable(String)
    /// TLS failed, or the certificate is not trusted; nothing was sent.
    case untrusted(String)
    /// The certificate is trusted, but has none of the pinned keys; nothing was sent.
    case pinMismatch
    /// No connection was opened in time; nothing was sent.
    case connectTimedOut
    /// Too many requests are in progress or waiting; nothing was sent.
    case overflow
    /// The upstream has not processed the request: `REFUSED_STREAM` or `GOAWAY` over HTTP/2.
    case refusedStream
    /// The connection closed before a byte of the response.
    case closedBeforeResponse
    /// The connection closed in the middle of the response.
    case closedInResponse
    /// The response did not start or continue in time.
    case timedOut
    /// The deadline that the client has set has passed.
    case clientDeadlineExceeded
    /// The response must not be passed on.
    case rejected(WireRejection)

    /// Whether nothing listens at the target, so that no app has seen the request.
    package var isUnreachable: Bool {
        if case .unreachable = self { true } else { false }
    }
}
