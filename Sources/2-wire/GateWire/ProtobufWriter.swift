// SPDX-License-Identifier: Apache-2.0

/// Writes the fields of one protobuf message, in the encoding of https://protobuf.dev/programming-guides/encoding.
package struct ProtobufWriter {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    /// Adds a varint.
    package mutating func number(_ field: UInt64, _ value: UInt64) {
        self.tag(field, wireType: 0)
        self.varint(value)
    }

    /// Adds eight bytes, the lowest first.
    package mutating func fixed(_ field: UInt64, _ value: UInt64) {
        self.tag(field, wireType: 1)
        for shift in stride(from: UInt64(0), to: 64, by: 8) {
            self.bytes.append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }

    /// Adds four bytes, the lowest first.
    package mutating func fixed(_ field: UInt64, _ value: UInt32) {
        self.tag(field, wireType: 5)
        for shift in stride(from: UInt32(0), to: 32, by: 8) {
            self.bytes.append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }

    /// Adds text or bytes.
    package mutating func bytes(_ field: UInt64, _ value: some Collection<UInt8>) {
        self.tag(field, wireType: 2)
        self.varint(UInt64(value.count))
        self.bytes += value
    }

    /// Adds a message, also an empty one.
    package mutating func message(_ field: UInt64, _ fill: (inout ProtobufWriter) -> Void) {
        var inner = ProtobufWriter()
        fill(&inner)
        self.bytes(field, inner.bytes)
    }

    private mutating func tag(_ field: UInt64, wireType: UInt64) { self.varint(field << 3 | wireType) }

    private mutating func varint(_ value: UInt64) {
        var rest = value
        while rest > 0x7F {
            self.bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        self.bytes.append(UInt8(rest))
    }
}
