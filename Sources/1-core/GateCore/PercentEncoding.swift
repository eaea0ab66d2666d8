// SPDX-License-Identifier: Apache-2.0

/// Percent-encoding of RFC 3986 §2.1, and the form encoding of the URL standard that OAuth uses.
package enum PercentEncoding {
    /// Encodes everything but the unreserved characters of RFC 3986 §2.3.
    package static func encode(_ text: some Sequence<UInt8>) -> String {
        self.encode(Array(text))
    }

    private static func encode(_ text: [UInt8]) -> String {
        var encoded: [UInt8] = []
        encoded.reserveCapacity(text.count + 16)
        for byte in text {
            if self.isUnreserved(byte) { encoded.append(byte) } else { self.append(byte, to: &encoded) }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// Appends the escape of a byte, with capital digits.
    package static func append(_ byte: UInt8, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "%"))
        output.append(self.digits[Int(byte >> 4)])
        output.append(self.digits[Int(byte & 0x0F)])
    }

    /// The byte whose escape is at a position; nil if absent.
    package static func escaped(at position: Int, in text: [UInt8]) -> UInt8? {
        guard text[position] == UInt8(ascii: "%"), position + 2 < text.count else { return nil }
        guard let high = self.value(of: text[position + 1]), let low = self.value(of: text[position + 2]) else {
            return nil
        }
        return high << 4 | low
    }

    /// Whether the text has an escape.
    package static func isEscaped(_ text: [UInt8]) -> Bool {
        text.indices.contains { self.escaped(at: $0, in: text) != nil }
    }

    /// Encodes everything but the unreserved characters of RFC 3986 §2.3.
    package static func encode(_ text: String) -> String {
        self.encode(Array(text.utf8))
    }

    /// Decodes each `%XX` once, or nil if one is malformed.
    package static func decode(_ text: some Collection<UInt8>, plusIsSpace: Bool = false) -> [UInt8]? {
        self.decode(Array(text), plusIsSpace: plusIsSpace)
    }

    private static func decode(_ text: [UInt8], plusIsSpace: Bool) -> [UInt8]? {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(text.count)
        var rest = text.makeIterator()
        while let byte = rest.next() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = rest.next().flatMap(self.value), let low = rest.next().flatMap(self.value) else {
                    return nil
                }
                decoded.append(high << 4 | low)
            case UInt8(ascii: "+") where plusIsSpace:
                decoded.append(UInt8(ascii: " "))
            default:
                decoded.append(byte)
            }
        }
        return decoded
    }

    /// The value of one hexadecimal digit of either case.
    package static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// Whether the byte is one of `ALPHA DIGIT - . _ ~`, RFC 3986 §2.3.
    package static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }

    private static let digits = Array("0123456789ABCDEF".utf8)
}

/// Name and value pairs as `application/x-www-form-urlencoded` carries them, in order, repeats kept.
package struct Form: Sendable, Equatable {
    /// One pair.
    package struct Field: Sendable, Hashable {
        /// The decoded name.
        package let name: String
        /// The decoded value.
        package let value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// What a lookup of a parameter that may occur once can find.
    package enum Single: Sendable, Equatable {
        /// The parameter does not occur.
        case absent
        /// It occurs once, with this value.
        case value(String)
        /// It occurs more than once, which RFC 6749 §3.1 forbids.
        case repeated
    }

    /// The pairs in order.
    package private(set) var fields: [Field]

    /// A form of these pairs.
    package init(_ fields: [Field] = []) {
        self.fields = fields
    }

    /// Reads an encoded query or body; nil when it has a bad escape, text that is not UTF-8, a long name, or over `limit` pairs.
    package init?(encoded: some StringProtocol, limit: Int = 64) {
        var fields: [Field] = []
        for pair in Array(encoded.utf8).split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: true) {
            guard fields.count < limit else { return nil }
            let sides = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Form.decode(sides[0]), let value = sides.count > 1 ? Form.decode(sides[1]) : "" else {
                return nil
            }
            // Comparing names that are not ASCII takes quadratic time for many combining marks in a row.
            guard name.utf8.count <= 64 || name.utf8.count <= 1024 && name.utf8.allSatisfy({ $0 < 0x80 }) else {
                return nil
            }
            fields.append(Field(name, value))
        }
        self.fields = fields
    }

    /// The encoded pairs.
    package var encoded: String {
        self.fields.map { "\(PercentEncoding.encode($0.name))=\(PercentEncoding.encode($0.value))" }
            .joined(separator: "&")
    }

    /// Adds a pair at the end.
    package mutating func append(_ name: String, _ value: String) {
        self.fields.append(Field(name, value))
    }

    /// The one value of a parameter that must not repeat.
    package func single(_ name: String) -> Single {
        let found = self.fields.filter { $0.name == name }
        guard let first = found.first else { return .absent }
        return found.count == 1 ? .value(first.value) : .repeated
    }

    /// The value of a parameter, or nil if it is absent or repeated.
    package subscript(name: String) -> String? {
        guard case .value(let value) = self.single(name) else { return nil }
        return value
    }

    private static func decode(_ text: ArraySlice<UInt8>) -> String? {
        PercentEncoding.decode(text, plusIsSpace: true).flatMap { String(validating: $0, as: UTF8.self) }
    }
}
