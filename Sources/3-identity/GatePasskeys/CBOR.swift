// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// A value of the part of CBOR that WebAuthn uses.
///
/// RFC 8949, in the CTAP2 canonical form (CTAP 2.1 §8): definite lengths, shortest heads, no tags, unique keys. WebAuthn defines no
/// value with a floating-point number, so these are rejected as well.
enum CBOR: Sendable, Equatable {
    /// A number from 0 up.
    case unsigned(UInt64)
    /// The number `-1 - value`.
    case negative(UInt64)
    /// A byte string.
    case bytes([UInt8])
    /// A text, which was valid UTF-8.
    case text(String)
    case array([CBOR])
    /// Members in the order of the encoding; their keys are numbers or texts.
    case map([Member])
    /// `true` or `false`.
    case bool(Bool)
    case null

    /// One key of a map and its value.
    struct Member: Sendable, Equatable {
        let key: CBOR
        let value: CBOR
    }

    /// Whether the keys of maps have to be sorted.
    enum KeyOrder {
        /// As CTAP 2.1 §8 sorts them; WebAuthn §6.5.1 requires it of a public key, and all authenticators write it that way.
        case canonical
        /// Any order, for what browsers and password managers assemble: attestation objects, their statements, and extension
        /// outputs. Order carries no meaning there, and the signature covers the bytes as they are.
        case any
    }

    /// The largest encoding that is read, in bytes: an attestation object with a chain of certificates is about 5,000.
    static let maxBytes = 16_384
    /// How deep arrays and maps may nest, CTAP 2.1 §8.
    static let maxDepth = 4
    /// How many items one encoding may have, the keys of maps included.
    static let maxItems = 512

    /// Reads bytes that are exactly one item.
    ///
    /// - Throws: The rule that the bytes break.
    init(_ bytes: [UInt8], keys order: KeyOrder) throws(PasskeyError) {
        let (value, rest) = try CBOR.prefix(of: bytes[...], keys: order)
        guard rest.isEmpty else { throw .cborTrailingBytes }
        self = value
    }

    /// Reads one item from the start of some bytes, for formats that have more after it.
    ///
    /// - Returns: The item, and the bytes after it.
    /// - Throws: The rule that the bytes break.
    static func prefix(
        of bytes: ArraySlice<UInt8>,
        keys order: KeyOrder
    ) throws(PasskeyError) -> (value: CBOR, rest: ArraySlice<UInt8>) {
        guard bytes.count <= self.maxBytes else { throw .cborTooLong }
        var reader = CBORReader(rest: bytes, order: order)
        let value = try reader.item(depth: 0)
        return (value, reader.rest)
    }

    /// A number that fits 64 bits with its sign, or nil.
    var integer: Int64? {
        switch self {
        case .unsigned(let value): Int64(exactly: value)
        case .negative(let value): Int64(exactly: value).map { -1 - $0 }
        default: nil
        }
    }

    /// The bytes of a byte string, or nil.
    var byteString: [UInt8]? {
        guard case .bytes(let value) = self else { return nil }
        return value
    }

    /// The text, or nil.
    var string: String? {
        guard case .text(let value) = self else { return nil }
        return value
    }

    /// The elements of an array, or nil.
    var elements: [CBOR]? {
        guard case .array(let value) = self else { return nil }
        return value
    }

    /// The members of a map, or nil.
    var members: [Member]? {
        guard case .map(let value) = self else { return nil }
        return value
    }

    /// The value of a map under a number, or nil.
    subscript(number: Int64) -> CBOR? { self.members?.first { $0.key.integer == number }?.value }

    /// The value of a map under a text, or nil.
    subscript(name: String) -> CBOR? {
        self.members?.first { member in member.key.string.map { isIdentical($0, name) } ?? false }?.value
    }
}

/// Reads CBOR by recursive descent; it allocates for bytes that are there, never for a length that is only claimed.
private struct CBORReader {
    private(set) var rest: ArraySlice<UInt8>
    private let order: CBOR.KeyOrder
    private var items = 0

    init(rest: ArraySlice<UInt8>, order: CBOR.KeyOrder) {
        (self.rest, self.order) = (rest, order)
    }

