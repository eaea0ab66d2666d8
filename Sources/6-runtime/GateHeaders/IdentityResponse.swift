// SPDX-License-Identifier: Apache-2.0

package import GateConfiguration
internal import GateSessions
package import GateWire
package import HTTPTypes
package import NIOCore

/// The identity of a user as fields of the response to a proxy, which copies them into the request to the app.
package struct IdentityResponse: Sendable {
    /// The fields without an identity: each name with an empty value.
    ///
    /// Proxies copy what the response has. A name that it lacked would keep the value that the client sent, CVE-2026-30851.
    private let empty: HTTPFields

    /// The responses about an app: with all standard names, also those that it does not receive.
    package init(_ app: AppSettings) {
        var fields = HTTPFields()
        let authorization = app.identity.authorization == nil ? [] : ["Authorization"]
        let names = IdentityLines.names + app.headers.map(\.name) + authorization
        for name in names + IdentityLines.names.compactMap(IdentityResponse.alias) {
            guard let name = HTTPField.Name(name) else { continue }
            fields[name] = ""
        }
        self.empty = fields
    }

    /// The fields about a request that may pass.
    ///
    /// - Parameters:
    ///   - request: The request; the fields have its cookies without those of the gateway.
    ///   - identity: The identity lines; nil for a request that needs no identity.
    /// - Returns: The fields.
    package func fields(about request: RequestHead, identity: ByteBuffer?) -> HTTPFields {
        var fields = self.empty
        // The subscript would split it into a field for each cookie.
        fields.append(HTTPField(name: .cookie, value: IdentityResponse.foreignCookies(of: request)))
        guard let identity else { return fields }
        for line in identity.readableBytesView.split(separator: 0x0A) {
            let sides = line.split(separator: UInt8(ascii: ":"), maxSplits: 1)
            guard sides.count == 2, let name = HTTPField.Name(String(decoding: sides[0], as: UTF8.self)) else {
                continue
            }
            let value = String(decoding: sides[1].dropFirst().dropLast(), as: UTF8.self)
            fields[name] = value
            if let alias = IdentityResponse.alias(of: name.rawName).flatMap({ HTTPField.Name($0) }) {
                fields[alias] = value
            }
        }
        return fields
    }

    private static func foreignCookies(of request: RequestHead) -> String {
        let message = request.message
        guard let field = message.first(.cookie) else { return "" }
        var cookies: [String] = []
        CookieHeader.forEachForeign(in: message.bytes.readableBytesUInt8Span.extracting(field.valueRange)) { range in
            let start = field.valueRange.lowerBound
            cookies.append(message.text((start + range.lowerBound)..<(start + range.upperBound)))
        }
        return cookies.joined(separator: "; ")
    }

    /// The name that oauth2-proxy has for a standard field in such responses; nil for any other field.
    private static func alias(of name: String) -> String? {
        let prefix = "X-Forwarded-"
        guard name.hasPrefix(prefix), IdentityLines.names.contains(name) else { return nil }
        return "X-Auth-Request-\(name.dropFirst(prefix.count))"
    }
}
