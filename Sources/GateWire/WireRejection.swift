// SPDX-License-Identifier: Apache-2.0

/// Why bytes on a connection are not a message that may be forwarded.
///
/// The connection is closed after the response, because it is unknown where the next message starts.
package struct WireRejection: Error, Sendable, Hashable {
    /// The status for the peer: 400, 405, 413, 414, 417, 421, 431, 501 or 505 for a request; 502 for a response.
    package let status: Int
    /// A stable name for logs, metrics and the error page.
    package let reason: String
    /// Whether the response is an error page, see ``BrowserHints``.
    package var wantsPage = false

    /// A rejection; `reason` is a literal, never received text.
    package init(_ status: Int, _ reason: StaticString) {
        self.status = status
        self.reason = "\(reason)"
    }

    /// A request that violates the grammar of RFC 9112.
    package static func malformed(_ reason: StaticString) -> WireRejection { WireRejection(400, reason) }
}
