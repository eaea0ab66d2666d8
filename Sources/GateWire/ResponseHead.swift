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

    /// Whether it is an interim response.
    ///
    /// RFC 9110 §15.2.
    package var isInterim: Bool { self.status < 200 }
}
