// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// For whom passkeys are made: the domain they are bound to, and the web origins that may use them.
///
/// WebAuthn §5.1.3, steps 7 and 8, and §13.4.9.
package struct PasskeyRelyingParty: Sendable, Hashable {
    /// The RP ID, a host in normal form.
    package let id: String
    /// What browsers display, beside the RP ID.
    package let name: String
    private let origins: Set<String>

    /// Checks that every origin may use the RP ID.
    ///
    /// Whether the RP ID is a public suffix such as `co.uk` is for browsers to check.
    ///
    /// - Parameters:
    ///   - id: A host name in lower case, not an IP address.
    ///   - name: What browsers display.
    ///   - origins: At least one, each https or on this machine, its host the RP ID or one below it.
    /// - Throws: `relyingPartyID`, `originsMissing`, `originOutside` or `originNotSecure`.
    package init(id: String, name: String, origins: [Origin]) throws(PasskeyError) {
        guard let host = Origin.normalHost(id), isIdentical(host, id), !PasskeyRelyingParty.isAddress(id) else {
            throw .relyingPartyID(id)
        }
        guard !origins.isEmpty else { throw .originsMissing }
        for origin in origins {
            guard origin.host == id || origin.host.hasSuffix("." + id) else {
                throw .originOutside("\(origin)", relyingPartyID: id)
            }
            guard origin.isSecure || origin.isLoopback else { throw .originNotSecure("\(origin)") }
        }
        (self.id, self.name) = (id, name)
        self.origins = Set(origins.map { "\($0)" })
    }

    /// Whether an origin, as a browser spells it, is exactly one of those allowed.
    func allows(origin: String) -> Bool {
        self.origins.contains { isIdentical($0, origin) }
    }

    /// An IPv6 address has brackets; a name whose last label is a number is an IPv4 address to browsers, URL Standard §3.5.
    private static func isAddress(_ host: String) -> Bool {
        host.hasPrefix("[") || host.split(separator: ".").last.map { $0.allSatisfy(\.isWholeNumber) } ?? true
    }
}
