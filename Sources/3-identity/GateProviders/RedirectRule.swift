// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// Which redirect URIs a type of provider accepts.
package struct RedirectRule: Sendable, Hashable {
    /// The hosts that it accepts over plain http; nil for all.
    let plainHosts: [String]?
    /// Whether it accepts IP addresses that are not loopback.
    let takesAddresses: Bool
    /// Whether it accepts host names that the public name system does not know.
    let takesPrivateNames: Bool

    /// A provider that is not known to refuse anything.
    static let anything = RedirectRule(plainHosts: nil, takesAddresses: true, takesPrivateNames: true)
    /// A provider that wants https everywhere, also on this machine.
    static let secureOnly = RedirectRule(plainHosts: [], takesAddresses: false, takesPrivateNames: false)

    /// Endings that no public name has.
    ///
    /// RFC 2606 §2, RFC 6762 appendix G.
    private static let privateEndings: Set<String> = [
        "corp", "home", "internal", "intranet", "invalid", "lan", "local", "localdomain", "localhost", "private",
        "test",
    ]

    /// Why the provider rejects a redirect URI on this origin, or nil if it accepts it.
    package func rejection(of origin: Origin) -> String? {
        let plain = self.plainHosts ?? [origin.host]
        if !origin.isSecure, !plain.contains(origin.host) {
            guard !plain.isEmpty else { return "it accepts no plain http" }
            return "it accepts plain http on \(plain.joined(separator: ", ")) only"
        }
        let isAddress = origin.host.hasPrefix("[") || IPAddress(origin.host) != nil
        // A provider without plain http accepts no callback on this machine.
        let takesThisMachine = self.plainHosts != []
        if isAddress, !self.takesAddresses, !origin.isLoopback || !takesThisMachine {
            return "it accepts no IP address"
        }
        guard !isAddress, !self.takesPrivateNames, origin.host != "localhost" || !takesThisMachine else { return nil }
        let labels = origin.host.split(separator: ".")
        let isPrivate = labels.count < 2 || labels.last.map { RedirectRule.privateEndings.contains(String($0)) } ?? true
        return isPrivate ? "it accepts public domain names only" : nil
    }
}
