// SPDX-License-Identifier: Apache-2.0

import Crypto
import Testing

@testable import GatePasskeys

@Suite struct COSEKeyTests {
    private let authenticator: TestAuthenticator

    init() throws {
        self.authenticator = try TestAuthenticator()
    }

    private var point: (x: [UInt8], y: [UInt8]) {
        let raw = Array(self.authenticator.key.publicKey.rawRepresentation)
        return (Array(raw[..<32]), Array(raw[32...]))
    }

    private func ec(_ changes: [Int64: CBOR?]) -> CBOR {
        let (x, y) = self.point
        let members: [Int64: CBOR] = [1: .int(2), 3: .int(-7), -1: .int(1), -2: .bytes(x), -3: .bytes(y)]
        let changed = members.map { ($0.key, changes.keys.contains($0.key) ? changes[$0.key] ?? nil : $0.value) }
        let added = changes.filter { members[$0.key] == nil }.map { ($0.key, $0.value) }
        return .numbered((changed + added).compactMap { key, value in value.map { (key, $0) } })
    }

    private func rsa(bits: Int, exponent: [UInt8] = [1, 0, 1], last: UInt8 = 1) -> CBOR {
        let modulus = [0x80] + [UInt8](repeating: 0x5A, count: bits / 8 - 2) + [last]
        return .numbered([(1, .int(3)), (3, .int(-257)), (-1, .bytes(modulus)), (-2, .bytes(exponent))])
    }

    private func ed25519(_ x: [UInt8]) -> CBOR {
        .numbered([(1, .int(1)), (3, .int(-8)), (-1, .int(6)), (-2, .bytes(x))])
    }

    @Test func `WebAuthn §5.8.5: each missing, added or other parameter is rejected`() throws {
        _ = try COSEKey(self.ec([:]))
        let y = self.point.y
        let changes: [[Int64: CBOR?]] = [
            [1: nil], [-1: nil], [-2: nil], [-3: nil], [1: .int(1)], [-1: .int(2)], [-3: .bool(true)], [2: .bytes([1])],
            [4: .array([.int(2)])], [-4: .bytes([1])], [-3: .bytes([0] + y)], [-3: .bytes(Array(y.dropLast()))],
        ]
        for change in changes {
            #expect(throws: PasskeyError.keyParameters) { try COSEKey(self.ec(change)) }
        }
    }

    @Test(arguments: [-35, -37, -36, -47, -65_535, 7, 0] as [Int64])
    func `other algorithms are rejected`(algorithm: Int64) {
        #expect(throws: PasskeyError.keyAlgorithm) { try COSEKey(self.ec([3: .int(algorithm)])) }
    }

    @Test func `a key that has no algorithm or is not a map is rejected`() {
        #expect(throws: PasskeyError.keyAlgorithm) { try COSEKey(self.ec([3: nil])) }
        #expect(throws: PasskeyError.keyAlgorithm) { try COSEKey(CBOR.null) }
    }

    @Test func `a point that is not on the curve is rejected`() {
        var y = self.point.y
        y[31] ^= 1
        #expect(throws: PasskeyError.keyPoint) { try COSEKey(self.ec([-3: .bytes(y)])) }
        let zeros = CBOR.bytes([UInt8](repeating: 0, count: 32))
        #expect(throws: PasskeyError.keyPoint) { try COSEKey(self.ec([-2: zeros, -3: zeros])) }
    }

    @Test(arguments: [(1024, false), (2040, false), (2048, true), (4096, true), (4104, false)])
    func `RSA has 2048 to 4096 bits`(bits: Int, isValid: Bool) throws {
        if isValid {
            _ = try COSEKey(self.rsa(bits: bits))
        } else {
            #expect(throws: PasskeyError.keyModulus(bits: bits)) { try COSEKey(self.rsa(bits: bits)) }
        }
    }

