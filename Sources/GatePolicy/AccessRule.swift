// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// Who may enter an app.
package enum AccessRule: Sendable, Hashable {
    /// Every session of an accepted provider.
    case signedIn
    /// Whoever fits one of the entries.
    case entries([AccessEntry])

    /// The entry that admits the person, or nil if none does.
    package func admission(of person: Profile) -> Admission? {
        switch self {
        case .signedIn: Admission(line: nil)
        case .entries(let entries): entries.first { $0.fit(person) == .yes }.map { Admission(line: $0.line) }
        }
    }

    /// The first entry that would admit the person if the provider were the authority for the address.
    func entryLackingAuthority(for person: Profile) -> AccessEntry? {
        guard case .entries(let entries) = self else { return nil }
        return entries.first { $0.fit(person) == .unknown(.emailAuthority) }
    }

    /// Whether a new sign-in, at which other groups are kept, could admit the person.
    func mayAdmitAfterSignIn(_ person: Profile) -> Bool {
        guard case .entries(let entries) = self else { return false }
        return entries.contains { $0.fit(person) == .unknown(.keptGroups) }
    }
}

/// That a person is admitted, and by which line of the file.
package struct Admission: Sendable, Hashable {
    /// The line of the entry in the configuration file, nil for `signed_in`.
    package let line: Int?

    /// An admission by the entry on a line.
    package init(line: Int?) {
        self.line = line
    }
}

/// Whether an entry fits a person.
package enum Fit: Sendable, Hashable {
    /// Every condition holds.
    case yes
    /// A condition does not hold.
    case no
    /// Nothing speaks against it, but it depends on something that is not known.
    case unknown(UnknownFact)
}

/// What is not known of a person.
package enum UnknownFact: Sendable, Hashable {
    /// The provider told no verified address.
    case email
    /// The provider did not tell all groups.
    case groups
    /// The provider told all groups, but nothing asked for this one when the person signed in, so it was not kept.
    case keptGroups
    /// The address is verified, but the provider is not the authority for it: it checked it once.
    case emailAuthority
}

/// One entry of an `allow` or a `deny` list: all its conditions must hold.
///
/// Only verified e-mail addresses count. An entry without conditions fits nobody.
package struct AccessEntry: Sendable, Hashable {
    /// The provider's name in the file.
    package var provider: String?
    /// The user key, `provider:subject`.
    package var user: String?
    /// The whole verified address.
    package var email: EmailAddress?
    /// The domain of the verified address, in lower case; compared as a whole.
    package var emailDomain: String?
    /// A group the person is in.
    package var group: String?
    /// The providers that know for which addresses they are the authority, and have to be it for the address.
    package var authorities: Set<String> = []
    /// Where the entry stands in the configuration file.
    package var line: Int?

    /// An entry without conditions yet.
    package init(line: Int? = nil) {
        self.line = line
    }

    /// Whether every condition holds for the person.
    ///
    /// Without a verified address an address is unknown, and so is a group that is not in an incomplete list: not enough
    /// to admit anybody, and not enough to let somebody pass whom a `deny` entry means. A visitor can see to it that a
    /// provider tells less than it knows.
    ///
    /// An address that the provider checked once may have been given to somebody else since, or be one of a company that
    /// its owner has left: enough to deny, not to admit.
    package func fit(_ person: Profile) -> Fit {
        guard self.hasCondition else { return .no }
        if let provider, !isIdentical(provider, person.provider) { return .no }
        if let user, !isIdentical(user, person.user) { return .no }
        if let address = person.verifiedEmail {
            guard self.email ?? address == address, self.emailDomain ?? address.domain == address.domain else {
                return .no
            }
        }
        if let group, person.isOutside(group: group) { return .no }
        if self.email != nil || self.emailDomain != nil, person.verifiedEmail == nil { return .unknown(.email) }
        if let group, !person.isInside(group: group) { return .unknown(person.groupsComplete ? .keptGroups : .groups) }
        return self.lacksAuthority(person) ? .unknown(.emailAuthority) : .yes
    }

    private func lacksAuthority(_ person: Profile) -> Bool {
        guard self.email != nil || self.emailDomain != nil, !person.emailAuthoritative else { return false }
        return self.authorities.contains(person.provider)
    }

    private var hasCondition: Bool {
        self.provider != nil || self.user != nil || self.email != nil || self.emailDomain != nil || self.group != nil
    }
}
