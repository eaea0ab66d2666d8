// SPDX-License-Identifier: Apache-2.0

/// One host, or all hosts one label below a domain, as certificates have wildcards.
///
/// RFC 9525 §6.3: the wildcard matches exactly one label, and for a whole one.
package enum HostPattern: Sendable, Hashable, CustomStringConvertible {
    /// The host, in the normal form of ``Origin/normalHost(_:)``.
    case exact(String)
    /// The hosts one label below this domain, which is in normal form.
    case wildcard(String)

    /// The pattern as the configuration file has it.
    package var description: String {
        switch self {
        case .exact(let host): host
        case .wildcard(let domain): "*.\(domain)"
        }
    }

    /// Whether a host in normal form is one of these.
    package func matches(_ host: String) -> Bool {
        switch self {
        case .exact(let exact): exact == host
        case .wildcard(let domain): HostPattern.domain(of: host) == domain
        }
    }

    /// The domain whose wildcard includes a host: the host without its first label; nil if it has one label only.
    package static func domain(of host: String) -> String? {
        guard let dot = host.utf8.firstIndex(of: UInt8(ascii: ".")) else { return nil }
        return String(host[host.utf8.index(after: dot)...])
    }
}
