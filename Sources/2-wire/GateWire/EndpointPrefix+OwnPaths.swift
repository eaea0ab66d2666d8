// SPDX-License-Identifier: Apache-2.0

package import GateCore

// Which paths are the gateway's own, and never those of an app.
//
// On the host of `public_url` these are the prefix and all below it. On the host of an app only the endpoints that it needs there:
// with the usual prefix apps have endpoints of their own beside these, such as `/oauth2/authorize`.
extension EndpointPrefix {
    /// The endpoints that every host has, by the name after the prefix and a slash.
    package static let names: Set<String> = [
        "sign_in", "start", "sign_out", "handover", "return", "auth", "userinfo", "account", "apps", "jwks.json",
        "style.css", "icon.svg", "pictures",
    ]
    private static let maxName = 16

    /// Whether a canonical path is one of the gateway's own.
    ///
    /// - Parameters:
    ///   - path: The path without query, in its canonical form, so that no other spelling is left.
    ///   - isGatewayHost: Whether the host is that of `public_url`.
    /// - Returns: Whether it is.
    package func owns(_ path: Span<UInt8>, isGatewayHost: @autoclosure () -> Bool) -> Bool {
        let prefix = self.bytes.span
        guard path.count >= prefix.count, prefix.indices.allSatisfy({ path[$0] == prefix[$0] }) else { return false }
        guard path.count > prefix.count else { return isGatewayHost() }
        guard path[prefix.count] == UInt8(ascii: "/") else { return false }
        return isGatewayHost() || self.hasName(path)
    }

    /// The same for a path that is a text.
    package func owns(_ path: String, isGatewayHost: Bool) -> Bool {
        self.owns(Array(path.utf8).span, isGatewayHost: isGatewayHost)
    }

    private func hasName(_ path: Span<UInt8>) -> Bool {
        var name: [UInt8] = []
        for position in (self.bytes.count + 1)..<path.count where name.count <= EndpointPrefix.maxName {
            let byte = path[position]
            guard byte != UInt8(ascii: "/") else { break }
            name.append(byte)
        }
        return EndpointPrefix.names.contains(String(decoding: name, as: UTF8.self))
    }
}
