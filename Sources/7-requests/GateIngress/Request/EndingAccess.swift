// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GatePolicy

/// The access of a request that was admitted and may last, with all that the rules look at; a date in them can end it.
struct EndingAccess {
    let rules: RequestRules
    let facts: RequestFacts
    /// The canonical path.
    let path: [UInt8]
    let guardsSpellings: Bool
    let user: String

    /// When the decision can change next; nil if it cannot any more.
    func nextTurn(after now: Instant) -> Instant? { self.rules.nextTurn(after: now) }

    /// Whether the rules still admit the request: decided again if a date has passed since the last time, and else as it was.
    ///
    /// The scopes of its token and its MCP message are not kept, so that what is admitted by one of them ends at the date.
    func admits(at now: Instant, since last: Instant) -> Bool {
        guard let turn = self.rules.nextTurn(after: last), turn <= now else { return true }
        var facts = self.facts
        facts.time = now
        return self.rules.decision(for: facts, self.path.span, guardsSpellings: self.guardsSpellings).isAdmission
    }
}
