// SPDX-License-Identifier: Apache-2.0

/// Base64 with the URL-safe alphabet and no padding, as RFC 7515 §2 uses it.
package enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    private static let values: [UInt8] = {
        var table = [UInt8](repeating: 0xFF, count: 256)
        for (value, character) in alphabet.enumerated() {
            table[Int(character)] = UInt8(value)
        }
        return table
    }()

    /// The text for some bytes.
    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        self.encode(Array(bytes))
    }

    /// The text for some bytes; for arrays, because other modules would call the generic function through witnesses, byte by byte.
    package static func encode(_ bytes: [UInt8]) -> String {
        let alphabet = self.alphabet
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count * 4 + 2) / 3)
        var pending: UInt32 = 0
        var bits: UInt32 = 0
        for byte in bytes {
            pending = (pending << 8 | UInt32(byte)) & 0xFFFF
            bits += 8
            while bits >= 6 {
                bits -= 6
                text.append(alphabet[Int(pending >> bits & 0x3F)])
            }
        }
        if bits > 0 {
            text.append(alphabet[Int(pending << (6 - bits) & 0x3F)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The bytes of a text, or nil unless it is the one canonical spelling: no padding, no white space, no stray bits.
    package static func decode(_ text: some Sequence<UInt8>) -> [UInt8]? {
        self.decode(Array(text))
    }

    /// The bytes of a text, as ``decode(_:)-(Sequence<UInt8>)`` reads them.
    package static func decode(_ text: String) -> [UInt8]? {
        self.decode(Array(text.utf8))
    }

    private static func decode(_ text: [UInt8]) -> [UInt8]? {
        let values = self.values
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count * 3 / 4)
        var pending: UInt32 = 0
        var bits: UInt32 = 0
        for character in text {
            let value = values[Int(character)]
            guard value != 0xFF else { return nil }
            pending = (pending << 6 | UInt32(value)) & 0xFFFF
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: pending >> bits))
            }
        }
        let remainder = pending & (1 << bits - 1)
        guard bits < 6, remainder == 0 else { return nil }
        return bytes
    }
}
