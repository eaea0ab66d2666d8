// SPDX-License-Identifier: Apache-2.0

internal import Crypto
package import GateCore

/// One ES256 key pair, identified by the thumbprint of its public key.
package struct AssertionKey: Sendable {
    /// The key id: the RFC 7638 SHA-256 thumbprint, base64url.
    package let id: String
    /// The public key as a JWK.
    ///
    /// RFC 7517 §4, RFC 7518 §6.2.1.
    package let jwk: JSON
    private let key: P256.Signing.PrivateKey

    /// A fresh key.
    ///
    /// - Parameter random: The random source.
    /// - Throws: `assertion.no_key` if the source yields no usable bytes.
    package init(from random: RandomBytes) throws(Failure) {
        // One value in 2^32 is outside the group's order, so a second try is already rare.
        for _ in 0..<8 {
            guard let key = try? P256.Signing.PrivateKey(rawRepresentation: random.bytes(32)) else { continue }
            self.init(key)
            return
        }
        throw Failure(.assertionNoKey, "the random source gives no usable key")
    }

    /// Parses a private key in PEM: PKCS#8 or SEC 1, curve P-256; nil for anything else.
    package init?(pem: [UInt8]) {
        guard let text = String(validating: pem, as: UTF8.self) else { return nil }
        guard let key = try? P256.Signing.PrivateKey(pemRepresentation: text) else { return nil }
        self.init(key)
    }

    private init(_ key: P256.Signing.PrivateKey) {
        let point = Array(key.publicKey.rawRepresentation)
        let coordinates: [String: JSON] = [
            "crv": "P-256", "kty": "EC", "x": .string(Base64URL.encode(point.prefix(32))),
            "y": .string(Base64URL.encode(point.suffix(32))),
        ]
        // `JSON.encoded` sorts members and has no spaces, which is the form that RFC 7638 §3.2 hashes.
        let id = Base64URL.encode(SHA256.hash(data: JSON.object(coordinates).encoded))
        self.id = id
        self.jwk = .object(coordinates.merging(["kid": .string(id), "use": "sig", "alg": "ES256"]) { $1 })
        self.key = key
    }

    /// The private key as PKCS#8 PEM, for its file.
    var pem: [UInt8] { Array((self.key.pemRepresentation + "\n").utf8) }

    /// The 64 bytes `r ‖ s` of the signature.
    ///
    /// RFC 7518 §3.4.
    func signature(of bytes: [UInt8]) throws(Failure) -> [UInt8] {
        guard let signature = try? self.key.signature(for: bytes) else {
            throw Failure(.assertionNotSigned, "the key \(self.id) cannot sign")
        }
        return Array(signature.rawRepresentation)
    }

    /// Whether a signature of 64 bytes is one of this key.
    ///
    /// RFC 7518 §3.4.
    func isValid(_ signature: [UInt8], of bytes: some Sequence<UInt8>) -> Bool {
        guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature) else { return false }
        return self.key.publicKey.isValidSignature(signature, for: SHA256.hash(data: Array(bytes)))
    }

    /// The header of a JWT of some type with the dot after it.
    func head(ofType type: String) -> [UInt8] {
        let header: JSON = ["typ": .string(type), "alg": "ES256", "kid": .string(self.id)]
        return Array("\(Base64URL.encode(header.encoded)).".utf8)
    }

    /// The JWT in compact form.
    ///
    /// RFC 7515 §7.1.
    func signed(_ head: [UInt8], claims: JSON) throws(Failure) -> [UInt8] {
        var token = head + Array(Base64URL.encode(claims.encoded).utf8)
        let signature = try self.signature(of: token)
        token.append(UInt8(ascii: "."))
        token += Base64URL.encode(signature).utf8
        return token
    }
}
