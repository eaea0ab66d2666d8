// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// What a row of health checks says of a target; pure.
///
/// It counts as healthy until checks have said otherwise, so that a gateway that has just started serves at once.
package struct HealthState: Sendable {
    private let healthy: Int
    private let unhealthy: Int
    private var inRow = 0
    /// Whether the target is used.
    package private(set) var isUp = true

    /// The beginning, with the thresholds of the settings.
    package init(_ settings: HealthCheckSettings) {
        self.healthy = max(1, settings.healthy)
        self.unhealthy = max(1, settings.unhealthy)
    }

    /// Notes a check.
    ///
    /// - Returns: Whether the target's state has changed.
    package mutating func note(isGood: Bool) -> Bool {
        guard isGood != self.isUp else {
            self.inRow = 0
            return false
        }
        self.inRow += 1
        guard self.inRow >= (self.isUp ? self.unhealthy : self.healthy) else { return false }
        self.isUp = isGood
        self.inRow = 0
        return true
    }
}

/// The word of the health checks on one target, which every loop may read at any time.
package final class TargetHealth: Sendable {
    private let state = Atomic<Bool>(true)

    /// A target that is used.
    package init() {}

    /// Whether the target is used.
    package var isUp: Bool { self.state.load(ordering: .relaxed) }

    /// Says it anew.
    package func set(_ isUp: Bool) {
        self.state.store(isUp, ordering: .relaxed)
    }
}
