// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// What TLS has negotiated for a connection.
///
/// A class, since each request looks at it.
package final class NegotiatedTLS: Sendable {
    /// The host in the client's SNI extension, normalized; nil without one.
    package let serverName: String?
    /// The certificate that the server has sent.
    package let identity: TLSIdentity

    /// When the connection was accepted; the handshake's deadline counts from there.
    package let accepted: NIODeadline
    /// What the client presented when it was asked for a certificate; nil if it was not asked.
    package let clientCertificate: PresentedCertificate?

    init(
        serverName: String?,
        identity: TLSIdentity,
        accepted: NIODeadline,
        clientCertificate: PresentedCertificate? = nil
    ) {
        self.serverName = serverName
        self.identity = identity
        self.accepted = accepted
        self.clientCertificate = clientCertificate
    }

    /// Whether a request for `host` may use this connection.
    ///
    /// RFC 9110 §7.4. A client that sent no SNI, or another host of the same certificate, may request every host that
    /// the certificate covers.
    package func admits(host: String) -> Bool {
        guard let serverName, serverName != host else { return true }
        return self.identity.covers(host)
    }
}
