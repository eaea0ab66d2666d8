// SPDX-License-Identifier: Apache-2.0

/// Decides when to log that log lines were dropped: at once, and while it goes on once a minute.
struct DroppedLineReport {
    private static let minInterval = Duration.seconds(60)

    private var known: Int64 = 0
    private var reported: ContinuousClock.Instant?

    /// How many lines to report.
    ///
    /// - Parameters:
    ///   - total: The lines that were dropped since the start.
    ///   - now: The time.
    /// - Returns: The number; nil for nothing to report now.
    mutating func next(total: Int64, at now: ContinuousClock.Instant = .now) -> Int64? {
        let isSoon = self.reported.map { $0.duration(to: now) < DroppedLineReport.minInterval } ?? false
        guard total > self.known, !isSoon else { return nil }
        defer { (self.known, self.reported) = (total, now) }
        return total - self.known
    }
}
