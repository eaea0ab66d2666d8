// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Whether an entry matches a request.
///
/// Three-valued logic (Kleene): what depends on an unknown fact is unknown, and so is its negation.
package enum MatchResult: Sendable, Hashable {
    /// Every condition is met.
    case yes
    /// A condition is not met.
    case no
    /// No condition is violated, but the result depends on an unknown fact.
    case unknown(UnknownFact)

    /// The result of something that is known.
    init(_ isMet: Bool) {
        self = isMet ? .yes : .no
    }

    /// The result of the opposite.
    var negated: MatchResult {
        switch self {
        case .yes: .no
        case .no: .yes
        case .unknown: self
        }
    }

    /// The result of both conditions.
    func and(_ other: MatchResult) -> MatchResult {
        switch (self, other) {
        case (.no, _), (_, .no): .no
        case (.unknown(let one), .unknown(let other)): .unknown(min(one, other))
        case (.unknown, _): self
        case (.yes, _): other
        }
    }

    /// The result of any of two conditions.
    func or(_ other: MatchResult) -> MatchResult { self.negated.and(other.negated).negated }
}

/// A fact that a rule asks for and that is unknown, in the order in which reports name them.
package enum UnknownFact: Sendable, Hashable, Comparable, CaseIterable {
    /// The provider returned no verified email address.
    case email
    /// The provider did not return all groups.
    case groups
    /// The provider does not return the roles of its users, or returned too many.
    case roles
    /// The provider does not report whether its users have a tenant.
    case tenant
    /// The provider reports neither a tenant nor organizations, or was not asked for them.
    case organization
    /// The connection came through a socket or a proxy that does not report the client IP.
    case client
    /// It is not known when the user authenticated.
    case authentication
    /// The request has no message to an MCP server, or none that can be read in one way only.
    case message
    /// The provider returned all groups, but no rule named this one at the sign-in, so it was not kept.
    case keptGroups
    /// The email address is verified, but the provider is not the authority for it: it checked it once.
    case emailAuthority
    /// The key is that of the account with which the user has connected the one of the sign-in.
    case connectedAccount
    /// The user has no such claim: the provider does not define or send it, or no rule asked for it at the sign-in.
    case claim
    /// The client has presented no certificate that was verified, or nothing asks for one there.
    case certificate
}

/// An entry as it is about one user: what depends on the user only is decided already.
package enum RuleCondition: Sendable, Hashable {
    /// It depends on nothing more.
    case decided(MatchResult)
    /// It depends on the request, which must meet all of these.
    case request([RequestCondition])
    /// The opposite of a condition.
    indirect case not(RuleCondition)
    /// All of the conditions.
    case all([RuleCondition])
    /// One of the conditions.
    case any([RuleCondition])

    /// Whether a request meets it.
    func result(
        for request: RequestFacts,
        _ path: Span<UInt8>,
        as spelling: PathPattern.Spelling
    ) -> MatchResult {
        switch self {
        case .decided(let result): return result
        case .request(let conditions):
            // Indices, since a loop over the elements would copy each.
            var result = MatchResult.yes
            for index in conditions.indices {
                result = result.and(conditions[index].match(request, path, as: spelling))
                if result == .no { return .no }
            }
            return result
        case .not(let condition): return condition.result(for: request, path, as: spelling).negated
        case .all(let conditions):
            var result = MatchResult.yes
            for index in conditions.indices {
                result = result.and(conditions[index].result(for: request, path, as: spelling))
                if result == .no { return .no }
            }
            return result
        case .any(let conditions):
            var result = MatchResult.no
            for index in conditions.indices {
                result = result.or(conditions[index].result(for: request, path, as: spelling))
                if result == .yes { return .yes }
            }
            return result
        }
    }

    /// The result if it does not depend on the request, else nil.
    var decided: MatchResult? {
        guard case .decided(let result) = self else { return nil }
        return result
    }

    /// All of some conditions, without those that are decided.
    static func every(_ conditions: [RuleCondition]) -> RuleCondition {
        self.combined(conditions, neutral: .yes, final: .no, MatchResult.and, RuleCondition.all)
    }

    /// One of some conditions, without those that are decided.
    static func some(_ conditions: [RuleCondition]) -> RuleCondition {
        self.combined(conditions, neutral: .no, final: .yes, MatchResult.or, RuleCondition.any)
    }

    /// The opposite.
    var negated: RuleCondition { self.decided.map { .decided($0.negated) } ?? .not(self) }

    private static func combined(
        _ conditions: [RuleCondition],
        neutral: MatchResult,
        final: MatchResult,
        _ both: (MatchResult) -> (MatchResult) -> MatchResult,
        _ group: ([RuleCondition]) -> RuleCondition
    ) -> RuleCondition {
        let known = conditions.compactMap(\.decided).reduce(neutral) { both($0)($1) }
        let open = conditions.filter { $0.decided == nil }
        guard known != final, !open.isEmpty else { return .decided(known) }
        let rest = known == neutral ? open : open + [.decided(known)]
        return rest.count == 1 ? rest[0] : group(rest)
    }

    var requestConditions: [RequestCondition] {
        switch self {
        case .decided: []
        case .request(let conditions): conditions
        case .not(let condition): condition.requestConditions
        case .all(let conditions), .any(let conditions): conditions.flatMap(\.requestConditions)
        }
    }
}
