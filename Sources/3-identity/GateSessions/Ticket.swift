// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import GateCore

/// The value of the session cookie: 256 random bits and a tag, or a whole session where no store keeps it.
///
/// The store has only a hash of it, and the record opens only with the ticket, so a stolen database opens nothing. The
/// tag is a message authentication code: a forged ticket is rejected without a look-up in the store.
package struct Ticket: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    /// The length of the text form: 42 bytes of base64url.
    package static let textCount = 56
    /// The bytes of a tag.
    static let tagCount = 10
    private static let byteCount = 32

    let bytes: [UInt8]
    /// Empty for a whole session.
    let tag: [UInt8]
    /// The session itself where no store keeps it.
    let whole: WholeSession?

    /// A ticket of 32 bytes with its tag.
    init(bytes: [UInt8], tag: [UInt8]) {
        self.bytes = bytes
        self.tag = tag
        self.whole = nil
    }

    init(_ session: WholeSession) {
        self.bytes = Ticket.key(ofText: Base64URL.encode(session.sealed).utf8)
        self.tag = []
        self.whole = session
    }

    /// Parses the text form; nil unless it is exactly what ``text`` returns.
    ///
    /// ``SessionManager/ticket(_:host:)`` checks the tag.
    package init?(_ text: some Collection<UInt8>) {
        guard text.count == Ticket.textCount else { return nil }
        guard let bytes = Base64URL.decode(text) else { return nil }
        self.init(bytes: Array(bytes.prefix(Ticket.byteCount)), tag: Array(bytes.dropFirst(Ticket.byteCount)))
    }

    /// The value of the cookie.
    package var text: String { Base64URL.encode(self.whole?.sealed ?? self.bytes + self.tag) }

    package var isWholeSession: Bool { self.whole != nil }

    /// A hash of the value of a cookie that is a whole session, 32 bytes: the key for caches.
    package static func key(ofText text: some Sequence<UInt8>) -> [UInt8] { digest("session/cookie", text) }

    /// ``key(ofText:)`` of the value; nil where a store keeps the session.
    package var keyOfText: [UInt8]? { self.whole.map { _ in self.bytes } }

    /// The key of the record in the store, from which the ticket cannot be derived.
    package var storeKey: [UInt8] { digest("session/key", self.bytes) }

    /// The ticket's part in the key of the record; unrelated to ``storeKey``.
    var sealingPart: [UInt8] { digest("session/part", self.bytes) }

    /// The bytes of the ticket of the same browser on another host; always the same, so that repeated transfers give
    /// one session.
    func bytes(for host: String) -> [UInt8] { digest("session/transfer", Array("\(host)/".utf8) + self.bytes) }

    /// A placeholder instead of the value.
    package var description: String { "<ticket>" }

    /// Hides the bytes from `dump` and test output as well.
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// A session that no store keeps, as its cookie has it.
struct WholeSession: Sendable, Hashable {
    let sealed: [UInt8]
    /// The host that it is sealed for.
    let host: String
}

/// SHA-256 of bytes for one use, so that hashes of different uses never coincide.
func digest(_ use: String, _ bytes: some Sequence<UInt8>) -> [UInt8] {
    Array(SHA256.hash(data: Array("gatehouse/\(use)/".utf8) + Array(bytes)))
}
