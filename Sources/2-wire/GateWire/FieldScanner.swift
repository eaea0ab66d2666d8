// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Parses the field lines of a head in one pass, checking every byte.
struct FieldScanner {
    /// The next line.
    enum Line {
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
        let plainEnd = FieldScanner.skipPlainName(bytes, from: start)
        var position = plainEnd
        while position < bytes.count, ByteClass.isToken(bytes[position]) {
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
            nameEnd == plainEnd || !self.isRequest
            ? self.names.meaning(of: bytes, in: start..<nameEnd)
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

    /// Skips the text of a value, 32 bytes at a time and then eight.
    ///
    /// - Returns: Where the first control character is, or less than eight bytes before the end.
    static func skipPlain(_ bytes: Span<UInt8>, from start: Int) -> Int {
        let raw = unsafe bytes.bytes
        var position = start
        while position + 32 <= raw.byteCount {
            let a = self.controls(in: unsafe raw.eight(at: position))
            let b = self.controls(in: unsafe raw.eight(at: position + 8))
            let c = self.controls(in: unsafe raw.eight(at: position + 16))
            let d = self.controls(in: unsafe raw.eight(at: position + 24))
            guard (a | b | c | d) & self.tops == 0 else {
                if a & self.tops != 0 { return position + self.first(a) }
                if b & self.tops != 0 { return position + 8 + self.first(b) }
                return position + (c & self.tops != 0 ? 16 + self.first(c) : 24 + self.first(d))
            }
            position += 32
        }
        while position + 8 <= raw.byteCount {
            let found = self.controls(in: unsafe raw.eight(at: position))
            guard found & self.tops == 0 else { return position + self.first(found) }
            position += 8
        }
        return position
    }

    /// The place of the first of eight bytes whose top bit is set; a borrow can mark a byte only above one that is marked rightly.
    private static func first(_ marks: UInt64) -> Int { (marks & self.tops).trailingZeroBitCount / 8 }

    /// The top bits of eight bytes.
    private static let tops: UInt64 = 0x8080_8080_8080_8080

    /// Eight bytes, of which the first control character has its top bit set, and none below it has.
    private static func controls(in eight: UInt64) -> UInt64 {
        let delete = eight ^ 0x7F7F_7F7F_7F7F_7F7F
        let below = (eight &- 0x2020_2020_2020_2020) & ~eight
        return below | ((delete &- 0x0101_0101_0101_0101) & ~delete)
    }

    /// Skips the characters of names that are letters, digits and `-`, eight at a time.
    ///
    /// - Returns: Where the first other byte is.
    static func skipPlainName(_ bytes: Span<UInt8>, from start: Int) -> Int {
        let raw = unsafe bytes.bytes
        var position = start
        while position + 8 <= raw.byteCount {
            let others = self.others(in: unsafe raw.eight(at: position))
            guard others == 0 else { return position + self.first(others) }
            position += 8
        }
        while position < bytes.count, ByteClass.isPlainName(bytes[position]) {
            position += 1
        }
        return position
    }

    /// The top bits of those of eight bytes that are not letters, digits or `-`.
    ///
    /// A sum of seven bits sets the top bit where the byte is at least 0x80 minus what is added; no sum reaches the next byte.
    private static func others(in eight: UInt64) -> UInt64 {
        let low = eight & ~self.tops
        let lowerCase = low | 0x2020_2020_2020_2020
        let letters = (lowerCase &+ 0x1F1F_1F1F_1F1F_1F1F) & ~(lowerCase &+ 0x0505_0505_0505_0505)
        let digits = (low &+ 0x5050_5050_5050_5050) & ~(low &+ 0x4646_4646_4646_4646)
        let dashes = ~((low ^ 0x2D2D_2D2D_2D2D_2D2D) &+ 0x7F7F_7F7F_7F7F_7F7F)
        return (eight | ~(letters | digits | dashes)) & self.tops
    }

    /// Whether all bytes are below 0x80, 32 at a time and then eight: tokens are long.
    static func isASCII(_ bytes: Span<UInt8>) -> Bool {
        let raw = unsafe bytes.bytes
        var position = 0
        while position + 32 <= raw.byteCount {
            let (a, b) = unsafe (raw.eight(at: position), raw.eight(at: position + 8))
            let (c, d) = unsafe (raw.eight(at: position + 16), raw.eight(at: position + 24))
            guard (a | b | c | d) & self.tops == 0 else { return false }
            position += 32
        }
        while position + 8 <= raw.byteCount {
            guard unsafe raw.eight(at: position) & self.tops == 0 else { return false }
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

extension RawSpan {
    /// Eight bytes, the first in the lowest byte; the caller has checked that they are there.
    @unsafe @inline(__always) func eight(at position: Int) -> UInt64 {
        unsafe UInt64(littleEndian: self.unsafeLoadUnaligned(fromUncheckedByteOffset: position, as: UInt64.self))
    }
}
