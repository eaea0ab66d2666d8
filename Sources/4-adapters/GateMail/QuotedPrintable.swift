// SPDX-License-Identifier: Apache-2.0

/// Encodes a text as ASCII lines of at most 76 characters, from which it comes back byte for byte.
///
/// RFC 2045 §6.7.
enum QuotedPrintable {
    private static let maxLine = 76
    private static let digits = Array("0123456789ABCDEF".utf8)

    /// The lines of a text, each with CRLF; the text's own line ends are LF.
    static func encode(_ text: String) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(text.utf8.count * 5 / 4)
        for line in text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast() {
            self.append(Array(line), to: &output)
            output += "\r\n".utf8
        }
        return output
    }

    private static func append(_ line: [UInt8], to output: inout [UInt8]) {
        var length = 0
        for (position, byte) in line.enumerated() {
            let isLast = position == line.count - 1
            let encoded = self.encoded(byte, isFirst: length == 0, isLast: isLast)
            // The last one of a line needs no space for the `=` of a soft line break.
            if length + encoded.count > self.maxLine - (isLast ? 0 : 1) {
                output += "=\r\n".utf8
                length = 0
            }
            output += encoded
            length += encoded.count
        }
    }

    /// A byte, or its escape.
    ///
    /// A space at the end of a line would get lost, and an `F` at its start could become part of `From `, which some
    /// servers change.
    private static func encoded(_ byte: UInt8, isFirst: Bool, isLast: Bool) -> [UInt8] {
        let isWhitespace = byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
        let isPrintable = (0x21..<0x7F).contains(byte) && byte != UInt8(ascii: "=")
        guard isPrintable && !(isFirst && byte == UInt8(ascii: "F")) || isWhitespace && !isLast else {
            return [UInt8(ascii: "="), self.digits[Int(byte >> 4)], self.digits[Int(byte & 0xF)]]
        }
        return [byte]
    }
}
