// SPDX-License-Identifier: Apache-2.0

/// A response head of an upstream that has passed every check.
package struct ResponseHead: Sendable {
    /// The bytes and the table of field lines.
    package let message: MessageHead
    /// The status, 100 to 999.
    package let status: Int
    /// How the body ends.
    package let framing: BodyFraming
    /// Whether the upstream keeps the connection.
    package let keepsAlive: Bool
    /// Where the reason phrase is in the message; empty if the upstream sent none, or one that is too long to pass on.
    let reason: Range<Int>
    /// How the lines of the response ended as they were received, those of a chunked body too.
    package let lineEnd: LineEnd

    /// Whether it is an interim response.
    ///
    /// RFC 9110 §15.2.
    package var isInterim: Bool { self.status < 200 }
}
