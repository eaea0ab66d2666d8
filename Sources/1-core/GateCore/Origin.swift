// SPDX-License-Identifier: Apache-2.0

/// Scheme, host and port of a web site.
///
/// RFC 6454 §4.
///
/// The host is lower case without a trailing dot; an IPv6 address keeps its brackets.
package struct Origin: Sendable, Hashable, CustomStringConvertible {
    /// `http` or `https`.
    package let scheme: String
    /// The host in its normal form.
    package let host: String
    /// The port, 1 to 65535, the scheme's default filled in.
    package let port: Int

    /// Creates an origin, or nil if the scheme is not http(s), the host is invalid or the port is out of range.
    package init?(scheme: String, host: String, port: Int? = nil) {
        let scheme = scheme.lowercased()
        guard scheme == "http" || scheme == "https", let host = Origin.normalHost(host) else { return nil }
        let port = port ?? (scheme == "https" ? 443 : 80)
        guard (1...65_535).contains(port) else { return nil }
        self.scheme = scheme
        self.host = host
        self.port = port
    }

    package var isSecure: Bool { self.scheme == "https" }

    /// Whether the port is the scheme's own.
    package var hasDefaultPort: Bool { self.port == (self.isSecure ? 443 : 80) }

    /// Host and port as a `Host` field carries them, the default port left out.
    package var authority: String { self.hasDefaultPort ? self.host : "\(self.host):\(self.port)" }

    /// The origin as text, the default port left out.
    ///
    /// RFC 6454 §6.2.
    package var description: String { "\(self.scheme)://\(self.authority)" }

    /// The origin of another host with the same scheme and port; nil if the host is invalid.
    package func with(host: String) -> Origin? { Origin(scheme: self.scheme, host: host, port: self.port) }

    /// Whether the host can only be this machine: `localhost`, `*.localhost`, `127.0.0.0/8` or `[::1]`.
    ///
    /// RFC 6761 §6.3.
    package var isLoopback: Bool {
        guard self.host != "localhost", self.host != "[::1]", !self.host.hasSuffix(".localhost") else { return true }
        let parts = self.host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }

    /// The normal form of a host: lower case, one trailing dot gone; nil for what is neither a name nor an address.
    ///
    /// Names are at most 253 bytes of labels of letters, digits, `-` and `_`.
    package static func normalHost(_ text: some StringProtocol) -> String? {
        // Other alphabets have letters whose lower case is ASCII, such as the Kelvin sign.
        guard text.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        var host = text.lowercased()
        if host.hasPrefix("[") {
            guard host.hasSuffix("]"), host.utf8.count <= 47, host.utf8.count > 3 else { return nil }
            let inner = host.dropFirst().dropLast()
            return inner.contains(":") && IPAddress(inner) != nil ? host : nil
        }
        if host.hasSuffix(".") { host.removeLast() }
        guard !host.isEmpty, host.utf8.count <= 253 else { return nil }
        let labels = host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let allowed = labels.allSatisfy { label in
            (1...63).contains(label.count)
                && label.allSatisfy { byte in
                    byte != UInt8(ascii: ".") && byte != UInt8(ascii: "~") && PercentEncoding.isUnreserved(byte)
                }
        }
        return allowed ? host : nil
    }
}
