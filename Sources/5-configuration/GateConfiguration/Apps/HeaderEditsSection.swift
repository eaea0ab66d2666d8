// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import GateYAML

/// Changes to the fields of a message; each name occurs once, ignoring letter case.
package struct HeaderEdits: Sendable, Hashable {
    /// The fields that replace all of their name.
    package var set: [HeaderValue]
    /// The names of the fields that are removed.
    package var remove: [String]
    /// The names that usually carry an identity and whose fields are forwarded as the client sent them.
    package var keep: [String]

    /// Makes edits, by default none.
    package init(set: [HeaderValue] = [], remove: [String] = [], keep: [String] = []) {
        self.set = set
        self.remove = remove
        self.keep = keep
    }

    /// Whether nothing is changed.
    package var isEmpty: Bool { self.set.isEmpty && self.remove.isEmpty && self.keep.isEmpty }
}

/// A field of a message: name and value.
package struct HeaderValue: Sendable, Hashable {
    /// The name, as written in the file.
    package var name: String
    /// The value: 1 to 4096 bytes of visible ASCII and, within, spaces.
    package var value: String

    /// Pairs a name with a value.
    package init(name: String, value: String) {
        self.name = name
        self.value = value
    }
}

/// `request_headers` or `response_headers` as the file has it.
struct HeaderEditsDraft: Sendable {
    var set: [Named<String>]?
    var remove: [Located<String>]?
    var keep: [Located<String>]?
}

extension Mapping<HeaderEditsDraft> {
    /// `apps.<name>.request_headers` and `apps.<name>.response_headers`.
    static let headerEdits = Mapping(
        "the headers",
        path: "apps.<name>.request_headers and apps.<name>.response_headers",
        summary:
            "Changes to header fields, at most 64 each way: of requests before the app receives them, of responses "
            + "before the client receives them.",
        make: { HeaderEditsDraft() },
        keys: [
            Key(
                "set",
                \.set,
                .entries(of: .fieldValue, named: "a mapping of header names to values", rule: .setHeader),
                .init(default: .words("none")),
                "Names and values that replace all fields of that name; a value is 1 to 4096 visible ASCII characters and "
                    + "spaces. Fields that the gateway sets, that frame a message or belong to one connection, `Host`, "
                    + "`Cookie`, `Set-Cookie` and `Authorization` cannot be set."
            ),
            Key(
                "remove",
                \.remove,
                .list(of: Shape<String>.removedHeader.located, named: "a list of header names"),
                .init(default: .value([]), example: ["X-Debug"]),
                "The names whose fields are removed; not those that the gateway sets, that frame a message or belong to one "
                    + "connection, and `Host`."
            ),
            Key(
                "keep",
                \.keep,
                .list(of: Shape<String>.keptHeader.located, named: "a list of header names"),
                .init(default: .value([]), example: ["X-User-Id"]),
                "Of requests only: names from which many apps read an identity, so that the gateway removes them, and from "
                    + "which this app reads none. They are forwarded as the client sent them."
            ),
        ],
        check: { edits, written, reading in edits.check(written, &reading) }
    )
}

extension HeaderEditsDraft {
    var edits: HeaderEdits {
        HeaderEdits(
            set: (self.set ?? []).map { HeaderValue(name: $0.name, value: $0.value) },
            remove: (self.remove ?? []).map(\.value),
            keep: (self.keep ?? []).map(\.value)
        )
    }

    /// The places of all names.
    var names: [Located<String>] {
        (self.set ?? []).map { Located(value: $0.name, mark: $0.mark) } + (self.remove ?? []) + (self.keep ?? [])
    }

    fileprivate func check(_ written: Mapping<HeaderEditsDraft>.Written, _ reading: inout DecodingContext) {
        let names = self.names
        if names.count > 64 { reading.error("more than 64 changes", at: written.mark) }
        var lines: [String: Int] = [:]
        for name in names {
            guard let line = lines.updateValue(name.mark.line, forKey: name.value.lowercased()) else { continue }
            let help = "'set' replaces all fields of a name, so each name is written once"
            reading.error("'\(name.value)' is in line \(line) already; \(help)", at: name.mark)
        }
    }
}

