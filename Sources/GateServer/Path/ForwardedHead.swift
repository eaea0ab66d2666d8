// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GateSessions
internal import GateWire
internal import NIOCore

/// Writes the heads that go to apps and back to browsers, from checked lines and lines of ours.
struct ForwardedHead {
    /// What the app is told of the way the request came.
    struct Way {
        let peer: IPAddress?
        let peerText: String
        let isSecure: Bool
        /// Whether the peer is a proxy whose word is believed.
        let isTrusted: Bool
        /// The line that marks the request as one that passed the gateway.
        let marker: String
        /// Whether the app wants `Forwarded` as well.
        var sendsForwarded = false
        /// The lines for an authority, kept because they are the same for each request of a connection.
        fileprivate var known: (authority: String, lines: ByteBuffer)?

        init(
            peer: IPAddress?,
            peerText: String,
            isSecure: Bool,
            isTrusted: Bool,
            sendsForwarded: Bool = false,
            marker: String = ""
        ) {
            self.peer = peer
            self.peerText = peerText
            self.isSecure = isSecure
            self.isTrusted = isTrusted
            self.sendsForwarded = sendsForwarded
            self.marker = marker
        }

        /// The lines for requests to an authority over this connection; nil if they depend on the request itself.
        fileprivate mutating func lines(for authority: String) -> ByteBuffer? {
            guard !self.isTrusted, !self.sendsForwarded else { return nil }
            if let known, known.authority == authority { return known.lines }
            var lines = ByteBuffer()
            lines.writeString("X-Forwarded-For: \(self.peerText)\r\n")
            lines.writeString("X-Forwarded-Proto: \(self.isSecure ? "https" : "http")\r\n")
            lines.writeString("X-Forwarded-Host: \(authority)\r\n")
            lines.writeString(self.marker)
            self.known = (authority, lines)
            return lines
        }
    }

    /// The head for the app: request line, host, the client's own lines, the way, the identity, one framing line.
    static func request(
        _ head: RequestHead,
        way: inout Way,
        identity: ByteBuffer?,
        changes: RequestChanges? = nil,
        requestID: RequestID,
        into buffer: consuming ByteBuffer
    ) -> ByteBuffer {
        var writer = HeadWriter(into: buffer)
        writer.writeRequestLine(of: head, droppingPrefix: changes?.prefixLength ?? 0)
        writer.writeLine("Host", changes?.host ?? head.authority.text)
        let options = head.message.connectionOptions()
        if let edits = changes?.edits {
            writer.copyLines(of: head.message) { field in
                self.isKept(field, of: head.message, removing: options) && !edits.takesAway(field, of: head.message)
            }
        } else {
            writer.copyLines(of: head.message) { self.isKept($0, of: head.message, removing: options) }
        }
        if changes?.keepsCookies ?? true { self.writeCookies(of: head, to: &writer) }
        if let edits = changes?.edits { writer.buffer.writeImmutableBuffer(edits.lines) }
        if let lines = way.lines(for: head.authority.text) {
            writer.buffer.writeImmutableBuffer(lines)
            self.write(requestID, to: &writer)
        } else {
            self.writeWay(way, of: head, requestID: requestID, to: &writer)
        }
        writer.writeFraming(ofRequest: head)
        if let identity { writer.buffer.writeImmutableBuffer(identity) }
        return writer.finish()
    }

    /// The head for the browser: our status line, the app's lines, one framing line.
    static func answer(
        _ head: ResponseHead,
        to request: RequestHead,
        framing: BodyFraming,
        closes: Bool,
        edits: LineEdits? = nil,
        into buffer: consuming ByteBuffer
    ) -> ByteBuffer {
        var writer = HeadWriter(into: buffer)
        writer.writeStatusLine(head.status)
        let options = head.message.connectionOptions()
        let keepsLength = request.method.isHead || head.status == 304
        writer.copyLines(of: head.message) { field in
            if let edits, edits.takesAway(field, of: head.message) { return false }
            switch field.name {
            case .contentLength: return keepsLength
            case .managed: return false
            case .setCookie: return !self.isOurs(field, of: head.message)
            case .other where options.isEmpty: return true
            default: return !field.name.isHopByHop && !self.isNamed(field, of: head.message, in: options)
            }
        }
        if let edits { writer.buffer.writeImmutableBuffer(edits.lines) }
        if framing == .none, !keepsLength, head.status != 204, head.status >= 200 {
            writer.writeLine("Content-Length", "0")
        } else {
            writer.writeFraming(framing)
        }
        if closes { writer.buffer.writeStaticString("Connection: close\r\n") }
        return writer.finish()
    }

    private static func isKept(_ field: FieldSlot, of message: MessageHead, removing options: [String]) -> Bool {
        switch field.name {
        case .managed, .host, .cookie, .contentLength, .expect, .forwarded, .xForwardedFor, .xForwardedProto,
            .xForwardedHost, .xRequestID:
            return false
        case .other, .accept, .authorization, .content, .origin, .secFetchMode, .secFetchSite, .xRequestedWith,
            .cdnLoop, .setCookie:
            if options.isEmpty || field.name.isProtectedFromConnection { return true }
            return !self.isNamed(field, of: message, in: options)
        case .connection, .keepAlive, .proxyConnection, .proxyAuthorization, .proxyAuthenticate, .transferEncoding, .te,
            .trailer, .upgrade, .http2Settings:
            return false
        }
    }

    private static func isNamed(_ field: FieldSlot, of message: MessageHead, in options: [String]) -> Bool {
        guard !options.isEmpty else { return false }
        return options.contains(message.text(field.nameRange).lowercased())
    }

