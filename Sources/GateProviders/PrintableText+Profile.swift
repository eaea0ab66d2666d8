// SPDX-License-Identifier: Apache-2.0

internal import GateCore

// Decides which received texts may become part of a profile, and so of header lines, logs and pages.
extension PrintableText {
    /// Whether every character of the text is visible or a space; two ids must not look the same.
    static func isVisible(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { $0.isASCII || $0.properties.generalCategory != .format }
    }

    /// The text if it is printable, not empty and at most `limit` bytes long; nil otherwise.
    static func checked(_ text: String?, limit: Int = 1024) -> String? {
        guard let text, (1...limit).contains(text.utf8.count), self.isPrintable(text) else { return nil }
        return text
    }
}
