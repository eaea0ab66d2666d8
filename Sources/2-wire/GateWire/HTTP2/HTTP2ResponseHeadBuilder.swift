// SPDX-License-Identifier: Apache-2.0

internal import GateCore
package import NIOCore

/// Builds a response head or a trailer section from the HTTP/2 fields of an upstream, in the form of HTTP/1.1.
///
/// RFC 9113 §8.3.2. Ambiguous fields are rejected with 502. One per connection.
package final class HTTP2ResponseHeadBuilder {
    private let limits: HeadLimits
    private let lines: FieldLineWriter
    private var rejection: WireRejection?
    private var status = 0
    private var isTrailer = false

    /// A builder for one connection.
    package init(limits: HeadLimits = .response) {
        self.limits = limits
        self.lines = FieldLineWriter(limits: limits, isRequest: false)
    }

    /// Starts a head in a buffer that is not shared.
    package func begin(names: FieldNames, into buffer: consuming ByteBuffer) {
        self.start(names, buffer)
        self.isTrailer = false
    }

    /// Starts a trailer section in a buffer that is not shared.
    package func beginTrailer(names: FieldNames, into buffer: consuming ByteBuffer) {
        self.start(names, buffer)
        self.isTrailer = true
    }

    /// Whether the decoded fields are so far over the limit that the connection is closed (HPACK bomb).
    package var isBomb: Bool { self.lines.decoded > 4 * self.limits.bytes }

    /// Adds the next field.
    package func append(name: Span<UInt8>, value: Span<UInt8>) {
        self.lines.count(name, value)
        guard self.rejection == nil else { return }
        do {
            try self.take(name, value)
        } catch {
            self.rejection = WireRejection(error.rejection.status == 431 ? .upstreamHeadTooLarge : .upstreamField)
        }
    }

    /// The checked head.
    ///
    /// - Parameters:
    ///   - method: The method of the request.
    ///   - endsStream: Whether no body follows.
    /// - Returns: The head; a body without a length is ``BodyFraming/chunked``.
    /// - Throws: The first rejection.
    package func finish(for method: RequestMethod, endsStream: Bool) throws(WireRejection) -> ResponseHead {
        let message = try self.message()
        guard self.status != 0 else { throw WireRejection(.upstreamStatus) }
        return ResponseHead(
            message: message,
            status: self.status,
            framing: try self.framing(of: message, for: method, endsStream: endsStream),
            keepsAlive: true,
            reason: 0..<0,
            lineEnd: .crlf
        )
    }

    /// The checked trailer section: lines and an empty line, without fields that frame a message or that the gateway
    /// manages.
    ///
    /// - Throws: The first rejection.
    package func finishTrailer() throws(WireRejection) -> ByteBuffer {
        try self.message().bytes
    }

    private func start(_ names: FieldNames, _ buffer: consuming ByteBuffer) {
        self.lines.begin(names: names, into: buffer)
        self.rejection = nil
        self.status = 0
    }

    private func message() throws(WireRejection) -> MessageHead {
        if let rejection { throw rejection }
        do {
            return try self.lines.finish()
        } catch {
            throw WireRejection(.upstreamHeadTooLarge)
        }
    }

    private func take(_ name: Span<UInt8>, _ value: Span<UInt8>) throws(HTTP2FieldsRejection) {
        if name.first(0) == UInt8(ascii: ":") {
            try self.takeStatus(name, value)
            return
        }
        guard self.isTrailer || self.status != 0 else { throw .malformed(.wirePseudoField) }
        try self.lines.check(value)
        let meaning = try self.lines.meaning(of: name)
        try self.lines.checkLimits(name, value)
        switch meaning {
        case .connection, .keepAlive, .proxyConnection, .transferEncoding, .upgrade, .http2Settings:
            throw .malformed(.wireConnectionField)
        case .managed, .contentLength, .host, .cookie, .setCookie, .authorization, .content, .contentType,
            .contentLocation,
            .location, .caching, .date:
            guard !self.isTrailer else { return }
        default:
            break
        }
        self.lines.write(name, value, as: meaning)
    }

    private func takeStatus(_ name: Span<UInt8>, _ value: Span<UInt8>) throws(HTTP2FieldsRejection) {
        guard !self.isTrailer, self.status == 0, name.spells(":status"), value.count == 3 else {
            throw .malformed(.wirePseudoField)
        }
        var status = 0
        for index in 0..<3 {
            guard ByteClass.isDigit(value[index]) else { throw .malformed(.wirePseudoField) }
            status = status * 10 + Int(value[index] - UInt8(ascii: "0"))
        }
        guard (100...999).contains(status), status != 101 else { throw .malformed(.wirePseudoField) }
        self.status = status
        self.lines.bytes.writeStaticString("HTTP/1.1 ")
        self.lines.bytes.append(value)
        self.lines.bytes.writeStaticString(" \r\n")
    }

    private func framing(
        of message: MessageHead,
        for method: RequestMethod,
        endsStream: Bool
    ) throws(WireRejection) -> BodyFraming {
        guard message.hasConsistentLength else { throw WireRejection(.upstreamFraming) }
        let noBody = method == .head || self.status < 200 || self.status == 204 || self.status == 304
        guard let field = message.first(.contentLength) else { return noBody || endsStream ? .none : .chunked }
        guard let length = contentLength(in: message, field.valueRange) else {
            throw WireRejection(.upstreamLength)
        }
        if noBody || length == 0 { return .none }
        guard !endsStream else { throw WireRejection(.upstreamLength) }
        return .length(length)
    }
}
