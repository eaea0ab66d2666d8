// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// Measures whether a slow client takes a response fast enough; pure.
///
/// A client that takes a few bytes now and then never stalls, and could hold a connection to an app indefinitely (slow
/// read). The rate is measured over consecutive spans in which bytes are always queued, so that fast reads at the start
/// do not pay for slow reads later.
struct DownloadRate: Sendable {
    private var since: NIODeadline?
    private var takenBefore: Int64 = 0

    /// Ends the span because nothing is queued; the next one starts when bytes are queued again.
    mutating func reset() { self.since = nil }

    /// Whether a span as long as a write stall has taken the minimum number of bytes.
    ///
    /// - Parameters:
    ///   - taken: How many bytes the client has taken on this connection or stream.
    ///   - now: The time.
    ///   - limits: The rate, and the length of a span.
    /// - Returns: Whether to keep waiting.
    mutating func isFastEnough(taken: Int64, at now: NIODeadline, within limits: DownstreamLimits) -> Bool {
        guard let since else {
            self.since = now
            self.takenBefore = taken
            return true
        }
        let span = now - since
        guard span >= limits.writeStall else { return true }
        let least = limits.downloadRate * (span.nanoseconds / 1_000_000_000)
        guard taken - self.takenBefore >= least else { return false }
        self.since = now
        self.takenBefore = taken
        return true
    }
}
