// SPDX-License-Identifier: Apache-2.0

internal import GateIngress
internal import NIOCore

/// Chooses the overload stage: up at once, down when the share is five points below the threshold and a second has passed.
struct OverloadMachine: Sendable {
    /// How far below its threshold the share has to be before a stage ends.
    static let hysteresis = 0.05
    /// The minimum time of a stage.
    static let minTime = Duration.seconds(1)

    private(set) var stage = OverloadStage.calm
    private var since = Duration.zero

    /// The stage after a reading.
    ///
    /// - Parameters:
    ///   - share: How much of the scarcest bound is used, 1 for all of it.
    ///   - now: The time since any fixed moment, which never runs backwards.
    /// - Returns: The stage from now on.
    mutating func advance(to share: Double, at now: Duration) -> OverloadStage {
        let wanted = OverloadStage(at: share)
        if wanted > self.stage {
            self.enter(wanted, now)
        } else if wanted < self.stage, now - self.since >= OverloadMachine.minTime {
            let kept = OverloadStage(at: share + OverloadMachine.hysteresis)
            if kept < self.stage { self.enter(kept, now) }
        }
        return self.stage
    }

    private mutating func enter(_ stage: OverloadStage, _ now: Duration) {
        self.stage = stage
        self.since = now
    }

    /// How long idle connections are kept at a share: as configured below 80 %, 5 seconds from 95 %, linear between.
    static func idleTime(at share: Double, configured: TimeAmount) -> TimeAmount {
        let shortest = TimeAmount.seconds(5)
        guard configured > shortest, share > OverloadStage.hurried.threshold else { return configured }
        let span = OverloadStage.holding.threshold - OverloadStage.hurried.threshold
        let part = min(1, (share - OverloadStage.hurried.threshold) / span)
        let range = Double(configured.nanoseconds - shortest.nanoseconds)
        return .nanoseconds(configured.nanoseconds - Int64(range * part))
    }
}
