// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import CryptoExtras

/// The signature algorithms of passkeys; the raw values are their numbers in the IANA registry of COSE.
package enum PasskeyAlgorithm: Int64, Sendable, CaseIterable {
    /// ECDSA on P-256 with SHA-256.
    case es256 = -7
    /// Ed25519.
    case edDSA = -8
    /// RSASSA-PKCS1-v1_5 with SHA-256, which Windows Hello uses.
    case rs256 = -257
}

/// The public key of a passkey.
///
/// RFC 9052 §7, RFC 9053 §7, RFC 8230 §4; WebAuthn §5.8.5 and §6.5.1: no parameter that the algorithm does not require.
struct COSEKey: Sendable {
    /// What the key signs with; a signature cannot choose another.
    let algorithm: PasskeyAlgorithm
    private let material: Material

    private enum Material: Sendable {
        case p256(P256.Signing.PublicKey)
        case ed25519(Curve25519.Signing.PublicKey)
        case rsa(_RSA.Signing.PublicKey, signatureBytes: Int)
    }

    /// The key of its encoding, as it was saved.
    ///
    /// - Throws: The rule that the encoding or the key breaks.
    init(_ bytes: [UInt8]) throws(PasskeyError) {
        try self.init(CBOR(bytes, keys: .canonical))
    }

    /// The key that a CBOR map describes.
    ///
    /// - Throws: The rule that the key breaks.
    init(_ cbor: CBOR) throws(PasskeyError) {
        guard let algorithm = cbor[3]?.integer.flatMap(PasskeyAlgorithm.init(rawValue:)) else { throw .keyAlgorithm }
        self.algorithm = algorithm
        switch algorithm {
        case .es256: self.material = try COSEKey.p256(cbor)
        case .edDSA: self.material = try COSEKey.ed25519(cbor)
        case .rs256: self.material = try COSEKey.rsa(cbor)
        }
    }

    /// Whether a signature is this key's over the bytes.
    ///
    /// ECDSA has DER, WebAuthn §6.5.5. That `(r, -s)` is valid where `(r, s)` is does no harm: no signature is compared or stored.
    func verifies(_ signature: [UInt8], over bytes: [UInt8]) -> Bool {
        switch self.material {
        case .p256(let key):
            // Two integers of at most 33 bytes with their heads.
            guard signature.count <= 72 else { return false }
            // What is not DER is not a signature.
            let signature = try? P256.Signing.ECDSASignature(derRepresentation: signature)
            return signature.map { key.isValidSignature($0, for: SHA256.hash(data: bytes)) } ?? false
        case .ed25519(let key):
            return signature.count == 64 && key.isValidSignature(signature, for: bytes)
        case .rsa(let key, let signatureBytes):
            guard signature.count == signatureBytes else { return false }
            let signature = _RSA.Signing.RSASignature(rawRepresentation: signature)
            return key.isValidSignature(signature, for: SHA256.hash(data: bytes), padding: .insecurePKCS1v1_5)
        }
    }
}

extension COSEKey {
    private static func p256(_ cbor: CBOR) throws(PasskeyError) -> Material {
        let (x, y) = try self.byteStrings(of: cbor, type: 2, curve: 1, -2, -3)
        guard x.count == 32, y.count == 32 else { throw .keyParameters }
        // The initializer checks that the point is on the curve.
        guard let key = try? P256.Signing.PublicKey(x963Representation: [4] + x + y) else { throw .keyPoint }
        return .p256(key)
    }

    private static func ed25519(_ cbor: CBOR) throws(PasskeyError) -> Material {
        let (x, _) = try self.byteStrings(of: cbor, type: 1, curve: 6, -2)
        guard x.count == 32 else { throw .keyParameters }
        guard !self.hasSmallOrder(x), let key = try? Curve25519.Signing.PublicKey(rawRepresentation: x) else {
            throw .keyPoint
        }
        return .ed25519(key)
    }

    private static func rsa(_ cbor: CBOR) throws(PasskeyError) -> Material {
        let (modulus, exponent) = try self.byteStrings(of: cbor, type: 3, curve: nil, -1, -2)
        // RFC 8230 §4: numbers have no leading zeros.
        guard let first = modulus.first, first != 0, exponent.first != 0 else { throw .keyParameters }
        let bits = modulus.count * 8 - first.leadingZeroBitCount
        guard (2048...4096).contains(bits), let last = modulus.last, last & 1 == 1 else {
            throw .keyModulus(bits: bits)
        }
        // Odd, from 65537 to 2^32, as for the keys of providers.
        guard (3...4).contains(exponent.count), exponent.reduce(0, { $0 << 8 | Int($1) }) >= 65_537,
            let last = exponent.last, last & 1 == 1
        else { throw .keyExponent }
        guard let key = try? _RSA.Signing.PublicKey(n: modulus, e: exponent) else { throw .keyParameters }
        return .rsa(key, signatureBytes: modulus.count)
    }

    /// The parameters that are byte strings, one or two, of a key that has these, its type, its algorithm, its curve and no more.
    private static func byteStrings(
        of cbor: CBOR,
        type: Int64,
        curve: Int64?,
        _ first: Int64,
        _ second: Int64? = nil
    ) throws(PasskeyError) -> ([UInt8], [UInt8]) {
        guard cbor.members?.count == 3 + (curve == nil ? 0 : 1) + (second == nil ? 0 : 1), cbor[1]?.integer == type
        else { throw .keyParameters }
        if let curve {
            guard cbor[-1]?.integer == curve else { throw .keyParameters }
        }
        guard let value = cbor[first]?.byteString else { throw .keyParameters }
        guard let second else { return (value, []) }
        guard let other = cbor[second]?.byteString else { throw .keyParameters }
        return (value, other)
    }

    /// Whether the order of a point divides 8; such a key accepts one signature for any message.
    ///
    /// RFC 8032 §5.1.
    ///
    /// These are the points with `y` 0, 1, -1, or one of the two roots below. `p` and `p + 1` spell 0 and 1 as well.
    private static func hasSmallOrder(_ point: [UInt8]) -> Bool {
        var y = point
        y[31] &= 0x7F
        let middle = [UInt8](repeating: 0xFF, count: 30) + [0x7F]
        let zeros = [UInt8](repeating: 0, count: 31)
        let small: [[UInt8]] = [[0] + zeros, [1] + zeros, [0xEC] + middle, [0xED] + middle, [0xEE] + middle]
        return small.contains(y) || y == self.orderEight || y == self.negated(self.orderEight)
    }

    /// `p - y` for a `y` whose first byte is not above 0xED, so that nothing is borrowed; `p` is 2^255 - 19.
    private static func negated(_ y: [UInt8]) -> [UInt8] {
        y.enumerated().map { ($0 == 0 ? 0xED : $0 == 31 ? 0x7F : 0xFF) - $1 }
    }

    private static let orderEight: [UInt8] = [
        0x26, 0xE8, 0x95, 0x8F, 0xC2, 0xB2, 0x27, 0xB0, 0x45, 0xC3, 0xF4, 0x89, 0xF2, 0xEF, 0x98, 0xF0,
        0xD5, 0xDF, 0xAC, 0x05, 0xD3, 0xC6, 0x33, 0x39, 0xB1, 0x38, 0x02, 0x88, 0x6D, 0x53, 0xFC, 0x05,
    ]
}
