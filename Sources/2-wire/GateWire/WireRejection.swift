// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// Why bytes on a connection are not a message that may be forwarded.
///
/// The connection is closed after the response, because it is unknown where the next message starts.
package struct WireRejection: Error, Sendable, Hashable {
    /// The status for the peer: 400, 405, 413, 414, 417, 421, 431, 501 or 505 for a request; 502 for a response.
    package let status: Int
    /// The rule that the bytes violate; decides the code and the error page.
    package let reason: Failure.Reason
    /// Whether the response is an error page, see ``BrowserHints``.
    package var wantsPage = false
    /// The path of a request of HTTP/1.0 that is rejected because it has no `Host`, as health checks have none; else nil.
    package var pathWithoutHost: String?

    /// Creates a rejection with the status of the reason, or with another one, such as 502 where a response violates the rule.
    package init(_ reason: Failure.Reason, status: Int? = nil) {
        self.status = status ?? reason.entry.status
        self.reason = reason
    }

    /// A request that violates the grammar of RFC 9112.
    package static func malformed(_ reason: Failure.Reason) -> WireRejection { WireRejection(reason, status: 400) }
}
