// SPDX-License-Identifier: Apache-2.0

extension Span<UInt8> {
    /// Whether the bytes are the same.
    func isEqual(to other: Span<UInt8>) -> Bool {
        self.count == other.count && self.indices.allSatisfy { self[$0] == other[$0] }
    }

    /// Whether all bytes may stand in a token, and there is one.
    var isToken: Bool { !self.isEmpty && self.indices.allSatisfy { ByteClass.isToken(self[$0]) } }

    /// The bytes as text; what is no UTF-8 becomes U+FFFD.
    var text: String { String(decoding: self.indices.map { self[$0] }, as: UTF8.self) }
}
