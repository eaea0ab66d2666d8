// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// The span of a client or proxy, as a `traceparent` field names it.
///
/// W3C Trace Context §3.2.
package struct TraceParent: Sendable, Hashable {
    package let trace: TraceID
    /// The span that caused the request.
    package let span: SpanID
    /// Whether its spans are exported.
    package let isSampled: Bool

    /// Reads the value of a field; nil if it is malformed.
    ///
    /// `version-trace-parent-flags` in lower-case hexadecimal digits. Version 00 has nothing after the flags, a later one may
    /// have more after another `-`, and 255 is not a version (§4.3).
    package init?(_ value: some Collection<UInt8>) {
        var reader = Reader(bytes: Array(value.prefix(TraceParent.maxLength + 1)))
        guard value.count <= TraceParent.maxLength, let version = reader.number(digits: 2), version != 0xFF,
            reader.dash(), let high = reader.number(digits: 16), let low = reader.number(digits: 16),
            let trace = TraceID(high: high, low: low), reader.dash(), let parent = reader.number(digits: 16),
            let span = SpanID(parent), reader.dash(), let flags = reader.number(digits: 2),
            reader.isAtEnd || version > 0 && reader.dash()
        else { return nil }
        self.trace = trace
        self.span = span
        self.isSampled = flags & 1 == 1
    }

    /// The longest value that is read: 55 bytes in version 00, and space for those of later versions.
    private static let maxLength = 512

    private struct Reader {
        let bytes: [UInt8]
        var position = 0

        var isAtEnd: Bool { self.position == self.bytes.count }

        mutating func dash() -> Bool {
            guard self.position < self.bytes.count, self.bytes[self.position] == UInt8(ascii: "-") else { return false }
            self.position += 1
            return true
        }

        mutating func number(digits: Int) -> UInt64? {
            guard self.position + digits <= self.bytes.count else { return nil }
            var number: UInt64 = 0
            for byte in self.bytes[self.position..<(self.position + digits)] {
                guard !(0x41...0x46).contains(byte), let value = PercentEncoding.value(of: byte) else { return nil }
                number = number << 4 | UInt64(value)
            }
            self.position += digits
            return number
        }
    }
}
