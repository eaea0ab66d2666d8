// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import GatePasskeys

@Suite struct CBORTests {
    @Test(
        arguments: [
            ([0x00], .unsigned(0)), ([0x17], .unsigned(23)), ([0x18, 0x18], .unsigned(24)),
            ([0x38, 0xFF], .negative(255)),
            ([0x1B, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], .unsigned(.max)), ([0x20], .negative(0)),
            ([0x40], .bytes([])), ([0x62, 0xC3, 0xA4], .text("ä")),
            ([0x82, 0xF4, 0xF5], .array([.bool(false), .bool(true)])),
            ([0xA1, 0x20, 0xF6], .map([.init(key: .negative(0), value: .null)])),
        ] as [([UInt8], CBOR)]
    )
    func `RFC 8949 appendix A: each type is read`(bytes: [UInt8], value: CBOR) throws {
        #expect(try CBOR(bytes, keys: .canonical) == value)
        #expect(value.encoded == bytes)
    }

    @Test(
        arguments: [
            ([0x18, 0x17], .cborLongForm), ([0x19, 0x00, 0xFF], .cborLongForm),
            ([0x1A, 0, 0, 0xFF, 0xFF], .cborLongForm),
            ([0x1B, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF], .cborLongForm), ([0x58, 0x01, 0x00], .cborLongForm),
            ([0x98, 0x01, 0x00], .cborLongForm), ([0xB8, 0x01, 0x00, 0x00], .cborLongForm),
            ([0x5F, 0x41, 0x00, 0xFF], .cborIndefiniteLength), ([0x7F, 0xFF], .cborIndefiniteLength),
            ([0x9F, 0xFF], .cborIndefiniteLength), ([0xBF, 0xFF], .cborIndefiniteLength), ([0xFF], .cborType),
            ([0xC0, 0x00], .cborType), ([0xF9, 0, 0], .cborType), ([0xFB, 0, 0, 0, 0, 0, 0, 0, 0], .cborType),
            ([0xF7], .cborType), ([0xF8, 0x14], .cborType), ([0x1C], .cborType), ([0xA1, 0x40, 0x00], .cborType),
            ([0xA1, 0xF5, 0x00], .cborType), ([0x61, 0xFF], .cborText), ([0x63, 0xED, 0xA0, 0x80], .cborText),
            ([0x62, 0xC0, 0x80], .cborText), ([0xA2, 0x01, 0x00, 0x01, 0x00], .cborDuplicateKey),
            ([0xA2, 0x61, 0x61, 0x00, 0x61, 0x61, 0x01], .cborDuplicateKey), ([0x00, 0x00], .cborTrailingBytes),
            ([], .cborTruncated), ([0x18], .cborTruncated), ([0x41], .cborTruncated), ([0x81], .cborTruncated),
        ] as [([UInt8], PasskeyError)]
    )
    func `CTAP 2.1 §8: every other encoding is rejected`(bytes: [UInt8], error: PasskeyError) {
        #expect(throws: error) { try CBOR(bytes, keys: .any) }
    }

    @Test(
        arguments: [
            [0xA2, 0x02, 0x00, 0x01, 0x00], [0xA2, 0x20, 0x00, 0x00, 0x00], [0xA2, 0x18, 0x18, 0x00, 0x00, 0x00],
            [0xA2, 0x62, 0x61, 0x61, 0x00, 0x61, 0x62, 0x00],
        ] as [[UInt8]]
    )
    func `the order of keys counts for public keys only`(bytes: [UInt8]) throws {
        #expect(throws: PasskeyError.cborKeyOrder) { try CBOR(bytes, keys: .canonical) }
        _ = try CBOR(bytes, keys: .any)
    }

    @Test func `keys are sorted by type, then length, then bytes`() throws {
        let keys: [CBOR] = [
            .unsigned(1), .unsigned(24), .negative(0), .negative(30), .text("z"), .text("aa"), .text("ab"),
        ]
        _ = try CBOR(CBOR.map(keys.map { .init(key: $0, value: .null) }).encoded, keys: .canonical)
    }

    @Test(arguments: [UInt8(0x81), 0xA1])
    func `a depth bomb is rejected without recursion to its end`(head: UInt8) {
        let layer: [UInt8] = head == 0x81 ? [head] : [head, 0x00]
        let bomb = Array([[UInt8]](repeating: layer, count: 5000).joined()) + [0x00]
        #expect(throws: PasskeyError.cborTooDeep) { try CBOR(bomb, keys: .any) }
    }

    @Test func `four levels are allowed, five are not`() throws {
        _ = try CBOR([0x81, 0x81, 0x81, 0x81, 0x00], keys: .any)
        #expect(throws: PasskeyError.cborTooDeep) { try CBOR([0x81, 0x81, 0x81, 0x81, 0x80], keys: .any) }
    }

    @Test(arguments: [UInt8(0x5B), 0x7B, 0x9B, 0xBB], [UInt8(0x7F), 0xFF])
    func `a claimed length allocates nothing`(head: UInt8, first: UInt8) {
        let bomb = [head, first] + [UInt8](repeating: 0xFF, count: 7) + [0x00]
        #expect(throws: PasskeyError.cborTruncated) { try CBOR(bomb, keys: .any) }
    }

    @Test func `items and bytes are limited`() {
        #expect(throws: PasskeyError.cborTooManyItems) {
            try CBOR([0x99, 0x02, 0x00] + [UInt8](repeating: 0, count: 512), keys: .any)
        }
        #expect(throws: PasskeyError.cborTooLong) {
            try CBOR(CBOR.bytes([UInt8](repeating: 0, count: CBOR.maxBytes)).encoded, keys: .any)
        }
    }

    @Test func `what follows an item is returned`() throws {
        let (value, rest) = try CBOR.prefix(of: [0x01, 0x02, 0x03][...], keys: .any)
        #expect(value == .unsigned(1))
        #expect(Array(rest) == [2, 3])
    }
}
