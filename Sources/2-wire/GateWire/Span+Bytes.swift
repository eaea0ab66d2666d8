// SPDX-License-Identifier: Apache-2.0

extension Span<UInt8> {
    /// Whether both have the same bytes.
    func isEqual(to other: Span<UInt8>) -> Bool {
        self.count == other.count && self.indices.allSatisfy { self[$0] == other[$0] }
    }

    /// Whether the bytes are a token of RFC 9110 §5.6.2.
    var isToken: Bool { !self.isEmpty && self.indices.allSatisfy { ByteClass.isToken(self[$0]) } }

    /// The bytes as text; invalid UTF-8 becomes U+FFFD.
    var text: String { String(decoding: self.copied, as: UTF8.self) }

    /// A copy of the bytes.
    var copied: [UInt8] { self.indices.map { self[$0] } }

    /// The byte at a position, or nil outside.
    func first(_ position: Int) -> UInt8? {
        position < self.count ? self[position] : nil
    }
}