    private static func isOurs(_ field: FieldSlot, of message: MessageHead) -> Bool {
        GateCookie.mayBeReadAsOurs(message.bytes.readableBytesUInt8Span.extracting(field.valueRange))
    }

    /// The client's cookies without ours.
    private static func writeCookies(of head: RequestHead, to writer: inout HeadWriter) {
        guard let field = head.message.first(.cookie) else { return }
        let offset = field.valueRange.lowerBound
        var isFirst = true
        let sent = head.message
        let bytes = sent.bytes.readableBytesUInt8Span.extracting(field.valueRange)
        CookieHeader.forEachForeign(in: bytes) { range in
            writer.buffer.writeStaticString(isFirst ? "Cookie: " : "; ")
            writer.copy((range.lowerBound + offset)..<(range.upperBound + offset), of: sent)
            isFirst = false
        }
        if !isFirst { writer.buffer.writeStaticString("\r\n") }
    }

    private static func writeWay(_ way: Way, of head: RequestHead, requestID: RequestID, to writer: inout HeadWriter) {
        let earlier = way.isTrusted ? self.believedAddresses(head.message) : nil
        let scheme = (way.isTrusted ? self.believedProtocol(head.message) : nil) ?? (way.isSecure ? "https" : "http")
        let addresses = earlier.map { "\($0), \(way.peerText)" } ?? way.peerText
        writer.writeLine("X-Forwarded-For", addresses)
        writer.writeLine("X-Forwarded-Proto", scheme)
        writer.writeLine("X-Forwarded-Host", head.authority.text)
        writer.buffer.writeString(way.marker)
        if way.isTrusted, let believed = self.believedRequestID(head.message) {
            writer.writeLine("X-Request-Id", believed)
        } else {
            self.write(requestID, to: &writer)
        }
        guard way.sendsForwarded else { return }
        let nodes = addresses.split(separator: ",").map { self.node($0.trimmingOptionalSpace()) }
        let last = "host=\"\(head.authority.text)\";proto=\(scheme)"
        let elements = nodes.enumerated().map {
            $0.offset == nodes.count - 1 ? "for=\($0.element);\(last)" : "for=\($0.element)"
        }
        writer.writeLine("Forwarded", elements.joined(separator: ", "))
    }

    private static func write(_ requestID: RequestID, to writer: inout HeadWriter) {
        writer.buffer.writeStaticString("X-Request-Id: ")
        requestID.write(to: &writer.buffer)
        writer.buffer.writeStaticString("\r\n")
    }

    /// An address as a node of `Forwarded`; IPv6 in brackets and quotes.
    ///
    /// RFC 7239 §6.
    private static func node(_ address: String) -> String {
        guard IPAddress(address) != nil else { return "unknown" }
        return address.contains(":") ? "\"[\(address)]\"" : address
    }

    /// The addresses a believed proxy reports, if each of them is one; what cannot be read is not passed on.
    static func believedAddresses(_ message: MessageHead) -> String? {
        let lines = message.fields.filter { $0.name == .xForwardedFor }.map { message.text($0.valueRange) }
        let listed = lines.joined(separator: ",").split(separator: ",").map { $0.trimmingOptionalSpace() }
        let addresses = lines.isEmpty ? ForwardedField.parameters("for", in: message) : listed
        guard !addresses.isEmpty, addresses.count <= 32, addresses.allSatisfy({ IPAddress($0) != nil }) else {
            return nil
        }
        return addresses.joined(separator: ", ")
    }

    private static func believedProtocol(_ message: MessageHead) -> String? {
        let named = message.count(.xForwardedProto) == 1 ? message.value(.xForwardedProto) : nil
        let isSilent = message.first(.xForwardedProto) == nil
        guard let text = named ?? (isSilent ? ForwardedField.parameters("proto", in: message).last : nil) else {
            return nil
        }
        return text == "https" || text == "http" ? text : nil
    }

    /// A request id of at most 128 visible characters that cannot break a log line.
    private static func believedRequestID(_ message: MessageHead) -> String? {
        guard message.count(.xRequestID) == 1, let text = message.value(.xRequestID) else { return nil }
        let plain = text.utf8.allSatisfy { PercentEncoding.isUnreserved($0) || $0 == UInt8(ascii: ":") }
        return (1...128).contains(text.utf8.count) && plain ? text : nil
    }
}

/// The `Forwarded` field of a proxy that is believed.
///
/// RFC 7239 §4.
enum ForwardedField {
    /// The values of one parameter, element by element; none if the field has any element that is not plain.
    static func parameters(_ name: String, in message: MessageHead) -> [String] {
        let lines = message.fields.filter { $0.name == .forwarded }.map { message.text($0.valueRange) }
        guard !lines.isEmpty, lines.allSatisfy({ $0.utf8.count <= 4096 }) else { return [] }
        var values: [String] = []
        for element in lines.joined(separator: ",").split(separator: ",") {
            for pair in element.split(separator: ";") {
                let sides = pair.trimmingOptionalSpace().split(separator: "=", omittingEmptySubsequences: false)
                guard sides.count == 2, !sides[1].contains("\\") else { return [] }
                if sides[0].lowercased() == name { values.append(self.plain(String(sides[1]))) }
            }
        }
        return values
    }

    /// A value without its quotes, and an address without brackets and port.
    private static func plain(_ value: String) -> String {
        let bare =
            value.hasPrefix("\"") && value.hasSuffix("\"") && value.count > 1
            ? String(value.dropFirst().dropLast()) : value
        if bare.hasPrefix("["), let end = bare.firstIndex(of: "]") {
            return String(bare[bare.index(after: bare.startIndex)..<end])
        }
        guard let colon = bare.firstIndex(of: ":"), bare.filter({ $0 == ":" }).count == 1 else { return bare }
        return String(bare[..<colon])
    }
}
