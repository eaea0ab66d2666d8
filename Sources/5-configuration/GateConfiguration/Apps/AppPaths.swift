// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GatePolicy
internal import GateWire
package import GateYAML

extension Shape<String> {
    /// The path prefix of an app, without a slash at its end unless it is `/`.
    package static let appPath = single("a path", pattern: "^/[^?#]*$") { text throws(InvalidValue) in
        try CanonicalPath.check(route: text)
        let path = text.hasSuffix("/") ? String(text.dropLast()) : text
        return path.isEmpty ? "/" : path
    }
}

/// An entry of `public` as a mapping.
private struct PublicDraft: Sendable {
    var path: PathPattern?
    var method: String?
    var network: [CIDRRange]?
}

extension Mapping<PublicDraft> {
    fileprivate static let publicRule = Mapping(
        "a public rule",
        path: "apps.<name>.public[]",
        summary: "Paths that need no sign-in, for all clients or for those of a network.",
        make: { PublicDraft() },
        keys: [
            Key(
                "path",
                \.path,
                .pathPattern,
                .init(isRequired: true, example: "/metrics"),
                "The path or the pattern of paths."
            ),
            Key("method", \.method, .publicMethod, .init(default: .words("all"), example: "GET"), "The only method."),
            Key(
                "network",
                \.network,
                .oneOrMany(of: .network, named: "a network or a list of them"),
                .init(default: .words("all clients"), example: "10.0.0.0/8"),
                "The networks whose clients need no sign-in. Without a session, the app gets `anonymous@network` as the user."
            ),
        ]
    )
}

extension Shape<PublicRule> {
    /// A path that needs no sign-in, with or without a method, or a mapping.
    static let publicRule: Shape = {
        let text = single("a path", pattern: "^([A-Z]+ )?/[^?# ]*$") { text throws(InvalidValue) in
            try PublicRule.parse(text)
        }
        let mapping = Mapping<PublicDraft>.publicRule.shape.whole
        let schema: JSON = ["anyOf": [text.schema, mapping.schema]]
        return Shape("a path or a mapping", schema: schema, sections: mapping.sections) { node, reading in
            var rule: PublicRule?
            if case .mapping = node.content {
                guard let draft = mapping.read(node, &reading), let path = draft.path else { return nil }
                rule = PublicRule(method: draft.method, path: path.text)
                rule?.networks = draft.network ?? []
            } else {
                rule = text.read(node, &reading)
            }
            rule?.place = reading.place(of: node.mark)
            return rule
        }
    }()
}

extension Shape<String> {
    /// The method of a public rule.
    fileprivate static let publicMethod = single("a method", pattern: "^[A-Z]+$") { text throws(InvalidValue) in
        guard !PublicRule.methods.contains(text) else { return text }
        throw InvalidValue("is an unknown method; write one of \(PublicRule.methods.joined(separator: ", "))")
    }
}

extension PublicRule {
    fileprivate static let methods = [
        "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "REPORT", "LIST",
    ]

    fileprivate static func parse(_ text: String) throws(InvalidValue) -> PublicRule {
        let parts = text.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        guard parts.count <= 2, let path = parts.last else {
            throw InvalidValue("is not a path; write such as '/assets/' or 'GET /healthz'")
        }
        let method = parts.count == 2 ? parts[0] : nil
        if let method, !self.methods.contains(method) {
            let hint = Hint.nearest(to: method, in: self.methods).map { "did you mean '\($0) \(path)'?" }
            let help = hint ?? "write one of \(self.methods.joined(separator: ", "))"
            throw InvalidValue("has an unknown method; \(help)")
        }
        return PublicRule(method: method, path: try PathPattern.parse(path).text)
    }
}

extension Shape<PathPattern> {
    static let pathPattern = single("a path", pattern: "^/[^?# ]*$") { text throws(InvalidValue) in
        try PathPattern.parse(text)
    }
}

extension PathPattern {
    /// Reads a path of the file, with or without wildcards.
    static func parse(_ text: String) throws(InvalidValue) -> PathPattern {
        guard text.contains("*") else {
            try CanonicalPath.check(configured: text)
            return PathPattern(text)
        }
        for segment in text.split(separator: "/") {
            guard segment != ".*", segment != ".+" else { throw CanonicalPath.rejection(ofSign: String(segment)) }
            guard segment == "**" || !segment.contains("**") else {
                throw InvalidValue("has '**' beside other characters; it is a whole segment, such as in /admin/**")
            }
        }
        try CanonicalPath.check(configured: text, hasWildcards: true)
        return PathPattern(text)
    }
}

// Paths of the file, which have to be in the one spelling by which requests are matched.
extension CanonicalPath {
    /// Checks the path of an app.
    ///
    /// Beside ``check(configured:)``, app servers have to agree on what it means: an escaped slash is one segment for some and two
    /// for others, so no rule about it could hold for all of them.
    static func check(route text: String) throws(InvalidValue) {
        try self.check(configured: text)
        guard !PathReadings.hasEscapedSeparator(text.utf8Span.span) else {
            let decoded = PathNormalization.decoded(text)
            throw InvalidValue(
                "has an escaped slash or backslash, which some servers read as '\(decoded)'; write the path without it"
            )
        }
        guard PathReadings.isUnambiguous(text) else {
            throw InvalidValue(
                "is read as another path by some servers, so every request for it is rejected; "
                    + "write it without ';', '%25' and other escaped delimiters"
            )
        }
    }

    /// Checks that requests are matched by the path as it is written.
    static func check(configured text: String, hasWildcards: Bool = false) throws(InvalidValue) {
        // With wildcards, a dot before one is part of a name such as 'report.*'.
        let checked = hasWildcards ? text.replacing("*", with: "") : text
        if let sign = self.expressionSign(in: checked) { throw self.rejection(ofSign: sign) }
        guard text.hasPrefix("/") else {
            throw InvalidValue("is not a path; it starts with '/', so write '/\(text.prefix(60))'")
        }
        guard !text.contains("?"), !text.contains("#") else {
            throw InvalidValue("has a query or fragment; only the path counts")
        }
        guard hasWildcards || !text.contains("*") else {
            throw InvalidValue("has a '*'; write a path that ends in '/' for all paths below it")
        }
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }), text.utf8.count <= ReturnPath.maxLength else {
            throw InvalidValue("has a space or control character, or is too long; write '%20' for a space")
        }
        let matched: String
        do throws(WireRejection) {
            matched = try self.matched(ofConfigured: text)
        } catch {
            throw InvalidValue("is not a path that a request can have; every request for it is rejected")
        }
        guard matched == text else { throw InvalidValue("is '\(matched)' in requests; write that") }
    }

    /// The rejection of a path with a sign of regular expressions.
    fileprivate static func rejection(ofSign sign: String) -> InvalidValue {
        let help = "a path is matched as it is written, and one that ends in '/' includes all paths below it"
        return InvalidValue("has a '\(sign)', as regular expressions have, which are not supported; \(help)")
    }

    /// A sign of regular expressions that no plain path holds; most of these need an escape in a path.
    private static func expressionSign(in text: String) -> String? {
        if text.hasPrefix("^") || text.hasPrefix("~") { return String(text.prefix(1)) }
        if text.hasSuffix("$"), text.count > 1 { return "$" }
        return [".*", ".+", "(?", "\\", "[", "]", "|", "{", "}", "^"].first { text.contains($0) }
    }
}
