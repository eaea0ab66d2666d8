// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// Detects a peer that sends more costly frames than honest peers do.
///
/// Streams that end in a reset count whichever side resets them (CVE-2023-44487, CVE-2025-8671). Frames without content
/// use up a credit, which grows with time and with content (CVE-2019-9511 to 9518). Frames that libnghttp2 does not
/// report are noticed by their bytes.
package struct FloodLimiter {
    /// How many streams of one connection may end in a reset within ``resetTime``.
    static let resets = 200
    /// The window in which resets are counted.
    static let resetTime = TimeAmount.seconds(30)
    /// The largest credit for frames without content.
    static let maxCredit = 4000
    /// How fast the credit grows.
    static let creditPerSecond: Int64 = 100

    /// How many bytes may be neither heads nor bodies, in addition to seven times the bytes that are.
    static let overhead = 1024 * 1024

    private var receivedBytes = 0
    private var usefulBytes = 0
    private var countedResets = 0
    private var countingSince: NIODeadline
    private var credit = FloodLimiter.maxCredit
    private var creditedAt: NIODeadline

    /// A limiter with full credit.
    package init(now: NIODeadline) {
        self.countingSince = now
        self.creditedAt = now
    }

    /// Counts a stream that ended in a reset; false when there were too many.
    package mutating func countReset(at now: NIODeadline) -> Bool {
        if now - self.countingSince > FloodLimiter.resetTime {
            self.countingSince = now
            self.countedResets = 0
        }
        self.countedResets += 1
        return self.countedResets <= FloodLimiter.resets
    }

    /// Counts received bytes; false when nearly all of them carried nothing.
    package mutating func receive(_ bytes: Int) -> Bool {
        self.receivedBytes += bytes
        return self.receivedBytes / 8 <= self.usefulBytes + FloodLimiter.overhead / 8
    }

    /// Counts bytes of heads and bodies, in either direction.
    package mutating func carry(_ bytes: Int) { self.usefulBytes += bytes }

    /// Uses up credit; false when none is left.
    package mutating func spend(_ cost: Int, at now: NIODeadline) -> Bool {
        self.credit -= cost
        guard self.credit < 0 else { return true }
        let grown = (now - self.creditedAt).nanoseconds / (1_000_000_000 / FloodLimiter.creditPerSecond)
        guard grown > 0 else { return false }
        self.creditedAt = now
        self.earn(Int(min(grown, Int64(FloodLimiter.maxCredit))))
        return self.credit >= 0
    }

    /// Adds credit for content.
    package mutating func earn(_ credit: Int) {
        self.credit = min(FloodLimiter.maxCredit, self.credit + credit)
    }
}
