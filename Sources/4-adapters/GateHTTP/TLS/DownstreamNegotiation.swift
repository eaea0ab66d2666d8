// SPDX-License-Identifier: Apache-2.0

/// What was negotiated before the first request.
package struct DownstreamNegotiation: Sendable {
    /// What TLS has negotiated; nil on a plain listener.
    package let tls: NegotiatedTLS?
    /// Whether ALPN has chosen HTTP/2; all other connections are HTTP/1.1 or HTTP/1.0.
    package let isHTTP2: Bool
    /// The certificates that clients of the listener presented when it accepted the connection; nil if it asked for none.
    package var clientCertificates: ClientCertificatePolicy?
}
