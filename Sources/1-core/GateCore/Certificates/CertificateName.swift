// SPDX-License-Identifier: Apache-2.0

/// A distinguished name, such as that of the subject of a certificate.
///
/// RFC 4514.
package struct CertificateName: Sendable, Hashable {
    /// One attribute of a part, such as `CN=Ann`.
    struct Attribute: Sendable, Hashable {
        /// The type, in upper case.
        let type: String
        /// The value.
        let value: [UInt8]
        /// Whether the value is a BER encoding, which is written as `#` and hexadecimal digits.
        let isEncoded: Bool
    }

    /// The longest text that is read, in bytes.
    package static let maxLength = 2048

    /// The parts, the most specific first; empty for a subject that is in the alternative names only.
    let parts: [Set<Attribute>]

    /// Reads the text of a name: attributes separated by `,`, those of one part by `+`; nil if it is not one.
    ///
    /// Spaces around `,`, `+` and `=` do not count. Everything else of a value does, letter case included.
    package init?(_ text: String) {
        guard text.utf8.count <= CertificateName.maxLength else { return nil }
        guard !text.isEmpty else {
            self.parts = []
            return
        }
        var reader = Reader(text)
        var parts: [Set<Attribute>] = []
        var part: Set<Attribute> = []
        while true {
            guard let attribute = reader.attribute(), part.insert(attribute).inserted else { return nil }
            let separator = reader.next()
            if separator == UInt8(ascii: "+") { continue }
            parts.append(part)
            part = []
            guard separator != nil else { break }
            guard separator == UInt8(ascii: ",") else { return nil }
        }
        self.parts = parts
    }

    /// The name with the parts of a text before those of another one; nil if the text is not a name.
    package init?(parts text: String, above base: CertificateName) {
        guard let own = CertificateName(text) else { return nil }
        self.parts = own.parts + base.parts
    }

    /// The types of attributes that certificates are printed with.
    ///
    /// A name with another word, such as `E` or `organizationName`, would never be met.
    package static let types: Set<String> = [
        "BUSINESSCATEGORY", "C", "CN", "DC", "DESCRIPTION", "DNQUALIFIER", "EMAILADDRESS", "GENERATIONQUALIFIER", "GN",
        "INITIALS", "JURISDICTIONC", "JURISDICTIONL", "JURISDICTIONST", "L", "NAME", "O", "ORGANIZATIONIDENTIFIER",
        "OU",
        "POSTALCODE", "PSEUDONYM", "ROLE", "SERIALNUMBER", "SN", "ST", "STREET", "TITLE", "UID", "UNSTRUCTUREDADDRESS",
        "UNSTRUCTUREDNAME",
    ]

    /// The first type of the name that is not one of ``types``; nil without one.
    package var unknownType: String? {
        self.parts.flatMap { $0.map(\.type).sorted() }.first { !CertificateName.types.contains($0) }
    }

    /// Whether it is another name with at least one more part before it.
    package func isBelow(_ base: CertificateName) -> Bool {
        self.parts.count > base.parts.count && self.parts.suffix(base.parts.count).elementsEqual(base.parts)
    }

    package var isEmpty: Bool { self.parts.isEmpty }

    /// The name as text, in visible ASCII only; ``init(_:)`` reads it as the same name.
    package var text: String {
        self.parts.map { part in part.map(\.text).sorted().joined(separator: "+") }.joined(separator: ",")
    }
}

extension CertificateName.Attribute {
    fileprivate var text: String {
        guard !self.isEncoded else { return "\(self.type)=#\(self.value.map(CertificateName.hexadecimal).joined())" }
        let escaped = self.value.enumerated().map { index, byte -> String in
            let isAtEnd = index == 0 || index == self.value.count - 1
            let isSpecial = "\"+,;<>\\".utf8.contains(byte) || (isAtEnd && " #".utf8.contains(byte))
            guard (0x20..<0x7F).contains(byte) else { return "\\\(CertificateName.hexadecimal(byte))" }
            return "\(isSpecial ? "\\" : "")\(Character(Unicode.Scalar(byte)))"
        }
        return "\(self.type)=\(escaped.joined())"
    }
}

