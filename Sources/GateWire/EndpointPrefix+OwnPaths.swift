// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Which paths are the gateway's own, and never those of an app.
///
/// On the host of `public_url` these are `/oauth2` and all below it. On the host of an app only the endpoints that it needs
/// there: apps have endpoints of their own below `/oauth2/`, such as `/oauth2/authorize`.
package enum OwnPath {
    private static let prefix = "/oauth2"

    /// The endpoints that every host has, by the name after `/oauth2/`.
    package static let names: Set<String> = [
        "sign_in", "start", "sign_out", "handover", "return", "auth", "userinfo", "account", "apps", "jwks.json",
        "style.css", "icon.svg", "pictures",
    ]

    /// Whether a canonical path is one of the gateway's own.
    ///
    /// - Parameters:
    ///   - path: The path without query, in its canonical form, so that no other spelling is left.
    ///   - isGatewayHost: Whether the host is that of `public_url`.
    /// - Returns: Whether it is.
    package static func includes(_ path: Span<UInt8>, isGatewayHost: @autoclosure () -> Bool) -> Bool {
        guard path.starts(with: self.prefix) else { return false }
        guard path.count > self.prefix.utf8.count else { return isGatewayHost() }
        guard path[self.prefix.utf8.count] == UInt8(ascii: "/") else { return false }
        return isGatewayHost() || self.hasName(path)
    }

    /// The same for a path that is a text.
    package static func includes(_ path: String, isGatewayHost: Bool) -> Bool {
        self.includes(Array(path.utf8).span, isGatewayHost: isGatewayHost)
    }

    private static func hasName(_ path: Span<UInt8>) -> Bool {
        var name: [UInt8] = []
        for position in (self.prefix.utf8.count + 1)..<path.count where name.count <= 16 {
            let byte = path[position]
            guard byte != UInt8(ascii: "/") else { break }
            name.append(byte)
        }
        return self.names.contains(String(decoding: name, as: UTF8.self))
    }
}
