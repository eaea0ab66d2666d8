// SPDX-License-Identifier: Apache-2.0

internal import GateCore
package import NIOCore

/// Makes the flat head of a request from the fields of a header block, as if it had come over HTTP/1.1.
///
/// RFC 9113 §8.3.1. One is kept for each connection, because header blocks do not mix. The first fault is kept and
/// thrown by ``finish(endsStream:)``; whatever follows it is only counted. An object, since a value in a property would be
/// copied for each look at it; confined to the connection's event loop.
package final class HTTP2RequestHeadBuilder {
    private let limits: HeadLimits
    private let scheme: String
    /// Whether `CONNECT` may ask for a WebSocket.
    private let takesWebSockets: Bool
    private let lines: FieldLineWriter
    private var refusal: HTTP2FieldsRejection?
    /// What the fields after the first fault say of the sender.
    private var signs = BrowserHints()
    /// The values of `:method`, `:path` and `:authority` until the start line is written, and of all cookies.
    private var early = ByteBuffer()
    private var pseudo = PseudoFields()
    private var cookies = ByteBuffer()
    private var hasHost = false
    private var line: RequestLine?
    private var known: CachedAuthority?
    private static let hostName = Array("host".utf8)
    private static let cookieName = Array("cookie".utf8)

    /// A block for one connection.
    package init(limits: HeadLimits = .request, isSecure: Bool, takesWebSockets: Bool = false) {
        self.limits = limits
        self.takesWebSockets = takesWebSockets
        self.scheme = isSecure ? "https" : "http"
        self.lines = FieldLineWriter(limits: limits, isRequest: true)
    }

    /// Starts a head in a buffer that nobody else holds.
    package func begin(names: FieldNames, into buffer: consuming ByteBuffer) {
        self.lines.begin(names: names, into: buffer)
        self.refusal = nil
        self.signs = BrowserHints()
        self.early.clear()
        self.cookies.clear()
        self.pseudo = PseudoFields()
        self.hasHost = false
        self.line = nil
    }

    /// Whether the method is `HEAD`, also in a block that is rejected.
    package var isHead: Bool {
        guard let method = self.pseudo.method else { return false }
        let early = self.early
        return early.readableBytesUInt8Span.extracting(method).spells("HEAD")
    }

    /// The names that the fields were judged by.
    package var names: FieldNames { self.lines.names }

    /// Whether so much has been decoded that no honest client can have meant it.
    package var isBomb: Bool { self.lines.decoded > 4 * self.limits.bytes + 64 * 1024 }

    /// Whether a browser seems to have sent the block whose user waits for a page; for rejected ones.
    package var wantsPage: Bool { self.signs.wantsPage || BrowserHints(in: self.lines.bytes).wantsPage }

    /// Counts a field that is not kept, as those of a trailer section.
    package func skip(name: Span<UInt8>, value: Span<UInt8>) {
        self.lines.count(name, value)
    }

    /// Takes the next field.
    package func append(name: Span<UInt8>, value: Span<UInt8>) {
        self.lines.count(name, value)
        guard self.refusal == nil else { return self.signs.note(name: name, value: value) }
        do {
            try self.take(name, value)
        } catch {
            self.refusal = error
        }
    }

    /// The checked head.
    ///
    /// - Parameter endsStream: Whether no body follows.
    /// - Returns: The head, checked.
    /// - Throws: The first thing that is wrong with it.
    package func finish(endsStream: Bool) throws(HTTP2FieldsRejection) -> RequestHead {
        if let refusal { throw refusal }
        let line = try self.openedLine()
        if self.cookies.readableBytes > 0 { try self.writeCookies() }
        let message = try self.lines.finish()
        do {
            return try self.head(message, line, endsStream: endsStream)
        } catch {
            self.signs = BrowserHints(in: message.bytes)
            throw .refused(error)
        }
    }
}

// MARK: Fields

