// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviders
internal import GateYAML

extension Shape<WebURL> {
    /// The URL of an HTTP proxy.
    static let proxy: Shape = {
        let one = single("a URL", pattern: "^http://[^/?#@]+/?$", parse: proxyURL)
        return Shape(one.kind, schema: one.schema) { node, reading in
            if case .scalar(let text, _) = node.content, text.contains("@") {
                // A password may precede it.
                reading.conceal(node)
                let message = "the proxy has a user name, which is not supported; write 'http://' and its host and port"
                reading.error(message, at: node.mark)
                return nil
            }
            return one.read(node, &reading)
        }
    }()

    private static func proxyURL(_ text: String) throws(InvalidValue) -> WebURL {
        guard let mark = text.firstRange(of: "://") else {
            let isAuthority = WebURL("http://\(text)") != nil
            throw InvalidValue(
                "is not a URL; \(isAuthority ? "did you mean 'http://\(text)'?" : "write such as http://proxy:3128")"
            )
        }
        guard text[..<mark.lowerBound].lowercased() == "http" else {
            throw InvalidValue(
                "is not an http:// proxy, and others are not supported; traffic through the proxy is https anyway"
            )
        }
        guard let address = WebURL(text) else {
            throw InvalidValue("is not a URL such as http://proxy.example.com:3128")
        }
        guard address.path == "/", address.query == nil else {
            throw InvalidValue("has a path; a proxy is a host and a port, write '\(address.origin)'")
        }
        return address
    }
}

extension Shape<String> {
    /// One scope.
    ///
    /// RFC 6749 §3.3.
    static let scope = single("a scope", pattern: #"^[!#-\[\]-~]+$"#) { text throws(InvalidValue) in
        guard !text.contains(" ") else { throw InvalidValue("holds several scopes; write a list: [openid, email]") }
        let isToken = text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
        guard isToken, !text.isEmpty else { throw InvalidValue("is not a scope") }
        return text
    }

    /// One value of the `aud` claim.
    ///
    /// RFC 7519 §4.1.3.
    static let audience = single("an audience", pattern: "^[!-~]{1,255}$") { text throws(InvalidValue) in
        guard (1...255).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw InvalidValue("is not an audience, such as https://api.example.com")
        }
        return text
    }

    /// A Microsoft tenant: its id, a verified domain, or one of the three names for many tenants.
    static let tenant = single("a tenant", pattern: #"^[A-Za-z0-9.\-]+$"#) { text throws(InvalidValue) in
        let names = ["organizations", "common", "consumers"]
        if names.contains(text) { return text }
        let groups = text.split(separator: "-", omittingEmptySubsequences: false)
        let isHexadecimal = text.utf8.allSatisfy { $0 == UInt8(ascii: "-") || PercentEncoding.value(of: $0) != nil }
        if isHexadecimal, groups.map(\.utf8.count) == [8, 4, 4, 4, 12] { return text.lowercased() }
        if let domain = Origin.normalHost(text), domain.contains("."), !domain.hasPrefix("[") { return domain }
        let hint = Hint.nearest(to: text, in: names).map { "; did you mean '\($0)'?" } ?? ""
        throw InvalidValue("is not a tenant id, a domain, or one of \(names.joined(separator: ", "))\(hint)")
    }

    /// One source of a profile's field.
    static let claimSource = single(
        "a source",
        pattern: #"^((id_token|userinfo|callback):[/\[]|api:/[^#]*#[/\[]|const:).*$"#
    ) {
        text throws(InvalidValue) in
        if let reason = ClaimSource.reason(against: text) { throw InvalidValue(reason) }
        guard text.hasPrefix("const:") || !text.contains("://") else {
            throw InvalidValue("has '//' in its pointer; in the name of a claim write '~1' for each '/'")
        }
        return text
    }
}

