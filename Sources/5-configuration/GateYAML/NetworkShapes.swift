// SPDX-License-Identifier: Apache-2.0

package import GateCore

extension InvalidValue {
    /// A host, or a URL, with letters beyond ASCII, of which this is the form that browsers send.
    fileprivate static func international(_ ascii: String) -> InvalidValue {
        InvalidValue("has letters that no host has in HTTP; write it as browsers send it: '\(ascii)'")
    }
}

extension Shape<String> {
    /// The name of a host, without scheme and port.
    package static let host = single("a host name", pattern: #"^[A-Za-z0-9._\-\[\]:]+$"#) { text throws(InvalidValue) in
        try Origin.host(configured: text)
    }

    /// The domain of email addresses.
    package static let domain = single("a domain", pattern: #"^[A-Za-z0-9_\-]+(\.[A-Za-z0-9_\-]+)+\.?$"#) {
        text throws(InvalidValue) in
        if let sign = text.lastIndex(of: "@") {
            let rest = text[text.index(after: sign)...]
            throw InvalidValue("is not a domain; write it without '@'\(rest.isEmpty ? "" : ": '\(rest)'")")
        }
        guard let domain = Origin.normalHost(text), domain.contains("."), !domain.hasPrefix("[") else {
            if let name = InternationalName.ascii(text) { throw InvalidValue.international(name) }
            throw InvalidValue("is not a domain such as example.com")
        }
        return domain
    }
}

extension Shape<HostPattern> {
    /// A host of an app, or a wildcard.
    package static let hostPattern = single("a host name", pattern: #"^(\*\.)?[A-Za-z0-9._\-\[\]:]+$"#) {
        text throws(InvalidValue) in
        guard text.contains("*") else { return .exact(try Origin.host(configured: text)) }
        return try HostPattern.wildcard(configured: text)
    }
}

extension Shape<[Located<HostPattern>]> {
    /// The host of an app, or several.
    package static let hosts = Shape.oneOrMany(
        of: Shape<HostPattern>.hostPattern.located,
        named: "a host name or a list of them"
    )
}

extension HostPattern {
    /// Reads `*.apps.example.com`.
    ///
    /// A certificate's wildcard is one whole label too, and no certification authority issues one for a domain of one label.
    fileprivate static func wildcard(configured text: String) throws(InvalidValue) -> HostPattern {
        if text.hasPrefix("*."), let name = InternationalName.ascii(text.dropFirst(2)) {
            throw InvalidValue.international("*.\(name)")
        }
        let form = "a wildcard is one whole label at the start: '*.apps.example.com'"
        guard text.hasPrefix("*."), !text.dropFirst(2).contains("*"),
            let domain = Origin.normalHost(text.dropFirst(2)), !domain.hasPrefix("[")
        else { throw InvalidValue("is not a host name; \(form)") }
        let labels = domain.split(separator: ".")
        guard labels.count >= 2 else {
            throw InvalidValue("includes hosts of other owners; a wildcard needs at least two labels after '*.'")
        }
        // What ends in a number is an IPv4 address to browsers. https://url.spec.whatwg.org/#ends-in-a-number-checker
        guard labels.last?.allSatisfy(\.isNumber) == false else {
            throw InvalidValue("is not a host name; a wildcard is not possible for IP addresses")
        }
        return .wildcard(domain)
    }
}

extension Origin {
    /// Reads the name of a host, without scheme and port.
    package static func host(configured text: String) throws(InvalidValue) -> String {
        if let mark = text.firstRange(of: "://") {
            throw InvalidValue(
                "is a URL; write the host alone: '\(text[mark.upperBound...].prefix { $0 != "/" && $0 != ":" })'"
            )
        }
        guard !text.contains("/") else { throw InvalidValue("is not a host name; the path belongs to 'path'") }
        guard !text.contains("*") else { throw InvalidValue("is not a host name; wildcards are not supported") }
        if let host = self.normalHost(text) { return host }
        if let split = WebURL.split(authority: text), split.port != nil {
            throw InvalidValue("has a port; a host matches whatever the port, write '\(split.host)'")
        }
        if let name = InternationalName.ascii(text) { throw InvalidValue.international(name) }
        throw InvalidValue("is not a host name such as wiki.example.com")
    }
}

extension Shape<BindAddress> {
    /// A host and port to listen on.
    package static let bindAddress = single(
        "an address",
        pattern: #"^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._\-]+):[0-9]{1,5}$"#
    ) { text throws(InvalidValue) in try Shape<BindAddress>.hostAndPort(text) }

    private static func hostAndPort(_ text: String) throws(InvalidValue) -> BindAddress {
        if let address = BindAddress(text) { return address }
        let digits = text.drop { $0 == ":" }
        if !digits.isEmpty, digits.count <= 5, digits.allSatisfy(\.isNumber) {
            throw InvalidValue("has no host; write '127.0.0.1:\(digits)', or '0.0.0.0:\(digits)' for every interface")
        }
        throw InvalidValue("is not an address and a port such as 127.0.0.1:8080 or [::1]:8080")
    }

