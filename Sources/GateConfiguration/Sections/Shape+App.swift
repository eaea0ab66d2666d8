// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GatePolicy

extension Shape<String> {
    /// The path prefix of an app, without a slash at its end unless it is `/`.
    static let appPath = single("a path", pattern: "^/[^?#]*$") { text throws(InvalidValue) in
        try CanonicalPath.check(text)
        let path = text.hasSuffix("/") ? String(text.dropLast()) : text
        guard path != "/oauth2", !path.hasPrefix("/oauth2/") else {
            throw InvalidValue("is the gateway's own; choose a path outside of /oauth2")
        }
        return path.isEmpty ? "/" : path
    }
}

extension Shape<Bool> {
    /// A switch.
    static let flag: Shape = {
        let one = single("true or false") { text throws(InvalidValue) in
            guard text == "true" || text == "false" else { throw InvalidValue("is neither true nor false") }
            return text == "true"
        }
        return Shape(one.kind, schema: ["anyOf": [["type": "boolean"], Schema.reference]]) { node, reading in
            // Everywhere else a bare word of YAML's own is refused, since it was probably meant as a text.
            if case .scalar(let text, true) = node.content, text == "true" || text == "false" { return text == "true" }
            return one.read(node, &reading)
        }
    }()
}

extension Shape<PublicRule> {
    /// A path that needs no sign-in, with or without a method.
    static let publicRule = single("a path", pattern: "^([A-Z]+ )?/[^?# ]*$") { text throws(InvalidValue) in
        let parts = text.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        guard parts.count <= 2, let path = parts.last else {
            throw InvalidValue("is not a path; write such as '/assets/' or 'GET /healthz'")
        }
        let method = parts.count == 2 ? parts[0] : nil
        let known = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "REPORT", "LIST"]
        if let method, !known.contains(method) {
            let hint = Hint.nearest(to: method, in: known).map { "did you mean '\($0) \(path)'?" }
            throw InvalidValue("has an unknown method; \(hint ?? "write one of \(known.joined(separator: ", "))")")
        }
        try CanonicalPath.check(path)
        return PublicRule(method: method, path: path)
    }
}

/// Paths in the one spelling that requests have after they were made canonical.
enum CanonicalPath {
    static func check(_ text: String) throws(InvalidValue) {
        if let sign = self.expressionSign(in: text) {
            let help = "a path is written as it is, and one that ends in '/' stands for all below it"
            throw InvalidValue("has a '\(sign)', as regular expressions have, which are not supported; \(help)")
        }
        guard text.hasPrefix("/") else {
            throw InvalidValue("is not a path; it starts with '/', so write '/\(text.prefix(60))'")
        }
        guard !text.contains("?"), !text.contains("#") else {
            throw InvalidValue("has a query or fragment; only the path counts")
        }
        guard !text.contains("*") else { throw InvalidValue("has a '*'; a path stands for all below it without one") }
        guard ReturnPath(text) != nil else {
            throw InvalidValue(
                "is not a plain path; it may hold no '//', '.', '..', '\\', space or character outside of ASCII"
            )
        }
        guard self.hasCanonicalEscapes(text) else {
            throw InvalidValue(
                "has an escape that is not needed or not in upper case; write 'a' for %61 and %2F for %2f"
            )
        }
        guard !text.utf8.contains(where: { "\"<>^`{|}".utf8.contains($0) }) else {
            throw InvalidValue("has a character that requests carry escaped; write its escape, such as %7C for '|'")
        }
    }

    /// What no plain path holds and regular expressions do; a path needs to spell most of it with an escape.
    private static func expressionSign(in text: String) -> String? {
        if text.hasPrefix("^") || text.hasPrefix("~") { return String(text.prefix(1)) }
        if text.hasSuffix("$"), text.count > 1 { return "$" }
        return [".*", ".+", "(?", "\\", "[", "]", "|", "{", "}", "^"].first { text.contains($0) }
    }

    /// Whether each `%` stands before two upper-case digits of a byte that needs it.
    ///
    /// RFC 3986 §6.2.2.
    private static func hasCanonicalEscapes(_ text: String) -> Bool {
        text.split(separator: "%", omittingEmptySubsequences: false).dropFirst().allSatisfy { rest in
            let digits = rest.prefix(2)
            guard digits.count == 2, let byte = UInt8(digits, radix: 16) else { return false }
            return digits == digits.uppercased() && !PercentEncoding.isUnreserved(byte)
                && !"!$&'()*+,=:@".utf8.contains(byte)
        }
    }
}
