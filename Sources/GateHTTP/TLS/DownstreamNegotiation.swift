// SPDX-License-Identifier: Apache-2.0

/// What was negotiated before the first request.
package struct DownstreamNegotiation: Sendable {
    /// What TLS has negotiated; nil on a plain listener.
    package let tls: NegotiatedTLS?
    /// The protocol of the connection.
    package let negotiatedProtocol: DownstreamProtocol
}

/// The protocol of a client connection.
package enum DownstreamProtocol: Sendable {
    /// HTTP/1.1 or HTTP/1.0.
    case http1
    /// HTTP/2, chosen by ALPN.
    case http2
}
