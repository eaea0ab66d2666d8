// SPDX-License-Identifier: Apache-2.0

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
        return used.union(self.clients.flatMap { $0.claims + $0.scopes.values.joined() })
    }

    /// The fields that an app names, or that clients get with the scope `profile`.
    private var usedFields: Set<IdentityField> {
        let named = Set(self.apps.flatMap(\.headers).map(\.fact).compactMap(\.field))
        return self.clients.isEmpty ? named : named.union([.givenName, .familyName, .picture, .locale])
    }

    /// The same without the claims that nothing uses, so that they are not even read, and get into no session; and with
    /// the fields that are worth a call of userinfo.
    package var withUsedFacts: Configuration {
        let (used, fields) = (self.usedClaims, self.usedFields)
        var configuration = self
        for index in configuration.providers.indices {
            configuration.providers[index].usedFields = Set(fields.compactMap { ProfileField(rawValue: $0.rawValue) })
            configuration.providers[index].claims = configuration.providers[index].claims.filter {
                used.contains($0.key)
            }
        }
        return configuration
    }
}

extension IdentityFact {
    /// The field; nil for a claim.
    fileprivate var field: IdentityField? {
        guard case .field(let field) = self else { return nil }
        return field
    }

    /// The name of the claim; nil for a field.
    fileprivate var claim: String? {
        guard case .claim(let name) = self else { return nil }
        return name
    }
}
