// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// Which users may access an app.
package enum AccessRule: Sendable, Hashable {
    /// Every session of an accepted provider.
    case signedIn
    /// Users who match one of the entries.
    case entries([AccessEntry])

    /// The first entry that would admit the user if the provider were the authority for the email address.
    func entryLackingAuthority(for profile: Profile) -> AccessEntry? {
        guard case .entries(let entries) = self else { return nil }
        return entries.first { $0.match(profile) == .unknown(.emailAuthority) }
    }

    /// Whether a new sign-in, which keeps other groups, could admit the user.
    func mayAdmitAfterSignIn(_ profile: Profile) -> Bool {
        guard case .entries(let entries) = self else { return false }
        return entries.contains { $0.match(profile) == .unknown(.keptGroups) }
    }
}

/// Whether an entry matches a user.
package enum MatchResult: Sendable, Hashable {
    /// Every condition is met.
    case yes
    /// A condition is not met.
    case no
    /// No condition is violated, but the result depends on an unknown fact.
    case unknown(UnknownFact)
}

/// A fact about a user that is unknown.
package enum UnknownFact: Sendable, Hashable {
    /// The provider returned no verified email address.
    case email
    /// The provider did not return all groups.
    case groups
    /// The provider returned all groups, but no rule named this one at the sign-in, so it was not kept.
    case keptGroups
    /// The email address is verified, but the provider is not the authority for it: it checked it once.
    case emailAuthority
}

/// One entry of an `allow` or a `deny` list: all its conditions must be met.
///
/// Only verified email addresses count. An entry without conditions matches no user.
package struct AccessEntry: Sendable, Hashable {
    /// The provider's name in the file.
    package var provider: String?
    /// The user key, `provider:subject`.
    package var user: String?
    /// The verified email address.
    package var email: EmailAddress?
    /// The domain of the verified email address, in lower case; compared as a whole.
    package var emailDomain: String?
    /// A group of the user.
    package var group: String?
    /// The providers that must be the authority for the email address, among those that report whether they are.
    package var authorities: Set<String> = []
    /// The line of the entry in the configuration file.
    package var line: Int?

    /// An entry without conditions.
    package init(line: Int? = nil) {
        self.line = line
    }

    /// Whether the user meets every condition.
    ///
    /// Without a verified email address the address is unknown, and so is a group that is missing from an incomplete
    /// list: not enough to admit a user, and not enough to pass a `deny` entry, since users can make a provider
    /// withhold both.
    ///
    /// An email address that the provider checked once may since belong to another user, or to a company that the user
    /// has left: enough to deny, not to admit.
    package func match(_ profile: Profile) -> MatchResult {
        guard self.hasCondition else { return .no }
        if let provider, !isIdentical(provider, profile.provider) { return .no }
        if let user, !isIdentical(user, profile.user) { return .no }
        if let address = profile.verifiedEmail {
            guard self.email ?? address == address, self.emailDomain ?? address.domain == address.domain else {
                return .no
            }
        }
        if let group, profile.isOutside(group: group) { return .no }
        if self.email != nil || self.emailDomain != nil, profile.verifiedEmail == nil { return .unknown(.email) }
        if let group, !profile.isInside(group: group) {
            return .unknown(profile.groupsComplete ? .keptGroups : .groups)
        }
        return self.lacksAuthority(profile) ? .unknown(.emailAuthority) : .yes
    }

    private func lacksAuthority(_ profile: Profile) -> Bool {
        guard self.email != nil || self.emailDomain != nil, !profile.emailAuthoritative else { return false }
        return self.authorities.contains(profile.provider)
    }

    private var hasCondition: Bool {
        self.provider != nil || self.user != nil || self.email != nil || self.emailDomain != nil || self.group != nil
    }
}
