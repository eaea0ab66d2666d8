// SPDX-License-Identifier: Apache-2.0

/// What one Argon2id hash costs: memory in KiB, passes and lanes.
///
/// RFC 9106 §3.1.
package struct PasswordCost: Sendable, Hashable {
    /// The memory in KiB.
    package let memory: UInt32
    /// The passes over it.
    package let passes: UInt32
    /// The lanes, each a thread of libargon2.
    package let lanes: UInt32

    /// New hashes: 19 MiB, two passes, one lane, the minimum of the OWASP password storage cheat sheet.
    package static let standard = PasswordCost(memory: 19 * 1024, passes: 2, lanes: 1)

    package init(memory: UInt32, passes: UInt32, lanes: UInt32) {
        (self.memory, self.passes, self.lanes) = (memory, passes, lanes)
    }

    /// Whether an imported hash of this cost is accepted: not so cheap that it protects nothing, not so dear that one
    /// sign-in takes the machine.
    var isAcceptable: Bool {
        (4096...131_072).contains(self.memory) && (1...10).contains(self.passes) && (1...4).contains(self.lanes)
            && self.memory >= 8 * self.lanes
    }
}
