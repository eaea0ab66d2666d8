// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// A claim of which an entry asks for one of some values.
package struct ClaimCondition: Sendable, Hashable {
    /// The name, as the providers of the file define it.
    package let name: String
    /// The values, sorted: a text, the digits of a number, `true` or `false`.
    package let values: [String]

    /// Asks for one of some values.
    package init(name: String, values: Set<String>) {
        self.name = name
        self.values = values.sorted()
    }

    /// Whether it is met whenever another one is.
    package func includes(_ other: ClaimCondition) -> Bool {
        self.name == other.name && Set(other.values).isSubset(of: self.values)
    }

    /// Whether the claim of a user has one of the values; of a list one of its texts is enough.
    ///
    /// A claim that is absent is unknown, whichever provider the user comes from: a provider may not define it, may have withheld it,
    /// or the session is older than the rule.
    func match(_ profile: Profile) -> MatchResult {
        guard let value = profile.claims[self.name] else { return .unknown(.claim) }
        return MatchResult(value.texts.contains { text in self.values.contains { isIdentical($0, text) } })
    }
}
