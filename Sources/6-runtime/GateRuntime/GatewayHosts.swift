// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import GatePolicy
package import GateWire

/// The hosts that are the gateway's own or an app's, and where each has the gateway's endpoints.
///
/// All have the scheme and port of `public_url`.
package struct GatewayHosts: Sendable {
    /// The origin of the sign-in pages and callbacks.
    package let publicOrigin: Origin
    /// Where each host has the gateway's endpoints.
    package let endpoints: EndpointPrefix
    /// The first letter of that path: to read it costs two reference counts less than to read the path.
    package let endpointInitial: UInt8
    /// Where proxies ask for decisions.
    package let forwardAuthPath: String
    /// The value of `Strict-Transport-Security`; nil for no such field.
    private let hsts: String?
    private let origins: [String: Origin]
    /// The domains of the apps' wildcards.
    private let domains: Set<String>

    /// The host of the gateway, and those of some routes.
    ///
    /// - Parameters:
    ///   - publicOrigin: The origin of the sign-in pages and callbacks.
    ///   - endpoints: Where each host has the gateway's endpoints.
    ///   - routes: The routes.
    ///   - hsts: For how long browsers use TLS only; nil for no `Strict-Transport-Security`.
    package init(
        publicOrigin: Origin,
        endpoints: EndpointPrefix = .standard,
        routes: [RuntimeRoute],
        hsts: Duration? = nil
    ) {
        self.publicOrigin = publicOrigin
        self.endpoints = endpoints
        self.endpointInitial = endpoints.initial
        self.forwardAuthPath = endpoints.path("auth")
        self.hsts = hsts.map { "max-age=\($0.wholeSeconds)" }
        var origins = [publicOrigin.host: publicOrigin]
        var domains: Set<String> = []
        for pattern in routes.flatMap(\.route.origins.hosts) {
            switch pattern {
            case .exact(let host): origins[host] = origins[host] ?? publicOrigin.with(host: host)
            case .wildcard(let domain): domains.insert(domain)
            }
        }
        self.origins = origins
        self.domains = domains
    }

    /// The hosts that are named, without those below wildcards.
    var names: some Sequence<String> { self.origins.keys }

    /// The origin of a host of ours; nil for every other host.
    package func origin(of host: String) -> Origin? {
        if let origin = self.origins[host] { return origin }
        guard !self.domains.isEmpty, let domain = HostPattern.domain(of: host), self.domains.contains(domain) else {
            return nil
        }
        return self.publicOrigin.with(host: host)
    }

    /// The origin that a request reached; that of `public_url` if its host is not one of ours.
    package func origin(of request: RequestHead) -> Origin {
        self.origin(of: request.authority.host) ?? self.publicOrigin
    }

    /// Whether a host is the gateway's own or an app's.
    package func serves(_ host: String) -> Bool { self.origin(of: host) != nil }

    /// Whether a wildcard includes a host that no app names.
    package func isBelowWildcard(_ host: String) -> Bool { self.origins[host] == nil }

    /// The value of `Strict-Transport-Security` in responses of ours to requests over TLS that we terminate; nil for none.
    ///
    /// Browsers ignore it for IP addresses, and for localhost it would reach other programs: RFC 6797 §8.1.1.
    package func hsts(for host: String) -> String? {
        guard let hsts, let origin = self.origin(of: host), origin.isSecure, !origin.isLoopback else { return nil }
        return IPAddress(host) == nil && !host.hasPrefix("[") ? hsts : nil
    }
}
