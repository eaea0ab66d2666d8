// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import GateHTTP
internal import GateSessions
package import GateWire
package import NIOCore

/// Writes the heads that go to apps and back to browsers, from checked lines and lines of ours.
package struct ForwardedHead {
    /// How requests arrive, as the app sees it in the forwarded headers.
    package final class Downstream {
        let peer: IPAddress?
        let peerText: String
        let isSecure: Bool
        /// Whether the peer is a trusted proxy.
        package let isTrusted: Bool
        /// The networks of all trusted proxies.
        let proxies: [CIDRRange]
        /// The line that marks the request as one that passed the gateway.
        let marker: String
        /// The lines for an authority, kept because they are the same for each request of a connection.
        fileprivate var known: (authority: String, lines: ByteBuffer)?

        /// How requests come over a connection.
        package init(
            peer: IPAddress?,
            peerText: String,
            isSecure: Bool,
            isTrusted: Bool,
            trusting proxies: [CIDRRange] = [],
            marker: String = ""
        ) {
            self.peer = peer
            self.peerText = peerText
            self.isSecure = isSecure
            self.isTrusted = isTrusted
            self.proxies = proxies
            self.marker = marker
        }

        /// The lines for requests to an authority over this connection; nil if they depend on the request itself.
        fileprivate func lines(for authority: String) -> ByteBuffer? {
            guard !self.isTrusted else { return nil }
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

    /// The head for the app: request line, host, the client's own lines, the forwarding lines, the identity, one framing line.
    ///
    /// - Parameters:
    ///   - head: The request.
    ///   - authority: The host and port under which browsers reach the app, for the app; the client's
    ///     own `Host` has found the route by its host alone.
    ///   - downstream: The connection from which the request came.
    ///   - sendsForwarded: Whether the app wants `Forwarded` as well.
    ///   - identity: The identity lines; nil on what is open to all.
    ///   - certificate: The lines with the certificate of the client; nil for none.
    ///   - changes: What the app wants otherwise; nil for nothing.
    ///   - requestID: The id of the request.
    ///   - traceParent: The `traceparent` of the gateway's own span; nil while tracing is off.
    ///   - endsConnection: Whether the head has `Connection: close`.
    ///   - hidesAuthorization: Whether `Authorization` of the client is meant for the gateway.
    ///   - buffer: The buffer for the head.
    /// - Returns: The head, complete.
    package static func request(
        _ head: RequestHead,
        authority: String,
        downstream: Downstream,
        sendsForwarded: Bool = false,
        identity: ByteBuffer?,
        certificate: ByteBuffer? = nil,
        changes: RequestChanges? = nil,
        requestID: RequestID,
        traceParent: String? = nil,
        endsConnection: Bool = false,
        hidesAuthorization: Bool,
        into buffer: consuming ByteBuffer
    ) -> ByteBuffer {
        let options = head.message.connectionOptions()
        return HeadWriter.head(into: buffer) { writer in
            writer.writeRequestLine(of: head, mappedBy: changes?.paths)
            writer.writeLine("Host", changes?.host ?? authority)
            if let changes {
                self.copyLines(of: head, removing: options, changes, hidesAuthorization, to: &writer)
            } else {
                writer.copyLines(of: head.message) { field in
                    guard !hidesAuthorization || field.name != .authorization else { return false }
                    return self.isKept(field, of: head.message, removing: options)
                }
            }
            if changes?.keepsCookies ?? true { self.writeCookies(of: head, to: &writer) }
            if let edits = changes?.edits { writer.write(edits.lines) }
            if !sendsForwarded, let lines = downstream.lines(for: authority) {
                writer.write(lines)
            } else {
                self.writeForwarded(downstream, of: head, authority: authority, sendsForwarded, to: &writer)
            }
            requestID.writeLine(to: &writer)
            if let traceParent, changes?.edits?.takesAway("traceparent") != true {
                writer.writeLine("traceparent", traceParent)
            }
            if endsConnection { writer.writeLiteral("Connection: close\r\n") }
            writer.writeFraming(ofRequest: head)
            if let certificate { writer.write(certificate) }
            if let identity { writer.write(identity) }
        }
    }

    /// The client's lines, as the app wants them.
    private static func copyLines(
        of head: RequestHead,
        removing options: Set<String>,
        _ changes: RequestChanges,
        _ hidesAuthorization: Bool,
        to writer: inout HeadWriter
    ) {
        let message = head.message
        var rewritten: [(name: StaticString, value: String)] = []
        writer.copyLines(of: message) { field in
            guard !hidesAuthorization || field.name != .authorization else { return false }
            if let edits = changes.edits {
                if field.name == .managed, edits.keeps(field, of: message) { return true }
                if edits.takesAway(field, of: message) { return false }
            }
            if field.name == .irregular {
                return changes.forwardsIrregular && !self.isNamed(field, of: message, in: options)
                    && changes.edits?.takesAway(self.regularName(of: field, in: message)) != true
            }
            if let origin = changes.origin, let name = OriginRewrite.name(field.name),
                let value = origin.value(for: message.text(field.valueRange), on: head.authority.host)
            {
                rewritten.append((name, value))
                return false
            }
            return self.isKept(field, of: message, removing: options)
        }
        for line in rewritten {
            writer.writeLine(line.name, line.value)
        }
    }

    /// The name that an app may read in an irregular one.
    private static func regularName(of field: FieldLine, in message: MessageHead) -> String {
        String(message.text(field.nameRange).lowercased().map { $0.isLetter || $0.isNumber ? $0 : "-" })
    }

    /// The head for the browser: our status line, the app's lines, one framing line.
    ///
    /// - Parameters:
    ///   - head: What the app sent.
    ///   - request: What it responds to.
    ///   - requestID: The id for a response without one, so that a user can name the request to the operator.
    ///   - framing: How the body is sent to the client.
    ///   - closes: Whether the connection ends with the response.
    ///   - changes: What the route wants otherwise; nil for nothing.
    ///   - date: For a response without a `Date`, RFC 9110 §6.6.1.
    ///   - buffer: The buffer for the head.
    /// - Returns: The head, complete.
    package static func response(
        _ head: ResponseHead,
        to request: RequestHead,
        requestID: RequestID,
        framing: BodyFraming,
        closes: Bool,
        changes: ResponseChanges? = nil,
        date: DateLine,
        into buffer: consuming ByteBuffer
    ) -> ByteBuffer {
        let options = head.message.connectionOptions()
        let edits = changes?.edits
        // With HTTP/2, the frame that carries the head shows that nothing follows; a length would be one the app did not send.
        let hasNoBody =
            request.method.isHead || head.status == 304
            || (request.isHTTP2 && framing == .none && head.status != 204)
        return HeadWriter.head(into: buffer) { writer in
            writer.writeStatusLine(of: head)
            var keepsLength = hasNoBody
            var hasID = false
            var hasDate = false
            var noticed = ResponseChanges.Noticed()
            writer.copyLines(of: head.message) { field in
                if let edits, edits.takesAway(field, of: head.message) { return false }
                switch field.name {
                case .contentLength:
                    defer { keepsLength = false }
                    return keepsLength
                case .managed: return false
                case .setCookie:
                    guard !self.isOurs(field, of: head.message) else { return false }
                    guard changes?.locations?.mapsCookies == true else { return true }
                    noticed.leftOut = true
                    return false
                case .other where options.isEmpty: return true
                case .date:
                    hasDate = true
                    return true
                case .xRequestID:
                    hasID = !self.isNamed(field, of: head.message, in: options)
                    return hasID
                case .contentType:
                    noticed.note(type: field, of: head.message)
                    return true
                case .caching:
                    noticed.setsCaching = true
                    return true
                case .location, .contentLocation, .refresh:
                    guard changes?.value(of: field, in: head.message, for: request) != nil else { return true }
                    noticed.leftOut = true
                    return false
                default: return !field.name.isHopByHop && !self.isNamed(field, of: head.message, in: options)
                }
            }
            if !hasDate, edits?.takesAway("date") != true { writer.write(date.now) }
            if !hasID { requestID.writeLine(to: &writer) }
            if let changes { changes.write(head, noticed, for: request, to: &writer) }
            if let edits { writer.write(edits.lines) }
            if framing == .none, !hasNoBody, head.status != 204, head.status >= 200 {
                writer.writeLine("Content-Length", "0")
            } else {
                writer.writeFraming(framing)
            }
            if closes { writer.writeLiteral("Connection: close\r\n") }
        }
    }

    private static func isKept(_ field: FieldLine, of message: MessageHead, removing options: Set<String>) -> Bool {
        switch field.name {
        case .managed, .host, .cookie, .contentLength, .expect, .forwarded, .xForwardedFor, .xForwardedProto,
            .xForwardedHost, .xRequestID, .irregular, .disguised:
            return false
        case .other, .accept, .authorization, .content, .contentType, .contentLocation, .location, .refresh, .referer,
            .destination, .date, .caching, .origin, .secFetchMode, .secFetchSite, .xRequestedWith, .cdnLoop, .setCookie,
            .traceParent, .traceState:
            if options.isEmpty || field.name.isProtectedFromConnection { return true }
            return !self.isNamed(field, of: message, in: options)
        case .connection, .keepAlive, .proxyConnection, .proxyAuthorization, .proxyAuthenticate, .transferEncoding, .te,
            .trailer, .upgrade, .http2Settings:
            return false
        }
    }

    private static func isNamed(_ field: FieldLine, of message: MessageHead, in options: Set<String>) -> Bool {
        guard !options.isEmpty else { return false }
        return options.contains(message.text(field.nameRange).lowercased())
    }

    static func isOurs(_ field: FieldLine, of message: MessageHead) -> Bool {
        GatewayCookie.mayBeReadAsOurs(message.bytes.readableBytesUInt8Span.extracting(field.valueRange))
    }

    /// The client's cookies without ours.
    private static func writeCookies(of head: RequestHead, to writer: inout HeadWriter) {
        guard let field = head.message.first(.cookie) else { return }
        let offset = field.valueRange.lowerBound
        var isFirst = true
        let sent = head.message
        let bytes = sent.bytes.readableBytesUInt8Span.extracting(field.valueRange)
        CookieHeader.forEachForeign(in: bytes) { range in
            writer.writeLiteral(isFirst ? "Cookie: " : "; ")
            writer.copy((range.lowerBound + offset)..<(range.upperBound + offset), of: sent)
            isFirst = false
        }
        if !isFirst { writer.writeLiteral("\r\n") }
    }

    private static func writeForwarded(
        _ downstream: Downstream,
        of head: RequestHead,
        authority: String,
        _ sendsForwarded: Bool,
        to writer: inout HeadWriter
    ) {
        var earlier = downstream.isTrusted ? self.trustedAddresses(head.message, trusting: downstream.proxies) : nil
        // Where two fields contradict each other, the IP of the proxy alone would pass for that of the client.
        if earlier == nil, downstream.isTrusted, self.namesClientsTwice(head.message) { earlier = ["unknown"] }
        let scheme =
            (downstream.isTrusted ? self.trustedProtocol(head.message) : nil)
            ?? (downstream.isSecure ? "https" : "http")
        // A peer without an IP, at a Unix socket, is not an entry of a list of IPs.
        let peer = earlier != nil && downstream.peer == nil ? [] : [downstream.peerText]
        let addresses = ((earlier ?? []) + peer).joined(separator: ", ")
        writer.writeLine("X-Forwarded-For", addresses)
        writer.writeLine("X-Forwarded-Proto", scheme)
        writer.writeLine("X-Forwarded-Host", authority)
        writer.write(downstream.marker)
        guard sendsForwarded else { return }
        let nodes = addresses.split(separator: ",").map { self.node($0.trimmingOptionalSpace()) }
        let last = "host=\"\(authority)\";proto=\(scheme)"
        let elements = nodes.enumerated().map {
            $0.offset == nodes.count - 1 ? "for=\($0.element);\(last)" : "for=\($0.element)"
        }
        writer.writeLine("Forwarded", elements.joined(separator: ", "))
    }

    /// An address as a node of `Forwarded`; IPv6 in brackets and quotes.
    ///
    /// RFC 7239 §6.
    private static func node(_ address: String) -> String {
        guard IPAddress(address) != nil else { return "unknown" }
        return address.contains(":") ? "\"[\(address)]\"" : address
    }

    /// The client IPs that trusted proxies report, read from the right up to the first that is not an IP; nil for none.
    ///
    /// Proxies append, so entries further left are the client's own and untrusted; they are not passed on. Where
    /// `X-Forwarded-For` and `Forwarded` lead to different clients, one of the two is what the client wrote itself, and
    /// nothing shows which: the client is unknown.
    static func trustedAddresses(_ message: MessageHead, trusting proxies: [CIDRRange]) -> [String]? {
        let forwarded = message.namesClients ? self.addresses(of: message.forwardedParameters("for")) : nil
        let lines = message.fields.filter { $0.name == .xForwardedFor }.map { message.text($0.valueRange) }
        guard !lines.isEmpty else { return forwarded.flatMap { $0.isEmpty ? nil : $0 } }
        let listed = lines.joined(separator: ",").split(separator: ",", omittingEmptySubsequences: false)
        let addresses = self.addresses(of: listed.map { $0.trimmingOptionalSpace() })
        if let forwarded, self.client(in: forwarded, trusting: proxies) != self.client(in: addresses, trusting: proxies)
        {
            return nil
        }
        return addresses.isEmpty ? nil : addresses
    }

    /// Whether both fields name clients, readable or not.
    private static func namesClientsTwice(_ message: MessageHead) -> Bool {
        message.namesClients && message.fields.contains { $0.name == .xForwardedFor }
    }

    private static func addresses(of nodes: [String]) -> [String] {
        var addresses: [String] = []
        for node in nodes.reversed() {
            guard addresses.count < self.maxAddresses, let address = self.address(of: node) else { break }
            addresses.append(address)
        }
        return addresses.reversed()
    }

    /// The last address that is not one of trusted proxies, and the nearest one if all are.
    ///
    /// Those further left may be the client's own.
    private static func client(in addresses: [String], trusting proxies: [CIDRRange]) -> IPAddress? {
        let addresses = addresses.compactMap { IPAddress($0) }
        return addresses.last { address in !proxies.contains { $0.contains(address) } } ?? addresses.last
    }

    private static let maxAddresses = 32

    /// The IP of a node, which some proxies write with a port: `192.0.2.1:4711`, `[2001:db8::1]:4711`.
    private static func address(of node: String) -> String? {
        guard IPAddress(node) == nil else { return node }
        let bare: Substring
        if node.hasPrefix("["), let end = node.firstIndex(of: "]") {
            let port = node[node.index(after: end)...]
            guard port.isEmpty || (port.hasPrefix(":") && self.isPort(port.dropFirst())) else { return nil }
            bare = node[node.index(after: node.startIndex)..<end]
            guard bare.contains(":") else { return nil }
        } else {
            guard let colon = node.firstIndex(of: ":"), self.isPort(node[node.index(after: colon)...]) else {
                return nil
            }
            bare = node[..<colon]
        }
        return IPAddress(bare) == nil ? nil : String(bare)
    }

    private static func isPort(_ text: Substring) -> Bool {
        (1...5).contains(text.utf8.count) && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
    }

    private static func trustedProtocol(_ message: MessageHead) -> String? {
        let named = message.count(.xForwardedProto) == 1 ? message.value(.xForwardedProto) : nil
        let forwarded = message.first(.forwarded).flatMap { _ in message.forwardedParameters("proto").last }
        let isSilent = message.first(.xForwardedProto) == nil
        // As with the client: of two that differ, one is the client's own.
        guard let text = isSilent ? forwarded : named, forwarded == nil || forwarded == text else { return nil }
        return text == "https" || text == "http" ? text : nil
    }

    /// The id of a request: a trusted proxy's, if it has at most 128 visible characters that cannot break a log line.
    package static func requestID(
        of head: RequestHead,
        downstream: Downstream,
        fresh: @autoclosure () -> RequestID
    ) -> RequestID {
        guard downstream.isTrusted, head.message.count(.xRequestID) == 1, let text = head.message.value(.xRequestID)
        else {
            return fresh()
        }
        let plain = text.utf8.allSatisfy { PercentEncoding.isUnreserved($0) || $0 == UInt8(ascii: ":") }
        return (1...128).contains(text.utf8.count) && plain ? .given(text) : fresh()
    }
}

// MARK: Early hints, and the client behind proxies

extension ForwardedHead {
    /// The head of an app's early hints for the browser: its `Link` lines and nothing else; nil if it has none.
    ///
    /// RFC 8297 §2.
    package static func earlyHints(
        _ head: ResponseHead,
        edits: LineEdits?,
        into buffer: consuming ByteBuffer
    ) -> ByteBuffer? {
        let message = head.message
        let options = message.connectionOptions()
        guard !options.contains("link"), edits?.takesAway("link") != true else { return nil }
        func isLink(_ field: FieldLine) -> Bool { field.name == .other && message.spells(field.nameRange, "link") }
        guard message.fields.contains(where: isLink) else { return nil }
        return HeadWriter.head(into: buffer) { writer in
            writer.writeStatusLine(103)
            writer.copyLines(of: message, where: isLink)
        }
    }

    /// The client IP as far as it is trusted: the last that trusted proxies report and that is not one of theirs.
    ///
    /// Entries that a client writes itself are further left, so they are never reached.
    package static func client(
        of head: RequestHead,
        downstream: Downstream,
        trusting proxies: [CIDRRange]
    ) -> IPAddress? {
        guard downstream.isTrusted, let addresses = self.trustedAddresses(head.message, trusting: proxies) else {
            return downstream.peer
        }
        let listed = addresses.compactMap { IPAddress($0) }
        return listed.last { address in !proxies.contains { $0.contains(address) } } ?? listed.first ?? downstream.peer
    }

    /// The client IP for rules: that of the peer, or what it names if it is a trusted proxy.
    package static func ruledClient(
        of head: RequestHead,
        downstream: Downstream,
        trusting proxies: [CIDRRange]
    ) -> IPAddress? {
        downstream.isTrusted ? self.namedClient(of: head, trusting: proxies) : downstream.peer
    }

    /// The client IP that a trusted proxy names; nil if it names none, so that its own IP never passes for the client's.
    ///
    /// If all addresses are those of trusted proxies, it is the one that the nearest of them reports: those further left may
    /// be the client's own.
    package static func namedClient(of head: RequestHead, trusting proxies: [CIDRRange]) -> IPAddress? {
        self.trustedAddresses(head.message, trusting: proxies).flatMap { self.client(in: $0, trusting: proxies) }
    }
}

extension MessageHead {
    /// Whether `Forwarded` may name a client: one that has `proto`, `host` or `by` alone contradicts nothing.
    fileprivate var namesClients: Bool {
        self.fields.contains { field in
            guard field.name == .forwarded else { return false }
            let value = self.text(field.valueRange).lowercased()
            return value.contains("for=") || !["proto=", "host=", "by="].contains { value.contains($0) }
        }
    }

    /// The values of one parameter of `Forwarded`, element by element, from the first element behind the last that is not plain or has none.
    ///
    /// Proxies append: elements before such an element are the client's own. RFC 7239 §4.
    fileprivate func forwardedParameters(_ name: String) -> [String] {
        let lines = self.fields.filter { $0.name == .forwarded }.map { self.text($0.valueRange) }
        guard !lines.isEmpty, lines.allSatisfy({ $0.utf8.count <= 4096 }) else { return [] }
        var values: [String] = []
        for element in lines.joined(separator: ",").split(separator: ",", omittingEmptySubsequences: false).reversed() {
            var found: [String] = []
            for pair in element.split(separator: ";") {
                let sides = pair.trimmingOptionalSpace().split(separator: "=", omittingEmptySubsequences: false)
                guard sides.count == 2, !sides[1].contains("\\"), Self.isWhole(sides[1]) else {
                    return values.reversed()
                }
                if sides[0].lowercased() == name { found.append(Self.plain(String(sides[1]))) }
            }
            guard found.count == 1 else { break }
            values += found
        }
        return values.reversed()
    }

    /// Whether a value is a token, or one quoted string from its first to its last character.
    private static func isWhole(_ value: Substring) -> Bool {
        let quotes = value.filter { $0 == "\"" }.count
        return quotes == 0 || (quotes == 2 && value.count > 1 && value.first == "\"" && value.last == "\"")
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
