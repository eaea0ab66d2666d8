// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// Measures whether a client that makes the gateway wait takes a response fast enough; pure.
///
/// A client that takes a few bytes now and then never stands still, and would hold a connection to an app for as long as it
/// likes (slow read). Measured are spans in which bytes wait all the time; one after the other, so that what was taken
/// quickly at first pays for nothing later.
struct DownloadRate: Sendable {
    private var since: NIODeadline?
    private var takenBefore: Int64 = 0

    /// Nothing waits: the next span starts when bytes wait again.
    mutating func reset() { self.since = nil }

    /// Whether a span that has lasted as long as a stall may has brought as many bytes as it must.
    ///
    /// - Parameters:
    ///   - taken: How many bytes the client has taken on this connection or stream.
    ///   - now: The time.
    ///   - limits: The rate, and how long a span is.
    /// - Returns: Whether to go on waiting.
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