extension CertificateName {
    fileprivate static func hexadecimal(_ byte: UInt8) -> String {
        byte < 16 ? "0\(String(byte, radix: 16))" : String(byte, radix: 16)
    }
}

/// Reads the text of a name from its beginning.
private struct Reader {
    private static let space = UInt8(ascii: " ")
    /// What has a meaning of its own in a name, and is in a value only after a backslash.
    private static let special = Set("\"+,;<>".utf8)

    private let bytes: [UInt8]
    private var index = 0

    init(_ text: String) {
        self.bytes = Array(text.utf8)
    }

    /// Takes the next byte; nil at the end.
    mutating func next() -> UInt8? {
        guard self.index < self.bytes.count else { return nil }
        defer { self.index += 1 }
        return self.bytes[self.index]
    }

    private mutating func skipSpace() {
        while self.index < self.bytes.count, self.bytes[self.index] == Reader.space { self.index += 1 }
    }

    mutating func attribute() -> CertificateName.Attribute? {
        guard let type = self.type() else { return nil }
        self.skipSpace()
        guard self.index < self.bytes.count, self.bytes[self.index] == UInt8(ascii: "#") else {
            return self.value().map { .init(type: type, value: $0, isEncoded: false) }
        }
        self.index += 1
        return self.encodedValue().map { .init(type: type, value: $0, isEncoded: true) }
    }

    /// Takes `CN=`: a word, or the numbers of an object identifier.
    private mutating func type() -> String? {
        self.skipSpace()
        let start = self.index
        while self.index < self.bytes.count, Reader.isOfType(self.bytes[self.index]) { self.index += 1 }
        let name = self.bytes[start..<self.index]
        self.skipSpace()
        guard !name.isEmpty, self.next() == UInt8(ascii: "=") else { return nil }
        // `uid` is how uniqueIdentifier is printed, and `UID` userId.
        let text = String(decoding: name, as: UTF8.self)
        return isIdentical(text, "uid") ? "UNIQUEIDENTIFIER" : text.uppercased()
    }

    private static func isOfType(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF) || byte == UInt8(ascii: "-")
            || byte == UInt8(ascii: ".")
    }

    /// Takes a value up to the next separator, without the spaces around it.
    private mutating func value() -> [UInt8]? {
        var value: [UInt8] = []
        /// The length of the value without the spaces at its end; an escaped space counts.
        var length = 0
        while self.index < self.bytes.count {
            let byte = self.bytes[self.index]
            if byte == UInt8(ascii: ",") || byte == UInt8(ascii: "+") { break }
            self.index += 1
            if byte == UInt8(ascii: "\\") {
                guard let escaped = self.escaped() else { return nil }
                value.append(escaped)
                length = value.count
                continue
            }
            guard byte >= 0x20, byte != 0x7F, !Reader.special.contains(byte) else { return nil }
            value.append(byte)
            if byte != Reader.space { length = value.count }
        }
        return Array(value.prefix(length))
    }

    /// Takes what is after a backslash: two hexadecimal digits, or a character that has a meaning of its own.
    private mutating func escaped() -> UInt8? {
        guard let first = self.next() else { return nil }
        if let high = Reader.digit(first), let second = self.next().flatMap(Reader.digit) { return high << 4 | second }
        let isSpecial = Reader.special.contains(first) || "\\ #=".utf8.contains(first)
        return isSpecial ? first : nil
    }

    private mutating func encodedValue() -> [UInt8]? {
        var value: [UInt8] = []
        while self.index < self.bytes.count, let high = Reader.digit(self.bytes[self.index]) {
            self.index += 1
            guard let low = self.next().flatMap(Reader.digit) else { return nil }
            value.append(high << 4 | low)
        }
        self.skipSpace()
        return value.isEmpty ? nil : value
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46, 0x61...0x66: (byte & 0xDF) - 0x37
        default: nil
        }
    }
}
