// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// What the fields of a rejected request say about who sent it, as far as they can be read at all.
///
/// A user who looks at a browser gets a page, everything else JSON. Nothing else depends on it, so the fields are read
/// leniently here. Used for rejected requests only.
package struct BrowserHints: Sendable {
    private enum Sender {
        case unknown
        case navigation
        case script
    }

    /// How far a head is searched, in bytes.
    private static let reach = 64 * 1024

    private var mode = Sender.unknown
    private var isScript = false
    private var acceptsHTML = false

    /// No signs yet.
    init() {}

    /// The signs in the bytes of a head, which may be neither whole nor well-formed.
    package init(in bytes: ByteBuffer) {
        let span = bytes.readableBytesUInt8Span
        let end = min(span.count, BrowserHints.reach)
        var start = 0
        while start < end {
            var stop = start
            while stop < end, span[stop] != 0x0A { stop += 1 }
            self.note(line: span.extracting(start..<stop))
            start = stop + 1
        }
    }

    /// Whether a user waits for a page: as for any request, what the browser says of its mode decides first.
    package var wantsPage: Bool {
        switch self.mode {
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
            self.mode = BrowserHints.contains(value, "navigate") ? .navigation : .script
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

    /// Whether the text has the word, which is in lower case; letter case does not count.
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
