// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GatePolicy
internal import GateWire

extension Configuration {
    /// Rules about paths that no app ever gets, since they are endpoints of the gateway on its host, and apps that have these below
    /// their own path.
    package var ownPathRemarks: [String] {
        self.apps.flatMap { app -> [String] in
            let isGatewayHost = app.route.origins.contains(self.gateway.publicURL.host)
            let endpoints = self.gateway.endpoints
            let own = app.route.namedPaths.filter { endpoints.owns($0, isGatewayHost: isGatewayHost) }
            let covered =
                app.route.path != "/" && "\(endpoints)".hasPrefix("\(app.route.path)/") ? ["\(endpoints)"] : []
            return (covered + own).map { path in
                let help = "move the endpoints with 'gateway.endpoint_prefix'"
                let other = isGatewayHost ? "give the app a host of its own, or " : ""
                let taken = "\(Self.shown(path)) is the gateway's own on this host, and never the app's"
                return "app '\(app.route.app)': \(taken); \(other)\(help)"
            }
        }
    }

    private static func shown(_ path: String) -> String { "'\(PrintableText.escaped(path, limit: 200))'" }
}

extension Route {
    /// The paths that its rules name, each once.
    fileprivate var namedPaths: [String] {
        let conditions = (self.access.entries + self.denied).flatMap(\.withNested).flatMap(\.request)
        let patterns = conditions.flatMap { condition -> [PathPattern] in
            if case .path(let patterns) = condition { patterns } else { [] }
        }
        var known: Set<String> = []
        return (self.publicRules.map(\.path) + patterns.map(\.text)).filter { known.insert($0).inserted }
    }
}
