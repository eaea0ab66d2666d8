// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// Where an app listens, and with which protocol.
package struct UpstreamAddress: Sendable, Hashable, CustomStringConvertible {
    /// The host and port, or the Unix socket.
    package enum Place: Sendable, Hashable {
        /// A host name or IP address (IPv6 in brackets) and a port.
        case tcp(host: String, port: Int)
        /// A Unix socket.
        case unix(path: String)
    }

    /// The host and port, or the Unix socket.
    package let place: Place
    /// Whether the connection uses TLS.
    package let isSecure: Bool
    /// Whether the target speaks HTTP/2 only: by ALPN over TLS, with prior knowledge in clear text.
    package let isHTTP2: Bool

    /// A target.
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

    /// The target as the configuration file writes it.
    package var description: String {
        switch self.place {
        case .tcp(let host, let port):
            let usual = self.isSecure ? 443 : 80
            return port == usual ? "\(self.scheme)://\(host)" : "\(self.scheme)://\(host):\(port)"
        case .unix(let path):
            return "unix:\(path)"
        }
    }

    /// The default `Host` of a health check.
    var authority: String {
        switch self.place {
        case .tcp(let host, let port): port == (self.isSecure ? 443 : 80) ? host : "\(host):\(port)"
        case .unix: "localhost"
        }
    }

    /// The host name that the certificate must match; nil for an IP address, which must match as such.
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
