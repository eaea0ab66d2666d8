// SPDX-License-Identifier: Apache-2.0

internal import GateNet
package import NIOCore
internal import Synchronization

/// Runs the health checks of all upstreams, one at a time per target for the whole process, on one event loop.
package final class HealthMonitor: Sendable {
    private let loop: any EventLoop
    private let scheduler: EventLoopFuture<NIOLoopBound<HealthCheckScheduler>>
    private let health = Mutex<[LoadedUpstream: [TargetHealth]]>([:])

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

    /// Checks the targets of these upstreams from now on, and no others; the state of upstreams that stay is kept.
    package func adopt(_ upstreams: Set<LoadedUpstream>) {
        let asked = upstreams.filter { $0.settings.health != nil }
        let current = self.health.withLock { health in
            health = health.filter { asked.contains($0.key) }
            for upstream in asked where health[upstream] == nil {
                health[upstream] = upstream.settings.targets.map { _ in TargetHealth() }
            }
            return health
        }
        self.scheduler.whenSuccess { $0.value.adopt(current) }
    }

    /// The result of the checks for each target of an upstream; empty without checks.
    package func health(of upstream: LoadedUpstream) -> [TargetHealth] {
        guard upstream.settings.health != nil else { return [] }
        return self.health.withLock { $0[upstream] } ?? []
    }

    /// Stops all checks.
    package func stop() async {
        _ = try? await self.scheduler.map { $0.value.stop() }.get()
    }
}

/// The checkers; confined to the monitor's event loop.
private final class HealthCheckScheduler {
    private let environment: UpstreamEnvironment
    private var checkers: [LoadedUpstream: [HealthChecker]] = [:]

    init(_ environment: UpstreamEnvironment) {
        self.environment = environment
    }

    func adopt(_ wanted: [LoadedUpstream: [TargetHealth]]) {
        for (upstream, old) in self.checkers where wanted[upstream] == nil {
            for checker in old {
                checker.stop()
            }
            self.checkers[upstream] = nil
        }
        for (upstream, health) in wanted where self.checkers[upstream] == nil {
            guard let settings = upstream.settings.health else { continue }
            var probing = upstream
            probing.settings.limits.connect = min(upstream.settings.limits.connect, settings.timeout)
            probing.settings.limits.connections = 1
            self.checkers[upstream] = zip(upstream.settings.targets, health).map { target, health in
                HealthChecker(
                    target,
                    settings: settings,
                    pool: Upstream.pool(for: target, of: probing, environment: self.environment, outcomes: nil),
                    environment: self.environment,
                    health: health
                )
            }
            for checker in self.checkers[upstream] ?? [] {
                checker.start()
            }
        }
    }

    func stop() {
        self.adopt([:])
        self.environment.sweep.stop()
    }
}
