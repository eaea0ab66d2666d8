// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import Foundation
internal import GateCore
internal import SwiftASN1
internal import X509

/// The certificate by which a simulated provider knows the gateway, and its key.
///
/// RFC 8705 §2. New at each start, valid for a week.
struct DemoClientCertificate: Sendable {
    /// What is registered of it at the provider.
    enum Registration: Sendable {
        /// Its subject, below an authority that the provider trusts; RFC 8705 §2.1.
        case subject
        /// The certificate, which the client signed itself; RFC 8705 §2.2.
        case certificate
    }

    private let registration: Registration
    private let certificate: Certificate
    private let authority: Certificate.PublicKey
    private let key = P256.Signing.PrivateKey()
    /// The PEM files with certificate and key.
    let files: (certificate: String, key: String)

    /// Makes key and certificate.
    ///
    /// - Parameters:
    ///   - registration: What the provider knows of it.
    ///   - id: The client's id, the common name of the subject.
    ///   - path: The path of its files without the end of their names.
    /// - Throws: An error of the certificate library.
    init(_ registration: Registration, id: String, path: String) throws {
        let isOwn = registration == .certificate
        let issuer = isOwn ? self.key : P256.Signing.PrivateKey()
        let subject = try DistinguishedName { CommonName(id) }
        let name = isOwn ? subject : try DistinguishedName { CommonName("Gatehouse demo clients") }
        self.registration = registration
        self.authority = Certificate.PublicKey(issuer.publicKey)
        self.certificate = try DemoAuthority.certificate(
            for: Certificate.PublicKey(self.key.publicKey),
            subject: subject,
            issuer: (name, issuer),
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                Critical(KeyUsage(digitalSignature: true))
                try ExtendedKeyUsage([.clientAuth])
            },
        )
        self.files = (certificate: "\(path)-client.pem", key: "\(path)-client.key")
    }

    /// The lines of the gateway's file that name certificate and key, below `tls`.
    var lines: [String] {
        ["certificate: \(quoted(self.files.certificate))", "private_key: \(quoted(self.files.key))"]
    }

    /// Writes both files.
    func writeFiles() throws {
        let pem = try self.certificate.serializeAsPEM().pemString
        try PrivateFile.write(Array(pem.utf8), to: self.files.certificate)
        try PrivateFile.write(Array(self.key.pemRepresentation.utf8), to: self.files.key)
    }

    /// Whether the certificate that a client presented, in DER, is the one that is registered.
    ///
    /// The handshake has proved that the client has its key.
    func isRegistered(_ presented: [UInt8], at now: Instant) -> Bool {
        guard let found = try? Certificate(derEncoded: presented) else { return false }
        let time = Date(timeIntervalSince1970: TimeInterval(now.seconds))
        guard found.notValidBefore <= time, time < found.notValidAfter else { return false }
        return switch self.registration {
        case .subject:
            found.subject == self.certificate.subject && self.authority.isValidSignature(found.signature, for: found)
        case .certificate: found == self.certificate
        }
    }
}
