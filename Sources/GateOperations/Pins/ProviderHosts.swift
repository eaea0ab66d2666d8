// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateOpenID
package import GateProviders

/// The hosts that the gateway itself calls for a provider.
package enum ProviderHosts {
    /// Each host once, in the order in which a sign-in meets them.
    package static func called(_ findings: ProviderFindings, _ definition: ProviderDefinition) -> [Origin] {
        let endpoints = try? findings.endpoints.get()
        return self.called(endpoints?.called ?? [], definition)
    }

    /// Each host once, in the order in which a sign-in meets them, given the endpoints that the gateway calls.
    package static func called(_ endpoints: [WebURL], _ definition: ProviderDefinition) -> [Origin] {
        self.needed(endpoints, definition, and: definition.lookups.map(\.address))
    }

    /// Those of them that every sign-in needs; look-ups of groups may fail.
    static func needed(
        _ endpoints: [WebURL],
        _ definition: ProviderDefinition,
        and more: [WebURL] = []
    ) -> [Origin] {
        var addresses: [WebURL] = []
        if case .openID(let discovery) = definition.signIn { addresses.append(discovery) }
        addresses += endpoints + definition.apiCalls.map(\.address) + more
        var origins: [Origin] = []
        for address in addresses where !origins.contains(address.origin) {
            origins.append(address.origin)
        }
        return origins
    }
}
