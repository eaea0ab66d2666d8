// SPDX-License-Identifier: Apache-2.0

internal import GateCore
package import NIOCore

/// Decodes a chunked body.
///
/// RFC 9112 §7.1.
///
/// Trailers are parsed, checked and dropped, and a peer that sends far more chunk lines than data is rejected. In a
/// request nothing else is accepted: no client in use sends chunk extensions, and attacks use servers that disagree on
/// where they end. In a response, extensions, white space after the size and trailer fields without a meaning there are
/// ignored, as §7.1.1 requires: the body is framed again before it reaches the client.
package struct ChunkDecoder: Sendable {
    /// The next part of a body.
    package enum Part: Sendable {
        /// Body bytes.
        case data(ByteBuffer)
        /// The body is complete.
        case end
        /// More bytes are needed.
        case more
    }

    private enum State {
        case size
        case data(Int64)
        case dataEnd
        case trailers(bytes: Int)
        case done
    }

    private var state = State.size
    private var overhead: Int64 = 0
    private var payload: Int64 = 0
    private let status: Int
    private let lineEnd: LineEnd

    /// The maximum number of bytes of a chunk's size line with its extensions.
    private static let maxSizeLine = 4096

    /// Whether extensions and trailer fields are ignored, as in a response.
    private var isLenient: Bool { self.status == 502 }

    /// A decoder for one body.
    ///
    /// - Parameters:
    ///   - status: 400 for a request and 502 for a response.
    ///   - lineEnd: How the lines of the head ended; those of the body have to end in the same way.
    package init(status: Int, lineEnd: LineEnd = .crlf) {
        self.status = status
        self.lineEnd = lineEnd
    }

    /// The next part of the body.
    ///
    /// - Throws: The rejection; the connection cannot be used further.
    package mutating func next(from buffer: inout ByteBuffer) throws(WireRejection) -> Part {
        while true {
            switch self.state {
            case .size:
                guard let size = try self.size(from: &buffer) else { return .more }
                self.state = size == 0 ? .trailers(bytes: 0) : .data(size)
            case .data(let left):
                guard buffer.readableBytes > 0 else { return .more }
                let count = Int(min(left, Int64(buffer.readableBytes)))
                self.payload += Int64(count)
                self.state = left == Int64(count) ? .dataEnd : .data(left - Int64(count))
                return buffer.readSlice(length: count).map(Part.data) ?? .more
            case .dataEnd:
                guard buffer.readableBytes >= self.lineEnd.count else { return .more }
                guard self.readLineEnd(from: &buffer) else { throw self.rejection(.chunkNoLineEnd) }
                self.state = .size
            case .trailers(let bytes):
                guard try self.skipTrailer(from: &buffer, after: bytes) else { return .more }
            case .done:
                return .end
            }
        }
    }

    private func readLineEnd(from buffer: inout ByteBuffer) -> Bool {
        switch self.lineEnd {
        case .crlf: buffer.readInteger(as: UInt16.self) == 0x0D0A
        case .lf: buffer.readInteger(as: UInt8.self) == 0x0A
        }
    }

    private mutating func size(from buffer: inout ByteBuffer) throws(WireRejection) -> Int64? {
        guard let line = try self.sizeLine(buffer.readableBytesUInt8Span) else { return nil }
        buffer.moveReaderIndex(forwardBy: line.length)
        self.overhead += Int64(line.length) + 2
        guard self.overhead <= 16 * self.payload + 64 * 1024 else { throw self.rejection(.chunkOverhead) }
        return line.size
    }

    /// One size line: 1 to 16 hexadecimal digits and a line end; in a response, extensions between the two.
    private func sizeLine(_ span: Span<UInt8>) throws(WireRejection) -> (size: Int64, length: Int)? {
        var value: UInt64 = 0
        var position = 0
        while position < span.count, let digit = PercentEncoding.value(of: span[position]) {
            guard position < 16 else { throw self.rejection(.chunkSize) }
            value = value << 4 | UInt64(digit)
            position += 1
        }
        if position > 0, position < span.count, self.isLenient, ";\t ".utf8.contains(span[position]) {
            while position < span.count, ByteClass.isValue(span[position]) {
                guard position < ChunkDecoder.maxSizeLine else { throw self.rejection(.chunkExtension) }
                position += 1
            }
        }
        guard position < span.count else { return nil }
        if self.lineEnd == .lf, position > 0, span[position] == 0x0A { return (try self.size(value), position + 1) }
        guard self.lineEnd == .crlf, span[position] == 0x0D, position > 0 else {
            switch span[position] {
            case UInt8(ascii: ";"): throw self.rejection(.chunkExtension)
            case 0x0A: throw self.rejection(.wireBareLF)
            default: throw self.rejection(.chunkSize)
            }
        }
        guard position + 1 < span.count else { return nil }
        guard span[position + 1] == 0x0A else { throw self.rejection(.chunkSize) }
        return (try self.size(value), position + 2)
    }

    private func size(_ value: UInt64) throws(WireRejection) -> Int64 {
        guard let size = Int64(exactly: value) else {
            throw WireRejection(.chunkTooLarge, status: self.status == 400 ? 413 : self.status)
        }
        return size
    }

    /// Skips one trailer line that ends with LF alone; false when more bytes are needed.
    private mutating func skipLine(from buffer: inout ByteBuffer, after bytes: Int) throws(WireRejection) -> Bool {
        let received = buffer.readableBytesView
        guard let end = received.firstIndex(where: { $0 == 0x0A || $0 == 0x0D }) else {
            guard received.count <= HeadLimits.request.bytes else { throw self.rejection(.chunkTrailerTooLarge) }
            return false
        }
        let length = end - received.startIndex + 1
        guard received[end] == 0x0A else { throw self.rejection(.wireBareLF) }
        guard bytes + length <= HeadLimits.request.bytes else { throw self.rejection(.chunkTrailerTooLarge) }
        buffer.moveReaderIndex(forwardBy: length)
        self.state = length == 1 ? .done : .trailers(bytes: bytes + length)
        return true
    }

    /// Skips one trailer line; false when more bytes are needed.
    ///
    /// The empty line ends the body.
    private mutating func skipTrailer(from buffer: inout ByteBuffer, after bytes: Int) throws(WireRejection) -> Bool {
        guard self.lineEnd == .crlf else { return try self.skipLine(from: &buffer, after: bytes) }
        var limits = HeadLimits.request
        limits.fieldBytes = 8 * 1024
        let scanner = FieldScanner(
            names: ChunkDecoder.names,
            limits: limits,
            isRequest: false,
            status: self.status
        )
        switch try scanner.line(of: buffer.readableBytesUInt8Span, at: 0) {
        case .more:
            guard buffer.readableBytes <= limits.fieldBytes else { throw self.rejection(.chunkTrailerTooLarge) }
            return false
        case .end(let length):
            buffer.moveReaderIndex(forwardBy: length)
            self.state = .done
        case .folded:
            throw self.rejection(.wireFieldName)
        case .field(let field):
            let length = Int(field.end)
            let framesMessage = field.name == .contentLength || field.name == .transferEncoding || field.name == .host
            guard self.isLenient || !framesMessage else { throw self.rejection(.chunkTrailerField) }
            guard bytes + length <= limits.bytes else { throw self.rejection(.chunkTrailerTooLarge) }
            buffer.moveReaderIndex(forwardBy: length)
            self.state = .trailers(bytes: bytes + length)
        }
        return true
    }

    private func rejection(_ reason: Failure.Reason) -> WireRejection { WireRejection(reason, status: self.status) }

    private static let names = FieldNames()
}
