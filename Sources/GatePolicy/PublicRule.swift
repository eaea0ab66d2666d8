// SPDX-License-Identifier: Apache-2.0

/// A part of an app that needs no sign-in: `/assets/`, `GET /healthz`.
///
/// A path that ends in `/` stands for all below it, any other for itself only. The query never takes part.
package struct PublicRule: Sendable, Hashable {
    /// The one method, or nil for all.
    package let method: String?
    /// The path as the canonical path of a request spells it.
    package let path: String

    /// Makes a rule; `path` starts with `/`.
    package init(method: String?, path: String) {
        self.method = method
        self.path = path
    }

    /// Whether the rule opens this request.
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
