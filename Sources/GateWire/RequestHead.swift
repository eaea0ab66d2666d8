// SPDX-License-Identifier: Apache-2.0

internal import GateCore
package import NIOCore

/// The method of a request: any token but `CONNECT`, `TRACE`, `TRACK` and `PRI`, in any case of letters.
///
/// RFC 9110 §9.
package enum RequestMethod: Sendable, Hashable {
    /// `GET`
    case get
    /// `HEAD`
    case head
    /// `POST`
    case post
    /// `PUT`
    case put
    /// `PATCH`
    case patch
    /// `DELETE`
    case delete
    /// `OPTIONS`
    case options
    /// Any other, such as those of WebDAV; letter case matters.
    case other(String)

    /// The methods that nearly all apps know.
    package static let common: [RequestMethod] = [.get, .head, .post, .put, .patch, .delete, .options]
    /// The methods that are never forwarded: they open a tunnel or return the head as it arrived.
    private static let refused: Set<String> = ["CONNECT", "TRACE", "TRACK", "PRI"]

    /// Whether a token is a method that is never forwarded, in any case of letters.
    static func isRefused(_ token: String) -> Bool { self.refused.contains(token.uppercased()) }

    /// Reads a token; nil for a method that is never forwarded, and for a common one in other letters.
    ///
    /// Letter case matters (RFC 9110 §9.1), but not to every server: `get` must not pass where a rule says `GET`.
    package init?(rawValue: String) {
        switch rawValue {
        case "GET": self = .get
        case "HEAD": self = .head
        case "POST": self = .post
        case "PUT": self = .put
        case "PATCH": self = .patch
        case "DELETE": self = .delete
        case "OPTIONS": self = .options
        default:
            let capitals = rawValue.uppercased()
            guard !RequestMethod.refused.contains(capitals),
                !RequestMethod.common.contains(where: { $0.rawValue == capitals })
            else { return nil }
            self = .other(rawValue)
        }
    }

    /// The method as it stands in the start line.
    package var rawValue: String {
        switch self {
        case .get: "GET"
        case .head: "HEAD"
        case .post: "POST"
        case .put: "PUT"
        case .patch: "PATCH"
        case .delete: "DELETE"
        case .options: "OPTIONS"
        case .other(let token): token
        }
    }

    /// Whether the method is known to only read; of methods unknown here that is not assumed.
    ///
    /// RFC 9110 §9.2.1.
    package var isSafe: Bool {
        switch self {
        case .get, .head, .options: true
        case .post, .put, .patch, .delete, .other: false
        }
    }

    /// Whether a request without a body says `Content-Length: 0`, because servers expect one with this method.
    ///
    /// RFC 9110 §8.6.
    package var usuallyHasBody: Bool {
        switch self {
        case .post, .put, .patch: true
        case .get, .head, .delete, .options, .other: false
        }
    }

    /// Whether the response has no body, whatever its fields say; asked for at each request, so not with `==`, which other
    /// modules call through a table of witnesses.
    package var isHead: Bool { if case .head = self { true } else { false } }
}

