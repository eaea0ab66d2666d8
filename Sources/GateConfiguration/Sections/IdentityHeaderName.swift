// SPDX-License-Identifier: Apache-2.0

/// Which header names an app may ask for.
enum IdentityHeaderName {
    /// Names that mean something to a server or to the way there.
    ///
    /// RFC 9110 §7.6.1.
    private static let reserved: Set<String> = [
        "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
        "transfer-encoding", "upgrade", "content-length", "content-type", "content-encoding", "host", "cookie",
        "set-cookie",
        "authorization", "expect", "via", "http2-settings", "date", "accept", "origin", "sec-fetch-mode",
        "sec-fetch-site", "x-requested-with", "content-language", "content-location", "content-range", "location",
        "refresh", "referer", "cache-control", "expires", "pragma",
    ]

    /// Why a name cannot be used, or nil if it can.
    static func complaint(about name: String) -> String? {
        let letters = name.utf8.allSatisfy { byte in
            byte == UInt8(ascii: "-") || (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF)
        }
        guard letters, (1...64).contains(name.utf8.count) else {
            return "it may hold letters, digits and '-', at most 64"
        }
        let folded = name.lowercased()
        guard !self.reserved.contains(folded) else { return "it has a meaning of its own in HTTP" }
        return self.isManaged(folded) ? "the gateway sets it itself" : nil
    }

    /// The names that the gateway sets itself, beside its own family.
    private static let managed: Set<String> = [
        "forwarded", "x-request-id", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "x-forwarded-user",
        "x-forwarded-email", "x-forwarded-name", "x-forwarded-preferred-username", "x-forwarded-groups",
        "x-forwarded-provider",
    ]

    /// Whether the gateway itself says what fields of a name hold; the name is in lower case.
    ///
    /// Others of the family, such as `X-Forwarded-Port`, are removed from what clients send and can be set for an app.
    static func isManaged(_ folded: String) -> Bool {
        folded.hasPrefix("x-gatehouse-") || self.managed.contains(folded)
    }
}

extension NameRule {
    /// The extra header names of an app.
    static let headerName = NameRule(
        subject: "the name of a header",
        pattern: "^[A-Za-z0-9\\-]{1,64}$",
        complaint: IdentityHeaderName.complaint,
        identity: { $0.lowercased() }
    )

    /// The names of providers.
    static let providerName = NameRule(subject: "the name of a provider", pattern: "^[a-z0-9][a-z0-9_\\-]{0,62}$") {
        name in
        NameRule.complaint(about: name, extra: "_-")
    }

    /// The names of apps.
    static let appName = NameRule(subject: "the name of an app", pattern: "^[a-z0-9][a-z0-9_.\\-]{0,62}$") { name in
        NameRule.complaint(about: name, extra: "_.-")
    }

    private static func complaint(about name: String, extra: String) -> String? {
        func isLetter(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte) }
        let isLegal = name.utf8.allSatisfy { isLetter($0) || extra.utf8.contains($0) }
        guard isLegal, let first = name.utf8.first, isLetter(first) else {
            let help = extra.map { "'\($0)'" }.joined(separator: ", ")
            return "it may hold a to z, 0 to 9, \(help), and starts with a letter or digit"
        }
        return name.utf8.count <= 63 ? nil : "it may have at most 63 characters"
    }
}
