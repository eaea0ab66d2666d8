// SPDX-License-Identifier: Apache-2.0

/// The one rule for which received text may appear in logs, on pages, in header lines and on terminals.
///
/// Printable text stays on one line, cannot steer a terminal and shows in the order in which it is stored: it has no
/// control character of C0 or C1 (ISO/IEC 6429), no line or paragraph separator and no bidirectional control (Unicode
/// Standard Annex #9, §2).
package enum PrintableText {
    /// Whether a scalar may be shown as it is.
    package static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F...0x9F, 0x2028, 0x2029: false
        case 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x206F: false
        default: true
        }
    }

    /// Whether all of a text may be shown as it is.
    package static func isPrintable(_ text: some StringProtocol) -> Bool {
        text.unicodeScalars.allSatisfy { self.isPrintable($0) }
    }

    /// Whether a text has a character that can be seen: neither white space, nor a mark without a letter, nor one that is drawn
    /// as nothing.
    package static func isVisible(_ text: some StringProtocol) -> Bool {
        text.unicodeScalars.contains { scalar in
            let properties = scalar.properties
            guard !properties.isWhitespace, !properties.isDefaultIgnorableCodePoint else { return false }
            switch properties.generalCategory {
            case .control, .format, .surrogate, .privateUse, .unassigned, .nonspacingMark, .enclosingMark, .spacingMark,
                .spaceSeparator, .lineSeparator, .paragraphSeparator:
                return false
            // U+2800 is a braille pattern without dots, and U+1D159 a note head without ink.
            default: return scalar.value != 0x2800 && scalar.value != 0x1D159
            }
        }
    }

    /// The text if it is printable, not empty and at most `limit` bytes long; nil otherwise.
    package static func checked(_ text: String?, limit: Int = 1024) -> String? {
        guard let text, (1...limit).contains(text.utf8.count), self.isPrintable(text) else { return nil }
        return text
    }

    /// A text with everything that is not printable written as an escape, such as `\u{202E}`.
    ///
    /// - Parameters:
    ///   - text: Received text.
    ///   - limit: The number of scalars after which the text is cut and `...` added.
    /// - Returns: Printable text.
    package static func escaped(_ text: some StringProtocol, limit: Int = 500) -> String {
        // Most texts are plain.
        if text.utf8.count <= limit, text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return String(text) }
        var shown = ""
        for (position, scalar) in text.unicodeScalars.enumerated() {
            guard position < limit else { return shown + "..." }
            if self.isPrintable(scalar) {
                shown.unicodeScalars.append(scalar)
            } else {
                shown += scalar.escaped(asASCII: true)
            }
        }
        return shown
    }
}
