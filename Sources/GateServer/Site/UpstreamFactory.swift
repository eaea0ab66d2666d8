// SPDX-License-Identifier: Apache-2.0

internal import GateNet
internal import GateProxy
internal import NIOCore

/// What the ways to apps of all event loops share: the addresses of names, the health checks and who hears of news.
struct UpstreamFactory: Sendable {
    let names: DNSCache
    let health: HealthMonitor?
    let report: @Sendable (UpstreamEvent) -> Void

    /// For a gateway; health checks are asked on `loop`.
    init(on loop: any EventLoop, log: GatewayLog, metrics: GatewayMetrics) {
        let names = DNSCache()
        let report: @Sendable (UpstreamEvent) -> Void = { event in
            log.upstream(event)
            metrics.upstream(event)
        }
        self.names = names
        self.report = report
        self.health = HealthMonitor(on: loop, names: names, report: report)
    }

    /// For a loop on its own, without health checks.
    init() {
        self.names = DNSCache()
        self.health = nil
        self.report = { _ in }
    }

    /// Has the targets of a site asked for their health, and no others.
    func adopt(_ site: RuntimeConfiguration) {
        self.health?.adopt(Set(site.routes.map(\.upstream)))
    }

    /// The way of a loop to an app.
    func way(_ upstream: LoadedUpstream, for state: LoopState) -> Upstream {
        let setting = UpstreamEnvironment(
            loop: state.loop,
            sweep: state.sweep,
            flushes: state.flushes,
            names: self.names,
            report: self.report
        )
        return Upstream(upstream, setting: setting, health: self.health?.health(of: upstream) ?? [])
    }
}
