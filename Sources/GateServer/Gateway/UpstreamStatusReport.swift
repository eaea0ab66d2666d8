// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProxy
internal import NIOCore
internal import Synchronization

/// Tells how the targets of apps are.
enum UpstreamStatusReport {
    /// One target for `/status`.
    static func json(_ app: String, _ status: TargetStatus) -> JSON {
        [
            "app": .string(app),
            "target": .string("\(status.target)"),
            "healthy": .bool(status.isHealthy),
            "checked_healthy": .bool(status.isUp),
            "ejected_by_loops": .int(Int64(status.ejections)),
            "connections": .int(Int64(status.load.connections)),
            "requests": .int(Int64(status.load.active)),
            "waiting": .int(Int64(status.load.waiting)),
        ]
    }
}

extension Gateway {
    /// How each target is of which that can change: of apps with several, and of those that are asked for their health.
    func upstreamStatus() async -> [(app: String, status: TargetStatus)] {
        var known: [LoadedUpstream: [TargetStatus]] = [:]
        for bound in self.loops {
            let statuses = (try? await bound.eventLoop.submit { bound.value.upstreamStatus }.get()) ?? [:]
            for (upstream, targets) in statuses {
                guard var sum = known[upstream] else {
                    known[upstream] = targets
                    continue
                }
                for index in sum.indices {
                    sum[index].merge(targets[index])
                }
                known[upstream] = sum
            }
        }
        let routes = self.state.withLock { $0.site }.routes
        return routes.filter { $0.upstream.settings.targets.count > 1 || $0.upstream.settings.health != nil }.flatMap {
            route in
            (known[route.upstream] ?? self.unused(route.upstream)).map { (route.name, $0) }
        }
    }

    /// The targets of an app that nobody has asked for yet.
    private func unused(_ upstream: LoadedUpstream) -> [TargetStatus] {
        let health = self.ways.health?.health(of: upstream) ?? []
        let targets = upstream.settings.targets
        return targets.indices.map { index in
            TargetStatus(targets[index], isUp: health.indices.contains(index) ? health[index].isUp : true)
        }
    }
}
