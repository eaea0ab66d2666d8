// SPDX-License-Identifier: Apache-2.0

/// A rule for requests that need no sign-in: `/assets/`, `GET /healthz`.
///
/// A path that ends in `/` covers all paths below it, any other only itself. The query is ignored.
package struct PublicRule: Sendable, Hashable {
    /// The one method, or nil for all.
    package let method: String?
    /// The path in canonical spelling.
    package let path: String

    /// A rule; `path` starts with `/`.
    package init(method: String?, path: String) {
        self.method = method
        self.path = path
    }

    /// Whether the rule covers the request.
    package func covers(method: String, path: Span<UInt8>) -> Bool {
        if let wanted = self.method, wanted != method { return false }
        let rule = self.path.utf8
        guard self.path.hasSuffix("/") ? path.count >= rule.count : path.count == rule.count else { return false }
        for (index, byte) in rule.enumerated() where path[index] != byte {
            return false
        }
        return true
    }
}
