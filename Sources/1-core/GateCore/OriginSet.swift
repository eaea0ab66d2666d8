// SPDX-License-Identifier: Apache-2.0

/// The origins under which browsers reach an app: its hosts, all with the scheme and port of `public_url`.
///
/// Each host is an origin of its own to browsers, so whatever is about the origin of a request asks with its host.
package struct OriginSet: Sendable, Hashable {
    /// The hosts in the order of the file, at least one.
    package let hosts: [HostPattern]
    package let port: Int
    private let scheme: String
    /// The port with its colon; empty for the scheme's default.
    private let portText: String
    private let exact: [String: Origin]
    private let domains: Set<String>
    /// Scheme, host and port as text, made once where a request needs no other; nil with several hosts.
    private let only: (text: String, authority: String)?

    /// The origins of these hosts with the scheme and port of `origin`; the host of `origin` if `hosts` is empty.
    package init(_ origin: Origin, hosts: [HostPattern] = []) {
        let hosts = hosts.isEmpty ? [.exact(origin.host)] : hosts
        self.hosts = hosts
        self.scheme = origin.scheme
        self.port = origin.port
        self.portText = origin.hasDefaultPort ? "" : ":\(origin.port)"
        var exact: [String: Origin] = [:]
        var domains: Set<String> = []
        for host in hosts {
            switch host {
            case .exact(let name): exact[name] = origin.with(host: name)
            case .wildcard(let domain): domains.insert(domain)
            }
        }
        self.exact = exact
        self.domains = domains
        let single = hosts.count == 1 ? exact.values.first : nil
        self.only = single.map { ("\($0)", $0.authority) }
    }

    /// The origin of the first host that is not a wildcard; nil if all are.
    package var first: Origin? {
        for case .exact(let host) in self.hosts { return self.exact[host] }
        return nil
    }

    /// The origin of the first host of the file as text, with its wildcard if it has one.
    package var name: String { "\(self.scheme)://\(self.hosts[0])\(self.portText)" }

    /// Whether a host in normal form is one of these.
    package func contains(_ host: String) -> Bool {
        if self.exact[host] != nil { return true }
        guard !self.domains.isEmpty, let domain = HostPattern.domain(of: host) else { return false }
        return self.domains.contains(domain)
    }

    /// The origin of one of the hosts as text.
    package func text(of host: String) -> String { self.only?.text ?? "\(self.scheme)://\(host)\(self.portText)" }

    /// Host and port of one of the hosts, as a `Host` field carries them.
    package func authority(of host: String) -> String {
        self.only?.authority ?? (self.portText.isEmpty ? host : host + self.portText)
    }

    /// Whether two sets have the same hosts in the same order, scheme and port.
    package static func == (left: OriginSet, right: OriginSet) -> Bool {
        left.hosts == right.hosts && left.scheme == right.scheme && left.portText == right.portText
    }

    /// Hashes what `==` compares.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(self.hosts)
        hasher.combine(self.scheme)
        hasher.combine(self.portText)
    }
}