    @Test(
        arguments: [[3], [1], [], [1, 0, 0], [1, 0, 2], [0xFF, 0xFF, 0xFF, 0xFE], [1, 0, 0, 0, 1], [0xFF, 0xFF]]
            as [[UInt8]]
    )
    func `an RSA exponent is odd and from 65537 to 2^32`(exponent: [UInt8]) {
        #expect(throws: PasskeyError.keyExponent) { try COSEKey(self.rsa(bits: 2048, exponent: exponent)) }
    }

    @Test func `an RSA modulus is odd, and numbers have no leading zeros`() {
        #expect(throws: PasskeyError.keyModulus(bits: 2048)) { try COSEKey(self.rsa(bits: 2048, last: 2)) }
        #expect(throws: PasskeyError.keyParameters) { try COSEKey(self.rsa(bits: 2048, exponent: [0, 1, 0, 1])) }
    }

    @Test func `a point of small order accepts any message, so it is rejected`() throws {
        let zeros = [UInt8](repeating: 0, count: 31)
        let ones = [UInt8](repeating: 0xFF, count: 30)
        // https://eprint.iacr.org/2020/1244, table 1, and the same with the other sign.
        let eighth: [[UInt8]] = [
            [
                0x26, 0xE8, 0x95, 0x8F, 0xC2, 0xB2, 0x27, 0xB0, 0x45, 0xC3, 0xF4, 0x89, 0xF2, 0xEF, 0x98, 0xF0,
                0xD5, 0xDF, 0xAC, 0x05, 0xD3, 0xC6, 0x33, 0x39, 0xB1, 0x38, 0x02, 0x88, 0x6D, 0x53, 0xFC, 0x85,
            ],
            [
                0xC7, 0x17, 0x6A, 0x70, 0x3D, 0x4D, 0xD8, 0x4F, 0xBA, 0x3C, 0x0B, 0x76, 0x0D, 0x10, 0x67, 0x0F,
                0x2A, 0x20, 0x53, 0xFA, 0x2C, 0x39, 0xCC, 0xC6, 0x4E, 0xC7, 0xFD, 0x77, 0x92, 0xAC, 0x03, 0x7A,
            ],
        ]
        let points = [
            [0] + zeros, [1] + zeros, [1] + zeros.dropLast() + [0x80], [0xEC] + ones + [0x7F], [0xED] + ones + [0x7F],
            [0xEE] + ones + [0x7F], [0xEE] + ones + [0xFF],
        ]
        for point in points + eighth {
            #expect(throws: PasskeyError.keyPoint) { try COSEKey(self.ed25519(point)) }
        }
        _ = try COSEKey(self.ed25519(Array(Curve25519.Signing.PrivateKey().publicKey.rawRepresentation)))
    }

    @Test func `WebAuthn §6.5.5: an ECDSA signature is DER, with nothing after it`() throws {
        let key = try COSEKey(self.authenticator.coseKey)
        let message = Array("message".utf8)
        let signature = try self.authenticator.key.signature(for: message)
        let der = Array(signature.derRepresentation)
        #expect(key.verifies(der, over: message))
        let zero: [UInt8] = [0x30, 0x06, 0x02, 0x01, 0x00, 0x02, 0x01, 0x00]
        let negative: [UInt8] = [0x30, 0x06, 0x02, 0x01, 0x80, 0x02, 0x01, 0x80]
        let empty: [UInt8] = [0x30, 0x04, 0x02, 0x00, 0x02, 0x00]
        let bomb = [UInt8](repeating: 0x30, count: 72)
        let longer: [UInt8] = [0x30, 0x81] + der.dropFirst()
        let wrong = [
            Array(signature.rawRepresentation), der + [0], Array(der.dropLast()), zero, negative, empty, [], bomb,
        ]
        for other in wrong + [longer, [UInt8](repeating: 0, count: 20_000)] {
            #expect(!key.verifies(other, over: message))
        }
        #expect(!key.verifies(der, over: message + [0]))
    }
}