/// A request head that has passed every check.
///
/// An object, because it is handed from step to step of a request's life and must cost nothing to hand on.
package final class RequestHead: Sendable {
    /// The bytes and the table of field lines.
    package let message: MessageHead
    /// The method.
    package let method: RequestMethod
    /// Whether the request is for the server as a whole: `OPTIONS *`.
    package let isAsterisk: Bool
    /// The path to match and to forward; empty for `OPTIONS *`.
    package let path: CanonicalPath
    /// The query, without `?`; nil if there is no `?`.
    package let query: CanonicalQuery?
    /// The host that is asked.
    package var authority: RequestAuthority { self.host.authority }
    private let host: CachedAuthority
    /// How the body ends: never ``BodyFraming/untilClose``.
    package let framing: BodyFraming
    /// 1 for HTTP/1.1, 0 for HTTP/1.0.
    package let minorVersion: Int
    /// Whether the client wants the connection kept.
    package let keepsAlive: Bool
    /// Whether the client waits for `100 Continue` before it sends the body.
    package let expectsContinue: Bool
    /// Whether it came as an extended `CONNECT` of HTTP/2 for a WebSocket, which counts as `GET` here.
    ///
    /// RFC 8441 §5.
    package let isExtendedConnect: Bool
    /// Whether it has a `CDN-Loop` field, by which a request that came back is known.
    package let hasLoopField: Bool
    /// Whether it came over HTTP/2; what it is written in here is HTTP/1.1 all the same.
    package let isHTTP2: Bool
    /// Whether a field has a name with `_`, `.` or another character that is no letter, digit or `-`.
    package let hasIrregularNames: Bool

    init(
        message: MessageHead,
        line: RequestLine,
        target: RequestTarget,
        host: CachedAuthority,
        framing: BodyFraming,
        keepsAlive: Bool,
        expectsContinue: Bool,
        isExtendedConnect: Bool = false,
        isHTTP2: Bool = false,
        hasIrregularNames: Bool = false,
        hasLoopField: Bool = false
    ) {
        self.message = message
        self.method = line.method
        self.isAsterisk = target.isAsterisk
        self.path = target.path
        self.query = target.query
        self.host = host
        self.framing = framing
        self.minorVersion = line.minorVersion
        self.keepsAlive = keepsAlive
        self.expectsContinue = expectsContinue
        self.isExtendedConnect = isExtendedConnect
        self.hasLoopField = hasLoopField
        self.isHTTP2 = isHTTP2
        self.hasIrregularNames = hasIrregularNames
    }

    /// The same request, now known to have no body.
    package var withoutBody: RequestHead { RequestHead(self, framing: .none) }

    private init(_ other: RequestHead, framing: BodyFraming) {
        self.message = other.message
        self.method = other.method
        self.isAsterisk = other.isAsterisk
        self.path = other.path
        self.query = other.query
        self.host = other.host
        self.framing = framing
        self.minorVersion = other.minorVersion
        self.keepsAlive = other.keepsAlive
        self.expectsContinue = other.expectsContinue
        self.isExtendedConnect = other.isExtendedConnect
        self.isHTTP2 = other.isHTTP2
        self.hasIrregularNames = other.hasIrregularNames
        self.hasLoopField = other.hasLoopField
    }

    /// The query as text, or nil.
    package var queryText: String? { self.query.map { $0.text(in: self.message) } }

    /// Path and query as they are forwarded.
    package var target: String {
        let path = self.path.text(in: self.message)
        return self.queryText.map { "\(path)?\($0)" } ?? path
    }
}

/// The host of a request in its normal form.
///
/// RFC 9112 §3.2.
package struct RequestAuthority: Sendable, Hashable {
    /// The host in lower case, without port and trailing dot.
    package let host: String
    /// The port as written, or nil.
    package let port: Int?
    /// Host and port as they are passed on.
    package let text: String

    init?(_ text: String) {
        guard text.utf8.count <= 255, let sides = WebURL.split(authority: text) else { return nil }
        guard let host = Origin.normalHost(sides.host) else { return nil }
        self.host = host
        self.port = sides.port
        self.text = sides.port.map { "\(host):\($0)" } ?? host
    }
}

