// SPDX-License-Identifier: Apache-2.0

internal import GateCore
package import NIOCore

/// Takes the chunks of a body apart.
///
/// RFC 9112 §7.1.
///
/// Trailers are read, checked and thrown away, and a peer that sends far more chunk lines than data is stopped. Of a request
/// nothing else is accepted: no client in use sends chunk extensions, and servers have been made to disagree on where they
/// end. Of a response extensions, white space after the size and trailer fields without a meaning there are ignored, as
/// §7.1.1 asks: the body is framed again before it reaches the client.
package struct ChunkDecoder: Sendable {
    /// What the next bytes are.
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

    /// The most bytes of a chunk's size line with its extensions.
    private static let maxSizeLine = 4096

    /// Whether what a response may have beside sizes and data is ignored.
    private var isLenient: Bool { self.status == 502 }

    /// A decoder for one body; `status` is 400 for a request and 502 for a response.
    package init(status: Int) {
        self.status = status
    }

    /// The next part of the body.
    ///
    /// - Throws: A refusal; the connection cannot be used further.
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
                guard buffer.readableBytes >= 2 else { return .more }
                guard buffer.readInteger(as: UInt16.self) == 0x0D0A else { throw self.refusal(.chunkNoLineEnd) }
                self.state = .size
            case .trailers(let bytes):
                guard try self.skipTrailer(from: &buffer, after: bytes) else { return .more }
            case .done:
                return .end
            }
        }
    }

    private mutating func size(from buffer: inout ByteBuffer) throws(WireRejection) -> Int64? {
        guard let line = try self.sizeLine(buffer.readableBytesUInt8Span) else { return nil }
        buffer.moveReaderIndex(forwardBy: line.length)
        self.overhead += Int64(line.length) + 2
        guard self.overhead <= 16 * self.payload + 64 * 1024 else { throw self.refusal(.chunkOverhead) }
        return line.size
    }

    /// One size line: 1 to 16 hexadecimal digits and a line end; in a response with extensions between.
    private func sizeLine(_ span: Span<UInt8>) throws(WireRejection) -> (size: Int64, length: Int)? {
        var value: UInt64 = 0
        var position = 0
        while position < span.count, let digit = PercentEncoding.value(of: span[position]) {
            guard position < 16 else { throw self.refusal(.chunkSize) }
            value = value << 4 | UInt64(digit)
            position += 1
        }
        if position > 0, position < span.count, self.isLenient, ";\t ".utf8.contains(span[position]) {
            while position < span.count, ByteClass.isValue(span[position]) {
                guard position < ChunkDecoder.maxSizeLine else { throw self.refusal(.chunkExtension) }
                position += 1
            }
        }
        guard position < span.count else { return nil }
        guard span[position] == 0x0D, position > 0 else {
            switch span[position] {
            case UInt8(ascii: ";"): throw self.refusal(.chunkExtension)
            case 0x0A: throw self.refusal(.wireBareLF)
            default: throw self.refusal(.chunkSize)
            }
        }
        guard position + 1 < span.count else { return nil }
        guard span[position + 1] == 0x0A else { throw self.refusal(.chunkSize) }
        guard let size = Int64(exactly: value) else {
            throw WireRejection(.chunkTooLarge, status: self.status == 400 ? 413 : self.status)
        }
        return (size, position + 2)
    }

    /// Skips one trailer line; false when more bytes are needed.
    ///
    /// The empty line ends the body.
    private mutating func skipTrailer(from buffer: inout ByteBuffer, after bytes: Int) throws(WireRejection) -> Bool {
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
            guard buffer.readableBytes <= limits.fieldBytes else { throw self.refusal(.chunkTrailerTooLarge) }
            return false
        case .end(let length):
            buffer.moveReaderIndex(forwardBy: length)
            self.state = .done
        case .folded:
            throw self.refusal(.wireFieldName)
        case .field(let slot):
            let length = Int(slot.end)
            let framesMessage = slot.name == .contentLength || slot.name == .transferEncoding || slot.name == .host
            guard self.isLenient || !framesMessage else { throw self.refusal(.chunkTrailerField) }
            guard bytes + length <= limits.bytes else { throw self.refusal(.chunkTrailerTooLarge) }
            buffer.moveReaderIndex(forwardBy: length)
            self.state = .trailers(bytes: bytes + length)
        }
        return true
    }

    private func refusal(_ reason: Failure.Reason) -> WireRejection {
        WireRejection(reason, status: self.status)
    }

    private static let names = FieldNames()
}

/// Finds the end of a body, whatever its framing.
package struct BodyReader: Sendable {
    private enum Kind {
        case none
        case length(Int64)
        case chunked(ChunkDecoder)
        case untilClose
    }

    private var kind: Kind

    /// A reader for one body; `status` is that of its refusals, 400 for a request and 502 for an answer.
    package init(_ framing: BodyFraming, status: Int) {
        switch framing {
        case .none: self.kind = .none
        case .length(let length): self.kind = .length(length)
        case .chunked: self.kind = .chunked(ChunkDecoder(status: status))
        case .untilClose: self.kind = .untilClose
        }
    }

    /// The next part of the body.
    ///
    /// - Throws: A refusal; the connection cannot be used further.
    package mutating func next(from buffer: inout ByteBuffer) throws(WireRejection) -> ChunkDecoder.Part {
        switch self.kind {
        case .none:
            return .end
        case .length(let left):
            guard left > 0 else { return .end }
            let count = Int(min(left, Int64(buffer.readableBytes)))
            guard count > 0, let data = buffer.readSlice(length: count) else { return .more }
            self.kind = .length(left - Int64(count))
            return .data(data)
        case .chunked(var decoder):
            defer { self.kind = .chunked(decoder) }
            return try decoder.next(from: &buffer)
        case .untilClose:
            guard buffer.readableBytes > 0, let data = buffer.readSlice(length: buffer.readableBytes) else {
                return .more
            }
            return .data(data)
        }
    }

    /// Whether the end of the connection is the proper end of the body.
    package var endsWithConnection: Bool {
        guard case .untilClose = self.kind else { return false }
        return true
    }

    /// Whether nothing is left to come, without looking at further bytes.
    package var isComplete: Bool {
        switch self.kind {
        case .none: true
        case .length(let left): left == 0
        case .chunked, .untilClose: false
        }
    }
}
