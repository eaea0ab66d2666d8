// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// Something that works once, such as an attempt to sign in or a hand-over code.
package struct SingleUse: Sendable, Hashable {
    /// What the store remembers it by; the hashes of different kinds are apart.
    let hash: [UInt8]
    /// When it expires by itself, and need not be remembered any more.
    let expiry: Instant

    /// Names a thing.
    ///
    /// - Parameters:
    ///   - kind: What it is, such as `attempt`.
    ///   - id: Its id.
    ///   - expiry: When it expires by itself.
    package init(_ kind: StaticString, _ id: String, until expiry: Instant) {
        self.hash = digest("spent/\(kind)", id.utf8)
        self.expiry = expiry
    }
}
