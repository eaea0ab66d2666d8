// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import Foundation
internal import GateCore
internal import NIOSSL
internal import SwiftASN1
internal import X509

/// The demo's certificate authority and the server certificate that it signs.
///
/// New at each start, valid for a week; its key is never written to a file.
struct DemoAuthority {
    /// The authority's certificate as PEM.
    private let certificate: String
    /// TLS for servers at `localhost` and 127.0.0.1.
    let tls: NIOSSLContext
    /// The same for a server that asks clients for a certificate, which they need not have.
    let askingTLS: NIOSSLContext
    /// The pins of the server's key and of a backup key.
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
        self.askingTLS = try Self.context(certificate: server, key: serverKey, asking: true)
        self.pins = DemoPins(
            used: DemoPins.pin(of: serverKey.publicKey),
            backup: DemoPins.pin(of: P256.Signing.PrivateKey().publicKey),
        )
    }

    /// Writes the authority's certificate; returns the path of the file.
    func write(to folder: String) throws(Failure) -> String {
        let path = "\(folder)/ca.pem"
        try PrivateFile.write(Array(self.certificate.utf8), to: path)
        return path
    }

    /// A certificate that is valid for a week.
    static func certificate(
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

    private static func context(
        certificate: Certificate,
        key: P256.Signing.PrivateKey,
        asking: Bool = false,
    ) throws -> NIOSSLContext {
        let pem = try certificate.serializeAsPEM().pemString
        let chain = try NIOSSLCertificate.fromPEMBytes(Array(pem.utf8)).map { NIOSSLCertificateSource.certificate($0) }
        let privateKey = try NIOSSLPrivateKey(bytes: Array(key.pemRepresentation.utf8), format: .pem)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain,
            privateKey: .privateKey(privateKey),
        )
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["http/1.1"]
        if asking { configuration.certificateVerification = .optionalVerification }
        return try NIOSSLContext(configuration: configuration)
    }
}

/// The pins of the demo's providers in the gateway's file.
struct DemoPins {
    /// The pin of the key that the simulated providers use.
    let used: String
    /// The pin of a backup key.
    let backup: String

    /// SHA-256 over the SubjectPublicKeyInfo, in base64.
    ///
    /// RFC 7469 §2.4.
    static func pin(of key: P256.Signing.PublicKey) -> String {
        Data(SHA256.hash(data: key.derRepresentation)).base64EncodedString()
    }
}
