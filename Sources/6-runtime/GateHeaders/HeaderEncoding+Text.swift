// SPDX-License-Identifier: Apache-2.0

internal import GateConfiguration
internal import GateCore

// How texts become the bytes of field values: whatever a provider sends, no value ends a line.
extension HeaderEncoding {
    /// A value in this encoding; nil if the encoding cannot hold it, so that no app takes one user for another.
    ///
    /// - Parameters:
    ///   - text: The value.
    ///   - isName: Whether the value is a name that is only shown, so that characters may be left out.
    /// - Returns: Bytes of a field value without spaces at its ends, at least one; or nil.
    func bytes(of text: String, isName: Bool = false) -> [UInt8]? {
        let bytes =
            switch self {
            case .percent: Array(text.fieldText().utf8)
            case .plain: HeaderEncoding.latin1(text, isName: isName)
            case .base64url: Array(Base64URL.encode(Array(text.utf8)).utf8)
            case .quotedPrintable: HeaderEncoding.escaped(text, by: UInt8(ascii: "="))
            case .rfc2047: HeaderEncoding.encodedWords(text)
            case .rfc8187: Array("UTF-8''".utf8) + HeaderEncoding.extended(text)
            }
        guard let bytes, !text.isEmpty, !bytes.isEmpty else { return nil }
        return bytes
    }

    /// A list in this encoding.
    ///
    /// Where an app has to decode the whole list before it splits it, a group with the separator in its name is left out: it
    /// would be two.
    ///
    /// - Parameters:
    ///   - list: The values.
    ///   - separator: One ASCII character.
    /// - Returns: Bytes of a field value; nil if no value is left.
    func bytes(of list: [String], separatedBy separator: String) -> [UInt8]? {
        let between = Array(separator.utf8)
        // By bytes: a comma before a combining character is part of another Character, and still a comma to the app.
        let whole = list.filter { value in !value.utf8.contains { between.contains($0) } }
        switch self {
        case .percent:
            let values = list.map { Array($0.fieldText(alsoEscaping: separator.unicodeScalars.first).utf8) }
            return HeaderEncoding.joined(values, between)
        case .base64url:
            return HeaderEncoding.joined(list.compactMap { self.bytes(of: $0) }, between)
        case .plain:
            let values = whole.compactMap { self.bytes(of: $0) }
            return HeaderEncoding.joined(values, between)
        case .quotedPrintable, .rfc2047, .rfc8187:
            return self.bytes(of: whole.joined(separator: separator))
        }
    }

    private static func joined(_ values: [[UInt8]], _ separator: [UInt8]) -> [UInt8]? {
        let kept = values.filter { !$0.isEmpty }
        return kept.isEmpty ? nil : Array(kept.joined(separator: separator))
    }

    /// Latin-1; a name loses what is missing there, any other value is not sent.
    private static func latin1(_ text: String, isName: Bool) -> [UInt8]? {
        var bytes: [UInt8] = []
        for scalar in text.unicodeScalars {
            if scalar.value <= 0xFF, PrintableText.isPrintable(scalar) {
                bytes.append(UInt8(truncatingIfNeeded: scalar.value))
            } else if !isName {
                return nil
            }
        }
        let space = UInt8(ascii: " ")
        guard bytes.first == space || bytes.last == space else { return bytes }
        guard isName, let first = bytes.firstIndex(where: { $0 != space }) else { return nil }
        return Array(bytes[first...].reversed().drop { $0 == space }.reversed())
    }

    /// Visible ASCII and inner spaces as they are; all else, and the mark itself, as the mark and two digits.
    private static func escaped(_ text: String, by mark: UInt8) -> [UInt8] {
        let bytes = Array(text.utf8)
        var escaped: [UInt8] = []
        for (index, byte) in bytes.enumerated() {
            let isInnerSpace = byte == 0x20 && index > 0 && index < bytes.count - 1
            if isInnerSpace || (0x21...0x7E).contains(byte) && byte != mark {
                escaped.append(byte)
            } else {
                escaped += [mark, self.digit(byte >> 4), self.digit(byte & 0x0F)]
            }
        }
        return escaped
    }

    /// The characters that RFC 8187 §3.2.1 names `attr-char`, and percent-encoded UTF-8.
    private static func extended(_ text: String) -> [UInt8] {
        text.utf8.flatMap { byte -> [UInt8] in
            let isPlain =
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF)
                || "!#$&+-.^_`|~".utf8.contains(byte)
            return isPlain ? [byte] : [UInt8(ascii: "%"), self.digit(byte >> 4), self.digit(byte & 0x0F)]
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x37 + value }

    /// Plain ASCII as it is, all else as words of at most 75 characters, which begin and end between characters.
    ///
    /// RFC 2047 §2 and §5 (3).
    private static func encodedWords(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        let isPlain = bytes.allSatisfy { (0x20...0x7E).contains($0) } && !text.contains("=?")
        guard !isPlain || bytes.first == 0x20 || bytes.last == 0x20 else { return bytes }
        var words: [String] = []
        var word: [UInt8] = []
        for scalar in text.unicodeScalars {
            let next = Array(String(scalar).utf8)
            if word.count + next.count > 45 {
                words.append("=?UTF-8?B?\(Base64URL.padded(word))?=")
                word = []
            }
            word += next
        }
        if !word.isEmpty { words.append("=?UTF-8?B?\(Base64URL.padded(word))?=") }
        return Array(words.joined(separator: " ").utf8)
    }
}

extension String {
    /// The text in a field value: visible ASCII as it is, all else and `%` as percent-encoded UTF-8, so that nothing a
    /// provider sends can end a line and every name can be read back.
    func fieldText(alsoEscaping more: Unicode.Scalar? = nil) -> String {
        var encoded = ""
        let bytes = Array(self.utf8)
        for (index, byte) in bytes.enumerated() {
            let isInnerSpace = byte == 0x20 && index > 0 && index < bytes.count - 1
            let isPlain = (0x21...0x7E).contains(byte) && byte != UInt8(ascii: "%")
            if isInnerSpace || isPlain, UInt32(byte) != more?.value {
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                encoded += byte < 16 ? "%0" : "%"
                encoded += String(byte, radix: 16, uppercase: true)
            }
        }
        return encoded
    }
}
