// SPDX-License-Identifier: Apache-2.0

/// The limits of a message head.
package struct HeadLimits: Sendable, Hashable {
    /// Bytes of a whole head, at most 65,535 because offsets into it have 16 bits.
    package var bytes = 32 * 1024
    /// Bytes of one field line.
    package var fieldBytes = 16 * 1024
    /// Bytes of a request target.
    package var targetBytes = 8 * 1024
    /// Field lines.
    package var fields = 100

    package static let request = HeadLimits()
    /// The limits of responses; the operator trusts the apps, so they are larger.
    package static let response = HeadLimits(bytes: 64 * 1024 - 1, fieldBytes: 32 * 1024, targetBytes: 0, fields: 1000)
}
