// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// What a sign-in is asked for beside a user.
///
/// It is known when the sign-in begins, and sealed into its attempt: at the callback the browser could withhold what it was read from, or
/// bring something else.
package struct AuthenticationDemand: Sendable, Hashable {
    /// How long ago the user may have authenticated.
    package let maxAge: Duration
    /// Whether the user is to authenticate again, whenever that was.
    package let reauthenticates: Bool
    /// What asks for it.
    package let asker: String
    /// Whether it is for the client to learn that it could not be had.
    package let isOfClient: Bool
    /// Whether a provider that authenticates users again if it is asked to got that in a request which the browser could not change.
    package var isEnforced = false

    /// A demand that no provider knows of yet.
    package init(maxAge: Duration, reauthenticates: Bool, asker: String, isOfClient: Bool) {
        (self.maxAge, self.reauthenticates) = (maxAge, reauthenticates)
        (self.asker, self.isOfClient) = (asker, isOfClient)
    }

    /// What the session of the sign-in notes of it.
    package var mark: String { self.isEnforced ? AuthenticationDemand.enforced(self.asker) : self.asker }

    /// The mark of an enforced demand.
    package static func enforced(_ asker: String) -> String { "\(asker)!" }

    /// As an attempt has it: the age in seconds, a letter for each property, and what asks for it.
    var encoded: String {
        let letters = [(self.reauthenticates, "l"), (self.isOfClient, "c"), (self.isEnforced, "e")]
        let properties = letters.map { $0.0 ? $0.1 : "" }.joined()
        return "\(self.maxAge.wholeSeconds) \(properties) \(self.asker)"
    }

    init?(encoded text: String) {
        let parts = text.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let seconds = Int64(parts[0]), seconds >= 0 else { return nil }
        self.init(
            maxAge: .seconds(seconds),
            reauthenticates: parts[1].contains("l"),
            asker: String(parts[2]),
            isOfClient: parts[1].contains("c")
        )
        self.isEnforced = parts[1].contains("e")
    }
}
