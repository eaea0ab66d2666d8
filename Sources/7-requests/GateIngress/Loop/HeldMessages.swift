// SPDX-License-Identifier: Apache-2.0

/// How many bytes one event loop holds of bodies whose messages a rule asks for; confined to that loop.
///
/// Each body is bounded by `mcp_max_body`, and may take minutes to arrive: together they are bounded for a sign-in and for the loop.
struct HeldMessages {
    private static let maxBytes = 64 << 20
    private static let maxBytesOfFamily = 8 << 20
    private var total = 0
    private var families: [[UInt8]: Int] = [:]

    /// Whether more bytes of a body may be held, which then count.
    ///
    /// - Parameters:
    ///   - count: How many more.
    ///   - family: The family of the session that sends them.
    ///   - limit: The bound of one body; a few of these must fit.
    /// - Returns: Whether they may.
    mutating func take(_ count: Int, of family: [UInt8], bodyLimit limit: Int) -> Bool {
        let known = self.families[family, default: 0]
        guard self.total + count <= max(HeldMessages.maxBytes, 4 * limit),
            known + count <= max(HeldMessages.maxBytesOfFamily, 2 * limit)
        else { return false }
        self.total += count
        self.families[family] = known + count
        return true
    }

    /// The bytes of a body are not held any more.
    mutating func release(_ count: Int, of family: [UInt8]) {
        self.total -= count
        let left = self.families[family, default: count] - count
        self.families[family] = left == 0 ? nil : left
    }
}
