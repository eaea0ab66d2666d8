// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GatePolicy
internal import GateWire
internal import GateYAML

extension Shape<String> {
    /// The path prefix of an app, without a slash at its end unless it is `/`.
    static let appPath = single("a path", pattern: "^/[^?#]*$") { text throws(InvalidValue) in
        try CanonicalPath.check(route: text)
        let path = text.hasSuffix("/") ? String(text.dropLast()) : text
        guard path != "/oauth2", !path.hasPrefix("/oauth2/") else {
            throw InvalidValue("is reserved for the gateway; choose a path outside of /oauth2")
        }
        return path.isEmpty ? "/" : path
    }
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
        try CanonicalPath.check(configured: path)
        return PublicRule(method: method, path: path)
    }
}

// Paths of the file, which have to be in the one spelling by which requests are matched.
extension CanonicalPath {
    /// Checks the path of an app.
    ///
    /// Beside ``check(configured:)``, app servers have to agree on what it means: an escaped slash is one segment for some and two
    /// for others, so no rule about it could hold for all of them.
    fileprivate static func check(route text: String) throws(InvalidValue) {
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
    static func check(configured text: String) throws(InvalidValue) {
        if let sign = self.expressionSign(in: text) {
            let help = "a path is matched as it is written, and one that ends in '/' includes all paths below it"
            throw InvalidValue("has a '\(sign)', as regular expressions have, which are not supported; \(help)")
        }
        guard text.hasPrefix("/") else {
            throw InvalidValue("is not a path; it starts with '/', so write '/\(text.prefix(60))'")
        }
        guard !text.contains("?"), !text.contains("#") else {
            throw InvalidValue("has a query or fragment; only the path counts")
        }
        guard !text.contains("*") else {
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

    /// A sign of regular expressions that no plain path holds; most of these need an escape in a path.
    private static func expressionSign(in text: String) -> String? {
        if text.hasPrefix("^") || text.hasPrefix("~") { return String(text.prefix(1)) }
        if text.hasSuffix("$"), text.count > 1 { return "$" }
        return [".*", ".+", "(?", "\\", "[", "]", "|", "{", "}", "^"].first { text.contains($0) }
    }
}
