// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import CryptoExtras
internal import Foundation
internal import GateCore

/// The private key with which the gateway proves to one provider who it is.
///
/// What it signs with follows from the key, never from what a provider asks for, but among the algorithms of an RSA
/// key a provider may choose. RFC 7518 §3.1.
struct ClientKey: Sendable {
    private enum Material: Sendable {
        case p256(P256.Signing.PrivateKey)
        case p384(P384.Signing.PrivateKey)
        case rsa(_RSA.Signing.PrivateKey)
    }

    private let material: Material
    private let id: String?
    /// The SHA-256 of the certificate, by which Microsoft finds the key; RFC 7515 §4.1.8.
    private let thumbprint: String?

    /// Reads a key in any of the usual PEM forms, and its certificate if there is one.
    ///
    /// - Throws: What is wrong with `private_key` or `certificate`.
    init(_ pem: Secret, id: String?, certificate: String?) throws(Failure) {
        guard let pemDocument = pem.withText({ PEMDocument(in: $0, endingWith: "PRIVATE KEY") }) else {
            throw ClientKey.unusable(
                "private_key: there is no whole PEM private key in it; it may be cut off, or its line breaks are lost"
            )
        }
        guard !pemDocument.isEncrypted else {
            throw ClientKey.unusable("private_key: it is encrypted; store it without a pass phrase")
        }
        guard let material = ClientKey.material(pemDocument.bytes) else {
            throw ClientKey.unusable(
                "private_key: it is neither an RSA key of at least 2048 bits nor a key on P-256 or P-384"
            )
        }
        self.material = material
        self.id = id
        guard let certificate else {
            self.thumbprint = nil
            return
        }
        guard let pemDocument = PEMDocument(in: certificate, endingWith: "CERTIFICATE") else {
            throw ClientKey.unusable("certificate: there is no PEM certificate in it")
        }
        guard pemDocument.bytes.firstRange(of: ClientKey.publicHalf(material)) != nil else {
            throw ClientKey.unusable("certificate: it is not the certificate of private_key")
        }
        self.thumbprint = Base64URL.encode(SHA256.hash(data: pemDocument.bytes))
    }

    /// Whether the key can sign what Apple takes for a secret: ES256 and nothing else.
    var isP256: Bool {
        guard case .p256 = self.material else { return false }
        return true
    }

    /// The algorithm for a provider that offers these; nil if none of them fits the key.
    ///
    /// With a certificate an RSA key signs PS256, as Microsoft recommends; else RS256, the most widely taken.
    func algorithm(offered: [String]?) -> String? {
        let own =
            switch self.material {
            case .p256: ["ES256"]
            case .p384: ["ES384"]
            case .rsa: self.thumbprint == nil ? ["RS256", "PS256"] : ["PS256", "RS256"]
            }
        guard let offered else { return own.first }
        return own.first { offered.contains($0) }
    }

    /// A signed JWT in compact form.
    ///
    /// RFC 7515 §7.1.
    func signed(_ claims: JSON, algorithm: String) throws(Failure) -> String {
        var header: [String: JSON] = ["alg": .string(algorithm), "typ": "JWT"]
        header["kid"] = self.id.map(JSON.string)
        header["x5t#S256"] = self.thumbprint.map(JSON.string)
        let input = "\(Base64URL.encode(JSON.object(header).encoded)).\(Base64URL.encode(claims.encoded))"
        guard let signature = try? self.signature(over: Array(input.utf8), algorithm: algorithm) else {
            throw Failure(.providerPrivateKey, "private_key: it did not sign")
        }
        return "\(input).\(Base64URL.encode(signature))"
    }

    private func signature(over bytes: [UInt8], algorithm: String) throws -> [UInt8] {
        switch self.material {
        case .p256(let key): return [UInt8](try key.signature(for: bytes).rawRepresentation)
        case .p384(let key): return [UInt8](try key.signature(for: bytes).rawRepresentation)
        case .rsa(let key):
            let padding: _RSA.Signing.Padding = algorithm == "PS256" ? .PSS : .insecurePKCS1v1_5
            return [UInt8](try key.signature(for: SHA256.hash(data: bytes), padding: padding).rawRepresentation)
        }
    }

    private static func material(_ der: [UInt8]) -> Material? {
        if let key = try? P256.Signing.PrivateKey(derRepresentation: der) { return .p256(key) }
        if let key = try? P384.Signing.PrivateKey(derRepresentation: der) { return .p384(key) }
        return (try? _RSA.Signing.PrivateKey(derRepresentation: der)).map(Material.rsa)
    }

    /// The bytes that every certificate of the key has in it: the point, or modulus and exponent.
    private static func publicHalf(_ material: Material) -> [UInt8] {
        switch material {
        case .p256(let key): [UInt8](key.publicKey.x963Representation)
        case .p384(let key): [UInt8](key.publicKey.x963Representation)
        case .rsa(let key): [UInt8](key.publicKey.pkcs1DERRepresentation)
        }
    }

    private static func unusable(_ detail: String) -> Failure {
        Failure(.providerPrivateKey, detail)
    }
}

/// One block of a PEM text, found among comments, parameters and other blocks.
///
/// RFC 7468 §3.
private struct PEMDocument {
    private static let maxSize = 65_536

    let bytes: [UInt8]
    let isEncrypted: Bool

    /// The first block whose label ends with these words; nil without a block that can be read.
    init?(in text: String, endingWith words: String) {
        guard text.utf8.count <= PEMDocument.maxSize else { return nil }
        let lines = text.split(whereSeparator: \.isNewline).map { $0.filter { !$0.isWhitespace || $0 == " " } }
        guard let start = lines.firstIndex(where: { $0.hasPrefix("-----BEGIN ") && $0.hasSuffix("\(words)-----") }),
            let end = lines[start...].firstIndex(where: { $0.hasPrefix("-----END ") })
        else { return nil }
        let body = lines[lines.index(after: start)..<end]
        self.isEncrypted = lines[start].contains("ENCRYPTED") || body.contains { $0.contains("ENCRYPTED") }
        guard let data = Data(base64Encoded: body.joined().filter { $0 != " " }) else {
            guard self.isEncrypted else { return nil }
            self.bytes = []
            return
        }
        self.bytes = [UInt8](data)
    }
}
