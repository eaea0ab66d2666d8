// SPDX-License-Identifier: Apache-2.0

import Crypto
import CryptoExtras
import Foundation
import GateCore

/// A key pair made for the tests: its public half as a JWK, and how it signs.
struct TestKey: Sendable {
    let algorithm: String
    let jwk: [String: JSON]
    let sign: @Sendable ([UInt8]) throws -> [UInt8]

    private static let sharedRSA = try? _RSA.Signing.PrivateKey(keySize: .bits2048)
    private static let otherRSA = try? _RSA.Signing.PrivateKey(keySize: .bits2048)
    private static let sharedP256 = P256.Signing.PrivateKey()
    private static let sharedP384 = P384.Signing.PrivateKey()
    private static let sharedP521 = P521.Signing.PrivateKey()
    private static let sharedEd25519 = Curve25519.Signing.PrivateKey()

    static let rs256 = TestKey.rsa(sharedRSA, "RS256", .insecurePKCS1v1_5)
    static let rs384 = TestKey.rsa(sharedRSA, "RS384", .insecurePKCS1v1_5)
    static let rs512 = TestKey.rsa(sharedRSA, "RS512", .insecurePKCS1v1_5)
    static let ps256 = TestKey.rsa(sharedRSA, "PS256", .PSS)
    static let ps384 = TestKey.rsa(sharedRSA, "PS384", .PSS)
    static let ps512 = TestKey.rsa(sharedRSA, "PS512", .PSS)
    static let otherRS256 = TestKey.rsa(otherRSA, "RS256", .insecurePKCS1v1_5)

    static let es256 = TestKey(
        algorithm: "ES256",
        jwk: Self.point("EC", "P-256", [UInt8](sharedP256.publicKey.rawRepresentation))
    ) { bytes in
        [UInt8](try sharedP256.signature(for: bytes).rawRepresentation)
    }

    static let es384 = TestKey(
        algorithm: "ES384",
        jwk: Self.point("EC", "P-384", [UInt8](sharedP384.publicKey.rawRepresentation))
    ) { bytes in
        [UInt8](try sharedP384.signature(for: bytes).rawRepresentation)
    }

    static let es512 = TestKey(
        algorithm: "ES512",
        jwk: Self.point("EC", "P-521", [UInt8](sharedP521.publicKey.rawRepresentation))
    ) { bytes in
        [UInt8](try sharedP521.signature(for: bytes).rawRepresentation)
    }

    static let edDSA = TestKey(
        algorithm: "EdDSA",
        jwk: [
            "kty": "OKP", "crv": "Ed25519", "x": .string(Base64URL.encode(sharedEd25519.publicKey.rawRepresentation)),
        ]
    ) { bytes in
        [UInt8](try sharedEd25519.signature(for: bytes))
    }

    /// Those that are admitted unless the file lists others.
    static let all = [rs256, ps256, es256, es384, edDSA]
    /// Those that the file has to list.
    static let listed = [rs384, rs512, ps384, ps512, es512]

    /// An HMAC under a secret.
    static func hmac(_ algorithm: String, _ secret: String) -> TestKey {
        let key = SymmetricKey(data: Array(secret.utf8))
        return TestKey(algorithm: algorithm, jwk: [:]) { bytes in
            switch algorithm {
            case "HS384": Array(HMAC<SHA384>.authenticationCode(for: bytes, using: key))
            case "HS512": Array(HMAC<SHA512>.authenticationCode(for: bytes, using: key))
            default: Array(HMAC<SHA256>.authenticationCode(for: bytes, using: key))
            }
        }
    }

    /// The public half under a name.
    func named(_ id: String?, _ more: [String: JSON] = [:]) -> JSON {
        var members = self.jwk
        members["kid"] = id.map(JSON.string)
        members.merge(more) { $1 }
        return .object(members)
    }

    /// The DER form of an ECDSA signature, which a JWS must not carry.
    static func es256DER(over bytes: [UInt8]) throws -> [UInt8] {
        [UInt8](try self.sharedP256.signature(for: bytes).derRepresentation)
    }

    private static func rsa(
        _ key: _RSA.Signing.PrivateKey?,
        _ algorithm: String,
        _ padding: _RSA.Signing.Padding
    ) -> TestKey {
        var jwk: [String: JSON] = ["kty": "RSA"]
        if let primitives = try? key?.publicKey.getKeyPrimitives() {
            jwk["n"] = .string(Base64URL.encode(primitives.modulus))
            jwk["e"] = .string(Base64URL.encode(primitives.publicExponent))
        }
        return TestKey(algorithm: algorithm, jwk: jwk) { bytes in
            let signature: _RSA.Signing.RSASignature? =
                switch algorithm.suffix(3) {
                case "384": try key?.signature(for: SHA384.hash(data: bytes), padding: padding)
                case "512": try key?.signature(for: SHA512.hash(data: bytes), padding: padding)
                default: try key?.signature(for: SHA256.hash(data: bytes), padding: padding)
                }
            return [UInt8](signature?.rawRepresentation ?? Data())
        }
    }

    private static func point(_ type: String, _ curve: String, _ raw: [UInt8]) -> [String: JSON] {
        [
            "kty": .string(type), "crv": .string(curve),
            "x": .string(Base64URL.encode(raw.prefix(raw.count / 2))),
            "y": .string(Base64URL.encode(raw.suffix(raw.count / 2))),
        ]
    }
}

/// A signed token.
func token(_ claims: JSON, by key: TestKey, kid: String? = "k1", header: [String: JSON?] = [:]) throws -> String {
    var members: [String: JSON] = ["alg": .string(key.algorithm), "typ": "JWT"]
    members["kid"] = kid.map(JSON.string)
    for (name, value) in header { members[name] = value }
    let input = "\(Base64URL.encode(JSON.object(members).encoded)).\(Base64URL.encode(claims.encoded))"
    return "\(input).\(Base64URL.encode(try key.sign(Array(input.utf8))))"
}

extension JSON {
    /// The object with some members replaced; a nil takes one away.
    func with(_ changes: [String: JSON?]) -> JSON {
        var members = self.object ?? [:]
        for (name, value) in changes { members[name] = value }
        return .object(members)
    }
}
