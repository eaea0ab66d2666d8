// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateProviders

// The hosts that the gateway itself calls for a provider.
extension ProviderDefinition {
    /// Each host once, in the order in which a sign-in meets them, given the endpoints that the gateway calls.
    package func hosts(calling endpoints: [WebURL]) -> [Origin] {
        self.neededHosts(calling: endpoints, and: self.lookups.map(\.address))
    }

    /// Those of them that every sign-in needs; look-ups of groups may fail.
    func neededHosts(calling endpoints: [WebURL], and more: [WebURL] = []) -> [Origin] {
        var addresses: [WebURL] = []
        if case .openID(let discovery) = self.signIn { addresses.append(discovery) }
        addresses += endpoints + self.apiCalls.map(\.address) + more
        var origins: [Origin] = []
        for address in addresses where !origins.contains(address.origin) {
            origins.append(address.origin)
        }
        return origins
    }
}
