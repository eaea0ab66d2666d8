// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// A value that works once, such as a sign-in attempt or a session transfer code.
package struct SingleUse: Sendable, Hashable {
    /// The key in the store; the hashes of different kinds never coincide.
    let hash: [UInt8]
    /// When it expires, after which the store need not keep it.
    let expiry: Instant

    /// A single-use value.
    ///
    /// - Parameters:
    ///   - kind: The kind, such as `attempt`.
    ///   - id: Its id.
    ///   - expiry: When it expires.
    package init(_ kind: StaticString, _ id: String, until expiry: Instant) {
        self.hash = digest("spent/\(kind)", id.utf8)
        self.expiry = expiry
    }
}
