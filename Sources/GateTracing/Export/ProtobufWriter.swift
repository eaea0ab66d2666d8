// SPDX-License-Identifier: Apache-2.0

/// Writes the fields of a protocol buffer message.
///
/// The encoding of protobuf.dev, of which OTLP needs four kinds of fields.
struct ProtobufWriter {
    private(set) var bytes: [UInt8] = []

    /// An integer of a variable length.
    mutating func write(_ field: UInt64, varint value: UInt64) {
        self.tag(field, wireType: 0)
        self.varint(value)
    }

    /// Eight bytes, the lowest first.
    mutating func write(_ field: UInt64, fixed value: UInt64) {
        self.tag(field, wireType: 1)
        for shift in stride(from: UInt64(0), to: 64, by: 8) {
            self.bytes.append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }

    /// Four bytes, the lowest first.
    mutating func write(_ field: UInt64, fixed value: UInt32) {
        self.tag(field, wireType: 5)
        for shift in stride(from: UInt32(0), to: 32, by: 8) {
            self.bytes.append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }

    /// Bytes with their length.
    mutating func write(_ field: UInt64, bytes: some Collection<UInt8>) {
        self.tag(field, wireType: 2)
        self.varint(UInt64(bytes.count))
        self.bytes.append(contentsOf: bytes)
    }

    /// A message within the message.
    mutating func write(_ field: UInt64, _ body: (inout ProtobufWriter) -> Void) {
        var inner = ProtobufWriter()
        body(&inner)
        self.write(field, bytes: inner.bytes)
    }

    private mutating func tag(_ field: UInt64, wireType: UInt64) { self.varint(field << 3 | wireType) }

    private mutating func varint(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            self.bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        self.bytes.append(UInt8(truncatingIfNeeded: rest))
    }
}
