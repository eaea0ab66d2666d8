// SPDX-License-Identifier: Apache-2.0

/// Which claims of the provider a session of mod_auth_openidc has: those of `OIDCWhiteListedClaims`, without those of
/// `OIDCBlackListedClaims`.
struct ApacheClaimFilter: Sendable {
    /// The names of the first directive; nil without it.
    let listed: [String]?
    private let removed: Set<String>

    /// Reads the directives; of several, also in sections, a claim has to pass all.
    init(_ nodes: [ApacheNode]) {
        let lists = Self.arguments(of: "oidcwhitelistedclaims", in: nodes)
        self.listed = lists.first.map { first in first.filter { name in lists.allSatisfy { $0.contains(name) } } }
        self.removed = Set(Self.arguments(of: "oidcblacklistedclaims", in: nodes).joined())
    }

    private static func arguments(of name: String, in nodes: [ApacheNode]) -> [[String]] {
        nodes.flatMap { node in
            node.name == name ? [node.arguments] : self.arguments(of: name, in: node.children ?? [])
        }
    }

    /// Whether a claim is in the session; of a path, the first part is what is listed.
    func keeps(_ claim: String) -> Bool {
        let first = String(claim.prefix { $0 != "." })
        let names: Set = [claim, first]
        return names.isDisjoint(with: self.removed) && (self.listed.map { !names.isDisjoint(with: $0) } ?? true)
    }
}
