// SPDX-License-Identifier: Apache-2.0

internal import GateCore
package import NIOCore

/// Parses the request heads of a connection, strictly: where RFC 9112 allows leniency, the request is rejected.
///
/// A head is parsed in one pass once it is complete; until then only the new bytes are searched for its end.
package struct RequestParser: Sendable {
    /// The names with a meaning; a reload may change them between requests.
    package var names: FieldNames
    private let limits: HeadLimits
    private let scheme: String
    /// The number of bytes of an incomplete head that were searched for its end.
    private var searched = 0
    private var skippedEmptyLine = false
    private var authority: RequestAuthority?

    /// A parser for one connection.
    ///
    /// - Parameters:
    ///   - names: The names with a meaning.
    ///   - limits: The limits.
    ///   - isSecure: Whether the connection uses TLS, which the scheme of an absolute target must match.
    package init(names: FieldNames, limits: HeadLimits = .request, isSecure: Bool) {
        self.names = names
        self.limits = limits
        self.scheme = isSecure ? "https" : "http"
    }

    /// Takes the next head off the buffer; nil when more bytes are needed.
    ///
    /// - Parameters:
    ///   - buffer: The received bytes.
    ///   - allocate: Returns a buffer of a capacity for the head, which lives as long as the request: the received
    ///     buffer, often much larger, is reused for the next read.
    /// - Returns: The head, checked.
    /// - Throws: The rejection; the connection cannot be used further. The bytes of the head are still in the buffer.
    package mutating func head(
        from buffer: inout ByteBuffer,
        into allocate: (Int) -> ByteBuffer = { ByteBufferAllocator().buffer(capacity: $0) }
    ) throws(WireRejection) -> RequestHead? {
        guard try self.skipEmptyLine(in: &buffer), try self.isComplete(buffer) else { return nil }
        var scan = RequestScan(names: self.names, limits: self.limits, scheme: self.scheme)
        guard let end = try scan.run(over: buffer.readableBytesUInt8Span) else { return nil }
        var bytes = allocate(end)
        bytes.writeBytes(buffer.readableBytesSpan.extracting(0..<end))
        let head = try scan.head(of: bytes, known: &self.authority)
        // A rejected head stays in the buffer for the error response.
        buffer.moveReaderIndex(forwardBy: end)
        self.searched = 0
        self.skippedEmptyLine = false
        return head
    }

    /// Skips one empty line before a request, RFC 9112 §2.2.
    ///
    /// False when more bytes are needed.
    private mutating func skipEmptyLine(in buffer: inout ByteBuffer) throws(WireRejection) -> Bool {
        guard let first = buffer.getInteger(at: buffer.readerIndex, as: UInt8.self) else { return false }
        guard first == 0x0D else { return true }
        guard !self.skippedEmptyLine else { throw .malformed(.wireEmptyLines) }
        guard let pair = buffer.getInteger(at: buffer.readerIndex, as: UInt16.self) else { return false }
        guard pair == 0x0D0A else { throw .malformed(.wireEmptyLines) }
        self.skippedEmptyLine = true
        buffer.moveReaderIndex(forwardBy: 2)
        // A second one is rejected at once, not only when more bytes arrive.
        return try self.skipEmptyLine(in: &buffer)
    }

    private mutating func isComplete(_ buffer: ByteBuffer) throws(WireRejection) -> Bool {
        let span = buffer.readableBytesUInt8Span
        let last = span.count - 1
        if last >= 3, span[last] == 0x0A, span[last - 1] == 0x0D, span[last - 2] == 0x0A, span[last - 3] == 0x0D {
            return true
        }
        var position = max(1, self.searched)
        while position < span.count {
            if span[position] == 0x0A {
                guard span[position - 1] == 0x0D else { throw .malformed(.wireBareLF) }
                if position >= 3, span[position - 2] == 0x0A { return true }
            }
            position += 1
        }
        guard span.first(0) != 0x0A else { throw .malformed(.wireBareLF) }
        self.searched = span.count
        guard span.count <= self.limits.bytes else { throw self.overflow(span) }
        return false
    }

    private func overflow(_ span: Span<UInt8>) -> WireRejection {
        let method = span.extracting(first: RequestLine.maxMethodBytes + 1)
        guard !method.isToken else { return WireRejection(.requestMethodTooLong) }
        for index in 0..<min(span.count, self.limits.targetBytes + 16) where span[index] == 0x0D {
            return WireRejection(.wireHeadTooLarge)
        }
        return WireRejection(.wireTargetTooLong)
    }
}
