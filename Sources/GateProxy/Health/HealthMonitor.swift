// SPDX-License-Identifier: Apache-2.0

internal import GateNet
package import NIOCore
internal import Synchronization

/// Runs the health checks of all upstreams, one at a time per target for the whole process, on one event loop.
package final class HealthMonitor: Sendable {
    private let loop: any EventLoop
    private let scheduler: EventLoopFuture<NIOLoopBound<HealthCheckScheduler>>
    private let health = Mutex<[UpstreamPlan: [TargetHealth]]>([:])

    /// A monitor without checks.
    ///
    /// - Parameters:
    ///   - loop: The loop that runs the checks.
    ///   - names: Resolves names.
    ///   - report: Called for each change, and for pins that do not match.
    package init(
        on loop: any EventLoop,
        names: DNSCache,
        report: @escaping @Sendable (UpstreamEvent) -> Void
    ) {
        self.loop = loop
        self.scheduler = loop.submit {
            let environment = UpstreamEnvironment(loop: loop, sweep: DeadlineSweep(), names: names, report: report)
            environment.sweep.start(on: loop)
            return NIOLoopBound(HealthCheckScheduler(environment), eventLoop: loop)
        }
    }

    /// Checks the targets of these plans from now on, and no others; the state of plans that stay is kept.
    package func adopt(_ plans: Set<UpstreamPlan>) {
        let asked = plans.filter { $0.health != nil }
        let current = self.health.withLock { health in
            health = health.filter { asked.contains($0.key) }
            for plan in asked where health[plan] == nil {
                health[plan] = plan.targets.map { _ in TargetHealth() }
            }
            return health
        }
        self.scheduler.whenSuccess { $0.value.adopt(current) }
    }

    /// The result of the checks for each target of a plan; empty without checks.
    package func health(of plan: UpstreamPlan) -> [TargetHealth] {
        guard plan.health != nil else { return [] }
        return self.health.withLock { $0[plan] } ?? []
    }

    /// Stops all checks.
    package func stop() async {
        _ = try? await self.scheduler.map { $0.value.stop() }.get()
    }
}

/// The checkers; confined to the monitor's event loop.
private final class HealthCheckScheduler {
    private let environment: UpstreamEnvironment
    private var checkers: [UpstreamPlan: [HealthChecker]] = [:]

    init(_ environment: UpstreamEnvironment) {
        self.environment = environment
    }

    func adopt(_ wanted: [UpstreamPlan: [TargetHealth]]) {
        for (plan, old) in self.checkers where wanted[plan] == nil {
            for checker in old {
                checker.stop()
            }
            self.checkers[plan] = nil
        }
        for (plan, health) in wanted where self.checkers[plan] == nil {
            guard let healthPlan = plan.health else { continue }
            var probing = plan
            probing.limits.connect = min(plan.limits.connect, healthPlan.timeout)
            probing.limits.connections = 1
            self.checkers[plan] = zip(plan.targets, health).map { target, health in
                HealthChecker(
                    target,
                    plan: healthPlan,
                    pool: Upstream.pool(for: target, plan: probing, environment: self.environment, outcomes: nil),
                    environment: self.environment,
                    health: health
                )
            }
            for checker in self.checkers[plan] ?? [] {
                checker.start()
            }
        }
    }

    func stop() {
        self.adopt([:])
        self.environment.sweep.stop()
    }
}
