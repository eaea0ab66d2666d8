// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GatePolicy

/// The routes of a configuration, and how they are found.
package struct RouteMap: Sendable {
    /// The routes, in the order of the file.
    package let all: [RuntimeRoute]
    /// Finds the route of a host and a canonical path.
    let table: RouteTable
    /// The same as servers may read it.
    let spellings: RouteSpellings
    /// Whether some app takes WebSockets.
    package let takesWebSockets: Bool

    /// The routes in the order of the file, each with its index.
    package init(_ routes: [RuntimeRoute]) {
        self.all = routes
        self.table = RouteTable(routes.map { ($0.route.origins.hosts, $0.route.path) })
        self.spellings = RouteSpellings(routes)
        self.takesWebSockets = routes.contains { $0.webSocket != nil }
    }

    /// The first app of a host all of whose apps are in shadow mode; nil for any other host.
    package func shadowed(on host: String) -> RuntimeRoute? {
        let routes = self.table.entries(on: host).sorted().map { self.all[$0] }
        return routes.allSatisfy(\.isShadowed) ? routes.first : nil
    }
}
