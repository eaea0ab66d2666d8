// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// What one rule of an app has to do with a request, for explanations.
package struct RuleResult: Sendable, Hashable {
    /// The list that the rule is in, by its name in the file.
    package enum List: String, Sendable {
        /// Requests without a sign-in.
        case open = "public"
        /// Users who are denied.
        case deny
        /// Users who are admitted.
        case allow
    }

    package let list: List
    /// Where the rule is written.
    package let place: RulePlace?
    package let result: MatchResult
}

extension Route {
    /// The scopes with which a request of a client would be admitted; see ``RequestRules/missingScopes(for:_:)``.
    package func missingScopes(for request: RequestFacts, path: [UInt8], profile: Profile?) -> [String] {
        guard case .depends(let rules) = self.userDecision(for: profile) else { return [] }
        return rules.missingScopes(for: request, path.span)
    }

    /// What each rule has to do with a request, in the order in which they count.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - path: The canonical path.
    ///   - profile: The user; nil without a session, which leaves out the rules about users.
    /// - Returns: The results.
    package func results(for request: RequestFacts, path: [UInt8], profile: Profile?) -> [RuleResult] {
        let open = self.publicRules.map { rule in
            let isCovered = rule.covers(method: request.method, path: path.span)
            let network: MatchResult =
                rule.networks.isEmpty
                ? .yes
                : request.client.map { client in MatchResult(rule.networks.contains { $0.contains(client) }) }
                    ?? .unknown(.client)
            return RuleResult(list: .open, place: rule.place, result: MatchResult(isCovered).and(network))
        }
        guard let profile, self.accepts(profile) else { return open }
        func results(_ entries: [AccessEntry], _ list: RuleResult.List) -> [RuleResult] {
            entries.map { entry in
                let result = entry.condition(for: profile).result(for: request, path.span, as: .canonical)
                return RuleResult(list: list, place: entry.place, result: result)
            }
        }
        return open + results(self.denied, .deny) + results(self.access.entries, .allow)
    }
}
