// SPDX-License-Identifier: Apache-2.0

/// A host and a port to listen on, or a Unix socket.
package struct BindAddress: Sendable, Hashable, CustomStringConvertible {
    /// An IP address without brackets, or a name that resolves to one.
    package let host: String
    /// The port; 0 for any free one.
    package let port: Int
    /// The path of a Unix socket, which has no host and port; nil for others.
    package let path: String?

    package init(host: String, port: Int) {
        self.host = host
        self.port = port
        self.path = nil
    }

    /// The address of a Unix socket.
    package init(path: String) {
        self.host = ""
        self.port = 0
        self.path = path
    }

    /// Reads `127.0.0.1:8080`, `[::1]:8080` or `localhost:8080`; nil if host or port are missing or invalid.
    package init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let host = Origin.normalHost(text[..<colon]) else { return nil }
        let digits = text[text.index(after: colon)...]
        guard (1...5).contains(digits.utf8.count), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        guard let port = Int(digits), port <= 65_535 else { return nil }
        self.port = port
        self.path = nil
        guard host.hasPrefix("[") else {
            self.host = host
            return
        }
        let inner = String(host.dropFirst().dropLast())
        guard IPAddress(inner) != nil else { return nil }
        self.host = inner
    }

    /// Host and port, an IPv6 address in brackets; or `unix:` and the path.
    package var description: String {
        if let path { return "unix:\(path)" }
        return self.host.contains(":") ? "[\(self.host)]:\(self.port)" : "\(self.host):\(self.port)"
    }

    /// Whether both cannot be listened on at once: the same socket, or the same port of one address or of all of its family.
    package func collides(with other: BindAddress) -> Bool {
        guard self.path == nil, other.path == nil else { return self.path == other.path }
        guard self.port == other.port, self.port != 0 else { return false }
        guard self.host != other.host else { return true }
        guard self.host.contains(":") == other.host.contains(":") else { return false }
        return [self.host, other.host].contains { $0 == "0.0.0.0" || $0 == "::" }
    }

    /// Whether only this machine reaches it.
    package var isLoopback: Bool {
        guard self.path == nil else { return true }
        return Origin(scheme: "http", host: self.host.contains(":") ? "[\(self.host)]" : self.host)?.isLoopback ?? false
    }

    /// Whether it is the wildcard address of its family.
    package var isWildcard: Bool { self.host == "0.0.0.0" || self.host == "::" }
}
