// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// A URI to which a client may have its users redirected.
///
/// RFC 6749 §3.1.2. It is compared byte by byte, without normalization (RFC 9700 §4.1.3), but for the port of one on
/// loopback (RFC 8252 §7.3).
package struct RedirectURI: Sendable, Hashable {
    /// Which rules it follows.
    package enum Kind: Sendable, Hashable {
        /// `https`: a web site, a universal link or an app link, RFC 8252 §7.2.
        case web(host: String)
        /// `http` on 127.0.0.1 or [::1], RFC 8252 §7.3.
        case loopback(host: String)
        /// `http` on `localhost`, which RFC 8252 §8.3 advises against.
        case localhost
        /// The scheme of a native app, RFC 8252 §7.1.
        case customScheme(String)
    }

    /// The maximum length in bytes.
    package static let maxLength = 2048

    /// The URI as it was registered.
    package let text: String
    /// Which rules it follows.
    package let kind: Kind
    /// Where the part after the authority begins, in bytes.
    private let tail: Int

    /// Reads a URI to register.
    package init(_ text: String) throws(RedirectURIFailure) {
        try RedirectURI.checkCharacters(text.utf8)
        let bytes = Array(text.utf8)
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { throw .relative }
        let scheme = String(decoding: bytes[..<colon], as: UTF8.self)
        let rest = bytes[(colon + 1)...]
        guard rest.first == UInt8(ascii: "/") else {
            throw RedirectURI.opened.contains(scheme.lowercased()) ? .forbiddenScheme : .relative
        }
        let hasAuthority = rest.starts(with: "//".utf8)
        let start = hasAuthority ? colon + 3 : colon + 1
        let end =
            hasAuthority
            ? bytes[start...].firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? bytes.endIndex
            : start
        self.kind = try RedirectURI.kind(scheme: scheme, authority: hasAuthority ? bytes[start..<end] : nil)
        try RedirectURI.checkTail(bytes[end...])
        self.text = text
        self.tail = end
    }

    /// Whether the URI of a request is this one.
    ///
    /// - Parameters:
    ///   - requested: The URI of the request.
    ///   - anyPort: Whether the port of a URI on loopback is free, as for native apps, which get theirs from the system.
    /// - Returns: Whether the user may be redirected there.
    package func matches(_ requested: String, anyPort: Bool) -> Bool {
        guard anyPort, case .loopback(let host) = self.kind else { return isIdentical(self.text, requested) }
        let origin = "http://\(host)".utf8
        guard requested.utf8.starts(with: origin) else { return false }
        var rest = requested.utf8.dropFirst(origin.count)
        if rest.first == UInt8(ascii: ":") {
            let digits = rest.dropFirst().prefix { (0x30...0x39).contains($0) }
            guard RedirectURI.port(digits) != nil else { return false }
            rest = rest[digits.endIndex...]
        }
        return rest.elementsEqual(self.text.utf8.dropFirst(self.tail))
    }

    /// The part after the authority: path and query.
    var target: String { String(decoding: self.text.utf8.dropFirst(self.tail), as: UTF8.self) }

    /// The same for two URIs that differ in the case of letters, in a trailing slash or in the default port only.
    package var lookAlikeKey: String {
        var origin = self.text.utf8.prefix(self.tail)
        if case .web = self.kind, origin.reversed().starts(with: ":443".utf8.reversed()) { origin.removeLast(4) }
        let target = self.target.hasSuffix("/") ? self.target.dropLast() : self.target[...]
        return "\(Substring(origin))\(target)".lowercased()
    }
}

extension RedirectURI {
    /// The schemes that browsers run, render or open themselves; those without a slash after the colon included.
    private static let opened: Set = [
        "about", "android-app", "blob", "chrome", "content", "data", "file", "filesystem", "ftp", "intent",
        "itms-services",
        "jar", "javascript", "mailto", "market", "resource", "search-ms", "sms", "tel", "urn", "vbscript",
        "view-source",
        "ws", "wss",
    ]

    /// The parameters of a response: RFC 6749 §4.1.2, RFC 9207 §2 and OpenID Connect Session Management §3.
    private static let responseParameters: Set = [
        "access_token", "code", "error", "error_description", "error_uri", "id_token", "iss", "response",
        "session_state",
        "state",
    ]

