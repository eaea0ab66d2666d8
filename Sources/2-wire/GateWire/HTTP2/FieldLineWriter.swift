// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import NIOCore

/// Writes HTTP/2 fields as the field lines of an HTTP/1.1 head, checking each.
///
/// The rules for bytes are those of ``FieldScanner`` and those of HTTP/2: names in lower case, no white space around
/// values (RFC 9113 §8.2.1).
final class FieldLineWriter {
    /// The head so far.
    var bytes = ByteBuffer()
    private(set) var fields: [FieldLine] = []
    /// The bytes of all decoded fields, each with the 32 that RFC 9113 §10.5.1 adds.
    private(set) var decoded = 0
    private(set) var names = FieldNames.response
    private let limits: HeadLimits
    /// Whether names with characters other than letters, digits and `-` are irregular, as in requests.
    private let isRequest: Bool

    init(limits: HeadLimits, isRequest: Bool) {
        self.limits = limits
        self.isRequest = isRequest
    }

    /// Starts a head in a buffer that is not shared.
    func begin(names: FieldNames, into buffer: consuming ByteBuffer) {
        self.bytes = buffer
        self.names = names
        self.fields = []
        self.fields.reserveCapacity(20)
        self.decoded = 0
    }

    /// Counts a field, whether it is written or not.
    func count(_ name: Span<UInt8>, _ value: Span<UInt8>) {
        self.decoded += name.count + value.count + 32
    }

    /// Checks that the counted fields and this one are within the limits.
    func checkLimits(_ name: Span<UInt8>, _ value: Span<UInt8>) throws(HTTP2FieldsRejection) {
        guard self.decoded <= self.limits.bytes else { throw .rejected(WireRejection(.wireHeadTooLarge)) }
        guard self.fields.count < self.limits.fields else {
            throw .rejected(WireRejection(.wireTooManyFields))
        }
        guard name.count + value.count + 4 <= self.limits.fieldBytes else {
            throw .rejected(WireRejection(.wireFieldTooLarge))
        }
    }

    /// Checks a name and returns its meaning.
    func meaning(of name: Span<UInt8>) throws(HTTP2FieldsRejection) -> FieldName {
        guard !name.isEmpty else { throw .malformed(.wireFieldName) }
        var isPlain = true
        for index in name.indices {
            let byte = name[index]
            // Most bytes of names are lower-case letters, which one comparison finds.
            guard byte &- 0x61 >= 26 else { continue }
            guard ByteClass.isToken(byte), byte < 0x41 || byte > 0x5A else { throw .malformed(.wireFieldName) }
            if !ByteClass.isPlainName(byte) { isPlain = false }
        }
        guard isPlain || !self.isRequest else {
            guard let meaning = self.names.meaning(ofIrregular: name) else {
                throw .rejected(WireRejection(.wireFieldName))
            }
            return meaning
        }
        return self.names.meaning(of: name, in: 0..<name.count)
    }

    /// Rejects a value with a byte that is not allowed, or with white space at an end.
    func check(_ value: Span<UInt8>) throws(HTTP2FieldsRejection) {
        guard let last = value.indices.last else { return }
        guard !FieldLineWriter.isSpace(value[0]), !FieldLineWriter.isSpace(value[last]) else {
            throw .malformed(.wireFieldSpace)
        }
        var position = FieldScanner.skipPlain(value, from: 0)
        while position < value.count {
            guard ByteClass.isValue(value[position]) else { throw .malformed(.wireFieldValue) }
            position += 1
        }
    }

    /// Writes a line with a checked name and value.
    func write(_ name: Span<UInt8>, _ value: Span<UInt8>, as meaning: FieldName) {
        let start = self.bytes.readableBytes
        let length = name.count + value.count + 4
        unsafe self.bytes.writeWithUnsafeMutableBytes(minimumWritableBytes: length) { target in
            guard let base = target.baseAddress else { return 0 }
            unsafe name.withUnsafeBytes { unsafe base.copy($0, at: 0) }
            unsafe base.storeBytes(of: UInt16(0x3A20).bigEndian, toByteOffset: name.count, as: UInt16.self)
            unsafe value.withUnsafeBytes { unsafe base.copy($0, at: name.count + 2) }
            unsafe base.storeBytes(of: UInt16(0x0D0A).bigEndian, toByteOffset: length - 2, as: UInt16.self)
            return length
        }
        let valueStart = start + name.count + 2
        self.fields.append(
            FieldLine(
                start: UInt16(truncatingIfNeeded: start),
                nameEnd: UInt16(truncatingIfNeeded: start + name.count),
                valueStart: UInt16(truncatingIfNeeded: valueStart),
                valueEnd: UInt16(truncatingIfNeeded: valueStart + value.count),
                end: UInt16(truncatingIfNeeded: start + length),
                name: meaning
            )
        )
    }

    /// Ends the head.
    func finish() throws(HTTP2FieldsRejection) -> MessageHead {
        self.bytes.writeStaticString("\r\n")
        guard self.bytes.readableBytes <= self.limits.bytes else {
            throw .rejected(WireRejection(.wireHeadTooLarge))
        }
        let message = MessageHead(bytes: self.bytes, fields: self.fields)
        self.bytes = ByteBuffer()
        self.fields = []
        return message
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}

extension ByteBuffer {
    mutating func append(_ bytes: Span<UInt8>) {
        unsafe self.writeBytes(bytes.bytes)
    }
}

extension UnsafeMutableRawPointer {
    fileprivate func copy(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
        guard let source = bytes.baseAddress else { return }
        unsafe (self + offset).copyMemory(from: source, byteCount: bytes.count)
    }
}
