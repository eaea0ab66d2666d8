// SPDX-License-Identifier: Apache-2.0

/// A request head that has passed every check.
///
/// A class, so that passing it on costs nothing.
package final class RequestHead: Sendable {
    /// The bytes and the table of field lines.
    package let message: MessageHead
    package let method: RequestMethod
    /// Whether the request is for the server as a whole: `OPTIONS *`.
    package let isAsterisk: Bool
    /// The path to match and to forward; empty for `OPTIONS *`.
    package let path: CanonicalPath
    /// The query, without `?`; nil if there is no `?`.
    package let query: CanonicalQuery?
    /// The requested host.
    package let authority: RequestAuthority
    /// How the body ends: never ``BodyFraming/untilClose``.
    package let framing: BodyFraming
    /// 1 for HTTP/1.1, 0 for HTTP/1.0.
    package let minorVersion: Int
    /// Whether the client wants the connection kept.
    package let keepsAlive: Bool
    /// Whether the client waits for `100 Continue` before it sends the body.
    package let expectsContinue: Bool
    /// Whether it is an extended `CONNECT` of HTTP/2 for a WebSocket, whose method counts as `GET`.
    ///
    /// RFC 8441 §5.
    package let isExtendedConnect: Bool
    /// Whether it has a `CDN-Loop` field, by which a forwarding loop is detected.
    package let hasLoopField: Bool
    /// Whether it was received over HTTP/2; the head has the form of HTTP/1.1 nevertheless.
    package let isHTTP2: Bool
    /// Whether a field has a name with `_`, `.` or another character that is not a letter, digit or `-`.
    package let hasIrregularNames: Bool

    init(
        message: MessageHead,
        line: RequestLine,
        target: RequestTarget,
        authority: RequestAuthority,
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
        self.authority = authority
        self.framing = framing
        self.minorVersion = line.minorVersion
        self.keepsAlive = keepsAlive
        self.expectsContinue = expectsContinue
        self.isExtendedConnect = isExtendedConnect
        self.hasLoopField = hasLoopField
        self.isHTTP2 = isHTTP2
        self.hasIrregularNames = hasIrregularNames
    }

    /// The same request without a body.
    package var withoutBody: RequestHead { RequestHead(self, self.message, framing: .none) }

    /// The same request without some field lines; nothing that was read from them changes.
    package func removing(_ isRemoved: (FieldLine) -> Bool) -> RequestHead {
        let fields = self.message.fields.filter { !isRemoved($0) }
        guard fields.count < self.message.fields.count else { return self }
        return RequestHead(self, MessageHead(bytes: self.message.bytes, fields: fields), framing: self.framing)
    }

    private init(_ other: RequestHead, _ message: MessageHead, framing: BodyFraming) {
        self.message = message
        self.method = other.method
        self.isAsterisk = other.isAsterisk
        self.path = other.path
        self.query = other.query
        self.authority = other.authority
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
