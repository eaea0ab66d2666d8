// SPDX-License-Identifier: Apache-2.0

internal import GateCore
package import NIOCore

/// The methods the gateway passes on; all others are answered 405 or 501.
///
/// RFC 9110 §9.
package enum RequestMethod: String, Sendable, CaseIterable {
    /// `GET`
    case get = "GET"
    /// `HEAD`
    case head = "HEAD"
    /// `POST`
    case post = "POST"
    /// `PUT`
    case put = "PUT"
    /// `PATCH`
    case patch = "PATCH"
    /// `DELETE`
    case delete = "DELETE"
    /// `OPTIONS`
    case options = "OPTIONS"

    /// Whether the method only reads.
    ///
    /// RFC 9110 §9.2.1.
    package var isSafe: Bool { self == .get || self == .head || self == .options }

    /// Whether the answer has no body, whatever its fields say; asked for at each request, so not with `==`, which other
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
    /// Where the query stands in ``message``, without `?`; nil if there is no `?`.
    package let query: Range<Int>?
    /// The host that is asked.
    package var authority: RequestAuthority { self.host.authority }
    private let host: KnownAuthority
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

    init(
        message: MessageHead,
        line: RequestLine,
        target: RequestTarget,
        host: KnownAuthority,
        framing: BodyFraming,
        keepsAlive: Bool,
        expectsContinue: Bool,
        isExtendedConnect: Bool = false,
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
    }

    /// The query as text, or nil.
    package var queryText: String? { self.query.map(self.message.text) }

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
        guard text.utf8.count <= 255, let sides = WebAddress.split(authority: text) else { return nil }
        guard let host = Origin.normalHost(sides.host) else { return nil }
        self.host = host
        self.port = sides.port
        self.text = sides.port.map { "\(host):\($0)" } ?? host
    }
}

/// A path in its one spelling: matched against routes and rules, and forwarded, as the same bytes.
package enum CanonicalPath: Sendable {
    /// The path came in its canonical spelling and stands in the head.
    case received(Range<Int>)
    /// The path came in another spelling; this is the canonical one.
    case rewritten([UInt8])

    /// The path as text.
    package func text(in message: MessageHead) -> String {
        switch self {
        case .received(let range): message.text(range)
        case .rewritten(let bytes): String(decoding: bytes, as: UTF8.self)
        }
    }

    /// Lends the bytes of the path.
    package func withSpan<Value>(of message: MessageHead, _ body: (Span<UInt8>) -> Value) -> Value {
        switch self {
        case .received(let range): body(message.bytes.readableBytesUInt8Span.extracting(range))
        case .rewritten(let bytes): body(bytes.span)
        }
    }

    /// Appends the path to a buffer, without the first bytes of it if so told; what is left is at least `/`.
    package func write(of message: MessageHead, droppingPrefix length: Int = 0, to buffer: inout ByteBuffer) {
        switch self {
        case .received(let range):
            let rest = range.dropFirst(length)
            if rest.isEmpty { buffer.writeStaticString("/") }
            buffer.writeBytes(message.bytes.readableBytesSpan.extracting(rest))
        case .rewritten(let bytes):
            let rest = bytes.dropFirst(length)
            if rest.isEmpty { buffer.writeStaticString("/") }
            buffer.writeBytes(rest)
        }
    }
}
