// SPDX-License-Identifier: Apache-2.0

internal import GateAppConfiguration
internal import GateCore
internal import GatePolicy
internal import GateWire

extension Configuration {
    /// Rules about paths that no app ever gets, since they are endpoints of the gateway on its host.
    package var ownPathRemarks: [String] {
        self.apps.flatMap { app -> [String] in
            let isGatewayHost = app.route.origins.contains(self.gateway.publicURL.host)
            return app.route.namedPaths.filter { OwnPath.includes($0, isGatewayHost: isGatewayHost) }.map { path in
                let help = isGatewayHost ? "; give the app a host of its own" : ""
                return
                    "app '\(app.route.app)': \(Self.shown(path)) is the gateway's own on this host, and never the app's\(help)"
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
