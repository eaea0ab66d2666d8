// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// The code that a user types on another device than the client's: eight consonants, such as `WDJB-MJHT`.
///
/// RFC 8628 §6.1: 20^8 of them, no words, and none that differ in a digit and a letter that look alike.
package struct UserCode: Sendable, Hashable {
    private static let alphabet = Array("BCDFGHJKLMNPQRSTVWXZ".utf8)
    private static let count = 8
    /// The longest text that is parsed, separators included.
    private static let maxText = 32

    private let letters: [UInt8]

    init(random: RandomBytes) {
        // Of 256 values of a byte, 240 give each letter equally often.
        var letters: [UInt8] = []
        while letters.count < UserCode.count {
            for byte in random.bytes(16) where byte < 240 && letters.count < UserCode.count {
                letters.append(UserCode.alphabet[Int(byte) % UserCode.alphabet.count])
            }
        }
        self.letters = letters
    }

    /// Parses what a user has typed; nil for what cannot be a code.
    ///
    /// Letter case, spaces and punctuation do not matter.
    package init?(_ text: String) {
        guard text.utf8.count <= UserCode.maxText else { return nil }
        let letters = text.utf8.filter {
            ($0 | 0x20) >= 0x61 && ($0 | 0x20) <= 0x7A || $0 >= 0x30 && $0 <= 0x39 || $0 >= 0x80
        }
        .map { $0 >= 0x61 && $0 <= 0x7A ? $0 - 0x20 : $0 }
        guard letters.count == UserCode.count, letters.allSatisfy(UserCode.alphabet.contains) else { return nil }
        self.letters = letters
    }

    /// The code as users see it.
    package var text: String {
        String(decoding: self.letters.prefix(4) + [UInt8(ascii: "-")] + self.letters.suffix(4), as: UTF8.self)
    }

    var bytes: [UInt8] { self.letters }
}
