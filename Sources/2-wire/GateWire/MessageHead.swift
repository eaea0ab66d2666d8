// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// The head of a message: one buffer and a table of offsets, every byte checked.
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

    /// The text of a range, or nil if its bytes are not UTF-8.
    package func validText(_ range: Range<Int>) -> String? {
        String(validating: self.slice(range), as: UTF8.self)
    }

    /// The first field with a meaning, or nil.
    package func first(_ name: FieldName) -> FieldLine? {
        self.fields.first { $0.name == name }
    }

    /// The number of fields with a meaning.
    package func count(_ name: FieldName) -> Int {
        self.fields.reduce(0) { $0 + ($1.name == name ? 1 : 0) }
    }

    /// The value of the first field with a meaning, or nil.
    package func value(_ name: FieldName) -> String? {
        self.first(name).map { self.text($0.valueRange) }
    }

    /// Whether a range equals a text in lower case, ignoring the letter case of ASCII.
    package func spells(_ range: Range<Int>, _ lowerCase: String) -> Bool {
        guard range.count == lowerCase.utf8.count else { return false }
        let bytes = self.bytes.readableBytesUInt8Span.extracting(range)
        let expected = lowerCase.utf8Span.span
        for index in expected.indices where bytes[index] != expected[index] {
            guard bytes[index] >= 0x41, bytes[index] <= 0x5A, bytes[index] | 0x20 == expected[index] else {
                return false
            }
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

    /// The same head with all cookies in one field at its end.
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
        joined.writeLiteral("Cookie: ")
        for (index, field) in cookies.enumerated() {
            if index > 0 { joined.writeLiteral("; ") }
            joined.writeBytes(self.bytes.readableBytesSpan.extracting(field.valueRange))
        }
        let valueEnd = joined.readableBytes
        joined.writeLiteral("\r\n")
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
        joined.writeLiteral("\r\n")
        return MessageHead(bytes: joined, fields: fields)
    }

    /// The names of fields to remove that the `Connection` fields list, in lower case.
    ///
    /// `close` and `keep-alive` are left out, so the list is empty for nearly every message and costs nothing.
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
