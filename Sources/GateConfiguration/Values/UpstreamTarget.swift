// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// One server behind an app: where it is and what is spoken with it.
package struct UpstreamTarget: Sendable, Hashable, CustomStringConvertible {
    /// Where a server is.
    package enum Place: Sendable, Hashable {
        /// A host in the form of `Origin.host`, an IPv6 address in brackets, and a port.
        case tcp(host: String, port: Int)
        /// A Unix domain socket with an absolute path.
        case unix(path: String)
    }

    /// Where it is.
    package let place: Place
    /// Whether TLS is spoken: `https` and `h2`.
    package let isSecure: Bool
    /// Whether HTTP/2 is spoken, without a question: `h2` and `h2c`.
    package let isHTTP2: Bool

    /// Puts the parts together.
    package init(place: Place, isSecure: Bool = false, isHTTP2: Bool = false) {
        self.place = place
        self.isSecure = isSecure
        self.isHTTP2 = isHTTP2
    }

    /// The target of `http://` or `https://` at an origin.
    package init(_ origin: Origin) {
        self.init(place: .tcp(host: origin.host, port: origin.port), isSecure: origin.isSecure)
    }

    /// The scheme, as the file writes it.
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

    /// What stands in `Host` if it names the target itself: host and port, `localhost` for a socket.
    package var authority: String { self.origin?.authority ?? "localhost" }

    /// The target as the file writes it, the scheme's own port left out.
    package var description: String {
        switch self.place {
        case .tcp: "\(self.scheme)://\(self.authority)"
        case .unix(let path): "unix:\(path)"
        }
    }
}
