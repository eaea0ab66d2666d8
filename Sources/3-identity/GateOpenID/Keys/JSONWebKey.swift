// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import CryptoExtras
internal import Foundation
package import GateCore
package import GateProviders

/// One public key that can verify signatures: of a provider, or of a client that proves to have it.
///
/// RFC 7517 §4.
///
/// What the key is good for is fixed by its own type, curve and `alg`; a token's header only has to agree.
package struct JSONWebKey: Sendable {
    private enum Material: Sendable {
        case rsa(_RSA.Signing.PublicKey)
        case p256(P256.Signing.PublicKey)
        case p384(P384.Signing.PublicKey)
        case p521(P521.Signing.PublicKey)
        case ed25519(Curve25519.Signing.PublicKey)
    }

    /// The key's name, at most 256 bytes; compared only, never a path or a query.
    ///
    /// RFC 7515 §4.1.4.
    let id: String?
    /// The issuer that the key belongs to, where a key set serves several of them.
    let issuer: String?
    private let algorithm: String?
    private let material: Material

    /// Parses a key; nil if it is not for signatures or does not meet the requirements.
    package init?(_ json: JSON) {
        let operations = json["key_ops"].map { $0.array?.contains("verify") ?? false } ?? true
        guard json["use"].map({ $0 == "sig" }) ?? true, operations else { return nil }
        guard JSONWebKey.isTextOrAbsent(json["kid"]), JSONWebKey.isTextOrAbsent(json["alg"]) else { return nil }
        guard let material = JSONWebKey.material(json), (json["kid"]?.string?.utf8.count ?? 0) <= 256 else {
            return nil
        }
        self.id = json["kid"]?.string
        self.issuer = json["issuer"]?.string
        self.algorithm = json["alg"]?.string
        self.material = material
    }

    /// Whether a signature of that algorithm can come from this key.
    ///
    /// RFC 8725 §3.1; Ed25519 has two names, RFC 9864 §2.2.
    func fits(_ algorithm: SignatureAlgorithm) -> Bool {
        let names = [.edDSA, .ed25519].contains(algorithm) ? ["EdDSA", "Ed25519"] : [algorithm.rawValue]
        guard self.algorithm.map(names.contains) ?? true else { return false }
        return switch (self.material, algorithm) {
        case (.rsa, .rs256), (.rsa, .rs384), (.rsa, .rs512), (.rsa, .ps256), (.rsa, .ps384), (.rsa, .ps512),
            (.p256, .es256), (.p384, .es384), (.p521, .es512), (.ed25519, .edDSA), (.ed25519, .ed25519):
            true
        default: false
        }
    }

    /// Whether the signature is this key's over the bytes.
    package func verifies(_ signature: [UInt8], over bytes: [UInt8], as algorithm: SignatureAlgorithm) -> Bool {
        guard self.fits(algorithm) else { return false }
        switch self.material {
        case .rsa(let key): return JSONWebKey.verifies(signature, by: key, over: bytes, as: algorithm)
        case .p256(let key):
            guard signature.count == 64, signature.contains(where: { $0 != 0 }) else { return false }
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature)
            return signature.map { key.isValidSignature($0, for: SHA256.hash(data: bytes)) } ?? false
        case .p384(let key):
            guard signature.count == 96, signature.contains(where: { $0 != 0 }) else { return false }
            let signature = try? P384.Signing.ECDSASignature(rawRepresentation: signature)
            return signature.map { key.isValidSignature($0, for: SHA384.hash(data: bytes)) } ?? false
        case .p521(let key):
            guard signature.count == 132, signature.contains(where: { $0 != 0 }) else { return false }
            let signature = try? P521.Signing.ECDSASignature(rawRepresentation: signature)
            return signature.map { key.isValidSignature($0, for: SHA512.hash(data: bytes)) } ?? false
        case .ed25519(let key):
            return signature.count == 64 && key.isValidSignature(signature, for: bytes)
        }
    }

    /// PSS with a salt as long as the hash, RFC 7518 §3.5.
    private static func verifies(
        _ signature: [UInt8],
        by key: _RSA.Signing.PublicKey,
        over bytes: [UInt8],
        as algorithm: SignatureAlgorithm
    ) -> Bool {
        let padding: _RSA.Signing.Padding =
            switch algorithm {
            case .ps256, .ps384, .ps512: .PSS
            default: .insecurePKCS1v1_5
            }
        let signature = _RSA.Signing.RSASignature(rawRepresentation: signature)
        return switch algorithm.hash {
        case .sha256: key.isValidSignature(signature, for: SHA256.hash(data: bytes), padding: padding)
        case .sha384: key.isValidSignature(signature, for: SHA384.hash(data: bytes), padding: padding)
        case .sha512: key.isValidSignature(signature, for: SHA512.hash(data: bytes), padding: padding)
        }
    }

    private static func isTextOrAbsent(_ value: JSON?) -> Bool { value.map { $0.string != nil } ?? true }
}

