// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import NIOSSL
internal import SwiftASN1

/// The properties by which clients accept or reject a server's certificate.
///
/// Read from the DER form: X509's types cannot represent certificates with a weak key, which must be reported. RFC 5280
/// §4.1.
package struct ServerCertificate: Sendable, Hashable {
    /// The kind and size of a public key.
    package enum Key: Sendable, Hashable {
        /// RSA with a modulus of `bits` bits.
        case rsa(bits: Int)
        /// ECDSA on P-256, P-384 or P-521.
        case ecdsa(bits: Int)
        /// Any other key, which few clients accept.
        case other
    }

    /// The start of validity.
    package let notBefore: Instant
    /// The end of validity.
    package let notAfter: Instant
    /// The names it is valid for, in lower case; some begin with `*.`.
    package let names: Set<String>
    /// The IP addresses it is valid for.
    package let addresses: Set<IPAddress>
    /// The public key.
    package let key: Key
    /// Whether its signature uses SHA-1 or MD5.
    package let hasWeakSignature: Bool
    /// Whether its extended key usage includes TLS servers; a certificate without that extension is valid for all.
    package let isForServers: Bool

    /// Whether the certificate is valid for a host: by name, by a wildcard for its first label, or by IP address.
    ///
    /// RFC 9525 §6.3, RFC 9110 §4.3.5.
    package func covers(_ host: String) -> Bool {
        guard !self.names.contains(host) else { return true }
        let bare = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        if !self.addresses.isEmpty, let address = IPAddress(bare) { return self.addresses.contains(address) }
        guard let dot = host.firstIndex(of: ".") else { return false }
        return self.names.contains("*" + host[dot...])
    }
}

extension ServerCertificate {
    /// Reads a certificate.
    init(_ certificate: NIOSSLCertificate) throws {
        let fields = try CertificateFields(certificate.toDERBytes())
        self.notBefore = Instant(seconds: Int64(certificate.notValidBefore))
        self.notAfter = Instant(seconds: Int64(certificate.notValidAfter))
        self.key = try fields.key
        self.hasWeakSignature = CertificateFields.weakSignatures.contains(try fields.signature)
        let purposes = try fields.purposes
        self.isForServers = purposes.map { $0.contains("1.3.6.1.5.5.7.3.1") || $0.contains("2.5.29.37.0") } ?? true
        var names: Set<String> = []
        var addresses: Set<IPAddress> = []
        for name in try fields.alternativeNames {
            guard case .primitive(let bytes) = name.content else { continue }
            switch name.identifier.tagNumber {
            case 2: names.insert(String(decoding: bytes, as: UTF8.self).lowercased())
            case 7: IPAddress(packed: Array(bytes)).map { _ = addresses.insert($0) }
            default: break
            }
        }
        self.names = names
        self.addresses = addresses
    }
}

/// The DER nodes of a certificate that matter here.
struct CertificateFields {
    /// RSA with MD2, MD4, MD5 and SHA-1, DSA and ECDSA with SHA-1.
    static let weakSignatures: Set<String> = [
        "1.2.840.113549.1.1.2", "1.2.840.113549.1.1.3", "1.2.840.113549.1.1.4", "1.2.840.113549.1.1.5",
        "1.2.840.10040.4.3", "1.2.840.10045.4.1",
    ]
    private static let curves = ["1.2.840.10045.3.1.7": 256, "1.3.132.0.34": 384, "1.3.132.0.35": 521]

    private struct Malformed: Error {}

    private let signatureNode: ASN1Node
    private let keyNode: ASN1Node
    /// The values of extensions by their identifiers.
    private let extensions: [String: ArraySlice<UInt8>]

    init(_ bytes: [UInt8]) throws {
        let outer = try CertificateFields.children(of: DER.parse(bytes))
        guard let inner = outer.first else { throw Malformed() }
        var fields = try CertificateFields.children(of: inner)[...]
        // The version comes first, except in certificates of version 1.
        if let first = fields.first, CertificateFields.isTagged(first, 0) { fields = fields.dropFirst() }
        // serialNumber, signature, issuer, validity, subject, subjectPublicKeyInfo
        guard fields.count >= 6 else { throw Malformed() }
        self.signatureNode = fields[fields.startIndex + 1]
        self.keyNode = fields[fields.startIndex + 5]
        var extensions: [String: ArraySlice<UInt8>] = [:]
        if let tagged = fields.first(where: { CertificateFields.isTagged($0, 3) }),
            let list = try CertificateFields.children(of: tagged).first
        {
            for node in try CertificateFields.children(of: list) {
                let parts = try CertificateFields.children(of: node)
                guard let name = parts.first, case .primitive(let value) = parts.last?.content else { continue }
                extensions[try CertificateFields.identifier(name)] = value
            }
        }
        self.extensions = extensions
    }

    var signature: String {
        get throws { try CertificateFields.algorithm(self.signatureNode).name }
    }

    var key: ServerCertificate.Key {
        get throws {
            let parts = try CertificateFields.children(of: self.keyNode)
            guard parts.count == 2 else { throw Malformed() }
            let (name, parameters) = try CertificateFields.algorithm(parts[0])
            switch name {
            case "1.2.840.10045.2.1":
                let curve = try parameters.map(CertificateFields.identifier) ?? ""
                return CertificateFields.curves[curve].map { .ecdsa(bits: $0) } ?? .other
            case "1.2.840.113549.1.1.1":
                // The first byte of a bit string counts the bits that are unused at its end.
                guard case .primitive(let bits) = parts[1].content else { throw Malformed() }
                let numbers = try CertificateFields.children(of: DER.parse(bits.dropFirst()))
                guard case .primitive(let modulus) = numbers.first?.content else { throw Malformed() }
                let digits = modulus.drop { $0 == 0 }
                return .rsa(bits: digits.count * 8 - (digits.first?.leadingZeroBitCount ?? 0))
            default: return .other
            }
        }
    }

    /// The extended key usages; nil without that extension.
    var purposes: Set<String>? {
        get throws {
            guard let value = self.extensions["2.5.29.37"] else { return nil }
            return Set(try CertificateFields.children(of: DER.parse(value)).map(CertificateFields.identifier))
        }
    }

    var alternativeNames: [ASN1Node] {
        get throws { try self.extensions["2.5.29.17"].map { try CertificateFields.children(of: DER.parse($0)) } ?? [] }
    }

    private static func children(of node: ASN1Node) throws -> [ASN1Node] {
        guard case .constructed(let nodes) = node.content else { throw Malformed() }
        return Array(nodes)
    }

    private static func isTagged(_ node: ASN1Node, _ number: UInt) -> Bool {
        node.identifier == ASN1Identifier(tagWithNumber: number, tagClass: .contextSpecific)
    }

    private static func identifier(_ node: ASN1Node) throws -> String {
        "\(try ASN1ObjectIdentifier(derEncoded: node))"
    }

    private static func algorithm(_ node: ASN1Node) throws -> (name: String, parameters: ASN1Node?) {
        let parts = try self.children(of: node)
        guard let first = parts.first else { throw Malformed() }
        let isNamed = parts.count > 1 && parts[1].identifier == .objectIdentifier
        return (try self.identifier(first), isNamed ? parts[1] : nil)
    }
}
