// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// What is written of `request_headers` or `response_headers`.
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
        summary: "Changes to the header fields that pass, at most 64 each way; of requests those that the app sees, of "
            + "answers those that the client sees.",
        make: { HeaderEditsDraft() },
        keys: [
            Key(
                "set",
                \.set,
                .entries(of: .fieldValue, named: "a mapping of header names to values", rule: .setHeader),
                .init(standard: .words("none")),
                "Names and values that take the place of all fields of that name; a value is 1 to 4096 visible ASCII "
                    + "characters and spaces. What the gateway sets itself, what frames a message or belongs to one "
                    + "connection, `Host`, `Cookie`, `Set-Cookie` and `Authorization` cannot be set."
            ),
            Key(
                "remove",
                \.remove,
                .list(of: Shape<String>.removedHeader.located, named: "a list of header names"),
                .init(standard: .value([]), example: ["X-Debug"]),
                "The names whose fields are taken away; all but what the gateway sets itself, what frames a message or "
                    + "belongs to one connection, and `Host`."
            ),
            Key(
                "keep",
                \.keep,
                .list(of: Shape<String>.keptHeader.located, named: "a list of header names"),
                .init(standard: .value([]), example: ["X-User-Id"]),
                "Of requests only: names that many apps read an identity from, so that they are removed from what clients "
                    + "send, and that this app takes none from. They are passed on as the client sent them."
            ),
        ],
        check: { edits, written, reading in edits.check(written, &reading) }
    )
}

extension HeaderEditsDraft {
    /// The edits.
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
            let help = "'set' takes the place of all that is there, so each name is written once"
            reading.error("'\(name.value)' is in line \(line) already; \(help)", at: name.mark)
        }
    }
}

extension Shape<String> {
    /// The value of a header field: nothing that ends the line or that servers read differently.
    ///
    /// RFC 9110 §5.5.
    static let fieldValue = single("a header value", pattern: "^[!-~]([ -~]{0,4094}[!-~])?$") {
        text throws(InvalidValue) in
        guard !text.isEmpty else { throw InvalidValue("is empty; to take a field away, list its name in 'remove'") }
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

    /// A header whose fields are taken away.
    static let removedHeader = single("the name of a header", pattern: "^[A-Za-z0-9\\-]{1,64}$") {
        text throws(InvalidValue) in
        guard let complaint = HeaderEditRule.complaint(about: text, isSet: false) else { return text }
        throw InvalidValue("cannot be removed; \(complaint)")
    }

    /// A header that is passed on although its name is one of identity headers.
    static let keptHeader = single("the name of a header", pattern: "^[A-Za-z0-9\\-]{1,64}$") {
        text throws(InvalidValue) in
        if let complaint = HeaderEditRule.complaint(about: text, isSet: false) {
            throw InvalidValue("cannot be kept; \(complaint)")
        }
        let folded = text.lowercased()
        let isOfFamily = ["x-forwarded-", "x-envoy-", "x-original-", "x-rewrite-"].contains { folded.hasPrefix($0) }
        guard !isOfFamily, !HeaderEditRule.ofConnection.contains(folded) else {
            throw InvalidValue("cannot be kept; clients would choose the IP, URL or proxy that the app believes in")
        }
        return text
    }
}

extension NameRule {
    /// A header whose value is given; two in different letter case are told apart with those in `remove`.
    static let setHeader = NameRule(subject: "a header to set", pattern: "^[A-Za-z0-9\\-]{1,64}$") { name in
        HeaderEditRule.complaint(about: name, isSet: true)
    }
}

/// Which fields of a message may be changed.
enum HeaderEditRule {
    /// What frames a message or concerns one connection only.
    ///
    /// RFC 9110 §7.6.1, RFC 9112 §6, RFC 6455 §11.3.
    private static let connection: Set<String> = [
        "connection", "content-length", "expect", "http2-settings", "keep-alive", "proxy-authenticate",
        "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
    ]
    /// What tells where a request comes from, which no client may choose.
    static let ofConnection: Set<String> = [
        "x-real-ip", "x-client-ip", "x-cluster-client-ip", "true-client-ip", "cf-connecting-ip", "proxy",
        "front-end-https", "x-host", "x-forwarded", "x-original-url", "x-rewrite-url", "x-scheme", "x-url-scheme",
    ]
    /// What speaks for one person, or gives somebody the session of another.
    private static let credentials: Set<String> = ["authorization", "cookie", "set-cookie"]

    /// Why fields of a name cannot be set or removed, or nil if they can.
    static func complaint(about name: String, isSet: Bool) -> String? {
        let letters = name.utf8.allSatisfy { byte in
            byte == UInt8(ascii: "-") || (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF)
        }
        guard letters, (1...64).contains(name.utf8.count) else {
            return "it may hold letters, digits and '-', at most 64"
        }
        let folded = name.lowercased()
        guard !self.connection.contains(folded), !folded.hasPrefix("sec-websocket-") else {
            return "it belongs to the connection or the framing, which differ on both sides of the gateway"
        }
        guard folded != "host" else { return "write 'upstream_host' to change what the app sees" }
        guard !IdentityHeaderName.isManaged(folded) else { return "the gateway sets it itself" }
        guard !isSet || !self.credentials.contains(folded) else {
            return "it speaks for one person, and everybody would get the same; it can be removed only"
        }
        return nil
    }
}
