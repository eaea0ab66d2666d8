// SPDX-License-Identifier: Apache-2.0

/// U+FEFF as UTF-8, which some editors write at the start of a file and which has no meaning.
///
/// RFC 3629 §6.
package enum ByteOrderMark {
    private static let bytes: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// The bytes of a file without the mark.
    package static func removed(from content: [UInt8]) -> [UInt8] {
        content.starts(with: self.bytes) ? Array(content.dropFirst(self.bytes.count)) : content
    }
}
