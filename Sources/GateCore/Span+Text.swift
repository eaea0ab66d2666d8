// SPDX-License-Identifier: Apache-2.0

extension Span<UInt8> {
    /// Whether the bytes begin with those of a text.
    package func starts(with text: String) -> Bool {
        guard self.count >= text.utf8.count else { return false }
        var position = 0
        for byte in text.utf8 {
            guard self[position] == byte else { return false }
            position += 1
        }
        return true
    }

    /// Whether the bytes are exactly those of a text.
    package func spells(_ text: String) -> Bool {
        self.count == text.utf8.count && self.starts(with: text)
    }
}
