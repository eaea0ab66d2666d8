// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateNet
package import NIOCore

/// Chooses the overload level: up at once, down when the share is five points below the threshold and a second has passed.
package struct OverloadMachine: Sendable {
    /// How far below its threshold the share has to be before a level ends.
    static let hysteresis = 0.05
    /// The minimum time of a level.
    static let minTime = Duration.seconds(1)

    private(set) var level = OverloadLevel.normal
    private var since = Duration.zero

    /// The level after a reading.
    ///
    /// - Parameters:
    ///   - share: How much of the scarcest bound is used, 1 for all of it.
    ///   - now: The time since any fixed moment, which never runs backwards.
    /// - Returns: The level from now on.
    mutating func advance(to share: Double, at now: Duration) -> OverloadLevel {
        let wanted = OverloadLevel(at: share)
        if wanted > self.level {
            self.enter(wanted, now)
        } else if wanted < self.level, now - self.since >= OverloadMachine.minTime {
            let kept = OverloadLevel(at: share + OverloadMachine.hysteresis)
            if kept < self.level { self.enter(kept, now) }
        }
        return self.level
    }

    private mutating func enter(_ level: OverloadLevel, _ now: Duration) {
        self.level = level
        self.since = now
    }

    /// How long idle connections are kept at a share: as configured below 80 %, 5 seconds from 95 %, linear between.
    package static func idleTime(at share: Double, configured: TimeAmount) -> TimeAmount {
        let shortest = TimeAmount.seconds(5)
        guard configured > shortest, share > OverloadLevel.shorterIdle.threshold else { return configured }
        let span = OverloadLevel.noAccept.threshold - OverloadLevel.shorterIdle.threshold
        let part = min(1, (share - OverloadLevel.shorterIdle.threshold) / span)
        let range = Double(configured.nanoseconds - shortest.nanoseconds)
        return .nanoseconds(configured.nanoseconds - Int64(saturating: range * part))
    }
}
