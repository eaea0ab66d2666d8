// SPDX-License-Identifier: Apache-2.0

internal import GateCore

// Decides which received texts may become part of a profile, and so of header lines, logs and pages.
extension PrintableText {
    /// Whether every character of the text is visible or a space; two ids must not look the same.
    static func isVisible(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { $0.isASCII || $0.properties.generalCategory != .format }
    }

    /// A name that a user has typed or pasted, without the marks that only set the direction of text, and with spaces for tabs.
    ///
    /// Not for what identifies a user: two texts that differ in such a mark only become the same. Overrides (U+202D, U+202E)
    /// show letters in another order than they are stored, so they stay, and the name is not printable.
    static func withoutMarks(_ text: String) -> String {
        var plain = ""
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x09: plain.unicodeScalars.append(" ")
            case 0x061C, 0x200E, 0x200F, 0x202A...0x202C, 0x2066...0x2069: continue
            default: plain.unicodeScalars.append(scalar)
            }
        }
        return plain
    }
}
