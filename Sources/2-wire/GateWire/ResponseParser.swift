// SPDX-License-Identifier: Apache-2.0

internal import GateCore
package import NIOCore

/// Parses the response heads of an upstream connection; ambiguous ones are rejected with 502.
///
/// The head is written again before it reaches the client, so errors are corrected that cannot be read in two ways: folded
/// lines (RFC 9112 §5.2), a length that is repeated with the same value (§6.3), and lines that end with LF alone (§2.2), if all
/// lines of the response do. A line that ends otherwise than the one before it is what a value looks like that has broken
/// out of its line, so it is rejected, as is a CR without LF; and nothing is read after such a response.
package struct ResponseParser: Sendable {
    private let names: FieldNames
    private let limits: HeadLimits

    /// A parser for one connection.
    package init(names: FieldNames, limits: HeadLimits = .response) {
        self.names = names
        self.limits = limits
    }

    /// Takes the next head off the buffer; nil when more bytes are needed.
    ///
    /// - Parameters:
    ///   - buffer: The received bytes.
    ///   - method: The method of the request.
    /// - Returns: The head, checked.
    /// - Throws: The rejection; the connection cannot be used further.
    package func head(
        from buffer: inout ByteBuffer,
        for method: RequestMethod
    ) throws(WireRejection) -> ResponseHead? {
        var lineEnd = LineEnd.crlf
        let scan: Scan?
        do {
            var result = try self.scan(buffer.readableBytesUInt8Span)
            if case .lineFeeds = result {
                lineEnd = .lf
                guard try self.endLines(of: &buffer) else { return nil }
                result = try self.scan(buffer.readableBytesUInt8Span)
            }
            if case .folded = result {
                ResponseParser.unfold(&buffer)
                result = try self.scan(buffer.readableBytesUInt8Span)
            }
            scan = result.scan
        } catch {
            throw error.status == 431 ? WireRejection(.upstreamHeadTooLarge) : error
        }
        guard let scan, let bytes = buffer.readSlice(length: scan.end) else {
            guard buffer.readableBytes <= self.limits.bytes else { throw WireRejection(.upstreamHeadTooLarge) }
            return nil
        }
        let message = MessageHead(bytes: bytes, fields: scan.fields)
        return ResponseHead(
            message: message,
            status: scan.start.status,
            framing: try self.framing(of: message, scan.start, for: method),
            keepsAlive: lineEnd == .crlf && self.keepsAlive(message, scan.start),
            reason: scan.start.reason,
            lineEnd: lineEnd
        )
    }

    /// Ends the lines of a head with CRLF that all end with LF alone; false when more bytes are needed.
    private func endLines(of buffer: inout ByteBuffer) throws(WireRejection) -> Bool {
        let received = buffer.readableBytesView
        var head: [UInt8] = []
        var isAtStart = true
        for byte in received {
            guard byte != 0x0D else { throw WireRejection(.wireBareLF, status: 502) }
            guard head.count <= self.limits.bytes else { throw WireRejection(.upstreamHeadTooLarge) }
            guard byte == 0x0A else {
                head.append(byte)
                isAtStart = false
                continue
            }
            head += [0x0D, 0x0A]
            guard isAtStart else {
                isAtStart = true
                continue
            }
            // The body follows, in which no byte changes.
            let length = head.count - head.count { $0 == 0x0D }
            var whole = ByteBufferAllocator().buffer(capacity: head.count + received.count - length)
            whole.writeBytes(head)
            whole.writeBytes(received.dropFirst(length))
            buffer = whole
            return true
        }
        return false
    }

    /// The parts of a complete head.
    private struct Scan {
        let start: StatusLine
        let end: Int
        let fields: [FieldLine]
    }

    private enum ScanResult {
        case complete(Scan)
        /// A line continues the previous one.
        case folded
        /// The status line ends with LF alone.
        case lineFeeds
        case more

        var scan: Scan? {
            if case .complete(let scan) = self { scan } else { nil }
        }
    }

    /// Replaces the line ends before continuation lines by spaces, up to the end of the head.
    ///
    /// RFC 9112 §5.2.
    private static func unfold(_ buffer: inout ByteBuffer) {
        var index = buffer.readerIndex
        while index + 2 < buffer.writerIndex {
            defer { index += 1 }
            guard buffer.getInteger(at: index, as: UInt16.self) == 0x0D0A,
                let next = buffer.getInteger(at: index + 2, as: UInt8.self)
            else { continue }
            if next == 0x0D { return }
            if next == 0x20 || next == 0x09 { buffer.setInteger(UInt16(0x2020), at: index) }
        }
    }

    private func scan(_ bytes: Span<UInt8>) throws(WireRejection) -> ScanResult {
        guard let (line, start) = try StatusLine.read(bytes) else { return .more }
        guard line.lineEnd == .crlf else { return .lineFeeds }
        let scanner = FieldScanner(names: self.names, limits: self.limits, isRequest: false, status: 502)
        var fields: [FieldLine] = []
        fields.reserveCapacity(16)
        var position = start
        while true {
            switch try scanner.line(of: bytes, at: position) {
            case .more:
                return .more
            case .folded:
                guard !fields.isEmpty else { throw WireRejection(.wireFieldName, status: 502) }
                return .folded
            case .end(let end):
                guard end <= self.limits.bytes else { throw WireRejection(.upstreamHeadTooLarge) }
                return .complete(Scan(start: line, end: end, fields: fields))
            case .field(let field):
                guard fields.count < self.limits.fields, Int(field.end) > position else {
                    throw WireRejection(.upstreamHeadTooLarge)
                }
                fields.append(field)
                position = Int(field.end)
            }
        }
    }

    /// The framing by RFC 9112 §6.3; ambiguous framing is rejected.
    private func framing(
        of message: MessageHead,
        _ line: StatusLine,
        for method: RequestMethod
    ) throws(WireRejection) -> BodyFraming {
        let lengths = message.count(.contentLength)
        let codings = message.count(.transferEncoding)
        guard codings <= 1, lengths == 0 || codings == 0, lengths <= 1 || message.hasConsistentLength else {
            throw WireRejection(.upstreamFraming)
        }
        let noBody = method == .head || line.status < 200 || line.status == 204 || line.status == 304
        if let coding = message.first(.transferEncoding) {
            guard line.minorVersion == 1, message.spells(coding.valueRange, "chunked") else {
                throw WireRejection(.upstreamCoding)
            }
            return noBody ? .none : .chunked
        }
        guard let field = message.first(.contentLength) else { return noBody ? .none : .untilClose }
        guard let length = contentLength(in: message, field.valueRange) else {
            throw WireRejection(.upstreamLength)
        }
        return noBody || length == 0 ? .none : .length(length)
    }

    private func keepsAlive(_ message: MessageHead, _ line: StatusLine) -> Bool {
        line.minorVersion == 1 ? !message.hasConnectionOption("close") : message.hasConnectionOption("keep-alive")
    }
}

