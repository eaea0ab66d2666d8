// SPDX-License-Identifier: Apache-2.0

internal import SwiftASN1
internal import X509

/// The certificate of the key that signs for a model of authenticators.
///
/// WebAuthn §8.2.1.
struct AttestationCertificate {
    private let certificate: Certificate

    /// Reads a certificate.
    ///
    /// - Throws: `attestationCertificate`.
    init(_ der: [UInt8]) throws(PasskeyError) {
        // What is wrong with its DER helps only its maker.
        guard let certificate = try? Certificate(derEncoded: der) else { throw .attestationCertificate("is malformed") }
        self.certificate = certificate
    }

    /// Whether a signature is by the key of the certificate.
    func verifies(_ signature: [UInt8], over bytes: [UInt8], as algorithm: PasskeyAlgorithm) -> Bool {
        let signatureAlgorithm: Certificate.SignatureAlgorithm =
            switch algorithm {
            case .es256: .ecdsaWithSHA256
            case .edDSA: .ed25519
            case .rs256: .sha256WithRSAEncryption
            }
        return self.certificate.publicKey.isValidSignature(
            signature,
            for: bytes,
            signatureAlgorithm: signatureAlgorithm
        )
    }

    /// The requirements of §8.2.1, and that the AAGUID of the certificate, if it has one, is that of the credential.
    ///
    /// Its times are not checked: they mean something to a trust path only, and there is no clock here.
    ///
    /// - Throws: `attestationCertificate`.
    func check(aaguid: [UInt8]) throws(PasskeyError) {
        guard self.certificate.version == .v3 else { throw .attestationCertificate("is not of version 3") }
        for (name, attribute) in AttestationCertificate.names where self.subject(attribute).isEmpty {
            throw .attestationCertificate("has no \(name) in its subject")
        }
        guard self.subject(.RDNAttributeType.organizationalUnitName) == ["Authenticator Attestation"] else {
            throw .attestationCertificate("has not the unit 'Authenticator Attestation' in its subject")
        }
        guard self.subject(.RDNAttributeType.countryName).allSatisfy({ $0.utf8.count == 2 }) else {
            throw .attestationCertificate("has a country that is not a code of two letters")
        }
        // A malformed extension is as good as none.
        guard let constraints = try? self.certificate.extensions.basicConstraints,
            case .notCertificateAuthority = constraints
        else { throw .attestationCertificate("may sign other certificates") }
        guard let model = self.certificate.extensions[oid: AttestationCertificate.aaguid] else { return }
        guard !model.critical else { throw .attestationCertificate("has a critical AAGUID") }
        // An OCTET STRING of 16 bytes.
        guard Array(model.value) == [4, 16] + aaguid else { throw .attestationCertificate("is for another AAGUID") }
    }

    /// `id-fido-gen-ce-aaguid`.
    private static let aaguid: ASN1ObjectIdentifier = [1, 3, 6, 1, 4, 1, 45_724, 1, 1, 4]
    private static let names: [(name: String, attribute: ASN1ObjectIdentifier)] = [
        ("country", .RDNAttributeType.countryName), ("organization", .RDNAttributeType.organizationName),
        ("unit", .RDNAttributeType.organizationalUnitName), ("name", .RDNAttributeType.commonName),
    ]

    /// The texts of an attribute of the subject.
    private func subject(_ type: ASN1ObjectIdentifier) -> [String] {
        self.certificate.subject.flatMap { $0 }.filter { $0.type == type }.compactMap { String($0.value) }
    }
}
