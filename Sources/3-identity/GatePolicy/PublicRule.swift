// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// A rule for requests that need no sign-in: `/assets/`, `GET /healthz`, or `/metrics` for the clients of a network.
///
/// The query is ignored.
package struct PublicRule: Sendable, Hashable {
    /// The one method, or nil for all.
    package let method: String?
    /// The paths in canonical spelling.
    package let pattern: PathPattern
    /// The networks whose clients need no sign-in; empty if no client does.
    package var networks: [CIDRRange] = []
    /// Where it is written.
    package var place: RulePlace?

    /// A rule for all clients; `path` starts with `/`.
    package init(method: String?, path: String) {
        self.method = method
        self.pattern = PathPattern(path)
    }

    /// The paths as the file has them.
    package var path: String { self.pattern.text }

    /// Whether the rule covers the method and the path of a request.
    package func covers(method: String, path: Span<UInt8>, as spelling: PathPattern.Spelling = .canonical) -> Bool {
        if let wanted = self.method, wanted != method { return false }
        return self.pattern.covers(path, as: spelling)
    }
}
