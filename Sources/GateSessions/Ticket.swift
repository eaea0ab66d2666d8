// SPDX-License-Identifier: Apache-2.0

internal import Crypto
package import GateCore

/// What a browser holds to show that it is signed in: 256 random bits that exist nowhere else.
///
/// The store knows only a hash of it, and the record there opens only with it, so a stolen database opens nothing.
package struct Ticket: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    /// The length of the text form.
    package static let textCount = 43

    let bytes: [UInt8]

    /// A fresh ticket.
    package init(from random: RandomBytes) {
        self.bytes = random.bytes(32)
    }

    /// Reads the text form, or nil unless it is exactly what ``text`` would give.
    package init?(_ text: some Collection<UInt8>) {
        guard text.count == Ticket.textCount, let bytes = Base64URL.decode(text) else { return nil }
        self.init(bytes: bytes)
    }

    init?(bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        self.bytes = bytes
    }

    /// The value of the cookie: 43 characters of base64url.
    package var text: String { Base64URL.encode(self.bytes) }

    /// The name of the record in the store, from which the ticket cannot be found again.
    package var storeKey: [UInt8] { digest("session/key", self.bytes) }

    /// The ticket's part in the key of the record; unrelated to ``storeKey``.
    var sealingPart: [UInt8] { digest("session/part", self.bytes) }

    /// A mark instead of the value.
    package var description: String { "<ticket>" }

    /// Hides the bytes from `dump` and test output as well.
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// SHA-256 of some bytes for one use, so that hashes of different uses never coincide.
func digest(_ use: String, _ bytes: some Sequence<UInt8>) -> [UInt8] {
    Array(SHA256.hash(data: Array("gatehouse/\(use)/".utf8) + Array(bytes)))
}
