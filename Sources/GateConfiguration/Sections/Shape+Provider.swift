// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviders

extension Shape<String> {
    /// One scope.
    ///
    /// RFC 6749 §3.3.
    static let scope = single("a scope", pattern: #"^[!#-\[\]-~]+$"#) { text throws(Complaint) in
        guard !text.contains(" ") else { throw Complaint("holds several scopes; write a list: [openid, email]") }
        let isToken = text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
        guard isToken, !text.isEmpty else { throw Complaint("is not a scope") }
        return text
    }

    /// A Microsoft tenant: its id, a verified domain, or one of the three names for many tenants.
    static let tenant = single("a tenant", pattern: #"^[A-Za-z0-9.\-]+$"#) { text throws(Complaint) in
        let names = ["organizations", "common", "consumers"]
        if names.contains(text) { return text }
        let groups = text.split(separator: "-", omittingEmptySubsequences: false)
        let isHexadecimal = text.utf8.allSatisfy { $0 == UInt8(ascii: "-") || PercentEncoding.value(of: $0) != nil }
        if isHexadecimal, groups.map(\.utf8.count) == [8, 4, 4, 4, 12] { return text.lowercased() }
        if let domain = Origin.normalHost(text), domain.contains("."), !domain.hasPrefix("[") { return domain }
        let hint = Hint.nearest(to: text, in: names).map { "; did you mean '\($0)'?" } ?? ""
        throw Complaint("is not a tenant id, a domain, or one of \(names.joined(separator: ", "))\(hint)")
    }

    /// One source of a profile's field.
    static let claimSource = single("a source", pattern: #"^((id_token|userinfo):/|api:/[^#]*#/|const:).*$"#) {
        text throws(Complaint) in
        if let complaint = ClaimSourceSyntax.complaint(about: text) { throw Complaint(complaint) }
        return text
    }
}

extension Shape<[Named<[String]>]> {
    /// `providers.<name>.profile`.
    static let profile = entries(
        of: Shape<[String]>.oneOrMany(of: .claimSource, named: "a source or a list of sources"),
        named: "a mapping of profile fields to sources",
        rule: .profileField
    )
}

extension NameRule {
    /// The fields of a profile that can be mapped.
    static let profileField: NameRule = {
        let names = ProfileField.allCases.map(\.rawValue)
        return NameRule(subject: "a field of the profile", pattern: "^(\(names.joined(separator: "|")))$") { text in
            guard !names.contains(text) else { return nil }
            guard !["provider", "issuer"].contains(text) else { return "it is never taken from a claim" }
            if let nearest = Hint.nearest(to: text, in: names) { return "did you mean '\(nearest)'?" }
            return "the fields are \(names.joined(separator: ", "))"
        }
    }()
}

/// Says why a text is no source, in words that follow it.
///
/// What a source is, `ClaimSource` alone decides; this only explains.
enum ClaimSourceSyntax {
    static func complaint(about text: String) -> String? {
        guard ClaimSource(text) == nil else { return nil }
        return self.explanation(of: text) ?? "is not a source; it may have 1024 plain characters"
    }

    private static func explanation(of text: String) -> String? {
        guard let colon = text.firstIndex(of: ":") else {
            return "is not a source; write such as 'id_token:/name'"
        }
        let rest = text[text.index(after: colon)...]
        switch text[..<colon] {
        case "id_token", "userinfo": return self.complaint(aboutPointer: rest)
        case "const": return rest.isEmpty ? "is not a source; a text is missing behind 'const:'" : nil
        case "api":
            guard rest.hasPrefix("/"), let mark = rest.firstIndex(of: "#") else {
                return "is not a source; write 'api:', a path, '#' and a pointer: 'api:/user#/login'"
            }
            return self.complaint(aboutPointer: rest[rest.index(after: mark)...])
        default:
            let kinds = ["id_token", "userinfo", "api", "const"]
            let hint = Hint.nearest(to: String(text[..<colon]), in: kinds).map { "; did you mean '\($0):'?" }
            return "is not a source\(hint ?? "; it starts with id_token:, userinfo:, api: or const:")"
        }
    }

    private static func complaint(aboutPointer pointer: Substring) -> String? {
        guard pointer.hasPrefix("/"), pointer.count > 1 else {
            return "has no JSON Pointer; it starts with '/', such as /name"
        }
        let escapes = pointer.split(separator: "~", omittingEmptySubsequences: false).dropFirst()
        let isPlain = escapes.allSatisfy { $0.hasPrefix("0") || $0.hasPrefix("1") }
        return isPlain ? nil : "has a '~' in its pointer that is neither '~0' nor '~1'"
    }
}
