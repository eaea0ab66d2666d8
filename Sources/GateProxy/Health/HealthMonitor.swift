// SPDX-License-Identifier: Apache-2.0

internal import GateNet
package import NIOCore
internal import Synchronization

/// Asks the targets of all upstreams that want it for their health: one question at a time and target, for the whole
/// process, on one event loop of its own.
package final class HealthMonitor: Sendable {
    private let loop: any EventLoop
    private let desk: EventLoopFuture<NIOLoopBound<HealthCheckScheduler>>
    private let health = Mutex<[UpstreamPlan: [TargetHealth]]>([:])

    /// A watch that asks nobody yet.
    ///
    /// - Parameters:
    ///   - loop: Where the questions are asked.
    ///   - names: Knows the addresses of names.
    ///   - report: Hears of each change, and of pins that do not match.
    package init(
        on loop: any EventLoop,
        names: DNSCache,
        report: @escaping @Sendable (UpstreamEvent) -> Void
    ) {
        self.loop = loop
        self.desk = loop.submit {
            let setting = UpstreamEnvironment(loop: loop, sweep: DeadlineSweep(), names: names, report: report)
            setting.sweep.start(on: loop)
            return NIOLoopBound(HealthCheckScheduler(setting), eventLoop: loop)
        }
    }

    /// Asks the targets of these plans from now on, and no others; what is known of those that stay is kept.
    package func adopt(_ plans: Set<UpstreamPlan>) {
        let asked = plans.filter { $0.health != nil }
        let current = self.health.withLock { health in
            health = health.filter { asked.contains($0.key) }
            for plan in asked where health[plan] == nil {
                health[plan] = plan.targets.map { _ in TargetHealth() }
            }
            return health
        }
        self.desk.whenSuccess { $0.value.adopt(current) }
    }

    /// The word of the checks on each target of a plan; empty if it wants none.
    package func health(of plan: UpstreamPlan) -> [TargetHealth] {
        guard plan.health != nil else { return [] }
        return self.health.withLock { $0[plan] } ?? []
    }

    /// Asks nobody any more.
    package func stop() async {
        _ = try? await self.desk.map { $0.value.stop() }.get()
    }
}

/// The checkers; confined to the watch's event loop.
private final class HealthCheckScheduler {
    private let setting: UpstreamEnvironment
    private var checkers: [UpstreamPlan: [HealthChecker]] = [:]

    init(_ setting: UpstreamEnvironment) {
        self.setting = setting
    }

    func adopt(_ wanted: [UpstreamPlan: [TargetHealth]]) {
        for (plan, old) in self.checkers where wanted[plan] == nil {
            for checker in old {
                checker.stop()
            }
            self.checkers[plan] = nil
        }
        for (plan, health) in wanted where self.checkers[plan] == nil {
            guard let question = plan.health else { continue }
            self.checkers[plan] = zip(plan.targets, health).map { target, health in
                HealthChecker(target, plan: plan, question: question, setting: self.setting, health: health)
            }
            for checker in self.checkers[plan] ?? [] {
                checker.start()
            }
        }
    }

    func stop() {
        self.adopt([:])
        self.setting.sweep.stop()
    }
}
