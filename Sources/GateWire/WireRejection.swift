// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// Why the bytes on a connection are not a message that may be forwarded.
///
/// The connection is closed after the response, because the start of the next message is unknown.
package struct WireRejection: Error, Sendable, Hashable {
    /// The status for the peer: 400, 405, 413, 414, 417, 421, 431, 501 or 505 for a request; 502 for a response.
    package let status: Int
    /// The rule that the bytes break; decides the code and the error page.
    package let reason: Failure.Reason
    /// Whether a browser seems to have sent it whose user waits for a page, see ``BrowserHints``.
    package var wantsPage = false

    /// Creates a rejection with the status of the reason, or with 502 for example where a response breaks the rule.
    package init(_ reason: Failure.Reason, status: Int? = nil) {
        self.status = status ?? reason.entry.status
        self.reason = reason
    }

    /// A request that breaks the grammar of RFC 9112.
    package static func malformed(_ reason: Failure.Reason) -> WireRejection { WireRejection(reason, status: 400) }
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
