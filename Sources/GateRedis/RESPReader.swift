// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// Reads RESP3 values from the bytes of a connection, however they are divided.
///
/// The types of values and their first bytes: the RESP specification of Redis. Streamed values and attributes are
/// rejected: the commands that are used have neither.
struct RESPReader {
    /// The maximum size of one value, in bytes; a session record has less than 10 KiB.
    static let maxBytes = 1 << 20
    /// The maximum number of values in one value.
    static let maxValues = 10_000
    /// The maximum depth of lists in lists.
    static let maxDepth = 4

    private var buffer = ByteBuffer()

    /// Adds what was received.
    mutating func append(_ bytes: ByteBuffer) {
        self.buffer.discardReadBytes()
        self.buffer.writeImmutableBuffer(bytes)
    }

    /// The next value; nil if more bytes are needed.
    mutating func next() throws(RESPViolation) -> RESPValue? {
        var scan = Scan(bytes: self.buffer.readableBytesView)
        guard let value = try scan.value(depth: 0) else {
            guard self.buffer.readableBytes <= Self.maxBytes else { throw RESPViolation(reason: "a reply is too long") }
            return nil
        }
        self.buffer.moveReaderIndex(to: scan.index)
        return value
    }

    /// One pass over the bytes; every function returns nil if more bytes are needed.
    private struct Scan {
        let bytes: ByteBufferView
        var index: Int
        private var values = 0

        init(bytes: ByteBufferView) {
            self.bytes = bytes
            self.index = bytes.startIndex
        }

        mutating func value(depth: Int) throws(RESPViolation) -> RESPValue? {
            self.values += 1
            guard self.values <= RESPReader.maxValues else {
                throw RESPViolation(reason: "a reply has too many values")
            }
            guard let line = try self.line(), let kind = line.first else { return nil }
            let rest = line.dropFirst()
            switch kind {
            case UInt8(ascii: "+"), UInt8(ascii: ","), UInt8(ascii: "("): return .text(Array(rest))
            case UInt8(ascii: "-"): return .error(String(decoding: rest, as: UTF8.self))
            case UInt8(ascii: ":"): return .integer(try self.number(rest))
            case UInt8(ascii: "#"): return .integer(rest.first == UInt8(ascii: "t") ? 1 : 0)
            case UInt8(ascii: "_"): return .null
            case UInt8(ascii: "$"), UInt8(ascii: "="), UInt8(ascii: "!"): return try self.sized(rest, kind)
            case UInt8(ascii: "*"), UInt8(ascii: "~"): return try self.list(rest, of: 1, depth)
            case UInt8(ascii: "%"): return try self.list(rest, of: 2, depth)
            case UInt8(ascii: ">"):
                guard let value = try self.list(rest, of: 1, depth) else { return nil }
                guard case .list(let values) = value else { throw RESPViolation(reason: "a push without values") }
                return .push(values)
            default: throw RESPViolation(reason: "a reply starts with the byte \(kind)")
            }
        }

        /// A line without its end.
        private mutating func line() throws(RESPViolation) -> ByteBufferView.SubSequence? {
            let left = self.bytes[self.index...]
            guard let end = left.firstIndex(of: UInt8(ascii: "\r")) else { return nil }
            guard end + 1 < self.bytes.endIndex else { return nil }
            guard self.bytes[end + 1] == UInt8(ascii: "\n"), end > self.index else {
                throw RESPViolation(reason: "a line of a reply is malformed")
            }
            let line = left[self.index..<end]
            self.index = end + 2
            return line
        }

        private func number(_ text: ByteBufferView.SubSequence) throws(RESPViolation) -> Int64 {
            guard let number = Int64(String(decoding: text, as: UTF8.self)) else {
                throw RESPViolation(reason: "a number of a reply is malformed")
            }
            return number
        }

        /// A text after its length; null for -1.
        private mutating func sized(
            _ text: ByteBufferView.SubSequence,
            _ kind: UInt8
        ) throws(RESPViolation) -> RESPValue? {
            let count = try self.number(text)
            guard count != -1 else { return .null }
            guard count >= 0, count <= RESPReader.maxBytes else {
                throw RESPViolation(reason: "a text has \(count) bytes")
            }
            let end = self.index + Int(count)
            guard end + 2 <= self.bytes.endIndex else { return nil }
            guard self.bytes[end] == UInt8(ascii: "\r"), self.bytes[end + 1] == UInt8(ascii: "\n") else {
                throw RESPViolation(reason: "a text is longer than its length")
            }
            let found = Array(self.bytes[self.index..<end])
            self.index = end + 2
            switch kind {
            case UInt8(ascii: "!"): return .error(String(decoding: found, as: UTF8.self))
            // A verbatim text begins with its format and a colon: `txt:`.
            case UInt8(ascii: "="): return .text(Array(found.dropFirst(4)))
            default: return .text(found)
            }
        }

        private mutating func list(
            _ text: ByteBufferView.SubSequence,
            of size: Int64,
            _ depth: Int
        ) throws(RESPViolation) -> RESPValue? {
            let count = try self.number(text)
            guard count != -1 else { return .null }
            guard depth < RESPReader.maxDepth else { throw RESPViolation(reason: "a reply is too deep") }
            guard count >= 0, count <= RESPReader.maxValues else {
                throw RESPViolation(reason: "a reply has too many values")
            }
            var values: [RESPValue] = []
            for _ in 0..<(count * size) {
                guard let value = try self.value(depth: depth + 1) else { return nil }
                values.append(value)
            }
            return .list(values)
        }
    }
}
