// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import NIOCore

/// The parsed target of the start line.
///
/// RFC 9112 §3.2.
struct RequestTarget {
    let path: CanonicalPath
    let query: CanonicalQuery?
    let isAsterisk: Bool
    private let authority: (host: String, port: Int)?

    init(_ line: RequestLine, in message: MessageHead, scheme: String) throws(WireRejection) {
        let bytes = message.bytes.readableBytesUInt8Span
        var range = line.target
        self.isAsterisk = range.count == 1 && bytes[range.lowerBound] == UInt8(ascii: "*")
        guard !self.isAsterisk else {
            guard line.method == .options else { throw .malformed(.requestTarget) }
            (self.path, self.query, self.authority) = (.received(range.lowerBound..<range.lowerBound), nil, nil)
            return
        }
        if bytes[range.lowerBound] == UInt8(ascii: "/") {
            self.authority = nil
        } else {
            let absolute = try RequestTarget.absolute(message.text(range), scheme: scheme)
            self.authority = absolute.authority
            range = (range.lowerBound + absolute.length)..<range.upperBound
        }
        let mark = range.first { bytes[$0] == UInt8(ascii: "?") } ?? range.upperBound
        self.query =
            mark < range.upperBound
            ? CanonicalQuery(of: message, (mark + 1)..<range.upperBound, isPlain: line.isTargetPlain) : nil
        self.path = try RequestTarget.path(message, range.lowerBound..<mark, isPlain: line.isTargetPlain)
    }

    /// Whether an absolute target has the host and port of the `Host` field.
    func agrees(with host: RequestAuthority, scheme: String) -> Bool {
        guard let authority else { return true }
        return authority.host == host.host && authority.port == (host.port ?? (scheme == "https" ? 443 : 80))
    }

    private static func path(
        _ message: MessageHead,
        _ range: Range<Int>,
        isPlain: Bool
    ) throws(WireRejection) -> CanonicalPath {
        guard !range.isEmpty else { return .rewritten([UInt8(ascii: "/")]) }
        guard !isPlain || !PathCanonicalizer.isCanonical(message.bytes.readableBytesUInt8Span, range) else {
            return .received(range)
        }
        let received = Array(message.slice(range))
        let canonical = try PathCanonicalizer.canonical(received)
        if let matched = PathCanonicalizer.matched(canonical) { return .spelled(canonical, matched: matched) }
        return canonical == received ? .received(range) : .rewritten(canonical)
    }

    /// The authority of an absolute target and how many bytes scheme and authority take.
    private static func absolute(
        _ text: String,
        scheme: String
    ) throws(WireRejection) -> (authority: (host: String, port: Int), length: Int) {
        let start = scheme + "://"
        guard text.lowercased().hasPrefix(start) else { throw .malformed(.requestTarget) }
        let rest = text.dropFirst(start.count)
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        guard let sides = RequestAuthority.split(authority),
            let origin = Origin(scheme: scheme, host: sides.host, port: sides.port)
        else { throw .malformed(.requestTarget) }
        return ((origin.host, origin.port), start.utf8.count + authority.utf8.count)
    }
}
