// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// Whether a user may send some request to an app at a time, as far as that is known without the request.
package enum UserAccess: Sendable, Hashable {
    /// No request is admitted.
    case denied
    /// Some request may be admitted, until then; nil if no rule ends it.
    case possible(until: Instant?)
}

extension Route {
    /// The access that a user has at a time.
    package func access(of profile: Profile?, at now: Instant) -> UserAccess {
        switch self.userDecision(for: profile) {
        case .final(let decision): decision.isAdmission ? .possible(until: nil) : .denied
        case .depends(let rules): rules.mayAdmit(at: now) ? .possible(until: rules.accessEnd(after: now)) : .denied
        }
    }

    /// When a date ends the admission of a request: until then it is admitted, all else being equal.
    ///
    /// - Parameters:
    ///   - request: The request, which is admitted.
    ///   - path: The canonical path.
    ///   - profile: The user.
    ///   - guardsSpellings: Whether other spellings of the path that some server treats as the same are considered.
    /// - Returns: The time; nil if no rule ends it.
    package func admissionEnd(
        for request: RequestFacts,
        path: [UInt8],
        profile: Profile?,
        guardsSpellings: Bool
    ) -> Instant? {
        guard case .depends(let rules) = self.userDecision(for: profile) else { return nil }
        var later = request
        return rules.turns.filter { $0 > request.time }.prefix(RequestRules.maxTurns).first { turn in
            later.dated = turn
            return !rules.decision(for: later, path.span, guardsSpellings: guardsSpellings).isAdmission
        }
    }

    /// Whether a rule depends on the date, so that it has to be decided again for requests that last.
    package var hasDates: Bool {
        (self.denied + self.access.entries).contains { !$0.dates.isEmpty }
    }
}

extension RequestRules {
    /// How many turns of the rules are looked at to find the end of an access.
    fileprivate static let maxTurns = 100

    /// The first turn after a time: until then no date changes the decision.
    package func nextTurn(after time: Instant) -> Instant? { self.turns.first { $0 > time } }

    /// Whether the user may send some request at a time.
    func mayAdmit(at time: Instant) -> Bool {
        self.mayAdmit { $0.possibleResults(at: time) }
    }

    /// The first time from which on no request is admitted any more, if only for a while; nil if no date leads to that.
    func accessEnd(after now: Instant) -> Instant? {
        self.turns.filter { $0 > now }.prefix(RequestRules.maxTurns).first { !self.mayAdmit(at: $0) }
    }

    private func mayAdmit(_ results: (RequestCondition) -> PossibleResults) -> Bool {
        guard self.denied.allSatisfy({ $0.condition.possibleResults(results).mayBeNo }) else { return false }
        return self.allowed?.contains { $0.condition.possibleResults(results).mayBeYes } ?? true
    }
}

/// The results that a condition can have, depending on what is not known yet.
struct PossibleResults {
    var mayBeYes = false
    var mayBeNo = false
    var mayBeUnknown = false

    /// Nothing is known but that it is met or not.
    static let open = PossibleResults(mayBeYes: true, mayBeNo: true)

    init(mayBeYes: Bool = false, mayBeNo: Bool = false, mayBeUnknown: Bool = false) {
        (self.mayBeYes, self.mayBeNo, self.mayBeUnknown) = (mayBeYes, mayBeNo, mayBeUnknown)
    }

    /// The one result that there can be.
    init(_ result: MatchResult) {
        switch result {
        case .yes: self.mayBeYes = true
        case .no: self.mayBeNo = true
        case .unknown: self.mayBeUnknown = true
        }
    }

    var negated: PossibleResults {
        PossibleResults(mayBeYes: self.mayBeNo, mayBeNo: self.mayBeYes, mayBeUnknown: self.mayBeUnknown)
    }

    func and(_ other: PossibleResults) -> PossibleResults {
        PossibleResults(
            mayBeYes: self.mayBeYes && other.mayBeYes,
            mayBeNo: self.mayBeNo || other.mayBeNo,
            mayBeUnknown: self.mayBeUnknown && (other.mayBeUnknown || other.mayBeYes)
                || self.mayBeYes && other.mayBeUnknown
        )
    }
}

extension RuleCondition {
    /// The results that it can have by those of the conditions on the request.
    fileprivate func possibleResults(_ results: (RequestCondition) -> PossibleResults) -> PossibleResults {
        func all(_ parts: [PossibleResults]) -> PossibleResults {
            parts.reduce(PossibleResults(.yes)) { $0.and($1) }
        }
        switch self {
        case .decided(let result): return PossibleResults(result)
        case .request(let conditions): return all(conditions.map(results))
        case .not(let condition): return condition.possibleResults(results).negated
        case .all(let conditions): return all(conditions.map { $0.possibleResults(results) })
        case .any(let conditions): return all(conditions.map { $0.possibleResults(results).negated }).negated
        }
    }
}

extension RequestCondition {
    /// When it turns: the one time from which on it is met, or is not any more; nil where no date decides.
    var turn: Instant? {
        switch self {
        case .from(let time), .until(let time): time
        case .network, .method, .path, .time, .authenticated, .passkey, .mcpMethod, .mcpTool, .scope,
            .certificate:
            nil
        }
    }

    /// Its results at a time, whatever the request is.
    fileprivate func possibleResults(at time: Instant) -> PossibleResults {
        switch self {
        case .from(let start): PossibleResults(MatchResult(time >= start))
        case .until(let end): PossibleResults(MatchResult(time < end))
        case .network, .method, .path, .time, .authenticated, .passkey, .mcpMethod, .mcpTool, .scope,
            .certificate:
            .open
        }
    }
}

extension AccessEntry {
    /// When its conditions on the date turn, those of entries inside it included.
    package var dates: [Instant] { self.withNested.flatMap(\.request).compactMap(\.turn) }
}
