// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// One field line of a head, as offsets into it.
package struct FieldLine: Sendable {
    /// Where the line starts.
    package let start: UInt16
    /// Where its name ends.
    package let nameEnd: UInt16
    /// Where its value starts, white space skipped.
    package let valueStart: UInt16
    /// Where its value ends, white space cut.
    package let valueEnd: UInt16
    /// Where the next line starts.
    package let end: UInt16
    /// What the name means.
    package let name: FieldName

    /// The range of the name.
    package var nameRange: Range<Int> { Int(self.start)..<Int(self.nameEnd) }
    /// The range of the value.
    package var valueRange: Range<Int> { Int(self.valueStart)..<Int(self.valueEnd) }
    /// The range of the whole line with its line end.
    package var lineRange: Range<Int> { Int(self.start)..<Int(self.end) }

    /// The same line where it starts at another offset.
    func moved(to start: Int) -> FieldLine {
        let shift: (UInt16) -> UInt16 = { UInt16(truncatingIfNeeded: Int($0) - Int(self.start) + start) }
        return FieldLine(
            start: shift(self.start),
            nameEnd: shift(self.nameEnd),
            valueStart: shift(self.valueStart),
            valueEnd: shift(self.valueEnd),
            end: shift(self.end),
            name: self.name
        )
    }
}

/// The head of a message: one buffer and a table of offsets, every byte of it checked.
package struct MessageHead: Sendable {
    /// The bytes from the start line to the empty line; offsets count from its first readable byte.
    package let bytes: ByteBuffer
    /// The field lines in order.
    package let fields: [FieldLine]

    /// The bytes of a range, as a slice that shares them.
    package func slice(_ range: Range<Int>) -> ByteBufferView {
        let start = self.bytes.readerIndex
        let view = self.bytes.readableBytesView
        return view[(start + range.lowerBound)..<(start + range.upperBound)]
    }

    /// The text of a range; every byte above 0x7F that is not UTF-8 becomes U+FFFD.
    package func text(_ range: Range<Int>) -> String {
        String(decoding: self.slice(range), as: UTF8.self)
    }

    /// The text of a range, or nil if its bytes are no UTF-8.
    package func validText(_ range: Range<Int>) -> String? {
        String(validating: self.slice(range), as: UTF8.self)
    }

    /// The first field with a meaning, or nil.
    package func first(_ name: FieldName) -> FieldLine? {
        self.fields.first { $0.name == name }
    }

    /// How many fields have a meaning.
    package func count(_ name: FieldName) -> Int {
        self.fields.reduce(0) { $0 + ($1.name == name ? 1 : 0) }
    }

    /// The value of the first field with a meaning, or nil.
    package func value(_ name: FieldName) -> String? {
        self.first(name).map { self.text($0.valueRange) }
    }

    /// Whether two ranges spell the same, letter case of ASCII aside.
    package func spells(_ range: Range<Int>, _ lowerCase: String) -> Bool {
        guard range.count == lowerCase.utf8.count else { return false }
        let bytes = self.bytes.readableBytesUInt8Span
        var position = range.lowerBound
        for expected in lowerCase.utf8 {
            let byte = bytes[position]
            guard (byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte) == expected else { return false }
            position += 1
        }
        return true
    }

    /// Whether all `Content-Length` fields have the same value, if there are several.
    ///
    /// RFC 9112 §6.3, rule 5.
    var hasConsistentLength: Bool {
        let lengths = self.fields.filter { $0.name == .contentLength }
        guard let first = lengths.first else { return true }
        return lengths.dropFirst().allSatisfy {
            self.slice($0.valueRange).elementsEqual(self.slice(first.valueRange))
        }
    }

    /// The same head with one cookie field at its end, which holds the cookies of all.
    ///
    /// RFC 9113 §8.2.3 joins them in the same way.
    func joiningCookies() -> MessageHead {
        var joined = ByteBufferAllocator().buffer(capacity: self.bytes.readableBytes + 16)
        let startLine = 0..<Int(self.fields.first?.start ?? 0)
        joined.writeBytes(self.bytes.readableBytesSpan.extracting(startLine))
        var fields: [FieldLine] = []
        for field in self.fields where field.name != .cookie {
            fields.append(field.moved(to: joined.readableBytes))
            joined.writeBytes(self.bytes.readableBytesSpan.extracting(field.lineRange))
        }
        let cookies = self.fields.filter { $0.name == .cookie && !$0.valueRange.isEmpty }
        let start = joined.readableBytes
        joined.writeStaticString("Cookie: ")
        for (index, field) in cookies.enumerated() {
            if index > 0 { joined.writeStaticString("; ") }
            joined.writeBytes(self.bytes.readableBytesSpan.extracting(field.valueRange))
        }
        let valueEnd = joined.readableBytes
        joined.writeStaticString("\r\n")
        fields.append(
            FieldLine(
                start: UInt16(truncatingIfNeeded: start),
                nameEnd: UInt16(truncatingIfNeeded: start + 6),
                valueStart: UInt16(truncatingIfNeeded: start + 8),
                valueEnd: UInt16(truncatingIfNeeded: valueEnd),
                end: UInt16(truncatingIfNeeded: joined.readableBytes),
                name: .cookie
            )
        )
        joined.writeStaticString("\r\n")
        return MessageHead(bytes: joined, fields: fields)
    }

    /// The names in all `Connection` fields that make the removal of other fields necessary, in lower case.
    ///
    /// `close` and `keep-alive` are left out, so for nearly every message the list is empty and costs nothing.
    package func connectionOptions() -> Set<String> {
        var options: Set<String> = []
        for field in self.fields where field.name == .connection {
            if self.spells(field.valueRange, "keep-alive") || self.spells(field.valueRange, "close") { continue }
            for part in self.slice(field.valueRange).split(separator: UInt8(ascii: ",")) {
                let name = String(decoding: part, as: UTF8.self).trimmingOptionalSpace().lowercased()
                if name != "close", name != "keep-alive", !name.isEmpty { options.insert(name) }
            }
        }
        return options
    }

    /// Whether a `Connection` field has the option.
    package func hasConnectionOption(_ wanted: String) -> Bool {
        for field in self.fields where field.name == .connection {
            if self.spells(field.valueRange, wanted) { return true }
            if self.spells(field.valueRange, "keep-alive") || self.spells(field.valueRange, "close") { continue }
            let options = self.text(field.valueRange).split(separator: ",").map { $0.trimmingOptionalSpace() }
            if options.contains(where: { $0.lowercased() == wanted }) { return true }
        }
        return false
    }
}

extension StringProtocol {
    /// The text without spaces and tabs at its ends.
    ///
    /// RFC 9110 §5.6.3.
    package func trimmingOptionalSpace() -> String {
        let space: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        let head = self.drop(while: space)
        guard let last = head.lastIndex(where: { !space($0) }) else { return "" }
        return String(head[...last])
    }
}

/// How the end of a body is found.
package enum BodyFraming: Sendable, Hashable {
    /// There is no body.
    case none
    /// So many bytes.
    case length(Int64)
    /// Chunks, RFC 9112 §7.1.
    case chunked
    /// All until the connection closes; answers only.
    case untilClose

    /// Whether both say the same; spelled out, because what the compiler would write is called through a table of witnesses
    /// from other modules, at each request.
    package static func == (left: BodyFraming, right: BodyFraming) -> Bool {
        switch (left, right) {
        case (.none, .none), (.chunked, .chunked), (.untilClose, .untilClose): true
        case (.length(let left), .length(let right)): left == right
        case (.none, _), (.length, _), (.chunked, _), (.untilClose, _): false
        }
    }
}