/// `HTTP/1.1 200 …`, with every byte of the reason phrase checked.
///
/// RFC 9112 §4.
struct StatusLine {
    let status: Int
    let minorVersion: Int
    /// Where the reason phrase is; empty if it is absent, `OK` of 200, or has over 255 bytes.
    let reason: Range<Int>
    let lineEnd: LineEnd

    static let statusStart = 9
    private static let reasonStart = 13
    private static let maxReason = 255

    static func read(_ bytes: Span<UInt8>) throws(WireRejection) -> (StatusLine, Int)? {
        var position = 0
        for byte in "HTTP/1.".utf8 {
            guard position < bytes.count else { return nil }
            guard bytes[position] == byte else { throw WireRejection(.upstreamStartLine) }
            position += 1
        }
        var end = 7
        while end < bytes.count, ByteClass.isValue(bytes[end]), end < 1024 {
            end += 1
        }
        guard end < bytes.count else { return nil }
        let lineEnd = bytes[end] == 0x0A ? LineEnd.lf : .crlf
        guard end + lineEnd.count <= bytes.count else { return nil }
        let isEnded = lineEnd == .lf || (bytes[end] == 0x0D && bytes[end + 1] == 0x0A)
        guard end >= 12, isEnded, bytes[8] == 0x20 else { throw WireRejection(.upstreamStartLine) }
        guard end == 12 || bytes[12] == 0x20, bytes[7] == UInt8(ascii: "0") || bytes[7] == UInt8(ascii: "1") else {
            throw WireRejection(.upstreamStartLine)
        }
        var status = 0
        for index in 9..<12 {
            guard ByteClass.isDigit(bytes[index]) else { throw WireRejection(.upstreamStartLine) }
            status = status * 10 + Int(bytes[index] - UInt8(ascii: "0"))
        }
        guard (100...999).contains(status) else { throw WireRejection(.upstreamStatus) }
        let isKept = end > self.reasonStart && end - self.reasonStart <= self.maxReason
        // The usual line is written in one piece.
        let isUsual = status == 200 && end == 15 && bytes[13] == UInt8(ascii: "O") && bytes[14] == UInt8(ascii: "K")
        let reason = isKept && !isUsual ? self.reasonStart..<end : 0..<0
        let minorVersion = Int(bytes[7] - UInt8(ascii: "0"))
        let line = StatusLine(status: status, minorVersion: minorVersion, reason: reason, lineEnd: lineEnd)
        return (line, end + lineEnd.count)
    }
}
