// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// The text of a session cookie, in a form that can be compared and hashed without allocating.
package struct CookieKey: Sendable, Hashable {
    /// What is compared: the characters, or the hash.
    package let words: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64)

    /// Reads the 56 characters of a ticket; nil for any other length.
    package init?(_ text: Span<UInt8>) {
        guard text.count == Ticket.textCount else { return nil }
        func word(_ start: Int) -> UInt64 { text.word(at: start) }
        self.words = (word(0), word(8), word(16), word(24), word(32), word(40), word(48))
    }

    /// The key of a cookie that is a whole session: the hash of its value, 32 bytes.
    package init(hash: [UInt8]) {
        func word(_ start: Int) -> UInt64 { hash[start..<(start + 8)].reduce(0) { $0 << 8 | UInt64($1) } }
        self.words = (word(0), word(8), word(16), word(24), 0, 0, 0)
    }

    /// The key of the cookie with a ticket; nil if it has another length than tickets have.
    package init?(_ ticket: Ticket) {
        if let hash = ticket.keyOfText {
            self.init(hash: hash)
        } else {
            self.init(Array(ticket.text.utf8).span)
        }
    }

    /// Whether all characters are equal.
    package static func == (left: CookieKey, right: CookieKey) -> Bool {
        let (left, right) = (left.words, right.words)
        return left.0 == right.0 && left.1 == right.1 && left.2 == right.2 && left.3 == right.3 && left.4 == right.4
            && left.5 == right.5 && left.6 == right.6
    }

    /// Hashes 24 of the characters: they are random, and only tickets of sessions become keys of a table.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(self.words.0)
        hasher.combine(self.words.1)
        hasher.combine(self.words.2)
    }
}

/// Finds the session cookie in the `Cookie` field of a request, for the hot path: a ticket, or a whole session.
package struct SessionCookieScan: Sendable {
    private let ticket: CookieScan
    private let whole: SplitCookie?

    /// Finds the cookie of a name.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - isWhole: Whether it is a whole session, which may be in pieces.
    package init(name: String, isWhole: Bool) {
        self.ticket = CookieScan(wanted: name)
        self.whole = isWhole ? SplitCookie(name: name) : nil
    }

    /// The cookie as a key for caches; nil if the cookie is absent or malformed.
    package func key(in field: Span<UInt8>) -> CookieKey? {
        if let whole { return whole.value(in: field).map { CookieKey(hash: Ticket.key(ofText: $0)) } }
        guard case .value(let range) = self.ticket.find(in: field) else { return nil }
        return CookieKey(field.extracting(range))
    }

    /// The value of the cookie; nil if the cookie is absent or repeated.
    package func value(in field: Span<UInt8>) -> [UInt8]? {
        if let whole { return whole.value(in: field) }
        guard case .value(let range) = self.ticket.find(in: field) else { return nil }
        return range.map { field[$0] }
    }
}
