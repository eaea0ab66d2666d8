// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Reads the fields of one protobuf message in their order.
///
/// Nothing is copied, and nothing inside a field is read before it is asked for: a message of unknown fields costs one pass,
/// however deep it is. Groups, which no encoder has written for years, are rejected.
struct ProtobufReader {
    /// A field: its number, and its value by its wire type.
    struct Field {
        let number: UInt64
        let value: Value
    }

    enum Value {
        /// A varint.
        case number(UInt64)
        /// Length-delimited: text, bytes or a message.
        case bytes(ArraySlice<UInt8>)
        /// Eight or four bytes, which no message here has in a known field.
        case fixed
    }

    private var rest: ArraySlice<UInt8>

    /// Reads a message.
    init(_ message: ArraySlice<UInt8>) {
        self.rest = message
    }

    /// The next field; nil at the end.
    mutating func next() throws(Failure) -> Field? {
        guard !self.rest.isEmpty else { return nil }
        let tag = try self.varint()
        guard (1..<1 << 29).contains(tag >> 3) else { throw Self.failure("the number of a field is \(tag >> 3)") }
        return Field(number: tag >> 3, value: try self.value(ofType: tag & 7))
    }

    private mutating func value(ofType type: UInt64) throws(Failure) -> Value {
        switch type {
        case 0: return .number(try self.varint())
        case 1, 5:
            _ = try self.bytes(type == 1 ? 8 : 4)
            return .fixed
        case 2: return .bytes(try self.bytes(try self.varint()))
        default: throw Self.failure("a field has the wire type \(type)")
        }
    }

    private mutating func bytes(_ count: UInt64) throws(Failure) -> ArraySlice<UInt8> {
        guard count <= UInt64(self.rest.count) else { throw Self.failure("a field is longer than its message") }
        defer { self.rest = self.rest.dropFirst(Int(count)) }
        return self.rest.prefix(Int(count))
    }

    /// At most ten bytes, whose last has one bit.
    private mutating func varint() throws(Failure) -> UInt64 {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), through: 63, by: 7) {
            guard let byte = self.rest.popFirst() else { throw Self.failure("it ends within a number") }
            guard shift < 63 || byte <= 1 else { break }
            value |= UInt64(byte & 0x7F) << shift
            if byte & 0x80 == 0 { return value }
        }
        throw Self.failure("a number has more than 64 bits")
    }

    /// The failure of a message that is not what a proxy sends.
    static func failure(_ detail: String) -> Failure {
        Failure(.forwardAuthRequest, "the CheckRequest is malformed: \(detail)")
    }
}

extension ProtobufReader.Value {
    /// A message or bytes.
    func bytes(of field: String) throws(Failure) -> ArraySlice<UInt8> {
        guard case .bytes(let bytes) = self else { throw ProtobufReader.failure("\(field) has another wire type") }
        return bytes
    }

    /// Text, as UTF-8.
    func text(of field: String) throws(Failure) -> [UInt8] {
        let bytes = Array(try self.bytes(of: field))
        guard String(validating: bytes, as: UTF8.self) != nil else {
            throw ProtobufReader.failure("\(field) is not UTF-8")
        }
        return bytes
    }
}

extension Optional {
    /// Sets a value that a message has at most once.
    ///
    /// Of several, protobuf takes the last and merges messages; no encoder writes several, and readers that differ could be
    /// used against each other.
    mutating func setOnce(_ value: Wrapped, _ field: String) throws(Failure) {
        guard self == nil else { throw ProtobufReader.failure("\(field) is there twice") }
        self = value
    }
}