extension Shape<String> {
    /// The id of a Microsoft tenant.
    static let guid = single("a tenant id", pattern: "^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$") {
        text throws(InvalidValue) in
        guard IssuerRule.isGUID(text) else {
            throw InvalidValue("is not a tenant id such as 8eae0000-2b34-4da1-9baa-8bc8c9d6a490")
        }
        return text.lowercased()
    }

    /// The id of a Slack workspace.
    static let workspace = single("a workspace id", pattern: "^T[A-Z0-9]{2,31}$") { text throws(InvalidValue) in
        let isPlain = text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) }
        guard isPlain, (3...32).contains(text.utf8.count), text.hasPrefix("T") else {
            throw InvalidValue("is not a workspace id such as T0123456789; the name of a workspace can be reassigned")
        }
        return text
    }

    /// A version as it appears in URLs.
    static let apiVersion = single("a version", pattern: "^v[0-9]{1,3}(\\.[0-9]{1,3})?$") { text throws(InvalidValue) in
        let parts = text.dropFirst().split(separator: ".", omittingEmptySubsequences: false)
        let isNumber = parts.allSatisfy { part in
            (1...3).contains(part.utf8.count) && part.utf8.allSatisfy { (0x30...0x39).contains($0) }
        }
        guard text.hasPrefix("v"), (1...2).contains(parts.count), isNumber else {
            throw InvalidValue("is not a version such as v23.0")
        }
        return text
    }

    /// PEM text, written through a reference, or the PEM file of that path.
    static let pem = Shape("a PEM file", schema: Schema.text(pattern: nil)) { node, reading in
        guard let scalar = reading.scalar(node, kind: "a PEM file"), !scalar.text.isEmpty else { return nil }
        guard !scalar.text.contains("-----BEGIN ") else { return scalar.text }
        // A value of a reference, or one too long for the path of a file, may be a key: it is not shown.
        guard scalar.source == .written, scalar.text.utf8.count <= 200, !scalar.text.contains("\n") else {
            reading.conceal(node)
            let name = scalar.source == .written ? "this" : scalar.shown
            reading.error("\(name) holds no PEM text; it starts with '-----BEGIN'", at: scalar.mark)
            return nil
        }
        guard !scalar.text.utf8.contains(0) else { return nil }
        let path = reading.path(scalar.text)
        guard let bytes = reading.bytes(of: path, limit: DecodingContext.certificateLimit, at: scalar.mark) else {
            return nil
        }
        if String(decoding: bytes, as: UTF8.self).contains("PRIVATE KEY-----") {
            reading.warnOfSharedSecret(path, "a private key", at: scalar.mark)
        }
        guard let text = String(validating: bytes, as: UTF8.self), text.contains("-----BEGIN ") else {
            reading.error("\(Scalar.quoted(path, limit: 4096)) is not a PEM file", at: scalar.mark)
            return nil
        }
        return text
    }
}

extension Shape<Secret> {
    /// The secret of a client; `none`, as it is written, is the empty one of a public client.
    static let clientSecret = Shape("a secret or 'none'", schema: Schema.text(pattern: nil)) { node, reading in
        if case .scalar(let text, _) = node.content, text == "none" { return Secret([]) }
        return Shape<Secret>.secret(atLeast: 1).read(node, &reading)
    }

    /// A private key: PEM text through a reference, or the PEM file of that path.
    static let privateKey = Shape("a PEM file", schema: Schema.text(pattern: nil)) { node, reading in
        if case .scalar(let text, _) = node.content, text.contains("-----BEGIN ") {
            reading.conceal(node)
            reading.warning("a private key is in the file in clear text; write the path of a file", at: node.mark)
        }
        return Shape<String>.pem.read(node, &reading).map { Secret(text: $0) }
    }
}

