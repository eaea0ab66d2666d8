// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// The host of a request in its normal form.
///
/// RFC 9112 §3.2. A class, because all requests of a connection that spell it in the same way have the same one.
package final class RequestAuthority: Sendable {
    /// The host in lower case, without port and trailing dot.
    package let host: String
    /// The port as written, or nil.
    package let port: Int?
    /// Host and port as they are forwarded.
    package let text: String
    /// As the request has it.
    private let raw: [UInt8]

    init?(_ raw: some Collection<UInt8>) {
        let text = String(decoding: raw, as: UTF8.self)
        guard text.utf8.count <= 255, let sides = RequestAuthority.split(text) else { return nil }
        guard let host = Origin.normalHost(sides.host) else { return nil }
        self.host = host
        self.port = sides.port
        self.text = sides.port.map { "\(host):\($0)" } ?? host
        self.raw = Array(raw)
    }

    /// Host and port of an authority, in which a colon without digits means the default port.
    ///
    /// RFC 3986 §3.2.3 and §6.2.3.
    static func split(_ authority: some StringProtocol) -> (host: String, port: Int?)? {
        guard authority.hasSuffix(":") else { return WebURL.split(authority: String(authority)) }
        let sides = WebURL.split(authority: String(authority.dropLast()))
        return sides?.port == nil ? sides : nil
    }

    /// Whether a `Host` field is spelled like this one; clients repeat it with each request.
    func isSpelled(_ bytes: Span<UInt8>) -> Bool {
        let raw = self.raw
        return bytes.isEqual(to: raw.span)
    }

    /// Whether another one, whatever its spelling, means the same.
    func means(_ other: RequestAuthority) -> Bool { isIdentical(self.text, other.text) }
}
