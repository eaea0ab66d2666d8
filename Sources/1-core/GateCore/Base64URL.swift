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

    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        self.encode(Array(bytes))
    }

    /// The text for some bytes; for arrays, because other modules would call the generic function through witnesses, byte by byte.
    package static func encode(_ bytes: [UInt8]) -> String {
        let alphabet = self.alphabet
        var text = [UInt8](repeating: 0, count: (bytes.count * 4 + 2) / 3)
        var (input, output) = (0, 0)
        while input + 3 <= bytes.count {
            let group = Int(bytes[input]) << 16 | Int(bytes[input + 1]) << 8 | Int(bytes[input + 2])
            text[output] = alphabet[group >> 18]
            text[output + 1] = alphabet[group >> 12 & 0x3F]
            text[output + 2] = alphabet[group >> 6 & 0x3F]
            text[output + 3] = alphabet[group & 0x3F]
            (input, output) = (input + 3, output + 4)
        }
        if input < bytes.count {
            let second = input + 1 < bytes.count ? Int(bytes[input + 1]) : nil
            let group = Int(bytes[input]) << 16 | (second ?? 0) << 8
            text[output] = alphabet[group >> 18]
            text[output + 1] = alphabet[group >> 12 & 0x3F]
            if second != nil { text[output + 2] = alphabet[group >> 6 & 0x3F] }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Base64 of the standard alphabet with padding, RFC 4648 §4.
    package static func padded(_ bytes: [UInt8]) -> String {
        let text = self.encode(bytes).replacing("-", with: "+").replacing("_", with: "/")
        return text + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
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
        guard text.count % 4 != 1 else { return nil }
        var bytes = [UInt8](repeating: 0, count: text.count * 3 / 4)
        // Every value has 6 bits; that of any other byte has 8.
        var seen: UInt8 = 0
        var (input, output) = (0, 0)
        while input + 4 <= text.count {
            let (first, second) = (values[Int(text[input])], values[Int(text[input + 1])])
            let (third, fourth) = (values[Int(text[input + 2])], values[Int(text[input + 3])])
            seen |= first | second | third | fourth
            bytes[output] = first << 2 | second >> 4
            bytes[output + 1] = second << 4 | third >> 2
            bytes[output + 2] = third << 6 | fourth
            (input, output) = (input + 4, output + 3)
        }
        if input < text.count {
            let (first, second) = (values[Int(text[input])], values[Int(text[input + 1])])
            let third = input + 2 < text.count ? values[Int(text[input + 2])] : nil
            seen |= first | second | (third ?? 0)
            bytes[output] = first << 2 | second >> 4
            if let third { bytes[output + 1] = second << 4 | third >> 2 }
            guard (third ?? second) & (third == nil ? 0x0F : 0x03) == 0 else { return nil }
        }
        return seen < 64 ? bytes : nil
    }
}
