// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// One place where an app listens, and what is spoken there.
package struct UpstreamAddress: Sendable, Hashable, CustomStringConvertible {
    /// Where the connections lead.
    package enum Place: Sendable, Hashable {
        /// A host, by name or by address (IPv6 in brackets), and a port.
        case tcp(host: String, port: Int)
        /// A Unix socket.
        case unix(path: String)
    }

    /// Where the connections lead.
    package let place: Place
    /// Whether TLS is spoken.
    package let isSecure: Bool
    /// Whether HTTP/2 is spoken and nothing else: by ALPN over TLS, with prior knowledge in the clear.
    package let isHTTP2: Bool

    /// Puts the parts together.
    package init(_ place: Place, isSecure: Bool = false, isHTTP2: Bool = false) {
        self.place = place
        self.isSecure = isSecure
        self.isHTTP2 = isHTTP2
    }

    /// HTTP/1.1 at an origin.
    package static func http(_ origin: Origin) -> UpstreamAddress {
        UpstreamAddress(.tcp(host: origin.host, port: origin.port), isSecure: origin.scheme == "https")
    }

    /// HTTP/1.1 over a Unix socket.
    package static func unix(path: String) -> UpstreamAddress { UpstreamAddress(.unix(path: path)) }

    /// The address as the configuration file writes it.
    package var description: String {
        switch self.place {
        case .tcp(let host, let port):
            let usual = self.isSecure ? 443 : 80
            return port == usual ? "\(self.scheme)://\(host)" : "\(self.scheme)://\(host):\(port)"
        case .unix(let path):
            return "unix:\(path)"
        }
    }

    /// What a health check says in `Host` unless told otherwise.
    var authority: String {
        switch self.place {
        case .tcp(let host, let port): port == (self.isSecure ? 443 : 80) ? host : "\(host):\(port)"
        case .unix: "localhost"
        }
    }

    /// The host by which the certificate is checked; nil for an address, which is checked as one.
    var serverName: String? {
        guard case .tcp(let host, _) = self.place, !host.hasPrefix("["), IPAddress(host) == nil else { return nil }
        return host
    }

    private var scheme: String {
        switch (self.isHTTP2, self.isSecure) {
        case (false, false): "http"
        case (false, true): "https"
        case (true, false): "h2c"
        case (true, true): "h2"
        }
    }
}
