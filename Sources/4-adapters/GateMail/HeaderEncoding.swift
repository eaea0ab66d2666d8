// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Writes header fields of messages as ASCII lines of at most 76 characters where their words permit it.
///
/// RFC 5322 §2.1.1 and §2.2.3; RFC 2047 §2, which permits 76 where there are encoded words.
enum HeaderEncoding {
    /// The preferred maximum length of a line without its CRLF.
    private static let maxLine = 76
    /// The maximum length of a word that is not encoded.
    private static let maxWord = 60
    /// The maximum number of bytes in an encoded word: with `=?utf-8?B?` and `?=` it has 64 characters, which fit beside the
    /// name of a field.
    private static let maxEncoded = 39

    /// A field with an unstructured value, such as the subject, and its CRLF.
    static func field(_ name: String, text: String) -> String {
        let words = self.isPlain(text) ? text.split(separator: " ").map(String.init) : self.encodedWords(text)
        return self.field(name, words: words)
    }

    /// A field with words that are written as they are, and its CRLF; lines are folded between words.
    static func field(_ name: String, words: [String]) -> String {
        var (lines, line) = ("", "\(name):")
        for word in words {
            if line.utf8.count + 1 + word.utf8.count > self.maxLine, line.utf8.count > name.utf8.count + 1 {
                lines += "\(line)\r\n"
                line = ""
            }
            line += " \(word)"
        }
        return "\(lines)\(line)\r\n"
    }

    /// The words of a display name: atoms, one quoted string, or encoded words.
    ///
    /// RFC 5322 §3.2.5.
    static func phrase(_ name: String) -> [String] {
        guard self.isPlain(name) else { return self.encodedWords(name) }
        let words = name.split(separator: " ").map(String.init)
        if words.allSatisfy({ $0.utf8.allSatisfy { self.isAtomText($0) } }) { return words }
        let quoted = name.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        return quoted.utf8.count <= self.maxWord ? ["\"\(quoted)\""] : self.encodedWords(name)
    }

    /// Whether a text reads the same after it was folded at its spaces and unfolded again.
    ///
    /// What looks like an encoded word has to be encoded, since clients would decode it.
    private static func isPlain(_ text: String) -> Bool {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        return text.utf8.allSatisfy { (0x20..<0x7F).contains($0) } && !text.contains("=?")
            && words.allSatisfy { (1...self.maxWord).contains($0.utf8.count) }
    }

    /// Words of base64, each with whole characters of UTF-8.
    ///
    /// RFC 2047 §2 and §5.
    private static func encodedWords(_ text: String) -> [String] {
        var (words, bytes): ([String], [UInt8]) = ([], [])
        for scalar in text.unicodeScalars {
            let encoded = Array(String(scalar).utf8)
            if bytes.count + encoded.count > self.maxEncoded {
                words.append("=?utf-8?B?\(Base64URL.padded(bytes))?=")
                bytes = []
            }
            bytes += encoded
        }
        return bytes.isEmpty ? words : words + ["=?utf-8?B?\(Base64URL.padded(bytes))?="]
    }

    /// RFC 5322 §3.2.3, `atext`.
    private static func isAtomText(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default:
            "!#$%&'*+-/=?^_`{|}~".utf8.contains(byte)
        }
    }
}
