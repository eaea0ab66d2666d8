// SPDX-License-Identifier: Apache-2.0

/// Decides which received texts may become part of a profile, and so of header lines, logs and pages.
enum PlainText {
    /// Whether the text has no control character, no line separator and nothing that reorders what is shown.
    static func isPlain(_ text: some StringProtocol) -> Bool {
        text.unicodeScalars.allSatisfy { scalar in
            switch scalar.value {
            case 0..<0x20, 0x7F...0x9F, 0x2028, 0x2029: false
            case 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: false
            default: true
            }
        }
    }

    /// Whether every character of the text can be seen, or stands for a space; two ids must not look the same.
    static func isVisible(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .format }
    }

    /// The text if it is plain, not empty and at most `limit` bytes long; nil otherwise.
    static func checked(_ text: String?, limit: Int = 1024) -> String? {
        guard let text, (1...limit).contains(text.utf8.count), self.isPlain(text) else { return nil }
        return text
    }
}
