// SPDX-License-Identifier: Apache-2.0

internal import GateAppConfiguration
internal import GateClients
internal import GateCore
internal import GatePolicy
internal import GateProviders

extension Configuration {
    /// The claims that an app, a rule or a client uses, by their names.
    package var usedClaims: Set<String> {
        let facts = self.apps.flatMap(\.headers).map(\.fact)
        var used = Set(facts.compactMap(\.claim)).union(self.apps.flatMap(\.identity.claims))
        for route in self.apps.map(\.route) + self.clients.map(\.route) {
            let entries = (route.access.entries + route.denied).flatMap(\.withNested)
            used.formUnion(entries.flatMap(\.claims).map(\.name))
        }
        return used.union(self.clients.flatMap(\.claims))
    }

    /// The same without the claims that nothing uses, so that they are not even read, and get into no session.
    package var withUsedClaims: Configuration {
        let used = self.usedClaims
        var configuration = self
        for index in configuration.providers.indices {
            configuration.providers[index].claims = configuration.providers[index].claims.filter {
                used.contains($0.key)
            }
        }
        return configuration
    }
}

extension IdentityFact {
    /// The name of the claim; nil for a field.
    fileprivate var claim: String? {
        guard case .claim(let name) = self else { return nil }
        return name
    }
}
