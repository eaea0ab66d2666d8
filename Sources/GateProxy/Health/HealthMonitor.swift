// SPDX-License-Identifier: Apache-2.0

internal import GateNet
package import NIOCore
internal import Synchronization

/// Asks the targets of all upstreams that want it for their health: one question at a time and target, for the whole
/// process, on one event loop of its own.
package final class HealthMonitor: Sendable {
    private let loop: any EventLoop
    private let desk: EventLoopFuture<NIOLoopBound<HealthCheckScheduler>>
    private let health = Mutex<[LoadedUpstream: [TargetHealth]]>([:])

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

    /// Asks the targets of these upstreams from now on, and no others; what is known of those that stay is kept.
    package func adopt(_ upstreams: Set<LoadedUpstream>) {
        let asked = upstreams.filter { $0.settings.health != nil }
        let current = self.health.withLock { health in
            health = health.filter { asked.contains($0.key) }
            for upstream in asked where health[upstream] == nil {
                health[upstream] = upstream.settings.targets.map { _ in TargetHealth() }
            }
            return health
        }
        self.desk.whenSuccess { $0.value.adopt(current) }
    }

    /// The word of the checks on each target of an upstream; empty if it wants none.
    package func health(of upstream: LoadedUpstream) -> [TargetHealth] {
        guard upstream.settings.health != nil else { return [] }
        return self.health.withLock { $0[upstream] } ?? []
    }

    /// Asks nobody any more.
    package func stop() async {
        _ = try? await self.desk.map { $0.value.stop() }.get()
    }
}

/// The checkers; confined to the watch's event loop.
private final class HealthCheckScheduler {
    private let setting: UpstreamEnvironment
    private var checkers: [LoadedUpstream: [HealthChecker]] = [:]

    init(_ setting: UpstreamEnvironment) {
        self.setting = setting
    }

    func adopt(_ wanted: [LoadedUpstream: [TargetHealth]]) {
        for (upstream, old) in self.checkers where wanted[upstream] == nil {
            for checker in old {
                checker.stop()
            }
            self.checkers[upstream] = nil
        }
        for (upstream, health) in wanted where self.checkers[upstream] == nil {
            guard let question = upstream.settings.health else { continue }
            self.checkers[upstream] = zip(upstream.settings.targets, health).map { target, health in
                HealthChecker(target, of: upstream, question: question, setting: self.setting, health: health)
            }
            for checker in self.checkers[upstream] ?? [] {
                checker.start()
            }
        }
    }

    func stop() {
        self.adopt([:])
        self.setting.sweep.stop()
    }
}
