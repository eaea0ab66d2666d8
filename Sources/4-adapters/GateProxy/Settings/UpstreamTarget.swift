// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// One server of an app: its address and the protocol that it speaks.
package struct UpstreamTarget: Sendable, Hashable, CustomStringConvertible {
    /// The address of a server.
    package enum Place: Sendable, Hashable {
        /// A host in the form of `Origin.host`, an IPv6 address in brackets, and a port.
        case tcp(host: String, port: Int)
        /// A Unix domain socket with an absolute path.
        case unix(path: String)
    }

    /// The address.
    package let place: Place
    /// Whether the server speaks TLS: `https` and `h2`.
    package let isSecure: Bool
    /// Whether the server speaks HTTP/2 and nothing else: by ALPN over TLS (`h2`), with prior knowledge without (`h2c`).
    package let isHTTP2: Bool

    /// Puts the parts together.
    package init(_ place: Place, isSecure: Bool = false, isHTTP2: Bool = false) {
        self.place = place
        self.isSecure = isSecure
        self.isHTTP2 = isHTTP2
    }

    /// HTTP/1.1 over a Unix domain socket.
    package static func unix(path: String) -> UpstreamTarget { UpstreamTarget(.unix(path: path)) }

    /// The scheme, as the configuration file writes it.
    package var scheme: String {
        guard case .tcp = self.place else { return "unix" }
        return switch (self.isSecure, self.isHTTP2) {
        case (false, false): "http"
        case (true, false): "https"
        case (false, true): "h2c"
        case (true, true): "h2"
        }
    }

    /// Scheme, host and port as of a web site, whatever version of HTTP is spoken; nil for a socket.
    package var origin: Origin? {
        guard case .tcp(let host, let port) = self.place else { return nil }
        return Origin(scheme: self.isSecure ? "https" : "http", host: host, port: port)
    }

    /// The `Host` that names the target itself: host and port, `localhost` for a socket.
    package var authority: String {
        switch self.place {
        case .tcp(let host, let port): port == (self.isSecure ? 443 : 80) ? host : "\(host):\(port)"
        case .unix: "localhost"
        }
    }

    /// The target as the configuration file writes it, the scheme's default port left out.
    package var description: String {
        switch self.place {
        case .tcp: "\(self.scheme)://\(self.authority)"
        case .unix(let path): "unix:\(path)"
        }
    }

    /// The host that the certificate must name; nil for an IP address, which the certificate must list as one.
    var serverName: String? {
        guard case .tcp(let host, _) = self.place, !host.hasPrefix("["), IPAddress(host) == nil else { return nil }
        return host
    }
}