/// A path in its canonical spelling.
///
/// What is matched and what is forwarded differ at most in escapes that app servers do not tell from the character.
package enum CanonicalPath: Sendable {
    /// The path came in its canonical spelling and stands in the head.
    case received(Range<Int>)
    /// The path came in another spelling; this is the canonical one.
    case rewritten([UInt8])
    /// The path is forwarded in one spelling and matched in another.
    case spelled([UInt8], matched: [UInt8])

    /// The path as it is forwarded.
    package func text(in message: MessageHead) -> String { self.text(in: message, droppingPrefix: 0) }

    /// The path as it is forwarded, without a prefix of so many bytes of the spelling that is matched.
    package func text(in message: MessageHead, droppingPrefix length: Int) -> String {
        var buffer = ByteBuffer()
        self.write(of: message, droppingPrefix: length, to: &buffer)
        return String(buffer: buffer)
    }

    /// Lends the bytes of the path by which routes and rules are matched.
    package func withSpan<Value>(of message: MessageHead, _ body: (Span<UInt8>) -> Value) -> Value {
        switch self {
        case .received(let range): body(message.bytes.readableBytesUInt8Span.extracting(range))
        case .rewritten(let bytes), .spelled(_, let bytes): body(bytes.span)
        }
    }

    /// The bytes as they are forwarded; for paths that are no plain text, since it copies.
    package func forwarded(of message: MessageHead) -> [UInt8] {
        switch self {
        case .received(let range): Array(message.slice(range))
        case .rewritten(let bytes), .spelled(let bytes, _): bytes
        }
    }

    /// Appends the path to a buffer as it is forwarded, without a prefix of whole segments; what is left is at least `/`.
    ///
    /// - Parameters:
    ///   - message: The head that the path came with.
    ///   - length: How many bytes the prefix has in the spelling that is matched.
    ///   - buffer: What it is appended to.
    package func write(of message: MessageHead, droppingPrefix length: Int = 0, to buffer: inout ByteBuffer) {
        switch self {
        case .received(let range):
            let rest = range.dropFirst(length)
            if rest.isEmpty { buffer.writeStaticString("/") }
            buffer.writeBytes(message.bytes.readableBytesSpan.extracting(rest))
        case .rewritten(let bytes):
            CanonicalPath.write(bytes.dropFirst(length), to: &buffer)
        case .spelled(let bytes, let matched):
            CanonicalPath.write(CanonicalPath.rest(of: bytes, behind: length, of: matched), to: &buffer)
        }
    }

    private static func write(_ rest: ArraySlice<UInt8>, to buffer: inout ByteBuffer) {
        if rest.isEmpty { buffer.writeStaticString("/") }
        buffer.writeBytes(rest)
    }

    /// What is left of the forwarded spelling behind as many segments as a prefix of the other spelling has.
    private static func rest(of bytes: [UInt8], behind length: Int, of matched: [UInt8]) -> ArraySlice<UInt8> {
        var slashes = matched.prefix(length).reduce(0) { $0 + ($1 == UInt8(ascii: "/") ? 1 : 0) }
        guard slashes > 0 else { return bytes[...] }
        for index in bytes.indices where bytes[index] == UInt8(ascii: "/") {
            if slashes == 0 { return bytes[index...] }
            slashes -= 1
        }
        return []
    }
}

/// A query in its canonical spelling, as it is forwarded.
package enum CanonicalQuery: Sendable {
    /// The query came in its canonical spelling and stands in the head.
    case received(Range<Int>)
    /// The query came with characters that are forwarded escaped.
    case rewritten([UInt8])

    /// The query in a range of a head.
    init(of message: MessageHead, _ range: Range<Int>, isPlain: Bool) {
        guard !isPlain else {
            self = .received(range)
            return
        }
        let canonical = QueryCanonicalizer.canonical(message.bytes.readableBytesUInt8Span.extracting(range))
        self = canonical.map { .rewritten($0) } ?? .received(range)
    }

    /// The query as text.
    package func text(in message: MessageHead) -> String {
        switch self {
        case .received(let range): message.text(range)
        case .rewritten(let bytes): String(decoding: bytes, as: UTF8.self)
        }
    }

    /// Appends the query to a buffer.
    func write(of message: MessageHead, to buffer: inout ByteBuffer) {
        switch self {
        case .received(let range): buffer.writeBytes(message.bytes.readableBytesSpan.extracting(range))
        case .rewritten(let bytes): buffer.writeBytes(bytes)
        }
    }
}
