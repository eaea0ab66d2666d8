// SPDX-License-Identifier: Apache-2.0

package import GateNet
package import NIOCore

/// Makes the upstreams of all event loops, which share the DNS cache, the health checks and the receiver of events.
package struct UpstreamFactory: Sendable {
    private let names: DNSCache
    private let health: HealthMonitor?
    private let report: @Sendable (UpstreamEvent) -> Void

    /// A factory with health checks.
    ///
    /// - Parameters:
    ///   - loop: The event loop of the health checks.
    ///   - report: Called with each event of an upstream.
    package init(on loop: any EventLoop, report: @escaping @Sendable (UpstreamEvent) -> Void) {
        let names = DNSCache()
        self.names = names
        self.report = report
        self.health = HealthMonitor(on: loop, names: names, report: report)
    }

    /// A factory for a loop on its own, without health checks.
    package init() {
        self.names = DNSCache()
        self.health = nil
        self.report = { _ in }
    }

    /// Checks the health of the targets of these upstreams, and of no others.
    package func adopt(_ upstreams: Set<LoadedUpstream>) {
        self.health?.adopt(upstreams)
    }

    /// Ends the health checks.
    package func stop() async {
        await self.health?.stop()
    }

    /// The targets of an upstream that no loop has used yet.
    package func unusedTargets(of upstream: LoadedUpstream) -> [TargetStatus] {
        let health = self.health?.health(of: upstream) ?? []
        let targets = upstream.settings.targets
        return targets.indices.map { index in
            TargetStatus(targets[index], isUp: health.indices.contains(index) ? health[index].isUp : true)
        }
    }

    package func upstream(
        _ upstream: LoadedUpstream,
        loop: any EventLoop,
        sweep: DeadlineSweep,
        flushes: FlushBatch
    ) -> Upstream {
        let setting = UpstreamEnvironment(
            loop: loop,
            sweep: sweep,
            flushes: flushes,
            names: self.names,
            report: self.report
        )
        return Upstream(upstream, environment: setting, health: self.health?.health(of: upstream) ?? [])
    }
}
