// SPDX-License-Identifier: Apache-2.0

/// Writes the fields of one protobuf message.
struct ProtobufWriter {
    private(set) var bytes: [UInt8] = []

    /// Adds a number.
    mutating func number(_ field: UInt64, _ value: UInt64) {
        self.varint(field << 3)
        self.varint(value)
    }

    /// Adds text or bytes.
    mutating func bytes(_ field: UInt64, _ value: some Collection<UInt8>) {
        self.varint(field << 3 | 2)
        self.varint(UInt64(value.count))
        self.bytes += value
    }

    /// Adds a message, also an empty one.
    mutating func message(_ field: UInt64, _ fill: (inout ProtobufWriter) -> Void) {
        var inner = ProtobufWriter()
        fill(&inner)
        self.bytes(field, inner.bytes)
    }

    private mutating func varint(_ value: UInt64) {
        var rest = value
        while rest > 0x7F {
            self.bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        self.bytes.append(UInt8(rest))
    }
}