extension NameRule {
    /// The parameters of an authorization request that are not the gateway's own.
    static let authorizationParameter = NameRule(
        subject: "a parameter of the authorization request",
        pattern: "^[A-Za-z][A-Za-z0-9_.\\-]{0,63}$"
    ) { name in
        let own = [
            "response_type", "client_id", "client_secret", "redirect_uri", "state", "code_challenge",
            "code_challenge_method", "request", "request_uri", "client_assertion", "client_assertion_type", "code",
        ]
        let keys = ["scope": "scopes", "response_mode": "response_mode", "nonce": "nonce"]
        guard !own.contains(name) else { return "the gateway sets it itself" }
        if let key = keys[name] { return "it has the key '\(key)'" }
        let isPlain = name.utf8.allSatisfy { $0 != UInt8(ascii: "~") && PercentEncoding.isUnreserved($0) }
        guard isPlain, (1...64).contains(name.utf8.count) else {
            return "it may hold letters, digits, '_', '-' and '.'"
        }
        return nil
    }
}

extension Shape<[Named<[Located<String>]>]> {
    /// `providers.<name>.profile`.
    static let profile = entries(
        of: Shape<[Located<String>]>.oneOrMany(
            of: Shape<String>.claimSource.located,
            named: "a source or a list of sources"
        ),
        named: "a mapping of profile fields to sources",
        rule: .profileField
    )

    /// `providers.<name>.claims`.
    static let claims = entries(
        of: Shape<[Located<String>]>.oneOrMany(
            of: Shape<String>.claimSource.located,
            named: "a source or a list of sources"
        ),
        named: "a mapping of names of claims to sources",
        rule: .claimName
    )
}

extension NameRule {
    /// The fields of a profile that can be mapped.
    static let profileField: NameRule = {
        let names = ProfileField.mapped.map(\.rawValue)
        return NameRule(subject: "a field of the profile", pattern: "^(\(names.joined(separator: "|")))$") { text in
            guard !names.contains(text) else { return nil }
            guard ProfileField(rawValue: text) == nil else { return "it is never taken from a claim" }
            if let nearest = Hint.nearest(to: text, in: names) { return "did you mean '\(nearest)'?" }
            return "the fields are \(names.joined(separator: ", "))"
        }
    }()
}

extension ClaimSource {
    /// Explains why a text is not a source, in words that follow it; nil for a source.
    ///
    /// ``init(_:)`` alone decides what a source is; this only explains.
    fileprivate static func reason(against text: String) -> String? {
        guard ClaimSource(text) == nil else { return nil }
        return self.explanation(of: text) ?? "is not a source; it may have 1024 plain characters"
    }

    private static func explanation(of text: String) -> String? {
        guard let colon = text.firstIndex(of: ":") else {
            return "is not a source; write such as 'id_token:/name'"
        }
        let rest = text[text.index(after: colon)...]
        switch text[..<colon] {
        case "id_token", "userinfo", "callback": return self.reason(againstPointer: rest)
        case "const": return rest.isEmpty ? "is not a source; a text is missing after 'const:'" : nil
        case "api":
            guard rest.hasPrefix("/"), let mark = rest.firstIndex(of: "#") else {
                return "is not a source; write 'api:', a path, '#' and a pointer: 'api:/user#/login'"
            }
            return self.reason(againstPointer: rest[rest.index(after: mark)...])
        default:
            let kinds = ["id_token", "userinfo", "api", "callback", "const"]
            let hint = Hint.nearest(to: String(text[..<colon]), in: kinds).map { "; did you mean '\($0):'?" }
            return "is not a source\(hint ?? "; it starts with id_token:, userinfo:, api:, callback: or const:")"
        }
    }

    private static func reason(againstPointer pointer: Substring) -> String? {
        guard !pointer.contains("[") else {
            return "has an invalid search; write such as [primary&&verified], [type=work] or [*], once"
        }
        guard pointer.hasPrefix("/"), pointer.count > 1 else {
            return "has no JSON Pointer; it starts with '/', such as /name"
        }
        let escapes = pointer.split(separator: "~", omittingEmptySubsequences: false).dropFirst()
        let isPlain = escapes.allSatisfy { $0.hasPrefix("0") || $0.hasPrefix("1") }
        return isPlain ? nil : "has a '~' in its pointer that is neither '~0' nor '~1'"
    }
}