extension JSONWebKey {
    /// The key itself, by type and curve.
    ///
    /// RFC 7518 §6, RFC 8037 §2.
    private static func material(_ json: JSON) -> Material? {
        switch (json["kty"]?.string, json["crv"]?.string) {
        case ("RSA", _):
            return self.rsa(json).map(Material.rsa)
        case ("EC", "P-256"):
            guard let point = self.point(json, size: 32) else { return nil }
            return (try? P256.Signing.PublicKey(x963Representation: point)).map(Material.p256)
        case ("EC", "P-384"):
            guard let point = self.point(json, size: 48) else { return nil }
            return (try? P384.Signing.PublicKey(x963Representation: point)).map(Material.p384)
        case ("EC", "P-521"):
            guard let point = self.point(json, size: 66) else { return nil }
            return (try? P521.Signing.PublicKey(x963Representation: point)).map(Material.p521)
        case ("OKP", "Ed25519"):
            guard let x = self.bytes(json["x"]), x.count == 32, !self.hasSmallOrder(x) else { return nil }
            return (try? Curve25519.Signing.PublicKey(rawRepresentation: x)).map(Material.ed25519)
        default:
            return nil
        }
    }

    private static func rsa(_ json: JSON) -> _RSA.Signing.PublicKey? {
        guard let numbers = RSANumbers(json), numbers.weakness == nil else { return nil }
        return try? _RSA.Signing.PublicKey(n: numbers.modulus, e: numbers.exponent)
    }

    /// The uncompressed point; whether it is on the curve is checked when the key is made of it.
    private static func point(_ json: JSON, size: Int) -> [UInt8]? {
        guard let x = self.bytes(json["x"]), let y = self.bytes(json["y"]), x.count == size, y.count == size else {
            return nil
        }
        return [4] + x + y
    }

    static func bytes(_ value: JSON?) -> [UInt8]? {
        guard let text = value?.string, text.utf8.count <= 2048 else { return nil }
        return Base64URL.decode(text)
    }

    /// The y coordinates, canonical or not, of the points whose order divides 8; such a key accepts one
    /// signature for any message.
    private static func hasSmallOrder(_ key: [UInt8]) -> Bool {
        var y = key
        y[31] &= 0x7F
        let high = [UInt8](repeating: 0xFF, count: 30) + [0x7F]
        let low = [UInt8](repeating: 0, count: 31)
        let points: [[UInt8]] = [
            [0] + low, [1] + low, [0xEC] + high, [0xED] + high, [0xEE] + high, self.firstOfOrderEight,
            self.secondOfOrderEight,
        ]
        return points.contains(y)
    }

    private static let firstOfOrderEight: [UInt8] = [
        0x26, 0xE8, 0x95, 0x8F, 0xC2, 0xB2, 0x27, 0xB0, 0x45, 0xC3, 0xF4, 0x89, 0xF2, 0xEF, 0x98, 0xF0,
        0xD5, 0xDF, 0xAC, 0x05, 0xD3, 0xC6, 0x33, 0x39, 0xB1, 0x38, 0x02, 0x88, 0x6D, 0x53, 0xFC, 0x05,
    ]

    private static let secondOfOrderEight: [UInt8] = [
        0xC7, 0x17, 0x6A, 0x70, 0x3D, 0x4D, 0xD8, 0x4F, 0xBA, 0x3C, 0x0B, 0x76, 0x0D, 0x10, 0x67, 0x0F,
        0x2A, 0x20, 0x53, 0xFA, 0x2C, 0x39, 0xCC, 0xC6, 0x4E, 0xC7, 0xFD, 0x77, 0x92, 0xAC, 0x03, 0x7A,
    ]
}