extension HTTP2RequestHeadBuilder {
    private func take(_ name: Span<UInt8>, _ value: Span<UInt8>) throws(HTTP2FieldsRejection) {
        if name.first(0) == UInt8(ascii: ":") {
            try self.takePseudo(name, value)
            return
        }
        try self.lines.check(value)
        let meaning = try self.lines.meaning(of: name)
        _ = try self.openedLine()
        try self.lines.refuseExcess(name, value)
        switch meaning {
        case .connection, .keepAlive, .proxyConnection, .transferEncoding, .upgrade, .http2Settings:
            throw .malformed(.wireConnectionField)
        case .te:
            guard value.spells("trailers") else { throw .malformed(.wireConnectionField) }
            self.lines.write(name, value, as: meaning)
        case .cookie:
            self.takeCookie(value)
        case .host where self.pseudo.authority != nil:
            try self.compare(host: value)
        default:
            self.lines.write(name, value, as: meaning)
        }
    }

    private func takePseudo(_ name: Span<UInt8>, _ value: Span<UInt8>) throws(HTTP2FieldsRejection) {
        guard self.line == nil else { throw .malformed(.wirePseudoField) }
        try self.lines.check(value)
        // First, so that whatever is noted below stands in `early`.
        try self.lines.refuseExcess(name, value)
        let start = self.early.readableBytes
        let range = start..<(start + value.count)
        if name.spells(":path") {
            guard self.pseudo.path == nil, !value.isEmpty else { throw .malformed(.wirePseudoField) }
            guard value.count <= self.limits.targetBytes else {
                throw .refused(WireRejection(.wireTargetTooLong))
            }
            self.pseudo.path = range
        } else if name.spells(":method") {
            guard self.pseudo.method == nil else { throw .malformed(.wirePseudoField) }
            guard value.count <= RequestLine.maxMethodBytes else {
                throw .refused(WireRejection(.requestMethodTooLong))
            }
            self.pseudo.method = range
        } else if name.spells(":authority") {
            guard self.pseudo.authority == nil else { throw .malformed(.wirePseudoField) }
            self.pseudo.authority = range
        } else if name.spells(":scheme") {
            guard self.pseudo.scheme == nil else { throw .malformed(.wirePseudoField) }
            self.pseudo.scheme = value.spells(self.scheme)
        } else if self.takesWebSockets, name.spells(":protocol") {
            guard !self.pseudo.isWebSocket, value.spells("websocket") else { throw .malformed(.wirePseudoField) }
            self.pseudo.isWebSocket = true
        } else {
            throw .malformed(.wirePseudoField)
        }
        self.early.append(value)
    }

    /// Crumbs are one field again; an empty one would only leave white space at its end.
    ///
    /// RFC 9113 §8.2.3.
    private func takeCookie(_ crumb: Span<UInt8>) {
        guard !crumb.isEmpty else { return }
        if self.cookies.readableBytes > 0 { self.cookies.writeStaticString("; ") }
        self.cookies.append(crumb)
    }

    private func writeCookies() throws(HTTP2FieldsRejection) {
        let name = HTTP2RequestHeadBuilder.cookieName
        let cookies = self.cookies
        let value = cookies.readableBytesUInt8Span
        try self.lines.refuseExcess(name.span, value)
        self.lines.write(name.span, value, as: .cookie)
    }

    /// A `host` beside `:authority` must mean the same and is dropped.
    ///
    /// RFC 9113 §8.3.1.
    private func compare(host: Span<UInt8>) throws(HTTP2FieldsRejection) {
        guard !self.hasHost else { throw .refused(.malformed(.requestRepeatedHost)) }
        self.hasHost = true
        guard let range = self.pseudo.authority else { return }
        let early = self.early
        let authority = early.readableBytesUInt8Span.extracting(range)
        guard !authority.isEqual(to: host) else { return }
        guard let one = RequestAuthority(authority.text), let other = RequestAuthority(host.text), one == other else {
            throw .refused(.malformed(.requestHostDiffersFromTarget))
        }
    }
}

// MARK: The head

