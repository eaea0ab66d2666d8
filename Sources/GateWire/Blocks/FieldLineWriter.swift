// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import NIOCore

/// The lines of a flat head in the making: fields come one by one and are checked as they are written.
///
/// The rules for bytes are those of ``FieldScanner``, and HTTP/2's own on top: names in lower case, no white space
/// around values (RFC 9113 §8.2.1).
final class FieldLineWriter {
    /// The head so far.
    var bytes = ByteBuffer()
    /// Its field lines.
    private(set) var slots: [FieldLine] = []
    /// Bytes of all fields as decoded, each with the 32 that RFC 9113 §10.5.1 adds.
    private(set) var decoded = 0
    private(set) var names = FieldNames.answers
    private let limits: HeadLimits
    /// Whether names with other characters than letters, digits and `-` are irregular, as they are in requests.
    private let isRequest: Bool

    init(limits: HeadLimits, isRequest: Bool) {
        self.limits = limits
        self.isRequest = isRequest
    }

    /// Starts a head in a buffer that nobody else holds.
    func begin(names: FieldNames, into buffer: consuming ByteBuffer) {
        self.bytes = buffer
        self.names = names
        self.slots = []
        self.slots.reserveCapacity(20)
        self.decoded = 0
    }

    /// Counts a field, whether it is kept or not.
    func count(_ name: Span<UInt8>, _ value: Span<UInt8>) {
        self.decoded += name.count + value.count + 32
    }

    /// Whether the fields that were counted and this one are within bounds.
    func refuseExcess(_ name: Span<UInt8>, _ value: Span<UInt8>) throws(HTTP2FieldsRejection) {
        guard self.decoded <= self.limits.bytes else { throw .refused(WireRejection(.wireHeadTooLarge)) }
        guard self.slots.count < self.limits.fields else { throw .refused(WireRejection(.wireTooManyFields)) }
        guard name.count + value.count + 4 <= self.limits.fieldBytes else {
            throw .refused(WireRejection(.wireFieldTooLarge))
        }
    }

    /// The meaning of a name whose every byte may stand in one.
    func meaning(of name: Span<UInt8>) throws(HTTP2FieldsRejection) -> FieldName {
        guard !name.isEmpty else { throw .malformed(.wireFieldName) }
        var hash = FieldNames.seed
        var isPlain = true
        for index in name.indices {
            let byte = name[index]
            guard ByteClass.isToken(byte), byte < 0x41 || byte > 0x5A else { throw .malformed(.wireFieldName) }
            if !ByteClass.isPlainName(byte) { isPlain = false }
            hash = FieldNames.step(hash, byte)
        }
        guard isPlain || !self.isRequest else {
            guard let meaning = self.names.meaning(ofIrregular: name) else {
                throw .refused(WireRejection(.wireFieldName))
            }
            return meaning
        }
        return self.names.meaning(of: name, in: 0..<name.count, hash: hash)
    }

    /// Refuses a value with a byte that none may have, or with white space at an end.
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

    /// Writes a line; name and value have been checked.
    func write(_ name: Span<UInt8>, _ value: Span<UInt8>, as meaning: FieldName) {
        let start = self.bytes.readableBytes
        let length = name.count + value.count + 4
        unsafe self.bytes.writeWithUnsafeMutableBytes(minimumWritableBytes: length) { room in
            guard let base = room.baseAddress else { return 0 }
            unsafe name.withUnsafeBytes { unsafe base.copy($0, at: 0) }
            unsafe base.storeBytes(of: UInt16(0x3A20).bigEndian, toByteOffset: name.count, as: UInt16.self)
            unsafe value.withUnsafeBytes { unsafe base.copy($0, at: name.count + 2) }
            unsafe base.storeBytes(of: UInt16(0x0D0A).bigEndian, toByteOffset: length - 2, as: UInt16.self)
            return length
        }
        let valueStart = start + name.count + 2
        self.slots.append(
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

    /// Ends the head; nothing may be written after it.
    func finish() throws(HTTP2FieldsRejection) -> MessageHead {
        self.bytes.writeStaticString("\r\n")
        guard self.bytes.readableBytes <= self.limits.bytes else {
            throw .refused(WireRejection(.wireHeadTooLarge))
        }
        let message = MessageHead(bytes: self.bytes, fields: self.slots)
        self.bytes = ByteBuffer()
        self.slots = []
        return message
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}

extension ByteBuffer {
    /// Appends bytes.
    mutating func append(_ bytes: Span<UInt8>) {
        unsafe self.writeBytes(bytes.bytes)
    }
}

extension UnsafeMutableRawPointer {
    /// Copies bytes to so many bytes behind this address.
    fileprivate func copy(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
        guard let source = bytes.baseAddress else { return }
        unsafe (self + offset).copyMemory(from: source, byteCount: bytes.count)
    }
}
