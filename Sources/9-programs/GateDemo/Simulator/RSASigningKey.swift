// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import CryptoExtras
internal import Foundation
internal import GateCore

/// An RSA key of 2048 bits that a simulated provider signs ID tokens with.
///
/// RFC 7518 §3.3.
struct RSASigningKey: Sendable {
    private let key: _RSA.Signing.PrivateKey
    /// The modulus as a JWK carries it.
    let modulus: String
    /// The key id: 40 hexadecimal digits.
    let id: String

    /// The public key as PEM, which an attacker also has.
    var publicPEM: String { self.key.publicKey.pemRepresentation }

    /// Makes a key off the caller's actor, as that takes a while.
    @concurrent static func make() async throws -> RSASigningKey {
        try RSASigningKey(_RSA.Signing.PrivateKey(keySize: .bits2048))
    }

    private init(_ key: _RSA.Signing.PrivateKey) throws {
        let modulus = try key.publicKey.getKeyPrimitives().modulus
        self.init(key: key, modulus: Base64URL.encode(modulus), id: hexadecimal(SHA256.hash(data: modulus).prefix(20)))
    }

    private init(key: _RSA.Signing.PrivateKey, modulus: String, id: String) {
        self.key = key
        self.modulus = modulus
        self.id = id
    }

    /// The same key under another id, as making an RSA key takes a while.
    func named(_ name: String) -> RSASigningKey {
        let id = hexadecimal(SHA256.hash(data: Data("\(name) \(self.modulus)".utf8)).prefix(20))
        return RSASigningKey(key: self.key, modulus: self.modulus, id: id)
    }

    /// The signature of a JWS with RS256 over its first two parts.
    func signature(over input: String) throws -> [UInt8] {
        Array(try self.key.signature(for: Data(input.utf8), padding: .insecurePKCS1v1_5).rawRepresentation)
    }

    /// The modulus of a key that is published but does not sign, as before and after its use.
    static func idleModulus(_ random: RandomBytes) -> String {
        var bytes = random.bytes(256)
        bytes[0] |= 0x80
        bytes[255] |= 1
        return Base64URL.encode(bytes)
    }
}

/// The left half of the SHA-256 of an access token.
///
/// OpenID Connect Core §3.1.3.6.
func accessTokenHash(_ token: String) -> String {
    Base64URL.encode(SHA256.hash(data: Data(token.utf8)).prefix(16))
}

/// Lower-case hexadecimal digits.
func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}
