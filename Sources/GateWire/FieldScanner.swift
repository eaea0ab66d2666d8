// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Parses the field lines of a head in one pass, checking every byte.
struct FieldScanner {
    /// The next line.
    enum Line {
        /// A field line.
        case field(FieldLine)
        /// The empty line; the head ends at this offset.
        case end(Int)
        /// A line that begins with white space and so continues the previous one.
        ///
        /// RFC 9112 §5.2.
        case folded
        /// More bytes are needed.
        case more
    }

    let names: FieldNames
    let limits: HeadLimits
    /// Whether names with characters other than letters, digits and `-` are irregular, as in requests.
    let isRequest: Bool
    let status: Int

    /// Parses the line that starts at `start`.
    ///
    /// - Throws: A rejection with this scanner's status, or 431.
    func line(of bytes: Span<UInt8>, at start: Int) throws(WireRejection) -> Line {
        guard start < bytes.count else { return .more }
        if bytes[start] == 0x0D {
            guard start + 1 < bytes.count else { return .more }
            guard bytes[start + 1] == 0x0A else { throw WireRejection(.wireBareCR, status: self.status) }
            return .end(start + 2)
        }
        let raw = unsafe bytes.bytes
        var position = start
        var hash = FieldNames.seed
        var isPlain = true
        while position < raw.byteCount {
            let byte = unsafe raw.unsafeLoad(fromUncheckedByteOffset: position, as: UInt8.self)
            // Most bytes of names are letters, which one comparison finds.
            if (byte | 0x20) &- 0x61 >= 26, !ByteClass.isPlainName(byte) {
                guard ByteClass.isToken(byte) else { break }
                isPlain = false
            }
            hash = FieldNames.step(hash, byte)
            position += 1
        }
        guard position < bytes.count else { return .more }
        if position == start, bytes[start] == 0x20 || bytes[start] == 0x09 { return .folded }
        guard bytes[position] == UInt8(ascii: ":"), position > start else {
            throw WireRejection(bytes[position] == 0x0A ? .wireBareLF : .wireFieldName, status: self.status)
        }
        let nameEnd = position
        guard let value = try self.value(of: bytes, at: nameEnd + 1) else { return .more }
        guard value.next - start <= self.limits.fieldBytes else { throw WireRejection(.wireFieldTooLarge) }
        let name =
            isPlain || !self.isRequest
            ? self.names.meaning(of: bytes, in: start..<nameEnd, hash: hash)
            : self.names.meaning(ofIrregular: bytes.extracting(start..<nameEnd))
        guard let name else { throw WireRejection(.wireFieldName, status: self.status) }
        return .field(
            FieldLine(
                start: UInt16(truncatingIfNeeded: start),
                nameEnd: UInt16(truncatingIfNeeded: nameEnd),
                valueStart: UInt16(truncatingIfNeeded: value.range.lowerBound),
                valueEnd: UInt16(truncatingIfNeeded: value.range.upperBound),
                end: UInt16(truncatingIfNeeded: value.next),
                name: name
            )
        )
    }

    /// The value without the white space around it and where the next line starts; nil when more bytes are needed.
    private func value(of bytes: Span<UInt8>, at start: Int) throws(WireRejection) -> (range: Range<Int>, next: Int)? {
        var first = start
        while first < bytes.count, bytes[first] == 0x20 || bytes[first] == 0x09 {
            first += 1
        }
        var position = FieldScanner.skipPlain(bytes, from: first)
        while position < bytes.count, ByteClass.isValue(bytes[position]) {
            position += 1
        }
        guard position + 1 < bytes.count else {
            guard position < bytes.count, bytes[position] != 0x0D else { return nil }
            throw WireRejection(bytes[position] == 0x0A ? .wireBareLF : .wireFieldValue, status: self.status)
        }
        guard bytes[position] == 0x0D, bytes[position + 1] == 0x0A else {
            throw WireRejection(self.reason(for: bytes[position]), status: self.status)
        }
        var end = position
        while end > first, bytes[end - 1] == 0x20 || bytes[end - 1] == 0x09 {
            end -= 1
        }
        return (first..<end, position + 2)
    }

    /// Skips text eight bytes at a time; stops before eight bytes that include a control character.
    static func skipPlain(_ bytes: Span<UInt8>, from start: Int) -> Int {
        let raw = unsafe bytes.bytes
        let high: UInt64 = 0x8080_8080_8080_8080
        var position = start
        while position + 8 <= raw.byteCount {
            let eight = unsafe raw.unsafeLoadUnaligned(fromByteOffset: position, as: UInt64.self)
            let del = eight ^ 0x7F7F_7F7F_7F7F_7F7F
            let below = (eight &- 0x2020_2020_2020_2020) & ~eight
            let same = (del &- 0x0101_0101_0101_0101) & ~del
            guard (below | same) & high == 0 else { break }
            position += 8
        }
        return position
    }

    /// Whether all bytes are below 0x80, eight bytes at a time: tokens are long.
    static func isASCII(_ bytes: Span<UInt8>) -> Bool {
        let raw = unsafe bytes.bytes
        var position = 0
        while position + 8 <= raw.byteCount {
            let eight = unsafe raw.unsafeLoadUnaligned(fromByteOffset: position, as: UInt64.self)
            guard eight & 0x8080_8080_8080_8080 == 0 else { return false }
            position += 8
        }
        while position < bytes.count {
            guard bytes[position] < 0x80 else { return false }
            position += 1
        }
        return true
    }

    private func reason(for byte: UInt8) -> Failure.Reason {
        switch byte {
        case 0x0A: .wireBareLF
        case 0x0D: .wireBareCR
        default: .wireFieldValue
        }
    }
}
