// SPDX-License-Identifier: Apache-2.0

internal import GateCore
package import NIOCore

/// Whether one target is ejected after failures, and until when; pure.
package struct Ejection: Sendable {
    private static let brief = TimeAmount.seconds(1)

    private let settings: EjectionSettings?
    private var times = 0
    /// When the target is used again.
    package private(set) var until = NIODeadline.uptimeNanoseconds(0)

    /// A target that is not ejected.
    package init(_ settings: EjectionSettings?) {
        self.settings = settings
    }

    /// Whether that many consecutive failures are enough.
    package func isDue(after failures: Int) -> Bool {
        guard let settings, settings.failures > 0 else { return false }
        return failures >= settings.failures
    }

    /// Whether the target is ejected.
    package func isOut(at now: NIODeadline) -> Bool { now < self.until }

    /// Ejects the target, longer each time; the time starts over after a target was not ejected for the maximum time.
    ///
    /// - Parameters:
    ///   - now: The time.
    ///   - jitter: From -1 to 1; adds up to 20 %, so that several gateways do not return together.
    ///   - isBrief: Whether all failures were refused connections. Those cost little and mean that the app restarts: it
    ///     is ejected for a second at most, however often that happens.
    /// - Returns: For how long.
    package mutating func begin(at now: NIODeadline, jitter: Double, isBrief: Bool = false) -> TimeAmount {
        guard let settings else { return .zero }
        guard !isBrief else {
            let span = min(settings.time, Ejection.brief)
            self.until = now + span
            return span
        }
        if self.times > 0, now - self.until >= settings.maxTime { self.times = 0 }
        self.times += 1
        let (product, overflows) = settings.time.nanoseconds.multipliedReportingOverflow(by: Int64(self.times))
        let length = overflows ? settings.maxTime.nanoseconds : min(product, settings.maxTime.nanoseconds)
        let span = TimeAmount.nanoseconds(Int64(saturating: Double(length) * (1 + 0.2 * max(-1, min(1, jitter)))))
        self.until = now + span
        return span
    }
}