extension Shape<String> {
    /// The value of a header field: nothing that ends the line or that servers interpret in different ways.
    ///
    /// RFC 9110 §5.5.
    static let fieldValue = single("a header value", pattern: "^[!-~]([ -~]{0,4094}[!-~])?$") {
        text throws(InvalidValue) in
        guard !text.isEmpty else { throw InvalidValue("is empty; to remove a field, list its name in 'remove'") }
        guard text.utf8.allSatisfy({ $0 != 0x0D && $0 != 0x0A && $0 != 0 }) else {
            throw InvalidValue("has a line break or NUL in it, which would end the field; write it in one line")
        }
        guard text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            throw InvalidValue("has a character that is not visible ASCII; encode it as the app expects it")
        }
        guard text.first != " ", text.last != " " else {
            throw InvalidValue("starts or ends with a space; remove that")
        }
        guard text.utf8.count <= 4096 else { throw InvalidValue("is longer than 4096 bytes") }
        return text
    }

    /// A header whose fields are removed.
    static let removedHeader = single("the name of a header", pattern: "^[A-Za-z0-9\\-]{1,64}$") {
        text throws(InvalidValue) in
        guard let reason = HeaderEdits.reason(against: text, isSet: false) else { return text }
        throw InvalidValue("cannot be removed; \(reason)")
    }

    /// A header that is forwarded although its name is one of identity headers.
    static let keptHeader = single("the name of a header", pattern: "^[A-Za-z0-9\\-]{1,64}$") {
        text throws(InvalidValue) in
        if let reason = HeaderEdits.reason(against: text, isSet: false) {
            throw InvalidValue("cannot be kept; \(reason)")
        }
        let folded = text.lowercased()
        let isOfFamily = ["x-forwarded-", "x-envoy-", "x-original-", "x-rewrite-"].contains { folded.hasPrefix($0) }
        guard !isOfFamily, !HeaderEdits.ofConnection.contains(folded) else {
            throw InvalidValue("cannot be kept; clients could choose the client IP, URL or proxy that the app trusts")
        }
        return text
    }
}

extension NameRule {
    /// A header whose value is given; duplicates that differ in letter case are found together with those in `remove`.
    static let setHeader = NameRule(subject: "a header to set", pattern: "^[A-Za-z0-9\\-]{1,64}$") { name in
        HeaderEdits.reason(against: name, isSet: true)
    }
}

// Which fields of a message may be changed.
extension HeaderEdits {
    /// Fields that frame a message or belong to one connection.
    ///
    /// RFC 9110 §7.6.1, RFC 9112 §6, RFC 6455 §11.3.
    private static let connection: Set<String> = [
        "connection", "content-length", "expect", "http2-settings", "keep-alive", "proxy-authenticate",
        "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
    ]
    /// Fields with the origin of a request, which no client may choose.
    static let ofConnection: Set<String> = [
        "x-real-ip", "x-client-ip", "x-cluster-client-ip", "true-client-ip", "cf-connecting-ip", "proxy",
        "front-end-https", "x-host", "x-forwarded", "x-original-url", "x-rewrite-url", "x-scheme", "x-url-scheme",
    ]
    /// Fields that carry the credentials or the session of one user.
    private static let credentials: Set<String> = ["authorization", "cookie", "set-cookie"]

    /// Why fields of a name cannot be set or removed, or nil if they can.
    package static func reason(against name: String, isSet: Bool) -> String? {
        let letters = name.utf8.allSatisfy { byte in
            byte == UInt8(ascii: "-") || (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF)
        }
        guard letters, (1...64).contains(name.utf8.count) else {
            return "it may hold letters, digits and '-', at most 64"
        }
        let folded = name.lowercased()
        guard !self.connection.contains(folded), !folded.hasPrefix("sec-websocket-") else {
            return "it belongs to one connection or frames the message, which differ on both sides of the gateway"
        }
        guard folded != "host" else { return "write 'upstream_host' to change what the app receives" }
        guard !HeaderSetting.isManaged(folded) else { return "the gateway sets it itself" }
        guard !isSet || !self.credentials.contains(folded) else {
            return "it carries the credentials of one user, and every user would get the same; it can be removed only"
        }
        return nil
    }
}

/// A header in which an app receives a fact about the user.
package struct HeaderSetting: Sendable, Hashable {
    /// The name, as written in the file.
    package var name: String
    /// What the header holds.
    package var fact: IdentityFact
    /// What is before the value.
    package var prefix: String

    /// Pairs a name with a fact.
    package init(name: String, fact: IdentityFact, prefix: String = "") {
        self.name = name
        self.fact = fact
        self.prefix = prefix
    }

    /// Pairs a name with a field.
    package init(name: String, field: IdentityField, prefix: String = "") {
        self.init(name: name, fact: .field(field), prefix: prefix)
    }
}

// Which header names an app may ask for.
extension HeaderSetting {
    /// Names with a meaning in HTTP.
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
    package static func reason(against name: String) -> String? {
        let letters = name.utf8.allSatisfy { byte in
            byte == UInt8(ascii: "-") || (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF)
        }
        guard letters, (1...64).contains(name.utf8.count) else {
            return "it may hold letters, digits and '-', at most 64"
        }
        let folded = name.lowercased()
        guard !self.reserved.contains(folded) else { return "it has a meaning in HTTP" }
        return self.isManaged(folded) ? "the gateway sets it itself" : nil
    }

    /// The names that the gateway sets itself, beside its own family.
    private static let managed: Set<String> = [
        "forwarded", "x-request-id", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "x-forwarded-user",
        "x-forwarded-email", "x-forwarded-name", "x-forwarded-preferred-username", "x-forwarded-groups",
        "x-forwarded-provider",
    ]

    /// Whether the gateway sets the fields of a name itself; the name is in lower case.
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
        reason: HeaderSetting.reason(against:),
        identity: { $0.lowercased() }
    )
}