extension HTTP2RequestHeadBuilder {
    /// The start line, written when the first field that is no pseudo-field comes, or at the end.
    private func openedLine() throws(HTTP2FieldsRejection) -> RequestLine {
        if let line { return line }
        guard let method = self.pseudo.method else { throw .malformed(.wirePseudoField) }
        let values = self.early
        let early = values.readableBytesUInt8Span
        guard early.extracting(method).isToken else { throw .refused(.malformed(.requestStartLine)) }
        let known = try self.known(early, method)
        guard let path = self.pseudo.path, let isOurScheme = self.pseudo.scheme else {
            throw .malformed(.wirePseudoField)
        }
        guard isOurScheme else { throw .refused(.malformed(.requestScheme)) }
        let isPlain = try self.check(path: early.extracting(path))
        let line = self.write(known, path, isPlain: isPlain)
        self.line = line
        return line
    }

    /// The method; a `CONNECT` for a WebSocket is the `GET` that it would be over HTTP/1.1.
    ///
    /// RFC 8441 §5.
    private func known(_ early: Span<UInt8>, _ method: Range<Int>) throws(HTTP2FieldsRejection) -> RequestMethod {
        guard !self.pseudo.isWebSocket else {
            guard early.extracting(method).spells("CONNECT") else { throw .malformed(.wirePseudoField) }
            return .get
        }
        do {
            return try RequestLine.method(early, method)
        } catch {
            throw .refused(error)
        }
    }

    /// A path begins with a slash, or is the asterisk; it is never a whole URL, as over HTTP/1.1 it may be.
    ///
    /// - Returns: Whether it holds only what RFC 3986 allows.
    private func check(path: Span<UInt8>) throws(HTTP2FieldsRejection) -> Bool {
        guard path[0] == UInt8(ascii: "/") || path.spells("*") else {
            throw .refused(.malformed(.requestTarget))
        }
        var isPlain = true
        for index in path.indices where !ByteClass.isTarget(path[index]) {
            guard ByteClass.isLenientTarget(path[index]) else {
                throw .refused(.malformed(path[index] == UInt8(ascii: "#") ? .requestFragment : .requestTarget))
            }
            isPlain = false
        }
        return isPlain
    }

    private func write(_ method: RequestMethod, _ path: Range<Int>, isPlain: Bool) -> RequestLine {
        let values = self.early
        let early = values.readableBytesSpan
        self.lines.bytes.writeString(method.rawValue)
        self.lines.bytes.writeStaticString(" ")
        let start = self.lines.bytes.readableBytes
        self.lines.bytes.writeBytes(early.extracting(path))
        let line = RequestLine(method, target: start..<(start + path.count), isTargetPlain: isPlain)
        self.lines.bytes.writeStaticString(" HTTP/1.1\r\n")
        if let authority = self.pseudo.authority {
            let name = HTTP2RequestHeadBuilder.hostName
            self.lines.write(name.span, values.readableBytesUInt8Span.extracting(authority), as: .host)
        }
        return line
    }

    private func head(
        _ message: MessageHead,
        _ line: RequestLine,
        endsStream: Bool
    ) throws(WireRejection) -> RequestHead {
        let census = try SingletonFields(of: message)
        let target = try RequestTarget(line, in: message, scheme: self.scheme)
        let found = try census.authority(of: message, known: self.known)
        if found !== self.known { self.known = found }
        var framing = try census.framing(of: message, minorVersion: 1)
        if self.pseudo.isWebSocket {
            guard !endsStream, message.first(.contentLength) == nil else {
                throw .malformed(.framingBodyNotAllowed)
            }
        } else if endsStream {
            guard framing == .none else { throw .malformed(.framingLength) }
        } else if framing == .none, message.first(.contentLength) == nil {
            framing = .chunked
        }
        return RequestHead(
            message: message,
            line: line,
            target: target,
            host: found,
            framing: framing,
            keepsAlive: true,
            expectsContinue: try census.expectsContinue(message, minorVersion: 1),
            isExtendedConnect: self.pseudo.isWebSocket,
            isHTTP2: true,
            hasIrregularNames: census.hasIrregularNames,
            hasLoopField: census.hasLoopField
        )
    }
}

/// Where the values of the pseudo-fields stand, until the start line is written.
private struct PseudoFields: Sendable {
    var method: Range<Int>?
    var path: Range<Int>?
    var authority: Range<Int>?
    /// Whether the scheme is the connection's.
    var scheme: Bool?
    /// Whether `:protocol` asks for a WebSocket.
    var isWebSocket = false
}
