// SPDX-License-Identifier: Apache-2.0

/// The result of consecutive health checks; pure.
///
/// A target counts as healthy until checks have failed, so that a gateway that has just started serves immediately.
package struct HealthState: Sendable {
    private let healthy: Int
    private let unhealthy: Int
    private var inRow = 0
    /// Whether the target is used.
    package private(set) var isUp = true

    /// A healthy target, with the thresholds of a settings.
    package init(_ settings: HealthCheckSettings) {
        self.healthy = max(1, settings.healthy)
        self.unhealthy = max(1, settings.unhealthy)
    }

    /// Counts a check.
    ///
    /// - Returns: Whether the target's state has changed.
    package mutating func note(isHealthy: Bool) -> Bool {
        guard isHealthy != self.isUp else {
            self.inRow = 0
            return false
        }
        self.inRow += 1
        guard self.inRow >= (self.isUp ? self.unhealthy : self.healthy) else { return false }
        self.isUp = isHealthy
        self.inRow = 0
        return true
    }
}
