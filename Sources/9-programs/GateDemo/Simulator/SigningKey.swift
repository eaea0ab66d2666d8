// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import CryptoExtras
internal import Foundation
internal import GateCore

/// A key of a simulated provider for ID tokens, of any algorithm in use.
///
/// RFC 7518 §3.1, RFC 8037 §3.1.
struct SigningKey: Sendable {
    /// The `alg` of its tokens.
    let algorithm: String
    /// Its `kid`.
    let id: String
    /// Its JWK, with all members.
    let published: [String: JSON]
    private let sign: @Sendable (Data) throws -> Data
    private let halfHash: @Sendable (Data) -> [UInt8]

    /// A key whose id is a hash of its members unless one is given.
    init(
        _ algorithm: String,
        id: String? = nil,
        _ members: [String: JSON],
        halfHash: @escaping @Sendable (Data) -> [UInt8] = { Array(SHA256.hash(data: $0).prefix(16)) },
        sign: @escaping @Sendable (Data) throws -> Data,
    ) {
        let id = id ?? Base64URL.encode(SHA256.hash(data: Data(JSON.object(members).encoded)))
        self.algorithm = algorithm
        self.id = id
        self.published = members.merging(["alg": .string(algorithm), "use": "sig", "kid": .string(id)]) { $1 }
        self.sign = sign
        self.halfHash = halfHash
    }

    /// A compact JWS over the claims.
    ///
    /// RFC 7515 §3.1.
    func token(_ claims: JSON) throws -> String {
        let header: JSON = ["alg": .string(self.algorithm), "typ": "JWT", "kid": .string(self.id)]
        let input = "\(Base64URL.encode(header.encoded)).\(Base64URL.encode(claims.encoded))"
        return "\(input).\(Base64URL.encode(try self.sign(Data(input.utf8))))"
    }

    /// The left half of the hash, by the algorithm's hash function.
    ///
    /// OpenID Connect Core §3.1.3.6.
    func hash(ofAccessToken token: String) -> String {
        Base64URL.encode(self.halfHash(Data(token.utf8)))
    }
}

extension SigningKey {
    /// The demo's RSA key for RS256, under another id if one is given.
    static func rs256(_ key: RSASigningKey, id: String? = nil) -> SigningKey {
        SigningKey("RS256", id: id ?? key.id, ["kty": "RSA", "n": .string(key.modulus), "e": "AQAB"]) { input in
            Data(try key.signature(over: String(decoding: input, as: UTF8.self)))
        }
    }

    /// A new RSA key of 2048 bits for PS256, with a salt as long as the hash.
    ///
    /// RFC 7518 §3.5.
    static func ps256() throws -> SigningKey {
        let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        let modulus = try key.publicKey.getKeyPrimitives().modulus
        let members: [String: JSON] = ["kty": "RSA", "n": .string(Base64URL.encode(modulus)), "e": "AQAB"]
        return SigningKey("PS256", members) { try key.signature(for: $0, padding: .PSS).rawRepresentation }
    }

    /// A key for ES256, a new one unless it is given.
    static func es256(_ key: P256.Signing.PrivateKey = P256.Signing.PrivateKey()) -> SigningKey {
        SigningKey("ES256", self.point(key.publicKey.rawRepresentation, "P-256")) {
            try key.signature(for: $0).rawRepresentation
        }
    }

    /// A new key for ES384, whose hash of access tokens is half of a SHA-384.
    static func es384() -> SigningKey {
        let key = P384.Signing.PrivateKey()
        let half: @Sendable (Data) -> [UInt8] = { Array(SHA384.hash(data: $0).prefix(24)) }
        return SigningKey("ES384", self.point(key.publicKey.rawRepresentation, "P-384"), halfHash: half) {
            try key.signature(for: $0).rawRepresentation
        }
    }

    /// A new key for EdDSA with Ed25519, which hashes with SHA-512.
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

    /// A curve point as JWK members.
    ///
    /// RFC 7518 §6.2.1.
    private static func point(_ bytes: Data, _ curve: String) -> [String: JSON] {
        [
            "kty": "EC", "crv": .string(curve), "x": .string(Base64URL.encode(bytes.prefix(bytes.count / 2))),
            "y": .string(Base64URL.encode(bytes.suffix(bytes.count / 2))),
        ]
    }
}
