// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import CryptoExtras
internal import Foundation
internal import GateCore

extension SigningKey {
    /// The demo's RSA key, for RS256.
    static func rs256(_ key: DemoKey) -> SigningKey {
        SigningKey("RS256", id: key.id, ["kty": "RSA", "n": .string(key.modulus), "e": "AQAB"]) { input in
            Data(try key.signature(over: String(decoding: input, as: UTF8.self)))
        }
    }

    /// A fresh RSA key of 2048 bits for PS256, whose salt is as long as its hash.
    ///
    /// RFC 7518 §3.5.
    static func ps256() throws -> SigningKey {
        let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        let modulus = try key.publicKey.getKeyPrimitives().modulus
        let members: [String: JSON] = ["kty": "RSA", "n": .string(Base64URL.encode(modulus)), "e": "AQAB"]
        return SigningKey("PS256", members) { try key.signature(for: $0, padding: .PSS).rawRepresentation }
    }

    /// A fresh key for ES256.
    static func es256() -> SigningKey {
        let key = P256.Signing.PrivateKey()
        return SigningKey("ES256", self.point(key.publicKey.rawRepresentation, "P-256")) {
            try key.signature(for: $0).rawRepresentation
        }
    }

    /// A fresh key for ES384, whose hash of access tokens is half of a SHA-384.
    static func es384() -> SigningKey {
        let key = P384.Signing.PrivateKey()
        let half: @Sendable (Data) -> [UInt8] = { Array(SHA384.hash(data: $0).prefix(24)) }
        return SigningKey("ES384", self.point(key.publicKey.rawRepresentation, "P-384"), halfHash: half) {
            try key.signature(for: $0).rawRepresentation
        }
    }

    /// A fresh key for EdDSA with Ed25519, which hashes with SHA-512.
    ///
    /// RFC 8037 §3.1.
    static func edDSA() -> SigningKey {
        let key = Curve25519.Signing.PrivateKey()
        let half: @Sendable (Data) -> [UInt8] = { Array(SHA512.hash(data: $0).prefix(32)) }
        let x = JSON.string(Base64URL.encode(key.publicKey.rawRepresentation))
        return SigningKey("EdDSA", ["kty": "OKP", "crv": "Ed25519", "x": x], halfHash: half) {
            try key.signature(for: $0)
        }
    }

    /// A point of a curve as a JWK carries it.
    ///
    /// RFC 7518 §6.2.1.
    private static func point(_ bytes: Data, _ curve: String) -> [String: JSON] {
        [
            "kty": "EC", "crv": .string(curve), "x": .string(Base64URL.encode(bytes.prefix(bytes.count / 2))),
            "y": .string(Base64URL.encode(bytes.suffix(bytes.count / 2))),
        ]
    }
}
