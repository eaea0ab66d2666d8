// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import NIOCore
package import NIOSSL

/// What TLS has settled about a connection.
package struct NegotiatedTLS: Sendable {
    /// The host that the client named, in normal form; nil if it named none.
    package let serverName: String?
    /// The certificate that it was shown.
    package let identity: TLSIdentity

    /// When the connection was accepted; the handshake's deadline counts from there.
    package let accepted: NIODeadline

    /// Whether a request for `host` may come over this connection.
    ///
    /// RFC 9110 §7.4.
    ///
    /// Clients that named no host, or that named another host of the same certificate, may ask for what it covers.
    package func admits(host: String) -> Bool {
        guard let serverName, serverName != host else { return true }
        return self.identity.covers(host)
    }
}

/// A certificate with its key, ready to be shown, and the names it is good for.
package struct TLSIdentity: Sendable {
    /// The context for connections that show this certificate: TLS 1.2 and 1.3, no renegotiation, no early data.
    ///
    /// It offers HTTP/2 and HTTP/1.1, in this order.
    package let context: NIOSSLContext
    /// The same, offering HTTP/1.1 only.
    package let contextWithoutHTTP2: NIOSSLContext
    /// What clients see of the certificate.
    package let certificate: ServerCertificate
    /// The file that it was read from.
    package let file: String

    /// Reads a certificate chain and its private key from PEM files.
    ///
    /// - Throws: A `Failure` naming the file and what is wrong with it.
    package init(certificateFile: String, keyFile: String) throws(Failure) {
        let chain: [NIOSSLCertificate]
        do {
            chain = try NIOSSLCertificate.fromPEMFile(certificateFile)
            guard let first = chain.first else { throw NIOSSLError.failedToLoadCertificate }
            self.certificate = try ServerCertificate(first)
        } catch {
            throw Failure(
                .tlsCertificateUnreadable,
                "\(certificateFile) holds no PEM certificate: \(error)"
            )
        }
        let key: NIOSSLPrivateKey
        do {
            key = try NIOSSLPrivateKey(file: keyFile, format: .pem)
        } catch {
            throw Failure(.tlsKeyUnreadable, "\(keyFile) holds no PEM private key: \(error)")
        }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) },
            privateKey: .privateKey(key)
        )
        configuration.minimumTLSVersion = .tlsv12
        configuration.renegotiationSupport = .none
        do {
            configuration.applicationProtocols = ["h2", "http/1.1"]
            self.context = try NIOSSLContext(configuration: configuration)
            configuration.applicationProtocols = ["http/1.1"]
            self.contextWithoutHTTP2 = try NIOSSLContext(configuration: configuration)
        } catch {
            throw Failure(
                .tlsKeyMismatch,
                "the private key \(keyFile) does not belong to the certificate \(certificateFile): \(error)"
            )
        }
        self.file = certificateFile
    }

    /// Whether the certificate is good for a host.
    package func covers(_ host: String) -> Bool { self.certificate.covers(host) }
}