    /// The same, or a Unix socket: `unix:` and an absolute path.
    package static let listenerAddress = single(
        "an address",
        pattern: #"^(unix:/.+|(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._\-]+):[0-9]{1,5})$"#
    ) { text throws(InvalidValue) in
        guard text.hasPrefix("unix:") else { return try Shape<BindAddress>.hostAndPort(text) }
        let path = String(text.dropFirst("unix:".utf8.count))
        guard path.hasPrefix("/"), !path.hasSuffix("/"), path.utf8.count <= 4096, !path.utf8.contains(0) else {
            throw InvalidValue("is not an absolute path of a socket such as unix:/run/gatehouse/http.sock")
        }
        if let violation = SocketPath.violation(path) { throw InvalidValue(violation) }
        return BindAddress(path: path)
    }
}

extension Shape<String> {
    /// The path of a Unix socket, unchanged.
    package static let socketPath = single("a path") { text throws(InvalidValue) in
        guard !text.isEmpty, text.utf8.count <= 4096, !text.utf8.contains(0) else {
            throw InvalidValue("is not a path")
        }
        if let violation = SocketPath.violation(text) { throw InvalidValue(violation) }
        return text
    }
}

extension Shape<UInt32> {
    /// The permissions of a Unix socket in octal digits.
    package static let socketMode = single("permissions", pattern: "^0?[0-7]{3}$") { text throws(InvalidValue) in
        guard (3...4).contains(text.utf8.count), text.utf8.count == 3 || text.hasPrefix("0"),
            let bits = UInt32(text, radix: 8), bits <= 0o777
        else { throw InvalidValue("is not three octal digits such as \"0660\"") }
        return bits
    }
}

extension Shape<CIDRRange> {
    /// A network whose proxies are trusted.
    package static let network = single("a network", pattern: #"^[0-9A-Fa-f:.]+(/[0-9]{1,3})?$"#) {
        text throws(InvalidValue) in
        if let range = CIDRRange(text) { return range }
        let sides = text.split(separator: "/", omittingEmptySubsequences: false)
        if sides.count == 2, IPAddress(sides[0]) != nil, let bits = Int(sides[1]), (0...128).contains(bits) {
            throw InvalidValue("has bits set after its prefix, or a prefix that is too long; write such as 10.0.0.0/8")
        }
        throw InvalidValue("is not a network such as 10.0.0.0/8 or 192.0.2.7")
    }
}

extension Shape<Origin> {
    /// The public origin: https, or http on loopback.
    package static let publicOrigin = single("a URL", pattern: #"^https?://[^/?#@]+/?$"#) { text throws(InvalidValue) in
        let address = try WebURL(secure: text, example: "https://gate.example.com")
        guard address.path == "/", address.query == nil else {
            throw InvalidValue("has a path; the gateway needs a separate host, write '\(address.origin)'")
        }
        return address.origin
    }
}

extension Shape<WebURL> {
    /// The URL of a provider's server: https, or http on loopback.
    package static let baseURL = single("a URL", pattern: #"^https?://[^?#@]+$"#) { text throws(InvalidValue) in
        let address = try WebURL(secure: text, example: "https://github.example.com")
        guard address.query == nil else { throw InvalidValue("has a query; write the URL without it") }
        return address
    }

    /// An endpoint of a provider; it may have a query, which is kept.
    ///
    /// RFC 6749 §3.1.
    package static let endpoint = single("a URL", pattern: #"^https?://[^#@]+$"#) { text throws(InvalidValue) in
        try WebURL(secure: text, example: "https://id.example.com/authorize")
    }
}

extension Shape<String> {
    /// An issuer, unchanged since it is compared byte by byte.
    ///
    /// OpenID Connect Discovery 1.0 §4.3.
    package static let issuer = single("a URL", pattern: #"^https?://[^?#@]+$"#) { text throws(InvalidValue) in
        let address = try WebURL(secure: text, example: "https://id.example.com")
        guard address.query == nil else { throw InvalidValue("has a query; an issuer has none") }
        let known = "/.well-known/openid-configuration"
        guard !address.path.hasSuffix(known) else {
            throw InvalidValue("is the discovery document; the issuer is '\(text.dropLast(known.count))'")
        }
        return text
    }
}

extension WebURL {
    /// Reads a URL that may be used only over TLS or on loopback.
    fileprivate init(secure text: String, example: String) throws(InvalidValue) {
        guard let address = WebURL(text) else {
            let host = text.firstRange(of: "://").map { text[$0.upperBound...].prefix { !"/:?#".contains($0) } } ?? ""
            if let name = InternationalName.ascii(host) {
                throw InvalidValue.international(text.replacing(host, with: name, maxReplacements: 1))
            }
            let help = text.contains("://") ? "such as \(example)" : "; it starts with https://, such as \(example)"
            throw InvalidValue(text.contains("://") ? "is not a URL \(help)" : "is not a URL\(help)")
        }
        guard address.origin.isSecure || address.origin.isLoopback else {
            throw InvalidValue("is plain http, which is accepted on loopback only; write 'https://…'")
        }
        self = address
    }
}
