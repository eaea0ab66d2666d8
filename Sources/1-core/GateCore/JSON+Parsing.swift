// SPDX-License-Identifier: Apache-2.0

extension JSON {
    /// Why a document was rejected.
    package enum ParseError: Error, Sendable, Equatable {
        /// Not JSON, at this byte.
        case syntax(offset: Int)
        /// Nested deeper than allowed.
        case tooDeep
        /// One object has the same name twice, so two readers could see two different documents.
        case duplicateName(String)
    }

    /// Reads one document; the caller bounds its size.
    ///
    /// RFC 8259, strictly: nothing before or after but white space.
    ///
    /// - Parameters:
    ///   - bytes: The document in UTF-8.
    ///   - depth: How deep arrays and objects may nest.
    /// - Throws: A `ParseError`.
    package init(parsing bytes: some Collection<UInt8>, depth: Int = 32) throws(ParseError) {
        var parser = JSONParser(bytes: Array(bytes), depth: depth)
        self = try parser.document()
    }
}

/// Reads JSON by recursive descent, never deeper than its limit.
private struct JSONParser {
    let bytes: [UInt8]
    let depth: Int
    var position = 0
    var level = 0

    init(bytes: [UInt8], depth: Int) {
        self.bytes = bytes
        self.depth = depth
    }

    mutating func document() throws(JSON.ParseError) -> JSON {
        let value = try self.value()
        self.skipSpace()
        guard self.position == self.bytes.count else { throw self.syntaxError }
        return value
    }

    private var syntaxError: JSON.ParseError { .syntax(offset: self.position) }
    private var next: UInt8? { self.position < self.bytes.count ? self.bytes[self.position] : nil }

    private mutating func skipSpace() {
        while let byte = self.next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 {
            self.position += 1
        }
    }

    private mutating func value() throws(JSON.ParseError) -> JSON {
        self.skipSpace()
        switch self.next {
        case UInt8(ascii: "{"): return try self.nested { (parser) throws(JSON.ParseError) in try parser.object() }
        case UInt8(ascii: "["): return try self.nested { (parser) throws(JSON.ParseError) in try parser.array() }
        case UInt8(ascii: "\""): return .string(try self.string())
        case UInt8(ascii: "t"): return try self.word("true", .bool(true))
        case UInt8(ascii: "f"): return try self.word("false", .bool(false))
        case UInt8(ascii: "n"): return try self.word("null", .null)
        default: return try self.number()
        }
    }

    private mutating func nested(
        _ body: (inout JSONParser) throws(JSON.ParseError) -> JSON
    ) throws(JSON.ParseError) -> JSON {
        guard self.level < self.depth else { throw .tooDeep }
        self.level += 1
        self.position += 1
        let value = try body(&self)
        self.level -= 1
        return value
    }

    private mutating func word(_ text: String, _ value: JSON) throws(JSON.ParseError) -> JSON {
        guard self.bytes[self.position...].starts(with: text.utf8) else { throw self.syntaxError }
        self.position += text.utf8.count
        return value
    }

    private mutating func array() throws(JSON.ParseError) -> JSON {
        var elements: [JSON] = []
        self.skipSpace()
        if self.take(UInt8(ascii: "]")) { return .array([]) }
        while true {
            elements.append(try self.value())
            self.skipSpace()
            if self.take(UInt8(ascii: "]")) { return .array(elements) }
            guard self.take(UInt8(ascii: ",")) else { throw self.syntaxError }
        }
    }

    private mutating func object() throws(JSON.ParseError) -> JSON {
        var members: [String: JSON] = [:]
        self.skipSpace()
        if self.take(UInt8(ascii: "}")) { return .object([:]) }
        while true {
            self.skipSpace()
            let start = self.position
            let name = try self.string()
            guard JSONParser.isName(name) else { throw .syntax(offset: start) }
            self.skipSpace()
            guard self.take(UInt8(ascii: ":")) else { throw self.syntaxError }
            let value = try self.value()
            guard members.updateValue(value, forKey: name) == nil else { throw .duplicateName(name) }
            self.skipSpace()
            if self.take(UInt8(ascii: "}")) { return .object(members) }
            guard self.take(UInt8(ascii: ",")) else { throw self.syntaxError }
        }
    }

    /// Whether a member may have this name.
    ///
    /// A table of strings brings each name that is not ASCII into a normal form, which takes quadratic time for many combining
    /// marks in a row; so such names are short.
    private static func isName(_ name: String) -> Bool {
        let bytes = name.utf8
        return bytes.count <= 64 || bytes.count <= 1024 && bytes.allSatisfy { $0 < 0x80 }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard self.next == byte else { return false }
        self.position += 1
        return true
    }

    /// `-? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?`, RFC 8259 §6; at most 64 characters.
    private mutating func number() throws(JSON.ParseError) -> JSON {
        let start = self.position
        _ = self.take(UInt8(ascii: "-"))
        if !self.take(UInt8(ascii: "0")) { try self.digits() }
        if self.take(UInt8(ascii: ".")) { try self.digits() }
        if self.take(UInt8(ascii: "e")) || self.take(UInt8(ascii: "E")) {
            if !self.take(UInt8(ascii: "+")) { _ = self.take(UInt8(ascii: "-")) }
            try self.digits()
        }
        guard self.position - start <= 64 else { throw self.syntaxError }
        return .number(String(decoding: self.bytes[start..<self.position], as: UTF8.self))
    }

    private mutating func digits() throws(JSON.ParseError) {
        let start = self.position
        while let byte = self.next, (0x30...0x39).contains(byte) {
            self.position += 1
        }
        guard self.position > start else { throw self.syntaxError }
    }

    private mutating func string() throws(JSON.ParseError) -> String {
        guard self.take(UInt8(ascii: "\"")) else { throw self.syntaxError }
        let start = self.position
        while let byte = self.next, byte >= 0x20, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
            self.position += 1
        }
        // Most texts end here, without an escape.
        var text = self.bytes[start..<self.position]
        while let byte = self.next {
            self.position += 1
            switch byte {
            case UInt8(ascii: "\""):
                guard let valid = String(validating: text, as: UTF8.self) else { throw self.syntaxError }
                return valid
            case UInt8(ascii: "\\"): try self.escape(into: &text)
            case 0..<0x20: throw self.syntaxError
            default: text.append(byte)
            }
        }
        throw self.syntaxError
    }

    private mutating func escape(into text: inout ArraySlice<UInt8>) throws(JSON.ParseError) {
        guard let byte = self.next else { throw self.syntaxError }
        self.position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): text += String(Character(try self.scalar())).utf8
        default: throw self.syntaxError
        }
    }

    private mutating func scalar() throws(JSON.ParseError) -> Unicode.Scalar {
        let first = try self.codeUnit()
        if (0xD800..<0xDC00).contains(first) {
            guard self.take(UInt8(ascii: "\\")), self.take(UInt8(ascii: "u")) else { throw self.syntaxError }
            let second = try self.codeUnit()
            guard (0xDC00..<0xE000).contains(second) else { throw self.syntaxError }
            let value = 0x10000 + (first - 0xD800) << 10 + (second - 0xDC00)
            guard let scalar = Unicode.Scalar(value) else { throw self.syntaxError }
            return scalar
        }
        guard let scalar = Unicode.Scalar(first) else { throw self.syntaxError }
        return scalar
    }

    private mutating func codeUnit() throws(JSON.ParseError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = self.next.flatMap(PercentEncoding.value) else { throw self.syntaxError }
            value = value << 4 | UInt32(digit)
            self.position += 1
        }
        return value
    }
}
