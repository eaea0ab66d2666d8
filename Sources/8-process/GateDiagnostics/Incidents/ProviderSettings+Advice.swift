// SPDX-License-Identifier: Apache-2.0

internal import GateCore
package import GateProviders

extension ProviderSettings {
    /// What the placeholders in the advice of the failure catalogue are for this provider.
    ///
    /// - Parameter callback: The URL that is registered at the provider.
    /// - Returns: The values by name.
    package func adviceValues(callback: String) -> [String: String] {
        [
            "section": "providers.\(self.id)", "callback": callback,
            "hosted_domains": self.hostedDomains.joined(separator: ", "),
            "workspaces": self.workspaces.joined(separator: ", "),
        ]
    }
}
