// SPDX-License-Identifier: Apache-2.0

internal import GateCore
package import NIOCore

/// Builds a request head from HTTP/2 fields, in the form of HTTP/1.1.
///
/// RFC 9113 §8.3.1. One per connection, because field sections do not interleave. ``finish(endsStream:)`` throws the
/// first rejection; the fields after it are only counted. A class, since a struct in a property would be copied at each
/// access; confined to the connection's event loop.
package final class HTTP2RequestHeadBuilder {
    private let limits: HeadLimits
    private let scheme: String
    /// Whether `CONNECT` may ask for a WebSocket.
    private let takesWebSockets: Bool
    private let lines: FieldLineWriter
    private var rejection: HTTP2FieldsRejection?
    /// The hints in the fields after the first rejected one.
    private var hints = BrowserHints()
    /// The values of the pseudo-header fields until the start line is written.
    private var pseudoValues = ByteBuffer()
    private var pseudo = PseudoHeaderFields()
    private var cookies = ByteBuffer()
    private var hasHost = false
    private var line: RequestLine?
    private var known: RequestAuthority?
    private static let hostName = Array("host".utf8)
    private static let cookieName = Array("cookie".utf8)

    /// A builder for one connection.
    package init(limits: HeadLimits = .request, isSecure: Bool, takesWebSockets: Bool = false) {
        self.limits = limits
        self.takesWebSockets = takesWebSockets
        self.scheme = isSecure ? "https" : "http"
        self.lines = FieldLineWriter(limits: limits, isRequest: true)
    }

    /// Starts a head in a buffer that is not shared.
    package func begin(names: FieldNames, into buffer: consuming ByteBuffer) {
        self.lines.begin(names: names, into: buffer)
        self.rejection = nil
        self.hints = BrowserHints()
        self.pseudoValues.clear()
        self.cookies.clear()
        self.pseudo = PseudoHeaderFields()
        self.hasHost = false
        self.line = nil
    }

    /// Whether the method is `HEAD`, also in a rejected request.
    package var isHead: Bool {
        guard let method = self.pseudo.method else { return false }
        let early = self.pseudoValues
        return early.readableBytesUInt8Span.extracting(method).spells("HEAD")
    }

    /// The names with a meaning.
    package var names: FieldNames { self.lines.names }

    /// Whether the decoded fields are so far over the limit that the connection is closed (HPACK bomb).
    package var isBomb: Bool { self.lines.decoded > 4 * self.limits.bytes + 64 * 1024 }

    /// How many bytes of the head are kept at the moment.
    package var heldBytes: Int {
        self.lines.bytes.storageCapacity + self.pseudoValues.storageCapacity + self.cookies.storageCapacity
    }

    /// Whether a rejected request looks like a browser navigation, which gets an error page.
    package var wantsPage: Bool { self.hints.wantsPage || BrowserHints(in: self.lines.bytes).wantsPage }

    /// Counts a field that is dropped, such as one of a trailer section.
    package func skip(name: Span<UInt8>, value: Span<UInt8>) {
        self.lines.count(name, value)
    }

    /// Adds the next field.
    package func append(name: Span<UInt8>, value: Span<UInt8>) {
        self.lines.count(name, value)
        guard self.rejection == nil else { return self.hints.note(name: name, value: value) }
        do {
            try self.take(name, value)
        } catch {
            self.rejection = error
        }
    }

    /// The checked head.
    ///
    /// - Parameter endsStream: Whether no body follows.
    /// - Returns: The head, checked.
    /// - Throws: The first rejection.
    package func finish(endsStream: Bool) throws(HTTP2FieldsRejection) -> RequestHead {
        if let rejection { throw rejection }
        let line = try self.openedLine()
        if self.cookies.readableBytes > 0 { try self.writeCookies() }
        let message = try self.lines.finish()
        do {
            return try self.head(message, line, endsStream: endsStream)
        } catch {
            self.hints = BrowserHints(in: message.bytes)
            throw .rejected(error)
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
        try self.lines.checkLimits(name, value)
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
        // Before the value is noted, so that only values within the limits are.
        try self.lines.checkLimits(name, value)
        let start = self.pseudoValues.readableBytes
        let range = start..<(start + value.count)
        if name.spells(":path") {
            guard self.pseudo.path == nil, !value.isEmpty else { throw .malformed(.wirePseudoField) }
            guard value.count <= self.limits.targetBytes else {
                throw .rejected(WireRejection(.wireTargetTooLong))
            }
            self.pseudo.path = range
        } else if name.spells(":method") {
            guard self.pseudo.method == nil else { throw .malformed(.wirePseudoField) }
            guard value.count <= RequestLine.maxMethodBytes else {
                throw .rejected(WireRejection(.requestMethodTooLong))
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
        self.pseudoValues.append(value)
    }

    /// Joins cookie crumbs to one field; an empty crumb would leave white space at its end.
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
        try self.lines.checkLimits(name.span, value)
        self.lines.write(name.span, value, as: .cookie)
    }

    /// Compares `host` with `:authority`, which must mean the same; `host` is dropped.
    ///
    /// RFC 9113 §8.3.1.
    private func compare(host: Span<UInt8>) throws(HTTP2FieldsRejection) {
        guard !self.hasHost else { throw .rejected(.malformed(.requestRepeatedHost)) }
        self.hasHost = true
        guard let range = self.pseudo.authority else { return }
        let early = self.pseudoValues
        let authority = early.readableBytesUInt8Span.extracting(range)
        guard !authority.isEqual(to: host) else { return }
        guard let one = RequestAuthority(authority.copied), let other = RequestAuthority(host.copied),
            one.means(other)
        else {
            throw .rejected(.malformed(.requestHostDiffersFromTarget))
        }
    }
}

// MARK: The head

extension HTTP2RequestHeadBuilder {
    /// The start line, written before the first regular field, or at the end.
    private func openedLine() throws(HTTP2FieldsRejection) -> RequestLine {
        if let line { return line }
        guard let method = self.pseudo.method else { throw .malformed(.wirePseudoField) }
        let values = self.pseudoValues
        let early = values.readableBytesUInt8Span
        guard early.extracting(method).isToken else { throw .rejected(.malformed(.requestStartLine)) }
        let known = try self.known(early, method)
        guard let path = self.pseudo.path, let isOurScheme = self.pseudo.scheme else {
            throw .malformed(.wirePseudoField)
        }
        guard isOurScheme else { throw .rejected(.malformed(.requestScheme)) }
        let isPlain = try self.check(path: early.extracting(path))
        let line = self.write(known, path, isPlain: isPlain)
        self.line = line
        return line
    }

    /// The method; `CONNECT` for a WebSocket counts as `GET`, as over HTTP/1.1.
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
            throw .rejected(error)
        }
    }

    /// Checks that a path begins with a slash or is the asterisk; unlike in HTTP/1.1 it is never a whole URL.
    ///
    /// - Returns: Whether it has only characters that RFC 3986 allows.
    private func check(path: Span<UInt8>) throws(HTTP2FieldsRejection) -> Bool {
        guard path[0] == UInt8(ascii: "/") || path.spells("*") else {
            throw .rejected(.malformed(.requestTarget))
        }
        var isPlain = true
        for index in path.indices where !ByteClass.isTarget(path[index]) {
            guard ByteClass.isLenientTarget(path[index]) else {
                throw .rejected(.malformed(path[index] == UInt8(ascii: "#") ? .requestFragment : .requestTarget))
            }
            isPlain = false
        }
        return isPlain
    }

    private func write(_ method: RequestMethod, _ path: Range<Int>, isPlain: Bool) -> RequestLine {
        let values = self.pseudoValues
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
        let singletons = try SingletonFields(of: message)
        let target = try RequestTarget(line, in: message, scheme: self.scheme)
        let found = try singletons.authority(of: message, known: self.known)
        if found !== self.known { self.known = found }
        var framing = try singletons.framing(of: message, minorVersion: 1)
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
            authority: found,
            framing: framing,
            keepsAlive: true,
            expectsContinue: try singletons.expectsContinue(message, minorVersion: 1),
            isExtendedConnect: self.pseudo.isWebSocket,
            isHTTP2: true,
            hasIrregularNames: singletons.hasIrregularNames,
            hasLoopField: singletons.hasLoopField
        )
    }
}

/// The ranges of the values of the pseudo-header fields, until the start line is written.
private struct PseudoHeaderFields: Sendable {
    var method: Range<Int>?
    var path: Range<Int>?
    var authority: Range<Int>?
    /// Whether the scheme is the connection's.
    var scheme: Bool?
    /// Whether `:protocol` asks for a WebSocket.
    var isWebSocket = false
}
