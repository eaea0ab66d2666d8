// SPDX-License-Identifier: Apache-2.0

/// The character classes of the standards, as bit sets that need no table in memory.
enum ByteClass {
    /// `[A-Za-z0-9-]`: the characters of field names that no app reads as another name.
    static func isPlainName(_ byte: UInt8) -> Bool {
        self.contains(byte, low: 0x03FF_2000_0000_0000, high: 0x07FF_FFFE_07FF_FFFE)
    }

    /// A token character of RFC 9110 §5.6.2.
    static func isToken(_ byte: UInt8) -> Bool {
        self.contains(byte, low: 0x03FF_6CFA_0000_0000, high: 0x57FF_FFFF_C7FF_FFFE)
    }

    /// A byte of a field value: HTAB, visible ASCII, space and obs-text.
    ///
    /// RFC 9110 §5.5.
    static func isValue(_ byte: UInt8) -> Bool {
        byte >= 0x20 ? byte != 0x7F : byte == 0x09
    }

    /// A byte of a request target: visible ASCII without ``"#<>\^`{|}``.
    ///
    /// RFC 3986 §2.
    static func isTarget(_ byte: UInt8) -> Bool {
        self.contains(byte, low: 0xAFFF_FFF2_0000_0000, high: 0x47FF_FFFE_AFFF_FFFF)
    }

    /// A byte of a request target outside ``isTarget(_:)`` that clients send unescaped; it is forwarded escaped.
    ///
    /// Browsers leave `` | { } ^ ` \ `` unescaped in queries, some in paths (WHATWG URL), and `curl` sends its argument
    /// unchanged: everything except control characters, space and `#`.
    static func isLenientTarget(_ byte: UInt8) -> Bool {
        byte >= 0x80 || self.contains(byte, low: 0x5000_0004_0000_0000, high: 0x3800_0001_5000_0000)
    }

    static func isDigit(_ byte: UInt8) -> Bool {
        byte >= 0x30 && byte <= 0x39
    }

    private static func contains(_ byte: UInt8, low: UInt64, high: UInt64) -> Bool {
        guard byte < 128 else { return false }
        return ((byte < 64 ? low : high) >> UInt64(byte & 63)) & 1 == 1
    }
}