    private static func checkCharacters(_ text: String.UTF8View) throws(RedirectURIFailure) {
        guard text.count <= self.maxLength else { throw .tooLong }
        let illegal = Array("\"<>^`{|}".utf8)
        for byte in text {
            switch byte {
            case UInt8(ascii: "\\"): throw .backslash
            case UInt8(ascii: "*"): throw .wildcard
            case UInt8(ascii: "#"): throw .fragment
            case 0x21...0x7E where !illegal.contains(byte): continue
            default: throw .character
            }
        }
    }

    private static func kind(scheme: String, authority: ArraySlice<UInt8>?) throws(RedirectURIFailure) -> Kind {
        guard scheme == scheme.lowercased() else { throw .capitals }
        if self.opened.contains(scheme) { throw .forbiddenScheme }
        guard scheme == "http" || scheme == "https" else {
            guard self.isReversedDomain(scheme) else { throw .schemeWithoutDomain }
            guard !(authority ?? []).contains(UInt8(ascii: "@")) else { throw .userName }
            return .customScheme(scheme)
        }
        guard let authority else { throw .relative }
        let host = try self.host(of: authority)
        guard scheme == "http" else { return .web(host: host) }
        switch host {
        case "127.0.0.1", "[::1]": return .loopback(host: host)
        case "localhost": return .localhost
        default: throw .plainHTTP
        }
    }

    /// The host of an authority that every browser reads the same way.
    private static func host(of authority: ArraySlice<UInt8>) throws(RedirectURIFailure) -> String {
        guard !authority.contains(UInt8(ascii: "@")) else { throw .userName }
        let bracket = authority.first == UInt8(ascii: "[") ? authority.firstIndex(of: UInt8(ascii: "]")) : nil
        let colon = authority[(bracket ?? authority.startIndex)...].firstIndex(of: UInt8(ascii: ":"))
        let host = String(decoding: authority[..<(colon ?? authority.endIndex)], as: UTF8.self)
        guard let normal = Origin.normalHost(host) else { throw .host }
        guard !host.hasSuffix(".") else { throw .trailingDot }
        guard isIdentical(host, normal) else { throw .capitals }
        // Browsers read a host whose last label is a number as an IPv4 address: 0x7f.1 is 127.0.0.1.
        let last = host.split(separator: ".").last ?? ""
        guard !self.isNumeric(last.utf8) || IPAddress(host) != nil else { throw .host }
        if let colon {
            guard self.port(authority[(colon + 1)...]) != nil else { throw .port }
        }
        return host
    }

    /// Whether a browser reads a label as a number: decimal digits, or `0x` and hexadecimal ones.
    private static func isNumeric(_ label: Substring.UTF8View) -> Bool {
        guard label.starts(with: "0x".utf8) else { return label.allSatisfy { (0x30...0x39).contains($0) } }
        return label.dropFirst(2).allSatisfy { PercentEncoding.value(of: $0) != nil }
    }

    private static func port(_ digits: some Collection<UInt8>) -> Int? {
        guard (1...5).contains(digits.count), digits.first != UInt8(ascii: "0") else { return nil }
        guard digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        let port = digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
        return (1...65_535).contains(port) ? port : nil
    }

    /// Whether a scheme has the form of a domain in reverse order: labels of letters, digits and `-`, a dot between them.
    private static func isReversedDomain(_ scheme: String) -> Bool {
        let labels = scheme.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard labels.count >= 2, let first = scheme.utf8.first, (0x61...0x7A).contains(first) else { return false }
        return labels.allSatisfy { label in
            !label.isEmpty
                && label.allSatisfy {
                    (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "-")
                }
        }
    }

    /// The path has one reading, and the query leaves the parameters of the response alone.
    private static func checkTail(_ tail: ArraySlice<UInt8>) throws(RedirectURIFailure) {
        let parts = tail.split(separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
        let path = parts.first ?? []
        guard let decoded = PercentEncoding.decode(path) else { throw .escape }
        let segments = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard !segments.contains(where: { $0.elementsEqual(".".utf8) || $0.elementsEqual("..".utf8) }) else {
            throw .dotSegment
        }
        let steering = [UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "\\")]
        let isSteered = steering.contains { byte in
            decoded.count { $0 == byte } != path.count { $0 == byte }
        }
        guard !isSteered, decoded.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { throw .escape }
        guard parts.count > 1 else { return }
        guard let form = Form(encoded: String(decoding: parts[1], as: UTF8.self)) else { throw .escape }
        guard form.fields.allSatisfy({ !self.responseParameters.contains($0.name) }) else { throw .responseParameter }
    }
}
