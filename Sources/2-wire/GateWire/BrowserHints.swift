// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// Whether the fields of a rejected request look like those of a browser navigation.
///
/// A browser navigation gets an error page, every other client JSON. Nothing else depends on it, so the fields are
/// parsed leniently. Used for rejected requests only.
package struct BrowserHints: Sendable {
    private enum Client {
        case unknown
        case navigation
        case script
    }

    /// The number of bytes of a head that are searched.
    private static let maxBytes = 64 * 1024

    private var client = Client.unknown
    private var isScript = false
    private var acceptsHTML = false

    /// No hints yet.
    init() {}

    /// The hints in the bytes of a head, which may be incomplete or malformed.
    package init(in bytes: ByteBuffer) {
        let span = bytes.readableBytesUInt8Span
        let end = min(span.count, BrowserHints.maxBytes)
        var start = 0
        while start < end {
            var stop = start
            while stop < end, span[stop] != 0x0A { stop += 1 }
            self.note(line: span.extracting(start..<stop))
            start = stop + 1
        }
    }

    /// Whether the response is an error page; `Sec-Fetch-Mode` decides if it is present, as for every other request.
    package var wantsPage: Bool {
        switch self.client {
        case .navigation: true
        case .script: false
        case .unknown: self.acceptsHTML && !self.isScript
        }
    }

    /// Takes a field into account.
    mutating func note(name: Span<UInt8>, value: Span<UInt8>) {
        if BrowserHints.spells(name, "accept") {
            self.acceptsHTML = self.acceptsHTML || BrowserHints.contains(value, "text/html")
        } else if BrowserHints.spells(name, "sec-fetch-mode") {
            self.client = BrowserHints.contains(value, "navigate") ? .navigation : .script
        } else if BrowserHints.spells(name, "x-requested-with") {
            self.isScript = BrowserHints.contains(value, "xmlhttprequest")
        }
    }

    private mutating func note(line: Span<UInt8>) {
        var colon = 0
        while colon < line.count, line[colon] != UInt8(ascii: ":") { colon += 1 }
        guard colon < line.count else { return }
        self.note(name: line.extracting(..<colon), value: line.extracting((colon + 1)...))
    }

    private static func spells(_ text: Span<UInt8>, _ word: String) -> Bool {
        text.count == word.utf8.count && self.contains(text, word)
    }

    /// Whether the text contains the word, which is in lower case; letter case is ignored.
    private static func contains(_ text: Span<UInt8>, _ word: String) -> Bool {
        let wanted = Array(word.utf8)
        guard text.count >= wanted.count else { return false }
        for start in 0...(text.count - wanted.count) {
            var position = 0
            while position < wanted.count, self.lower(text[start + position]) == wanted[position] { position += 1 }
            if position == wanted.count { return true }
        }
        return false
    }

    private static func lower(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte + 0x20 : byte
    }
}
