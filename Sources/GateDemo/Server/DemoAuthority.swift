// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import Foundation
internal import NIOSSL
internal import SwiftASN1
internal import X509

/// A certificate authority of the demo's own, and the one server certificate it signs.
///
/// Made anew at each start, valid for a week, its key never written down.
struct DemoAuthority {
    /// The authority's certificate as PEM, for `ca_file`.
    let certificate: String
    /// TLS for a server at `localhost` and 127.0.0.1.
    let tls: NIOSSLContext
    /// The pins of that server's key and of one that would replace it.
    let pins: DemoPins

    init() throws {
        let key = P256.Signing.PrivateKey()
        let name = try DistinguishedName { CommonName("Gatehouse demo authority") }
        let authority = try Self.certificate(
            for: Certificate.PublicKey(key.publicKey),
            subject: name,
            issuer: (name, key),
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
                Critical(KeyUsage(keyCertSign: true))
            },
        )
        let serverKey = P256.Signing.PrivateKey()
        let server = try Self.certificate(
            for: Certificate.PublicKey(serverKey.publicKey),
            subject: try DistinguishedName { CommonName("localhost") },
            issuer: (name, key),
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                Critical(KeyUsage(digitalSignature: true))
                try ExtendedKeyUsage([.serverAuth])
                SubjectAlternativeNames([
                    .dnsName("localhost"), .ipAddress(ASN1OctetString(contentBytes: [127, 0, 0, 1])),
                ])
            },
        )
        self.certificate = try authority.serializeAsPEM().pemString
        self.tls = try Self.context(certificate: server, key: serverKey)
        self.pins = DemoPins(
            used: DemoPins.pin(of: serverKey.publicKey),
            backup: DemoPins.pin(of: P256.Signing.PrivateKey().publicKey),
        )
    }

    private static func certificate(
        for key: Certificate.PublicKey,
        subject: DistinguishedName,
        issuer: (name: DistinguishedName, key: P256.Signing.PrivateKey),
        extensions: Certificate.Extensions,
    ) throws -> Certificate {
        let now = Date()
        return try Certificate(
            version: .v3,
            serialNumber: Certificate.SerialNumber(),
            publicKey: key,
            notValidBefore: now - 3600,
            notValidAfter: now + 7 * 24 * 3600,
            issuer: issuer.name,
            subject: subject,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: extensions,
            issuerPrivateKey: Certificate.PrivateKey(issuer.key),
        )
    }

    private static func context(certificate: Certificate, key: P256.Signing.PrivateKey) throws -> NIOSSLContext {
        let pem = try certificate.serializeAsPEM().pemString
        let chain = try NIOSSLCertificate.fromPEMBytes(Array(pem.utf8)).map { NIOSSLCertificateSource.certificate($0) }
        let privateKey = try NIOSSLPrivateKey(bytes: Array(key.pemRepresentation.utf8), format: .pem)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain,
            privateKey: .privateKey(privateKey),
        )
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["http/1.1"]
        return try NIOSSLContext(configuration: configuration)
    }
}
