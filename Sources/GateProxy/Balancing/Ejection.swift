// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// Whether one target is left out because it failed, and until when; pure.
package struct Ejection: Sendable {
    private static let brief = TimeAmount.seconds(1)

    private let settings: EjectionSettings?
    private var times = 0
    /// When the target is used again.
    package private(set) var until = NIODeadline.uptimeNanoseconds(0)

    /// A target that is in.
    package init(_ settings: EjectionSettings?) {
        self.settings = settings
    }

    /// Whether so many failures in a row are enough.
    package func isDue(after failures: Int) -> Bool {
        guard let settings, settings.failures > 0 else { return false }
        return failures >= settings.failures
    }

    /// Whether the target is left out.
    package func isOut(at now: NIODeadline) -> Bool { now < self.until }

    /// Leaves the target out, longer each time; who has been in for the longest time begins anew.
    ///
    /// - Parameters:
    ///   - now: The time.
    ///   - jitter: From -1 to 1; a fifth of it is added, so that several gateways do not come back together.
    ///   - isBrief: Whether nothing but refused connections speaks against the target. Those cost next to nothing and say that
    ///     it restarts: it is left out for a second at most, however often that happens.
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
        let span = TimeAmount.nanoseconds(Int64(Double(length) * (1 + 0.2 * max(-1, min(1, jitter)))))
        self.until = now + span
        return span
    }
}

/// How the latest requests to one target went; confined to one event loop.
///
/// Connections count here, the choice of a target looks here.
package final class TargetOutcomes {
    /// Failures since the last success.
    package private(set) var failures = 0
    private var unreachable = 0

    /// Whether all of them were connections that nothing accepted.
    package var isOnlyUnreachable: Bool { self.failures == self.unreachable }

    /// Nothing has happened yet.
    package init() {}

    /// An answer has come; some statuses say that the app is not there.
    package func answered(_ status: Int) {
        if status == 502 || status == 503 || status == 504 {
            self.failures &+= 1
        } else {
            self.forget()
        }
    }

    /// A request had no response, or there was no connection for it.
    ///
    /// - Parameter isUnreachable: Whether nothing listens there.
    package func failed(isUnreachable: Bool = false) {
        self.failures &+= 1
        if isUnreachable { self.unreachable &+= 1 }
    }

    /// Starts counting again, after a success or an ejection.
    package func forget() {
        self.failures = 0
        self.unreachable = 0
    }
}
