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

    private let configuration: TLSConfiguration

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
        self.configuration = configuration
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

    /// A context that asks clients for a certificate, which they need not have; for one connection.
    ///
    /// The keys of session tickets belong to a context, and no other connection has this one: no session is resumed, so that each
    /// client presents its certificate, and proves that it has the key, on each connection.
    ///
    /// - Parameters:
    ///   - authorities: The certificates whose names are sent, so that browsers offer fitting certificates.
    ///   - http2: Whether HTTP/2 is offered.
    /// - Returns: The context.
    /// - Throws: An error of the TLS library.
    func context(requesting authorities: [NIOSSLCertificate], http2: Bool) throws -> NIOSSLContext {
        var configuration = self.configuration
        configuration.certificateVerification = .optionalVerification
        configuration.trustRoots = .certificates(authorities)
        configuration.sendCANameList = true
        configuration.applicationProtocols = http2 ? ["h2", "http/1.1"] : ["http/1.1"]
        return try NIOSSLContext(configuration: configuration)
    }

    /// Whether the certificate is valid for a host.
    package func covers(_ host: String) -> Bool { self.certificate.covers(host) }
}
