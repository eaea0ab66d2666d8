// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// The host of a request in its normal form.
///
/// RFC 9112 §3.2.
package struct RequestAuthority: Sendable, Hashable {
    /// The host in lower case, without port and trailing dot.
    package let host: String
    /// The port as written, or nil.
    package let port: Int?
    /// Host and port as they are forwarded.
    package let text: String

    init?(_ text: String) {
        guard text.utf8.count <= 255, let sides = WebURL.split(authority: text) else { return nil }
        guard let host = Origin.normalHost(sides.host) else { return nil }
        self.host = host
        self.port = sides.port
        self.text = sides.port.map { "\(host):\($0)" } ?? host
    }
}

/// The parsed `Host` field of an earlier request of the connection; clients repeat it with each request.
///
/// A class, because each request keeps it.
final class CachedAuthority: Sendable {
    let raw: [UInt8]
    let authority: RequestAuthority

    init(raw: [UInt8], authority: RequestAuthority) {
        self.raw = raw
        self.authority = authority
    }

    func isSpelled(_ bytes: Span<UInt8>) -> Bool {
        let raw = self.raw
        return bytes.isEqual(to: raw.span)
    }
}
