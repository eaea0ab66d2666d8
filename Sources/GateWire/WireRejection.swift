// SPDX-License-Identifier: Apache-2.0

/// Why bytes on a connection are no message that may be passed on.
///
/// The connection that sent them is closed after the answer, because nobody can say where the next message starts.
package struct WireRejection: Error, Sendable, Hashable {
    /// The status for the peer: 400, 405, 413, 414, 417, 421, 431, 501 or 505 for a request; 502 for a response.
    package let status: Int
    /// A stable name for logs, metrics and the error page.
    package let reason: String
    /// Whether a browser seems to have sent it whose user waits for a page, see ``BrowserHints``.
    package var wantsPage = false

    /// Makes a refusal; `reason` is a literal of ours, never received text.
    package init(_ status: Int, _ reason: StaticString) {
        self.status = status
        self.reason = "\(reason)"
    }

    /// A request that the grammar of RFC 9112 refuses.
    package static func malformed(_ reason: StaticString) -> WireRejection { WireRejection(400, reason) }
}

/// Bounds on the head of a message.
package struct HeadLimits: Sendable, Hashable {
    /// Bytes of a whole head, at most 65,535 because offsets into it have 16 bits.
    package var bytes = 32 * 1024
    /// Bytes of one field line.
    package var fieldBytes = 16 * 1024
    /// Bytes of a request target.
    package var targetBytes = 8 * 1024
    /// Field lines.
    package var fields = 100

    /// The bounds for requests.
    package static let request = HeadLimits()
    /// The bounds for answers of upstreams, which belong to the operator and may be larger.
    package static let response = HeadLimits(bytes: 64 * 1024 - 1, fieldBytes: 32 * 1024, targetBytes: 0, fields: 256)
}
