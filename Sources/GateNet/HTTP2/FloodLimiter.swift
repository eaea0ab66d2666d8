// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// Says when a client sends more that costs work than honest clients do.
///
/// Streams that end in a reset are counted whoever resets them (CVE-2023-44487, CVE-2025-8671). Frames that carry
/// nothing use up a credit, which grows with time and with what is carried (CVE-2019-9511 to 9518). Frames that the
/// library does not even show are noticed by their bytes.
package struct FloodLimiter {
    /// How many streams of one connection may end in a reset within ``resetTime``.
    static let resets = 200
    /// The time in which resets are counted together.
    static let resetTime = TimeAmount.seconds(30)
    /// The most credit for frames that carry nothing.
    static let maxCredit = 4000
    /// How fast the credit grows.
    static let creditPerSecond: Int64 = 100

    /// How many bytes may be neither heads nor bodies, beside seven times as many as those.
    static let overhead = 1024 * 1024

    private var receivedBytes = 0
    private var usefulBytes = 0
    private var countedResets = 0
    private var countingSince: NIODeadline
    private var credit = FloodLimiter.maxCredit
    private var creditedAt: NIODeadline

    /// A guard with all its credit.
    package init(now: NIODeadline) {
        self.countingSince = now
        self.creditedAt = now
    }

    /// Counts a stream that ended in a reset; false when there have been too many.
    package mutating func countReset(at now: NIODeadline) -> Bool {
        if now - self.countingSince > FloodLimiter.resetTime {
            self.countingSince = now
            self.countedResets = 0
        }
        self.countedResets += 1
        return self.countedResets <= FloodLimiter.resets
    }

    /// Counts bytes as they come; false when nearly all of them were good for nothing.
    package mutating func receive(_ bytes: Int) -> Bool {
        self.receivedBytes += bytes
        return self.receivedBytes / 8 <= self.usefulBytes + FloodLimiter.overhead / 8
    }

    /// Counts bytes of heads and bodies, in either direction.
    package mutating func carry(_ bytes: Int) { self.usefulBytes += bytes }

    /// Uses up credit; false when there is none left.
    package mutating func spend(_ cost: Int, at now: NIODeadline) -> Bool {
        self.credit -= cost
        guard self.credit < 0 else { return true }
        let grown = (now - self.creditedAt).nanoseconds / (1_000_000_000 / FloodLimiter.creditPerSecond)
        guard grown > 0 else { return false }
        self.creditedAt = now
        self.earn(Int(min(grown, Int64(FloodLimiter.maxCredit))))
        return self.credit >= 0
    }

    /// Adds credit for what was carried.
    package mutating func earn(_ credit: Int) {
        self.credit = min(FloodLimiter.maxCredit, self.credit + credit)
    }
}
