// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GatePolicy
internal import GateWire

/// The routes of a configuration as servers may read their paths; made once.
struct RouteSpellings: Sendable {
    /// What is known of the hosts of a route.
    struct Facts: Sendable {
        /// Whether other routes are on one of them.
        let areOthers: Bool
        /// Whether the path of a route on one of them has capitals.
        let haveCapitals: Bool
    }

    /// Finds routes by decoded paths.
    let decoded: RouteTable
    /// Finds routes by decoded paths whose letters are folded.
    let folded: RouteTable
    private let facts: [Facts]

    /// Reads the routes of a configuration.
    init(_ routes: [RuntimeRoute]) {
        let hosts = routes.map(\.route.origins.hosts)
        let decoded = routes.map { PathNormalization.decoded($0.route.path) }
        let folded = decoded.map { String(decoding: PathNormalization.folded(Array($0.utf8)), as: UTF8.self) }
        self.decoded = RouteTable(zip(hosts, decoded).map { ($0, $1) })
        self.folded = RouteTable(zip(hosts, folded).map { ($0, $1) })
        var byHost: [HostPattern: Facts] = [:]
        for (index, patterns) in hosts.enumerated() {
            let hasCapitals = decoded[index] != folded[index]
            for host in patterns {
                guard let known = byHost[host] else {
                    byHost[host] = Facts(areOthers: false, haveCapitals: hasCapitals)
                    continue
                }
                byHost[host] = Facts(areOthers: true, haveCapitals: known.haveCapitals || hasCapitals)
            }
        }
        self.facts = hosts.map { patterns in
            let known = patterns.compactMap { byHost[$0] }
            return Facts(
                areOthers: known.contains(where: \.areOthers),
                haveCapitals: known.contains(where: \.haveCapitals)
            )
        }
    }

    /// What is known of the hosts of a route.
    func facts(of index: Int) -> Facts { self.facts[index] }
}
