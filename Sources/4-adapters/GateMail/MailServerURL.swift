// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Host, port and security of a mail server.
///
/// There is no form that uses TLS only if the server offers it: an attacker would remove the offer.
package struct MailServerURL: Sendable, Hashable, CustomStringConvertible {
    /// How the connection is protected.
    package enum Security: Sendable, Hashable {
        /// TLS from the first byte, `smtps://`. RFC 8314 §3.3.
        case tls
        /// STARTTLS before anything else, `smtp://`. RFC 3207.
        case startTLS
        /// No TLS, which only a server on loopback may have.
        case plain
    }

    /// The host in its normal form; an IPv6 address in brackets.
    package let host: String
    package let port: Int
    /// How the connection is protected.
    package let security: Security

    /// Reads `smtp://HOST[:PORT]` or `smtps://HOST[:PORT]`.
    ///
    /// - Parameters:
    ///   - text: The URL; the ports are 587 and 465 without one.
    ///   - allowsPlain: Whether `smtp://` is without TLS, which is rejected for any host but loopback.
    /// - Throws: `mail.server`.
    package init(_ text: String, allowsPlain: Bool = false) throws(MailFailure) {
        guard let mark = text.firstRange(of: "://") else {
            throw MailFailure(.server, "the URL has to start with smtp:// or smtps://")
        }
        let scheme = text[..<mark.lowerBound].lowercased()
        guard scheme == "smtp" || scheme == "smtps" else {
            throw MailFailure(.server, "the URL has to start with smtp:// or smtps://")
        }
        var authority = text[mark.upperBound...]
        if authority.hasSuffix("/") { authority.removeLast() }
        let port = scheme == "smtp" ? 587 : 465
        guard let parts = WebURL.split(authority: authority),
            let origin = Origin(scheme: "https", host: parts.host, port: parts.port ?? port)
        else {
            throw MailFailure(.server, "the URL has to be smtp://HOST:PORT or smtps://HOST:PORT, without user and path")
        }
        guard !allowsPlain || scheme == "smtps" || origin.isLoopback else {
            throw MailFailure(.server, "only a server on loopback may be used without TLS, not \(origin.host)")
        }
        self.host = origin.host
        self.port = origin.port
        self.security = scheme == "smtps" ? .tls : allowsPlain ? .plain : .startTLS
    }

    package var description: String { "\(self.security == .tls ? "smtps" : "smtp")://\(self.host):\(self.port)" }
}
