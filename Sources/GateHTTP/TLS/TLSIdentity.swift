// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import NIOCore
package import NIOSSL

/// A certificate with its key, and the names it is valid for.
package struct TLSIdentity: Sendable {
    /// The TLS context: TLS 1.2 and 1.3, no renegotiation, no early data.
    ///
    /// It offers HTTP/2 and HTTP/1.1, in this order.
    package let context: NIOSSLContext
    /// The same, with HTTP/1.1 only.
    package let contextWithoutHTTP2: NIOSSLContext
    /// The properties of the certificate.
    package let certificate: ServerCertificate
    /// The file it was read from.
    package let file: String

    /// Reads a certificate chain and its private key from PEM files.
    ///
    /// - Throws: A `Failure` that names the file and the error.
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

    /// Whether the certificate is valid for a host.
    package func covers(_ host: String) -> Bool { self.certificate.covers(host) }
}