    mutating func item(depth: Int) throws(PasskeyError) -> CBOR {
        self.items += 1
        guard self.items <= CBOR.maxItems else { throw .cborTooManyItems }
        let head = try self.number(bytes: 1)
        let (type, detail) = (head >> 5, head & 0x1F)
        switch type {
        case 0: return .unsigned(try self.argument(detail))
        case 1: return .negative(try self.argument(detail))
        case 2: return .bytes(Array(try self.take(try self.argument(detail))))
        case 3:
            let text = String(validating: try self.take(try self.argument(detail)), as: UTF8.self)
            guard let text else { throw .cborText }
            return .text(text)
        case 4: return .array(try self.array(count: try self.argument(detail), depth: depth + 1))
        case 5: return .map(try self.map(count: try self.argument(detail), depth: depth + 1))
        case 7 where detail == 20 || detail == 21: return .bool(detail == 21)
        case 7 where detail == 22: return .null
        default: throw .cborType
        }
    }

    private mutating func array(count: UInt64, depth: Int) throws(PasskeyError) -> [CBOR] {
        try self.check(count, depth)
        var elements: [CBOR] = []
        for _ in 0..<count { elements.append(try self.item(depth: depth)) }
        return elements
    }

    private mutating func map(count: UInt64, depth: Int) throws(PasskeyError) -> [CBOR.Member] {
        try self.check(count, depth)
        var members: [CBOR.Member] = []
        var seen: Set<ArraySlice<UInt8>> = []
        var last: ArraySlice<UInt8> = []
        for _ in 0..<count {
            let before = self.rest
            let key = try self.item(depth: depth)
            guard key.integer != nil || key.string != nil else { throw .cborType }
            let encoded = before[..<self.rest.startIndex]
            guard seen.insert(encoded).inserted else { throw .cborDuplicateKey }
            guard self.order == .any || CBORReader.areSorted(last, encoded) else { throw .cborKeyOrder }
            last = encoded
            members.append(CBOR.Member(key: key, value: try self.item(depth: depth)))
        }
        return members
    }

    /// Whether two encoded keys are sorted: by type, then the shorter one, then byte by byte.
    ///
    /// CTAP 2.1 §8.
    private static func areSorted(_ first: ArraySlice<UInt8>, _ second: ArraySlice<UInt8>) -> Bool {
        guard let left = first.first.map({ $0 >> 5 }), let right = second.first.map({ $0 >> 5 }) else { return true }
        guard left == right, first.count == second.count else { return (left, first.count) < (right, second.count) }
        return first.lexicographicallyPrecedes(second)
    }

    private func check(_ count: UInt64, _ depth: Int) throws(PasskeyError) {
        guard depth <= CBOR.maxDepth else { throw .cborTooDeep }
        // Each item has at least one byte.
        guard count <= UInt64(self.rest.count) else { throw .cborTruncated }
    }

    /// The number after the type, which has to be in its shortest form.
    private mutating func argument(_ detail: UInt64) throws(PasskeyError) -> UInt64 {
        switch detail {
        case 0..<24: return detail
        case 24: return try self.argument(bytes: 1, atLeast: 24)
        case 25: return try self.argument(bytes: 2, atLeast: 0x100)
        case 26: return try self.argument(bytes: 4, atLeast: 0x1_0000)
        case 27: return try self.argument(bytes: 8, atLeast: 0x1_0000_0000)
        case 31: throw .cborIndefiniteLength
        default: throw .cborType
        }
    }

    private mutating func argument(bytes count: UInt64, atLeast minimum: UInt64) throws(PasskeyError) -> UInt64 {
        let value = try self.number(bytes: count)
        guard value >= minimum else { throw .cborLongForm }
        return value
    }

    private mutating func number(bytes count: UInt64) throws(PasskeyError) -> UInt64 {
        try self.take(count).reduce(0) { $0 << 8 | UInt64($1) }
    }

    private mutating func take(_ count: UInt64) throws(PasskeyError) -> ArraySlice<UInt8> {
        guard count <= UInt64(self.rest.count) else { throw .cborTruncated }
        defer { self.rest = self.rest.dropFirst(Int(count)) }
        return self.rest.prefix(Int(count))
    }
}
