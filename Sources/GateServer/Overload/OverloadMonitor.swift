// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import NIOCore
internal import Synchronization

/// Knows how short of memory and descriptors the gateway is; told by looks from outside the event loops.
final class OverloadMonitor: Sendable {
    /// How often to look.
    static let interval = Duration.milliseconds(250)

    /// What the latest look has shown.
    struct Sight: Sendable {
        var stage = OverloadStage.calm
        var vitals = Vitals()
        /// How much of the scarcest is used.
        var share = 0.0
    }

    private struct State {
        var machine = OverloadMachine()
        var sight = Sight()
    }

    private let signs: any VitalSigns
    private let state = Mutex(State())
    private let began = ContinuousClock.now

    init(signs: any VitalSigns) {
        self.signs = signs
    }

    /// What the latest look has shown.
    var sight: Sight { self.state.withLock { $0.sight } }

    /// Looks once.
    ///
    /// - Parameters:
    ///   - loops: What the event loops tell of themselves.
    ///   - limits: The bounds in force.
    ///   - now: The time of the look.
    /// - Returns: The stage that held before, and what is seen.
    func look(
        at loops: [LoopPulse],
        within limits: SiteLimits,
        now: ContinuousClock.Instant = .now
    ) -> (before: OverloadStage, sight: Sight) {
        var vitals = self.signs.read(memoryLimit: limits.memory)
        vitals.requests = loops.reduce(0) { $0 + $1.requests }
        vitals.requestLimit = limits.requests
        let tick = NIODeadline.now()
        vitals.lag = loops.map { $0.lag(at: tick) }.max() ?? .zero
        return self.state.withLock { state in
            let before = state.machine.stage
            let stage = state.machine.advance(to: vitals.share, at: self.began.duration(to: now))
            state.sight = Sight(stage: stage, vitals: vitals, share: vitals.share)
            return (before, state.sight)
        }
    }
}
